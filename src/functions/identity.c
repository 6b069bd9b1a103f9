/*-------------------------------------------------------------------------
 *
 * identity.c
 *	  The SQL functions for identities, server-side ids, and ids of documents.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ids/assign.h"
#include "ids/identity.h"
#include "counting/source.h"
#include "session/call.h"

/*
 * Refuse to write for a function where sequences refuse it; then the identity in
 * its first argument, called what.
 */
static void
identity_argument(FunctionCallInfo fcinfo, const char *function,
				  const char *what, HiloIdentity *identity)
{
	hilo_api_prevent_unless_may_write(function);
	hilo_identity_init(identity, hilo_api_name(fcinfo, 0, what));
}

/*
 * Draw and seed
 */

PG_FUNCTION_INFO_V1(next_identity);

Datum
next_identity(PG_FUNCTION_ARGS)
{
	HiloIdentity identity;

	identity_argument(fcinfo, "next_identity()", "name", &identity);
	PG_RETURN_TEXT_P(hilo_identity_id(&identity,
									  hilo_identity_next(&identity)));
}

PG_FUNCTION_INFO_V1(next_identity_for);

Datum
next_identity_for(PG_FUNCTION_ARGS)
{
	HiloIdentity identity;

	identity_argument(fcinfo, "next_identity_for()", "name", &identity);
	PG_RETURN_INT64(hilo_identity_next(&identity));
}

PG_FUNCTION_INFO_V1(seed_identity_for);

Datum
seed_identity_for(PG_FUNCTION_ARGS)
{
	HiloIdentity identity;

	identity_argument(fcinfo, "seed_identity_for()", "name", &identity);
	hilo_prevent_on_worker(&identity.collection.ref, "seed_identity_for");
	PG_RETURN_INT64(hilo_api_seed(fcinfo, &identity.collection));
}

PG_FUNCTION_INFO_V1(next_identity_free);

Datum
next_identity_free(PG_FUNCTION_ARGS)
{
	HiloIdentity identity;
	int			tries;

	identity_argument(fcinfo, "next_identity_free()", "prefix", &identity);
	PG_RETURN_TEXT_P(hilo_identity_id(&identity,
									  hilo_identity_next_free(&identity,
															  &tries)));
}

PG_FUNCTION_INFO_V1(next_identity_free_for);

Datum
next_identity_free_for(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = hilo_api_result_desc(fcinfo);
	HiloIdentity identity;
	int			tries;
	Datum		values[2];

	identity_argument(fcinfo, "next_identity_free_for()", "prefix", &identity);
	values[0] = Int64GetDatum(hilo_identity_next_free(&identity, &tries));
	values[1] = Int32GetDatum(tries);
	return hilo_api_result(desc, values);
}

PG_FUNCTION_INFO_V1(next_server_side_id);

Datum
next_server_side_id(PG_FUNCTION_ARGS)
{
	hilo_api_prevent_unless_may_write("next_server_side_id()");
	PG_RETURN_TEXT_P(hilo_next_server_side_id(hilo_api_name(fcinfo, 0,
															"prefix")));
}

/*
 * The id of a document
 */

PG_FUNCTION_INFO_V1(hilo_document_id);

Datum
hilo_document_id(PG_FUNCTION_ARGS)
{
	text	   *requested = PG_ARGISNULL(1) ? NULL : PG_GETARG_TEXT_PP(1);

	hilo_api_prevent_unless_may_write("hilo_document_id()");
	PG_RETURN_TEXT_P(hilo_assign_document_id(hilo_api_entry(fcinfo), requested,
											 NULL, InvalidAttrNumber));
}

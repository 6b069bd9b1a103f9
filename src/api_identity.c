/*-------------------------------------------------------------------------
 *
 * api_identity.c
 *	  The SQL functions of identities and server-side ids.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "api.h"
#include "identity.h"

PG_FUNCTION_INFO_V1(next_identity);
PG_FUNCTION_INFO_V1(next_identity_for);
PG_FUNCTION_INFO_V1(seed_identity_for);
PG_FUNCTION_INFO_V1(drop_identity);
PG_FUNCTION_INFO_V1(next_server_side_id);

/* The counter of the identity in the first argument, called name. */
static void
identity_argument(FunctionCallInfo fcinfo, HiloCounter *counter)
{
	hilo_identity_counter(counter, hilo_api_name(fcinfo, 0, "name"));
}

Datum
next_identity(PG_FUNCTION_ARGS)
{
	HiloCounter counter;

	hilo_api_prevent_unless_may_write("next_identity()");
	identity_argument(fcinfo, &counter);
	PG_RETURN_TEXT_P(hilo_identity_id(&counter, hilo_identity_next(&counter)));
}

Datum
next_identity_for(PG_FUNCTION_ARGS)
{
	HiloCounter counter;

	hilo_api_prevent_unless_may_write("next_identity_for()");
	identity_argument(fcinfo, &counter);
	PG_RETURN_INT64(hilo_identity_next(&counter));
}

Datum
seed_identity_for(PG_FUNCTION_ARGS)
{
	HiloCounter counter;
	int64		value;

	hilo_api_prevent_unless_may_write("seed_identity_for()");
	identity_argument(fcinfo, &counter);
	value = hilo_api_number(fcinfo, 1, "value");
	hilo_api_reject_null(fcinfo, 2, "force");
	PG_RETURN_INT64(hilo_counter_seed(&counter, value, PG_GETARG_BOOL(2)));
}

Datum
drop_identity(PG_FUNCTION_ARGS)
{
	HiloCounter counter;

	hilo_api_prevent_unless_may_write("drop_identity()");
	identity_argument(fcinfo, &counter);
	PG_RETURN_BOOL(hilo_counter_drop(&counter));
}

Datum
next_server_side_id(PG_FUNCTION_ARGS)
{
	hilo_api_prevent_unless_may_write("next_server_side_id()");
	PG_RETURN_TEXT_P(hilo_next_server_side_id(hilo_api_name(fcinfo, 0,
															"prefix")));
}

/*-------------------------------------------------------------------------
 *
 * identity.c
 *	  The SQL functions for identities, server-side ids, and bindings to documents;
 *	  and hilo_document_id().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"

#include "ids/assign.h"
#include "ids/identity.h"
#include "session/call.h"
#include "tables/attachment.h"
#include "tables/binding.h"
#include "tables/taken.h"

PG_FUNCTION_INFO_V1(next_identity);
PG_FUNCTION_INFO_V1(next_identity_for);
PG_FUNCTION_INFO_V1(seed_identity_for);
PG_FUNCTION_INFO_V1(next_identity_free);
PG_FUNCTION_INFO_V1(next_identity_free_for);
PG_FUNCTION_INFO_V1(next_server_side_id);
PG_FUNCTION_INFO_V1(hilo_bind_column);
PG_FUNCTION_INFO_V1(hilo_bind_function);
PG_FUNCTION_INFO_V1(hilo_unbind);
PG_FUNCTION_INFO_V1(hilo_document_id);

/* The identity in the first argument, called what. */
static void
identity_argument(FunctionCallInfo fcinfo, const char *what,
				  HiloIdentity *identity)
{
	hilo_identity_init(identity, hilo_api_name(fcinfo, 0, what));
}

/*
 * Draw, seed, drop
 */

Datum
next_identity(PG_FUNCTION_ARGS)
{
	HiloIdentity identity;

	hilo_api_prevent_unless_may_write("next_identity()");
	identity_argument(fcinfo, "name", &identity);
	PG_RETURN_TEXT_P(hilo_identity_id(&identity,
									  hilo_identity_next(&identity)));
}

Datum
next_identity_for(PG_FUNCTION_ARGS)
{
	HiloIdentity identity;

	hilo_api_prevent_unless_may_write("next_identity_for()");
	identity_argument(fcinfo, "name", &identity);
	PG_RETURN_INT64(hilo_identity_next(&identity));
}

Datum
seed_identity_for(PG_FUNCTION_ARGS)
{
	HiloIdentity identity;

	hilo_api_prevent_unless_may_write("seed_identity_for()");
	identity_argument(fcinfo, "name", &identity);
	PG_RETURN_INT64(hilo_api_seed(fcinfo, &identity.collection));
}

Datum
next_identity_free(PG_FUNCTION_ARGS)
{
	HiloIdentity identity;
	int			tries;

	hilo_api_prevent_unless_may_write("next_identity_free()");
	identity_argument(fcinfo, "prefix", &identity);
	PG_RETURN_TEXT_P(hilo_identity_id(&identity,
									  hilo_identity_next_free(&identity,
															  &tries)));
}

Datum
next_identity_free_for(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = hilo_api_result_desc(fcinfo);
	HiloIdentity identity;
	int			tries;
	Datum		values[2];
	bool		nulls[2] = {0};

	hilo_api_prevent_unless_may_write("next_identity_free_for()");
	identity_argument(fcinfo, "prefix", &identity);
	values[0] = Int64GetDatum(hilo_identity_next_free(&identity, &tries));
	values[1] = Int32GetDatum(tries);
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

Datum
next_server_side_id(PG_FUNCTION_ARGS)
{
	hilo_api_prevent_unless_may_write("next_server_side_id()");
	PG_RETURN_TEXT_P(hilo_next_server_side_id(hilo_api_name(fcinfo, 0,
															"prefix")));
}

/*
 * Where documents are
 */

/* Raise 42710; function is the one that undoes the existing binding. */
static void
report_bound(const char *name, const char *function)
{
	ereport(ERROR,
			(errcode(ERRCODE_DUPLICATE_OBJECT),
			 errmsg("\"%s\" is already bound", name),
			 errhint("Undo that with %s() first.", function)));
}

/*
 * Bind a name, unless it is already bound in the same way.  An existing binding
 * does not count if its column or function no longer exists.
 */
static void
bind_name(const char *name, const HiloBinding *binding)
{
	ListCell   *lc;

	hilo_bindings_lock(name);
	foreach(lc, hilo_bindings(name))
	{
		HiloBinding *other = lfirst(lc);

		if (hilo_binding_equals(binding, other))
			return;
		if (other->column != NULL && !hilo_binding_has_column(other))
			hilo_binding_remove(name, other);
		else if ((other->column != NULL && !other->attached) ||
				 other->taken != NULL)
			report_bound(name, "hilo.unbind");
	}
	if (hilo_draw_right_attachments(name) != NIL)
		report_bound(name, "hilo.detach");
	hilo_binding_add(name, binding);
}

/* The column in arguments 1 and 2, of a table that the current user owns. */
static HiloColumn
column_argument(FunctionCallInfo fcinfo)
{
	HiloColumn	column;
	char	   *table_name;
	char	   *column_name;

	hilo_api_reject_null(fcinfo, 1, "relation");
	hilo_api_reject_null(fcinfo, 2, "column_name");
	column.relation = PG_GETARG_OID(1);
	column_name = NameStr(*PG_GETARG_NAME(2));
	table_name = get_rel_name(column.relation);

	if (table_name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist",
						column.relation)));
	if (!hilo_owns_relation(column.relation, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, table_name);
	column.attnum = get_attnum(column.relation, column_name);
	if (column.attnum <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						column_name, table_name)));
	return column;
}

/*
 * Only its owner may let all roles look up ids in a table, or have a function
 * called.
 */
Datum
hilo_bind_column(PG_FUNCTION_ARGS)
{
	HiloIdentity identity;
	HiloColumn	column;
	HiloBinding binding = {.column = &column};

	hilo_api_prevent_unless_may_write("hilo.bind()");
	identity_argument(fcinfo, "collection", &identity);
	column = column_argument(fcinfo);

	hilo_documents_close(hilo_documents_open_column(identity.name, &column));
	bind_name(identity.name, &binding);
	PG_RETURN_VOID();
}

Datum
hilo_bind_function(PG_FUNCTION_ARGS)
{
	HiloIdentity identity;
	HiloBinding binding = {0};
	Oid			function;

	hilo_api_prevent_unless_may_write("hilo.bind()");
	identity_argument(fcinfo, "collection", &identity);
	hilo_api_reject_null(fcinfo, 1, "taken");
	function = PG_GETARG_OID(1);

	hilo_check_taken_function(function);
	if (!hilo_owns_function(function, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_FUNCTION,
					   get_func_name(function));

	/* As text: pg_upgrade refuses columns of type regprocedure. */
	binding.taken = format_procedure_qualified(function);
	bind_name(identity.name, &binding);
	PG_RETURN_VOID();
}

Datum
hilo_unbind(PG_FUNCTION_ARGS)
{
	HiloIdentity identity;
	bool		was_bound = false;
	List	   *attachments;
	ListCell   *lc;

	hilo_api_prevent_unless_may_write("hilo.unbind()");
	identity_argument(fcinfo, "collection", &identity);

	hilo_bindings_lock(identity.name);
	attachments = hilo_draw_right_attachments(identity.name);
	if (attachments != NIL)
	{
		HiloAttachment *attachment = linitial(attachments);

		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("\"%s\" is attached to table \"%s\"",
						identity.name,
						get_rel_name(attachment->column.relation)),
				 errhint("Undo that with hilo.detach().")));
	}
	foreach(lc, hilo_bindings(identity.name))
	{
		HiloBinding *binding = lfirst(lc);

		if ((binding->column == NULL || binding->attached) &&
			binding->taken == NULL)
			continue;
		hilo_binding_remove(identity.name, binding);
		was_bound = true;
	}
	PG_RETURN_BOOL(was_bound);
}

Datum
hilo_document_id(PG_FUNCTION_ARGS)
{
	text	   *requested = PG_ARGISNULL(1) ? NULL : PG_GETARG_TEXT_PP(1);

	hilo_api_prevent_unless_may_write("hilo_document_id()");
	PG_RETURN_TEXT_P(hilo_assign_document_id(hilo_api_entry(fcinfo),
											 requested));
}

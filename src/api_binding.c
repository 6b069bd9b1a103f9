/*-------------------------------------------------------------------------
 *
 * api_binding.c
 *	  The SQL functions that say where documents are, and draw identities that
 *	  no document has.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"

#include "api.h"
#include "binding.h"
#include "documents.h"
#include "failure_point.h"
#include "free_search.h"
#include "identity.h"

PG_FUNCTION_INFO_V1(hilo_bind_column);
PG_FUNCTION_INFO_V1(hilo_bind_function);
PG_FUNCTION_INFO_V1(hilo_unbind);
PG_FUNCTION_INFO_V1(next_identity_free);
PG_FUNCTION_INFO_V1(next_identity_free_for);

/*
 * Bind a name, unless it is bound in this way already.  What it was bound to
 * and is not there any more does not count.
 */
static void
bind_name(HiloName name, const HiloBinding *binding)
{
	ListCell   *lc;

	hilo_bindings_lock();
	foreach(lc, hilo_bindings(name))
	{
		HiloBinding *other = lfirst(lc);

		if (hilo_binding_equals(binding, other))
			return;
		if (other->column != NULL && !hilo_binding_has_column(other))
			hilo_binding_remove(name, other);
		else if (other->role == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("\"%.*s\" is already bound", name.len, name.data),
					 errhint("Undo that with %s() first.",
							 other->attached ? "hilo_detach" : "hilo_unbind")));
	}
	hilo_binding_add(name, binding);
}

/* Only an owner may have a table looked into, or a function called, for all. */
Datum
hilo_bind_column(PG_FUNCTION_ARGS)
{
	HiloCounter identity;
	HiloColumn	column;
	HiloBinding binding = {.column = &column};
	char	   *column_name;

	hilo_api_prevent_unless_may_write("hilo_bind()");
	hilo_identity_counter(&identity, hilo_api_name(fcinfo, 0, "collection"));
	hilo_api_reject_null(fcinfo, 1, "relation");
	hilo_api_reject_null(fcinfo, 2, "column_name");
	column.relation = PG_GETARG_OID(1);
	column_name = NameStr(*PG_GETARG_NAME(2));

	if (get_rel_name(column.relation) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist",
						column.relation)));
	if (!hilo_owns_relation(column.relation, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE,
					   get_rel_name(column.relation));
	column.attnum = get_attnum(column.relation, column_name);
	if (column.attnum <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						column_name, get_rel_name(column.relation))));

	hilo_documents_close(hilo_documents_open_column(&identity, &column));
	bind_name(identity.name, &binding);
	PG_RETURN_VOID();
}

Datum
hilo_bind_function(PG_FUNCTION_ARGS)
{
	HiloCounter identity;
	HiloBinding binding = {0};
	Oid			function;

	hilo_api_prevent_unless_may_write("hilo_bind()");
	hilo_identity_counter(&identity, hilo_api_name(fcinfo, 0, "collection"));
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
	HiloCounter identity;
	bool		was_bound = false;
	ListCell   *lc;

	hilo_api_prevent_unless_may_write("hilo_unbind()");
	hilo_identity_counter(&identity, hilo_api_name(fcinfo, 0, "collection"));

	hilo_bindings_lock();
	foreach(lc, hilo_bindings(identity.name))
	{
		HiloBinding *binding = lfirst(lc);

		if (binding->role != NULL)
			continue;
		if (binding->attached && hilo_binding_has_column(binding))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("\"%.*s\" is attached to table \"%s\"",
							identity.name.len, identity.name.data,
							get_rel_name(binding->column->relation)),
					 errhint("Undo that with hilo_detach().")));
		hilo_binding_remove(identity.name, binding);
		was_bound = true;
	}
	PG_RETURN_BOOL(was_bound);
}

static bool
is_taken(int64 number, void *arg)
{
	return hilo_documents_have(number, arg);
}

/*
 * Everybody can make a table with the name of an unbound identity, and fill it
 * such that the search leaps: that far ahead is for those who may seed.
 */
static void
check_may_jump(const HiloCounter *identity, int64 last, int64 number)
{
	if (number - last > hilo_max_range_size &&
		!hilo_catalog_may_seed(HILO_TABLE_IDENTITIES))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to raise identity \"%.*s\" from " INT64_FORMAT " to " INT64_FORMAT,
						identity->name.len, identity->name.data, last, number),
				 errdetail("Raising by more than hilo.max_range_size, because of a table that is not bound, needs the privilege to execute seed_identity_for()."),
				 errhint("Have the table bound with hilo_bind().")));
}

/*
 * Draw the next number of an identity that no document has; *tries is how many
 * were looked up.
 *
 * Nothing is claimed before a free number is found.  If another session has
 * gone past it by then, the search starts again above that: two sessions never
 * get the same number.
 */
static int64
next_free(HiloCounter *identity, int *tries)
{
	HiloDocuments *documents;
	int64		limit;
	int64		number;
	int64		claimed;

	hilo_identity_check_worker(identity);
	documents = hilo_documents_open(identity);
	limit = hilo_documents_limit(documents);
	*tries = 0;
	do
	{
		int64		last = hilo_counter_max(identity);

		if (!hilo_free_search(last, limit, is_taken, documents,
							  &number, tries))
			ereport(ERROR,
					(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
					 errmsg("no free number was found for identity \"%.*s\"",
							identity->name.len, identity->name.data),
					 last < limit ?
					 errdetail("Numbers from " INT64_FORMAT " up to the limit " INT64_FORMAT " were looked up.",
							   last + 1, limit) :
					 errdetail("Numbers up to " INT64_FORMAT " have been claimed, the limit is " INT64_FORMAT ".",
							   last, limit)));
		if (!hilo_documents_are_bound(documents))
			check_may_jump(identity, last, number);
		HILO_FAILURE_POINT("free number found");
		claimed = hilo_identity_claim(identity, number);

		/* One that the hub gave in its place may be free as well. */
	} while (claimed == 0 ||
			 (claimed != number &&
			  (claimed > limit || (++*tries, is_taken(claimed, documents)))));

	hilo_documents_close(documents);
	return claimed;
}

Datum
next_identity_free(PG_FUNCTION_ARGS)
{
	HiloCounter identity;
	int			tries;

	hilo_api_prevent_unless_may_write("next_identity_free()");
	hilo_identity_counter(&identity, hilo_api_name(fcinfo, 0, "prefix"));
	PG_RETURN_TEXT_P(hilo_identity_id(&identity, next_free(&identity, &tries)));
}

Datum
next_identity_free_for(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = hilo_api_result_desc(fcinfo);
	HiloCounter identity;
	int			tries;
	Datum		values[2];
	bool		nulls[2] = {0};

	hilo_api_prevent_unless_may_write("next_identity_free_for()");
	hilo_identity_counter(&identity, hilo_api_name(fcinfo, 0, "prefix"));
	values[0] = Int64GetDatum(next_free(&identity, &tries));
	values[1] = Int32GetDatum(tries);
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

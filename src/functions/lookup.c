/*-------------------------------------------------------------------------
 *
 * lookup.c
 *	  The SQL functions that look into users' tables: sync, bind, unbind.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/tuplestore.h"

#include "base/sql.h"
#include "ids/identity.h"
#include "servers/member.h"
#include "session/call.h"
#include "tables/binding.h"
#include "tables/highest.h"
#include "tables/taken.h"

/*
 * The number in an id, or NULL: the id does not begin with start, or it does
 * not count.
 */
PG_FUNCTION_INFO_V1(hilo_counted_number);

Datum
hilo_counted_number(PG_FUNCTION_ARGS)
{
	text	   *start = PG_GETARG_TEXT_PP(1);
	HiloIdReader reader = {.counted = PG_GETARG_INT32(2),.type = TEXTOID,
	.holds_ids = true};
	int64		number;

	reader.start_len = VARSIZE_ANY_EXHDR(start);
	if (reader.start_len > HILO_MAX_START_LEN)
		PG_RETURN_NULL();
	memcpy(reader.start, VARDATA_ANY(start), reader.start_len);
	number = hilo_id_reader_number(&reader, PG_GETARG_DATUM(0));
	if (number == 0)
		PG_RETURN_NULL();
	PG_RETURN_INT64(number);
}

/*
 * Sync
 */

/* How long to wait for a lock on a table, unless the user has said so. */
#define LOCK_TIMEOUT	"5s"

/* Advance a counter, which need not exist, to the highest number in the columns. */
static int64
sync_counter(HiloCollection *counter, const HiloBindings *bindings)
{
	HiloSought	sought = hilo_sought(counter);

	/* A table need not be read below what was found in another one. */
	foreach_ptr(HiloBinding, binding, bindings->all)
	{
		if (OidIsValid(binding->living.relation))
			sought.above = hilo_column_highest(&binding->living, &sought, false);
	}
	return hilo_collection_seed(counter, sought.above, false);
}

/*
 * Advance a collection to the highest number in the columns that it is bound or
 * attached to.  All ranges become invalid, because rows that came from elsewhere
 * may have numbers in them.  Columns bound by hilo.bind() may hold identities, so
 * the identity of the name is advanced as well.  Returns false, having changed
 * nothing, if it is not bound to a column; else *max is its max.
 */
static bool
sync_collection(const char *name, int64 *max)
{
	HiloBindings bindings = hilo_bindings(name);
	HiloCollection collection = {.ref.name = name};
	char		buffer[HILO_MAX_ROW_NAME_LEN];
	int			level;

	if (!OidIsValid(bindings.table))
		return false;
	hilo_bindings_refresh(name, &bindings);
	level = NewGUCNestLevel();
	if (LockTimeout == 0)
		hilo_sql_set_locally("lock_timeout", LOCK_TIMEOUT);
	*max = sync_counter(&collection, &bindings);

	/* Attached columns hold no identities. */
	if (hilo_is_bound(name, InvalidCommandId))
	{
		hilo_collection_init_identity(&collection, name, buffer);
		(void) sync_counter(&collection, &bindings);
	}
	AtEOXact_GUC(false, level);
	return true;
}

PG_FUNCTION_INFO_V1(hilo_sync);

Datum
hilo_sync(PG_FUNCTION_ARGS)
{
	const char *collection;
	int64		max;

	hilo_api_prevent_unless_may_write("hilo.sync()");
	collection = hilo_api_collection(fcinfo);
	hilo_clean_notes();
	if (!sync_collection(collection, &max))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("collection \"%s\" is not bound to a column",
						collection),
				 hilo_citus_is_worker() ?
				 errhint("Use hilo.sync() on the Citus coordinator, where tables are bound.") :
				 errhint("Use hilo.attach() or hilo.bind() to specify the column with its ids, or use hilo.seed().")));
	PG_RETURN_INT64(max);
}

PG_FUNCTION_INFO_V1(hilo_sync_all);

Datum
hilo_sync_all(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	hilo_api_prevent_unless_may_write("hilo.sync()");
	hilo_init_materialized(fcinfo);
	hilo_clean_notes();
	foreach_ptr(const HiloNamedRow, row, hilo_row_list())
	{
		Datum		values[2];
		bool		nulls[2] = {0};
		int64		max;

		CHECK_FOR_INTERRUPTS();
		if (!(row->row.flags & HILO_ROW_BOUND) ||
			!sync_collection(row->name, &max))
			continue;
		values[0] = CStringGetTextDatum(row->name);
		values[1] = Int64GetDatum(max);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/*
 * Where documents are
 */

/*
 * Bind a name, unless it is already bound in the same way.  An existing binding
 * does not count if its column or function no longer exists.  The limit follows the
 * type at once: leases may be given before anybody draws here.
 */
static void
bind_name(const char *name, const HiloBinding *binding)
{
	HiloBindings bindings;
	HiloRowRef	ref = {.name = name};

	(void) hilo_bindings_lock(name, true);
	bindings = hilo_bindings(name);
	hilo_bindings_refresh(name, &bindings);
	foreach_ptr(HiloBinding, other, hilo_bindings(name).all)
	{
		if (hilo_binding_equals(binding, other))
			return;
		if (OidIsValid(other->living.relation) || other->kind == HILO_ASKED)
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("\"%s\" is already bound", name),
					 other->kind == HILO_ATTACHED ?
					 errhint("Undo that with hilo.detach(), or change the default, first.") :
					 errhint("Undo that with hilo.unbind() first.")));
		if (other->kind == HILO_BOUND)
			(void) hilo_binding_remove(name, other);
	}
	hilo_binding_add(name, binding);
	(void) hilo_counter_adopt(&ref, -1, hilo_bindings(name).limit, true);
}

/*
 * hilo.bind(collection, relation, column_name), hilo.bind(collection, taken).
 * Only its owner may let all roles look up ids in a table, or have a function
 * called.
 */
PG_FUNCTION_INFO_V1(hilo_bind);

Datum
hilo_bind(PG_FUNCTION_ARGS)
{
	bool		to_column = PG_NARGS() == 3;
	HiloIdentity identity;
	HiloBinding binding = {.kind = to_column ? HILO_BOUND : HILO_ASKED};
	Oid			object;

	hilo_api_prevent_unless_may_write("hilo.bind()");
	hilo_identity_init(&identity, hilo_api_name(fcinfo, 0, "collection"));
	hilo_lease_prevent_on_worker(&identity.collection.ref, "hilo.bind");
	hilo_api_reject_null(fcinfo, 1, to_column ? "relation" : "taken");
	object = PG_GETARG_OID(1);
	if (to_column)
	{
		HiloColumn	column;

		hilo_api_reject_null(fcinfo, 2, "column_name");
		column = hilo_owned_column(object, NameStr(*PG_GETARG_NAME(2)));
		hilo_documents_check_column(identity.name, &column);
		(void) hilo_binding_set_relation(&binding, object, column.attnum);
	}
	else
	{
		(void) hilo_check_taken_function(object);
		if (!hilo_owns(ProcedureRelationId, object, GetUserId()))
			aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_FUNCTION,
						   get_func_name(object));
		binding.object = object;
		binding.name = format_procedure_qualified(object);
		binding.column = binding.owner = pstrdup("");
	}
	bind_name(identity.name, &binding);
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(hilo_unbind);

Datum
hilo_unbind(PG_FUNCTION_ARGS)
{
	HiloIdentity identity;
	bool		was_bound = false;

	hilo_api_prevent_unless_may_write("hilo.unbind()");
	hilo_identity_init(&identity, hilo_api_name(fcinfo, 0, "collection"));

	(void) hilo_bindings_lock(identity.name, true);
	foreach_ptr(HiloBinding, binding, hilo_bindings(identity.name).all)
	{
		if (binding->kind == HILO_ATTACHED && OidIsValid(binding->living.relation))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("\"%s\" is attached to table %s",
							identity.name, hilo_sql_table(binding->living.relation)),
					 errhint("Undo that with hilo.detach(), or change the default.")));
		if (binding->kind != HILO_BOUND && binding->kind != HILO_ASKED)
			continue;
		if (hilo_binding_remove(identity.name, binding))
			was_bound = true;
	}
	PG_RETURN_BOOL(was_bound);
}

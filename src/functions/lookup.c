/*-------------------------------------------------------------------------
 *
 * lookup.c
 *	  The SQL functions that look into users' tables: sync, bind, unbind.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "base/sql.h"
#include "ids/identity.h"
#include "counting/source.h"
#include "session/call.h"
#include "tables/binding.h"
#include "tables/highest.h"
#include "tables/look.h"
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

/* Say that a counter stays behind a number, why, and how it would be moved. */
static void
warn_too_far(const char *name, const HiloSought *sought, bool by_default)
{
	bool		is_identity = hilo_is_identity(name);

	hilo_warn_too_far(is_identity ? "identity" : "collection",
					  pnstrdup(name, strlen(name) - (is_identity ? 1 : 0)), sought->above,
					  by_default ? "Its columns only draw by their defaults, which any role can write." :
					  HILO_MORE_THAN_HALF,
					  psprintf("%s()%s", is_identity ? "seed_identity_for" : "hilo.seed",
							   sought->elsewhere ? " where it is counted" : ""));
}

/*
 * Move a counter, which need not exist, to the highest number in the columns.  If these
 * may be strangers', no farther than a look would go; and only if that leaves half of the
 * remaining numbers, if they may be, or if another server gives the numbers, which would
 * not go that far, either.
 */
static int64
sync_counter(HiloCollection *counter, List *columns, bool by_default)
{
	HiloSought	sought = hilo_sought(counter);
	int64		at = sought.above;
	int64		most = PG_INT64_MAX;

	hilo_columns_highest(columns, &sought);
	if (by_default || sought.elsewhere)
		most = (sought.limit - at) / 2;
	if (by_default)
		most = Min(most, HILO_WINDOW_BY_DEFAULT);
	if (sought.above - at > most)
	{
		warn_too_far(counter->ref.name, &sought, by_default);
		sought.above = at;
	}
	return hilo_collection_seed(counter, sought.above, false);
}

/*
 * hilo._sync_collection(collection): move a collection to the highest number in its
 * columns.  All ranges become invalid, because rows that came from elsewhere may have
 * numbers in them.  Columns bound by hilo.bind() may hold identities, so the
 * identity of the name is moved as well.  Returns the max; null: no column draws from
 * it.
 */
PG_FUNCTION_INFO_V1(hilo_sync_collection);

Datum
hilo_sync_collection(PG_FUNCTION_ARGS)
{
	bool		by_default;
	const char *name;
	HiloBindings bindings;
	HiloCollection collection;
	char		buffer[HILO_MAX_ROW_NAME_LEN];
	List	   *columns;
	int64		limit;
	int			level;
	int64		max;

	hilo_api_prevent_unless_may_write("hilo.sync()");
	hilo_catalog_check_may_sync();
	name = hilo_api_name(fcinfo, 0, "name");
	hilo_collection_init(&collection, name);
	columns = hilo_columns_of_collection(&collection, &by_default, &limit);
	if (columns == NIL)
		PG_RETURN_NULL();

	/* Defaults and rows of hilo.binding may have other names. */
	hilo_check_collection(name, hilo_identity_parts_separator);
	bindings = hilo_bindings(name);
	hilo_bindings_refresh(name, &bindings);
	if (!hilo_collection_set_limit(&collection) &&
		bindings.limit > hilo_collection_row(&collection)->max_value)
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("ids above the limit of collection \"%s\" were not counted", name),
				 errdetail("This transaction has locked a table whose type decides about the limit."),
				 errhint("Call hilo.sync() again after the commit.")));
	level = hilo_sql_limit_lock_waits();
	max = sync_counter(&collection, columns, by_default);

	/* Other columns hold no identities. */
	columns = NIL;
	foreach_ptr(HiloBinding, binding, bindings.all)
	{
		if (binding->kind == HILO_BOUND && OidIsValid(binding->living.relation))
			columns = lappend(columns, &binding->living);
	}
	if (columns != NIL)
	{
		hilo_collection_init_identity(&collection, name, buffer);
		(void) sync_counter(&collection, columns, false);
	}
	AtEOXact_GUC(false, level);
	PG_RETURN_INT64(max);
}

/*
 * Where documents are
 */

/*
 * Bind a name, unless it is already bound in the same way.  An existing binding
 * does not count if its column no longer exists.  The limit follows the
 * type at once: others may be given numbers before anybody draws here.
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
		if (OidIsValid(other->living.relation))
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
	hilo_counter_note_bound(&ref, hilo_bindings(name).limit);
}

/*
 * hilo.bind(collection, relation, column_name).  Only its owner may let all roles look up
 * ids in a table.
 */
PG_FUNCTION_INFO_V1(hilo_bind);

Datum
hilo_bind(PG_FUNCTION_ARGS)
{
	HiloIdentity identity;
	HiloBinding binding = {.kind = HILO_BOUND};
	HiloColumn	column;

	hilo_api_prevent_unless_may_write("hilo.bind()");
	hilo_identity_init(&identity, hilo_api_name(fcinfo, 0, "collection"));
	hilo_prevent_on_worker(&identity.collection.ref, "hilo.bind");
	hilo_api_reject_null(fcinfo, 1, "relation");
	hilo_api_reject_null(fcinfo, 2, "column_name");
	column = hilo_owned_column(PG_GETARG_OID(1), NameStr(*PG_GETARG_NAME(2)));
	hilo_documents_check_column(identity.name, &column);
	(void) hilo_binding_set_relation(&binding, column.relation, column.attnum);
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
		if (binding->kind != HILO_BOUND)
			continue;
		if (hilo_binding_remove(identity.name, binding))
			was_bound = true;
	}
	PG_RETURN_BOOL(was_bound);
}

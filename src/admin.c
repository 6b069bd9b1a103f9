/*-------------------------------------------------------------------------
 *
 * admin.c
 *	  The SQL functions that administer collections, and those behind the views.
 *
 * None of them uses an entry of this session: a collection that is only administered here
 * would be kept for nothing.  Each change is announced by the module that makes it; other sessions
 * read the row again when they have received the message, at the latest in their next transaction.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "arguments.h"
#include "binding.h"
#include "compat.h"
#include "pool.h"

/*
 * hilo.seed(collection, value, force): the max that is stored afterwards.  It moves up only,
 * unless forced; either way the ranges that sessions hold end.
 */
PG_FUNCTION_INFO_V1(hilo_seed);

Datum
hilo_seed(PG_FUNCTION_ARGS)
{
	HiloRowRef	ref;

	hilo_api_require_write("hilo.seed()");
	(void) hilo_api_administered(fcinfo, &ref);
	PG_RETURN_INT64(hilo_api_seed(fcinfo, &ref));
}

/*
 * hilo.drop(collection): true if there was such a counter.  The row stays, marked as dropped,
 * because rows are never deleted: another session may be about to change it in place.
 * What the pool has is forgotten at once; it would be refused anyway, by its epoch.
 */
PG_FUNCTION_INFO_V1(hilo_drop);

Datum
hilo_drop(PG_FUNCTION_ARGS)
{
	HiloRowRef	ref;
	HiloRowRef	other = {0};
	HiloRow		row;
	bool		is_identity;
	bool		has_other;

	hilo_api_require_write("hilo.drop()");
	is_identity = hilo_api_administered(fcinfo, &ref);
	if (!is_identity && hilo_bindings(ref.name) != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("cannot drop collection \"%s\" because columns are bound to it", ref.name),
				 errhint("Undo that with hilo.unbind() first.")));
	if (hilo_counter_drop(&ref))
	{
		hilo_pool_forget(ref.name);
		PG_RETURN_BOOL(true);
	}

	/*
	 * An identity that is called as the collection may be meant, or the other
	 * way round.
	 */
	other.name = is_identity ? pnstrdup(ref.name, strlen(ref.name) - 1) : psprintf("%s|", ref.name);
	has_other = hilo_counter_read(&other, &row);
	ereport(NOTICE,
			(errmsg(HILO_COUNTER_FORMAT " does not exist", HILO_COUNTER_ARGS(ref.name)),
			 !has_other ? 0 :
			 errhint("There is " HILO_COUNTER_FORMAT "; to drop that, call it \"%s\".",
					 HILO_COUNTER_ARGS(other.name), other.name)));
	PG_RETURN_BOOL(false);
}

/*
 * Configure
 */

/* Argument number arg, between 1 and limit; 0 if it is NULL. */
static int64
option_argument(FunctionCallInfo fcinfo, int arg, const char *name, int64 limit)
{
	return PG_ARGISNULL(arg) ? 0 : hilo_api_count(fcinfo, arg, name, limit, NULL);
}

/*
 * hilo.configure(collection, range_size, max_range_size, max_value, node_tag, separator, reset):
 * an argument that is null leaves its option alone.  All are checked before the row is locked,
 * because nothing may fail while its page is.
 */
PG_FUNCTION_INFO_V1(hilo_configure);

Datum
hilo_configure(PG_FUNCTION_ARGS)
{
	HiloCounterOptions options = {0};
	HiloRowRef	ref;
	HiloRow		before;
	bool		is_there;

	hilo_api_require_write("hilo.configure()");
	(void) hilo_api_administered(fcinfo, &ref);
	options.range_size = option_argument(fcinfo, 1, "range_size", INT_MAX);
	options.max_range_size = option_argument(fcinfo, 2, "max_range_size", INT_MAX);
	options.max_value = option_argument(fcinfo, 3, "max_value", PG_INT64_MAX);
	options.reset = hilo_api_bool(fcinfo, 6, "reset");
	if (!PG_ARGISNULL(4))
	{
		options.node_tag = text_to_cstring(PG_GETARG_TEXT_PP(4));
		hilo_check_node_tag(options.node_tag);
	}
	if (!PG_ARGISNULL(5))
	{
		options.separator = text_to_cstring(PG_GETARG_TEXT_PP(5));
		hilo_check_own_separator(ref.name, options.separator);
	}
	is_there = hilo_counter_read(&ref, &before);
	hilo_counter_configure(&ref, &options);
	if (!is_there)
		hilo_api_notice_created(ref.name);
	PG_RETURN_VOID();
}

/*
 * Bind
 */

/*
 * hilo.bind(collection, relation, column_name): from now on numbers that are ids of the column
 * are not drawn.  The collection need not exist.
 */
PG_FUNCTION_INFO_V1(hilo_bind);

Datum
hilo_bind(PG_FUNCTION_ARGS)
{
	const char *collection;

	hilo_api_require_write("hilo.bind()");
	collection = hilo_api_collection(fcinfo);
	hilo_api_reject_null(fcinfo, 1, "relation");
	hilo_api_reject_null(fcinfo, 2, "column_name");
	hilo_binding_add(collection, PG_GETARG_OID(1), NameStr(*PG_GETARG_NAME(2)));
	PG_RETURN_VOID();
}

/* hilo.unbind(collection, relation): the opposite; with a null relation, of all its columns. */
PG_FUNCTION_INFO_V1(hilo_unbind);

Datum
hilo_unbind(PG_FUNCTION_ARGS)
{
	hilo_api_require_write("hilo.unbind()");
	PG_RETURN_BOOL(hilo_bindings_delete(hilo_api_collection(fcinfo),
										PG_ARGISNULL(1) ? InvalidOid : PG_GETARG_OID(1)) > 0);
}

/*
 * Views
 */

/* Add a row, none of whose values is null, to the result of a function that returns a set. */
static void
add_result_row(FunctionCallInfo fcinfo, Datum *values)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	bool	   *nulls = palloc0(rsinfo->setDesc->natts * sizeof(bool));

	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * hilo._counters(): all counters as they are at this moment, not as of the query's snapshot,
 * because rows change in place.  Dropped ones are left out.
 */
PG_FUNCTION_INFO_V1(hilo_counters);

Datum
hilo_counters(PG_FUNCTION_ARGS)
{
	hilo_init_materialized(fcinfo);
	foreach_ptr(const HiloNamedRow, named, hilo_row_list())
	{
		const HiloRow *row = &named->row;
		Datum		values[] = {
			CStringGetTextDatum(named->name),
			Int64GetDatum(row->max),
			Int64GetDatum(row->max_value),
			Int32GetDatum(row->flags),
			TimestampTzGetDatum(row->claimed_at),
			Float8GetDatum(row->claim_rate),
			Int64GetDatum(row->range_size),
			Int64GetDatum(row->max_range_size),
			CStringGetTextDatum(NameStr(row->node_tag)),
			CStringGetTextDatum(row->separator),
			Int64GetDatum(hilo_pool_count(named->name, row))
		};

		if (!(row->flags & HILO_ROW_DROPPED))
			add_result_row(fcinfo, values);
	}
	return (Datum) 0;
}

/*
 * hilo.ranges(): what this session holds.  Ranges that have become invalid are forgotten first,
 * so that none is shown whose numbers will not be drawn.
 */
PG_FUNCTION_INFO_V1(hilo_ranges);

Datum
hilo_ranges(PG_FUNCTION_ARGS)
{
	hilo_init_materialized(fcinfo);
	foreach_ptr(HiloEntry, entry, hilo_entries_in_use())
	{
		HiloRange  *range = &entry->range.claim.range;
		Datum		values[] = {
			CStringGetTextDatum(entry->collection.ref.name),
			Int64GetDatum(range->low),
			Int64GetDatum(range->high),
			Int64GetDatum(entry->range.last + 1),
			Int64GetDatum(hilo_range_count(range))
		};

		add_result_row(fcinfo, values);
	}
	return (Datum) 0;
}

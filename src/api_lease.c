/*-------------------------------------------------------------------------
 *
 * api_lease.c
 *	  The SQL functions of leases: to get them from a hub, to give them as one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "api.h"
#include "identity.h"

PG_FUNCTION_INFO_V1(hilo_lease_from);
PG_FUNCTION_INFO_V1(identity_from);
PG_FUNCTION_INFO_V1(hilo_lease);
PG_FUNCTION_INFO_V1(identity_lease);
PG_FUNCTION_INFO_V1(hilo_hub_resume);
PG_FUNCTION_INFO_V1(hilo_hub_resume_all);
PG_FUNCTION_INFO_V1(identity_resume);
PG_FUNCTION_INFO_V1(hilo_leases);

/*
 * The second argument as a hub with the current user's mapping.  Returns false if
 * it is empty.
 */
static bool
hub_argument(FunctionCallInfo fcinfo, HiloHub *hub)
{
	HiloName	server = hilo_api_name(fcinfo, 1, "server");

	memset(hub, 0, sizeof(*hub));
	if (server.len == 0)
		return false;
	if (server.len >= NAMEDATALEN)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("server \"%.*s\" does not exist", server.len,
						server.data)));
	memcpy(NameStr(hub->server), server.data, server.len);
	namestrcpy(&hub->role, GetUserNameFromId(GetUserId(), false));
	hilo_hub_check(hub);
	return true;
}

static Datum
range_result(TupleDesc desc, const HiloRange *range)
{
	Datum		values[2];
	bool		nulls[2] = {0};

	values[0] = Int64GetDatum(range->low);
	values[1] = Int64GetDatum(range->high);
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

Datum
hilo_lease_from(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = hilo_api_result_desc(fcinfo);
	HiloCacheEntry *entry;
	HiloHub		hub;
	HiloRange	range;
	int64		size = 0;

	hilo_api_prevent_unless_may_write("hilo_lease_from()");
	entry = hilo_api_entry(fcinfo);
	if (!PG_ARGISNULL(2))
	{
		size = PG_GETARG_INT64(2);
		if (size < 1 || size > hilo_max_lease_size)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("lease_size must be between 1 and %d",
							hilo_max_lease_size)));
	}

	if (hub_argument(fcinfo, &hub))
	{
		range = hilo_lease_begin(&entry->source.rows, &hub, size);
		PG_RETURN_DATUM(range_result(desc, &range));
	}

	hilo_cache_read_row(entry);
	if (!entry->source.leased)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("collection \"%.*s\" is not leased",
						entry->name.len, entry->name.data)));
	hilo_counter_set_hub(&entry->source.rows.counter, "", "", 0);
	PG_RETURN_NULL();
}

Datum
identity_from(PG_FUNCTION_ARGS)
{
	HiloCounter identity;
	HiloCounterRow row;
	HiloHub		hub;

	hilo_api_prevent_unless_may_write("identity_from()");
	hilo_identity_counter(&identity, hilo_api_name(fcinfo, 0, "name"));
	if (hub_argument(fcinfo, &hub))
		hilo_identity_lease_from(&identity, &hub);
	else if (hilo_counter_read(&identity, &row, true) && row.leased)
		hilo_counter_set_hub(&identity, "", "", 0);
	else
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("identity \"%.*s\" is not leased",
						identity.name.len, identity.name.data)));
	PG_RETURN_VOID();
}

Datum
hilo_lease(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = hilo_api_result_desc(fcinfo);
	HiloName	collection;
	HiloCounter counter;
	HiloRange	range;
	int64		size;
	int64		floor;

	hilo_api_prevent_unless_may_write("hilo_lease()");
	collection = hilo_api_collection(fcinfo);
	hilo_api_reject_null(fcinfo, 1, "size");
	size = PG_GETARG_INT64(1);
	if (size < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("size must be at least 1")));
	floor = hilo_api_number(fcinfo, 2, "floor");

	hilo_counter_init(&counter, HILO_TABLE_COLLECTIONS, collection);
	range = hilo_counter_lease(&counter, Min(size, hilo_max_lease_size), floor,
							   hilo_lease_hub_timeline());
	PG_RETURN_DATUM(range_result(desc, &range));
}

Datum
identity_lease(PG_FUNCTION_ARGS)
{
	HiloCounter identity;
	int64		floor;

	hilo_api_prevent_unless_may_write("identity_lease()");
	hilo_identity_counter(&identity, hilo_api_name(fcinfo, 0, "name"));
	floor = hilo_api_number(fcinfo, 1, "floor");
	PG_RETURN_INT64(hilo_counter_lease(&identity, 1, floor,
									   hilo_lease_hub_timeline()).low);
}

Datum
hilo_hub_resume(PG_FUNCTION_ARGS)
{
	HiloCacheEntry *entry;
	int64		max;

	hilo_api_prevent_unless_may_write("hilo_hub_resume()");
	entry = hilo_api_entry(fcinfo);
	max = hilo_counter_resume(&entry->source.rows.counter,
							  hilo_api_number(fcinfo, 1, "floor"));
	hilo_cache_forget(entry);
	PG_RETURN_INT64(max);
}

Datum
identity_resume(PG_FUNCTION_ARGS)
{
	HiloCounter identity;

	hilo_api_prevent_unless_may_write("identity_resume()");
	hilo_identity_counter(&identity, hilo_api_name(fcinfo, 0, "name"));
	PG_RETURN_INT64(hilo_counter_resume(&identity,
										hilo_api_number(fcinfo, 1, "floor")));
}

/* Collect the names of counters that gave leases before a promotion. */
static void
note_interrupted(HiloName name, const HiloCounterRow *row,
				 const HiloLease *lease, void *arg)
{
	List	  **names = arg;
	HiloName   *copy;

	if (row->lease_timeline == 0 || row->lease_timeline == hilo_timeline())
		return;
	copy = palloc(sizeof(HiloName));
	copy->data = pnstrdup(name.data, name.len);
	copy->len = name.len;
	*names = lappend(*names, copy);
}

Datum
hilo_hub_resume_all(PG_FUNCTION_ARGS)
{
	static const HiloTable tables[] = {HILO_TABLE_COLLECTIONS, HILO_TABLE_IDENTITIES};
	int64		count = 0;

	hilo_api_prevent_unless_may_write("hilo_hub_resume()");
	for (Size i = 0; i < lengthof(tables); i++)
	{
		List	   *names = NIL;
		ListCell   *lc;

		hilo_row_visit(tables[i], note_interrupted, &names);
		foreach(lc, names)
		{
			HiloCounter counter;

			hilo_counter_init(&counter, tables[i], *(HiloName *) lfirst(lc));
			(void) hilo_counter_resume(&counter, 0);
			count++;
		}
	}
	hilo_lease_set_hub_timeline(hilo_timeline());
	PG_RETURN_INT64(count);
}

enum LeaseColumn
{
	LEASE_COLLECTION,
	LEASE_SERVER,
	LEASE_LOW,
	LEASE_HIGH,
	LEASE_NEXT_LOW,
	LEASE_NEXT_HIGH,
	LEASE_NUMBERS_LEFT,
	LEASE_SECONDS_LEFT,
	LEASE_HIGHEST,
	LEASE_LEASED_AT,
	LEASE_LAST_ERROR,
	LEASE_LAST_ERROR_AT,
	LEASE_FAILING_SINCE,
	LEASE_COLUMNS
};

static void
put_time(Datum *value, bool *isnull, TimestampTz at)
{
	*value = TimestampTzGetDatum(at);
	*isnull = at == DT_NOBEGIN;
}

static void
put_leases(HiloName name, const HiloCounterRow *row, const HiloLease *lease,
		   void *arg)
{
	ReturnSetInfo *rsinfo = arg;
	HiloCounter counter;
	HiloLeaseState state;
	Datum		values[LEASE_COLUMNS] = {0};
	bool		nulls[LEASE_COLUMNS] = {0};
	int64		left;

	if (!row->leased)
		return;
	hilo_counter_init(&counter, HILO_TABLE_LEASES, name);
	hilo_lease_read(&counter, &state);
	left = state.current.high - state.max;

	values[LEASE_COLLECTION] =
		PointerGetDatum(cstring_to_text_with_len(name.data, name.len));
	values[LEASE_SERVER] = CStringGetTextDatum(NameStr(row->hub));
	nulls[LEASE_SERVER] = NameStr(row->hub)[0] == '\0';
	values[LEASE_LOW] = Int64GetDatum(state.current.low);
	values[LEASE_HIGH] = Int64GetDatum(state.current.high);
	nulls[LEASE_LOW] = nulls[LEASE_HIGH] = left == 0;
	values[LEASE_NEXT_LOW] = Int64GetDatum(state.next.low);
	values[LEASE_NEXT_HIGH] = Int64GetDatum(state.next.high);
	nulls[LEASE_NEXT_LOW] = nulls[LEASE_NEXT_HIGH] = state.next.high == 0;
	if (state.next.high != 0)
		left += state.next.high - state.next.low + 1;
	values[LEASE_NUMBERS_LEFT] = Int64GetDatum(left);
	nulls[LEASE_SECONDS_LEFT] = state.per_minute < 1;
	if (!nulls[LEASE_SECONDS_LEFT])
		values[LEASE_SECONDS_LEFT] = Float8GetDatum(left / state.per_minute * SECS_PER_MINUTE);
	values[LEASE_HIGHEST] = Int64GetDatum(row->max);
	put_time(&values[LEASE_LEASED_AT], &nulls[LEASE_LEASED_AT],
			 state.leased_at);
	nulls[LEASE_LAST_ERROR] = state.failed_at == DT_NOBEGIN;
	if (!nulls[LEASE_LAST_ERROR])
		values[LEASE_LAST_ERROR] = CStringGetTextDatum(state.error);
	put_time(&values[LEASE_LAST_ERROR_AT], &nulls[LEASE_LAST_ERROR_AT],
			 state.failed_at);
	put_time(&values[LEASE_FAILING_SINCE], &nulls[LEASE_FAILING_SINCE],
			 state.failing_since);

	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

Datum
hilo_leases(PG_FUNCTION_ARGS)
{
	hilo_init_materialized(fcinfo);
	hilo_row_visit(HILO_TABLE_COLLECTIONS, put_leases, fcinfo->resultinfo);
	return (Datum) 0;
}

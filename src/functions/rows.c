/*-------------------------------------------------------------------------
 *
 * rows.c
 *	  The SQL functions behind the views of collections, identities, the pool
 *	  and leases.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "funcapi.h"
#include "storage/procarray.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "servers/hub.h"
#include "session/call.h"
#include "shared/order.h"
#include "shared/pool.h"
#include "tables/binding.h"

PG_FUNCTION_INFO_V1(hilo_status);
PG_FUNCTION_INFO_V1(hilo_identities);
PG_FUNCTION_INFO_V1(hilo_pool);
PG_FUNCTION_INFO_V1(hilo_leases);
PG_FUNCTION_INFO_V1(hilo_members_view);

/* Longer times are shown as NULL. */
#define LONGEST_TIME_LEFT_HOURS		(10000 * 365.25 * 24)

static Datum
name_datum(const char *name)
{
	return CStringGetTextDatum(name);
}

static void
put_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* A time; NULL for -infinity. */
static void
put_time(Datum *value, bool *isnull, TimestampTz at)
{
	*value = TimestampTzGetDatum(at);
	*isnull = at == DT_NOBEGIN;
}

/*
 * Collections
 */

enum StatusColumn
{
	STATUS_COLLECTION,
	STATUS_MAX,
	STATUS_MAX_VALUE,
	STATUS_SHARE_USED,
	STATUS_LAST_CLAIM,
	STATUS_NUMBERS_PER_HOUR,
	STATUS_TIME_LEFT,
	STATUS_RANGE_SIZE,
	STATUS_MAX_RANGE_SIZE,
	STATUS_NODE_TAG,
	STATUS_BOUND_TO,
	STATUS_HUB,
	STATUS_ORDERED,
	STATUS_HELD_BY,
	STATUS_HELD_SINCE,
	STATUS_COLUMNS
};

/* What the collection is bound to, as text[]; false: nothing. */
static bool
bound_to(const char *name, Datum *result)
{
	List	   *bindings = hilo_bindings(name);
	Datum	   *texts = palloc((list_length(bindings) + 1) * sizeof(Datum));
	int			count = 0;
	ListCell   *lc;

	foreach(lc, bindings)
	{
		HiloBinding *binding = lfirst(lc);
		HiloColumn	column;

		if (hilo_binding_column(name, binding, &column) ||
			binding->kind == HILO_BOUND)
			texts[count++] = CStringGetTextDatum(hilo_column_text(&column));
		else if (binding->kind == HILO_ASKED)
			texts[count++] = CStringGetTextDatum(binding->name);
	}
	*result = PointerGetDatum(construct_array(texts, count, TEXTOID, -1, false,
											  TYPALIGN_INT));
	return count > 0;
}

static double
numbers_per_hour(const HiloRow *row)
{
	TimestampTz now = GetCurrentTimestamp();

	if (row->claimed_at == DT_NOBEGIN)
		return 0;
	return hilo_rate_decay(row->claim_rate, now - row->claimed_at,
						   USECS_PER_HOUR);
}

/* The hours as an interval; false if they are too many. */
static bool
put_interval(Datum *value, double hours)
{
	Interval   *interval;

	if (hours >= LONGEST_TIME_LEFT_HOURS)
		return false;
	interval = palloc0(sizeof(Interval));
	interval->day = (int32) (hours / HOURS_PER_DAY);
	interval->time = (TimeOffset) rint((hours - interval->day * (double) HOURS_PER_DAY) *
									   SECS_PER_HOUR) * USECS_PER_SEC;
	*value = IntervalPGetDatum(interval);
	return true;
}

/*
 * The process whose transaction holds the horizon of an ordered collection back,
 * 0 if that is prepared or there is none, and when it began.
 */
static int
holder_of(const char *name, TimestampTz *since)
{
	TransactionId holder = hilo_order_holder(name, GetActiveSnapshot(), since);

	return TransactionIdIsValid(holder) ? BackendXidGetPid(holder) : 0;
}

static void
put_collection(FunctionCallInfo fcinfo, const char *name, const HiloRow *row)
{
	Datum		values[STATUS_COLUMNS] = {0};
	bool		nulls[STATUS_COLUMNS] = {0};
	double		per_hour = numbers_per_hour(row);
	TimestampTz since = DT_NOBEGIN;

	values[STATUS_COLLECTION] = name_datum(name);
	values[STATUS_MAX] = Int64GetDatum(row->max);
	values[STATUS_MAX_VALUE] = Int64GetDatum(row->max_value);
	values[STATUS_SHARE_USED] = Float8GetDatum((double) row->max / row->max_value);
	put_time(&values[STATUS_LAST_CLAIM], &nulls[STATUS_LAST_CLAIM],
			 row->claimed_at);
	values[STATUS_NUMBERS_PER_HOUR] = Float8GetDatum(rint(per_hour));
	nulls[STATUS_TIME_LEFT] = per_hour <= 0 ||
		!put_interval(&values[STATUS_TIME_LEFT],
					  (row->max_value - row->max) / per_hour);
	values[STATUS_RANGE_SIZE] = Int64GetDatum(row->range_size);
	nulls[STATUS_RANGE_SIZE] = row->range_size == 0;
	values[STATUS_MAX_RANGE_SIZE] = Int64GetDatum(row->max_range_size);
	nulls[STATUS_MAX_RANGE_SIZE] = row->max_range_size == 0;
	values[STATUS_NODE_TAG] = CStringGetTextDatum(NameStr(row->node_tag));
	nulls[STATUS_NODE_TAG] = !(row->flags & HILO_ROW_HAS_TAG);
	nulls[STATUS_BOUND_TO] = !(row->flags & HILO_ROW_BOUND) ||
		!bound_to(name, &values[STATUS_BOUND_TO]);
	values[STATUS_HUB] = CStringGetTextDatum(NameStr(row->hub));
	nulls[STATUS_HUB] = !(row->flags & HILO_ROW_LEASED) ||
		NameStr(row->hub)[0] == '\0';
	values[STATUS_ORDERED] = BoolGetDatum((row->flags & HILO_ROW_ORDERED) != 0);
	values[STATUS_HELD_BY] = Int32GetDatum(holder_of(name, &since));
	nulls[STATUS_HELD_BY] = values[STATUS_HELD_BY] == 0;
	put_time(&values[STATUS_HELD_SINCE], &nulls[STATUS_HELD_SINCE], since);
	put_row(fcinfo, values, nulls);
}

Datum
hilo_status(PG_FUNCTION_ARGS)
{
	ListCell   *lc;

	hilo_init_materialized(fcinfo);
	foreach(lc, hilo_row_list())
	{
		HiloNamedRow *row = lfirst(lc);

		if (!hilo_is_identity(row->name))
			put_collection(fcinfo, row->name, &row->row);
	}
	return (Datum) 0;
}

/*
 * Identities
 */

Datum
hilo_identities(PG_FUNCTION_ARGS)
{
	ListCell   *lc;

	hilo_init_materialized(fcinfo);
	foreach(lc, hilo_row_list())
	{
		HiloNamedRow *row = lfirst(lc);
		const char *name = row->name;
		const char *shown;
		Datum		values[2];
		bool		nulls[2] = {0};

		if (!hilo_is_identity(name))
			continue;

		/*
		 * Show the name without its bar, unless functions that are given the
		 * name would take its last character for the separator and find
		 * another identity.
		 */
		shown = pnstrdup(name, strlen(name) - 1);
		values[0] = name_datum(hilo_ends_with(shown, hilo_identity_parts_separator) ?
							   name : shown);
		values[1] = Int64GetDatum(row->row.max);
		put_row(fcinfo, values, nulls);
	}
	return (Datum) 0;
}

/*
 * The pool
 */

/* True if draws can use numbers of the piece. */
static bool
is_good(const HiloPooled *pooled)
{
	HiloRowRef	ref;
	HiloRow		row;

	hilo_row_ref_init(&ref, pooled->name);
	return hilo_counter_read(&ref, &row) &&
		hilo_counter_holds(&row, &pooled->piece);
}

Datum
hilo_pool(PG_FUNCTION_ARGS)
{
	ListCell   *lc;

	hilo_init_materialized(fcinfo);
	foreach(lc, hilo_pool_list())
	{
		HiloPooled *pooled = lfirst(lc);
		const HiloRange *range = &pooled->piece.range;
		Datum		values[5];
		bool		nulls[5] = {0};

		if (!is_good(pooled))
			continue;
		values[0] = name_datum(pooled->name);
		values[1] = Int64GetDatum(range->low);
		values[2] = Int64GetDatum(range->high);
		values[3] = Int64GetDatum(hilo_range_count(range));
		values[4] = BoolGetDatum(pooled->piece.leased);
		put_row(fcinfo, values, nulls);
	}
	return (Datum) 0;
}

/*
 * Leases
 */

enum LeaseColumn
{
	LEASE_COLLECTION,
	LEASE_HUB,
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
put_lease(FunctionCallInfo fcinfo, const char *name, const HiloRow *row)
{
	HiloPoolLease state = {
		.leased_at = DT_NOBEGIN,
		.failed_at = DT_NOBEGIN,
		.failing_since = DT_NOBEGIN
	};
	Datum		values[LEASE_COLUMNS] = {0};
	bool		nulls[LEASE_COLUMNS] = {0};

	(void) hilo_pool_lease(name, &state);

	values[LEASE_COLLECTION] = name_datum(name);
	values[LEASE_HUB] = CStringGetTextDatum(NameStr(row->hub));
	nulls[LEASE_HUB] = NameStr(row->hub)[0] == '\0';
	values[LEASE_NUMBERS_LEFT] = Int64GetDatum(state.left);
	nulls[LEASE_SECONDS_LEFT] = state.per_minute < 1;
	if (!nulls[LEASE_SECONDS_LEFT])
		values[LEASE_SECONDS_LEFT] = Float8GetDatum(state.left / state.per_minute * SECS_PER_MINUTE);
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
	put_row(fcinfo, values, nulls);
}

Datum
hilo_leases(PG_FUNCTION_ARGS)
{
	ListCell   *lc;

	hilo_init_materialized(fcinfo);
	foreach(lc, hilo_row_list())
	{
		HiloNamedRow *row = lfirst(lc);

		if (row->row.flags & HILO_ROW_LEASED)
			put_lease(fcinfo, row->name, &row->row);
	}
	return (Datum) 0;
}

/*
 * Members
 */

Datum
hilo_members_view(PG_FUNCTION_ARGS)
{
	ListCell   *lc;

	hilo_init_materialized(fcinfo);
	foreach(lc, hilo_members())
	{
		const HiloMember *member = lfirst(lc);
		const HiloMemberRow *row = &member->row;
		Datum		values[8];
		bool		nulls[8] = {0};

		values[0] = name_datum(member->name);
		values[1] = CStringGetTextDatum(NameStr(row->address));
		nulls[1] = NameStr(row->address)[0] == '\0';
		values[2] = name_datum(member->counter);
		values[3] = Int64GetDatum(row->highest);
		values[4] = Int64GetDatum(row->epoch);
		nulls[4] = row->epoch == 0;
		values[5] = Int64GetDatum(row->known_timeline);
		put_time(&values[6], &nulls[6], row->seen_at);
		values[7] = BoolGetDatum(member->reported);
		put_row(fcinfo, values, nulls);
	}
	return (Datum) 0;
}

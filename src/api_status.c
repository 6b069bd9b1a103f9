/*-------------------------------------------------------------------------
 *
 * api_status.c
 *	  The SQL function that shows how the collections are.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "api.h"
#include "binding.h"
#include "parking.h"
#include "rate.h"

PG_FUNCTION_INFO_V1(hilo_status);
PG_FUNCTION_INFO_V1(hilo_parked);

/* A time left that is longer is not worth a figure. */
#define LONGEST_TIME_LEFT_HOURS		(10000 * 365.25 * 24)

enum StatusColumn
{
	STATUS_COLLECTION,
	STATUS_MAX,
	STATUS_MAX_VALUE,
	STATUS_SHARE_USED,
	STATUS_CLAIMS,
	STATUS_GIVEN_BACK,
	STATUS_LAST_CLAIM,
	STATUS_NUMBERS_PER_HOUR,
	STATUS_TIME_LEFT,
	STATUS_RANGE_SIZE,
	STATUS_MAX_RANGE_SIZE,
	STATUS_NODE_TAG,
	STATUS_BOUND_TO,
	STATUS_HUB,
	STATUS_COLUMNS
};

/* What the collection is bound to, as text[]; false if it is not. */
static bool
bound_to(HiloName name, Datum *result)
{
	List	   *bindings = hilo_bindings(name);
	Datum	   *texts = palloc((list_length(bindings) + 1) * sizeof(Datum));
	int			count = 0;
	ListCell   *lc;

	foreach(lc, bindings)
	{
		HiloBinding *binding = lfirst(lc);

		if (binding->column != NULL)
			texts[count++] = CStringGetTextDatum(hilo_column_text(binding->column));
		else if (binding->taken != NULL)
			texts[count++] = CStringGetTextDatum(binding->taken);
	}
	*result = PointerGetDatum(construct_array(texts, count, TEXTOID, -1, false,
											  TYPALIGN_INT));
	return count > 0;
}

static void
put_collection(HiloName name, const HiloCounterRow *row,
			   const HiloLease *lease, void *arg)
{
	ReturnSetInfo *rsinfo = arg;
	TimestampTz now = GetCurrentTimestamp();
	Datum		values[STATUS_COLUMNS] = {0};
	bool		nulls[STATUS_COLUMNS] = {0};
	double		per_hour = 0;
	double		hours_left;

	if (row->claimed_at != DT_NOBEGIN)
		per_hour = hilo_rate_per_hour(hilo_rate_decay(row->claim_rate,
													  now - row->claimed_at),
									  now - row->created_at);
	hours_left = per_hour > 0 ? (row->max_value - row->max) / per_hour :
		LONGEST_TIME_LEFT_HOURS;

	values[STATUS_COLLECTION] =
		PointerGetDatum(cstring_to_text_with_len(name.data, name.len));
	values[STATUS_MAX] = Int64GetDatum(row->max);
	values[STATUS_MAX_VALUE] = Int64GetDatum(row->max_value);
	values[STATUS_SHARE_USED] = Float8GetDatum((double) row->max / row->max_value);
	values[STATUS_CLAIMS] = Int64GetDatum(row->claims);
	values[STATUS_GIVEN_BACK] = Int64GetDatum(row->given_back);
	values[STATUS_LAST_CLAIM] = TimestampTzGetDatum(row->claimed_at);
	nulls[STATUS_LAST_CLAIM] = row->claimed_at == DT_NOBEGIN;
	values[STATUS_NUMBERS_PER_HOUR] = Float8GetDatum(rint(per_hour));

	nulls[STATUS_TIME_LEFT] = hours_left >= LONGEST_TIME_LEFT_HOURS;
	if (!nulls[STATUS_TIME_LEFT])
	{
		Interval   *left = palloc0(sizeof(Interval));

		left->day = (int32) (hours_left / HOURS_PER_DAY);
		left->time = (TimeOffset) rint((hours_left - left->day * (double) HOURS_PER_DAY) *
									   SECS_PER_HOUR) * USECS_PER_SEC;
		values[STATUS_TIME_LEFT] = IntervalPGetDatum(left);
	}

	values[STATUS_RANGE_SIZE] = Int64GetDatum(row->range_size);
	nulls[STATUS_RANGE_SIZE] = row->range_size == 0;
	values[STATUS_MAX_RANGE_SIZE] = Int64GetDatum(row->max_range_size);
	nulls[STATUS_MAX_RANGE_SIZE] = row->max_range_size == 0;
	values[STATUS_NODE_TAG] = CStringGetTextDatum(NameStr(row->node_tag));
	nulls[STATUS_NODE_TAG] = !row->has_node_tag;

	nulls[STATUS_BOUND_TO] = !row->may_be_bound ||
		!bound_to(name, &values[STATUS_BOUND_TO]);

	values[STATUS_HUB] = CStringGetTextDatum(NameStr(row->hub));
	nulls[STATUS_HUB] = !row->leased || NameStr(row->hub)[0] == '\0';

	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

Datum
hilo_status(PG_FUNCTION_ARGS)
{
	hilo_init_materialized(fcinfo);
	hilo_row_visit(HILO_TABLE_COLLECTIONS, put_collection, fcinfo->resultinfo);
	return (Datum) 0;
}

/* Would the tail be used, if the next one drew now? */
static bool
is_good(const HiloParked *parked)
{
	HiloSource	source;
	HiloSourceState state;

	hilo_source_init(&source, parked->name);
	hilo_source_read(&source, false, &state);
	return hilo_source_holds(&state, &parked->tail.claim);
}

Datum
hilo_parked(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	ListCell   *lc;

	hilo_init_materialized(fcinfo);
	foreach(lc, hilo_parking_list())
	{
		HiloParked *parked = lfirst(lc);
		const HiloRange *range = &parked->tail.claim.range;
		Datum		values[5];
		bool		nulls[5] = {0};

		if (!is_good(parked))
			continue;
		values[0] = PointerGetDatum(cstring_to_text_with_len(parked->name.data,
															 parked->name.len));
		values[1] = Int64GetDatum(range->low);
		values[2] = Int64GetDatum(range->high);
		values[3] = Int64GetDatum(range->high - range->low + 1);
		values[4] = TimestampTzGetDatum(parked->parked_at);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/*-------------------------------------------------------------------------
 *
 * api_lease.c
 *	  The SQL functions of leases: to get them from a hub, to give them as one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xlog.h"
#include "funcapi.h"
#include "utils/builtins.h"

#include "api.h"
#include "lease.h"

PG_FUNCTION_INFO_V1(hilo_lease_from);
PG_FUNCTION_INFO_V1(hilo_hear_hub);
PG_FUNCTION_INFO_V1(hilo_lease);
PG_FUNCTION_INFO_V1(hilo_hub_resume);
PG_FUNCTION_INFO_V1(hilo_hub_resume_all);

/*
 * On a member
 */

/* The lease_size in argument 2; 0 if it is NULL. */
static int32
lease_size_argument(FunctionCallInfo fcinfo)
{
	int64		size;

	if (PG_ARGISNULL(2))
		return 0;
	size = PG_GETARG_INT64(2);
	if (size < 1 || size > hilo_max_lease_size)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("lease_size must be between 1 and %d",
						hilo_max_lease_size)));
	return (int32) size;
}

Datum
hilo_lease_from(PG_FUNCTION_ARGS)
{
	HiloCollection collection;
	int32		size;

	hilo_api_prevent_unless_may_write("hilo_lease_from()");
	(void) hilo_api_administered(fcinfo, &collection);
	size = lease_size_argument(fcinfo);

	if (PG_ARGISNULL(1))
		hilo_lease_end(&collection.ref);
	else
		hilo_lease_begin(&collection.ref,
						 text_to_cstring(PG_GETARG_TEXT_PP(1)), GetUserId(),
						 size);
	PG_RETURN_VOID();
}

Datum
hilo_hear_hub(PG_FUNCTION_ARGS)
{
	HiloCollection collection;
	bool		heard;

	hilo_api_prevent_unless_may_write("hilo.hear_hub()");
	(void) hilo_api_administered(fcinfo, &collection);
	heard = hilo_lease_hear(&collection.ref);
	hilo_api_forget_range(collection.ref.name);
	PG_RETURN_BOOL(heard);
}

/*
 * On a hub
 */

/* How many numbers the member asks for: it gets no more than this server gives. */
static int64
size_argument(FunctionCallInfo fcinfo)
{
	return Min(hilo_api_number(fcinfo, 1, "size"), hilo_max_lease_size);
}

Datum
hilo_lease(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = hilo_api_result_desc(fcinfo);
	HiloCollection collection;
	int64		size;
	int64		at_least;
	HiloWantedHub wanted = hilo_lease_wanted();
	HiloRow		row;
	HiloRange	range;
	Datum		values[8];
	bool		nulls[8] = {0};

	hilo_api_prevent_unless_may_write("hilo_lease()");
	(void) hilo_api_administered(fcinfo, &collection);
	size = size_argument(fcinfo);
	at_least = hilo_api_number(fcinfo, 2, "at_least");
	hilo_api_reject_null(fcinfo, 3, "known_system");
	hilo_api_reject_null(fcinfo, 4, "known_timeline");

	hilo_hub_hear(PG_GETARG_INT64(3), PG_GETARG_INT64(4));
	range = hilo_counter_lease(&collection.ref, &wanted, size, at_least,
							   hilo_hub_timeline(), &row);

	values[0] = Int64GetDatum(range.low);
	values[1] = Int64GetDatum(range.high);
	nulls[0] = nulls[1] = size == 0;
	values[2] = Int64GetDatum(row.epoch);
	values[3] = Int64GetDatum((int64) GetSystemIdentifier());
	values[4] = Int64GetDatum(hilo_timeline());
	values[5] = Int32GetDatum(row.range_size);
	values[6] = Int32GetDatum(row.max_range_size);
	values[7] = CStringGetTextDatum(NameStr(row.node_tag));
	nulls[7] = (row.flags & HILO_ROW_HAS_TAG) == 0;
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

/* Let a counter give leases again; this session forgets its range at once. */
static int64
resume(HiloRowRef *ref, int64 at_least)
{
	int64		max = hilo_counter_resume(ref, at_least);

	hilo_api_forget_range(ref->name);
	return max;
}

Datum
hilo_hub_resume(PG_FUNCTION_ARGS)
{
	HiloCollection collection;

	hilo_api_prevent_unless_may_write("hilo_hub_resume()");
	(void) hilo_api_administered(fcinfo, &collection);
	PG_RETURN_INT64(resume(&collection.ref,
						   hilo_api_number(fcinfo, 1, "at_least")));
}

/* All that have given leases, but on another timeline, or elsewhere. */
Datum
hilo_hub_resume_all(PG_FUNCTION_ARGS)
{
	int64		count = 0;
	ListCell   *lc;

	hilo_api_prevent_unless_may_write("hilo_hub_resume()");
	foreach(lc, hilo_row_list())
	{
		HiloNamedRow *row = lfirst(lc);
		HiloRowRef	ref;

		if (row->row.timeline == 0 || (row->row.flags & HILO_ROW_LEASED) ||
			(row->row.timeline == hilo_timeline() && row->row.epoch != 0))
			continue;
		hilo_row_ref_init(&ref, row->name);
		(void) resume(&ref, 0);
		count++;
	}
	hilo_hub_set_timeline(hilo_timeline());
	PG_RETURN_INT64(count);
}

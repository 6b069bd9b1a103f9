/*-------------------------------------------------------------------------
 *
 * lease.c
 *	  The SQL functions of leases, for members and for hubs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"

#include "hub/core.h"
#include "hub/hub.h"
#include "hub/lease.h"
#include "hub/leased.h"
#include "hub/member.h"
#include "hub/turn.h"

/*
 * On a member
 */

Datum
do_hilo_lease_from(PG_FUNCTION_ARGS)
{
	HiloCollection collection;
	int32		size;

	hilo_api_prevent_unless_may_write("hilo.lease_from()");
	(void) hilo_api_administered(fcinfo, &collection);
	size = PG_ARGISNULL(2) ? 0 :
		(int32) hilo_api_count(fcinfo, 2, "lease_size", HILO_LARGEST_LEASE, NULL);

	if (PG_ARGISNULL(1))
		hilo_lease_end(&collection.ref);
	else
		hilo_lease_begin(&collection.ref,
						 text_to_cstring(PG_GETARG_TEXT_PP(1)), GetUserId(),
						 size);
	PG_RETURN_VOID();
}

Datum
do_hilo_lease_report(PG_FUNCTION_ARGS)
{
	hilo_api_prevent_unless_may_write("hilo.lease_report()");
	PG_RETURN_INT64(hilo_lease_report_all());
}

Datum
do_hilo_own_member_name(PG_FUNCTION_ARGS)
{
	const char *name = hilo_member_name(false);

	if (name == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(name));
}

Datum
do_hilo_lease_state(PG_FUNCTION_ARGS)
{
	HiloLeaseState state = hilo_lease_state_of(hilo_api_name(fcinfo, 0, "name"));
	Datum		values[] = {
		Int64GetDatum(state.left),
		Float8GetDatum(state.per_minute),
		TimestampTzGetDatum(state.taken_at),
		TimestampTzGetDatum(state.leased_at),
		TimestampTzGetDatum(state.failed_at),
		TimestampTzGetDatum(state.failing_since),
		CStringGetTextDatum(state.error)
	};

	return hilo_api_result(hilo_api_result_desc(fcinfo), values);
}

/*
 * On a hub: what the functions in SQL call
 */

Datum
do_hilo_present(PG_FUNCTION_ARGS)
{
	Oid			table = hilo_catalog_table(HILO_TABLE_COUNTERS);
	TupleDesc	desc;
	Datum		values[6];
	bool		nulls[6] = {0};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = Int64GetDatum(RecoveryInProgress() ? 0 : GetWALInsertionTimeLine());
	values[1] = Int64GetDatum(hilo_catalog_home(table));
	values[2] = Int64GetDatum(hilo_random_number());
	values[3] = BoolGetDatum(hilo_hub_auto_resume);
	values[4] = BoolGetDatum(hilo_hub_requires_all_standbys());
	values[5] = Int64GetDatum(hilo_hub_backup());
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values,
											 nulls));
}

Datum
do_hilo_leases_stop(PG_FUNCTION_ARGS)
{
	hilo_leases_stop_until_commit();
	PG_RETURN_VOID();
}

Datum
do_hilo_hub_begin(PG_FUNCTION_ARGS)
{
	hilo_api_prevent_unless_may_write("hilo.lease()");
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a hub gives leases only in transactions of the isolation level READ COMMITTED")));

	hilo_leases_begin();

	/*
	 * What has to be on a standby is waited for before the commit, where a
	 * cancel is an error.
	 */
	if (PG_GETARG_BOOL(0) && !IsTransactionBlock())
		(void) set_config_option("synchronous_commit", "local", PGC_USERSET,
								 PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0,
								 false);
	PG_RETURN_VOID();
}

/*
 * Raise 22023 if the number would use up more than half of the remaining ones, as
 * for an id given by hand: a member's mistake must not exhaust the counter.
 */
static void
check_highest(HiloRowRef *ref, int64 number)
{
	HiloRow		row;

	(void) hilo_counter_read(ref, &row);
	if (number > row.max && number - row.max > (row.max_value - row.max) / 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("numbers of " HILO_NAME_FORMAT " up to " INT64_FORMAT " would use up more than half of the remaining numbers",
						HILO_NAME_ARGS(ref->name), number),
				 errdetail("The hub has claimed numbers up to " INT64_FORMAT "; the limit is " INT64_FORMAT ".",
						   row.max, row.max_value),
				 errhint("If the member is right, move the counter on the hub with %s().",
						 hilo_is_identity(ref->name) ? "seed_identity_for" : "hilo.seed")));
}

Datum
do_hilo_claim_lease(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = hilo_api_result_desc(fcinfo);
	int64		size = Min(hilo_api_number(fcinfo, 1, "size"),
						   HILO_LARGEST_LEASE);
	int64		at_least = hilo_api_number(fcinfo, 2, "at_least");
	HiloCollection collection;
	HiloRow		row;
	HiloClaim	claim = {{0}};
	Datum		values[8];
	bool		nulls[8] = {0};

	(void) hilo_api_administered(fcinfo, &collection);
	check_highest(&collection.ref, at_least);
	hilo_leased_claim(&collection.ref, hilo_leasing(), size, at_least, &row,
					  &claim);

	values[0] = Int64GetDatum(claim.range.low);
	values[1] = Int64GetDatum(claim.range.high);
	nulls[0] = nulls[1] = size == 0;
	values[2] = Int64GetDatum(row.epoch);
	values[3] = Int32GetDatum(row.range_size);
	values[4] = Int32GetDatum(row.max_range_size);
	values[5] = CStringGetTextDatum(NameStr(row.node_tag));
	nulls[5] = (row.flags & HILO_ROW_HAS_TAG) == 0;
	values[6] = CStringGetTextDatum(row.separator);
	nulls[6] = row.separator[0] == '\0';
	values[7] = LSNGetDatum(claim.lsn);
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

Datum
do_hilo_hub_wait(PG_FUNCTION_ARGS)
{
	hilo_flush_everywhere(PG_GETARG_LSN(0), PG_GETARG_BOOL(1));
	PG_RETURN_VOID();
}

Datum
do_hilo_check_highest(PG_FUNCTION_ARGS)
{
	HiloCollection collection;

	(void) hilo_api_administered(fcinfo, &collection);
	check_highest(&collection.ref, hilo_api_number(fcinfo, 1, "at_least"));
	PG_RETURN_VOID();
}

Datum
do_hilo_raise_counter(PG_FUNCTION_ARGS)
{
	const char *name = hilo_api_name(fcinfo, 0, "collection");
	HiloCollection collection;
	int64		max;

	if (hilo_is_own_name(name))
		hilo_collection_init(&collection, name);
	else
		(void) hilo_api_administered(fcinfo, &collection);
	max = hilo_leased_raise(&collection.ref,
							hilo_api_number(fcinfo, 1, "highest"),
							hilo_api_number(fcinfo, 2, "skip"));
	PG_RETURN_INT64(max);
}

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
	Datum		values[] = {
		Int64GetDatum(RecoveryInProgress() ? 0 : GetWALInsertionTimeLine()),
		Int64GetDatum(hilo_hub_home()),
		Int64GetDatum(hilo_random_number()),
		BoolGetDatum(hilo_hub_auto_resume),
		BoolGetDatum(hilo_hub_requires_all_standbys()),
		Int64GetDatum(hilo_hub_backup()),
		Int64GetDatum(hilo_catalog_home(hilo_catalog_table(HILO_TABLE_COUNTERS)))
	};

	return hilo_api_result(hilo_api_result_desc(fcinfo), values);
}

Datum
do_hilo_leases_stop(PG_FUNCTION_ARGS)
{
	hilo_api_prevent_unless_may_write("hilo.hub_forget()");
	hilo_leases_stop_until_commit();
	PG_RETURN_VOID();
}

/* Begin a request, which must be allowed to write, and see what others have committed. */
static void
begin_request(const char *function)
{
	hilo_api_prevent_unless_may_write(function);
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a hub gives leases only in transactions of the isolation level READ COMMITTED")));

	hilo_leases_begin();
}

Datum
do_hilo_hub_begin(PG_FUNCTION_ARGS)
{
	begin_request(text_to_cstring(PG_GETARG_TEXT_PP(0)));

	/*
	 * What has to be on a standby is waited for before the commit, where a
	 * cancel is an error.
	 */
	if (PG_GETARG_BOOL(1) && !IsTransactionBlock())
		(void) set_config_option("synchronous_commit", "local", PGC_USERSET,
								 PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0,
								 false);
	PG_RETURN_VOID();
}

/* True if the number would use up more than half of the numbers that the row has left. */
static bool
is_too_high(const HiloRow *row, int64 number)
{
	return number > row->max && number - row->max > (row->max_value - row->max) / 2;
}

/*
 * Raise 22023 if the number would use up more than half of the remaining ones, as
 * for an id given by hand: a member's mistake must not exhaust the counter.  Sets *row.
 */
static void
check_highest(HiloCollection *collection, int64 number, HiloRow *row)
{
	const HiloRowRef *ref = &collection->ref;

	(void) hilo_counter_read(&collection->ref, row);

	/* Where only members draw, no draw has let the limit follow the types. */
	if (row->max >= row->max_value || is_too_high(row, number))
	{
		(void) hilo_collection_set_limit(collection);
		(void) hilo_counter_read(&collection->ref, row);
	}
	if (is_too_high(row, number))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("numbers of " HILO_NAME_FORMAT " up to " INT64_FORMAT " would use up more than half of the remaining numbers",
						HILO_NAME_ARGS(ref->name), number),
				 errdetail("The hub has claimed numbers up to " INT64_FORMAT "; the limit is " INT64_FORMAT ".",
						   row->max, row->max_value),
				 errhint("If the member is right, move the counter on the hub with %s(); otherwise call hilo.lease_from() on the member with a null server, and then force a seed.",
						 hilo_is_identity(ref->name) ? "seed_identity_for" : "hilo.seed")));
}

/* Columns of a lease. */
enum LeaseColumn
{
	LEASE_LOW,
	LEASE_HIGH,
	LEASE_EPOCH,
	LEASE_RANGE_SIZE,
	LEASE_MAX_RANGE_SIZE,
	LEASE_NODE_TAG,
	LEASE_SEPARATOR,
	LEASE_CLAIM_COLUMNS,
	LEASE_LSN = LEASE_CLAIM_COLUMNS,	/* of hilo._claim_lease() */
	LEASE_LINEAGE = LEASE_CLAIM_COLUMNS,	/* of hilo.lease() */
	LEASE_TERM,
	LEASE_TERM_ID,
	LEASE_REFUSAL,
	LEASE_HINT,
	LEASE_WANTS_REPORT,
	LEASE_COLUMNS
};

/*
 * Claim the numbers, on disk here, and set the values to what was claimed and what the row
 * says.  Returns the LSN of the claim, for standbys.
 */
static XLogRecPtr
claim_lease(HiloRowRef *ref, int64 size, int64 above, Datum *values, bool *nulls)
{
	HiloRow		row;
	HiloClaim	claim = {{0}};

	hilo_leased_claim(ref, hilo_leasing(), Min(size, HILO_LARGEST_LEASE), above, &row, &claim);
	values[LEASE_LOW] = Int64GetDatum(claim.range.low);
	values[LEASE_HIGH] = Int64GetDatum(claim.range.high);
	nulls[LEASE_LOW] = nulls[LEASE_HIGH] = size == 0;
	values[LEASE_EPOCH] = Int64GetDatum(row.epoch);
	values[LEASE_RANGE_SIZE] = Int32GetDatum(row.range_size);
	values[LEASE_MAX_RANGE_SIZE] = Int32GetDatum(row.max_range_size);
	values[LEASE_NODE_TAG] = CStringGetTextDatum(NameStr(row.node_tag));
	nulls[LEASE_NODE_TAG] = (row.flags & HILO_ROW_HAS_TAG) == 0;
	values[LEASE_SEPARATOR] = CStringGetTextDatum(row.separator);
	nulls[LEASE_SEPARATOR] = row.separator[0] == '\0';
	return claim.lsn;
}

Datum
do_hilo_claim_lease(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = hilo_api_result_desc(fcinfo);
	int64		size = hilo_api_number(fcinfo, 1, "size");
	int64		above = hilo_api_number(fcinfo, 2, "at_least");
	HiloCollection collection;
	HiloRow		row;
	Datum		values[LEASE_LSN + 1];
	bool		nulls[LEASE_LSN + 1] = {0};

	(void) hilo_api_administered(fcinfo, &collection);
	check_highest(&collection, above, &row);
	values[LEASE_LSN] = LSNGetDatum(claim_lease(&collection.ref, size, above, values, nulls));
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

/*
 * Give a lease if the term is open, the member knows no other one, and its row need not
 * change, so that the request takes no transaction id.  False: nothing was done.
 */
static bool
give_without_record(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	int64		size;
	int64		above;
	HiloTerm	known;
	HiloTerm	own;
	HiloCollection collection;
	HiloRow		row;

	for (int i = 0; i < 7; i++)
	{
		if (PG_ARGISNULL(i))
			return false;
	}
	size = PG_GETARG_INT64(1);
	above = PG_GETARG_INT64(2);
	known.lineage = PG_GETARG_INT64(3);
	known.number = PG_GETARG_INT64(4);
	known.id = PG_GETARG_INT64(5);
	if (size < 1 || above < 0)
		return false;
	begin_request("hilo.lease()");
	if (!hilo_hub_term_for_lease(&own) ||
		(known.lineage != 0 &&
		 (known.lineage != own.lineage || known.number > own.number ||
		  (known.number == own.number && known.id != own.id))))
		return false;
	(void) hilo_api_administered(fcinfo, &collection);
	check_highest(&collection, above, &row);
	if (!hilo_member_is_current(text_to_cstring(PG_GETARG_TEXT_PP(6)), collection.ref.name,
								row.epoch, &known, &own, fcinfo->args[7]))
		return false;

	hilo_hub_wait_for_lease(claim_lease(&collection.ref, size, above, values, nulls));
	values[LEASE_LINEAGE] = Int64GetDatum(own.lineage);
	values[LEASE_TERM] = Int64GetDatum(own.number);
	values[LEASE_TERM_ID] = Int64GetDatum(own.id);
	nulls[LEASE_REFUSAL] = nulls[LEASE_HINT] = nulls[LEASE_WANTS_REPORT] = true;
	return true;
}

/* All else is SQL. */
Datum
do_hilo_lease(PG_FUNCTION_ARGS)
{
	Datum		values[LEASE_COLUMNS];
	bool		nulls[LEASE_COLUMNS] = {0};

	if (!give_without_record(fcinfo, values, nulls))
		return hilo_api_call_inner(fcinfo);
	return HeapTupleGetDatum(heap_form_tuple(hilo_api_result_desc(fcinfo), values, nulls));
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
	HiloRow		row;

	(void) hilo_api_administered(fcinfo, &collection);
	check_highest(&collection, hilo_api_number(fcinfo, 1, "at_least"), &row);
	PG_RETURN_VOID();
}

Datum
do_hilo_raise_counter(PG_FUNCTION_ARGS)
{
	const char *name = hilo_api_name(fcinfo, 0, "collection");
	HiloCollection collection;
	int64		max;

	/* It may have been made when other names were allowed. */
	if (!hilo_is_own_name(name))
		(void) hilo_check_row_name(name, NULL);
	hilo_collection_init(&collection, name);
	max = hilo_leased_raise(&collection.ref,
							hilo_api_number(fcinfo, 1, "highest"),
							hilo_api_number(fcinfo, 2, "skip"));
	PG_RETURN_INT64(max);
}

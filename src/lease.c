/*-------------------------------------------------------------------------
 *
 * lease.c
 *	  Leases: rows of the table hilo_lease, of numbers got from a hub.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "lease.h"
#include "rate.h"
#include "settings.h"

/* The pace of claims is that of the last minutes, see hilo_note_claim(). */
#define PACE_PER_HOUR	60

/* The row that stands for the database as a hub has this name. */
static const HiloName hub_name = {HILO_SERVER_SIDE_NAME, 1};

/*
 * Are the leases those of a server that this one has followed, or of a database
 * that this one was copied from?  A standby that was promoted may have lost the
 * newest claims, and what CREATE DATABASE copies is still in use where it was: so
 * they get leases of their own.
 */
static bool
is_outdated(const HiloCounterRow *row, const HiloLease *lease)
{
	return lease->database != MyDatabaseId ||
		(!RecoveryInProgress() && row->lease_timeline != hilo_timeline());
}

/* Have no numbers left. */
static void
empty_leases(HiloCounterRow *row, HiloLease *lease)
{
	row->max_value = row->max;
	lease->low = row->max + 1;
	lease->next_low = 0;
	lease->next_high = 0;
	hilo_end_claims(row);
}

/* Count the next lease from now on. */
static void
start_next(HiloCounterRow *row, HiloLease *lease)
{
	row->max = lease->next_low - 1;
	row->max_value = lease->next_high;
	lease->low = lease->next_low;
	lease->next_low = 0;
	lease->next_high = 0;
	hilo_end_claims(row);
}

/* Lock the row for a change, which creates it if there is none. */
static void
find_or_create(HiloRowChange *change, HiloCounter *lease)
{
	hilo_row_find_for_change(change, lease, true);
	if (change->created)
	{
		change->row.max_value = 0;
		change->row.lease_timeline = hilo_timeline();
		change->lease.database = MyDatabaseId;
		change->lease.leased_at = DT_NOBEGIN;
		change->lease.asked_at = DT_NOBEGIN;
		change->lease.failed_at = DT_NOBEGIN;
		change->lease.failing_since = DT_NOBEGIN;
		memset(change->lease.error, ' ', HILO_LEASE_ERROR_LEN);
	}
}

/* Is it so long ago?  Also if the clock was set back, or there was nothing. */
static bool
is_over(TimestampTz start, int duration_ms)
{
	TimestampTz now = GetCurrentTimestamp();

	return start == DT_NOBEGIN || start > now ||
		now - start >= duration_ms * INT64CONST(1000);
}

/* Are so few numbers left of a lease that the next one should be there? */
static bool
is_low(int64 left, int64 low, int64 high)
{
	return left < (double) (high - low + 1) * hilo_lease_ahead / 100;
}

bool
hilo_lease_is_low(const HiloLeaseState *state)
{
	return state->next.high == 0 &&
		is_low(state->current.high - state->max,
			   state->current.low, state->current.high);
}

/*
 * Cut the range out of what is left of a lease.  A lease is used up to its end
 * by ranges of the size asked for: it is not the end of the numbers.
 */
static bool
cut(const HiloRangeRequest *request, int64 max, int64 high, HiloRange *range)
{
	HiloRangeRequest exact = *request;
	int64		left = high - Max(max, request->floor);

	if (!exact.exact)
		exact.size = Min(exact.size, left);
	exact.exact = true;
	return left > 0 && hilo_range_cut(&exact, max, high, range);
}

bool
hilo_lease_claim(HiloCounter *counter, const HiloRangeRequest *request,
				 HiloClaimant claimant, HiloClaim *claim, bool *ask)
{
	HiloRowChange change;
	HiloCounterRow *row = &change.row;
	HiloLease  *lease = &change.lease;

	claim->number = claimant == HILO_FOR_CLIENT ? hilo_random_number() : 0;
	*ask = false;

	if (!hilo_row_find_for_change(&change, counter, false))
		return false;
	if (is_outdated(row, lease))
	{
		hilo_row_abandon(&change);
		return false;
	}

	if (!cut(request, row->max, row->max_value, &claim->range))
	{
		if (lease->next_high == 0 ||
			!cut(request, lease->next_low - 1, lease->next_high,
				 &claim->range))
		{
			hilo_row_abandon(&change);
			return false;
		}
		start_next(row, lease);
	}

	hilo_note_claim(row, &claim->range, claim->number, PACE_PER_HOUR);
	if (lease->next_high == 0 &&
		is_low(row->max_value - row->max, lease->low, row->max_value) &&
		is_over(lease->asked_at, hilo_lease_retry))
	{
		lease->asked_at = GetCurrentTimestamp();
		*ask = true;
	}

	claim->which = HILO_TABLE_LEASES;
	claim->table = counter->table;
	claim->incarnation = row->incarnation;
	claim->changes = row->changes + 1;
	hilo_row_flush(hilo_row_finish(&change));
	return true;
}

void
hilo_lease_read(HiloCounter *counter, HiloLeaseState *state)
{
	HiloRowChange change;
	HiloCounterRow *row = &change.row;
	HiloLease  *lease = &change.lease;
	TimestampTz now = GetCurrentTimestamp();
	int			len = HILO_LEASE_ERROR_LEN;

	memset(state, 0, sizeof(*state));
	state->leased_at = state->failed_at = state->failing_since = DT_NOBEGIN;
	if (!hilo_row_find(&change, counter, AccessShareLock, false))
		return;
	hilo_row_abandon(&change);

	state->last_size = lease->last_size;
	state->leased_at = lease->leased_at;
	state->failed_at = lease->failed_at;
	state->failing_since = lease->failing_since;
	state->error_code = lease->error_code;
	while (len > 0 && lease->error[len - 1] == ' ')
		len--;
	memcpy(state->error, lease->error, len);

	if (is_outdated(row, lease))
		return;
	state->current.low = lease->low;
	state->current.high = row->max_value;
	state->max = row->max;
	state->next.low = lease->next_low;
	state->next.high = lease->next_high;
	if (row->claimed_at != DT_NOBEGIN)
		state->per_minute =
			hilo_rate_per_hour(hilo_rate_decay(row->claim_rate,
											   (now - row->claimed_at) * PACE_PER_HOUR),
							   (now - row->created_at) * PACE_PER_HOUR);
}

void
hilo_lease_add(HiloCounter *counter, HiloRange range)
{
	HiloRowChange change;
	HiloCounterRow *row = &change.row;
	HiloLease  *lease = &change.lease;

	find_or_create(&change, counter);
	if (is_outdated(row, lease))
		empty_leases(row, lease);
	row->lease_timeline = hilo_timeline();
	lease->database = MyDatabaseId;

	if (lease->next_high != 0)
		start_next(row, lease);
	lease->next_low = range.low;
	lease->next_high = range.high;
	if (row->max >= row->max_value)
		start_next(row, lease);

	lease->last_size = range.high - range.low + 1;
	lease->leased_at = GetCurrentTimestamp();
	lease->asked_at = DT_NOBEGIN;
	lease->failed_at = DT_NOBEGIN;
	lease->failing_since = DT_NOBEGIN;
	(void) hilo_row_finish(&change);
}

void
hilo_lease_note_failure(HiloCounter *counter, int code, const char *message)
{
	HiloRowChange change;
	HiloLease  *lease = &change.lease;
	int			len = pg_mbcliplen(message, strlen(message),
								   HILO_LEASE_ERROR_LEN);

	find_or_create(&change, counter);
	lease->failed_at = GetCurrentTimestamp();
	if (lease->failing_since == DT_NOBEGIN)
		lease->failing_since = lease->failed_at;
	lease->error_code = code;
	memset(lease->error, ' ', HILO_LEASE_ERROR_LEN);
	memcpy(lease->error, message, len);
	(void) hilo_row_finish(&change);
}

/* Drop the numbers up to this one from a lease that is not counted yet. */
static void
raise_next(HiloLease *lease, int64 number)
{
	if (lease->next_high == 0 || number < lease->next_low)
		return;
	if (number < lease->next_high)
		lease->next_low = number + 1;
	else
		lease->next_low = lease->next_high = 0;
}

void
hilo_lease_raise(HiloCounter *counter, int64 number, bool forget)
{
	int64		incarnation = hilo_random_number();
	HiloRowChange change;
	HiloCounterRow *row = &change.row;

	if (!hilo_row_find_for_change(&change, counter, false))
		return;

	if (number > row->max)
		row->max = Min(number, row->max_value);
	raise_next(&change.lease, number);
	hilo_end_claims(row);
	if (forget)
		hilo_finish_new_incarnation(&change, incarnation);
	else
		(void) hilo_row_finish(&change);
}

void
hilo_lease_skip(HiloCounter *counter, int64 number)
{
	HiloLeaseState state;

	/* Most numbers that people choose are not those leased here. */
	hilo_lease_read(counter, &state);
	if ((number >= state.current.low && number <= state.current.high) ||
		(number >= state.next.low && number <= state.next.high))
		hilo_lease_raise(counter, number, false);
}

int64
hilo_lease_hub_timeline(void)
{
	HiloCounter counter;
	HiloRowChange change;

	hilo_counter_init(&counter, HILO_TABLE_LEASES, hub_name);
	if (!hilo_row_find(&change, &counter, AccessShareLock, false))
		return HILO_NOT_RESUMED;
	hilo_row_abandon(&change);
	return change.row.lease_timeline;
}

void
hilo_lease_set_hub_timeline(int64 timeline)
{
	HiloCounter counter;
	HiloRowChange change;

	hilo_counter_init(&counter, HILO_TABLE_LEASES, hub_name);
	find_or_create(&change, &counter);
	change.row.lease_timeline = timeline;
	hilo_row_flush(hilo_row_finish(&change));
}

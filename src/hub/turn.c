/*-------------------------------------------------------------------------
 *
 * turn.c
 *	  What the sessions of a member know together about a counter's leases, and which of
 *	  them asks the hub.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "hub/core.h"
#include "hub/turn.h"

StaticAssertDecl(sizeof(HiloLeaseState) <= HILO_BLOCK_SIZE, "the state does not fit into its block");

/* Nothing is known yet. */
static const HiloLeaseState nothing = {
	.begun = true,
	.fetch_at = DT_NOBEGIN,
	.leased_at = DT_NOBEGIN,
	.failed_at = DT_NOBEGIN,
	.failing_since = DT_NOBEGIN
};

/*
 * What is known, as a copy.  A failure does not count any longer if it was forgotten
 * since.
 */
static HiloLeaseState
state_of(const HiloPool *it)
{
	HiloLeaseState state;

	memcpy(&state, it->block, sizeof(state));
	if (!state.begun)
		state = nothing;
	if (state.forgotten != it->forgotten)
		state.failed_at = state.failing_since = DT_NOBEGIN;
	state.left = hilo_pool_fetched_left(it);
	state.waiting = it->shared.turn_waiting;
	return state;
}

/* What is known, to be changed. */
static HiloLeaseState *
state_in(HiloPool *it)
{
	HiloLeaseState *state = (HiloLeaseState *) it->block;

	*state = state_of(it);
	return state;
}

/*
 * Leases that run low
 */

/*
 * True if start was at least that long ago, or never, or if the clock was set
 * back.
 */
static bool
is_over(TimestampTz start, TimestampTz now, int duration_ms)
{
	return start == DT_NOBEGIN || start > now ||
		now - start >= duration_ms * INT64CONST(1000);
}

/*
 * True if the next lease should be fetched ahead.  Numbers of identities are
 * requested only when they are drawn, so that they come in order.
 */
static bool
is_low(const HiloPool *it, TimestampTz now)
{
	HiloLeaseState state = state_of(it);

	return state.last_size > 0 && !hilo_is_identity(it->shared.name) &&
		state.left < (double) state.last_size * HILO_LEASE_AHEAD / 100 &&
		!it->shared.turn_taken && is_over(state.failed_at, now, HILO_LEASE_RETRY_MS);
}

bool
hilo_lease_taken(HiloPool *it, const HiloRow *row, int64 count)
{
	TimestampTz now = GetCurrentTimestamp();
	HiloLeaseState *state = state_in(it);
	bool		low;

	state->per_minute = count + hilo_rate_decay(state->per_minute, now - state->taken_at,
												USECS_PER_MINUTE);
	state->taken_at = now;
	low = NameStr(row->hub)[0] != '\0' && row->max < row->max_value &&
		is_low(it, now) && is_over(state->fetch_at, now, HILO_LEASE_RETRY_MS);
	if (low)
		state->fetch_at = now;
	return low;
}

List *
hilo_leases_low(void)
{
	TimestampTz now = GetCurrentTimestamp();
	List	   *names = NIL;
	HiloPool   *it;
	int			i = 0;

	while ((it = (HiloPool *) hilo_shared_lock_next(HILO_POOL, &i, LW_SHARED)) != NULL)
	{
		char		name[HILO_MAX_ROW_NAME_LEN];
		bool		low = is_low(it, now);

		strlcpy(name, it->shared.name, sizeof(name));
		LWLockRelease(&it->shared.lock);
		if (low)
			names = lappend(names, pstrdup(name));
	}
	return names;
}

/*
 * Turns
 */

HiloLeaseState
hilo_lease_state_of(const char *name)
{
	HiloPool   *it = (HiloPool *) hilo_shared_lock(HILO_POOL, name, LW_SHARED);
	HiloLeaseState state = it == NULL ? nothing : state_of(it);

	if (it != NULL)
		LWLockRelease(&it->shared.lock);
	return state;
}

HiloTurn
hilo_turn_wait(const char *name, bool wait, HiloLeaseState *state)
{
	TimestampTz now = GetCurrentTimestamp();
	HiloPool   *it = (HiloPool *) hilo_shared_lock_new(HILO_POOL, name, true, true);
	HiloTurn	result = HILO_TURN_OVER;

	*state = state_of(it);
	if (it->shared.turn_taken && wait)
	{
		hilo_shared_wait(HILO_POOL, &it->shared);
		return result;
	}
	if (!it->shared.turn_taken)
	{
		it->shared.turn_taken = (wait && state->hurried) ||
			is_over(state->failed_at, now, HILO_LEASE_RETRY_MS);
		result = it->shared.turn_taken ? HILO_TURN : HILO_TURN_FAILED;
	}
	LWLockRelease(&it->shared.lock);
	return result;
}

/* Copy as much of a string, which may be NULL, as fits into place. */
static void
put_text(char *place, const char *string)
{
	int			len = string == NULL ? 0 :
		pg_mbcliplen(string, strlen(string), HILO_LEASE_ERROR_LEN - 1);

	strlcpy(place, string == NULL ? "" : string, len + 1);
}

/* End the turn of an entry that is locked, and release the lock. */
static void
end_turn(HiloPool *it)
{
	it->shared.turn_taken = false;
	ConditionVariableBroadcast(&it->shared.turn_done);
	LWLockRelease(&it->shared.lock);
}

void
hilo_turn_end(const char *name, int64 size, int64 epoch,
			  const HiloHubAnswer *answer)
{
	TimestampTz now = GetCurrentTimestamp();

	/* The entry exists as long as its turn is taken. */
	HiloPool   *it = (HiloPool *) hilo_shared_lock(HILO_POOL, name, LW_EXCLUSIVE);
	HiloLeaseState *state = state_in(it);

	/*
	 * After an error, another host may have become the hub, although this one
	 * could be reached.
	 */
	if (answer->host >= 0)
		state->host = answer->host + (answer->sqlstate != 0 ? 1 : 0);
	if (size > 0)
	{
		state->last_size = size;
		state->epoch = epoch;
		state->leased_at = now;
		state->failed_at = state->failing_since = DT_NOBEGIN;
		state->fetch_at = DT_NOBEGIN;
		state->lost = state->hurried = false;
	}
	else if (answer->sqlstate != 0)
	{
		state->lost = answer->sqlstate == ERRCODE_CONNECTION_FAILURE;
		state->hurried = answer->hurried;
		state->failed_at = now;
		state->forgotten = it->forgotten;
		if (state->failing_since == DT_NOBEGIN)
			state->failing_since = now;
		state->sqlstate = answer->sqlstate;
		put_text(state->error, answer->message);
		put_text(state->hint, answer->hint);
	}
	end_turn(it);
}

void
hilo_turn_give_up(const char *name)
{
	HiloPool   *it = (HiloPool *) hilo_shared_lock(HILO_POOL, name, LW_EXCLUSIVE);

	state_in(it)->lost = true;
	end_turn(it);
}

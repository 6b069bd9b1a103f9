/*-------------------------------------------------------------------------
 *
 * member.c
 *	  A member: draws from counters that a hub counts.
 *
 * What happens to one lease, in order:
 *
 * 1. A session takes a range from the pool, and sees that less than half of a lease is left
 *	  there (hub_member_taken()), or finds that the pool has not got what it wants
 *	  (hub_member_claim()).  It takes the lock of the counter's leases, so that one session
 *	  asks at a time.  In the first case the others go on drawing from the pool, and this one
 *	  asks briefly; in the second all wait, because they have no numbers.
 * 2. It asks the hub for a range (client.c).  No lock on any row or page is held meanwhile.  The
 *	  hub has claimed the range, and flushed that, before it answers.
 * 3. note_opening() compares who answered with what this member knows of its hub.  A later
 *	  opening is noted; an earlier one is refused until hilo_hub.leave()
 *	  forgets what is known.
 * 4. take_in() makes the end of the range max of the counter's row here, as if this server
 *	  had claimed it.  It refuses a range that is not above max, because those numbers were
 *	  drawn here already.
 * 5. It reads once more which opening is known.  If a later one was noted in the meantime, by a
 *	  session that had asked for another counter, then the range may be one that the later
 *	  opening leases again: it becomes a gap.
 * 6. The range goes into the pool, or what the session wants is cut out of it and the rest goes
 *	  there.  Before a number is shown, the change of the row is on disk.
 *
 * So the row remembers all leases in one number, and the pool is only a convenience: whatever
 * becomes of it, after a crash or when it is full, numbers are lost, but none comes again.
 *
 * Why are an answer's numbers safe to use after step 5?  A hub that resumes has skipped all
 * numbers that its former opening may have leased, so the numbers of one opening are not leased
 * by another.  Only a former hub that still runs, or has come back, may lease numbers that a
 * later opening leases as well; and a member that knows the later one does not take them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "client.h"
#include "failure_point.h"
#include "member.h"

/*
 * How long a session that has numbers waits for a lease at most, in milliseconds.  It asks for the
 * others, but is a draw of its own that should not take long.
 */
#define AHEAD_TIMEOUT	1000

/*
 * How long sessions that have numbers of a counter do not ask after an attempt that failed, in
 * milliseconds: otherwise, while the hub is away, each draw would take as long as a connection.
 */
#define PAUSE			30000

/*
 * The lowest number of a lease may be this far above max, or this share of what is left: a hub
 * that is farther ahead may be the wrong one, or use the counter up.
 */
#define FARTHEST_JUMP	INT64CONST(1048576)
#define JUMP_SHARE		64

int			hub_lease_size = 1024;
int			hub_timeout = 5000;

/*
 * Ask for a lease
 */

/*
 * How many numbers a lease should have: half as many as were leased in the last hour, so that
 * leases grow where they are used up quickly, and a member has numbers for about half an hour if
 * the hub is away; but at least what the setting says.
 */
static int64
lease_size(const HiloRow *row)
{
	int64		age = GetCurrentTimestamp() - row->claimed_at;
	int64		size = hub_lease_size;

	if (row->claimed_at != DT_NOBEGIN)
		size = Max(size, (int64) (core->rate_decay(row->claim_rate, age, USECS_PER_HOUR) / 2));
	size = Min(size, *core->max_range_size);
	return Max(Min(size, (row->max_value - row->max) / JUMP_SHARE), 1);
}

/*
 * Become the session that asks for leases of a counter.  Returns false if another session is, and
 * this one was told not to wait.
 *
 * The lock is one of the heavyweight ones, so that waiting for it can be cancelled, ends with
 * lock_timeout, and is seen in pg_locks; after an error it is released with the transaction.
 * Two names with the same hash only wait for each other.  Its kind is one that Citus knows to be
 * held for a moment only: sessions of one distributed transaction wait for each other here, which
 * would be a deadlock if the lock were held until that ends.
 */
static bool
lock_asking(const char *name, bool wait, LOCKTAG *tag)
{
	/* The server's own locks of this kind have 0 in the last field. */
	SET_LOCKTAG_ADVISORY(*tag, MyDatabaseId,
						 hash_bytes((const unsigned char *) name, strlen(name)), 0, 3);
	tag->locktag_type = LOCKTAG_SPECULATIVE_TOKEN;
	return LockAcquire(tag, ExclusiveLock, false, !wait) != LOCKACQUIRE_NOT_AVAIL;
}

/*
 * Compare an answer with what this member knows of its hub.  A later opening is noted; once it is,
 * the answers of earlier ones are refused.  Returns false if the answer must not be used.
 *
 * - Another hub's numbers have nothing to do with those that were leased so far.
 * - A lower opening is that of a former hub: a primary that runs on after its standby was
 *	 promoted, or one that was restored.
 * - An opening of equal number, but with another id, means that two copies of a hub were opened, each
 *	 of which counted one up.  Which of them is right only a person can tell.
 *
 * The row is changed before any number of the new opening is used, and its record is flushed
 * together with the lease's, which comes later in the WAL.
 */
static bool
note_opening(const HubAnswer *answer, HubFailure *failure)
{
	HiloRowChange change;
	HiloRow    *own = &change.row;
	const char *problem = NULL;

	hub_change_own_row(&change);
	if (hub_role(own) != HUB_MEMBER)
		problem = "this server is not a member any more";
	else if (answer->hub != own->hub)
		problem = "the server that answered is another hub, which needs a new hilo_hub.join()";
	else if (answer->opening < own->opening)
		problem = "the server that answered is not the hub any more: a later one is known";
	else if (answer->opening == own->opening && answer->opening_id != own->opening_id)
		problem = "two servers were opened as the hub: stop one, and run SELECT hilo_hub.resume(SKIP) on the other, to skip what the first may have leased";
	if (problem == NULL && answer->opening > own->opening)
	{
		own->opening = answer->opening;
		own->opening_id = answer->opening_id;
		(void) core->row_finish(&change);
	}
	else
		core->row_abandon(&change);
	return problem == NULL ||
		hub_fail(failure, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, "%s", problem);
}

/*
 * True if what note_opening() has found still holds.  The row of the lease is written by now.  So
 * a session that notes a later opening either does so after this, and then all that it takes in
 * is above the lease, or is seen here.
 */
static bool
is_still_known(const HubAnswer *answer)
{
	HiloRow		own = hub_own_row();

	return hub_role(&own) == HUB_MEMBER && own.hub == answer->hub &&
		own.opening == answer->opening && own.opening_id == answer->opening_id;
}

/*
 * Check that a lease may be taken into the row, which is locked.
 *
 * A hub that leases numbers which this member has drawn already does not know of them: it was
 * set up anew, or the member has counted for itself before.  One that is far ahead would use the
 * counter up.  Neither mends itself, so the message says what to do.
 */
static bool
check_lease(const HiloRow *row, const HubAnswer *answer, const char *name, HubFailure *failure)
{
	if (answer->low > row->max_value)
		return hub_fail(failure, ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED,
						"the hub has passed the limit " INT64_FORMAT, row->max_value);
	if (answer->low <= row->max)
		return hub_fail(failure, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
						"on the hub, run SELECT hilo.seed(%s, " INT64_FORMAT "): numbers up to it were drawn here",
						quote_literal_cstr(name), row->max);
	if (answer->low - row->max > Max(FARTHEST_JUMP, (row->max_value - row->max) / JUMP_SHARE))
		return hub_fail(failure, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
						"the hub is far above; if that is right, run SELECT hilo.seed(%s, " INT64_FORMAT ")",
						quote_literal_cstr(name), answer->low - 1);
	return true;
}

/*
 * Take a lease in: make it max of the row, and *piece a claim as of this server.  Returns false if
 * it cannot be used; if it was overtaken by a later opening meanwhile, it becomes a gap.
 *
 * The rate is kept as a claim keeps it, because the size of the next lease follows from it.
 */
static bool
take_in(HiloRowRef *ref, const HubAnswer *answer, HiloClaim *piece, HubFailure *failure)
{
	HiloRowChange change;
	HiloRow    *row = &change.row;
	TimestampTz now = GetCurrentTimestamp();

	if (!note_opening(answer, failure))
		return false;
	HILO_FAILURE_POINT("opening noted");
	(void) core->row_find(&change, ref, HILO_ROW_CREATE);
	if (!check_lease(row, answer, ref->name, failure))
	{
		core->row_abandon(&change);
		return false;
	}
	row->max = Min(answer->high, row->max_value);
	row->flags &= ~HILO_ROW_DROPPED;
	row->claim_low = row->claim = 0;
	row->claim_rate = row->max - answer->low + 1 +
		(row->claimed_at == DT_NOBEGIN ? 0 :
		 core->rate_decay(row->claim_rate, now - row->claimed_at, USECS_PER_HOUR));
	row->claimed_at = now;
	*piece = (HiloClaim)
	{
		.range =
		{
			answer->low, row->max
		},.home = change.home,.epoch = row->epoch
	};
	piece->lsn = core->row_finish(&change);
	HILO_FAILURE_POINT("lease written");
	return is_still_known(answer) ||
		hub_fail(failure, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
				 "the hub was opened anew meanwhile");
}

/*
 * Get a lease of about so many numbers.  The session is the one that asks.  What went wrong is
 * noted in the pool's shared memory, for the view, and for sessions that wait: they ask only
 * for the rest of their timeout, and fail with the same message if none is left.
 */
static bool
get_lease(HiloRowRef *ref, int64 count, int timeout, HiloClaim *piece, HubFailure *failure)
{
	HiloRow		own = hub_own_row();
	HubAnswer	answer;
	bool		leased = hub_ask(HUB_NOTED(&own), ref->name, count, own.opening, own.opening_id,
								 timeout, &answer, failure) &&
		take_in(ref, &answer, piece, failure);

	core->pool_note(ref->name, leased ? NULL : failure->message);
	return leased;
}

/*
 * Draw
 */

/*
 * Take wanted numbers from the pool.  The row is read before, so that pieces of an earlier epoch
 * are not taken.  Returns false if the pool has not got them.
 */
static bool
take_pooled(HiloRowRef *ref, const HiloSizing *sizing, HiloWanted *wanted, HiloRow *row, HiloClaim *claim)
{
	(void) core->counter_read(ref, row);
	if (sizing != NULL)
		wanted->size = core->counter_size(sizing, row);
	return core->pool_take(ref->name, row, wanted, claim);
}

/*
 * Raise the error that there are no numbers, because of a failure.  Programs expect 2200H at the
 * end of a counter; everything else is 55000, whatever the connection has failed with.
 */
static void
report_failure(const char *name, const HubFailure *failure)
{
	ereport(ERROR,
			(errcode(failure->sqlstate == ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED ?
					 failure->sqlstate : ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("no leased numbers of " HILO_COUNTER_FORMAT " are left", HILO_COUNTER_ARGS(name)),
			 errdetail("%s", failure->message)));
}

/*
 * Cut what is wanted out of a new lease, and put the rest into the pool: what is below it, because
 * a higher number or an aligned block was wanted, and what is above it.  Raises an error if the
 * lease has not got that: no number above those that are ids here, or too few for a block.
 */
static void
cut_lease(const char *name, const HiloWanted *wanted, const HiloClaim *piece, HiloClaim *claim)
{
	HiloClaim	rest = *piece;
	HubFailure	failure;

	*claim = *piece;
	if (!core->range_cut(wanted, piece->range.low - 1, piece->range.high, true, &claim->range))
	{
		core->pool_put(name, piece);
		if (wanted->above >= piece->range.high)
			(void) hub_fail(&failure, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
							"on the hub, run SELECT hilo.seed(%s, " INT64_FORMAT "): numbers up to it are taken here",
							quote_literal_cstr(name), wanted->above);
		else
			(void) hub_fail(&failure, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
							"the hub gave " INT64_FORMAT " to " INT64_FORMAT ", too few for the block",
							piece->range.low, piece->range.high);
		report_failure(name, &failure);
	}
	rest.range.high = claim->range.low - 1;
	core->pool_put(name, &rest);
	if (claim->range.high == piece->range.high)
		return;
	rest.range.low = claim->range.high + 1;
	rest.range.high = piece->range.high;
	core->pool_put(name, &rest);
}

/*
 * Get wanted numbers by a lease.
 *
 * Sessions that need one wait for the first of them, which asks for all.  When a session's turn
 * comes, it first looks into the pool again, where the first one has put its lease.  If the last
 * attempt has failed, this session has only the rest of the timeout, and fails as well if none is
 * left.
 */
static void
claim_by_lease(HiloRowRef *ref, const HiloSizing *sizing, HiloWanted *wanted, HiloRow *row,
			   HiloClaim *claim)
{
	TimestampTz began = GetCurrentTimestamp();
	HubFailure	failure;
	HiloClaim	piece;
	LOCKTAG		tag;

	(void) lock_asking(ref->name, true, &tag);
	if (!take_pooled(ref, sizing, wanted, row, claim))
	{
		HiloPoolNote note = core->pool_last_note(ref->name);
		int64		count = wanted->size;
		int64		waited = note.at == 0 ? 0 : (GetCurrentTimestamp() - began) / 1000;

		if (waited >= hub_timeout)
		{
			(void) hub_fail(&failure, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, "%s", note.failure);
			report_failure(ref->name, &failure);
		}

		/* An aligned block may begin anywhere in the first half of the lease. */
		if (wanted->alignment > 1)
			count = 2 * count;

		/*
		 * Ask for more than this session needs only if the pool has room for
		 * it.
		 */
		if (core->pool_keep(ref->name))
			count = Max(count, lease_size(row));
		if (!get_lease(ref, count, hub_timeout - Max(waited, 0), &piece, &failure))
			report_failure(ref->name, &failure);
		cut_lease(ref->name, wanted, &piece, claim);
		(void) core->counter_read(ref, row);
	}
	(void) LockRelease(&tag, ExclusiveLock, false);
}

/* True if less than half of a lease is left, and there is room for another one. */
static bool
needs_more(const char *name, const HiloRow *row)
{
	return core->pool_count(name, row) < lease_size(row) / 2 && core->pool_keep(name);
}

/*
 * The questions are in order of their cost, since this is called for each range that a session
 * takes from the pool.  The last one is asked again under the lock, because the session that had
 * it may just have brought a lease.
 *
 * No error of the hub is raised here: this session has its numbers.  A request to cancel is.
 */
void
hub_member_taken(HiloRowRef *ref, const HiloRow *row)
{
	HiloRow		own = hub_own_row();
	HubFailure	failure;
	HiloClaim	piece;
	LOCKTAG		tag;

	/* Unsigned, so that the pause is over when the clock was set back. */
	if (hub_role(&own) != HUB_MEMBER || !needs_more(ref->name, row) ||
		(uint64) (GetCurrentTimestamp() - core->pool_last_note(ref->name).at) < PAUSE * UINT64CONST(1000) ||
		!lock_asking(ref->name, false, &tag))
		return;
	PG_TRY();
	{
		if (needs_more(ref->name, row) &&
			get_lease(ref, lease_size(row), Min(hub_timeout, AHEAD_TIMEOUT), &piece, &failure))
			core->pool_put(ref->name, &piece);
	}
	PG_CATCH();
	{
		/*
		 * Without a note, each draw with a short statement_timeout would fail
		 * here.
		 */
		core->pool_note(ref->name, "the question to the hub was canceled");
		PG_RE_THROW();
	}
	PG_END_TRY();
	(void) LockRelease(&tag, ExclusiveLock, false);
}

/*
 * The numbers are claimed on disk on the hub, but the row here has to be flushed as well: without
 * it this server would, after a crash, not know that they were drawn.
 */
void
hub_member_claim(HiloRowRef *ref, const HiloSizing *sizing, HiloWanted *wanted, HiloRow *row,
				 HiloClaim *claim)
{
	if (take_pooled(ref, sizing, wanted, row, claim))
		hub_member_taken(ref, row);
	else
		claim_by_lease(ref, sizing, wanted, row, claim);
	core->row_flush(claim->lsn);
}

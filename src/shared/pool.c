/*-------------------------------------------------------------------------
 *
 * pool.c
 *	  The pool: claimed and leased numbers in shared memory that no session holds,
 *	  and what is known about leases.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_extension.h"
#include "utils/timestamp.h"

#include "base/settings.h"
#include "shared/entry.h"

/*
 * Entries
 */

/* Leased numbers in the pool. */
static int64
leased_left(const HiloPool *it)
{
	int64		left = 0;

	for (int i = 0; i < it->piece_count; i++)
	{
		if (it->pieces[i].leased)
			left += hilo_range_count(&it->pieces[i].range);
	}
	return left;
}

/* The entry of a collection, locked; NULL: there is none. */
static HiloPool *
lock_pool(const char *name, LWLockMode mode)
{
	return (HiloPool *) hilo_shared_lock(HILO_POOL, name, mode);
}

/* Unlock an entry that may have been changed. */
static void
unlock_pool(HiloPool *it)
{
	it->shared.has_leases = leased_left(it) > 0;
	LWLockRelease(&it->shared.lock);
}

/*
 * Pieces
 */

static void
remove_piece(HiloPool *it, int i)
{
	it->piece_count--;
	memmove(&it->pieces[i], &it->pieces[i + 1],
			(it->piece_count - i) * sizeof(HiloClaim));
}

/*
 * True if the pieces are adjacent and of the same origin, so that they can be
 * merged.
 */
static bool
is_next_to(const HiloClaim *low, const HiloClaim *high)
{
	return low->range.high == high->range.low - 1 &&
		low->home == high->home && low->epoch == high->epoch &&
		low->leased == high->leased;
}

static int
smallest_piece(const HiloPool *it)
{
	int			smallest = 0;

	for (int i = 1; i < it->piece_count; i++)
	{
		if (hilo_range_count(&it->pieces[i].range) <
			hilo_range_count(&it->pieces[smallest].range))
			smallest = i;
	}
	return smallest;
}

/*
 * Add a piece, merged with those next to it; if there are too many, the smallest
 * is lost.  Returns false if that is the new one, which cannot happen if it is
 * needed.
 */
static bool
add_piece(HiloPool *it, HiloClaim piece, bool needed)
{
	int			place;

	if (piece.range.low > piece.range.high)
		return true;
	piece.token = 0;
	for (int i = it->piece_count - 1; i >= 0; i--)
	{
		const HiloClaim *other = &it->pieces[i];

		if (!is_next_to(other, &piece) && !is_next_to(&piece, other))
			continue;
		piece.range.low = Min(piece.range.low, other->range.low);
		piece.range.high = Max(piece.range.high, other->range.high);
		piece.lsn = Max(piece.lsn, other->lsn);
		remove_piece(it, i);
	}

	if (it->piece_count == HILO_MAX_PIECES)
	{
		int			smallest = smallest_piece(it);

		if (!needed && hilo_range_count(&it->pieces[smallest].range) >
			hilo_range_count(&piece.range))
			return false;
		remove_piece(it, smallest);
	}
	place = it->piece_count++;
	for (; place > 0 && it->pieces[place - 1].range.low >= piece.range.low; place--)
		it->pieces[place] = it->pieces[place - 1];
	it->pieces[place] = piece;
	return true;
}

/* Cut a range out of piece i, which may leave a piece on either side. */
static void
cut_out(HiloPool *it, int i, const HiloRange *range)
{
	HiloClaim	below = it->pieces[i];
	HiloClaim	above = it->pieces[i];

	below.range.high = range->low - 1;
	above.range.low = range->high + 1;
	remove_piece(it, i);
	if (range->high < above.range.high) /* or range->high + 1 could overflow */
		(void) add_piece(it, above, false);
	(void) add_piece(it, below, false);
}

int64
hilo_pool_highest(const char *name, const HiloRow *row)
{
	HiloPool   *it = lock_pool(name, LW_SHARED);
	int64		highest = 0;

	if (it == NULL)
		return 0;
	for (int i = 0; i < it->piece_count; i++)
	{
		if (row == NULL || hilo_counter_holds(row, &it->pieces[i]))
			highest = Max(highest, it->pieces[i].range.high);
	}
	LWLockRelease(&it->shared.lock);
	return highest;
}

bool
hilo_pool_put(const char *name, const HiloClaim *piece, bool needed)
{
	HiloPool   *it = (HiloPool *) hilo_shared_lock_new(HILO_POOL, name, false);
	bool		put;

	if (it == NULL)
		return false;
	put = add_piece(it, *piece, needed);
	unlock_pool(it);
	return put;
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
	return it->leases.last_size > 0 && !hilo_is_identity(it->shared.name) &&
		leased_left(it) <
		(double) it->leases.last_size * HILO_LEASE_AHEAD / 100 &&
		!it->shared.turn_taken && is_over(it->leases.failed_at, now, HILO_LEASE_RETRY_MS);
}

/*
 * Take
 */

/*
 * Find the first piece that can satisfy the request; -1: none.  Removes pieces
 * of another epoch on the way.  One of this epoch that is above max was claimed
 * after the row was read, and is left for others.
 */
static int
find_piece(HiloPool *it, const HiloRow *row,
		   const HiloRangeRequest *request, HiloRange *range)
{
	HiloRangeRequest preferred = *request;
	HiloRange	other;			/* of the piece any */
	int			any = -1;

	preferred.above = Max(request->above, request->prefer);
	for (int i = 0; i < it->piece_count;)
	{
		const HiloClaim *piece = &it->pieces[i];

		if (piece->epoch != row->epoch || piece->home != row->home)
		{
			remove_piece(it, i);
			continue;
		}
		if (hilo_counter_holds(row, piece))
		{
			int64		below = piece->range.low - 1;

			if (hilo_range_cut(&preferred, below, piece->range.high, true, range))
				return i;
			if (any < 0 && piece->leased &&
				hilo_range_cut(request, below, piece->range.high, true, &other))
				any = i;
		}
		i++;
	}
	if (any >= 0)
		*range = other;
	return any;
}

bool
hilo_pool_take(const char *name, const HiloRow *row,
			   const HiloRangeRequest *request, HiloClaim *claim, bool *low)
{
	TimestampTz now = GetCurrentTimestamp();
	HiloPool   *it = lock_pool(name, LW_EXCLUSIVE);
	HiloRange	range;
	int			i;

	*low = false;
	if (it == NULL)
		return false;
	i = find_piece(it, row, request, &range);
	if (i >= 0)
	{
		*claim = it->pieces[i];
		claim->range = range;
		cut_out(it, i, &range);
		if (claim->leased)
		{
			it->leases.per_minute = hilo_range_count(&range) +
				hilo_rate_decay(it->leases.per_minute,
								now - it->leases.taken_at, USECS_PER_MINUTE);
			it->leases.taken_at = now;
			*low = NameStr(row->hub)[0] != '\0' && row->max < row->max_value &&
				is_low(it, now) &&
				is_over(it->leases.fetch_at, now, HILO_LEASE_RETRY_MS);
			if (*low)
				it->leases.fetch_at = now;
		}
	}
	unlock_pool(it);
	return i >= 0;
}

void
hilo_pool_forget(const char *name, bool numbers)
{
	HiloPool   *it = lock_pool(name, LW_EXCLUSIVE);

	if (it == NULL)
		return;
	if (numbers)
		it->piece_count = 0;
	it->leases.failed_at = it->leases.failing_since = DT_NOBEGIN;
	unlock_pool(it);
}

/*
 * Asking the hub
 */

const HiloPoolLease hilo_no_leases = {
	.fetch_at = DT_NOBEGIN,
	.leased_at = DT_NOBEGIN,
	.failed_at = DT_NOBEGIN,
	.failing_since = DT_NOBEGIN
};

static HiloPoolLease
leases_of(const HiloPool *it)
{
	HiloPoolLease leases = it->leases;

	leases.left = leased_left(it);
	leases.waiting = it->shared.turn_waiting;
	return leases;
}

HiloPoolLease
hilo_pool_lease(const char *name)
{
	HiloPool   *it = lock_pool(name, LW_SHARED);
	HiloPoolLease leases = it == NULL ? hilo_no_leases : leases_of(it);

	if (it != NULL)
		LWLockRelease(&it->shared.lock);
	return leases;
}

HiloPoolTurn
hilo_pool_wait_to_ask(const char *name, bool wait, HiloPoolLease *state)
{
	TimestampTz now = GetCurrentTimestamp();
	HiloPool   *it = (HiloPool *) hilo_shared_lock_new(HILO_POOL, name, true);
	HiloPoolTurn result = HILO_POOL_ASKED;

	*state = leases_of(it);
	if (it->shared.turn_taken && wait)
	{
		hilo_shared_wait(HILO_POOL, &it->shared);
		return result;
	}
	if (!it->shared.turn_taken)
	{
		it->shared.turn_taken = is_over(it->leases.failed_at, now, HILO_LEASE_RETRY_MS);
		result = it->shared.turn_taken ? HILO_POOL_ASK : HILO_POOL_FAILED;
	}
	LWLockRelease(&it->shared.lock);
	return result;
}

/* Copy as much of a string, which may be NULL, as fits into place. */
static void
put_text(char *place, const char *string)
{
	int			len = string == NULL ? 0 :
		pg_mbcliplen(string, strlen(string), HILO_POOL_ERROR_LEN - 1);

	strlcpy(place, string == NULL ? "" : string, len + 1);
}

void
hilo_pool_end_asking(const char *name, int64 size, int sqlstate,
					 const char *error, const char *hint, int host)
{
	TimestampTz now = GetCurrentTimestamp();

	/* The entry exists as long as its turn is taken. */
	HiloPool   *it = lock_pool(name, LW_EXCLUSIVE);
	HiloPoolLease *leases = &it->leases;

	if (host >= 0)
		leases->host = host;
	if (size > 0)
	{
		leases->last_size = size;
		leases->leased_at = now;
		leases->failed_at = leases->failing_since = DT_NOBEGIN;
		leases->fetch_at = DT_NOBEGIN;
	}
	else if (sqlstate != 0)
	{
		leases->failed_at = now;
		if (leases->failing_since == DT_NOBEGIN)
			leases->failing_since = now;
		leases->sqlstate = sqlstate;
		put_text(leases->error, error);
		put_text(leases->hint, hint);
	}
	it->shared.turn_taken = false;
	ConditionVariableBroadcast(&it->shared.turn_done);
	LWLockRelease(&it->shared.lock);
}

LOCKTAG
hilo_task_tag(HiloTask task)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, ExtensionRelationId, InvalidOid, task);
	return tag;
}

/*
 * List
 */

static List *
append_pooled(List *list, const HiloPooled *one)
{
	return lappend(list, memcpy(palloc(sizeof(*one)), one, sizeof(*one)));
}

List *
hilo_pool_list(void)
{
	TimestampTz now = GetCurrentTimestamp();
	List	   *pooled = NIL;
	HiloPool   *it;
	HiloRing   *ring;
	int			i = 0;

	while ((it = (HiloPool *) hilo_shared_lock_next(HILO_POOL, &i, LW_SHARED)) != NULL)
	{
		HiloPooled	one = {.is_low = is_low(it, now),.count = it->piece_count};

		strlcpy(one.name, it->shared.name, sizeof(one.name));
		memcpy(one.pieces, it->pieces, sizeof(one.pieces));
		LWLockRelease(&it->shared.lock);
		pooled = append_pooled(pooled, &one);
	}

	/* What is left in a ring is one piece. */
	i = 0;
	while ((ring = (HiloRing *) hilo_shared_lock_next(HILO_RING, &i, LW_SHARED)) != NULL)
	{
		HiloPooled	one = {
			.count = ring->last < ring->high ? 1 : 0,
			.pieces = {{
					.range = {ring->last + 1, ring->high},
					.home = ring->home,.epoch = ring->epoch
			}}
		};

		strlcpy(one.name, ring->shared.name, sizeof(one.name));
		LWLockRelease(&ring->shared.lock);
		pooled = append_pooled(pooled, &one);
	}
	return pooled;
}

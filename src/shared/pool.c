/*-------------------------------------------------------------------------
 *
 * pool.c
 *	  The pool: numbers in shared memory that no session holds, counted here or fetched
 *	  from another server.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_extension.h"
#include "utils/guc.h"

#include "base/sql.h"
#include "counting/source.h"
#include "shared/entry.h"
#include "shared/pool.h"

/*
 * Entries
 */

int64
hilo_pool_fetched_left(const HiloPool *it)
{
	int64		left = 0;

	for (int i = 0; i < it->piece_count; i++)
	{
		if (it->pieces[i].fetched)
			left += hilo_range_count(&it->pieces[i].range);
	}
	return left;
}

void
hilo_pool_lose(HiloPool *it)
{
	for (int i = 0; i < it->piece_count; i++)
		it->lost += hilo_range_count(&it->pieces[i].range);
	it->piece_count = 0;
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
	it->shared.has_fetched = hilo_pool_fetched_left(it) > 0;
	LWLockRelease(&it->shared.lock);
}

bool
hilo_pool_open(void)
{
	return hilo_shared_open();
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
		low->fetched == high->fetched;
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
		{
			it->lost += hilo_range_count(&piece.range);
			return false;
		}
		it->lost += hilo_range_count(&it->pieces[smallest].range);
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

void
hilo_pool_note_row(const HiloRowRef *ref)
{
	HiloPool   *it = lock_pool(ref->name, LW_EXCLUSIVE);

	if (it == NULL)
		return;
	it->table = ref->table;
	it->storage = ref->storage;
	it->tid = ref->tid;
	LWLockRelease(&it->shared.lock);
}

void
hilo_pool_recall_row(HiloRowRef *ref)
{
	HiloPool   *it = lock_pool(ref->name, LW_SHARED);

	if (it == NULL)
		return;
	ref->table = it->table;
	ref->storage = it->storage;
	ref->tid = it->tid;
	ref->generation = 0;
	LWLockRelease(&it->shared.lock);
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
	HiloPool   *it = (HiloPool *) hilo_shared_lock_new(HILO_POOL, name, false, true);
	bool		is_there;

	if (it == NULL)
		return false;
	it->given += hilo_range_count(&piece->range);
	is_there = add_piece(it, *piece, needed);
	unlock_pool(it);
	return is_there;
}

void
hilo_pool_finish(const char *name, int64 low)
{
	TimestampTz now = GetCurrentTimestamp();
	HiloPool   *it = lock_pool(name, LW_EXCLUSIVE);

	if (it == NULL)
		return;
	it->finished = low;
	it->finished_at = now;
	LWLockRelease(&it->shared.lock);
}

int64
hilo_pool_finished(const char *name, TimestampTz *at, int64 *left)
{
	HiloPool   *it = lock_pool(name, LW_SHARED);
	int64		finished;

	*at = DT_NOBEGIN;
	*left = 0;
	if (it == NULL)
		return 0;
	finished = it->finished;
	*at = it->finished_at;
	for (int i = 0; i < it->piece_count; i++)
	{
		HiloRange	above = it->pieces[i].range;

		above.low = Max(above.low, finished);
		*left += Max(hilo_range_count(&above), 0);
	}
	LWLockRelease(&it->shared.lock);
	return finished;
}

/*
 * Take
 */

/*
 * Find the first piece that has what is wanted; -1: none.  Removes pieces of
 * another epoch on the way.  One of this epoch that is above max was claimed after
 * the row was read, and is left for others.
 */
static int
find_piece(HiloPool *it, const HiloRow *row, const HiloWanted *wanted, HiloRange *range)
{
	HiloWanted	preferred = *wanted;
	HiloRange	other;			/* what was cut out of piece number any */
	int			any = -1;

	preferred.above = Max(wanted->above, wanted->prefer);
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
			if (any < 0 && piece->fetched &&
				hilo_range_cut(wanted, below, piece->range.high, true, &other))
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
			   const HiloWanted *wanted, HiloClaim *claim, bool *low)
{
	HiloPool   *it = lock_pool(name, LW_EXCLUSIVE);
	HiloRange	range;
	int			i;

	*low = false;
	if (it == NULL)
		return false;
	i = find_piece(it, row, wanted, &range);
	if (i >= 0)
	{
		*claim = it->pieces[i];
		claim->range = range;
		cut_out(it, i, &range);
		it->taken += hilo_range_count(&range);

		/*
		 * A session that takes fetched numbers has read that they are, so it
		 * has loaded the library.
		 */
		*low = claim->fetched && hilo_loaded_source != NULL &&
			hilo_loaded_source->taken(it, row, hilo_range_count(&range));
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
	{
		it->piece_count = 0;
		it->finished = 0;
	}
	it->forgotten++;
	unlock_pool(it);
}

/*
 * Tasks
 */

LOCKTAG
hilo_task_tag(HiloTask task)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, ExtensionRelationId, InvalidOid, task);
	return tag;
}

void
hilo_stop_giving(void)
{
	LOCKTAG		tag = hilo_task_tag(HILO_GIVE_LEASES);
	int			level = hilo_sql_limit_lock_waits();

	(void) LockAcquire(&tag, ExclusiveLock, false, false);
	AtEOXact_GUC(false, level);
}

/*
 * List
 */

static List *
append_pooled(List *list, const char *name, int count, const HiloClaim *pieces)
{
	HiloPooled *one = palloc(sizeof(HiloPooled));

	strlcpy(one->name, name, sizeof(one->name));
	one->count = count;
	one->pieces = palloc(count * sizeof(HiloClaim));
	memcpy(one->pieces, pieces, count * sizeof(HiloClaim));
	return lappend(list, one);
}

/* Memory is allocated only when no lock is held. */
List *
hilo_pool_list(void)
{
	List	   *pooled = NIL;
	char		name[HILO_MAX_ROW_NAME_LEN];
	HiloPool   *it;
	HiloRing   *ring;
	int			i = 0;

	while ((it = (HiloPool *) hilo_shared_lock_next(HILO_POOL, &i, LW_SHARED)) != NULL)
	{
		int			count = it->piece_count;
		HiloClaim	pieces[HILO_MAX_PIECES];

		strlcpy(name, it->shared.name, sizeof(name));
		memcpy(pieces, it->pieces, sizeof(pieces));
		LWLockRelease(&it->shared.lock);
		pooled = append_pooled(pooled, name, count, pieces);
	}

	/* What is left in a ring is one piece. */
	i = 0;
	while ((ring = (HiloRing *) hilo_shared_lock_next(HILO_RING, &i, LW_SHARED)) != NULL)
	{
		HiloClaim	rest = {.home = ring->home,.epoch = ring->epoch};
		int			count = 0;

		if (ring->last < ring->high)
		{
			rest.range = (HiloRange)
			{
				ring->last + 1, ring->high
			};
			count = 1;
		}

		strlcpy(name, ring->shared.name, sizeof(name));
		LWLockRelease(&ring->shared.lock);
		pooled = append_pooled(pooled, name, count, &rest);
	}
	return pooled;
}

/*
 * Use
 */

HiloPoolUse
hilo_pool_use(void)
{
	HiloPoolUse sum = {0};
	HiloPool   *it;

	for (int i = 0; (it = (HiloPool *) hilo_shared_lock_any(HILO_POOL, i)) != NULL; i++)
	{
		sum.given += it->given;
		sum.taken += it->taken;
		sum.lost += it->lost;
		LWLockRelease(&it->shared.lock);
	}
	return sum;
}

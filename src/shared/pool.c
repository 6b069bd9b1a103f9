/*-------------------------------------------------------------------------
 *
 * pool.c
 *	  The pool: claimed and leased numbers in shared memory that no session holds.
 *
 * One lock protects all of it, and is held for about a microsecond.  While it is
 * held, no code runs that can raise an error, and no page is locked.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_database.h"
#include "common/hashfn.h"
#include "lib/ilist.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/settings.h"
#include "session/collection.h"
#include "shared/order.h"
#include "shared/pool.h"
#include "shared/turn.h"

#define TRANCHE_NAME	"hilo_pool"

/* Pieces of a collection.  A few suffice, because adjacent ones are merged. */
#define MAX_PIECES		8

/* How many databases can have a lease worker at the same time. */
#define MAX_WORKERS		64

/* A collection in the pool. */
typedef struct PoolCollection
{
	dlist_node	bucket_node;
	dlist_node	age_node;
	Oid			database;

	/* Numbers, lowest first. */
	int			piece_count;
	HiloClaim	pieces[MAX_PIECES];

	/* The session that asks the hub, and those that wait for it. */
	HiloTurn	turn;
	uint64		answers;		/* number of turns that brought numbers */

	/* What the hub answered. */
	HiloPoolLease lease;
	TimestampTz fetch_at;		/* when a lease worker was last requested */
	TimestampTz rate_at;		/* time that lease.per_minute refers to, */
	TimestampTz rate_since;		/* and when its count began */

	char		name[HILO_MAX_ROW_NAME_LEN];
} PoolCollection;

/* Head of the shared memory; the collections follow it. */
typedef struct Pool
{
	LWLock	   *lock;
	Oid			workers[MAX_WORKERS];	/* databases that have a lease worker */
	dlist_head	free_collections;
	dlist_head	by_age;			/* least recently used first */
	uint32		bucket_mask;
	dlist_head	buckets[FLEXIBLE_ARRAY_MEMBER];
} Pool;

static Pool *pool = NULL;
static shmem_request_hook_type next_request_hook = NULL;
static shmem_startup_hook_type next_startup_hook = NULL;
static object_access_hook_type next_access_hook = NULL;

bool
hilo_pool_exists(void)
{
	return pool != NULL;
}

/*
 * Collections
 */

static dlist_head *
bucket_of(Oid database, const char *name)
{
	uint32		hash = hash_bytes((const unsigned char *) name, strlen(name));

	return &pool->buckets[hash_combine(hash, database) & pool->bucket_mask];
}

/* Find the collection of this database with that name; NULL: none. */
static PoolCollection *
find(const char *name)
{
	dlist_iter	iter;

	dlist_foreach(iter, bucket_of(MyDatabaseId, name))
	{
		PoolCollection *it = dlist_container(PoolCollection, bucket_node,
											 iter.cur);

		if (it->database == MyDatabaseId && strcmp(it->name, name) == 0)
			return it;
	}
	return NULL;
}

static bool
has_leased(const PoolCollection *it)
{
	for (int i = 0; i < it->piece_count; i++)
	{
		if (it->pieces[i].leased)
			return true;
	}
	return false;
}

/* True if the collection may be evicted to make room for another one. */
static bool
is_free_to_go(const PoolCollection *it)
{
	return !hilo_turn_is_used(&it->turn) && !has_leased(it);
}

static void
evict(PoolCollection *it)
{
	dlist_delete(&it->bucket_node);
	dlist_delete(&it->age_node);
	dlist_push_head(&pool->free_collections, &it->bucket_node);
}

/* Evict a collection if none is free and one may be evicted. */
static void
make_room(void)
{
	dlist_iter	iter;

	if (!dlist_is_empty(&pool->free_collections))
		return;
	dlist_foreach(iter, &pool->by_age)
	{
		PoolCollection *it = dlist_container(PoolCollection, age_node,
											 iter.cur);

		if (is_free_to_go(it))
		{
			evict(it);
			return;
		}
	}
}

/* Find or create the collection; NULL: the pool is full. */
static PoolCollection *
find_or_make(const char *name)
{
	PoolCollection *it = find(name);

	if (it != NULL)
	{
		dlist_delete(&it->age_node);
		dlist_push_tail(&pool->by_age, &it->age_node);
		return it;
	}

	make_room();
	if (dlist_is_empty(&pool->free_collections))
		return NULL;
	it = dlist_container(PoolCollection, bucket_node,
						 dlist_pop_head_node(&pool->free_collections));
	memset(it, 0, sizeof(*it));
	it->database = MyDatabaseId;
	strlcpy(it->name, name, sizeof(it->name));
	hilo_turn_init(&it->turn);
	it->lease.leased_at = it->lease.failed_at = it->lease.failing_since =
		it->fetch_at = it->rate_at = it->rate_since = DT_NOBEGIN;
	dlist_push_head(bucket_of(MyDatabaseId, name), &it->bucket_node);
	dlist_push_tail(&pool->by_age, &it->age_node);
	return it;
}

/*
 * Dropped databases
 *
 * Another one may get the OID, so nothing of them is kept: when DROP DATABASE
 * commits, no session can leave anything there.
 */

static Oid	dropped_database = InvalidOid;

static void
forget_dropped_database(XactEvent event, void *arg)
{
	dlist_mutable_iter iter;

	if (!OidIsValid(dropped_database))
		return;
	if (event == XACT_EVENT_COMMIT)
	{
		LWLockAcquire(pool->lock, LW_EXCLUSIVE);
		dlist_foreach_modify(iter, &pool->by_age)
		{
			PoolCollection *it = dlist_container(PoolCollection, age_node,
												 iter.cur);

			if (it->database == dropped_database)
				evict(it);
		}
		LWLockRelease(pool->lock);
		hilo_ordered_forget_database(dropped_database);
	}
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT)
		dropped_database = InvalidOid;
}

static void
note_dropped_database(ObjectAccessType access, Oid class, Oid object,
					  int sub_id, void *arg)
{
	if (next_access_hook != NULL)
		next_access_hook(access, class, object, sub_id, arg);
	if (access == OAT_DROP && class == DatabaseRelationId)
		dropped_database = object;
}

/*
 * Pieces
 */

static void
remove_piece(PoolCollection *it, int i)
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

/* Merge piece i with the one before it, if that is possible. */
static void
merge_with_previous(PoolCollection *it, int i)
{
	HiloClaim  *low;

	if (i < 1 || i >= it->piece_count)
		return;
	low = &it->pieces[i - 1];
	if (!is_next_to(low, &it->pieces[i]))
		return;
	low->range.high = it->pieces[i].range.high;
	low->lsn = Max(low->lsn, it->pieces[i].lsn);
	remove_piece(it, i);
}

static int
smallest_piece(const PoolCollection *it)
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
 * Add a piece; if there are too many, the smallest is lost.  Returns false if
 * that is the new one, which cannot happen if it is needed.
 */
static bool
add_piece(PoolCollection *it, const HiloClaim *piece, bool needed)
{
	int			i = 0;

	if (piece->range.low > piece->range.high)
		return true;
	if (it->piece_count == MAX_PIECES)
	{
		int			smallest = smallest_piece(it);

		if (!needed && hilo_range_count(&it->pieces[smallest].range) >
			hilo_range_count(&piece->range))
			return false;
		remove_piece(it, smallest);
	}

	while (i < it->piece_count &&
		   it->pieces[i].range.low < piece->range.low)
		i++;
	memmove(&it->pieces[i + 1], &it->pieces[i],
			(it->piece_count - i) * sizeof(HiloClaim));
	it->piece_count++;
	it->pieces[i] = *piece;
	it->pieces[i].token = 0;
	merge_with_previous(it, i + 1);
	merge_with_previous(it, i);
	return true;
}

/* Cut a range out of piece i, which may leave a piece on either side. */
static void
cut_out(PoolCollection *it, int i, const HiloRange *range)
{
	HiloClaim	below = it->pieces[i];
	HiloClaim	above = it->pieces[i];

	below.range.high = range->low - 1;
	above.range.low = range->high + 1;
	remove_piece(it, i);
	if (range->high < above.range.high) /* or range->high + 1 could overflow */
		(void) add_piece(it, &above, false);
	(void) add_piece(it, &below, false);
}

/*
 * Cut one number out of all pieces that have it; invalid pieces may have it,
 * too.
 */
static void
skip(PoolCollection *it, int64 number)
{
	HiloRange	range = {number, number};
	int			i = 0;

	while (i < it->piece_count)
	{
		if (it->pieces[i].range.low <= number &&
			number <= it->pieces[i].range.high)
		{
			cut_out(it, i, &range);
			i = 0;				/* the pieces have moved */
		}
		else
			i++;
	}
}

bool
hilo_pool_has(const char *name)
{
	PoolCollection *it;
	bool		has;

	if (pool == NULL)
		return false;
	LWLockAcquire(pool->lock, LW_SHARED);
	it = find(name);
	has = it != NULL && it->piece_count > 0;
	LWLockRelease(pool->lock);
	return has;
}

bool
hilo_pool_put(const char *name, const HiloClaim *piece, bool needed)
{
	PoolCollection *it;
	bool		put;

	if (pool == NULL)
		return false;
	LWLockAcquire(pool->lock, LW_EXCLUSIVE);
	it = find_or_make(name);
	put = it != NULL && add_piece(it, piece, needed);
	LWLockRelease(pool->lock);
	return put;
}

/*
 * Leases that run low
 */

static int64
leased_left(const PoolCollection *it)
{
	int64		left = 0;

	for (int i = 0; i < it->piece_count; i++)
	{
		if (it->pieces[i].leased)
			left += hilo_range_count(&it->pieces[i].range);
	}
	return left;
}

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
is_low(const PoolCollection *it, TimestampTz now)
{
	return it->lease.last_size > 0 && !hilo_is_identity(it->name) &&
		leased_left(it) <
		(double) it->lease.last_size * hilo_lease_ahead / 100 &&
		!it->turn.taken && is_over(it->lease.failed_at, now, hilo_lease_retry);
}

/* Note that leased numbers were taken. */
static void
note_taken(PoolCollection *it, int64 count, TimestampTz now)
{
	if (it->rate_at == DT_NOBEGIN)
		it->rate_since = it->rate_at = now;
	it->lease.per_minute = count +
		hilo_rate_decay(it->lease.per_minute, now - it->rate_at,
						USECS_PER_MINUTE);
	it->rate_at = now;
}

/*
 * Take
 */

/*
 * Find the first piece that can satisfy the request; -1: none.  Removes invalid
 * pieces on the way.
 */
static int
find_piece(PoolCollection *it, const HiloRow *row,
		   const HiloRangeRequest *request, HiloRange *range)
{
	int			i = 0;

	while (i < it->piece_count)
	{
		if (!hilo_counter_holds(row, &it->pieces[i]))
			remove_piece(it, i);
		else if (hilo_range_cut_piece(request, &it->pieces[i].range, range))
			return i;
		else
			i++;
	}
	return -1;
}

bool
hilo_pool_take(const char *name, const HiloRow *row,
			   const HiloRangeRequest *request, HiloClaimant claimant,
			   HiloClaim *claim, bool *low)
{
	int64		token = claimant == HILO_FOR_CLIENT ? hilo_random_number() : 0;
	TimestampTz now = GetCurrentTimestamp();
	PoolCollection *it;
	HiloRange	range;
	int			i = -1;

	*low = false;
	if (pool == NULL)
		return false;
	LWLockAcquire(pool->lock, LW_EXCLUSIVE);
	it = find(name);
	if (it != NULL)
		i = find_piece(it, row, request, &range);
	if (i >= 0)
	{
		*claim = it->pieces[i];
		claim->range = range;
		claim->token = token;
		claim->changes = row->changes;
		cut_out(it, i, &range);
		if (claim->leased)
		{
			note_taken(it, hilo_range_count(&range), now);
			*low = NameStr(row->hub)[0] != '\0' && row->max < row->max_value &&
				is_low(it, now) && is_over(it->fetch_at, now, hilo_lease_retry);
			if (*low)
				it->fetch_at = now;
		}
	}
	LWLockRelease(pool->lock);
	return i >= 0;
}

bool
hilo_pool_passes_over(const char *name, const HiloRow *row, int64 above)
{
	PoolCollection *it;
	bool		any = false;
	bool		found = false;

	if (pool == NULL)
		return false;
	LWLockAcquire(pool->lock, LW_SHARED);
	it = find(name);
	for (int i = 0; it != NULL && i < it->piece_count; i++)
	{
		if (!hilo_counter_holds(row, &it->pieces[i]))
			continue;
		any = true;
		found = found || it->pieces[i].range.high > above;
	}
	LWLockRelease(pool->lock);
	return any && !found;
}

void
hilo_pool_skip(const char *name, int64 number)
{
	PoolCollection *it;

	if (pool == NULL)
		return;
	LWLockAcquire(pool->lock, LW_EXCLUSIVE);
	it = find(name);
	if (it != NULL)
		skip(it, number);
	LWLockRelease(pool->lock);
}

void
hilo_pool_forget(const char *name)
{
	PoolCollection *it;

	if (pool == NULL)
		return;
	LWLockAcquire(pool->lock, LW_EXCLUSIVE);
	it = find(name);
	if (it != NULL)
		it->piece_count = 0;
	LWLockRelease(pool->lock);
}

/*
 * Asking the hub
 */

void
hilo_pool_forget_failure(const char *name)
{
	PoolCollection *it;

	if (pool == NULL)
		return;
	LWLockAcquire(pool->lock, LW_EXCLUSIVE);
	it = find(name);
	if (it != NULL)
	{
		it->lease.failed_at = it->lease.failing_since = DT_NOBEGIN;
		it->lease.sqlstate = 0;
	}
	LWLockRelease(pool->lock);
}

/* Copy what is known about the leases, as of now. */
static void
copy_lease(const PoolCollection *it, TimestampTz now, HiloPoolLease *state)
{
	*state = it->lease;
	state->left = leased_left(it);
	if (it->rate_at != DT_NOBEGIN)
		state->per_minute =
			hilo_rate(hilo_rate_decay(it->lease.per_minute, now - it->rate_at,
									  USECS_PER_MINUTE),
					  now - it->rate_since, USECS_PER_MINUTE);
}

bool
hilo_pool_lease(const char *name, HiloPoolLease *state)
{
	TimestampTz now = GetCurrentTimestamp();
	PoolCollection *it;

	memset(state, 0, sizeof(*state));
	state->leased_at = state->failed_at = state->failing_since = DT_NOBEGIN;
	if (pool == NULL)
		return false;
	LWLockAcquire(pool->lock, LW_SHARED);
	it = find(name);
	if (it != NULL)
		copy_lease(it, now, state);
	LWLockRelease(pool->lock);
	return it != NULL;
}

/*
 * Lock the pool, and find or create the collection; an error if there is no
 * room.
 */
static PoolCollection *
lock_collection(const char *name)
{
	PoolCollection *it;

	LWLockAcquire(pool->lock, LW_EXCLUSIVE);
	it = find_or_make(name);
	if (it != NULL)
		return it;
	LWLockRelease(pool->lock);
	ereport(ERROR,
			(errcode(ERRCODE_OUT_OF_MEMORY),
			 errmsg("the pool has no room for the leases of \"%s\"",
					name),
			 errhint("Increase the setting \"hilo.pool_size\", which requires a restart.")));
	return NULL;				/* keep compiler quiet */
}

HiloPoolTurn
hilo_pool_wait_to_ask(const char *name, bool wait, int *waiting,
					  HiloPoolLease *state)
{
	TimestampTz start = GetCurrentTimestamp();
	uint64		answers = 0;
	bool		waited = false;

	for (;;)
	{
		TimestampTz now = GetCurrentTimestamp();
		PoolCollection *it = lock_collection(name);
		HiloPoolTurn result = HILO_POOL_ASKED;

		if (!waited)
			answers = it->answers;
		copy_lease(it, now, state);
		*waiting = it->turn.waiting;

		if (!it->turn.taken && it->answers == answers)
		{
			bool		failed = it->lease.failed_at != DT_NOBEGIN &&
				((waited && it->lease.failed_at >= start) ||
				 !is_over(it->lease.failed_at, now, hilo_lease_retry));

			result = failed ? HILO_POOL_FAILED : HILO_POOL_ASK;
			it->turn.taken = !failed;
		}
		if (!it->turn.taken || result == HILO_POOL_ASK || !wait ||
			it->answers != answers)
		{
			LWLockRelease(pool->lock);
			return result;
		}

		hilo_turn_wait(&it->turn, pool->lock, name);
		waited = true;
	}
}

/* Copy as much of a string, which may be NULL, as fits into place. */
static void
put_text(char *place, const char *string)
{
	int			len = string == NULL ? 0 :
		pg_mbcliplen(string, strlen(string), HILO_POOL_ERROR_LEN - 1);

	if (len > 0)
		memcpy(place, string, len);
	place[len] = '\0';
}

void
hilo_pool_end_asking(const char *name, int64 size, int sqlstate,
					 const char *error, const char *hint)
{
	TimestampTz now = GetCurrentTimestamp();
	PoolCollection *it;

	LWLockAcquire(pool->lock, LW_EXCLUSIVE);
	it = find(name);			/* exists as long as its turn is taken */
	if (size > 0)
	{
		it->answers++;
		it->lease.last_size = size;
		it->lease.leased_at = now;
		it->lease.failed_at = it->lease.failing_since = DT_NOBEGIN;
		it->lease.sqlstate = 0;
		it->fetch_at = DT_NOBEGIN;
	}
	else if (sqlstate != 0)
	{
		it->lease.failed_at = now;
		if (it->lease.failing_since == DT_NOBEGIN)
			it->lease.failing_since = now;
		it->lease.sqlstate = sqlstate;
		put_text(it->lease.error, error);
		put_text(it->lease.hint, hint);
	}
	hilo_turn_end(&it->turn);
	LWLockRelease(pool->lock);
}

/*
 * The lease worker
 */

bool
hilo_pool_begin_worker(void)
{
	int			place = -1;

	LWLockAcquire(pool->lock, LW_EXCLUSIVE);
	for (int i = 0; i < MAX_WORKERS; i++)
	{
		if (pool->workers[i] == MyDatabaseId)
		{
			place = -1;
			break;
		}
		if (place < 0 && !OidIsValid(pool->workers[i]))
			place = i;
	}
	if (place >= 0)
		pool->workers[place] = MyDatabaseId;
	LWLockRelease(pool->lock);
	return place >= 0;
}

void
hilo_pool_end_worker(void)
{
	LWLockAcquire(pool->lock, LW_EXCLUSIVE);
	for (int i = 0; i < MAX_WORKERS; i++)
	{
		if (pool->workers[i] == MyDatabaseId)
			pool->workers[i] = InvalidOid;
	}
	LWLockRelease(pool->lock);
}

/*
 * Lists
 *
 * Memory is allocated before the lock is taken, for the number of pieces at
 * that time.
 */

/* Number of pieces in the pool, but at least one per collection. */
static int
count_pieces(void)
{
	dlist_iter	iter;
	int			count = 0;

	LWLockAcquire(pool->lock, LW_SHARED);
	dlist_foreach(iter, &pool->by_age)
		count += Max(dlist_container(PoolCollection, age_node,
									 iter.cur)->piece_count, 1);
	LWLockRelease(pool->lock);
	return count;
}

/* Copy the name into room, which the caller has allocated. */
static const char *
copy_name(const PoolCollection *it, char *room)
{
	return strcpy(room, it->name);
}

/*
 * The pieces of this database; or, with only_low, the names of its collections
 * that are low.
 */
static List *
list(bool only_low)
{
	TimestampTz now = GetCurrentTimestamp();
	List	   *result = NIL;
	HiloPooled *pooled;
	char	   *names;
	int			room;
	int			count = 0;
	dlist_iter	iter;

	if (pool == NULL)
		return NIL;
	room = count_pieces();
	pooled = palloc_extended(Max(room, 1) * sizeof(HiloPooled), MCXT_ALLOC_HUGE);
	names = palloc_extended(Max(room, 1) * (Size) HILO_MAX_ROW_NAME_LEN,
							MCXT_ALLOC_HUGE);

	LWLockAcquire(pool->lock, LW_SHARED);
	dlist_foreach(iter, &pool->by_age)
	{
		PoolCollection *it = dlist_container(PoolCollection, age_node,
											 iter.cur);
		int			pieces = only_low ? is_low(it, now) : it->piece_count;

		if (it->database != MyDatabaseId)
			continue;
		for (int i = 0; i < pieces && count < room; i++, count++)
		{
			pooled[count].name = copy_name(it, names +
										   (Size) count * HILO_MAX_ROW_NAME_LEN);
			if (!only_low)
				pooled[count].piece = it->pieces[i];
		}
	}
	LWLockRelease(pool->lock);

	for (int i = 0; i < count; i++)
		result = lappend(result, only_low ? unconstify(char *, pooled[i].name) :
						 (void *) &pooled[i]);
	return result;
}

List *
hilo_pool_low(void)
{
	return list(true);
}

List *
hilo_pool_list(void)
{
	return list(false);
}

/*
 * Shared memory
 */

static uint32
bucket_count(void)
{
	uint32		count = 16;

	while (count < (uint32) hilo_pool_size)
		count *= 2;
	return count;
}

static Size
head_size(void)
{
	return MAXALIGN(add_size(offsetof(Pool, buckets),
							 mul_size(bucket_count(), sizeof(dlist_head))));
}

static Size
shared_size(void)
{
	return add_size(head_size(), mul_size(hilo_pool_size,
										  MAXALIGN(sizeof(PoolCollection))));
}

static void
make_pool(void)
{
	char	   *next = (char *) pool + head_size();

	memset(pool, 0, shared_size());
	pool->lock = &GetNamedLWLockTranche(TRANCHE_NAME)->lock;
	pool->bucket_mask = bucket_count() - 1;
	for (uint32 i = 0; i <= pool->bucket_mask; i++)
		dlist_init(&pool->buckets[i]);
	dlist_init(&pool->free_collections);
	dlist_init(&pool->by_age);
	for (int i = 0; i < hilo_pool_size; i++)
	{
		dlist_push_tail(&pool->free_collections,
						&((PoolCollection *) next)->bucket_node);
		next += MAXALIGN(sizeof(PoolCollection));
	}
}

static void
request_memory(void)
{
	if (next_request_hook != NULL)
		next_request_hook();

	RequestAddinShmemSpace(shared_size());
	RequestNamedLWLockTranche(TRANCHE_NAME, 1);
}

static void
startup(void)
{
	bool		found;

	if (next_startup_hook != NULL)
		next_startup_hook();

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	pool = ShmemInitStruct("hilo pool", shared_size(), &found);
	if (!found)
		make_pool();
	LWLockRelease(AddinShmemInitLock);
}

void
hilo_pool_init(void)
{
	if (!process_shared_preload_libraries_in_progress || hilo_pool_size == 0)
		return;

	next_request_hook = shmem_request_hook;
	shmem_request_hook = request_memory;
	next_startup_hook = shmem_startup_hook;
	shmem_startup_hook = startup;
	next_access_hook = object_access_hook;
	object_access_hook = note_dropped_database;
	RegisterXactCallback(forget_dropped_database, NULL);
}

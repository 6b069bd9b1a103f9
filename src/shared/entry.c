/*-------------------------------------------------------------------------
 *
 * entry.c
 *	  The entries in shared memory: look-up, room for new ones, turns, and the
 *	  hooks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_database.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/shmem.h"

#include "base/compat.h"
#include "base/settings.h"
#include "shared/entry.h"

#define TRANCHE_NAME	"hilo"

/* One collection in this many can be ordered, but at least MIN_RINGS. */
#define ENTRIES_PER_RING	64
#define MIN_RINGS			8

/* The others wait for a turn for this many times hilo.lease_timeout. */
#define PATIENCE		5

/* Head of the shared memory; the entries, the buckets and the rings follow. */
typedef struct Set
{
	LWLock	   *lock;			/* protects which names the entries have, and
								 * which rings */
	int			hand;			/* where the search for room goes on, */
	int			ring_hand;		/* and that for a ring */
	uint32		bucket_mask;
	pg_atomic_uint64 count;
	HiloShared *entries;
	dlist_head *buckets;
	char	   *rings;
} Set;

static Set *set = NULL;
bool		hilo_has_pool = false;
static shmem_request_hook_type next_request_hook = NULL;
static shmem_startup_hook_type next_startup_hook = NULL;
static object_access_hook_type next_access_hook = NULL;

static int
ring_count(void)
{
	return Min(hilo_pool_size, Max(MIN_RINGS, hilo_pool_size / ENTRIES_PER_RING));
}

static HiloRing *
ring_at(int i)
{
	return (HiloRing *) (set->rings + (Size) i * hilo_ring_size());
}

HiloShared *
hilo_shared_entry(int i)
{
	return &set->entries[i];
}

uint64
hilo_shared_count(void)
{
	return pg_atomic_add_fetch_u64(&set->count, 1);
}

/*
 * Look-up.  The caller of these functions holds the lock of the set.
 */

static dlist_head *
bucket_of(Oid database, const char *name)
{
	uint32		hash = hash_bytes((const unsigned char *) name, strlen(name));

	return &set->buckets[hash_combine(hash, database) & set->bucket_mask];
}

static HiloShared *
find_entry(const char *name)
{
	dlist_iter	iter;

	dlist_foreach(iter, bucket_of(MyDatabaseId, name))
	{
		HiloShared *it = dlist_container(HiloShared, node, iter.cur);

		if (it->database == MyDatabaseId && strcmp(it->name, name) == 0)
			return it;
	}
	return NULL;
}

/*
 * True if the entry may be evicted: it has no leases, which others would have
 * to be asked for again, no session works with it, and its ring holds nothing.
 */
static bool
is_idle(HiloShared *it, uint64 oldest)
{
	for (int i = 0; i < it->piece_count; i++)
	{
		if (it->pieces[i].leased)
			return false;
	}
	return !it->turn_taken && it->turn_waiting == 0 &&
		(it->ring == NULL || hilo_ring_is_idle(it->ring, oldest));
}

/* Free an entry, whose lock is held. */
static void
free_entry(HiloShared *it)
{
	dlist_delete(&it->node);
	it->database = InvalidOid;
	if (it->ring != NULL)
		it->ring->owner = NULL;
	it->ring = NULL;
}

/*
 * Free an entry unless it is in use, or was used since this last was called for
 * it.
 */
static bool
evict(HiloShared *it, uint64 oldest)
{
	bool		idle;

	LWLockAcquire(&it->lock, LW_EXCLUSIVE);
	idle = !it->used && is_idle(it, oldest);
	it->used = false;
	if (idle)
		free_entry(it);
	LWLockRelease(&it->lock);
	return idle;
}

/* A free entry; NULL: all are in use. */
static HiloShared *
find_room(uint64 oldest)
{
	for (int i = 0; i < 2 * hilo_pool_size; i++)
	{
		HiloShared *it = &set->entries[set->hand];

		set->hand = (set->hand + 1) % hilo_pool_size;
		if (!OidIsValid(it->database) || evict(it, oldest))
			return it;
	}
	return NULL;
}

/* Give the entry a ring; false: all are in use. */
static bool
find_ring(HiloShared *it, uint64 oldest)
{
	for (int i = 0; i < 2 * ring_count(); i++)
	{
		HiloRing   *ring = ring_at(set->ring_hand);

		set->ring_hand = (set->ring_hand + 1) % ring_count();
		if (ring->owner != NULL && !evict(ring->owner, oldest))
			continue;
		memset(ring, 0, offsetof(HiloRing, records));
		ring->owner = it;
		LWLockAcquire(&it->lock, LW_EXCLUSIVE);
		it->ring = ring;
		LWLockRelease(&it->lock);
		return true;
	}
	return false;
}

static HiloShared *
create_entry(const char *name, uint64 oldest)
{
	HiloShared *it = find_room(oldest);

	if (it == NULL)
		return NULL;
	LWLockAcquire(&it->lock, LW_EXCLUSIVE);
	it->database = MyDatabaseId;
	strlcpy(it->name, name, sizeof(it->name));
	it->piece_count = 0;
	hilo_leases_init(&it->leases);
	LWLockRelease(&it->lock);
	dlist_push_head(bucket_of(MyDatabaseId, name), &it->node);
	return it;
}

HiloShared *
hilo_shared_lock(const char *name, LWLockMode mode)
{
	HiloShared *it;

	if (set == NULL)
		return NULL;
	LWLockAcquire(set->lock, LW_SHARED);
	it = find_entry(name);
	if (it != NULL)
		LWLockAcquire(&it->lock, mode);
	LWLockRelease(set->lock);
	return it;
}

HiloShared *
hilo_shared_lock_new(const char *name, bool ordered)
{
	HiloShared *it = hilo_shared_lock(name, LW_EXCLUSIVE);
	uint64		oldest;

	if (it == NULL || (ordered && it->ring == NULL))
	{
		if (it != NULL)
			LWLockRelease(&it->lock);
		oldest = hilo_oldest_running();
		LWLockAcquire(set->lock, LW_EXCLUSIVE);
		it = find_entry(name);
		if (it == NULL)
			it = create_entry(name, oldest);
		if (it != NULL && ordered && it->ring == NULL && !find_ring(it, oldest))
			it = NULL;
		if (it != NULL)
			LWLockAcquire(&it->lock, LW_EXCLUSIVE);
		LWLockRelease(set->lock);
	}
	if (it != NULL)
		it->used = true;
	return it;
}

HiloShared *
hilo_shared_lock_for_turn(const char *name, bool ordered)
{
	HiloShared *it = hilo_shared_lock_new(name, ordered);

	if (it == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("the pool has no room for collection \"%s\"", name),
				 ordered ? errdetail("One collection in %d can be ordered.",
									 ENTRIES_PER_RING) : 0,
				 errhint("Increase the setting \"hilo.pool_size\", which requires a restart.")));
	return it;
}

/*
 * Turns
 */

/* Error cleanup: stop waiting. */
static void
stop_waiting(int code, Datum arg)
{
	HiloShared *it = (HiloShared *) DatumGetPointer(arg);

	/*
	 * Leave the list first: once nothing counts us, the memory may be reused
	 * for another collection.
	 */
	ConditionVariableCancelSleep();
	LWLockAcquire(&it->lock, LW_EXCLUSIVE);
	it->turn_waiting--;
	LWLockRelease(&it->lock);
}

/* Sleep until the turn is over.  The caller has counted us in turn_waiting. */
static void
sleep_through(HiloShared *it, uint64 ended)
{
	static uint32 wait_event = 0;
	long		timeout = Min((int64) hilo_lease_timeout * PATIENCE, INT_MAX);
	bool		over = false;

	ConditionVariablePrepareToSleep(&it->turn_done);
	while (!over)
	{
		LWLockAcquire(&it->lock, LW_SHARED);
		over = !it->turn_taken || it->turns_ended != ended;
		LWLockRelease(&it->lock);
		if (!over &&
			ConditionVariableTimedSleep(&it->turn_done, timeout,
										hilo_wait_event("HiloLease", &wait_event)))
			ereport(ERROR,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 errmsg("another session has been asking for numbers of \"%s\" for too long",
							it->name),
					 errdetail("It may be waiting for a lock of this session.")));
	}
}

void
hilo_shared_wait(HiloShared *it)
{
	uint64		ended = it->turns_ended;

	it->turn_waiting++;
	LWLockRelease(&it->lock);
	PG_ENSURE_ERROR_CLEANUP(stop_waiting, PointerGetDatum(it));
	{
		sleep_through(it, ended);
	}
	PG_END_ENSURE_ERROR_CLEANUP(stop_waiting, PointerGetDatum(it));
	stop_waiting(0, PointerGetDatum(it));
}

void
hilo_shared_end_turn(HiloShared *it)
{
	it->turn_taken = false;
	it->turns_ended++;
	ConditionVariableBroadcast(&it->turn_done);
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
	if (!OidIsValid(dropped_database))
		return;
	if (event == XACT_EVENT_COMMIT)
	{
		LWLockAcquire(set->lock, LW_EXCLUSIVE);
		for (int i = 0; i < hilo_pool_size; i++)
		{
			HiloShared *it = &set->entries[i];

			if (it->database != dropped_database)
				continue;
			LWLockAcquire(&it->lock, LW_EXCLUSIVE);
			free_entry(it);
			LWLockRelease(&it->lock);
		}
		LWLockRelease(set->lock);
	}
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT)
		dropped_database = InvalidOid;
}

static void
note_dropped_database(ObjectAccessType access, Oid class, Oid object,
					  int sub_id, void *arg)
{
	static bool is_registered = false;

	if (next_access_hook != NULL)
		next_access_hook(access, class, object, sub_id, arg);
	if (access != OAT_DROP || class != DatabaseRelationId)
		return;
	if (!is_registered)
		RegisterXactCallback(forget_dropped_database, NULL);
	is_registered = true;
	dropped_database = object;
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

/*
 * The parts of the shared memory, one after the other.  Each is placed at *next
 * and moves it on; with NULL their sizes add up.
 */
static Size
place_parts(char *start)
{
	Size		sizes[] = {
		MAXALIGN(sizeof(Set)),
		MAXALIGN(mul_size(hilo_pool_size, sizeof(HiloShared))),
		MAXALIGN(mul_size(bucket_count(), sizeof(dlist_head))),
		mul_size(ring_count(), hilo_ring_size())
	};
	Size		places[lengthof(sizes) + 1] = {0};

	for (size_t i = 0; i < lengthof(sizes); i++)
		places[i + 1] = add_size(places[i], sizes[i]);
	if (start != NULL)
	{
		set->entries = (HiloShared *) (start + places[1]);
		set->buckets = (dlist_head *) (start + places[2]);
		set->rings = start + places[3];
	}
	return places[lengthof(sizes)];
}

static void
initialize_set(void)
{
	LWLock	   *lock = &GetNamedLWLockTranche(TRANCHE_NAME)->lock;

	memset(set, 0, place_parts(NULL));
	(void) place_parts((char *) set);
	set->lock = lock;
	set->bucket_mask = bucket_count() - 1;
	pg_atomic_init_u64(&set->count, 0);
	for (uint32 i = 0; i <= set->bucket_mask; i++)
		dlist_init(&set->buckets[i]);
	for (int i = 0; i < hilo_pool_size; i++)
	{
		LWLockInitialize(&set->entries[i].lock, lock->tranche);
		ConditionVariableInit(&set->entries[i].turn_done);
	}
}

static void
request_memory(void)
{
	if (next_request_hook != NULL)
		next_request_hook();

	RequestAddinShmemSpace(place_parts(NULL));
	RequestNamedLWLockTranche(TRANCHE_NAME, 1);
}

static void
startup(void)
{
	bool		found;

	if (next_startup_hook != NULL)
		next_startup_hook();

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	hilo_has_pool = true;
	set = ShmemInitStruct("hilo", place_parts(NULL), &found);
	if (!found)
		initialize_set();
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
}

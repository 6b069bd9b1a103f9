/*-------------------------------------------------------------------------
 *
 * entry.c
 *	  The entries in shared memory: look-up, room for new ones, turns, and the
 *	  hooks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/objectaccess.h"
#include "catalog/pg_database.h"
#include "common/hashfn.h"
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

/*
 * The shared memory; the rings follow.  First come the hilo.pool_size entries for
 * pools, then those with a ring.
 */
typedef struct Set
{
	LWLock	   *lock;			/* protects which names the entries have */
	int			hands[2];		/* where the search for room goes on, without
								 * and with a ring */
	HiloShared	entries[FLEXIBLE_ARRAY_MEMBER];
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

static int
entry_count(void)
{
	return hilo_pool_size + ring_count();
}

/*
 * Look-up.  The caller of these functions holds the lock of the set.
 */

static dlist_head *
bucket_of(Oid database, const char *name)
{
	uint32		hash = hash_bytes((const unsigned char *) name, strlen(name));

	return &set->entries[hash_combine(hash, database) % hilo_pool_size].bucket;
}

static HiloShared *
find_entry(const char *name, bool ordered)
{
	dlist_iter	iter;

	dlist_foreach(iter, bucket_of(MyDatabaseId, name))
	{
		HiloShared *it = dlist_container(HiloShared, node, iter.cur);

		if (it->database == MyDatabaseId && (it->ring != NULL) == ordered &&
			strcmp(it->name, name) == 0)
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
	return hilo_leased_left(it) == 0 &&
		!it->turn_taken && it->turn_waiting == 0 &&
		(it->ring == NULL || hilo_ring_is_idle(it->ring, oldest));
}

/* Free an entry, whose lock is held. */
static void
free_entry(HiloShared *it)
{
	dlist_delete(&it->node);
	it->database = InvalidOid;
}

/*
 * Find a free entry, and lock it; NULL: all are in use.  Those that were not used
 * since this was last called for them make room.
 */
static HiloShared *
lock_room(bool ordered, uint64 oldest)
{
	int			first = ordered ? hilo_pool_size : 0;
	int			count = ordered ? ring_count() : hilo_pool_size;

	for (int i = 0; i < 2 * count; i++)
	{
		HiloShared *it = &set->entries[first + set->hands[ordered]];

		set->hands[ordered] = (set->hands[ordered] + 1) % count;
		LWLockAcquire(&it->lock, LW_EXCLUSIVE);
		if (OidIsValid(it->database) && !it->used && is_idle(it, oldest))
			free_entry(it);
		if (!OidIsValid(it->database))
			return it;
		it->used = false;
		LWLockRelease(&it->lock);
	}
	return NULL;
}

/* Begin an entry, whose lock is held. */
static void
begin_entry(HiloShared *it, const char *name)
{
	it->database = MyDatabaseId;
	strlcpy(it->name, name, sizeof(it->name));
	it->piece_count = 0;
	it->leases = hilo_no_leases;
	if (it->ring != NULL)
		memset(it->ring, 0, offsetof(HiloRing, incarnation));
	dlist_push_head(bucket_of(MyDatabaseId, name), &it->node);
}

HiloShared *
hilo_shared_lock(const char *name, bool ordered, LWLockMode mode)
{
	HiloShared *it;

	if (set == NULL)
		return NULL;
	LWLockAcquire(set->lock, LW_SHARED);
	it = find_entry(name, ordered);
	if (it != NULL)
		LWLockAcquire(&it->lock, mode);
	LWLockRelease(set->lock);
	return it;
}

HiloShared *
hilo_shared_lock_new(const char *name, bool ordered, bool required)
{
	HiloShared *it = hilo_shared_lock(name, ordered, LW_EXCLUSIVE);

	if (it == NULL)
	{
		uint64		oldest = hilo_oldest_running();

		LWLockAcquire(set->lock, LW_EXCLUSIVE);
		it = find_entry(name, ordered);
		if (it != NULL)
			LWLockAcquire(&it->lock, LW_EXCLUSIVE);
		else if ((it = lock_room(ordered, oldest)) != NULL)
			begin_entry(it, name);
		LWLockRelease(set->lock);
	}
	if (it != NULL)
		it->used = true;
	else if (required)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("the pool has no room for collection \"%s\"", name),
				 ordered ? errdetail("One collection in %d can be ordered.",
									 ENTRIES_PER_RING) : 0,
				 errhint("Increase the setting \"hilo.pool_size\", which requires a restart.")));
	return it;
}

HiloShared *
hilo_shared_lock_next(Oid database, int *i, LWLockMode mode)
{
	while (set != NULL && *i < entry_count())
	{
		HiloShared *it = &set->entries[(*i)++];

		if (it->database != database)
			continue;
		LWLockAcquire(&it->lock, mode);
		if (it->database == database)
			return it;
		LWLockRelease(&it->lock);
	}
	return NULL;
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

/*
 * This session is in the list of those to be woken before it releases the lock,
 * so it cannot miss the end of the turn.
 */
void
hilo_shared_wait(HiloShared *it)
{
	static uint32 wait_event = 0;
	long		timeout = Min((int64) hilo_lease_timeout * PATIENCE, INT_MAX);

	it->turn_waiting++;
	ConditionVariablePrepareToSleep(&it->turn_done);
	LWLockRelease(&it->lock);
	PG_ENSURE_ERROR_CLEANUP(stop_waiting, PointerGetDatum(it));
	{
		if (ConditionVariableTimedSleep(&it->turn_done, timeout,
										hilo_wait_event("HiloLease", &wait_event)))
			ereport(ERROR,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 errmsg("another session has been asking for numbers of \"%s\" for too long",
							it->name),
					 errdetail("It may be waiting for a lock of this session.")));
	}
	PG_END_ENSURE_ERROR_CLEANUP(stop_waiting, PointerGetDatum(it));
	stop_waiting(0, PointerGetDatum(it));
}

void
hilo_shared_end_turn(int code, Datum entry)
{
	HiloShared *it = (HiloShared *) DatumGetPointer(entry);

	LWLockAcquire(&it->lock, LW_EXCLUSIVE);
	it->turn_taken = false;
	ConditionVariableBroadcast(&it->turn_done);
	LWLockRelease(&it->lock);
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
		HiloShared *it;
		int			i = 0;

		LWLockAcquire(set->lock, LW_EXCLUSIVE);
		while ((it = hilo_shared_lock_next(dropped_database, &i, LW_EXCLUSIVE)) != NULL)
		{
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

static Size
start_of_rings(void)
{
	return MAXALIGN(offsetof(Set, entries) +
					mul_size(entry_count(), sizeof(HiloShared)));
}

static Size
memory_size(void)
{
	return add_size(start_of_rings(), mul_size(ring_count(), hilo_ring_size()));
}

static void
initialize_set(void)
{
	char	   *ring = (char *) set + start_of_rings();

	memset(set, 0, memory_size());
	set->lock = &GetNamedLWLockTranche(TRANCHE_NAME)->lock;
	for (int i = 0; i < entry_count(); i++)
	{
		HiloShared *it = &set->entries[i];

		LWLockInitialize(&it->lock, set->lock->tranche);
		ConditionVariableInit(&it->turn_done);
		if (i < hilo_pool_size)
			continue;
		it->ring = (HiloRing *) ring;
		ring += hilo_ring_size();
	}
}

static void
request_memory(void)
{
	if (next_request_hook != NULL)
		next_request_hook();

	RequestAddinShmemSpace(memory_size());
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
	set = ShmemInitStruct("hilo", memory_size(), &found);
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

/*-------------------------------------------------------------------------
 *
 * entry.c
 *	  Entries in shared memory: look-up, room for new ones, and turns.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/stat.h>

#include "common/hashfn.h"
#include "storage/ipc.h"

#include "base/compat.h"
#include "base/settings.h"
#include "shared/entry.h"
#include "shared/segment.h"

/* One collection in this many can be ordered, but at least MIN_RINGS. */
#define ENTRIES_PER_RING	64
#define MIN_RINGS			8

/* The others wait for a turn for this many times hilo.lease_timeout, */
#define PATIENCE		5

/* or so many milliseconds if the numbers are of an ordered collection. */
#define PATIENCE_IN_ORDER	HILO_TEST_VALUE("test.order_timeout", 60000)

/* Change this whenever the layout of the segment, or what it means, changes. */
#define LAYOUT			4

/* The entries of one kind: distances are from the start of the segment. */
typedef struct Shelf
{
	int			count;
	int			hand;			/* where the search for room goes on */
	Size		entry_size;
	Size		entries;		/* distance of the first one */
	Size		buckets;		/* distance of the buckets: by the hash of a
								 * name, the number of the first entry; -1:
								 * none */
} Shelf;

/* What the segment begins with; entries and buckets follow. */
typedef struct Set
{
	HiloSegment segment;
	LWLock		lock;			/* protects which names the entries have */
	HiloLogged	logged;
	Shelf		shelves[HILO_KINDS];
} Set;

/* The segment, once this session has attached to it. */
static Set *set = NULL;

/* True if there is one that another version of this library has made. */
static bool is_of_another = false;

/*
 * The set
 */

static int
ring_count(void)
{
	return Min(hilo_pool_size, Max(MIN_RINGS, hilo_pool_size / ENTRIES_PER_RING));
}

/*
 * Lay the entries of one kind out from a distance on.  Returns the distance
 * behind them.
 */
static Size
lay_out(Shelf *shelf, int count, Size entry_size, Size distance)
{
	shelf->count = count;
	shelf->entry_size = MAXALIGN(entry_size);
	shelf->entries = MAXALIGN(distance);
	shelf->buckets = add_size(shelf->entries,
							  mul_size(count, shelf->entry_size));
	return add_size(shelf->buckets, mul_size(count, sizeof(int)));
}

/* Lay out everything.  Returns the size of the segment. */
static Size
lay_out_all(Shelf *shelves)
{
	Size		distance = sizeof(Set);

	distance = lay_out(&shelves[HILO_POOL], hilo_pool_size, sizeof(HiloPool), distance);
	return lay_out(&shelves[HILO_RING], ring_count(), hilo_ring_size(), distance);
}

static inline HiloShared *
entry_at(const Shelf *shelf, int i)
{
	return (HiloShared *) ((char *) set + shelf->entries + i * shelf->entry_size);
}

static inline int *
buckets_of(const Shelf *shelf)
{
	return (int *) ((char *) set + shelf->buckets);
}

/* Initialize a segment, which is zeroed behind what it begins with. */
static void
initialize_set(HiloSegment *segment)
{
	Set		   *attached = set;

	set = (Set *) segment;
	(void) lay_out_all(set->shelves);
	LWLockInitialize(&set->lock, segment->tranche);
	LWLockInitialize(&set->logged.lock, segment->tranche);
	for (HiloKind kind = HILO_POOL; kind < HILO_KINDS; kind++)
	{
		const Shelf *shelf = &set->shelves[kind];

		for (int i = 0; i < shelf->count; i++)
		{
			HiloShared *it = entry_at(shelf, i);

			LWLockInitialize(&it->lock, segment->tranche);
			ConditionVariableInit(&it->turn_done);
			buckets_of(shelf)[i] = -1;
		}
	}
	set = attached;
}

/*
 * Attach to the set; if told so, make one if there is none.  Not at exit, when a
 * segment is of no use any more.
 */
static bool
attach_set(bool make)
{
	Shelf		shelves[HILO_KINDS];
	uint32		layout;

	if (likely(set != NULL))
		return true;
	if (proc_exit_inprogress)
		return false;
	layout = hash_combine(LAYOUT, hash_combine(sizeof(HiloPool), hash_combine(sizeof(HiloRing), sizeof(Set))));
	set = (Set *) hilo_segment_attach(layout, make ? lay_out_all(shelves) : 0,
									  initialize_set, &is_of_another);
	return set != NULL;
}

/*
 * Databases
 */

/* When a file was written, in nanoseconds. */
static int64
written_at(const struct stat *file)
{
	return file->st_mtim.tv_sec * INT64CONST(1000000000) + file->st_mtim.tv_nsec;
}

/* The database of this session; none if it cannot be told from others. */
static const HiloDatabase *
this_database(void)
{
	static HiloDatabase database = {InvalidOid};
	char		path[MAXPGPATH];
	struct stat file;

	if (likely(OidIsValid(database.oid)))
		return &database;
	snprintf(path, sizeof(path), "%s/PG_VERSION", DatabasePath);
	if (DatabasePath != NULL && stat(path, &file) == 0)
	{
		database.inode = file.st_ino;
		database.changed_at = written_at(&file);
		database.oid = MyDatabaseId;
	}
	return &database;
}

static inline bool
is_of_database(const HiloShared *it)
{
	const HiloDatabase *database = this_database();

	return it->database.oid == database->oid && OidIsValid(database->oid) &&
		it->database.inode == database->inode &&
		it->database.changed_at == database->changed_at;
}

bool
hilo_shared_is_of(const HiloShared *it, const char *name)
{
	return is_of_database(it) && strcmp(it->name, name) == 0;
}

HiloLogged *
hilo_shared_logged(void)
{
	return attach_set(true) ? &set->logged : NULL;
}

bool
hilo_shared_open(void)
{
	return attach_set(true) && OidIsValid(this_database()->oid);
}

/*
 * Look-up.  The caller of these functions holds the lock of the set.
 */

/* The link to the first of the entries whose names have this one's hash. */
static int *
bucket_of(const Shelf *shelf, Oid database, const char *name)
{
	uint32		hash = hash_bytes((const unsigned char *) name, strlen(name));

	return &buckets_of(shelf)[hash_combine(hash, database) % shelf->count];
}

static HiloShared *
find_entry(const Shelf *shelf, const char *name)
{
	int			i = *bucket_of(shelf, MyDatabaseId, name);

	while (i >= 0)
	{
		HiloShared *it = entry_at(shelf, i);

		if (hilo_shared_is_of(it, name))
			return it;
		i = it->next;
	}
	return NULL;
}

/*
 * Room for new entries.  The caller holds the lock of the set.
 */

/* Free entry number i, whose lock is held. */
static void
free_entry(const Shelf *shelf, int i)
{
	HiloShared *it = entry_at(shelf, i);
	int		   *link = bucket_of(shelf, it->database.oid, it->name);

	while (*link != i)
		link = &entry_at(shelf, *link)->next;
	*link = it->next;
	it->database.oid = InvalidOid;
}

/* Begin entry number i, whose lock is held. */
static void
begin_entry(HiloKind kind, int i, const char *name)
{
	const Shelf *shelf = &set->shelves[kind];
	HiloShared *it = entry_at(shelf, i);
	int		   *first = bucket_of(shelf, MyDatabaseId, name);

	it->database = *this_database();
	strlcpy(it->name, name, sizeof(it->name));
	it->next = *first;
	*first = i;
	it->has_fetched = false;
	if (kind == HILO_POOL)
	{
		hilo_pool_lose((HiloPool *) it);
		((HiloPool *) it)->table = InvalidOid;
		((HiloPool *) it)->finished = 0;
		((HiloPool *) it)->forgotten = 0;
		memset(((HiloPool *) it)->block, 0, HILO_BLOCK_SIZE);
	}
	else
		memset((char *) it + sizeof(HiloShared), 0,
			   offsetof(HiloRing, incarnation) - sizeof(HiloShared));
}

const Size	hilo_pool_entry_size = sizeof(HiloPool);

/*
 * Lock entry number i, and free it if it may be evicted: no session works with
 * it, and its ring holds nothing, unless any may go.  NULL, and nothing is locked: it
 * may not.  If it had fetched numbers, evicted becomes its name.
 *
 * A ring that snapshots still need can go, too.  Every transaction that has a record
 * there has an id by now, and so is among those for which the first record of the next
 * ring of the collection stands: until they have ended, its horizon is below all numbers.
 */
static HiloShared *
lock_evicted(HiloKind kind, int i, uint64 oldest, bool any, char *evicted)
{
	const Shelf *shelf = &set->shelves[kind];
	HiloShared *it = entry_at(shelf, i);

	LWLockAcquire(&it->lock, LW_EXCLUSIVE);
	if (!OidIsValid(it->database.oid))
		return it;
	if (!it->turn_taken && it->turn_waiting == 0 &&
		(kind == HILO_POOL || any || hilo_ring_is_idle((HiloRing *) it, oldest)))
	{
		if (it->has_fetched)
			strlcpy(evicted, it->name, HILO_MAX_ROW_NAME_LEN);
		free_entry(shelf, i);
		return it;
	}
	LWLockRelease(&it->lock);
	return NULL;
}

/*
 * Find a free entry, and lock it; its number is *found.  NULL: all are in use.
 *
 * If none is free, the first one makes room that was not used since the search last
 * passed it; but entries with fetched numbers, which would have to be fetched again, only
 * in the last pass, and rings that hold something only then, and with any.  What is read
 * to choose one is read without its lock, so that a search that finds nothing takes no
 * longer than some microseconds.
 */
static HiloShared *
lock_room(HiloKind kind, uint64 oldest, bool any, int *found, char *evicted)
{
	Shelf	   *shelf = &set->shelves[kind];

	for (int i = 0; i < 3 * shelf->count; i++)
	{
		HiloShared *it = entry_at(shelf, shelf->hand);
		bool		last_pass = i >= 2 * shelf->count;
		bool		used = it->used;

		*found = shelf->hand;
		shelf->hand = (shelf->hand + 1) % shelf->count;
		if (OidIsValid(it->database.oid) && !last_pass)
		{
			if (it->has_fetched)
				continue;
			it->used = false;
			if (used)
				continue;
		}
		it = lock_evicted(kind, *found, oldest, any && last_pass, evicted);
		if (it != NULL)
			return it;
	}
	return NULL;
}

/*
 * Lock
 */

HiloShared *
hilo_shared_lock(HiloKind kind, const char *name, LWLockMode mode)
{
	HiloShared *it;

	if (!attach_set(false))
		return NULL;
	LWLockAcquire(&set->lock, LW_SHARED);
	it = find_entry(&set->shelves[kind], name);
	if (it != NULL)
		LWLockAcquire(&it->lock, mode);
	LWLockRelease(&set->lock);
	return it;
}

/* Raise an error because the entry of the name cannot be had. */
static void
fail_without_entry(HiloKind kind, const char *name)
{
	if (set == NULL && is_of_another)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot use collection \"%s\" while another version of the library is in use",
						name),
				 errdetail("Sessions of the other version have made the shared memory that it needs."),
				 errhint("Restart the server when it suits you.")));
	if (set == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("there is no shared memory for collection \"%s\"", name),
				 errhint("Make room for dynamic shared memory (on Linux, in /dev/shm), or increase min_dynamic_shared_memory.")));
	ereport(ERROR,
			(errcode(ERRCODE_OUT_OF_MEMORY),
			 errmsg("the pool has no room for collection \"%s\"", name),
			 kind == HILO_RING ? errdetail("One collection in %d can be ordered.",
										   ENTRIES_PER_RING) : 0,
			 errhint("Increase the setting \"hilo.pool_size\", and restart the server.")));
}

HiloShared *
hilo_shared_lock_new(HiloKind kind, const char *name, bool required, bool any)
{
	HiloShared *it = NULL;
	bool		is_open = hilo_shared_open();
	char		evicted[HILO_MAX_ROW_NAME_LEN] = "";

	if (is_open)
		it = hilo_shared_lock(kind, name, LW_EXCLUSIVE);
	if (is_open && it == NULL)
	{
		uint64		oldest = kind == HILO_RING ? hilo_oldest_running() : 0;
		int			i;

		LWLockAcquire(&set->lock, LW_EXCLUSIVE);
		it = find_entry(&set->shelves[kind], name);
		if (it != NULL)
			LWLockAcquire(&it->lock, LW_EXCLUSIVE);
		else if ((it = lock_room(kind, oldest, any, &i, evicted)) != NULL)
			begin_entry(kind, i, name);
		LWLockRelease(&set->lock);
	}
	if (it != NULL)
		it->used = true;
	else if (required)
		fail_without_entry(kind, name);
	if (evicted[0] == '\0')
		return it;

	/*
	 * Under the lock nothing may be logged.  A cancel has to wait, or what
	 * the caller has in hand would be lost; and so that this does not wait
	 * for the client, it is not told.
	 */
	LWLockRelease(&it->lock);
	HILO_KILL_POINT("evicted");
	HOLD_INTERRUPTS();
	ereport(LOG_SERVER_ONLY,
			(errmsg("leases of \"%s\" were lost, because the pool had no other room for \"%s\"",
					evicted, name),
			 errhint("Increase the setting \"hilo.pool_size\", and restart the server.")));
	RESUME_INTERRUPTS();
	return hilo_shared_lock_new(kind, name, required, any);
}

HiloShared *
hilo_shared_lock_next(HiloKind kind, int *i, LWLockMode mode)
{
	while (attach_set(false) && *i < set->shelves[kind].count)
	{
		HiloShared *it = entry_at(&set->shelves[kind], (*i)++);

		if (!is_of_database(it))
			continue;
		LWLockAcquire(&it->lock, mode);
		if (is_of_database(it))
			return it;
		LWLockRelease(&it->lock);
	}
	return NULL;
}

HiloShared *
hilo_shared_lock_any(HiloKind kind, int i)
{
	HiloShared *it;

	if (!attach_set(false) || i >= set->shelves[kind].count)
		return NULL;
	it = entry_at(&set->shelves[kind], i);
	LWLockAcquire(&it->lock, LW_SHARED);
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

/* Sleep until a turn is over.  Returns whether it took too long. */
static bool
sleep_until_turn_ends(HiloKind kind, HiloShared *it)
{
	static uint32 wait_events[HILO_KINDS];

	return kind == HILO_POOL ?
		ConditionVariableTimedSleep(&it->turn_done,
									Min((int64) hilo_lease_timeout * PATIENCE, INT_MAX),
									hilo_wait_event("HiloLease", &wait_events[kind])) :
		ConditionVariableTimedSleep(&it->turn_done, PATIENCE_IN_ORDER,
									hilo_wait_event("HiloOrder", &wait_events[kind]));
}

/*
 * This session is in the list of those to be woken before it releases the lock,
 * so it cannot miss the end of the turn.
 */
void
hilo_shared_wait(HiloKind kind, HiloShared *it)
{
	it->turn_waiting++;
	ConditionVariablePrepareToSleep(&it->turn_done);
	LWLockRelease(&it->lock);
	PG_ENSURE_ERROR_CLEANUP(stop_waiting, PointerGetDatum(it));
	{
		if (sleep_until_turn_ends(kind, it))
			ereport(ERROR,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 kind == HILO_POOL ?
					 errmsg("another session has been asking for numbers of " HILO_NAME_FORMAT " for too long",
							HILO_NAME_ARGS(it->name)) :
					 errmsg("another session has been claiming numbers of ordered collection \"%s\" for too long",
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

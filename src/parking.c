/*-------------------------------------------------------------------------
 *
 * parking.c
 *	  Unused numbers that connections leave behind for the next one.
 *
 * One lock guards it all: who parks or takes holds it for less than a
 * microsecond, once a connection or a range.  Nothing that is done under it
 * can raise an error.
 *
 * It takes the postmaster to keep the tails when the server stops.  So there is
 * none of this where the library is loaded by sessions, even though newer
 * servers would give them shared memory: at each stop those numbers would be
 * lost that go back into the row as it is.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "document_id.h"
#include "parking.h"
#include "settings.h"
#include "stop_file.h"

#define TRANCHE_NAME	"hilo_parking"

/* What is known of a collection; it stays for as long as there is room. */
typedef struct ParkedCollection
{
	dlist_node	bucket_node;
	dlist_node	idle_node;		/* if it has no tails */
	dlist_head	tails;			/* lowest first */
	Oid			database;
	int64		usual;			/* numbers that connections have drawn */
	Oid			table;			/* where its row was last seen */
	ItemPointerData tid;
	int			name_len;
	char		name[HILO_MAX_NAME_LEN];
} ParkedCollection;

typedef struct ParkedTail
{
	dlist_node	node;			/* of its collection, or free */
	dlist_node	age_node;
	ParkedCollection *collection;
	HiloTail	tail;
	TimestampTz parked_at;
	TimestampTz used_at;		/* since then left alone */
} ParkedTail;

/*
 * A tail that nobody has taken of for so long makes room when there is none: it
 * may be of a database or an extension that is gone, where nobody will.
 */
#define ABANDONED_AFTER_MS	(10 * 60 * 1000)

/* In shared memory, followed by the collections and the tails. */
typedef struct Parking
{
	LWLock	   *lock;
	dlist_head	free_collections;
	dlist_head	idle_collections;	/* longest without a tail first */
	dlist_head	free_tails;
	dlist_head	tails_by_age;	/* longest left alone first */
	uint32		bucket_mask;
	dlist_head	buckets[FLEXIBLE_ARRAY_MEMBER];
} Parking;

/* What the stop file has of each tail. */
typedef struct SavedTail
{
	HiloTail	tail;
	TimestampTz parked_at;
	int64		usual;
	Oid			database;
	int			name_len;
	char		name[HILO_MAX_NAME_LEN];
} SavedTail;

#define SAVED_FORMAT	(UINT64CONST(0x68696c6f00000000) + sizeof(SavedTail))

static Parking *parking = NULL;
static shmem_request_hook_type next_request_hook = NULL;
static shmem_startup_hook_type next_startup_hook = NULL;

/*
 * Collections
 */

static dlist_head *
bucket_of(Oid database, HiloName name)
{
	uint32		hash = hash_bytes((const unsigned char *) name.data, name.len);

	return &parking->buckets[hash_combine(hash, database) &
							 parking->bucket_mask];
}

static ParkedCollection *
find_collection(Oid database, HiloName name)
{
	dlist_iter	iter;

	dlist_foreach(iter, bucket_of(database, name))
	{
		ParkedCollection *collection =
			dlist_container(ParkedCollection, bucket_node, iter.cur);

		if (collection->database == database &&
			collection->name_len == name.len &&
			memcmp(collection->name, name.data, name.len) == 0)
			return collection;
	}
	return NULL;
}

/*
 * The same, or a new one in the place of the one that has been without tails
 * for longest.  NULL if all have tails.
 */
static ParkedCollection *
find_or_make_collection(Oid database, HiloName name)
{
	ParkedCollection *collection = find_collection(database, name);

	if (collection != NULL)
		return collection;

	if (!dlist_is_empty(&parking->free_collections))
		collection = dlist_container(ParkedCollection, bucket_node,
									 dlist_pop_head_node(&parking->free_collections));
	else if (!dlist_is_empty(&parking->idle_collections))
	{
		collection = dlist_container(ParkedCollection, idle_node,
									 dlist_pop_head_node(&parking->idle_collections));
		dlist_delete(&collection->bucket_node);
	}
	else
		return NULL;

	collection->database = database;
	collection->usual = 0;
	collection->table = InvalidOid;
	collection->name_len = name.len;
	memcpy(collection->name, name.data, name.len);
	dlist_init(&collection->tails);
	dlist_push_head(bucket_of(database, name), &collection->bucket_node);
	dlist_push_tail(&parking->idle_collections, &collection->idle_node);
	return collection;
}

/*
 * Tails
 */

static void
remove_tail(ParkedTail *parked)
{
	ParkedCollection *collection = parked->collection;

	dlist_delete(&parked->node);
	dlist_delete(&parked->age_node);
	dlist_push_head(&parking->free_tails, &parked->node);
	if (dlist_is_empty(&collection->tails))
		dlist_push_tail(&parking->idle_collections, &collection->idle_node);
}

/* It is in use: others have to make room before it. */
static void
touch_tail(ParkedTail *parked)
{
	parked->used_at = GetCurrentTimestamp();
	dlist_delete(&parked->age_node);
	dlist_push_tail(&parking->tails_by_age, &parked->age_node);
}

/*
 * Put what was cut out of one claim together again, if two neighbours in the
 * list are that.
 */
static void
merge_tails(dlist_node *lower, dlist_node *upper)
{
	HiloTail   *below = &dlist_container(ParkedTail, node, lower)->tail;
	HiloTail   *above = &dlist_container(ParkedTail, node, upper)->tail;

	if (below->claim.range.high == above->claim.range.low - 1 &&
		below->claim.table == above->claim.table &&
		below->claim.incarnation == above->claim.incarnation &&
		below->claim.changes == above->claim.changes &&
		below->synchronous == above->synchronous)
	{
		above->claim.range.low = below->claim.range.low;
		remove_tail(dlist_container(ParkedTail, node, lower));
	}
}

/* There must be a free one. */
static void
add_tail(ParkedCollection *collection, const HiloTail *tail,
		 TimestampTz parked_at)
{
	ParkedTail *parked = dlist_container(ParkedTail, node,
										 dlist_pop_head_node(&parking->free_tails));
	dlist_node *before = &collection->tails.head;
	dlist_iter	iter;

	if (dlist_is_empty(&collection->tails))
		dlist_delete(&collection->idle_node);

	parked->collection = collection;
	parked->tail = *tail;
	parked->parked_at = parked->used_at = parked_at;

	dlist_foreach(iter, &collection->tails)
	{
		ParkedTail *other = dlist_container(ParkedTail, node, iter.cur);

		if (other->tail.claim.range.low > tail->claim.range.low)
			break;
		before = iter.cur;
	}
	dlist_insert_after(before, &parked->node);
	dlist_push_tail(&parking->tails_by_age, &parked->age_node);

	if (dlist_has_next(&collection->tails, &parked->node))
		merge_tails(&parked->node,
					dlist_next_node(&collection->tails, &parked->node));
	if (before != &collection->tails.head)
		merge_tails(before, dlist_next_node(&collection->tails, before));
}

static int
tail_count(void)
{
	int			count = 0;
	dlist_iter	iter;

	dlist_foreach(iter, &parking->tails_by_age)
		count++;
	return count;
}

/*
 * Is there a free tail?  If not, the one left alone for longest makes room: if
 * it was abandoned, or else with force.
 */
static bool
make_room_for_one(TimestampTz now, bool force)
{
	ParkedTail *oldest;

	if (!dlist_is_empty(&parking->free_tails))
		return true;
	oldest = dlist_container(ParkedTail, age_node,
							 dlist_head_node(&parking->tails_by_age));
	if (!force && !TimestampDifferenceExceeds(oldest->used_at, now,
											  ABANDONED_AFTER_MS))
		return false;
	remove_tail(oldest);
	return true;
}

/*
 * What backends do
 */

int
hilo_parking_room(void)
{
	return parking == NULL ? 0 : hilo_parked_ranges;
}

void
hilo_parking_remind(HiloCounter *counter)
{
	ParkedCollection *collection;

	if (parking == NULL)
		return;

	LWLockAcquire(parking->lock, LW_SHARED);
	collection = find_collection(MyDatabaseId, counter->name);
	if (collection != NULL)
	{
		counter->table = collection->table;
		counter->tid = collection->tid;
	}
	LWLockRelease(parking->lock);
}

bool
hilo_parking_look(HiloName name, int64 *usual)
{
	ParkedCollection *collection;
	bool		found = false;

	*usual = 0;
	if (parking == NULL)
		return false;

	LWLockAcquire(parking->lock, LW_SHARED);
	collection = find_collection(MyDatabaseId, name);
	if (collection != NULL)
	{
		found = !dlist_is_empty(&collection->tails);
		*usual = collection->usual;
	}
	LWLockRelease(parking->lock);
	return found;
}

bool
hilo_parking_park(const HiloCounter *counter, const HiloTail *tail, int64 used,
				  bool make_room)
{
	bool		is_empty = tail->claim.range.low > tail->claim.range.high;
	ParkedCollection *collection;
	bool		has_room;
	TimestampTz now;

	if (parking == NULL)
		return false;

	now = GetCurrentTimestamp();
	LWLockAcquire(parking->lock, LW_EXCLUSIVE);
	has_room = is_empty || make_room_for_one(now, make_room);
	collection = has_room ? find_or_make_collection(MyDatabaseId, counter->name) :
		NULL;
	if (collection != NULL)
	{
		collection->usual = hilo_range_usual(collection->usual, used);
		collection->table = counter->table;
		collection->tid = counter->tid;
		if (!is_empty)
			add_tail(collection, tail, now);
	}
	LWLockRelease(parking->lock);
	return is_empty || collection != NULL;
}

/* Take at most count numbers out of a tail. */
static void
take_numbers(ParkedTail *parked, int64 count, HiloTail *tail)
{
	HiloRange  *range = &parked->tail.claim.range;

	*tail = parked->tail;
	if (range->high - range->low < count)
	{
		remove_tail(parked);
		return;
	}

	/*
	 * The claim's numbers up to the end stay here: of what is taken, no number
	 * can go back into the row, as its range does not end where the row does.
	 */
	tail->claim.range.high = range->low + count - 1;
	range->low += count;
	touch_tail(parked);
}

/* What a claim made now would wait for. */
static int
required_synchronous(void)
{
	bool		defined;

	if (!SyncRepRequested())
		return SYNCHRONOUS_COMMIT_OFF;
	LWLockAcquire(SyncRepLock, LW_SHARED);
	defined = hilo_sync_standbys_defined();
	LWLockRelease(SyncRepLock);
	return defined ? Min(synchronous_commit, SYNCHRONOUS_COMMIT_REMOTE_FLUSH) :
		SYNCHRONOUS_COMMIT_OFF;
}

bool
hilo_parking_take(HiloName name, int64 last, int64 count,
				  bool (*holds) (const HiloClaim *claim, void *arg),
				  void *arg, HiloTail *tail)
{
	ParkedCollection *collection;
	dlist_mutable_iter iter;
	bool		found = false;
	int			synchronous;

	if (parking == NULL)
		return false;

	synchronous = required_synchronous();
	LWLockAcquire(parking->lock, LW_EXCLUSIVE);
	collection = find_collection(MyDatabaseId, name);
	if (collection != NULL)
	{
		dlist_foreach_modify(iter, &collection->tails)
		{
			ParkedTail *parked = dlist_container(ParkedTail, node, iter.cur);

			if (!holds(&parked->tail.claim, arg))
				remove_tail(parked);
			else if (parked->tail.claim.range.low > last &&
					 parked->tail.synchronous >= synchronous)
			{
				take_numbers(parked, count, tail);
				found = true;
				break;
			}
		}
	}
	LWLockRelease(parking->lock);
	return found;
}

/* Take number out of a tail, which may leave two. */
static void
cut_out(ParkedTail *parked, int64 number)
{
	HiloTail	below = parked->tail;
	TimestampTz parked_at = parked->parked_at;
	ParkedCollection *collection = parked->collection;

	below.claim.range.high = number - 1;
	if (number < parked->tail.claim.range.high)
		parked->tail.claim.range.low = number + 1;
	else
		remove_tail(parked);
	if (below.claim.range.low < number &&
		!dlist_is_empty(&parking->free_tails))
		add_tail(collection, &below, parked_at);
}

void
hilo_parking_skip(HiloName name, int64 number)
{
	ParkedCollection *collection;
	dlist_iter	iter;

	if (parking == NULL)
		return;

	LWLockAcquire(parking->lock, LW_EXCLUSIVE);
	collection = find_collection(MyDatabaseId, name);
	if (collection != NULL)
	{
		dlist_foreach(iter, &collection->tails)
		{
			ParkedTail *parked = dlist_container(ParkedTail, node, iter.cur);
			const HiloRange *range = &parked->tail.claim.range;

			if (range->low <= number && number <= range->high)
			{
				cut_out(parked, number);
				break;
			}
		}
	}
	LWLockRelease(parking->lock);
}

/* Copy a tail; its name is in the same piece of memory. */
static void
copy_parked(const ParkedTail *parked, HiloParked *copy)
{
	char	   *name = (char *) (copy + 1);

	memcpy(name, parked->collection->name, parked->collection->name_len);
	copy->name.data = name;
	copy->name.len = parked->collection->name_len;
	copy->tail = parked->tail;
	copy->parked_at = parked->parked_at;
}

List *
hilo_parking_list(void)
{
	const Size	size = MAXALIGN(sizeof(HiloParked) + HILO_MAX_NAME_LEN);
	List	   *list = NIL;
	char	   *copies;
	int			room;
	int			count = 0;
	dlist_iter	iter;

	if (parking == NULL)
		return NIL;

	/* Under the lock nothing is allocated; what comes meanwhile is left out. */
	LWLockAcquire(parking->lock, LW_SHARED);
	room = tail_count();
	LWLockRelease(parking->lock);
	copies = MemoryContextAllocHuge(CurrentMemoryContext, (room + 1) * size);

	LWLockAcquire(parking->lock, LW_SHARED);
	dlist_foreach(iter, &parking->tails_by_age)
	{
		ParkedTail *parked = dlist_container(ParkedTail, age_node, iter.cur);

		if (parked->collection->database == MyDatabaseId && count < room)
			copy_parked(parked, (HiloParked *) (copies + count++ * size));
	}
	LWLockRelease(parking->lock);

	for (int i = 0; i < count; i++)
		list = lappend(list, copies + i * size);
	return list;
}

/*
 * What the postmaster does
 */

static uint32
bucket_count(void)
{
	uint32		count = 1;

	while (count < (uint32) hilo_parked_ranges)
		count *= 2;
	return count;
}

static Size
header_size(void)
{
	return MAXALIGN(offsetof(Parking, buckets) +
					bucket_count() * sizeof(dlist_head));
}

static Size
shared_size(void)
{
	return add_size(header_size(),
					mul_size(hilo_parked_ranges,
							 MAXALIGN(sizeof(ParkedCollection)) +
							 MAXALIGN(sizeof(ParkedTail))));
}

static void
make_parking(void)
{
	char	   *next = (char *) parking + header_size();

	memset(parking, 0, shared_size());
	parking->lock = &GetNamedLWLockTranche(TRANCHE_NAME)->lock;
	parking->bucket_mask = bucket_count() - 1;
	for (uint32 i = 0; i <= parking->bucket_mask; i++)
		dlist_init(&parking->buckets[i]);
	dlist_init(&parking->free_collections);
	dlist_init(&parking->idle_collections);
	dlist_init(&parking->free_tails);
	dlist_init(&parking->tails_by_age);

	for (int i = 0; i < hilo_parked_ranges; i++)
	{
		dlist_push_tail(&parking->free_collections,
						&((ParkedCollection *) next)->bucket_node);
		next += MAXALIGN(sizeof(ParkedCollection));
	}
	for (int i = 0; i < hilo_parked_ranges; i++)
	{
		dlist_push_tail(&parking->free_tails, &((ParkedTail *) next)->node);
		next += MAXALIGN(sizeof(ParkedTail));
	}
}

/*
 * Put what was parked when the server was stopped where it was: as far as there
 * is room, the latest.
 */
static void
load_tails(void)
{
	uint32		size;
	SavedTail  *saved = hilo_stop_file_read(SAVED_FORMAT, &size);
	int			count = saved == NULL ? 0 : size / sizeof(SavedTail);

	for (int i = 0; i < count; i++)
	{
		SavedTail  *it = &saved[i];
		HiloName	name = {it->name, it->name_len};
		ParkedCollection *collection;

		(void) make_room_for_one(0, true);
		collection = find_or_make_collection(it->database, name);
		if (collection == NULL)
			break;				/* there are as many as tails */
		collection->usual = it->usual;
		add_tail(collection, &it->tail, it->parked_at);
	}
	if (saved != NULL)
		pfree(saved);
}

/* Exit callback, when nobody else is there any more. */
static void
save_tails(int code, Datum arg)
{
	int			count = 0;
	SavedTail  *saved;
	dlist_iter	iter;

	/* Not when memory is made anew after a crash. */
	if (code != 0)
		return;

	saved = MemoryContextAllocExtended(TopMemoryContext,
									   Max(tail_count(), 1) * sizeof(SavedTail),
									   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	dlist_foreach(iter, &parking->tails_by_age)
	{
		const ParkedTail *parked = dlist_container(ParkedTail, age_node, iter.cur);
		const ParkedCollection *collection = parked->collection;
		SavedTail  *it = &saved[count++];

		it->tail = parked->tail;
		it->parked_at = parked->parked_at;
		it->usual = collection->usual;
		it->database = collection->database;
		it->name_len = collection->name_len;
		memcpy(it->name, collection->name, collection->name_len);
	}
	hilo_stop_file_write(SAVED_FORMAT, saved, count * sizeof(SavedTail));
	pfree(saved);
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
	parking = ShmemInitStruct("hilo parking", shared_size(), &found);
	if (!found)
		make_parking();
	LWLockRelease(AddinShmemInitLock);

	if (IsUnderPostmaster)
		return;
	load_tails();
	on_shmem_exit(save_tails, (Datum) 0);
}

void
hilo_parking_init(void)
{
	if (!process_shared_preload_libraries_in_progress ||
		hilo_parked_ranges == 0)
		return;

	next_request_hook = hilo_set_shmem_request_hook(request_memory);
	next_startup_hook = shmem_startup_hook;
	shmem_startup_hook = startup;
}

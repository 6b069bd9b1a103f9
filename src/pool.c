/*-------------------------------------------------------------------------
 *
 * pool.c
 *	  Shared memory: rests of ranges that no session holds, where rows were found,
 *	  and how far the pages of sequences have been logged ahead.
 *
 * The pool is a hash of collections.  Each entry has a lock, which is held for about a
 * microsecond; another lock protects which names the entries have, and is taken first.
 * While one of them is held, no code runs that can raise an error, and no page is locked.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/stat.h>

#include "common/hashfn.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "pool.h"
#include "segment.h"

/* Change this whenever the layout of the segment, or what it means, changes. */
#define LAYOUT			6

/* How many collections the pool has room for, of all databases together. */
#define POOL_ENTRIES	1024

/* Pieces of a collection.  A few suffice, because adjacent ones are merged. */
#define MAX_PIECES		8

/* How many sequences' lots there is room for. */
#define LOT_NOTES		1024

/*
 * Which database an entry belongs to.  Another database may get the OID of one
 * that was dropped, but not its file PG_VERSION of the same age.
 */
typedef struct PoolDatabase
{
	Oid			oid;			/* InvalidOid: none */
	uint64		inode;			/* of that file, */
	int64		changed_at;		/* and when it was written, in nanoseconds */
} PoolDatabase;

/* What the pool has of a collection. */
typedef struct PoolEntry
{
	LWLock		lock;
	PoolDatabase database;		/* none: the entry is free.  This and name
								 * change only under both locks. */
	int			next;			/* the next entry whose name has this hash;
								 * -1: none */
	bool		used;			/* since the search for room last passed */
	bool		kept;			/* the search leaves it alone */
	HiloPoolNote note;
	Oid			table;			/* where the row was found, */
	Oid			storage;		/* as in HiloRowRef, */
	ItemPointerData tid;		/* if the OID is valid */
	int			piece_count;
	HiloClaim	pieces[MAX_PIECES]; /* lowest first */
	char		name[HILO_MAX_ROW_NAME_LEN];
} PoolEntry;

/* What is known of a sequence.  One in each place, by its hash; zeroed: none. */
typedef struct LotNote
{
	Oid			database;
	Oid			sequence;
	HiloLot		lot;
} LotNote;

/* The segment. */
typedef struct Pool
{
	HiloSegment segment;
	LWLock		lock;			/* protects which names the entries have */
	LWLock		lots_lock;
	LotNote		lots[LOT_NOTES];
	int			hand;			/* where the search for room goes on */
	TimestampTz noted_at;		/* when the newest note was made */
	int			buckets[POOL_ENTRIES];	/* by the hash of a name, the first
										 * entry; -1: none */
	PoolEntry	entries[POOL_ENTRIES];
} Pool;

/* The segment, once this session has attached to it. */
static Pool *pool = NULL;

/*
 * Attach
 */

/* Initialize a segment, which is zeroed behind what it begins with. */
static void
initialize_pool(HiloSegment *segment)
{
	Pool	   *made = (Pool *) segment;

	LWLockInitialize(&made->lock, segment->tranche);
	LWLockInitialize(&made->lots_lock, segment->tranche);
	for (int i = 0; i < POOL_ENTRIES; i++)
	{
		LWLockInitialize(&made->entries[i].lock, segment->tranche);
		made->buckets[i] = -1;
	}
}

/*
 * Attach to the segment; if told so, make one if there is none.  Not at exit, when a
 * segment is of no use any more.
 */
static bool
attach_pool(bool make)
{
	bool		is_of_another;

	if (likely(pool != NULL))
		return true;
	if (!proc_exit_inprogress)
		pool = (Pool *) hilo_segment_attach(hash_combine(LAYOUT, sizeof(Pool)),
											make ? sizeof(Pool) : 0,
											initialize_pool, &is_of_another);
	return pool != NULL;
}

/* The database of this session; none if it cannot be told from others. */
static const PoolDatabase *
this_database(void)
{
	static PoolDatabase database =
		{
		InvalidOid
		};
	char		path[MAXPGPATH];
	struct stat file;

	if (likely(OidIsValid(database.oid)))
		return &database;
	snprintf(path, sizeof(path), "%s/PG_VERSION", DatabasePath);
	if (DatabasePath != NULL && stat(path, &file) == 0)
	{
		database.inode = file.st_ino;
		database.changed_at = file.st_mtim.tv_sec * INT64CONST(1000000000) +
			file.st_mtim.tv_nsec;
		database.oid = MyDatabaseId;
	}
	return &database;
}

/*
 * Entries
 */

/* The link to the first of the entries whose names have this one's hash. */
static int *
bucket_of(Oid database, const char *name)
{
	uint32		hash = hash_bytes((const unsigned char *) name, strlen(name));

	return &pool->buckets[hash_combine(hash, database) % POOL_ENTRIES];
}

/* The entry of this database with that name; NULL: none.  The set is locked. */
static PoolEntry *
find_entry(const char *name)
{
	const PoolDatabase *database = this_database();

	for (int i = *bucket_of(MyDatabaseId, name); i >= 0; i = pool->entries[i].next)
	{
		PoolEntry  *it = &pool->entries[i];

		if (OidIsValid(database->oid) && it->database.oid == database->oid &&
			it->database.inode == database->inode &&
			it->database.changed_at == database->changed_at &&
			strcmp(it->name, name) == 0)
			return it;
	}
	return NULL;
}

/* The entry with that name, locked.  NULL, and nothing is locked: there is none. */
static PoolEntry *
lock_entry(const char *name, LWLockMode mode)
{
	PoolEntry  *it;

	if (!attach_pool(false))
		return NULL;
	LWLockAcquire(&pool->lock, LW_SHARED);
	it = find_entry(name);
	if (it != NULL)
		LWLockAcquire(&it->lock, mode);
	LWLockRelease(&pool->lock);
	return it;
}

/*
 * Find room for an entry, and lock it: the first free one, or the first that was not used since
 * the search last passed it, whose numbers are lost.  NULL: all are kept.  The set is locked for
 * a change.
 */
static PoolEntry *
lock_room(void)
{
	PoolEntry  *it = NULL;
	int			i = 0;

	for (int steps = 0; it == NULL; steps++)
	{
		if (steps > 2 * POOL_ENTRIES)
			return NULL;
		i = pool->hand;
		pool->hand = (i + 1) % POOL_ENTRIES;
		if (!OidIsValid(pool->entries[i].database.oid) ||
			!(pool->entries[i].used || pool->entries[i].kept))
			it = &pool->entries[i];
		pool->entries[i].used = false;
	}
	LWLockAcquire(&it->lock, LW_EXCLUSIVE);
	if (OidIsValid(it->database.oid))
	{
		int		   *link = bucket_of(it->database.oid, it->name);

		while (*link != i)
			link = &pool->entries[*link].next;
		*link = it->next;
	}
	return it;
}

/*
 * The entry with that name, created if there is none, locked for a change.  NULL, and nothing
 * is locked: there is no shared memory, or no room.
 */
static PoolEntry *
lock_new_entry(const char *name)
{
	PoolEntry  *it;

	if (!attach_pool(true) || !OidIsValid(this_database()->oid))
		return NULL;
	it = lock_entry(name, LW_EXCLUSIVE);
	if (it != NULL)
		return it;

	LWLockAcquire(&pool->lock, LW_EXCLUSIVE);
	it = find_entry(name);
	if (it != NULL)
		LWLockAcquire(&it->lock, LW_EXCLUSIVE);
	else if ((it = lock_room()) != NULL)
	{
		int		   *first = bucket_of(MyDatabaseId, name);

		it->database = *this_database();
		strlcpy(it->name, name, sizeof(it->name));
		it->next = *first;
		*first = it - pool->entries;
		it->table = InvalidOid;
		it->piece_count = 0;
		it->kept = false;
		memset(&it->note, 0, sizeof(it->note));
	}
	LWLockRelease(&pool->lock);
	return it;
}

/*
 * Pieces
 */

static void
remove_piece(PoolEntry *it, int i)
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
		low->home == high->home && low->epoch == high->epoch;
}

static int
smallest_piece(const PoolEntry *it)
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

/* Add a piece, merged with those next to it; if there are too many, the smallest is lost. */
static void
add_piece(PoolEntry *it, HiloClaim piece)
{
	int			place;

	if (piece.range.low > piece.range.high)
		return;
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
	if (it->piece_count == MAX_PIECES)
	{
		int			smallest = smallest_piece(it);

		if (hilo_range_count(&it->pieces[smallest].range) > hilo_range_count(&piece.range))
			return;
		remove_piece(it, smallest);
	}
	place = it->piece_count++;
	for (; place > 0 && it->pieces[place - 1].range.low >= piece.range.low; place--)
		it->pieces[place] = it->pieces[place - 1];
	it->pieces[place] = piece;
}

void
hilo_pool_put(const char *name, const HiloClaim *piece)
{
	PoolEntry  *it = lock_new_entry(name);

	if (it == NULL)
		return;
	it->used = true;
	add_piece(it, *piece);
	LWLockRelease(&it->lock);
}

bool
hilo_pool_has(const char *name)
{
	PoolEntry  *it = lock_entry(name, LW_SHARED);
	bool		has;

	if (it == NULL)
		return false;
	has = it->piece_count > 0;
	LWLockRelease(&it->lock);
	return has;
}

/*
 * Pieces of another epoch are removed on the way.  One of this epoch that is above max was
 * claimed after the row was read, and is left for others.
 */
bool
hilo_pool_take(const char *name, const HiloRow *row, const HiloWanted *wanted, HiloClaim *claim)
{
	PoolEntry  *it = lock_entry(name, LW_EXCLUSIVE);
	bool		taken = false;

	if (it == NULL)
		return false;
	it->used = true;
	for (int i = 0; i < it->piece_count && !taken;)
	{
		HiloClaim	piece = it->pieces[i];
		HiloRange	range;

		if (piece.epoch != row->epoch || piece.home != row->home)
		{
			remove_piece(it, i);
			continue;
		}
		if (hilo_counter_holds(row, &piece) &&
			hilo_range_cut(wanted, piece.range.low - 1, piece.range.high, true, &range))
		{
			HiloClaim	below = piece;
			HiloClaim	above = piece;

			*claim = piece;
			claim->range = range;
			below.range.high = range.low - 1;
			above.range.low = range.high + 1;
			remove_piece(it, i);
			if (range.high < piece.range.high)	/* or the sum could overflow */
				add_piece(it, above);
			add_piece(it, below);
			taken = true;
		}
		i++;
	}
	LWLockRelease(&it->lock);
	return taken;
}

void
hilo_pool_forget(const char *name)
{
	PoolEntry  *it = lock_entry(name, LW_EXCLUSIVE);

	if (it == NULL)
		return;
	it->piece_count = 0;
	it->kept = false;
	LWLockRelease(&it->lock);
}

bool
hilo_pool_keep(const char *name)
{
	PoolEntry  *it = lock_new_entry(name);

	if (it == NULL)
		return false;
	it->kept = true;
	LWLockRelease(&it->lock);
	return true;
}

void
hilo_pool_note(const char *name, const char *failure)
{
	PoolEntry  *it = lock_entry(name, LW_EXCLUSIVE);
	TimestampTz now = failure == NULL ? 0 : GetCurrentTimestamp();

	if (it == NULL)
		return;
	it->note.at = now;
	if (failure != NULL)
	{
		strlcpy(it->note.failure, failure, sizeof(it->note.failure));
		it->note.failure[pg_mbcliplen(it->note.failure, strlen(it->note.failure),
									  sizeof(it->note.failure) - 2)] = '\0';
	}
	LWLockRelease(&it->lock);
	if (failure != NULL)
	{
		LWLockAcquire(&pool->lock, LW_EXCLUSIVE);
		pool->noted_at = now;
		LWLockRelease(&pool->lock);
	}
}

HiloPoolNote
hilo_pool_last_note(const char *name)
{
	PoolEntry  *it = lock_entry(name, LW_SHARED);
	HiloPoolNote note = {0};

	if (it == NULL)
		return note;
	note = it->note;
	LWLockRelease(&it->lock);
	LWLockAcquire(&pool->lock, LW_SHARED);
	note.any_at = pool->noted_at;
	LWLockRelease(&pool->lock);
	return note;
}

int64
hilo_pool_count(const char *name, const HiloRow *row)
{
	PoolEntry  *it = lock_entry(name, LW_SHARED);
	int64		count = 0;

	if (it == NULL)
		return 0;
	for (int i = 0; i < it->piece_count; i++)
	{
		if (hilo_counter_holds(row, &it->pieces[i]))
			count += hilo_range_count(&it->pieces[i].range);
	}
	LWLockRelease(&it->lock);
	return count;
}

/*
 * Where rows were found
 */

void
hilo_pool_note_row(const HiloRowRef *ref)
{
	PoolEntry  *it = lock_new_entry(ref->name);

	if (it == NULL)
		return;
	it->table = ref->table;
	it->storage = ref->storage;
	it->tid = ref->tid;
	LWLockRelease(&it->lock);
}

void
hilo_pool_recall_row(HiloRowRef *ref)
{
	PoolEntry  *it = lock_entry(ref->name, LW_SHARED);

	if (it == NULL)
		return;
	ref->table = it->table;
	ref->storage = it->storage;
	ref->tid = it->tid;
	ref->generation = 0;
	LWLockRelease(&it->lock);
}

/*
 * Lots of sequences
 */

void
hilo_lots_open(void)
{
	(void) attach_pool(true);
}

/* The place of a sequence's note.  Sequences with the same hash overwrite each other's. */
static LotNote *
note_of(Oid sequence)
{
	return &pool->lots[hash_combine(murmurhash32(MyDatabaseId), murmurhash32(sequence)) %
					   LOT_NOTES];
}

/*
 * The database is compared, too: a copy of it has the same sequences, and with wal_level =
 * minimal the same LSNs.
 */
HiloLot
hilo_lot(Oid sequence)
{
	HiloLot		none = {InvalidXLogRecPtr};
	LotNote		note;

	if (pool == NULL)
		return none;
	LWLockAcquire(&pool->lots_lock, LW_SHARED);
	note = *note_of(sequence);
	LWLockRelease(&pool->lots_lock);
	return note.database == MyDatabaseId && note.sequence == sequence ? note.lot : none;
}

void
hilo_lot_note(Oid sequence, const HiloLot *lot)
{
	LotNote		note = {MyDatabaseId, sequence, *lot};

	if (pool == NULL)
		return;
	LWLockAcquire(&pool->lots_lock, LW_EXCLUSIVE);
	*note_of(sequence) = note;
	LWLockRelease(&pool->lots_lock);
}

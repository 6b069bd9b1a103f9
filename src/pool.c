/*-------------------------------------------------------------------------
 *
 * pool.c
 *	  Shared memory: rests of ranges that no session holds, where rows were found,
 *	  and how far the pages of sequences have been logged ahead.
 *
 * Why there is a pool at all: a session that ends has numbers left that are claimed on disk
 * and that it has not handed out.  With short connections these would be most of all numbers.  So
 * it puts them into the pool, and a session that needs numbers looks there before it claims.
 *
 * The pool is a hash of collections.  Each entry has a few pieces, which are numbers that belong
 * to no session.  Taking them out is what makes them a session's own: the entry's lock sees to it
 * that two sessions do not take the same ones.  Whether a piece is still good, the pool cannot
 * know, because the collection may have been seeded or dropped since.  The session that takes it
 * has read the row for that.
 *
 * Each entry has a lock, which is held for about a microsecond; another lock protects which names
 * the entries have, and is taken first.  While one of them is held, no code runs that can
 * raise an error, and no page is locked.  A third one is for the notes about sequences, and may be
 * taken while a sequence's page is locked.
 *
 * Beside the entries there is a table of sequences, with what is known about the last record of
 * each one's page.
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
#define LAYOUT			8

/*
 * How many collections the pool has room for, of all databases together.  An entry has about
 * a kilobyte, so there is no setting for it.
 */
#define POOL_ENTRIES	1024

/*
 * Pieces of a collection.  A few suffice, because adjacent ones are merged, and sessions take
 * from the lowest one first until it is used up.
 */
#define MAX_PIECES		8

/*
 * How many sequences' lots there is room for.  If two sequences share a place, each draw that
 * follows one of the other costs a record, so this is more than are usually busy at once.
 */
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

/*
 * What the pool has of a collection.  An entry is never given back: when another collection
 * needs it, it is evicted.
 */
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

/* The segment.  All that is not said to be protected otherwise is under its first lock. */
typedef struct Pool
{
	LWLock		lock;			/* protects which names the entries have */
	LWLock		lots_lock;
	LotNote		lots[LOT_NOTES];
	int			hand;			/* where the search for room goes on */
	int			buckets[POOL_ENTRIES];	/* by the hash of a name, the first
										 * entry; -1: none */
	PoolEntry	entries[POOL_ENTRIES];
} Pool;

/* The segment, once this session has attached to it. */
static Pool *pool = NULL;

/*
 * Attach
 */

/* Initialize a segment, which is zeroed, so that most of it is as it should be already. */
static void
initialize_pool(void *segment, int tranche)
{
	Pool	   *made = segment;

	LWLockInitialize(&made->lock, tranche);
	LWLockInitialize(&made->lots_lock, tranche);
	for (int i = 0; i < POOL_ENTRIES; i++)
	{
		LWLockInitialize(&made->entries[i].lock, tranche);
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
	if (likely(pool != NULL))
		return true;
	if (!proc_exit_inprogress)
		pool = hilo_segment_attach(hash_combine(LAYOUT, sizeof(Pool)),
								   make ? sizeof(Pool) : 0, initialize_pool);
	return pool != NULL;
}

/*
 * The database of this session; none if it cannot be told from others.  The file has to be looked
 * at only once, because a database is neither moved nor replaced while a session uses it.
 */
static const PoolDatabase *
this_database(void)
{
	static PoolDatabase database;
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

/*
 * The link to the first of the entries whose names have this one's hash.  The name is hashed
 * together with the database's OID: collections are called alike in many databases.
 */
static int *
bucket_of(Oid database, const char *name)
{
	uint32		hash = hash_bytes((const unsigned char *) name, strlen(name));

	return &pool->buckets[hash_combine(hash, database) % POOL_ENTRIES];
}

/*
 * The entry of this database with that name; NULL: none.  pool->lock must be held, in any mode.
 * The entry that is found is not locked, and can be another collection's as soon as pool->lock is
 * released.
 */
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

/*
 * The entry with that name, locked.  NULL, and nothing is locked: there is none.
 *
 * Once the entry is locked, pool->lock is not needed any more, because an entry gets another
 * name only under both locks.  So sessions that use different collections do not wait for each
 * other.
 */
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
 * the search last passed it, whose numbers are lost.  NULL: all are kept.  pool->lock must be held
 * exclusively.
 *
 * The search goes round as the hand of a clock, and marks each entry that it passes as not used.
 * So after two rounds only those that are kept are left.  Then those of other databases may go,
 * which may have been dropped.
 */
static PoolEntry *
lock_room(void)
{
	PoolEntry  *it = NULL;
	int			i = 0;

	for (int steps = 0; it == NULL; steps++)
	{
		if (steps > 3 * POOL_ENTRIES)
			return NULL;
		i = pool->hand;
		pool->hand = (i + 1) % POOL_ENTRIES;
		if (!OidIsValid(pool->entries[i].database.oid) ||
			!(pool->entries[i].used ||
			  (pool->entries[i].kept && (pool->entries[i].database.oid == MyDatabaseId ||
										 steps < 2 * POOL_ENTRIES))))
			it = &pool->entries[i];
		pool->entries[i].used = false;
	}
	LWLockAcquire(&it->lock, LW_EXCLUSIVE);

	/* The former owner's name leads there no more. */
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

	/* Another session may make the entry before this one has the lock. */
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

/* Take a piece out, so that the others are still in order.  The entry must be locked. */
static void
remove_piece(PoolEntry *it, int i)
{
	it->piece_count--;
	memmove(&it->pieces[i], &it->pieces[i + 1],
			(it->piece_count - i) * sizeof(HiloClaim));
}

/*
 * True if the pieces are adjacent and of the same origin, so that they can be
 * merged.  Adjacent numbers of two epochs must stay apart: when the row has been read, one piece
 * turns out to be good and the other one not.
 */
static bool
is_next_to(const HiloClaim *low, const HiloClaim *high)
{
	return low->range.high == high->range.low - 1 &&
		low->home == high->home && low->epoch == high->epoch;
}

/*
 * Add a piece, merged with those next to it; if there are too many, the smallest is lost.  The
 * entry must be locked.  Of an empty piece there is nothing to add.
 *
 * A merged piece has the LSN of the newer claim.  The session that takes from it waits until the
 * WAL is on disk up to there, which may be more than it has to, but never less.
 */
static void
add_piece(PoolEntry *it, HiloClaim piece)
{
	int			place;

	if (piece.range.low > piece.range.high)
		return;

	/* Pooled numbers are no client's any more. */
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
		int			smallest = 0;

		for (int i = 1; i < MAX_PIECES; i++)
		{
			if (hilo_range_count(&it->pieces[i].range) <
				hilo_range_count(&it->pieces[smallest].range))
				smallest = i;
		}
		if (hilo_range_count(&it->pieces[smallest].range) > hilo_range_count(&piece.range))
			return;
		remove_piece(it, smallest);
	}
	place = it->piece_count++;
	for (; place > 0 && it->pieces[place - 1].range.low >= piece.range.low; place--)
		it->pieces[place] = it->pieces[place - 1];
	it->pieces[place] = piece;
}

/*
 * What has been put may be evicted at any time.  That is a gap, like all that is lost of the pool,
 * and no reason for an error.
 */
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

/* A look at the pool costs less than to read the row, without which nothing can be taken. */
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
 *
 * If the numbers are taken from the middle of a piece, because the session needs some above a
 * given one, what is left are two pieces, below and above.
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

/* The entry itself stays, with the place where the row was found. */
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

/*
 * Numbers that another server has given are many, and evicted they would be lost for all servers,
 * so the search for room leaves such an entry alone.
 */
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

/* The message is cut so that it ends in a whole character. */
void
hilo_pool_note(const char *name, const char *failure)
{
	PoolEntry  *it = lock_entry(name, LW_EXCLUSIVE);

	if (it == NULL)
		return;
	it->note.at = failure == NULL ? 0 : GetCurrentTimestamp();
	if (failure != NULL)
	{
		strlcpy(it->note.failure, failure, sizeof(it->note.failure));
		it->note.failure[pg_mbcliplen(it->note.failure, strlen(it->note.failure),
									  sizeof(it->note.failure) - 2)] = '\0';
	}
	LWLockRelease(&it->lock);
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
	return note;
}

/* For the view hilo.status: pieces of another epoch are not counted, as they will be discarded. */
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

/*
 * The place is a hint, which may be out of date when another session reads it: that verifies it
 * before it uses it, as any place that it remembers.
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

/* The generation 0 is older than any of a session, so the place counts as not verified. */
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
hilo_pool_attach(void)
{
	(void) attach_pool(true);
}

/*
 * The slot of a sequence's note.  Sequences with the same hash overwrite each other's, which is
 * as if nothing was known of the other one.  So the table needs no search and no eviction.
 */
static LotNote *
note_of(Oid sequence)
{
	return &pool->lots[hash_combine(murmurhash32(MyDatabaseId), murmurhash32(sequence)) %
					   LOT_NOTES];
}

/*
 * The database is compared, too: a copy of it has the same sequences, and with wal_level =
 * minimal the same LSNs.
 *
 * This does not attach to the segment, because the caller may hold the lock of the sequence's
 * page.
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

/*
 * A session that notes a lot holds the lock of the sequence's page if it has logged the page
 * itself.  Then the note is there before any other session sees the new LSN of the page.
 */
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

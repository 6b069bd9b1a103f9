/*-------------------------------------------------------------------------
 *
 * entry.h
 *	  Entries in shared memory: those of the pool, and the rings of ordered
 *	  collections.
 *
 * Only for this folder and for hilo_hub; others use pool.h and order.h.
 *
 * Each entry has a lock, which is held for about a microsecond; another lock
 * protects the set of entries, and is taken first.  While one of them is held, no
 * code runs that can raise an error, and no page is locked.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_ENTRY_H
#define HILO_ENTRY_H

#include "access/xlogdefs.h"
#include "storage/condition_variable.h"
#include "storage/lwlock.h"

#include "base/document_id.h"
#include "base/export.h"
#include "counting/counter.h"

/* Kinds of entries. */
typedef enum HiloKind
{
	HILO_POOL,
	HILO_RING
} HiloKind;

#define HILO_KINDS		(HILO_RING + 1)

/*
 * Which database an entry belongs to.  Another database may get the OID of one
 * that was dropped, but not its file PG_VERSION of the same age.
 */
typedef struct HiloDatabase
{
	Oid			oid;			/* InvalidOid: none */
	uint64		inode;			/* of that file, */
	int64		changed_at;		/* and when it was written, in nanoseconds */
} HiloDatabase;

/* What entries of both kinds begin with. */
typedef struct HiloShared
{
	LWLock		lock;
	HiloDatabase database;		/* none: the entry is free.  This and name
								 * change only under both locks. */
	int			next;			/* the next entry whose name has this hash;
								 * -1: none */
	bool		used;			/* since the search for room last passed */
	bool		has_fetched;	/* as pool.c found last.  The search for room
								 * reads this without the lock. */

	/*
	 * Turns: one session works, the others wait until it has finished.  The
	 * session that has the turn must end it, however its work ends.
	 */
	bool		turn_taken;		/* true if a session has it */
	int			turn_waiting;	/* number of sessions that wait for its end */
	ConditionVariable turn_done;

	char		name[HILO_MAX_ROW_NAME_LEN];
} HiloShared;

/* Pieces of a collection.  A few suffice, because adjacent ones are merged. */
#define HILO_MAX_PIECES		8

/* Size in bytes of what only hilo_hub reads of an entry. */
#define HILO_BLOCK_SIZE		1152

/* What the pool has of a collection. */
typedef struct HiloPool
{
	HiloShared	shared;
	Oid			table;			/* where the row was found, */
	Oid			storage;		/* as in HiloRowRef, */
	ItemPointerData tid;		/* if the OID is valid */
	int			piece_count;
	HiloClaim	pieces[HILO_MAX_PIECES];	/* lowest first */
	int64		finished;		/* where the claim for a session began that
								 * has finished last; 0: none has since the
								 * entry began */
	TimestampTz finished_at;
	uint32		forgotten;		/* how often hilo_pool_forget() was called */
	int64		given;			/* numbers given, taken and lost, as in the */
	int64		taken;			/* view hilo.pool_use; they outlive the entry */
	int64		lost;
	int64		block[HILO_BLOCK_SIZE / sizeof(int64)]; /* all zero at first */
} HiloPool;

/* The size of that as this library was built. */
extern HILO_EXPORT const Size hilo_pool_entry_size;

/*
 * Numbers from lowest on were drawn by one transaction, upto, if stamp is
 * ONE_TRANSACTION; else by transactions up to it.  The record of several
 * transactions counts for snapshots whose xmin is at most upto and whose xmax is
 * at most stamp: FOREVER if some of them may be running.
 */
typedef struct HiloRecord
{
	uint64		upto;
	uint64		stamp;
	int64		lowest;
	TimestampTz since;			/* when the one began */
} HiloRecord;

/*
 * What an ordered collection has in shared memory.  A horizon is the lowest of
 * the records that count, less one, or else the last number.
 */
typedef struct HiloRing
{
	HiloShared	shared;
	int64		home;			/* of the row that the rest belongs to; 0:
								 * none */
	int64		epoch;			/* of that row */
	int64		last;			/* last number drawn or skipped */
	int64		high;			/* highest number that can be drawn */
	XLogRecPtr	lsn;			/* of the claim */
	int64		size;			/* of the last claim, as the rate led to; 0:
								 * none yet */
	TimestampTz claimed_at;
	int			count;
	uint64		incarnation;	/* another one whenever the ring begins anew;
								 * this and what follows outlives the entry */
	HiloRecord	records[FLEXIBLE_ARRAY_MEMBER]; /* oldest first */
} HiloRing;

/*
 * Sequences whose pages were logged ahead, see logged.c
 */

/* One in each place, by its hash; zeroed: none. */
#define HILO_LOGGED_PAGES	1024

typedef struct HiloLoggedPage
{
	Oid			database;
	Oid			sequence;
	XLogRecPtr	lsn;
} HiloLoggedPage;

typedef struct HiloLogged
{
	LWLock		lock;
	HiloLoggedPage pages[HILO_LOGGED_PAGES];
} HiloLogged;

/*
 * What the shared memory has of these; the first session that calls this makes it.  NULL:
 * this session cannot have it now.
 */
extern HiloLogged *hilo_shared_logged(void);

/*
 * Make sure that this session has the shared memory, which the first one that calls this
 * makes.  False: it cannot have it now.
 */
extern bool hilo_shared_open(void);

/*
 * The entry of this database with that name, locked.  NULL, and nothing is
 * locked: there is none.
 */
extern HILO_EXPORT HiloShared *hilo_shared_lock(HiloKind kind, const char *name,
												LWLockMode mode);

/*
 * The entry with that name, created if there is none, locked for a change.  NULL,
 * and nothing is locked: there is no room.  Raises an error instead if it is
 * required.  With any, a ring that snapshots still need makes room, too.
 */
extern HILO_EXPORT HiloShared *hilo_shared_lock_new(HiloKind kind, const char *name,
													bool required, bool any);

/*
 * The next entry of this database from number *i on, which moves on, locked; NULL,
 * and nothing is locked: there is none.
 */
extern HILO_EXPORT HiloShared *hilo_shared_lock_next(HiloKind kind, int *i,
													 LWLockMode mode);

/* True if the entry is that of this database with that name. */
extern bool hilo_shared_is_of(const HiloShared *it, const char *name);

/* Entry number i of the kind, of whatever database, locked for reading; NULL: there are fewer. */
extern HiloShared *hilo_shared_lock_any(HiloKind kind, int i);

/* Lose all numbers of an entry, which is locked. */
extern void hilo_pool_lose(HiloPool *it);

/* How many fetched numbers the entry, which is locked, has. */
extern HILO_EXPORT int64 hilo_pool_fetched_left(const HiloPool *it);

/*
 * Wait until the current turn, of another session, is over.  The caller holds
 * the lock, which is released on return.  Raises 55P03 if that takes too long.
 */
extern HILO_EXPORT void hilo_shared_wait(HiloKind kind, HiloShared *it);

/* End this session's turn in the entry; can be used for error cleanup. */
extern void hilo_shared_end_turn(int code, Datum entry);

/*
 * The ring of an ordered collection, see order.c
 */

/* Size in bytes; zeroed memory is a free one. */
extern Size hilo_ring_size(void);

/*
 * True if the ring holds nothing: no snapshot needs any of its records.  oldest
 * is hilo_oldest_running(), from before the lock was taken.
 */
extern bool hilo_ring_is_idle(HiloRing *ring, uint64 oldest);
extern uint64 hilo_oldest_running(void);

#endif							/* HILO_ENTRY_H */

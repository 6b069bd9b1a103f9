/*-------------------------------------------------------------------------
 *
 * entry.h
 *	  Shared memory: one entry per collection, with its lock, its turn, and its
 *	  pooled numbers; an ordered one has another entry, with a ring.
 *
 * Only for this folder; others use pool.h and order.h.
 *
 * Shared memory exists if the library is in shared_preload_libraries.  Each
 * entry has a lock, which is held for about a microsecond; another lock protects
 * the set of entries, and is taken first.  While one of them is held, no code
 * runs that can raise an error, and no page is locked.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_ENTRY_H
#define HILO_ENTRY_H

#include "lib/ilist.h"
#include "storage/condition_variable.h"
#include "storage/lwlock.h"

#include "shared/pool.h"

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
	int64		home;			/* of the row that the rest belongs to; 0:
								 * none */
	int64		epoch;			/* of that row */
	int64		last;			/* last number drawn or skipped */
	int64		high;			/* highest number that can be drawn */
	XLogRecPtr	lsn;			/* of the claim */
	int64		size;			/* of the last claim; 0: none yet */
	TimestampTz claimed_at;
	int			count;
	uint64		incarnation;	/* another one whenever the ring begins anew;
								 * this and what follows outlives the entry */
	HiloRecord	records[FLEXIBLE_ARRAY_MEMBER]; /* oldest first */
} HiloRing;

typedef struct HiloShared
{
	dlist_head	bucket;			/* the entries whose names have this hash */
	dlist_node	node;			/* in the bucket of its name */
	LWLock		lock;
	Oid			database;		/* InvalidOid: free.  This and name change
								 * only under both locks. */
	bool		used;			/* since the search for room last passed */

	/*
	 * Turns: one session works, the others wait until it has finished.  The
	 * session that has the turn must end it, however its work ends.
	 */
	bool		turn_taken;		/* true if a session has it */
	int			turn_waiting;	/* number of sessions that wait for its end */
	ConditionVariable turn_done;

	int			piece_count;
	HiloClaim	pieces[HILO_MAX_PIECES];	/* lowest first */
	HiloPoolLease leases;
	HiloRing   *ring;			/* always the same; NULL: this entry is for a
								 * pool */
	char		name[HILO_MAX_ROW_NAME_LEN];
} HiloShared;

/*
 * The entry of this database with that name, with a ring or without, locked.
 * NULL, and nothing is locked: there is none.
 */
extern HiloShared *hilo_shared_lock(const char *name, bool ordered,
									LWLockMode mode);

/*
 * The same, for a change, but creates it.  If there is no room, NULL, or raises
 * 53200 if it is required.
 */
extern HiloShared *hilo_shared_lock_new(const char *name, bool ordered,
										bool required);

/*
 * The next entry of the database from number *i on, which moves on, locked; NULL,
 * and nothing is locked: there is none.
 */
extern HiloShared *hilo_shared_lock_next(Oid database, int *i,
										 LWLockMode mode);

/* Nothing is known about leases yet. */
extern const HiloPoolLease hilo_no_leases;

/* Leased numbers in the pool. */
extern int64 hilo_leased_left(const HiloShared *it);

/*
 * Wait until the current turn, of another session, is over.  The caller holds
 * the lock, which is released on return.  Raises 55P03 if that takes too long.
 */
extern void hilo_shared_wait(HiloShared *it);

/* End this session's turn in the entry; can be used for error cleanup. */
extern void hilo_shared_end_turn(int code, Datum entry);

/*
 * The ring of an entry, see order.c
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

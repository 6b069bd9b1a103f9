/*-------------------------------------------------------------------------
 *
 * entry.h
 *	  Shared memory: one entry per collection, with its lock, its turn, its pooled
 *	  numbers, and, if it is ordered, its ring.
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

#include "base/document_id.h"
#include "shared/pool.h"

/* Pieces of a collection.  A few suffice, because adjacent ones are merged. */
#define HILO_MAX_PIECES		8

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
	TimestampTz since;			/* when the earliest of them began */
} HiloRecord;

/*
 * What an ordered collection has in shared memory.  A horizon is the lowest of
 * the records that count, less one, or else the last number.
 */
typedef struct HiloRing
{
	struct HiloShared *owner;	/* NULL: free; changes under the lock of the
								 * set */
	int64		home;			/* of the row that the rest belongs to; 0:
								 * none */
	int64		epoch;			/* of that row */
	uint64		incarnation;	/* another one whenever the ring begins anew */
	int64		last;			/* last number drawn or skipped */
	int64		high;			/* highest number that can be drawn */
	XLogRecPtr	lsn;			/* of the claim */
	XLogRecPtr	by_hand;		/* of numbers chosen by hand: once WAL is
								 * flushed up to here, no crash makes any of
								 * them free again */
	int64		size;			/* of the last claim; 0: none yet */
	TimestampTz claimed_at;
	int			count;
	HiloRecord	records[FLEXIBLE_ARRAY_MEMBER]; /* oldest first */
} HiloRing;

typedef struct HiloShared
{
	dlist_node	node;			/* in its bucket */
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
	uint64		turns_ended;	/* number of turns that have ended */
	ConditionVariable turn_done;

	int			piece_count;
	HiloClaim	pieces[HILO_MAX_PIECES];	/* lowest first */
	HiloPoolLease leases;
	HiloRing   *ring;			/* NULL: not ordered */
	char		name[HILO_MAX_ROW_NAME_LEN];
} HiloShared;

/*
 * The entry of this database with that name, locked; NULL, and nothing is
 * locked: there is none.  The second function creates it, with or without a
 * ring; NULL: no room.
 */
extern HiloShared *hilo_shared_lock(const char *name, LWLockMode mode);
extern HiloShared *hilo_shared_lock_new(const char *name, bool ordered);

/* Like the second one; raises 53200 if there is no room. */
extern HiloShared *hilo_shared_lock_for_turn(const char *name, bool ordered);

/* Entry number i of hilo.pool_size; it may be free. */
extern HiloShared *hilo_shared_entry(int i);

/* A number that was not given before. */
extern uint64 hilo_shared_count(void);

/* Nothing is known about leases yet; see pool.c. */
extern void hilo_leases_init(HiloPoolLease *leases);

/*
 * Wait until the current turn, of another session, is over.  The caller holds
 * the lock, which is released on return.  Raises 55P03 if that takes too long.
 */
extern void hilo_shared_wait(HiloShared *it);

/* End this session's turn.  The caller holds the lock. */
extern void hilo_shared_end_turn(HiloShared *it);

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

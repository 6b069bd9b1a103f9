/*-------------------------------------------------------------------------
 *
 * pool.h
 *	  The pool: claimed and leased numbers in shared memory that no session holds.
 *
 * For each of a limited number of collections it has a few pieces: numbers that
 * no session holds, and that are on disk as claimed.  A piece is either in the
 * pool or held by one session.  A restart of the server loses the pool, which
 * leaves gaps.
 *
 * Through it, the sessions of a member also agree on which one asks the hub,
 * and share the result.
 *
 * The pool does not know which pieces are still valid: a session that takes
 * one has read the row, and passes it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_POOL_H
#define HILO_POOL_H

#include "storage/lock.h"

#include "base/document_id.h"
#include "counting/counter.h"

/*
 * Make sure that this session has the pool, which the first one that calls this
 * makes.  False: it cannot have it now, and what it puts there is lost.
 */
extern bool hilo_pool_open(void);

/*
 * The highest number that the pool has of the collection, in pieces that are valid
 * by the row, if one is given; 0: it has none.
 */
extern int64 hilo_pool_highest(const char *name, const HiloRow *row);

/*
 * Put numbers into the pool.  Returns whether they are there, rather than lost.
 * Can be called at exit: it reads no table, and writes no WAL.
 *
 * If there is no room for another piece, the smallest one is lost, but never this
 * one if it is needed.  If there is no room for another collection, one is evicted,
 * preferably one that has no leased numbers.
 */
extern bool hilo_pool_put(const char *name, const HiloClaim *piece, bool needed);

/*
 * Take numbers that satisfy the request from the lowest piece that has them.
 * row is the row as read: pieces that are not valid by it are discarded when
 * they are found. *claim is what was taken, with the LSN that the caller has to
 * wait for.
 *
 * *low is set if so few leased numbers are left that the next lease should be
 * fetched now, and the pool has not said so within HILO_LEASE_RETRY_MS.
 */
extern bool hilo_pool_take(const char *name, const HiloRow *row,
						   const HiloRangeRequest *request,
						   HiloClaim *claim, bool *low);

/*
 * Forget the hub's last failure, so that it can be asked at once, and, if told so,
 * the numbers of a collection.
 */
extern void hilo_pool_forget(const char *name, bool numbers);

/*
 * Asking the hub: one session at a time
 */

/* What is known about the hub's answers since the start of the server. */
typedef struct HiloPoolLease
{
	int64		left;			/* leased numbers in the pool */
	int			waiting;		/* sessions that wait for a turn to end */
	double		per_minute;		/* rate at which they are taken, see range.h, */
	TimestampTz taken_at;		/* as of then, when one was last taken */
	TimestampTz fetch_at;		/* when a lease worker was last requested */
	int64		last_size;		/* of the last lease; 0: none yet */
	TimestampTz leased_at;		/* time of that; or DT_NOBEGIN */
	TimestampTz failed_at;		/* time of the last attempt, if it failed;
								 * else DT_NOBEGIN */
	TimestampTz failing_since;	/* time of the first in this series of
								 * failures */
	int			host;			/* which of several hosts of the hub to ask
								 * first, counting from 0 */
	int			sqlstate;		/* if it failed: its error, */

#define HILO_POOL_ERROR_LEN		512
	char		error[HILO_POOL_ERROR_LEN];
	char		hint[HILO_POOL_ERROR_LEN];	/* empty: none */
} HiloPoolLease;

typedef enum HiloPoolTurn
{
	HILO_POOL_ASK,				/* ask, then call hilo_pool_end_asking() */
	HILO_POOL_ASKED,			/* another session has asked: look again */
	HILO_POOL_FAILED			/* one has failed within HILO_LEASE_RETRY_MS */
} HiloPoolTurn;

/*
 * Wait for a turn to ask for a collection; without wait, return HILO_POOL_ASKED
 * at once if another session is asking.  Raises 53200 if there is no room for
 * the collection, and 55P03 if the session that asks takes too long.
 *
 * *state is what is known about the leases.
 */
extern HiloPoolTurn hilo_pool_wait_to_ask(const char *name, bool wait,
										  HiloPoolLease *state);

/*
 * End the turn, with the size of a lease, an error, or neither, and the host to
 * ask first next time; -1: as before.
 */
extern void hilo_pool_end_asking(const char *name, int64 size, int sqlstate,
								 const char *error, const char *hint,
								 int host);

/* What is known about a collection's leases. */
extern HiloPoolLease hilo_pool_lease(const char *name);

/* Tasks that only one session of this database does at a time. */
typedef enum HiloTask
{
	HILO_FETCH_LEASES = 1,
	HILO_MAKE_ORDERED,
	HILO_GIVE_LEASES			/* by many at a time; see hub.c */
} HiloTask;

/* The lock of a task, for LockAcquire(). */
extern LOCKTAG hilo_task_tag(HiloTask task);

/* Pieces of a collection.  A few suffice, because adjacent ones are merged. */
#define HILO_MAX_PIECES		8

/* What the pool has of a collection. */
typedef struct HiloPooled
{
	char		name[HILO_MAX_ROW_NAME_LEN];
	bool		is_low;			/* its next lease should be fetched now */
	int			count;
	HiloClaim	pieces[HILO_MAX_PIECES];	/* lowest first */
} HiloPooled;

/* All collections of this database, as a list of HiloPooled *, palloc'd. */
extern List *hilo_pool_list(void);

#endif							/* HILO_POOL_H */

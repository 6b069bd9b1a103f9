/*-------------------------------------------------------------------------
 *
 * pool.h
 *	  The pool: numbers in shared memory that no session holds, counted here or fetched
 *	  from another server.
 *
 * For each of a limited number of collections it has a few pieces: numbers that
 * no session holds, and that are on disk as claimed.  A piece is either in the
 * pool or held by one session.  A restart of the server loses the pool, which
 * leaves gaps.
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
#include "base/export.h"
#include "counting/counter.h"

/*
 * Make sure that this session has the pool, which the first one that calls this
 * makes.  False: it cannot have it now, and what it puts there is lost.
 */
extern bool hilo_pool_open(void);

/*
 * Tell other sessions where the row of a collection was found, if the pool has the collection;
 * and look there first, if one has told where: a session that has not opened the table or its
 * index yet then need not, which takes longer than all the rest of its first draw.
 */
extern void hilo_pool_note_row(const HiloRowRef *ref);
extern void hilo_pool_recall_row(HiloRowRef *ref);

/*
 * The highest number that the pool has of the collection, in pieces that are valid
 * by the row, if one is given; 0: it has none.
 */
extern HILO_EXPORT int64 hilo_pool_highest(const char *name, const HiloRow *row);

/*
 * Put numbers into the pool.  Returns whether they are there, rather than lost.
 * Can be called at exit: it reads no table, and writes no WAL.
 *
 * If there is no room for another piece, the smallest one is lost, but never this
 * one if it is needed.  If there is no room for another collection, one is evicted,
 * preferably one that has no fetched numbers.
 */
extern HILO_EXPORT bool hilo_pool_put(const char *name, const HiloClaim *piece, bool needed);

/*
 * Note that a claim for a session has finished, which began there, and joined no other: its
 * numbers are on disk, and the pool has those that the session did not keep.  Nothing
 * happens if the pool does not have the collection.
 */
extern void hilo_pool_finish(const char *name, int64 low);

/*
 * Where the claim began that has finished last, when it finished, and how many numbers the
 * pool has from there on; 0: none has since the pool has the collection, or it does not have
 * it.
 */
extern int64 hilo_pool_finished(const char *name, TimestampTz *at, int64 *left);

/*
 * Take wanted numbers from the lowest piece that has them.  row is the row as read:
 * pieces that are not valid by it are discarded when they are found.  *claim is
 * what was taken, with the LSN that the caller has to wait for.
 *
 * *low is set if so few fetched numbers are left that the next ones should be
 * fetched now, and no other session has just been told so.
 */
extern bool hilo_pool_take(const char *name, const HiloRow *row,
						   const HiloWanted *wanted, HiloClaim *claim, bool *low);

/*
 * Forget that fetching numbers of a collection has failed, so that it can be tried at
 * once; with numbers, forget what the pool has of it, too.
 */
extern HILO_EXPORT void hilo_pool_forget(const char *name, bool numbers);

/* Tasks that only one session of this database does at a time. */
typedef enum HiloTask
{
	HILO_FETCH_LEASES = 1,
	HILO_MAKE_ORDERED,
	HILO_GIVE_LEASES			/* by many at a time */
} HiloTask;

/* The lock of a task, for LockAcquire(). */
extern HILO_EXPORT LOCKTAG hilo_task_tag(HiloTask task);

/*
 * Wait until no session gives numbers to other servers, and let none do so until the lock
 * of that task is released.  Sessions that want to meanwhile wait behind this one, so it
 * gives up after five seconds (55P03), unless lock_timeout is set.
 */
extern HILO_EXPORT void hilo_stop_giving(void);

/* What the pool has of a collection. */
typedef struct HiloPooled
{
	char		name[HILO_MAX_ROW_NAME_LEN];
	int			count;
	HiloClaim  *pieces;			/* lowest first */
} HiloPooled;

/* All collections of this database, as a list of HiloPooled *, palloc'd. */
extern List *hilo_pool_list(void);

/* How many numbers have gone through the pool since it was made, of all databases. */
typedef struct HiloPoolUse
{
	int64		given;			/* put there by sessions */
	int64		taken;
	int64		lost;			/* given, and made room for others */
} HiloPoolUse;

extern HiloPoolUse hilo_pool_use(void);

#endif							/* HILO_POOL_H */

/*-------------------------------------------------------------------------
 *
 * pool.h
 *	  The pool: claimed and leased numbers in shared memory that no session holds.
 *
 * The pool exists if the library is in shared_preload_libraries.  For each of
 * a limited number of collections it has a few pieces: numbers that no session
 * holds, and that are on disk as claimed.  A piece is either in the pool or
 * held by one session.  A restart of the server loses the pool, which leaves
 * gaps.
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

#include "counter.h"

extern void hilo_pool_init(void);

/* Is there a pool? */
extern bool hilo_pool_exists(void);

/* Are there numbers of a collection? */
extern bool hilo_pool_has(HiloName name);

/*
 * How many numbers a session usually draws of a collection, 0 where that is not
 * known; and a note of what one has drawn.
 */
extern int64 hilo_pool_usual(HiloName name);
extern void hilo_pool_note_drawn(HiloName name, int64 drawn);

/*
 * Put numbers in, but for those that were chosen by hand since they were claimed
 * or taken (piece->changes says when that was).  Returns whether they are there,
 * and not a gap.
 *
 * Where there is no room for another piece the smallest one is lost, though not
 * this one if it is needed; where there is none for another collection, one that
 * has no leased numbers makes room.
 */
extern bool hilo_pool_put(HiloName name, const HiloClaim *piece, bool needed);

/*
 * Take numbers that answer the request out of the lowest piece that has them.
 * row is what was read of the row: pieces that it does not hold are thrown away
 * where they are met.  *claim says what was got, with the LSN that its taker has
 * to wait for.  For a client it has a token, which the pool remembers.
 *
 * *low is set if so few leased numbers are left that the next lease should be
 * fetched now, and that was not said within hilo.lease_retry.
 */
extern bool hilo_pool_take(HiloName name, const HiloRow *row,
						   const HiloRangeRequest *request,
						   HiloClaimant claimant, HiloClaim *claim, bool *low);

/*
 * Put back what a client has not used, by hilo_counter_return()'s rules.
 */
extern bool hilo_pool_return(HiloName name, const HiloRow *row, int64 last,
							 int64 high, int64 token);

/*
 * Would taking numbers above this one pass over good ones, and find none?
 */
extern bool hilo_pool_passes_over(HiloName name, const HiloRow *row,
								  int64 above);

/*
 * See that number, which was chosen by hand, is not taken: of what is in the
 * pool, and of what was claimed before the row was as this one, and is put into
 * the pool later.
 */
extern void hilo_pool_skip(HiloName name, int64 number, const HiloRow *row);

/* Forget the numbers of a collection. */
extern void hilo_pool_forget(HiloName name);

/*
 * Asking the hub: one session at a time
 */

/* What is known of the hub's answers; all since the start of the server. */
typedef struct HiloPoolLease
{
	int64		left;			/* leased numbers in the pool */
	double		per_minute;		/* rate at which they are taken */
	int64		last_size;		/* of the lease got last; 0: none yet */
	TimestampTz leased_at;		/* and when; DT_NOBEGIN */
	TimestampTz failed_at;		/* last attempt, if it failed; else DT_NOBEGIN */
	TimestampTz failing_since;	/* the first one in a row */
	int			sqlstate;		/* its error, */

#define HILO_POOL_ERROR_LEN		512
	char		error[HILO_POOL_ERROR_LEN];
	char		hint[HILO_POOL_ERROR_LEN];	/* empty: none */
} HiloPoolLease;

typedef enum HiloPoolTurn
{
	HILO_POOL_ASK,				/* ask, then call hilo_pool_end_asking() */
	HILO_POOL_ASKED,			/* another session has: look again */
	HILO_POOL_FAILED			/* another session has, a moment ago, in vain */
} HiloPoolTurn;

/*
 * Wait for one's turn to ask for a collection; without wait, HILO_POOL_ASKED at
 * once where another session asks.  Raises 53200 if there is no room for the
 * collection, and 55P03 if the session that asks does not come to an end.
 *
 * *waiting is how many others wait; *state what is known.
 */
extern HiloPoolTurn hilo_pool_wait_to_ask(HiloName name, bool wait,
										  int *waiting, HiloPoolLease *state);

/* The turn is over: with the size of a lease, an error, or neither. */
extern void hilo_pool_end_asking(HiloName name, int64 size, int sqlstate,
								 const char *error, const char *hint);

/* Forget that the hub could not be asked, so that it is asked at once. */
extern void hilo_pool_forget_failure(HiloName name);

/* What is known of a collection; false: nothing. */
extern bool hilo_pool_lease(HiloName name, HiloPoolLease *state);

/*
 * The names of this database's leased collections of which the next lease
 * should be fetched now, as a list of HiloName *, palloc'd.
 */
extern List *hilo_pool_low(void);

/*
 * Become this database's lease worker, or stop being it; false if there is one.
 */
extern bool hilo_pool_begin_worker(void);
extern void hilo_pool_end_worker(void);

/* A piece as it is listed. */
typedef struct HiloPooled
{
	HiloName	name;
	HiloClaim	piece;
} HiloPooled;

/* The pieces in this database, as a list of HiloPooled *, palloc'd. */
extern List *hilo_pool_list(void);

#endif							/* HILO_POOL_H */

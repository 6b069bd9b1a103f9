/*-------------------------------------------------------------------------
 *
 * turn.h
 *	  What the sessions of a member know together about a counter's leases, and which of
 *	  them asks the hub.
 *
 * It is kept in the counter's entry in the pool.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_TURN_H
#define HILO_TURN_H

#include "hub/connection.h"
#include "hub/core.h"

/*
 * Constants that are no settings: the largest lease; how long one should last; what
 * percentage of one is left when the next one is fetched; and how long a hub that
 * has failed is not asked again.
 */
#define HILO_LARGEST_LEASE		HILO_TEST_VALUE("test.max_lease_size", 1073741824)
#define HILO_LEASE_DURATION_MS	HILO_TEST_VALUE("test.lease_duration", 600000)
#define HILO_LEASE_AHEAD		HILO_TEST_VALUE("test.lease_ahead", 75)
#define HILO_LEASE_RETRY_MS		HILO_TEST_VALUE("test.lease_retry", 1000)

/* What is known about the hub's answers since the start of the server. */
typedef struct HiloLeaseState
{
	bool		begun;			/* false: all the rest is not set yet */
	uint32		forgotten;		/* the entry's, as of the last failure */
	int64		left;			/* leased numbers in the pool */
	int			waiting;		/* sessions that wait for a turn to end */
	double		per_minute;		/* rate at which they are taken, see range.h, */
	TimestampTz taken_at;		/* as of then, when one was last taken */
	TimestampTz fetch_at;		/* when a lease worker was last requested */
	int64		last_size;		/* of the last lease; 0: none yet */
	int64		epoch;			/* of the row, as of that: in another one it
								 * was not used up, but lost */
	TimestampTz leased_at;		/* time of that; or DT_NOBEGIN */
	bool		lost;			/* the last answer did not arrive, though the
								 * hub may have given a lease */
	bool		hurried;		/* that failure was for lack of time in the
								 * lease worker: sessions wait longer */
	TimestampTz failed_at;		/* time of the last attempt, if it failed;
								 * else DT_NOBEGIN */
	TimestampTz failing_since;	/* time of the first in this series of
								 * failures */
	int			host;			/* which of several hosts of the hub to ask
								 * first, counting from 0 */
	int			sqlstate;		/* if it failed: its error, */

#define HILO_LEASE_ERROR_LEN		512
	char		error[HILO_LEASE_ERROR_LEN];
	char		hint[HILO_LEASE_ERROR_LEN]; /* empty: none */
} HiloLeaseState;

typedef enum HiloTurn
{
	HILO_TURN,					/* ask, then call hilo_turn_end() */
	HILO_TURN_OVER,				/* another session has asked: look again */
	HILO_TURN_FAILED			/* one has failed within HILO_LEASE_RETRY_MS */
} HiloTurn;

/*
 * Wait for a turn to ask for a collection; without wait, return HILO_TURN_OVER
 * at once if another session is asking.  Raises 53200 if there is no room for
 * the collection, and 55P03 if the session that asks takes too long.
 *
 * *state is what is known about the leases.
 */
extern HiloTurn hilo_turn_wait(const char *name, bool wait,
							   HiloLeaseState *state);

/*
 * End the turn, with the size of a lease and the epoch that it has here, or size 0; and
 * with the answer's error, if it has one, and its host.
 */
extern void hilo_turn_end(const char *name, int64 size, int64 epoch,
						  const HiloHubAnswer *answer);

/*
 * End the turn after an error of this session, such as a cancel: others may ask at once,
 * but the hub may have given a lease.
 */
extern void hilo_turn_give_up(const char *name);

/* What is known about a collection's leases. */
extern HiloLeaseState hilo_lease_state_of(const char *name);

/*
 * Leased numbers were taken from an entry, whose lock is held.  Returns whether so few
 * are left that the next lease should be fetched now, and no session has been told so within
 * HILO_LEASE_RETRY_MS.
 */
extern bool hilo_lease_taken(HiloPool *it, const HiloRow *row, int64 count);

/* The names of all counters of which the next lease should be fetched now, palloc'd. */
extern List *hilo_leases_low(void);

#endif							/* HILO_TURN_H */

/*-------------------------------------------------------------------------
 *
 * turn.h
 *	  Turns in shared memory: one session works, the others wait until it has
 *	  finished.
 *
 * A turn is stored beside the data that it concerns, and protected by the same
 * lock.  The session that has it must end it, however its work ends.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_TURN_H
#define HILO_TURN_H

#include "storage/condition_variable.h"
#include "storage/lwlock.h"

#include "counting/row.h"

typedef struct HiloTurn
{
	bool		taken;			/* true if a session has it */
	int			waiting;		/* number of sessions that wait for its end */
	uint64		ended;			/* number of turns that have ended */
	ConditionVariable done;
} HiloTurn;

/* Initialize a turn in zeroed memory, before any session uses it. */
static inline void
hilo_turn_init(HiloTurn *turn)
{
	ConditionVariableInit(&turn->done);
}

/* True if the turn is in use, so that its memory must not be reused. */
static inline bool
hilo_turn_is_used(const HiloTurn *turn)
{
	return turn->taken || turn->waiting > 0;
}

/*
 * Wait until the current turn, of another session, is over.  The caller holds
 * the lock, which is released on return.  Raises 55P03 if that takes too long.
 */
extern void hilo_turn_wait(HiloTurn *turn, LWLock *lock, const char *name);

/* End this session's turn.  The caller holds the lock. */
extern void hilo_turn_end(HiloTurn *turn);

#endif							/* HILO_TURN_H */

/*-------------------------------------------------------------------------
 *
 * turn.h
 *	  Turns in shared memory: one session does something, others wait until it has.
 *
 * A turn is stored beside what it is about, and guarded by the same lock.  The
 * session that has it ends it, however the work ends.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_TURN_H
#define HILO_TURN_H

#include "storage/condition_variable.h"
#include "storage/lwlock.h"

#include "row.h"

typedef struct HiloTurn
{
	bool		taken;			/* does a session have it? */
	int			waiting;		/* how many wait for its end */
	uint64		ended;			/* how many there were */
	ConditionVariable done;
} HiloTurn;

/* All zero is a turn that was never taken; before it is waited for: */
static inline void
hilo_turn_init(HiloTurn *turn)
{
	ConditionVariableInit(&turn->done);
}

/* Is it in use, so that its memory must stay what it is? */
static inline bool
hilo_turn_is_used(const HiloTurn *turn)
{
	return turn->taken || turn->waiting > 0;
}

/*
 * Wait until the present turn, of another session, is over.  The lock is held at
 * the call, and not any more at the return.  Raises 55P03 if that takes too long.
 */
extern void hilo_turn_wait(HiloTurn *turn, LWLock *lock, HiloName name);

/* End one's own turn, with the lock held. */
extern void hilo_turn_end(HiloTurn *turn);

#endif							/* HILO_TURN_H */

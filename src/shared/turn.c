/*-------------------------------------------------------------------------
 *
 * turn.c
 *	  Turns in shared memory: one session works, the others wait until it has
 *	  finished.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/ipc.h"

#include "base/compat.h"
#include "base/settings.h"
#include "shared/turn.h"

/* The others wait for this many times hilo.lease_timeout. */
#define PATIENCE		5

typedef struct Wait
{
	HiloTurn   *turn;
	LWLock	   *lock;
} Wait;

/* Error cleanup: stop waiting. */
static void
stop_waiting(int code, Datum arg)
{
	Wait	   *wait = (Wait *) DatumGetPointer(arg);

	/*
	 * Leave the list first: once nothing counts us, the memory may be reused
	 * for another collection.
	 */
	ConditionVariableCancelSleep();
	LWLockAcquire(wait->lock, LW_EXCLUSIVE);
	wait->turn->waiting--;
	LWLockRelease(wait->lock);
}

/* Sleep until the turn is over.  The caller has counted us in turn->waiting. */
static void
sleep_through(const Wait *wait, uint64 ended, const char *name)
{
	static uint32 wait_event = 0;
	HiloTurn   *turn = wait->turn;
	long		timeout = Min((int64) hilo_lease_timeout * PATIENCE, INT_MAX);
	bool		over = false;

	ConditionVariablePrepareToSleep(&turn->done);
	while (!over)
	{
		LWLockAcquire(wait->lock, LW_SHARED);
		over = !turn->taken || turn->ended != ended;
		LWLockRelease(wait->lock);
		if (!over &&
			ConditionVariableTimedSleep(&turn->done, timeout,
										hilo_wait_event("HiloLease", &wait_event)))
			ereport(ERROR,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 errmsg("another session has been asking for numbers of \"%s\" for too long",
							name),
					 errdetail("It may be waiting for a lock of this session.")));
	}
}

void
hilo_turn_wait(HiloTurn *turn, LWLock *lock, const char *name)
{
	Wait		wait = {turn, lock};
	uint64		ended = turn->ended;

	turn->waiting++;
	LWLockRelease(lock);
	PG_ENSURE_ERROR_CLEANUP(stop_waiting, PointerGetDatum(&wait));
	{
		sleep_through(&wait, ended, name);
	}
	PG_END_ENSURE_ERROR_CLEANUP(stop_waiting, PointerGetDatum(&wait));
	stop_waiting(0, PointerGetDatum(&wait));
}

void
hilo_turn_end(HiloTurn *turn)
{
	turn->taken = false;
	turn->ended++;
	ConditionVariableBroadcast(&turn->done);
}

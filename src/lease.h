/*-------------------------------------------------------------------------
 *
 * lease.h
 *	  Leases: rows of the table hilo_lease, of numbers got from a hub.
 *
 * There are at most two leases of a collection: the current one, which a counter
 * of its own counts, and the next one.  Rows change in place (see row_change.h);
 * what was claimed can be given back, returned and kept as what is claimed from
 * any counter, by the functions of counter.h.
 *
 * Nothing but a claim is flushed when a function returns: what a crash takes
 * back are numbers that nobody has seen, a gap.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_LEASE_H
#define HILO_LEASE_H

#include "counter.h"

/* What is known of the leases of a collection. */
typedef struct HiloLeaseState
{
	HiloRange	current;		/* of which the numbers up to max are claimed */
	HiloRange	next;
	int64		max;
	double		per_minute;		/* numbers claimed */
	int64		last_size;		/* of the lease got last; 0: none yet */
	TimestampTz leased_at;		/* and when */
	TimestampTz failed_at;		/* last attempt, if it failed, else DT_NOBEGIN */
	TimestampTz failing_since;
	int			error_code;
	char		error[HILO_LEASE_ERROR_LEN + 1];
} HiloLeaseState;

/*
 * Claim a range out of the leases.  Returns false if they have not so many
 * numbers, or none that fit.
 *
 * *ask is set if the next lease should be fetched now, and nobody has been told
 * so within hilo.lease_retry.
 */
extern bool hilo_lease_claim(HiloCounter *lease,
							 const HiloRangeRequest *request,
							 HiloClaimant claimant, HiloClaim *claim,
							 bool *ask);

/* Should the next lease be fetched? */
extern bool hilo_lease_is_low(const HiloLeaseState *state);

/*
 * Read what there is.  All is empty if there is no row, or the leases were got
 * before this server was promoted, or in another database.
 */
extern void hilo_lease_read(HiloCounter *lease, HiloLeaseState *state);

/*
 * Add a lease that was just got.  Where there are two already, the current one
 * is given up.
 */
extern void hilo_lease_add(HiloCounter *lease, HiloRange range);

/* Remember that the hub gave none, and why. */
extern void hilo_lease_note_failure(HiloCounter *lease, int code,
									const char *message);

/*
 * See that no number up to this one is drawn any more, other than out of a range
 * claimed before; with forget, not out of those either.
 */
extern void hilo_lease_raise(HiloCounter *lease, int64 number, bool forget);

/*
 * See that number, which somebody has chosen himself, is not drawn later, other
 * than out of a range claimed before.
 */
extern void hilo_lease_skip(HiloCounter *lease, int64 number);

/*
 * The timeline on which this database could become a hub: where its extension
 * was created, or hilo_hub_resume() was called last; HILO_NOT_RESUMED if counters of
 * a hub were restored into it since.
 */
extern int64 hilo_lease_hub_timeline(void);
extern void hilo_lease_set_hub_timeline(int64 timeline);

#endif							/* HILO_LEASE_H */

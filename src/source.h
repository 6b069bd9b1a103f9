/*-------------------------------------------------------------------------
 *
 * source.h
 *	  Where the numbers of a collection come from: counted here, or leased from a
 *	  hub.
 *
 * Each function does to the collection what the one of counter.h does to a
 * counter, wherever its numbers come from.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_SOURCE_H
#define HILO_SOURCE_H

#include "lease_fetch.h"

typedef struct HiloSource
{
	HiloLeased	rows;
	bool		leased;			/* when last seen; looked at again before
								 * anything is claimed */
	bool		undrawn;		/* has nobody claimed anything? */
} HiloSource;

extern void hilo_source_init(HiloSource *source, HiloName collection);

/* The same as for a counter; may have to ask the hub. */
extern void hilo_source_claim(HiloSource *source,
							  const HiloRangeRequest *request,
							  HiloClaimant claimant, HiloClaim *claim);

/* What the rows of a collection say. */
typedef struct HiloSourceState
{
	bool		exists;			/* if not, row is a dropped one, or 0 */
	HiloCounterRow row;
	bool		has_leases;
	HiloCounterRow lease;
	const HiloSource *source;
} HiloSourceState;

/* Read the rows, as hilo_counter_read() does. */
extern void hilo_source_read(HiloSource *source, bool for_draw,
							 HiloSourceState *state);

/*
 * May the rest of a claim still be used, as far as the rows read just now say?
 * Raises no error, and takes no lock.
 */
extern bool hilo_source_holds(const HiloSourceState *state,
							  const HiloClaim *claim);

extern bool hilo_source_give_back(HiloSource *source, const HiloClaim *claim,
								  int64 last, bool at_exit);
extern bool hilo_source_return(HiloSource *source, int64 last, int64 high,
							   int64 number);
extern int64 hilo_source_seed(HiloSource *source, int64 value, bool force);
extern bool hilo_source_raise(HiloSource *source, int64 number);
extern int64 hilo_source_adopt(HiloSource *source, int64 floor, int64 limit);
extern bool hilo_source_drop(HiloSource *source);

#endif							/* HILO_SOURCE_H */

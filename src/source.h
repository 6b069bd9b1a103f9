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

/*
 * The row of the counter, which tells where its numbers come from, as hilo_counter_read()
 * gives it.
 */
extern bool hilo_source_read(HiloSource *source, HiloCounterRow *row,
							 bool for_draw);

/* May the rest of a claim still be used, if the row read just now is this? */
extern bool hilo_source_holds(HiloSource *source, const HiloCounterRow *row,
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

/*-------------------------------------------------------------------------
 *
 * counter.h
 *	  The counters: rows of the table hilo.
 *
 * The only module that knows how a row changes.  A row is changed in place,
 * as a sequence changes its one tuple: at once for everybody, whatever becomes
 * of the transaction, without waiting for another one's end.  No lock is held
 * any more when a function returns.
 *
 * Unless said otherwise a function may be called in any transaction that may
 * write, raises errors as design and reference list them, and has its change
 * on disk (and, following synchronous_commit, on the synchronous standbys)
 * when it returns.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_COUNTER_H
#define HILO_COUNTER_H

#include "storage/itemptr.h"

#include "counter_row.h"
#include "range.h"

/* The name of a counter: len bytes, not terminated. */
typedef struct HiloName
{
	const char *data;
	int			len;
} HiloName;

/*
 * A counter, and where its row was last seen.  The caller keeps it as long as
 * he likes; what it remembers is checked before it is used.
 */
typedef struct HiloCounter
{
	HiloName	name;			/* the bytes are the caller's, and stay */
	Oid			table;			/* InvalidOid: row not seen yet */
	ItemPointerData tid;
	uint64		generation;		/* of the catalog, when the row was seen */
} HiloCounter;

/* A claim: what was got, and what to show to give it back or keep it. */
typedef struct HiloClaim
{
	HiloRange	range;
	Oid			table;
	int64		incarnation;
	int64		changes;
	int64		number;			/* of a client's claim, else 0 */
} HiloClaim;

/* Start with an unseen row. */
extern void hilo_counter_init(HiloCounter *counter, HiloName name);

/*
 * Claim a range; the row is created if there is none.  A client's claim gets a
 * random number, with which it can be given back by anybody who knows it; any
 * other can go back only through hilo_counter_give_back().
 */
extern void hilo_counter_claim(HiloCounter *counter,
							   const HiloRangeRequest *request,
							   bool for_client, HiloClaim *claim);

/* Highest number claimed; 0 when there is no such counter. */
extern int64 hilo_counter_max(HiloCounter *counter);

/* May the rest of a claim still be used: same row, no seed, no drop since? */
extern bool hilo_counter_holds(HiloCounter *counter, const HiloClaim *claim);

/*
 * Put the numbers above last, the last one used of the claim, back into the
 * counter, if this claim is still the newest.  Returns whether it was; after
 * an error nothing has happened.  Not flushed: losing this costs a gap.  At
 * exit it waits for no lock and raises no error that it can foresee.
 */
extern bool hilo_counter_give_back(HiloCounter *counter,
								   const HiloClaim *claim, int64 last,
								   bool at_exit);

/*
 * The same for the range of a client that ends in high: it must be the newest
 * claim and have that number, or, with number 0, an end that was never handed
 * out before.
 */
extern bool hilo_counter_return(HiloCounter *counter, int64 last, int64 high,
								int64 number);

/*
 * Raise max to value (or, with force, set it), creating the row if there is
 * none.  Every session forgets its ranges.  Returns the max now stored.
 */
extern int64 hilo_counter_seed(HiloCounter *counter, int64 value, bool force);

/*
 * Merge a row of another database or of a backup: max and what belongs to it
 * are raised, never lowered; a counter that does not exist here is created as
 * it was there.
 */
extern void hilo_counter_merge(HiloCounter *counter,
							   const HiloCounterRow *other);

/* Forget the counter.  Returns false when there was none. */
extern bool hilo_counter_drop(HiloCounter *counter);

#endif							/* HILO_COUNTER_H */

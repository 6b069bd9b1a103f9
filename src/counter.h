/*-------------------------------------------------------------------------
 *
 * counter.h
 *	  The counters: rows of the tables hilo and hilo_identity.
 *
 * They change in place (see row_change.h).  No lock is held any more when a
 * function returns.
 *
 * Unless said otherwise a function may be called in any transaction that may
 * write, raises errors as the reference lists them, and has its change
 * on disk (and, following synchronous_commit, on the synchronous standbys)
 * when it returns.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_COUNTER_H
#define HILO_COUNTER_H

#include "range.h"
#include "row_change.h"

/* A claim: what was got, and what to show to give it back or keep it. */
typedef struct HiloClaim
{
	HiloRange	range;
	HiloTable	which;			/* the table of the row it was cut from */
	Oid			table;
	int64		incarnation;
	int64		changes;
	int64		number;			/* of a client's claim, else 0 */
} HiloClaim;

/* Who claims. */
typedef enum HiloClaimant
{
	/* A backend: what it does not use goes back by hilo_counter_give_back(). */
	HILO_FOR_BACKEND,

	/*
	 * A client program: the claim gets a random number, with which it can be
	 * given back by anybody who knows it.
	 */
	HILO_FOR_CLIENT,

	/*
	 * A statement that shows a number of its own, which is on disk when it
	 * returns unless synchronous_commit = off.
	 */
	HILO_FOR_STATEMENT
} HiloClaimant;

/*
 * Claim a range.  A row that is not there, or was dropped, is created, unless
 * hilo.auto_create is off.  Returns false, having claimed nothing, if the numbers
 * are leased from a hub; so are those of a collection that nothing was ever
 * claimed of, where the setting hilo.hub names one.
 */
extern bool hilo_counter_claim(HiloCounter *counter,
							   const HiloRangeRequest *request,
							   HiloClaimant claimant, HiloClaim *claim);

/*
 * Claim number and all below it, for a statement, if nobody has claimed it
 * yet.  Returns false, having changed nothing, if somebody has, or the numbers
 * are leased from a hub.  Creates a row as hilo_counter_claim() does.
 */
extern bool hilo_counter_claim_number(HiloCounter *counter, int64 number);

/*
 * Copy the row, if there is one; false when there is no such counter, or it was
 * dropped.  With for_draw, raises the error that a claim would in a transaction that has
 * rewritten the table.
 */
extern bool hilo_counter_read(HiloCounter *counter, HiloCounterRow *row,
							  bool for_draw);

/* Highest number claimed; 0 when there is no such counter. */
extern int64 hilo_counter_max(HiloCounter *counter);

/*
 * May the rest of a claim still be used: same table, no seed, no drop since?
 * row is what hilo_counter_read() has just read.
 */
extern bool hilo_counter_holds(const HiloCounter *counter,
							   const HiloCounterRow *row,
							   const HiloClaim *claim);

/*
 * Put the numbers above last, the last one used of the claim, back into the
 * counter, if this claim is still the newest.  Returns whether it was; after
 * an error nothing has happened.  Not flushed: losing this costs a gap.  At
 * exit it does not wait for locks on the table and its indexes.
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
 * none.  Every session forgets its ranges.  Returns the max now stored.  With
 * force, a counter that has left its hub counts by itself from then on; one that
 * has not is refused.
 */
extern int64 hilo_counter_seed(HiloCounter *counter, int64 value, bool force);

/*
 * Make sure that number, which somebody has chosen himself, will not be drawn
 * later, other than out of a range claimed before.  Not flushed: a transaction
 * that stores the number does that.
 *
 * Returns false, having changed nothing, if that would use up more than half of
 * the numbers left.  *leased says whether the numbers are leased.
 */
extern bool hilo_counter_raise(HiloCounter *counter, int64 number,
							   bool *leased);

/*
 * Get a counter ready for a column that holds numbers up to floor, and can hold
 * them up to limit: like a seed, and the limit is lowered to that.  Raises an
 * error if no number would be left.  Returns the max now stored.
 */
extern int64 hilo_counter_adopt(HiloCounter *counter, int64 floor,
								int64 limit);

/* What can be set for a single counter. */
typedef struct HiloCounterOptions
{
	bool		reset;			/* forget first what was set before */
	int64		range_size;		/* each of these three: 0: leave it */
	int64		max_range_size;
	int64		max_value;
	const char *node_tag;		/* NULL: leave it */
} HiloCounterOptions;

/*
 * Set that, creating the row if there is none.  The ranges claimed stay good.
 */
extern void hilo_counter_configure(HiloCounter *counter,
								   const HiloCounterOptions *options);

/*
 * Note that something about the counter is in hilo_binding; to be called before
 * that can be seen there.  Creates the row if there is none.
 */
extern void hilo_counter_note_binding(HiloCounter *counter);

/*
 * Merge a row of another database or of a backup: max and what belongs to it
 * are raised, never lowered; a counter that does not exist here is created as
 * it was there.
 */
extern void hilo_counter_merge(HiloCounter *counter,
							   const HiloCounterRow *other);

/*
 * Claim a lease of up to size numbers above floor for another server; or the
 * next number of an identity, with size 1.
 *
 * Raises an error where leases might overlap with those that were given before:
 * the server has been promoted since, or the row comes from a backup.  default_timeline
 * is the timeline on which a counter that has given no lease may give one.
 */
extern HiloRange hilo_counter_lease(HiloCounter *counter, int64 size,
									int64 floor, int64 default_timeline);

/*
 * Let the counter give leases again that the above refuses, above floor,
 * creating the row if there is none.  Returns the max now stored.
 */
extern int64 hilo_counter_resume(HiloCounter *counter, int64 floor);

/*
 * Lease the numbers from now on, with the role's user mapping of the server
 * hub; size: see lease_size.  With an empty hub no more.  Creates the row if there
 * is none.  Returns max, which no number of a lease may lie at or below.
 */
extern int64 hilo_counter_set_hub(HiloCounter *counter, const char *hub,
								  const char *role, int64 size);

/* Undo that for one that was counted, before any lease was got: count again. */
extern void hilo_counter_unset_hub(HiloCounter *counter);

/*
 * Note that the numbers of range were got from the hub, so that they are known
 * to be used here.  With flush, as a statement's own numbers are.
 */
extern void hilo_counter_note_leased(HiloCounter *counter, HiloRange range,
									 bool flush);

/* Forget the counter.  Returns false when there was none. */
extern bool hilo_counter_drop(HiloCounter *counter);

/*
 * For lease.c, whose rows count, too: put a claim into the row, with what it
 * was got counted as of the last hour divided by pace; let nothing go back;
 * make every session forget its ranges.  The last one takes a random number,
 * made before the page was locked, and tells everybody.
 */
extern void hilo_note_claim(HiloCounterRow *row, const HiloRange *range,
							int64 number, int pace);
extern void hilo_end_claims(HiloCounterRow *row);
extern void hilo_finish_new_incarnation(HiloRowChange *change,
										int64 incarnation);

#endif							/* HILO_COUNTER_H */

/*-------------------------------------------------------------------------
 *
 * order.h
 *	  Ordered collections in shared memory: numbers that all sessions of the server
 *	  draw one after the other, and the horizon.
 *
 * It exists where the pool exists.  The numbers are those of one claim, or of
 * several consecutive ones.  A restart of the server loses them, which leaves a
 * gap.
 *
 * Each transaction that has drawn notes the lowest number that it has drawn from
 * each collection.  The note counts until the transaction ends, and after that
 * for snapshots taken before its end.
 *
 * Like the pool, it does not know which numbers are still valid: a session that
 * takes some has read the row first, and passes it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_ORDER_H
#define HILO_ORDER_H

#include "utils/snapshot.h"

#include "counting/counter.h"

/* What a session remembers about an ordered collection; all zero at first. */
typedef struct HiloOrder
{
	struct OrderedCollection *shared;	/* where it was found last */
	uint64		noted_in;		/* our transaction that has a note of it, */
	int64		noted_epoch;	/* and of which epoch */
	XLogRecPtr	waited_for;		/* claim that was waited for, */
	int			waited_how;		/* with this synchronous_commit */
	struct
	{
		int64		epoch;
		uint64		xmax;		/* of the snapshot, */
		int			running;	/* and how many ran below that */
		int64		horizon;
	}			answered;		/* the last horizon reported */
} HiloOrder;

extern void hilo_ordered_init(void);

/*
 * Draw the next count numbers, and note them for the current transaction.
 * Returns false if there are too few, or if they do not belong to the row: then
 * claim more in a turn.  Raises 54000 if the transaction has drawn from too many
 * collections.
 */
extern bool hilo_ordered_take(HiloOrder *order, const HiloRow *row,
							  int64 count, HiloClaim *claim);

/*
 * Numbers chosen by hand
 */

/*
 * True if the current transaction has drawn the number, or noted it between
 * those that it has drawn.
 */
extern bool hilo_ordered_has_noted(const HiloOrder *order, const HiloRow *row,
								   int64 number);

typedef enum HiloByHand
{
	HILO_BY_HAND_NOTED,			/* counts as drawn */
	HILO_BY_HAND_TOO_LOW,		/* at or below the horizon */
	HILO_BY_HAND_UNKNOWN		/* shared memory holds nothing for this row */
} HiloByHand;

/*
 * Note a number chosen by hand.  Unless it is beyond what may be claimed, all
 * numbers drawn later are above it.
 */
extern HiloByHand hilo_ordered_by_hand(HiloOrder *order, const HiloRow *row,
									   int64 number, bool beyond);

/* The highest number known to be claimed; -1: unknown. */
extern int64 hilo_ordered_claimed(const HiloOrder *order, const HiloRow *row);

/*
 * Turns: only the session that has the turn synchronizes shared memory with the
 * row, and claims.
 */

/*
 * Take the turn.  Returns false, after waiting, if another session had it: look
 * again.  Raises 53200 if there is no room for the collection.
 */
extern bool hilo_ordered_begin_turn(HiloOrder *order, const char *name);
extern void hilo_ordered_end_turn(HiloOrder *order);

/* Make the shared state belong to the row, which was read in this turn. */
extern void hilo_ordered_make(HiloOrder *order, const HiloRow *row);

/*
 * Compute what to claim so that count numbers can be drawn: more, if the last
 * claim did not last as long as ranges should.
 */
extern void hilo_ordered_size(const HiloOrder *order, int64 count,
							  int64 min_size, int64 max_size,
							  HiloRangeRequest *request);

/* True if count numbers that belong to the row can be drawn. */
extern bool hilo_ordered_has(const HiloOrder *order, const HiloRow *row,
							 int64 count);

/* Store what was claimed. */
extern void hilo_ordered_put(HiloOrder *order, const HiloClaim *claim);

/* Forget the numbers of a collection; its notes stay. */
extern void hilo_ordered_forget(const char *name);

/*
 * The horizon
 */

typedef enum HiloHorizonState
{
	HILO_HORIZON_KNOWN,
	HILO_HORIZON_UNKNOWN,		/* shared memory holds nothing for this row */
	HILO_HORIZON_UNSETTLED,		/* an earlier transaction is still running, */
	HILO_HORIZON_PREPARED,		/* or is prepared */
	HILO_HORIZON_TOO_OLD		/* the snapshot was taken before the last of
								 * these transactions ended */
} HiloHorizonState;

typedef struct HiloHorizon
{
	int64		number;
	XLogRecPtr	lsn;			/* end of the last commit that it covers */
} HiloHorizon;

/*
 * The horizon for a reader with that snapshot: each row with a number up to it,
 * inserted by the transaction that drew the number, is visible or never will
 * be.  Within a session it never decreases.
 */
extern HiloHorizonState hilo_ordered_horizon(HiloOrder *order,
											 const HiloRow *row,
											 Snapshot snapshot,
											 HiloHorizon *horizon);

/*
 * Prepare for a collection to become ordered; raises 53200 if there is no room
 * for it.  The horizon is unknown until hilo_ordered_unsettle() has been called,
 * and after that until all transactions that were running at that moment have
 * ended.
 */
extern void hilo_ordered_prepare(const char *name);
extern void hilo_ordered_unsettle(const char *name);

/* True if those transactions are known to have ended. */
extern bool hilo_ordered_is_settled(const HiloOrder *order);

/*
 * The process whose transaction holds the horizon back, and when that began; 0:
 * none.
 */
extern int	hilo_ordered_holder(const char *name, TimestampTz *since);

/*
 * Lists and clean-up
 */

/*
 * The numbers of this database that can be drawn, as a list of HiloPooled *,
 * palloc'd.
 */
extern List *hilo_ordered_list(void);

/* Forget the collections of a database that was dropped. */
extern void hilo_ordered_forget_database(Oid database);

#endif							/* HILO_ORDER_H */

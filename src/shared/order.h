/*-------------------------------------------------------------------------
 *
 * order.h
 *	  Ordered collections: numbers that all sessions of the server draw one after
 *	  the other, and the horizon.
 *
 * The numbers are those of one claim, or of several consecutive ones.  A restart of
 * the server loses them, which leaves a gap.
 *
 * Each transaction that draws leaves a record, with its id and the lowest of its
 * numbers.  Whether that transaction is running in a snapshot, the snapshot says.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_ORDER_H
#define HILO_ORDER_H

#include "counting/counter.h"

/* What a session remembers about an ordered collection; all zero at first. */
typedef struct HiloOrder
{
	struct HiloRing *ring;		/* where it was found last */
	uint64		incarnation;	/* of the ring in which our transaction has a
								 * record, */
	uint64		xid;			/* and that transaction */
	XLogRecPtr	claimed;		/* the last claim that this session made */
	XLogRecPtr	waited_for;		/* claim that was waited for, */
	int			waited_how;		/* with this synchronous_commit */
} HiloOrder;

/*
 * Draw the next count numbers for the current transaction, which gets an id.
 * Returns false if there are too few, or if they do not belong to the row: then
 * call hilo_order_refill(), and try again.
 */
extern bool hilo_order_take(HiloOrder *order, const char *name,
							const HiloRow *row, int64 count,
							HiloClaim *claim);

/*
 * Make it possible to draw count numbers.  With count 0, only attaches to the ring.
 * One session does so at a time; the others wait until it has finished.  *row
 * becomes the row as read; if it is not ordered any longer, nothing was done.
 * Raises 53200 if there is no room for the collection, and 55000 if sessions with
 * another version of the library have made the shared memory.
 */
extern void hilo_order_refill(HiloOrder *order, HiloRowRef *ref,
							  HiloRow *row, int64 count);

/*
 * Call this when standbys have been waited for: if this session made the claim, its numbers
 * can be used from now on, and how long they last counts from now on.
 */
extern void hilo_order_waited(HiloOrder *order, const HiloClaim *claim);

/*
 * The horizon
 */

/*
 * The horizon for a reader with that snapshot: each row with a number up to it,
 * inserted by the transaction that drew the number, is visible or never will
 * be, also on a standby that has replayed *lsn.  False: call hilo_order_refill().
 */
extern bool hilo_order_horizon(HiloOrder *order, const char *name,
							   const HiloRow *row, Snapshot snapshot,
							   int64 *horizon, XLogRecPtr *lsn);

/*
 * The oldest transaction, by its numbers, that holds the horizon back in the
 * snapshot, and when it began; 0: none.  If it may have numbers from before the records
 * began, it is the oldest one that is running, and *since is left alone.
 */
extern TransactionId hilo_order_holder(const char *name, Snapshot snapshot,
									   TimestampTz *since);

/*
 * Forget which transactions have drawn from a collection: its horizon is below
 * all numbers until the transactions that have an id now have ended.
 */
extern void hilo_order_begin(const char *name);

#endif							/* HILO_ORDER_H */

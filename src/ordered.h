/*-------------------------------------------------------------------------
 *
 * ordered.h
 *	  Ordered collections in shared memory: numbers that all sessions of the server
 *	  draw one after the other, and the horizon.
 *
 * It is there where the pool is.  Numbers are those of one claim, or of several
 * that follow each other; a restart of the server loses them, a gap.
 *
 * Each transaction that has drawn notes its lowest number of each collection; that
 * counts until its end, and after that for those whose snapshot was taken before.
 *
 * As the pool, it does not know which numbers are still good: who takes some has
 * read the row, and shows it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_ORDERED_H
#define HILO_ORDERED_H

#include "utils/snapshot.h"

#include "counter.h"

/* What a session remembers of an ordered collection; all zero at first. */
typedef struct HiloOrder
{
	struct OrderedCollection *shared;	/* where it was last */
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
	}			answered;		/* the horizon told last */
} HiloOrder;

extern void hilo_ordered_init(void);

/*
 * Draw so many numbers, the next ones, and note them for the present transaction.
 * False if there are not as many, or none that belong to that row: then they have
 * to be claimed, in a turn.  Raises 54000 if the transaction has drawn from too many
 * collections.
 */
extern bool hilo_ordered_take(HiloOrder *order, const HiloRow *row,
							  int64 count, HiloClaim *claim);

/*
 * Numbers chosen by hand
 */

/* Has the present transaction drawn it, or noted it with what it has drawn? */
extern bool hilo_ordered_has_noted(const HiloOrder *order, const HiloRow *row,
								   int64 number);

typedef enum HiloByHand
{
	HILO_BY_HAND_NOTED,			/* counts as drawn */
	HILO_BY_HAND_TOO_LOW,		/* at or below the horizon */
	HILO_BY_HAND_UNKNOWN		/* nothing is there that belongs to the row */
} HiloByHand;

/*
 * Note a number chosen by hand; unless it is beyond what may be claimed, all that is
 * drawn later is above it.
 */
extern HiloByHand hilo_ordered_by_hand(HiloOrder *order, const HiloRow *row,
									   int64 number, bool beyond);

/* The highest number that is known to be claimed; -1 if that is not known. */
extern int64 hilo_ordered_claimed(const HiloOrder *order, const HiloRow *row);

/*
 * Turns: only who has it reads the row to say what is there, and claims
 */

/*
 * Get the turn; false if another session had it, and has ended it: look again.
 * Raises 53200 if there is no room for the collection.
 */
extern bool hilo_ordered_begin_turn(HiloOrder *order, HiloName name);
extern void hilo_ordered_end_turn(HiloOrder *order);

/* See that what is there belongs to the row, which was read in this turn. */
extern void hilo_ordered_make(HiloOrder *order, const HiloRow *row);

/*
 * What to claim so that count numbers can be drawn: more, if the last claim did not
 * last as long as ranges should.
 */
extern void hilo_ordered_size(const HiloOrder *order, int64 count,
							  int64 min_size, int64 max_size,
							  HiloRangeRequest *request);

/* Are there so many numbers that belong to the row? */
extern bool hilo_ordered_has(const HiloOrder *order, const HiloRow *row,
							 int64 count);

/* Put what was claimed there. */
extern void hilo_ordered_put(HiloOrder *order, const HiloClaim *claim);

/* Forget the numbers of a collection; what has been noted stays. */
extern void hilo_ordered_forget(HiloName name);

/*
 * The horizon
 */

typedef enum HiloHorizonState
{
	HILO_HORIZON_KNOWN,
	HILO_HORIZON_UNKNOWN,		/* nothing is there that belongs to the row */
	HILO_HORIZON_UNSETTLED,		/* a transaction of before still runs, */
	HILO_HORIZON_PREPARED,		/* or is prepared */
	HILO_HORIZON_TOO_OLD		/* the snapshot was taken before the last of
								 * them ended */
} HiloHorizonState;

typedef struct HiloHorizon
{
	int64		number;
	XLogRecPtr	lsn;			/* the end of what was committed up to it */
} HiloHorizon;

/*
 * The horizon for who sees what the snapshot shows: all rows with numbers up to it,
 * that a transaction drew and inserted, are visible or will never be.  It never gets
 * lower within a session.
 */
extern HiloHorizonState hilo_ordered_horizon(HiloOrder *order,
											 const HiloRow *row,
											 Snapshot snapshot,
											 HiloHorizon *horizon);

/*
 * A collection is about to become ordered: raise 53200 if there is no room for
 * it.  Until hilo_ordered_unsettle() the horizon is not known, and then not before
 * all transactions that run at that moment have ended.
 */
extern void hilo_ordered_prepare(HiloName name);
extern void hilo_ordered_unsettle(HiloName name);

/* Is it known that they have ended? */
extern bool hilo_ordered_is_settled(const HiloOrder *order);

/* The transaction that holds the horizon back, and when it began; 0: none. */
extern int	hilo_ordered_holder(HiloName name, TimestampTz *since);

/*
 * Lists and clean-up
 */

/* The numbers there are, of this database, as a list of HiloPooled *, palloc'd. */
extern List *hilo_ordered_list(void);

/* A database is gone. */
extern void hilo_ordered_forget_database(Oid database);

#endif							/* HILO_ORDERED_H */

/*-------------------------------------------------------------------------
 *
 * pool.h
 *	  Shared memory: rests of ranges that no session holds, where rows were found,
 *	  and how far the pages of sequences have been logged ahead.
 *
 * The memory is there until the server stops, or starts anew after a crash: then
 * numbers in the pool become gaps, and nothing is known of sequences.  All of
 * these functions do without it, if it cannot be had.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_POOL_H
#define HILO_POOL_H

#include "counter.h"

/*
 * Rests of ranges
 *
 * For each of a limited number of collections the pool has a few pieces: numbers that
 * are on disk as claimed.  A piece is either in the pool or held by one session.  The
 * pool does not know which pieces are still valid: a session that takes one has read the
 * row, and passes it.
 */

/*
 * Put numbers into the pool.  If there is no room for another piece, the smallest one is
 * lost; if there is none for another collection, one is evicted.  Can be called at exit:
 * it reads no table, and writes no WAL.
 */
extern void hilo_pool_put(const char *name, const HiloClaim *piece);

/* True if the pool has pieces of the collection, which may not be valid. */
extern bool hilo_pool_has(const char *name);

/*
 * Take wanted numbers from the lowest piece that has them.  Pieces that are not valid by
 * the row are discarded when they are found.  *claim is what was taken, with the LSN that
 * the caller has to wait for.
 */
extern bool hilo_pool_take(const char *name, const HiloRow *row,
						   const HiloWanted *wanted, HiloClaim *claim);

/* Lose what the pool has of a collection. */
extern void hilo_pool_forget(const char *name);

/*
 * Have room for the numbers of a collection until they are forgotten; only another database that
 * finds no other room evicts them.  Returns false if there is none.
 */
extern bool hilo_pool_keep(const char *name);

/* Why numbers of a kept collection could not be had from another server. */
typedef struct HiloPoolNote
{
	TimestampTz at;				/* 0: they could */
	char		failure[120];
} HiloPoolNote;

/* Note that; NULL: they were had. */
extern void hilo_pool_note(const char *name, const char *failure);

/* What was noted last. */
extern HiloPoolNote hilo_pool_last_note(const char *name);

/* How many numbers the pool has of a collection, in pieces that are valid by the row. */
extern int64 hilo_pool_count(const char *name, const HiloRow *row);

/*
 * Where rows were found
 *
 * A session that has not opened the table or its index yet then need not, which takes
 * longer than all the rest of its first draw.
 */

/* Tell other sessions where the row of a collection was found. */
extern void hilo_pool_note_row(const HiloRowRef *ref);

/* Look there first, if another session has told where. */
extern void hilo_pool_recall_row(HiloRowRef *ref);

/*
 * Lots of sequences
 *
 * nextval logs its page as it will be after some more numbers, and draws these
 * without a record.  It cannot tell when something else, such as ALTER SEQUENCE, has
 * logged the page as it is: then numbers are drawn that no record covers.  So sessions
 * note here which last records of a page log numbers ahead, and how many.  There is room
 * for few sequences; of all others, nothing is known, which costs a record more.
 *
 * What is noted stays true: as long as no later record changes the page, only numbers
 * that were logged ahead are drawn from it.
 */

/* The numbers that one record has logged ahead. */
typedef struct HiloLot
{
	XLogRecPtr	lsn;			/* where the record ends; 0: nothing is known */
	int64		end;			/* the last of the numbers, or one before it */
	int64		size;			/* how many numbers the last lot had that hilo
								 * has logged; 0: there was none */
	TimestampTz logged_at;		/* when that was */
} HiloLot;

/*
 * Make sure that this session has the shared memory, if it can be had.  Call this without
 * holding a LWLock.  The functions above do so themselves.
 */
extern void hilo_pool_attach(void);

/* What is known of a sequence's last lot; all zero: nothing. */
extern HiloLot hilo_lot(Oid sequence);

/* Note that a record has logged numbers ahead. */
extern void hilo_lot_note(Oid sequence, const HiloLot *lot);

#endif							/* HILO_POOL_H */

/*-------------------------------------------------------------------------
 *
 * highest.h
 *	  The highest number in a column.
 *
 * In a text column an id counts only if a draw of the collection could equal it; if
 * the column ignores case, ids of all collections count.  The last bigint never
 * counts: such a row marks the end of something, and nothing is above it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_HIGHEST_H
#define HILO_HIGHEST_H

#include "tables/column.h"

/* What is sought: the highest number that counts, above one limit and up to another. */
typedef struct HiloSought
{
	HiloCollection *counter;	/* NULL: a sequence, of which all numbers
								 * count */
	int64		above;
	int64		limit;
	bool		elsewhere;		/* another server gives the numbers */
	List	   *read;			/* columns of single tables that were read */
} HiloSought;

/* What is sought for a counter: numbers above its max, up to its limit. */
extern HiloSought hilo_sought(HiloCollection *counter);

/*
 * The number in a column of a table, its partitions and its children, with the
 * rows that are committed now or were made by this transaction, whatever the
 * isolation level or row security; the lower limit if there is none, or the
 * column no longer exists.  Views, foreign tables and shards are read by queries
 * of their owners.  Raises 55000 if rows are in shards and the isolation level is
 * not READ COMMITTED.
 */
extern int64 hilo_column_highest(const HiloColumn *column, HiloSought *sought);

/*
 * Raise sought->above to the highest number in several columns, and have all sessions look
 * at their tables again.
 */
extern void hilo_columns_highest(List *columns, HiloSought *sought);

/*
 * True if a column of ids has some that draws make, but of no draw of this collection.
 * Reads the column until one is found.
 */
extern bool hilo_column_has_others(const HiloColumn *column,
								   HiloCollection *collection);

/*
 * Warn that a counter is not moved to a number, and why.  what is its kind, and function the
 * one that would move it.
 */
extern void hilo_warn_too_far(const char *what, const char *name, int64 number,
							  const char *why, const char *function);

/* Why hilo.attach() does not. */
#define HILO_MORE_THAN_HALF	"That would use up more than half of the remaining numbers."

#endif							/* HILO_HIGHEST_H */

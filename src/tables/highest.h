/*-------------------------------------------------------------------------
 *
 * highest.h
 *	  The highest number in a column.
 *
 * In a text column only ids count that a draw of the collection could equal; if
 * the column ignores case, ids of all collections do.  The last bigint never
 * counts: such a row marks the end of something, and nothing is above it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_HIGHEST_H
#define HILO_HIGHEST_H

#include "tables/column.h"

/* The highest number that counts and is above one limit, but not the other. */
typedef struct HiloSought
{
	HiloCollection *counter;
	int64		above;
	int64		limit;
	int64		max;			/* of the counter */
} HiloSought;

/* What is sought for a counter: numbers above its max, up to its limit. */
extern HiloSought hilo_sought(HiloCollection *counter);

/*
 * The number in a column of a table, its partitions and its children, with the
 * rows that are committed now or were made by this transaction, whatever the
 * isolation level or row security; the lower limit if there is none, or the
 * column no longer exists.  Views, foreign tables and shards are read by queries
 * of their owners.  Raises 55000 if rows are in shards and the isolation level is
 * not READ COMMITTED.  Foreign tables are left out unless asked for.
 */
extern int64 hilo_column_highest(const HiloColumn *column,
								 const HiloSought *sought, bool foreign_too);

/*
 * The same in a column of one table alone; no query is run.  Reads the end of an
 * index that leads with the number, or else the whole table once.  Up to the
 * counter's max, it answers that itself rather than pass many dead rows.  With
 * uncommitted, rows inserted by transactions that are still open also count.
 */
extern int64 hilo_highest_here(Relation rel, AttrNumber attnum,
							   const HiloIdReader *reader,
							   const HiloSought *sought, bool uncommitted);

#endif							/* HILO_HIGHEST_H */

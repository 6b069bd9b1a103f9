/*-------------------------------------------------------------------------
 *
 * highest.h
 *	  The highest number in a column, and advancing counters to it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_HIGHEST_H
#define HILO_HIGHEST_H

#include "session/collection.h"
#include "tables/column.h"

/*
 * The highest number, not above limit, in a column of a table with its
 * partitions and children; 0: none.  In a text column only ids of the
 * collection count; if the column ignores case, all do.
 *
 * Committed rows count, and those that open and prepared transactions have
 * inserted (except in foreign tables and in shards of Citus), whatever the
 * isolation level or row security.  Shards can be searched only in READ
 * COMMITTED. A number inserted or committed during the search may be missed.
 */
extern int64 hilo_column_highest(const HiloColumn *column, const char *collection,
								 HiloCountedIds counted, int64 limit);

/*
 * The limit of a counter, which need not exist: numbers above it are not drawn,
 * and do not count.
 */
extern int64 hilo_counter_limit(HiloCollection *counter);

/* Which ids count for a collection or identity. */
extern HiloCountedIds hilo_counted_ids(HiloCollection *collection);

/*
 * Advance a collection to at least the highest number in its attached columns
 * whose triggers were not seen, note that they were, and return that number.
 * Tables locked by other sessions are left for later.  The limit of the
 * collection is lowered to what the columns can hold.
 */
extern int64 hilo_sync_unseen(HiloCollection *collection);

/*
 * Advance a collection to at least the highest number in the columns that it is
 * bound or attached to, up to its limit: numbers above that will not be drawn.
 * All ranges become invalid, because rows that came from elsewhere may have
 * numbers in them.  Columns bound by hilo.bind() may hold identities, too, so
 * the identity of the name is advanced as well.
 *
 * Returns false, having changed nothing, if the collection is not bound to a
 * column; else *max is the max of the collection.
 */
extern bool hilo_sync_collection(const char *collection, int64 *max);

/*
 * The names of all collections that may be bound or attached to a column, in
 * order, as a list of char *, palloc'd.  Some may turn out not to be.
 */
extern List *hilo_sync_candidates(void);

#endif							/* HILO_HIGHEST_H */

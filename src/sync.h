/*-------------------------------------------------------------------------
 *
 * sync.h
 *	  The highest number in a column, and counters at least as high.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_SYNC_H
#define HILO_SYNC_H

#include "collection.h"
#include "column.h"

/*
 * Highest number, not above limit, that a table has in a column, with its
 * partitions and children; 0 if there is none.  Of text the ids of the
 * collection count; where case does not matter, all.
 *
 * What is committed counts, and what open and prepared transactions have
 * inserted (except in foreign tables, and in shards of Citus), whatever the
 * isolation level or row security; shards are looked into in READ COMMITTED only.  A number that is inserted, or committed, while this is looking may
 * be missed.
 */
extern int64 hilo_column_highest(const HiloColumn *column, HiloName collection,
								 HiloCountedIds counted, int64 limit);

/*
 * Limit of a counter, which need not exist: what lies above is not drawn, and does
 * not count.
 */
extern int64 hilo_counter_limit(HiloCollection *counter);

/* Which ids belong to a collection, or identity? */
extern HiloCountedIds hilo_counted_ids(HiloCollection *collection);

/*
 * Advance a collection to at least the highest number in the columns attached to
 * it whose triggers were not seen, note that they are, and return that number.
 * Tables that others have locked are left for later.  The limit of the collection
 * is lowered to what the columns hold.
 */
extern int64 hilo_sync_unseen(HiloCollection *collection);

/*
 * Advance a collection to at least the highest number in the columns that it is
 * bound or attached to, as far as its limit goes: what lies above that will not be drawn.
 * All ranges are void then, as they may be in use in rows that came from
 * elsewhere.  What was bound by hilo_bind() may hold identities, too, so that the
 * identity of the name is advanced as well.
 *
 * Returns false, having changed nothing, if it is bound to no column; else *max
 * is that of the collection.
 */
extern bool hilo_sync_collection(HiloName collection, int64 *max);

#endif							/* HILO_SYNC_H */

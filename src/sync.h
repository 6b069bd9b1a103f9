/*-------------------------------------------------------------------------
 *
 * sync.h
 *	  The highest number in a column, and counters at least as high.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_SYNC_H
#define HILO_SYNC_H

#include "column.h"
#include "row.h"

/*
 * Highest number, not above limit, that a table has in a column, with its
 * partitions and children; 0 if there is none.  Of text the ids of the
 * collection count; where case does not matter, all.
 *
 * What is committed counts, and what open and prepared transactions have
 * inserted (except in foreign tables), whatever the isolation level or row
 * security.  A number that is inserted, or committed, while this is looking may
 * be missed.
 */
extern int64 hilo_column_highest(const HiloColumn *column, HiloName collection,
								 int64 limit);

/*
 * Advance a collection to at least the highest number in the columns that it is
 * bound to, as far as its limit goes: what lies above that will not be drawn.
 * All ranges are void then, as they may be in use in rows that came from
 * elsewhere.  What was bound by hilo_bind() may hold identities, too, so that the
 * identity of the name is advanced as well.
 *
 * Returns false, having changed nothing, if it is bound to no column; else *max
 * is that of the collection.
 */
extern bool hilo_sync_collection(HiloName collection, int64 *max);

#endif							/* HILO_SYNC_H */

/*-------------------------------------------------------------------------
 *
 * sync.h
 *	  Advances counters to the highest numbers in columns.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_SYNC_H
#define HILO_SYNC_H

#include "session/collection.h"

/*
 * Advance a collection to at least the highest number in the columns that it is
 * bound or attached to, up to its limit; foreign tables are left out.  All
 * ranges become invalid, because rows that came from elsewhere may have numbers
 * in them.  Columns bound by hilo.bind() may hold identities, too, so the
 * identity of the name is advanced as well.  Waits for a lock on a table for 5
 * seconds unless lock_timeout is set: 55P03.
 *
 * Returns false, having changed nothing, if the collection is not bound to a
 * column; else *max is the max of the collection.
 */
extern bool hilo_sync_collection(const char *name, int64 *max);

#endif							/* HILO_SYNC_H */

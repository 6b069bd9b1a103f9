/*-------------------------------------------------------------------------
 *
 * sync.h
 *	  Brings counters up to what is in the tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_SYNC_H
#define HILO_SYNC_H

#include "source.h"

/*
 * Raise a collection to the highest number in the columns that it is bound to,
 * as far as its limit goes: what lies above that will not be drawn.  Every
 * session forgets its ranges, as they may be in use in rows that came from
 * elsewhere.  What was bound by hilo_bind() may hold identities, too, so that the
 * identity of the name is raised as well.
 *
 * Returns false, having changed nothing, if it is bound to no column; else *max
 * is that of the collection.
 */
extern bool hilo_sync_collection(HiloName collection, int64 *max);

#endif							/* HILO_SYNC_H */

/*-------------------------------------------------------------------------
 *
 * column_max.h
 *	  The highest number in a column.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_COLUMN_MAX_H
#define HILO_COLUMN_MAX_H

#include "column_ref.h"
#include "counter.h"

/*
 * Highest number, not above limit, that a table has in a column, with its
 * partitions and children; 0 if there is none.  Of text the ids of the
 * collection count; where case does not matter, all.
 *
 * What is committed counts, and what open and prepared transactions have
 * inserted (except in foreign tables), whatever the isolation level or row
 * security.  A number that somebody inserts, or commits, while this is looking
 * may be missed.
 */
extern int64 hilo_column_max(const HiloColumn *column, HiloName collection,
							 int64 limit);

#endif							/* HILO_COLUMN_MAX_H */

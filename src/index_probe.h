/*-------------------------------------------------------------------------
 *
 * index_probe.h
 *	  Looks rows up in an index as they are at present.
 *
 * With a snapshot that sees the present, SnapshotSelf or a dirty one: whatever
 * the isolation level, and without a trace for serializable transactions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_INDEX_PROBE_H
#define HILO_INDEX_PROBE_H

#include "access/attnum.h"
#include "access/sdir.h"
#include "access/skey.h"
#include "executor/tuptable.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

/* Is it the index that is looked for? */
typedef bool (*HiloIndexTest) (Relation index, void *arg);

/*
 * The first index of heap for which fits() returns true; NULL: there is none.
 * It is locked with AccessShareLock, and to be closed with index_close().  heap
 * must be locked.
 */
extern Relation hilo_index_find(Relation heap, HiloIndexTest fits, void *arg);

/*
 * Is it a btree that is ready to be read, has all rows of its table, and sorts
 * them by column attnum first?
 */
extern bool hilo_index_leads(Relation index, AttrNumber attnum);

/*
 * Is there a row with this key?  slot is one of heap's; it is left empty.  The
 * caller has locked both relations.
 */
extern bool hilo_index_has(Relation heap, Relation index, ScanKey key,
						   Snapshot snapshot, TupleTableSlot *slot);

/*
 * Put the first row with this key, coming from the start of the index or from
 * its end, into slot, which is one of heap's.  Returns whether there is any.
 */
extern bool hilo_index_first(Relation heap, Relation index, ScanKey key,
							 ScanDirection direction, Snapshot snapshot,
							 TupleTableSlot *slot);

/* Copies of all rows with this key, as a list of HeapTuple, palloc'd. */
extern List *hilo_index_rows(Relation heap, Relation index, ScanKey key,
							 Snapshot snapshot);

#endif							/* HILO_INDEX_PROBE_H */

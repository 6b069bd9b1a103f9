/*-------------------------------------------------------------------------
 *
 * index_probe.h
 *	  Looks up rows in an index as they are now.
 *
 * It uses a snapshot that sees the rows as of now, SnapshotSelf or a dirty one,
 * whatever the isolation level, and leaves no trace for serializable
 * transactions.
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

/* Returns true for the index wanted. */
typedef bool (*HiloIndexTest) (Relation index, void *arg);

/*
 * The first index of heap for which fits() returns true, or NULL. It is locked
 * with AccessShareLock; close it with index_close().  heap must be locked.
 */
extern Relation hilo_index_find(Relation heap, HiloIndexTest fits, void *arg);

/*
 * True for a btree index that is ready to be read, has all rows of its table,
 * and sorts them by column attnum first.
 */
extern bool hilo_index_leads(Relation index, AttrNumber attnum);

/*
 * True if the index has a row with this key. slot is one of heap's; it is left
 * empty.  The caller has locked both relations.
 */
extern bool hilo_index_has(Relation heap, Relation index, ScanKey key,
						   Snapshot snapshot, TupleTableSlot *slot);

/*
 * Put the first row with this key, from the start or the end of the index, into
 * slot, which is one of heap's.  Returns whether it found one.
 */
extern bool hilo_index_first(Relation heap, Relation index, ScanKey key,
							 ScanDirection direction, Snapshot snapshot,
							 TupleTableSlot *slot);

/* Copies of all rows with this key, as a list of HeapTuple, palloc'd. */
extern List *hilo_index_rows(Relation heap, Relation index, ScanKey key,
							 Snapshot snapshot);

#endif							/* HILO_INDEX_PROBE_H */

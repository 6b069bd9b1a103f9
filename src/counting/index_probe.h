/*-------------------------------------------------------------------------
 *
 * index_probe.h
 *	  Looks up rows in an index, and whether rows are there now.
 *
 * Rows are judged as of now, whatever the isolation level, and serializable
 * transactions leave no trace.
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
 * True if the row in slot, read by SnapshotAny, is there: for now, which is
 * SnapshotSelf or a dirty snapshot, or for before, a snapshot taken before the
 * row was read.  Now alone would not do: a row that is updated meanwhile can be
 * dead when its old version is met, while its new one was not there yet when the
 * scan passed its place.  Unregister such a snapshot; a parallel operation can
 * take none, and gets InvalidSnapshot.
 */
extern Snapshot hilo_snapshot_before(void);
extern bool hilo_row_is_there(Relation heap, TupleTableSlot *slot,
							  Snapshot before, Snapshot now);

/* Is given a row that is there; returns false to end the scan. */
typedef bool (*HiloRowVisitor) (TupleTableSlot *slot, void *arg);

/*
 * Visit the rows with these keys in an index of heap that are there now, in the
 * order of the index or backwards.  The caller has locked both relations.
 * Returns false if it gave up after max_dead rows that are not there.
 */
extern bool hilo_index_visit(Relation heap, Relation index,
							 ScanKey keys, int nkeys, ScanDirection direction,
							 Snapshot now, int max_dead,
							 HiloRowVisitor visit, void *arg);

/* Copies of all rows with this key, as a list of HeapTuple, palloc'd. */
extern List *hilo_index_rows(Relation heap, Relation index, ScanKey key,
							 Snapshot now);

#endif							/* HILO_INDEX_PROBE_H */

/*-------------------------------------------------------------------------
 *
 * index_probe.c
 *	  Looks up rows in an index, and whether rows are there now.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/tableam.h"
#include "catalog/pg_am.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"

#include "base/compat.h"
#include "counting/index_probe.h"

Relation
hilo_index_find(Relation heap, HiloIndexTest fits, void *arg)
{
	List	   *indexes = RelationGetIndexList(heap);
	Relation	found = NULL;
	ListCell   *lc;

	foreach(lc, indexes)
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		if (fits(index, arg))
		{
			found = index;
			break;
		}
		index_close(index, AccessShareLock);
	}
	list_free(indexes);
	return found;
}

bool
hilo_index_leads(Relation index, AttrNumber attnum)
{
	Form_pg_index form = index->rd_index;

	return index->rd_rel->relam == BTREE_AM_OID &&
		form->indisvalid && form->indisready &&
		form->indkey.values[0] == attnum &&
		RelationGetIndexPredicate(index) == NIL;
}

Snapshot
hilo_snapshot_before(void)
{
	return RegisterSnapshot(IsInParallelMode() ? InvalidSnapshot :
							GetLatestSnapshot());
}

bool
hilo_row_is_there(Relation heap, TupleTableSlot *slot, Snapshot before,
				  Snapshot now)
{
	return (before != InvalidSnapshot &&
			table_tuple_satisfies_snapshot(heap, slot, before)) ||
		table_tuple_satisfies_snapshot(heap, slot, now);
}

bool
hilo_index_visit(Relation heap, Relation index, ScanKey keys, int nkeys,
				 ScanDirection direction, Snapshot now, int max_dead,
				 HiloRowVisitor visit, void *arg)
{
	Snapshot	before = hilo_snapshot_before();
	TupleTableSlot *slot = table_slot_create(heap, NULL);
	IndexScanDesc scan = hilo_index_beginscan(heap, index, SnapshotAny, nkeys);
	int			dead = 0;
	bool		go_on = true;

	index_rescan(scan, keys, nkeys, NULL, 0);
	while (go_on && dead < max_dead && index_getnext_tid(scan, direction) != NULL)
	{
		bool		is_there = false;

		CHECK_FOR_INTERRUPTS();

		/* An entry can lead to several versions of a row, or to none. */
		do
		{
			if (!index_fetch_heap(scan, slot) ||
				!hilo_row_is_there(heap, slot, before, now))
				continue;
			is_there = true;
			go_on = visit(slot, arg);
		} while (go_on && scan->xs_heap_continue);
		if (!is_there)
			dead++;
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	UnregisterSnapshot(before);
	return dead < max_dead;
}

static bool
add_copy(TupleTableSlot *slot, void *rows)
{
	List	  **list = rows;

	*list = lappend(*list, ExecCopySlotHeapTuple(slot));
	return true;
}

List *
hilo_index_rows(Relation heap, Relation index, ScanKey key, Snapshot now)
{
	List	   *rows = NIL;

	(void) hilo_index_visit(heap, index, key, 1, ForwardScanDirection, now,
							INT_MAX, add_copy, &rows);
	return rows;
}

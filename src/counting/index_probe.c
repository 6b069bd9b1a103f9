/*-------------------------------------------------------------------------
 *
 * index_probe.c
 *	  Looks up rows in an index as they are now.
 *
 * Seeing rows as of now has a price: a scan reads a page of the index first and
 * the rows after that.  If a row is updated in between, the scan finds the old
 * version dead, and does not know the new one.  So dead rows are believed only
 * if a second scan finds no other dead rows: a version that was alive when that
 * scan read the page would be among them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/tableam.h"
#include "catalog/pg_am.h"
#include "miscadmin.h"

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

/* Dead rows that an index scan has found. */
typedef struct DeadRows
{
	ItemPointerData *tids;
	int			count;
	int			room;
} DeadRows;

static void
note_dead(DeadRows *dead, ItemPointer tid)
{
	if (dead->count == dead->room)
	{
		dead->room = Max(8, dead->room * 2);
		dead->tids = dead->tids == NULL ?
			palloc(dead->room * sizeof(ItemPointerData)) :
			repalloc(dead->tids, dead->room * sizeof(ItemPointerData));
	}
	dead->tids[dead->count++] = *tid;
}

/*
 * Scan once, noting dead rows.  If rows is not NULL, appends copies of the live
 * ones to it; otherwise stops at the first live row, and leaves it in slot.
 * Returns whether it found any.
 */
static bool
scan_once(Relation heap, Relation index, ScanKey key, ScanDirection direction,
		  Snapshot snapshot, TupleTableSlot *slot, DeadRows *dead, List **rows)
{
	IndexScanDesc scan = hilo_index_beginscan(heap, index, snapshot, 1);
	bool		found = false;
	ItemPointer tid;

	dead->count = 0;
	index_rescan(scan, key, 1, NULL, 0);
	while ((!found || rows != NULL) &&
		   (tid = index_getnext_tid(scan, direction)) != NULL)
	{
		ItemPointerData met = *tid;

		if (!index_fetch_heap(scan, slot))
			note_dead(dead, &met);
		else
		{
			found = true;
			if (rows != NULL)
				*rows = lappend(*rows, ExecCopySlotHeapTuple(slot));
		}
	}
	index_endscan(scan);
	return found;
}

static bool
same_rows(const DeadRows *a, const DeadRows *b)
{
	return a->count == b->count &&
		memcmp(a->tids, b->tids, a->count * sizeof(ItemPointerData)) == 0;
}

/* Scan until the answer is certain; with any, one row is enough. */
static bool
probe(Relation heap, Relation index, ScanKey key, ScanDirection direction,
	  Snapshot snapshot, TupleTableSlot *slot, bool any, List **rows)
{
	DeadRows	dead = {0};
	DeadRows	before = {0};

	for (;;)
	{
		DeadRows	swap;
		bool		found;

		if (rows != NULL)
			*rows = NIL;
		found = scan_once(heap, index, key, direction, snapshot, slot, &dead,
						  rows);
		if ((found && any) || dead.count == 0 ||
			same_rows(&dead, &before))
			return found;

		CHECK_FOR_INTERRUPTS();
		swap = before;
		before = dead;
		dead = swap;
	}
}

bool
hilo_index_has(Relation heap, Relation index, ScanKey key, Snapshot snapshot,
			   TupleTableSlot *slot)
{
	bool		found = probe(heap, index, key, ForwardScanDirection, snapshot,
							  slot, true, NULL);

	ExecClearTuple(slot);
	return found;
}

bool
hilo_index_first(Relation heap, Relation index, ScanKey key,
				 ScanDirection direction, Snapshot snapshot,
				 TupleTableSlot *slot)
{
	return probe(heap, index, key, direction, snapshot, slot, false, NULL);
}

List *
hilo_index_rows(Relation heap, Relation index, ScanKey key, Snapshot snapshot)
{
	TupleTableSlot *slot = table_slot_create(heap, NULL);
	List	   *rows;

	(void) probe(heap, index, key, ForwardScanDirection, snapshot, slot, false,
				 &rows);
	ExecDropSingleTupleTableSlot(slot);
	return rows;
}

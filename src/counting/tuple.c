/*-------------------------------------------------------------------------
 *
 * tuple.c
 *	  Tuples that the current transaction inserts or deletes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "executor/tuptable.h"

#include "base/compat.h"
#include "counting/tuple.h"

void
hilo_tuple_insert(Relation rel, HeapTuple tuple, CommandId cid)
{
	EState	   *estate = CreateExecutorState();
	ResultRelInfo *result_rel = makeNode(ResultRelInfo);
	TupleTableSlot *slot;

	InitResultRelInfo(result_rel, rel, 0, NULL, 0);
	ExecOpenIndices(result_rel, false);

	heap_insert(rel, tuple, cid, HEAP_INSERT_NO_LOGICAL, NULL);

	slot = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsHeapTuple);
	ExecStoreHeapTuple(tuple, slot, false);
	hilo_insert_index_entries(result_rel, slot, estate);

	ExecCloseIndices(result_rel);
	ExecDropSingleTupleTableSlot(slot);
	FreeExecutorState(estate);
}

bool
hilo_tuple_deleted_here(HeapTupleHeader header)
{
	return !(header->t_infomask & HEAP_XMAX_INVALID) &&
		!HEAP_XMAX_IS_LOCKED_ONLY(header->t_infomask) &&
		TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(header)) &&
		!TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(header));
}

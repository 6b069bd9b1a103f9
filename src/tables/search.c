/*-------------------------------------------------------------------------
 *
 * search.c
 *	  Searches one index for the highest id among some numbers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relscan.h"
#include "access/tableam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "nodes/primnodes.h"
#include "storage/bufmgr.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"

#include "base/compat.h"
#include "base/settings.h"
#include "counting/catalog.h"
#include "tables/drawing.h"
#include "tables/search.h"

/* Exact ids to look up in each power of two. */
#define PROBES			8

/*
 * Indexes
 */

/*
 * True if the index orders the ids by hilo_number() of them, and that finds the
 * number in ids of the collection.  It may not, because a name can look like a
 * number with a tag.
 */
static bool
orders_ids(Relation index, AttrNumber attnum, const HiloIdReader *reader)
{
	FuncExpr   *call = linitial(hilo_index_nodes(index, Anum_pg_index_indexprs));
	char		id[HILO_MAX_START_LEN + 3];
	int			len = reader->start_len;
	int64		number;
	Node	   *argument;

	if (!IsA(call, FuncExpr) || strcmp(hilo_c_function(call->funcid), "hilo_number") != 0)
		return false;
	argument = linitial(call->args);
	if (IsA(argument, RelabelType))
		argument = (Node *) ((RelabelType *) argument)->arg;
	if (!IsA(argument, Var) || ((Var *) argument)->varattno != attnum)
		return false;

	/* Where case is ignored, ids of all collections count. */
	if (len == 0)
		return true;
	memcpy(id, reader->start, len);
	memcpy(id + len, "7-A", 3);
	return hilo_document_id_number(id, len + 3, &number) && number == 7 &&
		hilo_document_id_number(id, len + 1, &number) && number == 7;
}

bool
hilo_index_answers(Relation index, AttrNumber attnum, const HiloIdReader *reader,
				   HiloSearchKind *kind)
{
	Form_pg_index form = index->rd_index;

	if (index->rd_rel->relam != BTREE_AM_OID || !form->indisvalid ||
		!form->indisready || !heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL) ||
		RelationGetNumberOfBlocks(index) == 0)
		return false;
	if (index->rd_opfamily[0] == INTEGER_BTREE_FAM_OID)
	{
		*kind = reader->holds_ids ? HILO_BY_FUNCTION : HILO_BY_NUMBER;
		return reader->holds_ids ?
			form->indkey.values[0] == InvalidAttrNumber &&
			orders_ids(index, attnum, reader) :
			form->indkey.values[0] == attnum;
	}
	*kind = HILO_BY_ID;
	return reader->holds_ids && form->indkey.values[0] == attnum &&
		(index->rd_opfamily[0] == TEXT_BTREE_FAM_OID ||
		 index->rd_opfamily[0] == TEXT_PATTERN_BTREE_FAM_OID);
}

/*
 * Search
 */

static void
begin(HiloSearch *search, int keys)
{
	InitDirtySnapshot(search->dirty);
	search->slot = table_slot_create(search->table, NULL);
	search->scan = hilo_index_beginscan(search->table, search->index, SnapshotAny, keys);
}

static void
end(HiloSearch *search)
{
	index_endscan(search->scan);
	ExecDropSingleTupleTableSlot(search->slot);
	if (search->now != NULL)
		UnregisterSnapshot(search->now);
}

/*
 * True if one of the versions of the row that the scan is at is living, and has an id
 * of the counter.  The values of a table that this transaction is rewriting are not
 * read.
 */
static bool
is_living(HiloSearch *search)
{
	do
	{
		bool		isnull;
		Datum		value;

		if (!index_fetch_heap(search->scan, search->slot))
			return false;
		if (search->now == NULL)
			search->now = hilo_snapshot_now(RelationGetRelid(search->table),
											InvalidCommandId);
		if (!table_tuple_satisfies_snapshot(search->table, search->slot, search->now) &&
			!table_tuple_satisfies_snapshot(search->table, search->slot, &search->dirty))
			continue;
		if (search->kind != HILO_BY_FUNCTION)
			return true;
		value = slot_getattr(search->slot, search->attnum, &isnull);
		if (!isnull && hilo_id_reader_number(search->reader, value) != 0)
			return true;
	} while (search->scan->xs_heap_continue);
	return false;
}

/*
 * The lower bound is a key, too, so that the server stops reading a page of the index
 * at the first entry below it.
 */
int64
hilo_search_numbers(HiloSearch *search, int64 low, int64 high, int max_passed)
{
	Relation	index = search->index;
	Oid			type = index->rd_opcintype[0];
	RegProcedure at_most = type == INT2OID ? F_INT28LE : type == INT4OID ? F_INT48LE : F_INT8LE;
	RegProcedure at_least = type == INT2OID ? F_INT28GE : type == INT4OID ? F_INT48GE : F_INT8GE;
	ScanDirection direction = index->rd_indoption[0] & INDOPTION_DESC ?
		ForwardScanDirection : BackwardScanDirection;
	ScanKeyData keys[2];
	int			passed = 0;
	int64		highest = HILO_NONE;

	ScanKeyEntryInitialize(&keys[0], 0, 1, BTLessEqualStrategyNumber, INT8OID, InvalidOid,
						   at_most, Int64GetDatum(high));
	ScanKeyEntryInitialize(&keys[1], 0, 1, BTGreaterEqualStrategyNumber, INT8OID, InvalidOid,
						   at_least, Int64GetDatum(low));
	begin(search, lengthof(keys));
	search->scan->xs_want_itup = true;
	index_rescan(search->scan, keys, lengthof(keys), NULL, 0);
	while (highest == HILO_NONE && index_getnext_tid(search->scan, direction) != NULL)
	{
		bool		isnull;
		Datum		value = index_getattr(search->scan->xs_itup, 1,
										  search->scan->xs_itupdesc, &isnull);

		CHECK_FOR_INTERRUPTS();
		if (++passed > max_passed || is_living(search))
			highest = hilo_number_in(value, type);
	}
	end(search);
	return highest;
}

/* True if the column has the id of a number with this tag; or the number, if it holds numbers. */
static bool
has_id_with_tag(HiloSearch *search, const HiloCollection *collection, int64 number,
				const char *tag)
{
	bool		is_number = search->reader->counted == HILO_COUNT_NUMBERS;
	char		start[HILO_MAX_START_LEN];
	int			len = is_number ? 0 :
		hilo_document_id_start(start, collection->ref.name,
						   hilo_collection_separator(collection), hilo_server_prefix);
	ScanKeyData key;

	ScanKeyEntryInitialize(&key, 0, 1, BTEqualStrategyNumber, TEXTOID,
						   search->index->rd_indcollation[0], F_TEXTEQ,
						   PointerGetDatum(hilo_build_id(start, len, number, tag)));
	index_rescan(search->scan, &key, 1, NULL, 0);
	while (index_getnext_tid(search->scan, ForwardScanDirection) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (is_living(search))
			return true;
	}
	return false;
}

/* True if there is a row with the id of the collection that has the number. */
static bool
has_id(HiloSearch *search, const HiloCollection *collection, int64 number)
{
	const char *own_tag = NameStr(search->reader->own_tag);
	const char *tag = NameStr(search->reader->tag);

	return has_id_with_tag(search, collection, number, own_tag) ||
		(strcmp(tag, own_tag) != 0 &&
		 has_id_with_tag(search, collection, number, tag));
}

int64
hilo_search_ids(HiloSearch *search, const HiloCollection *collection, int64 low, int64 limit)
{
	int64		highest = HILO_NONE;
	bool		taken;

	begin(search, 1);
	taken = has_id(search, collection, low);
	if (taken)
		highest = low;
	for (int64 power = 1; taken && power < limit - low; power *= 2)
	{
		taken = false;
		for (int i = 0; i < PROBES && !taken; i++)
		{
			int64		part = Max(power / PROBES, 1);
			int64		number = low + power + Min(i * part, power - 1) +
				pg_prng_uint64_range(&pg_global_prng_state, 0, part - 1);

			taken = number <= limit && has_id(search, collection, number);
		}
		if (taken)
			highest = Min(low + power + power - 1, limit);
		if (power > limit / 2)
			break;
	}
	end(search);
	return highest;
}

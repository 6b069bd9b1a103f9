/*-------------------------------------------------------------------------
 *
 * highest.c
 *	  The highest number in a column.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/tableam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/primnodes.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "base/compat.h"
#include "base/document_id.h"
#include "base/sql.h"
#include "counting/catalog.h"
#include "servers/citus.h"
#include "tables/highest.h"
#include "tables/owner_query.h"

HiloSought
hilo_sought(HiloCollection *counter)
{
	HiloSought	sought = {counter};
	HiloRow		row;

	if (!hilo_counter_read(&counter->ref, &row))
		row.max_value = PG_INT64_MAX;
	else
		sought.above = sought.max = row.max;
	sought.limit = Min(row.max_value, PG_INT64_MAX - 1);
	return sought;
}

/*
 * In one table, by reading it
 */

/* How many rows that do not count to pass where the answer need not be exact. */
#define MAX_PASSED	1000

/* How to look at rows. */
typedef struct Look
{
	const HiloIdReader *reader;
	AttrNumber	attnum;
	Snapshot	now;			/* that sees those that count */
	Snapshot	dirty;			/* NULL, or one that sees others that do;
								 * alone it could miss a row that is being
								 * updated */
} Look;

/*
 * True if the index orders the ids by hilo_number() of them, and that finds the
 * number in ids of the collection.  It may not, because a name can look like a
 * number with a tag.
 */
static bool
orders_ids(Relation index, const Look *look)
{
	FuncExpr   *call = linitial(RelationGetIndexExpressions(index));
	char		id[HILO_MAX_START_LEN + 3];
	int			len = look->reader->start_len;
	int64		number;
	Node	   *argument;

	if (!IsA(call, FuncExpr) || strcmp(hilo_c_function(call->funcid), "hilo_number") != 0)
		return false;
	argument = linitial(call->args);
	if (IsA(argument, RelabelType))
		argument = (Node *) ((RelabelType *) argument)->arg;
	memcpy(id, look->reader->start, len);
	memcpy(id + len, "7-A", 3);
	return IsA(argument, Var) && ((Var *) argument)->varattno == look->attnum &&
		hilo_document_id_number(id, len + 3, &number) && number == 7 &&
		hilo_document_id_number(id, len + 1, &number) && number == 7;
}

/* True if the index has all rows of its table, in the order of their numbers. */
static bool
is_in_order(Relation index, const Look *look)
{
	Form_pg_index form = index->rd_index;

	if (index->rd_rel->relam != BTREE_AM_OID ||
		index->rd_opfamily[0] != INTEGER_BTREE_FAM_OID ||
		!form->indisvalid || !form->indisready ||
		RelationGetIndexPredicate(index) != NIL)
		return false;
	return look->reader->holds_ids ?
		form->indkey.values[0] == InvalidAttrNumber && orders_ids(index, look) :
		form->indkey.values[0] == look->attnum;
}

/* The number in a row, read with SnapshotAny; 0: none, or it does not count. */
static int64
number_in_row(const Look *look, Relation rel, TupleTableSlot *slot)
{
	bool		isnull;
	Datum		value;

	/* Look first: the TOASTed value of a dead row may be gone. */
	if (!table_tuple_satisfies_snapshot(rel, slot, look->now) &&
		!(look->dirty != NULL &&
		  table_tuple_satisfies_snapshot(rel, slot, look->dirty)))
		return 0;
	value = slot_getattr(slot, look->attnum, &isnull);
	return isnull ? 0 : hilo_id_reader_number(look->reader, value);
}

/* Between two limits; 0: none; the upper limit if it gave up. */
static int64
look_into_index(const Look *look, Relation rel, Relation index, int64 above,
				int64 limit, int max_passed)
{
	Oid			type = index->rd_opcintype[0];
	Oid			greater = get_opfamily_member(INTEGER_BTREE_FAM_OID, type,
											  INT8OID, BTGreaterStrategyNumber);
	Oid			up_to = get_opfamily_member(INTEGER_BTREE_FAM_OID, type, INT8OID,
											BTLessEqualStrategyNumber);
	ScanDirection direction = index->rd_indoption[0] & INDOPTION_DESC ?
		ForwardScanDirection : BackwardScanDirection;
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	IndexScanDesc scan = hilo_index_beginscan(rel, index, SnapshotAny, 2);
	ScanKeyData keys[2];
	int64		number = 0;

	ScanKeyEntryInitialize(&keys[0], 0, 1, BTGreaterStrategyNumber, INT8OID,
						   InvalidOid, get_opcode(greater),
						   Int64GetDatum(above));
	ScanKeyEntryInitialize(&keys[1], 0, 1, BTLessEqualStrategyNumber, INT8OID,
						   InvalidOid, get_opcode(up_to), Int64GetDatum(limit));
	index_rescan(scan, keys, lengthof(keys), NULL, 0);
	while (number == 0 && index_getnext_tid(scan, direction) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (max_passed-- == 0)
			number = limit;

		/* An entry can lead to several versions of a row, or to none. */
		do
		{
			if (number == 0 && index_fetch_heap(scan, slot))
				number = number_in_row(look, rel, slot);
		} while (number == 0 && scan->xs_heap_continue);
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	return number;
}

static int64
look_into_table(const Look *look, Relation rel, int64 limit)
{
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	TableScanDesc scan = hilo_table_beginscan(rel, SnapshotAny);
	MemoryContext row_context = AllocSetContextCreate(CurrentMemoryContext,
													  "hilo row",
													  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(row_context);
	int64		highest = 0;

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		int64		number;

		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(row_context);
		number = number_in_row(look, rel, slot);
		if (number <= limit)
			highest = Max(highest, number);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(row_context);
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	return highest;
}

int64
hilo_highest_here(Relation rel, AttrNumber attnum, const HiloIdReader *reader,
				  const HiloSought *sought, bool uncommitted)
{
	Snapshot	now = hilo_snapshot_now(RelationGetRelid(rel), InvalidCommandId);
	SnapshotData dirty;
	Look		look = {reader, attnum, now, uncommitted ? &dirty : NULL};
	int64		max = Max(Min(sought->max, sought->limit), sought->above);
	int64		number = 0;
	bool		found = !reader->holds_ids && !hilo_holds_numbers(reader->type);

	InitDirtySnapshot(dirty);
	foreach_oid(oid, RelationGetIndexList(rel))
	{
		Relation	index = index_open(oid, AccessShareLock);

		if (!found && is_in_order(index, &look))
		{
			found = true;
			number = look_into_index(&look, rel, index, max, sought->limit,
									 INT_MAX);
			if (number == 0 && sought->above < max)
				number = look_into_index(&look, rel, index, sought->above, max,
										 MAX_PASSED);
		}
		index_close(index, AccessShareLock);
	}
	if (!found)
		number = look_into_table(&look, rel, sought->limit);
	UnregisterSnapshot(now);
	return Max(number, sought->above);
}

/*
 * In all tables that belong to one
 */

/* The same, where only a query can read. */
static int64
query_highest(Relation rel, AttrNumber attnum, const HiloIdReader *reader,
			  const HiloSought *sought)
{
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), attnum - 1);
	const char *number = quote_identifier(NameStr(att->attname));

	if (!hilo_holds_numbers(reader->type))
		number = psprintf(HILO_SCHEMA "._counted_number(%s::pg_catalog.text, %s, %d)",
						  number,
						  quote_literal_cstr(pnstrdup(reader->start,
													  reader->start_len)),
						  reader->counted);
	return hilo_owner_query_number(rel->rd_rel->relowner,
								   psprintf("SELECT pg_catalog.max(%s)::pg_catalog.int8 FROM %s"
											" WHERE %s > " INT64_FORMAT " AND %s <= " INT64_FORMAT,
											number,
											hilo_sql_table(RelationGetRelid(rel)),
											number, sought->above,
											number, sought->limit));
}

int64
hilo_column_highest(const HiloColumn *column, const HiloSought *sought,
					bool foreign_too)
{
	Relation	table = try_relation_open(column->relation, AccessShareLock);
	int64		highest = sought->above;
	char	   *name;
	HiloIdReader reader;
	bool		has_shards;

	if (table == NULL)
		return highest;
	relation_close(table, NoLock);

	/*
	 * Only now: the column may have been renamed during the wait for the
	 * lock.
	 */
	name = hilo_column_name(column);
	if (name == NULL)
		return highest;
	hilo_id_reader_init(&reader, hilo_column_type(column), sought->counter, false);
	has_shards = hilo_citus_has_shards(column->relation);
	if (has_shards)
		hilo_citus_check_isolation(column->relation);
	foreach_oid(oid, has_shards ? list_make1_oid(column->relation) :
				find_all_inheritors(column->relation, AccessShareLock, NULL))
	{
		Relation	rel = relation_open(oid, NoLock);
		char		kind = rel->rd_rel->relkind;
		AttrNumber	attnum = get_attnum(oid, name);
		int64		number = 0;

		if (attnum == InvalidAttrNumber ||
			rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP ||
			(kind == RELKIND_FOREIGN_TABLE && !foreign_too))
			number = 0;
		else if (!has_shards && kind == RELKIND_RELATION)
			number = hilo_highest_here(rel, attnum, &reader, sought, false);
		else if (has_shards || kind != RELKIND_PARTITIONED_TABLE)
			number = query_highest(rel, attnum, &reader, sought);
		relation_close(rel, NoLock);
		highest = Max(highest, number);
	}
	return highest;
}

/*-------------------------------------------------------------------------
 *
 * highest.c
 *	  The highest number in a column.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/primnodes.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "base/compat.h"
#include "base/document_id.h"
#include "base/sql.h"
#include "counting/catalog.h"
#include "counting/index_probe.h"
#include "servers/citus.h"
#include "tables/highest.h"
#include "tables/owner_query.h"

HiloCountedIds
hilo_counted_ids(HiloCollection *collection)
{
	if (hilo_is_identity(collection->ref.name))
		return HILO_COUNT_UNTAGGED;
	(void) hilo_collection_row(collection);
	return hilo_collection_node_tag(collection)[0] != '\0' ?
		HILO_COUNT_TAGGED : HILO_COUNT_ALL;
}

HiloSought
hilo_sought(HiloCollection *counter)
{
	HiloSought	sought = {counter->ref.name, hilo_counted_ids(counter)};
	HiloRow		row;

	if (hilo_is_identity(counter->ref.name))
		sought.collection = pnstrdup(counter->ref.name,
									 strlen(counter->ref.name) - 1);
	if (!hilo_counter_read(&counter->ref, &row))
		row.max_value = PG_INT64_MAX;
	else
		sought.above = sought.max = row.max;
	sought.limit = Min(row.max_value, PG_INT64_MAX - 1);
	return sought;
}

static void
init_reader(HiloIdReader *reader, Oid type, const HiloSought *sought)
{
	hilo_id_reader_init(reader, type, sought->collection, sought->counted);
}

/*
 * True if hilo_number() finds the number in ids of the collection.  It may not,
 * because a name can look like a number with a tag.
 */
static bool
hilo_number_finds(const HiloIdReader *reader)
{
	char		id[HILO_MAX_START_LEN + 3];
	int64		number;

	memcpy(id, reader->start, reader->start_len);
	memcpy(id + reader->start_len, "7-A", 3);
	return hilo_document_id_number(id, reader->start_len + 3, &number) &&
		number == 7 &&
		hilo_document_id_number(id, reader->start_len + 1, &number) &&
		number == 7;
}

/* The function hilo_number(text). */
static Oid
number_function(void)
{
	Oid			argument = TEXTOID;

	return LookupFuncName(list_make2(makeString(get_namespace_name(hilo_catalog_schema())),
									 makeString("hilo_number")),
						  1, &argument, false);
}

/*
 * By queries
 */

static bool
may_call(Oid function, Oid role)
{
	return hilo_may_use_schema(get_func_namespace(function), role) &&
		hilo_may_execute(function, role);
}

/*
 * The query for a table.  Where there is an index that leads with the number,
 * on the column or on hilo_number() of it, the planner reads its end.
 */
static char *
highest_query(Relation rel, const char *column, const HiloIdReader *reader,
			  const HiloSought *sought, bool only)
{
	const char *number = quote_identifier(column);
	const char *counts = "true";

	if (!hilo_holds_numbers(reader->type))
	{
		const char *id = psprintf("%s::pg_catalog.text", number);
		const char *counted = psprintf(HILO_SCHEMA "._counted_number(%s, %s, %d)",
									   id,
									   quote_literal_cstr(pnstrdup(reader->start,
																   reader->start_len)),
									   reader->counted);

		number = counted;
		if (hilo_number_finds(reader) &&
			may_call(number_function(), rel->rd_rel->relowner))
		{
			number = psprintf("%s.hilo_number(%s)",
							  quote_identifier(get_namespace_name(hilo_catalog_schema())),
							  id);
			counts = psprintf("%s IS NOT NULL", counted);
		}
	}
	return psprintf("SELECT pg_catalog.max(%s)::pg_catalog.int8 FROM %s%s"
					" WHERE %s > " INT64_FORMAT " AND %s <= " INT64_FORMAT
					" AND %s",
					number, only ? "ONLY " : "",
					hilo_sql_table(RelationGetRelid(rel)),
					number, sought->above, number, sought->limit, counts);
}

static int64
query_highest(Relation rel, const char *column, const HiloIdReader *reader,
			  const HiloSought *sought, bool only)
{
	HiloOwner	owner = {rel->rd_rel->relowner, true};

	return hilo_owner_query_number(&owner,
								   highest_query(rel, column, reader, sought,
												 only));
}

/* In one table, without its partitions and children. */
static int64
highest_in_part(Relation rel, const char *column, const HiloSought *sought,
				bool foreign_too)
{
	HiloIdReader reader;
	Oid			type = get_atttype(RelationGetRelid(rel),
								   get_attnum(RelationGetRelid(rel), column));

	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ||
		rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP ||
		(rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE && !foreign_too))
		return 0;
	init_reader(&reader, getBaseType(type), sought);
	return query_highest(rel, column, &reader, sought, true);
}

int64
hilo_column_highest(const HiloColumn *column, const HiloSought *sought,
					bool foreign_too)
{
	Relation	rel = try_table_open(column->relation, AccessShareLock);
	char	   *name;
	int64		highest = sought->above;
	List	   *parts;
	ListCell   *lc;

	if (rel == NULL)
		return highest;
	name = hilo_column_name(column);
	if (name == NULL)
	{
		table_close(rel, AccessShareLock);
		return highest;
	}
	if (hilo_citus_has_shards(column->relation))
	{
		HiloIdReader reader;

		hilo_citus_check_isolation(column->relation);
		init_reader(&reader, hilo_column_type(column), sought);
		highest = Max(highest, query_highest(rel, name, &reader, sought, false));
		table_close(rel, NoLock);
		return highest;
	}

	/* This locks the children; the lock on the table itself is also kept. */
	parts = find_all_inheritors(column->relation, AccessShareLock, NULL);
	table_close(rel, NoLock);
	foreach(lc, parts)
	{
		int64		number;

		rel = table_open(lfirst_oid(lc), NoLock);
		number = highest_in_part(rel, name, sought, foreign_too);
		table_close(rel, NoLock);
		highest = Max(highest, number);
	}
	return highest;
}

/*
 * As rows are now, in one table
 */

/* How many dead rows to pass where the answer need not be exact. */
#define MAX_DEAD	1000

/* What is sought in the table, and what was found. */
typedef struct Look
{
	HiloIdReader reader;
	AttrNumber	attnum;
	Oid			number_function;	/* hilo_number(), if it finds the number */
	int64		highest;
} Look;

/* True if the index covers every row, ordered by the numbers. */
static bool
is_in_order(Relation index, void *arg)
{
	const Look *look = arg;
	FuncExpr   *call;
	Node	   *argument;

	if (index->rd_opfamily[0] != INTEGER_BTREE_FAM_OID)
		return false;
	if (hilo_holds_numbers(look->reader.type))
		return hilo_index_leads(index, look->attnum);
	if (!OidIsValid(look->number_function) ||
		!hilo_index_leads(index, InvalidAttrNumber))
		return false;

	call = linitial(RelationGetIndexExpressions(index));
	if (!IsA(call, FuncExpr) || call->funcid != look->number_function)
		return false;
	argument = linitial(call->args);
	if (IsA(argument, RelabelType))
		argument = (Node *) ((RelabelType *) argument)->arg;
	return IsA(argument, Var) && ((Var *) argument)->varattno == look->attnum;
}

static int64
number_in_row(const Look *look, TupleTableSlot *slot)
{
	bool		isnull;
	Datum		value = slot_getattr(slot, look->attnum, &isnull);

	return isnull ? 0 : hilo_id_reader_number(&look->reader, value);
}

/* Rows come in descending order: the first one that counts is the highest. */
static bool
note_highest(TupleTableSlot *slot, void *arg)
{
	Look	   *look = arg;

	look->highest = number_in_row(look, slot);
	return look->highest == 0;
}

/* Look above one limit and up to another; false: gave up, see max_dead. */
static bool
look_into_index(Look *look, Relation rel, Relation index, int64 above,
				int64 limit, int max_dead)
{
	Oid			type = index->rd_opcintype[0];
	Oid			greater = get_opfamily_member(INTEGER_BTREE_FAM_OID, type,
											  INT8OID, BTGreaterStrategyNumber);
	Oid			up_to = get_opfamily_member(INTEGER_BTREE_FAM_OID, type, INT8OID,
											BTLessEqualStrategyNumber);
	ScanKeyData keys[2];
	SnapshotData dirty;

	ScanKeyEntryInitialize(&keys[0], 0, 1, BTGreaterStrategyNumber, INT8OID,
						   InvalidOid, get_opcode(greater),
						   Int64GetDatum(above));
	ScanKeyEntryInitialize(&keys[1], 0, 1, BTLessEqualStrategyNumber, INT8OID,
						   InvalidOid, get_opcode(up_to), Int64GetDatum(limit));
	InitDirtySnapshot(dirty);
	return hilo_index_visit(rel, index, keys, lengthof(keys),
							index->rd_indoption[0] & INDOPTION_DESC ?
							ForwardScanDirection : BackwardScanDirection,
							&dirty, max_dead, note_highest, look);
}

static void
look_into_table(Look *look, Relation rel, const HiloSought *sought)
{
	Snapshot	before = hilo_snapshot_before();
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	TableScanDesc scan = hilo_table_beginscan(rel, SnapshotAny);
	MemoryContext row_context = AllocSetContextCreate(CurrentMemoryContext,
													  "hilo row",
													  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(row_context);

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		SnapshotData dirty;
		int64		number;

		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(row_context);

		/*
		 * Before the value is read: the TOASTed one of a dead row may be
		 * gone.
		 */
		InitDirtySnapshot(dirty);
		if (!hilo_row_is_there(rel, slot, before, &dirty))
			continue;
		number = number_in_row(look, slot);
		if (number <= sought->limit)
			look->highest = Max(look->highest, number);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(row_context);
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	UnregisterSnapshot(before);
}

int64
hilo_highest_here(Relation rel, AttrNumber attnum, const HiloSought *sought)
{
	Look		look = {.attnum = attnum};
	Relation	index;

	init_reader(&look.reader,
				getBaseType(get_atttype(RelationGetRelid(rel), attnum)), sought);
	if (!look.reader.holds_ids && !hilo_holds_numbers(look.reader.type))
		return sought->above;
	if (look.reader.holds_ids && hilo_number_finds(&look.reader))
		look.number_function = number_function();

	index = hilo_index_find(rel, is_in_order, &look);
	if (index != NULL)
	{
		int64		max = Min(sought->max, sought->limit);

		(void) look_into_index(&look, rel, index, Max(sought->above, max),
							   sought->limit, INT_MAX);
		if (look.highest == 0 && sought->above < max &&
			!look_into_index(&look, rel, index, sought->above, max, MAX_DEAD))
			look.highest = max;
		index_close(index, AccessShareLock);
	}
	else
		look_into_table(&look, rel, sought);
	return Max(look.highest, sought->above);
}

/*-------------------------------------------------------------------------
 *
 * highest.c
 *	  The highest number in a column, and advancing counters to it.
 *
 * If a btree index has the numbers, on the column or on hilo_number() of it, the
 * last entry is read.  Otherwise all rows are read, and progress is reported to
 * the client, because the server's progress views are for its own commands only.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_am.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/primnodes.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/document_id.h"
#include "base/sql.h"
#include "counting/catalog.h"
#include "counting/index_probe.h"
#include "servers/citus.h"
#include "session/collection.h"
#include "tables/attachment.h"
#include "tables/binding.h"
#include "tables/highest.h"
#include "tables/rights.h"

/* How often a scan of a table reports progress. */
#define PROGRESS_INTERVAL_MS	10000

/* The search, which goes through one table after the other. */
typedef struct Search
{
	HiloIdReader reader;
	int64		limit;
} Search;

/* The progress of a scan. */
typedef struct Progress
{
	Relation	rel;
	BlockNumber blocks;			/* of the table */
	BlockNumber read;
	BlockNumber current;
	TimestampTz reported;
} Progress;

/*
 * By an index
 */

/* True if the index covers every row, ordered by the numbers in a column. */
static bool
is_in_order(Relation index, void *attnum)
{
	return hilo_index_leads(index, *(AttrNumber *) attnum) &&
		index->rd_opfamily[0] == INTEGER_BTREE_FAM_OID;
}

static int64
highest_by_index(const Search *search, Relation rel, Relation index,
				 AttrNumber attnum)
{
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	ScanDirection direction = (index->rd_indoption[0] & INDOPTION_DESC) ?
		ForwardScanDirection : BackwardScanDirection;
	Oid			operator = get_opfamily_member(INTEGER_BTREE_FAM_OID,
											   index->rd_opcintype[0], INT8OID,
											   BTLessEqualStrategyNumber);
	SnapshotData dirty;
	ScanKeyData key;
	int64		number = 0;

	/* Also keeps NULLs out. */
	ScanKeyEntryInitialize(&key, 0, 1, BTLessEqualStrategyNumber, INT8OID,
						   InvalidOid, get_opcode(operator),
						   Int64GetDatum(search->limit));
	InitDirtySnapshot(dirty);
	if (hilo_index_first(rel, index, &key, direction, &dirty, slot))
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, attnum, &isnull);

		number = hilo_id_reader_number(&search->reader, value);
	}
	ExecDropSingleTupleTableSlot(slot);
	return number;
}

/*
 * By an index on hilo_number() of the column.  It also contains the numbers of
 * other ids, which are skipped.
 */

/* After skipping more than this many, a scan of the table is better. */
#define MAX_PASSED_OVER	1000

/* The expression that an index should be on. */
typedef struct NumberOf
{
	AttrNumber	attnum;
	Oid			function;
} NumberOf;

/* True if the index covers every row, ordered by hilo_number() of a column. */
static bool
is_by_number(Relation index, void *arg)
{
	const NumberOf *number_of = arg;
	FuncExpr   *call;
	Node	   *argument;

	if (!hilo_index_leads(index, InvalidAttrNumber) ||
		index->rd_opfamily[0] != INTEGER_BTREE_FAM_OID)
		return false;
	call = linitial(RelationGetIndexExpressions(index));
	if (!IsA(call, FuncExpr) || call->funcid != number_of->function)
		return false;
	argument = linitial(call->args);
	if (IsA(argument, RelabelType))
		argument = (Node *) ((RelabelType *) argument)->arg;
	return IsA(argument, Var) &&
		((Var *) argument)->varattno == number_of->attnum;
}

/*
 * True if hilo_number() finds the number in ids of the collection.  It may not,
 * because a name can look like a number with a tag.
 */
static bool
number_is_found(const HiloIdReader *reader)
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

static Relation
find_number_index(const Search *search, Relation rel, AttrNumber attnum)
{
	NumberOf	number_of = {attnum};
	Oid			argument = TEXTOID;

	if (!number_is_found(&search->reader))
		return NULL;
	number_of.function = LookupFuncName(list_make2(makeString(get_namespace_name(hilo_catalog_schema())),
												   makeString("hilo_number")),
										1, &argument, false);
	return hilo_index_find(rel, is_by_number, &number_of);
}

/*
 * Find the highest number in the index that is not above limit; false: none.
 */
static bool
next_by_number(Relation rel, Relation index, int64 limit, TupleTableSlot *slot,
			   AttrNumber attnum, int64 *number)
{
	ScanDirection direction = (index->rd_indoption[0] & INDOPTION_DESC) ?
		ForwardScanDirection : BackwardScanDirection;
	SnapshotData dirty;
	ScanKeyData key;
	bool		isnull;

	ScanKeyEntryInitialize(&key, 0, 1, BTLessEqualStrategyNumber, INT8OID,
						   InvalidOid, F_INT8LE, Int64GetDatum(limit));
	InitDirtySnapshot(dirty);
	if (!hilo_index_first(rel, index, &key, direction, &dirty, slot))
		return false;
	if (!hilo_document_id_number(VARDATA_ANY(DatumGetTextPP(slot_getattr(slot, attnum, &isnull))),
								 VARSIZE_ANY_EXHDR(DatumGetTextPP(slot_getattr(slot, attnum, &isnull))),
								 number))
		elog(ERROR, "index \"%s\" has a row without a number",
			 RelationGetRelationName(index));
	return true;
}

/* True if an id that counts has the number. */
static bool
any_counts(const Search *search, Relation rel, Relation index,
		   AttrNumber attnum, int64 number)
{
	SnapshotData dirty;
	ScanKeyData key;
	ListCell   *lc;

	ScanKeyEntryInitialize(&key, 0, 1, BTEqualStrategyNumber, INT8OID,
						   InvalidOid, F_INT8EQ, Int64GetDatum(number));
	InitDirtySnapshot(dirty);
	foreach(lc, hilo_index_rows(rel, index, &key, &dirty))
	{
		HeapTuple	tuple = lfirst(lc);
		bool		isnull;
		Datum		value = hilo_getattr(tuple, attnum, RelationGetDescr(rel),
										 &isnull);

		if (hilo_id_reader_number(&search->reader, value) == number)
			return true;
	}
	return false;
}

/* Returns false if too many numbers of other ids come first. */
static bool
highest_by_number(const Search *search, Relation rel, Relation index,
				  AttrNumber attnum, int64 *highest)
{
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	int64		limit = search->limit;
	int			passed_over = 0;

	*highest = 0;
	while (limit > 0 && passed_over < MAX_PASSED_OVER &&
		   next_by_number(rel, index, limit, slot, attnum, &limit) && limit > 0)
	{
		CHECK_FOR_INTERRUPTS();
		if (any_counts(search, rel, index, attnum, limit))
		{
			*highest = limit;
			break;
		}
		limit--;
		passed_over++;
	}
	ExecDropSingleTupleTableSlot(slot);
	return passed_over < MAX_PASSED_OVER;
}

/*
 * By a scan
 */

static void
note_progress(Progress *progress, BlockNumber block)
{
	TimestampTz now;

	if (block == progress->current)
		return;
	progress->current = block;
	progress->read++;
	now = GetCurrentTimestamp();
	if (!TimestampDifferenceExceeds(progress->reported, now,
									PROGRESS_INTERVAL_MS))
		return;
	progress->reported = now;
	ereport(NOTICE,
			(errmsg("looking for the highest number in table \"%s\": block %u of %u",
					RelationGetRelationName(progress->rel), progress->read,
					progress->blocks)));
}

/*
 * True if the row in slot is visible to the snapshot, or now.  One of them
 * alone would not do: a row that is updated during the scan can be dead when
 * its old place is read, and its new place may have been read before.
 */
static bool
is_there(Relation rel, TupleTableSlot *slot, Snapshot snapshot)
{
	SnapshotData dirty;

	InitDirtySnapshot(dirty);
	return table_tuple_satisfies_snapshot(rel, slot, snapshot) ||
		table_tuple_satisfies_snapshot(rel, slot, &dirty);
}

/* The TOASTed value of a dead row may be gone. */
static bool
can_be_read(const Search *search, Datum value)
{
	return hilo_holds_numbers(search->reader.type) ||
		!VARATT_IS_EXTERNAL(DatumGetPointer(value));
}

/* The number in the row in slot, if it is above highest; else highest. */
static int64
higher_number(const Search *search, Relation rel, TupleTableSlot *slot,
			  AttrNumber attnum, Snapshot snapshot, int64 highest)
{
	bool		isnull;
	Datum		value = slot_getattr(slot, attnum, &isnull);
	int64		number;

	if (isnull ||
		(!can_be_read(search, value) && !is_there(rel, slot, snapshot)))
		return highest;
	number = hilo_id_reader_number(&search->reader, value);
	return number > highest && number <= search->limit &&
		is_there(rel, slot, snapshot) ? number : highest;
}

static int64
highest_by_scan(const Search *search, Relation rel, AttrNumber attnum)
{
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	TableScanDesc scan = hilo_table_beginscan(rel, SnapshotAny);
	MemoryContext row_context = AllocSetContextCreate(CurrentMemoryContext,
													  "hilo row",
													  ALLOCSET_SMALL_SIZES);
	Progress	progress = {rel, RelationGetNumberOfBlocks(rel), 0,
	InvalidBlockNumber, GetCurrentTimestamp()};
	int64		highest = 0;

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		MemoryContext old;

		CHECK_FOR_INTERRUPTS();
		note_progress(&progress, ItemPointerGetBlockNumber(&slot->tts_tid));

		old = MemoryContextSwitchTo(row_context);
		highest = higher_number(search, rel, slot, attnum, snapshot, highest);
		MemoryContextSwitchTo(old);
		MemoryContextReset(row_context);
	}

	MemoryContextDelete(row_context);
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	UnregisterSnapshot(snapshot);
	return highest;
}

/*
 * By a query, if rows are not in a heap of this server: in a foreign table,
 * with another access method, or in shards of Citus, on all its nodes.
 */
static int64
highest_by_query(const Search *search, Relation rel, const char *column,
				 bool in_shards)
{
	static const char *const patterns[] = {
		[HILO_COUNT_ALL] = "[1-9][0-9]*(-[A-Za-z0-9_]+)?$",
		[HILO_COUNT_TAGGED] = "[1-9][0-9]*-[A-Za-z0-9_]+$",
		[HILO_COUNT_UNTAGGED] = "[1-9][0-9]*$"
	};
	const HiloIdReader *reader = &search->reader;
	int			level = hilo_sql_begin();
	const char *number = quote_identifier(column);
	int64		result;

	if (!hilo_holds_numbers(reader->type))
	{
		char	   *start = pnstrdup(reader->start, reader->start_len);

		/*
		 * Look behind the collection's name, which may look like a number
		 * itself.
		 */
		number = psprintf("CASE WHEN pg_catalog.starts_with(%s::pg_catalog.text, %s) AND %s::pg_catalog.text ~ '(^|[^0-9])%s' THEN %s.hilo_number(pg_catalog.substr(%s::pg_catalog.text, %d)) END",
						  number, quote_literal_cstr(start),
						  number, patterns[reader->counted],
						  quote_identifier(get_namespace_name(hilo_catalog_schema())),
						  number, pg_mbstrlen(start) + 1);
	}
	result = hilo_sql_number(psprintf("SELECT pg_catalog.max(%s)::pg_catalog.int8 FROM %s %s WHERE %s <= " INT64_FORMAT,
									  number, in_shards ? "" : "ONLY",
									  hilo_sql_table(RelationGetRelid(rel)),
									  number, search->limit));
	hilo_sql_end(level);
	return result;
}

/*
 * The highest number in a column
 */

static int64
highest_in_table(const Search *search, Relation rel, const char *column)
{
	AttrNumber	attnum = get_attnum(RelationGetRelid(rel), column);
	Relation	index = NULL;
	int64		result;

	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ||
		RELATION_IS_OTHER_TEMP(rel))
		return 0;

	/* A trigger can be created for any column, whatever its type. */
	if (!search->reader.holds_ids && !hilo_holds_numbers(search->reader.type))
		return 0;
	if (rel->rd_rel->relam != HEAP_TABLE_AM_OID)
		return highest_by_query(search, rel, column, false);

	if (hilo_holds_numbers(search->reader.type))
	{
		index = hilo_index_find(rel, is_in_order, &attnum);
		if (index == NULL)
			return highest_by_scan(search, rel, attnum);
		result = highest_by_index(search, rel, index, attnum);
	}
	else
	{
		index = find_number_index(search, rel, attnum);
		if (index == NULL ||
			!highest_by_number(search, rel, index, attnum, &result))
			result = highest_by_scan(search, rel, attnum);
		if (index == NULL)
			return result;
	}
	index_close(index, AccessShareLock);
	return result;
}

static void
init_search(Search *search, const HiloColumn *column, const char *collection,
			HiloCountedIds counted, int64 limit)
{
	search->limit = limit;
	hilo_id_reader_init(&search->reader, hilo_column_type(column),
						collection, counted);
}

int64
hilo_column_highest(const HiloColumn *column, const char *collection,
					HiloCountedIds counted, int64 limit)
{
	Relation	rel = try_table_open(column->relation, AccessShareLock);
	char	   *name = hilo_column_name(column);
	Search		search;
	List	   *tables;
	ListCell   *lc;
	int64		highest = 0;

	if (rel == NULL || name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("the column with the ids of \"%s\" no longer exists",
						collection)));
	init_search(&search, column, collection, counted, limit);
	if (hilo_citus_has_shards(column->relation))
	{
		hilo_citus_check_isolation(column->relation);
		highest = highest_by_query(&search, rel, name, true);
		table_close(rel, NoLock);
		return highest;
	}

	/* This locks the children; the lock on the table itself is also kept. */
	tables = find_all_inheritors(column->relation, AccessShareLock, NULL);
	table_close(rel, NoLock);
	foreach(lc, tables)
	{
		int64		number;

		rel = table_open(lfirst_oid(lc), NoLock);
		number = highest_in_table(&search, rel, name);
		table_close(rel, AccessShareLock);
		highest = Max(highest, number);
	}
	return highest;
}

/*
 * Counters
 */

HiloCountedIds
hilo_counted_ids(HiloCollection *collection)
{
	if (hilo_is_identity(collection->ref.name))
		return HILO_COUNT_UNTAGGED;
	(void) hilo_collection_row(collection);
	return hilo_collection_node_tag(collection)[0] != '\0' ? HILO_COUNT_TAGGED : HILO_COUNT_ALL;
}

/*
 * The columns that a collection is bound or attached to, as a list of
 * HiloColumn *; some of them may no longer exist. *may_hold_identities is set
 * to whether ids of the identity of that name may be there, too; attached
 * columns have none.
 */
static List *
columns_of(HiloCollection *counter, bool *may_hold_identities)
{
	List	   *columns = NIL;
	ListCell   *lc;

	*may_hold_identities = false;
	foreach(lc, hilo_bindings(counter->ref.name))
	{
		HiloBinding *binding = lfirst(lc);

		if (binding->attached || !hilo_binding_has_column(binding))
			continue;
		columns = lappend(columns, binding->column);
		*may_hold_identities = true;
	}
	foreach(lc, hilo_draw_right_attachments(counter->ref.name))
	{
		HiloAttachment *attachment = lfirst(lc);

		if (!attachment->is_clone)
			columns = lappend(columns, &attachment->column);
	}
	return columns;
}

/* The highest number in the columns that is not above limit. */
static int64
highest_in(List *columns, const char *collection, HiloCountedIds counted,
		   int64 limit)
{
	int64		highest = 0;
	ListCell   *lc;

	foreach(lc, columns)
	{
		int64		number = hilo_column_highest(lfirst(lc), collection,
												 counted, limit);

		highest = Max(highest, number);
	}
	return highest;
}

int64
hilo_counter_limit(HiloCollection *counter)
{
	HiloRow		row;

	return hilo_counter_read(&counter->ref, &row) ? row.max_value :
		PG_INT64_MAX;
}

/*
 * Advance a counter, which need not exist, to the highest number in the
 * columns.
 */
static int64
sync_counter(HiloCollection *counter, List *columns, const char *collection)
{
	return hilo_collection_seed(counter,
								highest_in(columns, collection,
										   hilo_counted_ids(counter),
										   hilo_counter_limit(counter)),
								false);
}

bool
hilo_sync_collection(const char *collection, int64 *max)
{
	bool		may_hold_identities;
	List	   *columns;
	HiloCollection counter;
	HiloCollection identity;
	char		buffer[HILO_MAX_ROW_NAME_LEN];

	hilo_collection_init(&counter, collection);
	columns = columns_of(&counter, &may_hold_identities);
	if (columns == NIL)
		return false;

	*max = sync_counter(&counter, columns, collection);
	if (!may_hold_identities)
		return true;

	hilo_collection_init_identity(&identity, collection, buffer);
	(void) sync_counter(&identity, columns, collection);
	return true;
}

static int
compare_names(const ListCell *a, const ListCell *b)
{
	return strcmp(lfirst(a), lfirst(b));
}

List *
hilo_sync_candidates(void)
{
	List	   *names = NIL;
	List	   *distinct = NIL;
	ListCell   *lc;

	foreach(lc, hilo_row_list())
	{
		HiloNamedRow *row = lfirst(lc);

		if (row->row.flags & HILO_ROW_BOUND)
			names = lappend(names, unconstify(char *, row->name));
	}

	/*
	 * A trigger that was restored has no row before it fires.  Anyone may
	 * have written its argument: as an identity's name it would move that
	 * identity.
	 */
	foreach(lc, hilo_attachments(NULL))
	{
		HiloAttachment *attachment = lfirst(lc);

		if (!attachment->is_clone && hilo_is_collection(attachment->collection))
			names = lappend(names, unconstify(char *, attachment->collection));
	}

	list_sort(names, compare_names);
	foreach(lc, names)
	{
		if (distinct == NIL || strcmp(llast(distinct), lfirst(lc)) != 0)
			distinct = lappend(distinct, lfirst(lc));
	}
	return distinct;
}

/*
 * The highest number, not above a limit, in an attached column of one table,
 * without its children, which have their own triggers; -1: another session has
 * locked the table.
 */
static int64
highest_attached(const HiloAttachment *attachment, HiloCountedIds counted,
				 int64 search_limit)
{
	char	   *name = hilo_column_name(&attachment->column);
	Search		search;
	Relation	rel;
	int64		highest;

	if (name == NULL ||
		!ConditionalLockRelationOid(attachment->column.relation,
									AccessShareLock))
		return -1;
	rel = try_table_open(attachment->column.relation, NoLock);
	if (rel == NULL)
	{
		UnlockRelationOid(attachment->column.relation, AccessShareLock);
		return -1;
	}
	init_search(&search, &attachment->column, attachment->collection, counted,
				search_limit);
	highest = highest_in_table(&search, rel, name);
	table_close(rel, AccessShareLock);
	return highest;
}

int64
hilo_sync_unseen(HiloCollection *collection)
{
	HiloCountedIds counted = hilo_counted_ids(collection);
	int64		search_limit = hilo_counter_limit(collection);
	List	   *seen = NIL;
	int64		limit = PG_INT64_MAX;
	int64		highest = 0;
	ListCell   *lc;

	foreach(lc, hilo_draw_right_attachments(collection->ref.name))
	{
		HiloAttachment *attachment = lfirst(lc);
		int64		number;

		if (hilo_attachment_is_seen(attachment))
			continue;
		number = highest_attached(attachment, counted, search_limit);
		if (number < 0)
			continue;
		highest = Max(highest, number);
		limit = Min(limit, hilo_type_limit(hilo_column_type(&attachment->column)));
		seen = lappend(seen, attachment);
	}

	/* If nothing was found, ranges stay valid. */
	if (highest > 0)
		(void) hilo_collection_adopt(collection, highest, limit, true);
	else
		hilo_counter_note_binding(&collection->ref, limit);
	foreach(lc, seen)
		hilo_attachment_note_seen(lfirst(lc));
	return highest;
}

/*-------------------------------------------------------------------------
 *
 * sync.c
 *	  The highest number in a column, and counters at least as high.
 *
 * Numbers in a btree index: its last row.  Else all rows are read, and progress
 * is reported to the client: the server's views of it are for its own commands.
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
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "binding.h"
#include "catalog.h"
#include "collection.h"
#include "compat.h"
#include "index_probe.h"
#include "sql.h"
#include "sync.h"

/* How often a scan of a table reports progress. */
#define PROGRESS_INTERVAL_MS	10000

/* What is looked for, in one table after the other. */
typedef struct Search
{
	HiloIdReader reader;
	int64		limit;
} Search;

/* How far a scan is. */
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

/* Does the index have every row, in the order of the numbers in a column? */
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
 * Is the row in slot there, for the snapshot or by now?  One alone would not
 * do: a row that is updated while the scan runs can be dead in its old place
 * when that is read, and new in a place read before.
 */
static bool
is_there(Relation rel, TupleTableSlot *slot, Snapshot snapshot)
{
	SnapshotData dirty;

	InitDirtySnapshot(dirty);
	return table_tuple_satisfies_snapshot(rel, slot, snapshot) ||
		table_tuple_satisfies_snapshot(rel, slot, &dirty);
}

/* A dead row's value that is stored elsewhere may be gone. */
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
 * By a query, where rows are not kept in a heap of ours: in a foreign table,
 * or by another access method.
 */
static int64
highest_by_query(const Search *search, Relation rel, const char *column)
{
	const HiloIdReader *reader = &search->reader;
	int			level = hilo_sql_begin();
	const char *number = quote_identifier(column);
	int64		result;

	if (!hilo_holds_numbers(reader->type))
	{
		char	   *start = pnstrdup(reader->start, reader->start_len);

		/* Behind the collection: that may look like a number itself. */
		number = psprintf("CASE WHEN pg_catalog.starts_with(%s::pg_catalog.text, %s) THEN %s.hilo_number(pg_catalog.substr(%s::pg_catalog.text, %d)) END",
						  number, quote_literal_cstr(start),
						  quote_identifier(get_namespace_name(hilo_catalog_schema())),
						  number, pg_mbstrlen(start) + 1);
	}
	result = hilo_sql_number(psprintf("SELECT pg_catalog.max(%s)::pg_catalog.int8 FROM ONLY %s WHERE %s <= " INT64_FORMAT,
									  number,
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
	if (rel->rd_rel->relam != HEAP_TABLE_AM_OID)
		return highest_by_query(search, rel, column);

	if (hilo_holds_numbers(search->reader.type))
		index = hilo_index_find(rel, is_in_order, &attnum);
	if (index == NULL)
		return highest_by_scan(search, rel, attnum);
	result = highest_by_index(search, rel, index, attnum);
	index_close(index, AccessShareLock);
	return result;
}

int64
hilo_column_highest(const HiloColumn *column, HiloName collection, int64 limit)
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
				 errmsg("the column with the ids of \"%.*s\" does not exist any more",
						collection.len, collection.data)));
	search.limit = limit;
	hilo_id_reader_init(&search.reader, hilo_column_type(column),
						collection.data, collection.len);

	/* This locks the children; the lock of the table itself is kept, too. */
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

/*
 * The bindings of a collection to columns that are there: one of several tables
 * may be gone.
 */
static List *
bindings_to_columns(HiloName collection)
{
	List	   *bindings = NIL;
	ListCell   *lc;

	foreach(lc, hilo_bindings(collection))
	{
		if (hilo_binding_has_column(lfirst(lc)))
			bindings = lappend(bindings, lfirst(lc));
	}
	return bindings;
}

/* Are there ids of identities in the columns?  Not in those attached. */
static bool
may_hold_identities(List *bindings)
{
	ListCell   *lc;

	foreach(lc, bindings)
	{
		if (!((HiloBinding *) lfirst(lc))->attached)
			return true;
	}
	return false;
}

/* Highest number in the columns, not above limit. */
static int64
highest_in(List *bindings, HiloName collection, int64 limit)
{
	int64		highest = 0;
	ListCell   *lc;

	foreach(lc, bindings)
	{
		HiloBinding *binding = lfirst(lc);
		int64		number = hilo_column_highest(binding->column, collection,
												 limit);

		highest = Max(highest, number);
	}
	return highest;
}

/* Limit of a counter, which need not exist. */
static int64
limit_of(HiloCollection *counter)
{
	HiloRow		row;

	return hilo_counter_read(&counter->ref, &row) ? row.max_value : PG_INT64_MAX;
}

bool
hilo_sync_collection(HiloName collection, int64 *max)
{
	List	   *bindings = bindings_to_columns(collection);
	HiloCollection counter;
	HiloCollection identity;
	char		buffer[HILO_MAX_ROW_NAME_LEN];
	int64		limit;
	int64		highest;

	if (bindings == NIL)
		return false;

	hilo_collection_init(&counter, collection);
	limit = limit_of(&counter);
	highest = highest_in(bindings, collection, limit);
	*max = hilo_collection_seed(&counter, highest, false);
	if (!may_hold_identities(bindings))
		return true;

	hilo_collection_init_identity(&identity, collection, buffer);
	if (limit_of(&identity) != limit)
		highest = highest_in(bindings, collection, limit_of(&identity));
	(void) hilo_collection_seed(&identity, highest, false);
	return true;
}

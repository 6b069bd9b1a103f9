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
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "base/compat.h"
#include "base/sql.h"
#include "counting/catalog.h"
#include "counting/node.h"
#include "tables/drawing.h"
#include "tables/highest.h"
#include "tables/owner_query.h"
#include "tables/search.h"

HiloSought
hilo_sought(HiloCollection *counter)
{
	HiloSought	sought = {counter};
	HiloRow		row;

	if (!hilo_counter_read(&counter->ref, &row))
		row.max_value = PG_INT64_MAX;
	else
		sought.above = row.max;
	sought.limit = Min(row.max_value, PG_INT64_MAX - 1);
	sought.elsewhere = (row.flags & HILO_ROW_LEASED) != 0;
	return sought;
}

/*
 * In one table, by reading it
 */

static int64
look_into_table(const HiloIdReader *reader, AttrNumber attnum, Relation rel,
				const HiloSought *sought)
{
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	TableScanDesc scan = hilo_table_beginscan(rel, SnapshotAny);
	Snapshot	snapshot = hilo_snapshot_now(RelationGetRelid(rel), InvalidCommandId);
	int64		highest = sought->above;

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool		isnull;
		Datum		value;
		int64		number;

		CHECK_FOR_INTERRUPTS();

		/* Look first: the TOASTed value of a dead row may be gone. */
		if (!table_tuple_satisfies_snapshot(rel, slot, snapshot))
			continue;
		value = slot_getattr(slot, attnum, &isnull);
		number = isnull ? HILO_NONE : hilo_id_reader_number(reader, value);
		if (number <= sought->limit)
			highest = Max(highest, number);
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	UnregisterSnapshot(snapshot);
	return highest;
}

/*
 * In one table: by the end of an index in the order of the numbers, or else by reading
 * the whole table once.
 */
static int64
read_highest(Relation rel, AttrNumber attnum, const HiloIdReader *reader,
			 const HiloSought *sought)
{
	foreach_oid(oid, RelationGetIndexList(rel))
	{
		Relation	index = index_open(oid, AccessShareLock);
		HiloSearch	search = {rel, index, attnum,.reader = reader};
		bool		answers = hilo_index_answers(index, attnum, reader, &search.kind) &&
			search.kind != HILO_BY_ID;
		int64		number = answers ?
			hilo_search_numbers(&search, sought->above + 1, sought->limit, INT_MAX) : 0;

		index_close(index, AccessShareLock);
		if (answers)
			return number;
	}
	return look_into_table(reader, attnum, rel, sought);
}

/*
 * In all tables that belong to one
 */

/* In SQL, the number in an id of the column, if it counts. */
static const char *
counted_number(const char *column, const HiloIdReader *reader)
{
	return psprintf(HILO_SCHEMA "._counted_number(%s::pg_catalog.text, %s, %d)", column,
					quote_literal_cstr(pnstrdup(reader->start, reader->start_len)),
					reader->counted);
}

/* Where only a query can read. */
static int64
query_highest(Relation rel, AttrNumber attnum, const HiloIdReader *reader,
			  const HiloSought *sought)
{
	const char *number = quote_identifier(get_attname(RelationGetRelid(rel), attnum, false));

	if (!hilo_holds_numbers(reader->type))
		number = counted_number(number, reader);
	return hilo_owner_query_number(rel->rd_rel->relowner,
								   psprintf("SELECT COALESCE(pg_catalog.max(%s)::pg_catalog.int8, " INT64_FORMAT ") FROM %s"
											" WHERE %s > " INT64_FORMAT " AND %s <= " INT64_FORMAT,
											number, sought->above,
											hilo_sql_table(RelationGetRelid(rel)),
											number, sought->above,
											number, sought->limit));
}

int64
hilo_column_highest(const HiloColumn *column, HiloSought *sought)
{
	int64		highest = sought->above;
	char	   *name;
	HiloIdReader reader;
	bool		has_shards;

	/*
	 * Temporary tables are left out, and not even opened, so that the
	 * transaction can be prepared.
	 */
	if (highest >= sought->limit || !OidIsValid(hilo_table_owner(column->relation)))
		return highest;
	LockRelationOid(column->relation, AccessShareLock);

	/*
	 * Only now: the column may have been renamed, or dropped, during the wait
	 * for the lock.
	 */
	name = hilo_column_name(column);
	if (name == NULL)
		return highest;
	hilo_id_reader_init(&reader, column, sought->counter);
	has_shards = hilo_node_has_shards(column->relation);
	if (has_shards)
		hilo_node_check_isolation(column->relation);
	foreach_oid(oid, has_shards ? list_make1_oid(column->relation) :
				find_all_inheritors(column->relation, AccessShareLock, NULL))
	{
		HiloColumn	part = {oid, get_attnum(oid, name)};
		int64		number = sought->above;
		int			count = list_length(sought->read);
		Relation	rel;
		char		kind;

		/*
		 * A child may draw like its parent, whose column includes the
		 * child's.
		 */
		sought->read = hilo_add_column(sought->read, &part);
		if (list_length(sought->read) == count ||
			part.attnum == InvalidAttrNumber || !OidIsValid(hilo_table_owner(oid)))
			continue;
		rel = relation_open(oid, NoLock);
		kind = rel->rd_rel->relkind;
		if (!has_shards && kind == RELKIND_RELATION)
			number = read_highest(rel, part.attnum, &reader, sought);
		else if (has_shards || kind != RELKIND_PARTITIONED_TABLE)
			number = query_highest(rel, part.attnum, &reader, sought);
		relation_close(rel, NoLock);
		highest = Max(highest, number);
	}
	return highest;
}

/* A table need not be read below what was found in another one. */
void
hilo_columns_highest(List *columns, HiloSought *sought)
{
	foreach_ptr(HiloColumn, column, columns)
	{
		sought->above = hilo_column_highest(column, sought);
		hilo_catalog_announce(column->relation);
	}
}

bool
hilo_column_has_others(const HiloColumn *column, HiloCollection *collection)
{
	const char *name = quote_identifier(hilo_column_name(column));
	HiloIdReader reader;
	HiloIdReader any = {.counted = HILO_COUNT_ALL};

	hilo_id_reader_init(&reader, column, collection);
	if (!reader.holds_ids)
		return false;
	return hilo_owner_query_number(hilo_table_owner(column->relation),
								   psprintf("SELECT pg_catalog.count(*) FROM (SELECT FROM %s WHERE %s IS NOT NULL"
											" AND %s IS NULL LIMIT 1) o",
											hilo_sql_table(column->relation),
											counted_number(name, &any),
											counted_number(name, &reader))) > 0;
}

void
hilo_warn_too_far(const char *what, const char *name, int64 number, const char *why,
				  const char *function)
{
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("%s \"%s\" is not moved to " INT64_FORMAT, what, name, number),
			 errdetail("%s", why),
			 errhint("If ids should continue above it, use %s.", function)));
}

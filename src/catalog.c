/*-------------------------------------------------------------------------
 *
 * catalog.c
 *	  Which tables are ours, and when they or their contents may have changed.
 *
 * A draw should cost little, so a session keeps what it has read: the ranges that it holds,
 * the options of a collection, where its ids are.  It has to hear when that may be out of date,
 * and it should not have to read anything shared to find out.
 *
 * The server's own invalidation messages do both.  Each session receives a message when the
 * relcache entry of a table is to be rebuilt, at the start of a transaction and whenever it
 * locks a relation.  We register one callback for them, and count: each message about one of
 * our tables raises hilo_generation.  What a session has read is valid as long as the
 * generation is the one that it noted before reading.
 *
 * Messages about an altered or dropped table come by themselves.  When a row is seeded,
 * configured or dropped in place, hilo_catalog_announce() sends one, at once.  An ordinary
 * claim sends none, because it makes nothing invalid.
 *
 * A server has only ten places for relcache callbacks, for all libraries.  So this file takes
 * one, and other files of the library that have to know of changes register here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "storage/lmgr.h"
#include "storage/sinval.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "compat.h"
#include "catalog.h"

uint64		hilo_generation = 1;

/* A column that a table must have. */
typedef struct OurColumn
{
	const char *name;			/* NULL: no more */
	Oid			type;
} OurColumn;

/*
 * One of our tables: the columns with which it must begin, and how it was last opened.
 *
 * The fields after the columns are a cache, filled when the table is opened.  The OID is
 * kept even if the table may have been replaced since: as long as this session uses
 * something that it has read from that table, it must hear of changes to it.
 */
typedef struct OurTable
{
	const char *name;
	const OurColumn *columns;

	Oid			oid;
	bool		was_opened;		/* by this session, at any time */
	bool		is_current;		/* the OID and the layout were checked since
								 * the last message about the table */
	Oid			name_index;		/* the index on its names; InvalidOid: to be
								 * looked up */
} OurTable;

static const OurColumn counter_columns[] = {
	{"max", INT8OID}, {"max_value", INT8OID}, {"claim_low", INT8OID}, {"claim", INT8OID},
	{"epoch", INT8OID}, {"home", INT8OID}, {"claimed_at", TIMESTAMPTZOID},
	{"claim_rate", FLOAT8OID}, {"hub", INT8OID}, {"opening", INT8OID}, {"opening_id", INT8OID},
	{"floor", INT8OID}, {"ahead", INT8OID}, {"logged_at", LSNOID}, {"logged_in", OIDOID},
	{"range_size", INT4OID}, {"max_range_size", INT4OID}, {"flags", INT4OID},
	{"node_tag", NAMEOID}, {"separator", CHAROID}, {"collection", TEXTOID}, {NULL}
};

static const OurColumn binding_columns[] = {
	{"collection", TEXTOID}, {"schema_name", NAMEOID}, {"table_name", NAMEOID},
	{"column_name", NAMEOID}, {"owner", NAMEOID}, {NULL}
};

static OurTable tables[HILO_TABLES] = {
	[HILO_TABLE_COUNTERS] = {"hilo", counter_columns},
	[HILO_TABLE_BINDINGS] = {"binding", binding_columns}
};

/* The functions that are called about changes to relations, one each of look and node. */
static HiloRelationChanged listeners[2];
static int	listener_count = 0;

/*
 * Relcache callback, called whenever messages are received: also in the middle of other code,
 * with locks held.  So it only remembers that something has changed.  InvalidOid stands for
 * all relations, after so many messages that some were lost.
 */
static void
relation_changed(Datum arg, Oid relid)
{
	for (int i = 0; i < listener_count; i++)
		listeners[i] (relid);
	for (int i = 0; i < HILO_TABLES; i++)
	{
		if (OidIsValid(relid) && relid != tables[i].oid)
			continue;
		tables[i].is_current = false;
		tables[i].name_index = InvalidOid;
		hilo_generation++;
	}
}

void
hilo_catalog_init(void)
{
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
}

void
hilo_on_relation_change(HiloRelationChanged changed)
{
	Assert(listener_count < (int) lengthof(listeners));
	listeners[listener_count++] = changed;
}

/*
 * The extension
 */

/*
 * Version 15 has no function for the schema of an extension, and there is no syscache for the
 * catalog, so this searches its index.
 */
Oid
hilo_catalog_schema(void)
{
	Oid			schema = InvalidOid;
	Relation	rel = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber,
				F_NAMEEQ, CStringGetDatum(HILO_EXTENSION));
	scan = systable_beginscan(rel, ExtensionNameIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		schema = ((Form_pg_extension) GETSTRUCT(tuple))->extnamespace;
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	if (!OidIsValid(schema))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("extension \"%s\" is not installed in this database",
						HILO_EXTENSION)));
	return schema;
}

Oid
hilo_catalog_function(Oid schema, const char *name, const Oid *types, int count)
{
	return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(name),
						   PointerGetDatum(buildoidvector(types, count)),
						   ObjectIdGetDatum(schema));
}

/* A relation that a function is called with may have been dropped since. */
AttrNumber
hilo_catalog_column(Oid relation, const char *column)
{
	char	   *name = get_rel_name(relation);
	AttrNumber	attnum = get_attnum(relation, column);

	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relation)));
	if (attnum <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist", column, name)));
	return attnum;
}

/*
 * hilo.seed() is in our schema; seed_identity_for() is in the one that was chosen when the
 * extension was created.
 */
bool
hilo_catalog_may_seed(bool identity, Oid role)
{
	Oid			types[] = {TEXTOID, INT8OID, BOOLOID};
	Oid			schema = identity ? hilo_catalog_schema() : get_namespace_oid(HILO_SCHEMA, false);
	Oid			function = hilo_catalog_function(schema, identity ? "seed_identity_for" : "seed",
												 types, lengthof(types));

	return OidIsValid(function) && hilo_may_execute(function, role);
}

/*
 * Tables
 */

/*
 * The table is found by its name, without the search_path.  Only a role that may create objects
 * in our schema could put another one there; hilo_catalog_open() checks what it is.
 */
Oid
hilo_catalog_table(HiloTable which)
{
	OurTable   *table = &tables[which];
	Oid			oid;

	if (table->is_current)
		return table->oid;

	oid = get_relname_relid(table->name, get_namespace_oid(HILO_SCHEMA, true));
	if (!OidIsValid(oid))
	{
		/* Without the extension, that is what the user has to be told. */
		(void) hilo_catalog_schema();
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table \"%s.%s\" of extension \"%s\" does not exist",
						HILO_SCHEMA, table->name, HILO_EXTENSION)));
	}
	return oid;
}

/*
 * Raise an error unless the locked table is as the extension created it.
 *
 * The code that changes rows in place writes them by their layout, so this is the check that
 * keeps it from writing into anything else.  Columns that were appended do no harm, because
 * they come after the name.  A table that is not permanent would lose its counters in a
 * crash.
 *
 * A role that is not a superuser could have made a table of that name and layout, with
 * triggers and expressions that run as the role that draws.  So the table must belong to the
 * extension, which must be there: it can be dropped while a statement goes on drawing.  That
 * is looked up only for such an owner, because it takes an index scan.
 */
static void
check_layout(const OurTable *table, Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);
	Form_pg_class form = rel->rd_rel;
	const OurColumn *column;

	for (column = table->columns; column->name != NULL; column++)
	{
		int			i = column - table->columns;
		Form_pg_attribute att = i < desc->natts ? TupleDescAttr(desc, i) : NULL;

		if (att == NULL || att->attisdropped || att->atttypid != column->type ||
			strcmp(NameStr(att->attname), column->name) != 0)
			break;
	}
	if (column->name == NULL && form->relkind == RELKIND_RELATION &&
		form->relam == HEAP_TABLE_AM_OID && form->relpersistence == RELPERSISTENCE_PERMANENT &&
		(superuser_arg(form->relowner) ||
		 getExtensionOfObject(RelationRelationId, RelationGetRelid(rel)) ==
		 get_extension_oid(HILO_EXTENSION, false)))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("table \"%s.%s\" is not as extension \"%s\" created it",
					HILO_SCHEMA, table->name, HILO_EXTENSION),
			 column->name == NULL ? 0 :
			 errdetail("Column \"%s\" is missing, or was changed.", column->name),
			 errhint("Dump the table, re-create the extension, and restore the dump.")));
}

/*
 * Look up the table, lock it, and only then check what it is, unless that was done since the
 * last message about it.  The generation is compared afterwards: if a message was received
 * during the checks, they have to be repeated the next time.
 *
 * The table may be dropped between the look-up and the lock; then it is looked up again.
 */
Relation
hilo_catalog_open(HiloTable which, LOCKMODE lockmode)
{
	OurTable   *table = &tables[which];
	Relation	rel;

	while ((rel = try_table_open(hilo_catalog_table(which), lockmode)) == NULL)
		CHECK_FOR_INTERRUPTS();
	if (!table->is_current)
	{
		uint64		generation = hilo_generation;

		table->oid = RelationGetRelid(rel);
		table->was_opened = true;
		check_layout(table, rel);
		table->is_current = generation == hilo_generation;
	}
	return rel;
}

bool
hilo_catalog_has_opened(HiloTable which)
{
	return tables[which].was_opened;
}

/*
 * It suffices to remember the OID: relation_changed() compares it.  Whether the table is the
 * right one is checked when it is opened.
 */
void
hilo_catalog_heed(HiloTable which, Oid oid)
{
	tables[which].oid = oid;
}

/*
 * An index qualifies if it has an entry for every row, in the order in which it is searched.
 * There may be several: REINDEX CONCURRENTLY builds a second one, which becomes valid when it
 * is complete.  As this session has locked the table, the one that is found here is kept up
 * to date for as long as that, even if another one replaces it meanwhile.
 */
Oid
hilo_catalog_name_index(HiloTable which, Relation rel)
{
	OurTable   *table = &tables[which];
	uint64		generation = hilo_generation;
	Oid			found = InvalidOid;

	if (OidIsValid(table->name_index))
		return table->name_index;
	foreach_oid(oid, RelationGetIndexList(rel))
	{
		Relation	index = index_open(oid, AccessShareLock);
		Form_pg_index form = index->rd_index;

		if (index->rd_rel->relam == BTREE_AM_OID && form->indisvalid &&
			form->indnatts == 1 && form->indkey.values[0] == HILO_NAME_ATTNUM(which) &&
			index->rd_indcollation[0] == C_COLLATION_OID &&
			heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL))
			found = oid;
		index_close(index, AccessShareLock);
	}
	if (!OidIsValid(found))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("table \"%s.%s\" has no valid index on its name column",
						HILO_SCHEMA, table->name),
				 errhint("Run REINDEX TABLE, or create the index again.")));
	if (generation == hilo_generation)
		table->name_index = found;
	return found;
}

/*
 * The server takes the catalogs' snapshot anew at each call for a table that it has no syscache of,
 * also under REPEATABLE READ, whose own one shows rows as they were when the transaction began.
 */
Snapshot
hilo_snapshot_now(Oid table, CommandId command)
{
	Snapshot	snapshot = RegisterSnapshot(GetCatalogSnapshot(table));

	snapshot->curcid = command;
	return snapshot;
}

/*
 * CacheInvalidateRelcache() would send the message when the transaction commits, and not at all
 * if it is rolled back.  But the row has changed already, and stays so.
 */
void
hilo_catalog_announce(Oid table)
{
	SharedInvalidationMessage message;

	memset(&message, 0, sizeof(message));
	message.rc.id = SHAREDINVALRELCACHE_ID;
	message.rc.dbId = MyDatabaseId;
	message.rc.relId = table;
	SendSharedInvalidMessages(&message, 1);

	/*
	 * This session receives its own message later, at the earliest when it
	 * locks something.  The next draw must not use its range until then.
	 */
	relation_changed((Datum) 0, table);
}

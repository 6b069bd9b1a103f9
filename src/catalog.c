/*-------------------------------------------------------------------------
 *
 * catalog.c
 *	  Which tables are ours, and when they or their contents may have changed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "commands/trigger.h"
#include "nodes/bitmapset.h"
#include "optimizer/optimizer.h"
#include "storage/lmgr.h"
#include "storage/sinval.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "catalog.h"

#define EXTENSION_NAME		"hilo"

uint64		hilo_generation = 1;

/* A column that a table must have. */
typedef struct OurColumn
{
	const char *name;			/* NULL: no more */
	Oid			type;
} OurColumn;

/*
 * One of our tables: the columns with which it must begin, and how it was last
 * opened.  The OID is kept even if the table may have been replaced: messages
 * about it matter as long as something read from it is in use.
 */
typedef struct OurTable
{
	const char *name;
	const OurColumn *columns;

	Oid			oid;
	bool		was_opened;		/* by this session, at any time */
	bool		is_current;		/* may be opened without a lookup, and is as
								 * it should be */
	bool		indexes_current;	/* and so are its indexes, of which */
	Oid			name_index;		/* this one is on its names; InvalidOid: none */
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

/* Those who are told about changes to relations. */
static HiloRelationChanged listeners[3];
static int	listener_count = 0;

/* Relcache callback. */
static void
relation_changed(Datum arg, Oid relid)
{
	for (int i = 0; i < listener_count; i++)
		listeners[i] (relid);
	for (int i = 0; i < HILO_TABLES; i++)
	{
		if (OidIsValid(relid) && relid != tables[i].oid)
			continue;
		tables[i].is_current = tables[i].indexes_current = false;
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
 * The extension's row; all zero: it is not installed.  A query would keep its locks
 * until the end of the transaction, which may draw.
 */
static FormData_pg_extension
look_up_extension(void)
{
	FormData_pg_extension extension = {0};
	Relation	rel = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber,
				F_NAMEEQ, CStringGetDatum(EXTENSION_NAME));
	scan = systable_beginscan(rel, ExtensionNameIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		memcpy(&extension, GETSTRUCT(tuple),
			   offsetof(FormData_pg_extension, extrelocatable));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return extension;
}

Oid
hilo_catalog_schema(void)
{
	FormData_pg_extension extension = look_up_extension();

	if (!OidIsValid(extension.oid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("extension \"%s\" is not installed in this database",
						EXTENSION_NAME)));
	return extension.extnamespace;
}

Oid
hilo_catalog_owner(void)
{
	return look_up_extension().extowner;
}

Oid
hilo_catalog_function(Oid schema, const char *name, const Oid *types, int count)
{
	return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(name),
						   PointerGetDatum(buildoidvector(types, count)),
						   ObjectIdGetDatum(schema));
}

/* True if the role may execute the function in that schema. */
static bool
may_execute_in(Oid schema, const char *name, const Oid *types, int count, Oid role)
{
	Oid			function = hilo_catalog_function(schema, name, types, count);

	return OidIsValid(function) &&
		hilo_may_execute(function, role);
}

bool
hilo_catalog_may_seed(bool identity, Oid role)
{
	Oid			types[] = {TEXTOID, INT8OID, BOOLOID};

	return identity ?
		may_execute_in(hilo_catalog_schema(), "seed_identity_for", types, 3, role) :
		may_execute_in(get_namespace_oid(HILO_SCHEMA, false), "seed", types, 3, role);
}

/*
 * Tables
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
		(void) hilo_catalog_schema();
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table \"%s.%s\" of extension \"%s\" does not exist",
						HILO_SCHEMA, table->name, EXTENSION_NAME)));
	}
	return oid;
}

/* The first of our columns that is not where it should be; NULL: none. */
static const char *
lost_column(const OurTable *table, Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);

	for (int i = 0; table->columns[i].name != NULL; i++)
	{
		const OurColumn *column = &table->columns[i];
		Form_pg_attribute att = i < desc->natts ? TupleDescAttr(desc, i) : NULL;

		if (att == NULL || att->attisdropped || att->atttypid != column->type ||
			strcmp(NameStr(att->attname), column->name) != 0)
			return column->name;
	}
	return NULL;
}

/*
 * The expressions or the predicate of an index, as pg_index has them in that column.
 * The functions of the server would evaluate what is constant in them: that runs code
 * of the index's owner.
 */
static List *
index_nodes(Relation index, AttrNumber attnum)
{
	bool		isnull;
	Datum		stored = SysCacheGetAttr(INDEXRELID, index->rd_indextuple, attnum, &isnull);

	return isnull ? NIL : (List *) stringToNode(TextDatumGetCString(stored));
}

/* True if the index depends only on the column attnum. */
static bool
depends_on_name_only(Relation index, AttrNumber attnum)
{
	Form_pg_index form = index->rd_index;
	Bitmapset  *columns = NULL;
	Bitmapset  *name;

	for (int i = 0; i < form->indnatts; i++)
	{
		if (form->indkey.values[i] != attnum &&
			form->indkey.values[i] != InvalidAttrNumber)
			return false;
	}

	pull_varattnos((Node *) index_nodes(index, Anum_pg_index_indexprs), 1, &columns);
	pull_varattnos((Node *) index_nodes(index, Anum_pg_index_indpred), 1, &columns);
	name = bms_make_singleton(attnum - FirstLowInvalidHeapAttributeNumber);
	return bms_is_subset(columns, name);
}

/*
 * Find a valid btree index on the name alone.  Raise an error if rows change in place, and
 * there is an index that would not follow them.  One on anything but the name
 * misses changes; one that is not unique could have two entries for a row that
 * is created and frozen while the index is built concurrently.
 */
static void
check_indexes(OurTable *table, Relation rel)
{
	uint64		generation = hilo_generation;
	AttrNumber	name = HILO_NAME_ATTNUM(table - tables);
	List	   *indexes;

	if (table->indexes_current)
		return;
	indexes = RelationGetIndexList(rel);
	table->name_index = InvalidOid;
	foreach_oid(oid, indexes)
	{
		Relation	index = index_open(oid, AccessShareLock);
		Form_pg_index form = index->rd_index;

		if (table == &tables[HILO_TABLE_COUNTERS] &&
			(!form->indisunique || !form->indimmediate ||
			 !depends_on_name_only(index, name)))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("table \"%s.%s\" must not have the index \"%s\"",
							HILO_SCHEMA, table->name, RelationGetRelationName(index)),
					 errdetail("Rows are changed in place, so an index must be unique and depend only on the name."),
					 errhint("Drop it.")));
		if (index->rd_rel->relam == BTREE_AM_OID &&
			form->indisvalid && form->indisready && form->indnatts == 1 &&
			form->indkey.values[0] == name &&
			index->rd_indcollation[0] == C_COLLATION_OID &&
			heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL))
			table->name_index = RelationGetRelid(index);
		index_close(index, AccessShareLock);
	}
	list_free(indexes);
	table->indexes_current = generation == hilo_generation;
}

/*
 * Warn, once per session, if a guard was weakened, as by restoring with
 * --disable-triggers.
 */
static void
warn_if_weakened(const OurTable *table, Relation rel)
{
	static bool warned = false;
	int			guards = 0;

	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		if (rel->trigdesc->triggers[i].tgenabled == TRIGGER_FIRES_ALWAYS)
			guards++;
	}
	if (guards >= 2 || warned)
		return;
	warned = true;
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("the triggers that guard table \"%s.%s\" are not set to ENABLE ALWAYS",
					HILO_SCHEMA, table->name),
			 errhint("Run ALTER TABLE %s.%s ENABLE ALWAYS TRIGGER guard_rows, ENABLE ALWAYS TRIGGER guard_table.",
					 HILO_SCHEMA, table->name)));
}

/*
 * Warn, once per session, of a column that was appended: a dump names it, and the
 * extension makes the table without it.
 */
static void
warn_if_appended(const OurTable *table, Relation rel)
{
	static bool warned = false;
	TupleDesc	desc = RelationGetDescr(rel);
	int			i = 0;

	while (table->columns[i].name != NULL)
		i++;
	while (i < desc->natts && TupleDescAttr(desc, i)->attisdropped)
		i++;
	if (i >= desc->natts || warned)
		return;
	warned = true;
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("column \"%s\" of table \"%s.%s\" does not belong to extension \"%s\"",
					NameStr(TupleDescAttr(desc, i)->attname), HILO_SCHEMA, table->name, EXTENSION_NAME),
			 errdetail("Dumps of the table cannot be restored."),
			 errhint("Drop the column.")));
}

/*
 * Raise an error unless the locked table is as the extension created it.  That it
 * belongs to the extension is looked up only if its owner is not a superuser.
 */
static void
check_table(OurTable *table, Relation rel)
{
	const char *lost = lost_column(table, rel);

	if (lost != NULL || rel->rd_rel->relkind != RELKIND_RELATION ||
		rel->rd_rel->relam != HEAP_TABLE_AM_OID ||
		(!superuser_arg(rel->rd_rel->relowner) &&
		 getExtensionOfObject(RelationRelationId, RelationGetRelid(rel)) !=
		 get_extension_oid(EXTENSION_NAME, true)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s.%s\" is not as extension \"%s\" created it",
						HILO_SCHEMA, table->name, EXTENSION_NAME),
				 lost == NULL ? 0 :
				 errdetail("Column \"%s\" is missing, or was changed.", lost),
				 errhint("Dump the table, re-create the extension, and restore the dump.")));
	if (table == &tables[HILO_TABLE_COUNTERS] &&
		rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s.%s\" would lose its counters in a crash",
						HILO_SCHEMA, table->name),
				 errhint("Make it permanent with ALTER TABLE ... SET LOGGED.")));
	warn_if_weakened(table, rel);
	warn_if_appended(table, rel);
}

Relation
hilo_catalog_open(HiloTable which, LOCKMODE lockmode)
{
	OurTable   *table = &tables[which];
	Relation	rel = NULL;

	/*
	 * If it is still current after it has been locked, no catalog lookup is
	 * needed.
	 */
	if (table->is_current)
	{
		Oid			oid = table->oid;

		LockRelationOid(oid, lockmode);
		if (table->is_current)
			rel = table_open(oid, NoLock);
		else
			UnlockRelationOid(oid, lockmode);
	}

	/* It may be dropped in the meantime. */
	while (rel == NULL)
	{
		rel = try_table_open(hilo_catalog_table(which), lockmode);
		CHECK_FOR_INTERRUPTS();
	}
	if (!table->is_current)
	{
		uint64		generation = hilo_generation;

		table->oid = RelationGetRelid(rel);
		table->was_opened = true;
		check_table(table, rel);
		table->is_current = generation == hilo_generation;
	}

	/* A row that is only read, where it was last, needs no index. */
	if (lockmode != AccessShareLock)
		check_indexes(table, rel);
	return rel;
}

bool
hilo_catalog_has_opened(HiloTable which)
{
	return tables[which].was_opened;
}

void
hilo_catalog_heed(HiloTable which, Oid oid)
{
	tables[which].oid = oid;
}

Oid
hilo_catalog_name_index(HiloTable which, Relation rel)
{
	Oid			index;

	check_indexes(&tables[which], rel);
	index = tables[which].name_index;
	if (!OidIsValid(index))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("table \"%s.%s\" has no valid index on its name column",
						HILO_SCHEMA, tables[which].name),
				 errhint("Run REINDEX TABLE, or create the index again.")));
	return index;
}

Snapshot
hilo_snapshot_now(Oid table, CommandId command)
{
	Snapshot	snapshot = RegisterSnapshot(GetCatalogSnapshot(table));

	snapshot->curcid = command;
	return snapshot;
}

void
hilo_catalog_announce(Oid table)
{
	SharedInvalidationMessage message;

	memset(&message, 0, sizeof(message));
	message.rc.id = SHAREDINVALRELCACHE_ID;
	message.rc.dbId = MyDatabaseId;
	message.rc.relId = table;
	SendSharedInvalidMessages(&message, 1);

	/* This session receives its own message later. */
	relation_changed((Datum) 0, table);
}

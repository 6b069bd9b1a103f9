/*-------------------------------------------------------------------------
 *
 * catalog.c
 *	  Which tables and functions are ours, and when that may have changed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_am.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "storage/lmgr.h"
#include "storage/sinval.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "catalog.h"
#include "compat.h"
#include "counter_row.h"

#define EXTENSION_NAME		"hilo"
#define COUNTER_TABLE_NAME	"hilo"

uint64		hilo_catalog_generation = 1;

/*
 * The table hilo as last opened, and whether it may be opened again without
 * looking it up.  The OID is kept when that is doubtful: messages about the
 * table must be heard as long as something read from it is in use.
 */
static Oid	counter_table = InvalidOid;
static bool counter_table_is_current = false;

static void (*notify_changed) (void);

/*
 * Relcache callback: may come at any time, so it only marks.
 */
static void
relation_changed(Datum arg, Oid relid)
{
	if (OidIsValid(relid) && relid != counter_table)
		return;

	counter_table_is_current = false;
	hilo_catalog_generation++;
	notify_changed();
}

void
hilo_catalog_init(void (*changed) (void))
{
	notify_changed = changed;
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
}

/*
 * Schema of the extension.  The server has a function for that, but only from
 * version 16 on for others to call.
 */
static Oid
extension_schema(void)
{
	Oid			schema = InvalidOid;
	Relation	rel;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;

	rel = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber,
				F_NAMEEQ, CStringGetDatum(EXTENSION_NAME));
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
						EXTENSION_NAME)));
	return schema;
}

/*
 * Does the table have the columns that HiloCounterRow describes, in a heap?
 */
static bool
has_counter_layout(Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);

	if (rel->rd_rel->relkind != RELKIND_RELATION ||
		rel->rd_rel->relam != HEAP_TABLE_AM_OID ||
		desc->natts != HILO_ANUM_NAME)
		return false;

	for (int i = 0; i < HILO_ANUM_NAME; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		Oid			type = i < HILO_BIGINT_COLUMNS ? INT8OID :
			i < HILO_ANUM_NAME - 1 ? BOOLOID : TEXTOID;

		if (att->attisdropped || att->atttypid != type)
			return false;
	}
	return true;
}

static void
check_counter_table(Relation rel)
{
	if (!has_counter_layout(rel))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" is not as the extension \"%s\" made it",
						RelationGetRelationName(rel), EXTENSION_NAME),
				 errhint("Run ALTER EXTENSION hilo UPDATE, or undo what was done to the table.")));

	if (rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" would lose its counters in a crash",
						RelationGetRelationName(rel)),
				 errhint("Make it permanent with ALTER TABLE ... SET LOGGED.")));

	/*
	 * Rows changed in storage that a rollback throws away would be back to
	 * what they were before.
	 */
	if (hilo_storage_is_new(rel))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot change counters in a transaction that has rewritten table \"%s\"",
						RelationGetRelationName(rel)),
				 errhint("Commit first.")));
}

Oid
hilo_catalog_table(void)
{
	Oid			table;

	if (counter_table_is_current)
		return counter_table;

	table = get_relname_relid(COUNTER_TABLE_NAME, extension_schema());
	if (!OidIsValid(table))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table \"%s\" of extension \"%s\" does not exist",
						COUNTER_TABLE_NAME, EXTENSION_NAME)));
	return table;
}

/* Look the table up and open it; NULL if it was dropped meanwhile. */
static Relation
look_up_and_open(LOCKMODE lockmode)
{
	Oid			table = hilo_catalog_table();
	Relation	rel = try_table_open(table, lockmode);

	if (rel != NULL)
	{
		counter_table = table;
		counter_table_is_current = true;
	}
	return rel;
}

Relation
hilo_catalog_open(LOCKMODE lockmode)
{
	Relation	rel = NULL;

	/* What is still current once it is locked needs no look into catalogs. */
	if (counter_table_is_current)
	{
		LockRelationOid(counter_table, lockmode);
		if (counter_table_is_current)
			rel = table_open(counter_table, NoLock);
		else
			UnlockRelationOid(counter_table, lockmode);
	}

	while (rel == NULL)
	{
		rel = look_up_and_open(lockmode);
		CHECK_FOR_INTERRUPTS();
	}

	check_counter_table(rel);
	return rel;
}

/*
 * Lock the table's indexes until the end of the transaction, so that opening
 * one does not have to wait.
 */
static bool
lock_indexes_at_exit(Relation rel)
{
	List	   *indexes = RelationGetIndexList(rel);
	ListCell   *lc;

	foreach(lc, indexes)
	{
		if (!ConditionalLockRelationOid(lfirst_oid(lc), AccessShareLock))
			return false;
	}
	list_free(indexes);
	return true;
}

Relation
hilo_catalog_open_at_exit(Oid table, LOCKMODE lockmode)
{
	Relation	rel;

	if (!ConditionalLockRelationOid(table, lockmode))
		return NULL;
	rel = try_relation_open(table, NoLock);
	if (rel == NULL)
	{
		UnlockRelationOid(table, lockmode);
		return NULL;
	}
	if (!has_counter_layout(rel) || !lock_indexes_at_exit(rel))
	{
		relation_close(rel, lockmode);
		return NULL;
	}
	return rel;
}

Oid
hilo_catalog_name_index(Relation table)
{
	List	   *indexes = RelationGetIndexList(table);
	ListCell   *lc;
	Oid			found = InvalidOid;

	foreach(lc, indexes)
	{
		Oid			oid = lfirst_oid(lc);
		Relation	index = index_open(oid, AccessShareLock);
		Form_pg_index form = index->rd_index;

		if (form->indisunique && form->indisvalid && form->indisready &&
			form->indimmediate && index->rd_rel->relam == BTREE_AM_OID &&
			form->indnkeyatts == 1 &&
			form->indkey.values[0] == HILO_ANUM_NAME &&
			index->rd_indcollation[0] == C_COLLATION_OID &&
			RelationGetIndexPredicate(index) == NIL)
			found = oid;
		index_close(index, AccessShareLock);
		if (OidIsValid(found))
			break;
	}
	list_free(indexes);

	if (!OidIsValid(found))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("table \"%s\" has no valid unique index on its name column",
						RelationGetRelationName(table)),
				 errhint("Run REINDEX TABLE, or create the extension anew.")));
	return found;
}

bool
hilo_catalog_may_seed(void)
{
	Oid			args[3] = {TEXTOID, INT8OID, BOOLOID};
	char	   *schema = get_namespace_name(extension_schema());
	Oid			function;

	function = LookupFuncName(list_make2(makeString(schema),
										 makeString("hilo_seed")),
							  lengthof(args), args, false);
	return hilo_may_execute(function, GetUserId());
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

	/* Our own copy of the message comes later. */
	relation_changed((Datum) 0, table);
}

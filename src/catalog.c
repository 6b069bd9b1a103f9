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
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "access/sysattr.h"
#include "catalog/pg_am.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "nodes/bitmapset.h"
#include "optimizer/optimizer.h"
#include "parser/parse_func.h"
#include "storage/lmgr.h"
#include "storage/sinval.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "binding_row.h"
#include "catalog.h"
#include "compat.h"
#include "counter_row.h"

#define EXTENSION_NAME		"hilo"

uint64		hilo_catalog_generation = 1;
uint64		hilo_rights_generation = 1;

/*
 * A table as last opened, and whether it may be opened again without looking
 * it up.  The OID is kept when that is doubtful: messages about the table must
 * be heard as long as something read from it is in use.
 */
typedef struct OurTable
{
	const char *name;
	Oid			oid;
	bool		is_current;
	Oid			suggested;		/* where nothing is known */
} OurTable;

static OurTable tables[HILO_TABLES] = {
	[HILO_TABLE_COLLECTIONS] = {"hilo", InvalidOid, false},
	[HILO_TABLE_IDENTITIES] = {"hilo_identity", InvalidOid, false},
	[HILO_TABLE_LEASES] = {"hilo_lease", InvalidOid, false},
	[HILO_TABLE_BINDINGS] = {"hilo_binding", InvalidOid, false}
};

static void (*notify_changed) (void);

/*
 * Relcache callback: may come at any time, so it only marks.
 */
static void
relation_changed(Datum arg, Oid relid)
{
	bool		ours = false;

	for (int i = 0; i < HILO_TABLES; i++)
	{
		if (!OidIsValid(relid) || relid == tables[i].oid)
		{
			tables[i].is_current = false;
			ours = true;
		}
	}

	if (ours)
	{
		hilo_catalog_generation++;
		hilo_rights_generation++;
		notify_changed();
	}
}

/*
 * Syscache callback for what rights depend on: somebody's may have changed.
 */
static void
rights_changed(Datum arg, int cacheid, uint32 hashvalue)
{
	hilo_rights_generation++;
}

void
hilo_catalog_init(void (*changed) (void))
{
	notify_changed = changed;
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);

	CacheRegisterSyscacheCallback(RELOID, rights_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(ATTNUM, rights_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHOID, rights_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, rights_changed, (Datum) 0);
}

/*
 * Read schema and owner of the extension.  The server has a function for the
 * first, but only from version 16 on for others to call.
 */
static void
look_up_extension(Oid *schema, Oid *owner)
{
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
	{
		*schema = ((Form_pg_extension) GETSTRUCT(tuple))->extnamespace;
		*owner = ((Form_pg_extension) GETSTRUCT(tuple))->extowner;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("extension \"%s\" is not installed in this database",
						EXTENSION_NAME)));
}

Oid
hilo_catalog_schema(void)
{
	Oid			schema;
	Oid			owner;

	look_up_extension(&schema, &owner);
	return schema;
}

Oid
hilo_catalog_owner(void)
{
	Oid			schema;
	Oid			owner;

	look_up_extension(&schema, &owner);
	return owner;
}

/*
 * The same, from a table that is known to be ours if there is one, which is
 * cheaper: the extension cannot be moved to another schema.
 */
static Oid
our_schema(void)
{
	for (int i = 0; i < HILO_TABLES; i++)
	{
		Oid			schema = tables[i].is_current ?
			get_rel_namespace(tables[i].oid) : InvalidOid;

		if (OidIsValid(schema))
			return schema;
	}
	return hilo_catalog_schema();
}

static Oid
table_by_name(const char *name)
{
	Oid			oid = get_relname_relid(name, our_schema());

	if (!OidIsValid(oid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table \"%s\" of extension \"%s\" does not exist",
						name, EXTENSION_NAME)));
	return oid;
}

/*
 * Does the table have the columns that HiloCounterRow describes, in a heap;
 * and hilo_lease those of HiloLease, too?
 */
static bool
has_counter_layout(HiloTable which, Relation rel)
{
	static const Oid counter_types[HILO_COUNTER_COLUMNS] = {HILO_COUNTER_TYPES};
	static const Oid lease_types[HILO_LEASE_COLUMNS] = {HILO_LEASE_TYPES};
	bool		is_lease = which == HILO_TABLE_LEASES;
	const Oid  *types = is_lease ? lease_types : counter_types;
	int			columns = is_lease ? HILO_LEASE_COLUMNS : HILO_COUNTER_COLUMNS;
	TupleDesc	desc = RelationGetDescr(rel);

	if (rel->rd_rel->relkind != RELKIND_RELATION ||
		rel->rd_rel->relam != HEAP_TABLE_AM_OID || desc->natts != columns)
		return false;

	for (int i = 0; i < columns; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped || att->atttypid != types[i])
			return false;
	}
	return true;
}

static void
report_wrong_layout(Relation rel)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("table \"%s\" is not as the extension \"%s\" made it",
					RelationGetRelationName(rel), EXTENSION_NAME),
			 errhint("Create the extension anew, with a dump of the table taken before and restored after.")));
}

static void
check_counter_table(HiloTable which, Relation rel, LOCKMODE lockmode)
{
	if (!has_counter_layout(which, rel))
		report_wrong_layout(rel);

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
	if (lockmode >= RowExclusiveLock && hilo_storage_is_new(rel))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot change counters in a transaction that has rewritten table \"%s\"",
						RelationGetRelationName(rel)),
				 errhint("Commit first.")));
}

static void
check_bindings_table(Relation rel)
{
	static const Oid types[HILO_BINDING_COLUMNS] = {HILO_BINDING_TYPES};
	TupleDesc	desc = RelationGetDescr(rel);
	bool		good = desc->natts == HILO_BINDING_COLUMNS;

	for (int i = 0; good && i < HILO_BINDING_COLUMNS; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (OidIsValid(types[i]))
			good = att->atttypid == types[i];
		else
			good = getExtensionOfObject(TypeRelationId, att->atttypid) ==
				get_extension_oid(EXTENSION_NAME, true);
	}
	if (!good)
		report_wrong_layout(rel);
}

Oid
hilo_catalog_table(HiloTable which)
{
	OurTable   *table = &tables[which];

	if (table->is_current)
		return table->oid;

	return table_by_name(table->name);
}

void
hilo_catalog_suggest(HiloTable which, Oid table)
{
	if (!OidIsValid(tables[which].oid))
		tables[which].suggested = table;
}

/*
 * Open the table suggested.  NULL if it is not there, or has lost its name, as
 * one that an update of the extension has replaced.
 */
static Relation
open_suggested(HiloTable which, LOCKMODE lockmode)
{
	Oid			oid = tables[which].suggested;
	Relation	rel;

	if (!OidIsValid(oid))
		return NULL;
	tables[which].suggested = InvalidOid;
	rel = try_relation_open(oid, lockmode);
	if (rel == NULL ||
		strcmp(RelationGetRelationName(rel), tables[which].name) == 0)
		return rel;
	relation_close(rel, lockmode);
	return NULL;
}

/* Look a table up and open it; NULL if it was dropped meanwhile. */
static Relation
look_up_and_open(HiloTable which, LOCKMODE lockmode)
{
	Relation	rel = open_suggested(which, lockmode);

	if (rel == NULL)
		rel = try_table_open(hilo_catalog_table(which), lockmode);
	if (rel != NULL)
	{
		tables[which].oid = RelationGetRelid(rel);
		tables[which].is_current = true;
	}
	return rel;
}

Relation
hilo_catalog_open(HiloTable which, LOCKMODE lockmode)
{
	OurTable   *table = &tables[which];
	Relation	rel = NULL;

	/* What is still current once it is locked needs no look into catalogs. */
	if (table->is_current)
	{
		Oid			oid = table->oid;

		LockRelationOid(oid, lockmode);
		if (table->is_current)
			rel = table_open(oid, NoLock);
		else
			UnlockRelationOid(oid, lockmode);
	}

	while (rel == NULL)
	{
		rel = look_up_and_open(which, lockmode);
		CHECK_FOR_INTERRUPTS();
	}

	if (which == HILO_TABLE_BINDINGS)
		check_bindings_table(rel);
	else
		check_counter_table(which, rel, lockmode);
	return rel;
}

bool
hilo_catalog_index_fits(Relation index, AttrNumber attnum)
{
	Form_pg_index form = index->rd_index;
	Bitmapset  *columns = NULL;
	Bitmapset  *name;

	if (!form->indisunique || !form->indimmediate)
		return false;

	for (int i = 0; i < form->indnatts; i++)
	{
		if (form->indkey.values[i] != attnum &&
			form->indkey.values[i] != InvalidAttrNumber)
			return false;
	}

	pull_varattnos((Node *) RelationGetIndexExpressions(index), 1, &columns);
	pull_varattnos((Node *) RelationGetIndexPredicate(index), 1, &columns);
	name = bms_make_singleton(attnum - FirstLowInvalidHeapAttributeNumber);
	return bms_is_subset(columns, name);
}

/* Is it a btree index on the column attnum, and on nothing else? */
static bool
is_name_index(Relation index, AttrNumber attnum)
{
	return index->rd_rel->relam == BTREE_AM_OID &&
		index->rd_index->indnatts == 1 &&
		index->rd_index->indkey.values[0] == attnum &&
		index->rd_indcollation[0] == C_COLLATION_OID &&
		RelationGetIndexPredicate(index) == NIL;
}

/* The first such index that is valid; InvalidOid: none. */
static Oid
find_name_index(HiloTable which, Relation table, AttrNumber attnum)
{
	List	   *indexes = RelationGetIndexList(table);
	ListCell   *lc;
	Oid			found = InvalidOid;

	foreach(lc, indexes)
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		if (index->rd_index->indisvalid && index->rd_index->indisready &&
			is_name_index(index, attnum) &&
			(which == HILO_TABLE_BINDINGS ||
			 hilo_catalog_index_fits(index, attnum)))
			found = lfirst_oid(lc);
		index_close(index, AccessShareLock);
		if (OidIsValid(found))
			break;
	}
	list_free(indexes);
	return found;
}

Oid
hilo_catalog_name_index(HiloTable which, Relation table, AttrNumber attnum)
{
	Oid			index = find_name_index(which, table, attnum);

	if (!OidIsValid(index))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("table \"%s\" has no valid index on its name column",
						RelationGetRelationName(table)),
				 errhint("Run REINDEX TABLE, or create the extension anew.")));
	return index;
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
hilo_catalog_open_at_exit(HiloTable which, Oid table, LOCKMODE lockmode)
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
	if (!has_counter_layout(which, rel) || !lock_indexes_at_exit(rel) ||
		!OidIsValid(find_name_index(which, rel,
									hilo_catalog_name_attnum(which))))
	{
		relation_close(rel, lockmode);
		return NULL;
	}
	return rel;
}

bool
hilo_catalog_may_seed(HiloTable which)
{
	Oid			args[3] = {TEXTOID, INT8OID, BOOLOID};
	char	   *schema = get_namespace_name(hilo_catalog_schema());
	char	   *name = which == HILO_TABLE_IDENTITIES ?
		"seed_identity_for" : "hilo_seed";
	Oid			function;

	function = LookupFuncName(list_make2(makeString(schema),
										 makeString(name)),
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

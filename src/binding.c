/*-------------------------------------------------------------------------
 *
 * binding.c
 *	  Which columns have been named to collections: rows of hilo.binding.
 *
 * A binding says in words that the ids of a collection are in a column, and is only as good
 * as the names in it.  So nothing has to be done when a table is renamed, dropped or restored:
 * a draw finds the table by its names, or does not, and then ids are not looked at there.
 *
 * The rows are ordinary ones, which a transaction inserts and deletes, and they become visible when
 * it commits.  They are read at each change of the generation, also by transactions that began long
 * before.  So what is read is what is committed now, whatever the snapshot of the query.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relscan.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "binding.h"
#include "catalog.h"
#include "compat.h"
#include "row.h"

/* The columns of hilo.binding.  The names from schema to owner are those of HiloBinding, in order. */
enum
{
	BINDING_COLLECTION = 1,
	BINDING_SCHEMA,
	BINDING_TABLE,
	BINDING_COLUMN,
	BINDING_OWNER,
	BINDING_COLUMNS = BINDING_OWNER
};

/*
 * A row of the table, which is open, palloc'd.  The columns are NOT NULL, but a superuser can
 * change that; such a row names no column, and does not count.
 */
static HiloBinding *
read_binding(Relation rel, HeapTuple tuple)
{
	HiloBinding *binding = palloc0(sizeof(HiloBinding));
	NameData   *names[] = {&binding->schema_name, &binding->table_name,
	&binding->column_name, &binding->owner};
	Oid			schema;
	Oid			relation = InvalidOid;
	char	   *owner = NULL;

	for (int i = 0; i < (int) lengthof(names); i++)
	{
		bool		isnull;
		Datum		value = hilo_getattr(tuple, BINDING_SCHEMA + i, RelationGetDescr(rel), &isnull);

		if (!isnull)
			namestrcpy(names[i], NameStr(*DatumGetName(value)));
	}
	binding->tid = tuple->t_self;

	/*
	 * Find the column by the catalogs alone.  A role that has only got the
	 * names could move the counter by what it writes there, so the owner must
	 * be the one that is recorded.
	 */
	schema = get_namespace_oid(NameStr(binding->schema_name), true);
	if (OidIsValid(schema))
		relation = get_relname_relid(NameStr(binding->table_name), schema);
	if (OidIsValid(relation))
		owner = GetUserNameFromId(GetSysCacheOid1(RELOID, Anum_pg_class_relowner,
												  ObjectIdGetDatum(relation)), true);
	if (owner == NULL || strcmp(owner, NameStr(binding->owner)) != 0)
		return binding;
	if (get_attnum(relation, NameStr(binding->column_name)) > 0)
		binding->relation = relation;
	return binding;
}

/*
 * True if nothing was ever bound in this database: the table has no pages.  To open it would
 * cost a connection's first draw more than this.
 */
static bool
table_is_empty(Oid table)
{
	Oid			storage;
	bool		is_empty;

	LockRelationOid(table, AccessShareLock);
	storage = GetSysCacheOid1(RELOID, Anum_pg_class_relfilenode, ObjectIdGetDatum(table));
	is_empty = OidIsValid(storage) &&
		smgrnblocks(hilo_open_storage(get_rel_tablespace(table), storage), MAIN_FORKNUM) == 0;
	UnlockRelationOid(table, AccessShareLock);
	return is_empty;
}

/*
 * The scan is one with SnapshotAny, and its rows are compared with a snapshot here, so that it
 * leaves no predicate locks.  A session that finds no bindings must hear of the first one, though
 * it has never opened the table.
 */
List *
hilo_bindings(const char *collection)
{
	List	   *bindings = NIL;
	Oid			table = hilo_catalog_table(HILO_TABLE_BINDINGS);
	Relation	rel;
	Snapshot	now;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	hilo_catalog_heed(HILO_TABLE_BINDINGS, table);
	if (table_is_empty(table))
		return NIL;
	rel = hilo_catalog_open(HILO_TABLE_BINDINGS, AccessShareLock);
	now = hilo_snapshot_now(RelationGetRelid(rel), InvalidCommandId);
	ScanKeyInit(&key, BINDING_COLLECTION, BTEqualStrategyNumber, F_TEXTEQ,
				CStringGetTextDatum(collection));
	scan = systable_beginscan(rel, hilo_catalog_name_index(HILO_TABLE_BINDINGS, rel), true,
							  SnapshotAny, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		if (table_tuple_satisfies_snapshot(rel, scan->slot, now))
			bindings = lappend(bindings, read_binding(rel, tuple));
	}
	systable_endscan(scan);
	UnregisterSnapshot(now);
	table_close(rel, AccessShareLock);
	return bindings;
}

/*
 * A row that is there already is left alone: a restore may bring it again, and bind() of a column
 * that is bound has nothing to do.
 *
 * All sessions are told at the commit, so that they look at the ranges that they hold.  Until
 * then, others that bind or unbind wait: the lock conflicts with itself, and is kept.  So it is
 * certain that no other transaction is about to insert the same row.
 */
void
hilo_binding_insert(const char *collection, const HiloBinding *binding)
{
	Relation	rel;
	CatalogIndexState indexes;
	int			natts;
	Datum	   *values;
	bool	   *nulls;

	rel = hilo_catalog_open(HILO_TABLE_BINDINGS, ShareUpdateExclusiveLock);
	foreach_ptr(const HiloBinding, other, hilo_bindings(collection))
	{
		if (memcmp(binding, other, offsetof(HiloBinding, relation)) == 0)
		{
			table_close(rel, NoLock);
			return;
		}
	}

	/* Others may have appended columns to the table, which stay null. */
	natts = RelationGetDescr(rel)->natts;
	values = palloc0(natts * sizeof(Datum));
	nulls = palloc0(natts * sizeof(bool));
	for (int i = BINDING_COLUMNS; i < natts; i++)
		nulls[i] = true;
	values[BINDING_COLLECTION - 1] = CStringGetTextDatum(collection);
	values[BINDING_SCHEMA - 1] = NameGetDatum(&binding->schema_name);
	values[BINDING_TABLE - 1] = NameGetDatum(&binding->table_name);
	values[BINDING_COLUMN - 1] = NameGetDatum(&binding->column_name);
	values[BINDING_OWNER - 1] = NameGetDatum(&binding->owner);
	indexes = CatalogOpenIndexes(rel);
	hilo_insert_tuple(indexes, heap_form_tuple(RelationGetDescr(rel), values, nulls),
					  GetCurrentCommandId(true));
	CatalogCloseIndexes(indexes);
	CacheInvalidateRelcache(rel);
	table_close(rel, NoLock);
	CommandCounterIncrement();
}

/*
 * Raise an error unless the current user may bind a column of the relation, and ids can be looked
 * for there: in tables, whose indexes can be read, and in columns of a type that an index finds
 * exactly.  With a collation that is not deterministic it would also find other texts.
 */
static void
check_can_be_bound(Oid relation, const char *column)
{
	AttrNumber	attnum = hilo_catalog_column(relation, column);
	char	   *name = get_rel_name(relation);
	char		kind = get_rel_relkind(relation);
	Oid			type;
	int32		typmod;
	Oid			collation;

	if (!object_ownercheck(RelationRelationId, relation, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(kind), name);
	if ((kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE) ||
		get_rel_persistence(relation) == RELPERSISTENCE_TEMP)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot bind \"%s\"", name),
				 errdetail("Only tables and partitioned tables that are not temporary can be bound.")));
	get_atttypetypmodcoll(relation, attnum, &type, &typmod, &collation);
	type = getBaseType(type);
	if (type != INT2OID && type != INT4OID && type != INT8OID &&
		((type != TEXTOID && type != VARCHAROID) ||
		 (OidIsValid(collation) && !get_collation_isdeterministic(collation))))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("cannot bind column \"%s\" of table \"%s\"", column, name),
				 errdetail("Its type must be smallint, integer, bigint, text or varchar, with a deterministic collation.")));
}

/*
 * Delete the bindings of a collection: those of a relation, or all if that is invalid; or, with
 * only_lost, those that do not count.  The lock is kept, as when one is inserted.
 */
static int
delete_bindings(const char *collection, Oid relation, bool only_lost)
{
	Relation	rel = hilo_catalog_open(HILO_TABLE_BINDINGS, ShareUpdateExclusiveLock);
	int			count = 0;

	foreach_ptr(HiloBinding, binding, hilo_bindings(collection))
	{
		if ((only_lost || OidIsValid(relation)) && binding->relation != relation)
			continue;
		simple_heap_delete(rel, &binding->tid);
		count++;
	}

	/* Sessions stop looking there, and warning, after the commit. */
	if (count > 0)
		CacheInvalidateRelcache(rel);
	table_close(rel, NoLock);
	CommandCounterIncrement();
	return count;
}

/*
 * Bindings of the collection that do not count go on this occasion.  They are those of a table
 * that was renamed, say, which is now bound under its new name; left alone, each session would
 * warn of them.
 */
void
hilo_binding_add(const char *collection, Oid relation, const char *column)
{
	HiloBinding binding = {0};

	/* It must not be dropped, renamed or given away while it is examined. */
	LockRelationOid(relation, AccessShareLock);
	check_can_be_bound(relation, column);
	namestrcpy(&binding.schema_name, get_namespace_name(get_rel_namespace(relation)));
	namestrcpy(&binding.table_name, get_rel_name(relation));
	namestrcpy(&binding.column_name, column);
	namestrcpy(&binding.owner,
			   GetUserNameFromId(GetSysCacheOid1(RELOID, Anum_pg_class_relowner,
												 ObjectIdGetDatum(relation)), false));
	(void) delete_bindings(collection, InvalidOid, true);
	hilo_binding_insert(collection, &binding);
}

/* Rows of a table that was dropped or renamed can only be deleted together with all others. */
int
hilo_bindings_delete(const char *collection, Oid relation)
{
	return delete_bindings(collection, relation, false);
}

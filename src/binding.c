/*-------------------------------------------------------------------------
 *
 * binding.c
 *	  Which columns have been named to collections: rows of hilo.binding.
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

/* The columns of hilo.binding. */
enum
{
	BINDING_COLLECTION = 1,
	BINDING_SCHEMA,
	BINDING_TABLE,
	BINDING_COLUMN,
	BINDING_OWNER,
	BINDING_COLUMNS = BINDING_OWNER
};

/* The owner of a relation; InvalidOid: it does not exist. */
static Oid
owner_of(Oid relation)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return owner;
}

/*
 * Find the column that a binding names, by the catalogs alone.  A role that has only got
 * the names could move the counter by what it writes there, so the owner must be the one
 * that is recorded.
 */
static void
find_column(HiloBinding *binding)
{
	Oid			schema = get_namespace_oid(NameStr(binding->schema_name), true);
	Oid			relation = InvalidOid;
	char	   *owner = NULL;

	if (OidIsValid(schema))
		relation = get_relname_relid(NameStr(binding->table_name), schema);
	if (OidIsValid(relation))
		owner = GetUserNameFromId(owner_of(relation), true);
	binding->relation = InvalidOid;
	if (owner == NULL || strcmp(owner, NameStr(binding->owner)) != 0)
		return;
	binding->attnum = get_attnum(relation, NameStr(binding->column_name));
	if (binding->attnum > 0)
		binding->relation = relation;
}

/* A row of the table, which is open, palloc'd. */
static HiloBinding *
read_binding(Relation rel, HeapTuple tuple)
{
	HiloBinding *binding = palloc0(sizeof(HiloBinding));
	NameData   *names[] = {&binding->schema_name, &binding->table_name,
	&binding->column_name, &binding->owner};

	for (int i = 0; i < (int) lengthof(names); i++)
	{
		bool		isnull;
		Datum		value = hilo_getattr(tuple, BINDING_SCHEMA + i, RelationGetDescr(rel), &isnull);

		if (!isnull)
			namestrcpy(names[i], NameStr(*DatumGetName(value)));
	}
	find_column(binding);
	return binding;
}

/*
 * Begin a scan for the rows of a collection.  The caller compares them with a snapshot, so that
 * the scan leaves no predicate locks.
 */
static SysScanDesc
begin_binding_scan(Relation rel, const char *collection)
{
	ScanKeyData key;

	ScanKeyInit(&key, BINDING_COLLECTION, BTEqualStrategyNumber, F_TEXTEQ,
				CStringGetTextDatum(collection));
	return systable_beginscan(rel, hilo_catalog_name_index(HILO_TABLE_BINDINGS, rel), true,
							  SnapshotAny, 1, &key);
}

/*
 * True if nothing was ever bound in this database: the table has no pages.  To open it would
 * cost a connection's first draw more than this.
 */
static bool
table_is_empty(Oid table)
{
	HeapTuple	tuple;
	bool		is_empty = false;

	LockRelationOid(table, AccessShareLock);
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
	if (HeapTupleIsValid(tuple))
	{
		Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);

		is_empty = hilo_storage_blocks(form->reltablespace, form->relfilenode) == 0;
		ReleaseSysCache(tuple);
	}
	UnlockRelationOid(table, AccessShareLock);
	return is_empty;
}

List *
hilo_bindings(const char *collection)
{
	List	   *bindings = NIL;
	Oid			table = hilo_catalog_table(HILO_TABLE_BINDINGS);
	Relation	rel;
	Snapshot	now;
	SysScanDesc scan;
	HeapTuple	tuple;

	hilo_catalog_heed(HILO_TABLE_BINDINGS, table);
	if (table_is_empty(table))
		return NIL;
	rel = hilo_catalog_open(HILO_TABLE_BINDINGS, AccessShareLock);
	now = hilo_snapshot_now(RelationGetRelid(rel), InvalidCommandId);
	scan = begin_binding_scan(rel, collection);
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

/* True if both rows say the same. */
static bool
are_same(const HiloBinding *a, const HiloBinding *b)
{
	return strcmp(NameStr(a->schema_name), NameStr(b->schema_name)) == 0 &&
		strcmp(NameStr(a->table_name), NameStr(b->table_name)) == 0 &&
		strcmp(NameStr(a->column_name), NameStr(b->column_name)) == 0 &&
		strcmp(NameStr(a->owner), NameStr(b->owner)) == 0;
}

/*
 * All sessions are told at the commit, so that they look at the ranges that they hold.  Until
 * then, others that bind or unbind wait.
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
		if (are_same(binding, other))
		{
			table_close(rel, NoLock);
			return;
		}
	}

	/* Others may have appended columns. */
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

/* Raise 42809 unless ids of the table can be looked for. */
static void
check_table(Oid relation)
{
	char		kind = get_rel_relkind(relation);

	if ((kind == RELKIND_RELATION || kind == RELKIND_PARTITIONED_TABLE) &&
		get_rel_persistence(relation) != RELPERSISTENCE_TEMP)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("cannot bind \"%s\"", get_rel_name(relation)),
			 errdetail("Only tables and partitioned tables that are not temporary can be bound.")));
}

/* Raise 42804 unless the column can hold ids or numbers that an index finds exactly. */
static void
check_column_type(Oid relation, AttrNumber attnum)
{
	Oid			type;
	int32		typmod;
	Oid			collation;

	get_atttypetypmodcoll(relation, attnum, &type, &typmod, &collation);
	type = getBaseType(type);
	if (type == INT2OID || type == INT4OID || type == INT8OID ||
		((type == TEXTOID || type == VARCHAROID) &&
		 (!OidIsValid(collation) || get_collation_isdeterministic(collation))))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("cannot bind column \"%s\" of table \"%s\"",
					get_attname(relation, attnum, false), get_rel_name(relation)),
			 errdetail("Its type must be smallint, integer, bigint, text or varchar, with a deterministic collation.")));
}

/*
 * Delete the bindings of a collection: those of a relation, or all if that is invalid; or, with
 * only_lost, those that do not count.
 */
static int
delete_bindings(const char *collection, Oid relation, bool only_lost)
{
	Relation	rel = hilo_catalog_open(HILO_TABLE_BINDINGS, ShareUpdateExclusiveLock);
	Snapshot	now = hilo_snapshot_now(RelationGetRelid(rel), InvalidCommandId);
	SysScanDesc scan = begin_binding_scan(rel, collection);
	int			count = 0;
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		if (!table_tuple_satisfies_snapshot(rel, scan->slot, now) ||
			((only_lost || OidIsValid(relation)) &&
			 read_binding(rel, tuple)->relation != relation))
			continue;
		simple_heap_delete(rel, &tuple->t_self);
		count++;
	}
	systable_endscan(scan);
	UnregisterSnapshot(now);
	if (count > 0)
		CacheInvalidateRelcache(rel);
	table_close(rel, NoLock);
	CommandCounterIncrement();
	return count;
}

void
hilo_binding_add(const char *collection, Oid relation, const char *column)
{
	HiloBinding binding = {0};
	char	   *name = get_rel_name(relation);
	AttrNumber	attnum;

	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relation)));
	if (!hilo_owns(relation, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relation)), name);
	check_table(relation);
	attnum = get_attnum(relation, column);
	if (attnum <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist", column, name)));
	check_column_type(relation, attnum);

	namestrcpy(&binding.schema_name, get_namespace_name(get_rel_namespace(relation)));
	namestrcpy(&binding.table_name, name);
	namestrcpy(&binding.column_name, column);
	namestrcpy(&binding.owner, GetUserNameFromId(owner_of(relation), false));
	(void) delete_bindings(collection, InvalidOid, true);
	hilo_binding_insert(collection, &binding);
}

int
hilo_bindings_delete(const char *collection, Oid relation)
{
	return delete_bindings(collection, relation, false);
}

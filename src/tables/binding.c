/*-------------------------------------------------------------------------
 *
 * binding.c
 *	  Rows of hilo.binding: which columns are attached to collections, where the
 *	  documents of identities are, and which roles may draw.
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
#include "access/xact.h"
#include "catalog/namespace.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "storage/bufmgr.h"
#include "storage/lock.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "base/compat.h"
#include "base/sql.h"
#include "counting/catalog.h"
#include "counting/counter.h"
#include "tables/binding.h"
#include "tables/drawing.h"

/* In the order of HiloBindingKind. */
static const char *const kinds[] = {
	"attached", "bound", "allowed"
};

/*
 * Read
 */

HiloBinding *
hilo_binding_read(HeapTuple tuple, TupleDesc desc)
{
	HiloBinding *binding = palloc0(sizeof(HiloBinding));
	char	   *values[HILO_BINDING_COLUMNS];

	for (int i = 0; i < HILO_BINDING_COLUMNS; i++)
	{
		values[i] = SPI_getvalue(tuple, desc, i + 1);
		if (values[i] == NULL)
			values[i] = pstrdup("");
	}
	while (binding->kind < HILO_UNKNOWN &&
		   strcmp(values[HILO_ANUM_BINDING_KIND - 1], kinds[binding->kind]) != 0)
		binding->kind++;
	binding->tid = tuple->t_self;
	binding->collection = values[HILO_ANUM_BINDING_COLLECTION - 1];
	binding->object = atooid(values[HILO_ANUM_BINDING_OBJECT - 1]);
	binding->name = values[HILO_ANUM_BINDING_NAME - 1];
	binding->column = values[HILO_ANUM_BINDING_COLUMN - 1];
	binding->attnum = atoi(values[HILO_ANUM_BINDING_NUMBER - 1]);
	binding->owner = values[HILO_ANUM_BINDING_OWNER - 1];
	binding->was = values[HILO_ANUM_BINDING_WAS - 1];
	binding->sequence = values[HILO_ANUM_BINDING_SEQUENCE - 1];
	binding->sequence_oid = atooid(values[HILO_ANUM_BINDING_SEQUENCE_OID - 1]);
	return binding;
}

/*
 * The rows of a name that are committed now, or were made by this transaction
 * before the command.
 */
static List *
read_rows(const char *name, CommandId command)
{
	Relation	rel = hilo_catalog_open(HILO_TABLE_BINDINGS, AccessShareLock);
	Snapshot	snapshot = hilo_snapshot_now(RelationGetRelid(rel), command);
	List	   *bindings = NIL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, HILO_ANUM_BINDING_COLLECTION, BTEqualStrategyNumber,
				F_TEXTEQ, CStringGetTextDatum(name));
	scan = systable_beginscan(rel, hilo_catalog_name_index(HILO_TABLE_BINDINGS, rel),
							  true, SnapshotAny, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		CHECK_FOR_INTERRUPTS();
		if (table_tuple_satisfies_snapshot(rel, scan->slot, snapshot))
			bindings = lappend(bindings,
							   hilo_binding_read(tuple, RelationGetDescr(rel)));
	}
	systable_endscan(scan);
	UnregisterSnapshot(snapshot);
	table_close(rel, AccessShareLock);
	return bindings;
}

/* The relation with a qualified name, or InvalidOid. */
static Oid
relation_named(const char *name)
{
	List	   *parts;
	Oid			schema;

	if (!SplitIdentifierString(pstrdup(name), '.', &parts) ||
		list_length(parts) != 2)
		return InvalidOid;
	schema = get_namespace_oid(linitial(parts), true);
	return OidIsValid(schema) ? get_relname_relid(lsecond(parts), schema) : InvalidOid;
}

/* The relation with the stored name if the role owns it, else InvalidOid. */
static Oid
owned_relation_named(const char *name, const char *owner)
{
	Oid			role = get_role_oid(owner, true);
	Oid			relation = relation_named(name);

	return OidIsValid(role) && OidIsValid(relation) &&
		hilo_table_owner(relation) == role ? relation : InvalidOid;
}

void
hilo_binding_find_sequence(HiloBinding *binding)
{
	if (!OidIsValid(binding->sequence_oid))
		binding->sequence_oid = relation_named(binding->sequence);
	if (get_rel_relkind(binding->sequence_oid) != RELKIND_SEQUENCE)
		binding->sequence_oid = InvalidOid;
}

/* The qualified name of a relation, or NULL: it may be dropped at any time. */
static char *
name_of_relation(Oid relation)
{
	char	   *name = get_rel_name(relation);
	char	   *schema = get_namespace_name(get_rel_namespace(relation));

	return name == NULL || schema == NULL ? NULL : quote_qualified_identifier(schema, name);
}

bool
hilo_binding_set_relation(HiloBinding *binding, Oid relation,
						  AttrNumber attnum)
{
	HiloColumn	column = {relation, attnum};
	char	   *name = name_of_relation(relation);
	char	   *owner = GetUserNameFromId(hilo_table_owner(relation), true);
	char	   *column_name = hilo_column_name(&column);

	if (name == NULL || owner == NULL || column_name == NULL)
		return false;
	binding->object = relation;
	binding->name = name;
	binding->column = column_name;
	binding->attnum = attnum;
	binding->owner = owner;
	return true;
}

/*
 * The column of a relation that the binding stands for, and the limit; InvalidOid: none.  If
 * there is no attached column as it was recorded, any that draws will do.
 */
static HiloColumn
column_in(const char *name, HiloBinding *binding, Oid relation)
{
	static const HiloColumn none = {InvalidOid};
	HiloColumn	column = {relation, binding->attnum};

	if (!OidIsValid(hilo_table_owner(relation)))
		return none;
	if (relation != binding->object)
		column.attnum = get_attnum(relation, binding->column);
	if (binding->kind == HILO_ATTACHED)
	{
		List	   *columns = hilo_drawing_columns(relation, name);

		binding->limit = hilo_columns_limit(columns);
		foreach_ptr(HiloColumn, drawing, columns)
		{
			if (drawing->attnum == column.attnum || hilo_column_name(&column) == NULL)
				return *drawing;
		}
		return none;
	}
	binding->limit = hilo_column_limit(&column);
	return hilo_column_name(&column) == NULL ? none : column;
}

/*
 * Find what the binding stands for, if it is living, and its present names.  An OID of an
 * attached table may be that of another database, if the row was inserted with its guard
 * disabled: what has it here draws from something else, so the recorded name counts.
 */
static void
find_living(const char *name, HiloBinding *binding)
{
	HiloBinding recorded = *binding;
	HiloColumn	column;
	char	   *sequence;

	binding->limit = PG_INT64_MAX;
	if (binding->kind == HILO_ALLOWED)
	{
		char	   *role = OidIsValid(binding->object) ?
			GetUserNameFromId(binding->object, true) : NULL;

		if (role != NULL)
			binding->owner = role;
		binding->is_old = strcmp(binding->owner, recorded.owner) != 0;
		return;
	}
	column = column_in(name, binding, binding->object);
	if (!OidIsValid(column.relation))
	{
		Oid			named = owned_relation_named(binding->name, binding->owner);

		column = column_in(name, binding, named);
		if (!OidIsValid(hilo_table_owner(binding->object)))
			binding->object = named;
	}
	if (!OidIsValid(column.relation) ||
		!hilo_binding_set_relation(binding, column.relation, column.attnum))
		return;
	binding->living = column;

	/* If the table's OID is one of this database, so is its sequence's. */
	sequence = binding->object == recorded.object &&
		get_rel_relkind(binding->sequence_oid) == RELKIND_SEQUENCE ?
		name_of_relation(binding->sequence_oid) : NULL;
	if (sequence != NULL)
		binding->sequence = sequence;
	binding->is_old = binding->object != recorded.object ||
		strcmp(binding->sequence, recorded.sequence) != 0 ||
		strcmp(binding->name, recorded.name) != 0 ||
		strcmp(binding->column, recorded.column) != 0 ||
		strcmp(binding->owner, recorded.owner) != 0;
}

/* True if one of the bindings stands for the column. */
static bool
is_living(const List *bindings, const HiloColumn *column)
{
	foreach_ptr(const HiloBinding, binding, bindings)
	{
		if (binding->living.relation == column->relation && binding->living.attnum == column->attnum)
			return true;
	}
	return false;
}

/*
 * If an attached column does not draw any more, it may have been replaced, as when its type is
 * changed by way of another column: then the binding stands for the one that draws instead.
 */
static void
find_successor(const char *name, HiloBinding *binding, const List *bindings)
{
	foreach_ptr(HiloColumn, drawing, hilo_drawing_columns(binding->object, name))
	{
		if (is_living(bindings, drawing) ||
			!hilo_binding_set_relation(binding, drawing->relation, drawing->attnum))
			continue;
		binding->living = *drawing;
		binding->is_old = true;
		return;
	}
}

HiloBindings
hilo_bindings(const char *name)
{
	HiloBindings bindings = {read_rows(name, InvalidCommandId),.limit = PG_INT64_MAX};

	foreach_ptr(HiloBinding, binding, bindings.all)
	{
		if (binding->kind != HILO_ALLOWED && OidIsValid(binding->object) &&
			hilo_has_relation_locked(binding->object, AccessExclusiveLock))
			bindings.changing = true;
		find_living(name, binding);
	}
	foreach_ptr(HiloBinding, binding, bindings.all)
	{
		if (binding->kind == HILO_ATTACHED && !OidIsValid(binding->living.relation) &&
			OidIsValid(hilo_table_owner(binding->object)))
			find_successor(name, binding, bindings.all);
		bindings.limit = Min(bindings.limit, binding->limit);
		if (!OidIsValid(bindings.table))
			bindings.table = binding->living.relation;
	}
	return bindings;
}

bool
hilo_bindings_set_limit(const HiloBindings *bindings, HiloCollection *collection)
{
	const HiloRow *row = hilo_collection_row(collection);
	HiloCounterOptions options = {.max_value = bindings->limit};

	bool		lower = options.max_value < row->max_value && row->max < row->max_value;
	bool		raise = options.max_value > row->max_value &&
		!(row->flags & HILO_ROW_OWN_LIMIT);

	if ((lower || raise) && bindings->changing)
		return false;
	if (lower)
		hilo_counter_note_bound(&collection->ref, options.max_value);
	else if (raise)
		hilo_counter_configure(&collection->ref, &options);
	return true;
}

bool
hilo_collection_set_limit(HiloCollection *collection)
{
	HiloBindings bindings;

	if (!(hilo_collection_row(collection)->flags & HILO_ROW_BOUND))
		return true;
	bindings = hilo_bindings(collection->ref.name);
	return hilo_bindings_set_limit(&bindings, collection);
}

List *
hilo_columns_of_collection(HiloCollection *collection, bool *by_default, int64 *limit)
{
	const char *name = collection->ref.name;
	List	   *columns = NIL;
	List	   *owners = NIL;

	if (hilo_collection_row(collection)->flags & HILO_ROW_BOUND)
	{
		HiloBindings bindings = hilo_bindings(name);

		*limit = bindings.limit;
		foreach_ptr(HiloBinding, binding, bindings.all)
		{
			if (!OidIsValid(binding->living.relation))
				continue;
			columns = lappend(columns, &binding->living);
			owners = lappend_oid(owners, hilo_table_owner(binding->living.relation));
		}
	}
	*by_default = columns == NIL;
	foreach_ptr(HiloColumn, column, hilo_columns_of_default(name, owners))
		columns = hilo_add_column(columns, column);
	if (*by_default)
		*limit = hilo_columns_limit(columns);
	return columns;
}

bool
hilo_is_bound(const char *name, CommandId command)
{
	foreach_ptr(HiloBinding, binding, read_rows(name, command))
	{
		if (binding->kind == HILO_BOUND)
			return true;
	}
	return false;
}

void
hilo_binding_settle(const char *name, HiloBinding *binding)
{
	char	   *owner = binding->owner;

	/* These OIDs belong to another database. */
	binding->object = binding->sequence_oid = InvalidOid;
	hilo_binding_find_sequence(binding);
	if (binding->kind == HILO_ALLOWED)
	{
		binding->object = get_role_oid(owner, true);
		return;
	}
	find_living(name, binding);
	if (!OidIsValid(binding->living.relation))
	{
		binding->object = InvalidOid;
		binding->owner = GetUserNameFromId(GetUserId(), false);
		find_living(name, binding);
	}
	if (!OidIsValid(binding->living.relation))
		binding->owner = owner;
	binding->object = binding->living.relation;
}

bool
hilo_binding_equals(const HiloBinding *a, const HiloBinding *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == HILO_ALLOWED)
		return strcmp(a->owner, b->owner) == 0;
	if (OidIsValid(a->object) && OidIsValid(b->object))
		return a->object == b->object && a->attnum == b->attnum;
	return strcmp(a->name, b->name) == 0 && strcmp(a->column, b->column) == 0 &&
		strcmp(a->owner, b->owner) == 0;
}

/*
 * What draws
 */

Oid
hilo_drawing_table(const char *name, CommandId command)
{
	Snapshot	snapshot = hilo_snapshot_now(InvalidOid, command);
	Oid			table = hilo_sql_number(psprintf("SELECT pg_catalog.max(d.relation::pg_catalog.int8) FROM " HILO_SCHEMA "._drawing_columns() d"
												 " JOIN pg_catalog.pg_class c ON c.oid = d.relation"
												 " WHERE d.collection = %s AND pg_catalog.pg_has_role(c.relowner, 'USAGE')",
												 quote_literal_cstr(name)),
										snapshot);

	UnregisterSnapshot(snapshot);
	return OidIsValid(table) || hilo_is_bound(name, command) ? table :
		hilo_bindings(name).table;
}

/*
 * Change
 */

/* What stands for the name in a lock; another name may share it. */
static LOCKTAG
lock_of(const char *name)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, hilo_catalog_table(HILO_TABLE_BINDINGS),
					   hash_bytes((const unsigned char *) name, strlen(name)), 0);
	return tag;
}

bool
hilo_bindings_lock(const char *name, bool wait)
{
	LOCKTAG		tag = lock_of(name);

	if (LockAcquire(&tag, ExclusiveLock, false, !wait) == LOCKACQUIRE_NOT_AVAIL)
		return false;
	AcceptInvalidationMessages();
	return true;
}

void
hilo_bindings_unlock(const char *name)
{
	LOCKTAG		tag = lock_of(name);

	LockRelease(&tag, ExclusiveLock, false);
}

/*
 * Insert a row.  Columns added by hand are NULL.  The sessions are told, which cache
 * what they have read.
 */
static void
insert_binding(const char *name, const HiloBinding *binding)
{
	Relation	rel = hilo_catalog_open(HILO_TABLE_BINDINGS, RowExclusiveLock);
	TupleDesc	desc = RelationGetDescr(rel);
	CatalogIndexState indexes = CatalogOpenIndexes(rel);
	const char *texts[HILO_BINDING_COLUMNS] = {
		name, kinds[binding->kind], "", binding->name, binding->column, "",
		binding->owner, binding->was, binding->sequence, ""
	};
	Datum	   *values = palloc0(desc->natts * sizeof(Datum));
	bool	   *nulls = palloc(desc->natts * sizeof(bool));

	for (int i = 0; i < desc->natts; i++)
	{
		nulls[i] = i >= HILO_BINDING_COLUMNS;
		if (!nulls[i])
			values[i] = CStringGetTextDatum(texts[i] != NULL ? texts[i] : "");
	}
	values[HILO_ANUM_BINDING_OBJECT - 1] = ObjectIdGetDatum(binding->object);
	values[HILO_ANUM_BINDING_NUMBER - 1] = Int32GetDatum(binding->attnum);
	values[HILO_ANUM_BINDING_SEQUENCE_OID - 1] = ObjectIdGetDatum(binding->sequence_oid);
	hilo_insert_tuple(indexes, heap_form_tuple(desc, values, nulls),
					  GetCurrentCommandId(true));
	CatalogCloseIndexes(indexes);
	CacheInvalidateRelcache(rel);
	table_close(rel, NoLock);
}

void
hilo_binding_add(const char *name, const HiloBinding *binding)
{
	HiloRowRef	ref = {.name = name};

	hilo_counter_note_bound(&ref, PG_INT64_MAX);
	insert_binding(name, binding);
	CommandCounterIncrement();
}

/*
 * Delete a row that was just read.  Its place is its own even if it has been deleted
 * since: the statement's snapshot is older, and keeps it from being removed.  False:
 * another transaction deletes it, or has done so.
 */
static bool
delete_row(Relation rel, ItemPointer tid)
{
	HeapTupleData tuple = {.t_self = *tid};
	TM_FailureData failure;
	Buffer		buffer;
	bool		locked = heap_lock_tuple(rel, &tuple, GetCurrentCommandId(true),
										 LockTupleExclusive, LockWaitSkip,
										 false, &buffer, &failure) == TM_Ok;

	if (BufferIsValid(buffer))
		ReleaseBuffer(buffer);
	if (locked)
		simple_heap_delete(rel, &tuple.t_self);
	return locked;
}

/*
 * The rows are read again: no lock was kept since the binding was read, so the table may
 * have been rewritten, or another row may have its place.
 */
bool
hilo_binding_remove(const char *name, const HiloBinding *binding)
{
	Relation	rel = hilo_catalog_open(HILO_TABLE_BINDINGS, RowExclusiveLock);
	bool		removed = false;

	foreach_ptr(HiloBinding, row, hilo_bindings(name).all)
	{
		if (hilo_binding_equals(row, binding))
			removed = delete_row(rel, &row->tid) || removed;
	}
	CacheInvalidateRelcache(rel);
	CommandCounterIncrement();
	table_close(rel, NoLock);
	return removed;
}

void
hilo_bindings_refresh(const char *name, const HiloBindings *bindings)
{
	/* A draw must not fail because of a row that others have read. */
	if (IsolationIsSerializable())
		return;
	foreach_ptr(HiloBinding, binding, bindings->all)
	{
		if (binding->is_old && hilo_bindings_lock(name, false) &&
			hilo_binding_remove(name, binding))
			hilo_binding_add(name, binding);
	}
}

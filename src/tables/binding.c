/*-------------------------------------------------------------------------
 *
 * binding.c
 *	  Rows of hilo.binding: manual bindings of collections and identities, grants,
 *	  and triggers that were seen.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_collation.h"
#include "common/hashfn.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/snapmgr.h"

#include "base/compat.h"
#include "counting/catalog.h"
#include "counting/counter.h"
#include "counting/index_probe.h"
#include "counting/row.h"
#include "tables/binding.h"

/*
 * Read
 */

/* The rows of a name that snapshot sees, as a list of HeapTuple, palloc'd. */
static List *
find_rows(Relation rel, const char *name, Snapshot snapshot)
{
	Relation	index = index_open(hilo_catalog_name_index(HILO_TABLE_BINDINGS,
														   rel),
								   AccessShareLock);
	Datum		value = CStringGetTextDatum(name);
	List	   *rows;
	ScanKeyData key;

	ScanKeyEntryInitialize(&key, 0, 1, BTEqualStrategyNumber, InvalidOid,
						   C_COLLATION_OID, F_TEXTEQ, value);
	rows = hilo_index_rows(rel, index, &key, snapshot);
	index_close(index, AccessShareLock);
	return rows;
}

static char *
text_column(HeapTuple tuple, int attnum, TupleDesc desc)
{
	bool		isnull;
	Datum		value = hilo_getattr(tuple, attnum, desc, &isnull);

	return isnull ? NULL : TextDatumGetCString(value);
}

HiloBinding *
hilo_binding_read(HeapTuple tuple, TupleDesc desc)
{
	HiloBinding *binding = palloc0(sizeof(HiloBinding));
	bool		isnull;
	Datum		value;

	value = hilo_getattr(tuple, HILO_ANUM_BINDING_COLUMN, desc, &isnull);
	if (!isnull)
	{
		binding->column = palloc(sizeof(HiloColumn));
		*binding->column = *DatumGetHiloColumn(value);
	}
	binding->taken = text_column(tuple, HILO_ANUM_BINDING_FUNCTION, desc);
	binding->role = text_column(tuple, HILO_ANUM_BINDING_ROLE, desc);
	value = hilo_getattr(tuple, HILO_ANUM_BINDING_TRIGGER, desc, &isnull);
	binding->trigger = isnull ? InvalidOid : DatumGetObjectId(value);
	binding->attached = binding->column != NULL && !isnull;
	value = hilo_getattr(tuple, HILO_ANUM_BINDING_XID, desc, &isnull);
	binding->trigger_xid = isnull ? InvalidTransactionId :
		DatumGetTransactionId(value);
	binding->xmin = HeapTupleHeaderXminFrozen(tuple->t_data) ?
		InvalidTransactionId : HeapTupleHeaderGetRawXmin(tuple->t_data);
	return binding;
}

List *
hilo_bindings(const char *name)
{
	Relation	rel = hilo_catalog_open(HILO_TABLE_BINDINGS, AccessShareLock);
	List	   *bindings = NIL;
	ListCell   *lc;

	foreach(lc, find_rows(rel, name, SnapshotSelf))
		bindings = lappend(bindings,
						   hilo_binding_read(lfirst(lc), RelationGetDescr(rel)));
	table_close(rel, AccessShareLock);
	return bindings;
}

bool
hilo_is_bound(const char *name)
{
	ListCell   *lc;

	foreach(lc, hilo_bindings(name))
	{
		HiloBinding *binding = lfirst(lc);

		if ((binding->column != NULL && !binding->attached) ||
			binding->taken != NULL)
			return true;
	}
	return false;
}

bool
hilo_unbound_here(const char *name)
{
	Relation	rel = hilo_catalog_open(HILO_TABLE_BINDINGS, AccessShareLock);
	bool		result = false;
	ListCell   *lc;

	foreach(lc, find_rows(rel, name, SnapshotAny))
	{
		HeapTuple	tuple = lfirst(lc);

		if (hilo_tuple_deleted_here(tuple->t_data) &&
			hilo_binding_read(tuple, RelationGetDescr(rel))->role == NULL)
			result = true;
	}
	table_close(rel, AccessShareLock);
	return result;
}

static bool
same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

bool
hilo_binding_equals(const HiloBinding *a, const HiloBinding *b)
{
	if ((a->column == NULL) != (b->column == NULL) ||
		a->attached != b->attached ||
		a->trigger != b->trigger || a->trigger_xid != b->trigger_xid)
		return false;
	if (a->column != NULL)
		return hilo_same_column(a->column, b->column);
	return same_text(a->taken, b->taken) && same_text(a->role, b->role);
}

bool
hilo_binding_has_column(const HiloBinding *binding)
{
	return binding->column != NULL && hilo_column_name(binding->column) != NULL;
}

/*
 * Change
 */

/* The hash that represents the name in a lock; another name may share it. */
static uint32
hash_of(const char *name)
{
	return hash_bytes((const unsigned char *) name, strlen(name));
}

void
hilo_bindings_lock(const char *name)
{
	LockDatabaseObject(hilo_catalog_table(HILO_TABLE_BINDINGS), hash_of(name), 0,
					   ExclusiveLock);
}

void
hilo_bindings_unlock(const char *name)
{
	UnlockDatabaseObject(hilo_catalog_table(HILO_TABLE_BINDINGS), hash_of(name),
						 0, ExclusiveLock);
}

/* Tell the sessions, which cache what they have read from this table. */
static void
finish_change(Relation rel)
{
	CacheInvalidateRelcache(rel);
	CommandCounterIncrement();
	table_close(rel, NoLock);
}

/* Set a column of type text; NULL if string is NULL. */
static void
set_text(Datum *values, bool *nulls, int attnum, const char *string)
{
	nulls[attnum - 1] = string == NULL;
	if (string != NULL)
		values[attnum - 1] = CStringGetTextDatum(string);
}

/* Form the row of hilo.binding for a binding. */
static HeapTuple
form_row(const char *name, const HiloBinding *binding, TupleDesc desc)
{
	Datum	   *values = palloc0(desc->natts * sizeof(Datum));
	bool	   *nulls = palloc(desc->natts * sizeof(bool));

	/* Others may have appended columns. */
	for (int i = 0; i < desc->natts; i++)
		nulls[i] = i >= HILO_BINDING_COLUMNS;
	values[HILO_ANUM_BINDING_NAME - 1] =
		CStringGetTextDatum(name);
	values[HILO_ANUM_BINDING_COLUMN - 1] = PointerGetDatum(binding->column);
	nulls[HILO_ANUM_BINDING_COLUMN - 1] = binding->column == NULL;
	set_text(values, nulls, HILO_ANUM_BINDING_FUNCTION, binding->taken);
	set_text(values, nulls, HILO_ANUM_BINDING_ROLE, binding->role);
	values[HILO_ANUM_BINDING_TRIGGER - 1] = ObjectIdGetDatum(binding->trigger);
	values[HILO_ANUM_BINDING_XID - 1] =
		TransactionIdGetDatum(binding->trigger_xid);
	nulls[HILO_ANUM_BINDING_TRIGGER - 1] = nulls[HILO_ANUM_BINDING_XID - 1] =
		!binding->attached && !OidIsValid(binding->trigger);
	return heap_form_tuple(desc, values, nulls);
}

static void
insert_row(const char *name, const HiloBinding *binding)
{
	Relation	rel = hilo_catalog_open(HILO_TABLE_BINDINGS, RowExclusiveLock);

	hilo_tuple_insert(rel, form_row(name, binding, RelationGetDescr(rel)),
					  GetCurrentCommandId(true));
	finish_change(rel);
}

void
hilo_binding_add(const char *name, const HiloBinding *binding)
{
	HiloRowRef	ref;

	hilo_row_ref_init(&ref, name);
	hilo_counter_note_binding(&ref, PG_INT64_MAX);
	insert_row(name, binding);
}

void
hilo_binding_note(const char *name, const HiloBinding *binding)
{
	insert_row(name, binding);
}

void
hilo_binding_remove(const char *name, const HiloBinding *binding)
{
	Relation	rel = hilo_catalog_open(HILO_TABLE_BINDINGS, RowExclusiveLock);
	ListCell   *lc;

	foreach(lc, find_rows(rel, name, SnapshotSelf))
	{
		HeapTuple	tuple = lfirst(lc);

		if (hilo_binding_equals(hilo_binding_read(tuple, RelationGetDescr(rel)),
								binding))
			simple_heap_delete(rel, &tuple->t_self);
	}
	finish_change(rel);
}

List *
hilo_bindings_remove_if(bool (*test) (const HiloBinding *binding, void *arg),
						void *arg)
{
	Relation	rel = hilo_catalog_open(HILO_TABLE_BINDINGS, RowExclusiveLock);
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	TableScanDesc scan = hilo_table_beginscan(rel, snapshot);
	List	   *obsolete = NIL;
	List	   *names = NIL;
	HeapTuple	tuple;
	ListCell   *lc;

	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		if (!test(hilo_binding_read(tuple, RelationGetDescr(rel)), arg))
			continue;
		obsolete = lappend(obsolete, heap_copytuple(tuple));
		names = lappend(names, text_column(tuple, HILO_ANUM_BINDING_NAME,
										   RelationGetDescr(rel)));
	}
	table_endscan(scan);
	UnregisterSnapshot(snapshot);

	foreach(lc, obsolete)
		simple_heap_delete(rel, &((HeapTuple) lfirst(lc))->t_self);
	if (obsolete != NIL)
		finish_change(rel);
	else
		table_close(rel, RowExclusiveLock);
	return names;
}

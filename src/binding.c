/*-------------------------------------------------------------------------
 *
 * binding.c
 *	  What collections and identities are bound to: rows of hilo.binding.
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
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/snapmgr.h"

#include "binding.h"
#include "catalog.h"
#include "compat.h"
#include "counter.h"
#include "index_probe.h"
#include "tuple.h"

/*
 * Read
 */

/* The rows of a name that snapshot sees, as a list of HeapTuple, palloc'd. */
static List *
find_rows(Relation rel, HiloName name, Snapshot snapshot)
{
	Relation	index = index_open(hilo_catalog_name_index(HILO_TABLE_BINDINGS,
														   rel),
								   AccessShareLock);
	Datum		value = PointerGetDatum(cstring_to_text_with_len(name.data,
																 name.len));
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
	binding->attached = DatumGetBool(hilo_getattr(tuple,
												  HILO_ANUM_BINDING_ATTACHED,
												  desc, &isnull));
	binding->replaced = text_column(tuple, HILO_ANUM_BINDING_REPLACED, desc);
	return binding;
}

List *
hilo_bindings(HiloName name)
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
hilo_is_bound(HiloName name, bool *attached)
{
	ListCell   *lc;

	*attached = false;
	foreach(lc, hilo_bindings(name))
	{
		HiloBinding *binding = lfirst(lc);

		if (binding->column != NULL || binding->taken != NULL)
		{
			*attached = binding->attached && hilo_binding_has_column(binding);
			return true;
		}
	}
	return false;
}

/* Has this transaction deleted a row that others had made? */
static bool
is_deleted_here(HeapTupleHeader header)
{
	return !(header->t_infomask & HEAP_XMAX_INVALID) &&
		!HEAP_XMAX_IS_LOCKED_ONLY(header->t_infomask) &&
		TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(header)) &&
		!TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(header));
}

bool
hilo_unbound_here(HiloName name)
{
	Relation	rel = hilo_catalog_open(HILO_TABLE_BINDINGS, AccessShareLock);
	bool		result = false;
	ListCell   *lc;

	foreach(lc, find_rows(rel, name, SnapshotAny))
	{
		HeapTuple	tuple = lfirst(lc);

		if (is_deleted_here(tuple->t_data) &&
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
		a->attached != b->attached)
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

void
hilo_bindings_lock(void)
{
	table_close(hilo_catalog_open(HILO_TABLE_BINDINGS, ShareUpdateExclusiveLock),
				NoLock);
}

void
hilo_bindings_unlock(void)
{
	UnlockRelationOid(hilo_catalog_table(HILO_TABLE_BINDINGS),
					  ShareUpdateExclusiveLock);
}

/* Sessions keep what they have read here until they are told. */
static void
finish_change(Relation rel)
{
	CacheInvalidateRelcache(rel);
	CommandCounterIncrement();
	table_close(rel, NoLock);
}

/* A value for a column of type text, NULL if string is. */
static void
set_text(Datum *values, bool *nulls, int attnum, const char *string)
{
	nulls[attnum - 1] = string == NULL;
	if (string != NULL)
		values[attnum - 1] = CStringGetTextDatum(string);
}

/* The row of hilo.binding that says so. */
static HeapTuple
form_row(HiloName name, const HiloBinding *binding, TupleDesc desc)
{
	Datum		values[HILO_BINDING_COLUMNS] = {0};
	bool		nulls[HILO_BINDING_COLUMNS] = {0};

	values[HILO_ANUM_BINDING_NAME - 1] =
		PointerGetDatum(cstring_to_text_with_len(name.data, name.len));
	values[HILO_ANUM_BINDING_COLUMN - 1] = PointerGetDatum(binding->column);
	nulls[HILO_ANUM_BINDING_COLUMN - 1] = binding->column == NULL;
	set_text(values, nulls, HILO_ANUM_BINDING_FUNCTION, binding->taken);
	set_text(values, nulls, HILO_ANUM_BINDING_ROLE, binding->role);
	values[HILO_ANUM_BINDING_ATTACHED - 1] = BoolGetDatum(binding->attached);
	set_text(values, nulls, HILO_ANUM_BINDING_REPLACED, binding->replaced);
	return heap_form_tuple(desc, values, nulls);
}

void
hilo_binding_add(HiloName name, const HiloBinding *binding)
{
	HiloRowRef	ref;
	Relation	rel;

	hilo_row_ref_init(&ref, name);
	hilo_counter_note_binding(&ref);

	rel = hilo_catalog_open(HILO_TABLE_BINDINGS, ShareUpdateExclusiveLock);
	hilo_tuple_insert(rel, form_row(name, binding, RelationGetDescr(rel)),
					  GetCurrentCommandId(true));
	finish_change(rel);
}

void
hilo_binding_remove(HiloName name, const HiloBinding *binding)
{
	Relation	rel = hilo_catalog_open(HILO_TABLE_BINDINGS,
										ShareUpdateExclusiveLock);
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

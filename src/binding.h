/*-------------------------------------------------------------------------
 *
 * binding.h
 *	  Which columns have the ids of which collections: rows of hilo.binding.
 *
 * A row names a column by its unquoted names, and the owner that the table had then.  It counts
 * as long as there is such a column, and the table has that owner.  So any dump can be
 * restored, in any order, and no draw fails because of a row.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_BINDING_H
#define HILO_BINDING_H

#include "access/attnum.h"
#include "nodes/pg_list.h"
#include "postgres_ext.h"
#include "storage/itemptr.h"

/* A row of hilo.binding: its names, which are padded with zeros, and what they mean now. */
typedef struct HiloBinding
{
	NameData	schema_name;
	NameData	table_name;
	NameData	column_name;
	NameData	owner;
	Oid			relation;		/* InvalidOid: it does not count */
	ItemPointerData tid;		/* of a row that was read */
} HiloBinding;

/* The bindings of a collection, as of now, as a list of HiloBinding *, palloc'd. */
extern List *hilo_bindings(const char *collection);

/*
 * Bind a column, of a table that the current user owns.  Rows of the collection that do not count,
 * as after a rename, go.  Raises 42501 for a table of another owner, 42809 for a view, a foreign
 * or a temporary table, 42703 if there is no such column, and 42804 if its type holds no ids.
 */
extern void hilo_binding_add(const char *collection, Oid relation, const char *column);

/* Insert a row as it is, unless it is there.  For restores. */
extern void hilo_binding_insert(const char *collection, const HiloBinding *binding);

/*
 * Delete the bindings of a collection: those of a relation, or, with InvalidOid, all.
 * Returns how many there were.
 */
extern int	hilo_bindings_delete(const char *collection, Oid relation);

#endif							/* HILO_BINDING_H */

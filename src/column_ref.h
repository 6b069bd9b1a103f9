/*-------------------------------------------------------------------------
 *
 * column_ref.h
 *	  The type hilo_column: a column of a table, as regclass is a table.
 *
 * Stored as numbers, so that it follows the column through renames; written
 * and read as a qualified name, so that it finds the column again after a dump
 * and restore.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_COLUMN_REF_H
#define HILO_COLUMN_REF_H

#include "fmgr.h"

typedef struct HiloColumn
{
	Oid			relation;
	int32		attnum;
} HiloColumn;

#define DatumGetHiloColumn(datum)	((HiloColumn *) DatumGetPointer(datum))

/* Name of the column, palloc'd; NULL if it, or its table, is not there. */
extern char *hilo_column_name(const HiloColumn *column);

/*
 * Qualified name of the column, quoted where needed, palloc'd; "-" if it is not
 * there.
 */
extern char *hilo_column_text(const HiloColumn *column);

#endif							/* HILO_COLUMN_REF_H */

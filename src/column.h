/*-------------------------------------------------------------------------
 *
 * column.h
 *	  Columns that hold ids: the SQL type that names one, the types that one may
 *	  have, the numbers in one.
 *
 * The type hilo_column is to a column what regclass is to a table: stored as
 * numbers, so that it follows the column through renames; written and read as a
 * qualified name, so that it finds the column again after a dump and restore.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_COLUMN_H
#define HILO_COLUMN_H

#include "fmgr.h"
#include "utils/relcache.h"

#include "document_id.h"

/* A value of type hilo_column. */
typedef struct HiloColumn
{
	Oid			relation;
	int32		attnum;
} HiloColumn;

#define DatumGetHiloColumn(datum)	((HiloColumn *) DatumGetPointer(datum))

static inline bool
hilo_same_column(const HiloColumn *a, const HiloColumn *b)
{
	return a->relation == b->relation && a->attnum == b->attnum;
}

/*
 * The table that rel, a table, is a partition of, and so on upwards; itself if it
 * is none.  A partition that is being detached may count as a table already.
 */
extern Oid	hilo_topmost_table(Relation rel);

/* Name of the column, palloc'd; NULL if it, or its table, is gone. */
extern char *hilo_column_name(const HiloColumn *column);

/*
 * Is the table partitioned by the column?  Rows are then in their partition before
 * a trigger can assign an id.
 */
extern bool hilo_is_partition_key(const HiloColumn *column);

/*
 * Qualified name of the column, quoted where needed, palloc'd; "-" if it is not
 * there.
 */
extern char *hilo_column_text(const HiloColumn *column);

/* Its type, or the one below if that is a domain; InvalidOid: not there. */
extern Oid	hilo_column_type(const HiloColumn *column);

/*
 * The types asked for here are base types: no domains.
 */

/* Does it hold ids: text, varchar or citext? */
extern bool hilo_holds_ids(Oid type);

/* Are ids equal that only differ in case: citext? */
extern bool hilo_ignores_case(Oid type);

/* Does it hold the numbers of ids alone: smallint, integer or bigint? */
extern bool hilo_holds_numbers(Oid type);

/* Highest number in an id or number that it holds. */
extern int64 hilo_type_limit(Oid type);

/*
 * Ids that count.  Server-side ids never do, nor do others whose number has
 * leading zeros: they are not drawn from a collection.
 */
typedef enum HiloCountedIds
{
	HILO_COUNT_ALL,				/* of a collection without a node tag */
	HILO_COUNT_TAGGED,			/* of one that has a tag */
	HILO_COUNT_UNTAGGED			/* of an identity */
} HiloCountedIds;

/* Reads the numbers in a column. */
typedef struct HiloIdReader
{
	HiloCountedIds counted;
	Oid			type;			/* of the column: a base type */
	bool		holds_ids;		/* hilo_holds_ids() of it */
	char		start[HILO_MAX_START_LEN];	/* of the ids that count */
	int			start_len;
} HiloIdReader;

/*
 * Prepare to read the ids of a collection or an identity in a column.  Text
 * ids count only if they start with its name; where case does not matter, all
 * do.
 */
extern void hilo_id_reader_init(HiloIdReader *reader, Oid type,
								const char *name, int len,
								HiloCountedIds counted);

/* The number in a value; 0 if it has none. */
extern int64 hilo_id_reader_number(const HiloIdReader *reader, Datum value);

/* A value that is the same but for the number, which it has; palloc'd. */
extern Datum hilo_id_reader_replace(const HiloIdReader *reader, Datum value,
									int64 number);

#endif							/* HILO_COLUMN_H */

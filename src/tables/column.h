/*-------------------------------------------------------------------------
 *
 * column.h
 *	  Columns that hold ids: the SQL type that identifies one, the types allowed,
 *	  and the numbers in a column.
 *
 * The type hilo_column is to a column what regclass is to a table: it is stored
 * as numbers, so that it follows the column through renames, and written and
 * read as a qualified name, so that it finds the column again after a dump and
 * restore.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_COLUMN_H
#define HILO_COLUMN_H

#include "fmgr.h"
#include "utils/relcache.h"

#include "base/document_id.h"

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
 * The topmost table that rel is a partition of; rel itself if it is not a
 * partition.  A partition that is being detached may already count as a table
 * of its own.
 */
extern Oid	hilo_topmost_table(Relation rel);

/*
 * Name of the column, palloc'd; NULL: the column or its table no longer exists.
 */
extern char *hilo_column_name(const HiloColumn *column);

/*
 * True if the table is partitioned by the column.  Rows are then in their
 * partition before a trigger can assign an id.
 */
extern bool hilo_is_partition_key(const HiloColumn *column);

/*
 * Qualified name of the column, quoted where needed, palloc'd; "-" if it no
 * longer exists.
 */
extern char *hilo_column_text(const HiloColumn *column);

/* Its type, or a domain's base type; InvalidOid: the column does not exist. */
extern Oid	hilo_column_type(const HiloColumn *column);

/* The types passed to these functions are base types, not domains. */

/* True for a type that holds ids: text, varchar or citext. */
extern bool hilo_holds_ids(Oid type);

/* True if ids that differ only in case are equal: citext. */
extern bool hilo_ignores_case(Oid type);

/*
 * True for a type that holds only the numbers of ids: smallint, integer or
 * bigint.
 */
extern bool hilo_holds_numbers(Oid type);

/* Highest number that an id or number of this type can have. */
extern int64 hilo_type_limit(Oid type);

/*
 * Which ids count.  Server-side ids never do, nor do ids whose number has
 * leading zeros: they are not drawn from a collection.
 */
typedef enum HiloCountedIds
{
	HILO_COUNT_ALL,				/* for a collection without a node tag */
	HILO_COUNT_TAGGED,			/* for a collection with a tag */
	HILO_COUNT_UNTAGGED			/* for an identity */
} HiloCountedIds;

/* Reads the numbers in a column. */
typedef struct HiloIdReader
{
	HiloCountedIds counted;
	Oid			type;			/* of the column: a base type */
	bool		holds_ids;		/* hilo_holds_ids() of it */
	char		start[HILO_MAX_START_LEN];	/* start of the ids that count */
	int			start_len;
} HiloIdReader;

/*
 * Prepare to read the ids of a collection or an identity in a column.  Text ids
 * count only if they start with its name; in a column that ignores case, all
 * ids count.
 */
extern void hilo_id_reader_init(HiloIdReader *reader, Oid type,
								const char *name,
								HiloCountedIds counted);

/* The number in a value; 0 if it has none. */
extern int64 hilo_id_reader_number(const HiloIdReader *reader, Datum value);

/* A copy of the value, which has a number, with another number; palloc'd. */
extern Datum hilo_id_reader_replace(const HiloIdReader *reader, Datum value,
									int64 number);

#endif							/* HILO_COLUMN_H */

/*-------------------------------------------------------------------------
 *
 * column.h
 *	  Columns that hold ids: the types allowed, and the numbers in a column.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_COLUMN_H
#define HILO_COLUMN_H

#include "catalog/pg_attribute.h"
#include "nodes/pg_list.h"
#include "utils/relcache.h"

#include "base/document_id.h"
#include "session/session.h"

/* What a column draws. */
typedef enum HiloDrawnForm
{
	HILO_DRAWN_IDS,				/* ids with the collection's tag, or that is
								 * not known */
	HILO_DRAWN_TAGGED,			/* ids with the tag of the default */
	HILO_DRAWN_VARIOUS,			/* ids with a tag that is no constant */
	HILO_DRAWN_NUMBERS			/* numbers, even if its type holds ids */
} HiloDrawnForm;

typedef struct HiloDrawn
{
	HiloDrawnForm form;
	NameData	tag;			/* of HILO_DRAWN_TAGGED; "": none */
} HiloDrawn;

typedef struct HiloColumn
{
	Oid			relation;
	int32		attnum;
	HiloDrawn	drawn;
} HiloColumn;

/*
 * The topmost table that rel is a partition of; rel itself if it is not a
 * partition.  A partition that is being detached may already count as a table
 * of its own.
 */
extern Oid	hilo_topmost_table(Relation rel);

/* Raise 42P01 or 42501 unless the relation exists, and is the current user's. */
extern void hilo_check_owned(Oid relation);

/* The number of a relation's column.  Raises 42703 if there is none. */
extern AttrNumber hilo_column_number(Oid relation, const char *name);

/* The column of a relation.  Raises the errors of the two functions above. */
extern HiloColumn hilo_owned_column(Oid relation, const char *name);

/*
 * Name of the column, palloc'd; NULL: the column or its table no longer exists.
 */
extern char *hilo_column_name(const HiloColumn *column);

/* Its type, or a domain's base type; InvalidOid: the column does not exist. */
extern Oid	hilo_column_type(const HiloColumn *column);

/* The types passed to these functions are base types, not domains. */

/* True for a type that holds ids: text, varchar or citext. */
extern bool hilo_holds_ids(Oid type);

/*
 * True for a type that holds only the numbers of ids: smallint, integer or
 * bigint; and the number in a value of it.
 */
extern bool hilo_holds_numbers(Oid type);
extern int64 hilo_number_in(Datum value, Oid type);

/*
 * Highest number that an id or number in the column can have, or in each of several
 * columns; PG_INT64_MAX if there is no such column.
 */
extern int64 hilo_column_limit(const HiloColumn *column);
extern int64 hilo_columns_limit(List *columns);

/*
 * Which ids count.  Server-side ids never do, nor do ids whose number has
 * leading zeros: they are not drawn from a collection.
 */
typedef enum HiloCountedIds
{
	HILO_COUNT_ALL,				/* if ids may be drawn without a tag, or with
								 * any */
	HILO_COUNT_TAGGED,			/* if all that are drawn have a tag */
	HILO_COUNT_UNTAGGED,		/* for an identity */
	HILO_COUNT_NUMBERS			/* values that are numbers, whatever the type */
} HiloCountedIds;

/* Reads the numbers in a column. */
typedef struct HiloIdReader
{
	HiloCountedIds counted;
	Oid			type;			/* of the column: a base type */
	bool		holds_ids;		/* hilo_holds_ids() of it */
	char		start[HILO_MAX_START_LEN];	/* start of the ids that count */
	int			start_len;
	NameData	own_tag;		/* of ids that are looked up one by one: that
								 * of the collection, which a program draws; */
	NameData	tag;			/* and that of the default, or the same */
} HiloIdReader;

/*
 * Prepare to read the ids of a collection or an identity in a column, or, if that draws
 * numbers, values that are numbers; then the collection may be NULL.  Text ids count
 * only if they start with its name; in a column where ids that differ in case may be
 * equal, all ids count.
 */
extern void hilo_id_reader_init(HiloIdReader *reader, const HiloColumn *column,
								HiloCollection *collection);

/* The number in a value; 0 if it has none. */
extern int64 hilo_id_reader_number(const HiloIdReader *reader, Datum value);

/* The owner of a relation; InvalidOid: it was dropped, or is temporary. */
extern Oid	hilo_table_owner(Oid relation);

#endif							/* HILO_COLUMN_H */

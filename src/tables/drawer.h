/*-------------------------------------------------------------------------
 *
 * drawer.h
 *	  What draws the values of a column: sequences, identity, defaults.
 *
 * The functions that change something, and those about sequences, are called
 * between hilo_sql_begin() and hilo_sql_end(), by the table's owner, with the
 * table locked.  What they return is palloc'd.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_DRAWER_H
#define HILO_DRAWER_H

#include "nodes/pg_list.h"

#include "tables/column.h"

/* A column of one table; strings are palloc'd. */
typedef struct HiloTableColumn
{
	HiloColumn	column;
	Oid			type;			/* base type of the column */
	char	   *table;			/* name of the table, qualified and quoted */
	char	   *name;			/* of the column, */
	char	   *quoted_name;	/* quoted */
	bool		is_partition;
} HiloTableColumn;

/* What draws the values of a column that is not attached. */
typedef struct HiloDrawer
{
	const char *kind;			/* HILO_REPLACED_... */
	char	   *default_text;	/* NULL: it has no default */
} HiloDrawer;

/* A sequence that draws the values of a column. */
typedef struct HiloSequence
{
	Oid			oid;
	bool		owned;			/* by the column */
	char	   *name;			/* qualified and quoted */
} HiloSequence;

/* The column of that name. */
extern HiloTableColumn hilo_table_column(Oid relation, const char *name);

/*
 * The sequences that the column owns, as a serial or identity column, and those
 * that its default draws from, as a list of HiloSequence *; and the owned
 * sequence alone, NULL if there is not exactly one.
 */
extern List *hilo_column_sequences(const HiloColumn *column);
extern HiloSequence *hilo_owned_sequence(const HiloColumn *column);

/*
 * The highest number that any of them has drawn or put into a session's cache.
 */
extern int64 hilo_highest_drawn(List *sequences);

/*
 * Set a sequence to continue above max.  It keeps its increment and is never
 * set back; a descending sequence stays as it is.
 */
extern void hilo_position_sequence(const HiloSequence *sequence, int64 max);

/* The default as text, as the server prints it; NULL: none. */
extern char *hilo_column_default(const HiloColumn *column);
extern char *hilo_draw_from(const HiloSequence *sequence);
extern char *hilo_shown_literal(const char *string);
extern bool hilo_same_expression(const char *a, const char *b);

/* Change the default.  Raises 22023 if the text is not a single expression. */
extern void hilo_set_default(const HiloTableColumn *change,
							 const char *expression);
extern void hilo_drop_default(const HiloTableColumn *change);

/*
 * Identity columns: the column's ATTRIBUTE_IDENTITY_... or '\0'; make it an
 * ordinary column that owns its sequence; make it an identity column again.
 */
extern char hilo_column_identity(const HiloColumn *column);
extern void hilo_end_identity(const HiloTableColumn *change);
extern void hilo_begin_identity(const HiloTableColumn *change, char identity);

/* What draws the values now; whether two drawers are the same. */
extern HiloDrawer hilo_present_drawer(const HiloColumn *column);
extern bool hilo_same_drawer(const HiloDrawer *a, const HiloDrawer *b);

/* The ATTRIBUTE_IDENTITY_... of a kind; '\0': not an identity column. */
extern char hilo_identity_of_kind(const char *kind);

#endif							/* HILO_DRAWER_H */

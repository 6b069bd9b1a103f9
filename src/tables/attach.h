/*-------------------------------------------------------------------------
 *
 * attach.h
 *	  Attaches columns to collections, and detaches them.
 *
 * Both take the strongest lock on the table, and change it by SQL statements
 * with the privileges of the current user, who must own it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_ATTACH_H
#define HILO_ATTACH_H

#include "counting/row.h"
#include "tables/column.h"

/*
 * Whether the trigger assigns ids of the kind that an inserted row requests.
 */
typedef enum HiloAttachAssign
{
	HILO_ATTACH_AS_IS,			/* unchanged; a new trigger does not */
	HILO_ATTACH_ASSIGN,
	HILO_ATTACH_ADVANCE_ONLY
} HiloAttachAssign;

/*
 * The column, or if column is NULL, the primary key.  Raises an error unless it
 * can be attached and the current user owns the table.
 */
extern HiloColumn hilo_attachable_column(Oid relation, const char *column);

/*
 * The column to detach, or if column is NULL, the only attached one.  Raises an
 * error if none or several are attached.
 */
extern HiloColumn hilo_detachable_column(Oid relation, const char *column);

/* The highest number that all columns attached to the collection can hold. */
extern int64 hilo_attached_limit(const char *collection);

/*
 * Raise the limit of a collection to that of its columns, unless the limit was
 * chosen by hand: a column was detached, or its type has changed.  The limit is
 * never lowered here, because a rollback would not undo that.
 */
extern void hilo_attach_limit(const char *collection);

/*
 * Raise an error if another table is attached to the collection, for a call
 * that did not name the collection.
 */
extern void hilo_attach_check_unshared(const HiloColumn *column,
									   const char *collection);

/*
 * Make the column's default draw from the collection, above all ids in the
 * column and above the sequence that drew them before.  Reports in a notice what
 * was done.  The caller has checked that the table may be attached.  Returns the
 * max of the collection.
 */
extern int64 hilo_attach_column(const HiloColumn *column, const char *collection,
								HiloAttachAssign assign);

/*
 * The same in steps, each in a transaction of its own: a check that there are
 * numbers left, which takes no strong lock; the triggers, which block inserts
 * by other sessions for a moment; the counter, while others read and write; the
 * defaults, which lock the table for a moment.  Each step may be repeated.
 */
extern void hilo_attach_check_room(const HiloColumn *column,
								   const char *collection);
extern void hilo_attach_triggers(const HiloColumn *column,
								 const char *collection,
								 HiloAttachAssign assign);
extern void hilo_attach_counter(const HiloColumn *column, const char *collection);
extern int64 hilo_attach_defaults(const HiloColumn *column,
								  const char *collection);

/*
 * Undo hilo_attach_column(), and restore what it replaced.  Returns the kind of
 * that, a HILO_REPLACED_...
 */
extern const char *hilo_detach_column(const HiloColumn *column);

#endif							/* HILO_ATTACH_H */

/*-------------------------------------------------------------------------
 *
 * attach.h
 *	  Switches a column over to ids of a collection, and back.
 *
 * Both take the strongest lock on the table, and change it by SQL statements
 * with the rights of the current user, who must own it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_ATTACH_H
#define HILO_ATTACH_H

#include "column.h"
#include "row.h"

/*
 * Name of the trigger function that advances collections.  A trigger that
 * attaches a column has two arguments, the column as it was called once and the
 * collection, and is fired by updates of that column alone.
 */
#define HILO_ADVANCE_FUNCTION	"hilo_advance"

/*
 * Raise an error unless the column is one that could be attached, and the
 * current user owns its table.  Returns it.
 */
extern HiloColumn hilo_attachable_column(Oid relation, const char *column);

/* The collection that a column is attached to, palloc'd; NULL if to none. */
extern char *hilo_attached_collection(const HiloColumn *column);

/* Highest number that all columns attached to a collection can hold. */
extern int64 hilo_attached_limit(HiloName collection);

/*
 * Draw the values of a column from a collection by default, above all that it
 * has and above the sequence that drew them before.  Reports what is done as
 * notices.  With named false, the collection must be new to bindings.  Returns
 * the max of the collection.
 */
extern int64 hilo_attach_column(const HiloColumn *column, HiloName collection,
								bool named);

/*
 * What can draw the values of a column where hilo does not: whichever of these
 * equals name; NULL: none does.
 */
extern const char *hilo_drawn_by(const char *name);

#define HILO_DRAWN_BY_SEQUENCE			"sequence"
#define HILO_DRAWN_BY_IDENTITY			"identity"
#define HILO_DRAWN_BY_IDENTITY_ALWAYS	"identity always"
#define HILO_DRAWN_BY_NOTHING			"nothing"

/*
 * Undo hilo_attach_column(), and put back what draws the values then; NULL: what
 * was replaced.  Returns which.
 */
extern const char *hilo_detach_column(const HiloColumn *column,
									  const char *back_to);

#endif							/* HILO_ATTACH_H */

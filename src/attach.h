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

#include "column_ref.h"
#include "source.h"

/*
 * Raise an error unless the column is one that could be attached, and the
 * current user owns its table.  Returns it.
 */
extern HiloColumn hilo_attachable_column(Oid relation, const char *column);

/* The collection that a column is attached to, palloc'd; NULL if to none. */
extern char *hilo_attached_collection(const HiloColumn *column);

/*
 * Draw the values of a column from a collection by default, above all that it
 * has and above the sequence that drew them before.  Reports what is done as
 * notices.  With named false, the collection must be new to bindings.  Returns
 * the max of the collection.
 */
extern int64 hilo_attach_column(const HiloColumn *column, HiloName collection,
								bool named);

/*
 * What can draw the values of a column: HILO_SOURCE_SEQUENCE and so on, whichever
 * equals name; NULL: none does.
 */
extern const char *hilo_source_of_values(const char *name);

#define HILO_SOURCE_SEQUENCE		"sequence"
#define HILO_SOURCE_IDENTITY		"identity"
#define HILO_SOURCE_IDENTITY_ALWAYS	"identity always"
#define HILO_SOURCE_NOTHING			"nothing"

/*
 * Undo hilo_attach_column(), and put back what draws the values then; NULL: what
 * was replaced.  Returns which.
 */
extern const char *hilo_detach_column(const HiloColumn *column,
									  const char *back_to);

/* Highest number that all columns attached to a collection can hold. */
extern int64 hilo_attached_limit(HiloName collection);

/* Name of the trigger function that raises collections. */
#define HILO_FLOOR_FUNCTION		"hilo_floor"

#endif							/* HILO_ATTACH_H */

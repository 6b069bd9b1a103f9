/*-------------------------------------------------------------------------
 *
 * attach.h
 *	  Which columns may be attached, and what attaching does beyond the DDL: it moves
 *	  the counter, and switches identity columns.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_ATTACH_H
#define HILO_ATTACH_H

#include "storage/lockdefs.h"

#include "session/collection.h"
#include "tables/column.h"

/*
 * Arguments of the trigger hilo.advance: the collection; "was " and what drew
 * before; behind "was default", that default; then perhaps "assign", and while
 * hilo.attach_online() is under way, HILO_ATTACHING and the column.
 */
#define HILO_ATTACHING	"attaching"

/*
 * The column, or if name is NULL, that of the primary key, of a table that the
 * current user owns.  Raises an error unless it can be attached.
 */
extern HiloColumn hilo_attachable_column(Oid relation, const char *name);

/* Raise an error unless the relation exists, and the current user owns it. */
extern char *hilo_check_owned(Oid relation);

/* True if the table has a trigger of its own that names the collection. */
extern bool hilo_has_trigger(Oid relation, const char *collection);

/*
 * Raise an error if the column is attached to another collection, or the
 * collection is bound to something else; with unshared, also if it is attached
 * to another table.
 */
extern void hilo_check_free(const HiloColumn *column, const char *collection,
							bool unshared);

/* A permanent table with a column that draws from it; InvalidOid: none. */
extern Oid	hilo_drawing_table(const char *collection);

/* The highest number that all columns attached to the collection can hold. */
extern int64 hilo_attached_limit(const char *collection);

/*
 * Raise the limit of a collection to that, unless the limit was chosen by hand:
 * a column was detached.  It is never lowered here, because a rollback would not
 * undo that.
 */
extern void hilo_raise_limit(const char *collection);

/*
 * Record that the column is attached, note its triggers, and move the counter to
 * at least the given number, and, with read, the highest number in the column.
 * Returns the max.
 */
extern int64 hilo_attach_counter(const HiloColumn *column,
								 const char *collection, int64 at_least,
								 bool read);

/*
 * Make an identity column, ATTRIBUTE_IDENTITY_..., an ordinary column that owns
 * its sequence, or with identity '\0', the other way round: no command does
 * either and leaves the sequence as it is.
 */
extern void hilo_switch_identity(const HiloColumn *column, char identity);

/* True if the string is a single expression. */
extern bool hilo_is_expression(const char *string);

#endif							/* HILO_ATTACH_H */

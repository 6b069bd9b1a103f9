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

/* Does the trigger assign ids, of the kind that an inserted row requests? */
typedef enum HiloAttachAssign
{
	HILO_ATTACH_AS_IS,			/* as it did; a new one does not */
	HILO_ATTACH_ASSIGN,
	HILO_ATTACH_ADVANCE_ONLY
} HiloAttachAssign;

/*
 * Raise an error unless the column is one that could be attached, and the
 * current user owns its table.  Returns it.  column NULL: the primary key.
 */
extern HiloColumn hilo_attachable_column(Oid relation, const char *column);

/*
 * The same for one that is to be detached; column NULL: the attached one, of
 * which there must be one.
 */
extern HiloColumn hilo_detachable_column(Oid relation, const char *column);

/* Highest number that all columns attached to a collection can hold. */
extern int64 hilo_attached_limit(HiloName collection);

/*
 * Lift the limit of a collection to that of its columns, unless it was chosen by
 * hand: a column was detached, or its type has changed.  It is not lowered: that
 * would stay if the change is rolled back.
 */
extern void hilo_attach_limit(HiloName collection);

/*
 * Raise an error if another table is attached to the collection: it was not named
 * in the call.
 */
extern void hilo_attach_check_unshared(const HiloColumn *column,
									   HiloName collection);

/*
 * Draw the values of a column from a collection by default, above all that it
 * has and above the sequence that drew them before.  What is done is reported in
 * a notice.  The caller has checked that the table may be attached.  Returns the
 * max of the collection.
 */
extern int64 hilo_attach_column(const HiloColumn *column, HiloName collection,
								HiloAttachAssign assign);

/*
 * The same in steps, each a transaction: a check whether there are numbers left,
 * which locks nothing; triggers, which let no other session
 * insert for a moment; the counter, while others read and write; defaults, which
 * lock the table for a moment.  Each may be called again.
 */
extern void hilo_attach_check_room(const HiloColumn *column,
								   HiloName collection);
extern void hilo_attach_triggers(const HiloColumn *column,
								 HiloName collection,
								 HiloAttachAssign assign);
extern void hilo_attach_counter(const HiloColumn *column, HiloName collection);
extern int64 hilo_attach_defaults(const HiloColumn *column,
								  HiloName collection);

/*
 * Undo hilo_attach_column(), and restore what it replaced.  Returns which: one
 * of HILO_REPLACED_...
 */
extern const char *hilo_detach_column(const HiloColumn *column);

#endif							/* HILO_ATTACH_H */

/*-------------------------------------------------------------------------
 *
 * attachment.h
 *	  Which columns are attached to collections: their triggers say so.
 *
 * An attached column's table has a trigger, which names the collection in its
 * first argument, and the column as the only one whose updates fire it.  So
 * dumps, copies, clones and renames carry it.  The other arguments tell what the
 * trigger has to do with the id requested, and what hilo_attach() has replaced.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_ATTACHMENT_H
#define HILO_ATTACHMENT_H

#include "column.h"
#include "row.h"

/* The trigger function, in the schema of the extension. */
#define HILO_ADVANCE_FUNCTION	"hilo_advance"

/*
 * The name makes the trigger fire after those with ordinary names, which may
 * set the id.
 */
#define HILO_TRIGGER_NAME		"zzz_hilo_advance"

/*
 * Arguments of the trigger.  All but the first may be omitted: then nothing
 * was replaced, and nothing is assigned.
 */
#define HILO_TRIGGER_COLLECTION	0
#define HILO_TRIGGER_REPLACED	1	/* one of those below */
#define HILO_TRIGGER_DEFAULT	2	/* the default that was replaced */
#define HILO_TRIGGER_ASSIGN		3	/* HILO_ASSIGN, or empty */

#define HILO_ASSIGN				"assign"

/* What drew the values of a column before. */
#define HILO_REPLACED_NOTHING			"nothing"
#define HILO_REPLACED_SEQUENCE			"sequence"	/* that the column owns */
#define HILO_REPLACED_IDENTITY			"identity"
#define HILO_REPLACED_IDENTITY_ALWAYS	"identity always"
#define HILO_REPLACED_DEFAULT			"default"	/* any other one */

typedef struct HiloAttachment
{
	Oid			trigger;
	TransactionId xid;			/* transaction that made it, or changed it
								 * last */
	bool		is_clone;		/* of the trigger of a partitioned table */
	char	   *trigger_name;
	HiloColumn	column;
	HiloName	collection;		/* terminated by a zero byte, too */
	const char *replaced;		/* HILO_REPLACED_... */
	char	   *default_text;	/* with HILO_REPLACED_DEFAULT */
	bool		assigns;		/* ids of the kind that is requested? */
} HiloAttachment;

/*
 * All of them, or those of a collection if name is not NULL, as a list of
 * HiloAttachment *, palloc'd; the partitions of attached tables are among them.
 */
extern List *hilo_attachments(const HiloName *name);

/* Those of a table. */
extern List *hilo_attachments_of_table(Oid relation);

/* The attachment of a column; NULL: it is not attached. */
extern HiloAttachment *hilo_attachment_of_column(const HiloColumn *column);

/*
 * The attachment of a trigger; NULL: no such trigger, or it attaches nothing.
 */
extern HiloAttachment *hilo_attachment_of_trigger(Oid trigger);

/*
 * Was the trigger seen, as it is now: has the counter been advanced above what
 * the column had before?  No if it came with a restore, or was disabled and
 * enabled again.  *lately is true if that was noted after the statement that
 * is running began.  Cheap if this session has called it before.
 */
extern bool hilo_attachment_was_seen(Oid relation, Oid trigger, bool *lately);

/*
 * The same for an attachment that was just read, whenever the note was made.
 */
extern bool hilo_attachment_is_seen(const HiloAttachment *attachment);

/* Note that it was seen, if the current transaction commits. */
extern void hilo_attachment_note_seen(const HiloAttachment *attachment);

/* Has the current transaction dropped the trigger of an attached column? */
extern bool hilo_attachment_dropped_here(HiloName collection);

#endif							/* HILO_ATTACHMENT_H */

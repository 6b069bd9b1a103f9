/*-------------------------------------------------------------------------
 *
 * attachment.h
 *	  Which columns are attached to collections, as their triggers say.
 *
 * The table of an attached column has a trigger whose first argument names the
 * collection, and whose only UPDATE OF column is the attached one.  So dumps,
 * copies, clones and renames preserve the attachment.  The other arguments say
 * whether the trigger assigns ids, and what hilo.attach() replaced.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_ATTACHMENT_H
#define HILO_ATTACHMENT_H

#include "counting/row.h"
#include "tables/column.h"

/* The trigger function, in the schema of the extension. */
#define HILO_ADVANCE_FUNCTION	"advance"

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

/* What drew the values of a column before it was attached. */
#define HILO_REPLACED_NOTHING			"nothing"
#define HILO_REPLACED_SEQUENCE			"sequence"	/* owned by the column */
#define HILO_REPLACED_IDENTITY			"identity"
#define HILO_REPLACED_IDENTITY_ALWAYS	"identity always"
#define HILO_REPLACED_DEFAULT			"default"	/* any other default */

typedef struct HiloAttachment
{
	Oid			trigger;
	TransactionId xid;			/* transaction that last changed the trigger */
	bool		is_clone;		/* clone of a partitioned table's trigger */
	char	   *trigger_name;
	HiloColumn	column;
	const char *collection;		/* also terminated by a zero byte */
	const char *replaced;		/* HILO_REPLACED_... */
	char	   *default_text;	/* with HILO_REPLACED_DEFAULT */
	bool		assigns;		/* true: assigns ids of the requested kind */
} HiloAttachment;

/*
 * All attachments, or those to one collection if name is not NULL, as a list of
 * HiloAttachment *, palloc'd; partitions of attached tables are included.
 */
extern List *hilo_attachments(const char *name);

/* The attachments of a table. */
extern List *hilo_attachments_of_table(Oid relation);

/* The attachment of a column; NULL: it is not attached. */
extern HiloAttachment *hilo_attachment_of_column(const HiloColumn *column);

/*
 * The attachment of a trigger; NULL: no such trigger, or it attaches nothing.
 */
extern HiloAttachment *hilo_attachment_of_trigger(Oid trigger);

/*
 * True if the current version of the trigger was seen: the counter has been
 * advanced above the ids that the column had before.  False if it was created by
 * a restore, or disabled and enabled again. *lately is true if the note was
 * made after the current statement began.  Cheap after the first call in a
 * session.
 */
extern bool hilo_attachment_was_seen(Oid relation, Oid trigger, bool *lately);

/*
 * The same for an attachment that was just read, regardless of when the note
 * was made.
 */
extern bool hilo_attachment_is_seen(const HiloAttachment *attachment);

/*
 * Note that the trigger was seen.  The note takes effect if the current
 * transaction commits.
 */
extern void hilo_attachment_note_seen(const HiloAttachment *attachment);

/*
 * True if the current transaction has dropped the trigger of a column attached
 * to the collection.
 */
extern bool hilo_attachment_dropped_here(const char *collection);

#endif							/* HILO_ATTACHMENT_H */

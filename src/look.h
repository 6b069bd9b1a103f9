/*-------------------------------------------------------------------------
 *
 * look.h
 *	  The look: is a number an id of a table already, and which is the next one
 *	  that is not?
 *
 * Nothing keeps a counter ahead of the ids that come into a table by other means.
 * Instead, each draw looks into the table before the number is shown.
 *
 * What is looked at are indexes: in each table one that leads with the column.  Ids
 * of transactions that are still open count.  A look waits for no lock, runs no code
 * of users, and leaves no predicate lock.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_LOOK_H
#define HILO_LOOK_H

#include "access/attnum.h"
#include "datatype/timestamp.h"
#include "nodes/nodes.h"
#include "nodes/pg_list.h"

/*
 * Numbers that were no ids when they were looked at: those above low, up to high.
 * Each is good for one draw, by the command that looked, or as long as the window is
 * left open.
 */
typedef struct HiloWindow
{
	int64		low;
	int64		high;			/* not above low: the window is closed */
	int64		steps;			/* how many numbers the next window is to have */

	/* The command that looked. */
	TimestampTz statement;
	LocalTransactionId transaction;
	CommandId	command;
	TimestampTz open_until;		/* later commands may use it until then; 0:
								 * none may */
} HiloWindow;

/* Where the ids of a counter are, as far as this session knows. */
typedef struct HiloIds
{
	bool		is_current;		/* false: find the places again */
	bool		has_missed;		/* since the search for places began, a table
								 * could not be locked, or has changed */
	bool		heeds_all;		/* any message may be about it, as when a
								 * table that is named does not exist yet */
	Oid			without_index;	/* a table that no index answers for;
								 * InvalidOid: there is none */
	int64		limit;			/* highest number that fits the column that
								 * owns a sequence */
	bool		holds_text;		/* a column holds ids as text: windows are
								 * short */
	List	   *places;			/* indexes to look into, of HiloPlace * */
	List	   *relations;		/* OIDs; a message about one of them makes all
								 * of this out of date */
	MemoryContext context;		/* of both lists */
	HiloWindow	window;

	/*
	 * Set by the caller before a look at ids as text: what is around the
	 * number, which a hash tells from what was around it at the last look.
	 */
	const char *start;
	int			start_len;
	const char *tag;
	uint64		form_hash;
} HiloIds;

/* A counter as the look sees it: where it is, and how it goes on. */
typedef struct HiloCourse
{
	int64		increment;		/* not 0 */
	int64		end;			/* its last number in that direction */
} HiloCourse;

/* Steps from a number to one beyond it, or at it, in the direction of the course. */
extern int64 hilo_steps_to(const HiloCourse *course, int64 number, int64 to);

/* Make room for what a session knows; it lives until hilo_ids_free(). */
extern HiloIds *hilo_ids_create(void);
extern void hilo_ids_free(HiloIds *ids);

/*
 * Make sure that the places of a sequence are known: in the table of the column that owns
 * it and draws from it, and in the partitions and children of that table.  The sequence
 * must be locked.  If it has been altered, the caller sets ids->is_current to false before.
 */
extern void hilo_ids_of_sequence(HiloIds *ids, Oid sequence);

/*
 * Make sure that the places of a collection or identity, named without a bar, are known: those
 * of the columns that are bound to it.  *ids is NULL if none is bound, and made if there is
 * one.  A warning, once in a session, of a row of hilo.binding that does not count.
 */
extern void hilo_ids_of_collection(HiloIds **ids, const char *collection);

/*
 * Find the places of one column.  ids->without_index says which table has no index to look into, if
 * one has none.
 */
extern void hilo_ids_of_column(HiloIds *ids, Oid relation, AttrNumber attnum);

/* From now on all numbers have to be looked at again, because ids may have been added. */
extern void hilo_ids_close_window(HiloIds *ids);

/*
 * Say what is around the number in ids as text: before it so many bytes, and after it the tag.
 * Both have to stay where they are until the look.
 */
extern void hilo_ids_set_form(HiloIds *ids, const char *start, int start_len, const char *tag);

/*
 * True if the number is an id.  Call it once for each number that was drawn; the places must
 * be known.
 */
extern bool hilo_ids_has(HiloIds *ids, const HiloCourse *course, int64 number);

/* True if one of the numbers from low to high is an id; *id is the lowest of these. */
extern bool hilo_ids_have(HiloIds *ids, int64 low, int64 high, int64 *id);

/*
 * The next number beyond last, in the direction of the course, that is no id.  Returns false
 * if there is none; then *free is the last number that was looked at.  Adds the number of
 * looks to *tries.
 */
extern bool hilo_ids_next_free(HiloIds *ids, const HiloCourse *course, int64 last,
							   int64 *free, int *tries);

/*
 * The sequence that a stored default draws from, if it is exactly nextval or hilo.nextval of
 * a constant one with nothing around it but casts of the number; else InvalidOid.  *is_plain
 * says that it is nextval.
 */
extern Oid	hilo_sequence_in_default(Node *expression, bool *is_plain);

/*
 * Find the highest id of a column from low to high, or the lowest one, in the table, its
 * partitions and children.  Only rows that are there count, and those of transactions that
 * are still open.  Waits for locks.  Returns false if there is none; *index_missing says
 * that there are rows in a table in which no index answers.  Checks no rights.
 */
extern bool hilo_end_of_ids(Oid relation, AttrNumber attnum, int64 low, int64 high,
							bool highest, int64 *id, bool *index_missing);

#endif							/* HILO_LOOK_H */

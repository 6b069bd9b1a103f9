/*-------------------------------------------------------------------------
 *
 * counter_row.h
 *	  How a counter lies in its row.
 *
 * The layout is what CREATE TABLE in the install script says: fixed-width
 * columns, none of them NULL, then the name.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_COUNTER_ROW_H
#define HILO_COUNTER_ROW_H

/* The fixed-width part, as it lies at the start of the tuple's data. */
typedef struct HiloCounterRow
{
	int64		max;			/* highest number claimed */
	int64		max_ever;		/* highest max this row ever had */
	int64		claim_low;		/* lowest number of the newest claim */
	int64		claim_number;	/* its random number if it is a client's and
								 * nothing has happened since, else 0 */
	int64		changes;		/* how often the row has changed: says which
								 * claim is the newest one */
	int64		incarnation;	/* random; new whenever ranges claimed before
								 * must not be used any more */
	int64		max_value;		/* limit of max */
	int64		spare[4];		/* for later versions; 0 */
	bool		claim_end_new;	/* was max, when claimed, above max_ever? */
	bool		dropped;		/* a hilo_drop() forgot the counter */
} HiloCounterRow;

/* Size of the data itself, without the padding behind the last column. */
#define HILO_COUNTER_ROW_SIZE \
	(offsetof(HiloCounterRow, dropped) + sizeof(bool))

#define HILO_BIGINT_COLUMNS		11

/* Columns by number, those that are used by number. */
#define HILO_ANUM_MAX			1
#define HILO_ANUM_MAX_EVER		2
#define HILO_ANUM_MAX_VALUE		7
#define HILO_ANUM_DROPPED		13
#define HILO_ANUM_NAME			14	/* the last one */

/* Name of the counter of server-side ids, in the table hilo. */
#define HILO_SERVER_SIDE_NAME	"|"

#endif							/* HILO_COUNTER_ROW_H */

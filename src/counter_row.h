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

#include "datatype/timestamp.h"

/* The fixed-width part, as it lies at the start of the tuple's data. */
typedef struct HiloCounterRow
{
	int64		max;			/* highest number claimed */
	int64		max_ever;		/* highest max this row ever had */
	int64		claim_low;		/* lowest number of the newest claim; above
								 * max: nothing of it can go back */
	int64		claim_number;	/* its random number if it is a client's and
								 * nothing has happened since, else 0 */
	int64		changes;		/* how often the row has changed: says which
								 * claim is the newest one */
	int64		incarnation;	/* random; new whenever ranges claimed before
								 * must not be used any more */
	int64		max_value;		/* limit of max */
	int64		range_size;		/* own smallest range; 0: the setting counts */
	int64		max_range_size; /* own largest range; 0: the setting counts */
	int64		claims;			/* how many ranges were claimed, */
	int64		given_back;		/* and how many of their numbers went back */
	int64		spare[4];		/* for later versions; 0 */
	TimestampTz created_at;		/* start of what claims and claim_rate count */
	TimestampTz claimed_at;		/* time of the newest claim; DT_NOBEGIN: none */
	float8		claim_rate;		/* see rate.h */
	NameData	node_tag;		/* own node tag, if has_node_tag */
	bool		has_node_tag;
	bool		may_be_bound;	/* if not, there is nothing about it in
								 * hilo_binding */
	bool		claim_end_new;	/* was max, when claimed, above max_ever? */
	bool		dropped;		/* a hilo_drop() forgot the counter */
} HiloCounterRow;

/* Size of the data itself, without the padding behind the last column. */
#define HILO_COUNTER_ROW_SIZE \
	(offsetof(HiloCounterRow, dropped) + sizeof(bool))

/* The types of the columns; the last one is the name. */
#define HILO_COUNTER_COLUMNS	24
#define HILO_COUNTER_TYPES \
	INT8OID, INT8OID, INT8OID, INT8OID, INT8OID, INT8OID, INT8OID, INT8OID, \
	INT8OID, INT8OID, INT8OID, INT8OID, INT8OID, INT8OID, INT8OID, \
	TIMESTAMPTZOID, TIMESTAMPTZOID, FLOAT8OID, NAMEOID, \
	BOOLOID, BOOLOID, BOOLOID, BOOLOID, TEXTOID

#define HILO_ANUM_NODE_TAG		19
#define HILO_ANUM_NAME			HILO_COUNTER_COLUMNS

/* Name of the counter of server-side ids, in the table hilo. */
#define HILO_SERVER_SIDE_NAME	"|"

#endif							/* HILO_COUNTER_ROW_H */

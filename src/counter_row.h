/*-------------------------------------------------------------------------
 *
 * counter_row.h
 *	  How a counter, or a lease, lies in its row.
 *
 * The layout is what CREATE TABLE in the install script says: fixed-width
 * columns, none of them NULL, then the name; in hilo_lease, a text behind it.
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
	int64		lease_size;		/* own smallest lease; 0: the setting counts */
	int64		lease_timeline; /* of the newest lease: in hilo one given, in
								 * hilo_lease one got; 0: none, or see
								 * HILO_NOT_RESUMED */
	int64		spare[4];		/* for later versions; 0 */
	TimestampTz created_at;		/* start of what claims and claim_rate count */
	TimestampTz claimed_at;		/* time of the newest claim; DT_NOBEGIN: none */
	float8		claim_rate;		/* see rate.h */
	NameData	node_tag;		/* own node tag, if has_node_tag */
	NameData	hub;			/* if leased: the server to ask; empty: none
								 * any more */
	NameData	hub_role;		/* with whose user mapping; empty: that of the
								 * extension's owner */
	bool		has_node_tag;
	bool		leased;			/* numbers come from a hub, not from max */
	bool		may_be_bound;	/* if not, there is nothing about it in
								 * hilo_binding */
	bool		claim_end_new;	/* was max, when claimed, above max_ever? */
	bool		dropped;		/* a hilo_drop() forgot the counter */
} HiloCounterRow;

/* Size of the data itself, without the padding behind the last column. */
#define HILO_COUNTER_ROW_SIZE \
	(offsetof(HiloCounterRow, dropped) + sizeof(bool))

/* A lease_timeline of a hub's row that another cluster, or backup, has made. */
#define HILO_NOT_RESUMED		(-1)

/*
 * What follows in hilo_lease: two leases, and how it went with the hub.  The
 * current lease are the numbers that the counter may still count, from max to
 * max_value.
 */
typedef struct HiloLease
{
	int64		low;			/* first number of the current lease */
	int64		next_low;		/* the next lease */
	int64		next_high;		/* its end; 0: there is none */
	int64		last_size;		/* size of the lease got last; 0: none */
	TimestampTz leased_at;		/* and when; DT_NOBEGIN: none */
	TimestampTz asked_at;		/* when a worker was last sent for the next
								 * one; DT_NOBEGIN: never */
	TimestampTz failed_at;		/* last attempt that failed, if no other has
								 * followed; DT_NOBEGIN: none */
	TimestampTz failing_since;	/* the first one in a row */
	int64		error_code;		/* its SQLSTATE, as ereport() has it */
	int64		database;		/* OID of the one that got the leases */

	/* Its message, blanks at its end; in the row, behind the name. */
#define HILO_LEASE_ERROR_LEN	240
	char		error[HILO_LEASE_ERROR_LEN];
} HiloLease;

/* The first column of it begins at the next multiple of 8. */
#define HILO_LEASE_OFFSET		sizeof(HiloCounterRow)
#define HILO_LEASE_ROW_SIZE		(HILO_LEASE_OFFSET + offsetof(HiloLease, error))

/* The types of the columns. */
#define HILO_COUNTER_FIXED_TYPES \
	INT8OID, INT8OID, INT8OID, INT8OID, INT8OID, INT8OID, INT8OID, INT8OID, \
	INT8OID, INT8OID, INT8OID, INT8OID, INT8OID, INT8OID, INT8OID, INT8OID, \
	INT8OID, TIMESTAMPTZOID, TIMESTAMPTZOID, FLOAT8OID, \
	NAMEOID, NAMEOID, NAMEOID, \
	BOOLOID, BOOLOID, BOOLOID, BOOLOID, BOOLOID
#define HILO_COUNTER_TYPES \
	HILO_COUNTER_FIXED_TYPES, TEXTOID
#define HILO_LEASE_TYPES \
	HILO_COUNTER_FIXED_TYPES, INT8OID, INT8OID, INT8OID, INT8OID, \
	TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID, \
	INT8OID, INT8OID, TEXTOID, TEXTOID

#define HILO_ANUM_NODE_TAG		21	/* first of three of type name */
#define HILO_ANUM_NAME			29	/* in tables of counters */
#define HILO_ANUM_LEASE_NAME	39	/* in hilo_lease */
#define HILO_ANUM_LEASE_ERROR	40
#define HILO_COUNTER_COLUMNS	HILO_ANUM_NAME
#define HILO_LEASE_COLUMNS		HILO_ANUM_LEASE_ERROR

/* Name of the counter of server-side ids, in the table hilo. */
#define HILO_SERVER_SIDE_NAME	"|"

#endif							/* HILO_COUNTER_ROW_H */

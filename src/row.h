/*-------------------------------------------------------------------------
 *
 * row.h
 *	  How rows of our tables lie on disk, and how they change: in place, as a
 *	  sequence changes its only tuple.
 *
 * The change is visible to all at once, whatever becomes of the transaction,
 * and waits for no other transaction.  The steps: lock the table against being
 * rewritten; find the row; lock its page; work out the new contents; log and
 * apply them by a generic WAL record; let everything go; flush.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_ROW_H
#define HILO_ROW_H

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "storage/buf.h"
#include "storage/itemptr.h"
#include "storage/off.h"

#include "catalog.h"

/* A name: len bytes, not terminated. */
typedef struct HiloName
{
	const char *data;
	int			len;
} HiloName;

static inline bool
hilo_name_equals(HiloName one, HiloName other)
{
	return one.len == other.len && memcmp(one.data, other.data, one.len) == 0;
}

/* The row of server-side ids, and of this server as a hub, has this name. */
#define HILO_OWN_NAME	"|"

/*
 * A row of hilo.hilo up to its name, as it lies at the start of the tuple's
 * data.  The columns are those of CREATE TABLE in the install script.
 */
typedef struct HiloRow
{
	int64		max;			/* highest number claimed; on a member,
								 * leased, or chosen by hand */
	int64		max_ever;		/* highest max this row ever had */
	int64		claim_low;		/* lowest number of the newest claim; above
								 * max: nothing of it can go back */
	int64		claim;			/* its token if it is a client's and nothing
								 * has happened since, else 0 */
	int64		changes;		/* how often the row has changed: says which
								 * claim is the newest one */
	int64		epoch;			/* random; a new one makes every range and
								 * pooled number of before worthless */
	int64		max_value;		/* upper limit of max */
	int64		home;			/* hilo_catalog_home() at the last change */
	int64		hub_epoch;		/* on a member: epoch on the hub; if
								 * HILO_ROW_ORDERED: timeline of the newest
								 * claim; 0: none yet */
	int64		timeline;		/* on a hub: of the newest lease given; 0:
								 * none; or HILO_NOT_RESUMED */
	int64		spare[2];		/* for later versions; 0 */
	TimestampTz created_at;		/* start of the time that claim_rate covers */
	TimestampTz claimed_at;		/* time of the newest claim; DT_NOBEGIN: none */
	float8		claim_rate;		/* per hour, see range.h */
	int32		range_size;		/* each of these three: 0: the setting counts */
	int32		max_range_size;
	int32		lease_size;
	int32		flags;			/* HILO_ROW_... */
	NameData	node_tag;		/* if HILO_ROW_HAS_TAG */
	NameData	hub;			/* if HILO_ROW_LEASED: the server to ask;
								 * empty: none any more */
} HiloRow;

#define HILO_ROW_DROPPED		1	/* forgotten by hilo_drop(); or there is
									 * no row */
#define HILO_ROW_LEASED			2	/* numbers come from a hub, not from max */
#define HILO_ROW_HAS_TAG		4
#define HILO_ROW_BOUND			8	/* if not, nothing about it is in
									 * hilo.binding */
#define HILO_ROW_NEW_END		16	/* max, when claimed, was above max_ever */
#define HILO_ROW_ORDERED		32	/* numbers are drawn one after the other */
#define HILO_ROW_OWN_LIMIT		64	/* max_value was chosen, and is not that
									 * of a type */
#define HILO_ROW_DESERTED		128 /* its last table was dropped, and nothing
									 * was bound or granted since */
#define HILO_ROW_SETTLED		256 /* if ordered: all transactions of before
									 * that have ended */

/* A timeline of a row that another cluster, or backup, has made. */
#define HILO_NOT_RESUMED		(-1)

/* A row of hilo.hub up to its name. */
typedef struct HiloHubRow
{
	int64		home;
	int64		system_identifier;	/* 0: it never answered */
	int64		timeline;		/* highest one it ever told; in the own row,
								 * the one on which this server may give
								 * leases, or HILO_NOT_RESUMED */
	int64		raised;			/* in the own row: what it tells is so much
								 * above its timeline */
	int64		synchronous;	/* in the own row: 1: a synchronous standby
								 * has all leases */
	int64		host;			/* which of several has answered last, from 0 */
	TimestampTz reported_at;	/* when it was told what is held here */
	int64		spare[2];
	NameData	role;			/* whose user mapping; empty: the owner's */
} HiloHubRow;

/*
 * A row of hilo.member up to its name, which is that of the member, a bar, and
 * that of the counter.
 */
typedef struct HiloMemberRow
{
	int64		home;
	int64		highest;		/* number that it said it ever had */
	int64		epoch;			/* of the counter, at the last lease; 0: none */
	int64		timeline;		/* of this hub, as it was told last when the
								 * member said so; HILO_FORGOTTEN */
	int64		known_timeline; /* highest one that the member has seen */
	TimestampTz seen_at;
	int64		spare[2];
	NameData	address;		/* of its connection; empty: none */
} HiloMemberRow;

/* The timeline of a member that does not count. */
#define HILO_FORGOTTEN		(-1)

/*
 * A name, and where its row was last seen.  What it remembers is checked
 * before it is used, so it may be kept for long.
 */
typedef struct HiloRowRef
{
	HiloName	name;			/* the bytes are the caller's, and stay */
	Oid			table;			/* InvalidOid: row not seen yet */
	ItemPointerData tid;
	uint64		generation;		/* hilo_row_generation when it was seen */
} HiloRowRef;

/* What is to be done with a row. */
typedef enum HiloRowAccess
{
	HILO_ROW_READ,
	HILO_ROW_CHANGE,
	HILO_ROW_CREATE				/* or change it, if it is there */
} HiloRowAccess;

/*
 * A row with its page locked, between hilo_row_find() and hilo_row_finish() or
 * hilo_row_abandon().  In between, raise no error that is not worth an abort,
 * and do nothing that takes long.
 */
typedef struct HiloRowChange
{
	HiloTable	table;
	Relation	rel;
	LOCKMODE	lockmode;		/* of the lock on it */
	Buffer		buffer;
	OffsetNumber offset;
	bool		created;		/* inserted by us, not yet there for others */
	int64		home;			/* what the row's should be */
	HiloRow		row;			/* contents now, to be changed: of hilo.hilo */
	HiloHubRow	hub;			/* or of hilo.hub */
	HiloMemberRow member;		/* or of hilo.member */
} HiloRowChange;

/* A row as it was read. */
typedef struct HiloNamedRow
{
	HiloName	name;
	HiloRow		row;			/* of hilo.hilo, */
	HiloMemberRow member;		/* or of hilo.member */
} HiloNamedRow;

/* A reference to a row that has not been seen yet. */
extern void hilo_row_ref_init(HiloRowRef *ref, HiloName name);

/* A random number above 0 that cannot be guessed. */
extern int64 hilo_random_number(void);

/*
 * Lock the table, and the row.  Returns false, holding nothing, when there is
 * no row (with HILO_ROW_CREATE: never).  Raises an error for a change in a
 * transaction that has rewritten the table.  A row just created is zeroed but for
 * epoch, max_value and times.
 */
extern bool hilo_row_find(HiloRowChange *change, HiloTable table,
						  HiloRowRef *ref, HiloRowAccess access);

/* Raise the error that a change of a counter would in such a transaction. */
extern void hilo_row_check_storage(void);

/*
 * Lock the counters' table as a change does, for several, until it is closed with
 * hilo_row_unlock_table().
 */
extern Relation hilo_row_lock_table(void);
extern void hilo_row_unlock_table(Relation rel);

/*
 * Find a row, for a change of a counter in a backend that is about to exit, which
 * waits for no locks on the table and its indexes: false, also if one of them is
 * taken, or the table is not the one in which the row was seen.
 */
extern bool hilo_row_find_at_exit(HiloRowChange *change, HiloRowRef *ref);

/* Let the row go as it is.  Not for one that was just created. */
extern void hilo_row_abandon(HiloRowChange *change);

/*
 * Log and apply the contents, and let the row go.  Returns what to flush.
 *
 * A row just created becomes visible to everybody, and independent of the
 * current transaction, by the same WAL record.
 */
extern XLogRecPtr hilo_row_finish(HiloRowChange *change);

/* Wait until a change is on disk here. */
extern void hilo_row_flush_here(XLogRecPtr lsn);

/*
 * Wait until a change is on disk and, following synchronous_commit, on the
 * synchronous standbys.  Raises an error if it was not said to be there; what
 * depends on the change must then not be shown.
 */
extern void hilo_row_flush(XLogRecPtr lsn);

/*
 * The same, but raises 55000 as well if there is no synchronous standby that has
 * said so, whatever has become of the settings.
 */
extern void hilo_row_flush_to_standby(XLogRecPtr lsn);

/*
 * The same for a number that is a statement's own: like a commit it follows
 * synchronous_commit = off, and is then written soon.
 */
extern void hilo_row_flush_for_statement(XLogRecPtr lsn);

/*
 * What to flush instead of a change that other sessions may have to flush as
 * well: the server wants no two to wait for standbys by the same LSN.  This is
 * a record of our own, above it, if there is something to wait for.
 */
extern XLogRecPtr hilo_row_own_lsn(XLogRecPtr lsn);

/*
 * Copies of all counters that are not dropped, as a list of HiloNamedRow *,
 * palloc'd; the epoch is 0 of what came from elsewhere.  Leaves no trace for serializable transactions.
 */
extern List *hilo_row_list(void);

/* The same of hilo.member; the timeline is 0 of what came from elsewhere. */
extern List *hilo_row_list_members(void);

#endif							/* HILO_ROW_H */

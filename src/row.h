/*-------------------------------------------------------------------------
 *
 * row.h
 *	  The layout of rows of hilo.hilo on disk, and their changes: in place, as a
 *	  sequence changes its only tuple.
 *
 * A change is visible to all sessions at once, even if the transaction is rolled
 * back later, and waits for no other transaction.  The steps: lock the table
 * against being rewritten; find the row; lock its page; work out the new
 * contents; log and apply them; release everything; flush.  How they are logged is told at
 * hilo_row_finish_claim().
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_ROW_H
#define HILO_ROW_H

#include "access/htup.h"
#include "access/xlogdefs.h"
#include "catalog/indexing.h"
#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "storage/buf.h"
#include "storage/itemptr.h"
#include "storage/off.h"

#include "catalog.h"

/* The row of server-side ids has this name. */
#define HILO_SERVER_SIDE_NAME	"|"

/*
 * A row of hilo.hilo up to its name, with the layout that it has at the start
 * of the tuple's data.  The columns are those of CREATE TABLE in the install
 * script.
 */
typedef struct HiloRow
{
	int64		max;			/* highest number claimed */
	int64		max_value;		/* upper limit of max */
	int64		claim_low;		/* of a client's claim, if that is the newest:
								 * its lowest number; else 0 */
	int64		claim;			/* and its token; else 0 */
	int64		epoch;			/* random; a new one invalidates all earlier
								 * ranges and pooled numbers */
	int64		home;			/* hilo_catalog_home() at the last change */
	TimestampTz claimed_at;		/* time of the newest claim; DT_NOBEGIN: none */
	float8		claim_rate;		/* per hour, see range.h */
	int64		hub;			/* these four in row HILO_SERVER_SIDE_NAME
								 * only, for */
	int64		opening;		/* hilo_hub: which hub counts, how often and */
	int64		opening_id;		/* as what it was opened, and where its new */
	int64		floor;			/* counters begin */
	int64		ahead;			/* numbers above max that the WAL covers, */
	XLogRecPtr	logged_at;		/* as long as this is the LSN of the page, */
	Oid			logged_in;		/* and this the table's relfilenode */
	int32		range_size;		/* of these two, 0: the setting applies */
	int32		max_range_size;
	int32		flags;			/* HILO_ROW_... */
	NameData	node_tag;		/* if HILO_ROW_HAS_TAG; of
								 * HILO_SERVER_SIDE_NAME, what hilo_hub notes */
	char		separator[2];	/* of its ids, if not empty.  Only the first
								 * byte is on disk; the other one, 0, makes it
								 * a string */
} HiloRow;

/* The bytes of a row on disk. */
#define HILO_ROW_SIZE	(offsetof(HiloRow, separator) + 1)

#define HILO_ROW_DROPPED		1	/* dropped by hilo.drop(), or the row does
									 * not exist */
#define HILO_ROW_HAS_TAG		2
#define HILO_ROW_SHARED			4	/* several servers hand out its numbers;
									 * of HILO_SERVER_SIDE_NAME: those of new
									 * counters */
#define HILO_ROW_HUB			8	/* of HILO_SERVER_SIDE_NAME: this server
									 * is a hub */

/*
 * A name, and where its row was found last: at first, all but the name is zero.
 * The place is verified before use, so a reference stays usable.
 */
typedef struct HiloRowRef
{
	const char *name;			/* belongs to the caller, and must stay */
	Oid			table;			/* InvalidOid: row not found yet */
	Oid			storage;		/* the table's relfilenode */
	ItemPointerData tid;
	uint64		generation;		/* hilo_generation when it was found */
} HiloRowRef;

/* What is to be done with a row. */
typedef enum HiloRowAccess
{
	HILO_ROW_READ,
	HILO_ROW_CHANGE,
	HILO_ROW_CREATE				/* or change it, if it exists */
} HiloRowAccess;

/*
 * A row with its page locked, between hilo_row_find() and hilo_row_finish() or
 * hilo_row_abandon().  In between, do nothing that takes long or raises errors.
 */
typedef struct HiloRowChange
{
	Relation	rel;			/* NULL: a row to be read, in a table that is
								 * locked but not open */
	LOCKMODE	lockmode;		/* of the lock on it */
	Oid			storage;		/* its relfilenode, for a change */
	Buffer		buffer;
	OffsetNumber offset;
	bool		created;		/* inserted by us, not yet visible to others */
	int64		home;			/* what the row's home should be */
	HiloRow		row;			/* its contents now, to be changed; if there
								 * is none, an empty one, HILO_ROW_DROPPED */
} HiloRowChange;

/* A row as it was read. */
typedef struct HiloNamedRow
{
	const char *name;
	HiloRow		row;
	XLogRecPtr	lsn;			/* the WAL up to it has these contents */
} HiloNamedRow;

/* A random number above 0 that cannot be guessed. */
extern int64 hilo_random_number(void);

/*
 * Lock the table and the row.  Returns false, holding nothing, if the row does
 * not exist (never with HILO_ROW_CREATE).  Raises an error in a transaction that
 * has rewritten the table.  A row just created is zeroed except for epoch,
 * max_value and times.
 *
 * For a change, a row that came from elsewhere, with a copy of the database or an
 * insert that bypassed the triggers, starts over with a new epoch: its ranges
 * belong to the place that it came from.  Its home still says so.
 */
extern bool hilo_row_find(HiloRowChange *change, HiloRowRef *ref,
						  HiloRowAccess access);

/*
 * Lock the counters' table as a change does, for several changes; close it with
 * table_close().
 */
extern Relation hilo_row_lock_table(LOCKMODE lockmode);

/* Make sure that no number of the newest claim can go back. */
extern void hilo_row_end_claims(HiloRow *row);

/*
 * Release a row without a change.  One that was just created is logged and flushed
 * nevertheless; but it shows no number, so no standby is waited for.
 */
extern void hilo_row_abandon(HiloRowChange *change);

/*
 * Log and apply the contents, and release the row.  Returns the LSN to flush.
 *
 * A row just created becomes visible to all sessions, and independent of the
 * current transaction, by the same WAL record.
 */
extern XLogRecPtr hilo_row_finish(HiloRowChange *change);

/*
 * Finish a change that only claims numbers, or takes some back, like hilo_row_finish(): of the
 * row, it has changed max, what is known of the newest claim, and the rate.  Mostly it writes
 * no record, because an earlier one covers the numbers; the LSN to flush is then that one's.
 * size is how many numbers were claimed, without those that were passed over: a record logs as
 * many ahead.
 */
extern XLogRecPtr hilo_row_finish_claim(HiloRowChange *change, int64 size);

/* Wait until a change is on disk here. */
extern void hilo_row_flush_here(XLogRecPtr lsn);

/*
 * Wait until a change is on disk and, according to synchronous_commit, on the
 * synchronous standbys.  Raises an error if standbys have not acknowledged it;
 * what depends on the change must then not be shown.
 */
extern void hilo_row_flush(XLogRecPtr lsn);

/*
 * The LSN to flush instead of one that other sessions may have to flush as
 * well.  A server built with assertions insists that no two sessions wait for
 * standbys with the same LSN: there it is that of a record of our own.
 */
#ifdef USE_ASSERT_CHECKING
extern XLogRecPtr hilo_row_own_lsn(XLogRecPtr lsn);
#else
#define hilo_row_own_lsn(lsn)	(lsn)
#endif

/*
 * Copies of all counters, also dropped ones, as a list of HiloNamedRow *,
 * palloc'd; those that came from elsewhere have epoch 0.  Leaves no trace for
 * serializable transactions.
 */
extern List *hilo_row_list(void);

/*
 * Ordinary rows
 */

/*
 * Insert a tuple, as the given command of the current transaction, with its
 * entries in the indexes that CatalogOpenIndexes() has opened.  No trigger fires,
 * and no constraint but unique indexes is checked.  Logical decoding does not see
 * it, because the contents of our tables belong to this server.
 */
extern void hilo_insert_tuple(CatalogIndexState indexes, HeapTuple tuple,
							  CommandId cid);

#endif							/* HILO_ROW_H */

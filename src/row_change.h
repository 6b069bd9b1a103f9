/*-------------------------------------------------------------------------
 *
 * row_change.h
 *	  How a row of our tables of counters changes: in place, as a sequence
 *	  changes its one tuple.
 *
 * At once for everybody, whatever becomes of the transaction, without waiting
 * for another one's end.  The steps: lock the table against being rewritten;
 * find the row; lock its page; work out the new contents; log and apply them by
 * a generic WAL record; let everything go; flush.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_ROW_CHANGE_H
#define HILO_ROW_CHANGE_H

#include "access/xlogdefs.h"
#include "storage/buf.h"
#include "storage/itemptr.h"
#include "storage/off.h"

#include "catalog.h"
#include "counter_row.h"

/* The name of a counter: len bytes, not terminated. */
typedef struct HiloName
{
	const char *data;
	int			len;
} HiloName;

/*
 * A counter, and where its row was last seen.  The caller keeps it as long as
 * he likes; what it remembers is checked before it is used.
 */
typedef struct HiloCounter
{
	HiloTable	which;			/* the table it is in */
	HiloName	name;			/* the bytes are the caller's, and stay */
	Oid			table;			/* InvalidOid: row not seen yet */
	ItemPointerData tid;
	uint64		generation;		/* of the catalog, when the row was seen */
} HiloCounter;

/*
 * A row with its page locked, between hilo_row_find() and hilo_row_finish() or
 * hilo_row_abandon().  No error may be raised in between that is not worth an
 * abort, and nothing be done that takes long.
 */
typedef struct HiloRowChange
{
	HiloTable	which;
	Relation	rel;
	LOCKMODE	lockmode;		/* of the lock on it */
	Buffer		buffer;
	OffsetNumber offset;
	bool		created;		/* inserted by us, not yet there for others */
	HiloCounterRow row;			/* contents now; to be changed */
	HiloLease	lease;			/* in hilo_lease: what follows */
} HiloRowChange;

/*
 * Start with an unseen row.  Who has heard where it is may fill in table and tid
 * as a hint: they are looked at before they are believed.
 */
extern void hilo_counter_init(HiloCounter *counter, HiloTable which,
							  HiloName name);

/* A random number above 0 that nobody can guess. */
extern int64 hilo_random_number(void);

/*
 * Lock the table as lockmode says, and the row of the counter.  Returns false,
 * holding nothing, when there is no row (with create: never).
 */
extern bool hilo_row_find(HiloRowChange *change, HiloCounter *counter,
						  LOCKMODE lockmode, bool create);

/* The same with the lock that a change needs. */
extern bool hilo_row_find_for_change(HiloRowChange *change,
									 HiloCounter *counter, bool create);

/*
 * The same in a backend that is about to exit, which waits for no locks on the
 * table, the one that was seen before, and its indexes: false, also if one of
 * them is taken.
 */
extern bool hilo_row_find_at_exit(HiloRowChange *change, HiloCounter *counter,
								  Oid table);

/*
 * Call visit with the name and a copy of each row of a table, without leaving
 * a trace for serializable transactions.  lease is NULL but for hilo_lease.
 */
typedef void (*HiloRowVisitor) (HiloName name, const HiloCounterRow *row,
								const HiloLease *lease, void *arg);
extern void hilo_row_visit(HiloTable which, HiloRowVisitor visit, void *arg);

/* Let the row go as it is.  Not for one that was just created. */
extern void hilo_row_abandon(HiloRowChange *change);

/*
 * Log and apply change->row, and let it go.  Returns what to flush.
 *
 * A row just created becomes visible to everybody, and independent of the
 * current transaction, by the same WAL record.
 */
extern XLogRecPtr hilo_row_finish(HiloRowChange *change);

/*
 * Wait until a change is on disk and, following synchronous_commit, on the
 * synchronous standbys.  Raises an error if it was not said to be there; what
 * depends on the change must then not be shown.
 */
extern void hilo_row_flush(XLogRecPtr lsn);

/*
 * The same for a number that is a statement's own: like a commit it follows
 * synchronous_commit = off, and is then written soon.
 */
extern void hilo_row_flush_for_statement(XLogRecPtr lsn);

#endif							/* HILO_ROW_CHANGE_H */

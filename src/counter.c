/*-------------------------------------------------------------------------
 *
 * counter.c
 *	  The counters: rows of the tables hilo and hilo_identity.
 *
 * A change takes these steps: lock the table against being rewritten; find the
 * row; lock its page; work out the new contents; log and apply them by a
 * generic WAL record; let everything go; flush.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/lwlock.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "counter.h"
#include "failure_point.h"
#include "rate.h"
#include "settings.h"
#include "tuple.h"

/*
 * A row with its page locked, between find_for_change() and finish_change()
 * or abandon_change().  No error may be raised in between that is not worth an
 * abort, and nothing be done that takes long.
 */
typedef struct RowChange
{
	Relation	rel;
	LOCKMODE	lockmode;		/* of the lock on it */
	Buffer		buffer;
	OffsetNumber offset;
	bool		created;		/* inserted by us, not yet there for others */
	HiloCounterRow row;			/* contents now; to be changed */
} RowChange;

/* Attempts to find a row that is changed by other means under our eyes. */
#define MAX_FIND_ATTEMPTS	10

void
hilo_counter_init(HiloCounter *counter, HiloTable which, HiloName name)
{
	counter->which = which;
	counter->name = name;
	counter->table = InvalidOid;
	ItemPointerSetInvalid(&counter->tid);
	counter->generation = 0;
}

/*
 * A random number above 0.  pg_strong_random() rather than a cheaper source:
 * the number of a claim is what tells its holder from others.
 */
static int64
random_number(void)
{
	uint64		result;

	do
	{
		if (!pg_strong_random(&result, sizeof(result)))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("could not generate a random number")));
		result &= PG_INT64_MAX;
	} while (result == 0);

	return (int64) result;
}

/*
 * Is it the counter's tuple?  The name is the last column, and the others are
 * never NULL, so it stands at the same place in every tuple.
 */
static bool
tuple_is_of(HeapTuple tuple, const HiloCounter *counter)
{
	char	   *data = GETSTRUCT(tuple);
	text	   *name;

	if (HeapTupleHeaderGetNatts(tuple->t_data) < HILO_ANUM_NAME ||
		HeapTupleHasNulls(tuple))
		return false;

	name = (text *) (data + att_align_pointer(HILO_COUNTER_ROW_SIZE,
											  TYPALIGN_INT, -1,
											  data + HILO_COUNTER_ROW_SIZE));
	if (VARATT_IS_EXTENDED(name) && !VARATT_IS_SHORT(name))
		return false;
	return VARSIZE_ANY_EXHDR(name) == (Size) counter->name.len &&
		memcmp(VARDATA_ANY(name), counter->name.data, counter->name.len) == 0;
}

/*
 * May the tuple be changed in place?  Somebody's lock on it is no obstacle:
 * what it guards, columns and visibility, stays as it is.
 */
static bool
tuple_is_live(HeapTuple tuple, Buffer buffer)
{
	HeapTupleHeader header = tuple->t_data;

	/* All rows but those just made by other means look like this. */
	if (HeapTupleHeaderXminFrozen(header) &&
		(header->t_infomask & HEAP_XMAX_INVALID))
		return true;

	if (!HeapTupleHeaderXminFrozen(header) &&
		TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetRawXmin(header)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot change a counter whose row this transaction has inserted around the triggers"),
				 errhint("Commit first.")));

	switch (HeapTupleSatisfiesUpdate(tuple, GetCurrentCommandId(false), buffer))
	{
		case TM_Ok:
			return true;
		case TM_BeingModified:
			return HEAP_XMAX_IS_LOCKED_ONLY(header->t_infomask);
		default:
			return false;
	}
}

/*
 * Lock the page that counter->tid names, exclusively, and read the row.
 * Returns false, with nothing locked, when the live row is not there.
 */
static bool
lock_row(RowChange *change, const HiloCounter *counter)
{
	OffsetNumber offset = ItemPointerGetOffsetNumber(&counter->tid);
	HeapTupleData tuple;
	ItemId		item;
	Page		page;

	change->buffer = ReadBuffer(change->rel,
								ItemPointerGetBlockNumber(&counter->tid));
	LockBuffer(change->buffer, BUFFER_LOCK_EXCLUSIVE);
	page = BufferGetPage(change->buffer);

	if (offset > PageGetMaxOffsetNumber(page))
		goto not_there;
	item = PageGetItemId(page, offset);
	if (!ItemIdIsNormal(item))
		goto not_there;

	tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
	tuple.t_len = ItemIdGetLength(item);
	tuple.t_self = counter->tid;
	tuple.t_tableOid = RelationGetRelid(change->rel);
	if (!tuple_is_of(&tuple, counter))
		goto not_there;
	if (!change->created && !tuple_is_live(&tuple, change->buffer))
		goto not_there;

	change->offset = offset;
	memcpy(&change->row, GETSTRUCT(&tuple), HILO_COUNTER_ROW_SIZE);
	return true;

not_there:
	UnlockReleaseBuffer(change->buffer);
	change->buffer = InvalidBuffer;
	return false;
}

/*
 * Look the row up in the index and remember its TID.  The snapshot sees what
 * is committed now, and leaves no trace for serializable transactions.
 */
static bool
find_row(Relation rel, HiloCounter *counter)
{
	Datum		name = PointerGetDatum(cstring_to_text_with_len(counter->name.data,
																counter->name.len));
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyEntryInitialize(&key, 0, HILO_ANUM_NAME, BTEqualStrategyNumber,
						   InvalidOid, C_COLLATION_OID, F_TEXTEQ, name);
	scan = systable_beginscan(rel, hilo_catalog_name_index(counter->which, rel,
													   HILO_ANUM_NAME), true,
							  SnapshotSelf, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		/* The lock on the table keeps the row there until we let go of it. */
		counter->table = RelationGetRelid(rel);
		counter->tid = tuple->t_self;
		counter->generation = hilo_catalog_generation;
	}
	else
		counter->table = InvalidOid;
	systable_endscan(scan);

	return OidIsValid(counter->table);
}

/* Is what counter remembers of its row's place still true? */
static inline bool
place_is_known(Relation rel, const HiloCounter *counter)
{
	return counter->generation == hilo_catalog_generation &&
		counter->table == RelationGetRelid(rel);
}

/*
 * Find the row in the locked table change->rel and lock its page.  Returns
 * false when there is no row.
 */
static bool
find_and_lock_row(RowChange *change, HiloCounter *counter)
{
	if (place_is_known(change->rel, counter) && lock_row(change, counter))
		return true;

	for (int i = 0; i < MAX_FIND_ATTEMPTS; i++)
	{
		if (!find_row(change->rel, counter))
			return false;
		if (lock_row(change, counter))
			return true;
		CHECK_FOR_INTERRUPTS();
	}

	/* Our own code never updates or deletes: the guards were switched off. */
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_IN_USE),
			 errmsg("row \"%.*s\" of table \"%s\" is being changed by hand",
					counter->name.len, counter->name.data,
					RelationGetRelationName(change->rel)),
			 errhint("Enable the table's triggers again.")));
	return false;				/* keep compiler quiet */
}

/*
 * Raise an error if entries made now could be missing from an index later.
 *
 * Who has rebuilt, made or dropped an index in this transaction has a strong
 * lock on the table; a rollback would bring the index of before back, without
 * an entry for the row, which stays.  An index on anything but the name would
 * not follow changes in place; one that is not unique could get two entries
 * for a row that is made, and frozen, while it is built concurrently.
 */
static void
check_indexes(Relation rel)
{
	List	   *indexes;
	ListCell   *lc;

	if (rel->rd_createSubid == InvalidSubTransactionId &&
		CheckRelationLockedByMe(rel, ShareLock, true))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot create a counter in a transaction that has locked table \"%s\", or changed its indexes",
						RelationGetRelationName(rel)),
				 errhint("Commit first.")));

	indexes = RelationGetIndexList(rel);
	foreach(lc, indexes)
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		if (!hilo_catalog_index_fits(index, HILO_ANUM_NAME))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("table \"%s\" must not have the index \"%s\"",
							RelationGetRelationName(rel),
							RelationGetRelationName(index)),
					 errdetail("Rows change in place: an index must be unique, and depend on the name only."),
					 errhint("Drop it.")));
		index_close(index, AccessShareLock);
	}
	list_free(indexes);
}

/*
 * Insert a row for the counter and remember its TID.
 *
 * The tuple is an ordinary one of the current transaction, and dead if that
 * ends before finish_change() has frozen it.  Its command id is the one that
 * redo gives to tuples, so that the page is the same on a standby.
 */
static void
insert_row(Relation rel, HiloCounter *counter)
{
	Datum		values[HILO_COUNTER_COLUMNS] = {0};
	bool		nulls[HILO_COUNTER_COLUMNS] = {0};
	NameData	no_tag = {{0}};
	HeapTuple	tuple;

	check_indexes(rel);

	values[HILO_ANUM_NODE_TAG - 1] = NameGetDatum(&no_tag);
	values[HILO_ANUM_NAME - 1] =
		PointerGetDatum(cstring_to_text_with_len(counter->name.data,
												 counter->name.len));
	tuple = heap_form_tuple(RelationGetDescr(rel), values, nulls);
	hilo_tuple_insert(rel, tuple, FirstCommandId);

	/* Good for lock_row() now; known to stay only when it is frozen. */
	counter->table = RelationGetRelid(rel);
	counter->tid = tuple->t_self;
	counter->generation = 0;
	heap_freetuple(tuple);
}

/*
 * Create the row and lock its page; or, if another session was faster, lock
 * the row that it has made.
 *
 * A lock on page 0, which nothing else takes of a heap, lets one session
 * create at a time.  It is held until the row is there for everybody; a lock
 * on the table in its place would wait for ANALYZE, and deadlock with REINDEX
 * CONCURRENTLY.
 */
static void
create_and_lock_row(RowChange *change, HiloCounter *counter)
{
	LockPage(change->rel, 0, ExclusiveLock);

	if (find_and_lock_row(change, counter))
	{
		UnlockPage(change->rel, 0, ExclusiveLock);
		return;
	}

	insert_row(change->rel, counter);
	HILO_FAILURE_POINT("row inserted");

	change->created = true;
	if (!lock_row(change, counter))
		elog(ERROR, "new row of table \"%s\" is not where it was put",
			 RelationGetRelationName(change->rel));

	change->row.incarnation = random_number();
	change->row.max_value = PG_INT64_MAX;
	change->row.created_at = GetCurrentTimestamp();
	change->row.claimed_at = DT_NOBEGIN;
}

/* Find the row in a table opened with a lock, create it if that is asked for. */
static bool
find(RowChange *change, HiloCounter *counter, LOCKMODE lockmode, bool create)
{
	memset(change, 0, sizeof(*change));
	change->rel = hilo_catalog_open(counter->which, lockmode);
	change->lockmode = lockmode;

	if (find_and_lock_row(change, counter))
		return true;
	if (create)
	{
		create_and_lock_row(change, counter);
		return true;
	}
	table_close(change->rel, lockmode);
	return false;
}

/*
 * Lock the row of the counter for a change.  Returns false, holding nothing,
 * when there is none (with create: never).
 */
static bool
find_for_change(RowChange *change, HiloCounter *counter, bool create)
{
	return find(change, counter, RowExclusiveLock, create);
}

static void
release_locks(RowChange *change)
{
	UnlockReleaseBuffer(change->buffer);
	if (change->created)
		UnlockPage(change->rel, 0, ExclusiveLock);
	table_close(change->rel, change->lockmode);
}

/* Let the row go as it is.  Not for one that was just created. */
static void
abandon_change(RowChange *change)
{
	Assert(!change->created);
	release_locks(change);
}

/*
 * GenericXLogStart() allocates over 64 kB.  Freed by malloc() each time, that
 * memory goes back to the operating system and is asked for again, which costs
 * more than all the rest of a claim; a generation context keeps its block.
 */
static GenericXLogState *
start_log_record(Relation rel)
{
	static MemoryContext context = NULL;
	MemoryContext old;
	GenericXLogState *state;

	if (context == NULL)
		context = hilo_keeping_context(TopMemoryContext, "hilo log record");
	else
		MemoryContextReset(context);	/* an error may have left something */

	old = MemoryContextSwitchTo(context);
	state = GenericXLogStart(rel);
	MemoryContextSwitchTo(old);
	return state;
}

/*
 * Log and apply change->row, and let it go.  Returns what to flush.
 *
 * A row just created becomes visible to everybody, and independent of the
 * current transaction, by the same WAL record.
 */
static XLogRecPtr
finish_change(RowChange *change)
{
	GenericXLogState *state = start_log_record(change->rel);
	Page		page = GenericXLogRegisterBuffer(state, change->buffer, 0);
	HeapTupleHeader header = (HeapTupleHeader)
		PageGetItem(page, PageGetItemId(page, change->offset));
	XLogRecPtr	lsn;

	HILO_KILL_POINT("row locked");
	change->row.changes++;
	memcpy((char *) header + header->t_hoff, &change->row,
		   HILO_COUNTER_ROW_SIZE);
	if (change->created)
		header->t_infomask |= HEAP_XMIN_FROZEN;

	lsn = GenericXLogFinish(state);
	HILO_KILL_POINT("row changed");
	release_locks(change);
	return lsn;
}

/*
 * Wait until a change is on disk and, following synchronous_commit, on the
 * synchronous standbys.
 *
 * A wait for standbys that is cancelled ends with no more than a warning; what
 * depends on the change must then not be shown.
 */
static void
flush_change(XLogRecPtr lsn)
{
	int			mode = synchronous_commit == SYNCHRONOUS_COMMIT_REMOTE_WRITE ?
		SYNC_REP_WAIT_WRITE : SYNC_REP_WAIT_FLUSH;
	static uint32 wait_event = 0;
	bool		reached;

	/* Storage made in this transaction under wal_level = minimal. */
	if (XLogRecPtrIsInvalid(lsn))
		return;

	HILO_FAILURE_POINT("before flush");
	/* Where the server itself says what it waits for, that is what shows. */
	pgstat_report_wait_start(hilo_wait_event("HiloFlush", &wait_event));
	XLogFlush(lsn);
	pgstat_report_wait_end();
	HILO_FAILURE_POINT("after flush");

	HOLD_INTERRUPTS();
	SyncRepWaitForLSN(lsn, false);
	RESUME_INTERRUPTS();

	if (!SyncRepRequested())
		return;

	/* Under the lock: who ends all waits clears the setting with them. */
	LWLockAcquire(SyncRepLock, LW_SHARED);
	reached = lsn <= WalSndCtl->lsn[mode] || !hilo_sync_standbys_defined();
	LWLockRelease(SyncRepLock);

	if (!reached)
	{
		CHECK_FOR_INTERRUPTS();
		ereport(ERROR,
				(errcode(ERRCODE_QUERY_CANCELED),
				 errmsg("canceled the wait for a synchronous standby"),
				 errdetail("The change has been made on this server, but the standby may not know of it. Numbers claimed are not handed out.")));
	}
}

/*
 * The same for a number that is a statement's own: like a commit it follows
 * synchronous_commit = off, and is then written soon.
 */
static void
flush_for_statement(XLogRecPtr lsn)
{
	if (synchronous_commit > SYNCHRONOUS_COMMIT_OFF)
		flush_change(lsn);
	else if (!XLogRecPtrIsInvalid(lsn))
		XLogSetAsyncXactLSN(lsn);
}

/* What counters of this table are called in messages. */
static const char *
kind_name(const HiloCounter *counter)
{
	return counter->which == HILO_TABLE_IDENTITIES ? "identity" : "collection";
}

/* End a change in the error that the counter is at its end. */
static void
fail_at_limit(RowChange *change, const HiloCounter *counter)
{
	int64		max = change->row.max;
	int64		limit = change->row.max_value;

	/* Nothing has happened, but a row just created has to be finished. */
	if (change->created)
		flush_change(finish_change(change));
	else
		abandon_change(change);

	ereport(ERROR,
			(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
			 max < limit ?
			 errmsg("%s \"%.*s\" has not enough numbers left",
					kind_name(counter),
					counter->name.len, counter->name.data) :
			 errmsg("%s \"%.*s\" has no numbers left",
					kind_name(counter),
					counter->name.len, counter->name.data),
			 errdetail("Numbers up to " INT64_FORMAT " have been claimed, the limit is " INT64_FORMAT ".",
					   max, limit),
			 counter->which == HILO_TABLE_COLLECTIONS && limit < PG_INT64_MAX ?
			 errhint("Raise max_value with hilo_configure(), if the type of the column holds such numbers.") : 0));
}

/*
 * Warn, once, that a counter nears its limit: when max passes nine tenths.
 */
static void
warn_near_limit(const HiloCounter *counter, int64 old_max,
				const HiloCounterRow *row)
{
	int64		threshold = row->max_value - row->max_value / 10;

	if (likely(row->max < threshold) || old_max >= threshold)
		return;
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("%s \"%.*s\" has used nine tenths of its numbers",
					kind_name(counter),
					counter->name.len, counter->name.data),
			 errdetail("Numbers up to " INT64_FORMAT " have been claimed, the limit is " INT64_FORMAT ".",
					   row->max, row->max_value)));
}

/*
 * Lock the row of the counter for a draw, which creates it if that is allowed.
 * The one row of server-side ids is not one that users think up.
 */
static void
find_for_draw(RowChange *change, HiloCounter *counter)
{
	bool		create = hilo_auto_create ||
		(counter->name.len == strlen(HILO_SERVER_SIDE_NAME) &&
		 memcmp(counter->name.data, HILO_SERVER_SIDE_NAME,
				counter->name.len) == 0);

	if (find_for_change(change, counter, create))
	{
		if (create || !change->row.dropped)
			return;
		abandon_change(change);
	}

	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("%s \"%.*s\" does not exist", kind_name(counter),
					counter->name.len, counter->name.data),
			 errdetail("The setting \"hilo.auto_create\" is off, so that draws create none."),
			 errhint("Create it with %s().",
					 counter->which == HILO_TABLE_IDENTITIES ?
					 "seed_identity_for" : "hilo_seed")));
}

/* Put a claim into the row. */
static void
note_claim(HiloCounterRow *row, const HiloRange *range, int64 number)
{
	TimestampTz now = GetCurrentTimestamp();

	row->max = range->high;
	row->claim_low = range->low;
	row->claim_number = number;
	row->claim_end_new = row->max > row->max_ever;
	row->max_ever = Max(row->max_ever, row->max);
	row->dropped = false;

	row->claims++;
	row->claim_rate = range->high - range->low + 1 +
		(row->claimed_at == DT_NOBEGIN ? 0 :
		 hilo_rate_decay(row->claim_rate, now - row->claimed_at));
	row->claimed_at = now;
}

void
hilo_counter_claim(HiloCounter *counter, const HiloRangeRequest *request,
				   HiloClaimant claimant, HiloClaim *claim)
{
	RowChange	change;
	int64		old_max;
	XLogRecPtr	lsn;

	claim->number = claimant == HILO_FOR_CLIENT ? random_number() : 0;

	find_for_draw(&change, counter);
	old_max = change.row.max;
	if (!hilo_range_cut(request, old_max, change.row.max_value,
						&claim->range))
		fail_at_limit(&change, counter);

	note_claim(&change.row, &claim->range, claim->number);
	claim->table = counter->table;
	claim->incarnation = change.row.incarnation;
	claim->changes = change.row.changes + 1;
	lsn = finish_change(&change);

	/*
	 * Only now may the range be used: a number that somebody saw must be
	 * behind max on disk, or a crash would hand it out again.
	 */
	if (claimant == HILO_FOR_STATEMENT)
		flush_for_statement(lsn);
	else
		flush_change(lsn);
	warn_near_limit(counter, old_max, &change.row);
}

bool
hilo_counter_claim_number(HiloCounter *counter, int64 number)
{
	HiloRange	range = {number, number};
	RowChange	change;
	int64		old_max;

	find_for_draw(&change, counter);
	old_max = change.row.max;
	if (number > change.row.max_value)
		fail_at_limit(&change, counter);
	if (number <= old_max)
	{
		abandon_change(&change);
		return false;
	}

	note_claim(&change.row, &range, 0);
	flush_for_statement(finish_change(&change));
	warn_near_limit(counter, old_max, &change.row);
	return true;
}

bool
hilo_counter_read(HiloCounter *counter, HiloCounterRow *row, bool for_draw)
{
	RowChange	change;

	if (!find(&change, counter, for_draw ? RowExclusiveLock : AccessShareLock,
			  false))
		return false;
	abandon_change(&change);
	*row = change.row;
	return !row->dropped;
}

int64
hilo_counter_max(HiloCounter *counter)
{
	HiloCounterRow row;

	return hilo_counter_read(counter, &row, false) ? row.max : 0;
}

bool
hilo_counter_holds(const HiloCounter *counter, const HiloCounterRow *row,
				   const HiloClaim *claim)
{
	return counter->table == claim->table &&
		row->incarnation == claim->incarnation;
}

/* Take the numbers above last out of the newest claim. */
static void
lower_max(HiloCounterRow *row, int64 last)
{
	int64		count = row->max - last;

	row->max = last;
	row->claim_number = 0;
	row->claim_end_new = false;
	row->given_back += count;
	row->claim_rate = Max(row->claim_rate - count, 0);
}

bool
hilo_counter_give_back(HiloCounter *counter, const HiloClaim *claim,
					   int64 last, bool at_exit)
{
	RowChange	change;
	HiloCounterRow *row = &change.row;

	if (at_exit)
	{
		memset(&change, 0, sizeof(change));
		change.lockmode = RowExclusiveLock;
		change.rel = hilo_catalog_open_at_exit(claim->table, change.lockmode);
		if (change.rel == NULL)
			return false;
		if (!find_and_lock_row(&change, counter))
		{
			table_close(change.rel, change.lockmode);
			return false;
		}
	}
	else if (!find_for_change(&change, counter, false))
		return false;

	if (counter->table != claim->table ||
		row->incarnation != claim->incarnation ||
		row->changes != claim->changes || row->max != claim->range.high)
	{
		abandon_change(&change);
		return false;
	}

	lower_max(row, last);
	finish_change(&change);
	return true;
}

bool
hilo_counter_return(HiloCounter *counter, int64 last, int64 high,
					int64 number)
{
	RowChange	change;
	HiloCounterRow *row = &change.row;

	if (!find_for_change(&change, counter, false))
		return false;

	if (row->dropped || row->claim_number == 0 || row->max != high ||
		last < row->claim_low - 1 || last > high ||
		(number == 0 ? !row->claim_end_new : number != row->claim_number))
	{
		abandon_change(&change);
		return false;
	}

	lower_max(row, last);
	finish_change(&change);
	return true;
}

/*
 * Log and apply a change after which no range claimed before may be used, and
 * tell everybody.  incarnation is a fresh random number, made before the page
 * was locked.
 */
static void
finish_new_incarnation(RowChange *change, int64 incarnation)
{
	Oid			table = RelationGetRelid(change->rel);
	XLogRecPtr	lsn;

	change->row.incarnation = incarnation;
	lsn = finish_change(change);
	HILO_KILL_POINT("before announcement");
	hilo_catalog_announce(table);
	flush_change(lsn);
}

/* Nothing of the claims made so far can go back. */
static void
end_claims(HiloCounterRow *row)
{
	/* Nothing is above the highest bigint; there claim_number has to do. */
	row->claim_low = row->max < PG_INT64_MAX ? row->max + 1 : row->max;
	row->claim_number = 0;
	row->claim_end_new = false;
}

/* Set max, up or down, to a value within the limit; the counter is alive. */
static void
set_max(HiloCounterRow *row, int64 max)
{
	row->max = max;
	row->max_ever = Max(row->max_ever, max);
	row->dropped = false;
	end_claims(row);
}

int64
hilo_counter_seed(HiloCounter *counter, int64 value, bool force)
{
	int64		incarnation = random_number();
	RowChange	change;
	HiloCounterRow *row = &change.row;
	int64		old_max;

	find_for_change(&change, counter, true);
	old_max = row->max;

	if (value > row->max_value)
	{
		int64		limit = row->max_value;

		abandon_change(&change);
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("seed " INT64_FORMAT " is above the limit of \"%.*s\"",
						value, counter->name.len, counter->name.data),
				 errdetail("The limit is " INT64_FORMAT ".", limit)));
	}

	set_max(row, force ? value : Max(old_max, value));
	finish_new_incarnation(&change, incarnation);
	warn_near_limit(counter, old_max, row);
	return row->max;
}

bool
hilo_counter_raise(HiloCounter *counter, int64 number)
{
	RowChange	change;
	HiloCounterRow *row = &change.row;
	int64		old_max;
	bool		changed;
	bool		too_far = false;

	find_for_change(&change, counter, true);
	old_max = row->max;

	if (number > old_max)
	{
		/* Also one above the limit, which may be raised later. */
		changed = number - old_max <= (row->max_value - old_max) / 2;
		too_far = !changed;
		if (changed)
			set_max(row, number);
	}
	else
	{
		/* If the newest claim went back, it would be drawn. */
		changed = number >= row->claim_low && row->claim_low <= old_max;
		if (changed)
			end_claims(row);
	}

	if (changed || change.created)
		(void) finish_change(&change);
	else
		abandon_change(&change);
	warn_near_limit(counter, old_max, row);
	return !too_far;
}

int64
hilo_counter_adopt(HiloCounter *counter, int64 floor, int64 limit)
{
	int64		incarnation = random_number();
	RowChange	change;
	HiloCounterRow *row = &change.row;
	int64		old_max;
	int64		max;

	find_for_change(&change, counter, true);
	old_max = row->max;
	max = Max(old_max, floor);
	limit = Min(limit, row->max_value);

	if (max >= limit)
	{
		if (change.created)
			flush_change(finish_change(&change));
		else
			abandon_change(&change);
		ereport(ERROR,
				(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
				 errmsg("collection \"%.*s\" would have no numbers left",
						counter->name.len, counter->name.data),
				 errdetail("Numbers up to " INT64_FORMAT " are in use, the limit is " INT64_FORMAT ".",
						   max, limit),
				 errhint("Move the column to a larger type, or change the row with the highest number.")));
	}

	set_max(row, max);
	row->max_value = limit;
	row->may_be_bound = true;
	finish_new_incarnation(&change, incarnation);
	warn_near_limit(counter, old_max, row);
	return max;
}

/* Forget what hilo_counter_configure() has set. */
static void
reset_options(HiloCounterRow *row)
{
	row->range_size = 0;
	row->max_range_size = 0;
	row->max_value = PG_INT64_MAX;
	row->has_node_tag = false;
	memset(&row->node_tag, 0, sizeof(NameData));
}

void
hilo_counter_configure(HiloCounter *counter, const HiloCounterOptions *options)
{
	RowChange	change;
	HiloCounterRow *row = &change.row;
	Oid			table;
	XLogRecPtr	lsn;

	find_for_change(&change, counter, true);

	if (options->max_value > 0 && options->max_value < row->max)
	{
		int64		max = row->max;

		abandon_change(&change);
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max_value " INT64_FORMAT " is below the numbers of \"%.*s\"",
						options->max_value,
						counter->name.len, counter->name.data),
				 errdetail("Numbers up to " INT64_FORMAT " have been claimed.", max)));
	}

	if (options->reset)
		reset_options(row);
	if (options->range_size > 0)
		row->range_size = options->range_size;
	if (options->max_range_size > 0)
		row->max_range_size = options->max_range_size;
	if (options->max_value > 0)
		row->max_value = options->max_value;
	if (options->node_tag != NULL)
	{
		row->has_node_tag = true;
		namestrcpy(&row->node_tag, options->node_tag);
	}
	row->dropped = false;

	table = RelationGetRelid(change.rel);
	lsn = finish_change(&change);
	hilo_catalog_announce(table);
	flush_change(lsn);
}

void
hilo_counter_note_binding(HiloCounter *counter)
{
	RowChange	change;
	Oid			table;
	XLogRecPtr	lsn;

	find_for_change(&change, counter, true);
	if (change.row.may_be_bound && !change.created)
	{
		abandon_change(&change);
		return;
	}
	change.row.may_be_bound = true;

	/* Who has never read the bindings does not hear of changes there. */
	table = RelationGetRelid(change.rel);
	lsn = finish_change(&change);
	hilo_catalog_announce(table);
	flush_change(lsn);
}

/*
 * Has nothing happened to a row but that its collection was bound?  Restoring
 * bindings before counters leaves such rows.
 */
static bool
is_as_created(const HiloCounterRow *row)
{
	return row->max == 0 && row->max_ever == 0 && row->claims == 0 &&
		row->range_size == 0 && row->max_range_size == 0 &&
		row->max_value == PG_INT64_MAX && !row->has_node_tag;
}

void
hilo_counter_merge(HiloCounter *counter, const HiloCounterRow *other)
{
	int64		incarnation = random_number();
	RowChange	change;
	HiloCounterRow *row = &change.row;

	find_for_change(&change, counter, true);

	if (change.created || row->dropped || is_as_created(row))
	{
		HiloCounterRow before = *row;

		*row = *other;
		row->changes = before.changes;
		row->max_ever = Max(before.max_ever, row->max_ever);
		row->may_be_bound |= before.may_be_bound;
		if (row->dropped)
			row->max = before.max;
	}
	else if (!other->dropped)
	{
		row->max = Max(row->max, other->max);
		row->may_be_bound |= other->may_be_bound;
	}
	row->max_ever = Max(Max(row->max_ever, row->max), other->max_ever);
	row->max_value = Max(row->max_value, row->max);
	end_claims(row);

	/*
	 * Also when max stays: what is left of the ranges here may lie below the
	 * other max, and have been used there.
	 */
	finish_new_incarnation(&change, incarnation);
}

bool
hilo_counter_drop(HiloCounter *counter)
{
	int64		incarnation = random_number();
	RowChange	change;
	HiloCounterRow *row = &change.row;

	if (!find_for_change(&change, counter, false))
		return false;
	if (row->dropped)
	{
		abandon_change(&change);
		return false;
	}

	set_max(row, 0);
	reset_options(row);
	row->dropped = true;
	row->claims = 0;
	row->given_back = 0;
	row->created_at = GetCurrentTimestamp();
	row->claimed_at = DT_NOBEGIN;
	row->claim_rate = 0;
	finish_new_incarnation(&change, incarnation);
	return true;
}

void
hilo_counter_visit(HiloTable which,
				   void (*visit) (HiloName name, const HiloCounterRow *row,
								  void *arg),
				   void *arg)
{
	Relation	rel = hilo_catalog_open(which, AccessShareLock);
	TableScanDesc scan = hilo_table_beginscan(rel, SnapshotSelf);
	TupleTableSlot *slot = table_slot_create(rel, NULL);

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		HiloCounterRow row;
		HiloName	name;
		Datum		value;
		bool		isnull;
		HeapTuple	tuple = ExecFetchSlotHeapTuple(slot, false, NULL);
		Buffer		buffer = ((BufferHeapTupleTableSlot *) slot)->buffer;

		/* Under the lock, or a change could be seen by half. */
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		memcpy(&row, GETSTRUCT(tuple), HILO_COUNTER_ROW_SIZE);
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);

		value = slot_getattr(slot, HILO_ANUM_NAME, &isnull);
		if (isnull || row.dropped)
			continue;
		name.data = VARDATA_ANY(DatumGetTextPP(value));
		name.len = VARSIZE_ANY_EXHDR(DatumGetTextPP(value));
		visit(name, &row, arg);
	}

	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	table_close(rel, AccessShareLock);
}

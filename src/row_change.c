/*-------------------------------------------------------------------------
 *
 * row_change.c
 *	  How a row of our tables of counters changes: in place, as a sequence
 *	  changes its one tuple.
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
#include "failure_point.h"
#include "row_change.h"
#include "tuple.h"

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
 * pg_strong_random() rather than a cheaper source: the number of a claim is
 * what tells its holder from others.
 */
int64
hilo_random_number(void)
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
 * The name in a tuple.  The columns before it are never NULL and of fixed
 * width, so it stands at the same place in every tuple.
 */
static text *
tuple_name(HiloTable which, char *data)
{
	Size		offset = which == HILO_TABLE_LEASES ?
		HILO_LEASE_ROW_SIZE : HILO_COUNTER_ROW_SIZE;

	return (text *) (data + att_align_pointer(offset, TYPALIGN_INT, -1,
											  data + offset));
}

/* Is it the counter's tuple? */
static bool
tuple_is_of(HeapTuple tuple, const HiloCounter *counter)
{
	text	   *name;

	if (HeapTupleHeaderGetNatts(tuple->t_data) <
		hilo_catalog_name_attnum(counter->which) ||
		HeapTupleHasNulls(tuple))
		return false;

	name = tuple_name(counter->which, (char *) GETSTRUCT(tuple));
	if (VARATT_IS_EXTENDED(name) && !VARATT_IS_SHORT(name))
		return false;
	return VARSIZE_ANY_EXHDR(name) == (Size) counter->name.len &&
		memcmp(VARDATA_ANY(name), counter->name.data, counter->name.len) == 0;
}

/*
 * The message of an error in a tuple of hilo_lease, which is as long in every
 * one; NULL if it is not, as no row of ours is.
 */
static char *
tuple_error(HeapTupleHeader header)
{
	char	   *data = (char *) header + header->t_hoff;
	char	   *end = (char *) tuple_name(HILO_TABLE_LEASES, data);
	text	   *error;

	end += VARSIZE_ANY(end);
	error = (text *) (data + att_align_pointer(end - data, TYPALIGN_INT, -1,
											   end));
	return VARSIZE_ANY_EXHDR(error) == HILO_LEASE_ERROR_LEN ?
		VARDATA_ANY(error) : NULL;
}

/* Copy the contents of a tuple of the table, lease only where it has one. */
static void
read_tuple(HiloTable which, HeapTuple tuple, HiloCounterRow *row,
		   HiloLease *lease)
{
	char	   *data = (char *) GETSTRUCT(tuple);
	char	   *error;

	memcpy(row, data, HILO_COUNTER_ROW_SIZE);
	if (which != HILO_TABLE_LEASES)
		return;

	memcpy(lease, data + HILO_LEASE_OFFSET, offsetof(HiloLease, error));
	error = tuple_error(tuple->t_data);
	if (error != NULL)
		memcpy(lease->error, error, HILO_LEASE_ERROR_LEN);
}

/* The opposite of read_tuple(). */
static void
write_tuple(HiloTable which, HeapTupleHeader header, const HiloCounterRow *row,
			const HiloLease *lease)
{
	char	   *data = (char *) header + header->t_hoff;
	char	   *error;

	memcpy(data, row, HILO_COUNTER_ROW_SIZE);
	if (which != HILO_TABLE_LEASES)
		return;

	memcpy(data + HILO_LEASE_OFFSET, lease, offsetof(HiloLease, error));
	error = tuple_error(header);
	if (error != NULL)
		memcpy(error, lease->error, HILO_LEASE_ERROR_LEN);
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
lock_row(HiloRowChange *change, const HiloCounter *counter)
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
	read_tuple(counter->which, &tuple, &change->row, &change->lease);
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
	AttrNumber	attnum = hilo_catalog_name_attnum(counter->which);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyEntryInitialize(&key, 0, attnum, BTEqualStrategyNumber,
						   InvalidOid, C_COLLATION_OID, F_TEXTEQ, name);
	scan = systable_beginscan(rel, hilo_catalog_name_index(counter->which, rel,
													   attnum), true,
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

/*
 * May the row be where counter remembers it?  Then lock_row() finds out, but not
 * that there is no such page, as when the table has been rewritten.
 */
static inline bool
may_be_in_place(Relation rel, const HiloCounter *counter)
{
	return counter->table == RelationGetRelid(rel) &&
		(counter->generation == hilo_catalog_generation ||
		 ItemPointerGetBlockNumber(&counter->tid) < RelationGetNumberOfBlocks(rel));
}

/*
 * Find the row in the locked table change->rel and lock its page.  Returns
 * false when there is no row.
 */
static bool
find_and_lock_row(HiloRowChange *change, HiloCounter *counter)
{
	if (may_be_in_place(change->rel, counter) && lock_row(change, counter))
	{
		counter->generation = hilo_catalog_generation;
		return true;
	}

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
check_indexes(HiloTable which, Relation rel)
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

		if (!hilo_catalog_index_fits(index, hilo_catalog_name_attnum(which)))
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
 * ends before hilo_row_finish() has frozen it.  Its command id is the one that
 * redo gives to tuples, so that the page is the same on a standby.
 */
static void
insert_row(Relation rel, HiloCounter *counter)
{
	AttrNumber	name_attnum = hilo_catalog_name_attnum(counter->which);
	Datum		values[HILO_LEASE_COLUMNS] = {0};
	bool		nulls[HILO_LEASE_COLUMNS] = {0};
	NameData	no_name = {{0}};
	char		no_error[HILO_LEASE_ERROR_LEN];
	HeapTuple	tuple;

	check_indexes(counter->which, rel);

	for (int i = 0; i < 3; i++)
		values[HILO_ANUM_NODE_TAG - 1 + i] = NameGetDatum(&no_name);
	values[name_attnum - 1] =
		PointerGetDatum(cstring_to_text_with_len(counter->name.data,
												 counter->name.len));
	memset(no_error, ' ', sizeof(no_error));
	values[HILO_ANUM_LEASE_ERROR - 1] =
		PointerGetDatum(cstring_to_text_with_len(no_error, sizeof(no_error)));
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
create_and_lock_row(HiloRowChange *change, HiloCounter *counter)
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

	change->row.incarnation = hilo_random_number();
	change->row.max_value = PG_INT64_MAX;
	change->row.created_at = GetCurrentTimestamp();
	change->row.claimed_at = DT_NOBEGIN;
}

bool
hilo_row_find(HiloRowChange *change, HiloCounter *counter, LOCKMODE lockmode,
			  bool create)
{
	memset(change, 0, sizeof(*change));
	change->which = counter->which;
	hilo_catalog_suggest(counter->which, counter->table);
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

bool
hilo_row_find_for_change(HiloRowChange *change, HiloCounter *counter,
						 bool create)
{
	return hilo_row_find(change, counter, RowExclusiveLock, create);
}

bool
hilo_row_find_at_exit(HiloRowChange *change, HiloCounter *counter, Oid table)
{
	memset(change, 0, sizeof(*change));
	change->which = counter->which;
	change->lockmode = RowExclusiveLock;
	change->rel = hilo_catalog_open_at_exit(counter->which, table,
											change->lockmode);
	if (change->rel == NULL)
		return false;
	if (find_and_lock_row(change, counter))
		return true;
	table_close(change->rel, change->lockmode);
	return false;
}

static void
release_locks(HiloRowChange *change)
{
	UnlockReleaseBuffer(change->buffer);
	if (change->created)
		UnlockPage(change->rel, 0, ExclusiveLock);
	table_close(change->rel, change->lockmode);
}

void
hilo_row_abandon(HiloRowChange *change)
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

XLogRecPtr
hilo_row_finish(HiloRowChange *change)
{
	GenericXLogState *state = start_log_record(change->rel);
	Page		page = GenericXLogRegisterBuffer(state, change->buffer, 0);
	HeapTupleHeader header = (HeapTupleHeader)
		PageGetItem(page, PageGetItemId(page, change->offset));
	XLogRecPtr	lsn;

	HILO_KILL_POINT("row locked");
	change->row.changes++;
	write_tuple(change->which, header, &change->row, &change->lease);
	if (change->created)
		header->t_infomask |= HEAP_XMIN_FROZEN;

	lsn = GenericXLogFinish(state);
	HILO_KILL_POINT("row changed");
	release_locks(change);
	return lsn;
}

/*
 * A wait for standbys that is cancelled ends with no more than a warning.
 */
void
hilo_row_flush(XLogRecPtr lsn)
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

void
hilo_row_flush_for_statement(XLogRecPtr lsn)
{
	if (synchronous_commit > SYNCHRONOUS_COMMIT_OFF)
		hilo_row_flush(lsn);
	else if (!XLogRecPtrIsInvalid(lsn))
		XLogSetAsyncXactLSN(lsn);
}

void
hilo_row_visit(HiloTable which, HiloRowVisitor visit, void *arg)
{
	AttrNumber	attnum = hilo_catalog_name_attnum(which);
	Relation	rel = hilo_catalog_open(which, AccessShareLock);
	TableScanDesc scan = hilo_table_beginscan(rel, SnapshotSelf);
	TupleTableSlot *slot = table_slot_create(rel, NULL);

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		HiloCounterRow row;
		HiloLease	lease;
		HiloName	name;
		Datum		value;
		bool		isnull;
		HeapTuple	tuple = ExecFetchSlotHeapTuple(slot, false, NULL);
		Buffer		buffer = ((BufferHeapTupleTableSlot *) slot)->buffer;

		/* Under the lock, or a change could be seen by half. */
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		read_tuple(which, tuple, &row, &lease);
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);

		value = slot_getattr(slot, attnum, &isnull);
		if (isnull || row.dropped)
			continue;
		name.data = VARDATA_ANY(DatumGetTextPP(value));
		name.len = VARSIZE_ANY_EXHDR(DatumGetTextPP(value));
		visit(name, &row, which == HILO_TABLE_LEASES ? &lease : NULL, arg);
	}

	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	table_close(rel, AccessShareLock);
}

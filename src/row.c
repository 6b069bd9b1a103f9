/*-------------------------------------------------------------------------
 *
 * row.c
 *	  The layout of rows of hilo.hilo on disk, and their changes: in place, as a
 *	  sequence changes its only tuple.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/rmgr.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_control.h"
#include "common/hashfn.h"
#include "executor/tuptable.h"
#include "postmaster/interrupt.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "compat.h"
#include "failure_point.h"
#include "row.h"

/*
 * A claim logs as many numbers ahead as it takes, but at least as many as nextval does, and at
 * most a share of those that are left, because a crash loses them.
 */
#define LEAST_AHEAD		32
#define AHEAD_SHARE		64

/* Attempts to find a row while other code keeps changing it. */
#define MAX_FIND_ATTEMPTS	10

/* A table with fewer pages is small. */
#define SPREAD_PAGES	256

StaticAssertDecl(HILO_ROW_SIZE == 14 * 8 + 4 * 4 + NAMEDATALEN + 1,
				 "HiloRow has the layout of the columns of hilo.hilo");

/* The column after those of fixed width. */
#define NAME_COLUMN		HILO_NAME_ATTNUM(HILO_TABLE_COUNTERS)

/*
 * Random numbers, as many as one change can need: they are made before its page is
 * locked, because that takes long, and can fail.
 */
static int64 random_numbers[4];
static int	random_count = 0;

/*
 * Use pg_strong_random() rather than a cheaper source: the token of a claim is
 * all that distinguishes its holder from others.
 */
static void
make_random_numbers(void)
{
	while (random_count < (int) lengthof(random_numbers))
	{
		int64		number;

		if (!pg_strong_random(&number, sizeof(number)))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("could not generate a random number")));
		random_numbers[random_count++] = Max(number & PG_INT64_MAX, 1);
	}
}

int64
hilo_random_number(void)
{
	if (random_count == 0)
		make_random_numbers();
	return random_numbers[--random_count];
}

/*
 * Tuples
 */

/*
 * True if the tuple has that name.  The columns before the name are of fixed
 * width, so it is at the same place in every tuple.
 */
static bool
tuple_is_of(HeapTuple tuple, const char *name)
{
	char	   *data = (char *) GETSTRUCT(tuple);
	Size		at = HILO_ROW_SIZE;
	text	   *value;

	if (heap_attisnull(tuple, NAME_COLUMN, NULL))
		return false;
	value = (text *) (data + att_align_pointer(at, TYPALIGN_INT, -1, data + at));
	if (VARATT_IS_EXTENDED(value) && !VARATT_IS_SHORT(value))
		return false;
	return VARSIZE_ANY_EXHDR(value) == strlen(name) &&
		memcmp(VARDATA_ANY(value), name, VARSIZE_ANY_EXHDR(value)) == 0;
}

/*
 * True if the tuple may be changed in place.  A tuple lock is no obstacle,
 * because nothing that it protects changes.
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
		return false;

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
 * Find
 */

/*
 * Where rows were found last, by the hash of their names, for references that are made
 * anew with each call, as those of identities.  Names with the same hash overwrite each
 * other's entry.
 */
static HiloRowRef places[256];

static HiloRowRef *
place_of(const HiloRowRef *ref)
{
	return &places[hash_bytes((const unsigned char *) ref->name, strlen(ref->name)) %
				   lengthof(places)];
}

/*
 * Lock the page that ref->tid names, which is in the buffer, for a read or a change, and
 * read the row.  Returns false, with nothing locked, when the live row is not there.
 */
static bool
lock_row(HiloRowChange *change, const HiloRowRef *ref, Buffer buffer)
{
	OffsetNumber offset = ItemPointerGetOffsetNumber(&ref->tid);
	HeapTupleData tuple;
	ItemId		item;
	Page		page;

	change->buffer = buffer;
	LockBuffer(change->buffer, change->lockmode == AccessShareLock ?
			   BUFFER_LOCK_SHARE : BUFFER_LOCK_EXCLUSIVE);
	page = BufferGetPage(change->buffer);

	if (offset <= PageGetMaxOffsetNumber(page) &&
		ItemIdIsNormal(item = PageGetItemId(page, offset)))
	{
		tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
		tuple.t_len = ItemIdGetLength(item);
		tuple.t_self = ref->tid;
		tuple.t_tableOid = HILO_HOME_TABLE(change->home);
		if (tuple_is_of(&tuple, ref->name) &&
			(change->created || tuple_is_live(&tuple, change->buffer)))
		{
			change->offset = offset;
			memcpy(&change->row, GETSTRUCT(&tuple), HILO_ROW_SIZE);
			return true;
		}
	}
	UnlockReleaseBuffer(change->buffer);
	return false;
}

/*
 * Look the row up in the index and remember its TID. The snapshot sees what is
 * committed now, and leaves no trace for serializable transactions.
 */
static bool
look_up_row(Relation rel, HiloRowRef *ref)
{
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyEntryInitialize(&key, 0, NAME_COLUMN,
						   BTEqualStrategyNumber, InvalidOid, C_COLLATION_OID,
						   F_TEXTEQ, CStringGetTextDatum(ref->name));
	scan = systable_beginscan(rel, hilo_catalog_name_index(HILO_TABLE_COUNTERS, rel), true,
							  SnapshotSelf, 1, &key);
	tuple = systable_getnext(scan);
	ref->table = InvalidOid;
	if (HeapTupleIsValid(tuple))
	{
		/* The row stays there as long as we hold the lock on the table. */
		ref->table = RelationGetRelid(rel);
		ref->storage = rel->rd_rel->relfilenode;
		ref->tid = tuple->t_self;
		ref->generation = hilo_generation;
		*place_of(ref) = *ref;
	}
	systable_endscan(scan);

	return OidIsValid(ref->table);
}

/* Lock the page of the row that was just found, in change->rel, and read the row. */
static bool
lock_found_row(HiloRowChange *change, const HiloRowRef *ref)
{
	return lock_row(change, ref, ReadBuffer(change->rel, ItemPointerGetBlockNumber(&ref->tid)));
}

/*
 * Raise the error that a row was found several times, and each time was not there any more.  Our
 * own code never moves or deletes rows, so the guards must have been disabled.
 */
static void
report_unstable(Relation rel, const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_IN_USE),
			 errmsg("row \"%s\" of table \"%s.%s\" is being changed by hand",
					name, HILO_SCHEMA, RelationGetRelationName(rel)),
			 errhint("Enable the table's triggers again.")));
}

/*
 * Find the row in the locked table change->rel and lock its page.  Returns
 * false if there is no such row.
 */
static bool
find_and_lock_row(HiloRowChange *change, HiloRowRef *ref)
{
	if (!OidIsValid(ref->table))
	{
		const char *name = ref->name;

		*ref = *place_of(ref);
		ref->name = name;
	}

	/*
	 * lock_row() verifies that the row is where ref remembers it; but the
	 * page must exist, which it may not after the table was rewritten.
	 */
	if (ref->table == RelationGetRelid(change->rel) &&
		ref->storage == change->rel->rd_rel->relfilenode &&
		(ref->generation == hilo_generation ||
		 ItemPointerGetBlockNumber(&ref->tid) < RelationGetNumberOfBlocks(change->rel)) &&
		lock_found_row(change, ref))
	{
		if (ref->generation != hilo_generation)
		{
			ref->generation = hilo_generation;
			*place_of(ref) = *ref;
		}
		return true;
	}

	for (int i = 0; i < MAX_FIND_ATTEMPTS; i++)
	{
		if (!look_up_row(change->rel, ref))
			return false;
		if (lock_found_row(change, ref))
			return true;
		CHECK_FOR_INTERRUPTS();
	}

	report_unstable(change->rel, ref->name);
	return false;				/* keep compiler quiet */
}

/*
 * Lock the row's page for a read where another session has found the row: to open the table
 * for the first time takes this session longer than all the rest of its first draw.  That
 * session has checked the table, and as long as the table has that storage, its rows have that
 * layout.  Returns false, with nothing locked, if the live row is not there.
 */
static bool
find_in_storage(HiloRowChange *change, HiloRowRef *ref)
{
	bool		found = false;
	HeapTuple	tuple;

	LockRelationOid(ref->table, change->lockmode);
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(ref->table));
	if (HeapTupleIsValid(tuple))
	{
		Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);
		BlockNumber block = ItemPointerGetBlockNumber(&ref->tid);
		Buffer		buffer = InvalidBuffer;

		if (form->relfilenode == ref->storage)
			buffer = hilo_read_page(form->reltablespace, ref->storage, block);
		hilo_catalog_heed(HILO_TABLE_COUNTERS, ref->table);
		change->home = hilo_catalog_home(ref->table);
		found = BufferIsValid(buffer) && lock_row(change, ref, buffer);
		ReleaseSysCache(tuple);
	}
	if (!found)
		UnlockRelationOid(ref->table, change->lockmode);
	return found;
}

/*
 * Create
 */

/*
 * Open the indexes, with the lock needed to insert entries.  Raises an error if
 * an entry made now could be lost later: a rollback would bring back the
 * previous index, without an entry for the row, which stays.  Rebuilding,
 * creating or dropping an index takes a strong lock on the table; moving one
 * gives it new storage, and locks only the index.
 */
static CatalogIndexState
open_indexes(Relation rel)
{
	CatalogIndexState indexes = CatalogOpenIndexes(rel);
	bool		changed = rel->rd_createSubid == InvalidSubTransactionId &&
		CheckRelationLockedByMe(rel, ShareLock, true);

	for (int i = 0; i < indexes->ri_NumIndices; i++)
	{
		if (hilo_storage_is_new(indexes->ri_IndexRelationDescs[i]))
			changed = true;
	}
	if (changed)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot create a counter in a transaction that has locked table \"%s.%s\" or changed its indexes",
						HILO_SCHEMA, RelationGetRelationName(rel)),
				 errhint("Commit first.")));
	return indexes;
}

/* For this session, until it reads the relation again.  No harm if an error leaves it so. */
static void
set_fillfactor(Relation rel, int fillfactor)
{
	if (rel->rd_options != NULL)
		((StdRdOptions *) rel->rd_options)->fillfactor = fillfactor;
}

/*
 * Insert an empty row.  Columns that others have appended to the table are left
 * out of the tuple.  A claim logs the used part of its page, and locks the page
 * meanwhile: as long as the table is small, its pages are left nearly empty.
 *
 * The tuple is an ordinary one of the current transaction, and dead if that
 * ends before hilo_row_finish() has frozen it.  Its command id is the one that
 * redo gives to tuples, so that the page is the same on a standby.
 */
static void
insert_empty_row(CatalogIndexState indexes, const char *name)
{
	Relation	rel = indexes->ri_RelationDesc;
	int			fillfactor = RelationGetFillFactor(rel, HEAP_DEFAULT_FILLFACTOR);
	Size		size = INTALIGN(HILO_ROW_SIZE);
	Size		name_size = VARHDRSZ + strlen(name);
	int			hoff = MAXALIGN(SizeofHeapTupleHeader);
	HeapTuple	tuple = palloc0(HEAPTUPLESIZE + hoff + size + name_size);
	HeapTupleHeader header = (HeapTupleHeader) ((char *) tuple + HEAPTUPLESIZE);
	text	   *value = (text *) ((char *) header + hoff + size);

	SET_VARSIZE(value, name_size);
	memcpy(VARDATA(value), name, name_size - VARHDRSZ);
	HeapTupleHeaderSetNatts(header, NAME_COLUMN);
	header->t_infomask = HEAP_HASVARWIDTH;
	header->t_hoff = hoff;
	tuple->t_data = header;
	tuple->t_len = hoff + size + name_size;

	if (RelationGetNumberOfBlocks(rel) < SPREAD_PAGES)
		set_fillfactor(rel, HEAP_MIN_FILLFACTOR);
	hilo_insert_tuple(indexes, tuple, FirstCommandId);
	set_fillfactor(rel, fillfactor);
	heap_freetuple(tuple);
}

/*
 * A new counter is counted as the row of server-side ids says: page 0 is locked, so hilo_hub,
 * which changes that row before it looks for counters, sees either the old row or the new one.
 */
static void
read_sharing(const HiloRowChange *change, const char *name, HiloRow *shared)
{
	HiloRowRef	own = {.name = HILO_OWN_NAME};
	HiloRowChange other = *change;

	memset(shared, 0, sizeof(*shared));
	if (strcmp(name, HILO_OWN_NAME) == 0 || !find_and_lock_row(&other, &own))
		return;
	UnlockReleaseBuffer(other.buffer);
	*shared = other.row;
}

/*
 * Create the row, unless another session just has, and lock its page.  Rows are
 * created under a lock on page 0, which no maintenance command takes: a lock on
 * the table would deadlock with REINDEX CONCURRENTLY, and wait for ANALYZE.
 * Everything that could wait is done before.
 */
static void
create_and_lock_row(HiloRowChange *change, HiloRowRef *ref)
{
	CatalogIndexState indexes = open_indexes(change->rel);
	HiloRow		shared;

	(void) GetCurrentTransactionId();

	LockPage(change->rel, 0, ExclusiveLock);
	if (find_and_lock_row(change, ref))
	{
		UnlockPage(change->rel, 0, ExclusiveLock);
		CatalogCloseIndexes(indexes);
		return;
	}

	read_sharing(change, ref->name, &shared);
	insert_empty_row(indexes, ref->name);
	CatalogCloseIndexes(indexes);
	HILO_FAILURE_POINT("row inserted");

	change->created = true;
	if (!find_and_lock_row(change, ref))
		report_unstable(change->rel, ref->name);
	change->row.flags = shared.flags & HILO_ROW_SHARED;
	change->row.max = shared.floor;
	change->row.max_value = PG_INT64_MAX;
	change->row.claimed_at = DT_NOBEGIN;
}

void
hilo_row_end_claims(HiloRow *row)
{
	row->claim_low = 0;
	row->claim = 0;
}

/* Let a row that was just created start, and one that came from elsewhere start over. */
static void
settle_in(HiloRow *row)
{
	row->epoch = hilo_random_number();
	row->max_value = Max(row->max_value, Max(row->max, 1));
	hilo_row_end_claims(row);
}

Relation
hilo_row_lock_table(LOCKMODE lockmode)
{
	Relation	rel = hilo_catalog_open(HILO_TABLE_COUNTERS, lockmode);

	/* A rollback would discard the new storage with the changes there. */
	if (hilo_storage_is_new(rel))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot use counters in a transaction that has rewritten table \"%s.%s\"",
						HILO_SCHEMA, RelationGetRelationName(rel)),
				 errhint("Commit first.")));
	return rel;
}

bool
hilo_row_find(HiloRowChange *change, HiloRowRef *ref, HiloRowAccess access)
{
	memset(change, 0, sizeof(*change));
	change->row.flags = HILO_ROW_DROPPED;
	change->row.max_value = PG_INT64_MAX;
	change->row.claimed_at = DT_NOBEGIN;
	change->lockmode = access == HILO_ROW_READ ? AccessShareLock :
		RowExclusiveLock;
	if (access == HILO_ROW_READ && OidIsValid(ref->table) &&
		!hilo_catalog_has_opened(HILO_TABLE_COUNTERS) && find_in_storage(change, ref))
		return true;
	change->rel = hilo_row_lock_table(change->lockmode);
	change->home = hilo_catalog_home(RelationGetRelid(change->rel));
	change->storage = change->rel->rd_rel->relfilenode;
	if (access >= HILO_ROW_CHANGE)
		make_random_numbers();

	if (!find_and_lock_row(change, ref))
	{
		if (access != HILO_ROW_CREATE)
		{
			table_close(change->rel, change->lockmode);
			return false;
		}
		create_and_lock_row(change, ref);
	}
	if (unlikely(change->row.home != change->home) && access >= HILO_ROW_CHANGE)
		settle_in(&change->row);
	return true;
}

/*
 * Finish
 */

static void
release_locks(HiloRowChange *change)
{
	UnlockReleaseBuffer(change->buffer);
	if (change->created)
		UnlockPage(change->rel, 0, ExclusiveLock);
	if (change->rel == NULL)
		UnlockRelationOid(HILO_HOME_TABLE(change->home), change->lockmode);
	else
		table_close(change->rel, change->lockmode);
}

/* The contents of the row at a place of a page; NULL: there is none of ours. */
static HiloRow *
row_at(Page page, OffsetNumber offset)
{
	ItemId		item = PageGetItemId(page, offset);
	HeapTupleHeader header;

	if (!ItemIdIsNormal(item))
		return NULL;
	header = (HeapTupleHeader) PageGetItem(page, item);
	return HeapTupleHeaderGetNatts(header) < NAME_COLUMN ? NULL :
		(HiloRow *) ((char *) header + header->t_hoff);
}

/*
 * Put the contents into the page, which is about to be marked dirty.  A row just created
 * becomes independent of the transaction that has inserted it.  This includes a row inserted
 * without firing the triggers; but one that was updated that way is found through the xmin of
 * its previous version.
 */
static void
put_row(HiloRowChange *change)
{
	Page		page = BufferGetPage(change->buffer);
	HeapTupleHeader header = (HeapTupleHeader)
		PageGetItem(page, PageGetItemId(page, change->offset));

	memcpy((char *) header + header->t_hoff, &change->row, HILO_ROW_SIZE);
	if (!HeapTupleHeaderIsHeapOnly(header))
		header->t_infomask |= HEAP_XMIN_FROZEN;
}

/* True if the server compares heap pages after redo: then a page must not differ from its record. */
static bool
pages_are_compared(void)
{
	return wal_consistency_checking[RM_HEAP_ID] || wal_consistency_checking[RM_HEAP2_ID];
}

/*
 * Log the page as it will be when all numbers that are logged ahead have been claimed.  Only
 * the buffer knows who claims them, so in the record no client's claim can go back: otherwise
 * one that has gone back, and was claimed by others, would go back once more after a crash.
 *
 * The record is an image of a copy, because redo puts an image into place whatever the page on
 * disk says.  It is not compressed: that takes long, while the page is locked.
 */
static XLogRecPtr
log_image(HiloRowChange *change)
{
	Page		page = BufferGetPage(change->buffer);
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	int			compression = wal_compression;
	PGAlignedBlock copy;
	HiloRow    *row;
	XLogRecPtr	lsn;

	memcpy(copy.data, page, BLCKSZ);
	for (OffsetNumber i = FirstOffsetNumber; i <= last; i++)
	{
		if ((row = row_at(copy.data, i)) == NULL)
			continue;
		row->max += row->ahead;
		row->ahead = 0;
		row->claim_low = row->claim = 0;
	}
	wal_compression = WAL_COMPRESSION_NONE;
	lsn = hilo_log_page(change->rel, BufferGetBlockNumber(change->buffer), copy.data);
	wal_compression = compression;

	PageSetLSN(page, lsn);
	for (OffsetNumber i = FirstOffsetNumber; i <= last && !pages_are_compared(); i++)
	{
		if ((row = row_at(page, i)) == NULL)
			continue;
		row->logged_at = lsn;
		row->logged_in = change->storage;
	}
	return lsn;
}

/*
 * Log and apply the contents, with so many numbers ahead, and release the row.  Storage without
 * WAL keeps exactly what it says.
 */
static XLogRecPtr
finish_logged(HiloRowChange *change, int64 ahead)
{
	bool		logged = RelationNeedsWAL(change->rel);
	XLogRecPtr	lsn = InvalidXLogRecPtr;

	change->row.ahead = !logged || pages_are_compared() ? 0 : ahead;
	START_CRIT_SECTION();
	MarkBufferDirty(change->buffer);
	put_row(change);
	if (logged)
		lsn = log_image(change);
	END_CRIT_SECTION();
	HILO_KILL_POINT("row changed");
	release_locks(change);
	return lsn;
}

XLogRecPtr
hilo_row_finish(HiloRowChange *change)
{
	HILO_KILL_POINT("row locked");
	change->row.home = change->home;
	return finish_logged(change, 0);
}

/*
 * Rows are logged ahead, as the server logs sequences: the record of a claim says a higher max
 * than the buffer does, and the numbers between the two, "ahead", can be claimed without a
 * record.  The invariant: what recovery can find on disk, or make of the WAL, is never below
 * a number that was shown.
 *
 * A claim needs no record if all of this holds.
 * - The numbers are ahead.
 * - The last record of the page is one of ours: its LSN is in the row.  Any other, such as one
 *   for a hint bit, for a row lock or for another row that was inserted, has logged the page as
 *   the buffer was then.
 * - The storage is the one that the record was for.  ALTER TABLE ... SET TABLESPACE copies
 *   pages with their LSNs, and with wal_level = minimal it writes no WAL.
 * - Epoch and home are the same: a row that came from elsewhere has no record here.
 * - The record is newer than the redo pointer of the last checkpoint, or it would not be
 *   replayed.  If a checkpoint began just after that pointer was read here, it could write the
 *   page before the change.  So checkpoints wait until the buffer is marked dirty.
 */
XLogRecPtr
hilo_row_finish_claim(HiloRowChange *change, int64 size)
{
	Page		page = BufferGetPage(change->buffer);
	const HiloRow *before = row_at(page, change->offset);
	HiloRow    *row = &change->row;
	int64		claimed = row->max - before->max;
	XLogRecPtr	lsn = PageGetLSN(page);
	bool		covered = false;

	HILO_KILL_POINT("row locked");
	row->home = change->home;
	if (claimed <= before->ahead && before->logged_at == lsn &&
		before->logged_in == change->storage &&
		before->epoch == row->epoch && before->home == row->home)
	{
		MyProc->delayChkptFlags |= DELAY_CHKPT_START;
		covered = lsn > GetRedoRecPtr();
		HILO_KILL_POINT("redo pointer read");
		if (covered)
		{
			row->ahead = before->ahead - claimed;
			put_row(change);
			MarkBufferDirty(change->buffer);
		}
		MyProc->delayChkptFlags &= ~DELAY_CHKPT_START;
	}
	if (!covered)
		return finish_logged(change, Min(Max(size, LEAST_AHEAD),
										 (row->max_value - row->max) / AHEAD_SHARE));
	HILO_KILL_POINT("row changed");
	release_locks(change);
	return lsn;
}

void
hilo_row_abandon(HiloRowChange *change)
{
	if (change->created)
		hilo_row_flush_here(hilo_row_finish(change));
	else
		release_locks(change);
}

void
hilo_row_flush_here(XLogRecPtr lsn)
{
	static uint32 wait_event = 0;

	/*
	 * The storage was created in this transaction under wal_level = minimal.
	 */
	if (XLogRecPtrIsInvalid(lsn))
		return;

	HILO_FAILURE_POINT("before flush");

	/*
	 * A wait event that the server itself reports meanwhile takes precedence.
	 */
	pgstat_report_wait_start(hilo_wait_event("HiloFlush", &wait_event));
	XLogFlush(lsn);
	pgstat_report_wait_end();
	HILO_FAILURE_POINT("after flush");
}

/* Whether the server has warned while this session waited for standbys. */
static bool standbys_warned = false;
static emit_log_hook_type next_log_hook = NULL;

/* Log hook while this session waits for standbys. */
static void
catch_warning(ErrorData *error)
{
	if (error->elevel == WARNING)
	{
		standbys_warned = true;
		error->output_to_server = error->output_to_client = false;
	}
	else if (next_log_hook != NULL)
		next_log_hook(error);
}

/*
 * Wait as a commit does.  Returns whether the wait was cut short.
 *
 * The server only warns then, and consumes the request to cancel.  The warning
 * is all that tells this, so it must reach our hook whatever the settings are; and
 * no one else, because it says that the transaction has committed.
 */
static bool
wait_for_standbys(XLogRecPtr lsn)
{
	int		   *level = hilo_log_level();
	int			old_level = *level;

	HOLD_INTERRUPTS();
	next_log_hook = emit_log_hook;
	emit_log_hook = catch_warning;
	*level = WARNING;
	standbys_warned = false;
	SyncRepWaitForLSN(lsn, false);
	*level = old_level;
	emit_log_hook = next_log_hook;
	RESUME_INTERRUPTS();
	return standbys_warned || ProcDiePending;
}

void
hilo_row_flush(XLogRecPtr lsn)
{
	if (XLogRecPtrIsInvalid(lsn))
		return;
	hilo_row_flush_here(lsn);
	if (!SyncRepRequested() || !wait_for_standbys(lsn))
		return;
	CHECK_FOR_INTERRUPTS();
	ereport(ERROR,
			(errcode(ERRCODE_QUERY_CANCELED),
			 errmsg("canceled the wait for a synchronous standby"),
			 errdetail("The change has been made on this server, but the standby may not know of it. Numbers claimed are not handed out.")));
}

#ifdef USE_ASSERT_CHECKING
/* True if synchronous standbys have reached the LSN. */
static bool
standbys_have(XLogRecPtr lsn)
{
	int			mode = synchronous_commit == SYNCHRONOUS_COMMIT_REMOTE_WRITE ?
		SYNC_REP_WAIT_WRITE : SYNC_REP_WAIT_FLUSH;
	bool		reached;

	LWLockAcquire(SyncRepLock, LW_SHARED);
	reached = lsn <= WalSndCtl->lsn[mode];
	LWLockRelease(SyncRepLock);
	return reached;
}

XLogRecPtr
hilo_row_own_lsn(XLogRecPtr lsn)
{
	char		nothing = 0;	/* a record must not be empty */

	if (XLogRecPtrIsInvalid(lsn) || !SyncRepRequested() || standbys_have(lsn))
		return lsn;
	XLogBeginInsert();
	XLogRegisterData(&nothing, sizeof(nothing));
	XLogSetRecordFlags(XLOG_MARK_UNIMPORTANT);
	return XLogInsert(RM_XLOG_ID, XLOG_NOOP);
}
#endif

/*
 * List
 */

List *
hilo_row_list(void)
{
	Relation	rel = hilo_catalog_open(HILO_TABLE_COUNTERS, AccessShareLock);
	TableScanDesc scan = hilo_table_beginscan(rel, SnapshotSelf);
	int64		home = hilo_catalog_home(RelationGetRelid(rel));
	List	   *rows = NIL;
	HeapTuple	tuple;

	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Buffer		buffer = ((HeapScanDesc) scan)->rs_cbuf;
		HiloRow		row = {0};
		XLogRecPtr	lsn;
		HiloNamedRow *named;
		bool		isnull;

		CHECK_FOR_INTERRUPTS();
		if (heap_attisnull(tuple, NAME_COLUMN, NULL))
			continue;

		/* Copy under the lock, or half of a change might be seen. */
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		memcpy(&row, GETSTRUCT(tuple), HILO_ROW_SIZE);
		lsn = BufferGetLSNAtomic(buffer);
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);

		named = palloc(sizeof(HiloNamedRow));
		named->row = row;
		named->lsn = lsn;
		if (row.home != home)
			named->row.epoch = 0;
		named->name = TextDatumGetCString(hilo_getattr(tuple, NAME_COLUMN,
													   RelationGetDescr(rel),
													   &isnull));
		rows = lappend(rows, named);
	}

	table_endscan(scan);
	table_close(rel, AccessShareLock);
	return rows;
}

/*
 * Ordinary rows
 */

void
hilo_insert_tuple(CatalogIndexState indexes, HeapTuple tuple, CommandId cid)
{
	Relation	rel = indexes->ri_RelationDesc;
	EState	   *estate = CreateExecutorState();
	TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(rel),
													&TTSOpsHeapTuple);

	heap_insert(rel, tuple, cid, HEAP_INSERT_NO_LOGICAL, NULL);
	ExecStoreHeapTuple(tuple, slot, false);
	hilo_insert_index_entries(indexes, slot, estate);
	ExecDropSingleTupleTableSlot(slot);
	FreeExecutorState(estate);
}

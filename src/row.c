/*-------------------------------------------------------------------------
 *
 * row.c
 *	  The layout of rows of hilo.hilo on disk, and their changes: in place, as a
 *	  sequence changes its only tuple.
 *
 * An ordinary UPDATE would make a new version of the row, which other sessions see only
 * after a commit and which a rollback takes back.  A counter needs the opposite: a number
 * that was handed out once must stay handed out, whatever becomes of the transaction, and
 * the next session must not wait for that transaction to end.  So a row is overwritten where
 * it is, under the exclusive lock of its page.
 *
 * A change goes through these steps.
 *
 * 1. hilo_row_find() locks the table, so that it is neither rewritten nor dropped, finds
 *	  the row and locks its page.  The place where a row was found last is remembered, so
 *	  mostly no index is searched.  A row that does not exist can be created here.
 * 2. The caller looks at change->row and works out its new contents.
 * 3. hilo_row_finish() or hilo_row_finish_claim() writes the contents into the page, logs
 *	  them, and releases the locks; hilo_row_abandon() only releases them.
 * 4. The caller waits with hilo_row_flush() until the change is on disk, and by then on the
 *	  synchronous standbys.  No lock is held any more, so sessions wait for the disk side
 *	  by side.
 *
 * Logged ahead
 *
 * If each claim wrote a record and waited for the disk, an identity would be as slow as a
 * commit.  So the record of a claim says more than the page in memory does: that, say, 32
 * further numbers have been claimed as well.  The next claims only change the page in memory
 * ("ahead" says how many numbers are left), write no record, and find their record on disk
 * already.  After a crash, recovery brings back what the record says; the numbers between the
 * two were never shown, or are lost.  The server does the same with sequences.
 *
 * What makes this difficult is that the page is also written and logged by others: a
 * checkpoint writes it as it is in memory, and a hint bit or a new row may cause a record of
 * the whole page.  Then max on disk is what the page said at that moment, the numbers ahead
 * are not covered any more, and the next claim has to log again.  hilo_row_finish_claim()
 * tells how it finds that out.
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
#include "replication/syncrep.h"
#include "replication/walsender.h"
#include "replication/walsender_private.h"
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

/*
 * Attempts to find a row that is not where the index says.  VACUUM FULL and the like hold a
 * lock that excludes ours, so only an update by hand makes a second one necessary.
 */
#define MAX_FIND_ATTEMPTS	10

/* A table of fewer pages is small: new rows are spread over more pages than needed. */
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
 * Fill the store of random numbers up.
 *
 * Use pg_strong_random() rather than a cheaper source: the token of a claim is all that
 * distinguishes its holder from others, and an epoch must differ from all earlier ones, also
 * from those of a backup that is restored one day.
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
 * True if the tuple has that name.
 *
 * The columns before the name are of fixed width and not null, so it is at the same place
 * in every tuple.  The name itself may be null, or missing, in a row that was inserted
 * without firing the triggers.  A compressed or external name is none of ours: names are
 * too short for that.
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
 * True if the tuple, whose page is locked, may be changed in place.
 *
 * It may if it is the version of the row that all sessions see, and go on to see.  A tuple
 * lock is no obstacle, because nothing that it protects changes.  A version that this
 * transaction made by hand is not changed, because a rollback would take the change back.
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

	/* Others may be inserting, updating or deleting it, or have done so. */
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
 * Where rows were found last, by the hash of their names.
 *
 * A collection's entry in session.c keeps a HiloRowRef of its own, but that of an identity is
 * made anew with each call.  Names with the same hash overwrite each other's place, which
 * costs a search of the index, no more.
 */
static HiloRowRef found_rows[256];

static HiloRowRef *
found_row_of(const HiloRowRef *ref)
{
	return &found_rows[hash_bytes((const unsigned char *) ref->name, strlen(ref->name)) %
					   lengthof(found_rows)];
}

/*
 * Lock the page that ref->tid names, which is in the buffer, for a read or a change, and
 * read the row.  Returns false, with nothing locked, when the live row is not there.
 *
 * The buffer is pinned by the caller, and released here if the row is not there.  This
 * verifies everything that a remembered place may have got wrong: that the line pointer
 * exists and is in use, that the tuple has the name, and that it is live.  A row that
 * was just created is not committed, so it is not asked whether it is live.
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
 * Look the row up in the index and remember its TID.  Returns false if there is none.
 *
 * The transaction's own snapshot would not do: it may be older than the row.  SnapshotSelf
 * sees what is committed now, and what this transaction has done.  It leaves no trace for
 * serializable transactions either, so that no draw ends in a serialization failure.
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
		*found_row_of(ref) = *ref;
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
 *
 * First look where the row was found last, and only then into the index.
 */
static bool
find_and_lock_row(HiloRowChange *change, HiloRowRef *ref)
{
	if (!OidIsValid(ref->table))
	{
		const char *name = ref->name;

		*ref = *found_row_of(ref);
		ref->name = name;
	}

	/*
	 * lock_row() verifies that the row is where ref remembers it; but the
	 * page must exist, which it may not after the table was rewritten or
	 * truncated.  The number of pages is asked for only after a message about
	 * the table, because that is a system call.
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
			*found_row_of(ref) = *ref;
		}
		return true;
	}

	/*
	 * Between the search of the index and the lock on the page the row may
	 * move, if it is updated by hand.  Then search again.
	 */
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
 * Lock the row's page for a read, without opening the table.  Returns false, with nothing
 * locked, if the live row is not there.
 *
 * A program that connects, draws once and leaves spends most of its first draw on opening the
 * table: the relcache entry is built from a dozen catalog look-ups.  If another session has
 * told where the row is (by the pool's shared memory), a lock and one row of pg_class are
 * enough.  That session has checked the table, and as long as the table has that storage, its
 * rows have that layout.
 *
 * As the table was not opened, the generation does not follow it yet: without
 * hilo_catalog_heed() this session would not hear that what it reads here has changed.
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
 * Open the indexes, with the lock needed to insert entries.
 *
 * Raises an error if this transaction has rebuilt, replaced or moved an index, or rewritten
 * the table.  A rollback would bring back the previous index, which has no entry for a row
 * that is created now, while the row itself stays: it is frozen at once.  The counter could
 * then not be found, and would be created a second time, with the same numbers.
 *
 * Rebuilding, creating or dropping an index takes a strong lock on the table, which this
 * transaction still has.  ALTER INDEX SET TABLESPACE locks only the index, but gives it new
 * storage.  The lock tells nothing if the transaction has made the table, with CREATE
 * EXTENSION; and then a rollback takes all of it away.
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

/*
 * Set the fillfactor in the relcache, for the next insert of this session.
 *
 * Nothing resets it after an error, and nothing has to: it lasts until the relcache entry is
 * built anew, and at worst a few more rows get a page of their own.
 */
static void
set_fillfactor(Relation rel, int fillfactor)
{
	if (rel->rd_options != NULL)
		((StdRdOptions *) rel->rd_options)->fillfactor = fillfactor;
}

/*
 * Insert an empty row, all of whose columns but the name are zero.
 *
 * The tuple is an ordinary one of the current transaction, and dead if that ends before
 * hilo_row_finish() has frozen it.  Its command id is the one that redo gives to tuples, so
 * that the page is the same on a standby.  It is put together by hand, because
 * heap_form_tuple() would add columns that others have appended to the table.
 *
 * A claim logs the used part of its page, and locks the page meanwhile.  So as long as the
 * table is small, its pages are left nearly empty, by way of the fillfactor.
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
 * Create the row, unless another session just has, and lock its page.
 *
 * Rows are created under a lock on page 0, the heavyweight one, so that two sessions do not
 * create the same row.  The unique index alone would not do: the second session would
 * wait for the end of the first one's transaction.  No maintenance command takes that lock; a
 * stronger lock on the table would deadlock with REINDEX CONCURRENTLY, and wait for ANALYZE.
 *
 * Everything that could wait for others is done before the lock is taken: opening the
 * indexes, and getting a transaction id.  release_locks() gives it up, once the row is frozen.
 */
static void
create_and_lock_row(HiloRowChange *change, HiloRowRef *ref)
{
	CatalogIndexState indexes = open_indexes(change->rel);
	HiloRowRef	own = {.name = HILO_SERVER_SIDE_NAME};
	HiloRowChange other;
	HiloRow		shared = {0};

	(void) GetCurrentTransactionId();

	LockPage(change->rel, 0, ExclusiveLock);

	/* Another session may have created the row while this one waited. */
	if (find_and_lock_row(change, ref))
	{
		UnlockPage(change->rel, 0, ExclusiveLock);
		CatalogCloseIndexes(indexes);
		return;
	}

	/*
	 * The row of server-side ids says how a new counter is counted: whether
	 * servers share it, and above which number it begins.  hilo_hub changes
	 * that row first, waits for the lock on page 0, and then changes all
	 * counters that it finds.  So a new counter either begins with the new
	 * state, or is found by hilo_hub; none slips through.
	 */
	other = *change;
	if (strcmp(ref->name, HILO_SERVER_SIDE_NAME) != 0 && find_and_lock_row(&other, &own))
	{
		UnlockReleaseBuffer(other.buffer);
		shared = other.row;
	}
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

Relation
hilo_row_lock_table(LOCKMODE lockmode)
{
	Relation	rel = hilo_catalog_open(HILO_TABLE_COUNTERS, lockmode);

	/*
	 * This transaction has rewritten the table, with VACUUM FULL's or ALTER
	 * TABLE's means.  A rollback would discard the new storage, together with
	 * the changes there.
	 */
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

	/* A first read may do without opening the table, see find_in_storage(). */
	if (access == HILO_ROW_READ && OidIsValid(ref->table) &&
		!hilo_catalog_has_opened(HILO_TABLE_COUNTERS) && find_in_storage(change, ref))
		return true;
	change->rel = hilo_row_lock_table(change->lockmode);
	change->home = hilo_catalog_home(RelationGetRelid(change->rel));
	change->storage = change->rel->rd_rel->relfilenode;

	/* What can fail, or takes long, comes before the lock on the page. */
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

	/*
	 * The row was just created, or came from elsewhere: with a copy of the
	 * database, or an insert without the triggers.  Ranges of the place that
	 * it came from must not be used here, so a new epoch begins.  An inserted
	 * row may also say less than a counter needs.
	 */
	if (unlikely(change->row.home != change->home) && access >= HILO_ROW_CHANGE)
	{
		change->row.epoch = hilo_random_number();
		change->row.max_value = Max(change->row.max_value, Max(change->row.max, 1));
		hilo_row_end_claims(&change->row);
	}
	return true;
}

/*
 * Finish
 */

/*
 * Release what hilo_row_find() has locked.  The page comes first, so that other sessions wait
 * for it no longer than necessary.
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

/*
 * The contents of the row at a place of a page; NULL: there is none.  Dead rows count as well:
 * what is done to them does no harm, and to tell them apart would take long.
 */
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
 * Put the contents into the page, which is about to be marked dirty.
 *
 * Freezing makes a row that was just created independent of the transaction that has inserted
 * it: it stays if that is rolled back, and all sessions see it.  A row inserted without firing
 * the triggers is frozen as well, by its first change.  But a heap-only tuple, the result of
 * an update by hand, is not: readers follow the chain to it through its xmin.
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

/*
 * True if the server compares heap pages after redo.  Then a page must not differ from its
 * record, so nothing can be logged ahead.
 */
static bool
pages_are_compared(void)
{
	return wal_consistency_checking[RM_HEAP_ID] || wal_consistency_checking[RM_HEAP2_ID];
}

/*
 * Log the page as it will be when all numbers that are logged ahead have been claimed.
 * Returns the LSN, which the page gets.  For use in a critical section.
 *
 * The record is an image of a copy of the page, in which every row says max + ahead.  It has
 * to be all rows, because the record replaces the earlier ones, which covered their numbers.
 * It has to be an image, because the page on disk may say anything between, and redo puts
 * an image into place whatever is there.
 *
 * After a crash it is not known which of the numbers ahead were claimed, and by whom.  So in
 * the record no client's claim can go back: otherwise one that has gone back, and whose
 * numbers were claimed by others, would go back once more after a crash.
 *
 * The image is not compressed: that takes long, and the page is locked meanwhile.
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

	/*
	 * From now on, all rows of the page are covered by this record.  That
	 * they say so is not in the record; after a crash nothing is ahead.
	 */
	if (pages_are_compared())
		return lsn;
	for (OffsetNumber i = FirstOffsetNumber; i <= last; i++)
	{
		if ((row = row_at(page, i)) == NULL)
			continue;
		row->logged_at = lsn;
		row->logged_in = change->storage;
	}
	return lsn;
}

/*
 * Log and apply the contents, with so many numbers ahead, and release the row.
 *
 * Storage that this transaction has made under wal_level = minimal is not logged, but written
 * and synced at commit.  It keeps exactly what it says, so nothing can be ahead there.
 *
 * The page must not reach the disk before its record, and an error must not come between
 * changing and logging it: hence the critical section.
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

/*
 * Any change but a claim writes a record with nothing ahead.  So a claim that writes none never
 * has to bring flags, options, epoch or home to the disk.
 */
XLogRecPtr
hilo_row_finish(HiloRowChange *change)
{
	HILO_KILL_POINT("row locked");
	change->row.home = change->home;
	return finish_logged(change, 0);
}

/*
 * Rows are logged ahead, as told at the top of this file: the record of a claim says a higher
 * max than the buffer does, and the numbers between the two, "ahead", can be claimed without a
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
 *
 * Without a record the LSN to flush is the page's.  Mostly that is on disk, but perhaps not yet:
 * the session whose record covers the numbers may still be waiting.
 *
 * When a client program gives numbers back, "claimed" is negative, and they are ahead again.
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

	/*
	 * Log the numbers of this claim and as many again, so that a session that
	 * claims a thousand at a time needs a record for every other claim, too.
	 */
	if (!covered)
		return finish_logged(change, Min(Max(size, LEAST_AHEAD),
										 (row->max_value - row->max) / AHEAD_SHARE));
	HILO_KILL_POINT("row changed");
	release_locks(change);
	return lsn;
}

/*
 * A row that was just created cannot be released as it is: the lock on page 0 would go, and the
 * next session would create it again.  So it is frozen and logged without a number claimed.
 */
void
hilo_row_abandon(HiloRowChange *change)
{
	if (change->created)
		hilo_row_flush_here(hilo_row_finish(change));
	else
		release_locks(change);
}

/*
 * The group commit of XLogFlush() makes this cheap under load: of many sessions that wait here,
 * one writes for all.
 */
void
hilo_row_flush_here(XLogRecPtr lsn)
{
	static uint32 wait_event = 0;

	/*
	 * There is no record, because the storage was created in this transaction
	 * under wal_level = minimal.
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

/*
 * Log hook while this session waits for standbys: remember a warning, and keep it from the log
 * and the client.  Other messages go on to the next hook.
 */
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
 * Wait as a commit does.  Returns whether the wait was cut short, by a request to cancel or to
 * end the session.
 *
 * A commit cannot be undone when its wait is cut short, so the server only warns, and consumes
 * the request to cancel.  The warning is all that tells this.  So it must reach our hook
 * whatever log_min_messages says; and nothing else, because its text says that the transaction
 * has committed.
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
	PG_TRY();
	{
		SyncRepWaitForLSN(lsn, false);
	}
	PG_FINALLY();
	{
		*level = old_level;
		emit_log_hook = next_log_hook;
	}
	PG_END_TRY();
	RESUME_INTERRUPTS();
	return standbys_warned || ProcDiePending;
}

/*
 * A number whose standby has not acknowledged it is not shown, unlike a commit: after a
 * promotion it would come again.  It is lost instead.
 */
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

/*
 * A claim that wrote no record flushes the LSN of another session's record, for which that
 * session may be waiting as well.  Only a server with assertions minds.  Its own record is the
 * smallest that there is, and one that does not keep checkpoints busy.
 */
#ifdef USE_ASSERT_CHECKING
XLogRecPtr
hilo_row_own_lsn(XLogRecPtr lsn)
{
	char		nothing = 0;	/* a record must not be empty */
	int			mode = synchronous_commit == SYNCHRONOUS_COMMIT_REMOTE_WRITE ?
		SYNC_REP_WAIT_WRITE : SYNC_REP_WAIT_FLUSH;
	bool		reached;

	if (XLogRecPtrIsInvalid(lsn) || !SyncRepRequested())
		return lsn;
	LWLockAcquire(SyncRepLock, LW_SHARED);
	reached = lsn <= WalSndCtl->lsn[mode];
	LWLockRelease(SyncRepLock);
	if (reached)
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

/*
 * A scan with a snapshot that is not an MVCC one sees rows that were created since the
 * transaction began, and leaves no predicate lock.  Rows move only under a lock that conflicts
 * with this one, so none is seen twice.
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
		HiloNamedRow *named = palloc0(sizeof(HiloNamedRow));
		bool		isnull;

		CHECK_FOR_INTERRUPTS();
		if (heap_attisnull(tuple, NAME_COLUMN, NULL))
			continue;

		/* Copy under the lock, or half of a change might be seen. */
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		memcpy(&named->row, GETSTRUCT(tuple), HILO_ROW_SIZE);
		named->lsn = BufferGetLSNAtomic(buffer);
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
		if (named->row.home != home)
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

/*
 * The executor would fire triggers, and our own guard would refuse the row or merge it again.
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

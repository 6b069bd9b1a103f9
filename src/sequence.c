/*-------------------------------------------------------------------------
 *
 * sequence.c
 *	  Sequences, counted by the server's own nextval: its numbers are on disk before
 *	  they are shown, and are no ids that the table has already.
 *
 * nextval leaves it to the commit to flush its record, and a transaction that draws numbers
 * which another one has logged flushes nothing.  So after each draw the sequence's page is
 * visited, and the WAL flushed up to the last record of that page, whichever session wrote it.  If
 * that record may not cover the number, the page is logged first.
 *
 * nextval logs 32 numbers ahead.  Before these are used up, the page is logged here, and
 * farther ahead: as many numbers as all sessions together draw in about a tenth of a
 * second.  That is the lot.  Only the WAL says so, and a note in shared memory; the page itself
 * gives nextval 32 of the numbers at a time, by its log_cnt, and comes here for the next 32.
 * While the lot lasts, draws write no WAL, and mostly find it flushed.  The page never says more
 * than nextval would have left there, so nothing else that reads, copies or alters the sequence
 * has to know of lots.
 *
 * When the number is on disk, the table is looked into.  If it is an id there, the sequence is
 * moved up to just below the next free number by a change of its page, and nextval is called
 * again.  So a number that this file returns has always come out of nextval, which has checked the
 * privilege, the limit and the transaction, and noted the number for currval and lastval.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_sequence.h"
#include "commands/sequence.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "failure_point.h"
#include "catalog.h"
#include "node.h"
#include "range.h"
#include "row.h"
#include "sequence.h"
#include "pool.h"

/* How many numbers nextval logs ahead, in steps of its increment: SEQ_LOG_VALS of the server. */
#define LOGGED_BY_NEXTVAL	32

/* The most numbers in a lot, and so the most that a crash loses. */
#define MAX_LOT				65536

/* A lot has at most this share of the numbers that are left: 1/64. */
#define LOT_SHARE_OF_REST	64

/* The sequences that this session has used, by OID. */
static HTAB *sequences = NULL;

/* Changes with each message about pg_sequence, of which there is one for each ALTER SEQUENCE. */
static uint64 generation = 1;

/*
 * What is known
 */

/*
 * Syscache callback for pg_sequence.  The message does not tell which sequence it is about, so what
 * is known of all is read again, each at its next draw.
 */
static void
sequence_catalog_changed(Datum arg, int cacheid, uint32 hash)
{
	generation++;
}

/*
 * Remove what is known of sequences that were dropped, whenever there are twice as many as were
 * left the last time: a session may make and drop very many tables.
 *
 * The memory of an entry stays that of an entry, so a caller that still has a pointer finds
 * another OID in it, or none.
 */
static void
forget_dropped_sequences(void)
{
	static long enough = 64;
	HASH_SEQ_STATUS status;
	HiloSequence *sequence;

	if (hash_get_num_entries(sequences) < enough)
		return;
	hash_seq_init(&status, sequences);
	while ((sequence = hash_seq_search(&status)) != NULL)
	{
		if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(sequence->oid)))
			continue;
		if (sequence->ids != NULL)
			hilo_ids_free(sequence->ids);
		sequence->ids = NULL;
		hash_search(sequences, &sequence->oid, HASH_REMOVE, NULL);
		sequence->oid = InvalidOid;
	}
	enough = Max(2 * hash_get_num_entries(sequences), 64);
}

/*
 * An entry is made for any OID, also for one that is no sequence: a draw checks that.  At first
 * known_at is 0, which the generation never is, so the catalog is read before anything is used.
 */
HiloSequence *
hilo_sequence(Oid oid)
{
	HiloSequence *sequence;

	if (sequences == NULL)
	{
		HASHCTL		ctl = {.keysize = sizeof(Oid),.entrysize = sizeof(HiloSequence),
		.hcxt = TopMemoryContext};

		sequences = hash_create("hilo sequences", 16, &ctl,
								HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
		CacheRegisterSyscacheCallback(SEQRELID, sequence_catalog_changed, (Datum) 0);
	}
	sequence = hash_search(sequences, &oid, HASH_FIND, NULL);
	if (sequence == NULL)
	{
		forget_dropped_sequences();
		sequence = hash_search(sequences, &oid, HASH_ENTER, NULL);
		memset((char *) sequence + sizeof(Oid), 0, sizeof(HiloSequence) - sizeof(Oid));
	}
	return sequence;
}

/* Raise 42809 unless the relation is a sequence, with a hint for a table that owns one. */
static void
check_is_sequence(Oid oid)
{
	char	   *name = get_rel_name(oid);
	List	   *owned;

	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("sequence with OID %u does not exist", oid)));
	if (get_rel_relkind(oid) == RELKIND_SEQUENCE)
		return;
	owned = getOwnedSequences(oid);
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("\"%s\" is not a sequence", name),
			 owned == NIL ? 0 :
			 errhint("Call it with the table's sequence, \"%s\".", get_rel_name(linitial_oid(owned)))));
}

/*
 * Open the sequence, and bring what is known of it up to date.  The caller has a lock on it,
 * which keeps others from altering and dropping it, so its catalog entries are there.
 *
 * ALTER SEQUENCE ... OWNED BY is one of the changes that only pg_sequence tells of, so where the
 * ids are has to be found again.
 */
static Relation
open_locked(HiloSequence *sequence)
{
	Relation	rel = relation_open(sequence->oid, NoLock);
	uint64		now = generation;
	HeapTuple	tuple;
	Form_pg_sequence form;

	if (likely(sequence->known_at == now))
		return rel;
	tuple = SearchSysCache1(SEQRELID, ObjectIdGetDatum(sequence->oid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for sequence %u", sequence->oid);
	form = (Form_pg_sequence) GETSTRUCT(tuple);
	sequence->course.increment = form->seqincrement;
	sequence->course.end = form->seqincrement > 0 ? form->seqmax : form->seqmin;
	sequence->cache = form->seqcache;
	sequence->cycles = form->seqcycle;
	ReleaseSysCache(tuple);
	if (!sequence->cycles && sequence->ids == NULL)
		sequence->ids = hilo_ids_create();
	if (sequence->ids != NULL)
		sequence->ids->is_current = false;
	sequence->known_at = now;
	return rel;
}

/*
 * The page
 */

/*
 * What a page of a sequence says: its only tuple, which is always the first one.  The page must be
 * locked.
 */
static Form_pg_sequence_data
page_data(Page page)
{
	HeapTupleHeader header = (HeapTupleHeader)
		PageGetItem(page, PageGetItemId(page, FirstOffsetNumber));

	return (Form_pg_sequence_data) ((char *) header + header->t_hoff);
}

/*
 * The number that the sequence is at, by what its page says.  If it is not called yet, the page
 * has the first number, and the result is the one before that; but -2^63 has none before it.
 */
static int64
position_of(const HiloSequence *sequence, Form_pg_sequence_data data)
{
	if (data->is_called)
		return data->last_value;
	return sequence->course.increment > 0 ?
		Max(data->last_value, PG_INT64_MIN + 1) - 1 :
		Min(data->last_value, PG_INT64_MAX - 1) + 1;
}

/* True if number a comes before number b on the way of the sequence, which may go downwards. */
static bool
is_before(const HiloSequence *sequence, int64 a, int64 b)
{
	return sequence->course.increment > 0 ? a < b : a > b;
}

/*
 * True if the page's last record covers all numbers drawn so far.  Also false if log_cnt does not
 * last for another draw: nextval would write a record then, and the page is logged farther ahead
 * instead.
 *
 * A record is known if nextval or this file wrote it.  ALTER SEQUENCE, a copy of the
 * database, and with wal_level = minimal the end of the transaction that made the
 * sequence, log the page as it is, together with the count of numbers that are logged
 * ahead; nextval then draws these without a record.  But all of them need a lock that
 * conflicts with ours, or a database without sessions, so a known record stays true.
 *
 * A record from before the last checkpoint began is not replayed.  nextval logs the page
 * anew then; but it may have looked for a checkpoint, and drawn, just before one began,
 * and then the page may have been written with the number or without it.  So
 * this must be called after the draw.
 */
static bool
is_covered(HiloSequence *sequence, Page page)
{
	Form_pg_sequence_data data = page_data(page);
	XLogRecPtr	lsn = PageGetLSN(page);

	if (lsn != sequence->lot_lsn)
	{
		if (lsn != hilo_lot(sequence->oid).lsn)
			return false;
		sequence->lot_lsn = lsn;
	}
	return lsn > GetRedoRecPtr() &&
		(data->log_cnt >= Min(sequence->cache, LOGGED_BY_NEXTVAL) ||
		 data->log_cnt >= hilo_steps_to(&sequence->course, data->last_value,
										sequence->course.end));
}

/*
 * Set the page, which is locked for a change, to a number, and log it as it will be when a lot of
 * others is used up.  The lot is twice as large as the last one if that was used up within a
 * tenth of a second, and half as large after more than two tenths.
 *
 * What is logged is a copy, which says that the lot is used up.  The page itself must not say so
 * even for a moment: a query that reads last_value looks at it without a lock.
 *
 * In the buffer log_cnt is 32, so that nextval draws as many numbers without a record, and then
 * comes here again, or logs the page itself.  It is never the size of the lot, because ALTER
 * SEQUENCE copies log_cnt to a page that it logs as it is.
 */
static void
log_lot(HiloSequence *sequence, Relation rel, Buffer buffer, int64 number)
{
	Page		page = BufferGetPage(buffer);
	HiloLot		lot = hilo_lot(sequence->oid);
	TimestampTz now = GetCurrentTimestamp();
	int64		room = hilo_steps_to(&sequence->course, number, sequence->course.end);
	int64		most = Min(Max(room / LOT_SHARE_OF_REST, LOGGED_BY_NEXTVAL), MAX_LOT);
	PGAlignedBlock copy;
	Form_pg_sequence_data data = page_data(page);

	lot.size = hilo_range_size(lot.size, now - lot.logged_at, HILO_RANGE_DURATION,
							   LOGGED_BY_NEXTVAL, most);
	lot.logged_at = now;
	lot.end = number + Min(lot.size, room) * sequence->course.increment;

	memcpy(copy.data, page, BLCKSZ);
	page_data(copy.data)->last_value = lot.end;
	page_data(copy.data)->is_called = true;
	page_data(copy.data)->log_cnt = 0;

	/* The page as nextval leaves it, and the LSN of a record that says more. */
	START_CRIT_SECTION();
	MarkBufferDirty(buffer);
	data->last_value = number;
	data->is_called = true;
	data->log_cnt = Min(LOGGED_BY_NEXTVAL, room);
	lot.lsn = hilo_log_page(rel, 0, copy.data);
	PageSetLSN(page, lot.lsn);
	END_CRIT_SECTION();

	/*
	 * Noted before the page is unlocked, so that other sessions know the
	 * record.
	 */
	sequence->lot_lsn = lot.lsn;
	hilo_lot_note(sequence->oid, &lot);
}

/*
 * Set the page, which is locked for a change, to a number at or beyond the one that it says.
 * While the lot lasts, that writes no record: after a crash the page is at the end of the lot.
 *
 * The lot must be the page's last record, and one that is replayed.  A number that was drawn
 * is safe then, because the redo pointer is read after the draw.  One to which the sequence is only
 * moved is not shown before the next call of make_durable(), which looks again.
 */
static void
put_to(HiloSequence *sequence, Relation rel, Buffer buffer, int64 number)
{
	Page		page = BufferGetPage(buffer);
	Form_pg_sequence_data data = page_data(page);
	HiloLot		lot = hilo_lot(sequence->oid);
	bool		is_in_lot = PageGetLSN(page) == lot.lsn && lot.lsn > GetRedoRecPtr() &&
		is_before(sequence, number, lot.end);

	if (RelationNeedsWAL(rel) && !is_in_lot)
	{
		log_lot(sequence, rel, buffer, number);
		return;
	}
	MarkBufferDirty(buffer);
	data->last_value = number;
	data->is_called = true;
	data->log_cnt = is_in_lot ?
		Min(LOGGED_BY_NEXTVAL, hilo_steps_to(&sequence->course, number, lot.end)) : 0;
}

/*
 * Make sure that everything drawn so far from the sequence is on disk, and on the standbys
 * that the session waits for; unless the sequence is temporary or unlogged, or its storage was
 * made in this transaction and is not logged.  Returns the number that it is at.  The sequence
 * must be locked.
 *
 * Mostly a glance at the page under a shared lock suffices, because the lot covers the number.
 * Otherwise the page is looked at again under the exclusive lock: another session may have logged
 * it meanwhile.  Shared memory is attached to before that lock, as it cannot be under one.
 */
static int64
make_durable(HiloSequence *sequence)
{
	Relation	rel = open_locked(sequence);
	Buffer		buffer = hilo_read_again(rel, sequence->buffer);
	Page		page = BufferGetPage(buffer);
	bool		needs_wal = RelationNeedsWAL(rel);
	XLogRecPtr	lsn;
	int64		position;
	bool		covered;

	sequence->buffer = buffer;
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	lsn = PageGetLSN(page);
	position = position_of(sequence, page_data(page));
	covered = !needs_wal || is_covered(sequence, page);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);

	if (unlikely(!covered))
	{
		hilo_pool_attach();
		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);

		/* From a sequence that is not called yet, nothing was drawn. */
		if (page_data(page)->is_called && !is_covered(sequence, page))
			put_to(sequence, rel, buffer, page_data(page)->last_value);
		lsn = PageGetLSN(page);
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	}
	ReleaseBuffer(buffer);
	relation_close(rel, NoLock);
	if (needs_wal)
		hilo_row_flush(hilo_row_own_lsn(lsn));
	return position;
}

/*
 * Move the sequence to a number, or to the next one on its way, unless it is there or beyond.
 * Unlike setval, this cannot set it back while others draw.
 *
 * The steps are counted from what the page says, so the numbers of a sequence with an increment
 * stay on its grid.  If the given one is not on it, the sequence goes one step beyond, but not
 * past its end.
 */
static void
move_to(HiloSequence *sequence, int64 number)
{
	Relation	rel = open_locked(sequence);
	Buffer		buffer = ReadBuffer(rel, 0);
	Form_pg_sequence_data data;
	int64		last;

	hilo_pool_attach();
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	data = page_data(BufferGetPage(buffer));
	last = data->last_value;
	if (is_before(sequence, last, number) || (last == number && !data->is_called))
	{
		const HiloCourse *course = &sequence->course;
		int64		steps = hilo_steps_to(course, last, number);

		if (last + steps * course->increment != number &&
			steps < hilo_steps_to(course, last, course->end))
			steps++;
		put_to(sequence, rel, buffer, last + steps * course->increment);
	}
	UnlockReleaseBuffer(buffer);
	relation_close(rel, NoLock);
	HILO_FAILURE_POINT("sequence moved");
}

/*
 * Draw
 */

/*
 * Call nextval.  If it logs the sequence's page, that is the last record that it writes; one
 * of something else does no harm, because no sequence's last record ends there.
 *
 * Such a record is a lot, too: it covers at least the number that was drawn.  Its size and time stay
 * those of the last lot that log_lot() made, from which the next one follows.
 */
static int64
server_nextval(HiloSequence *sequence, bool check_right)
{
	XLogRecPtr	before = XactLastRecEnd;
	int64		number = nextval_internal(sequence->oid, check_right);

	if (unlikely(XactLastRecEnd != before))
	{
		HiloLot		lot;

		hilo_pool_attach();
		lot = hilo_lot(sequence->oid);
		lot.lsn = sequence->lot_lsn = XactLastRecEnd;
		lot.end = number;
		hilo_lot_note(sequence->oid, &lot);
	}
	HILO_FAILURE_POINT("sequence drawn");
	return number;
}

/*
 * A sequence counts for this server only, so on a Citus worker, where other nodes would draw
 * the same numbers, it is refused.
 *
 * nextval checks whether the relation is a sequence, but says so without a hint.  So that is
 * checked before, though only once as long as no sequence is altered.
 *
 * The number is made durable before the look, which may end with an error, after which
 * currval() shows the number.
 *
 * The loop ends because a move goes forward only, and past the last number nextval raises
 * an error.  If the sequence has a CACHE, the session may have numbers left below the one to
 * which it has just been moved: for these, no other one is searched.
 */
int64
hilo_sequence_next(HiloSequence *sequence, bool has_right)
{
	bool		has_moved = false;
	int64		moved_to = 0;

	if (unlikely(hilo_node_is_worker()))
		hilo_node_refuse("sequence", get_rel_name(sequence->oid));
	if (unlikely(sequence->known_at != generation))
		check_is_sequence(sequence->oid);
	for (;;)
	{
		int64		number = server_nextval(sequence, !has_right);
		int64		next;
		int			tries = 0;

		(void) make_durable(sequence);

		/* Its numbers come again by intention, so ids do not matter. */
		if (sequence->cycles)
			return number;
		hilo_ids_of_sequence(sequence->ids, sequence->oid);
		if (likely(!hilo_ids_has(sequence->ids, &sequence->course, number)))
			return number;
		if (!has_moved || is_before(sequence, moved_to, number))
		{
			/* If all are taken up to the end, nextval raises its error there. */
			if (hilo_ids_next_free(sequence->ids, &sequence->course, number, &next, &tries))
				next -= sequence->course.increment;
			if (next != number)
				move_to(sequence, next);
			has_moved = true;
			moved_to = next;
		}
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * Move
 */

/*
 * The sequence is checked twice: without a lock, because a table should not be locked only to say
 * that it is no sequence; and with the lock, because it may have been dropped during the wait for
 * it.  The lock is that of nextval, and kept until the transaction ends, as nextval keeps it.
 */
int64
hilo_sequence_position(HiloSequence *sequence)
{
	Oid			oid = sequence->oid;

	check_is_sequence(oid);
	LockRelationOid(oid, RowExclusiveLock);
	check_is_sequence(oid);
	return make_durable(sequence);
}

/*
 * Another session may draw or move the sequence beyond the number before move_to() has locked the
 * page.  Then nothing is moved, and the result says where the sequence is.
 */
int64
hilo_sequence_move(HiloSequence *sequence, int64 number)
{
	int64		position = hilo_sequence_position(sequence);

	if (!is_before(sequence, position, number))
		return position;
	if (is_before(sequence, sequence->course.end, number))
		ereport(ERROR,
				(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
				 errmsg("sequence \"%s\" ends before " INT64_FORMAT,
						get_rel_name(sequence->oid), number),
				 errdetail("Its last number is " INT64_FORMAT ".", sequence->course.end)));
	move_to(sequence, number);
	return make_durable(sequence);
}

/*
 * The horizon
 */

/*
 * Raise 55000 unless the numbers come one by one, so that each is above all before it.  With a
 * CACHE a session draws from numbers that it got long before, and a sequence that cycles, or
 * counts down, goes below the horizon.
 *
 * What the hint says gives the sequence new storage.  So other sessions lose the numbers that they
 * have left of a former CACHE.
 */
static void
check_has_horizon(const HiloSequence *sequence)
{
	char	   *name = get_rel_name(sequence->oid);

	if (sequence->cache == 1 && sequence->course.increment == 1 && !sequence->cycles)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("cannot get the horizon of sequence \"%s\"", name),
			 errdetail("It has a CACHE above 1, a CYCLE, or an increment other than 1."),
			 errhint("Run ALTER SEQUENCE %s CACHE 1 INCREMENT BY 1 NO CYCLE.",
					 quote_qualified_identifier(get_namespace_name(get_rel_namespace(sequence->oid)),
												name))));
}

/*
 * Page first, lockers after: a later draw gets a higher number, and a transaction that drew before
 * holds the lock of nextval until it ends.
 *
 * The sequence itself is locked while its options and its page are read.  Otherwise an ALTER
 * SEQUENCE between the two could give a session a CACHE from which it draws lower numbers
 * later.  The lock is given up before the wait, or two callers would wait for each other.
 *
 * The number is made durable, as one that is drawn.  Otherwise a crash could take back what a
 * reader has passed, and the same numbers would come again with other rows.
 */
int64
hilo_sequence_horizon(Oid oid)
{
	HiloSequence *sequence;
	LOCKTAG		tag;
	int64		horizon;

	PreventCommandDuringRecovery("hilo.horizon()");
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("hilo.horizon() must be called at isolation level READ COMMITTED")));
	check_is_sequence(oid);
	if (pg_class_aclcheck(oid, GetUserId(), ACL_USAGE | ACL_SELECT) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_SEQUENCE, get_rel_name(oid));

	/* Two transactions that both have drawn would wait for each other. */
	if (hilo_has_relation_locked(oid, RowExclusiveLock))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot get the horizon of sequence \"%s\"", get_rel_name(oid)),
				 errdetail("This transaction has drawn from it."),
				 errhint("Commit first.")));

	/* It may have been dropped during the wait for the lock. */
	LockRelationOid(oid, RowExclusiveLock);
	check_is_sequence(oid);
	sequence = hilo_sequence(oid);
	relation_close(open_locked(sequence), NoLock);
	check_has_horizon(sequence);
	horizon = make_durable(sequence);
	UnlockRelationOid(oid, RowExclusiveLock);
	HILO_FAILURE_POINT("horizon read");

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, oid);
	WaitForLockers(tag, ShareLock, false);
	return horizon;
}

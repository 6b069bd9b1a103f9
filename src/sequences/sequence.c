/*-------------------------------------------------------------------------
 *
 * sequence.c
 *	  Sequences, counted by the server's own nextval, with a cache whose size
 *	  follows the rate.
 *
 * PostgreSQL can keep a range of a sequence in a session: that is what CACHE does,
 * with one size for all and for good.  Here each claim has a size of its own.  It
 * is put, for the duration of one call of nextval_internal(), into this backend's
 * copy of the sequence's row in pg_sequence.
 *
 * A number must be on disk before it is returned, which nextval leaves to the
 * commit.  So after each call that took numbers from the sequence's page, the WAL
 * is flushed up to the last change of that page, whoever made it.  If that may be
 * one that does not cover the number, the page is logged first.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "catalog/pg_class.h"
#include "catalog/pg_sequence.h"
#include "commands/sequence.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/settings.h"
#include "counting/node.h"
#include "counting/row.h"
#include "sequences/sequence.h"
#include "shared/logged.h"

/*
 * How many numbers nextval logs ahead, in steps of its increment.  A claim of more
 * than that always writes WAL, so it cannot be gone after a crash while a later, larger
 * change is not.
 */
#define LOGGED_AHEAD	32

/* Give up after so many claims without consecutive numbers. */
#define MAX_CLAIMS		1000

/* Numbers in the largest claim of a block near the limit: nextval holds the page meanwhile. */
#define LARGEST_CLAIM	1048576

/* The sequences from which this session draws, by OID. */
static HTAB *sequences = NULL;

/*
 * What is known
 */

/* Changes with each message about one of them, about pg_sequence, or about roles. */
static uint64 generation = 1;

/* Called for each message about a relation; InvalidOid: about all. */
static void
sequence_changed(Oid relation)
{
	if (!OidIsValid(relation) ||
		hash_search(sequences, &relation, HASH_FIND, NULL) != NULL)
		generation++;
}

/* Syscache callback for pg_sequence, for roles, and for the owner of the database. */
static void
catalog_changed(Datum arg, int cacheid, uint32 hash)
{
	sequence_changed(InvalidOid);
}

/* Called when draws may be refused from now on: the next one finds out. */
static void
end_ranges(void)
{
	HASH_SEQ_STATUS status;
	HiloSequence *sequence;

	hash_seq_init(&status, sequences);
	while ((sequence = hash_seq_search(&status)) != NULL)
		sequence->left = 0;
}

static void
create_table(void)
{
	HASHCTL		ctl = {.keysize = sizeof(Oid),.entrysize = sizeof(HiloSequence),
	.hcxt = TopMemoryContext};

	sequences = hash_create("hilo sequences", 16, &ctl,
							HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	hilo_sequences_refused = end_ranges;
	hilo_on_relation_change(sequence_changed);
	CacheRegisterSyscacheCallback(SEQRELID, catalog_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHOID, catalog_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, catalog_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(DATABASEOID, catalog_changed, (Datum) 0);
}

/*
 * Forget sequences that were dropped, whenever there are twice as many as there were left
 * the last time: a session may make and drop very many tables.
 */
static void
forget_dropped(void)
{
	static long enough = 64;
	HASH_SEQ_STATUS status;
	HiloSequence *sequence;

	if (hash_get_num_entries(sequences) < enough)
		return;
	hash_seq_init(&status, sequences);
	while ((sequence = hash_seq_search(&status)) != NULL)
	{
		if (sequence->known_at == generation || SearchSysCacheExists1(RELOID, ObjectIdGetDatum(sequence->oid)))
			continue;
		if (sequence->look != NULL)
			hilo_look_free(sequence->look);
		sequence->look = NULL;
		sequence->clean = false;
		sequence->left = 0;
		hash_search(sequences, &sequence->oid, HASH_REMOVE, NULL);
		sequence->oid = InvalidOid;
	}
	enough = Max(2 * hash_get_num_entries(sequences), 64);
}

HiloSequence *
hilo_sequence(Oid oid)
{
	HiloSequence *sequence;
	bool		found;

	if (sequences == NULL)
		create_table();
	sequence = hash_search(sequences, &oid, HASH_FIND, NULL);
	if (sequence != NULL)
		return sequence;
	forget_dropped();
	sequence = hash_search(sequences, &oid, HASH_ENTER, &found);
	if (!found)
		memset((char *) sequence + sizeof(Oid), 0, sizeof(HiloSequence) - sizeof(Oid));
	return sequence;
}

/*
 * Lock and open the sequence as nextval does: its lock stays until the transaction
 * ends.
 */
static Relation
open_sequence(Oid oid)
{
	ResourceOwner owner = CurrentResourceOwner;
	Relation	rel;

	CurrentResourceOwner = TopTransactionResourceOwner;
	LockRelationOid(oid, RowExclusiveLock);
	CurrentResourceOwner = owner;
	rel = try_relation_open(oid, NoLock);
	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("sequence with OID %u does not exist", oid)));
	if (rel->rd_rel->relkind != RELKIND_SEQUENCE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a sequence", RelationGetRelationName(rel))));
	return rel;
}

/* Read the catalog.  Returns the tuple of pg_sequence, to be released. */
static HeapTuple
read_catalog(HiloSequence *sequence, Relation rel)
{
	HeapTuple	tuple = SearchSysCache1(SEQRELID, ObjectIdGetDatum(sequence->oid));
	Form_pg_sequence form;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for sequence %u", sequence->oid);
	form = (Form_pg_sequence) GETSTRUCT(tuple);
	sequence->increment = form->seqincrement;
	sequence->end = form->seqincrement > 0 ? form->seqmax : form->seqmin;
	sequence->cache = form->seqcache;
	sequence->looks = form->seqincrement == 1 && !form->seqcycle;
	if (sequence->looks && sequence->look == NULL)
		sequence->look = hilo_look_create(sequence->oid, NULL, &sequence->clean, NULL);
	return tuple;
}

/*
 * Make sure that the catalog was read.  The lock comes first: with it come messages about
 * changes of others, and it keeps them from changing more until the transaction ends.
 */
static void
get_to_know(HiloSequence *sequence)
{
	Relation	rel = open_sequence(sequence->oid);
	uint64		now = generation;

	if (sequence->known_at != now)
	{
		sequence->role = InvalidOid;
		ReleaseSysCache(read_catalog(sequence, rel));
		sequence->known_at = now;
	}
	relation_close(rel, NoLock);
}

static void
check_counts_by_one(const HiloSequence *sequence)
{
	if (sequence->increment != 1)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("sequence \"%s\" does not count by 1", get_rel_name(sequence->oid)),
				 errdetail("Its increment is " INT64_FORMAT ".", sequence->increment)));
}

static void
fail_at_limit(const HiloSequence *sequence)
{
	ereport(ERROR,
			(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
			 errmsg("sequence \"%s\" does not have enough numbers left",
					get_rel_name(sequence->oid)),
			 errdetail("Its maximum value is " INT64_FORMAT ".", sequence->end)));
}

/* Numbers from number up to the limit of the sequence, at most INT64_MAX. */
static int64
room_above(const HiloSequence *sequence, int64 number)
{
	uint64		distance = sequence->increment > 0 ?
		(uint64) sequence->end - (uint64) number :
		(uint64) number - (uint64) sequence->end;
	uint64		step = sequence->increment > 0 ? (uint64) sequence->increment :
		-(uint64) sequence->increment;

	return (int64) Min(distance / step, PG_INT64_MAX);
}

/*
 * Calls of nextval
 */

/* Number of times that this session has accessed a buffer. */
static inline int64
buffers_accessed(void)
{
	return pgBufferUsage.shared_blks_hit + pgBufferUsage.shared_blks_read +
		pgBufferUsage.local_blks_hit + pgBufferUsage.local_blks_read;
}

/*
 * Call nextval.  If it logs the sequence's page, that is the last record that it
 * writes; one of something else does no harm, because no page's last record ends there.
 */
static int64
server_nextval(HiloSequence *sequence, bool check_right)
{
	XLogRecPtr	before = XactLastRecEnd;
	int64		number = nextval_internal(sequence->oid, check_right);

	if (unlikely(XactLastRecEnd != before))
	{
		sequence->logged = XactLastRecEnd;
		hilo_logged_note(sequence->oid, sequence->logged);
	}
	return number;
}

/*
 * Draw numbers by nextval_internal() with another CACHE than the sequence's own, and step
 * times its increment, until count in a row were drawn, or the limit is reached.  Returns
 * how many were, and the first of these; if there are fewer than two, it is the one that
 * was drawn.
 *
 * Numbers in a row are this session's own, wherever they come from: what is left of an
 * earlier range, or a claim.  After a gap they are counted anew; and with a step after
 * each claim, because the numbers below its first one may belong to others.
 *
 * The lock comes first, so that the tuple that is changed is the one that will be
 * read.  If nextval reads another copy nevertheless, it uses the catalog's values, which is
 * harmless.
 */
static int64
call_nextval(HiloSequence *sequence, int64 cache, int64 step, int64 count,
			 bool check_right, int64 *first)
{
	Relation	rel = open_sequence(sequence->oid);
	HeapTuple	tuple = read_catalog(sequence, rel);
	Form_pg_sequence form = (Form_pg_sequence) GETSTRUCT(tuple);
	int64		own_cache = form->seqcache;
	int64		own_increment = form->seqincrement;
	int64		drawn = 1;
	int			claims = 0;
	int64		last;

	relation_close(rel, NoLock);
	hilo_logged_open();
	form->seqcache = cache;
	form->seqincrement = step * own_increment;
	PG_TRY();
	{
		*first = last = server_nextval(sequence, check_right);
		HILO_FAILURE_POINT("sequence moved");
		while (drawn < count && room_above(sequence, last) >= step)
		{
			int64		before = buffers_accessed();
			int64		number;
			bool		accessed;

			CHECK_FOR_INTERRUPTS();
			number = server_nextval(sequence, false);
			accessed = before != buffers_accessed();
			if (accessed && ++claims > MAX_CLAIMS)
				ereport(ERROR,
						(errcode(ERRCODE_OBJECT_IN_USE),
						 errmsg("could not claim consecutive numbers of sequence \"%s\"",
								get_rel_name(sequence->oid))));
			if (number == last + form->seqincrement && (step == 1 || !accessed))
				drawn++;
			else
			{
				*first = number;
				drawn = 1;
			}
			last = number;
		}
	}
	PG_FINALLY();
	{
		form->seqcache = own_cache;
		form->seqincrement = own_increment;
	}
	PG_END_TRY();
	ReleaseSysCache(tuple);
	sequence->last = last;
	return drawn;
}

/* What the sequence's page says, which is locked. */
static Form_pg_sequence_data
page_data(Page page)
{
	HeapTupleHeader header = (HeapTupleHeader)
		PageGetItem(page, PageGetItemId(page, FirstOffsetNumber));

	return (Form_pg_sequence_data) ((char *) header + header->t_hoff);
}

/* The number that the sequence is at, by its page. */
static int64
read_page(const HiloSequence *sequence)
{
	Relation	rel = open_sequence(sequence->oid);
	Buffer		buffer = ReadBuffer(rel, 0);
	FormData_pg_sequence_data data;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	data = *page_data(BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);
	relation_close(rel, NoLock);
	if (data.is_called)
		return data.last_value;
	return sequence->increment > 0 ?
		Max(data.last_value, PG_INT64_MIN + 1) - 1 :
		Min(data.last_value, PG_INT64_MAX - 1) + 1;
}

/*
 * Log the sequence's page as nextval does: as it will be after the numbers that nextval
 * draws without a record.  Those end at the sequence's limit, where a cycle begins anew.  The
 * page is locked for a change.
 */
static XLogRecPtr
log_page(const HiloSequence *sequence, Buffer buffer)
{
	Form_pg_sequence_data data = page_data(BufferGetPage(buffer));
	int64		last = data->last_value;
	int64		ahead = Min(data->log_cnt, room_above(sequence, last));
	XLogRecPtr	lsn;

	START_CRIT_SECTION();
	MarkBufferDirty(buffer);
	data->last_value = last + ahead * sequence->increment;
	data->log_cnt = 0;
	lsn = log_newpage_buffer(buffer, true);
	data->last_value = last;
	data->log_cnt = ahead;
	END_CRIT_SECTION();
	return lsn;
}

/*
 * True if the page's last record, which ends there, is known to cover all numbers drawn.
 * If there is none, nothing was drawn since the page was written to disk.  One from before a
 * checkpoint may not be replayed, and so covers nothing: nextval logs the page anew, but
 * not if the checkpoint begins when nextval has looked for one, and has not changed the page.
 */
static bool
covers_drawn(HiloSequence *sequence, XLogRecPtr lsn)
{
	if (lsn != sequence->logged && hilo_logged_is_known(sequence->oid, lsn))
		sequence->logged = lsn;
	return lsn == sequence->logged && lsn > GetRedoRecPtr();
}

/*
 * Make sure that the last record of the sequence's page covers all numbers drawn so far.
 * Returns its LSN.
 *
 * ALTER SEQUENCE, a copy of the database, and with wal_level = minimal the end of the
 * transaction that made the sequence, log the page as it is, with the count of numbers that
 * are logged ahead; nextval then draws these without a record, until a checkpoint.  But all
 * of them need a lock that conflicts with ours, or a database without sessions.  So
 * if nextval wrote the last record, in this session or in one that has told others, all is well.
 */
static XLogRecPtr
cover_drawn(HiloSequence *sequence, Relation rel)
{
	Buffer		buffer = ReadBuffer(rel, 0);
	Page		page = BufferGetPage(buffer);
	XLogRecPtr	lsn;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	lsn = PageGetLSN(page);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	if (lsn != sequence->logged)
		hilo_logged_open();
	if (!covers_drawn(sequence, lsn))
	{
		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
		lsn = PageGetLSN(page);
		if (!covers_drawn(sequence, lsn))
		{
			lsn = sequence->logged = log_page(sequence, buffer);
			hilo_logged_note(sequence->oid, lsn);
		}
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	}
	ReleaseBuffer(buffer);
	return lsn;
}

/*
 * Make sure that everything drawn so far from the sequence is on disk, and on the
 * standbys that the session waits for; unless it is temporary or unlogged, or its storage was
 * made in this transaction and is not logged.
 */
static void
flush_sequence(HiloSequence *sequence)
{
	Relation	rel = open_sequence(sequence->oid);
	XLogRecPtr	lsn = InvalidXLogRecPtr;

	if (RelationNeedsWAL(rel) && !RecoveryInProgress())
		lsn = cover_drawn(sequence, rel);
	relation_close(rel, NoLock);
	hilo_row_flush(hilo_row_own_lsn(lsn));
}

/*
 * How many numbers to claim: twice as many as last time if these were used up
 * within a tenth of a second, half as many after more than two tenths.  The first
 * claim of a session, and claims near the limit, are small.
 */
static int64
size_of_claim(const HiloSequence *sequence)
{
	int64		max = Min(hilo_max_range_size, HILO_MAX_SEQUENCE_RANGE);
	int64		size = hilo_min_range_size;

	if (sequence->left > 0)
		return 0;
	if (sequence->size > 0)
		size = hilo_range_size(sequence->size,
							   GetCurrentTimestamp() - sequence->claimed_at,
							   HILO_RANGE_DURATION,
							   hilo_min_range_size, max);
	if (!sequence->may_grow)
		size = Min(size, Max(sequence->size, 1));
	size = Min(size, Max(sequence->room / 64, 1));
	if (sequence->looks)
		size = Max(size, hilo_look_least_claim(sequence->look));
	return Max(Min(size, max), sequence->cache);
}

/*
 * What is left of the range is lost.  Only what was used of it says how large the next one
 * should be: otherwise a session that keeps losing its range would lose as much each time.
 */
static void
shrink_to_used(HiloSequence *sequence)
{
	sequence->size = Max(sequence->size - sequence->left, Min(sequence->size, 1));
}

/*
 * Draw one number: from the range, or else by a claim of that size.  Afterwards last and
 * left say what the session holds.  Before a claim, the look is prepared.
 *
 * If nextval returned another number than the next one, or accessed a buffer, some
 * other function has used or ended the range: the number is then a claim of one.
 * That it accessed a buffer for a look-up in the catalogs is possible, and harmless.
 */
static int64
draw(HiloSequence *sequence, int64 size, bool check_right)
{
	int64		before = buffers_accessed();
	bool		claims = sequence->left <= 0;
	bool		accessed;
	int64		number;

	if (claims)
		(void) call_nextval(sequence, size, 1, 1, check_right, &number);
	else
		number = server_nextval(sequence, check_right);
	accessed = before != buffers_accessed();

	if (claims)
	{
		sequence->room = room_above(sequence, number);

		/* If nothing was accessed, the number comes from a range of others. */
		sequence->left = accessed ? Min(size - 1, sequence->room) : 0;
		if (sequence->looks && number <= sequence->look->limit)
			sequence->room = Min((uint64) sequence->room,
								 (uint64) sequence->look->limit - (uint64) number);
		sequence->may_grow = accessed;
		sequence->clean = false;
		sequence->size = size;
		sequence->claimed_at = GetCurrentTimestamp();
	}
	else if (likely(!accessed && number == sequence->last + sequence->increment))
		sequence->left--;
	else
	{
		shrink_to_used(sequence);
		sequence->left = 0;
		sequence->may_grow = sequence->clean = false;
	}
	sequence->last = number;
	HILO_FAILURE_POINT("sequence drawn");
	return number;
}

/* Draw what is left of the range, up to a number, and drop it. */
static void
drop_up_to(HiloSequence *sequence, int64 number)
{
	while (sequence->left > 0 && sequence->last < number)
	{
		CHECK_FOR_INTERRUPTS();
		(void) draw(sequence, 0, false);
	}
}

/*
 * Claim size numbers in a row, with that step between them, and draw them.  Returns how
 * many there are up to the limit.
 */
static int64
claim_in_a_row(HiloSequence *sequence, int64 size, int64 step, bool check_right,
			   int64 *first)
{
	shrink_to_used(sequence);
	drop_up_to(sequence, PG_INT64_MAX);
	sequence->left = 0;
	sequence->may_grow = sequence->clean = false;
	return call_nextval(sequence, size, step, size, check_right, first);
}

/*
 * Move
 */

/*
 * Have nextval draw all numbers that are missing.  Unlike setval, that cannot move the
 * sequence backwards while others draw.  If more are missing than the largest range has,
 * they are drawn with a larger increment for once; but nextval then logs so many of these
 * steps ahead.  So the last claim has the sequence's own increment, and is large enough to
 * be logged.
 *
 * One session at a time: another one would go the same way once more.  No session waits for
 * anything while it has this lock.
 */
static void
move_to(HiloSequence *sequence, int64 number, bool check_right)
{
	Relation	rel = open_sequence(sequence->oid);

	drop_up_to(sequence, PG_INT64_MAX);
	LockPage(rel, 0, ExclusiveLock);
	for (;;)
	{
		int64		at = read_page(sequence);
		uint64		missing = (uint64) number - (uint64) at;
		int64		first;

		if (at >= number)
			break;
		if (number > sequence->end)
			fail_at_limit(sequence);
		CHECK_FOR_INTERRUPTS();
		if (missing <= HILO_MAX_SEQUENCE_RANGE)
			(void) claim_in_a_row(sequence, missing, 1, check_right, &first);
		else
			(void) claim_in_a_row(sequence, LOGGED_AHEAD + 1,
								  missing / (LOGGED_AHEAD + 1) - 1, check_right, &first);
	}
	UnlockPage(rel, 0, ExclusiveLock);
	relation_close(rel, NoLock);
	flush_sequence(sequence);
}

int64
hilo_sequence_position(HiloSequence *sequence, int64 *end)
{
	int64		at;

	get_to_know(sequence);
	*end = sequence->end;
	at = read_page(sequence);
	flush_sequence(sequence);
	return at;
}

int64
hilo_sequence_move(HiloSequence *sequence, int64 number, bool check_right)
{
	get_to_know(sequence);
	check_counts_by_one(sequence);
	shrink_to_used(sequence);
	move_to(sequence, number, check_right);
	return read_page(sequence);
}

/*
 * Draw
 */

/*
 * Make a number that was just drawn, and what the session holds above it, fit to be
 * used: on disk, and looked at.  Returns that number, or a higher one.
 *
 * The flush comes first.  The look may end with an error, after which currval()
 * shows the number.
 */
static int64
make_clean(HiloSequence *sequence, int64 number)
{
	HiloLookProgress progress = {0};

	/* The number may be the first after the sequence was altered. */
	get_to_know(sequence);

	for (;;)
	{
		HiloRange	numbers = {number, number + sequence->left};
		int64		highest;

		flush_sequence(sequence);
		sequence->waited_how = synchronous_commit;
		if (!sequence->looks)
			sequence->clean = true;
		if (sequence->clean)
			return number;
		hilo_look_prepare(sequence->look);
		if (!hilo_look(sequence->look, numbers, sequence->end, &progress, &highest))
			return number;
		if (highest > numbers.high)
			move_to(sequence, highest, false);
		else
			drop_up_to(sequence, highest);
		sequence->size = Max(sequence->size / HILO_SMALLER_AT_ID, 1);

		/*
		 * What some other function has left of a range is only known when it
		 * is drawn.
		 */
		do
		{
			CHECK_FOR_INTERRUPTS();
			number = draw(sequence, size_of_claim(sequence), false);
		} while (number <= highest && !sequence->may_grow);
	}
}

/*
 * Raise 25006, as nextval does, before anything is read: a standby does not have the files of
 * unlogged sequences and tables.
 */
static void
check_writable(const HiloSequence *sequence)
{
	if (get_rel_persistence(sequence->oid) != RELPERSISTENCE_TEMP)
		PreventCommandIfReadOnly("nextval()");
}

/* Raise 55000 where other servers may draw the same numbers. */
static void
check_node(const HiloSequence *sequence)
{
	if (*hilo_hub == '\0' && !hilo_node_is_worker())
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("cannot draw from sequence \"%s\" %s", get_rel_name(sequence->oid),
					*hilo_hub == '\0' ? "on a Citus worker" : "where hilo.hub is set"),
			 errdetail("It is unique on its own server, so other servers may draw the same numbers."),
			 errhint("Attach the table to a collection with hilo.attach().")));
}

static int64
next_slowly(HiloSequence *sequence, bool has_right)
{
	bool		claims = sequence->left <= 0;
	bool		check_right;
	int64		number;

	get_to_know(sequence);
	check_node(sequence);
	check_writable(sequence);
	if (sequence->looks && claims)
		hilo_look_prepare(sequence->look);
	check_right = !has_right && sequence->role != GetUserId();
	number = draw(sequence, size_of_claim(sequence), check_right);
	if (check_right)
		sequence->role = GetUserId();
	number = make_clean(sequence, number);

	/* The range lasts from now on: a standby may be far away. */
	if (claims)
		sequence->claimed_at = GetCurrentTimestamp();
	return number;
}

/*
 * If the sequence has a CACHE, a plain nextval may have put numbers into the range that
 * are not on disk: then each number is checked.  And an earlier transaction may have been
 * content with less safety than this one wants.
 */
int64
hilo_sequence_next(HiloSequence *sequence, bool has_right)
{
	int64		number;

	if (unlikely(!sequence->clean || sequence->known_at != generation || sequence->left <= 0 ||
				 sequence->cache != 1 || sequence->waited_how < synchronous_commit ||
				 !(has_right || sequence->role == GetUserId())))
		return next_slowly(sequence, has_right);
	number = draw(sequence, 0, false);
	return likely(sequence->clean) ? number : make_clean(sequence, number);
}

void
hilo_sequence_check_may_draw(Oid sequence)
{
	if (pg_class_aclcheck(sequence, GetUserId(), ACL_USAGE | ACL_UPDATE) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_SEQUENCE, get_rel_name(sequence));
}

int64
hilo_sequence_reserve(HiloSequence *sequence, int64 count)
{
	HiloLookProgress progress = {.exact = true};
	int64		highest = PG_INT64_MIN;

	get_to_know(sequence);
	check_node(sequence);
	hilo_sequence_check_may_draw(sequence->oid);
	check_writable(sequence);
	check_counts_by_one(sequence);
	for (;;)
	{
		int64		step = count <= HILO_MAX_SEQUENCE_RANGE ? 1 :
			(count - 1 + LOGGED_AHEAD - 1) / LOGGED_AHEAD;
		uint64		room = (uint64) sequence->end - (uint64) read_page(sequence);
		int64		size;
		HiloRange	numbers;
		int64		last;

		CHECK_FOR_INTERRUPTS();

		/* A larger increment takes more numbers than the block has. */
		if (room < (uint64) ((LOGGED_AHEAD + 1) * step) && count <= LARGEST_CLAIM)
			step = 1;
		size = step == 1 ? count : LOGGED_AHEAD + 1;

		/* Others may come first. */
		if (room < (uint64) (size * step) ||
			claim_in_a_row(sequence, size, step, true, &numbers.low) < size)
			fail_at_limit(sequence);
		numbers.high = numbers.low + (count - 1);

		/* As at the end of a move. */
		if (step > 1 && room_above(sequence, sequence->last) > LOGGED_AHEAD)
			(void) claim_in_a_row(sequence, LOGGED_AHEAD + 1, 1, true, &last);
		flush_sequence(sequence);
		if (!sequence->looks)
			return numbers.low;

		/*
		 * The sequence has moved above that id: these are left of an earlier
		 * range.
		 */
		if (numbers.low <= highest && read_page(sequence) >= highest)
			continue;
		hilo_look_prepare(sequence->look);
		if (!hilo_look(sequence->look, numbers, sequence->end, &progress, &highest))
			return numbers.low;
		move_to(sequence, highest, false);
	}
}

/*
 * List
 */

List *
hilo_sequences_in_use(void)
{
	HASH_SEQ_STATUS status;
	HiloSequence *sequence;
	List	   *in_use = NIL;

	if (sequences == NULL)
		return NIL;
	hash_seq_init(&status, sequences);
	while ((sequence = hash_seq_search(&status)) != NULL)
	{
		if (sequence->left > 0)
			in_use = lappend(in_use, sequence);
	}
	return in_use;
}

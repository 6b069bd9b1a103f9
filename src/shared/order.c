/*-------------------------------------------------------------------------
 *
 * order.c
 *	  Ordered collections in shared memory: numbers that all sessions of the server
 *	  draw one after the other, and the horizon.
 *
 * Each collection has a lock of its own, which a draw holds for much less than a
 * microsecond.  Another lock protects the set of collections, and is taken first.
 * Nothing that is done under either lock can raise an error.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/twophase.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "executor/spi.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/shmem.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/failure_point.h"
#include "base/settings.h"
#include "base/sql.h"
#include "session/collection.h"
#include "shared/order.h"
#include "shared/pool.h"
#include "shared/turn.h"

#define TRANCHE_NAME	"hilo_ordered"

/*
 * One collection in this many of the pool's can be ordered, but at least
 * MIN_COLLECTIONS.
 */
#define POOLED_PER_ORDERED	64
#define MIN_COLLECTIONS		8

/* Number of ordered collections that one transaction can draw from. */
#define MAX_NOTES		16

/* Minimum number of ends of transactions that are remembered. */
#define MIN_ENDS		1024

typedef struct OrderedCollection OrderedCollection;

/* A transaction has drawn or chosen this number, and maybe higher ones. */
typedef struct Note
{
	dlist_node	node;
	OrderedCollection *collection;
	int64		lowest;
	int64		highest;		/* highest number drawn; only its session
								 * reads it */
	int			pid;
	TimestampTz since;			/* start of the transaction */
} Note;

/*
 * A transaction that has committed.  When its commit was complete, the number
 * after the highest transaction id that had ended was stamp: a snapshot whose
 * xmax is above stamp was taken later.
 */
typedef struct End
{
	uint64		xid;			/* 0: several transactions; stamp is that of
								 * the last */
	uint64		stamp;
	int64		lowest;
} End;

/*
 * A moment, as a snapshot records it: its xmax, and the number of transactions
 * below xmax that were running. xmax only grows, and while it stays the same,
 * the number of running transactions only shrinks.
 */
typedef struct Moment
{
	uint64		xmax;
	int			running;
} Moment;

struct OrderedCollection
{
	LWLock	   *lock;
	Oid			database;		/* InvalidOid: free */
	HiloTurn	turn;

	/* Home and epoch of the row that the rest belongs to; epoch 0: none. */
	int64		home;
	int64		epoch;

	int64		last;			/* last number drawn or skipped */
	int64		high;			/* highest number that can be drawn */
	XLogRecPtr	lsn;			/* of the claim */
	XLogRecPtr	chosen;			/* of numbers chosen by hand: once WAL is
								 * flushed up to here, no crash makes any of
								 * them free again */
	int64		size;			/* of the last claim; 0: none yet */
	TimestampTz claimed_at;

	/*
	 * Transactions that started before the collection became ordered may
	 * still be running, and may have drawn numbers of which there are no
	 * notes.  They are those in running[] that were first seen at running_at
	 * or before; running_at 0: not looked up yet.
	 */
	bool		settled;
	uint64		running_at;
	uint64		prepared_below; /* or they are prepared, with an id below
								 * this; 0: they are still running */
	Moment		known_from;		/* when the last of them had ended; */
	uint64		known_stamp;	/* a snapshot with an xmax above this was
								 * taken later */

	dlist_head	notes;			/* of running transactions, lowest first */
	XLogRecPtr	committed;		/* end of the last commit of a transaction
								 * with a note */
	int			end_count;
	End		   *ends;			/* of committed transactions, oldest first */

	int			name_len;
	char		name[HILO_MAX_ROW_NAME_LEN];
};

/* A transaction that was running when a collection became ordered. */
typedef struct Running
{
	LocalTransactionId lxid;
	uint64		first_at;		/* value of times when it was first seen
								 * running */
} Running;

/*
 * Head of the shared memory; the collections, ends, notes and running
 * transactions follow it.
 */
typedef struct Ordered
{
	LWLock	   *lock;			/* protects the collections' names, and what
								 * follows */
	uint64		times;			/* how often running transactions were looked
								 * up */
	uint64		evicted;		/* highest stamp of the ends that were
								 * discarded */
	OrderedCollection *collections;
	Note	   *notes;			/* MAX_NOTES for each backend */
	Running    *running;		/* one for each backend */
} Ordered;

static Ordered *ordered = NULL;
static shmem_request_hook_type next_request_hook = NULL;
static shmem_startup_hook_type next_startup_hook = NULL;

/*
 * This session's notes, and a number that identifies its current transaction.
 */
static Note *my_notes = NULL;
static int	my_note_count = 0;
static uint64 my_transaction = 1;

static int
collection_count(void)
{
	return Min(hilo_pool_size,
			   Max(MIN_COLLECTIONS, hilo_pool_size / POOLED_PER_ORDERED));
}

/*
 * All transactions that can run at the same time may end with the same stamp,
 * so leave room for many more.
 */
static int
max_ends(void)
{
	return Max(MIN_ENDS, 4 * MaxBackends);
}

/*
 * Collections
 */

/* True if the shared state belongs to the row. */
static inline bool
is_of(const OrderedCollection *it, const HiloRow *row)
{
	return it->epoch == row->epoch && it->home == row->home;
}

static bool
is_named(const OrderedCollection *it, const char *name)
{
	return it->database == MyDatabaseId && strcmp(it->name, name) == 0;
}

/*
 * Find the collection of that name; NULL: there is none.  The caller holds
 * ordered->lock.
 */
static OrderedCollection *
find(const char *name)
{
	for (int i = 0; i < collection_count(); i++)
	{
		if (is_named(&ordered->collections[i], name))
			return &ordered->collections[i];
	}
	return NULL;
}

/* Free the collection unless it is in use; true if it was freed. */
static bool
evict(OrderedCollection *it)
{
	bool		idle;

	LWLockAcquire(it->lock, LW_EXCLUSIVE);
	idle = dlist_is_empty(&it->notes) && !hilo_turn_is_used(&it->turn);
	if (idle)
	{
		if (it->end_count > 0)
			ordered->evicted = Max(ordered->evicted,
								   it->ends[it->end_count - 1].stamp);
		it->database = InvalidOid;
		it->epoch = 0;
		it->end_count = 0;
	}
	LWLockRelease(it->lock);
	return idle;
}

/*
 * Find a free place; if there is none, evict the unused collection whose last
 * claim is the oldest.  NULL: all are in use.
 */
static OrderedCollection *
find_room(void)
{
	OrderedCollection *room;

	do
	{
		room = NULL;
		for (int i = 0; i < collection_count(); i++)
		{
			OrderedCollection *it = &ordered->collections[i];

			if (!OidIsValid(it->database))
				return it;
			if (dlist_is_empty(&it->notes) && !hilo_turn_is_used(&it->turn) &&
				(room == NULL || it->claimed_at < room->claimed_at))
				room = it;
		}
	} while (room != NULL && !evict(room));
	return room;
}

static OrderedCollection *
make(const char *name)
{
	OrderedCollection *it = find_room();

	if (it == NULL)
		return NULL;
	LWLockAcquire(it->lock, LW_EXCLUSIVE);
	it->database = MyDatabaseId;
	strlcpy(it->name, name, sizeof(it->name));
	it->home = it->epoch = it->last = it->high = it->size = 0;
	it->lsn = it->chosen = InvalidXLogRecPtr;
	it->claimed_at = GetCurrentTimestamp();
	it->settled = false;
	it->running_at = it->prepared_below = 0;
	it->known_from.xmax = it->known_stamp = 0;
	it->committed = InvalidXLogRecPtr;
	LWLockRelease(it->lock);
	return it;
}

/*
 * Find or create the collection of that name, and lock it.  Raises 53200 if
 * there is no room.
 */
static OrderedCollection *
lock_collection(const char *name)
{
	OrderedCollection *it;

	LWLockAcquire(ordered->lock, LW_EXCLUSIVE);
	it = find(name);
	if (it == NULL)
		it = make(name);
	if (it != NULL)
		LWLockAcquire(it->lock, LW_EXCLUSIVE);
	LWLockRelease(ordered->lock);
	if (it == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("the pool has no room for ordered collection \"%s\"",
						name),
				 errhint("Increase the setting \"hilo.pool_size\", which requires a restart. One collection in %d can be ordered.",
						 POOLED_PER_ORDERED)));
	return it;
}

/*
 * Find the collection of that name and lock it; NULL: there is none, and
 * nothing is locked.
 */
static OrderedCollection *
lock_if_there(const char *name)
{
	OrderedCollection *it;

	if (ordered == NULL)
		return NULL;
	LWLockAcquire(ordered->lock, LW_SHARED);
	it = find(name);
	if (it != NULL)
		LWLockAcquire(it->lock, LW_EXCLUSIVE);
	LWLockRelease(ordered->lock);
	return it;
}

void
hilo_ordered_forget(const char *name)
{
	OrderedCollection *it = lock_if_there(name);

	if (it == NULL)
		return;
	it->epoch = 0;
	LWLockRelease(it->lock);
}

void
hilo_ordered_forget_database(Oid database)
{
	if (ordered == NULL)
		return;
	LWLockAcquire(ordered->lock, LW_EXCLUSIVE);
	for (int i = 0; i < collection_count(); i++)
	{
		if (ordered->collections[i].database == database)
			(void) evict(&ordered->collections[i]);
	}
	LWLockRelease(ordered->lock);
}

/*
 * Notes
 */

/* Find the current transaction's note of the collection; NULL: none. */
static Note *
find_note(const OrderedCollection *it)
{
	for (int i = 0; i < my_note_count; i++)
	{
		if (my_notes[i].collection == it)
			return &my_notes[i];
	}
	return NULL;
}

/* Insert the note at its place in the list, nearly always at the end. */
static void
insert_note(OrderedCollection *it, Note *note)
{
	dlist_iter	iter;

	dlist_reverse_foreach(iter, &it->notes)
	{
		if (dlist_container(Note, node, iter.cur)->lowest <= note->lowest)
		{
			dlist_insert_after(iter.cur, &note->node);
			return;
		}
	}
	dlist_push_head(&it->notes, &note->node);
}

/* Note a number of the collection, whose lock is held. */
static void
note_number(OrderedCollection *it, int64 number)
{
	Note	   *note = find_note(it);

	if (note == NULL)
	{
		note = &my_notes[my_note_count++];
		note->collection = it;
		note->highest = 0;
		note->pid = MyProcPid;
		note->since = GetCurrentTransactionStartTimestamp();
	}
	else if (number >= note->lowest)
		return;
	else
		dlist_delete(&note->node);
	note->lowest = number;
	insert_note(it, note);
}

/* Merge the older half of the ends in pairs. */
static void
compact_ends(OrderedCollection *it)
{
	int			half = it->end_count / 4 * 2;
	int			count = 0;

	for (int i = 0; i < half; i += 2)
	{
		End		   *older = &it->ends[i];
		End		   *newer = &it->ends[i + 1];
		End			both = {0, newer->stamp, Min(older->lowest, newer->lowest)};

		it->ends[count++] = both;
	}
	memmove(&it->ends[count], &it->ends[half],
			(it->end_count - half) * sizeof(End));
	it->end_count -= half - count;
}

/*
 * Record that a transaction with such a note has committed.  The caller holds
 * the lock.
 */
static void
note_end(OrderedCollection *it, uint64 xid, int64 lowest)
{
	End			end = {xid, hilo_latest_completed() + 1, lowest};

	if (it->end_count == max_ends())
		compact_ends(it);
	it->ends[it->end_count++] = end;
	it->committed = Max(it->committed, XactLastCommitEnd);
}

/*
 * Remove the notes of the transaction, which has ended.  A snapshot taken from
 * now on shows all that it did; if it has committed, older snapshots may not,
 * so its end is recorded.  A transaction without an id has inserted nothing.
 */
static void
remove_notes(bool committed)
{
	uint64		xid = committed ?
		U64FromFullTransactionId(GetTopFullTransactionIdIfAny()) : 0;

	for (int i = 0; i < my_note_count; i++)
	{
		OrderedCollection *it = my_notes[i].collection;

		LWLockAcquire(it->lock, LW_EXCLUSIVE);
		dlist_delete(&my_notes[i].node);
		if (xid != 0)
			note_end(it, xid, my_notes[i].lowest);
		LWLockRelease(it->lock);
	}
	my_note_count = 0;
	my_transaction++;
}

/*
 * Exit callback.  It runs after the end of the transaction, which should have
 * left no notes.
 */
static void
remove_notes_at_exit(int code, Datum arg)
{
	remove_notes(false);
}

/*
 * Make sure that there is room for a note of the collection, or raise 54000.
 */
static void
reserve_note(const OrderedCollection *it)
{
	if (my_notes == NULL)
	{
		on_shmem_exit(remove_notes_at_exit, (Datum) 0);
		my_notes = &ordered->notes[hilo_vxid_index(hilo_own_vxid()) * MAX_NOTES];
	}
	if (my_note_count == MAX_NOTES && find_note(it) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("cannot draw from more than %d ordered collections in a transaction",
						MAX_NOTES)));
}

/*
 * Transaction callback.  When it is called the commit is complete, so that new
 * snapshots see it.
 */
static void
end_transaction(XactEvent event, void *arg)
{
	if (my_note_count == 0)
		return;
	switch (event)
	{
		case XACT_EVENT_COMMIT:
			remove_notes(true);
			break;
		case XACT_EVENT_ABORT:
			remove_notes(false);
			break;
		case XACT_EVENT_PRE_PREPARE:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot PREPARE a transaction that has drawn from an ordered collection"),
					 errdetail("It could end at any time, and hold the horizon back until then.")));
			break;
		default:
			break;
	}
}

/*
 * Draw
 */

/*
 * True if the current transaction has a note that covers all that it will draw.
 * After a forced seed those numbers may be lower than the one it noted.
 */
static inline bool
is_noted(const HiloOrder *order, const HiloRow *row)
{
	return order->noted_in == my_transaction &&
		order->noted_epoch == row->epoch;
}

bool
hilo_ordered_take(HiloOrder *order, const HiloRow *row, int64 count,
				  HiloClaim *claim)
{
	OrderedCollection *it = order->shared;
	bool		noted = is_noted(order, row);
	bool		taken;

	if (it == NULL)
		return false;
	if (!noted)
		reserve_note(it);

	LWLockAcquire(it->lock, LW_EXCLUSIVE);
	taken = is_of(it, row) && it->high - it->last >= count;
	if (taken)
	{
		claim->range.low = it->last + 1;
		claim->range.high = it->last += count;
		claim->lsn = it->lsn;
		if (!noted)
			note_number(it, claim->range.low);
	}
	LWLockRelease(it->lock);
	if (!taken)
		return false;

	order->noted_in = my_transaction;
	order->noted_epoch = row->epoch;
	find_note(it)->highest = claim->range.high;
	claim->home = row->home;
	claim->epoch = row->epoch;
	claim->changes = row->changes;
	claim->token = 0;
	claim->leased = false;
	return true;
}

/*
 * Numbers chosen by hand
 */

bool
hilo_ordered_has_noted(const HiloOrder *order, const HiloRow *row, int64 number)
{
	const Note *note = is_noted(order, row) ? find_note(order->shared) : NULL;

	return note != NULL && number >= note->lowest && number <= note->highest;
}

/* The horizon for a snapshot taken now. */
static int64
present_horizon(OrderedCollection *it)
{
	if (dlist_is_empty(&it->notes))
		return it->last;
	return Min(it->last,
			   dlist_head_element(Note, node, &it->notes)->lowest - 1);
}

HiloByHand
hilo_ordered_by_hand(HiloOrder *order, const HiloRow *row, int64 number,
					 bool beyond)
{
	OrderedCollection *it = order->shared;
	HiloByHand	result = HILO_BY_HAND_UNKNOWN;

	if (it == NULL)
		return result;
	reserve_note(it);
	LWLockAcquire(it->lock, LW_EXCLUSIVE);
	if (is_of(it, row))
	{
		/*
		 * Until a horizon has been reported, earlier transactions may still
		 * insert.
		 */
		result = it->settled && number <= present_horizon(it) ?
			HILO_BY_HAND_TOO_LOW : HILO_BY_HAND_NOTED;
		if (result == HILO_BY_HAND_NOTED)
		{
			note_number(it, number);
			if (!beyond && number > it->last)
			{
				it->last = number;
				it->high = Max(it->high, number);
				it->chosen = Max(it->chosen, XactLastRecEnd);
			}
		}
	}
	LWLockRelease(it->lock);
	return result;
}

bool
hilo_ordered_has(const HiloOrder *order, const HiloRow *row, int64 count)
{
	OrderedCollection *it = order->shared;
	bool		has;

	LWLockAcquire(it->lock, LW_SHARED);
	has = is_of(it, row) && it->high - it->last >= count;
	LWLockRelease(it->lock);
	return has;
}

int64
hilo_ordered_claimed(const HiloOrder *order, const HiloRow *row)
{
	OrderedCollection *it = order->shared;
	int64		claimed;

	if (it == NULL)
		return -1;
	LWLockAcquire(it->lock, LW_SHARED);
	claimed = is_of(it, row) ? it->high : -1;
	LWLockRelease(it->lock);
	return claimed;
}

/*
 * Turns
 */

bool
hilo_ordered_begin_turn(HiloOrder *order, const char *name)
{
	OrderedCollection *it = lock_collection(name);

	order->shared = it;
	if (it->turn.taken)
	{
		hilo_turn_wait(&it->turn, it->lock, name);
		return false;
	}
	it->turn.taken = true;
	LWLockRelease(it->lock);
	return true;
}

void
hilo_ordered_end_turn(HiloOrder *order)
{
	OrderedCollection *it = order->shared;

	LWLockAcquire(it->lock, LW_EXCLUSIVE);
	hilo_turn_end(&it->turn);
	LWLockRelease(it->lock);
}

/*
 * The transaction id with its epoch.  All ids in use are less than 2^31 apart.
 */
static uint64
full_xid(TransactionId xid)
{
	uint64		latest = hilo_latest_completed();

	return latest + (int32) (xid - (TransactionId) latest);
}

/*
 * The end of the last WAL record.  At the start of a page, the insert position
 * is already behind the page header, but a standby that has replayed the last
 * record has only reached the position before the header.
 */
static XLogRecPtr
last_record_end(void)
{
	XLogRecPtr	lsn = GetXLogInsertRecPtr();

	if (XLogSegmentOffset(lsn, wal_segment_size) == SizeOfXLogLongPHD)
		return lsn - SizeOfXLogLongPHD;
	if (lsn % XLOG_BLCKSZ == SizeOfXLogShortPHD)
		return lsn - SizeOfXLogShortPHD;
	return lsn;
}

/*
 * The moment at which a snapshot was taken.  A transaction's own id is not among
 * those that its snapshot lists as running.
 */
static Moment
moment_of(Snapshot snapshot)
{
	Moment		moment = {full_xid(snapshot->xmax), snapshot->xcnt};
	TransactionId own = GetTopTransactionIdIfAny();

	if (TransactionIdIsValid(own) && TransactionIdPrecedes(own, snapshot->xmax))
		moment.running++;
	return moment;
}

static bool
is_before(Moment a, Moment b)
{
	return a.xmax < b.xmax || (a.xmax == b.xmax && a.running > b.running);
}

/*
 * The moment from which everything is known.  A snapshot taken earlier may lack
 * rows of which there are no notes.
 */
typedef struct Known
{
	Moment		from;
	XLogRecPtr	lsn;
} Known;

static Known
known_from_now(void)
{
	Known		known = {{hilo_latest_completed() + 1, 0}, last_record_end()};

	/*
	 * In parallel mode no snapshot can be taken: assume that nothing was
	 * running.
	 */
	if (!IsInParallelMode())
		known.from = moment_of(GetLatestSnapshot());

	/* Have the WAL writer write it even if nothing else is written. */
	XLogSetAsyncXactLSN(known.lsn);
	return known;
}

/*
 * Store the moment; snapshots with an xmax above stamp are later than it.  The
 * caller holds the lock.
 */
static void
put_known(OrderedCollection *it, const Known *known, uint64 stamp)
{
	it->known_from = known->from;
	it->known_stamp = stamp;
	it->committed = Max(it->committed, known->lsn);
}

void
hilo_ordered_make(HiloOrder *order, const HiloRow *row)
{
	OrderedCollection *it = order->shared;
	Known		known = known_from_now();

	LWLockAcquire(it->lock, LW_EXCLUSIVE);
	if (it->home != row->home)
	{
		/* The ends of transactions in an evicted collection are lost. */
		put_known(it, &known, ordered->evicted);
		it->settled = (row->flags & HILO_ROW_SETTLED) != 0;
		if (it->home != 0)
			it->running_at = it->prepared_below = 0;
		it->home = row->home;
		it->epoch = 0;
	}
	if (it->epoch != row->epoch)
	{
		it->epoch = row->epoch;
		it->last = it->high = row->max;
		it->chosen = Max(it->chosen, known.lsn);
		it->size = 0;
	}
	LWLockRelease(it->lock);
}

void
hilo_ordered_size(const HiloOrder *order, int64 count, int64 min_size,
				  int64 max_size, HiloRangeRequest *request)
{
	const OrderedCollection *it = order->shared;
	int64		size;

	memset(request, 0, sizeof(*request));
	LWLockAcquire(it->lock, LW_SHARED);
	request->size = Max(count - (it->high - it->last), 1);
	request->above = it->last;
	size = hilo_range_size(it->size, GetCurrentTimestamp() - it->claimed_at,
						   hilo_range_duration * INT64CONST(1000),
						   min_size, max_size);
	LWLockRelease(it->lock);
	request->exact = true;
	request->alignment = 1;
	request->reserve = Max(size - request->size, 0);
}

void
hilo_ordered_put(HiloOrder *order, const HiloClaim *claim)
{
	OrderedCollection *it = order->shared;

	LWLockAcquire(it->lock, LW_EXCLUSIVE);
	if (it->epoch != claim->epoch || it->home != claim->home)
	{
		it->epoch = claim->epoch;
		it->home = claim->home;
		it->last = it->high = claim->range.low - 1;
	}

	/*
	 * Do not go below numbers chosen by hand in the meantime.  Numbers that
	 * do not follow the previous claim leave a gap.
	 */
	if (claim->range.high > it->high)
	{
		if (claim->range.low > it->high + 1)
			it->last = claim->range.low - 1;
		it->high = claim->range.high;
		it->lsn = Max(it->lsn, claim->lsn);
	}
	it->size = hilo_range_count(&claim->range);
	it->claimed_at = GetCurrentTimestamp();
	LWLockRelease(it->lock);
}

/*
 * Settling
 *
 * There are no notes of transactions that were running when a collection became
 * ordered: they may have drawn without a transaction id, and from ranges that their
 * sessions held.
 */

/*
 * The transactions that are running in this database, including the current
 * one.  A transaction that is prepared in the meantime is not missed, provided
 * that the caller looks up prepared transactions afterwards.
 */
static VirtualTransactionId *
running_transactions(int *count)
{
	int			other_count;
	VirtualTransactionId *others = GetCurrentVirtualXIDs(InvalidTransactionId,
														 false, false,
														 PROC_IN_VACUUM,
														 &other_count);
	VirtualTransactionId *all = palloc((other_count + 1) * sizeof(*all));

	*count = 0;
	for (int i = 0; i < other_count; i++)
	{
		if (hilo_vxid_runs(others[i]))
			all[(*count)++] = others[i];
	}
	all[(*count)++] = hilo_own_vxid();
	return all;
}

void
hilo_ordered_prepare(const char *name)
{
	OrderedCollection *it = lock_collection(name);

	it->home = it->epoch = 0;
	it->settled = false;
	it->running_at = it->prepared_below = 0;
	LWLockRelease(it->lock);
}

/* Record which transactions are running. */
static void
note_running(OrderedCollection *it)
{
	int			count;
	VirtualTransactionId *vxids = running_transactions(&count);

	LWLockAcquire(ordered->lock, LW_EXCLUSIVE);
	ordered->times++;
	for (int i = 0; i < count; i++)
	{
		Running    *running = &ordered->running[hilo_vxid_index(vxids[i])];

		if (running->lxid == vxids[i].localTransactionId)
			continue;
		running->lxid = vxids[i].localTransactionId;
		running->first_at = ordered->times;
	}
	LWLockAcquire(it->lock, LW_EXCLUSIVE);
	it->running_at = ordered->times;
	it->prepared_below = 0;
	LWLockRelease(it->lock);
	LWLockRelease(ordered->lock);
	pfree(vxids);
}

void
hilo_ordered_unsettle(const char *name)
{
	OrderedCollection *it = lock_collection(name);

	LWLockRelease(it->lock);
	note_running(it);
}

/* True if one of the recorded transactions is still running. */
static bool
still_run(const OrderedCollection *it)
{
	int			count;
	VirtualTransactionId *vxids = running_transactions(&count);
	bool		result = false;

	LWLockAcquire(ordered->lock, LW_SHARED);
	for (int i = 0; i < count; i++)
	{
		Running    *running = &ordered->running[hilo_vxid_index(vxids[i])];

		result = result || (running->lxid == vxids[i].localTransactionId &&
							running->first_at <= it->running_at);
	}
	LWLockRelease(ordered->lock);
	pfree(vxids);
	return result;
}

/*
 * True if this database has a prepared transaction with an id below the given
 * one.
 */
static bool
is_prepared(uint64 below)
{
	bool		result = false;
	uint64		rows;
	int			level;

	if (max_prepared_xacts == 0)
		return false;
	level = hilo_sql_begin();
	rows = hilo_sql_select("SELECT transaction FROM pg_prepared_xacts WHERE database = current_database()");
	for (uint64 i = 0; i < rows; i++)
	{
		bool		isnull;
		Datum		xid = SPI_getbinval(SPI_tuptable->vals[i],
										SPI_tuptable->tupdesc, 1, &isnull);

		result = result || full_xid(DatumGetTransactionId(xid)) < below;
	}
	hilo_sql_end(level);
	return result;
}

/*
 * Find out whether all transactions that were running when the collection
 * became ordered have ended.
 */
static HiloHorizonState
settle(OrderedCollection *it)
{
	uint64		at;
	Known		known;

	/* No query can run in parallel mode; another session will settle it. */
	if (IsInParallelMode())
		return HILO_HORIZON_UNSETTLED;
	if (it->running_at == 0)
		note_running(it);
	at = it->running_at;
	if (it->prepared_below == 0)
	{
		if (still_run(it))
			return HILO_HORIZON_UNSETTLED;
		it->prepared_below = U64FromFullTransactionId(ReadNextFullTransactionId());
	}
	if (is_prepared(it->prepared_below))
		return HILO_HORIZON_PREPARED;

	known = known_from_now();
	LWLockAcquire(it->lock, LW_EXCLUSIVE);

	/* Unless it has become ordered once more in the meantime. */
	if (!it->settled && it->running_at == at)
	{
		put_known(it, &known, hilo_latest_completed() + 1);
		it->settled = true;
	}
	LWLockRelease(it->lock);
	return HILO_HORIZON_KNOWN;
}

bool
hilo_ordered_is_settled(const HiloOrder *order)
{
	return order->shared->settled;
}

/*
 * The horizon
 */

/*
 * True if the snapshot does not show the transaction's changes because it was
 * still running.
 */
static bool
is_running_in(Snapshot snapshot, uint64 xmin, uint64 xmax, uint64 xid)
{
	if (xid < xmin || xid >= xmax)
		return xid >= xmax;
	for (uint32 i = 0; i < snapshot->xcnt; i++)
	{
		if (snapshot->xip[i] == (TransactionId) xid)
			return true;
	}
	return false;
}

/*
 * Lower the horizon below the numbers of committed transactions that the
 * snapshot does not show.
 */
static int64
below_unseen(const OrderedCollection *it, Snapshot snapshot, int64 horizon)
{
	uint64		xmin = full_xid(snapshot->xmin);
	uint64		xmax = full_xid(snapshot->xmax);

	/* Newest first, up to the first one that is older than the snapshot. */
	for (int i = it->end_count - 1; i >= 0 && it->ends[i].stamp >= xmax; i--)
	{
		const End  *end = &it->ends[i];

		if (end->lowest <= horizon &&
			(end->xid == 0 || is_running_in(snapshot, xmin, xmax, end->xid)))
			horizon = end->lowest - 1;
	}
	return horizon;
}

/*
 * Do not answer less than for an earlier snapshot: the same or a later one
 * shows no less.
 */
static void
never_lower(HiloOrder *order, int64 epoch, Moment moment, int64 *horizon)
{
	Moment		last = {order->answered.xmax, order->answered.running};

	if (order->answered.epoch == epoch && is_before(moment, last))
		return;
	if (order->answered.epoch == epoch)
		*horizon = Max(*horizon, order->answered.horizon);
	order->answered.epoch = epoch;
	order->answered.xmax = moment.xmax;
	order->answered.running = moment.running;
	order->answered.horizon = *horizon;
}

HiloHorizonState
hilo_ordered_horizon(HiloOrder *order, const HiloRow *row, Snapshot snapshot,
					 HiloHorizon *horizon)
{
	OrderedCollection *it = order->shared;
	HiloHorizonState state = HILO_HORIZON_KNOWN;
	Moment		moment = moment_of(snapshot);
	XLogRecPtr	chosen;

	if (it == NULL)
		return HILO_HORIZON_UNKNOWN;
	if (!it->settled && is_of(it, row))
		state = settle(it);
	if (state != HILO_HORIZON_KNOWN)
		return state;

	LWLockAcquire(it->lock, LW_SHARED);
	if (!is_of(it, row) || !it->settled)
		state = HILO_HORIZON_UNKNOWN;
	else if (moment.xmax <= it->known_stamp && is_before(moment, it->known_from))
		state = HILO_HORIZON_TOO_OLD;
	else
	{
		horizon->number = below_unseen(it, snapshot, present_horizon(it));
		horizon->lsn = it->committed;
	}
	chosen = it->chosen;
	LWLockRelease(it->lock);
	if (state != HILO_HORIZON_KNOWN)
		return state;

	/*
	 * After a crash, no number at or below the horizon may be drawn again, so
	 * flush the WAL of those chosen by hand.
	 */
	XLogFlush(chosen);
	never_lower(order, row->epoch, moment, &horizon->number);
	return state;
}

int
hilo_ordered_holder(const char *name, TimestampTz *since)
{
	OrderedCollection *it = lock_if_there(name);
	int			pid = 0;

	if (it == NULL)
		return 0;
	if (!dlist_is_empty(&it->notes))
	{
		Note	   *note = dlist_head_element(Note, node, &it->notes);

		pid = note->pid;
		*since = note->since;
	}
	LWLockRelease(it->lock);
	return pid;
}

/*
 * Lists
 */

List *
hilo_ordered_list(void)
{
	List	   *result = NIL;

	for (int i = 0; ordered != NULL && i < collection_count(); i++)
	{
		OrderedCollection *it = &ordered->collections[i];
		HiloPooled *pooled;
		char	   *name;

		if (it->database != MyDatabaseId)
			continue;
		pooled = palloc0(sizeof(HiloPooled));
		name = palloc(HILO_MAX_ROW_NAME_LEN);
		LWLockAcquire(it->lock, LW_SHARED);
		pooled->name = name;
		strcpy(name, it->name);
		pooled->piece.range.low = it->last + 1;
		pooled->piece.range.high = it->high;
		pooled->piece.home = it->home;
		pooled->piece.epoch = it->database == MyDatabaseId ? it->epoch : 0;
		LWLockRelease(it->lock);
		if (pooled->piece.epoch != 0 &&
			pooled->piece.range.low <= pooled->piece.range.high)
			result = lappend(result, pooled);
	}
	return result;
}

/*
 * Shared memory
 */

/* Sizes of the parts of the shared memory, in order. */
static Size
size_of_part(int part)
{
	Size		count = collection_count();
	Size		backends = MaxBackends;

	switch (part)
	{
		case 0:
			return MAXALIGN(sizeof(Ordered));
		case 1:
			return MAXALIGN(mul_size(count, sizeof(OrderedCollection)));
		case 2:
			return MAXALIGN(mul_size(backends, MAX_NOTES * sizeof(Note)));
		case 3:
			return MAXALIGN(mul_size(backends, sizeof(Running)));
		default:
			return MAXALIGN(mul_size(count, mul_size(max_ends(), sizeof(End))));
	}
}

#define PARTS	5

static Size
shared_size(void)
{
	Size		size = 0;

	for (int i = 0; i < PARTS; i++)
		size = add_size(size, size_of_part(i));
	return size;
}

static void
make_ordered(void)
{
	LWLockPadded *locks = GetNamedLWLockTranche(TRANCHE_NAME);
	char	   *part[PARTS] = {(char *) ordered};

	memset(ordered, 0, shared_size());
	for (int i = 1; i < PARTS; i++)
		part[i] = part[i - 1] + size_of_part(i - 1);
	ordered->lock = &locks[0].lock;
	ordered->collections = (OrderedCollection *) part[1];
	ordered->notes = (Note *) part[2];
	ordered->running = (Running *) part[3];
	for (int i = 0; i < collection_count(); i++)
	{
		OrderedCollection *it = &ordered->collections[i];

		it->lock = &locks[i + 1].lock;
		it->ends = (End *) part[4] + (Size) i * max_ends();
		hilo_turn_init(&it->turn);
		dlist_init(&it->notes);
	}
}

static void
request_memory(void)
{
	if (next_request_hook != NULL)
		next_request_hook();

	RequestAddinShmemSpace(shared_size());
	RequestNamedLWLockTranche(TRANCHE_NAME, collection_count() + 1);
}

static void
startup(void)
{
	bool		found;

	if (next_startup_hook != NULL)
		next_startup_hook();

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	ordered = ShmemInitStruct("hilo ordered collections", shared_size(), &found);
	if (!found)
		make_ordered();
	LWLockRelease(AddinShmemInitLock);
}

void
hilo_ordered_init(void)
{
	if (!process_shared_preload_libraries_in_progress || hilo_pool_size == 0)
		return;

	next_request_hook = shmem_request_hook;
	shmem_request_hook = request_memory;
	next_startup_hook = shmem_startup_hook;
	shmem_startup_hook = startup;
	RegisterXactCallback(end_transaction, NULL);
}

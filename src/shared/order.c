/*-------------------------------------------------------------------------
 *
 * order.c
 *	  Ordered collections: numbers that all sessions of the server draw one after
 *	  the other, and the horizon.
 *
 * The horizon rests on this: a transaction gets its id before it draws its first
 * number, and leaves a record before others can see that the number is drawn.
 * So, whoever sees the number as drawn and the transaction not running in his
 * snapshot has a snapshot from after its end.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/twophase.h"
#include "access/xlog_internal.h"
#include "storage/ipc.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/settings.h"
#include "shared/entry.h"
#include "shared/order.h"

/* Minimum number of records. */
#define MIN_RECORDS		1024

/* Stamps of records. */
#define ONE_TRANSACTION		0
#define FOREVER				PG_UINT64_MAX

/*
 * More than transactions can run at the same time, so that there always are
 * records that can be folded or dropped.
 */
#define MAX_RECORDS		Max(MIN_RECORDS, 4 * (MaxBackends + max_prepared_xacts))

Size
hilo_ring_size(void)
{
	return MAXALIGN(offsetof(HiloRing, records) +
					mul_size(MAX_RECORDS, sizeof(HiloRecord)));
}

/*
 * Snapshots
 */

/*
 * The transaction id with its epoch.  It is not above next, the next one to be
 * assigned.
 */
static inline uint64
full_xid(TransactionId xid, uint64 next)
{
	return next - (uint32) ((TransactionId) next - xid);
}

static inline uint64
next_xid(void)
{
	return U64FromFullTransactionId(ReadNextFullTransactionId());
}

/* A snapshot with full transaction ids. */
typedef struct View
{
	uint64		xmin;
	uint64		xmax;
	uint64		own;			/* our transaction; 0: it has no id */
	const TransactionId *running;	/* from xmin on and below xmax */
	uint32		running_count;
} View;

/*
 * In a snapshot that was taken during recovery, all running transactions are in
 * subxip.
 */
static View
view_of(Snapshot snapshot)
{
	uint64		next = next_xid();
	bool		recovery = snapshot->takenDuringRecovery;
	View		view = {
		.xmin = full_xid(snapshot->xmin, next),
		.xmax = full_xid(snapshot->xmax, next),
		.own = U64FromFullTransactionId(GetTopFullTransactionIdIfAny()),
		.running = recovery ? snapshot->subxip : snapshot->xip,
		.running_count = recovery ? (uint32) snapshot->subxcnt : snapshot->xcnt
	};

	return view;
}

/*
 * True if the transaction is running in the view.  Our own counts as running: a
 * snapshot does not list it.
 */
static bool
is_running(const View *view, uint64 xid)
{
	if (xid == view->own || xid >= view->xmax)
		return true;
	if (xid < view->xmin)
		return false;
	for (uint32 i = 0; i < view->running_count; i++)
	{
		if (view->running[i] == (TransactionId) xid)
			return true;
	}
	return false;
}

uint64
hilo_oldest_running(void)
{
	TransactionId oldest = GetOldestTransactionIdConsideredRunning();

	return full_xid(oldest, next_xid());
}

/*
 * Records
 */

/* True if the record stands for a transaction that is running in the view. */
static inline bool
counts(const HiloRecord *record, const View *view)
{
	if (record->stamp == ONE_TRANSACTION)
		return is_running(view, record->upto);
	return view->xmin <= record->upto && view->xmax <= record->stamp;
}

/* Begin anew: any transaction up to now may have any number. */
static void
begin_records(HiloRing *ring)
{
	HiloRecord	all = {next_xid() - 1, FOREVER, 1};

	ring->incarnation++;
	ring->records[0] = all;
	ring->count = 1;
}

/* Drop what no snapshot needs, now or later. */
static void
drop_records(HiloRing *ring, uint64 oldest)
{
	int			count = 0;

	for (int i = 0; i < ring->count; i++)
	{
		if (ring->records[i].upto >= oldest)
			ring->records[count++] = ring->records[i];
	}
	ring->count = count;
}

bool
hilo_ring_is_idle(HiloRing *ring, uint64 oldest)
{
	drop_records(ring, oldest);
	return ring->count == 0;
}

/*
 * True if the transactions of a record have ended, by a view of now.  Those
 * that were folded had ended then.
 */
static bool
has_ended(const HiloRecord *record, const View *now)
{
	if (record->stamp == ONE_TRANSACTION)
		return !is_running(now, record->upto);
	return record->stamp != FOREVER || record->upto < now->xmin;
}

/*
 * Fold the records of transactions that have ended into one, as far as they are
 * among the first so many.  It counts for all snapshots that may be older than
 * the view, and for those for which one of them did: another session may have
 * folded since the view was taken, by a later one.
 */
static void
fold_records(HiloRing *ring, const View *now, int among)
{
	HiloRecord	folded = {0, now->xmax, PG_INT64_MAX};
	int			count = 0;

	for (int i = 0; i < ring->count; i++)
	{
		HiloRecord *record = &ring->records[i];

		if (i >= among || !has_ended(record, now))
		{
			ring->records[count++] = *record;
			continue;
		}
		folded.upto = Max(folded.upto, record->upto);
		if (record->stamp != FOREVER)
			folded.stamp = Max(folded.stamp, record->stamp);
		folded.lowest = Min(folded.lowest, record->lowest);
	}
	if (count < ring->count)
	{
		memmove(&ring->records[1], &ring->records[0], count * sizeof(HiloRecord));
		ring->records[0] = folded;
		ring->count = count + 1;
	}
}

/*
 * Make room in a ring that is full.  The snapshot and the oldest transaction are
 * looked up before the lock is taken: they are right later, too.
 */
static void
tidy(HiloRing *ring)
{
	View		now = view_of(GetLatestSnapshot());
	uint64		oldest = hilo_oldest_running();

	LWLockAcquire(&ring->shared.lock, LW_EXCLUSIVE);
	if (ring->count == MAX_RECORDS)
	{
		drop_records(ring, oldest);
		if (ring->count > MAX_RECORDS / 2)
			fold_records(ring, &now, ring->count / 2);
		if (ring->count == MAX_RECORDS)
			fold_records(ring, &now, ring->count);
	}
	LWLockRelease(&ring->shared.lock);
}

/*
 * Let the number count as drawn by the current transaction.  False: the ring is
 * full.
 */
static bool
note_number(HiloOrder *order, HiloRing *ring, uint64 xid, int64 number)
{
	HiloRecord	record = {xid, ONE_TRANSACTION, number,
	GetCurrentTransactionStartTimestamp()};

	if (order->xid == xid && order->incarnation == ring->incarnation)
		return true;
	if (ring->count == MAX_RECORDS)
		return false;
	ring->records[ring->count++] = record;
	order->xid = xid;
	order->incarnation = ring->incarnation;
	return true;
}

/*
 * Draw
 */

/* The ring of a collection, locked; NULL: there is none. */
static HiloRing *
find_ring(const char *name, LWLockMode mode)
{
	return (HiloRing *) hilo_shared_lock(HILO_RING, name, mode);
}

/*
 * Lock the ring where it was found last, or find it.  NULL: there is none, it is
 * another collection's by now, or it belongs to another row; then nothing is
 * locked.
 */
static HiloRing *
lock_ring(HiloOrder *order, const char *name, const HiloRow *row,
		  LWLockMode mode)
{
	HiloRing   *ring = order->ring;

	if (ring != NULL)
		LWLockAcquire(&ring->shared.lock, mode);
	else
		ring = order->ring = find_ring(name, mode);
	if (ring == NULL)
		return NULL;
	if (ring->epoch == row->epoch && ring->home == row->home &&
		hilo_shared_is_of(&ring->shared, name))
		return ring;
	LWLockRelease(&ring->shared.lock);
	return NULL;
}

bool
hilo_order_take(HiloOrder *order, const char *name, const HiloRow *row,
				int64 count, HiloClaim *claim)
{
	uint64		xid = U64FromFullTransactionId(GetTopFullTransactionId());
	HiloRing   *ring = lock_ring(order, name, row, LW_EXCLUSIVE);
	bool		taken;

	if (ring == NULL)
		return false;
	taken = ring->high - ring->last >= count &&
		note_number(order, ring, xid, ring->last + 1);
	if (taken)
	{
		*claim = (HiloClaim)
		{
			.range.low = ring->last + 1,.range.high = ring->last + count,
				.home = row->home,.epoch = row->epoch,.lsn = ring->lsn
		};
		ring->shared.used = true;
		ring->last = claim->range.high;
	}
	LWLockRelease(&order->ring->shared.lock);
	return taken;
}

/*
 * Refill
 */

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
 * Make the ring belong to the row, which was read in this turn.  Where numbers
 * go on above all that were claimed, as after a seed, the records stay right.
 *
 * Then compute what to claim so that count numbers can be drawn: more, if the
 * last claim did not last as long as ranges should, which leads to *size.  False:
 * they can be drawn.
 */
static bool
adopt_row(HiloRing *ring, const HiloRow *row, int64 count,
		  HiloWanted *wanted, int64 *size)
{
	bool		anew;

	LWLockAcquire(&ring->shared.lock, LW_EXCLUSIVE);
	anew = ring->home != row->home || row->max < ring->high;
	if (anew)
		begin_records(ring);
	if (anew || ring->epoch != row->epoch)
	{
		ring->home = row->home;
		ring->epoch = row->epoch;
		ring->last = ring->high = row->max;
		ring->size = 0;
	}

	wanted->size = count - (ring->high - ring->last);
	wanted->above = ring->last;
	*size = hilo_range_size(ring->size, GetCurrentTimestamp() - ring->claimed_at,
							HILO_RANGE_DURATION,
							hilo_counter_range_size(row),
							hilo_counter_max_range_size(row));
	wanted->reserve = Max(*size - wanted->size, 0);
	LWLockRelease(&ring->shared.lock);
	return count > 0 && wanted->size > 0;
}

/*
 * Store what was claimed in this turn.  Numbers that do not follow the previous
 * claim leave a gap, and numbers chosen by hand in the meantime are not drawn.
 *
 * The next claim goes on from the size that the rate led to: this one may be larger,
 * for a block or to pass over ids.
 */
static void
put_claim(HiloOrder *order, const HiloClaim *claim, int64 size)
{
	HiloRing   *ring = order->ring;

	order->claimed = claim->lsn;
	LWLockAcquire(&ring->shared.lock, LW_EXCLUSIVE);
	ring->epoch = claim->epoch;
	if (claim->range.high > ring->high)
	{
		if (claim->range.low > ring->high + 1)
			ring->last = claim->range.low - 1;
		ring->high = claim->range.high;
		ring->lsn = Max(ring->lsn, claim->lsn);
		ring->size = Min(size, hilo_range_count(&claim->range));
		ring->claimed_at = GetCurrentTimestamp();
	}
	LWLockRelease(&ring->shared.lock);
}

/*
 * Read the row, make the ring belong to it, and claim what is missing.
 *
 * Meanwhile the row may be given another epoch, as by a forced seed.  The claim
 * is then refused under the lock of the row's page, because its numbers would not
 * be those that follow the ring's; and all of this is done again.
 */
static void
fill_ring(HiloOrder *order, HiloRowRef *ref, HiloRow *row, int64 count)
{
	HiloWanted	wanted = {.exact = true,.alignment = 1};
	HiloClaim	claim;
	int64		size;

	HILO_FAILURE_POINT("turn begun");
	for (;;)
	{
		(void) hilo_counter_read(ref, row);
		if (!(row->flags & HILO_ROW_ORDERED))
			return;

		/*
		 * It came from elsewhere, and gets an epoch with which claims can be
		 * valid.
		 */
		if (row->epoch == 0)
		{
			(void) hilo_counter_seed(ref, 0, false);
			continue;
		}
		if (!adopt_row(order->ring, row, count, &wanted, &size))
			return;
		HILO_FAILURE_POINT("row adopted");
		if (hilo_counter_claim_in_order(ref, row->epoch, &wanted, &claim))
			break;
		CHECK_FOR_INTERRUPTS();
	}
	HILO_FAILURE_POINT("claimed in order");
	put_claim(order, &claim, size);
	row->epoch = claim.epoch;
	HILO_KILL_POINT("put in order");
}

/*
 * The table is locked first, so that the session with the turn does not wait for
 * a transaction that waits for the turn.  No snapshot can be taken in parallel
 * mode, in which nothing is drawn.  With count 0, for a reader, no ring that is needed makes room.
 */
void
hilo_order_refill(HiloOrder *order, HiloRowRef *ref, HiloRow *row, int64 count)
{
	Relation	rel = hilo_row_lock_table(RowExclusiveLock);
	HiloRing   *ring = (HiloRing *) hilo_shared_lock_new(HILO_RING, ref->name, true, count > 0);
	HiloShared *shared = &ring->shared;

	order->ring = ring;
	if (ring->count == MAX_RECORDS && !IsInParallelMode())
	{
		LWLockRelease(&shared->lock);
		tidy(ring);
	}
	else if (shared->turn_taken)
		hilo_shared_wait(HILO_RING, shared);
	else
	{
		shared->turn_taken = true;
		LWLockRelease(&shared->lock);
		PG_ENSURE_ERROR_CLEANUP(hilo_shared_end_turn, PointerGetDatum(shared));
		{
			fill_ring(order, ref, row, count);
		}
		PG_END_ENSURE_ERROR_CLEANUP(hilo_shared_end_turn, PointerGetDatum(shared));
		hilo_shared_end_turn(0, PointerGetDatum(shared));
	}
	table_close(rel, RowExclusiveLock);
}

void
hilo_order_waited(HiloOrder *order, const HiloClaim *claim)
{
	HiloRing   *ring = order->ring;

	if (order->claimed != claim->lsn)
		return;
	LWLockAcquire(&ring->shared.lock, LW_EXCLUSIVE);
	if (ring->lsn == claim->lsn)
		ring->claimed_at = GetCurrentTimestamp();
	LWLockRelease(&ring->shared.lock);
}

/*
 * The horizon
 */

/*
 * Every transaction that has ended in the snapshot has inserted its WAL by now.  Have the
 * WAL writer write it even if nothing else is written, for a standby.
 */
bool
hilo_order_horizon(HiloOrder *order, const char *name, const HiloRow *row,
				   Snapshot snapshot, int64 *horizon, XLogRecPtr *lsn)
{
	View		view = view_of(snapshot);
	const HiloRing *ring = lock_ring(order, name, row, LW_SHARED);

	if (ring == NULL)
		return false;
	*horizon = ring->last;
	for (int i = 0; i < ring->count; i++)
	{
		const HiloRecord *record = &ring->records[i];

		if (record->lowest <= *horizon && counts(record, &view))
			*horizon = record->lowest - 1;
	}
	LWLockRelease(&order->ring->shared.lock);

	*lsn = last_record_end();
	XLogSetAsyncXactLSN(*lsn);
	return true;
}

TransactionId
hilo_order_holder(const char *name, Snapshot snapshot, TimestampTz *since)
{
	View		view = view_of(snapshot);
	HiloRing   *ring = find_ring(name, LW_SHARED);
	const HiloRecord *holder = NULL;
	TransactionId xid = InvalidTransactionId;

	if (ring == NULL)
		return xid;
	for (int i = 0; i < ring->count; i++)
	{
		const HiloRecord *record = &ring->records[i];

		if (counts(record, &view) &&
			(holder == NULL || record->lowest < holder->lowest))
			holder = record;
	}
	if (holder != NULL && holder->stamp == ONE_TRANSACTION)
	{
		xid = (TransactionId) holder->upto;
		*since = holder->since;
	}
	else if (holder != NULL)
		xid = snapshot->xmin;
	LWLockRelease(&ring->shared.lock);
	return xid;
}

void
hilo_order_begin(const char *name)
{
	HiloRing   *ring = find_ring(name, LW_EXCLUSIVE);

	if (ring == NULL)
		return;
	begin_records(ring);
	LWLockRelease(&ring->shared.lock);
}

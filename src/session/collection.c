/*-------------------------------------------------------------------------
 *
 * collection.c
 *	  A collection, identity, or the server-side ids: its row, its options, and
 *	  where its numbers come from: the pool, the row, or a hub.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"

#include "base/failure_point.h"
#include "base/settings.h"
#include "servers/hub.h"
#include "servers/member.h"
#include "session/collection.h"
#include "shared/pool.h"

void
hilo_collection_init_identity(HiloCollection *collection, const char *name,
							  char *buffer)
{
	snprintf(buffer, HILO_MAX_ROW_NAME_LEN, "%s|", name);
	hilo_collection_init(collection, buffer);
}

const char *
hilo_collection_node_tag(const HiloCollection *collection)
{
	return (collection->row.flags & HILO_ROW_HAS_TAG) ?
		NameStr(collection->row.node_tag) : hilo_node_tag;
}

/*
 * Ordered collections
 */

/*
 * Raise an error if the numbers would be leased if the collection were not
 * ordered.  If it is ordered already, that means if even counted collections
 * would be leased.
 */
static void
check_is_counted_here(HiloCollection *collection)
{
	HiloLeasing leasing = hilo_leasing();

	if (hilo_collection_is_ordered(collection) ? leasing == HILO_LEASE_ALL :
		hilo_counter_is_for_hub(&collection->ref, &collection->row, leasing))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("collection \"%s\" cannot be ordered on this server",
						collection->ref.name),
				 errdetail("Its numbers would be leased from a hub.")));
}

/*
 * Call this when shared memory does not have what is needed: find the collection
 * there, and claim so that count numbers can be drawn.
 */
static void
refill_ordered(HiloCollection *collection, int64 count)
{
	uint64		generation = hilo_row_generation;

	CHECK_FOR_INTERRUPTS();
	hilo_pool_require("cannot use ordered collection \"%s\" without a pool",
					  collection->ref.name);
	check_is_counted_here(collection);
	if (count > 0)
		hilo_hub_check_draw(&collection->ref);
	hilo_order_refill(&collection->order, &collection->ref, &collection->row,
					  count);
	collection->generation = generation;
}

bool
hilo_collection_take_ordered(HiloCollection *collection, int64 count,
							 HiloClaim *claim)
{
	HiloOrder  *order = &collection->order;

	while (!hilo_order_take(order, collection->ref.name, &collection->row,
							count, claim))
	{
		refill_ordered(collection, count);
		if (!hilo_collection_is_ordered(collection))
			return false;
	}
	HILO_KILL_POINT("drawn in order");

	/*
	 * Wait only once per claim, as with the claims that a session draws
	 * ranges from.
	 */
	if (order->waited_for != claim->lsn ||
		order->waited_how != synchronous_commit)
	{
		XLogRecPtr	lsn = hilo_row_own_lsn(claim->lsn);

		hilo_row_flush(lsn);
		if (!hilo_is_no_hub())
			hilo_hub_wait_for_standby(lsn);
		order->waited_for = claim->lsn;
		order->waited_how = synchronous_commit;
	}
	return true;
}

void
hilo_collection_refuse_ordered(HiloCollection *collection)
{
	const char *name = collection->ref.name;

	(void) hilo_collection_row(collection);
	if (hilo_collection_is_ordered(collection))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("collection \"%s\" is ordered and gives no ranges to client programs",
						name),
				 errhint("Draw with hilo_next() or hilo_next_number(), or reserve a block with hilo_reserve().")));
}

/* Raise an error if the collection has no horizon, according to its row. */
static void
check_has_horizon(const HiloCollection *collection)
{
	const char *name = collection->ref.name;

	if (collection->row.flags & HILO_ROW_DROPPED)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("collection \"%s\" does not exist", name)));
	if (!hilo_collection_is_ordered(collection))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("collection \"%s\" is not ordered", name),
				 errhint("Make it ordered with hilo.configure(), or with CALL hilo.make_ordered() if it is in use.")));
	if (!(collection->row.flags & HILO_ROW_SETTLED))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("collection \"%s\" is not ordered yet", name),
				 errdetail("Transactions may hold numbers that were not drawn in order."),
				 errhint("CALL hilo.make_ordered() waits for them; if it was interrupted, call it again.")));
	hilo_pool_require("cannot use ordered collection \"%s\" without a pool",
					  collection->ref.name);
}

void
hilo_collection_horizon(HiloCollection *collection, Snapshot snapshot,
						int64 *horizon, int64 *epoch, XLogRecPtr *lsn)
{
	const HiloRow *row = hilo_collection_row(collection);

	/*
	 * A draw may have re-created it without announcing that, and a
	 * transaction of before need not have heard that it has become ordered.
	 */
	if (!(row->flags & HILO_ROW_SETTLED))
		hilo_collection_read(collection);
	check_has_horizon(collection);
	while (!hilo_order_horizon(&collection->order, collection->ref.name, row,
							   snapshot, horizon, lsn))
	{
		refill_ordered(collection, 0);
		check_has_horizon(collection);
	}
	*epoch = row->epoch;
}

int64
hilo_collection_seed(HiloCollection *collection, int64 value, bool force)
{
	int64		max;

	if (force)
		hilo_members_lock(collection->ref.name, false);
	max = hilo_counter_seed(&collection->ref, value, force);
	if (force)
		hilo_members_unlock();
	hilo_pool_forget(collection->ref.name, true);
	hilo_members_warn(&collection->ref);
	return max;
}

int64
hilo_collection_adopt(HiloCollection *collection, int64 highest, int64 limit,
					  bool lenient)
{
	int64		max = hilo_counter_adopt(&collection->ref, highest, limit,
										 lenient);

	hilo_pool_forget(collection->ref.name, true);
	hilo_members_warn(&collection->ref);
	return max;
}

bool
hilo_collection_drop(HiloCollection *collection, bool force)
{
	bool		dropped;

	hilo_members_lock(collection->ref.name, force);
	dropped = hilo_counter_drop(&collection->ref);
	hilo_members_unlock();
	if (!dropped)
		return false;
	hilo_pool_forget(collection->ref.name, true);
	if (force)
	{
		hilo_members_warn(&collection->ref);
		hilo_members_forget_counter(collection->ref.name);
	}
	return true;
}

void
hilo_collection_settle_order(HiloCollection *collection)
{
	HILO_FAILURE_POINT("order changed");
	hilo_order_begin(collection->ref.name);
	hilo_counter_settle(&collection->ref, true);
}

void
hilo_collection_configure(HiloCollection *collection,
						  const HiloCounterOptions *options)
{
	if (options->ordered)
	{
		hilo_pool_require("cannot use ordered collection \"%s\" without a pool",
						  collection->ref.name);
		hilo_collection_read(collection);
		check_is_counted_here(collection);
		hilo_members_lock(collection->ref.name, false);
	}
	if (hilo_counter_configure(&collection->ref, options))
		hilo_pool_forget(collection->ref.name, true);
	if (options->ordered)
		hilo_members_unlock();
	hilo_members_warn(&collection->ref);
	if (options->ordered && !options->in_use)
		hilo_collection_settle_order(collection);
}

/*
 * If the collection is ordered, the row is changed first, so that claims made from
 * now on are above the number.
 */
bool
hilo_collection_advance(HiloCollection *collection, int64 number)
{
	const char *name = collection->ref.name;

	/*
	 * If the collection becomes ordered meanwhile, its horizon is below the
	 * numbers of transactions that have an id by then.
	 */
	(void) GetTopTransactionId();
	if (hilo_collection_is_ordered(collection) &&
		hilo_order_has(&collection->order, hilo_collection_row(collection), number))
		return true;
	for (;;)
	{
		HiloRow		row;
		bool		advanced = hilo_counter_advance(&collection->ref, number,
													&row);

		if (!(row.flags & HILO_ROW_ORDERED))
		{
			hilo_pool_skip(name, number);
			return advanced;
		}
		if (!hilo_collection_is_ordered(collection))
			hilo_collection_read(collection);
		if (hilo_order_note(&collection->order, name, &row, number, advanced))
			return advanced;
		refill_ordered(collection, 0);
	}
}

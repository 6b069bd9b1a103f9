/*-------------------------------------------------------------------------
 *
 * collection.c
 *	  A collection, identity, or the server-side ids: its row, its options, and
 *	  where its numbers come from: the pool, the row, or a hub.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "collection.h"
#include "failure_point.h"
#include "lease.h"
#include "tell.h"
#include "pool.h"
#include "settings.h"

void
hilo_collection_init(HiloCollection *collection, HiloName name)
{
	hilo_row_ref_init(&collection->ref, name);
	collection->generation = 0;
}

void
hilo_collection_init_identity(HiloCollection *collection, HiloName name,
							  char *buffer)
{
	memcpy(buffer, name.data, name.len);
	buffer[name.len] = '|';
	name.data = buffer;
	name.len++;
	hilo_collection_init(collection, name);
}

/*
 * The generation is noted before the row is read: if it moves meanwhile, what
 * was read may be older than that.
 */
static void
read_row(HiloCollection *collection)
{
	uint64		generation = hilo_row_generation;

	(void) hilo_counter_read(&collection->ref, &collection->row);
	collection->generation = generation;
	HILO_FAILURE_POINT("row read");
}

const HiloRow *
hilo_collection_row(HiloCollection *collection)
{
	if (collection->generation != hilo_row_generation)
		read_row(collection);
	return &collection->row;
}

int64
hilo_collection_range_size(const HiloCollection *collection)
{
	return collection->row.range_size > 0 ? collection->row.range_size :
		hilo_min_range_size;
}

int64
hilo_collection_max_range_size(const HiloCollection *collection)
{
	return collection->row.max_range_size > 0 ?
		collection->row.max_range_size : hilo_max_range_size;
}

const char *
hilo_collection_node_tag(const HiloCollection *collection, int *len)
{
	const char *tag = (collection->row.flags & HILO_ROW_HAS_TAG) ?
		NameStr(collection->row.node_tag) : hilo_node_tag;

	*len = strnlen(tag, HILO_MAX_TAG_LEN);
	return tag;
}

/*
 * Take from the pool.  The row is read anew, however lately that was done: what
 * is pooled is then no worse than a claim made now.
 */
static bool
take_pooled(HiloCollection *collection, const HiloRangeRequest *request,
			HiloClaimant claimant, HiloClaim *claim)
{
	HiloName	name = collection->ref.name;
	bool		low;
	XLogRecPtr	lsn;

	if (!hilo_pool_has(name))
		return false;
	hilo_row_check_storage();
	read_row(collection);
	if (!hilo_pool_take(name, &collection->row, request, claimant, claim,
						&low))
		return false;
	HILO_KILL_POINT("taken");

	if (low)
		hilo_lease_fetch_ahead();
	lsn = hilo_row_own_lsn(claim->lsn);
	if (claimant == HILO_FOR_STATEMENT)
		hilo_row_flush_for_statement(lsn);
	else
		hilo_row_flush(lsn);
	return true;
}

/* Leave what a claim has beyond the numbers asked for in the pool. */
static void
put_reserve(HiloName name, int64 size, HiloClaim *claim)
{
	HiloClaim	rest = *claim;

	if (hilo_range_count(&claim->range) <= size)
		return;
	HILO_FAILURE_POINT("claimed");
	rest.range.low += size;
	claim->range.high = rest.range.low - 1;
	if (hilo_pool_put(name, &rest, false))
		HILO_KILL_POINT("pooled");
}

/*
 * Do the numbers come from a hub, or should they?  Raises an error if it is not
 * the one that it should be.
 */
static bool
is_leased(HiloCollection *collection, const HiloWantedHub *wanted)
{
	const HiloRow *row = hilo_collection_row(collection);

	if (!(row->flags & HILO_ROW_LEASED))
		return hilo_counter_is_for_hub(&collection->ref, row, wanted);
	hilo_lease_check_hub(&collection->ref, row);
	return true;
}

void
hilo_collection_take(HiloCollection *collection,
					 const HiloRangeRequest *request, HiloClaimant claimant,
					 HiloClaim *claim)
{
	HiloRangeRequest any = *request;

	/* To a session higher numbers are welcome, but not at any price. */
	if (claimant == HILO_FOR_SESSION)
		any.above = 0;

	for (;;)
	{
		HiloWantedHub wanted = hilo_lease_wanted();

		/* The claim of a statement finds out by itself, in one go. */
		bool		leased = (claimant != HILO_FOR_STATEMENT ||
							  collection->generation != 0 ||
							  wanted.name != NULL) &&
			is_leased(collection, &wanted);

		/* What was counted is no good once it is to be leased. */
		bool		pooled = leased ?
			(collection->row.flags & HILO_ROW_LEASED) != 0 :
			claimant == HILO_FOR_SESSION;

		if (pooled && take_pooled(collection, request, claimant, claim))
			return;
		if (leased)
		{
			if (pooled && any.above != request->above &&
				take_pooled(collection, &any, claimant, claim))
				return;
			read_row(collection);
			if (is_leased(collection, &wanted))
				hilo_lease_fetch(&collection->ref, &collection->row, &any);
		}
		else if (hilo_counter_claim(&collection->ref, &wanted, &any, claimant,
									claim))
		{
			put_reserve(collection->ref.name, request->size, claim);
			return;
		}
		read_row(collection);
		CHECK_FOR_INTERRUPTS();
	}
}

int64
hilo_collection_draw(HiloCollection *collection)
{
	HiloRangeRequest request = {.size = 1,.exact = true,.alignment = 1};
	HiloClaim	claim;

	hilo_collection_take(collection, &request, HILO_FOR_STATEMENT, &claim);
	return claim.range.low;
}

int64
hilo_collection_draw_number(HiloCollection *collection, int64 number)
{
	HiloRangeRequest request = {.size = 1,.exact = true,.alignment = 1,
	.above = number - 1};
	HiloWantedHub wanted = hilo_lease_wanted();
	HiloClaim	claim;

	if (hilo_counter_claim_number(&collection->ref, &wanted, number))
		return number;
	read_row(collection);
	if (!(collection->row.flags & HILO_ROW_LEASED) &&
		collection->row.max >= number)
		return 0;
	hilo_collection_take(collection, &request, HILO_FOR_STATEMENT, &claim);
	return claim.range.low;
}

bool
hilo_collection_give_back(HiloCollection *collection, const HiloClaim *claim,
						  int64 last, bool at_exit)
{
	HiloClaim	rest = *claim;

	rest.range.low = last + 1;
	if (hilo_pool_exists())
		return hilo_pool_put(collection->ref.name, &rest, false);
	return hilo_counter_give_back(&collection->ref, claim, last, at_exit);
}

bool
hilo_collection_return(HiloCollection *collection, int64 last, int64 high,
					   int64 token)
{
	read_row(collection);
	if (collection->row.flags & HILO_ROW_LEASED)
		return hilo_pool_return(collection->ref.name, &collection->row, last,
								high, token);
	return hilo_counter_return(&collection->ref, last, high, token);
}

/* Others draw from it as well: have them hear of a change. */
static void
tell_members(HiloCollection *collection)
{
	if (hilo_tell_anybody(&collection->ref))
		hilo_tell_members(&collection->ref);
}

int64
hilo_collection_seed(HiloCollection *collection, int64 value, bool force)
{
	int64		max = hilo_counter_seed(&collection->ref, value, force);

	hilo_pool_forget(collection->ref.name);
	tell_members(collection);
	return max;
}

int64
hilo_collection_adopt(HiloCollection *collection, int64 highest, int64 limit,
					  bool lenient)
{
	int64		max = hilo_counter_adopt(&collection->ref, highest, limit,
										 lenient);

	hilo_pool_forget(collection->ref.name);
	tell_members(collection);
	return max;
}

bool
hilo_collection_drop(HiloCollection *collection, bool force)
{
	bool		has_members = hilo_tell_anybody(&collection->ref);
	bool		dropped = hilo_counter_drop(&collection->ref, force);

	if (dropped)
		hilo_pool_forget(collection->ref.name);
	if (dropped && has_members)
		hilo_tell_members(&collection->ref);
	return dropped;
}

void
hilo_collection_configure(HiloCollection *collection,
						  const HiloCounterOptions *options)
{
	hilo_counter_configure(&collection->ref, options);
	tell_members(collection);
}

bool
hilo_collection_advance(HiloCollection *collection, int64 number)
{
	HiloRow		row;
	bool		advanced = hilo_counter_advance(&collection->ref, number,
												&row);

	hilo_pool_skip(collection->ref.name, number, &row);
	return advanced;
}

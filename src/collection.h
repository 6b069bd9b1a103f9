/*-------------------------------------------------------------------------
 *
 * collection.h
 *	  A collection, identity, or the server-side ids: its row, its options, and
 *	  where its numbers come from: the pool, the row, or a hub.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_COLLECTION_H
#define HILO_COLLECTION_H

#include "counter.h"
#include "document_id.h"
#include "ordered.h"

typedef struct HiloCollection
{
	HiloRowRef	ref;			/* first: its name is the key of the cache */

	/* The row as it was read last, and in which generation; 0: not yet. */
	uint64		generation;
	HiloRow		row;

	HiloOrder	order;			/* if it is ordered */
} HiloCollection;

/* Start with a row that was not read.  The bytes of the name stay. */
extern void hilo_collection_init(HiloCollection *collection, HiloName name);

/*
 * The same for the identity of that name, which has no bar: its row's name has
 * one.  It is put into buffer, of HILO_MAX_ROW_NAME_LEN bytes, which stays.
 */
#define HILO_MAX_ROW_NAME_LEN	(HILO_MAX_NAME_LEN + 1)
extern void hilo_collection_init_identity(HiloCollection *collection,
										  HiloName name, char *buffer);

/* The row: what is known of it, or read if that may have changed. */
extern const HiloRow *hilo_collection_row(HiloCollection *collection);

/* Smallest and largest size of ranges; the row must have been read. */
extern int64 hilo_collection_range_size(const HiloCollection *collection);
extern int64 hilo_collection_max_range_size(const HiloCollection *collection);

/* The node tag, not terminated, with its length; the row must have been read. */
extern const char *hilo_collection_node_tag(const HiloCollection *collection,
											int *len);

/*
 * Get numbers: from the pool, by a claim, or by a lease from the hub.  Returns
 * when they may be shown.  A counted collection is asked as hilo_counter_claim()
 * is, and its pool for a session only; for a session, request->above is a wish.
 */
extern void hilo_collection_take(HiloCollection *collection,
								 const HiloRangeRequest *request,
								 HiloClaimant claimant, HiloClaim *claim);

/*
 * Draw the next count numbers of an ordered collection, for the present transaction.
 * Returns false, having drawn nothing, if it is not ordered any more.
 */
extern bool hilo_collection_take_ordered(HiloCollection *collection,
										 int64 count, HiloClaim *claim);

/* Is it ordered, by the row as it was read last? */
static inline bool
hilo_collection_is_ordered(const HiloCollection *collection)
{
	return collection->generation != 0 &&
		(collection->row.flags & HILO_ROW_ORDERED) != 0;
}

/* Raise 0A000 if it is: an ordered collection gives no ranges to client programs. */
extern void hilo_collection_refuse_ordered(HiloCollection *collection);

/*
 * The horizon of an ordered collection for a snapshot, and the epoch that it belongs
 * to.  Raises 42704 if there is no such collection, and 55000 if it is not ordered or
 * the horizon is not known.
 */
extern void hilo_collection_horizon(HiloCollection *collection,
									Snapshot snapshot, HiloHorizon *horizon,
									int64 *epoch);

/*
 * Draw one number for a statement, past the cache: of an identity, or of the
 * server-side ids.
 */
extern int64 hilo_collection_draw(HiloCollection *collection);

/*
 * The same, but number, and all below it are then claimed: 0 if it is claimed
 * already, or, if the numbers are leased, one at or above it.
 */
extern int64 hilo_collection_draw_number(HiloCollection *collection,
										 int64 number);

/*
 * Give what lies above last of a session's claim back, to the pool where there
 * is one, else to the row.  Returns whether it went.  At exit no lock is waited
 * for.
 */
extern bool hilo_collection_give_back(HiloCollection *collection,
									  const HiloClaim *claim, int64 last,
									  bool at_exit);

/* The same for the range of a client, see hilo_counter_return(). */
extern bool hilo_collection_return(HiloCollection *collection, int64 last,
								   int64 high, int64 token);

/*
 * At least value, as hilo_counter_seed() says; nothing pooled is left.  Members of
 * this hub hear of it, here and below, before the function returns.
 */
extern int64 hilo_collection_seed(HiloCollection *collection, int64 value,
								  bool force);
extern int64 hilo_collection_adopt(HiloCollection *collection, int64 highest,
								   int64 limit, bool lenient);
extern bool hilo_collection_drop(HiloCollection *collection, bool force);
extern void hilo_collection_configure(HiloCollection *collection,
									  const HiloCounterOptions *options);

/* Set options, as hilo_counter_configure() does. */
extern void hilo_collection_configure(HiloCollection *collection,
									  const HiloCounterOptions *options);

/*
 * See that number, which was chosen by hand, is not claimed or taken
 * from the pool later; see hilo_counter_advance().  Raises 22023 if it is at or below
 * the horizon of an ordered collection.
 */
extern bool hilo_collection_advance(HiloCollection *collection, int64 number);

#endif							/* HILO_COLLECTION_H */

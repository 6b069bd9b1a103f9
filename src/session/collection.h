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

#include "base/document_id.h"
#include "counting/counter.h"
#include "shared/order.h"

typedef struct HiloCollection
{
	HiloRowRef	ref;			/* must be first: its name is the cache's key */

	/* The row as last read, and the generation of that; 0: not read yet. */
	uint64		generation;
	HiloRow		row;

	HiloOrder	order;			/* if it is ordered */

	/* hilo_settings_generation in which the name was checked; 0: it was not */
	uint32		checked;
} HiloCollection;

/*
 * Initialize, without reading the row.  The bytes of the name must stay valid.
 */
static inline void
hilo_collection_init(HiloCollection *collection, const char *name)
{
	hilo_row_ref_init(&collection->ref, name);
	collection->generation = 0;
	memset(&collection->order, 0, sizeof(collection->order));
	collection->checked = 0;
}

/*
 * The same for the identity of that name, given without a bar.  The name of its
 * row, which has a bar, is put into buffer, of HILO_MAX_ROW_NAME_LEN bytes,
 * which must stay valid.
 */
extern void hilo_collection_init_identity(HiloCollection *collection,
										  const char *name, char *buffer);

/* Read the row. */
extern void hilo_collection_read(HiloCollection *collection);

/* The row; read again if it may have changed. */
static inline const HiloRow *
hilo_collection_row(HiloCollection *collection)
{
	if (collection->generation != hilo_row_generation)
		hilo_collection_read(collection);
	return &collection->row;
}

/* The node tag; the row must have been read. */
extern const char *hilo_collection_node_tag(const HiloCollection *collection);

/*
 * Draw the next count numbers of an ordered collection, for the current
 * transaction.  Returns false, having drawn nothing, if the collection is no
 * longer ordered.
 */
extern bool hilo_collection_take_ordered(HiloCollection *collection,
										 int64 count, HiloClaim *claim);

/* True if the collection is ordered, according to the row as last read. */
static inline bool
hilo_collection_is_ordered(const HiloCollection *collection)
{
	return collection->generation != 0 &&
		(collection->row.flags & HILO_ROW_ORDERED) != 0;
}

/*
 * Raise 0A000 if the collection is ordered: it gives no ranges to client
 * programs.
 */
extern void hilo_collection_refuse_ordered(HiloCollection *collection);

/*
 * The horizon of an ordered collection for a snapshot, the epoch that it belongs
 * to, and what a standby must have replayed.  Raises 42704 if the collection does
 * not exist, and 55000 if it is not ordered.
 */
extern void hilo_collection_horizon(HiloCollection *collection,
									Snapshot snapshot, int64 *horizon,
									int64 *epoch, XLogRecPtr *lsn);

/*
 * From now on the collection has a horizon: call this when no transaction has
 * numbers of before it became ordered, except those with an id.
 */
extern void hilo_collection_settle_order(HiloCollection *collection);

/*
 * Seed as hilo_counter_seed() does, and return the max now stored; nothing stays
 * in the pool.  Here and below, members of this hub are told before
 * the function returns.
 */
extern int64 hilo_collection_seed(HiloCollection *collection, int64 value,
								  bool force);
extern int64 hilo_collection_adopt(HiloCollection *collection, int64 highest,
								   int64 limit, bool lenient);
extern bool hilo_collection_drop(HiloCollection *collection, bool force);

/* Set options, as hilo_counter_configure() does. */
extern void hilo_collection_configure(HiloCollection *collection,
									  const HiloCounterOptions *options);

/*
 * Make sure that number, which was chosen by hand, is not claimed or taken from
 * the pool later; see hilo_counter_advance().
 */
extern bool hilo_collection_advance(HiloCollection *collection, int64 number);

#endif							/* HILO_COLLECTION_H */

/*-------------------------------------------------------------------------
 *
 * cache.h
 *	  The ranges that this backend holds, one a collection.
 *
 * They belong to the connection: transactions, DISCARD ALL and SET ROLE leave
 * them alone, the unused numbers go back when the backend exits.  Entries are
 * never freed, so a pointer to one is good for the life of the backend.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_CACHE_H
#define HILO_CACHE_H

#include "datatype/timestamp.h"
#include "lib/ilist.h"

#include "document_id.h"
#include "source.h"

typedef struct HiloCacheEntry
{
	HiloName	name;			/* hash key, must be first */

	/*
	 * The next number is last + 1, as long as last < high.  Nothing else is
	 * looked at on the way: a range that is stale, or given back, has high 0.
	 * last stays what it is then: the last number drawn, 0 for none.
	 */
	int64		last;
	int64		high;

	/*
	 * As long as last is skipped, the last number drawn is last_drawn.
	 */
	int64		skipped;
	int64		last_drawn;

	/*
	 * Who was found to have the right to draw, and when: the present value of
	 * hilo_rights_generation.  Kept by draw_right.c, like the columns that the
	 * collection is bound to.
	 */
	uint64		rights_generation;
	Oid			may_draw;
	struct HiloBoundColumn *bound;
	int			bound_count;
	uint64		bound_generation;	/* of the catalog; 0: not known */
	Oid			attached_relation;	/* table last found attached */
	uint64		attached_generation;

	/* Generation of the settings under which the name was found good. */
	uint32		name_generation;

	/*
	 * What ids start and end with, once hilo_cache_make_id_text() has found
	 * out for this generation of the settings.
	 */
	uint32		id_text_generation;
	char	   *id_start;
	int			id_start_len;
	const char *id_suffix;
	int			id_suffix_len;

	/*
	 * What the row says, if hilo_cache_read_row() has read it in this
	 * generation of the catalog.
	 */
	uint64		row_generation;
	int64		own_range_size; /* each of these two: 0: the setting counts */
	int64		own_max_range_size;
	bool		has_own_tag;
	char		own_suffix[1 + HILO_MAX_TAG_LEN];
	bool		may_be_bound;

	HiloSource	source;			/* where its numbers come from */

	HiloClaim	claim;			/* where last .. high come from */
	int			synchronous;	/* synchronous_commit when that was claimed */
	bool		stale;			/* high is in claim.range only, until it is
								 * known that the claim still holds */
	int64		size;			/* of the last range; 0: none, or given back */
	TimestampTz claimed_at;
	int64		below;			/* what last was at the start of the range */
	int64		drawn;			/* numbers drawn before, by this connection */
	dlist_node	node;			/* in the list of ranges in use, if high > 0 */
} HiloCacheEntry;

extern void hilo_cache_init(void);

/* The entry of a collection; NULL if it is new to this backend. */
extern HiloCacheEntry *hilo_cache_find(HiloName name);

/* The same, but makes an empty entry then.  The name must be a good one. */
extern HiloCacheEntry *hilo_cache_entry(HiloName name);

/*
 * Get a new range for an entry that has no number left, one that is parked or
 * a claim; or find that the one it has is good in spite of being stale.  Then
 * last < high.
 */
extern void hilo_cache_refill(HiloCacheEntry *entry);

/* Draw the next number. */
static inline int64
hilo_cache_take(HiloCacheEntry *entry)
{
	if (unlikely(entry->last >= entry->high))
		hilo_cache_refill(entry);
	return ++entry->last;
}

/* The last number drawn; 0 for none. */
static inline int64
hilo_cache_last_drawn(const HiloCacheEntry *entry)
{
	return entry->last == entry->skipped ? entry->last_drawn : entry->last;
}

/* Was the number drawn from the range last claimed, in use or not? */
static inline bool
hilo_cache_has_drawn(const HiloCacheEntry *entry, int64 number)
{
	return number <= entry->last && number >= entry->claim.range.low;
}

/*
 * See that number will not be drawn by this session, if it lies below the end of
 * the range in use; the numbers skipped become a gap.  Returns false if it lies
 * above, or there is no such range.
 */
static inline bool
hilo_cache_skip(HiloCacheEntry *entry, int64 number)
{
	if (number > entry->high)
		return false;
	if (number > entry->last)
	{
		entry->last_drawn = hilo_cache_last_drawn(entry);
		entry->last = entry->skipped = number;
	}
	return true;
}

/*
 * Make entry->id_start what ids of the collection start with under the present
 * settings (collection, separator, server prefix), and entry->id_suffix what
 * they end with: a hyphen and the node tag, or nothing.
 */
extern void hilo_cache_make_id_text(HiloCacheEntry *entry);

/*
 * Read the row, unless that was done in this generation of the catalog: options
 * set for this collection, whether it may be bound, and whether a range that
 * is stale is still good.
 */
extern void hilo_cache_read_row(HiloCacheEntry *entry);

/* Smallest and largest size of ranges; the row must have been read. */
extern int64 hilo_cache_range_size(const HiloCacheEntry *entry);
extern int64 hilo_cache_max_range_size(const HiloCacheEntry *entry);

/* The node tag, not terminated, with its length. */
extern const char *hilo_cache_node_tag(const HiloCacheEntry *entry, int *len);

/*
 * Give the unused numbers of an entry back, into the row or, as hilo.release_to
 * says, the parking place, and forget its range.  Returns how many of them
 * others will get.
 */
extern int64 hilo_cache_release(HiloCacheEntry *entry);

/* The same for all entries. */
extern int64 hilo_cache_release_all(void);

/* Forget the range of an entry; its unused numbers become a gap. */
extern void hilo_cache_forget(HiloCacheEntry *entry);

/* Ask of all stale ranges whether they are still good, and forget the others. */
extern void hilo_cache_revalidate_all(void);

/* Call visit for each entry that has unused numbers, stale ones, too. */
extern void hilo_cache_visit(void (*visit) (HiloCacheEntry *entry, void *arg),
							 void *arg);

#endif							/* HILO_CACHE_H */

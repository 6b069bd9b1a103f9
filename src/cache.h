/*-------------------------------------------------------------------------
 *
 * cache.h
 *	  The ranges that this session holds, one a collection.
 *
 * They belong to the connection: transactions, DISCARD ALL and SET ROLE leave
 * them alone, the unused numbers go back when it ends.  Entries are
 * never freed, so a pointer to one is good for the life of the backend.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_CACHE_H
#define HILO_CACHE_H

#include "access/xact.h"

#include "collection.h"
#include "document_id.h"

typedef struct HiloEntry
{
	HiloCollection collection;	/* its name, the hash key, comes first */

	/*
	 * The range: numbers above last, up to high, may be drawn as long as
	 * generation is the present hilo_row_generation, or the row has been read
	 * again.  Nothing else makes it usable or not.
	 */
	struct
	{
		int64		last;
		int64		high;
		uint64		generation;
		int64		drawn;		/* the number drawn last; 0: none */
		HiloClaim	claim;		/* where it comes from */
	}			range;

	/* Numbers drawn by a statement lie within low..high, and last ones of it. */
	struct
	{
		TimestampTz statement;	/* when it began */
		int64		low;
		int64		high;
	}			since;

	/* How large the next one should be. */
	struct
	{
		int64		size;		/* of the last one; 0: none, or given back */
		TimestampTz claimed_at;
		int64		drawn;		/* numbers drawn of earlier ranges */
	}			growth;

	/* The role last found to have the right to draw; kept by draw_right.c. */
	struct
	{
		Oid			role;
		uint64		generation; /* hilo_rights_generation */
		struct HiloBoundTables *bound;	/* NULL: not known */
	}			right;

	/* What ids start and end with, and when that was made out. */
	struct
	{
		uint32		name_generation;	/* hilo_settings_generation in which
										 * the name was found good, */
		uint32		generation; /* and the text was made, */
		uint64		row_generation; /* from this row */
		char	   *start;
		int			start_len;
		char		suffix[1 + HILO_MAX_TAG_LEN];
		int			suffix_len;
	} text;
} HiloEntry;

/* The entry of a name; NULL if it is new to this backend. */
extern HiloEntry *hilo_cache_find(HiloName name);

/* The same, but makes an empty entry then.  The name must be a good one. */
extern HiloEntry *hilo_cache_entry(HiloName name);

/*
 * Get a range for an entry that has no number left; or find that the one it has
 * is good, though the generation has moved.  Then last < high.
 */
extern void hilo_cache_refill(HiloEntry *entry);

/* Draw the next number. */
static inline int64
hilo_cache_take(HiloEntry *entry)
{
	if (unlikely(entry->range.last >= entry->range.high ||
				 entry->range.generation != hilo_row_generation))
		hilo_cache_refill(entry);
	return entry->range.drawn = ++entry->range.last;
}

/* Note that a query may be about to draw its first number. */
static inline void
hilo_cache_note_query(HiloEntry *entry)
{
	TimestampTz now = GetCurrentStatementStartTimestamp();

	if (entry->since.statement == now)
		return;
	entry->since.statement = now;
	entry->since.low = entry->range.last < entry->range.high ?
		entry->range.last + 1 : PG_INT64_MAX;
	entry->since.high = 0;
}

/*
 * What this session has drawn since the statement that is running began, and the
 * number drawn last before; there may be others between those.  Empty if nothing
 * is known.
 */
extern HiloRange hilo_cache_drawn(const HiloEntry *entry);

/*
 * See that number will not be drawn by this session, if it is in the range that
 * it holds; the numbers skipped become a gap.  Returns false if it is above, or
 * there is no such range.
 */
extern bool hilo_cache_skip(HiloEntry *entry, int64 number);

/*
 * Make entry->text what ids of the collection start and end with, under the
 * present settings and by the row as it was read last.
 */
extern void hilo_cache_make_text(HiloEntry *entry);

/*
 * Give the unused numbers of an entry back, and forget its range.  Returns how
 * many of them others will get.
 */
extern int64 hilo_cache_release(HiloEntry *entry);

/* The same for all entries. */
extern int64 hilo_cache_release_all(void);

/* Forget the range of an entry; its unused numbers become a gap. */
extern void hilo_cache_forget(HiloEntry *entry);

/*
 * The entries that have unused numbers, as a list of HiloEntry *, palloc'd;
 * ranges that do not hold any more are forgotten first.
 */
extern List *hilo_cache_list(void);

#endif							/* HILO_CACHE_H */

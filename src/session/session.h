/*-------------------------------------------------------------------------
 *
 * session.h
 *	  Where this session's numbers come from: the ranges that it holds, one per
 *	  collection, the pool, the row, or another server.
 *
 * Ranges belong to the connection: transactions, DISCARD ALL and SET ROLE do not
 * affect them, and the unused numbers go into the pool when it ends.  Entries are never
 * freed, so a pointer to one stays valid for the life of the backend.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_SESSION_H
#define HILO_SESSION_H

#include "access/xact.h"

#include "base/document_id.h"
#include "counting/counter.h"
#include "shared/order.h"

/*
 * A collection, identity, or the server-side ids: its row, and its options.
 * At first, all but ref.name is zero.
 */
typedef struct HiloCollection
{
	HiloRowRef	ref;

	/* The row as last read, and the generation of that; 0: not read yet. */
	uint64		generation;
	HiloRow		row;

	HiloOrder	order;			/* if it is ordered */
} HiloCollection;

/*
 * Initialize, without reading the row.  The bytes of the name must stay valid.
 */
static inline void
hilo_collection_init(HiloCollection *collection, const char *name)
{
	memset(collection, 0, sizeof(*collection));
	collection->ref.name = name;
}

/*
 * Initialize for an identity, named without a bar.  The name of its row, which has
 * a bar, is put into buffer, of HILO_MAX_ROW_NAME_LEN bytes, which must stay
 * valid.
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
 * The separator of its ids; the row must have been read.  Not for an identity,
 * whose ids have the one of the setting.
 */
extern const char *hilo_collection_separator(const HiloCollection *collection);

/* True if the collection is ordered, according to the row as last read. */
static inline bool
hilo_collection_is_ordered(const HiloCollection *collection)
{
	return (collection->row.flags & HILO_ROW_ORDERED) != 0;
}

/*
 * Get numbers that no range of this session has: from the pool, by a claim, in
 * order, or from another server, as the row says.  On return they may be shown, and
 * the row has been read.
 */

/*
 * Take what is wanted: a range, of the size that the sizing leads to, or, with NULL, a
 * block.  An ordered collection gives one number as a range, and raises 0A000 for
 * a client program's range, and for a block that is aligned.
 */
extern void hilo_collection_take(HiloCollection *collection, HiloSizing *sizing,
								 HiloWanted *wanted, HiloClaim *claim);

/*
 * Draw one number of an identity, or of the server-side ids, for a statement.  With
 * a number above 0, draw that one; all numbers below it are then claimed as well.
 * Returns 0 if it is already claimed.  If another server counts, draws one at or
 * above it.
 */
extern int64 hilo_collection_draw(HiloCollection *collection, int64 number);

/*
 * The ranges of this session
 */

typedef struct HiloEntry
{
	/* The key.  Names that are too long are not found by their beginning. */
	char		name[HILO_MAX_NAME_LEN + 2];

	/* hilo_settings_generation in which the name was checked; 0: it was not */
	uint32		checked;

	HiloCollection collection;

	/*
	 * The range: numbers of the claim above last may be drawn as long as
	 * generation equals hilo_row_generation, or else after the row has been
	 * read again.  Nothing else affects whether it is usable.
	 */
	struct
	{
		int64		last;
		uint64		generation;
		int64		drawn;		/* the number drawn last; 0: none */
		HiloClaim	claim;		/* its numbers up to last were drawn; epoch 0:
								 * there is none */
		int			waited_how; /* for its LSN, with this synchronous_commit */
		LocalTransactionId transaction; /* the one that took it */
		bool		clean;		/* they were looked at, see look.h */
		int64		clean_up_to;	/* of an ordered collection: numbers up to
									 * this were looked at, too */
	}			range;
	struct HiloLook *look;		/* NULL: not needed yet */

	/* How large the next one should be. */
	struct
	{
		int64		size;		/* of the last range; 0: none, or released */
		TimestampTz claimed_at;
		int64		drawn;		/* numbers drawn since the last release,
								 * except those of the range */
		int64		least;		/* claim at least so many, because a look
								 * costs much; 0: any number */
	}			growth;

	/*
	 * The role that was last found to have the right to draw; maintained by
	 * rights.c.
	 */
	struct
	{
		Oid			role;
		uint64		bindings;	/* hilo_binding_generation in which the
								 * bindings were read; 0: they were not */
		uint64		generation; /* hilo_rights_generation; 0: verify again */
	}			right;

	/* How ids look, and when that was determined. */
	struct
	{
		uint64		generation; /* of settings and row together */
		HiloIdForm	own;		/* ids with the tag of the collection, */
		HiloIdForm	given;		/* and with the one that a caller gave last */
	} text;
} HiloEntry;

/* The entry of a name; NULL: this backend has none. */
extern HiloEntry *hilo_entry_known(const char *name);

/*
 * The entry of a name, created empty if this backend has none.  Raises 22023 unless
 * the name is valid for a collection.
 */
extern HiloEntry *hilo_entry(const char *name);

/* Numbers of the range that are left, whether or not they are valid. */
static inline int64
hilo_entry_unused(const HiloEntry *entry)
{
	return entry->range.claim.range.high - entry->range.last;
}

/*
 * True if the entry has numbers left of a valid range, which are as safe as this
 * transaction wants its commits to be: an earlier one may have been content with less.
 */
static inline bool
hilo_entry_is_ready(const HiloEntry *entry)
{
	return hilo_entry_unused(entry) > 0 &&
		entry->range.generation == hilo_row_generation &&
		entry->range.waited_how >= synchronous_commit;
}

/*
 * Make an entry ready: get a range, with numbers above the given one (0: any), if it has no
 * numbers left, or find that its range is still valid although the generation has
 * changed, or wait until it is safer.  On return the row has been read at some time.
 */
extern void hilo_entry_refill(HiloEntry *entry, int64 above);

/*
 * Set entry->text to how ids of the collection look, according to the current
 * settings and the row as last read.  Returns true if they looked different before.
 */
extern bool hilo_entry_make_text(HiloEntry *entry);

/*
 * Make entry->text.given the form of ids with this tag.  Raises 22023 unless it
 * is valid.
 */
extern void hilo_entry_give_tag(HiloEntry *entry, const char *tag);

/* True if entry->text.given is the form of ids with this tag. */
static inline bool
hilo_entry_has_tag(const HiloEntry *entry, const char *tag, int len)
{
	const HiloIdForm *form = &entry->text.given;

	return form->id != NULL && form->suffix_len == (len > 0 ? len + 1 : 0) &&
		memcmp(form->suffix + 1, tag, len) == 0;
}

/*
 * Forget the range of an entry; its unused numbers become a gap.
 */
static inline void
hilo_entry_forget(HiloEntry *entry)
{
	entry->range.claim.range.high = entry->range.last;
	entry->growth.size = 0;
}

/*
 * Put the unused numbers of an entry into the pool, and forget its range.  Returns
 * how many of them are there.
 */
extern int64 hilo_entry_release(HiloEntry *entry);

/* Put the unused numbers of all entries into the pool.  Returns how many are there. */
extern int64 hilo_entries_release(void);

/*
 * The entries that have unused numbers, as a list of HiloEntry *, palloc'd.
 * Forgets invalid ranges first.
 */
extern List *hilo_entries_in_use(void);

/*
 * Changes to a collection
 */

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
 * From now on the collection has a horizon.  Call this when no transaction holds
 * numbers drawn before it became ordered, except transactions that have an id.  False:
 * meanwhile it has become unordered, or was dropped.
 */
extern bool hilo_collection_settle_order(HiloCollection *collection);

/*
 * Seed as hilo_counter_seed() does, and return the max now stored; nothing stays
 * in the pool.  This function and the next ones tell others who draw from it before
 * they return.
 */
extern int64 hilo_collection_seed(HiloCollection *collection, int64 value,
								  bool force);
extern int64 hilo_collection_adopt(HiloCollection *collection, int64 highest,
								   int64 limit);
extern bool hilo_collection_drop(HiloCollection *collection, bool force);

/* Set options, as hilo_counter_configure() does. */
extern void hilo_collection_configure(HiloCollection *collection,
									  const HiloCounterOptions *options);

#endif							/* HILO_SESSION_H */

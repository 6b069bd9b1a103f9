/*-------------------------------------------------------------------------
 *
 * session.h
 *	  Ranges of collections that this session holds, and the numbers drawn from them.
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

#include "counter.h"
#include "look.h"
#include "node.h"
#include "text.h"

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
} HiloCollection;

/* Read the row. */
extern void hilo_collection_read(HiloCollection *collection);

/* The row; read again if it may have changed. */
static inline const HiloRow *
hilo_collection_row(HiloCollection *collection)
{
	if (collection->generation != hilo_generation)
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

/* What this session knows of a collection from which it draws. */
typedef struct HiloEntry
{
	/* The key.  Names that are too long are not found by their beginning. */
	char		name[HILO_MAX_NAME_LEN + 2];

	/* hilo_settings_generation in which the name was checked; 0: it was not */
	uint32		checked;

	HiloCollection collection;

	/*
	 * The range: numbers of the claim above last may be drawn as long as
	 * generation equals hilo_generation, or else after the row has been read
	 * again.
	 */
	struct
	{
		int64		last;
		uint64		generation;
		int64		drawn;		/* the number drawn last; 0: none */
		HiloClaim	claim;		/* its numbers up to last were drawn; epoch 0:
								 * there is none */
		int			waited_how; /* for its LSN, with this synchronous_commit */
	}			range;

	/* The ids of bound columns; NULL: there are none as of range.generation. */
	HiloIds    *ids;

	/* How large the next one should be. */
	struct
	{
		int64		size;		/* of the last range; 0: none, or forgotten */
		TimestampTz claimed_at;
	}			growth;

	/* How ids look, and when that was determined. */
	struct
	{
		uint64		generation; /* of settings and row together */
		HiloIdForm	own;		/* ids with the tag of the collection, */
		HiloIdForm	given;		/* and with the one that a caller gave last */
	} text;
} HiloEntry;

/* The entry of a name; NULL: this session has none. */
extern HiloEntry *hilo_entry_known(const char *name);

/*
 * The entry of a name, created empty if this session has none.  Raises 22023 unless
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
 * True if the next number of the range may be drawn as it is: it is of a valid range, as safe
 * as this transaction wants its commits to be, no other node counts, and no column has to be
 * looked at.
 */
static inline bool
hilo_entry_is_ready(const HiloEntry *entry)
{
	return hilo_entry_unused(entry) > 0 &&
		entry->range.generation == hilo_generation && hilo_node_is_known &&
		entry->range.waited_how >= synchronous_commit &&
		entry->ids == NULL;
}

/*
 * Draw the next number, by way of a claim or a look if that is needed.  With a form that is not
 * NULL, it is for an id of that form.
 */
extern int64 hilo_entry_take_slowly(HiloEntry *entry, const HiloIdForm *form);

/* Draw the next number. */
static inline int64
hilo_entry_take(HiloEntry *entry, const HiloIdForm *form)
{
	if (unlikely(!hilo_entry_is_ready(entry)))
		return hilo_entry_take_slowly(entry, form);
	return entry->range.drawn = ++entry->range.last;
}

/* Draw the next id of one of the forms in entry->text. */
extern text *hilo_entry_take_id(HiloEntry *entry, HiloIdForm *form);

/*
 * Take numbers that no range of this session has: exactly the block that is wanted, or, with a
 * sizing, a client program's range.  On return they may be shown, the row has been read, and
 * none of them is an id of a bound column.
 */
extern void hilo_entry_take_block(HiloEntry *entry, const HiloSizing *sizing,
								  HiloWanted *wanted, HiloClaim *claim);

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
 * The entries that have unused numbers, as a list of HiloEntry *, palloc'd.
 * Forgets invalid ranges first.
 */
extern List *hilo_entries_in_use(void);

#endif							/* HILO_SESSION_H */

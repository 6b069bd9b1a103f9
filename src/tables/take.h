/*-------------------------------------------------------------------------
 *
 * take.h
 *	  Takes numbers of a collection that were looked at.
 *
 * What session.h gives to a session may be among the ids of the columns that draw
 * from the collection.  Here it is looked at first.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_TAKE_H
#define HILO_TAKE_H

#include "session/session.h"
#include "tables/look.h"

/* Make sure that the entry has a number left that may be used. */
extern void hilo_take_refill(HiloEntry *entry);

/* Draw the next number. */
static inline int64
hilo_take(HiloEntry *entry)
{
	if (unlikely(!hilo_entry_is_ready(entry) || !entry->range.clean))
		hilo_take_refill(entry);
	return entry->range.drawn = ++entry->range.last;
}

/*
 * Draw an id of one of the forms in entry->text.  The range brings the row, so
 * it comes first.  If its numbers were looked at as ids of another form, they are
 * looked at again; the one that was taken has not been shown, and goes back.
 */
static inline text *
hilo_take_id(HiloEntry *entry, HiloIdForm *form)
{
	int64		drawn = entry->range.drawn;
	int64		number = hilo_take(entry);

	while (unlikely(entry->text.generation !=
					hilo_settings_generation + entry->collection.generation))
	{
		if (hilo_entry_make_text(entry))
		{
			entry->range.drawn = drawn;
			entry->range.clean = false;
			if (!hilo_collection_is_ordered(&entry->collection))
				entry->range.last--;
			number = hilo_take(entry);
		}
	}
	return hilo_id_form_make(form, number);
}

/*
 * Take a block, or a client program's range, as hilo_collection_take() does: all of it
 * was looked at.
 */
extern void hilo_take_apart(HiloEntry *entry, HiloSizing *sizing, HiloWanted *wanted,
							HiloClaim *claim);

#endif							/* HILO_TAKE_H */

/*-------------------------------------------------------------------------
 *
 * draw_right.h
 *	  Who may draw from a collection.
 *
 * From one that is bound to a column, who may insert into one of the tables, or
 * has been granted to draw by hilo_configure(); from any other, who may execute
 * the function.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_DRAW_RIGHT_H
#define HILO_DRAW_RIGHT_H

#include "miscadmin.h"

#include "cache.h"

/* Raise 42501 unless the current user may draw; else remember that. */
extern void hilo_draw_right_verify(HiloCacheEntry *entry);

/*
 * The same, cheap: what was found once is good until the user changes, or
 * rights may have.
 */
static inline void
hilo_draw_right_check(HiloCacheEntry *entry)
{
	if (unlikely(entry->rights_generation != hilo_rights_generation ||
				 entry->may_draw != GetUserId()))
		hilo_draw_right_verify(entry);
}

/*
 * Is the collection attached to a column of this name, in the table or in one
 * that it is a partition or child of?
 */
extern bool hilo_is_attached(HiloCacheEntry *entry, Oid relation,
							 const char *column);

#endif							/* HILO_DRAW_RIGHT_H */

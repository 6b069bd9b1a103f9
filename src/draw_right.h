/*-------------------------------------------------------------------------
 *
 * draw_right.h
 *	  The right to draw from a collection.
 *
 * From one that is bound to a column, who may insert into one of the tables,
 * directly or through views, or has been granted to draw by hilo_configure();
 * from any other, who may execute the function.  On a Citus worker: what is
 * unique there.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_DRAW_RIGHT_H
#define HILO_DRAW_RIGHT_H

#include "miscadmin.h"

#include "cache.h"

/* What is drawn. */
typedef enum HiloDrawn
{
	HILO_DRAW_ID,				/* with the server prefix and node tag */
	HILO_DRAW_NUMBER			/* alone, or with a tag that the caller names */
} HiloDrawn;

/*
 * Raise 42501 unless the current user may draw, 55000 unless this node may; else
 * remember that, if it holds for all that is drawn.
 */
extern void hilo_draw_right_verify(HiloEntry *entry, HiloDrawn drawn);

/*
 * The same, cheap: what was found once is good until the user changes, or
 * rights may have.
 */
static inline void
hilo_draw_right_check(HiloEntry *entry, HiloDrawn drawn)
{
	if (unlikely(entry->right.generation != hilo_rights_generation ||
				 entry->right.role != GetUserId()))
		hilo_draw_right_verify(entry, drawn);
}

/*
 * Is the collection attached to a column of this name, in the table or in one
 * that it is a partition or child of?
 */
extern bool hilo_is_attached(HiloEntry *entry, Oid relation,
							 const char *column);

#endif							/* HILO_DRAW_RIGHT_H */

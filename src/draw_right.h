/*-------------------------------------------------------------------------
 *
 * draw_right.h
 *	  The right to draw from a collection.
 *
 * If the collection is bound to a column, a role may draw that may insert into
 * one of the tables, directly or through views, or has a grant by
 * hilo_configure(); otherwise any role that may execute the function.  On a
 * Citus worker, only what is unique there.
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
 * Raise 55000 if this node, a Citus worker, would draw from a counter of its own,
 * unless what it draws is unique by a tag.  What is leased is unique.
 */
extern void hilo_draw_right_check_node(HiloCollection *collection,
									   bool unique_by_tag);

/*
 * May a table be attached to the collection, and so move its counter: is the
 * collection new, or only for tables of the same owner, or the owner granted to
 * draw, or one that may seed?
 */
extern bool hilo_draw_right_may_attach(HiloCollection *collection,
									   Oid relation);

/*
 * The attachments of the collection whose triggers were seen, or whose tables may
 * be attached: anyone can make a trigger for a table of his own.  As a list of
 * HiloAttachment *, palloc'd.
 */
extern List *hilo_draw_right_attachments(HiloName collection);

#endif							/* HILO_DRAW_RIGHT_H */

/*-------------------------------------------------------------------------
 *
 * rights.h
 *	  The right to draw from a collection.
 *
 * If the collection is bound to a column, a role may draw if it may insert into
 * one of the tables, directly or through views, or has a grant made with
 * hilo.configure(); otherwise any role that may execute the function may draw.
 * On a Citus worker, only draws that are unique there are allowed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_RIGHTS_H
#define HILO_RIGHTS_H

#include "miscadmin.h"

#include "session/session.h"

/* Kinds of draws. */
typedef enum HiloDrawn
{
	HILO_DRAW_ID,				/* an id with the server prefix and node tag */
	HILO_DRAW_NUMBER			/* a number, or an id with the caller's tag */
} HiloDrawn;

/*
 * Raise 42501 unless the current user may draw, and 55000 unless this node may.
 * Remembers the result if it holds for all kinds of draws.
 */
extern void hilo_draw_right_verify(HiloEntry *entry, HiloDrawn drawn);

/*
 * The same, but cheap: a remembered result is valid until the user, or rights
 * that it depends on, may have changed.
 */
static inline void
hilo_draw_right_check(HiloEntry *entry, HiloDrawn drawn)
{
	if (unlikely(entry->right.generation != hilo_rights_generation ||
				 entry->right.role != GetUserId()))
		hilo_draw_right_verify(entry, drawn);
}

/*
 * Raise 55000 if this node is a Citus worker and would draw from its own
 * counter, unless a tag makes the ids unique.  Leased numbers are unique.
 */
extern void hilo_draw_right_check_node(HiloCollection *collection,
									   bool unique_by_tag);

/*
 * True if the table may be attached to the collection, which moves the counter:
 * the collection is new, or has only tables of the same owner, or the table's
 * owner has a grant or may seed.
 */
extern bool hilo_draw_right_may_attach(HiloCollection *collection,
									   Oid relation);

/*
 * The attachments to the collection whose triggers were seen, or whose tables
 * may be attached; others do not count, because anyone can create such a
 * trigger on a table of their own.  A list of HiloAttachment *, palloc'd.
 */
extern List *hilo_draw_right_attachments(const char *collection);

#endif							/* HILO_RIGHTS_H */

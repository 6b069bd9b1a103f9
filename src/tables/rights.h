/*-------------------------------------------------------------------------
 *
 * rights.h
 *	  The rights to draw from a collection, and to attach to it.
 *
 * If the collection is bound to living tables, a role may draw if it may insert
 * into one of them, or into a partition of one, or was allowed by hilo.allow();
 * otherwise any role that may execute the function may draw.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_RIGHTS_H
#define HILO_RIGHTS_H

#include "miscadmin.h"

#include "session/session.h"

/*
 * Raise 42501 unless the current user may draw, and remember the result.  Brings the
 * limit of a bound collection up to date, too.
 */
extern void hilo_draw_right_verify(HiloEntry *entry);

/*
 * Check the right to draw, at little cost: a remembered result is valid until the
 * user, or rights that it depends on, may have changed.
 */
static inline HiloEntry *
hilo_draw_right_check(HiloEntry *entry)
{
	if (unlikely(entry->right.generation != hilo_rights_generation ||
				 entry->right.role != GetUserId()))
		hilo_draw_right_verify(entry);
	return entry;
}

/*
 * True if the role may attach a table of its own to the collection: it may seed;
 * or nothing was drawn and nothing is bound; or it has the privileges of the
 * owners of all living bound tables, or, if none is living, of all recorded
 * ones.
 */
extern bool hilo_may_attach_to(HiloCollection *collection, Oid role);

/*
 * True if the role has the privileges of the owner of a table that the collection is
 * bound to: a living one, or, if none is living, a recorded one.
 */
extern bool hilo_has_part_in(const char *collection, Oid role);

#endif							/* HILO_RIGHTS_H */

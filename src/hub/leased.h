/*-------------------------------------------------------------------------
 *
 * leased.h
 *	  Changes to rows of hilo.hilo that concern leases.
 *
 * They are made like those in counter.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_LEASED_H
#define HILO_LEASED_H

#include "hub/core.h"

/*
 * Merge what the row of another database or a backup says about a hub into a row that
 * is in use here.
 */
extern void hilo_leased_merge(HiloRow *row, const HiloRow *other);

/*
 * On a hub
 */

/*
 * Claim a lease of up to size numbers above the given one for a member, as
 * hilo_counter_claim() does; with size 0 only check that one would be given, and
 * leave *claim alone.  *row is the row after that.
 */
extern void hilo_leased_claim(HiloRowRef *ref, HiloLeasing leasing,
							  int64 size, int64 above, HiloRow *row,
							  HiloClaim *claim);

/*
 * Move max to at least highest, and then skip numbers, as far as there are any.  Sets a
 * new epoch if numbers are skipped, or highest is above max.  Creates the row if
 * necessary.  Refused on a member.  Returns the max now stored.
 */
extern int64 hilo_leased_raise(HiloRowRef *ref, int64 highest, int64 skip);

/*
 * On a member
 */

/*
 * The random number by which hubs know this database.  It is kept in the row of
 * server-side ids, so it outlives a rollback, a new name of the database, and
 * pg_upgrade; a copy of the database gets another one.  0: there is none, and it is not
 * to be created.
 */
extern int64 hilo_leased_member_number(bool create);

/*
 * Note that the counter is about to be leased from a hub: from then on reports
 * to it include the counter.  Creates the row if necessary.
 */
extern void hilo_leased_mark(HiloRowRef *ref, const char *hub,
							 int64 lineage);

/* Undo that, unless the counter is leased. */
extern void hilo_leased_unmark(HiloRowRef *ref);

/*
 * Store a term that is higher than the row's, if the row is of that lineage.
 * Returns the LSN to flush; invalid: there was nothing to store.
 */
extern XLogRecPtr hilo_leased_note_term(HiloRowRef *ref,
										const HiloTerm *term);

/*
 * Lease the numbers from the hub from now on, at least size at a time (0: as
 * the setting says); with an empty hub, stop leasing, but keep its term.  Creates
 * the row if necessary.  Returns whether earlier claims or leases are invalid
 * from then on.  Refused if the collection is ordered.
 */
extern bool hilo_leased_set_hub(HiloRowRef *ref, const char *hub,
								int32 size, int64 lineage);

/* What a hub has answered about a counter. */
typedef struct HiloLeaseAnswer
{
	const char *name;			/* in the answer to a report; else NULL */
	HiloTerm	term;
	HiloRange	range;			/* empty in the answer to a report */
	int64		hub_epoch;		/* 0: the hub does not know the counter */
	int32		range_size;		/* the hub's options; 0: not set there */
	int32		max_range_size;
	const char *node_tag;		/* NULL: not set there */
	const char *separator;		/* NULL: not set there */
} HiloLeaseAnswer;

typedef enum HiloTaken
{
	HILO_TAKEN,
	HILO_NOT_AS_ASKED,			/* the row is no longer what it was when the
								 * hub was asked: ask again */
	HILO_NOT_OBEYED				/* the row has a higher term, another one of
								 * that number, or another lineage */
} HiloTaken;

/*
 * Accept the answer of the hub in the row *asked, which was read before that was
 * asked, in one step with comparing and storing its term: *claim is the part of the
 * lease above max and not above the limit, and max moves to its end.
 * The first lease makes the counter, which was marked, a leased one.  Otherwise
 * nothing has changed.  *claim is empty if nothing of the lease is above max, or
 * the answer is none; with another epoch than before, earlier leases are invalid.
 * Not flushed: the caller does that before it draws.
 */
extern HiloTaken hilo_leased_take_in(HiloRowRef *ref, const HiloRow *asked,
									 const HiloLeaseAnswer *answer,
									 HiloClaim *claim);

#endif							/* HILO_LEASED_H */

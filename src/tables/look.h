/*-------------------------------------------------------------------------
 *
 * look.h
 *	  The look: are there ids among the numbers that a session has taken?
 *
 * A session looks at the columns that draw from a counter before it uses numbers
 * of it.  So nothing has to keep the counter ahead of ids that came there by other
 * means.  What was claimed is no other session's, so a look after the claim
 * has no race with other draws.
 *
 * Numbers count as looked at, or clean, until there is a message about one of the
 * tables or their indexes, or until a transaction or subtransaction of this
 * session aborts, as after a unique violation.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_LOOK_H
#define HILO_LOOK_H

#include "counting/range.h"
#include "session/session.h"

/* With more places than this, a look costs more than a small claim. */
#define HILO_FEW_PLACES		16

/*
 * How far columns that draw by their defaults alone, which may be strangers', move a
 * counter at once.
 */
#define HILO_WINDOW_BY_DEFAULT	INT64CONST(67108864)

/*
 * If an id is among the numbers of a claim, a session divides its size by this: the next
 * one is smaller even if what is left of this one is used up quickly.
 */
#define HILO_SMALLER_AT_ID	4

/*
 * Where the ids of one counter are.  Lives as long as the session; fields are
 * for look.c, unless said otherwise.
 */
typedef struct HiloLook
{
	Oid			sequence;		/* the counter: a sequence, */
	HiloCollection *collection; /* or else a collection */
	bool	   *clean;			/* the counter's: are the numbers that the
								 * session holds looked at? */
	uint64	   *right;			/* set to 0 when the right to draw may have
								 * changed; may be NULL */

	bool		awaits_table;	/* set by the caller: any message may mean
								 * that a column is living again */

	/* For callers, valid after hilo_look_prepare(): */
	int64		limit;			/* highest number that all the columns hold */
	bool		by_default;		/* of a collection: the columns only draw by
								 * their defaults, which anybody can write */

	MemoryContext context;		/* of the lists */
	List	   *columns;		/* of HiloColumn * */
	List	   *places;			/* of Place *: indexes to look at */
	List	   *relations;		/* OIDs of the tables, their parents, and
								 * indexes */
	uint64		found_at;		/* generation in which columns were found; 0:
								 * not yet */
	bool		places_found;	/* all could be locked */
	uint64		changes;		/* number of messages about the relations; */
	uint64		placed_at;		/* as of when the places were found, */
	uint64		texts;			/* and for which settings and options */
} HiloLook;

/* How far the looks of one draw have come; at first, all but exact is zero. */
typedef struct HiloLookProgress
{
	bool		exact;			/* all of the numbers are needed, not some */
	int64		window;			/* how far above an id to search for others */
	int			steps;
} HiloLookProgress;

/*
 * The columns of a sequence, or else of a collection; *clean and *right are the
 * counter's, as above.  Catalogs are not read yet.
 */
extern HiloLook *hilo_look_create(Oid sequence, HiloCollection *collection,
								  bool *clean, uint64 *right);

/* Forget a look of a sequence that does not exist any more. */
extern void hilo_look_free(HiloLook *look);

/*
 * How many numbers a claim should have at least, for a look that was prepared: as many as
 * places, if these are many; 0: any.
 */
static inline int
hilo_look_least_claim(const HiloLook *look)
{
	int			places = list_length(look->places);

	return places > HILO_FEW_PLACES ? places : 0;
}

/* The look of an entry, prepared. */
extern HiloLook *hilo_look_of_entry(HiloEntry *entry);

/*
 * Find the columns and indexes, if they may have changed since the last call.
 * Call this before each claim, and before a look.  Waits for no lock.
 */
extern void hilo_look_prepare(HiloLook *look);

/*
 * Look at the numbers, of which limit is the highest that the counter has.  False: none
 * of them is an id, or that cannot be known now; *clean is true only in the first
 * case.  Otherwise *highest is the highest id that was found among them or above
 * them: the caller drops its numbers up to it, goes on above it, and looks again.
 */
extern bool hilo_look(HiloLook *look, HiloRange numbers, int64 limit,
					  HiloLookProgress *progress, int64 *highest);

#endif							/* HILO_LOOK_H */

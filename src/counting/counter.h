/*-------------------------------------------------------------------------
 *
 * counter.h
 *	  The counters: every change to a row of hilo.hilo.
 *
 * Rows change in place (see row.h).  When a function returns, it holds no lock.
 *
 * Unless said otherwise a function may be called in any transaction that may
 * write, raises errors as the reference lists them, and has its change
 * on disk (and, following synchronous_commit, on the synchronous standbys)
 * when it returns.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_COUNTER_H
#define HILO_COUNTER_H

#include "base/settings.h"
#include "counting/range.h"
#include "counting/row.h"

/* Numbers that were claimed or leased, and what identifies the claim. */
typedef struct HiloClaim
{
	HiloRange	range;
	int64		home;			/* of the row that they come from, */
	int64		epoch;			/* as of the claim */
	int64		token;			/* of a client's claim: random; else 0 */
	XLogRecPtr	lsn;			/* end of its WAL record */
	bool		leased;			/* false: counted */
	bool		pooled;			/* true: taken from the pool */
} HiloClaim;

/* The smallest range of a client program, as in RavenDB. */
#define HILO_CLIENT_RANGE_SIZE	32

/* How long such a range should last, in microseconds, as in RavenDB. */
#define HILO_CLIENT_RANGE_DURATION	(30 * USECS_PER_SEC)

/* The smallest and largest size of ranges of the row's counter. */
static inline int64
hilo_counter_range_size(const HiloRow *row)
{
	return row->range_size > 0 ? row->range_size : hilo_min_range_size;
}

static inline int64
hilo_counter_max_range_size(const HiloRow *row)
{
	return row->max_range_size > 0 ? row->max_range_size : hilo_max_range_size;
}

/* True for the name of an identity, which ends in a bar. */
extern bool hilo_is_identity(const char *name);

/* For errmsg(): the kind of counter, and its name without a bar. */
#define HILO_COUNTER_FORMAT	"%s \"%.*s\""
#define HILO_COUNTER_ARGS(name) \
	(hilo_is_identity(name) ? "identity" : "collection"), \
	(int) strlen(name) - (hilo_is_identity(name) ? 1 : 0), (name)

/*
 * True for the name of the row of server-side ids, or of this server as a hub.
 */
extern bool hilo_is_own_name(const char *name);

/*
 * True at this session's first call with that message, any text that stands for
 * one, about that name.
 */
extern bool hilo_once(const char *message, const char *name);

/*
 * Set the size, reserve and wish of a request whose size follows the rate, by the
 * options in the row: the size by the claimant's last range, and the reserve by the
 * newest claim of the counter, whoever made it.
 */
extern void hilo_counter_size(HiloRangeRequest *request, const HiloRow *row);

/*
 * Claim a range.  Creates a row that does not exist or was dropped, unless
 * hilo.auto_create is off.  Returns false, having changed nothing, if the
 * collection is ordered, the numbers are or should be leased from a hub, the
 * number that is requested is claimed already, the size is 0, or the row has one of
 * the flags request->unless, or another epoch than an ordered request.  Sets the
 * size of the request as hilo_counter_size() does; *row is the row as it is then.
 *
 * A request for an ordered collection creates no row, and claims nothing from a
 * collection that is not ordered.  Its numbers are for all sessions, which wait for
 * standbys themselves.
 * If the timeline is not that of the last claim, the row gets a new epoch,
 * because earlier claims may not all be known here.
 */
extern bool hilo_counter_claim(HiloRowRef *ref, HiloRangeRequest *request,
							   HiloRow *row, HiloClaim *claim);

/*
 * True if the counter with this row should be leased but is not yet.  The row
 * of server-side ids never is.
 */
extern bool hilo_counter_is_for_hub(const HiloRowRef *ref, const HiloRow *row,
									HiloLeasing leasing);

/*
 * Copy the row; the epoch is 0 if the row came from elsewhere.  Returns false
 * if the counter does not exist or was dropped; *row is then an empty row with
 * HILO_ROW_DROPPED, or what is left of it.
 */
extern bool hilo_counter_read(HiloRowRef *ref, HiloRow *row);

/*
 * True if numbers of a claim may still be used, given the row as read: it has
 * the same table, database and epoch, and they are not above max.
 */
extern bool hilo_counter_holds(const HiloRow *row, const HiloClaim *claim);

/*
 * Give the rest of a client's claim back to the counter if the claim is still the
 * newest: it must have that token; with token 0 its end must be one that was never
 * handed out before.  Returns whether it was; after an error nothing has changed.
 * Not flushed: losing the change costs only a gap.
 */
extern bool hilo_counter_give_back(HiloRowRef *ref, const HiloClaim *rest);

/*
 * Move max up to at least value, creating the row if necessary; a new epoch.
 * Returns the max now stored.
 *
 * With force, set max to it, up or down.  A counter that has left its hub is
 * counted here from then on; one that has not left it is refused.
 */
extern int64 hilo_counter_seed(HiloRowRef *ref, int64 value, bool force);

/*
 * Prepare a counter for a column that holds numbers up to highest, and can hold
 * numbers up to limit: move max like a seed, lower its limit to that, though not
 * below max, and record that hilo.binding has a row about it, before that row
 * becomes visible.  With highest -1 max stays.  Creates the row if necessary.
 * Raises an error if no number would be left, unless lenient.  Returns the max now
 * stored.
 */
extern int64 hilo_counter_adopt(HiloRowRef *ref, int64 highest, int64 limit,
								bool lenient);

/* What can be set for a single counter. */
typedef struct HiloCounterOptions
{
	bool		reset;			/* first reset all options */
	int64		range_size;		/* each of these three: 0: leave it */
	int64		max_range_size;
	int64		max_value;
	bool		own_limit;		/* true: set by hand; false: that of a type */
	const char *node_tag;		/* NULL: leave it */
	const char *separator;		/* NULL: leave it */
	bool		change_order;	/* true: set ordered */
	bool		ordered;
	bool		in_use;			/* true: even if numbers were drawn */
} HiloCounterOptions;

/*
 * Set the options, creating the row if necessary.  Claimed ranges stay valid
 * unless the collection becomes ordered or unordered: then the result is true.
 * One that becomes ordered is not settled yet.
 */
extern bool hilo_counter_configure(HiloRowRef *ref,
								   const HiloCounterOptions *options);

/*
 * If the collection is ordered, record that all transactions have ended that may
 * hold numbers drawn before it became ordered.
 */
extern void hilo_counter_settle(HiloRowRef *ref);

/*
 * Merge a row from another database or a backup: max and what belongs to it only
 * go up; a counter that does not exist here is created as it was there.
 */
extern void hilo_counter_merge(HiloRowRef *ref, const HiloRow *other);

/* Drop the counter.  Returns false if it did not exist. */
extern bool hilo_counter_drop(HiloRowRef *ref);

/*
 * On a hub
 */

/*
 * Claim a lease of up to size numbers above the given one for a member, as
 * hilo_counter_claim() does; with size 0 only check that one would be given, and
 * leave *claim alone.  *row is the row after that.
 */
extern void hilo_counter_lease(HiloRowRef *ref, HiloLeasing leasing,
							   int64 size, int64 above, HiloRow *row,
							   HiloClaim *claim);

/*
 * Move max to at least highest, and then skip numbers, as far as the numbers go;
 * a new epoch.  Creates the row if necessary.  Refused on a member.  Returns the
 * max now stored.
 */
extern int64 hilo_counter_raise(HiloRowRef *ref, int64 highest, int64 skip);

/*
 * On a member
 */

/* What identifies a term of a hub. */
typedef struct HiloTerm
{
	int64		lineage;		/* 0: nothing is known */
	int64		number;			/* 0: none yet */
	int64		id;
} HiloTerm;

static inline HiloTerm
hilo_counter_term(const HiloRow *row)
{
	HiloTerm	term = {.lineage = row->lineage,.number = row->term,.id = row->term_id};

	return term;
}

/*
 * The random number by which hubs know this database.  It is kept in the row of
 * server-side ids: a rollback, a new name of the database and pg_upgrade do not
 * change it, but a copy of the database has another one.  0: there is none, and it
 * is not to be created.
 */
extern int64 hilo_counter_member_number(bool create);

/*
 * Record that the counter is about to be leased from a hub: from then on reports
 * to the hub include the counter.  Creates the row if necessary.
 */
extern void hilo_counter_mark(HiloRowRef *ref, const char *hub,
							  int64 lineage);

/*
 * Store a term that is higher than the row's, if the row is of that lineage.
 * Returns the LSN to flush; invalid: there was nothing to store.
 */
extern XLogRecPtr hilo_counter_note_term(HiloRowRef *ref,
										 const HiloTerm *term);

/*
 * Lease the numbers from the hub from now on, at least size at a time (0: as
 * the setting says); with an empty hub, stop leasing, but keep its term.  Creates
 * the row if necessary.  Returns whether earlier claims or leases are invalid
 * from then on.  Refused if the collection is ordered.
 */
extern bool hilo_counter_set_hub(HiloRowRef *ref, const char *hub,
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
 * Accept the answer of the hub that the row *asked names; *asked was read before the
 * question.  In one step, the term of the answer is compared and stored, *claim
 * becomes the part of the lease above max and not above the limit, and max moves to
 * its end.  The first lease makes the counter, which was marked, a leased one.
 * Unless the result is HILO_TAKEN, nothing has changed.  *claim is empty if nothing
 * of the lease is above max, or the answer has no lease; if its epoch is another one
 * than before, earlier leases are invalid.  Not flushed: the caller does that before
 * it draws.
 */
extern HiloTaken hilo_counter_take_in(HiloRowRef *ref, const HiloRow *asked,
									  const HiloLeaseAnswer *answer,
									  HiloClaim *claim);

#endif							/* HILO_COUNTER_H */

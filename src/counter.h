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

#include "guc.h"
#include "range.h"
#include "row.h"

/* Numbers that were claimed, and what identifies the claim. */
typedef struct HiloClaim
{
	HiloRange	range;
	int64		home;			/* of the row that they come from, */
	int64		epoch;			/* as of the claim; 0: there is no claim */
	int64		token;			/* of a client's claim: random; else 0 */
	XLogRecPtr	lsn;			/* end of its WAL record */
} HiloClaim;

/* The smallest range of a client program, as in RavenDB. */
#define HILO_CLIENT_RANGE_SIZE	32

/* How long such a range should last, in microseconds, as in RavenDB. */
#define HILO_CLIENT_RANGE_DURATION	(30 * USECS_PER_SEC)

/* The largest size of ranges of the row's counter. */
static inline int64
hilo_counter_max_range_size(const HiloRow *row)
{
	return row->max_range_size > 0 ? row->max_range_size : hilo_max_range_size;
}

/* True for the name of an identity, which ends in a bar. */
static inline bool
hilo_is_identity(const char *name)
{
	size_t		len = strlen(name);

	return len > 1 && name[len - 1] == '|';
}

/* True for the name of the row of server-side ids. */
extern bool hilo_is_server_side(const char *name);

/* For errmsg(): the kind of counter, and its name without a bar. */
#define HILO_COUNTER_FORMAT	"%s \"%.*s\""
#define HILO_COUNTER_ARGS(name) \
	(hilo_is_identity(name) ? "identity" : "collection"), \
	(int) strlen(name) - (hilo_is_identity(name) ? 1 : 0), (name)

/* How large a range should be: what its size depends on, besides the row. */
typedef struct HiloSizing
{
	bool		for_client;		/* true: for a client program: the claim has a
								 * token, and a caller that knows it can give
								 * the rest back.  false: for a session */
	int64		last_size;		/* of the claimant's last range; 0: none */
	int64		age;			/* microseconds since that was claimed */
} HiloSizing;

/* The size that a range should have, by the sizing and the options in the row. */
extern int64 hilo_counter_size(const HiloSizing *sizing, const HiloRow *row);

/*
 * Claim numbers above wanted->above: a range whose size the sizing gives, or, with NULL,
 * exactly the block that is wanted.  Creates a row that does not exist or was dropped,
 * unless hilo.auto_create is off.  *row is the row as it is then.
 */
extern void hilo_counter_claim(HiloRowRef *ref, const HiloSizing *sizing, HiloWanted *wanted,
							   HiloRow *row, HiloClaim *claim);

/*
 * Claim one number, as hilo_counter_claim() does: the next one if number is 0; else exactly that
 * one, and all below it.  Returns 0 if max has reached it.  If another server counts and the number
 * cannot be had, a higher one is returned.
 */
extern int64 hilo_counter_claim_number(HiloRowRef *ref, int64 number);

/* Raise 55000 for a counter of a Citus worker, unless its numbers come from elsewhere. */
extern void hilo_counter_refuse_worker(const char *name);

/*
 * Copy the row; the epoch is 0 if the row came from elsewhere.  Returns false
 * if the counter does not exist or was dropped; *row is then an empty row with
 * HILO_ROW_DROPPED, or the dropped one.
 */
extern bool hilo_counter_read(HiloRowRef *ref, HiloRow *row);

/*
 * True if numbers of a claim may still be used, given the row as read: it has
 * the same table, database and epoch, and they are not above max.
 */
extern bool hilo_counter_holds(const HiloRow *row, const HiloClaim *claim);

/*
 * Give the rest of a client's claim back to the counter, if the claim with that token is still
 * the newest.  Returns whether it was; after an error nothing has changed.  Not flushed:
 * losing the change costs only a gap.
 */
extern bool hilo_counter_give_back(HiloRowRef *ref, const HiloClaim *rest);

/*
 * Move max up to at least value, creating the row if necessary; a new epoch.  With force, set
 * max to it, up or down.  Returns the max now stored.
 */
extern int64 hilo_counter_seed(HiloRowRef *ref, int64 value, bool force);

/* What can be set for a single counter. */
typedef struct HiloCounterOptions
{
	bool		reset;			/* first reset all options */
	int64		range_size;		/* each of these three: 0: leave it */
	int64		max_range_size;
	int64		max_value;
	const char *node_tag;		/* NULL: leave it */
	const char *separator;		/* NULL: leave it */
} HiloCounterOptions;

/* Set the options, creating the row if necessary.  Claimed ranges stay valid. */
extern void hilo_counter_configure(HiloRowRef *ref, const HiloCounterOptions *options);

/*
 * Merge a row from another database or a backup: max and what belongs to it only
 * go up; a counter that does not exist here is created as it was there.
 */
extern void hilo_counter_merge(HiloRowRef *ref, const HiloRow *other);

/* Drop the counter.  Returns false if it did not exist. */
extern bool hilo_counter_drop(HiloRowRef *ref);

/*
 * Shared counters
 *
 * A counter whose row says HILO_ROW_SHARED is one of several servers'.  Which of them
 * counts, and how the others get their numbers, is the business of the extension hilo_hub:
 * its library is loaded when such a counter is drawn from.
 */

/* The extension, its library, and the function that returns HiloWing. */
#define HILO_WING_NAME		"hilo_hub"
#define HILO_WING_FUNCTION	"hilo_hub_wing"

/* What it does for shared counters. */
typedef struct HiloWing
{
	/*
	 * True if this server counts what is called name; false if another one
	 * does. Raises 55000 if it must not.
	 */
	bool		(*counts_here) (const char *name);

	/* hilo_counter_claim() where another server counts. */
	void		(*claim) (HiloRowRef *ref, const HiloSizing *sizing, HiloWanted *wanted,
						  HiloRow *row, HiloClaim *claim);

	/*
	 * Numbers of the counter were taken from the pool, which may need more
	 * soon.  Raises no error because it cannot get them.
	 */
	void		(*taken) (HiloRowRef *ref, const HiloRow *row);
} HiloWing;

/*
 * These functions, for a shared counter of that name.  Raises 55000 if the extension
 * is not installed in this database: the numbers may be drawn elsewhere.
 */
extern const HiloWing *hilo_wing(const char *name);

#endif							/* HILO_COUNTER_H */

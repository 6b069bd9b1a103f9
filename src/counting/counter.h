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

#include "base/export.h"
#include "base/settings.h"
#include "counting/range.h"
#include "counting/row.h"

/* Numbers that were claimed, here or by another server, and what identifies the claim. */
typedef struct HiloClaim
{
	HiloRange	range;
	int64		home;			/* of the row that they come from, */
	int64		epoch;			/* as of the claim */
	int64		token;			/* of a client's claim: random; else 0 */
	XLogRecPtr	lsn;			/* end of its WAL record */
	bool		fetched;		/* from another server; false: counted here */
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
extern HILO_EXPORT bool hilo_is_identity(const char *name);

/* For errmsg(): the kind of counter, and its name without a bar. */
#define HILO_COUNTER_FORMAT	"%s \"%.*s\""
#define HILO_COUNTER_ARGS(name) \
	(hilo_is_identity(name) ? "identity" : "collection"), \
	(int) strlen(name) - (hilo_is_identity(name) ? 1 : 0), (name)

/* For messages that need not say that a collection is one. */
#define HILO_NAME_FORMAT	"%s\"%.*s\""
#define HILO_NAME_ARGS(name) \
	(hilo_is_identity(name) ? "identity " : ""), \
	(int) strlen(name) - (hilo_is_identity(name) ? 1 : 0), (name)

/*
 * True for the name of the row of server-side ids, or of this server itself.
 */
extern HILO_EXPORT bool hilo_is_own_name(const char *name);

/*
 * True at this session's first call with that message and name.  Any text can stand for
 * the message.
 */
extern HILO_EXPORT bool hilo_once(const char *message, const char *name);

/* How large a range should be: what its size depends on, besides the row. */
typedef struct HiloSizing
{
	bool		for_client;		/* true: for a client program: the claim has a
								 * token, and whoever knows it can give the
								 * rest back.  false: for a session, and the
								 * pool */
	int64		last_size;		/* of the claimant's last range; 0: none */
	int64		age;			/* microseconds since that was claimed */
	int64		keep;			/* for a session: how many numbers it keeps,
								 * rather than leave them to the pool; 0: all */
	int64		least;			/* and the smallest size; 0: any */
	int64		finished;		/* of the pool: hilo_pool_finished(), */
	TimestampTz finished_at;	/* and what that sets */
	int64		left;
	int64		wish;			/* result: the size without keep */
	bool		joins;			/* result: the newest claims may be under way;
								 * for the rate, this one is a part of them */
} HiloSizing;

/*
 * Set size and reserve of what is wanted by the rate and the options in the row: the
 * size by the claimant's last range, and the reserve by the newest claim of the
 * counter, whoever made it.
 */
extern void hilo_counter_size(HiloSizing *sizing, const HiloRow *row, HiloWanted *wanted);

/*
 * Claim a range, of the size that the sizing leads to; or a block, if there is none.
 * Creates a row that does not exist or was dropped, unless hilo.auto_create is off.
 * Returns false, having claimed nothing, if the collection is ordered, the numbers
 * come or should come from another server, or the size is 0.  *row is the row as it
 * is then.
 */
extern HILO_EXPORT bool hilo_counter_claim(HiloRowRef *ref, HiloLeasing leasing,
										   HiloSizing *sizing, HiloWanted *wanted,
										   HiloRow *row, HiloClaim *claim);

/*
 * Claim one number, as hilo_counter_claim() does, for a statement that shows it, and
 * that may follow synchronous_commit = off.  With a number above 0, claim that one, and
 * all below it; returns false, too, if it is claimed already.
 */
extern bool hilo_counter_claim_number(HiloRowRef *ref, HiloLeasing leasing, int64 number,
									  HiloRow *row, HiloClaim *claim);

/*
 * Claim numbers of an ordered collection for all sessions, which wait for standbys
 * themselves.  Returns false, having claimed nothing, if the row does not exist, is not
 * that of an ordered collection, or has another epoch.
 *
 * If the timeline is not that of the last claim, the row gets a new epoch,
 * because earlier claims may not all be known here.
 */
extern bool hilo_counter_claim_in_order(HiloRowRef *ref, int64 epoch,
										const HiloWanted *wanted, HiloClaim *claim);

/*
 * True if the counter with this row should be counted by another server but is not
 * yet.  The row of server-side ids never is.
 */
extern HILO_EXPORT bool hilo_counter_is_for_hub(const HiloRowRef *ref, const HiloRow *row,
												HiloLeasing leasing);

/*
 * Copy the row; the epoch is 0 if the row came from elsewhere.  Returns false
 * if the counter does not exist or was dropped; *row is then an empty row with
 * HILO_ROW_DROPPED, or what is left of it.
 */
extern HILO_EXPORT bool hilo_counter_read(HiloRowRef *ref, HiloRow *row);

/*
 * The epoch of an ordered collection for its readers: another one means that numbers
 * may come again, or start lower.
 */
extern int64 hilo_counter_reader_epoch(const HiloRow *row);

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
 * numbers up to limit: move max like a seed, and do what hilo_counter_note_bound()
 * does.  Creates the row if necessary.  Raises 2200H if no number would be left.
 * Returns the max now stored.
 */
extern int64 hilo_counter_adopt(HiloRowRef *ref, int64 highest, int64 limit);

/*
 * Record in the row that hilo.binding has a row about the counter, before that becomes
 * visible, and lower the limit to that of bound columns (PG_INT64_MAX: there is none),
 * though not below max.  Creates the row if necessary.
 */
extern void hilo_counter_note_bound(HiloRowRef *ref, int64 limit);

/*
 * Raise 2200H if the number, which is about to be used, is above a limit that is not in
 * the row, as that of the type of a column which draws by its default; and warn near it.
 */
extern void hilo_counter_check_limit(const HiloRowRef *ref, const HiloRow *row,
									 int64 limit, int64 number);

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
 * hold numbers drawn before it became ordered.  False: it is not ordered.
 */
extern bool hilo_counter_settle(HiloRowRef *ref);

/*
 * Merge a row from another database or a backup: max and what belongs to it only
 * go up; a counter that does not exist here is created as it was there, but where new
 * ones are counted elsewhere, it is a new one.
 */
extern void hilo_counter_merge(HiloRowRef *ref, const HiloRow *other);

/* Drop the counter.  Returns false if it did not exist. */
extern bool hilo_counter_drop(HiloRowRef *ref);

/*
 * Parts of a change, for changes that are made elsewhere
 */

/* Set max, up or down, to a value within the limit.  The counter then exists. */
extern HILO_EXPORT void hilo_counter_put_max(HiloRow *row, int64 max);

/* Put a claim into the row, with what is to be known of it: claim_low and its token. */
extern HILO_EXPORT void hilo_counter_put_claim(HiloRow *row, const HiloRange *range,
											   int64 low, int64 token);

/* Set a new epoch. */
extern HILO_EXPORT void hilo_counter_put_epoch(HiloRow *row);

/*
 * Finish a change after which every session must read the row again.  Returns
 * the LSN to flush.
 */
extern HILO_EXPORT XLogRecPtr hilo_counter_finish(HiloRowChange *change);

/*
 * The epoch with which a claim made here can be valid; a row that came from
 * elsewhere has none.
 */
extern HILO_EXPORT int64 hilo_counter_epoch_here(const HiloRowChange *change);

/*
 * Release the row, unless there is none, and raise 55000 because of what the
 * counter is; message has HILO_COUNTER_FORMAT.
 */
extern HILO_EXPORT void hilo_counter_refuse(HiloRowChange *change, const HiloRowRef *ref,
											const char *message, const char *detail,
											const char *hint);

/* Raise 42704 because there is no such counter, and the settings let no draw create it. */
extern HILO_EXPORT void hilo_counter_refuse_missing(const HiloRowRef *ref);

/* Release the row and raise 55000 if the numbers come from another server. */
extern HILO_EXPORT void hilo_counter_refuse_leased(HiloRowChange *change,
												   const HiloRowRef *ref);

#endif							/* HILO_COUNTER_H */

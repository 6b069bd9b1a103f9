/*-------------------------------------------------------------------------
 *
 * counter.h
 *	  The counters: what happens to a row of hilo.hilo.
 *
 * Rows change in place (see row.h).  No lock is held any more when a function
 * returns.
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

#include "range.h"
#include "row.h"

/* Numbers that were claimed or leased, and what to show to use them. */
typedef struct HiloClaim
{
	HiloRange	range;
	int64		home;			/* of the row they were cut from, */
	int64		epoch;			/* as the claim left it */
	int64		changes;		/* of that: how often it had changed */
	int64		token;			/* random, of a client's claim; else 0 */
	XLogRecPtr	lsn;			/* end of its WAL record */
	bool		leased;			/* or counted? */
} HiloClaim;

/* The claimant. */
typedef enum HiloClaimant
{
	/* A session: what it does not use goes back by hilo_counter_give_back(). */
	HILO_FOR_SESSION,

	/*
	 * A client program: the claim gets a token, with which it can be given
	 * back by anybody who knows it.
	 */
	HILO_FOR_CLIENT,

	/*
	 * A statement that shows a number of its own, which is on disk when it
	 * returns unless synchronous_commit = off.
	 */
	HILO_FOR_STATEMENT
} HiloClaimant;

/* Where this server would have counters lease from that it has not leased yet. */
typedef struct HiloWantedHub
{
	const char *name;			/* NULL: nowhere, it counts them itself */
	bool		even_counted;	/* those as well that were counted here? */
} HiloWantedHub;

/* Is it the name of an identity, which ends in a bar? */
extern bool hilo_is_identity(HiloName name);

/* For errmsg(): what is counted, and its name without a bar. */
#define HILO_COUNTER_FORMAT	"%s \"%.*s\""
#define HILO_COUNTER_ARGS(name) \
	(hilo_is_identity(name) ? "identity" : "collection"), \
	(name).len - (hilo_is_identity(name) ? 1 : 0), (name).data

/* Is it the row of server-side ids, or of this server as a hub? */
extern bool hilo_is_own_name(HiloName name);

/*
 * Claim a range.  A row that is not there, or was dropped, is created, unless
 * hilo.auto_create is off.  Returns false, having changed nothing, if the collection
 * is ordered, or the numbers are leased from a hub, or should be.
 */
extern bool hilo_counter_claim(HiloRowRef *ref, const HiloWantedHub *wanted,
							   const HiloRangeRequest *request,
							   HiloClaimant claimant, HiloClaim *claim);

/*
 * Claim a range for all sessions that draw from an ordered collection; they wait for
 * standbys themselves.  Returns false, having claimed nothing, if it is not ordered.
 * settled says that this can be noted in the row: see HILO_ROW_SETTLED.  On another
 * timeline than that of the last claim the row gets a new epoch, as the claims of
 * before may not all be known here.
 */
extern bool hilo_counter_claim_ordered(HiloRowRef *ref,
									   const HiloRangeRequest *request,
									   bool settled, HiloClaim *claim);

/*
 * Claim number and all below it, for a statement, if it is not claimed
 * yet.  Returns false, having changed nothing, if it is, or the numbers
 * are leased from a hub, or should be.  Creates a row as hilo_counter_claim() does.
 */
extern bool hilo_counter_claim_number(HiloRowRef *ref,
									  const HiloWantedHub *wanted,
									  int64 number);

/*
 * Should a counter whose row this is be leased, and is not yet?  The row of
 * server-side ids never is.
 */
extern bool hilo_counter_is_for_hub(const HiloRowRef *ref, const HiloRow *row,
									const HiloWantedHub *wanted);

/* Raise the error that a claim would where it may not create the counter. */
extern void hilo_counter_check_may_create(HiloRowRef *ref);

/*
 * Copy the row; its epoch is 0 if it came from elsewhere.  False when there is no such counter, or it was dropped; then
 * *row is an empty one with HILO_ROW_DROPPED, or what was left of it.
 */
extern bool hilo_counter_read(HiloRowRef *ref, HiloRow *row);

/*
 * May numbers of a claim still be used, if this is what was read of the row:
 * same table, same database, same epoch, and not above max?
 */
extern bool hilo_counter_holds(const HiloRow *row, const HiloClaim *claim);

/*
 * Put the numbers above last, the last one used of the claim, back into the
 * counter, if this claim is still the newest.  Returns whether it was; after
 * an error nothing has happened.  Not flushed: losing this costs a gap.  At
 * exit it does not wait for locks on the table and its indexes.
 */
extern bool hilo_counter_give_back(HiloRowRef *ref, const HiloClaim *claim,
								   int64 last, bool at_exit);

/*
 * The same for the range of a client that ends in high: it must be the newest
 * claim and have that token, or, with token 0, an end that was never handed
 * out before.
 */
extern bool hilo_counter_return(HiloRowRef *ref, int64 last, int64 high,
								int64 token);

/*
 * At least value: advance max to it (or, with force, set it), creating the row
 * if there is none; a new epoch.  Returns the max now stored.  With force, a
 * counter that has left its hub counts by itself from then on; one that has not,
 * or that has given leases, is refused.
 */
extern int64 hilo_counter_seed(HiloRowRef *ref, int64 value, bool force);

/*
 * Advance max to number, which was chosen by hand, so that it will not be
 * claimed later.  Not flushed: a transaction that stores the number does that.
 *
 * Returns false, having changed nothing, if that would use up more than half of
 * the numbers left.  *row is the row then.
 */
extern bool hilo_counter_advance(HiloRowRef *ref, int64 number, HiloRow *row);

/*
 * Get a counter ready for a column that holds numbers up to highest, and can
 * hold them up to limit: like a seed, and the limit is lowered to that.  Raises
 * an error if no number would be left, unless lenient.  Returns the max now
 * stored.
 */
extern int64 hilo_counter_adopt(HiloRowRef *ref, int64 highest, int64 limit,
								bool lenient);

/* What can be set for a single counter. */
typedef struct HiloCounterOptions
{
	bool		reset;			/* forget first what was set before */
	int64		range_size;		/* each of these three: 0: leave it */
	int64		max_range_size;
	int64		max_value;
	bool		own_limit;		/* was it chosen, or is it that of a type? */
	const char *node_tag;		/* NULL: leave it */
	bool		change_order;	/* to what follows? */
	bool		ordered;
} HiloCounterOptions;

/*
 * Set that, creating the row if there is none.  The ranges claimed stay good, but if
 * the collection becomes ordered, or is so no more: then the result is true.
 */
extern bool hilo_counter_configure(HiloRowRef *ref,
								   const HiloCounterOptions *options);

/*
 * Note that something about the counter is in hilo.binding; to be called before
 * that can be seen there.  The limit is lowered to the one given, though not
 * below max.  Creates the row if there is none.
 */
extern void hilo_counter_note_binding(HiloRowRef *ref, int64 limit);

/* See that a row that came from elsewhere has an epoch by which claims can be good. */
extern void hilo_counter_settle_in(HiloRowRef *ref);

/*
 * Note that the last table of the counter is dropped, and nothing about it is in
 * hilo.binding any more.  It stays noted if that is rolled back, and then means
 * nothing.
 */
extern void hilo_counter_note_deserted(HiloRowRef *ref);

/*
 * Merge a row of another database or of a backup: max and what belongs to it
 * are advanced, never lowered; a counter that does not exist here is created as
 * it was there.
 */
extern void hilo_counter_merge(HiloRowRef *ref, const HiloRow *other);

/* Forget the counter.  Returns false when there was none. */
extern bool hilo_counter_drop(HiloRowRef *ref, bool force);

/*
 * On a hub
 */

/* What this server is as a hub. */
typedef struct HiloHubState
{
	int64		timeline;		/* on which a counter that has given no lease
								 * may give one: where the extension was
								 * created, or hilo_hub_resume() was called
								 * last; HILO_NOT_RESUMED if it was copied or
								 * restored since, or left behind */
	int64		told;			/* timeline that members are told */
	bool		synchronous;	/* must a synchronous standby have a lease? */
	bool		resumes;		/* may counters go on by themselves on a new
								 * timeline? */
} HiloHubState;

/*
 * Claim a lease of up to size numbers above a number for a member; with size 0
 * only see that one would be given.  *result is the row then.
 *
 * Raises an error where leases might overlap with those that were given before:
 * the server has been promoted since, or the row comes from elsewhere.
 */
extern HiloRange hilo_counter_lease(HiloRowRef *ref,
									const HiloWantedHub *wanted, int64 size,
									int64 above, const HiloHubState *state,
									HiloRow *result);

/*
 * Let the counter give leases again that the above refuses, above at_least,
 * creating the row if there is none.  Refused on a member.  Returns the max now
 * stored.
 */
extern int64 hilo_counter_resume(HiloRowRef *ref, int64 at_least);

/* Let the counter, if it has given leases, give none before that. */
extern void hilo_counter_stop_leases(HiloRowRef *ref);

/*
 * On a member
 */

/*
 * Lease the numbers from the hub from now on, at least size at a time (0: as the
 * setting says); with an empty hub no more.  Creates the row if there is none.
 * Returns whether what was claimed or leased before is worthless from then on.
 * Refused if the collection is ordered.
 */
extern bool hilo_counter_set_hub(HiloRowRef *ref, const char *hub,
								 int32 size);

/* What was asked, and what the hub has answered. */
typedef struct HiloLeaseAnswer
{
	int64		asked_epoch;	/* of the row here, when the hub was asked; 0:
								 * there was none, or one from elsewhere */
	NameData	asked_hub;		/* which hub that was */
	bool		is_first;		/* was the counter not leased yet? */
	HiloRange	range;
	int64		hub_epoch;
	int32		range_size;		/* the hub's options: 0: not set there */
	int32		max_range_size;
	bool		has_tag;
	NameData	node_tag;
} HiloLeaseAnswer;

/*
 * Take a lease in: what of it lies above max, and not above the limit, is
 * *claim; max is then its end.  With the first one the counter becomes one that is
 * leased; a row is created if there was none.  Returns false, having changed
 * nothing, if the row is not any more what it was when the hub was asked; *claim is
 * empty if nothing of it is above max.  Not flushed: what draws from the claim does
 * that.
 */
extern bool hilo_counter_take_in(HiloRowRef *ref,
								 const HiloLeaseAnswer *answer,
								 HiloClaim *claim);

/*
 * The same for an answer without numbers, about a counter that is leased: *worthless
 * says whether what is leased is so by now.
 */
extern bool hilo_counter_hear(HiloRowRef *ref, const HiloLeaseAnswer *answer,
							  bool *worthless);

#endif							/* HILO_COUNTER_H */

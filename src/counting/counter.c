/*-------------------------------------------------------------------------
 *
 * counter.c
 *	  The counters: every change to a row of hilo.hilo.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "replication/logicalworker.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "counting/counter.h"
#include "counting/source.h"

/*
 * The bits of an ordered collection's epoch that are those of the timeline; and those
 * that change alone where numbers go on above all that were claimed, of which its
 * readers need not know.
 */
#define TIMELINE_BITS	INT64CONST(0xffff)
#define RAISE_BITS		INT64CONST(0xffff0000)
#define ONE_RAISE		INT64CONST(0x10000)

bool
hilo_is_own_name(const char *name)
{
	return strcmp(name, HILO_OWN_NAME) == 0;
}

bool
hilo_is_identity(const char *name)
{
	size_t		len = strlen(name);

	return len > 1 && name[len - 1] == '|';
}

/*
 * Messages
 *
 * A row is released before an error is reported, because that may wait for the
 * client.  Its contents stay in the change.
 */

/* Hint at how to get a higher limit for a row; for ereport(). */
static int
hint_at_limit(const HiloRow *row)
{
	if (row->flags & HILO_ROW_OWN_LIMIT)
		return errhint("Raise max_value with hilo.configure() if the type of the column allows larger numbers.");
	if (row->max_value < PG_INT64_MAX)
		return errhint("Move the column to a larger type with ALTER TABLE ... ALTER COLUMN ... TYPE.");
	return 0;
}

/* Raise the error that no numbers are left. */
static void
report_limit(const HiloRow *row, const HiloRowRef *ref)
{
	ereport(ERROR,
			(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
			 row->max < row->max_value ?
			 errmsg(HILO_COUNTER_FORMAT " does not have enough numbers left",
					HILO_COUNTER_ARGS(ref->name)) :
			 errmsg(HILO_COUNTER_FORMAT " has no numbers left", HILO_COUNTER_ARGS(ref->name)),
			 errdetail("Numbers up to " INT64_FORMAT " have been claimed; the limit is " INT64_FORMAT ".",
					   row->max, row->max_value),
			 hint_at_limit(row)));
}

/* Hashes of the messages sent: with 64 bits they practically never collide. */
static HTAB *said = NULL;

bool
hilo_once(const char *message, const char *name)
{
	uint64		key = hash_bytes_extended((const unsigned char *) name, strlen(name),
										  hash_bytes((const unsigned char *) message, strlen(message)));
	bool		found;

	if (said == NULL)
	{
		HASHCTL		ctl = {.keysize = sizeof(uint64),.entrysize = sizeof(uint64),
		.hcxt = TopMemoryContext};

		said = hash_create("hilo messages", 16, &ctl,
						   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	(void) hash_search(said, &key, HASH_ENTER, &found);
	return !found;
}

/* True if max has passed nine tenths of the limit. */
#define IS_NEAR_LIMIT(row)	((row)->max >= (row)->max_value - (row)->max_value / 10)

/*
 * Warn, once per session, that a counter nears the end of its type: max has
 * passed nine tenths of the limit.  If the limit was set by hand, reaching it
 * is expected.
 */
static void
warn_near_limit(const HiloRowRef *ref, const HiloRow *row)
{
	if (!IS_NEAR_LIMIT(row) || (row->flags & HILO_ROW_OWN_LIMIT) ||
		!hilo_once("near limit", ref->name))
		return;
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg(HILO_COUNTER_FORMAT " has used nine tenths of its numbers",
					HILO_COUNTER_ARGS(ref->name)),
			 errdetail("Numbers up to " INT64_FORMAT " have been claimed; the limit is " INT64_FORMAT ".",
					   row->max, row->max_value),
			 hint_at_limit(row)));
}

void
hilo_counter_check_limit(const HiloRowRef *ref, const HiloRow *row, int64 limit, int64 number)
{
	HiloRow		limited = *row;

	limited.max_value = limit;
	limited.flags &= ~HILO_ROW_OWN_LIMIT;
	if (number > limit)
		report_limit(&limited, ref);
	limited.max = number;
	warn_near_limit(ref, &limited);
}

/*
 * Release the row, unless there is none, and raise 55000 because of what the
 * counter is; message has HILO_COUNTER_FORMAT.
 */
void
hilo_counter_refuse(HiloRowChange *change, const HiloRowRef *ref, const char *message,
					const char *detail, const char *hint)
{
	if (change != NULL)
		hilo_row_abandon(change);
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg(message, HILO_COUNTER_ARGS(ref->name)),
			 detail == NULL ? 0 : errdetail("%s", detail),
			 hint == NULL ? 0 : errhint("%s", hint)));
}

void
hilo_counter_refuse_leased(HiloRowChange *change, const HiloRowRef *ref)
{
	const char *hub = NameStr(change->row.hub);

	if (!(change->row.flags & HILO_ROW_LEASED) || hub[0] == '\0')
		return;
	hilo_row_abandon(change);
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg(HILO_COUNTER_FORMAT " is leased from server \"%s\"",
					HILO_COUNTER_ARGS(ref->name), hub),
			 errhint("Do this on that server, or first call hilo.lease_from() with a null server to stop leasing.")));
}

/*
 * Rows
 */

/* Set the limit: one set by hand, or that of a type. */
static void
set_limit(HiloRow *row, int64 limit, bool own)
{
	row->max_value = limit;
	if (own)
		row->flags |= HILO_ROW_OWN_LIMIT;
	else
		row->flags &= ~HILO_ROW_OWN_LIMIT;
}

/*
 * Set max, up or down, to a value within the limit.  The counter then exists.
 */
void
hilo_counter_put_max(HiloRow *row, int64 max)
{
	row->max = max;
	row->max_ever = Max(row->max_ever, max);
	row->flags &= ~HILO_ROW_DROPPED;
	hilo_row_end_claims(row);
}

void
hilo_counter_refuse_missing(const HiloRowRef *ref)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg(HILO_COUNTER_FORMAT " does not exist", HILO_COUNTER_ARGS(ref->name)),
			 errdetail("The setting \"hilo.auto_create\" is off, so draws do not create it."),
			 errhint("Check the name, or create it with %s.", hilo_is_identity(ref->name) ?
					 "seed_identity_for()" : "hilo.seed()")));
}

/*
 * Lock the row of the counter for a draw, creating it if that is allowed; but not
 * if another server would count: returns false if there is no such row.  That of server-side
 * ids may always be created: there is only one.
 */
static bool
find_for_draw(HiloRowChange *change, HiloRowRef *ref, HiloLeasing leasing)
{
	bool		is_own = hilo_is_own_name(ref->name);
	bool		may_create = hilo_auto_create || is_own;
	bool		create = may_create && (leasing == HILO_LEASE_NONE || is_own);

	if (hilo_row_find(change, ref, create ? HILO_ROW_CREATE : HILO_ROW_CHANGE))
	{
		if (may_create || !(change->row.flags & HILO_ROW_DROPPED))
			return true;
		hilo_row_abandon(change);
	}
	if (!may_create)
		hilo_counter_refuse_missing(ref);
	return false;
}

void
hilo_counter_put_claim(HiloRow *row, const HiloRange *range, int64 low, int64 token)
{
	TimestampTz now = GetCurrentTimestamp();

	row->max = range->high;
	row->claim_low = low;
	row->claim = token;
	row->flags &= ~(HILO_ROW_DROPPED | HILO_ROW_NEW_END);
	if (row->max > row->max_ever)
		row->flags |= HILO_ROW_NEW_END;
	row->max_ever = Max(row->max_ever, row->max);

	row->claim_rate = hilo_range_count(range) +
		(row->claimed_at == DT_NOBEGIN ? 0 :
		 hilo_rate_decay(row->claim_rate, now - row->claimed_at,
						 USECS_PER_HOUR));
	row->claimed_at = now;
}

/*
 * Finish a change after which every session must read the row again.  Returns
 * the LSN to flush.
 */
XLogRecPtr
hilo_counter_finish(HiloRowChange *change)
{
	Oid			table = RelationGetRelid(change->rel);
	XLogRecPtr	lsn = hilo_row_finish(change);

	HILO_KILL_POINT("before announcement");
	hilo_catalog_announce(table);
	return lsn;
}

void
hilo_counter_put_epoch(HiloRow *row)
{
	int64		epoch = hilo_random_number();

	if (row->flags & HILO_ROW_ORDERED)
		epoch = (epoch & ~TIMELINE_BITS) | (GetWALInsertionTimeLine() & TIMELINE_BITS);
	row->epoch = epoch;
}

/* Finish a change with a new epoch. */
static void
finish_new_epoch(HiloRowChange *change)
{
	hilo_counter_put_epoch(&change->row);
	hilo_row_flush(hilo_counter_finish(change));
}

/*
 * Finish a change that only moves max up.  It ends all claims, but readers of an
 * ordered collection go on where they are.
 */
static void
finish_raise(HiloRowChange *change)
{
	HiloRow    *row = &change->row;
	int64		before = row->epoch;

	hilo_counter_put_epoch(row);
	if ((row->flags & HILO_ROW_ORDERED) && ((before ^ row->epoch) & TIMELINE_BITS) == 0)
		row->epoch = (before & ~RAISE_BITS) | ((before + ONE_RAISE) & RAISE_BITS);
	hilo_row_flush(hilo_counter_finish(change));
}

int64
hilo_counter_reader_epoch(const HiloRow *row)
{
	return row->epoch & ~RAISE_BITS;
}

/*
 * Claim
 */

bool
hilo_counter_is_for_hub(const HiloRowRef *ref, const HiloRow *row,
						HiloLeasing leasing)
{
	return leasing != HILO_LEASE_NONE &&
		!(row->flags & (HILO_ROW_LEASED | HILO_ROW_ORDERED)) &&
		(leasing == HILO_LEASE_ALL || row->claimed_at == DT_NOBEGIN) &&
		!hilo_is_own_name(ref->name);
}

/* How many numbers the newest claim took, if that was one for sessions; else 0. */
static int64
last_size_for_sessions(const HiloRow *row)
{
	return row->claim_low == 0 || row->claim != 0 ? 0 : row->max - row->claim_low + 1;
}

void
hilo_counter_size(HiloSizing *sizing, const HiloRow *row, HiloWanted *wanted)
{
	int64		min = hilo_counter_range_size(row);
	int64		max = hilo_counter_max_range_size(row);
	int64		size;

	sizing->joins = false;
	if (sizing->for_client)
	{
		wanted->size = sizing->wish =
			hilo_range_size(sizing->last_size, sizing->age, HILO_CLIENT_RANGE_DURATION,
							row->range_size == 0 ? HILO_CLIENT_RANGE_SIZE : min, max);
		return;
	}
	size = hilo_range_size(sizing->last_size, sizing->age, HILO_RANGE_DURATION, min, max);
	size = Min(Max(size, sizing->least), max);
	sizing->wish = size;
	wanted->size = size;
	wanted->reserve = 0;
	if (sizing->keep == 0)
		return;

	/*
	 * Many sessions may draw few numbers each: the claims of all have a rate,
	 * too.  Only what has come to the pool, and is no longer there, can have
	 * been used up: while the newest claims are under way, or nothing is
	 * known of them, go on as if one number had been taken.  Otherwise
	 * sessions that claim at the same time, or whose last numbers are above
	 * those in the pool, would double the size one after the other.
	 */
	if (row->claimed_at != DT_NOBEGIN)
	{
		TimestampTz now = GetCurrentTimestamp();
		int64		age = now - row->claimed_at;
		int64		last_size = last_size_for_sessions(row);

		if (sizing->finished != row->claim_low)
		{
			/*
			 * Not for long: it may have failed, and then no other would
			 * finish.
			 */
			sizing->joins = sizing->finished > 0 && last_size > 0 &&
				now - sizing->finished_at <= 2 * HILO_RANGE_DURATION;
			last_size = Min(last_size, 1);
		}
		else
			last_size = Max(last_size - sizing->left, Min(last_size, 1));
		size = Max(size, hilo_range_size(last_size, age, HILO_RANGE_DURATION, min, max));
	}
	wanted->size = Min(sizing->wish, sizing->keep);
	wanted->reserve = size - wanted->size;
}

/*
 * Lock the row for a claim.  Returns false, with nothing locked, if its numbers are drawn
 * in order, or come or should come from another server.
 */
static bool
begin_claim(HiloRowChange *change, HiloRowRef *ref, HiloLeasing leasing)
{
	if (unlikely(!find_for_draw(change, ref, leasing)))
		return false;
	if (likely((change->row.flags & (HILO_ROW_LEASED | HILO_ROW_ORDERED)) == 0 &&
			   !hilo_counter_is_for_hub(ref, &change->row, leasing)))
		return true;
	hilo_row_abandon(change);
	return false;
}

/*
 * Claim what is wanted from the row, of the size that the sizing led to, if there is one,
 * and release it.  The caller has to wait for claim->lsn: only then may the numbers be used.  On
 * disk, max must not be below a number that was shown, or a crash would hand it out
 * again.
 */
static void
finish_claim(HiloRowChange *change, const HiloRowRef *ref, const HiloWanted *wanted,
			 HiloSizing *sizing, int64 token, HiloClaim *claim)
{
	HiloRow    *row = &change->row;
	HiloRange	range;
	int64		low;

	if (!hilo_range_cut(wanted, row->max, row->max_value, false, &range))
	{
		hilo_row_abandon(change);
		report_limit(row, ref);
	}
	if (sizing != NULL && range.low != row->max + 1)
		sizing->joins = false;
	if (sizing == NULL)
		low = 0;
	else
		low = sizing->joins ? row->claim_low : range.low;
	hilo_counter_put_claim(row, &range, low, token);
	*claim = (HiloClaim)
	{
		.range = range,.home = change->home,.epoch = row->epoch,
			.token = token,.lsn = hilo_row_finish(change)
	};
}

bool
hilo_counter_claim(HiloRowRef *ref, HiloLeasing leasing, HiloSizing *sizing,
				   HiloWanted *wanted, HiloRow *row, HiloClaim *claim)
{
	int64		token = sizing != NULL && sizing->for_client ? hilo_random_number() : 0;
	HiloRowChange change;
	bool		claims = begin_claim(&change, ref, leasing);

	if (claims && sizing != NULL)
		hilo_counter_size(sizing, &change.row, wanted);
	if (claims && wanted->size == 0)
	{
		hilo_row_abandon(&change);
		claims = false;
	}
	if (claims)
		finish_claim(&change, ref, wanted, sizing, token, claim);
	*row = change.row;
	if (!claims)
		return false;
	hilo_row_flush(claim->lsn);
	warn_near_limit(ref, row);
	return true;
}

bool
hilo_counter_claim_number(HiloRowRef *ref, HiloLeasing leasing, int64 number,
						  HiloRow *row, HiloClaim *claim)
{
	HiloWanted	wanted = {.size = 1,.exact = true,.alignment = 1,
	.above = Max(number - 1, 0)};
	HiloRowChange change;
	bool		claims = begin_claim(&change, ref, leasing);

	if (claims && change.row.max > wanted.above && number > 0)
	{
		hilo_row_abandon(&change);
		claims = false;
	}
	if (claims)
		finish_claim(&change, ref, &wanted, NULL, 0, claim);
	*row = change.row;
	if (!claims)
		return false;
	hilo_row_flush_claim(claim->lsn);
	warn_near_limit(ref, row);
	return true;
}

bool
hilo_counter_claim_in_order(HiloRowRef *ref, int64 epoch, const HiloWanted *wanted,
							HiloClaim *claim)
{
	HiloRowChange change;
	HiloRow    *row = &change.row;

	if (!hilo_row_find(&change, ref, HILO_ROW_CHANGE))
		return false;
	if ((row->flags & (HILO_ROW_LEASED | HILO_ROW_ORDERED)) != HILO_ROW_ORDERED ||
		row->epoch != epoch)
	{
		hilo_row_abandon(&change);
		return false;
	}

	/*
	 * A server that was promoted, or restored to a point in time, may not
	 * know the newest numbers that were drawn, and horizons that were
	 * reported, before.
	 */
	if ((row->epoch ^ GetWALInsertionTimeLine()) & TIMELINE_BITS)
		hilo_counter_put_epoch(row);
	finish_claim(&change, ref, wanted, NULL, 0, claim);
	hilo_row_flush_here(claim->lsn);
	warn_near_limit(ref, row);
	return true;
}

/*
 * The epoch with which a claim made here can be valid; a row that came from
 * elsewhere has none.
 */
int64
hilo_counter_epoch_here(const HiloRowChange *change)
{
	return change->row.home == change->home ? change->row.epoch : 0;
}

bool
hilo_counter_read(HiloRowRef *ref, HiloRow *row)
{
	HiloRowChange change;

	if (hilo_row_find(&change, ref, HILO_ROW_READ))
		hilo_row_abandon(&change);
	*row = change.row;
	row->epoch = hilo_counter_epoch_here(&change);
	return !(row->flags & HILO_ROW_DROPPED);
}

bool
hilo_counter_holds(const HiloRow *row, const HiloClaim *claim)
{
	return row->epoch == claim->epoch && row->home == claim->home &&
		claim->range.high <= row->max;
}

/*
 * Give back
 */

/*
 * True if the numbers are the rest of the newest claim of this row, which is a
 * client's, and nothing has happened since.
 */
static bool
is_rest(const HiloRow *row, const HiloClaim *rest)
{
	if (row->max != rest->range.high || row->claim_low == 0 ||
		row->claim_low > rest->range.low || row->claim == 0)
		return false;
	return rest->token != 0 ? rest->token == row->claim :
		(row->flags & HILO_ROW_NEW_END) != 0;
}

bool
hilo_counter_give_back(HiloRowRef *ref, const HiloClaim *rest)
{
	HiloRowChange change;
	HiloRow    *row = &change.row;

	if (!hilo_row_find(&change, ref, HILO_ROW_CHANGE))
		return false;
	if (!is_rest(row, rest))
	{
		hilo_row_abandon(&change);
		return false;
	}

	row->claim_rate = Max(row->claim_rate - hilo_range_count(&rest->range), 0);
	row->max = rest->range.low - 1;
	hilo_row_end_claims(row);
	hilo_row_finish(&change);
	return true;
}

/*
 * At least
 */

int64
hilo_counter_seed(HiloRowRef *ref, int64 value, bool force)
{
	HiloRowChange change;
	HiloRow    *row = &change.row;

	(void) hilo_row_find(&change, ref, HILO_ROW_CREATE);
	if (!force)
		value = Max(row->max, value);
	else
	{
		hilo_counter_refuse_leased(&change, ref);

		/* From now on numbers are counted here, whatever hilo.hub says. */
		if (row->flags & HILO_ROW_LEASED)
			row->claimed_at = GetCurrentTimestamp();
		row->flags &= ~HILO_ROW_LEASED;
	}
	if (value > row->max_value)
	{
		hilo_row_abandon(&change);
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("seed " INT64_FORMAT " is above the limit of " HILO_COUNTER_FORMAT,
						value, HILO_COUNTER_ARGS(ref->name)),
				 errdetail("The limit is " INT64_FORMAT ".", row->max_value)));
	}
	hilo_counter_put_max(row, value);
	if (force)
		finish_new_epoch(&change);
	else
		finish_raise(&change);
	warn_near_limit(ref, row);
	return value;
}

/* Lower the limit to that of a type, but not below max. */
static void
lower_limit(HiloRow *row, int64 limit)
{
	if (limit <= row->max_value)
		set_limit(row, Max(limit, row->max), false);
}

/*
 * Hint at how a column that can hold numbers up to limit gets numbers; for
 * ereport().
 */
static int
hint_to_adopt(const HiloRow *row, int64 limit)
{
	if (row->max_value < limit && (row->flags & HILO_ROW_OWN_LIMIT))
		return errhint("Raise max_value with hilo.configure().");
	if (row->max >= Min(limit, row->max_value))
		return errhint("Specify another collection, or move the column to a larger type.");
	if (limit < PG_INT64_MAX)
		return errhint("Move the column to a larger type.");
	return errhint("Change the row with the highest number.");
}

int64
hilo_counter_adopt(HiloRowRef *ref, int64 highest, int64 limit)
{
	HiloRowChange change;
	HiloRow    *row = &change.row;
	int64		end;

	(void) hilo_row_find(&change, ref, HILO_ROW_CREATE);
	end = Min(limit, row->max_value);
	highest = Max(row->max, highest);
	if (highest >= end)
	{
		hilo_row_abandon(&change);
		ereport(ERROR,
				(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
				 errmsg(HILO_COUNTER_FORMAT " would have no numbers left",
						HILO_COUNTER_ARGS(ref->name)),
				 errdetail("Numbers up to " INT64_FORMAT " are in use; the limit is " INT64_FORMAT ".",
						   highest, end),
				 hint_to_adopt(row, limit)));
	}
	row->flags |= HILO_ROW_BOUND;
	hilo_counter_put_max(row, highest);
	lower_limit(row, limit);
	finish_raise(&change);
	warn_near_limit(ref, row);
	return row->max;
}

/*
 * A session that has never read the bindings is not told about changes to them; hence
 * the flag in the row.
 */
void
hilo_counter_note_bound(HiloRowRef *ref, int64 limit)
{
	HiloRowChange change;
	HiloRow    *row = &change.row;

	(void) hilo_row_find(&change, ref, HILO_ROW_CREATE);
	if ((row->flags & HILO_ROW_BOUND) && row->max_value <= Max(limit, row->max))
	{
		hilo_row_abandon(&change);
		return;
	}
	row->flags |= HILO_ROW_BOUND;
	lower_limit(row, limit);
	hilo_row_flush(hilo_counter_finish(&change));
}

/*
 * Options
 */

/* Forget what hilo_counter_configure() has set. */
static void
reset_options(HiloRow *row)
{
	row->range_size = 0;
	row->max_range_size = 0;
	row->max_value = PG_INT64_MAX;
	row->flags &= ~(HILO_ROW_HAS_TAG | HILO_ROW_OWN_LIMIT);
	memset(&row->node_tag, 0, sizeof(NameData));
	row->separator[0] = '\0';
}

/*
 * Release the row and raise an error if the collection cannot be made ordered.
 * If numbers were drawn, transactions may hold some, and draw from ranges.
 */
static void
check_orderable(HiloRowChange *change, const HiloRowRef *ref, bool in_use)
{
	const HiloRow *row = &change->row;

	hilo_counter_refuse_leased(change, ref);
	if (row->flags & HILO_ROW_LEASED)
		hilo_counter_refuse(change, ref, HILO_COUNTER_FORMAT " still has leased numbers to draw", NULL,
							"To count here, force a seed above all numbers that other servers draw.");
	if (!in_use && !(row->flags & HILO_ROW_SETTLED) &&
		(row->claimed_at != DT_NOBEGIN || (row->flags & HILO_ROW_DRAWN)))
		hilo_counter_refuse(change, ref, HILO_COUNTER_FORMAT " is in use",
							"Transactions may hold numbers that were not drawn in order.",
							"Use CALL hilo.make_ordered(), which waits for them.");
}

bool
hilo_counter_configure(HiloRowRef *ref, const HiloCounterOptions *options)
{
	HiloRowChange change;
	HiloRow    *row = &change.row;
	bool		was_ordered;
	bool		is_ordered;

	(void) hilo_row_find(&change, ref, HILO_ROW_CREATE);
	was_ordered = (row->flags & HILO_ROW_ORDERED) != 0;
	is_ordered = options->change_order ? options->ordered :
		was_ordered && !options->reset;
	if (options->ordered)
		check_orderable(&change, ref, options->in_use);

	if (options->max_value > 0 && options->max_value < row->max)
	{
		hilo_row_abandon(&change);
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max_value " INT64_FORMAT " is too low for " HILO_COUNTER_FORMAT,
						options->max_value, HILO_COUNTER_ARGS(ref->name)),
				 errdetail("Numbers up to " INT64_FORMAT " have been claimed.", row->max)));
	}

	if (options->reset)
		reset_options(row);
	if (options->range_size > 0)
		row->range_size = options->range_size;
	if (options->max_range_size > 0)
		row->max_range_size = options->max_range_size;
	if (options->max_value > 0)
		set_limit(row, options->max_value, options->own_limit);
	if (options->node_tag != NULL)
	{
		row->flags |= HILO_ROW_HAS_TAG;
		namestrcpy(&row->node_tag, options->node_tag);
	}
	if (options->separator != NULL)
		row->separator[0] = options->separator[0];
	row->flags &= ~HILO_ROW_DROPPED;
	if (is_ordered != was_ordered)
	{
		row->flags &= ~(HILO_ROW_ORDERED | HILO_ROW_SETTLED);
		if (is_ordered)
			row->flags |= HILO_ROW_ORDERED;
		row->of_hub.epoch = 0;
		hilo_row_end_claims(row);
		hilo_counter_put_epoch(row);
	}
	hilo_row_flush(hilo_counter_finish(&change));
	return is_ordered != was_ordered;
}

bool
hilo_counter_settle(HiloRowRef *ref)
{
	HiloRowChange change;
	HiloRow    *row = &change.row;

	if (!hilo_row_find(&change, ref, HILO_ROW_CHANGE))
		return false;
	if ((row->flags & (HILO_ROW_ORDERED | HILO_ROW_SETTLED)) != HILO_ROW_ORDERED)
	{
		hilo_row_abandon(&change);
		return (row->flags & HILO_ROW_ORDERED) != 0;
	}
	row->flags |= HILO_ROW_SETTLED;
	row->flags &= ~HILO_ROW_DRAWN;
	hilo_row_flush(hilo_counter_finish(&change));
	return true;
}

/*
 * Merge and drop
 */

/*
 * True if nothing has happened to a row except that its collection was bound.
 * Restoring bindings before counters leaves such rows.
 */
static bool
is_as_created(const HiloRow *row)
{
	return row->max == 0 && row->max_ever == 0 &&
		row->claimed_at == DT_NOBEGIN &&
		row->range_size == 0 && row->max_range_size == 0 &&
		row->max_value == PG_INT64_MAX && row->separator[0] == '\0' &&
		(row->flags & (HILO_ROW_HAS_TAG | HILO_ROW_LEASED |
					   HILO_ROW_ORDERED)) == 0;
}

void
hilo_counter_merge(HiloRowRef *ref, const HiloRow *other)
{
	const HiloSource *source = (other->flags & HILO_ROW_LEASED) || other->of_hub.term.lineage != 0 ?
		hilo_source() : NULL;
	HiloLeasing leasing = hilo_leasing();
	HiloRowChange change;
	HiloRow    *row = &change.row;

	(void) hilo_row_find(&change, ref, HILO_ROW_CREATE);

	if (change.created || (row->flags & HILO_ROW_DROPPED) ||
		is_as_created(row))
	{
		HiloRow		before = *row;

		*row = *other;
		row->max_ever = Max(before.max_ever, row->max_ever);
		if (hilo_is_own_name(ref->name))
			row->of_hub.term.lineage = before.of_hub.term.lineage;
		row->flags &= ~HILO_ROW_DRAWN;
		row->flags |= before.flags & (HILO_ROW_BOUND | HILO_ROW_DRAWN);
		if (row->flags & HILO_ROW_DRAWN)
			row->flags &= ~HILO_ROW_SETTLED;
		if (row->flags & HILO_ROW_DROPPED)
			row->max = before.max;

		/* What was drawn elsewhere was not drawn here. */
		if (leasing != HILO_LEASE_NONE && !(row->flags & HILO_ROW_LEASED))
		{
			row->claimed_at = DT_NOBEGIN;
			if (IsLogicalWorker())
				row->flags &= ~(HILO_ROW_ORDERED | HILO_ROW_SETTLED);
		}
	}
	else if (!(other->flags & HILO_ROW_DROPPED))
	{
		row->max = Max(row->max, other->max);
		row->flags |= other->flags & HILO_ROW_BOUND;
		if (source != NULL)
			source->merge(row, other);
	}
	row->of_hub.epoch = 0;
	if ((row->flags & HILO_ROW_LEASED) || hilo_is_identity(ref->name) ||
		hilo_is_own_name(ref->name))
		row->flags &= ~HILO_ROW_ORDERED;
	row->max_ever = Max(Max(row->max_ever, row->max), other->max_ever);
	row->max_value = Max(row->max_value, row->max);
	hilo_row_end_claims(row);

	/*
	 * Even if max stays the same: the rest of the ranges here may lie below
	 * the other max, and may have been used there.
	 */
	finish_new_epoch(&change);
}

bool
hilo_counter_drop(HiloRowRef *ref)
{
	HiloRowChange change;
	HiloRow    *row = &change.row;

	if (!hilo_row_find(&change, ref, HILO_ROW_CHANGE))
		return false;
	if (row->flags & HILO_ROW_DROPPED)
	{
		hilo_row_abandon(&change);
		return false;
	}
	hilo_counter_refuse_leased(&change, ref);

	hilo_counter_put_max(row, 0);
	reset_options(row);
	if (row->claimed_at != DT_NOBEGIN)
		row->flags |= HILO_ROW_DRAWN;
	row->of_hub.epoch = 0;
	row->flags &= ~(HILO_ROW_LEASED | HILO_ROW_ORDERED | HILO_ROW_SETTLED);
	row->flags |= HILO_ROW_DROPPED;
	row->lease_size = 0;
	row->claimed_at = DT_NOBEGIN;
	row->claim_rate = 0;
	finish_new_epoch(&change);
	return true;
}

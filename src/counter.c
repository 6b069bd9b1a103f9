/*-------------------------------------------------------------------------
 *
 * counter.c
 *	  The counters: every change to a row of hilo.hilo.
 *
 * What a claim, a seed, a drop, a change of options and a merge do to a row is told here; how the
 * row is found, changed in place and logged, in row.c.  Each function has the same three parts:
 * hilo_row_find() locks the row; then its contents are checked and changed, or it is released
 * with hilo_row_abandon() and an error raised; then a hilo_row_finish... function logs the change
 * and releases the row, and the LSN is waited for.  An error comes after the release, because to
 * report it may wait for the client.
 *
 * A claim changes nothing that other sessions have to know: they see the new max when they claim.
 * All other changes are announced, so that each session reads the row again before the next draw
 * after it has received the message; and those after which numbers that sessions hold must not be
 * used any more get a new epoch.
 *
 * If the row says that servers share the counter, the other extension is asked which one counts:
 * this server, with the functions below, or another one, from which it has numbers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/extension.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "counter.h"
#include "node.h"

bool
hilo_is_server_side(const char *name)
{
	return strcmp(name, HILO_SERVER_SIDE_NAME) == 0;
}

/*
 * Rows
 */

/*
 * Set max, up or down, to a value within the limit.  The counter then exists.  What is left of a
 * client's claim lies below another max now, so it cannot go back.
 */
static void
put_max(HiloRow *row, int64 max)
{
	row->max = max;
	row->flags &= ~HILO_ROW_DROPPED;
	hilo_row_end_claims(row);
}

/*
 * Finish a change after which every session must read the row again, and make it durable.
 *
 * The announcement goes out before the flush.  In the other order a session could draw from an
 * invalid range after the change was on disk, and forever if this session died in between.
 */
static void
finish_announced(HiloRowChange *change)
{
	Oid			table = RelationGetRelid(change->rel);
	XLogRecPtr	lsn = hilo_row_finish(change);

	HILO_KILL_POINT("before announcement");
	hilo_catalog_announce(table);
	hilo_row_flush(lsn);
}

/*
 * Finish a change with a new epoch, which makes all ranges and pooled numbers of before
 * worthless: also those of sessions that hear of it late, when they look at the row.
 */
static void
finish_new_epoch(HiloRowChange *change)
{
	change->row.epoch = hilo_random_number();
	finish_announced(change);
}

/*
 * Claim
 */

/*
 * The extension is looked for each time, because it may have been dropped; the library stays
 * loaded, so its table of functions is fetched once.
 */
const HiloWing *
hilo_wing(const char *name)
{
	static const HiloWing *wing = NULL;

	if (!OidIsValid(get_extension_oid(HILO_WING_NAME, true)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot draw from " HILO_COUNTER_FORMAT, HILO_COUNTER_ARGS(name)),
				 errdetail("Other servers draw from it, too, and extension \"%s\" is not installed.",
						   HILO_WING_NAME),
				 errhint("Run CREATE EXTENSION %s.", HILO_WING_NAME)));
	if (wing == NULL)
	{
		PGFunction	function = load_external_function(HILO_WING_NAME, HILO_WING_FUNCTION, true, NULL);

		wing = (const HiloWing *) DatumGetPointer(function(NULL));
	}
	return wing;
}

/*
 * In a cluster of Citus every worker has a copy of the extension, with counters of its own.  They
 * would give the same numbers as the coordinator's.  Server-side ids may be drawn there; their
 * tag makes them unique.
 */
void
hilo_counter_refuse_worker(const char *name)
{
	HiloRowRef	own = {.name = HILO_SERVER_SIDE_NAME};
	bool		is_identity = hilo_is_identity(name);
	HiloRow		row;

	if (likely(!hilo_node_is_worker()) || hilo_is_server_side(name))
		return;
	(void) hilo_counter_read(&own, &row);
	if (!(row.flags & HILO_ROW_SHARED))
		hilo_node_refuse(is_identity ? "identity" : "collection",
						 pnstrdup(name, strlen(name) - is_identity));
}

/*
 * Lock the row of the counter for a claim, creating it if that is allowed.  That of
 * server-side ids may always be created: there is only one.  Returns false, with nothing
 * locked, if another server counts.
 *
 * The other extension is asked with the row released, because it reads another row.  If this
 * server counts, the row is locked a second time.  In between it cannot cease to count:
 * hilo_hub.leave() returns only when this transaction has ended.
 */
static bool
lock_for_claim(HiloRowChange *change, HiloRowRef *ref)
{
	bool		may_create = hilo_auto_create || hilo_is_server_side(ref->name);

	hilo_counter_refuse_worker(ref->name);
	if (hilo_row_find(change, ref, may_create ? HILO_ROW_CREATE : HILO_ROW_CHANGE))
	{
		bool		exists = may_create || !(change->row.flags & HILO_ROW_DROPPED);

		/* Mostly it is a counter of this server alone. */
		if (likely(exists && !(change->row.flags & HILO_ROW_SHARED)))
			return true;
		hilo_row_abandon(change);
		if (exists)
			return hilo_wing(ref->name)->counts_here(ref->name) &&
				hilo_row_find(change, ref, HILO_ROW_CHANGE);
	}
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg(HILO_COUNTER_FORMAT " does not exist", HILO_COUNTER_ARGS(ref->name)),
			 errdetail("The setting \"hilo.auto_create\" is off, so draws do not create it."),
			 errhint("Check the name, or create it with %s.", hilo_is_identity(ref->name) ?
					 "seed_identity_for()" : "hilo.seed()")));
	return false;				/* keep compiler quiet */
}

/*
 * The options of the collection go before the settings; and a client program, whose ranges have
 * to last 30 seconds, begins with more numbers than a session.
 */
int64
hilo_counter_size(const HiloSizing *sizing, const HiloRow *row)
{
	int64		least = sizing->for_client ? HILO_CLIENT_RANGE_SIZE : hilo_min_range_size;

	if (row->range_size > 0)
		least = row->range_size;
	return hilo_range_size(sizing->last_size, sizing->age,
						   sizing->for_client ? HILO_CLIENT_RANGE_DURATION : HILO_RANGE_DURATION,
						   least, hilo_counter_max_range_size(row));
}

/*
 * Claim what is wanted from the row, and release it.  The caller has to wait for claim->lsn:
 * only then may the numbers be used.  On disk, max must not be below a number that was shown,
 * or a crash would hand it out again.
 *
 * A claim with a token is a client's, which may give its rest back.
 */
static void
finish_claim(HiloRowChange *change, const HiloRowRef *ref, const HiloWanted *wanted,
			 int64 token, HiloClaim *claim)
{
	HiloRow    *row = &change->row;
	TimestampTz now = GetCurrentTimestamp();
	HiloRange	range;

	if (!hilo_range_cut(wanted, row->max, row->max_value, false, &range))
	{
		/*
		 * First the row is released, because an error may wait for the
		 * client.
		 */
		hilo_row_abandon(change);
		ereport(ERROR,
				(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
				 row->max < row->max_value ?
				 errmsg(HILO_COUNTER_FORMAT " does not have enough numbers left",
						HILO_COUNTER_ARGS(ref->name)) :
				 errmsg(HILO_COUNTER_FORMAT " has no numbers left", HILO_COUNTER_ARGS(ref->name)),
				 errdetail("Numbers up to " INT64_FORMAT " have been claimed; the limit is " INT64_FORMAT ".",
						   row->max, row->max_value),
				 row->max_value < PG_INT64_MAX ?
				 errhint("Raise max_value with hilo.configure().") : 0));
	}
	put_max(row, range.high);
	row->claim_low = token == 0 ? 0 : range.low;
	row->claim = token;
	row->claim_rate = hilo_range_count(&range) +
		(row->claimed_at == DT_NOBEGIN ? 0 :
		 hilo_rate_decay(row->claim_rate, now - row->claimed_at, USECS_PER_HOUR));
	row->claimed_at = now;
	*claim = (HiloClaim)
	{
		.range = range,.home = change->home,.epoch = row->epoch,
			.token = token,.lsn = hilo_row_finish_claim(change, hilo_range_count(&range))
	};
}

/*
 * Claim what is wanted, and wait until it is safe to show it.  If not_past is above 0 and max has
 * reached it, claim nothing and return false.
 */
static bool
claim_and_flush(HiloRowRef *ref, const HiloSizing *sizing, HiloWanted *wanted, int64 not_past,
				HiloRow *row, HiloClaim *claim)
{
	int64		token = sizing != NULL && sizing->for_client ? hilo_random_number() : 0;
	HiloRowChange change;

	if (!lock_for_claim(&change, ref))
	{
		hilo_wing(ref->name)->claim(ref, sizing, wanted, row, claim);
		return true;
	}
	if (not_past > 0 && change.row.max >= not_past)
	{
		hilo_row_abandon(&change);
		return false;
	}
	if (sizing != NULL)
		wanted->size = hilo_counter_size(sizing, &change.row);
	finish_claim(&change, ref, wanted, token, claim);
	*row = change.row;
	hilo_row_flush(hilo_row_own_lsn(claim->lsn));
	return true;
}

void
hilo_counter_claim(HiloRowRef *ref, const HiloSizing *sizing, HiloWanted *wanted,
				   HiloRow *row, HiloClaim *claim)
{
	(void) claim_and_flush(ref, sizing, wanted, 0, row, claim);
}

int64
hilo_counter_claim_number(HiloRowRef *ref, int64 number)
{
	HiloWanted	wanted = {.size = 1,.exact = true,.alignment = 1,
	.above = Max(number - 1, 0)};
	HiloRow		row;
	HiloClaim	claim;

	return claim_and_flush(ref, NULL, &wanted, number, &row, &claim) ? claim.range.low : 0;
}

/*
 * A row that came from elsewhere is reported as having no epoch, so that no range matches it.
 * The first change gives it one.
 */
bool
hilo_counter_read(HiloRowRef *ref, HiloRow *row)
{
	HiloRowChange change;

	if (hilo_row_find(&change, ref, HILO_ROW_READ))
		hilo_row_abandon(&change);
	*row = change.row;
	if (row->home != change.home)
		row->epoch = 0;
	return !(row->flags & HILO_ROW_DROPPED);
}

/*
 * Max goes down only with a new epoch, or when the newest claim is given back, which is above all
 * ranges.  So a claim above max means that the row was changed by hand, and would come again.
 */
bool
hilo_counter_holds(const HiloRow *row, const HiloClaim *claim)
{
	return row->epoch == claim->epoch && row->home == claim->home &&
		claim->range.high <= row->max;
}

/*
 * Numbers go back by setting max down again, which is right only if they are the newest ones:
 * if max is the end of the claim, and the row knows the claim's token.  Then the same numbers
 * are claimed next, which is no repetition: the client program has not used them, as it says
 * by giving them back.
 *
 * The token ends with it, so that a range given back twice is refused.
 */
bool
hilo_counter_give_back(HiloRowRef *ref, const HiloClaim *rest)
{
	HiloRowChange change;
	HiloRow    *row = &change.row;

	if (!hilo_row_find(&change, ref, HILO_ROW_CHANGE))
		return false;
	if ((row->flags & HILO_ROW_SHARED) ||
		row->max != rest->range.high || row->claim != rest->token ||
		row->claim_low == 0 || row->claim_low > rest->range.low)
	{
		hilo_row_abandon(&change);
		return false;
	}
	row->claim_rate = Max(row->claim_rate - hilo_range_count(&rest->range), 0);
	put_max(row, rest->range.low - 1);
	hilo_row_finish_claim(&change, 0);
	return true;
}

/*
 * Administer
 */

/*
 * A seed begins a new epoch even if max stays, because sessions must throw away ranges below the
 * value.  A transaction that is under way may still use its range up, as long as it only draws.
 */
int64
hilo_counter_seed(HiloRowRef *ref, int64 value, bool force)
{
	HiloRowChange change;
	HiloRow    *row = &change.row;

	(void) hilo_row_find(&change, ref, HILO_ROW_CREATE);
	if (!force)
		value = Max(row->max, value);
	if (value > row->max_value)
	{
		hilo_row_abandon(&change);
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("seed " INT64_FORMAT " is above the limit of " HILO_COUNTER_FORMAT,
						value, HILO_COUNTER_ARGS(ref->name)),
				 errdetail("The limit is " INT64_FORMAT ".", row->max_value)));
	}
	put_max(row, value);
	finish_new_epoch(&change);
	return value;
}

/* Undo what hilo_counter_configure() has set. */
static void
reset_options(HiloRow *row)
{
	row->range_size = 0;
	row->max_range_size = 0;
	row->max_value = PG_INT64_MAX;
	row->flags &= ~HILO_ROW_HAS_TAG;
	memset(&row->node_tag, 0, sizeof(NameData));
	row->separator[0] = '\0';
}

/*
 * Options are announced, but bring no new epoch: a range that was claimed under the old ones
 * is still of this counter.
 */
void
hilo_counter_configure(HiloRowRef *ref, const HiloCounterOptions *options)
{
	HiloRowChange change;
	HiloRow    *row = &change.row;

	(void) hilo_row_find(&change, ref, HILO_ROW_CREATE);
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
		row->max_value = options->max_value;
	if (options->node_tag != NULL)
	{
		row->flags |= HILO_ROW_HAS_TAG;
		namestrcpy(&row->node_tag, options->node_tag);
	}
	if (options->separator != NULL)
		row->separator[0] = options->separator[0];
	row->flags &= ~HILO_ROW_DROPPED;
	finish_announced(&change);
}

/*
 * A counter that is not here yet is created with all that the other row says but its epoch and
 * what was logged ahead; but not below the floor of new counters.  Of one that is here only max
 * goes up, because its options are those of this server.  A dropped counter of the other database
 * leaves this one alone.  One that is shared on either side is shared: others draw from it, too.
 * Then what the row of server-side ids says of that is taken over as well.
 *
 * The new epoch is needed even if max stays the same: what is left of the ranges here may
 * lie below the other max, and may have been used there.
 */
void
hilo_counter_merge(HiloRowRef *ref, const HiloRow *other)
{
	HiloRowChange change;
	HiloRow    *row = &change.row;
	HiloRow		here;

	(void) hilo_row_find(&change, ref, HILO_ROW_CREATE);
	here = *row;
	if (change.created || (row->flags & HILO_ROW_DROPPED) ||
		(hilo_is_server_side(ref->name) && (other->flags & ~row->flags & HILO_ROW_SHARED)))
	{
		*row = *other;
		row->epoch = here.epoch;
		row->ahead = 0;
		row->max = row->flags & HILO_ROW_DROPPED ? here.max : Max(here.max, other->max);
	}
	else if (!(other->flags & HILO_ROW_DROPPED))
		row->max = Max(row->max, other->max);
	row->flags |= (here.flags | other->flags) & HILO_ROW_SHARED;
	row->max_value = Max(row->max_value, row->max);
	hilo_row_end_claims(row);
	finish_new_epoch(&change);
}

/*
 * The row stays, with a flag: an in-place change cannot delete it, and its new epoch has to be
 * there for sessions that still hold numbers.  The next draw starts a new count in it.
 */
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
	put_max(row, 0);
	reset_options(row);
	row->flags |= HILO_ROW_DROPPED;
	row->claimed_at = DT_NOBEGIN;
	row->claim_rate = 0;
	finish_new_epoch(&change);
	return true;
}

/*-------------------------------------------------------------------------
 *
 * counter.c
 *	  The counters: rows of the tables hilo and hilo_identity.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "counter.h"
#include "failure_point.h"
#include "rate.h"
#include "settings.h"

/* What counters of this table are called in messages. */
static const char *
kind_name(const HiloCounter *counter)
{
	return counter->which == HILO_TABLE_IDENTITIES ? "identity" : "collection";
}

/*
 * Let a row go in which nothing has happened; but one that was just created has
 * to be finished.
 */
static void
let_go(HiloRowChange *change)
{
	if (change->created)
		hilo_row_flush(hilo_row_finish(change));
	else
		hilo_row_abandon(change);
}

/* End a change in the error that the counter is at its end. */
static void
fail_at_limit(HiloRowChange *change, const HiloCounter *counter)
{
	int64		max = change->row.max;
	int64		limit = change->row.max_value;

	let_go(change);
	ereport(ERROR,
			(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
			 max < limit ?
			 errmsg("%s \"%.*s\" has not enough numbers left",
					kind_name(counter),
					counter->name.len, counter->name.data) :
			 errmsg("%s \"%.*s\" has no numbers left",
					kind_name(counter),
					counter->name.len, counter->name.data),
			 errdetail("Numbers up to " INT64_FORMAT " have been claimed, the limit is " INT64_FORMAT ".",
					   max, limit),
			 counter->which == HILO_TABLE_COLLECTIONS && limit < PG_INT64_MAX ?
			 errhint("Raise max_value with hilo_configure(), if the type of the column holds such numbers.") : 0));
}

/*
 * Warn, once, that a counter nears its limit: when max passes nine tenths.
 */
static void
warn_near_limit(const HiloCounter *counter, int64 old_max,
				const HiloCounterRow *row)
{
	int64		threshold = row->max_value - row->max_value / 10;

	if (likely(row->max < threshold) || old_max >= threshold)
		return;
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("%s \"%.*s\" has used nine tenths of its numbers",
					kind_name(counter),
					counter->name.len, counter->name.data),
			 errdetail("Numbers up to " INT64_FORMAT " have been claimed, the limit is " INT64_FORMAT ".",
					   row->max, row->max_value)));
}

static bool
is_server_side(const HiloCounter *counter)
{
	return counter->name.len == strlen(HILO_SERVER_SIDE_NAME) &&
		memcmp(counter->name.data, HILO_SERVER_SIDE_NAME,
			   counter->name.len) == 0;
}

/*
 * Lock the row of the counter for a draw, which creates it if that is allowed.
 * The one row of server-side ids is not one that users think up.
 */
static void
find_for_draw(HiloRowChange *change, HiloCounter *counter)
{
	bool		create = hilo_auto_create || is_server_side(counter);

	if (hilo_row_find_for_change(change, counter, create))
	{
		if (create || !change->row.dropped)
			return;
		hilo_row_abandon(change);
	}

	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("%s \"%.*s\" does not exist", kind_name(counter),
					counter->name.len, counter->name.data),
			 errdetail("The setting \"hilo.auto_create\" is off, so that draws create none."),
			 errhint("Create it with %s().",
					 counter->which == HILO_TABLE_IDENTITIES ?
					 "seed_identity_for" : "hilo_seed")));
}

void
hilo_note_claim(HiloCounterRow *row, const HiloRange *range, int64 number,
				int pace)
{
	TimestampTz now = GetCurrentTimestamp();

	row->max = range->high;
	row->claim_low = range->low;
	row->claim_number = number;
	row->claim_end_new = row->max > row->max_ever;
	row->max_ever = Max(row->max_ever, row->max);
	row->dropped = false;

	row->claims++;
	row->claim_rate = range->high - range->low + 1 +
		(row->claimed_at == DT_NOBEGIN ? 0 :
		 hilo_rate_decay(row->claim_rate,
						 (now - row->claimed_at) * pace));
	row->claimed_at = now;
}

/* Is the counter of a draw, with this row, one that hilo.hub is about? */
static bool
is_for_hub(const HiloCounter *counter, const HiloCounterRow *row)
{
	return hilo_hub[0] != '\0' && counter->which == HILO_TABLE_COLLECTIONS &&
		row->claims == 0 && !is_server_side(counter);
}

/* Note in the row that the numbers are leased.  Nothing can go back any more. */
static void
put_hub(HiloCounterRow *row, const char *hub, const char *role, int64 size)
{
	row->leased = true;
	namestrcpy(&row->hub, hub);
	namestrcpy(&row->hub_role, role);
	row->lease_size = size;
	row->dropped = false;
	hilo_end_claims(row);
}

bool
hilo_counter_claim(HiloCounter *counter, const HiloRangeRequest *request,
				   HiloClaimant claimant, HiloClaim *claim)
{
	HiloRowChange change;
	int64		old_max;
	XLogRecPtr	lsn;

	claim->number = claimant == HILO_FOR_CLIENT ? hilo_random_number() : 0;

	find_for_draw(&change, counter);
	if (unlikely(change.row.leased))
	{
		hilo_row_abandon(&change);
		return false;
	}
	if (unlikely(is_for_hub(counter, &change.row)))
	{
		put_hub(&change.row, hilo_hub, "", 0);
		hilo_row_flush(hilo_row_finish(&change));
		return false;
	}

	old_max = change.row.max;
	if (!hilo_range_cut(request, old_max, change.row.max_value,
						&claim->range))
		fail_at_limit(&change, counter);

	hilo_note_claim(&change.row, &claim->range, claim->number, 1);
	claim->which = counter->which;
	claim->table = counter->table;
	claim->incarnation = change.row.incarnation;
	claim->changes = change.row.changes + 1;
	lsn = hilo_row_finish(&change);

	/*
	 * Only now may the range be used: a number that somebody saw must be
	 * behind max on disk, or a crash would hand it out again.
	 */
	if (claimant == HILO_FOR_STATEMENT)
		hilo_row_flush_for_statement(lsn);
	else
		hilo_row_flush(lsn);
	warn_near_limit(counter, old_max, &change.row);
	return true;
}

bool
hilo_counter_claim_number(HiloCounter *counter, int64 number)
{
	HiloRange	range = {number, number};
	HiloRowChange change;
	int64		old_max;

	find_for_draw(&change, counter);
	old_max = change.row.max;
	if (number > change.row.max_value)
		fail_at_limit(&change, counter);
	if (number <= old_max || change.row.leased)
	{
		hilo_row_abandon(&change);
		return false;
	}

	hilo_note_claim(&change.row, &range, 0, 1);
	hilo_row_flush_for_statement(hilo_row_finish(&change));
	warn_near_limit(counter, old_max, &change.row);
	return true;
}

bool
hilo_counter_read(HiloCounter *counter, HiloCounterRow *row, bool for_draw)
{
	HiloRowChange change;

	if (!hilo_row_find(&change, counter,
					   for_draw ? RowExclusiveLock : AccessShareLock, false))
		return false;
	hilo_row_abandon(&change);
	*row = change.row;
	return !row->dropped;
}

int64
hilo_counter_max(HiloCounter *counter)
{
	HiloCounterRow row;

	return hilo_counter_read(counter, &row, false) ? row.max : 0;
}

bool
hilo_counter_holds(const HiloCounter *counter, const HiloCounterRow *row,
				   const HiloClaim *claim)
{
	return counter->table == claim->table &&
		row->incarnation == claim->incarnation;
}

/* Take the numbers above last out of the newest claim. */
static void
lower_max(HiloCounterRow *row, int64 last)
{
	int64		count = row->max - last;

	row->max = last;
	row->claim_number = 0;
	row->claim_end_new = false;
	row->given_back += count;
	row->claim_rate = Max(row->claim_rate - count, 0);
}

bool
hilo_counter_give_back(HiloCounter *counter, const HiloClaim *claim,
					   int64 last, bool at_exit)
{
	HiloRowChange change;
	HiloCounterRow *row = &change.row;

	if (!(at_exit ? hilo_row_find_at_exit(&change, counter, claim->table) :
		  hilo_row_find_for_change(&change, counter, false)))
		return false;

	if (counter->table != claim->table ||
		row->incarnation != claim->incarnation ||
		row->changes != claim->changes || row->max != claim->range.high)
	{
		hilo_row_abandon(&change);
		return false;
	}

	lower_max(row, last);
	hilo_row_finish(&change);
	return true;
}

bool
hilo_counter_return(HiloCounter *counter, int64 last, int64 high,
					int64 number)
{
	HiloRowChange change;
	HiloCounterRow *row = &change.row;

	if (!hilo_row_find_for_change(&change, counter, false))
		return false;

	if (row->dropped || row->claim_number == 0 || row->max != high ||
		last < row->claim_low - 1 || last > high ||
		(number == 0 ? !row->claim_end_new : number != row->claim_number))
	{
		hilo_row_abandon(&change);
		return false;
	}

	lower_max(row, last);
	hilo_row_finish(&change);
	return true;
}

void
hilo_finish_new_incarnation(HiloRowChange *change, int64 incarnation)
{
	Oid			table = RelationGetRelid(change->rel);
	XLogRecPtr	lsn;

	change->row.incarnation = incarnation;
	lsn = hilo_row_finish(change);
	HILO_KILL_POINT("before announcement");
	hilo_catalog_announce(table);
	hilo_row_flush(lsn);
}

void
hilo_end_claims(HiloCounterRow *row)
{
	/* Nothing is above the highest bigint; there claim_number has to do. */
	row->claim_low = row->max < PG_INT64_MAX ? row->max + 1 : row->max;
	row->claim_number = 0;
	row->claim_end_new = false;
}

/* Set max, up or down, to a value within the limit; the counter is alive. */
static void
set_max(HiloCounterRow *row, int64 max)
{
	row->max = max;
	row->max_ever = Max(row->max_ever, max);
	row->dropped = false;
	hilo_end_claims(row);
}

/* Raise 55000 if the counter has a hub, with the row let go. */
static void
refuse_leased(HiloRowChange *change, const HiloCounter *counter)
{
	NameData	hub = change->row.hub;

	if (NameStr(hub)[0] == '\0')
		return;
	hilo_row_abandon(change);
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("%s \"%.*s\" is leased from server \"%s\"",
					kind_name(counter), counter->name.len, counter->name.data,
					NameStr(hub)),
			 errhint("Leave the server first, with %s() and an empty server.",
					 counter->which == HILO_TABLE_IDENTITIES ?
					 "identity_from" : "hilo_lease_from")));
}

int64
hilo_counter_seed(HiloCounter *counter, int64 value, bool force)
{
	int64		incarnation = hilo_random_number();
	HiloRowChange change;
	HiloCounterRow *row = &change.row;
	int64		old_max;

	hilo_row_find_for_change(&change, counter, true);
	old_max = row->max;

	if (force && row->leased)
	{
		refuse_leased(&change, counter);
		row->leased = false;
	}
	if (value > row->max_value)
	{
		int64		limit = row->max_value;

		hilo_row_abandon(&change);
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("seed " INT64_FORMAT " is above the limit of \"%.*s\"",
						value, counter->name.len, counter->name.data),
				 errdetail("The limit is " INT64_FORMAT ".", limit)));
	}

	set_max(row, force ? value : Max(old_max, value));
	hilo_finish_new_incarnation(&change, incarnation);
	warn_near_limit(counter, old_max, row);
	return row->max;
}

bool
hilo_counter_raise(HiloCounter *counter, int64 number, bool *leased)
{
	HiloRowChange change;
	HiloCounterRow *row = &change.row;
	int64		old_max;
	bool		changed;
	bool		too_far = false;

	hilo_row_find_for_change(&change, counter, true);
	old_max = row->max;
	*leased = row->leased;

	if (number > old_max)
	{
		/* Also one above the limit, which may be raised later. */
		changed = number - old_max <= (row->max_value - old_max) / 2;
		too_far = !changed;
		if (changed)
			set_max(row, number);
	}
	else
	{
		/* If the newest claim went back, it would be drawn. */
		changed = number >= row->claim_low && row->claim_low <= old_max;
		if (changed)
			hilo_end_claims(row);
	}

	if (changed || change.created)
		(void) hilo_row_finish(&change);
	else
		hilo_row_abandon(&change);
	warn_near_limit(counter, old_max, row);
	return !too_far;
}

int64
hilo_counter_adopt(HiloCounter *counter, int64 floor, int64 limit)
{
	int64		incarnation = hilo_random_number();
	HiloRowChange change;
	HiloCounterRow *row = &change.row;
	int64		old_max;
	int64		max;

	hilo_row_find_for_change(&change, counter, true);
	old_max = row->max;
	max = Max(old_max, floor);
	limit = Min(limit, row->max_value);

	if (max >= limit)
	{
		let_go(&change);
		ereport(ERROR,
				(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
				 errmsg("collection \"%.*s\" would have no numbers left",
						counter->name.len, counter->name.data),
				 errdetail("Numbers up to " INT64_FORMAT " are in use, the limit is " INT64_FORMAT ".",
						   max, limit),
				 errhint("Move the column to a larger type, or change the row with the highest number.")));
	}

	set_max(row, max);
	row->max_value = limit;
	row->may_be_bound = true;
	hilo_finish_new_incarnation(&change, incarnation);
	warn_near_limit(counter, old_max, row);
	return max;
}

/* Forget what hilo_counter_configure() has set. */
static void
reset_options(HiloCounterRow *row)
{
	row->range_size = 0;
	row->max_range_size = 0;
	row->max_value = PG_INT64_MAX;
	row->has_node_tag = false;
	memset(&row->node_tag, 0, sizeof(NameData));
}

void
hilo_counter_configure(HiloCounter *counter, const HiloCounterOptions *options)
{
	HiloRowChange change;
	HiloCounterRow *row = &change.row;
	Oid			table;
	XLogRecPtr	lsn;

	hilo_row_find_for_change(&change, counter, true);

	if (options->max_value > 0 && options->max_value < row->max)
	{
		int64		max = row->max;

		hilo_row_abandon(&change);
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max_value " INT64_FORMAT " is below the numbers of \"%.*s\"",
						options->max_value,
						counter->name.len, counter->name.data),
				 errdetail("Numbers up to " INT64_FORMAT " have been claimed.", max)));
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
		row->has_node_tag = true;
		namestrcpy(&row->node_tag, options->node_tag);
	}
	row->dropped = false;

	table = RelationGetRelid(change.rel);
	lsn = hilo_row_finish(&change);
	hilo_catalog_announce(table);
	hilo_row_flush(lsn);
}

void
hilo_counter_note_binding(HiloCounter *counter)
{
	HiloRowChange change;
	Oid			table;
	XLogRecPtr	lsn;

	hilo_row_find_for_change(&change, counter, true);
	if (change.row.may_be_bound && !change.created)
	{
		hilo_row_abandon(&change);
		return;
	}
	change.row.may_be_bound = true;

	/* Who has never read the bindings does not hear of changes there. */
	table = RelationGetRelid(change.rel);
	lsn = hilo_row_finish(&change);
	hilo_catalog_announce(table);
	hilo_row_flush(lsn);
}

/*
 * Has nothing happened to a row but that its collection was bound?  Restoring
 * bindings before counters leaves such rows.
 */
static bool
is_as_created(const HiloCounterRow *row)
{
	return row->max == 0 && row->max_ever == 0 && row->claims == 0 &&
		row->range_size == 0 && row->max_range_size == 0 &&
		row->max_value == PG_INT64_MAX && !row->has_node_tag && !row->leased;
}

void
hilo_counter_merge(HiloCounter *counter, const HiloCounterRow *other)
{
	int64		incarnation = hilo_random_number();
	HiloRowChange change;
	HiloCounterRow *row = &change.row;

	hilo_row_find_for_change(&change, counter, true);

	if (change.created || row->dropped || is_as_created(row))
	{
		HiloCounterRow before = *row;

		*row = *other;
		row->changes = before.changes;
		row->lease_timeline = before.lease_timeline;
		row->max_ever = Max(before.max_ever, row->max_ever);
		row->may_be_bound |= before.may_be_bound;
		if (row->dropped)
			row->max = before.max;
	}
	else if (!other->dropped)
	{
		row->max = Max(row->max, other->max);
		row->may_be_bound |= other->may_be_bound;

		/* What a hub may give to others is not to be counted on from here. */
		if (other->leased && !row->leased)
		{
			row->leased = true;
			row->hub = other->hub;
			row->hub_role = other->hub_role;
			row->lease_size = other->lease_size;
		}
	}
	if (other->lease_timeline != 0)
		row->lease_timeline = HILO_NOT_RESUMED;
	row->max_ever = Max(Max(row->max_ever, row->max), other->max_ever);
	row->max_value = Max(row->max_value, row->max);
	hilo_end_claims(row);

	/*
	 * Also when max stays: what is left of the ranges here may lie below the
	 * other max, and have been used there.
	 */
	hilo_finish_new_incarnation(&change, incarnation);
}

HiloRange
hilo_counter_lease(HiloCounter *counter, int64 size, int64 floor,
				   int64 default_timeline)
{
	HiloRangeRequest request = {.size = size, .alignment = 1, .floor = floor};
	int64		timeline = hilo_timeline();
	HiloRowChange change;
	HiloCounterRow *row = &change.row;
	int64		leased_on;
	int64		old_max;
	HiloRange	range;

	find_for_draw(&change, counter);
	if (row->leased || is_for_hub(counter, &change.row))
	{
		let_go(&change);
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s \"%.*s\" is not counted on this server",
						kind_name(counter),
						counter->name.len, counter->name.data),
				 errdetail("A server that leases numbers itself is no hub for them.")));
	}

	leased_on = row->lease_timeline != 0 ? row->lease_timeline :
		default_timeline;
	/* What the setting promises holds for promotions, not for dumps. */
	if (leased_on == HILO_NOT_RESUMED ||
		(leased_on != timeline && !hilo_hub_auto_resume))
	{
		let_go(&change);
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s \"%.*s\" gives no leases since this server was promoted or restored",
						kind_name(counter),
						counter->name.len, counter->name.data),
				 errdetail("It may not know of the newest leases that were given before."),
				 errhint("Call %s() on this server, with the highest number that any member holds.",
						 counter->which == HILO_TABLE_IDENTITIES ?
						 "identity_resume" : "hilo_hub_resume")));
	}

	old_max = row->max;
	if (!hilo_range_cut(&request, old_max, row->max_value, &range))
		fail_at_limit(&change, counter);
	hilo_note_claim(row, &range, 0, 1);
	row->lease_timeline = timeline;
	hilo_row_flush(hilo_row_finish(&change));
	warn_near_limit(counter, old_max, row);
	return range;
}

int64
hilo_counter_resume(HiloCounter *counter, int64 floor)
{
	int64		timeline = hilo_timeline();
	int64		incarnation = hilo_random_number();
	HiloRowChange change;
	HiloCounterRow *row = &change.row;

	hilo_row_find_for_change(&change, counter, true);
	set_max(row, Max(row->max, floor));
	row->max_value = Max(row->max_value, row->max);
	row->lease_timeline = timeline;
	hilo_finish_new_incarnation(&change, incarnation);
	return row->max;
}

int64
hilo_counter_set_hub(HiloCounter *counter, const char *hub, const char *role,
					 int64 size)
{
	HiloRowChange change;
	HiloCounterRow *row = &change.row;
	Oid			table;
	XLogRecPtr	lsn;

	hilo_row_find_for_change(&change, counter, true);
	put_hub(row, hub, role, size);
	table = RelationGetRelid(change.rel);
	lsn = hilo_row_finish(&change);
	hilo_catalog_announce(table);
	hilo_row_flush(lsn);
	return row->max;
}

void
hilo_counter_unset_hub(HiloCounter *counter)
{
	HiloRowChange change;

	if (!hilo_row_find_for_change(&change, counter, false))
		return;
	change.row.leased = false;
	hilo_row_flush(hilo_row_finish(&change));
}

void
hilo_counter_note_leased(HiloCounter *counter, HiloRange range, bool flush)
{
	HiloRowChange change;
	XLogRecPtr	lsn;

	if (!hilo_row_find_for_change(&change, counter, false))
		return;
	if (range.high > change.row.max)
	{
		hilo_note_claim(&change.row, &range, 0, 1);
		hilo_end_claims(&change.row);
		lsn = hilo_row_finish(&change);
		if (flush)
			hilo_row_flush_for_statement(lsn);
	}
	else
		hilo_row_abandon(&change);
}

bool
hilo_counter_drop(HiloCounter *counter)
{
	int64		incarnation = hilo_random_number();
	HiloRowChange change;
	HiloCounterRow *row = &change.row;

	if (!hilo_row_find_for_change(&change, counter, false))
		return false;
	if (row->dropped)
	{
		hilo_row_abandon(&change);
		return false;
	}
	if (row->leased)
		refuse_leased(&change, counter);

	set_max(row, 0);
	row->leased = false;
	row->lease_size = 0;
	row->lease_timeline = 0;
	reset_options(row);
	row->dropped = true;
	row->claims = 0;
	row->given_back = 0;
	row->created_at = GetCurrentTimestamp();
	row->claimed_at = DT_NOBEGIN;
	row->claim_rate = 0;
	hilo_finish_new_incarnation(&change, incarnation);
	return true;
}

/*-------------------------------------------------------------------------
 *
 * take.c
 *	  Takes numbers of a collection that were looked at.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/acl.h"

#include "base/compat.h"
#include "base/sql.h"
#include "tables/column.h"
#include "tables/drawing.h"
#include "tables/rights.h"
#include "tables/take.h"

/* The numbers of an ordered collection come one by one, and are looked at together. */
#define ORDERED_AT_A_TIME	1024

/*
 * Draw the numbers of an ordered collection that follow one that was drawn, up to an id,
 * and do not use them: its numbers cannot be taken from above others.
 */
static void
skip_in_order(HiloEntry *entry, int64 drawn, int64 highest)
{
	HiloWanted	skipped = {.exact = true,.alignment = 1};
	HiloClaim	claim;

	skipped.size = Min(highest, entry->collection.row.max_value) - drawn;
	if (skipped.size > 0)
		hilo_collection_take(&entry->collection, NULL, &skipped, &claim);
}

/*
 * Look at the next number of an ordered collection, and at those after it.  False: it
 * must not be used; those after it, up to the id that was found, were drawn, too.
 */
static bool
is_clean_in_order(HiloEntry *entry, HiloLook *look, HiloLookProgress *progress)
{
	HiloRange	numbers = {entry->range.last + 1};
	int64		limit = entry->collection.row.max_value;
	int64		highest;

	numbers.high = numbers.low + Min(ORDERED_AT_A_TIME - 1, limit - numbers.low);
	if (!hilo_look(look, numbers, limit, progress, &highest))
	{
		entry->range.clean_up_to = entry->range.clean ? numbers.high : 0;
		return true;
	}
	hilo_entry_forget(entry);
	skip_in_order(entry, numbers.low, highest);
	return false;
}

/*
 * How many numbers the next claim should have at least, 0: any.  A collection whose row
 * has not been read yet, and that has no bindings, is not worth another look-up.
 */
static int64
least_claim(HiloEntry *entry)
{
	if (entry->look == NULL && !(entry->collection.row.flags & HILO_ROW_BOUND))
		return 0;
	return hilo_look_least_claim(hilo_look_of_entry(entry));
}

/*
 * True if the limit of the types of the columns applies to the current user.  If the columns
 * draw by their defaults alone, it does only with the privileges of their owner.
 */
static bool
is_limited(const HiloLook *look)
{
	const HiloColumn *column = linitial(look->columns);

	return !look->by_default ||
		is_member_of_role_nosuper(GetUserId(), hilo_table_owner(column->relation));
}

/*
 * The range is near the limit of the columns' types: end it there.  The counter's own limit
 * may be higher, because columns that draw by their defaults alone do not lower it.  A role
 * to which the limit does not apply only gets the warning: its insert into the column fails
 * by itself.
 */
static void
end_at_type(HiloEntry *entry, const HiloLook *look)
{
	HiloCollection *collection = &entry->collection;
	int64		next = entry->range.last + 1;
	bool		limits = is_limited(look);

	if (!limits && next > look->limit)
		return;
	if (next > look->limit)
		hilo_entry_forget(entry);
	else if (limits)
		entry->range.claim.range.high = Min(entry->range.claim.range.high, look->limit);
	hilo_counter_check_limit(&collection->ref, &collection->row, look->limit, next);
}

/*
 * Warn that a draw has created a collection, if a table of its name draws from a sequence
 * by hilo: who draws here probably means that.
 */
static void
warn_of_sequence(const char *name)
{
	Oid			sequence;
	Oid			table = hilo_table_on_sequence(name, &sequence);

	if (OidIsValid(table))
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("collection \"%s\" did not exist and was created, but table %s draws from sequence %s",
						name, hilo_sql_table(table), hilo_sql_table(sequence)),
				 errhint("Draw from the sequence with hilo.nextval(), and undo this with hilo.drop().")));
}

void
hilo_take_refill(HiloEntry *entry)
{
	HiloLookProgress progress = {0};
	int64		above = 0;
	bool		was_clean = entry->range.clean;
	const HiloRow *row = hilo_collection_row(&entry->collection);
	bool		creates = (row->flags & HILO_ROW_DROPPED) != 0;

	/* What the limit has followed may have been rolled back. */
	if (hilo_entry_unused(entry) <= 0 && (row->flags & HILO_ROW_BOUND) &&
		row->max >= row->max_value)
	{
		entry->right.generation = 0;
		hilo_draw_right_verify(entry);
	}

	/*
	 * A number in order that an error has left behind belongs to a
	 * transaction that has failed: the horizon may have passed it.
	 */
	if (hilo_collection_is_ordered(&entry->collection) &&
		entry->range.transaction != hilo_local_xid())
		hilo_entry_forget(entry);

	for (;;)
	{
		HiloRange	numbers;
		HiloLook   *look;

		if (hilo_entry_unused(entry) <= 0)
			entry->growth.least = least_claim(entry);
		if (!hilo_entry_is_ready(entry))
			hilo_entry_refill(entry, above);
		if (creates)
			warn_of_sequence(entry->name);
		creates = false;
		if (entry->range.clean)
			return;
		look = hilo_look_of_entry(entry);
		numbers.low = entry->range.last + 1;
		if (unlikely(look->limit < entry->collection.row.max_value &&
					 entry->range.claim.range.high > look->limit - look->limit / 10))
			end_at_type(entry, look);
		numbers.high = entry->range.claim.range.high;
		if (hilo_collection_is_ordered(&entry->collection))
		{
			/* Unless there was a message since, many were looked at. */
			if (was_clean && numbers.low <= entry->range.clean_up_to)
			{
				entry->range.clean = true;
				return;
			}
			if (is_clean_in_order(entry, look, &progress))
				return;
			continue;
		}

		if (!hilo_look(look, numbers, entry->collection.row.max_value, &progress, &above))
			return;
		entry->range.last = Min(above, numbers.high);
		entry->growth.size /= HILO_SMALLER_AT_ID;
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * Look at numbers that are not of this session's range.  False: they must not be used,
 * but some above *above may.
 */
static bool
is_clean(HiloEntry *entry, const HiloClaim *claim, HiloLookProgress *progress, int64 *above)
{
	bool		was_clean = entry->range.clean;
	HiloLook   *look = hilo_look_of_entry(entry);
	bool		clean = !hilo_look(look, claim->range, entry->collection.row.max_value,
								   progress, above);

	entry->range.clean = was_clean && look->placed_at == look->changes;
	return clean;
}

void
hilo_take_apart(HiloEntry *entry, HiloSizing *sizing, HiloWanted *wanted, HiloClaim *claim)
{
	HiloLookProgress progress = {.exact = true};
	bool		creates = (hilo_collection_row(&entry->collection)->flags & HILO_ROW_DROPPED) != 0;

	hilo_collection_take(&entry->collection, sizing, wanted, claim);
	while (!is_clean(entry, claim, &progress, &wanted->above))
	{
		if (hilo_collection_is_ordered(&entry->collection))
			skip_in_order(entry, claim->range.high, wanted->above);
		hilo_collection_take(&entry->collection, sizing, wanted, claim);
	}
	if (creates)
		warn_of_sequence(entry->name);
}

/*-------------------------------------------------------------------------
 *
 * leased.c
 *	  Changes to rows of hilo.hilo that concern leases.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "hub/core.h"
#include "hub/leased.h"

/*
 * What a row says about its hub
 */

/*
 * Note in the row that the numbers are leased.  From then on no claim can go
 * back.
 */
static void
put_hub(HiloRow *row, const char *hub, int32 size)
{
	row->flags |= HILO_ROW_LEASED;
	row->flags &= ~HILO_ROW_DROPPED;
	namestrcpy(&row->hub, hub);
	row->lease_size = size;
	hilo_row_end_claims(row);
}

/* Set the lineage of the hub; terms of another one say nothing. */
static void
set_lineage(HiloRow *row, int64 lineage)
{
	if (row->of_hub.term.lineage != lineage)
		row->of_hub.term = (HiloTerm)
	{
		.lineage = lineage
	};
}

/* Store a higher term of the lineage.  Returns whether it is. */
static bool
note_term(HiloRow *row, const HiloTerm *term)
{
	if (row->of_hub.term.number >= term->number)
		return false;
	row->of_hub.term = *term;
	return true;
}

/* Release the row and raise 55000 because the collection is ordered. */
static void
refuse_ordered(HiloRowChange *change, const HiloRowRef *ref)
{
	hilo_counter_refuse(change, ref, HILO_COUNTER_FORMAT " is ordered",
						"Its numbers are drawn in order on one server.",
						"Make it unordered with hilo.configure() first.");
}

/*
 * Merge what the row of another database or a backup says about a hub into a row that
 * is in use here.  Numbers that a hub may give to others must not be counted here.
 */
void
hilo_leased_merge(HiloRow *row, const HiloRow *other)
{
	const HiloTerm *term = &other->of_hub.term;

	if (other->flags & ~row->flags & HILO_ROW_LEASED)
	{
		put_hub(row, NameStr(other->hub), other->lease_size);
		set_lineage(row, term->lineage);
	}
	if (term->lineage == row->of_hub.term.lineage)
		note_term(row, term);
}

/*
 * On a hub
 */

void
hilo_leased_claim(HiloRowRef *ref, HiloLeasing leasing, int64 size,
				  int64 above, HiloRow *row, HiloClaim *claim)
{
	HiloWanted	wanted = {.size = size,.alignment = 1,.above = above};
	const char *hub;

	if (hilo_counter_claim(ref, leasing, NULL, &wanted, row, claim))
		return;
	if (row->flags & HILO_ROW_ORDERED)
		refuse_ordered(NULL, ref);
	if (!(row->flags & HILO_ROW_LEASED) &&
		!hilo_counter_is_for_hub(ref, row, leasing))
		return;
	hub = row->flags & HILO_ROW_LEASED ? NameStr(row->hub) : hilo_hub;
	hilo_counter_refuse(NULL, ref, HILO_COUNTER_FORMAT " is not counted on this server",
						"A server that leases numbers cannot be a hub for them.",
						hub[0] == '\0' ? NULL :
						psprintf("Ask its hub, \"%.*s\".", (int) strcspn(hub, "|"), hub));
}

int64
hilo_leased_raise(HiloRowRef *ref, int64 highest, int64 skip)
{
	HiloRowChange change;
	HiloRow    *row = &change.row;
	int64		max;

	(void) hilo_row_find(&change, ref, HILO_ROW_CREATE);
	hilo_counter_refuse_leased(&change, ref);

	/*
	 * What was lost may have been drawn from ranges that sessions here hold
	 * again, as after a snapshot of the machine: the epoch ends them.  It
	 * ends the members' leases, too, so it stays if nothing was lost.
	 */
	if (skip > 0 || highest > row->max)
		hilo_counter_put_epoch(row);
	max = Max(row->max, highest);
	row->max_value = Max(row->max_value, max);
	hilo_counter_put_max(row, max + Min(skip, row->max_value - max));
	hilo_row_flush(hilo_counter_finish(&change));
	return row->max;
}

/*
 * On a member
 */

bool
hilo_leased_set_hub(HiloRowRef *ref, const char *hub, int32 size,
					int64 lineage)
{
	HiloRowChange change;
	HiloRow    *row = &change.row;
	bool		new_epoch;

	(void) hilo_row_find(&change, ref, HILO_ROW_CREATE);
	if (row->flags & HILO_ROW_ORDERED)
		refuse_ordered(&change, ref);

	/*
	 * What is leased stays valid, but not together with leases of another
	 * hub, which may have the name of the one before.
	 */
	new_epoch = hub[0] != '\0' &&
		(!(row->flags & HILO_ROW_LEASED) || strcmp(NameStr(row->hub), hub) != 0 ||
		 (row->of_hub.term.lineage != 0 && row->of_hub.term.lineage != lineage));
	if (new_epoch)
	{
		hilo_counter_put_epoch(row);
		row->of_hub.epoch = 0;
	}
	put_hub(row, hub, size);
	if (hub[0] != '\0')
		set_lineage(row, lineage);
	hilo_row_flush(hilo_counter_finish(&change));
	return new_epoch;
}

/* It is the lineage in the row, which leases nothing. */
int64
hilo_leased_member_number(bool create)
{
	HiloRowRef	ref = {.name = HILO_OWN_NAME};
	HiloRowChange change;
	HiloRow		row;

	(void) hilo_counter_read(&ref, &row);
	if (row.of_hub.term.lineage != 0 && row.epoch != 0)
		return row.of_hub.term.lineage;
	if (!create)
		return 0;

	(void) hilo_row_find(&change, &ref, HILO_ROW_CREATE);
	if (change.row.of_hub.term.lineage != 0)
	{
		hilo_row_abandon(&change);
		return change.row.of_hub.term.lineage;
	}
	change.row.of_hub.term.lineage = hilo_random_number();
	if (change.created)
		change.row.flags |= HILO_ROW_DROPPED;	/* nothing was drawn yet */
	hilo_row_flush(hilo_row_finish(&change));
	return change.row.of_hub.term.lineage;
}

void
hilo_leased_mark(HiloRowRef *ref, const char *hub, int64 lineage)
{
	HiloRowChange change;
	HiloRow    *row = &change.row;

	(void) hilo_row_find(&change, ref, HILO_ROW_CREATE);
	if (((row->flags & HILO_ROW_LEASED) && row->of_hub.term.lineage != 0) ||
		(strcmp(NameStr(row->hub), hub) == 0 && row->of_hub.term.lineage == lineage &&
		 !(row->flags & HILO_ROW_DROPPED)))
	{
		hilo_row_abandon(&change);
		return;
	}
	row->flags &= ~HILO_ROW_DROPPED;
	namestrcpy(&row->hub, hub);
	set_lineage(row, lineage);
	hilo_row_flush(hilo_row_finish(&change));
}

void
hilo_leased_unmark(HiloRowRef *ref)
{
	HiloRowChange change;
	HiloRow    *row = &change.row;

	if (!hilo_row_find(&change, ref, HILO_ROW_CHANGE))
		return;
	if (row->flags & HILO_ROW_LEASED)
	{
		hilo_row_abandon(&change);
		return;
	}
	memset(&row->hub, 0, sizeof(NameData));
	set_lineage(row, 0);
	hilo_row_flush(hilo_row_finish(&change));
}

XLogRecPtr
hilo_leased_note_term(HiloRowRef *ref, const HiloTerm *term)
{
	HiloRowChange change;

	if (!hilo_row_find(&change, ref, HILO_ROW_CHANGE))
		return InvalidXLogRecPtr;
	if (change.row.of_hub.term.lineage == term->lineage && note_term(&change.row, term))
		return hilo_row_finish(&change);
	hilo_row_abandon(&change);
	return InvalidXLogRecPtr;
}

/*
 * Note the hub's answer, with its options: its tag, or that it has none, and the
 * sizes that are set there.  Sets a new epoch if earlier counted or leased numbers
 * are invalid now: when numbers are leased for the first time, and when the hub
 * was seeded or dropped.  Returns whether anything changes, so that others have to
 * read the row again.
 */
static bool
note_hub(HiloRow *row, const HiloRow *asked, const HiloLeaseAnswer *answer)
{
	HiloRow		before = *row;
	bool		is_first = !(row->flags & HILO_ROW_LEASED);

	if (is_first ||
		(row->of_hub.epoch != 0 && row->of_hub.epoch != answer->hub_epoch))
		hilo_counter_put_epoch(row);
	if (is_first)
		put_hub(row, NameStr(asked->hub), 0);
	row->of_hub.epoch = answer->hub_epoch;

	row->flags &= ~HILO_ROW_HAS_TAG;
	if (answer->node_tag != NULL)
		row->flags |= HILO_ROW_HAS_TAG;
	namestrcpy(&row->node_tag, answer->node_tag == NULL ? "" : answer->node_tag);
	row->separator[0] = answer->separator == NULL ? '\0' : answer->separator[0];
	if (answer->range_size > 0)
		row->range_size = answer->range_size;
	if (answer->max_range_size > 0)
		row->max_range_size = answer->max_range_size;
	return memcmp(&before, row, HILO_ROW_SIZE) != 0;
}

/*
 * True if the hub's answer counts; the row then has its term.  An answer of a lower term
 * does not count, nor one of another term with the same number: that is from a second
 * server, promoted beside the one followed so far.
 */
static bool
obeys(HiloRow *row, const HiloTerm *term)
{
	const HiloTerm *known = &row->of_hub.term;

	if (known->lineage != term->lineage)
		return false;
	return note_term(row, term) ||
		(known->number == term->number && known->id == term->id);
}

/* True if the row is still what it was when the hub was asked. */
static bool
is_as_asked(const HiloRowChange *change, const HiloRow *asked)
{
	const HiloRow *row = &change->row;

	return hilo_counter_epoch_here(change) == asked->epoch &&
		((row->flags ^ asked->flags) & HILO_ROW_LEASED) == 0 &&
		(!(row->flags & HILO_ROW_LEASED) ||
		 strcmp(NameStr(row->hub), NameStr(asked->hub)) == 0);
}

HiloTaken
hilo_leased_take_in(HiloRowRef *ref, const HiloRow *asked,
					const HiloLeaseAnswer *answer, HiloClaim *claim)
{
	HiloRange	range = answer->range;
	HiloRowChange change;
	HiloRow    *row = &change.row;
	HiloTaken	taken;
	bool		to_announce;
	XLogRecPtr	lsn;

	if (!hilo_row_find(&change, ref, HILO_ROW_CHANGE))
		return HILO_NOT_AS_ASKED;
	taken = !is_as_asked(&change, asked) ? HILO_NOT_AS_ASKED :
		obeys(row, &answer->term) ? HILO_TAKEN : HILO_NOT_OBEYED;
	if (taken != HILO_TAKEN)
	{
		hilo_row_abandon(&change);
		return taken;
	}

	to_announce = note_hub(row, asked, answer);

	range.high = Min(range.high, row->max_value);
	if (range.low <= row->max)
		range.low = row->max < range.high ? row->max + 1 : range.high + 1;
	if (range.low > row->max_value)
		hilo_counter_put_max(row, row->max_value);	/* past all numbers that
													 * can be used */
	else if (range.low <= range.high)
	{
		hilo_counter_put_claim(row, &range, 0, 0);
		hilo_row_end_claims(row);
	}

	lsn = to_announce ? hilo_counter_finish(&change) : hilo_row_finish(&change);
	*claim = (HiloClaim)
	{
		.range = range,.home = row->home,.epoch = row->epoch,
			.lsn = lsn,.fetched = true
	};
	return HILO_TAKEN;
}

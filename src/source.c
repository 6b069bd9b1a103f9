/*-------------------------------------------------------------------------
 *
 * source.c
 *	  Where the numbers of a collection come from: counted here, or leased from a
 *	  hub.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "source.h"

void
hilo_source_init(HiloSource *source, HiloName collection)
{
	hilo_leased_init(&source->rows, collection);
	source->leased = false;
	source->undrawn = false;
}

void
hilo_source_claim(HiloSource *source, const HiloRangeRequest *request,
				  HiloClaimant claimant, HiloClaim *claim)
{
	bool		ask;

	for (;;)
	{
		if (!source->leased)
		{
			if (hilo_counter_claim(&source->rows.counter, request, claimant,
								   claim))
				return;
			source->leased = true;
		}

		if (hilo_lease_claim(&source->rows.lease, request, claimant, claim,
							 &ask))
		{
			if (ask)
				hilo_lease_fetch_ahead(&source->rows);
			return;
		}
		source->leased = hilo_lease_fetch(&source->rows, request);
		CHECK_FOR_INTERRUPTS();
	}
}

void
hilo_source_read(HiloSource *source, bool for_draw, HiloSourceState *state)
{
	memset(state, 0, sizeof(*state));
	state->source = source;
	state->exists = hilo_counter_read(&source->rows.counter, &state->row,
									  for_draw);
	source->leased = state->exists && state->row.leased;
	source->undrawn = !state->exists || state->row.claims == 0;
	if (source->leased)
		state->has_leases = hilo_counter_read(&source->rows.lease,
											  &state->lease, for_draw);
}

bool
hilo_source_holds(const HiloSourceState *state, const HiloClaim *claim)
{
	if (claim->which == HILO_TABLE_LEASES)
		return state->has_leases &&
			hilo_counter_holds(&state->source->rows.lease, &state->lease,
							   claim);
	return state->exists &&
		hilo_counter_holds(&state->source->rows.counter, &state->row, claim);
}

/* The row that a claim was cut from. */
static HiloCounter *
row_of(HiloSource *source, const HiloClaim *claim)
{
	return claim->which == HILO_TABLE_LEASES ? &source->rows.lease :
		&source->rows.counter;
}

bool
hilo_source_give_back(HiloSource *source, const HiloClaim *claim, int64 last,
					  bool at_exit)
{
	return hilo_counter_give_back(row_of(source, claim), claim, last, at_exit);
}

bool
hilo_source_return(HiloSource *source, int64 last, int64 high, int64 number)
{
	return hilo_counter_return(&source->rows.counter, last, high, number) ||
		hilo_counter_return(&source->rows.lease, last, high, number);
}

/*
 * With force the counter counts here again, so nothing of the leases may be drawn
 * any more.  It refuses that as long as it has a hub.
 */
int64
hilo_source_seed(HiloSource *source, int64 value, bool force)
{
	HiloName	name = source->rows.counter.name;
	int64		max;

	if (force)
		hilo_lease_lock_fetch(name);
	max = hilo_counter_seed(&source->rows.counter, value, force);
	hilo_lease_raise(&source->rows.lease, force ? PG_INT64_MAX : value, true);
	if (force)
		hilo_lease_unlock_fetch(name);
	return max;
}

bool
hilo_source_raise(HiloSource *source, int64 number)
{
	bool		raised = hilo_counter_raise(&source->rows.counter, number,
										&source->leased);

	if (source->leased)
		hilo_lease_skip(&source->rows.lease, number);
	return raised;
}

int64
hilo_source_adopt(HiloSource *source, int64 floor, int64 limit)
{
	int64		max = hilo_counter_adopt(&source->rows.counter, floor, limit);

	hilo_lease_raise(&source->rows.lease, floor, true);
	return max;
}

bool
hilo_source_drop(HiloSource *source)
{
	HiloName	name = source->rows.counter.name;
	bool		dropped;

	hilo_lease_lock_fetch(name);
	dropped = hilo_counter_drop(&source->rows.counter);
	if (dropped)
		hilo_lease_raise(&source->rows.lease, PG_INT64_MAX, true);
	hilo_lease_unlock_fetch(name);
	return dropped;
}

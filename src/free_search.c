/*-------------------------------------------------------------------------
 *
 * free_search.c
 *	  Finds a free number in few lookups.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "miscadmin.h"

#include "free_search.h"

/* From this distance on, a taken number must be confirmed by another one. */
#define DOUBTFUL_DISTANCE	1048576

static bool
look_up(int64 number, HiloTakenCallback is_taken, void *arg, int *tries)
{
	CHECK_FOR_INTERRUPTS();
	(*tries)++;
	return is_taken(number, arg);
}

/*
 * Search downwards for a free number below limit and above taken: limit - 1, -
 * 2, - 4 ...; 0: none.  The upward search has passed the middle, so distance
 * cannot overflow.
 */
static int64
gallop_down(int64 taken, int64 limit, HiloTakenCallback is_taken, void *arg,
			int *tries)
{
	for (int64 distance = 1; distance < limit - taken; distance *= 2)
	{
		if (!look_up(limit - distance, is_taken, arg, tries))
			return limit - distance;
	}
	return 0;
}

/*
 * A number between two taken ones that is free; 0 if the one that is looked up at random is
 * taken, too.
 */
static int64
free_between(int64 taken, int64 number, HiloTakenCallback is_taken, void *arg, int *tries)
{
	int64		between = (int64) pg_prng_uint64_range(&pg_global_prng_state, taken + 1,
													   number - 1);

	return look_up(between, is_taken, arg, tries) ? 0 : between;
}

int64
hilo_free_search(int64 last, int64 limit, HiloTakenCallback is_taken,
				 void *arg, int *tries)
{
	int64		taken = last;
	int64		distance = 1;
	int64		number;

	/* n, then n + 1, n + 2, n + 4 ...; never past the limit */
	if (last >= limit)
		return 0;
	number = last + 1;
	while (look_up(number, is_taken, arg, tries))
	{
		int64		between = 0;

		if (number - taken > DOUBTFUL_DISTANCE)
			between = free_between(taken, number, is_taken, arg, tries);
		if (between > 0)
		{
			number = between;
			break;
		}
		if (number >= limit)
		{
			number = gallop_down(taken, limit, is_taken, arg, tries);
			break;
		}
		taken = number;
		number = distance < limit - last ? last + 1 + distance : limit;
		distance = distance <= PG_INT64_MAX / 2 ? distance * 2 : PG_INT64_MAX;
	}

	/*
	 * Between a taken and a free number there is a free one whose predecessor
	 * is taken.
	 */
	while (number - taken > 1)
	{
		int64		middle = taken + (number - taken) / 2;

		if (look_up(middle, is_taken, arg, tries))
			taken = middle;
		else
			number = middle;
	}
	return number;
}

/*-------------------------------------------------------------------------
 *
 * free_search.c
 *	  Finds a free number in few lookups.
 *
 * If the taken numbers are a block that begins after last, as after an import, the free number
 * is the one after the block.  The search steps over the block in doubling steps until it meets a
 * number that is free, and then halves the distance between that one and the last one that was
 * taken, until they are neighbours.  So a billion taken numbers cost some 62 lookups.
 *
 * Numbers need not be a block.  Then the result is still a free number whose predecessor is taken,
 * though there may be lower ones.  That is allowed: holes are used or passed.
 *
 * What must not happen is that a few rows far above all others carry the counter to them, because
 * then most numbers would be lost.  A search that meets the first of these rows by chance is not
 * misled easily, as each further step doubles the distance; but rows that were put at the powers
 * of two, where the steps go, would mislead it each time.  So beyond the first numbers each step has
 * to be confirmed by a second number that cannot be foreseen.  Such a step multiplies the distance
 * by four, so that the two look-ups lead as far as two steps of the other kind.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "miscadmin.h"

#include "free_search.h"

/*
 * From this distance on, a taken number must be confirmed by another one.  Below it a jump is not
 * worth a second lookup: that many numbers can be done without.  A role that may insert can make
 * each search jump about twice as far by a dozen rows: so it needs millions of them to use up a
 * serial, whose numbers it can draw as well.
 */
#define DOUBTFUL_DISTANCE	1024

/* Look up a number, which is one try. */
static bool
look_up(int64 number, HiloTakenCallback is_taken, void *arg, int *tries)
{
	CHECK_FOR_INTERRUPTS();
	(*tries)++;
	return is_taken(number, arg);
}

/*
 * Search downwards for a free number below limit and above taken: limit - 1, -
 * 2, - 4 ...; 0: none.
 *
 * This is for ids close to the limit, such as one at the end of the type that was written by
 * mistake: the upward search ends there, and has passed the free numbers below.
 */
static int64
gallop_down(int64 taken, int64 limit, HiloTakenCallback is_taken, void *arg,
			int *tries)
{
	for (uint64 distance = 1; distance < (uint64) (limit - taken); distance *= 2)
		if (!look_up(limit - (int64) distance, is_taken, arg, tries))
			return limit - (int64) distance;
	return 0;
}

/*
 * taken is always a number that is taken, or last; number is the one that is looked up next.  When
 * the first loop ends, number is free, so a free number comes right after a taken one somewhere
 * between the two, and the second loop finds it.
 */
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
		if (number - taken > DOUBTFUL_DISTANCE)
		{
			int64		between = pg_prng_uint64_range(&pg_global_prng_state, taken + 1, number - 1);

			if (!look_up(between, is_taken, arg, tries))
			{
				number = between;
				break;
			}
		}
		if (number >= limit)
		{
			number = gallop_down(taken, limit, is_taken, arg, tries);
			break;
		}
		taken = number;
		number = distance < limit - last ? last + 1 + distance : limit;
		distance = distance > PG_INT64_MAX / 4 ? PG_INT64_MAX :
			distance * (number - taken > DOUBTFUL_DISTANCE ? 4 : 2);
	}

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

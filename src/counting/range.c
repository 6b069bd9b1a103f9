/*-------------------------------------------------------------------------
 *
 * range.c
 *	  Ranges of numbers: how large the next one should be, where it starts, and how
 *	  fast numbers are claimed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "common/int.h"

#include "counting/range.h"

/*
 * A claim takes at most 1/RANGE_SHARE_OF_REST of the numbers left below the
 * limit.
 */
#define RANGE_SHARE_OF_REST		64

int64
hilo_range_size(int64 last_size, int64 age_us, int64 duration_us,
				int64 min_size, int64 max_size)
{
	int64		size = last_size;

	if (last_size > 0)
	{
		/*
		 * If the clock was set back, age_us is negative: the range counts as
		 * young.
		 */
		if (age_us < duration_us)
			size = last_size > max_size / 2 ? max_size : last_size * 2;
		else if (age_us - duration_us > duration_us)
			size = last_size / 2;
	}

	return Min(Max(size, min_size), max_size);
}

/*
 * Find the lowest number that may begin the range, less one.  Returns false if
 * there is none up to limit; otherwise *left is the count of numbers from
 * there.
 */
static bool
find_start(const HiloRangeRequest *request, int64 max, int64 limit,
		   int64 *below, int64 *left)
{
	*below = Max(max, request->above);
	if (request->alignment > 1 && *below % request->alignment != 0)
	{
		int64		skip = request->alignment - *below % request->alignment;

		if (pg_add_s64_overflow(*below, skip, below))
			return false;
	}
	*left = limit - *below;
	return *below < limit;
}

bool
hilo_range_cut(const HiloRangeRequest *request, int64 max, int64 limit,
			   HiloRange *range)
{
	int64		share;
	int64		size = request->size;
	int64		below;
	int64		left;

	if (!find_start(request, max, limit, &below, &left))
		return false;

	share = Max(left / RANGE_SHARE_OF_REST, 1);
	if (!request->exact)
		size = Min(size, share);
	else if (size > left)
		return false;
	if (request->reserve > 0 && size < share)
		size += Min(request->reserve, share - size);

	range->low = below + 1;
	range->high = below + size;
	return true;
}

bool
hilo_range_cut_piece(const HiloRangeRequest *request, const HiloRange *piece,
					 HiloRange *range)
{
	int64		below;
	int64		left;

	if (!find_start(request, piece->low - 1, piece->high, &below, &left) ||
		(request->exact && request->size > left))
		return false;
	range->low = below + 1;
	range->high = below + Min(request->size, left);
	return true;
}

double
hilo_rate_decay(double value, int64 elapsed_us, int64 unit_us)
{
	/* If the clock was set back, nothing decays. */
	return value * exp(-(double) Max(elapsed_us, 0) / unit_us);
}

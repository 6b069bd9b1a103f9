/*-------------------------------------------------------------------------
 *
 * range.c
 *	  Ranges of numbers: how large the next one should be, where it starts, and how
 *	  fast numbers are claimed.
 *
 * A claim costs a lock and perhaps a flush, and a session that ends may lose what it has left.
 * So a range should be large where numbers are drawn fast, and small where they are not.  The
 * size is found by doubling and halving: a bulk load that needs a million numbers makes some
 * twenty claims to get up to speed, a session that idles is back at one number after as many.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "common/int.h"

#include "range.h"

/*
 * A claim takes at most 1/RANGE_SHARE_OF_REST of the numbers left below the
 * limit.  So the last numbers are spread over the sessions that ask for them.
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

bool
hilo_range_cut(const HiloWanted *wanted, int64 max, int64 limit, bool pooled,
			   HiloRange *range)
{
	int64		below = Max(max, wanted->above);	/* low - 1 */
	int64		size = wanted->size;
	int64		left;
	int64		share;

	/* Move up to the next multiple of the alignment. */
	if (wanted->alignment > 1 && below % wanted->alignment != 0 &&
		pg_add_s64_overflow(below, wanted->alignment - below % wanted->alignment,
							&below))
		return false;
	left = limit - below;
	if (left <= 0 || (wanted->exact && size > left))
		return false;

	share = pooled ? left : Max(left / RANGE_SHARE_OF_REST, 1);
	if (!wanted->exact)
		size = Min(size, share);

	range->low = below + 1;
	range->high = below + size;
	return true;
}

double
hilo_rate_decay(double value, int64 elapsed_us, int64 unit_us)
{
	/* If the clock was set back, nothing decays. */
	return value * exp(-(double) Max(elapsed_us, 0) / unit_us);
}

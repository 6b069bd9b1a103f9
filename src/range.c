/*-------------------------------------------------------------------------
 *
 * range.c
 *	  Ranges of numbers: how large the next one should be, and where it lies.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"

#include "range.h"

/* A claim takes at most this part of what is left below the limit. */
#define RANGE_SHARE_OF_REST		64

int64
hilo_range_size(int64 last_size, int64 age_us, int64 duration_us,
				int64 min_size, int64 max_size)
{
	int64		size = last_size;

	if (last_size > 0)
	{
		/* A clock that was set back makes age_us negative: still young. */
		if (age_us < duration_us)
			size = last_size > max_size / 2 ? max_size : last_size * 2;
		else if (age_us - duration_us > duration_us)
			size = last_size / 2;
	}

	return Min(Max(size, min_size), max_size);
}

int64
hilo_range_usual(int64 usual, int64 drawn)
{
	if (usual == 0)
		return drawn;
	if (drawn == 0)
		return usual;
	if (drawn > usual)
		return drawn - usual > usual ? usual * 2 : drawn;
	return Max(usual / 2, drawn);
}

bool
hilo_range_cut(const HiloRangeRequest *request, int64 max, int64 limit,
			   HiloRange *range)
{
	int64		below = Max(max, request->floor);	/* low - 1 */
	int64		size = request->size;
	int64		left;

	if (request->alignment > 1 && below % request->alignment != 0)
	{
		int64		skip = request->alignment - below % request->alignment;

		if (pg_add_s64_overflow(below, skip, &below))
			return false;
	}

	if (below >= limit)
		return false;
	left = limit - below;

	if (!request->exact)
		size = Min(size, Max(left / RANGE_SHARE_OF_REST, 1));
	else if (size > left)
		return false;

	range->low = below + 1;
	range->high = below + size;
	return true;
}

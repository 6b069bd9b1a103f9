/*-------------------------------------------------------------------------
 *
 * range.h
 *	  Ranges of numbers: how large the next one should be, where it starts, and how
 *	  fast numbers are claimed.
 *
 * Pure arithmetic: no backend state, no catalog access, no errors.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_RANGE_H
#define HILO_RANGE_H


/* How long a session's range should last, in microseconds. */
#define HILO_RANGE_DURATION		INT64CONST(100000)

/* The numbers low..high, both included; empty when low > high. */
typedef struct HiloRange
{
	int64		low;
	int64		high;
} HiloRange;

/* Which numbers are wanted. */
typedef struct HiloWanted
{
	int64		size;			/* how many, at least 1 */
	bool		exact;			/* true: not fewer, even close to the limit */
	int64		alignment;		/* low - 1 must be a multiple of it; 1: any */
	int64		above;			/* low must be above it; 0: any */
} HiloWanted;

static inline int64
hilo_range_count(const HiloRange *range)
{
	return range->high - range->low + 1;
}

/*
 * Number of ids the next range should hold, at least 1.
 *
 * last_size is the size of the claimant's previous range (0: none), age_us the
 * microseconds since it was claimed, duration_us how long a range should last.
 * The size doubles if the range lasted less than duration_us, and halves if it
 * lasted more than twice that (RavenDB's rule, with its 30 s made a parameter).
 * The result is between min_size and max_size; if these conflict, max_size
 * wins.
 */
extern int64 hilo_range_size(int64 last_size, int64 age_us, int64 duration_us,
							 int64 min_size, int64 max_size);

/*
 * Cut the range that is wanted out of the numbers above max.
 *
 * limit is the highest number allowed.  Unless wanted is exact, the range gets at most
 * 1/64 of the numbers left, so that claims shrink towards the limit instead of one claimant
 * taking all the rest.  Of numbers that are pooled, it gets all if they are fewer.
 * Returns false, leaving *range alone, if no numbers (or, if wanted is exact, not enough)
 * are left.
 */
extern bool hilo_range_cut(const HiloWanted *wanted, int64 max, int64 limit,
						   bool pooled, HiloRange *range);

/*
 * The rate at which numbers are claimed, as one figure: the sum of all numbers
 * ever claimed, each weighted by exp(-age), with the age in units of time
 * (exponential smoothing).  At a steady rate that is the number claimed per
 * unit.
 *
 * This returns the figure now, if it was value elapsed_us ago.
 */
extern double hilo_rate_decay(double value, int64 elapsed_us, int64 unit_us);

#endif							/* HILO_RANGE_H */

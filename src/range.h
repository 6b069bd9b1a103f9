/*-------------------------------------------------------------------------
 *
 * range.h
 *	  Ranges of numbers: how large the next one should be, and where it lies.
 *
 * Pure arithmetic: no backend state, no catalog access, no errors raised.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_RANGE_H
#define HILO_RANGE_H

/* The numbers low..high, both included; empty when low > high. */
typedef struct HiloRange
{
	int64		low;
	int64		high;
} HiloRange;

/* What a claimant asks for. */
typedef struct HiloRangeRequest
{
	int64		size;			/* how many numbers, at least 1 */
	bool		exact;			/* not fewer, even close to the limit? */
	int64		alignment;		/* low - 1 must be a multiple of it; 1: any */
	int64		floor;			/* low must be above it; 0: any */
} HiloRangeRequest;

/*
 * Number of ids the next range should hold, at least 1.
 *
 * last_size is the size of the claimant's previous range (0: none), age_us the
 * microseconds since it was claimed, duration_us how long a range should last.
 * Doubles when it lasted less than duration_us, halves when more than twice
 * that (RavenDB's rule, with its 30 s made a parameter).  The result lies
 * between min_size and max_size; where these cross, max_size wins.
 */
extern int64 hilo_range_size(int64 last_size, int64 age_us, int64 duration_us,
							 int64 min_size, int64 max_size);

/*
 * Number of ids that a connection usually draws, from what that was (0: not
 * known) and what one connection has drawn.
 *
 * It follows by a factor of 2 at most, as sizes do.  What connections draw lies
 * orders of magnitude apart: so it stays near what most of them draw, and the
 * one among them that loads a million does not make the next ones claim as many.
 */
extern int64 hilo_range_usual(int64 usual, int64 drawn);

/*
 * Cut the range that answers request out of the numbers above max.
 *
 * limit is the highest number there may be.  A request that is not exact gets
 * at most 1/64 of the numbers left, so that claims shrink towards the limit
 * instead of one claimant taking all the rest.  Returns false, leaving *range
 * alone, when no numbers (or, for an exact request, not enough) are left.
 */
extern bool hilo_range_cut(const HiloRangeRequest *request, int64 max,
						   int64 limit, HiloRange *range);

#endif							/* HILO_RANGE_H */

/*-------------------------------------------------------------------------
 *
 * free_search.h
 *	  Finds a free number in few lookups.
 *
 * It knows nothing about identities and documents, but calls back.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_FREE_SEARCH_H
#define HILO_FREE_SEARCH_H

/* Returns true if number is taken.  May raise an error. */
typedef bool (*HiloTakenCallback) (int64 number, void *arg);

/*
 * Find a free number above last, and at most limit.  It is last + 1, or its
 * predecessor is taken; if the taken numbers are contiguous, it is the smallest
 * free one.  Looks up n = last + 1, gallops (n + 1, + 2, + 4 ...) to a free
 * number, then bisects between the last taken and the first free number: at
 * most 2 * ceil(log2(result - last)) + 2 lookups, and two more beyond a distance
 * of 2^10, which are added to *tries.
 * If it reaches the limit and that is taken, it gallops down from there. (J. L.
 * Bentley, A. C. Yao: An almost optimal algorithm for unbounded searching,
 * 1976.)
 *
 * Rows far above all others must not drive the search to them, wherever they
 * were put.  So above a distance of 2^10 each step of the gallop looks up
 * one more number, at random between the last two: if that is free, the search
 * goes on below it.  These steps quadruple the distance.
 *
 * Returns 0 if last is the limit, or no free number was found.
 */
extern int64 hilo_free_search(int64 last, int64 limit,
							  HiloTakenCallback is_taken, void *arg,
							  int *tries);

#endif							/* HILO_FREE_SEARCH_H */

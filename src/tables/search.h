/*-------------------------------------------------------------------------
 *
 * search.h
 *	  Searches one index for the highest id among some numbers.
 *
 * Rows of transactions that are still open count, too.  No code of users runs, and no
 * trace is left for serializable transactions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_SEARCH_H
#define HILO_SEARCH_H

#include "utils/relcache.h"
#include "utils/snapshot.h"

#include "tables/column.h"

/* How an index answers, best first. */
typedef enum HiloSearchKind
{
	HILO_BY_NUMBER,				/* it leads with a column of numbers */
	HILO_BY_FUNCTION,			/* with hilo_number() of a column of ids */
	HILO_BY_ID					/* with a column of ids: only exact ones */
} HiloSearchKind;

/* No number is found. */
#define HILO_NONE			PG_INT64_MIN

/*
 * True if the index has all rows of its table, and can answer in one of these ways
 * about a column.  One that is being built has no blocks yet.
 */
extern bool hilo_index_answers(Relation index, AttrNumber attnum,
							   const HiloIdReader *reader, HiloSearchKind *kind);

/* A search in an index that answers, which is open like its table. */
typedef struct HiloSearch
{
	Relation	table;
	Relation	index;
	AttrNumber	attnum;
	HiloSearchKind kind;
	const HiloIdReader *reader;

	/* For search.c; at first, all is zero. */
	struct IndexScanDescData *scan;
	struct TupleTableSlot *slot;
	Snapshot	now;			/* sees the rows that count; NULL: not taken
								 * yet */
	SnapshotData dirty;			/* sees those of open transactions, too; alone
								 * it could miss a row that is being updated */
} HiloSearch;

/*
 * The highest id from low to high, or HILO_NONE.  After max_passed entries whose rows
 * do not count, the next one does.  Not for HILO_BY_ID.
 */
extern int64 hilo_search_numbers(HiloSearch *search, int64 low, int64 high,
								 int max_passed);

/*
 * For an index in which only exact ids of the collection can be looked up, or numbers as
 * text if the column draws these.  Returns HILO_NONE if low is free.  Otherwise looks up
 * some numbers in each power of two above it, until all of them are free, and returns the
 * end of the last power in which one was taken, at most limit.  (To gallop and bisect would
 * end in a hole each time, where every third id is missing.)
 */
extern int64 hilo_search_ids(HiloSearch *search, const HiloCollection *collection,
							 int64 low, int64 limit);

#endif							/* HILO_SEARCH_H */

/*-------------------------------------------------------------------------
 *
 * ledger.c
 *	  The account of all numbers: shown once, lost for a reason, or a mistake.
 *
 * It is closed after each life of the server, when all sessions have ended:
 * then every number up to max is either shown or lost.
 *
 *-------------------------------------------------------------------------
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "torture.h"

int64_t		ledger_shown;
int64_t		ledger_repeated;
int64_t		ledger_unexplained;

typedef struct Span
{
	int64_t		low;
	int64_t		high;
	int64_t		start;			/* earliest time at which one was asked for */
	int64_t		end;			/* earliest time at which one was shown */
} Span;

typedef struct Spans
{
	Span	   *span;
	size_t		used;
	size_t		room;
} Spans;

/* A count of a collection. */
typedef struct Count
{
	Spans		shown;			/* disjoint and in order after each life */
	Spans		covered;		/* the same, with what is lost */
	Spans		fresh;			/* shown in this life */
	Spans		by_hand;
	int64_t		base;			/* max when it began */
	int64_t		max;			/* now, or when it ended; -1: not known */
	int64_t		top;			/* highest shown before this life */
	bool		told;			/* in this life, what max is */
	int64_t		told_max;
} Count;

static struct
{
	Count	   *count;
	size_t		room;
}			counts[MAX_COLLECTIONS];

/* Entries of this life that may explain numbers. */
typedef struct Entries
{
	Entry	   *entry;
	size_t		used;
	size_t		room;
} Entries;

static Entries losses;
static Entries advances;
static Entries claims;			/* unanswered */
static Entries events;
static Entries collisions;

/* Of the life that is closed. */
static bool life_crashed;
static bool life_pool_known;	/* what the pool had at the end has been booked */

/* How many numbers each reason explains. */
static int64_t explained[256];

static void *
grow(void *array, size_t used, size_t *room, size_t size)
{
	if (used < *room)
		return array;
	*room = *room ? *room * 2 : 16;
	array = realloc(array, *room * size);
	if (array == NULL)
		abort();
	return array;
}

static Count *
count_of(int c, uint32_t number)
{
	size_t		old = counts[c].room;

	if (number >= old)
	{
		counts[c].room = number + 8;
		counts[c].count = realloc(counts[c].count, counts[c].room * sizeof(Count));
		memset(counts[c].count + old, 0, (counts[c].room - old) * sizeof(Count));
		for (size_t i = old; i < counts[c].room; i++)
			counts[c].count[i].max = -1;
	}
	return &counts[c].count[number];
}

static void
add_span(Spans *spans, int64_t low, int64_t high, int64_t start, int64_t end)
{
	Span		span = {low, high, start, end};

	spans->span = grow(spans->span, spans->used, &spans->room, sizeof(Span));
	spans->span[spans->used++] = span;
}

static void
add_entry(Entries *entries, const Entry *entry)
{
	entries->entry = grow(entries->entry, entries->used, &entries->room,
						  sizeof(Entry));
	entries->entry[entries->used++] = *entry;
}

void
ledger_base(int c, uint32_t number, int64_t base)
{
	count_of(c, number)->base = base;
}

void
ledger_final(int c, uint32_t number, int64_t max)
{
	Count	   *count = count_of(c, number);

	count->told = true;
	count->told_max = max;
	count->max = max;
}

/* The highest number that was shown before a time: max was not below it then. */
int64_t
ledger_shown_before(int c, uint32_t number, int64_t time)
{
	Count	   *count = count_of(c, number);
	int64_t		highest = count->top;

	for (size_t i = 0; i < count->fresh.used; i++)
	{
		Span	   *span = &count->fresh.span[i];

		if (span->end < time && span->high > highest)
			highest = span->high;
	}
	return highest;
}

static int
by_low(const void *a, const void *b)
{
	const Span *x = a,
			   *y = b;

	return x->low < y->low ? -1 : x->low > y->low ? 1 :
		x->high < y->high ? -1 : x->high > y->high;
}

/* Sort, and join what touches or overlaps. */
static void
join(Spans *spans)
{
	size_t		used = 0;

	if (spans->used == 0)
		return;
	qsort(spans->span, spans->used, sizeof(Span), by_low);
	for (size_t i = 1; i < spans->used; i++)
	{
		Span	   *last = &spans->span[used];
		Span	   *next = &spans->span[i];

		if (next->low > last->high + 1)
			spans->span[++used] = *next;
		else
		{
			if (next->high > last->high)
				last->high = next->high;
			if (next->start < last->start)
				last->start = next->start;
			if (next->end < last->end)
				last->end = next->end;
		}
	}
	spans->used = used + 1;
}

static void
append(Spans *to, const Spans *from)
{
	for (size_t i = 0; i < from->used; i++)
		add_span(to, from->span[i].low, from->span[i].high,
				 from->span[i].start, from->span[i].end);
}

/* Book what was shown in this life: no number may have been shown before. */
static void
book_shown(int c, uint32_t number, Count *count)
{
	int64_t		high = -1;

	append(&count->shown, &count->fresh);
	append(&count->covered, &count->fresh);
	qsort(count->shown.span, count->shown.used, sizeof(Span), by_low);
	for (size_t i = 0; i < count->shown.used; i++)
	{
		Span	   *span = &count->shown.span[i];

		if (span->low <= high)
		{
			int64_t		last = span->high < high ? span->high : high;

			ledger_repeated += last - span->low + 1;
			failure("repeated: %s, count %u: %" PRId64 "..%" PRId64,
					collection_name(c), number, span->low, last);
		}
		if (span->high > high)
			high = span->high;
	}
	join(&count->shown);
}

void
ledger_read(const char *log)
{
	FILE	   *file = fopen(log, "r");
	Entry		entry;

	if (file == NULL)
		return;
	while (fread(&entry, sizeof(entry), 1, file) == 1)
	{
		Count	   *count = count_of(entry.collection, entry.count);

		switch (entry.kind)
		{
			case KIND_SHOWN:
				add_span(&count->fresh, entry.low, entry.high, entry.start,
						 entry.end);
				ledger_shown += entry.high - entry.low + 1;
				break;
			case KIND_LOST:
			case KIND_FORGOTTEN:
				add_entry(&losses, &entry);
				break;
			case KIND_ADVANCED:
				add_entry(&advances, &entry);
				break;
			case KIND_UNANSWERED:
				add_entry(&claims, &entry);
				break;
			case KIND_EVENT:
				add_entry(&events, &entry);
				break;
			case KIND_BASE:
				count->base = entry.low;
				break;
			case KIND_FINAL:
				ledger_final(entry.collection, entry.count, entry.low);
				break;
			case KIND_BY_HAND:
				add_span(&count->by_hand, entry.low, entry.high, 0, 0);
				break;
			case KIND_COLLISION:
				add_entry(&collisions, &entry);
				break;
			default:
				failure("%s has an entry of kind %d", log, entry.kind);
				break;
		}
	}
	fclose(file);
}

/* Number of events during entry's time that make sessions forget ranges. */
static int
events_during(const Entry *entry)
{
	int			found = 0;

	for (size_t i = 0; i < events.used; i++)
	{
		Entry	   *event = &events.entry[i];

		found += event->collection == entry->collection &&
			event->end >= entry->start && event->start <= entry->end;
	}
	return found;
}

/*
 * An advance may have skipped numbers that were not claimed when it was sent,
 * which are above all that were shown before.
 */
static void
book_advances(void)
{
	for (size_t i = 0; i < advances.used; i++)
	{
		Entry	   *entry = &advances.entry[i];

		entry->low = ledger_shown_before(entry->collection, entry->count,
										 entry->start) + 1;
		if (entry->low <= entry->high)
			add_entry(&losses, entry);
	}
}

/* Low..high are in the pool when the server stops, which loses them. */
void
ledger_pooled(int c, uint32_t number, int64_t low, int64_t high)
{
	Entry		entry = {KIND_LOST, WHY_STILL_POOLED, c, number, low, high, 0, 0};

	add_entry(&losses, &entry);
}

/*
 * Can the gaps of a count be explained?  Only where nothing
 * takes numbers out of it unseen, as a crash does, or a seed.
 */
static bool
is_explainable(int c, uint32_t number)
{
	return (life_pool_known && is_own(c) &&
		 number == shared->collections[c].count);
}

/*
 * How many numbers each unseen claim may explain (low), and above which number
 * (high): what a statement claimed is above all that was shown before it was
 * sent, unless it came from the pool.
 */
static void
weigh_claims(void)
{
	for (size_t i = 0; i < claims.used; i++)
	{
		Entry	   *entry = &claims.entry[i];

		entry->low += (int64_t) events_during(entry) * MAX_RANGE_SIZE;
		entry->high = 0;
	}
}

/* Show what is on record near a gap. */
static void
show_record(int c, uint32_t number, const Count *count, int64_t low, int64_t high)
{
	const Entries *lists[] = {&losses, &claims, &events};

	printf("  max %" PRId64 ", base %" PRId64 "\n", count->max, count->base);
	for (size_t i = 0; i < count->fresh.used; i++)
	{
		const Span *span = &count->fresh.span[i];

		if (span->high >= low - 40 && span->low <= high + 40)
			printf("  shown %" PRId64 "..%" PRId64 " at %" PRId64 "..%" PRId64 "\n",
				   span->low, span->high, span->start, span->end);
	}
	for (size_t i = 0; i < 3; i++)
	{
		for (size_t j = 0; j < lists[i]->used; j++)
		{
			const Entry *entry = &lists[i]->entry[j];

			if (entry->collection != c || (i < 2 && entry->count != number) ||
				(i == 1 && (entry->high >= high || entry->high < low - 500)) ||
				(i == 0 && (entry->high < low - 40 || entry->low > high + 40)))
				continue;
			printf("  %c %c %" PRId64 "..%" PRId64 " at %" PRId64 "..%" PRId64 "\n",
				   entry->kind, entry->why ? entry->why : ' ', entry->low,
				   entry->high, entry->start, entry->end);
		}
	}
}

/*
 * Find reasons for low..high, which is neither shown nor known to be lost.
 * What may explain a gap may explain all above it, and gaps come in order: so
 * it does not matter which of the claims that fit is used up first.
 */
static void
explain_gap(int c, uint32_t number, Count *count, int64_t low, int64_t high)
{
	for (size_t i = 0; i < claims.used && low <= high; i++)
	{
		Entry	   *entry = &claims.entry[i];
		int64_t		part = high - low + 1;

		if (entry->collection != c || entry->count != number ||
			entry->low <= 0 || entry->high >= low)
			continue;
		if (part > entry->low)
			part = entry->low;
		entry->low -= part;
		explained[(unsigned char) entry->kind] += part;
		low += part;
	}
	if (low <= high && !is_explainable(c, number))
		explained[WHY_POOLED] += high - low + 1;
	else if (low <= high)
	{
		ledger_unexplained += high - low + 1;
		failure("unexplained gap: %s, count %u: %" PRId64 "..%" PRId64,
				collection_name(c), number, low, high);
		if (ledger_unexplained < 1000)
			show_record(c, number, count, low, high);
	}
}

/*
 * Book the loss of what is neither covered nor in more, whose last span ends in
 * reach.  Losses come in the order of low.
 */
static void
cover(Count *count, Spans *more, const Entry *entry, int64_t *reach)
{
	int64_t		low = entry->low;
	int64_t		high = entry->high < count->max ? entry->high : count->max;
	int64_t		left;
	size_t		from = 0,
				to = count->covered.used;

	if (low <= count->base)
		low = count->base + 1;
	if (low <= *reach)
		low = *reach + 1;
	if (low > high)
		return;
	*reach = high;

	while (from < to)
	{
		size_t		middle = (from + to) / 2;

		if (count->covered.span[middle].high < low)
			from = middle + 1;
		else
			to = middle;
	}
	left = high - low + 1;
	for (; from < count->covered.used; from++)
	{
		Span	   *span = &count->covered.span[from];
		int64_t		first = span->low > low ? span->low : low;
		int64_t		last = span->high < high ? span->high : high;

		if (span->low > high)
			break;
		left -= last - first + 1;
	}
	explained[(unsigned char) entry->why] += left;
	add_span(more, low, high, entry->start, entry->end);
}

static void
book_gaps(int c, uint32_t number, Count *count)
{
	int64_t		next = count->base + 1;
	Spans	   *covered = &count->covered;
	size_t		used = covered->used;

	if (count->max < 0)
		return;
	for (size_t i = 0; i <= used; i++)
	{
		int64_t		low = i < used ? covered->span[i].low : count->max + 1;

		if (low > count->max + 1)
			low = count->max + 1;
		if (low > next)
			explain_gap(c, number, count, next, low - 1);
		if (i < used && covered->span[i].high >= next)
			next = covered->span[i].high + 1;
	}
	if (count->max > count->base)
	{
		add_span(covered, count->base + 1, count->max, 0, 0);
		join(covered);
	}
}

/* Was one of the numbers inserted by hand?  Then a look has found it. */
static bool
has_number_between(const Spans *spans, int64_t low, int64_t high)
{
	for (size_t i = 0; i < spans->used; i++)
	{
		if (spans->span[i].low <= high && spans->span[i].high >= low)
			return true;
	}
	return false;
}

/*
 * Was one of the numbers shown in an earlier count of a bound table's collection?  Then it may
 * still be an id there, which a look has found.
 */
static bool
is_bound_and_shown_before(int c, uint32_t number, int64_t low, int64_t high)
{
	for (uint32_t earlier = 0; earlier < number && c >= C_BIGINT && c <= C_INT; earlier++)
	{
		Count	   *count = count_of(c, earlier);

		if (has_number_between(&count->shown, low, high) ||
			has_number_between(&count->by_hand, low, high))
			return true;
	}
	return false;
}

static int
by_count(const void *a, const void *b)
{
	const Entry *x = a,
			   *y = b;

	if (x->collection != y->collection)
		return x->collection < y->collection ? -1 : 1;
	if (x->count != y->count)
		return x->count < y->count ? -1 : 1;
	return x->low < y->low ? -1 : x->low > y->low;
}

static void
book_losses(void)
{
	size_t		i = 0;

	qsort(losses.entry, losses.used, sizeof(Entry), by_count);
	while (i < losses.used)
	{
		Entry		first = losses.entry[i];
		Count	   *count = count_of(first.collection, first.count);
		Spans		more = {0};
		int64_t		reach = -1;

		join(&count->covered);
		for (; i < losses.used &&
			 losses.entry[i].collection == first.collection &&
			 losses.entry[i].count == first.count; i++)
		{
			Entry	   *entry = &losses.entry[i];

			if (entry->why == WHY_RETURNED && !life_crashed)
				continue;
			if (entry->why == WHY_POOLED &&
				is_explainable(entry->collection, entry->count))
				continue;
			if (entry->kind == KIND_FORGOTTEN && events_during(entry) == 0 &&
				!has_number_between(&count->by_hand, entry->low, entry->high) &&
				!is_bound_and_shown_before(entry->collection, entry->count, entry->low, entry->high))
				failure("%s, count %u: a session has forgotten %" PRId64 "..%" PRId64 " without a reason",
						collection_name(first.collection), first.count,
						entry->low, entry->high);
			else
				cover(count, &more, entry, &reach);
		}
		append(&count->covered, &more);
		free(more.span);
	}
}

/* Each collision must be with a number inserted by hand. */
static void
check_collisions(void)
{
	for (size_t i = 0; i < collisions.used; i++)
	{
		Entry	   *entry = &collisions.entry[i];
		Count	   *count = count_of(entry->collection, entry->count);

		if (!has_number_between(&count->by_hand, entry->low, entry->low))
			failure("%s: the number %" PRId64 ", drawn, was there already",
					collection_name(entry->collection), entry->low);
	}
}

void
ledger_end_life(bool crashed, bool pool_known)
{
	life_crashed = crashed;
	life_pool_known = pool_known;
	book_advances();
	weigh_claims();
	for (int c = 0; c < MAX_COLLECTIONS; c++)
	{
		for (uint32_t i = 0; i < counts[c].room; i++)
		{
			if (counts[c].count[i].fresh.used > 0)
				book_shown(c, i, &counts[c].count[i]);
		}
	}
	book_losses();
	for (int c = 0; c < MAX_COLLECTIONS; c++)
	{
		for (uint32_t i = 0; i < counts[c].room; i++)
		{
			Count	   *count = &counts[c].count[i];

			join(&count->covered);
			book_gaps(c, i, count);
			count->fresh.used = 0;
			if (count->shown.used > 0)
				count->top = count->shown.span[count->shown.used - 1].high;
			if (count->told && count->top > count->told_max)
				failure("beyond max: %s, count %u: %" PRId64 " was shown, max is %" PRId64,
						collection_name(c), i, count->top, count->told_max);
			count->told = false;
		}
	}
	check_collisions();
	losses.used = advances.used = claims.used = events.used = collisions.used = 0;
}

void
ledger_report(void)
{
	static const struct
	{
		int			why;
		const char *text;
	}			reasons[] = {
		{WHY_SESSION, "held by a session that ended"},
		{WHY_FAILED, "drawn by a statement that failed"},
		{KIND_UNANSWERED, "claimed by a statement without an answer"},
		{WHY_SEEDED, "below a seed"},
		{0, "forgotten because of a seed"},
		{WHY_BY_HAND, "below a number inserted by hand"},
		{WHY_ATTACHED, "moved by hilo.attach"},
		{WHY_ALIGNED, "below an aligned range"},
		{WHY_CLIENT, "kept by a program"},
		{WHY_RETURNED, "given back, undone by a crash"},
		{WHY_SEARCH, "stepped over by next_identity_free"},
		{WHY_COUNT, "held when a count ended"},
		{WHY_POOLED, "pooled, and not known what became of them"},
		{WHY_STILL_POOLED, "in the pool when a life ended"}
	};

	printf("numbers lost, by the reason on record:\n");
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		printf("  %12" PRId64 "  %s\n", explained[reasons[i].why],
			   reasons[i].text);
}

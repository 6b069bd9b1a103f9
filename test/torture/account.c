/*-------------------------------------------------------------------------
 *
 * account.c
 *	  What a client knows of the numbers that its session draws and holds, and
 *	  the log of that.
 *
 *-------------------------------------------------------------------------
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"

int			log_file;
int64_t		turn_start;
Held		held[MAX_COLLECTIONS];

/* The last number that the session has drawn, and its count. */
static int64_t last_seen[MAX_COLLECTIONS];
static uint32_t last_seen_in[MAX_COLLECTIONS];

/*
 * The log
 */
void
put(char kind, char why, int c, uint32_t count, int64_t low, int64_t high,
	int64_t start, int64_t end)
{
	Entry		entry = {kind, why, c, count, low, high, start, end};

	if (write(log_file, &entry, sizeof(entry)) != sizeof(entry))
		failure("a log could not be written");
}

uint32_t
count_now(int c)
{
	return shared->collections[c].count;
}

void
lost(char why, int c, uint32_t count, int64_t low, int64_t high)
{
	if (low <= high)
		put(KIND_LOST, why, c, count, low, high, 0, now_us());
}

/* A statement sent at start may skip numbers up to high. */
void
advanced(char why, int c, int64_t high, int64_t start)
{
	put(KIND_ADVANCED, why, c, count_now(c), 0, high, start, now_us());
}

void
unanswered(int c, uint32_t count, int64_t size, int64_t start)
{
	put(KIND_UNANSWERED, 0, c, count, size, 0, start, now_us());
}

/*
 * Ranges held
 *
 * A range is known from its first number that is seen, and looked up once
 * hilo.ranges has told both of its ends.  Without a failure all that the
 * session draws is seen, so that of a range looked up each number is accounted
 * for.  A statement that fails may have drawn from the range, and from others
 * claimed in the meantime: then the session is asked for what it holds, and
 * what it may have claimed and drawn beside that is an upper bound, as each
 * number that was claimed has been drawn, is held, or has been forgotten
 * because of an event.
 */

/* The session no longer holds the range. */
static void
leave_range(Held *h, int c)
{
	if (!h->known)
		return;
	if (!h->looked_up)
	{
		/* Drawn to its end, unless there was an event; once per statement. */
		if (h->left_in != statement)
			unanswered(c, h->count, 0, h->since);
		h->left_in = statement;
	}
	else if (h->dirty)
		lost(WHY_FAILED, c, h->count, h->next, h->high);
	else if (h->next <= h->high)
		put(KIND_FORGOTTEN, 0, c, h->count, h->next, h->high, h->since, now_us());
	h->known = false;
}

/* All that the session held and claimed of a count is lost, for a reason. */
void
write_off(Held *h, int c, char why)
{
	if (h->known && h->looked_up && !h->dirty && why == WHY_SESSION)
		lost(WHY_POOLED, c, h->count, h->next, h->high);
	else if (h->known && h->looked_up)
		lost(why, c, h->count, h->next, h->high);
	else if (h->known && !h->dirty)
		unanswered(c, h->count, MAX_RANGE_SIZE, h->since);
	if (h->dirty)
		unanswered(c, h->count, h->dirty_size + MAX_RANGE_SIZE, h->dirty_start);
	memset(h, 0, sizeof(*h));
}

/* A new count has begun: what was held of the old one is void. */
void
check_count(Held *h, int c)
{
	uint32_t	count = count_now(c);

	if (h->count == count)
		return;
	write_off(h, c, WHY_COUNT);
	h->count = count;
	if (last_seen_in[c] != count)
		last_seen[c] = 0;
	last_seen_in[c] = count;
}

/* The session has ended. */
void
end_session(void)
{
	for (int c = 0; c < COLLECTIONS; c++)
	{
		write_off(&held[c], c, WHY_SESSION);
		last_seen[c] = 0;
	}
}

/* A number was drawn from the session's range. */
static void
see_number(int c, int64_t number, int64_t start)
{
	Held	   *h = &held[c];

	check_count(h, c);
	if (number <= last_seen[c])
		failure("%s has given %" PRId64 " to a session after %" PRId64,
				collection_name(c), number, last_seen[c]);
	last_seen[c] = number;
	if (h->known && number == h->next && (!h->looked_up || number <= h->high))
	{
		h->next++;
		return;
	}

	/* Further on in the same range. */
	if (h->known && h->looked_up && number > h->next && number <= h->high)
	{
		if (h->dirty)
			lost(WHY_FAILED, c, h->count, h->next, number - 1);
		h->next = number + 1;
		return;
	}

	leave_range(h, c);
	h->known = true;
	h->looked_up = false;
	h->low = number;
	h->next = number + 1;
	h->since = h->dirty ? h->dirty_start : start;
}

/*
 * A statement that may have drawn size numbers has failed, or is going to be
 * sent and will not say.  If it was cut short, it may also have claimed a range
 * that the session did not get to hold.
 */
void
see_failure(int c, int64_t size, int64_t start)
{
	Held	   *h = &held[c];

	check_count(h, c);
	if (!h->dirty)
	{
		/* What it has drawn may come from a range that is not looked up. */
		h->dirty = true;
		h->dirty_start = h->known && !h->looked_up && h->since < start ?
			h->since : start;
		h->dirty_size = 0;
	}
	h->dirty_size += size + (cut_short ? MAX_RANGE_SIZE : 0);
}

/* The session holds low..high, of which next is the next to be drawn. */
static void
see_range(Held *h, int c, int64_t low, int64_t high, int64_t next)
{
	bool		same = h->known && h->looked_up && h->low == low && h->high == high;

	/* Of what was known by some numbers only the ends are told now. */
	if (!same && !(h->known && !h->looked_up && h->low >= low && h->next <= high + 1))
		leave_range(h, c);
	if (h->dirty)
	{
		lost(WHY_FAILED, c, h->count, same ? h->next : low, next - 1);
		if (!same)
			unanswered(c, h->count, h->dirty_size, h->dirty_start);
	}
	if (!h->known)
		h->since = h->dirty ? h->dirty_start : turn_start;
	h->known = h->looked_up = true;
	h->dirty = false;
	h->low = low;
	h->high = high;
	h->next = next;
}

/* Bring the account up to date with the session's ranges. */
void
look_up(void)
{
	PGresult   *result;
	bool		there[MAX_COLLECTIONS] = {0};
	static uint32_t before[MAX_COLLECTIONS];

	if (failed)
		return;
	for (int c = 0; c < COLLECTIONS; c++)
		before[c] = count_now(c);
	result = run(NULL, "SELECT collection, low, high, next FROM hilo.ranges");
	if (result == NULL)
		return;
	for (int i = 0; i < PQntuples(result); i++)
	{
		int			c = collection_by_name(PQgetvalue(result, i, 0), false);
		int64_t		low = strtoll(PQgetvalue(result, i, 1), NULL, 10);
		int64_t		high = strtoll(PQgetvalue(result, i, 2), NULL, 10);
		int64_t		next = strtoll(PQgetvalue(result, i, 3), NULL, 10);

		/*
		 * If a count has just begun, it is not known which one the range
		 * belongs to.
		 */
		if (c < 0 || before[c] != count_now(c))
			continue;
		there[c] = true;
		check_count(&held[c], c);
		see_range(&held[c], c, low, high, next);
	}
	PQclear(result);

	for (int c = 0; c < COLLECTIONS; c++)
	{
		Held	   *h = &held[c];

		if (there[c] || (!h->known && !h->dirty) || before[c] != count_now(c))
			continue;
		check_count(h, c);
		if (h->dirty)
			unanswered(c, h->count, h->dirty_size, h->dirty_start);
		leave_range(h, c);
		h->dirty = false;
	}
}

/* True if the account does not know enough about a range or a failure. */
bool
has_unknown(void)
{
	for (int c = 0; c < COLLECTIONS; c++)
	{
		if (held[c].dirty || (held[c].known && !held[c].looked_up))
			return true;
	}
	return false;
}

/* Log numbers of the rows of a column, those of one range as one entry. */
void
show_column(PGresult *result, int column, int c, int64_t start, bool from_range)
{
	int64_t		end = now_us();
	int64_t		low = 0,
				high = -1;
	uint32_t	count = count_now(c);

	for (int i = 0; i < PQntuples(result); i++)
	{
		int64_t		number = number_in(PQgetvalue(result, i, column));

		if (number == high + 1 && low > 0)
			high++;
		else
		{
			if (low > 0)
				put(KIND_SHOWN, 0, c, count, low, high, start, end);
			low = high = number;
		}
	}
	if (low > 0)
		put(KIND_SHOWN, 0, c, count, low, high, start, end);
	if (!from_range)
		return;
	for (int i = 0; i < PQntuples(result); i++)
		see_number(c, number_in(PQgetvalue(result, i, column)), start);
}

/*
 * Run a statement whose result's column has numbers of c.  from_range: drawn
 * from the session's range; else claimed by the statement itself; not before
 * start.
 */
PGresult *
draw_since(int64_t start, int c, bool from_range, int64_t size,
		   const char *allowed, const char *sql)
{
	PGresult   *result = run(allowed, "%s", sql);

	if (result != NULL && PQresultStatus(result) == PGRES_TUPLES_OK)
		show_column(result, 0, c, start, from_range);
	else if (result == NULL && from_range)
		see_failure(c, size, start);
	else if (result == NULL)
		unanswered(c, count_now(c), size, start);
	return result;
}

PGresult *
draw(int c, bool from_range, int64_t size, const char *allowed, const char *sql)
{
	return draw_since(now_us(), c, from_range, size, allowed, sql);
}

void
show(int c, int64_t low, int64_t high, int64_t start)
{
	put(KIND_SHOWN, 0, c, count_now(c), low, high, start, now_us());
}

/*
 * A statement sent at start has made sessions forget their ranges of c; if it
 * was not answered, its backend may still be running it.
 */
void
note_event(int c, int64_t start)
{
	put(KIND_EVENT, 0, c, count_now(c), 0, 0, start,
		now_us() + (connected() ? 0 : 1000000));
}

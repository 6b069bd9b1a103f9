/*-------------------------------------------------------------------------
 *
 * client.c
 *	  A client: random draws in random transactions, all of them logged.
 *
 * It keeps an account of the ranges that its session holds: what it sees
 * drawn, and what hilo_cached_ranges says when a new range shows.
 *
 *-------------------------------------------------------------------------
 */
#include <fcntl.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "torture.h"

/* What the session holds of a collection, as far as the client knows. */
typedef struct Held
{
	uint32_t	count;
	bool		known;			/* low..high is the range */
	bool		looked_up;		/* high is its end */
	bool		dirty;			/* statements have failed since */
	int64_t		low;			/* of what is known of the range */
	int64_t		high;
	int64_t		next;
	int64_t		since;			/* not later than the range was claimed */
	int64_t		left_in;		/* statement that has left one whose end was
								 * not seen */
	int64_t		dirty_size;		/* numbers they could have claimed and drawn */
	int64_t		dirty_start;	/* not later than the first such claim */
} Held;

/* A range of hilo_next_range(). */
typedef struct ProgramRange
{
	int			c;
	uint32_t	count;
	int64_t		low;
	int64_t		high;
	int64_t		last;			/* handed out */
	int64_t		claim;
	char		range_at[64];
	int64_t		size;
} ProgramRange;

/* Seconds after which something that should not wait is taken to hang. */
#define PATIENCE		240

#define PROGRAM_RANGES	8
#define MAX_PREPARED	3

static PGconn *conn;
static const char *conninfo;
static int	me;
static int	log_file;
static uint64_t random_state;
static Held held[MAX_COLLECTIONS];
static ProgramRange program_ranges[PROGRAM_RANGES];
static bool async;				/* synchronous_commit is off */
static bool in_transaction;
static bool failed;				/* the transaction is */
static bool serializable;
static bool cut_short;			/* the last statement was, while it ran */
static bool has_timeout;
static int64_t turn_start;
static int64_t statement;		/* number of the last one */
static int64_t session_transactions;
static int	reading[4];			/* resettable collections of the transaction */
static int	reading_count;
static char prepared[MAX_PREPARED][64];
static int	prepared_count;
static int	gids;
static int	batches;
static int	by_hand_table;		/* table to insert a number by hand into */
static int64_t by_hand_max;
static int	holding;			/* collection that a cursor draws from, plus 1 */

static int
rnd(int n)
{
	return next_random(&random_state) % n;
}

static bool
chance(int percent)
{
	return rnd(100) < percent;
}

/*
 * The log
 */
static void
put(char kind, char why, int c, uint32_t count, int64_t low, int64_t high,
	int64_t start, int64_t end)
{
	Entry		entry = {kind, why, c, count, low, high, start, end};

	if (write(log_file, &entry, sizeof(entry)) != sizeof(entry))
		failure("a log could not be written");
}

static uint32_t
count_now(int c)
{
	return shared->collections[c].count;
}

static void
lost(char why, int c, uint32_t count, int64_t low, int64_t high)
{
	if (low <= high)
		put(KIND_LOST, why, c, count, low, high, 0, now_us());
}

/* A statement sent at start may step over numbers up to high. */
static void
raised(char why, int c, int64_t high, int64_t start)
{
	put(KIND_RAISED, why, c, count_now(c), 0, high, start, now_us());
}

static void
unanswered(int c, uint32_t count, int64_t size, int64_t start)
{
	put(KIND_UNANSWERED, 0, c, count, size, 0, start, now_us());
}

/*
 * Statements
 */
static bool
connected(void)
{
	return conn != NULL && PQstatus(conn) == CONNECTION_OK;
}

/* Is state one of those in list, separated by spaces? */
static bool
listed(const char *state, const char *list)
{
	return list != NULL && strstr(list, state) != NULL;
}

/* A statement has failed: may it have done so? */
static void
judge(const PGresult *result, const char *allowed, const char *sql)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

	if (in_transaction)
		failed = true;
	cut_short = state == NULL || listed(state, "57014 57P01 57P02 57P03");
	if (state == NULL)
	{
		/* The connection has ended, even if its status does not say so yet. */
		char	   *message = strdup(PQerrorMessage(conn));
		PGresult   *again = PQexec(conn, "SELECT 1");

		if (PQresultStatus(again) == PGRES_TUPLES_OK)
			failure("%s: %s", sql, message);
		PQclear(again);
		free(message);
	}
	else if (strcmp(state, "57014") == 0)
		__sync_fetch_and_add(&shared->cancelled, 1);
	else if (!cut_short && !listed(state, allowed) &&
			 !(serializable && listed(state, "40001")))
		failure("SQLSTATE %s of %s: %s", state, sql, PQerrorMessage(conn));
}

/*
 * Send a statement; NULL if it failed.  allowed lists the errors that it may
 * end with, beyond a cancel, a timeout and the end of the session.
 */
static PGresult *
run(const char *allowed, const char *format,...)
{
	char		sql[4096];
	va_list		args;
	PGresult   *result;

	va_start(args, format);
	vsnprintf(sql, sizeof(sql), format, args);
	va_end(args);

	cut_short = true;
	statement++;
	if (!connected())
		return NULL;
	__sync_fetch_and_add(&shared->statements, 1);
	alarm(PATIENCE);
	result = PQexec(conn, sql);
	alarm(0);
	switch (PQresultStatus(result))
	{
		case PGRES_COMMAND_OK:
		case PGRES_TUPLES_OK:
		case PGRES_COPY_IN:
			cut_short = false;
			return result;
		default:
			judge(result, allowed, sql);
			PQclear(result);
			return NULL;
	}
}

static bool
command(const char *sql)
{
	PGresult   *result = run(NULL, "%s", sql);

	PQclear(result);
	return result != NULL;
}

/* A single number; -1 if the statement fails, none if there is no row. */
static int64_t
number_of(int64_t none, const char *sql)
{
	PGresult   *result = run(NULL, "%s", sql);
	int64_t		number = none;

	if (result == NULL)
		return -1;
	if (PQntuples(result) == 1 && !PQgetisnull(result, 0, 0))
		number = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
	PQclear(result);
	return number;
}

/* max; -1 if it cannot be said. */
static int64_t
stored_max(int c)
{
	char		sql[512];

	snprintf(sql, sizeof(sql), is_identity(c) ?
			 "SELECT value FROM hilo_identity WHERE name = '%s'" :
			 "SELECT max FROM hilo WHERE collection = '%s'", collection_name(c));
	return number_of(0, sql);
}

/* The number in an id. */
static int64_t
number_in(const char *id)
{
	const char *slash = strrchr(id, '/');

	return strtoll(slash ? slash + 1 : id, NULL, 10);
}

/*
 * Ranges held
 *
 * A range is known from its first number that is seen, and looked up once
 * hilo_cached_ranges has told both of its ends.  Without a failure all that the
 * session draws is seen, so that of a range looked up each number is accounted
 * for.  A statement that fails may have drawn from the range, and from others
 * claimed in the meantime: then the session is asked for what it holds, and
 * what it may have claimed and drawn beside that is an upper bound, as each
 * number that was claimed has been drawn, is held, or has been forgotten
 * because of an event.
 */

/* The session does not hold the range any more. */
static void
leave_range(Held *h, int c)
{
	if (!h->known)
		return;
	if (!h->looked_up)
	{
		/* Drawn to its end, unless there was an event; once a statement. */
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
static void
write_off(Held *h, int c, char why)
{
	if (h->known && h->looked_up)
		lost(why, c, h->count, h->next, h->high);
	else if (h->known && !h->dirty)
		unanswered(c, h->count, MAX_RANGE_SIZE, h->since);
	if (h->dirty)
		unanswered(c, h->count, h->dirty_size + MAX_RANGE_SIZE, h->dirty_start);
	memset(h, 0, sizeof(*h));
}

/* A new count has begun: what was held of the old one is void. */
static void
check_count(Held *h, int c)
{
	uint32_t	count = count_now(c);

	if (h->count == count)
		return;
	write_off(h, c, WHY_COUNT);
	h->count = count;
}

/* The session has ended. */
static void
end_session(void)
{
	for (int c = 0; c < COLLECTIONS; c++)
		write_off(&held[c], c, WHY_SESSION);
}

/* A number was drawn from the session's range. */
static void
see_number(int c, int64_t number, int64_t start)
{
	Held	   *h = &held[c];

	check_count(h, c);
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
static void
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
static void
look_up(void)
{
	PGresult   *result;
	bool		there[MAX_COLLECTIONS] = {0};
	static uint32_t before[MAX_COLLECTIONS];

	if (failed)
		return;
	for (int c = 0; c < COLLECTIONS; c++)
		before[c] = count_now(c);
	result = run(NULL, "SELECT collection, low, high, next FROM hilo_cached_ranges");
	if (result == NULL)
		return;
	for (int i = 0; i < PQntuples(result); i++)
	{
		int			c = collection_by_name(PQgetvalue(result, i, 0), false);
		int64_t		low = strtoll(PQgetvalue(result, i, 1), NULL, 10);
		int64_t		high = strtoll(PQgetvalue(result, i, 2), NULL, 10);
		int64_t		next = strtoll(PQgetvalue(result, i, 3), NULL, 10);

		/* Of which count it is cannot be said when one has just begun. */
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

/* Is there a range, or a failure, that the account does not know enough of? */
static bool
has_unknown(void)
{
	for (int c = 0; c < COLLECTIONS; c++)
	{
		if (held[c].dirty || (held[c].known && !held[c].looked_up))
			return true;
	}
	return false;
}

/*
 * Draws
 */

/* Log numbers of the rows of a column, those of one range as one entry. */
static void
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
static PGresult *
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

static PGresult *
draw(int c, bool from_range, int64_t size, const char *allowed, const char *sql)
{
	return draw_since(now_us(), c, from_range, size, allowed, sql);
}

static void
show(int c, int64_t low, int64_t high, int64_t start)
{
	put(KIND_SHOWN, 0, c, count_now(c), low, high, start, now_us());
}

/* May this transaction draw from the resettable collection c? */
static bool
may_draw_from(int c)
{
	for (int i = 0; i < reading_count; i++)
	{
		if (reading[i] == c)
			return true;
	}
	return false;
}

/* A collection that this transaction may draw from. */
static int
some_collection(void)
{
	int			kind = rnd(10);

	if (reading_count > 0 && kind < 3)
	{
		int			c = reading[rnd(reading_count)];

		if (!is_identity(c))
			return c;
	}
	if (kind == 3 && me != 0)
		return C_OF_LIFE + 2 * shared->life + rnd(2);
	if (kind == 4)
		return C_OWN + me;
	return C_PLAIN + rnd(6);
}

/* Errors of a draw from c beyond those that are always there. */
static const char *
draw_errors(int c)
{
	return c == C_LIMITED ? "2200H" : NULL;
}

static int
some_size(void)
{
	return chance(70) ? 1 : chance(80) ? 1 + rnd(20) : 1 + rnd(500);
}

static void
do_draw(void)
{
	static const char *const forms[] = {
		"SELECT hilo_nextval('%s') FROM generate_series(1, %d)",
		"SELECT hilo_next('%s') FROM generate_series(1, %d)",
		"SELECT hilo_next('%s', 'T1') FROM generate_series(1, %d)",
		"SELECT hilo_next('%s', '') FROM generate_series(1, %d)",
		"SELECT hilo_document_id('%s') FROM generate_series(1, %d)",
		"SELECT torture_draw('%s', %d)"
	};
	char		sql[512];
	int			c = some_collection();
	int			form = rnd(6);
	int			size = some_size();
	PGresult   *result;

	if (form == 5 && size > 50)
		size = 50;
	snprintf(sql, sizeof(sql), forms[form], collection_name(c), size);
	result = draw(c, true, size, draw_errors(c), sql);
	if (result != NULL && form < 2 && chance(5) && !failed)
	{
		int64_t		last = number_in(PQgetvalue(result, size - 1, 0));
		int64_t		last_drawn;

		snprintf(sql, sizeof(sql), "SELECT hilo_currval('%s')", collection_name(c));
		last_drawn = number_of(-1, sql);
		if (last_drawn >= 0 && last_drawn != last)
			failure("hilo_currval is not the last number drawn");
	}
	PQclear(result);
}

/* Two collections by turns in one statement. */
static void
do_draw_two(void)
{
	int			c = C_PLAIN + rnd(6);
	int			d = C_PLAIN + rnd(6);
	int			size = some_size();
	int64_t		start = now_us();
	PGresult   *result;

	if (c == d)
		return;
	result = run(NULL, "SELECT hilo_nextval('%s'), hilo_next('%s') FROM generate_series(1, %d)",
				 collection_name(c), collection_name(d), size);
	if (result != NULL)
	{
		show_column(result, 0, c, start, true);
		show_column(result, 1, d, start, true);
	}
	else
	{
		see_failure(c, size, start);
		see_failure(d, size, start);
	}
	PQclear(result);
}

/* A statement that draws and then fails. */
static void
do_draw_and_fail(void)
{
	char		sql[512];
	int			c = some_collection();
	int			size = 2 + rnd(20);

	snprintf(sql, sizeof(sql),
			 "SELECT hilo_nextval('%s'), 1 / (g - %d) FROM generate_series(1, %d) g",
			 collection_name(c), size, size);
	PQclear(draw(c, true, size, c == C_LIMITED ? "22012 2200H" : "22012", sql));
}

static void
do_reserve(void)
{
	int			c = some_collection();
	int			size = 1 + rnd(30); /* the least that do_configure() allows */
	int64_t		start = now_us();
	PGresult   *result;

	result = run(draw_errors(c), "SELECT low, high FROM hilo_reserve('%s', %d)",
				 collection_name(c), size);
	if (result == NULL)
		unanswered(c, count_now(c), size, start);
	else
	{
		int64_t		low = number_in(PQgetvalue(result, 0, 0));
		int64_t		high = number_in(PQgetvalue(result, 0, 1));

		show(c, low, high, start);
		if (high - low + 1 != size)
			failure("hilo_reserve(%d) gave %" PRId64 "..%" PRId64, size, low, high);
	}
	PQclear(result);
}

static void
do_next_hi(void)
{
	int			c = some_collection();
	int			size = 1 + rnd(20);
	int64_t		start = now_us();
	PGresult   *result;

	result = run(draw_errors(c), "SELECT hilo_next_hi('%s', %d)",
				 collection_name(c), size);
	if (result == NULL)
		unanswered(c, count_now(c), 2 * size, start);
	else
	{
		int64_t		hi = number_in(PQgetvalue(result, 0, 0));
		int64_t		low = (hi - 1) * size + 1;

		show(c, low, hi * size, start);
		lost(WHY_ALIGNED, c, count_now(c), low - size + 1, low - 1);
	}
	PQclear(result);
}

/* Hand out numbers of a range that this program holds. */
static void
use_range(ProgramRange *range)
{
	int64_t		left = range->high - range->last;
	int64_t		take = left > 0 ? 1 + rnd(left) : 0;

	if (take > 0)
		put(KIND_SHOWN, 0, range->c, range->count, range->last + 1,
			range->last + take, now_us(), now_us());
	range->last += take;
}

static void
do_next_range(void)
{
	int			place = rnd(PROGRAM_RANGES);
	ProgramRange *range = &program_ranges[place];
	int			c = some_collection();
	int64_t		start;
	int64_t		last_max = 0;
	PGresult   *result;

	/* The rest of what was there is kept for good. */
	if (range->high > range->last)
	{
		lost(WHY_CLIENT, range->c, range->count, range->last + 1, range->high);
		range->high = 0;
	}
	if (!in_transaction && chance(5))
	{
		int64_t		max = stored_max(c);

		if (max < 0)
			return;
		last_max = c == C_LIMITED ? max : max + rnd(20);
	}
	start = now_us();
	if (last_max > 0)
		raised(WHY_SEEDED, c, last_max, start);
	if (range->size > 0 && chance(50))
		result = run(draw_errors(c), "SELECT low, high, claim, last_size, range_at FROM "
					 "hilo_next_range('%s', %" PRId64 ", '%s', %" PRId64 ")",
					 collection_name(c), range->size, range->range_at, last_max);
	else
		result = run(draw_errors(c), "SELECT low, high, claim, last_size, range_at FROM "
					 "hilo_next_range('%s', 0, NULL, %" PRId64 ")",
					 collection_name(c), last_max);
	if (result == NULL)
	{
		unanswered(c, count_now(c), MAX_RANGE_SIZE, start);
		return;
	}
	range->c = c;
	range->count = count_now(c);
	range->low = number_in(PQgetvalue(result, 0, 0));
	range->high = number_in(PQgetvalue(result, 0, 1));
	range->claim = number_in(PQgetvalue(result, 0, 2));
	range->size = number_in(PQgetvalue(result, 0, 3));
	snprintf(range->range_at, sizeof(range->range_at), "%s", PQgetvalue(result, 0, 4));
	range->last = range->low - 1;
	if (range->low <= last_max)
		failure("hilo_next_range answered below last_max");
	PQclear(result);
	if (chance(80))
		use_range(range);
}

/* Give a range back that is not ours to give: must be refused. */
static void
forge_return(const ProgramRange *range)
{
	int64_t		last = range->last,
				high = range->high,
				claim = range->claim;
	PGresult   *result;

	switch (rnd(4))
	{
		case 0:
			claim = 1 + rnd(1000000);
			break;
		case 1:
			last = range->low - 2;
			break;
		case 2:
			high++;
			break;
		default:
			claim = 0;
			break;
	}
	if (last < 0)
		return;
	result = run(NULL, "SELECT hilo_return_range('%s', %" PRId64 ", %" PRId64 ", %" PRId64 ")",
				 collection_name(range->c), last, high, claim);
	if (result != NULL && PQgetvalue(result, 0, 0)[0] == 't')
		failure("a forged return was taken: %s, %" PRId64 ", %" PRId64 ", %" PRId64,
				collection_name(range->c), last, high, claim);
	PQclear(result);
}

static void
do_return_range(void)
{
	ProgramRange *range = &program_ranges[rnd(PROGRAM_RANGES)];
	PGresult   *result;
	bool		current;
	char		claim[32];

	if (range->high == 0 ||
		(is_resettable(range->c) && !may_draw_from(range->c)))
		return;
	if (chance(30))
	{
		use_range(range);
		return;
	}
	if (chance(20))
	{
		forge_return(range);
		return;
	}

	/*
	 * Without the number of the claim only while the count is sure to be the
	 * same: the caller is trusted.
	 */
	current = range->count == count_now(range->c) && !is_resettable(range->c);
	snprintf(claim, sizeof(claim), "%" PRId64, range->claim);
	result = run(NULL, "SELECT hilo_return_range('%s', %" PRId64 ", %" PRId64 ", %s)",
				 collection_name(range->c), range->last, range->high,
				 current && chance(50) ? "NULL" : claim);
	if (result == NULL)
		lost(WHY_CLIENT, range->c, range->count, range->last + 1, range->high);
	else if (PQgetvalue(result, 0, 0)[0] == 't')
	{
		lost(WHY_RETURNED, range->c, range->count, range->last + 1, range->high);
		if (range->count != count_now(range->c))
			failure("a range of an old count was taken back");
		PQclear(result);
		result = run(NULL, "SELECT hilo_return_range('%s', %" PRId64 ", %" PRId64 ", %s)",
					 collection_name(range->c), range->last, range->high,
					 chance(50) ? claim : current ? "NULL" : claim);
		if (result != NULL && PQgetvalue(result, 0, 0)[0] == 't')
			failure("a range was taken back twice");
	}
	else
		lost(WHY_CLIENT, range->c, range->count, range->last + 1, range->high);
	range->high = 0;
	PQclear(result);
}

static void
keep_program_ranges(void)
{
	for (int i = 0; i < PROGRAM_RANGES; i++)
	{
		ProgramRange *range = &program_ranges[i];

		if (range->high > range->last)
			lost(WHY_CLIENT, range->c, range->count, range->last + 1, range->high);
		range->high = 0;
	}
}

/* Identities and server-side ids: each is on disk before it is shown. */
static void
do_identity(void)
{
	char		sql[512];
	int			c = C_IDENTITY + rnd(2);
	int			size = chance(80) ? 1 : 1 + rnd(10);

	for (int i = 0; i < reading_count; i++)
	{
		if (is_identity(reading[i]))
			c = reading[i];
	}
	switch (rnd(5))
	{
		case 0:
			snprintf(sql, sizeof(sql), "SELECT next_identity('%s|') FROM generate_series(1, %d)",
					 collection_name(c), size);
			break;
		case 1:
			snprintf(sql, sizeof(sql), "SELECT next_identity_for('%s/') FROM generate_series(1, %d)",
					 collection_name(c), size);
			break;
		case 2:
			snprintf(sql, sizeof(sql), "SELECT hilo_document_id('x', '%s|') FROM generate_series(1, %d)",
					 collection_name(c), size);
			break;
		case 3:
			c = C_SERVER_SIDE;
			snprintf(sql, sizeof(sql), "SELECT next_server_side_id('a/') FROM generate_series(1, %d)",
					 size);
			break;
		default:
			c = C_SERVER_SIDE;
			snprintf(sql, sizeof(sql), "SELECT hilo_document_id('x', 'b/') FROM generate_series(1, %d)",
					 size);
			break;
	}
	PQclear(draw(c, false, size, NULL, sql));
}

/*
 * At most this many documents are ahead of the identity; with the next one, so
 * many numbers can one search claim.
 */
#define DOCUMENTS_AHEAD	5
#define FREE_STEPS		(DOCUMENTS_AHEAD + 1)

static void
do_identity_free(void)
{
	int			c = C_IDENTITY_FREE;
	int64_t		start = now_us();
	PGresult   *result = run(NULL, "SELECT value, tries FROM next_identity_free_for('%s/')",
							 collection_name(c));

	if (result == NULL)
		unanswered(c, count_now(c), FREE_STEPS, start);
	else
	{
		int64_t		value = number_in(PQgetvalue(result, 0, 0));
		int			tries = atoi(PQgetvalue(result, 0, 1));

		show(c, value, value, start);
		if (tries > 1)
			raised(WHY_SEARCH, c, value - 1, start);
		/* Documents ahead, for the next ones to step over. */
		if (chance(30) && !in_transaction)
		{
			PQclear(result);
			result = run("23505", "INSERT INTO frees SELECT 'frees/' || %" PRId64 " + g FROM generate_series(1, %d) g ON CONFLICT DO NOTHING",
						 value, 1 + rnd(DOCUMENTS_AHEAD));
		}
	}
	PQclear(result);
}

/*
 * Tables
 */

/* A drawn number met one that was inserted by hand. */
static void
note_collision(int c, const char *message)
{
	const char *equals = strstr(message, ")=(");

	if (equals != NULL)
		put(KIND_COLLISION, 0, c, count_now(c), number_in(equals + 3), 0, 0, now_us());
	else
		failure("no key in: %s", message);
}

static void
do_insert(void)
{
	static const char *const tables[] = {"ta", "tb", "tc"};
	int			table = rnd(3);
	int			c = C_BIGINT + table;
	int			size = some_size();
	char		sql[512];
	PGresult   *result;

	if (chance(30))
	{
		size = 1;
		snprintf(sql, sizeof(sql), "INSERT INTO %s (batch) VALUES (%d) RETURNING id",
				 tables[table], rnd(1000));
	}
	else
		snprintf(sql, sizeof(sql), "INSERT INTO %s (batch) SELECT g FROM generate_series(1, %d) g RETURNING id",
				 tables[table], size);
	result = draw(c, true, size, "23505 55P03 40P01", sql);
	if (result == NULL && connected() && strstr(PQerrorMessage(conn), "23505"))
		note_collision(c, PQerrorMessage(conn));
	PQclear(result);
}

static void
do_copy(void)
{
	static const char *const tables[] = {"ta", "tb", "tc"};
	int			table = rnd(3);
	int			c = C_BIGINT + table;
	int			size = 1 + rnd(50);
	int64_t		batch = ((int64_t) shared->life << 32) + ((int64_t) (me + 1) << 24) + batches++;
	int64_t		start = now_us();
	bool		spoil = chance(10);
	char		line[64];
	PGresult   *result = run("55P03 40P01", "COPY %s (batch) FROM STDIN", tables[table]);
	const char *state;
	char		sql[512];

	if (result == NULL)
		return;
	PQclear(result);
	for (int i = 0; i < size; i++)
	{
		int			len = snprintf(line, sizeof(line), "%" PRId64 "\n", batch);

		PQputCopyData(conn, line, len);
	}
	if (spoil)
		PQputCopyData(conn, "spoilt\n", 7);
	PQputCopyEnd(conn, NULL);
	alarm(PATIENCE);
	result = PQgetResult(conn);
	state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	if (PQresultStatus(result) == PGRES_COMMAND_OK)
	{
		PQclear(result);
		PQclear(PQgetResult(conn));
		alarm(0);
		snprintf(sql, sizeof(sql), "SELECT id FROM %s WHERE batch = %" PRId64 " ORDER BY hilo_number(id::text), id",
				 tables[table], batch);
		if (table != 1)
			snprintf(sql, sizeof(sql), "SELECT id FROM %s WHERE batch = %" PRId64 " ORDER BY id",
					 tables[table], batch);
		PQclear(draw_since(start, c, true, size, NULL, sql));
		return;
	}
	judge(result, spoil ? "22P02 23505 55P03 40P01" : "23505 55P03 40P01", "COPY");
	see_failure(c, size, start);
	if (state != NULL && strcmp(state, "23505") == 0)
		note_collision(c, PQerrorMessage(conn));
	PQclear(result);
	while (connected() && (result = PQgetResult(conn)) != NULL)
		PQclear(result);
	alarm(0);
}

/* A number above max by hand, or one of the session's own range. */
static void
do_insert_by_hand(void)
{
	static const char *const tables[] = {"ta", "tb", "tc"};
	int			c = by_hand_table;
	Held	   *h = &held[c];
	int64_t		number = by_hand_max + 1 + rnd(chance(90) ? 10 : 500);
	int64_t		start;
	PGresult   *result;

	if (c == 0)
		return;
	by_hand_table = 0;

	/* If it is in the session's own range, what lies below is skipped. */
	if (has_unknown())
		look_up();
	if (failed || !connected() || has_unknown())
		return;
	check_count(h, c);
	if (h->known && h->next < h->high && chance(30))
		number = h->next + rnd(h->high - h->next + 1);
	if (h->known && number >= h->next && number <= h->high)
		lost(WHY_BY_HAND, c, h->count, h->next, number);
	start = now_us();
	raised(WHY_BY_HAND, c, number, start);
	put(KIND_BY_HAND, 0, c, count_now(c), number, number, 0, now_us());

	if (c == C_TEXT)
		result = run("23505 55P03 40P01", "INSERT INTO tb VALUES ('tb/%" PRId64 "-A', 0)", number);
	else
		result = run("23505 55P03 40P01", "INSERT INTO %s VALUES (%" PRId64 ", 0)",
					 tables[c - C_BIGINT], number);
	if (result != NULL && !in_transaction)
	{
		int64_t		max = stored_max(c);

		if (max > 0 && max < number)
			failure("%s: max %" PRId64 " is behind %" PRId64 ", inserted by hand",
					collection_name(c), max, number);
	}
	PQclear(result);
	/* Stepped over to the end, or not if the statement was cancelled. */
	if (h->known && number == h->high)
		h->known = false;
	if (!failed)
		look_up();
}

/* A table whose trigger assigns ids by what is asked for. */
static void
do_document(void)
{
	switch (async ? 0 : rnd(4))
	{
		case 0:
			PQclear(draw(C_DOCS, true, 3, "55P03 40P01",
						 "INSERT INTO docs (batch) SELECT generate_series(1, 3) RETURNING id"));
			break;
		case 1:
			PQclear(draw(C_SERVER_SIDE, false, 1, "55P03 40P01",
						 "INSERT INTO docs VALUES ('docs/') RETURNING id"));
			break;
		case 2:
			PQclear(draw(C_IDENTITY_DOCS, false, 1, "23505 55P03 40P01",
						 "INSERT INTO docs VALUES ('docs|') RETURNING id"));
			break;
		default:
			PQclear(run("55P03 40P01", "INSERT INTO docs VALUES ('')"));
			break;
	}
}

/* Numbers fetched from a cursor. */
#define CURSOR_ROWS		50

static void
do_cursor(void)
{
	int			c = C_PLAIN + rnd(6);
	bool		hold = holding == 0 && chance(20);
	char		sql[512];

	if (!in_transaction || failed)
		return;
	snprintf(sql, sizeof(sql), "DECLARE %s FOR SELECT hilo_nextval('%s') FROM generate_series(1, %d)",
			 hold ? "held CURSOR WITH HOLD" : "torture CURSOR", collection_name(c),
			 CURSOR_ROWS);
	if (!command(sql))
		return;
	for (int i = rnd(4); i >= 0 && !failed; i--)
	{
		int			size = 1 + rnd(20);

		snprintf(sql, sizeof(sql), "FETCH %d FROM %s", size, hold ? "held" : "torture");
		PQclear(draw(c, true, size, NULL, sql));
	}
	if (hold)
		holding = c + 1;
	else if (!failed && connected())
		command("CLOSE torture");
}

/* Calls that must be refused, and change nothing. */
static void
do_bad_input(void)
{
	static const struct
	{
		const char *state;
		const char *sql;
	}			calls[] = {
		{"22004", "SELECT hilo_nextval(NULL)"},
		{"22023", "SELECT hilo_next('')"},
		{"22023", "SELECT hilo_next('a|b')"},
		{"22023", "SELECT hilo_reserve('plain0', 0)"},
		{"22023", "SELECT hilo_return_range('plain0', 5, 4)"},
		{"22023", "SELECT next_server_side_id('a')"},
		{"42809", "UPDATE hilo SET max = 0"},
		{"42809", "DELETE FROM hilo_identity"},
		{"55000", "SELECT hilo_currval('never drawn')"}
	};
	int			i = rnd(sizeof(calls) / sizeof(calls[0]));
	PGresult   *result = run(calls[i].state, "%s", calls[i].sql);

	if (result != NULL)
		failure("not refused: %s", calls[i].sql);
	PQclear(result);
}

/*
 * What moves counters; outside a transaction
 */

/*
 * A statement sent at start has made sessions forget their ranges of c; if it
 * was not answered, its backend may still be at it.
 */
static void
note_event(int c, int64_t start)
{
	put(KIND_EVENT, 0, c, count_now(c), 0, 0, start,
		now_us() + (connected() ? 0 : 1000000));
}

static void
do_seed(void)
{
	int			c = chance(70) ? C_PLAIN + rnd(6) : C_BIGINT + rnd(3);
	int64_t		max = stored_max(c);
	int64_t		value = max + rnd(40) - 20;
	int64_t		start = now_us();
	PGresult   *result;

	if (max < 0 || value < 0)
		return;
	raised(WHY_SEEDED, c, value, start);
	result = run(NULL, "SELECT hilo_seed('%s', %" PRId64 ")", collection_name(c), value);
	note_event(c, start);
	if (result != NULL && number_in(PQgetvalue(result, 0, 0)) < value)
		failure("hilo_seed gave less than the seed");
	PQclear(result);
	look_up();
}

/*
 * Release the session's range of c.  Returns whether it went back: all of it,
 * or nothing.
 */
static bool
release(int c)
{
	Held	   *h = &held[c];
	PGresult   *result;
	int64_t		back = -1;
	int64_t		unused;

	check_count(h, c);
	unused = h->known && h->looked_up && !h->dirty ? h->high - h->next + 1 : -1;
	result = run(NULL, "SELECT hilo_release('%s')", collection_name(c));
	if (result != NULL)
		back = number_in(PQgetvalue(result, 0, 0));
	PQclear(result);
	if (unused >= 0 && back > 0 && back != unused)
		failure("hilo_release gave %" PRId64 " numbers of %s back, %" PRId64 " were unused",
				back, collection_name(c), unused);

	if (unused < 0)
		write_off(h, c, WHY_RELEASED);
	else
		lost(back > 0 ? WHY_RETURNED : WHY_RELEASED, c, h->count, h->next, h->high);
	h->known = h->dirty = false;
	return back > 0;
}

static void
do_release(void)
{
	if (chance(70))
		release(chance(50) ? C_PLAIN + rnd(6) : C_OWN + me);
	else
	{
		for (int c = 0; c < COLLECTIONS; c++)
		{
			check_count(&held[c], c);
			write_off(&held[c], c, WHY_RELEASED);
		}
		PQclear(run(NULL, "SELECT hilo_release()"));
	}
	look_up();
}

static void
do_configure(void)
{
	int			c = C_PLAIN + rnd(6);

	PQclear(run(NULL, "SELECT hilo_configure('%s', range_size => %d, max_range_size => %d, node_tag => '%s', reset => %s)",
				collection_name(c), 1 + rnd(30), 30 + rnd(MAX_RANGE_SIZE - 30),
				chance(50) ? "B" : "", chance(50) ? "true" : "false"));
}

/* Detach a table and attach it again, for good or not. */
static void
do_attach(void)
{
	static const char *const tables[] = {"ta", "tb", "tc"};
	int			table = rnd(3);
	int			c = C_BIGINT + table;
	int64_t		start = now_us();
	PGresult   *result;

	in_transaction = true;
	if (command("BEGIN; SET LOCAL lock_timeout = '200ms'; SET LOCAL client_min_messages = warning"))
	{
		result = run("55P03 40P01 55006", "SELECT hilo_detach('%s')", tables[table]);
		PQclear(result);
		if (result != NULL)
		{
			result = run("55P03 40P01 55006", "SELECT hilo_attach('%s', 'id', '%s')",
						 tables[table], collection_name(c));
			if (result != NULL)
				raised(WHY_ATTACHED, c, number_in(PQgetvalue(result, 0, 0)), start);
			PQclear(result);
		}
	}
	command(failed || chance(30) ? "ROLLBACK" : "COMMIT");
	note_event(c, start);
	in_transaction = failed = false;
	look_up();
}

/* Nobody's transaction may draw from c any more: then c is ours. */
static bool
lock_collection(int c)
{
	SharedCollection *collection = &shared->collections[c];

	if (!__sync_bool_compare_and_swap(&collection->writer, 0, 1))
		return false;
	for (int i = 0; i < 300; i++)
	{
		if (collection->readers == 0)
			return true;
		usleep(1000);
	}
	collection->writer = 0;
	return false;
}

/* Begin a new count. */
static void
do_reset(void)
{
	int			c = chance(25) ? C_IDENTITY_RESET : C_RESET + rnd(4);
	SharedCollection *collection = &shared->collections[c];
	int64_t		start;
	int64_t		max;
	int64_t		base = chance(50) ? 0 : rnd(100);
	PGresult   *result;

	if (!lock_collection(c))
		return;
	check_count(&held[c], c);
	max = stored_max(c);
	if (max < 0)
	{
		collection->writer = 0;
		return;
	}
	start = now_us();
	if (chance(50))
		result = run(NULL, is_identity(c) ? "SELECT seed_identity_for('%s', %" PRId64 ", true)" :
					 "SELECT hilo_seed('%s', %" PRId64 ", true)",
					 collection_name(c), base);
	else
	{
		base = 0;
		/* It locks hilo_binding as REINDEX CONCURRENTLY does. */
		result = run("40P01", is_identity(c) ? "SELECT drop_identity('%s')" :
					 "SELECT hilo_drop('%s')", collection_name(c));
	}
	note_event(c, start);
	if (result == NULL)
	{
		/* Whether it has happened will not matter once the next one has. */
		collection->uncertain = 1;
		return;
	}
	PQclear(result);
	put(KIND_FINAL, 0, c, collection->count, max, 0, 0, 0);
	collection->count++;
	put(KIND_BASE, 0, c, collection->count, base, 0, 0, 0);
	check_count(&held[c], c);
	if (c == C_LIMITED)
		PQclear(run(NULL, "SELECT hilo_configure('%s', max_value => %d)",
					collection_name(c), LIMIT));
	collection->writer = 0;
}

/* A reset without an answer is done again. */
static void
repeat_resets(void)
{
	for (int c = C_RESET; c < C_OF_LIFE && connected(); c++)
	{
		SharedCollection *collection = &shared->collections[c];
		PGresult   *result;

		if (!__sync_bool_compare_and_swap(&collection->uncertain, 1, 0))
			continue;
		result = run(NULL, is_identity(c) ? "SELECT seed_identity_for('%s', 0, true)" :
					 "SELECT hilo_seed('%s', 0, true)", collection_name(c));
		if (result == NULL)
			collection->uncertain = 1;
		else
		{
			note_event(c, 0);
			collection->count++;
			put(KIND_BASE, 0, c, collection->count, 0, 0, 0, 0);
			if (c == C_LIMITED)
				PQclear(run(NULL, "SELECT hilo_configure('%s', max_value => %d)",
							collection_name(c), LIMIT));
			collection->writer = 0;
		}
		PQclear(result);
	}
}

/*
 * Transactions
 */
static void
operation(void)
{
	int			what = rnd(100);

	if (what < 40)
		do_draw();
	else if (what < 45)
		do_draw_two();
	else if (what < 48)
		do_draw_and_fail();
	else if (what < 53)
		do_reserve();
	else if (what < 56)
		do_next_hi();
	else if (what < 62)
		do_next_range();
	else if (what < 68)
		do_return_range();
	else if (what < 75 && !async)
		do_identity();
	else if (what < 77 && !async)
		do_identity_free();
	else if (what < 85)
		do_insert();
	else if (what < 88)
		do_copy();
	else if (what < 91)
		do_document();
	else if (what < 94)
		do_cursor();
	else if (what < 95)
		do_bad_input();
	else
		do_insert_by_hand();
}

static void
start_reading(void)
{
	reading_count = 0;
	if (me == 0 || !chance(40))
		return;
	for (int i = chance(20); i >= 0; i--)
	{
		int			c = chance(20) && !async ? C_IDENTITY_RESET : C_RESET + rnd(4);
		SharedCollection *collection = &shared->collections[c];

		__sync_fetch_and_add(&collection->readers, 1);
		if (collection->writer)
			__sync_fetch_and_sub(&collection->readers, 1);
		else
			reading[reading_count++] = c;
	}
}

static void
stop_reading(void)
{
	while (reading_count > 0)
		__sync_fetch_and_sub(&shared->collections[reading[--reading_count]].readers, 1);
}

static void
set_timeout(void)
{
	char		sql[64];

	snprintf(sql, sizeof(sql), "SET statement_timeout = %d", 1 + rnd(5));
	has_timeout = command(sql) || connected();
}

static void
end_transaction(void)
{
	const char *how = "ROLLBACK";
	bool		prepare = !failed && prepared_count < MAX_PREPARED && chance(5);

	if (prepare)
	{
		char		gid[64];
		PGresult   *result;

		snprintf(gid, sizeof(gid), "t%d.%d.%d", shared->life, me, gids++);
		/* A cursor WITH HOLD cannot be prepared. */
		result = run("0A000", "PREPARE TRANSACTION '%s'", gid);
		if (result != NULL)
			strcpy(prepared[prepared_count++], gid);
		PQclear(result);
		if (connected() && PQtransactionStatus(conn) != PQTRANS_IDLE)
			command("ROLLBACK");
	}
	else
	{
		if (!failed && chance(60))
			how = "COMMIT";
		if (!command(how) && connected() &&
			PQtransactionStatus(conn) != PQTRANS_IDLE)
			command("ROLLBACK");
	}
	in_transaction = failed = serializable = false;
}

static void
transaction(void)
{
	static const char *const begins[] = {
		"BEGIN", "BEGIN", "BEGIN ISOLATION LEVEL REPEATABLE READ",
		"BEGIN ISOLATION LEVEL SERIALIZABLE"
	};
	int			which = rnd(4);
	bool		saved = false;

	serializable = which == 3;
	in_transaction = command(begins[which]);
	for (int i = rnd(6); i >= 0 && in_transaction && connected(); i--)
	{
		if (!failed && !saved && chance(15))
			saved = command("SAVEPOINT s");
		if (!failed)
			operation();
		if (!connected())
			break;
		failed = PQtransactionStatus(conn) == PQTRANS_INERROR;
		if (saved && (failed || chance(15)))
		{
			const char *how = failed || chance(80) ? "ROLLBACK TO s" : "RELEASE s";

			failed = false;
			(void) command(how);
			failed = PQtransactionStatus(conn) == PQTRANS_INERROR;
			saved = false;
			if (!failed && has_unknown())
				look_up();
		}
		if (failed)
			break;
	}
	if (connected() && in_transaction)
	{
		/* What the end of the transaction draws is not fetched. */
		if (holding > 0)
		{
			cut_short = true;
			see_failure(holding - 1, CURSOR_ROWS, now_us());
		}
		end_transaction();
		if (holding > 0 && connected())
			command("CLOSE ALL");
	}
	holding = 0;
	in_transaction = failed = serializable = false;
}

/* A prepared transaction of this client, whoever's session it was. */
static void
resolve_prepared(void)
{
	PGresult   *result;

	if (prepared_count == 0 || !chance(10))
		return;
	result = run("42704", chance(50) ? "COMMIT PREPARED '%s'" : "ROLLBACK PREPARED '%s'",
				 prepared[--prepared_count]);
	PQclear(result);
}

/* Memory of the long session, in contexts that are there at each time. */
static void
watch_memory(void)
{
	int64_t		bytes;

	if (me != 0 || session_transactions % 100 != 99 || session_transactions < 199)
		return;
	bytes = number_of(-1, "SELECT sum(used_bytes) FROM pg_backend_memory_contexts WHERE name ILIKE '%hilo%'");
	if (bytes < 0)
		return;
	if (session_transactions == 199)
		shared->memory_first = bytes;
	else
	{
		shared->memory_last = bytes;
		shared->memory_transactions = session_transactions - 199;
		if (bytes > shared->memory_first + 1024)
			failure("memory of a session: %" PRId64 " bytes after 199 turns, %" PRId64 " after %" PRId64,
					(int64_t) shared->memory_first, bytes, session_transactions);
	}
}

static void disconnect(void);
static void connect_again(void);

/*
 * What is left of the newest range has to go back, when it is released and when
 * the session ends, by itself or by another's hand; unless somebody has locked
 * the table, or sessions are killed.
 */
static void
check_give_back(void)
{
	int			c = C_OWN + me;
	int			how = rnd(me == 0 ? 1 : 3);
	int64_t		locks = shared->locks_begun;
	int64_t		kills = shared->kills;
	int			backend = PQbackendPID(conn);
	char		proc[32];
	char		sql[64];
	Held		newest;
	int64_t		max;

	if (locks != shared->locks_ended || shared->ending || shared->pause)
		return;

	/* The newest claim is the session's own. */
	(void) release(c);
	if (cut_short)
		return;
	snprintf(sql, sizeof(sql), "SELECT hilo_nextval('%s')", collection_name(c));
	PQclear(draw(c, true, 1, NULL, sql));
	look_up();
	newest = held[c];
	if (!connected() || !newest.known || !newest.looked_up || newest.next > newest.high)
		return;

	if (how == 0)
	{
		if (!release(c) && !cut_short && locks == shared->locks_begun)
			failure("hilo_release has not given back the newest range of %s, %" PRId64 "..%" PRId64,
					collection_name(c), newest.next, newest.high);
		return;
	}
	if (how == 2)
	{
		__sync_fetch_and_add(&shared->terminations, 1);
		PQclear(run(NULL, "SELECT pg_terminate_backend(pg_backend_pid())"));
	}
	disconnect();
	snprintf(proc, sizeof(proc), "/proc/%d", backend);
	for (int i = 0; access(proc, F_OK) == 0; i++)
	{
		if (i == PATIENCE * 1000)
		{
			failure("backend %d does not end", backend);
			return;
		}
		usleep(1000);
	}
	connect_again();
	max = stored_max(c);
	if (max < 0 || locks != shared->locks_begun || kills != shared->kills)
		return;
	if (max != newest.next - 1)
		failure("max of %s is %" PRId64 ": the session that ended has not given back %" PRId64 "..%" PRId64,
				collection_name(c), max, newest.next, newest.high);
	__sync_fetch_and_add(&shared->give_backs_checked, 1);
}

static void
outside(void)
{
	int			what = rnd(100);

	if (what < 2)
		do_seed();
	else if (what < 5)
		do_release();
	else if (what < 6)
		do_configure();
	else if (what < 7)
		do_attach();
	else if (what < 11 && me != 0)
		do_reset();
	else if (what < 13)
		command("DISCARD ALL");
	else if (what < 15)
		check_give_back();
}

static void
disconnect(void)
{
	if (conn == NULL)
		return;
	shared->pids[me] = 0;
	if (!connected() && !shared->ending)
		__sync_fetch_and_add(&shared->lost_sessions, 1);
	PQfinish(conn);
	conn = NULL;
	end_session();
}

static void
ignore_notice(void *arg, const char *message)
{
	(void) arg;
	if (strstr(message, "leak") != NULL)
		failure("%s", message);
}

static void
connect_again(void)
{
	char		info[1024];

	async = !shared->all_sync && (shared->all_async || chance(40));
	snprintf(info, sizeof(info), "%s options='-c synchronous_commit=%s -c lock_timeout=60s -c hilo.range_size=%d -c hilo.range_duration=%d'",
			 conninfo, async ? "off" : "on", 1 + rnd(20), chance(50) ? 0 : 1000);
	alarm(PATIENCE);
	conn = PQconnectdb(info);
	alarm(0);
	if (!connected())
	{
		PQfinish(conn);
		conn = NULL;
		usleep(20000);
		return;
	}
	PQsetErrorVerbosity(conn, PQERRORS_VERBOSE);
	PQsetNoticeProcessor(conn, ignore_notice, NULL);
	shared->pids[me] = PQbackendPID(conn);
	session_transactions = 0;
	in_transaction = failed = has_timeout = false;
}

static void
pause_if_asked(void)
{
	if (!shared->pause)
		return;
	__sync_fetch_and_add(&shared->paused, 1);
	while (shared->pause)
		usleep(1000);
	__sync_fetch_and_sub(&shared->paused, 1);
	prepared_count = 0;
}

static void
one_turn(void)
{
	bool		timeout = !has_timeout && chance(3);

	turn_start = now_us();
	repeat_resets();
	if (timeout)
		set_timeout();
	by_hand_table = 0;
	if (chance(8))
	{
		by_hand_table = C_BIGINT + rnd(3);
		by_hand_max = stored_max(by_hand_table);
		if (by_hand_max == 0)
			by_hand_table = 0;
	}
	start_reading();
	if (chance(35))
	{
		operation();
		failed = false;
	}
	else
		transaction();
	stop_reading();

	if (connected() && has_timeout && (!timeout || chance(70)))
		has_timeout = !command("SET statement_timeout = 0");
	if (connected() && has_unknown())
		look_up();
	if (connected())
		outside();
	failed = false;
	if (connected())
		resolve_prepared();
	if (connected())
		watch_memory();
	session_transactions++;
	__sync_fetch_and_add(&shared->transactions, 1);
}

void
run_client(int number, const char *info, const char *log)
{
	me = number;
	conninfo = info;
	random_state = shared->seed + shared->life * 1000 + number;
	log_file = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (log_file < 0)
		failure("%s cannot be written", log);

	while (!shared->ending || connected())
	{
		pause_if_asked();
		if (!connected())
		{
			disconnect();
			if (shared->ending)
				break;
			connect_again();
			continue;
		}
		if (shared->ending == 2)
			break;
		one_turn();
		if (me != 0 && chance(1))
			disconnect();
	}
	disconnect();
	keep_program_ranges();
	close(log_file);
	__sync_fetch_and_sub(&shared->alive, 1);
}

/*
 * Maintenance of our tables, also in transactions that are rolled back
 */
enum
{
	VACUUM_FULL, VACUUM, VACUUM_FREEZE, REINDEX_CONCURRENTLY, TRUNCATE,
	ANALYZE, REINDEX, CLUSTER,	/* these can be undone */
	MAINTENANCE
};

/* Each REINDEX CONCURRENTLY that fails, or dies, leaves an index to be dropped. */
static void
drop_invalid_indexes(void)
{
	PGresult   *result;

	__sync_fetch_and_add(&shared->locks_begun, 1);
	result = run("55P03 40P01",
				 "SELECT indexrelid::regclass FROM pg_index WHERE NOT indisvalid AND indrelid IN "
				 "(SELECT oid FROM pg_class WHERE relname IN ('hilo', 'hilo_identity', 'hilo_binding'))");

	for (int i = 0; result != NULL && i < PQntuples(result); i++)
		PQclear(run("55P03 40P01", "DROP INDEX %s", PQgetvalue(result, i, 0)));
	PQclear(result);
	__sync_fetch_and_add(&shared->locks_ended, 1);
}

/* What a transaction has rewritten is thrown away: nothing may be drawn there. */
static void
draw_from_rewritten(void)
{
	PGresult   *result = run("55000", "SELECT hilo_nextval('plain0')");

	if (result != NULL)
		failure("drawn in a transaction that has rewritten hilo");
	PQclear(result);
}

static void
maintain(void)
{
	static const char *const statements[] = {
		"VACUUM FULL %s", "VACUUM %s", "VACUUM (FREEZE) %s",
		"REINDEX TABLE CONCURRENTLY %s", "TRUNCATE %s",
		"ANALYZE %s", "REINDEX TABLE %s", "CLUSTER %s USING %s"
	};
	static const char *const tables[] = {"hilo", "hilo_identity", "hilo_binding"};
	static const char *const indexes[] = {
		"hilo_collection_idx", "hilo_identity_name_idx", "hilo_binding_collection_idx"
	};
	int			table = rnd(3);
	int			what = rnd(MAINTENANCE);
	bool		undone = what >= ANALYZE && chance(40);
	char		sql[256];
	PGresult   *result;

	/* Refused, but only when the lock is there. */
	if (what == TRUNCATE)
		table = rnd(2);
	snprintf(sql, sizeof(sql), statements[what], tables[table], indexes[table]);

	__sync_fetch_and_add(&shared->locks_begun, 1);
	in_transaction = undone && command("BEGIN");
	result = run(what == TRUNCATE ? "42809 55P03 40P01" : "55P03 40P01", "%s", sql);
	if (what == TRUNCATE && result != NULL)
		failure("not refused: %s", sql);
	if (in_transaction && result != NULL && table == 0 && what == CLUSTER)
		draw_from_rewritten();
	PQclear(result);
	if (in_transaction && connected())
		command("ROLLBACK");
	in_transaction = failed = false;
	if (what == REINDEX_CONCURRENTLY)
		drop_invalid_indexes();
	__sync_fetch_and_add(&shared->locks_ended, 1);
}

void
run_maintenance(const char *info)
{
	conninfo = info;
	me = MAX_CLIENTS - 1;
	random_state = shared->seed + shared->life * 1000 + 999;
	while (!shared->ending || connected())
	{
		pause_if_asked();
		if (!connected())
		{
			if (conn != NULL)
				PQfinish(conn);
			conn = NULL;
			if (shared->ending)
				break;
			connect_again();
			if (connected() && command("SET lock_timeout = '500ms'"))
				drop_invalid_indexes();
			continue;
		}
		if (shared->ending == 2)
			break;
		maintain();
		usleep(20000 + rnd(100000));
	}
	if (conn != NULL)
		PQfinish(conn);
	__sync_fetch_and_sub(&shared->alive, 1);
}

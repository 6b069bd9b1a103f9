/*-------------------------------------------------------------------------
 *
 * draws.c
 *	  The statements that draw numbers, as part of a transaction.
 *
 *-------------------------------------------------------------------------
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"

/* A range of hilo.next_range(). */
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

#define PROGRAM_RANGES	8
static ProgramRange program_ranges[PROGRAM_RANGES];
static int	batches;

int			reading[MAX_READING];
int			reading_count;
int			by_hand_table;
int64_t		by_hand_max;
int			holding;

/* True if this transaction may draw from the resettable collection c. */
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
		return C_NEW + rnd(2);
	if (kind == 4)
		return C_OWN + me;
	return C_PLAIN + rnd(6);
}

/* Errors that a draw from c may raise, beyond those always allowed. */
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
		"SELECT hilo_next_number('%s') FROM generate_series(1, %d)",
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

		snprintf(sql, sizeof(sql), "SELECT hilo_last_number('%s')", collection_name(c));
		last_drawn = number_of(-1, sql);
		if (last_drawn >= 0 && last_drawn != last)
			failure("hilo_last_number is not the last number drawn");
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
	result = run(NULL, "SELECT hilo_next_number('%s'), hilo_next('%s') FROM generate_series(1, %d)",
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
	char		allowed[64];

	snprintf(allowed, sizeof(allowed), "22012 %s",
			 draw_errors(c) != NULL ? draw_errors(c) : "");
	snprintf(sql, sizeof(sql),
			 "SELECT hilo_next_number('%s'), 1 / (g - %d) FROM generate_series(1, %d) g",
			 collection_name(c), size, size);
	PQclear(draw(c, true, size, allowed, sql));
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

	result = run(draw_errors(c), "SELECT hilo.next_hi('%s', %d)",
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

	/* The rest of the previous range is never given back. */
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
		advanced(WHY_SEEDED, c, last_max, start);
	if (range->size > 0 && chance(50))
		result = run(draw_errors(c), "SELECT low, high, claim, last_size, range_at FROM "
					 "hilo.next_range('%s', %" PRId64 ", '%s', %" PRId64 ")",
					 collection_name(c), range->size, range->range_at, last_max);
	else
		result = run(draw_errors(c), "SELECT low, high, claim, last_size, range_at FROM "
					 "hilo.next_range('%s', 0, NULL, %" PRId64 ")",
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
		failure("hilo.next_range answered below last_max");
	PQclear(result);
	if (chance(80))
		use_range(range);
}

/* Give back a range that is not ours: must be refused. */
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
	result = run(NULL, "SELECT hilo.return_range('%s', %" PRId64 ", %" PRId64 ", %" PRId64 ")",
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

	snprintf(claim, sizeof(claim), "%" PRId64, range->claim);
	result = run(NULL, "SELECT hilo.return_range('%s', %" PRId64 ", %" PRId64 ", %s)",
				 collection_name(range->c), range->last, range->high,
				 claim);
	if (result == NULL)
		lost(WHY_CLIENT, range->c, range->count, range->last + 1, range->high);
	else if (PQgetvalue(result, 0, 0)[0] == 't')
	{
		lost(WHY_RETURNED, range->c, range->count, range->last + 1, range->high);
		if (range->count != count_now(range->c))
			failure("a range of an old count was taken back");
		PQclear(result);
		result = run(NULL, "SELECT hilo.return_range('%s', %" PRId64 ", %" PRId64 ", %s)",
					 collection_name(range->c), range->last, range->high,
					 claim);
		if (result != NULL && PQgetvalue(result, 0, 0)[0] == 't')
			failure("a range was taken back twice");
	}
	else
		lost(WHY_CLIENT, range->c, range->count, range->last + 1, range->high);
	range->high = 0;
	PQclear(result);
}

void
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
			advanced(WHY_SEARCH, c, value - 1, start);
		/* Documents ahead, which the next searches have to skip. */
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

/* Tables whose ids are numbers, and their collections. */
static const struct
{
	const char *name;
	int			c;
}			tables[] = {
	{"ta", C_BIGINT}, {"tb", C_TEXT}, {"tc", C_INT}
};

static int
some_table(void)
{
	return rnd(3);
}

/* A drawn number collided with one that was inserted by hand. */
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
	int			table = some_table();
	int			c = tables[table].c;
	int			size = some_size();
	char		sql[512];
	PGresult   *result;

	if (chance(30))
	{
		size = 1;
		snprintf(sql, sizeof(sql), "INSERT INTO %s (batch) VALUES (%d) RETURNING id",
				 tables[table].name, rnd(1000));
	}
	else
		snprintf(sql, sizeof(sql), "INSERT INTO %s (batch) SELECT g FROM generate_series(1, %d) g RETURNING id",
				 tables[table].name, size);
	result = draw(c, true, size, "23505 55P03 40P01", sql);
	if (result == NULL && connected() && strstr(PQerrorMessage(conn), "23505"))
		note_collision(c, PQerrorMessage(conn));
	PQclear(result);
}

static void
do_copy(void)
{
	int			table = some_table();
	int			c = tables[table].c;
	int			size = 1 + rnd(50);
	int64_t		batch = ((int64_t) shared->life << 32) + ((int64_t) (me + 1) << 24) + batches++;
	int64_t		start = now_us();
	bool		spoil = chance(10);
	char		line[64];
	PGresult   *result = run("55P03 40P01", "COPY %s (batch, line) FROM STDIN", tables[table].name);
	const char *state;
	char		sql[512];

	if (result == NULL)
		return;
	PQclear(result);
	for (int i = 0; i < size; i++)
	{
		int			len = snprintf(line, sizeof(line), "%" PRId64 "\t%d\n", batch, i);

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
		snprintf(sql, sizeof(sql), "SELECT id FROM %s WHERE batch = %" PRId64 " ORDER BY line",
				 tables[table].name, batch);
		PQclear(draw_since(start, c, true, size, "55P03 40P01", sql));
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

/*
 * A number above max by hand, which is passed when somebody claims it; or one of the
 * session's own range, which it meets, and passes after that.
 */
static void
do_insert_by_hand(void)
{
	int			c = by_hand_table;
	Held	   *h = &held[c];
	int64_t		number = by_hand_max + 1 + rnd(chance(90) ? 10 : 500);
	int64_t		start;
	PGresult   *result;

	if (c == 0)
		return;
	by_hand_table = 0;

	/* What lies below a number that is passed is skipped. */
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
	advanced(WHY_BY_HAND, c, number, start);
	lost(WHY_BY_HAND, c, count_now(c), number, number);
	put(KIND_BY_HAND, 0, c, count_now(c), number, number, 0, now_us());

	if (c == C_TEXT)
		result = run("23505 55P03 40P01", "INSERT INTO tb VALUES ('tb/%" PRId64 "-A', 0)", number);
	else
		result = run("23505 55P03 40P01", "INSERT INTO %s VALUES (%" PRId64 ", 0)",
					 tables[c - C_BIGINT].name, number);
	PQclear(result);
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
static void
do_cursor(void)
{
	int			c = C_PLAIN + rnd(6);
	bool		hold = holding == 0 && chance(20);
	char		sql[512];

	if (!in_transaction || failed)
		return;
	snprintf(sql, sizeof(sql), "DECLARE %s FOR SELECT hilo_next_number('%s') FROM generate_series(1, %d)",
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
		{"22004", "SELECT hilo_next_number(NULL)"},
		{"22023", "SELECT hilo_next('')"},
		{"22023", "SELECT hilo_next('a|b')"},
		{"22023", "SELECT hilo_next_number('identity0|')"},
		{"22023", "SELECT hilo_reserve('plain0', 0)"},
		{"22023", "SELECT hilo.return_range('plain0', 5, 4, 1)"},
		{"22023", "SELECT next_server_side_id('a')"},
		{"42809", "UPDATE hilo.hilo SET max = 0"},
		{"42809", "DELETE FROM hilo.binding"},
		{"55000", "SELECT hilo_last_number('never drawn')"}
	};
	int			i = rnd(sizeof(calls) / sizeof(calls[0]));
	PGresult   *result = run(calls[i].state, "%s", calls[i].sql);

	if (result != NULL)
		failure("not refused: %s", calls[i].sql);
	PQclear(result);
}

/*
 * Transactions
 */
void
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

/*-------------------------------------------------------------------------
 *
 * ordered.c
 *	  An ordered collection: writers that commit late, roll back and are killed,
 *	  and beside them readers by horizon, one a client.
 *
 * A reader remembers its place from one life of the server to the next.  After each
 * life, what it has read is compared with the rows of the table: it has missed
 * none up to its place.  Where the collection can be drawn from, it first reads
 * on, and then it has missed none at all.
 *
 *-------------------------------------------------------------------------
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"

/*
 * Readers
 */

/*
 * True if the reader continues from its place.  If not, it begins anew, which
 * it may have to do only where the server has lost something.
 */
static bool
goes_on(Reader *reader, int64_t epoch)
{
	if (reader->epoch == epoch)
		return true;
	if (reader->may_begin_anew)
		reader->again_until = shared->life + 1;
	else if (reader->epoch != 0 && shared->life > reader->again_until)
		failure("the epoch of events has changed from %" PRId64 " to %" PRId64 ", though nothing was lost",
				reader->epoch, epoch);
	if (reader->epoch != 0)
		__sync_fetch_and_add(&shared->events_anew, 1);
	reader->may_begin_anew = false;
	reader->epoch = epoch;
	reader->last = 0;
	reader->count = 0;
	return false;
}

/* It reads the rows, which are all up to the horizon. */
static void
take_in(Reader *reader, int64_t horizon, const PGresult *result, int column)
{
	int64_t		last = reader->last;

	for (int i = 0; i < PQntuples(result); i++)
	{
		int64_t		id;

		if (PQgetisnull(result, i, column))
			continue;
		id = number_in(PQgetvalue(result, i, column));
		if (id <= last || id > horizon || reader->count == READER_ROOM)
		{
			failure("event %" PRId64 " was read after %" PRId64 ", with the horizon %" PRId64,
					id, last, horizon);
			continue;
		}
		reader->ids[reader->count++] = last = id;
		__sync_fetch_and_add(&shared->events_read, 1);
	}
	if (horizon > reader->last)
		reader->last = horizon;
}

/* Horizon and rows by one statement. */
#define ONE_STATEMENT \
	"WITH h AS MATERIALIZED (SELECT horizon, epoch FROM hilo.horizon('events')) " \
	"SELECT horizon, epoch, id FROM h LEFT JOIN events ON id > %" PRId64 " AND id <= horizon ORDER BY id"

static bool
take_answer(Reader *reader, PGresult *result)
{
	if (result == NULL)
		return false;
	if (goes_on(reader, number_in(PQgetvalue(result, 0, 1))))
		take_in(reader, number_in(PQgetvalue(result, 0, 0)), result, 2);
	PQclear(result);
	return true;
}

/* The collection has not become ordered yet. */
#define HORIZON_ERRORS	"55000"

static void
read_by_one_statement(Reader *reader)
{
	take_answer(reader, run(HORIZON_ERRORS, ONE_STATEMENT, reader->last));
}

static void
read_by_two_statements(Reader *reader)
{
	PGresult   *result = run(HORIZON_ERRORS, "SELECT horizon, epoch FROM hilo.horizon('events')");
	int64_t		horizon;

	if (result == NULL)
		return;
	horizon = number_in(PQgetvalue(result, 0, 0));
	(void) goes_on(reader, number_in(PQgetvalue(result, 0, 1)));
	PQclear(result);
	result = run(NULL, "SELECT id FROM events WHERE id > %" PRId64 " AND id <= %" PRId64 " ORDER BY id",
				 reader->last, horizon);
	if (result != NULL)
		take_in(reader, horizon, result, 0);
	PQclear(result);
}

/* By a snapshot that is some time old. */
static void
read_in_transaction(Reader *reader)
{
	bool		cursor = chance(50);
	PGresult   *result = NULL;

	in_transaction = command(cursor ? "BEGIN" : "BEGIN ISOLATION LEVEL REPEATABLE READ");
	if (in_transaction)
		result = run(NULL, cursor ? "DECLARE reader CURSOR FOR " ONE_STATEMENT :
					 "SELECT id FROM events WHERE id = %" PRId64, reader->last);
	if (result != NULL)
	{
		usleep(rnd(20000));
		if (cursor)
			take_answer(reader, run(HORIZON_ERRORS, "FETCH ALL FROM reader"));
		else
		{
			read_by_two_statements(reader);
			if (!failed)
				read_by_one_statement(reader);
		}
	}
	PQclear(result);
	roll_back();
}

/*
 * Writers
 */

/* Ids chosen by hand are no part of the order: none are. */
static void
insert_events(void)
{
	int64_t		start = now_us();
	PGresult   *result;

	result = run("40P01", "INSERT INTO events (batch) SELECT generate_series(1, %d) RETURNING id",
				 chance(80) ? 1 + rnd(3) : 1 + rnd(50));
	if (result == NULL)
		return;
	show_column(result, 0, C_EVENTS, start, false);
	__sync_fetch_and_add(&shared->events_written, PQntuples(result));
	PQclear(result);
}

static void
write_events(void)
{
	bool		saved = false;

	in_transaction = command("BEGIN");
	for (int i = rnd(4); i >= 0 && in_transaction && !failed && connected(); i--)
	{
		if (!saved && chance(30))
			saved = command("SAVEPOINT e");
		if (!failed)
			insert_events();
		if (saved && (failed || chance(40)) && connected())
		{
			failed = false;
			(void) command("ROLLBACK TO e");
		}
	}
	if (chance(30))
		usleep(rnd(30000));
	if (me != 0 && in_transaction && !failed && chance(2))
	{
		__sync_fetch_and_add(&shared->terminations, 1);
		PQclear(run(NULL, "SELECT pg_terminate_backend(pg_backend_pid())"));
	}
	else if (in_transaction)
		(void) command(!failed && chance(75) ? "COMMIT" : "ROLLBACK");
	roll_back();
}

/* Where there is a pool: write, or read. */
void
ordered_turn(void)
{
	Reader	   *reader = &shared->readers[me];

	if (chance(50) && shared->events_written < MAX_EVENTS)
		write_events();
	else if (chance(40))
		read_in_transaction(reader);
	else if (chance(50))
		read_by_one_statement(reader);
	else
		read_by_two_statements(reader);
	failed = false;
}

/*
 * After a life
 */

/*
 * Compare what a reader has read with the existing rows.  The place of one that
 * has to begin anew, and has not done so yet, says nothing about them.
 */
static void
check_reader(Reader *reader, const PGresult *rows, bool all, bool crashed)
{
	int			count = 0;
	int			read = 0;
	int			missed = 0;
	int			gone = 0;
	int64_t		first = 0;

	for (int i = 0; i < PQntuples(rows); i++)
	{
		int64_t		id = number_in(PQgetvalue(rows, i, 0));

		for (; read < reader->count && reader->ids[read] < id; read++)
			gone++;
		if (read < reader->count && reader->ids[read] == id)
			reader->ids[count++] = reader->ids[read++];
		else if ((all || (!reader->may_begin_anew && id <= reader->last)) &&
				 missed++ == 0)
			first = id;
	}
	gone += reader->count - read;
	reader->count = count;
	shared->events_missed += missed;
	if (missed > 0)
		failure("a reader has missed %d of %d events, the first of which is %" PRId64 "; its place is %" PRId64 ", and it has read %d",
				missed, PQntuples(rows), first, reader->last, count);
	/* Commits that were not flushed were read, and are lost in a crash. */
	if (gone > 0 && !crashed)
		failure("%d events that a reader has read are not there", gone);
}

/*
 * No transaction runs.  ask sends a statement; ordered: the horizon is known; crashed:
 * was something lost?
 */
void
check_readers(PGresult *(*ask) (const char *sql), bool ordered, bool crashed)
{
	PGresult   *rows = ask("SELECT id FROM events ORDER BY id");

	for (int i = 0; rows != NULL && i < shared->clients; i++)
	{
		Reader	   *reader = &shared->readers[i];
		bool		all = ordered;

		/* Twice, as it may begin anew. */
		for (int j = 0; all && j < 2; j++)
		{
			char		sql[512];

			snprintf(sql, sizeof(sql), ONE_STATEMENT, reader->last);
			all = take_answer(reader, ask(sql));
		}
		check_reader(reader, rows, all, crashed);
	}
	PQclear(rows);
}

/* The rows have been removed, or the extension as well. */
void
forget_events(bool may_begin_anew)
{
	for (int i = 0; i < shared->clients; i++)
	{
		shared->readers[i].count = 0;
		shared->readers[i].may_begin_anew |= may_begin_anew;
	}
	shared->events_written = 0;
}

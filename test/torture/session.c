/*-------------------------------------------------------------------------
 *
 * session.c
 *	  A client's session: its random numbers, and the statements it sends.
 *
 *-------------------------------------------------------------------------
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"

PGconn	   *conn;
const char *conninfo;
int			me;
uint64_t	random_state;
bool		async;
bool		in_transaction;
bool		failed;
bool		serializable;
bool		cut_short;
bool		not_replicated;
bool		has_timeout;
int64_t		statement;
int64_t		session_transactions;

int
rnd(int n)
{
	return next_random(&random_state) % n;
}

bool
chance(int percent)
{
	return rnd(100) < percent;
}

/*
 * Statements
 */
bool
connected(void)
{
	return conn != NULL && PQstatus(conn) == CONNECTION_OK;
}

/* Is state one of those in list, separated by spaces? */
bool
listed(const char *state, const char *list)
{
	return list != NULL && strstr(list, state) != NULL;
}

/* A statement has failed: check that it may have. */
void
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
PGresult *
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

bool
command(const char *sql)
{
	PGresult   *result = run(NULL, "%s", sql);

	PQclear(result);
	return result != NULL;
}

/* Roll back, again if that is cancelled. */
void
roll_back(void)
{
	while (connected() && PQtransactionStatus(conn) != PQTRANS_IDLE)
		command("ROLLBACK");
	in_transaction = failed = false;
}

/* A single number; -1 if the statement fails, none if there is no row. */
int64_t
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

/* max; -1 if it is not known. */
int64_t
stored_max(int c)
{
	char		sql[512];

	/* The views: a look at the table holds its lock, and that of the index. */
	snprintf(sql, sizeof(sql), is_identity(c) ?
			 "SELECT value FROM hilo.identities WHERE name = '%s'" :
			 "SELECT max FROM hilo.status WHERE collection = '%s'", collection_name(c));
	return number_of(0, sql);
}

/* The number in an id. */
int64_t
number_in(const char *id)
{
	const char *slash = strrchr(id, '/');

	return strtoll(slash ? slash + 1 : id, NULL, 10);
}

static void
hear_notice(void *arg, const char *message)
{
	(void) arg;
	if (strstr(message, "leak") != NULL)
		failure("%s", message);
	if (strstr(message, "synchronous replication") != NULL)
		not_replicated = true;
}

void
connect_again(void)
{
	char		info[1024];

	async = !shared->all_sync && (shared->all_async || chance(40));
	snprintf(info, sizeof(info), "%s options='-c synchronous_commit=%s -c lock_timeout=60s -c hilo.debug_range_size=%d'",
			 conninfo, async ? "off" : "on", 1 + rnd(20));
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
	PQsetNoticeProcessor(conn, hear_notice, NULL);
	shared->pids[me] = PQbackendPID(conn);
	session_transactions = 0;
	in_transaction = failed = has_timeout = false;
}

void
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

/*-------------------------------------------------------------------------
 *
 * cluster.c
 *	  Draws on nodes of a Citus cluster, imitated, by another connection.
 *
 *	  worker	a Citus worker: draws nothing
 *	  joining	a Citus worker by turns: then it draws nothing of C_JOINING, not
 *				even ids with a tag, which is not set in its files
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client.h"

enum
{
	WORKER, JOINING, NODES
};

static PGconn *node_conn;
static int	node;
static char state[6];			/* SQLSTATE of the last statement; '' if it had no
								 * error, or no answer */
static char message[1024];		/* of the last error */

/* The node that joins: 3 for each change, and one of these. */
enum
{
	UNKNOWN, NO_WORKER, IS_WORKER, JOINED_STATES
};

void
cluster_disconnect(void)
{
	PQfinish(node_conn);
	node_conn = NULL;
}

static void
ignore_notice(void *arg, const char *notice)
{
	(void) arg;
	(void) notice;
}

/* Connect to one of the nodes.  What a node is must not be lost in a crash. */
static void
cluster_connect(void)
{
	static const char *const names[NODES] = {"worker", "joining"};
	char		info[1024];

	node = rnd(NODES);
	snprintf(info, sizeof(info), "%s dbname=%s options='-c synchronous_commit=on -c hilo.debug_range_size=%d %s'",
			 conninfo, names[node], 1 + rnd(20),
			 node == JOINING ? "-c hilo.node_tag=J" : "");
	alarm(PATIENCE);
	node_conn = PQconnectdb(info);
	alarm(0);
	if (PQstatus(node_conn) != CONNECTION_OK)
	{
		cluster_disconnect();
		return;
	}
	PQsetErrorVerbosity(node_conn, PQERRORS_VERBOSE);
	PQsetNoticeProcessor(node_conn, ignore_notice, NULL);
}

/*
 * Send a statement; NULL if it failed.  allowed lists the errors that it may end
 * with, beyond the end of the session.
 */
static PGresult *
ask(const char *allowed, const char *sql)
{
	PGresult   *result;
	const char *error;

	__sync_fetch_and_add(&shared->statements, 1);
	state[0] = '\0';
	alarm(PATIENCE);
	result = PQexec(node_conn, sql);
	alarm(0);
	if (PQresultStatus(result) == PGRES_COMMAND_OK ||
		PQresultStatus(result) == PGRES_TUPLES_OK)
		return result;

	error = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	if (error != NULL)
	{
		snprintf(state, sizeof(state), "%s", error);
		snprintf(message, sizeof(message), "%s", PQerrorMessage(node_conn));
		if (!listed(state, allowed) && !listed(state, "57P01 57P02 57P03"))
			failure("SQLSTATE %s of %s: %s", state, sql, message);
	}
	PQclear(result);
	if (PQstatus(node_conn) != CONNECTION_OK)
		cluster_disconnect();
	return NULL;
}

enum
{
	DRAWN, REFUSED, FAILED
};

/* Draw from c; returns which of these was the result. */
static int
draw_there(int c, const char *allowed, const char *sql)
{
	int64_t		start = now_us();
	PGresult   *result = ask(allowed, sql);

	if (result == NULL)
	{
		if (strcmp(state, "55000") != 0)
			return FAILED;
		__sync_fetch_and_add(&shared->cluster_refused, 1);
		return REFUSED;
	}
	show_column(result, 0, c, start, false);
	PQclear(result);
	__sync_fetch_and_add(&shared->cluster_draws, 1);
	return DRAWN;
}

/*
 * The Citus worker
 */

static const char *const ways[] = {
	"SELECT hilo_next_number('%s') FROM generate_series(1, %d)",
	"SELECT hilo_next('%s') FROM generate_series(1, %d)",
	"SELECT hilo_document_id('%s') FROM generate_series(1, %d)",
	"SELECT generate_series(low, high) FROM hilo_reserve('%s', %d)"
};

static const char *const ways_of_nodes[] = {
	"SELECT next_identity('%s') FROM generate_series(1, %d)",
	"SELECT next_server_side_id('%s/') FROM generate_series(1, %d)"
};

static void
draw_on_worker(void)
{
	char		sql[256];

	snprintf(sql, sizeof(sql), chance(15) ? ways_of_nodes[rnd(2)] : ways[rnd(4)], "worker", 1 + rnd(20));
	if (draw_there(C_JOINING, "55000", sql) == DRAWN)
		failure("not refused on a Citus worker: %s", sql);
}

/*
 * The node that joins
 */

static void
change_group(void)
{
	bool		is_worker = chance(50);
	int64_t		changes;
	char		sql[512];
	PGresult   *result;

	if (!__sync_bool_compare_and_swap(&shared->joining, 0, 1))
		return;
	changes = (shared->joined / JOINED_STATES + 1) * JOINED_STATES;
	shared->joined = changes + UNKNOWN;

	/* What CREATE STATISTICS sends is the message that Citus sends. */
	snprintf(sql, sizeof(sql), "UPDATE pg_dist_local_group SET groupid = %d; "
			 "CREATE STATISTICS joins ON (groupid + 1) FROM pg_dist_local_group; "
			 "DROP STATISTICS joins", is_worker ? 2 : 0);
	result = ask(NULL, sql);
	if (result != NULL)
		shared->joined = changes + (is_worker ? IS_WORKER : NO_WORKER);
	PQclear(result);
	shared->joining = 0;
}

/* In a transaction that starts after the last change, and ends before the next. */
static void
draw_on_joining(void)
{
	int64_t		joined = shared->joined;
	char		sql[256];
	int			came;

	snprintf(sql, sizeof(sql), ways[rnd(2)], collection_name(C_JOINING), 1 + rnd(20));
	came = draw_there(C_JOINING, "55000", sql);
	if (joined != shared->joined)
		return;
	if (came == DRAWN && joined % JOINED_STATES == IS_WORKER)
		failure("not refused on a node that has become a Citus worker: %s", sql);
	if (came == REFUSED && joined % JOINED_STATES == NO_WORKER)
		failure("refused on a node that is no Citus worker: %s", sql);
}

/* A few draws on one of the nodes. */
void
cluster_turn(void)
{
	if (shared->ending)
		return;
	if (node_conn == NULL)
		cluster_connect();
	for (int i = rnd(4); i >= 0 && node_conn != NULL; i--)
	{
		switch (node)
		{
			case WORKER:
				draw_on_worker();
				break;
			default:
				if (chance(15))
					change_group();
				else
					draw_on_joining();
				break;
		}
	}
	if (chance(10))
		cluster_disconnect();
}

/*-------------------------------------------------------------------------
 *
 * client.c
 *	  A client: random transactions, one after the other.
 *
 *-------------------------------------------------------------------------
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client.h"

#define MAX_PREPARED	3

static char prepared[MAX_PREPARED][64];
static int	prepared_count;
static int	gids;

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
	}
	else
		command(!failed && chance(60) ? "COMMIT" : "ROLLBACK");
	roll_back();
	serializable = false;
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
		/* Numbers drawn at the end of the transaction are not fetched. */
		if (holding > 0)
		{
			cut_short = true;
			see_failure(holding - 1, CURSOR_ROWS, now_us());
		}
		end_transaction();

		/* That may be cancelled, too. */
		while (holding > 0 && connected() && !command("CLOSE ALL"))
			;
	}
	holding = 0;
	in_transaction = failed = serializable = false;
}

/* Resolve a prepared transaction of this client, from any of its sessions. */
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

/*
 * What a session remembers of defaults that were dropped, before it forgets them all, is
 * a few kilobytes.
 */
#define MEMORY_OF_DEFAULTS	16384

/* Memory of the long session, in contexts that exist at each measurement. */
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
		if (bytes > shared->memory_first + MEMORY_OF_DEFAULTS)
			failure("memory of a session: %" PRId64 " bytes after 199 turns, %" PRId64 " after %" PRId64,
					(int64_t) shared->memory_first, bytes, session_transactions);
	}
}

void
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
	if (chance(20))
		cluster_turn();
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
	cluster_disconnect();
	keep_program_ranges();
	close(log_file);
	__sync_fetch_and_sub(&shared->alive, 1);
}

/*-------------------------------------------------------------------------
 *
 * moves.c
 *	  The statements that move counters; outside a transaction.
 *
 *-------------------------------------------------------------------------
 */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "client.h"

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
	advanced(WHY_SEEDED, c, value, start);
	result = run(NULL, "SELECT hilo.seed('%s', %" PRId64 ")", collection_name(c), value);
	note_event(c, start);
	if (result != NULL && number_in(PQgetvalue(result, 0, 0)) < value)
		failure("hilo.seed gave less than the seed");
	PQclear(result);
	look_up();
}

static void
do_configure(void)
{
	int			c = C_PLAIN + rnd(6);

	PQclear(run(NULL, "SELECT hilo.configure('%s', range_size => %d, max_range_size => %d, node_tag => '%s', reset => %s)",
				collection_name(c), 1 + rnd(30), 30 + rnd(MAX_RANGE_SIZE - 30),
				chance(50) ? "B" : "", chance(50) ? "true" : "false"));
}

/* Unbind a table and bind it again, for good or not. */
static void
do_bind(void)
{
	static const char *const tables[] = {"ta", "tb", "tc"};
	int			table = rnd(3);
	const char *collection = collection_name(C_BIGINT + table);

	in_transaction = true;
	if (command("BEGIN; SET LOCAL lock_timeout = '200ms'; SET LOCAL client_min_messages = warning"))
	{
		PQclear(run("55P03 40P01", "SELECT hilo.unbind('%s', '%s')", collection, tables[table]));
		PQclear(run("55P03 40P01 25P02", "SELECT hilo.bind('%s', '%s', 'id')", collection, tables[table]));
	}
	command(failed || chance(30) ? "ROLLBACK" : "COMMIT");
	roll_back();
}

/* Wait until no transaction draws from c any more: then c is ours. */
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
					 "SELECT hilo.seed('%s', %" PRId64 ", true)",
					 collection_name(c), base);
	else
	{
		base = 0;
		/* It locks hilo.binding as REINDEX CONCURRENTLY does. */
		result = run("40P01", is_identity(c) ? "SELECT hilo.drop('%s|')" :
					 "SELECT hilo.drop('%s')", collection_name(c));
	}
	note_event(c, start);
	if (result == NULL)
	{
		/* Whether it has happened will not matter once the next reset has. */
		collection->uncertain = 1;
		return;
	}
	PQclear(result);
	put(KIND_FINAL, 0, c, collection->count, max, 0, 0, 0);
	collection->count++;
	put(KIND_BASE, 0, c, collection->count, base, 0, 0, 0);
	check_count(&held[c], c);
	if (c == C_LIMITED)
		PQclear(run(NULL, "SELECT hilo.configure('%s', max_value => %d)",
					collection_name(c), LIMIT));
	collection->writer = 0;
}

/* A reset without an answer is done again. */
void
repeat_resets(void)
{
	for (int c = C_RESET; c < C_OF_LIFE && connected(); c++)
	{
		SharedCollection *collection = &shared->collections[c];
		PGresult   *result;

		if (!__sync_bool_compare_and_swap(&collection->uncertain, 1, 0))
			continue;
		result = run(NULL, is_identity(c) ? "SELECT seed_identity_for('%s', 0, true)" :
					 "SELECT hilo.seed('%s', 0, true)", collection_name(c));
		if (result == NULL)
			collection->uncertain = 1;
		else
		{
			note_event(c, 0);
			collection->count++;
			put(KIND_BASE, 0, c, collection->count, 0, 0, 0, 0);
			if (c == C_LIMITED)
				PQclear(run(NULL, "SELECT hilo.configure('%s', max_value => %d)",
							collection_name(c), LIMIT));
			collection->writer = 0;
		}
		PQclear(result);
	}
}

/*
 * The rest of a range has to go back when the session ends, by itself or
 * terminated; unless a session has locked the table, or sessions are killed.
 */
static void
check_give_back(void)
{
	int			c = C_OWN + me;
	int64_t		locks = shared->locks_begun;
	int64_t		kills = shared->kills;
	int			backend = PQbackendPID(conn);
	char		proc[32];
	char		sql[64];
	Held		newest;

	if (me == 0 || locks != shared->locks_ended || shared->ending || shared->pause)
		return;

	snprintf(sql, sizeof(sql), "SELECT hilo_next_number('%s')", collection_name(c));

	/* The first ranges out of a pool are of one number, of which nothing is left. */
	cut_short = false;
	for (int i = 0; i < 5 && !cut_short; i++)
		PQclear(draw(c, true, 1, NULL, sql));
	look_up();
	newest = held[c];
	if (!connected() || !newest.known || !newest.looked_up || newest.next > newest.high)
		return;

	if (chance(50))
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

	/* The lowest of the pool comes first. */
	PQclear(draw(c, true, 1, NULL, sql));
	if (cut_short || kills != shared->kills)
		return;
	if (held[c].next - 1 > newest.next)
		failure("%s has given %" PRId64 " first: the session before has not left %" PRId64 "..%" PRId64,
				collection_name(c), held[c].next - 1, newest.next, newest.high);
	__sync_fetch_and_add(&shared->give_backs_checked, 1);
}

/*
 * After a forced seed has returned, no transaction that starts later draws an
 * earlier number, even though sessions may be reading the row at that moment.
 */
static void
draw_and_seed(void)
{
	for (int i = 0; i < 50 && connected() && !shared->ending && !shared->pause; i++)
	{
		int64_t		seeded = shared->seeded;
		int64_t		number;

		if (chance(20) && __sync_bool_compare_and_swap(&shared->seeding, 0, 1))
		{
			int64_t		seed = (shared->seed_asked += SEED_STEP);
			PGresult   *result = run(NULL, "SELECT hilo.seed('seeded', %" PRId64 ", true)", seed);

			if (result != NULL)
			{
				shared->seeded = seed;
				shared->seeds++;
			}
			PQclear(result);
			shared->seeding = 0;
			continue;
		}
		number = number_of(-1, "SELECT hilo_next_number('seeded')");
		if (number >= 0 && number <= seeded)
			failure("seeded has given %" PRId64 ", after the seed %" PRId64 " had returned",
					number, seeded);
		if (number >= 0)
			__sync_fetch_and_add(&shared->seeded_draws, 1);
	}
}

void
outside(void)
{
	int			what = rnd(100);

	if (now_us() < shared->seeding_until)
		draw_and_seed();
	else if (me != 0 && chance(1))
	{
		shared->seeding_until = now_us() + 200000;
		draw_and_seed();
	}
	if (what < 2)
		do_seed();
	else if (what < 4)
		do_configure();
	else if (what < 5)
		do_bind();
	else if (what < 9 && me != 0)
		do_reset();
	else if (what < 11)
		command("DISCARD ALL");
	else if (what < 13)
		check_give_back();
}

/*-------------------------------------------------------------------------
 *
 * maintenance.c
 *	  Maintenance of our tables, also in transactions that are rolled back.
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <unistd.h>

#include "client.h"

enum
{
	VACUUM_FULL, VACUUM, VACUUM_FREEZE, REINDEX_CONCURRENTLY, TRUNCATE,
	ANALYZE, REINDEX, CLUSTER,	/* these can be rolled back */
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
				 "(SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = 'hilo')");

	for (int i = 0; result != NULL && i < PQntuples(result); i++)
		PQclear(run("55P03 40P01", "DROP INDEX %s", PQgetvalue(result, i, 0)));
	PQclear(result);
	__sync_fetch_and_add(&shared->locks_ended, 1);
}

/* A rewrite may be rolled back: nothing may be drawn in that transaction. */
static void
draw_from_rewritten(void)
{
	PGresult   *result = run("55000", "SELECT hilo_next_number('plain0')");

	if (result != NULL)
		failure("drawn in a transaction that has rewritten hilo.hilo");
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
	static const char *const tables[] = {"hilo.hilo", "hilo.binding"};
	static const char *const indexes[] = {
		"hilo_collection_idx", "binding_collection_idx"
	};
	int			table = rnd(2);
	int			what = rnd(MAINTENANCE);
	bool		undone = what >= ANALYZE && chance(40);
	char		sql[256];
	PGresult   *result;

	snprintf(sql, sizeof(sql), statements[what], tables[table], indexes[table]);

	__sync_fetch_and_add(&shared->locks_begun, 1);
	in_transaction = undone && command("BEGIN");
	/* TRUNCATE is refused, but only once it has the lock. */
	result = run(what == TRUNCATE ? "42809 55P03 40P01" : "55P03 40P01", "%s", sql);
	if (what == TRUNCATE && result != NULL)
		failure("not refused: %s", sql);
	if (in_transaction && result != NULL && table == 0 && what == CLUSTER)
		draw_from_rewritten();
	PQclear(result);
	roll_back();
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

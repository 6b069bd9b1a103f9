/*-------------------------------------------------------------------------
 *
 * torture.c
 *	  The lives of a server, and how each of them ends.
 *
 *	  torture BINDIR FOLDER SECONDS SEED
 *
 * FOLDER/data is a data folder, the server not running; its socket and log are
 * in FOLDER.  Run as the user whom it belongs to.
 *
 *-------------------------------------------------------------------------
 */
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "torture.h"

#define PORT			5432
#define STANDBY_PORT	5433

Shared	   *shared;

static const char *bindir;
static const char *folder;
static char data[512];			/* the data folder in use */
static int	data_folders;
static char conninfo[512];
static uint64_t random_state;
static PGconn *admin;
static int64_t crashes;
static int64_t backends_killed;
static int64_t cancels_sent;
static int64_t resets_of_all;
static int64_t databases_replaced;
static int	endings[8];

/* How a life ends. */
enum
{
	END_FAST, END_IMMEDIATE, END_KILL, END_KILL_POSTMASTER,
	END_PROMOTION, END_TIME_TRAVEL, END_EXTENSION
};
static const char *const ending_names[] = {
	"fast stop", "immediate stop", "kill -9 of all processes",
	"kill -9 of the postmaster", "kill -9 and promotion of the standby",
	"recovery to a point in time", "extension created anew, fast stop"
};

/* By POOL_... */
static const char *const pool_settings[] = {"", "-c shared_preload_libraries=hilo"};

int64_t
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

/* splitmix64 */
uint64_t
next_random(uint64_t *state)
{
	uint64_t	x = (*state += UINT64_C(0x9E3779B97F4A7C15));

	x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
	return x ^ (x >> 31);
}

static int
rnd(int n)
{
	return next_random(&random_state) % n;
}

void
failure(const char *format,...)
{
	char		text[2048];
	va_list		args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (__sync_add_and_fetch(&shared->failures, 1) <= 50)
	{
		printf("FAILURE in life %d: %s\n", shared->life, text);
		fflush(stdout);
	}
}

static void
stop_now(const char *what)
{
	printf("cannot go on: %s\n", what);
	printf("verdict: failed\n");
	exit(2);
}

const char *
collection_name(int c)
{
	static const char *const names[] = {
		"plain0", "plain1", "plain2", "plain3", "plain4", "plain5",
		"reset0", "reset1", "reset2", "limited", "ta", "tb", "tc", "docs", "|",
		"identity0", "identity1", "docs", "frees", "identity_reset",
		"own0", "own1", "own2", "own3", "own4", "own5", "own6", "own7",
		"joining"
	};
	static char text[4][32];
	static int	which;

	if (c < C_OF_LIFE)
		return names[c];
	which = (which + 1) % 4;
	snprintf(text[which], sizeof(text[which]), "new_%d_%d",
			 (c - C_OF_LIFE) / PER_LIFE, (c - C_OF_LIFE) % PER_LIFE);
	return text[which];
}

int
collection_by_name(const char *name, bool identity)
{
	int			life,
				i;

	for (int c = 0; c < C_OF_LIFE; c++)
	{
		if (is_identity(c) == identity && strcmp(name, collection_name(c)) == 0)
			return c;
	}
	if (!identity && sscanf(name, "new_%d_%d", &life, &i) == 2)
		return C_OF_LIFE + PER_LIFE * life + i;
	return -1;
}

/*
 * The server
 */
static int
shell(const char *format,...)
{
	char		line[4096];
	va_list		args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	fflush(stdout);
	return system(line);
}

static void
start_server(int pool)
{
	if (shell("'%s/pg_ctl' -D '%s' -l '%s/log' -w -t 120 -s -o \"%s\" start </dev/null",
			  bindir, data, folder, pool_settings[pool]) != 0)
	{
		shell("tail -n 20 '%s/log'", folder);
		stop_now("the server does not start");
	}
}

static void
stop_server(const char *mode)
{
	shell("'%s/pg_ctl' -D '%s' -w -t 120 -s -m %s stop", bindir, data, mode);
}

/* State letter and parent of a process; false if it is gone. */
static bool
process_stat(int pid, char *state, int *parent)
{
	char		path[64];
	char		text[512];
	FILE	   *file;
	char	   *paren;
	bool		ok = false;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "r");
	if (file == NULL)
		return false;
	if (fgets(text, sizeof(text), file) != NULL &&
		(paren = strrchr(text, ')')) != NULL)
		ok = sscanf(paren + 1, " %c %d", state, parent) == 2;
	fclose(file);
	return ok;
}

/* A number in postmaster.pid: the last one of a line; -1 if there is none. */
static int
lock_file_number(int line)
{
	char		path[600];
	char		text[1024];
	FILE	   *file;
	int			number = -1;

	snprintf(path, sizeof(path), "%s/postmaster.pid", data);
	file = fopen(path, "r");
	if (file == NULL)
		return -1;
	for (int i = 1; fgets(text, sizeof(text), file) != NULL; i++)
	{
		char	   *space;

		if (i != line)
			continue;
		text[strcspn(text, "\n")] = 0;
		space = strrchr(text, ' ');
		number = atoi(space != NULL ? space + 1 : text);
	}
	fclose(file);
	return number;
}

static int
postmaster_pid(void)
{
	int			pid = lock_file_number(1);

	return pid > 0 ? pid : 0;
}

static int
shared_memory(void)
{
	return lock_file_number(7);
}

/* The postmaster's children. */
static int
children(int postmaster, int *pids, int room)
{
	DIR		   *proc = opendir("/proc");
	struct dirent *entry;
	int			used = 0;
	char		state;
	int			parent;

	while (proc != NULL && (entry = readdir(proc)) != NULL)
	{
		int			pid = atoi(entry->d_name);

		if (isdigit((unsigned char) entry->d_name[0]) && used < room &&
			process_stat(pid, &state, &parent) && parent == postmaster)
			pids[used++] = pid;
	}
	if (proc != NULL)
		closedir(proc);
	return used;
}

static bool
is_dead(int pid)
{
	char		state;
	int			parent;

	return !process_stat(pid, &state, &parent) || state == 'Z' || state == 'X';
}

static void
wait_until_dead(int pid)
{
	for (int i = 0; !is_dead(pid); i++)
	{
		if (i == 120000)
			stop_now("a process of the server does not end");
		usleep(1000);
	}
}

/* Stop a process, so that it starts no other ones. */
static void
freeze(int pid)
{
	char		state;
	int			parent;

	kill(pid, SIGSTOP);
	while (process_stat(pid, &state, &parent) && state != 'T' && !is_dead(pid))
		usleep(100);
}

/*
 * kill -9: of all processes at once, the postmaster being stopped first so that
 * none learns of another one's death; or of the postmaster alone, whose
 * children then end by themselves.  What is left, the lock files and the piece
 * of shared memory that says whether one of them lives, is removed.
 */
static void
kill_server(bool all)
{
	int			postmaster = postmaster_pid();
	int			memory = shared_memory();
	int			pids[256];
	int			used;

	if (postmaster == 0)
		return;
	freeze(postmaster);
	used = children(postmaster, pids, 256);
	for (int i = 0; all && i < used; i++)
		kill(pids[i], SIGKILL);
	kill(postmaster, SIGKILL);
	wait_until_dead(postmaster);
	for (int i = 0; i < used; i++)
		wait_until_dead(pids[i]);
	if (memory >= 0)
		shmctl(memory, IPC_RMID, NULL);
	shell("rm -f '%s/postmaster.pid' '%s/.s.PGSQL.%d' '%s/.s.PGSQL.%d.lock'",
		  data, folder, PORT, folder, PORT);
}

static void
ignore_notice(void *arg, const char *message)
{
	(void) arg;
	(void) message;
}

static bool
connect_admin(void)
{
	for (int i = 0; i < 6000; i++)
	{
		if (admin != NULL && PQstatus(admin) == CONNECTION_OK)
			return true;
		PQfinish(admin);
		admin = PQconnectdb(conninfo);
		if (PQstatus(admin) == CONNECTION_OK)
		{
			PQsetNoticeProcessor(admin, ignore_notice, NULL);
			return true;
		}
		usleep(20000);
	}
	printf("%s", PQerrorMessage(admin));
	shell("tail -n 20 '%s/log'", folder);
	stop_now("no connection to the server");
	return false;
}

static void
disconnect_admin(void)
{
	PQfinish(admin);
	admin = NULL;
}

/* Run a statement that has to succeed. */
static PGresult *
query(const char *sql)
{
	PGresult   *result;

	connect_admin();
	result = PQexec(admin, sql);
	if (PQresultStatus(result) != PGRES_TUPLES_OK &&
		PQresultStatus(result) != PGRES_COMMAND_OK)
		failure("%s: %s", sql, PQerrorMessage(admin));
	return result;
}

static void
command(const char *sql)
{
	PQclear(query(sql));
}

/* The number that a statement gives; -1 if it fails. */
static int64_t
number_of(const char *sql)
{
	PGresult   *result = query(sql);
	int64_t		number = PQntuples(result) == 1 ? strtoll(PQgetvalue(result, 0, 0), NULL, 10) : -1;

	PQclear(result);
	return number;
}

/* Run a statement that may be cut off by a crash. */
static bool
try_command(const char *sql)
{
	PGresult   *result;
	bool		done;

	connect_admin();
	result = PQexec(admin, sql);
	done = PQresultStatus(result) == PGRES_TUPLES_OK;
	PQclear(result);
	return done;
}

/*
 * Contents of the database
 */

/* Remember max of every counter, as where its count begins, or ends. */
static void
read_counters(void (*note) (int c, uint32_t count, int64_t max))
{
	PGresult   *result = query("SELECT CASE WHEN collection LIKE '_%|' THEN rtrim(collection, '|') ELSE collection END, "
							   "max, collection LIKE '_%|' FROM hilo.hilo WHERE flags & 1 = 0");

	for (int i = 0; i < PQntuples(result); i++)
	{
		int			c = collection_by_name(PQgetvalue(result, i, 0),
										   PQgetvalue(result, i, 2)[0] == 't');

		if (c >= 0 && !shared->collections[c].uncertain)
			note(c, shared->collections[c].count,
				 strtoll(PQgetvalue(result, i, 1), NULL, 10));
	}
	PQclear(result);
}

/* Run statements that have to succeed in another database. */
static void
command_in(const char *database, const char *sql)
{
	char		info[600];
	PGconn	   *conn;
	PGresult   *result;

	connect_admin();
	snprintf(info, sizeof(info), "%s dbname=%s", conninfo, database);
	conn = PQconnectdb(info);
	PQsetNoticeProcessor(conn, ignore_notice, NULL);
	result = PQexec(conn, sql);
	if (PQresultStatus(result) != PGRES_TUPLES_OK &&
		PQresultStatus(result) != PGRES_COMMAND_OK)
		failure("in %s: %s: %s", database, sql, PQerrorMessage(conn));
	PQclear(result);
	PQfinish(conn);
}

static void
set_up_extension(void)
{
	command("CREATE EXTENSION hilo");
	command("ALTER TABLE ta ALTER id SET DEFAULT hilo_next_number('ta')");
	command("ALTER TABLE tb ALTER id SET DEFAULT hilo_next('tb')");
	command("ALTER TABLE tc ALTER id SET DEFAULT hilo_next_number('tc')");
	command("SELECT hilo.bind('ta', 'ta', 'id'), hilo.bind('tb', 'tb', 'id'), hilo.bind('tc', 'tc', 'id')");
	command(sequences_attach);
	command("CREATE TRIGGER assign BEFORE INSERT ON docs FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id')");
	command("SELECT hilo.bind('frees', 'frees', 'id')");
	command("SELECT hilo.configure('limited', max_value => 5000)");
	read_counters(ledger_base);
}

/* Databases that are nodes of a Citus cluster: a table that Citus makes says so. */
static void
set_up_cluster(void)
{
	static const char *const nodes[] = {"worker", "joining"};

	for (int i = 0; i < 2; i++)
	{
		char		sql[256];

		snprintf(sql, sizeof(sql), "CREATE DATABASE %s", nodes[i]);
		command(sql);
		snprintf(sql, sizeof(sql), "CREATE EXTENSION hilo; SET allow_system_table_mods = on; "
				 "CREATE TABLE pg_catalog.pg_dist_local_group (groupid int NOT NULL PRIMARY KEY); "
				 "INSERT INTO pg_catalog.pg_dist_local_group VALUES (%d)", i + 1);
		command_in(nodes[i], sql);
	}
}

static void
set_up(void)
{
	set_up_cluster();
	command("CREATE EXTENSION amcheck");
	command("CREATE TABLE ta (id bigint PRIMARY KEY, batch bigint, line int)");
	command("CREATE TABLE tb (id text PRIMARY KEY, batch bigint, line int)");
	command("CREATE TABLE tc (id int PRIMARY KEY, batch bigint, line int)");
	command("CREATE TABLE docs (id text PRIMARY KEY, batch bigint)");
	command("CREATE TABLE frees (id text COLLATE \"C\" PRIMARY KEY)");
	command("CREATE FUNCTION torture_draw(name text, size int) RETURNS SETOF bigint LANGUAGE plpgsql AS $$\n"
			"DECLARE n bigint;\n"
			"BEGIN\n"
			"  FOR i IN 1..size LOOP\n"
			"    BEGIN\n"
			"      n := hilo_next_number(name);\n"
			"      IF i % 3 = 0 THEN PERFORM 1 / 0; END IF;\n"
			"    EXCEPTION WHEN division_by_zero THEN NULL;\n"
			"    END;\n"
			"    RETURN NEXT n;\n"
			"  END LOOP;\n"
			"END $$");
	command(sequences_create);
	set_up_extension();
}

static void
new_count_of_all(void)
{
	for (int c = 0; c < COLLECTIONS; c++)
	{
		shared->collections[c].count++;
		shared->collections[c].uncertain = 0;
		shared->collections[c].writer = 0;
	}
	shared->seeded = 0;
	shared->seeding = 0;
	shared->joined += 3 - shared->joined % 3;	/* not known */
	resets_of_all++;
}

static void
end_prepared(void)
{
	PGresult   *result = query("SELECT gid FROM pg_prepared_xacts");

	for (int i = 0; i < PQntuples(result); i++)
	{
		char		sql[256];

		snprintf(sql, sizeof(sql), "%s PREPARED '%s'",
				 rnd(2) ? "COMMIT" : "ROLLBACK", PQgetvalue(result, i, 0));
		command(sql);
	}
	PQclear(result);
}

static void
check_tables(void)
{
	static const char *const checks[] = {
		"SELECT * FROM verify_heapam('hilo.hilo')",
		"SELECT * FROM verify_heapam('hilo.binding')",
		"SELECT 1 FROM bt_index_check('hilo.hilo_collection_idx', true) c WHERE c IS NULL",
		"SELECT 1 FROM bt_index_check('hilo.binding_collection_idx', true) c WHERE c IS NULL",
		"SELECT collection || '' FROM hilo.hilo GROUP BY 1 HAVING count(*) > 1"
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
	{
		PGresult   *result = query(checks[i]);

		if (PQntuples(result) > 0)
			failure("%s: %d rows, %s", checks[i], PQntuples(result),
					PQgetvalue(result, 0, 0));
		PQclear(result);
	}
}

/*
 * Other data folders
 */
static void
base_backup(char *copy, size_t size, const char *options)
{
	snprintf(copy, size, "%s/data%d", folder, ++data_folders);
	if (shell("'%s/pg_basebackup' -d '%s' -D '%s' -c fast -X stream %s </dev/null",
			  bindir, conninfo, copy, options) != 0)
		stop_now("no base backup");
}

/* Continue in another data folder. */
static void
move_to(const char *copy)
{
	shell("rm -rf '%s'", data);
	snprintf(data, sizeof(data), "%s", copy);
}

static void
start_standby(const char *copy)
{
	if (shell("'%s/pg_ctl' -D '%s' -l '%s/standby.log' -w -t 120 -s -o '-p %d %s' start </dev/null",
			  bindir, copy, folder, STANDBY_PORT, pool_settings[shared->pool]) != 0)
		stop_now("the standby does not start");
	command("ALTER SYSTEM SET synchronous_standby_names = '*'");
	command("SELECT pg_reload_conf()");
	for (int i = 0;; i++)
	{
		PGresult   *result = query("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'");
		bool		there = PQntuples(result) > 0;

		PQclear(result);
		if (there)
			break;
		if (i == 6000)
			stop_now("the standby does not connect");
		usleep(20000);
	}
}

static void
promote(const char *copy)
{
	if (shell("'%s/pg_ctl' -D '%s' -w -t 120 -s promote && '%s/pg_ctl' -D '%s' -w -t 120 -s -m fast stop",
			  bindir, copy, bindir, copy) != 0)
		stop_now("the standby cannot be promoted");
	move_to(copy);
}

/* Recover the copy up to the restore point, with the WAL of the data folder. */
static void
travel(const char *copy, int pool)
{
	char		old[512];
	FILE	   *file;
	char		path[600];

	snprintf(path, sizeof(path), "%s/postgresql.auto.conf", copy);
	file = fopen(path, "a");
	if (file == NULL)
		stop_now("no settings for the recovery");
	fprintf(file, "restore_command = 'cp \"%s/pg_wal/%%f\" \"%%p\"'\n"
			"recovery_target_name = 'torture%d'\n"
			"recovery_target_action = 'promote'\n", data, shared->life);
	fclose(file);
	shell("touch '%s/recovery.signal'", copy);

	snprintf(old, sizeof(old), "%s", data);
	snprintf(data, sizeof(data), "%s", copy);
	start_server(pool);
	for (int i = 0;; i++)
	{
		PGresult   *result = query("SELECT 1 WHERE pg_is_in_recovery()");
		bool		done = PQresultStatus(result) == PGRES_TUPLES_OK &&
		PQntuples(result) == 0;

		PQclear(result);
		if (done)
			break;
		if (i == 6000)
			stop_now("the recovery does not end");
		usleep(20000);
	}
	command("ALTER SYSTEM RESET ALL");
	shell("rm -rf '%s'", old);
}

/*
 * Book what is in the pool of the collections whose gaps are explained, before a
 * stop loses it: draw all of it, and what one claim takes.
 */
static void
read_pool(void)
{
	for (int c = C_OWN; c < C_OWN + CLIENTS; c++)
	{
		uint32_t	count = shared->collections[c].count;
		char		draw[128];
		char		max[128];
		int64_t		top;
		int64_t		number;

		snprintf(draw, sizeof(draw), "SELECT hilo_next_number('%s')", collection_name(c));
		snprintf(max, sizeof(max), "SELECT coalesce(sum(max), 0) FROM hilo.hilo WHERE collection = '%s'", collection_name(c));
		top = number_of(max);
		while ((number = number_of(draw)) <= top && number > 0)
			ledger_pooled(c, count, number, number);
		if (number > 0)
			ledger_pooled(c, count, number, number_of(max));
	}
}

static int64_t travel_time;

/*
 * After a recovery to a point in time, no number shown before that point is
 * above max.
 */
static void
check_travel(int c, uint32_t count, int64_t max)
{
	int64_t		shown = is_resettable(c) ? 0 :
	ledger_shown_before(c, count, travel_time);

	if (shown > max)
		failure("max of %s is %" PRId64 " after a recovery, %" PRId64 " was shown before that point",
				collection_name(c), max, shown);
}

/*
 * A life
 */

/* Send a signal to a client's backend, if it is one. */
static bool
signal_backend(int client, int signal)
{
	int			pid = shared->pids[client];
	char		state;
	int			parent;

	return pid > 0 && process_stat(pid, &state, &parent) &&
		parent == postmaster_pid() && kill(pid, signal) == 0;
}

/* Sessions still show numbers until the postmaster has noticed, which ends them. */
#define CRASH_TAKES		2000000

/* Remember that the server has crashed since then. */
static void
note_crash(int64_t begin)
{
	if (shared->crash_count == MAX_CRASHES)
		stop_now("too many crashes");
	shared->crashes[shared->crash_count] = (Crash) {begin, now_us() + CRASH_TAKES};
	shared->crash_count++;
}

/* kill -9, which ends all sessions. */
static bool
kill_backend(int client)
{
	int64_t		begin = now_us();
	bool		killed;

	shared->killed = true;
	__sync_fetch_and_add(&shared->kills, 1);
	killed = signal_backend(client, SIGKILL);
	note_crash(begin);
	return killed;
}

/* Send a statement; NULL if it failed. */
static PGresult *
ask_admin(const char *sql)
{
	PGresult   *result;

	connect_admin();
	result = PQexec(admin, sql);
	if (PQresultStatus(result) == PGRES_TUPLES_OK)
		return result;
	failure("%s: %s", sql, PQerrorMessage(admin));
	PQclear(result);
	return NULL;
}

/* What the sessions do that have not paused. */
static void
show_waits(void)
{
	PGresult   *result = ask_admin("SELECT format('%s %s %s %s: %s', pid, application_name, state, wait_event, query) FROM pg_stat_activity WHERE backend_type = 'client backend'");

	for (int i = 0; result != NULL && i < PQntuples(result); i++)
		printf("    %s\n", PQgetvalue(result, i, 0));
	PQclear(result);
}

static bool
pause_clients(void)
{
	shared->pause = 1;
	for (int i = 0; i < 120000; i++)
	{
		if (shared->paused >= shared->alive)
			return true;
		usleep(1000);
	}
	failure("the clients do not pause");
	show_waits();
	shared->pause = 0;
	return false;
}

static void
create_extension_anew(void)
{
	if (!pause_clients())
		return;
	/* A crash that has begun ends sessions some time later. */
	usleep(200000);
	disconnect_admin();
	end_prepared();
	read_counters(ledger_final);
	command(sequences_detach);
	command("DROP EXTENSION hilo CASCADE");
	command("TRUNCATE docs, frees");
	new_count_of_all();
	set_up_extension();
	shared->pause = 0;
}

/*
 * Draw in a separate database, so that the rest of its range is in the pool;
 * replace it by a copy, with its OID, tables and epochs.  There the rest must
 * not be drawn.
 */
static void
replace_database(void)
{
	char		create[64];
	char		info[600];
	int64_t		numbers[2] = {0, 0};

	connect_admin();
	if (PQserverVersion(admin) < 150000)
		return;
	snprintf(create, sizeof(create), "CREATE DATABASE replaced OID = %d", 90000);
	snprintf(info, sizeof(info), "%s dbname=replaced", conninfo);
	for (int i = 0; i < 2; i++)
	{
		PGconn	   *conn;
		PGresult   *result;

		command(create);
		conn = PQconnectdb(info);
		PQsetNoticeProcessor(conn, ignore_notice, NULL);
		result = PQexec(conn, "CREATE EXTENSION IF NOT EXISTS hilo; SET hilo.debug_range_size = 100; "
						"SELECT hilo_next_number('replaced')");
		if (PQresultStatus(result) == PGRES_TUPLES_OK)
			numbers[i] = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
		else
			failure("in a database that is to be replaced: %s", PQerrorMessage(conn));
		PQclear(result);
		PQfinish(conn);
		if (i == 0)
			command("CREATE DATABASE copied TEMPLATE replaced");
		command("DROP DATABASE replaced");
		strcat(create, " TEMPLATE copied");
	}
	command("DROP DATABASE copied");
	if (numbers[0] != 1 || numbers[1] <= 100)
		failure("a database gave %" PRId64 ", the copy of it in its place %" PRId64,
				numbers[0], numbers[1]);
	databases_replaced++;
}

/* A client that draws; the one after the first of them maintains the tables. */
static int
some_client(void)
{
	int			client = rnd(shared->clients + SEQUENCE_CLIENTS);

	return client < shared->clients ? client : client + 1;
}

/* Clients of all kinds. */
static int
processes_of_life(void)
{
	return shared->clients + 1 + SEQUENCE_CLIENTS;
}

/*
 * Disturb the clients until the life is over; returns whether there was a
 * crash.
 */
static bool
disturb(int64_t until, int ending, bool long_life, bool *restore_point)
{
	int64_t		half = now_us() + (until - now_us()) / 2;
	int			kills = rnd(3) == 0 && !long_life ? 1 + rnd(2) : 0;
	int64_t		next_kill = now_us() + (until - now_us()) / (kills + 1);
	bool		crashed = false;
	bool		done = false;

	*restore_point = false;
	while (now_us() < until)
	{
		int			client = some_client();
		int			what = rnd(100);

		usleep(10000 + rnd(40000));
		if (what < 40)
			cancels_sent += signal_backend(client, SIGINT);
		else if (what < 60 && client != 0)
		{
			if (signal_backend(client, SIGTERM))
				__sync_fetch_and_add(&shared->terminations, 1);
		}
		if (kills > 0 && now_us() > next_kill && kill_backend(client))
		{
			kills--;
			backends_killed++;
			crashes++;
			crashed = true;
			next_kill = now_us() + (until - now_us()) / (kills + 1);
		}
		if (!done && now_us() > half)
		{
			done = true;
			/* A backend may have been killed since the last use. */
			disconnect_admin();
			if (shared->life % 4 == 1)
			{
				usleep(200000);
				replace_database();
			}
			if (ending == END_EXTENSION)
				create_extension_anew();
			else if (ending == END_TIME_TRAVEL)
			{
				char		sql[128];

				/*
				 * It takes both; a backend just killed may take ours along.
				 * Then there is no such point on disk.
				 */
				travel_time = now_us();
				snprintf(sql, sizeof(sql), "SELECT pg_create_restore_point('torture%d')",
						 shared->life);
				*restore_point = try_command(sql) &&
					try_command("SELECT pg_switch_wal()");
			}
		}
	}
	return crashed;
}

static int	processes[MAX_CLIENTS];

static void
log_name(char *log, size_t size, int client)
{
	snprintf(log, size, "%s/client.%d", folder, client);
}

static void
start_clients(void)
{
	pid_t		parent = getpid();

	shared->ending = shared->pause = shared->paused = 0;
	shared->alive = processes_of_life();
	fflush(stdout);
	for (int i = 0; i < processes_of_life(); i++)
	{
		char		log[512];

		log_name(log, sizeof(log), i);
		shared->pids[i] = 0;
		processes[i] = fork();
		if (processes[i] == 0)
		{
			/* No client outlives this process. */
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != parent)
				_exit(1);
			if (i < shared->clients)
				run_client(i, conninfo, log);
			else if (i == shared->clients)
				run_maintenance(conninfo);
			else
				run_sequences(i, conninfo, log, bindir, folder);
			fflush(stdout);
			_exit(0);
		}
	}
}

static void
end_clients(void)
{
	int64_t		until = now_us() + 120000000;

	shared->ending = 2;
	for (int i = 0; i < processes_of_life(); i++)
	{
		int			status;

		while (waitpid(processes[i], &status, WNOHANG) == 0)
		{
			if (now_us() > until)
			{
				failure("client %d does not end", i);
				kill(processes[i], SIGKILL);
				until = now_us() + 60000000;
			}
			usleep(1000);
		}
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			failure("client %d has ended with status %d", i, status);
	}
	for (int i = 0; i < processes_of_life(); i++)
	{
		char		log[512];

		log_name(log, sizeof(log), i);
		if (i < shared->clients)
			ledger_read(log);
		else
			sequences_read(log);
		unlink(log);
	}
	for (int s = 0; s < SEQUENCES; s++)
		shared->sequences[s].readers = shared->sequences[s].writer = 0;
	for (int c = 0; c < COLLECTIONS; c++)
		shared->collections[c].readers = 0;
}

/* Not preloaded in every other life. */
static int
some_pool(void)
{
	return shared->life == 0 || rnd(2) == 0 ? POOL_PRELOADED : POOL_LATE;
}

/* End all sessions before the server, to see what they leave in the pool. */
static void
empty_sessions(void)
{
	shared->ending = 2;
	end_clients();
	for (int i = 0; i < 5000; i++)
	{
		PGresult   *result = query("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
		bool		silent = PQgetvalue(result, 0, 0)[0] == '0';

		PQclear(result);
		if (silent)
			break;
		usleep(10000);
	}
	read_pool();
	disconnect_admin();
}

static void
live(int64_t length, int ending, bool long_life)
{
	char		copy[512] = "";
	int			next_pool;
	bool		pool_known = false;
	bool		crashed;
	bool		restore_point;
	int64_t		stopped;

	shared->all_async = rnd(100) < 40 || shared->life == 2;
	if (ending == END_PROMOTION)
		shared->all_async = false;
	shared->all_sync = ending == END_PROMOTION;
	if (ending == END_PROMOTION)
	{
		base_backup(copy, sizeof(copy), "-R");
		start_standby(copy);
	}
	else if (ending == END_TIME_TRAVEL)
		base_backup(copy, sizeof(copy), "");

	shared->killed = false;
	start_clients();
	crashed = disturb(now_us() + length, ending, long_life,
					  &restore_point);

	/*
	 * A fast stop while the server recovers from the kill -9 of a backend can
	 * take for ever.
	 */
	disconnect_admin();
	connect_admin();
	disconnect_admin();
	endings[ending]++;
	stopped = now_us();
	if (ending != END_FAST && ending != END_EXTENSION)
		__sync_fetch_and_add(&shared->kills, 1);
	switch (ending)
	{
		case END_FAST:
		case END_EXTENSION:
			pool_known = !crashed && rnd(2);
			if (pool_known)
				empty_sessions();
			shared->ending = 1;
			stop_server("fast");
			break;
		case END_IMMEDIATE:
			shared->ending = 1;
			stop_server("immediate");
			crashed = true;
			crashes++;
			break;
		default:
			kill_server(ending != END_KILL_POSTMASTER);
			shared->ending = 1;
			crashed = true;
			crashes++;
			break;
	}
	if (!pool_known)
		end_clients();
	if (ending != END_FAST && ending != END_EXTENSION)
		note_crash(stopped);
	sequences_account();

	next_pool = some_pool();
	if (ending == END_PROMOTION)
		promote(copy);
	if (ending == END_TIME_TRAVEL && restore_point)
	{
		travel(copy, next_pool);
		read_counters(check_travel);
		end_prepared();
		/* What was shown since is not to be compared with this past. */
		ledger_end_life(true, false);
		new_count_of_all();
		sequences_new_counts();
		command("TRUNCATE docs, frees");
		/* Ids by hand that are above max; the new count has no record of them. */
		for (int c = C_BIGINT; c <= C_INT; c++)
		{
			char		sql[100];

			snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE batch = 0", collection_name(c));
			command(sql);
		}
		read_counters(ledger_base);
		command("SELECT hilo.configure('limited', max_value => 5000)");
	}
	else
	{
		if (ending == END_TIME_TRAVEL)
			shell("rm -rf '%s'", copy);
		start_server(next_pool);
		end_prepared();
		read_counters(ledger_final);
		ledger_end_life(crashed, pool_known);
	}
	shared->pool = next_pool;
	check_tables();
	sequences_check(ask_admin);
	if (shared->life % 4 == 3)
		command("TRUNCATE ta, tb, tc, docs");
	disconnect_admin();
}

/*
 * The server's log
 */
typedef struct Log
{
	const char *name;
	long		read;			/* up to where it is checked */
	int64_t		killed;			/* processes, by the log */
} Log;

static Log	server_log = {.name = "log"};
static Log	standby_log = {.name = "standby.log"};

/*
 * Check what has been written since.  orphaned: the postmaster was killed alone;
 * a backend that meets that in the middle of a commit, or while it waits for parallel
 * workers, cannot end cleanly, with or without us.
 */
static void
check_log(Log *log, bool orphaned)
{
	static const char *const bad[] = {
		"PANIC", "TRAP:", "leak", "still referenced", "don't own a lock",
		"invalid page", "segfault", "] XX"
	};
	char		path[600];
	char		line[4096];
	FILE	   *file;

	snprintf(path, sizeof(path), "%s/%s", folder, log->name);
	file = fopen(path, "r");
	if (file == NULL)
		return;
	fseek(file, log->read, SEEK_SET);
	while (fgets(line, sizeof(line), file) != NULL)
	{
		const char *signal = strstr(line, "terminated by signal ");

		if (signal != NULL)
		{
			if (strncmp(signal + 21, "9:", 2) == 0)
				log->killed++;
			else
				failure("%s: %s", log->name, line);
		}
		if (strstr(line, "STATEMENT:") != NULL)
			continue;
		/* Left by an interrupted REINDEX CONCURRENTLY. */
		if (strstr(line, "WARNING:  cannot reindex invalid index") != NULL)
			continue;
		/* From a backend that is told to quit while it ends. */
		if (strstr(line, "LOG:  could not send data to client: Bad file descriptor") != NULL)
			continue;
		if (orphaned &&
			(strstr(line, "PANIC:  cannot abort transaction") != NULL ||
			 strstr(line, "\"!IsTransactionOrTransactionBlock()\", File: \"pgstat.c\"") != NULL))
			continue;
		for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		{
			if (strstr(line, bad[i]) != NULL)
			{
				failure("%s: %s", log->name, line);
				break;
			}
		}
	}
	log->read = ftell(file);
	fclose(file);
	if (log->killed > backends_killed)
		failure("%s: %" PRId64 " processes were killed, not %" PRId64, log->name,
				log->killed, backends_killed);
}

int
main(int argc, char **argv)
{
	int64_t		start = now_us();
	int64_t		end;
	int			lives = 0;
	int			minutes_tenths;
	bool		good;

	if (argc != 5)
	{
		fprintf(stderr, "usage: torture BINDIR FOLDER SECONDS SEED\n");
		return 2;
	}
	bindir = argv[1];
	folder = argv[2];
	end = start + strtoll(argv[3], NULL, 10) * 1000000;
	shared = mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 2;
	shared->seed = strtoull(argv[4], NULL, 10);
	shared->clients = CLIENTS;
	random_state = shared->seed;
	snprintf(data, sizeof(data), "%s/data", folder);
	snprintf(conninfo, sizeof(conninfo), "host=%s port=%d user=postgres dbname=postgres",
			 folder, PORT);

	start_server(shared->pool);
	set_up();
	while (now_us() < end && C_OF_LIFE + PER_LIFE * (lives + 1) < MAX_COLLECTIONS)
	{
		static const int first[] = {
			END_KILL, END_EXTENSION, END_KILL, END_PROMOTION, END_KILL_POSTMASTER,
			END_TIME_TRAVEL, END_IMMEDIATE, END_FAST
		};
		int			dice = rnd(20);
		int			ending = lives < 8 ? first[lives] :
		dice < 3 ? END_FAST : dice < 7 ? END_IMMEDIATE :
		dice < 13 ? END_KILL : dice < 17 ? END_KILL_POSTMASTER :
		dice == 17 ? END_PROMOTION : dice == 18 ? END_TIME_TRAVEL : END_EXTENSION;
		int64_t		length = 1500000 + rnd(5000000);

		/* The long session takes a long life. */
		if (lives % 8 == 7)
			length += 10000000;
		shared->life = lives;
		live(length, ending, lives % 8 == 7);
		check_log(&server_log, ending == END_KILL_POSTMASTER);
		check_log(&standby_log, false);
		lives++;
		printf("%5.1f s: life %d, %s: %" PRId64 " numbers shown, %" PRId64 " repeated, %" PRId64 " unexplained, %" PRId64 " failures\n",
			   (now_us() - start) / 1e6, lives - 1, ending_names[ending], ledger_shown,
			   ledger_repeated, ledger_unexplained, (int64_t) shared->failures);
		fflush(stdout);
		if (shared->failures > 200)
			break;
	}
	stop_server("fast");
	check_log(&server_log, false);

	minutes_tenths = (now_us() - start) / 6000000;
	printf("seed %" PRIu64 ", %d.%d minutes, %d clients: %" PRId64 " statements in %" PRId64 " turns\n",
		   shared->seed, minutes_tenths / 10, minutes_tenths % 10, shared->clients,
		   (int64_t) shared->statements, (int64_t) shared->transactions);
	printf("lives of the server: %d; crashes: %" PRId64 " (%" PRId64 " of them by kill -9 of a backend)\n",
		   lives, crashes, backends_killed);
	for (size_t i = 0; i < sizeof(ending_names) / sizeof(ending_names[0]); i++)
		printf("  %5d  %s\n", endings[i], ending_names[i]);
	printf("sessions terminated: %" PRId64 "; statements cancelled: %" PRId64 " (cancels sent: %" PRId64 "); connections lost: %" PRId64 "\n",
		   (int64_t) shared->terminations, (int64_t) shared->cancelled, cancels_sent, (int64_t) shared->lost_sessions);
	printf("ranges that went back, as they had to: %" PRId64 "\n",
		   (int64_t) shared->give_backs_checked);
	printf("forced seeds under draws: %" PRId64 ", draws: %" PRId64 "; databases replaced: %" PRId64 "\n",
		   (int64_t) shared->seeds, (int64_t) shared->seeded_draws, databases_replaced);
	printf("nodes of a Citus cluster: %" PRId64 " draws, %" PRId64 " refused\n",
		   (int64_t) shared->cluster_draws, (int64_t) shared->cluster_refused);
	printf("memory of a long session: %" PRId64 " bytes, after %" PRId64 " more transactions %" PRId64 "\n",
		   (int64_t) shared->memory_first, (int64_t) shared->memory_transactions,
		   (int64_t) shared->memory_last);
	printf("sequences: %" PRId64 " numbers shown by hilo, %" PRId64 " repeated; %" PRId64 " by plain nextval, %" PRId64 " of which came again after a crash; counts ended: %" PRId64 "; dumps restored: %" PRId64 "; ids by hand: %" PRId64 ", inserts that met one: %" PRId64 "\n",
		   sequences_shown, sequences_repeated, sequences_plain, sequences_plain_repeated,
		   (int64_t) shared->counts_ended, (int64_t) shared->restores, sequences_by_hand, sequences_collisions);
	ledger_report();
	good = shared->failures == 0 && ledger_repeated == 0 &&
		ledger_unexplained == 0 && ledger_shown > 0 && lives > 0 &&
		sequences_repeated == 0 && sequences_shown > 0;
	printf("verdict: %s: %" PRId64 " numbers shown, %" PRId64 " repeated, %" PRId64 " unexplained, %" PRId64 " crashes, %" PRId64 " sessions killed, %" PRId64 " statements cancelled, %" PRId64 " failures\n",
		   good ? "good" : "failed", ledger_shown, ledger_repeated,
		   ledger_unexplained, crashes, shared->terminations + backends_killed,
		   (int64_t) shared->cancelled, (int64_t) shared->failures);
	return good ? 0 : 1;
}

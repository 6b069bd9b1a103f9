/*-------------------------------------------------------------------------
 *
 * hilo_libpq.c
 *	  Calls functions of the extension on another server.
 *
 * A library of its own, as the server's libpqwalreceiver is: most sessions ask no
 * hub, and need not load libpq.  It uses nothing of the other one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "libpq-fe.h"

#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "failure_point.h"
#include "hilo_libpq.h"

PG_MODULE_MAGIC;


/* Options of a connection, as libpq takes them. */
typedef struct Options
{
	const char **keywords;
	const char **values;
	int			count;
	bool		has_password;
	bool		password_required;
	int			connect_timeout;	/* milliseconds */
} Options;

/*
 * The one connection of this backend, and what it was made for.  Others may be
 * told at any time that it is no longer what the catalogs say.
 */
typedef struct Connection
{
	PGconn	   *conn;			/* NULL: none */
	PGresult   *result;			/* of the last statement; NULL: none */
	Oid			server;
	Oid			role;
	bool		outdated;
	char	   *schema;			/* of the extension there, quoted; in
								 * TopMemoryContext */
} Connection;

static Connection connection;

static void
clear_result(void)
{
	PQclear(connection.result);
	connection.result = NULL;
}

static void
disconnect(void)
{
	clear_result();
	if (connection.conn != NULL)
	{
		PQfinish(connection.conn);
		ReleaseExternalFD();
	}
	connection.conn = NULL;
	if (connection.schema != NULL)
		pfree(connection.schema);
	connection.schema = NULL;
}

/* Syscache callback: a server or user mapping has changed. */
static void
note_change(Datum arg, int cacheid, uint32 hashvalue)
{
	connection.outdated = true;
}

static bool
is_libpq_option(const PQconninfoOption *known, const char *name)
{
	for (; known->keyword != NULL; known++)
	{
		if (strcmp(known->keyword, name) == 0)
			return true;
	}
	return false;
}

static void
add_option(Options *options, const char *keyword, const char *value)
{
	options->keywords[options->count] = keyword;
	options->values[options->count++] = value;
}

/* Add those of a server's or user mapping's options that libpq knows. */
static void
add_options(Options *options, List *list, const PQconninfoOption *known)
{
	ListCell   *lc;

	foreach(lc, list)
	{
		DefElem    *def = lfirst(lc);
		char	   *value = defGetString(def);

		if (strcmp(def->defname, "password_required") == 0)
			options->password_required = defGetBoolean(def);
		if (!is_libpq_option(known, def->defname))
			continue;
		if (strcmp(def->defname, "password") == 0)
			options->has_password = value[0] != '\0';
		if (strcmp(def->defname, "connect_timeout") == 0 && atoi(value) > 0)
			options->connect_timeout = Min(atoi(value), INT_MAX / 1000) * 1000;
		add_option(options, def->defname, value);
	}
}

/* Raise 2F003 unless a role that is no superuser shows a password. */
static void
check_password(bool shown, const Options *options, Oid role)
{
	if (shown || !options->password_required || superuser_arg(role))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_S_R_E_PROHIBITED_SQL_STATEMENT_ATTEMPTED),
			 errmsg("password is required"),
			 errdetail("Role \"%s\", which is no superuser, must have a password in its user mapping, and the hub must ask for it.",
					   GetUserNameFromId(role, false))));
}

/* Read what server and user mapping say, and check what can be without asking. */
static void
read_options(Oid serverid, Oid role, int timeout, Options *options)
{
	ForeignServer *server = GetForeignServer(serverid);
	UserMapping *user = GetUserMapping(role, serverid);
	PQconninfoOption *known = PQconndefaults();
	int			count = list_length(server->options) +
		list_length(user->options) + 3;

	if (known == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	memset(options, 0, sizeof(*options));
	options->keywords = palloc0(count * sizeof(char *));
	options->values = palloc0(count * sizeof(char *));
	options->password_required = true;
	options->connect_timeout = timeout;

	/* Ours come first, as the last of several counts. */
	add_option(options, "fallback_application_name", "hilo");
	add_options(options, server->options, known);
	add_options(options, user->options, known);

	/* Where nobody checks options, everybody can set them. */
	if (!OidIsValid(GetForeignDataWrapper(server->fdwid)->fdwvalidator))
		options->password_required = true;
	add_option(options, "client_encoding", GetDatabaseEncodingName());
	PQconninfoFree(known);
	check_password(options->has_password, options, role);
}

void
hilo_libpq_check(Oid server, Oid role)
{
	Options		options;

	read_options(server, role, 0, &options);
}

/*
 * A copy of what another server has said, which may be in any encoding: with
 * question marks for what is not ASCII, if it is not in that of the database.
 */
static char *
readable(const char *said, int len)
{
	char	   *copy = pnstrdup(said, len);

	if (!pg_verifymbstr(copy, strlen(copy), true))
	{
		for (char *c = copy; *c != '\0'; c++)
		{
			if (IS_HIGHBIT_SET(*c))
				*c = '?';
		}
	}
	return copy;
}

/* Raise an error of class 08 with the first line of what libpq says. */
static void
fail(int code)
{
	const char *message = connection.conn == NULL ? "out of memory" :
		PQerrorMessage(connection.conn);
	int			len = strcspn(message, "\n");

	ereport(ERROR,
			(errcode(code),
			 errmsg("%s", len > 0 ? readable(message, len) :
					"the connection was lost")));
}

/*
 * Wait until something happens on the connection's socket.  Can be cancelled;
 * raises an error when deadline has passed.
 */
static void
wait_for_socket(int events, TimestampTz deadline)
{
	static uint32 wait_event = 0;
	long		left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(),
													   deadline);
	int			happened = 0;

	if (left > 0)
		happened = WaitLatchOrSocket(MyLatch,
									 WL_LATCH_SET | WL_EXIT_ON_PM_DEATH |
									 WL_TIMEOUT | events,
									 PQsocket(connection.conn), left,
									 hilo_wait_event("HiloHub", &wait_event));
	if (happened & WL_LATCH_SET)
		ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	if (left <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("the server has not answered in time")));
}

static TimestampTz
deadline_in(int ms)
{
	return TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ms);
}

/*
 * Send a statement and wait for its one row.  The result is gone when the next
 * one is sent, or the connection closed.
 */
static PGresult *
ask(const char *sql, int count, const Oid *types, const char *const *params,
	int timeout)
{
	TimestampTz deadline = deadline_in(timeout);
	PGresult   *next;

	clear_result();
	if (!PQsendQueryParams(connection.conn, sql, count, types, params, NULL,
						   NULL, 0))
		fail(ERRCODE_CONNECTION_FAILURE);
	HILO_FAILURE_POINT("hub asked");

	for (;;)
	{
		while (PQisBusy(connection.conn))
		{
			wait_for_socket(WL_SOCKET_READABLE, deadline);
			if (!PQconsumeInput(connection.conn))
				fail(ERRCODE_CONNECTION_FAILURE);
		}
		next = PQgetResult(connection.conn);
		if (next == NULL)
			break;
		clear_result();
		connection.result = next;
	}
	HILO_FAILURE_POINT("hub answered");
	return connection.result;
}

/* Raise the error that the hub has raised. */
static void
fail_as_hub(PGresult *result)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	const char *detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
	const char *hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);
	int			code = ERRCODE_CONNECTION_FAILURE;

	if (state == NULL || message == NULL)
	{
		fail(code);
		return;					/* keep analyzers quiet */
	}

	/* It ends, or was made to: that is not what the caller has done. */
	if (strlen(state) == 5 && strncmp(state, "57", 2) != 0)
		code = MAKE_SQLSTATE(state[0], state[1], state[2], state[3], state[4]);
	ereport(ERROR,
			(errcode(code),
			 errmsg("%s", readable(message, strlen(message))),
			 detail == NULL ? 0 :
			 errdetail("%s", readable(detail, strlen(detail))),
			 hint == NULL ? 0 : errhint("%s", readable(hint, strlen(hint)))));
}

/* Read the schema of the extension on the hub. */
static void
find_schema(int timeout)
{
	PGresult   *result = ask("SELECT pg_catalog.quote_ident(n.nspname)"
							 " FROM pg_catalog.pg_extension e"
							 " JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace"
							 " WHERE e.extname OPERATOR(pg_catalog.=) 'hilo'",
							 0, NULL, NULL, timeout);

	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		fail_as_hub(result);
	if (PQntuples(result) == 1)
		connection.schema = MemoryContextStrdup(TopMemoryContext,
												PQgetvalue(result, 0, 0));
	if (connection.schema == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("extension \"%s\" is not installed on the server",
						"hilo")));
}

/* Notices and warnings of the hub are about nothing that is wanted. */
static void
ignore_notice(void *arg, const char *message)
{
}

/* Connect, unless the connection that there is will do. */
static void
connect_to(Oid server, Oid role, int timeout)
{
	static bool registered = false;
	Options		options;
	TimestampTz deadline;
	PostgresPollingStatusType status = PGRES_POLLING_WRITING;

	if (!registered)
	{
		CacheRegisterSyscacheCallback(FOREIGNSERVEROID, note_change, (Datum) 0);
		CacheRegisterSyscacheCallback(USERMAPPINGOID, note_change, (Datum) 0);
		CacheRegisterSyscacheCallback(AUTHOID, note_change, (Datum) 0);
		registered = true;
	}

	read_options(server, role, timeout, &options);
	if (connection.conn != NULL && !connection.outdated &&
		connection.server == server && connection.role == role)
		return;
	disconnect();

	if (!AcquireExternalFD())
		ereport(ERROR,
				(errcode(ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION),
				 errmsg("there are too many open files")));
	connection.conn = PQconnectStartParams(options.keywords, options.values,
										   false);
	connection.server = server;
	connection.role = role;
	connection.outdated = false;
	if (connection.conn == NULL)
	{
		ReleaseExternalFD();
		fail(ERRCODE_OUT_OF_MEMORY);
	}

	PQsetNoticeProcessor(connection.conn, ignore_notice, NULL);

	deadline = deadline_in(options.connect_timeout);
	while (PQstatus(connection.conn) != CONNECTION_BAD &&
		   status != PGRES_POLLING_OK && status != PGRES_POLLING_FAILED)
	{
		wait_for_socket(status == PGRES_POLLING_READING ? WL_SOCKET_READABLE :
						WL_SOCKET_WRITEABLE, deadline);
		status = PQconnectPoll(connection.conn);
	}
	if (PQstatus(connection.conn) != CONNECTION_OK)
		fail(ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION);

	check_password(PQconnectionUsedPassword(connection.conn), &options, role);
	HILO_FAILURE_POINT("hub connected");
	find_schema(timeout);
}

/* Number col of the row in result; 0 if there is none. */
static int64
number_in(PGresult *result, int col)
{
	if (PQntuples(result) != 1 || PQnfields(result) <= col ||
		PQgetisnull(result, 0, col))
		return 0;
	return strtoi64(PQgetvalue(result, 0, col), NULL, 10);
}

/*
 * Call the function by the connection that there is.  With the types of the
 * arguments left open, one of the same name that somebody else has made in that
 * schema could be called in its place.
 */
static void
call(const char *function, const char *const *args, int count, int timeout,
	 int64 *numbers, int number_count)
{
	static const Oid types[] = {TEXTOID, INT8OID, INT8OID};
	StringInfoData sql;
	PGresult   *result;

	Assert(count <= (int) lengthof(types));

	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT * FROM %s.%s(", connection.schema, function);
	for (int i = 1; i <= count; i++)
		appendStringInfo(&sql, i == 1 ? "$%d" : ", $%d", i);
	appendStringInfoChar(&sql, ')');

	result = ask(sql.data, count, types, args, timeout);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		fail_as_hub(result);
	for (int i = 0; i < number_count; i++)
		numbers[i] = number_in(result, i);
}

void
hilo_libpq_call(Oid server, Oid role, int timeout, bool keep,
				const char *function, const char *const *args, int count,
				int64 *numbers, int number_count)
{
	/*
	 * One that was lost since the last call is no reason to fail.  What the
	 * server has said at its end comes first, and the end after it.
	 */
	if (connection.conn != NULL && !(PQconsumeInput(connection.conn) &&
									 PQconsumeInput(connection.conn)))
		disconnect();

	PG_TRY();
	{
		connect_to(server, role, timeout);
		call(function, args, count, timeout, numbers, number_count);
	}
	PG_CATCH();
	{
		disconnect();
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (!keep)
		disconnect();
}

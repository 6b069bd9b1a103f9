/*-------------------------------------------------------------------------
 *
 * hub.c
 *	  Asks another server, the hub, for numbers of its counters.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "libpq-fe.h"

#include "commands/defrem.h"
#include "foreign/foreign.h"
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

#include "catalog.h"
#include "compat.h"
#include "failure_point.h"
#include "hub.h"
#include "settings.h"

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
	Oid			server;
	Oid			role;
	bool		outdated;
	char	   *schema;			/* of the extension there, quoted; in
								 * TopMemoryContext */
} Connection;

static Connection connection;

static void
disconnect(void)
{
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

static Oid
role_of(const HiloHub *hub)
{
	return NameStr(hub->role)[0] == '\0' ? hilo_catalog_owner() :
		get_role_oid(NameStr(hub->role), false);
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

static void
read_options(Oid role, Oid serverid, Options *options)
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
	options->connect_timeout = hilo_lease_timeout;

	/* Ours come first, as the last of several counts. */
	add_option(options, "fallback_application_name", "hilo");
	add_options(options, server->options, known);
	add_options(options, user->options, known);
	add_option(options, "client_encoding", GetDatabaseEncodingName());
	PQconninfoFree(known);
}

/* The OIDs of the hub's server and role; checks what can be without asking. */
static void
check_hub(const HiloHub *hub, Oid *server, Oid *role, Options *options)
{
	*server = get_foreign_server_oid(NameStr(hub->server), false);
	*role = role_of(hub);
	if (!hilo_may_use_server(*server, *role))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FOREIGN_SERVER,
					   NameStr(hub->server));
	read_options(*role, *server, options);
	check_password(options->has_password, options, *role);
}

void
hilo_hub_check(const HiloHub *hub)
{
	Options		options;
	Oid			server;
	Oid			role;

	check_hub(hub, &server, &role, &options);
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
			 errmsg("%s", len > 0 ? pnstrdup(message, len) :
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
 * Send a statement and wait for its one row; NULL for none.  The result belongs
 * to the caller, PQclear() it.
 */
static PGresult *
ask(const char *sql, int count, const char *const *params)
{
	TimestampTz deadline = deadline_in(hilo_lease_timeout);
	PGresult   *result = NULL;
	PGresult   *next;

	if (!PQsendQueryParams(connection.conn, sql, count, NULL, params, NULL,
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
		PQclear(result);
		result = next;
	}
	HILO_FAILURE_POINT("hub answered");
	return result;
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
		fail(code);

	/* It ends, or was made to: that is not what the caller has done. */
	if (strlen(state) == 5 && strncmp(state, "57", 2) != 0)
		code = MAKE_SQLSTATE(state[0], state[1], state[2], state[3], state[4]);
	message = pstrdup(message);
	detail = detail == NULL ? NULL : pstrdup(detail);
	hint = hint == NULL ? NULL : pstrdup(hint);
	PQclear(result);
	ereport(ERROR,
			(errcode(code),
			 errmsg("%s", message),
			 detail == NULL ? 0 : errdetail("%s", detail),
			 hint == NULL ? 0 : errhint("%s", hint)));
}

/* Read the schema of the extension on the hub. */
static void
find_schema(void)
{
	PGresult   *result = ask("SELECT pg_catalog.quote_ident(n.nspname)"
							 " FROM pg_catalog.pg_extension e"
							 " JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace"
							 " WHERE e.extname OPERATOR(pg_catalog.=) 'hilo'",
							 0, NULL);

	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		fail_as_hub(result);
	if (PQntuples(result) == 1)
		connection.schema = MemoryContextStrdup(TopMemoryContext,
												PQgetvalue(result, 0, 0));
	PQclear(result);
	if (connection.schema == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("extension \"%s\" is not installed on the server",
						"hilo")));
}

/* Connect, unless the connection that there is will do. */
static void
connect_to(const HiloHub *hub)
{
	static bool registered = false;
	Options		options;
	Oid			server;
	Oid			role;
	TimestampTz deadline;
	PostgresPollingStatusType status = PGRES_POLLING_WRITING;

	if (!registered)
	{
		CacheRegisterSyscacheCallback(FOREIGNSERVEROID, note_change, (Datum) 0);
		CacheRegisterSyscacheCallback(USERMAPPINGOID, note_change, (Datum) 0);
		CacheRegisterSyscacheCallback(AUTHOID, note_change, (Datum) 0);
		registered = true;
	}

	check_hub(hub, &server, &role, &options);
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
	find_schema();
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

/* Call a function of the extension on the hub that returns a number or two. */
static void
call(const char *function, HiloName name, const int64 *args, int count,
	 int64 *low, int64 *high)
{
	const char *params[3];
	char	   *sql = psprintf("SELECT * FROM %s.%s(%s)", connection.schema,
							   function, count == 1 ? "$1, $2" : "$1, $2, $3");
	PGresult   *result;

	params[0] = pnstrdup(name.data, name.len);
	for (int i = 0; i < count; i++)
		params[i + 1] = psprintf(INT64_FORMAT, args[i]);

	result = ask(sql, count + 1, params);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		fail_as_hub(result);
	*low = number_in(result, 0);
	if (high != NULL)
		*high = number_in(result, 1);
	PQclear(result);
}

/* Error context: what the hub is asked for. */
static void
tell_hub(void *arg)
{
	const HiloHub *hub = arg;

	errcontext("asking server \"%s\" for numbers", NameStr(hub->server));
}

/*
 * A number that the hub can not have meant: it is not to be trusted with more.
 */
static void
fail_at_answer(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROTOCOL_VIOLATION),
			 errmsg("the server has answered with numbers that it was not asked for")));
}

HiloRange
hilo_hub_lease(const HiloHub *hub, HiloName collection, int64 size,
			   int64 floor)
{
	int64		args[2] = {size, floor};
	HiloRange	range;

	PG_TRY();
	{
		connect_to(hub);
		call("hilo_lease", collection, args, 2, &range.low, &range.high);
		if (range.low <= floor || range.high < range.low ||
			range.high - range.low >= size)
			fail_at_answer();
	}
	PG_CATCH();
	{
		disconnect();
		PG_RE_THROW();
	}
	PG_END_TRY();
	disconnect();
	return range;
}

int64
hilo_hub_next_identity(const HiloHub *hub, HiloName name, int64 floor)
{
	ErrorContextCallback context = {error_context_stack, tell_hub,
	unconstify(HiloHub *, hub)};
	int64		number;

	error_context_stack = &context;

	/* One that was lost since the last call is no reason to fail. */
	if (connection.conn != NULL && !PQconsumeInput(connection.conn))
		disconnect();

	PG_TRY();
	{
		connect_to(hub);
		call("identity_lease", name, &floor, 1, &number, NULL);
		if (number <= floor)
			fail_at_answer();
	}
	PG_CATCH();
	{
		disconnect();
		PG_RE_THROW();
	}
	PG_END_TRY();
	error_context_stack = context.previous;
	return number;
}

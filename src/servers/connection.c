/*-------------------------------------------------------------------------
 *
 * connection.c
 *	  Asks another server, the hub, for numbers of its counters.
 *
 * This is a library of its own, like the server's libpqwalreceiver: most
 * sessions ask no hub, and need not load libpq.  It uses no symbol of the other
 * library.
 *
 * Functions that return a bool return false after an error, which they have
 * noted in the answer.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <netdb.h>

#include "libpq-fe.h"

#include "access/reloptions.h"
#include "catalog/pg_type.h"
#include "catalog/pg_user_mapping.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"
#include "portability/instr_time.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "base/failure_point.h"
#include "servers/connection.h"

PG_MODULE_MAGIC;

/* The options that locate a server; each may be a comma-separated list. */
enum
{
	HOST,
	HOSTADDR,
	PORT,
	PLACES
};
static const char *const place_keywords[PLACES] = {"host", "hostaddr", "port"};

/* The options of server and user mapping. */
typedef struct Options
{
	Oid			server;			/* InvalidOid: not a foreign server */
	const char **keywords;		/* as libpq takes them, with the places last */
	const char **values;
	int			count;			/* number of options before the places */
	const char *places[PLACES]; /* NULL: not given */
	int			hosts;			/* number of hosts that they name; 1 if they
								 * cannot be divided */
	bool		has_password;
	bool		password_required;
	int			connect_timeout;	/* milliseconds, for each host */
} Options;

/*
 * The only connection of this session, and what it was made for.  Invalidations
 * may mark it outdated at any time.
 */
typedef struct Connection
{
	PGconn	   *conn;			/* NULL: none */
	PGresult   *result;			/* of the last statement; NULL: none */
	Oid			server;
	Oid			role;
	int			timeout;		/* that was set on the hub */
	int			host;			/* which of several hosts, counting from 0 */
	bool		outdated;
	char	   *conninfo;		/* connection strings that it was made with,
								 * in TopMemoryContext; NULL: it was made with
								 * a server */
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
	if (connection.conninfo != NULL)
		pfree(connection.conninfo);
	connection.conninfo = NULL;
}

/* Syscache callback: a server, wrapper, user mapping or role has changed. */
static void
note_change(Datum arg, int cacheid, uint32 hashvalue)
{
	connection.outdated = true;
}

static void
register_callbacks(void)
{
	static bool registered = false;

	if (registered)
		return;
	registered = true;
	CacheRegisterSyscacheCallback(FOREIGNSERVEROID, note_change, (Datum) 0);
	CacheRegisterSyscacheCallback(FOREIGNDATAWRAPPEROID, note_change, (Datum) 0);
	CacheRegisterSyscacheCallback(USERMAPPINGOID, note_change, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHOID, note_change, (Datum) 0);
}

/*
 * A copy of a text from another server, which may be in any encoding: if it is
 * not valid in the database's encoding, characters that are not ASCII become
 * question marks.
 */
static char *
readable(const char *said)
{
	char	   *copy = pstrdup(said);

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

/* Note an error.  Always false. */
static bool
fail(HiloHubAnswer *answer, int sqlstate, const char *message, const char *hint)
{
	memset(answer, 0, sizeof(*answer));
	answer->host = -1;
	answer->sqlstate = sqlstate;
	answer->message = readable(message);
	answer->hint = hint == NULL ? NULL : readable(hint);
	return false;
}

/*
 * Append libpq's message, in one line, without the lines in which it guesses
 * the cause.
 */
static void
append_said(StringInfo line, const char *said)
{
	while (*said != '\0')
	{
		int			len = strcspn(said, "\n");

		if (len > 0 && *said != '\t')
			appendStringInfo(line, "%s%.*s", line->len > 0 ? "; " : "", len,
							 said);
		said += len;
		said += strspn(said, "\n");
	}
}

/* Note that the connection was lost, with libpq's message. */
static bool
fail_as_libpq(HiloHubAnswer *answer)
{
	StringInfoData said;

	initStringInfo(&said);
	append_said(&said, PQerrorMessage(connection.conn));
	return fail(answer, ERRCODE_CONNECTION_FAILURE,
				said.len > 0 ? said.data : "the connection was lost", NULL);
}

/* Note the error that the hub has reported. */
static bool
fail_as_hub(HiloHubAnswer *answer)
{
	const char *state = PQresultErrorField(connection.result, PG_DIAG_SQLSTATE);
	const char *message = PQresultErrorField(connection.result,
											 PG_DIAG_MESSAGE_PRIMARY);
	const char *hint = PQresultErrorField(connection.result,
										  PG_DIAG_MESSAGE_HINT);
	int			code = ERRCODE_CONNECTION_FAILURE;

	if (state == NULL || message == NULL)
		return fail_as_libpq(answer);

	/*
	 * The hub ended or canceled the statement, which the caller did not
	 * request.  Nor may the hub report that there was no error.
	 */
	if (strlen(state) == 5 &&
		strspn(state, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == 5 &&
		strncmp(state, "57", 2) != 0 && strncmp(state, "03", 2) >= 0)
		code = MAKE_SQLSTATE(state[0], state[1], state[2], state[3], state[4]);
	return fail(answer, code, message, hint);
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
	for (int i = 0; i < PLACES; i++)
	{
		if (strcmp(keyword, place_keywords[i]) == 0)
		{
			/* libpq ignores empty values. */
			if (value[0] != '\0')
				options->places[i] = value;
			return;
		}
	}
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
		const char *value = def->arg == NULL ? "" : strVal(def->arg);
		bool		required;

		if (strcmp(def->defname, "password_required") == 0 &&
			parse_bool(value, &required))
			options->password_required = required;
		if (!is_libpq_option(known, def->defname))
			continue;
		if (strcmp(def->defname, "password") == 0)
			options->has_password = value[0] != '\0';
		if (strcmp(def->defname, "connect_timeout") == 0)
		{
			long		seconds = strtol(value, NULL, 10);

			if (seconds > 0)
				options->connect_timeout = Min(seconds, INT_MAX / 1000) * 1000;
		}
		add_option(options, def->defname, value);
	}
}

static int
count_parts(const char *list)
{
	int			count = 1;

	for (; *list != '\0'; list++)
		count += *list == ',';
	return count;
}

/*
 * The number of hosts that the places name, by the rules of libpq. 1 if they
 * violate those rules: if it is given all of them, libpq reports that.
 */
static int
count_hosts(const char *const *places)
{
	const char *list = places[HOSTADDR] != NULL ? places[HOSTADDR] : places[HOST];
	int			count = list == NULL ? 1 : count_parts(list);

	if (places[HOST] != NULL && count_parts(places[HOST]) != count)
		return 1;
	if (places[PORT] != NULL && count_parts(places[PORT]) != 1 &&
		count_parts(places[PORT]) != count)
		return 1;
	return count;
}

/*
 * Item n of a list, counting from 0; if the list has only one item, that one.
 */
static const char *
part(const char *list, int n)
{
	if (list == NULL || strchr(list, ',') == NULL)
		return list;
	while (n-- > 0)
		list = strchr(list, ',') + 1;
	return pnstrdup(list, strcspn(list, ","));
}

/* Note 2F003 if a role that is not a superuser has used no password. */
static bool
check_password(bool shown, const Options *options, Oid role,
			   HiloHubAnswer *answer)
{
	if (shown || !options->password_required || superuser_arg(role))
		return true;
	return fail(answer, ERRCODE_S_R_E_PROHIBITED_SQL_STATEMENT_ATTEMPTED,
				"password is required",
				psprintf("Role \"%s\" is not a superuser, so it must have a password in its user mapping, and the hub must ask for it.",
						 GetUserNameFromId(role, true)));
}

/* Options of the role's user mapping, or else of that for all roles. */
static bool
read_mapping(Oid role, Oid server, List **options)
{
	HeapTuple	tuple = SearchSysCache2(USERMAPPINGUSERSERVER,
										ObjectIdGetDatum(role),
										ObjectIdGetDatum(server));
	Datum		datum;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		tuple = SearchSysCache2(USERMAPPINGUSERSERVER,
								ObjectIdGetDatum(InvalidOid),
								ObjectIdGetDatum(server));
	if (!HeapTupleIsValid(tuple))
		return false;

	datum = SysCacheGetAttr(USERMAPPINGUSERSERVER, tuple,
							Anum_pg_user_mapping_umoptions, &isnull);
	*options = isnull ? NIL : untransformRelOptions(datum);
	ReleaseSysCache(tuple);
	return true;
}

/*
 * Find server and mapping, and check the role's privileges.  If they are
 * dropped in the meantime, that is the answer's error, not one of the catalogs.
 */
static bool
look_up(const HiloHubQuestion *question, ForeignServer **server,
		List **mapping, HiloHubAnswer *answer)
{
	const char *role = GetUserNameFromId(question->role, true);
	Oid			serverid = get_foreign_server_oid(question->server, true);

	if (role == NULL)
		return fail(answer, ERRCODE_UNDEFINED_OBJECT,
					psprintf("role with OID %u does not exist", question->role),
					NULL);

	*server = OidIsValid(serverid) ?
		GetForeignServerExtended(serverid, FSV_MISSING_OK) : NULL;
	if (*server == NULL)
		return fail(answer, ERRCODE_UNDEFINED_OBJECT,
					psprintf("server \"%s\" does not exist", question->server),
					NULL);
	if (!hilo_has_privilege(ForeignServerRelationId, serverid, question->role,
							ACL_USAGE))
		return fail(answer, ERRCODE_INSUFFICIENT_PRIVILEGE,
					psprintf("permission denied for foreign server %s",
							 question->server), NULL);
	if (!read_mapping(question->role, serverid, mapping))
		return fail(answer, ERRCODE_UNDEFINED_OBJECT,
					psprintf("user mapping not found for user \"%s\", server \"%s\"",
							 role, question->server), NULL);
	return true;
}

/* Convert options to what libpq takes; later ones override earlier ones. */
static bool
set_options(const HiloHubQuestion *question, Options *options, List *list,
			HiloHubAnswer *answer)
{
	PQconninfoOption *known = PQconndefaults();
	int			count = list_length(list) + 2;

	if (known == NULL)
		return fail(answer, ERRCODE_OUT_OF_MEMORY, "out of memory", NULL);
	memset(options, 0, sizeof(*options));
	options->keywords = palloc0((count + PLACES + 1) * sizeof(char *));
	options->values = palloc0((count + PLACES + 1) * sizeof(char *));
	options->password_required = true;
	options->connect_timeout = question->timeout;

	add_option(options, "fallback_application_name", "hilo");
	add_options(options, list, known);
	add_option(options, "client_encoding", GetDatabaseEncodingName());
	PQconninfoFree(known);
	for (int i = 0; i < PLACES; i++)
		options->keywords[options->count + i] = place_keywords[i];
	options->hosts = count_hosts(options->places);
	return true;
}

/*
 * Append the options that a connection string sets, with host_keyword in place
 * of "host".
 */
static bool
append_conninfo(const char *conninfo, const char *host_keyword, List **list,
				HiloHubAnswer *answer)
{
	char	   *error = NULL;
	PQconninfoOption *parsed = PQconninfoParse(conninfo, &error);

	if (parsed == NULL)
	{
		char	   *message = pstrdup(error == NULL ? "out of memory" : error);

		PQfreemem(error);
		return fail(answer, ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION,
					message, NULL);
	}
	for (PQconninfoOption *it = parsed; it->keyword != NULL; it++)
	{
		const char *keyword = strcmp(it->keyword, "host") == 0 ?
			host_keyword : it->keyword;

		if (it->val != NULL && it->val[0] != '\0')
			*list = lappend(*list,
							makeDefElem(pstrdup(keyword),
										(Node *) makeString(pstrdup(it->val)),
										-1));
	}
	PQconninfoFree(parsed);
	return true;
}

static bool
has_option(List *list, const char *keyword)
{
	ListCell   *lc;

	foreach(lc, list)
	{
		if (strcmp(((DefElem *) lfirst(lc))->defname, keyword) == 0)
			return true;
	}
	return false;
}

/* Read connection strings instead of server and user mapping. */
static bool
read_conninfo(const HiloHubQuestion *question, Options *options,
			  HiloHubAnswer *answer)
{
	const char *const *strings = question->conninfo;
	const char *host_keyword = "host";
	List	   *list = NIL;

	/*
	 * The first string is for all nodes of a Citus cluster.  As in Citus, a
	 * host in it is the one in their certificates, and the nodes are found by
	 * address.
	 */
	for (int i = 0; strings[i] != NULL; i++)
	{
		if (!append_conninfo(strings[i], host_keyword, &list, answer))
			return false;
		if (i == 0 && has_option(list, "host"))
			host_keyword = "hostaddr";
	}
	if (!set_options(question, options, list, answer))
		return false;
	options->password_required = false;
	return true;
}

/*
 * Read the options of server and user mapping, and check what can be checked
 * without connecting.
 */
static bool
read_options(const HiloHubQuestion *question, Options *options,
			 HiloHubAnswer *answer)
{
	ForeignServer *server;
	ForeignDataWrapper *wrapper;
	List	   *mapping;

	if (question->conninfo != NULL)
		return read_conninfo(question, options, answer);
	if (!look_up(question, &server, &mapping, answer))
		return false;
	wrapper = GetForeignDataWrapperExtended(server->fdwid, FDW_MISSING_OK);
	if (!set_options(question, options,
					 list_concat_copy(server->options, mapping), answer))
		return false;
	options->server = server->serverid;

	/* Without a validator that checks options, any user can set them. */
	if (wrapper == NULL || !OidIsValid(wrapper->fdwvalidator))
		options->password_required = true;
	return check_password(options->has_password, options, question->role,
						  answer);
}

/*
 * Milliseconds by a clock that nobody sets, from an arbitrary start.
 */
static int64
steady_ms(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return (int64) (INSTR_TIME_GET_MICROSEC(now) / 1000);
}

/*
 * Wait until one of the events happens on the connection's socket; false, with
 * no error noted: the deadline, in terms of steady_ms(), has passed.  Can be
 * canceled.
 */
static bool
wait_for_socket(int events, int64 deadline)
{
	static uint32 wait_event = 0;

	for (;;)
	{
		long		left = (long) (deadline - steady_ms());
		int			happened;

		CHECK_FOR_INTERRUPTS();
		if (left <= 0)
			return false;
		happened = WaitLatchOrSocket(MyLatch,
									 WL_LATCH_SET | WL_EXIT_ON_PM_DEATH |
									 WL_TIMEOUT | events,
									 PQsocket(connection.conn), left,
									 hilo_wait_event("HiloHub", &wait_event));
		if (happened & WL_LATCH_SET)
			ResetLatch(MyLatch);

		/* libpq would block if it were called too early. */
		if (happened & events)
			return true;
	}
}

/*
 * Send a statement and wait for its rows, which are valid until the next one is
 * sent or the connection is closed.
 */
static bool
run(const HiloHubQuestion *question, const char *sql, int count,
	const Oid *types, const char *const *params, HiloHubAnswer *answer)
{
	int64		deadline = steady_ms() + question->timeout;

	clear_result();
	if (!PQsendQueryParams(connection.conn, sql, count, types, params, NULL,
						   NULL, 0))
		return fail_as_libpq(answer);
	HILO_FAILURE_POINT("hub asked");

	for (;;)
	{
		PGresult   *next;

		while (PQisBusy(connection.conn))
		{
			if (!wait_for_socket(WL_SOCKET_READABLE, deadline))
				return fail(answer, ERRCODE_CONNECTION_FAILURE,
							"the server did not answer in time", NULL);

			/*
			 * Before the connection was lost, the hub may have sent the
			 * reason.
			 */
			if (!PQconsumeInput(connection.conn) && PQisBusy(connection.conn))
				return fail_as_libpq(answer);
		}
		next = PQgetResult(connection.conn);
		if (next == NULL)
			break;
		clear_result();
		connection.result = next;

		/*
		 * The first error counts; and a result that starts COPY would not
		 * end.
		 */
		if (PQresultStatus(next) != PGRES_TUPLES_OK)
			break;
	}
	HILO_FAILURE_POINT("hub answered");

	if (PQresultStatus(connection.result) != PGRES_TUPLES_OK)
		return fail_as_hub(answer);
	return true;
}

/*
 * Check that the hub has the extension, and have the hub cancel what takes longer than this side waits.  If this side gives up sooner, by closing
 * the connection, that also ends soon, if the hub can notice it.  A cancel
 * request on another connection would not work better, and libpq blocks while
 * it sends one.
 */
static bool
set_up(const HiloHubQuestion *question, HiloHubAnswer *answer)
{
	static const Oid types[] = {TEXTOID};
	const char *params[] = {psprintf("%d", question->timeout)};

	if (!run(question,
			 "SELECT pg_catalog.set_config('statement_timeout', $1, false),"
			 " pg_catalog.set_config('default_transaction_isolation', 'read committed', false),"
			 " CASE WHEN pg_catalog.version() OPERATOR(pg_catalog.~) 'linux'"
			 " THEN pg_catalog.set_config('client_connection_check_interval', '500', false) END"
			 " FROM pg_catalog.pg_extension WHERE extname OPERATOR(pg_catalog.=) 'hilo'",
			 1, types, params, answer))
		return false;
	if (PQntuples(connection.result) != 1)
		return fail(answer, ERRCODE_UNDEFINED_OBJECT,
					"extension \"hilo\" is not installed on the server", NULL);
	connection.timeout = question->timeout;
	return true;
}

/* Notices and warnings of the hub are not relevant here. */
static void
ignore_notice(void *arg, const char *message)
{
}

/* The address of the host, as in libpq's messages; palloc'd. */
static char *
address_text(void)
{
	const char *address = PQhostaddr(connection.conn);

	return address == NULL || address[0] == '\0' ||
		strcmp(address, PQhost(connection.conn)) == 0 ? pstrdup("") :
		psprintf(" (%s)", address);
}

/*
 * Connect to the host that the options name; false after an error, which is appended
 * to errors.
 */
static bool
try_address(const Options *options, StringInfo errors)
{
	int64		deadline = steady_ms() + options->connect_timeout;
	PostgresPollingStatusType status = PGRES_POLLING_WRITING;

	if (!AcquireExternalFD())
	{
		append_said(errors, "there are too many open files");
		return false;
	}
	connection.conn = PQconnectStartParams(options->keywords, options->values,
										   false);
	if (connection.conn == NULL)
	{
		ReleaseExternalFD();
		append_said(errors, "out of memory");
		return false;
	}
	PQsetNoticeProcessor(connection.conn, ignore_notice, NULL);

	while (PQstatus(connection.conn) != CONNECTION_BAD &&
		   status != PGRES_POLLING_OK && status != PGRES_POLLING_FAILED)
	{
		if (!wait_for_socket(status == PGRES_POLLING_READING ?
							 WL_SOCKET_READABLE : WL_SOCKET_WRITEABLE, deadline))
		{
			append_said(errors,
						psprintf("connection to server at \"%s\"%s, port %s failed: it did not answer in time",
								 PQhost(connection.conn), address_text(),
								 PQport(connection.conn)));
			disconnect();
			return false;
		}
		status = PQconnectPoll(connection.conn);
	}
	if (PQstatus(connection.conn) == CONNECTION_OK)
		return true;
	append_said(errors, PQerrorMessage(connection.conn));
	disconnect();
	return false;
}

/*
 * The addresses of a host name, as a list of strings; empty if it is not a
 * name, or not known, which libpq then reports.
 */
static List *
addresses_of(const char *host)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC,.ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	List	   *addresses = NIL;

	if (host == NULL || host[0] == '/' || host[0] == '@' ||
		getaddrinfo(host, NULL, &hints, &found) != 0)
		return NIL;
	for (struct addrinfo *it = found; it != NULL; it = it->ai_next)
	{
		char		address[NI_MAXHOST];

		if (getnameinfo(it->ai_addr, it->ai_addrlen, address,
						sizeof(address), NULL, 0, NI_NUMERICHOST) == 0)
			addresses = lappend(addresses, pstrdup(address));
	}
	freeaddrinfo(found);
	return addresses;
}

/*
 * Connect to host n. libpq would try all addresses of its name, but continue
 * with the next one only after one has refused.
 */
static bool
try_host(const Options *options, int n, StringInfo errors)
{
	const char **values = options->values + options->count;
	List	   *addresses = NIL;
	ListCell   *lc;

	for (int i = 0; i < PLACES; i++)
		values[i] = options->hosts == 1 ?
			options->places[i] : part(options->places[i], n);
	if (values[HOSTADDR] == NULL)
		addresses = addresses_of(values[HOST]);
	if (list_length(addresses) <= 1)
		return try_address(options, errors);

	foreach(lc, addresses)
	{
		values[HOSTADDR] = lfirst(lc);
		if (try_address(options, errors))
			return true;
	}
	return false;
}

/*
 * Connect to one of the hosts, trying them in turn from the first on, so that
 * each has its turn although another one can be reached and gives nothing.  Each
 * has its own time limit, which libpq leaves to a caller that polls.
 */
static bool
connect_to_any(const Options *options, int first, HiloHubAnswer *answer)
{
	StringInfoData errors;

	initStringInfo(&errors);
	connection.server = options->server;
	for (int i = 0; i < options->hosts; i++)
	{
		connection.host = (first + i) % options->hosts;
		if (try_host(options, connection.host, &errors))
			return true;
	}
	return fail(answer, ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION,
				errors.data,
				strstr(errors.data, "no password supplied") == NULL ? NULL :
				OidIsValid(options->server) ?
				"The hub asks for a password: add one to the user mapping." :
				"The coordinator asks for a password: add one to pg_dist_authinfo, or allow this node in its pg_hba.conf.");
}

/* Connection strings, joined, palloc'd. */
static char *
joined(const char *const *conninfo)
{
	StringInfoData result;

	initStringInfo(&result);
	for (int i = 0; conninfo[i] != NULL; i++)
		appendStringInfo(&result, "%s\n", conninfo[i]);
	return result.data;
}

/*
 * True if the connection was made with these strings, or, if that is NULL, with
 * none.
 */
static bool
is_by_conninfo(const char *const *conninfo)
{
	if (conninfo == NULL || connection.conninfo == NULL)
		return conninfo == NULL && connection.conninfo == NULL;
	return strcmp(connection.conninfo, joined(conninfo)) == 0;
}

/* Connect, unless the current connection can be used. */
static bool
connect_to_hub(const HiloHubQuestion *question, HiloHubAnswer *answer)
{
	Options		options;

	/* Changes from here on affect the next question. */
	register_callbacks();
	if (connection.outdated)
		disconnect();
	connection.outdated = false;
	if (!read_options(question, &options, answer))
		return false;

	/*
	 * A connection lost since the last question is not an error.  The
	 * server's last message arrives first, and the end of the connection
	 * after it.
	 */
	if (connection.conn != NULL && !connection.outdated &&
		connection.server == options.server &&
		is_by_conninfo(question->conninfo) &&
		connection.role == question->role &&
		connection.timeout == question->timeout &&
		PQconsumeInput(connection.conn) && PQconsumeInput(connection.conn))
		return true;

	disconnect();
	connection.role = question->role;
	if (!connect_to_any(&options, question->host, answer) ||
		!check_password(PQconnectionUsedPassword(connection.conn), &options,
						question->role, answer))
		return false;
	if (question->conninfo != NULL)
		connection.conninfo = MemoryContextStrdup(TopMemoryContext,
												  joined(question->conninfo));
	HILO_FAILURE_POINT("hub connected");
	return set_up(question, answer);
}

/* Read a number of the answer; 0 if it is null.  Notes no error. */
static bool
read_number(int row, int col, int64 *number)
{
	const char *value = PQgetvalue(connection.result, row, col);
	char	   *end;

	*number = 0;
	if (PQgetisnull(connection.result, row, col))
		return true;
	errno = 0;
	*number = strtoll(value, &end, 10);
	return errno == 0 && end != value && *end == '\0';
}

/* The columns of an answer, in every row. */
enum AnswerColumn
{
	ANSWER_LOW,
	ANSWER_HIGH,
	ANSWER_EPOCH,
	ANSWER_RANGE_SIZE,
	ANSWER_MAX_RANGE_SIZE,
	ANSWER_NODE_TAG,
	ANSWER_LINEAGE,
	ANSWER_TERM,
	ANSWER_TERM_ID,
	ANSWER_REFUSAL,
	ANSWER_HINT,
	ANSWER_WANTS_REPORT,
	ANSWER_NAME,
	ANSWER_COLUMNS
};

/* What the query calls them. */
#define ANSWER_LIST \
	"epoch, range_size, max_range_size, node_tag, lineage, term, term_id, refusal, hint, wants_report"

/* A text of the first row, palloc'd; NULL: it is null. */
static char *
read_text(int row, int col)
{
	return PQgetisnull(connection.result, row, col) ? NULL :
		readable(PQgetvalue(connection.result, row, col));
}

/* Read what a row says about a counter; false if it is not plausible. */
static bool
read_item(int row, const HiloHubQuestion *question, HiloHubItem *item)
{
	if (!read_number(row, ANSWER_LOW, &item->range.low) ||
		!read_number(row, ANSWER_HIGH, &item->range.high) ||
		!read_number(row, ANSWER_EPOCH, &item->epoch) ||
		!read_number(row, ANSWER_RANGE_SIZE, &item->range_size) ||
		!read_number(row, ANSWER_MAX_RANGE_SIZE, &item->max_range_size) ||
		item->epoch < 0 ||
		item->range_size < 0 || item->range_size > INT_MAX ||
		item->max_range_size < 0 || item->max_range_size > INT_MAX)
		return false;
	item->has_tag = !PQgetisnull(connection.result, row, ANSWER_NODE_TAG);
	namestrcpy(&item->node_tag,
			   PQgetvalue(connection.result, row, ANSWER_NODE_TAG));
	item->name = read_text(row, ANSWER_NAME);
	if (question->size == 0)
	{
		item->range.low = 0;
		item->range.high = -1;
		return question->name[0] != '\0' || item->name != NULL;
	}
	return item->range.low > question->at_least &&
		item->range.high >= item->range.low &&
		(uint64) item->range.high - (uint64) item->range.low < (uint64) question->size &&
		item->epoch > 0;
}

/* Read the hub's answer; false if it is not plausible. */
static bool
read_answer(const HiloHubQuestion *question, HiloHubAnswer *answer)
{
	bool		is_report = question->name[0] == '\0';
	int			rows = PQntuples(connection.result);

	if (rows < 1 || (rows > 1 && !is_report) ||
		PQnfields(connection.result) != ANSWER_COLUMNS ||
		!read_number(0, ANSWER_LINEAGE, &answer->term.lineage) ||
		!read_number(0, ANSWER_TERM, &answer->term.number) ||
		!read_number(0, ANSWER_TERM_ID, &answer->term.id))
		return false;
	answer->wants_report =
		strcmp(PQgetvalue(connection.result, 0, ANSWER_WANTS_REPORT), "t") == 0;
	answer->message = read_text(0, ANSWER_REFUSAL);
	answer->hint = read_text(0, ANSWER_HINT);

	/* A refusal of one that is no hub says nothing about terms. */
	if (!(answer->message != NULL && answer->term.lineage == 0) &&
		!(answer->term.lineage > 0 && answer->term.id > 0 &&
		  answer->term.number >= 1 &&
		  answer->term.number <= PG_INT64_MAX / 2))
		return false;
	if (answer->message != NULL)
	{
		answer->sqlstate = ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
		return true;
	}
	answer->items = palloc0(rows * sizeof(HiloHubItem));
	answer->count = rows;
	for (int i = 0; i < rows; i++)
	{
		if (!read_item(i, question, &answer->items[i]))
			return false;
	}
	return true;
}

/*
 * Ask for a lease, or report, through the current connection.  If the types of the
 * arguments were left open, a function of the same name that another role has
 * created in that schema could be called instead.
 */
static bool
send_question(const HiloHubQuestion *question, HiloHubAnswer *answer)
{
	static const Oid lease_types[] = {TEXTOID, INT8OID, INT8OID, INT8OID,
	INT8OID, INT8OID, TEXTOID};
	static const Oid report_types[] = {TEXTOID, INT8OID, INT8OID, INT8OID,
	TEXTARRAYOID, INT8ARRAYOID};
	const char *lineage = psprintf(INT64_FORMAT, question->term.lineage);
	const char *number = psprintf(INT64_FORMAT, question->term.number);
	const char *id = psprintf(INT64_FORMAT, question->term.id);
	const char *const lease_params[] = {
		question->name,
		psprintf(INT64_FORMAT, question->size),
		psprintf(INT64_FORMAT, question->at_least),
		lineage, number, id, question->member
	};
	const char *const report_params[] = {
		question->member, lineage, number, id, question->names,
		question->highest
	};

	if (question->name[0] != '\0')
		return run(question,
				   "SELECT low, high, " ANSWER_LIST ", NULL FROM hilo.lease($1, $2, $3, $4, $5, $6, $7)",
				   lengthof(lease_types), lease_types, lease_params, answer);
	return run(question,
			   "SELECT NULL, NULL, " ANSWER_LIST ", collection FROM hilo.report($1, $2, $3, $4, $5, $6)",
			   lengthof(report_types), report_types, report_params, answer);
}

static bool
ask(const HiloHubQuestion *question, HiloHubAnswer *answer)
{
	if (!send_question(question, answer))
		return false;
	answer->host = connection.host;
	if (!read_answer(question, answer))
		return fail(answer, ERRCODE_PROTOCOL_VIOLATION,
					"the server has answered with numbers that it was not asked for",
					NULL);
	return answer->sqlstate == 0;
}

void
hilo_hub_ask(const HiloHubQuestion *question, HiloHubAnswer *answer)
{
	bool		answered = false;

	memset(answer, 0, sizeof(*answer));
	PG_TRY();
	{
		answered = connect_to_hub(question, answer) && ask(question, answer);
	}
	PG_CATCH();
	{
		disconnect();
		PG_RE_THROW();
	}
	PG_END_TRY();

	/*
	 * Another host may have become the hub, although this one could be
	 * reached.
	 */
	if (!answered && connection.conn != NULL)
		answer->host = connection.host + 1;
	clear_result();
	if (!answered || !question->keep)
		disconnect();
}

/*-------------------------------------------------------------------------
 *
 * connection.c
 *	  Asks another server, the hub, for numbers of its counters.
 *
 * This is a library of its own, like the server's libpqwalreceiver: most
 * sessions ask no hub, and need not load libpq.  It uses no symbol of the other
 * libraries.
 *
 * Functions that return a bool return false after an error, which is then in
 * the answer.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <netdb.h>

#include "libpq-fe.h"

#include "access/reloptions.h"
#include "catalog/pg_type.h"
#include "catalog/pg_user_mapping.h"
#include "commands/dbcommands.h"
#include "common/string.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "portability/instr_time.h"
#include "postmaster/bgworker.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "hub/connection.h"
#include "hub/core.h"

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

/* What a connection is made with. */
typedef struct Options
{
	const char **keywords;		/* all that libpq knows, then NULL, */
	const char **values;		/* and their values; NULL: not given */
	bool		needs_password; /* the hub must have asked for one */
} Options;

/*
 * The only connection of this session.
 */
typedef struct Connection
{
	PGconn	   *conn;			/* NULL: none */
	PGresult   *result;			/* of the last statement; NULL: none */
	char	   *made_with;		/* all that it depends on, as a text in
								 * TopMemoryContext; NULL: it is not ready */
	int			host;			/* which of several hosts, counting from 0 */
} Connection;

static Connection connection;

static void
disconnect(void)
{
	PQclear(connection.result);
	if (connection.conn != NULL)
	{
		PQfinish(connection.conn);
		ReleaseExternalFD();
	}
	if (connection.made_with != NULL)
		pfree(connection.made_with);
	memset(&connection, 0, sizeof(connection));
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
 * True if the line has been said already: it is the answer of a host, which does not
 * depend on its address or on encryption.
 */
static bool
is_repeated(const char *lines, const char *said, int len)
{
	const char *const answers[] = {"FATAL:", "fe_sendauth:"};
	char	   *copy = pnstrdup(said, len);
	bool		repeated = false;

	for (size_t i = 0; i < lengthof(answers) && !repeated; i++)
	{
		const char *answer = strstr(copy, answers[i]);

		repeated = answer != NULL && strstr(lines, answer) != NULL;
	}
	pfree(copy);
	return repeated;
}

/*
 * Append libpq's message, in one line, without the lines in which it guesses
 * the cause, and without repetitions.
 */
static void
append_said(StringInfo line, const char *said)
{
	while (*said != '\0')
	{
		int			len = strcspn(said, "\n");

		if (len > 0 && *said != '\t' && !is_repeated(line->data, said, len))
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
	if (code == ERRCODE_INSUFFICIENT_PRIVILEGE && hint == NULL)
		hint = "On the hub: GRANT EXECUTE ON FUNCTION hilo.lease, hilo.report TO the role in the user mapping.";
	return fail(answer, code, message, hint);
}

/*
 * Options
 */

/*
 * Where the value of an option belongs; for one that libpq does not know, a place
 * that nothing reads.
 */
static const char **
value_of(Options *options, const char *keyword)
{
	int			i = 0;

	while (options->keywords[i] != NULL &&
		   strcmp(options->keywords[i], keyword) != 0)
		i++;
	return &options->values[i];
}

/* Set the options of a connection string, with its host as host_keyword. */
static bool
set_conninfo(Options *options, const char *conninfo, const char *host_keyword,
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
		if (it->val != NULL && it->val[0] != '\0')
			*value_of(options, strcmp(it->keyword, "host") == 0 ?
					  host_keyword : it->keyword) = pstrdup(it->val);
	}
	PQconninfoFree(parsed);
	return true;
}

/*
 * Options for the Citus coordinator, as Citus has them.  If a host is given for
 * all nodes, it is the one in their certificates, and they are found by address.
 */
static bool
set_coordinator(Options *options, const HiloHubQuestion *question,
				HiloHubAnswer *answer)
{
	const HiloCitusConnection *node = question->coordinator;
	const char *keyword;

	options->needs_password = false;
	if (!set_conninfo(options, node->common, "host", answer))
		return false;
	keyword = *value_of(options, "host") != NULL ? "hostaddr" : "host";
	*value_of(options, keyword) = node->host;
	*value_of(options, "port") = node->port;
	*value_of(options, "dbname") = get_database_name(MyDatabaseId);
	*value_of(options, "user") = GetUserNameFromId(question->role, false);
	return set_conninfo(options, node->pool, keyword, answer) &&
		set_conninfo(options, node->authentication, keyword, answer);
}

/*
 * Options of server and user mapping, the role's or else that for all roles, after a
 * check of the role's privileges.  If they are dropped in the meantime, that is the
 * answer's error, not one of the catalogs.
 */
static bool
set_server(Options *options, const HiloHubQuestion *question,
		   HiloHubAnswer *answer)
{
	const char *role = GetUserNameFromId(question->role, true);
	Oid			serverid = get_foreign_server_oid(question->server, true);
	ForeignServer *server = OidIsValid(serverid) ?
		GetForeignServerExtended(serverid, FSV_MISSING_OK) : NULL;
	ForeignDataWrapper *wrapper;
	HeapTuple	mapping;
	Datum		datum;
	bool		isnull;
	bool		is_own = true;

	if (role == NULL)
		return fail(answer, ERRCODE_UNDEFINED_OBJECT,
					psprintf("role with OID %u does not exist", question->role),
					NULL);
	if (server == NULL)
		return fail(answer, ERRCODE_UNDEFINED_OBJECT,
					psprintf("server \"%s\" does not exist", question->server),
					NULL);
	if (!hilo_has_privilege(ForeignServerRelationId, serverid, question->role,
							ACL_USAGE))
		return fail(answer, ERRCODE_INSUFFICIENT_PRIVILEGE,
					psprintf("permission denied for foreign server %s",
							 question->server), NULL);

	/*
	 * The setting is for all databases: in any of them, who may create
	 * servers could create one of that name, and a mapping for this role.
	 */
	if (question->by_setting && server->owner != question->role &&
		!superuser_arg(server->owner))
		return fail(answer, ERRCODE_INSUFFICIENT_PRIVILEGE,
					psprintf("server \"%s\" belongs neither to a superuser nor to role \"%s\", which owns the extension",
							 question->server, role),
					"Change its owner, or choose it with hilo.lease_from().");
	mapping = SearchSysCache2(USERMAPPINGUSERSERVER,
							  ObjectIdGetDatum(question->role),
							  ObjectIdGetDatum(serverid));
	if (!HeapTupleIsValid(mapping))
	{
		is_own = false;
		mapping = SearchSysCache2(USERMAPPINGUSERSERVER,
								  ObjectIdGetDatum(InvalidOid),
								  ObjectIdGetDatum(serverid));
	}
	if (!HeapTupleIsValid(mapping))
		return fail(answer, ERRCODE_UNDEFINED_OBJECT,
					psprintf("user mapping not found for user \"%s\", server \"%s\"",
							 role, question->server), NULL);
	datum = SysCacheGetAttr(USERMAPPINGUSERSERVER, mapping,
							Anum_pg_user_mapping_umoptions, &isnull);
	if (!isnull)
		server->options = list_concat(server->options,
									  untransformRelOptions(datum));
	ReleaseSysCache(mapping);

	options->needs_password = true;
	foreach_ptr(DefElem, def, server->options)
	{
		const char *value = def->arg == NULL ? "" : strVal(def->arg);
		bool		required;

		if (strcmp(def->defname, "password_required") == 0 &&
			parse_bool(value, &required))
			options->needs_password = required;
		if (value[0] != '\0')	/* libpq ignores an empty one */
			*value_of(options, def->defname) = value;
	}

	/* Without a validator that checks options, any user can set them. */
	wrapper = GetForeignDataWrapperExtended(server->fdwid, FDW_MISSING_OK);
	if (wrapper == NULL || !OidIsValid(wrapper->fdwvalidator))
		options->needs_password = true;

	/*
	 * Whoever owns the server can make the mapping of any role, and so could
	 * log in with what this server's operating system user is trusted with.
	 */
	if (is_own && superuser_arg(question->role) && superuser_arg(server->owner))
		options->needs_password = false;
	return true;
}

/* Read what to connect with. */
static bool
read_options(const HiloHubQuestion *question, Options *options,
			 HiloHubAnswer *answer)
{
	PQconninfoOption *known = PQconndefaults();
	int			count = 0;

	if (known == NULL)
		return fail(answer, ERRCODE_OUT_OF_MEMORY, "out of memory", NULL);
	while (known[count].keyword != NULL)
		count++;
	options->keywords = palloc0((count + 1) * sizeof(char *));
	options->values = palloc0((count + 1) * sizeof(char *));
	for (int i = 0; i < count; i++)
		options->keywords[i] = pstrdup(known[i].keyword);
	PQconninfoFree(known);

	*value_of(options, "fallback_application_name") = "hilo";
	if (!(question->coordinator != NULL ?
		  set_coordinator(options, question, answer) :
		  set_server(options, question, answer)))
		return false;

	/*
	 * A standby beside the hub is passed over.  A single host may be a
	 * pooler, which may go on to say what an earlier server was.
	 */
	if (*value_of(options, "target_session_attrs") == NULL &&
		*value_of(options, "host") != NULL &&
		strchr(*value_of(options, "host"), ',') != NULL)
		*value_of(options, "target_session_attrs") = "read-write";
	*value_of(options, "client_encoding") = GetDatabaseEncodingName();
	return true;
}

/*
 * Wait until one of the events happens on the connection's socket, and return
 * which; 0, without an error: so many milliseconds have passed since the start,
 * by a clock that is never set.  Can be canceled.
 */
static int
wait_for_socket(int events, instr_time start, int timeout)
{
	static uint32 wait_event = 0;

	for (;;)
	{
		instr_time	passed;
		long		left;
		int			happened;

		CHECK_FOR_INTERRUPTS();
		INSTR_TIME_SET_CURRENT(passed);
		INSTR_TIME_SUBTRACT(passed, start);
		left = timeout - (long) INSTR_TIME_GET_MILLISEC(passed);
		if (left <= 0)
			return 0;
		happened = WaitLatchOrSocket(MyLatch,
									 WL_LATCH_SET | WL_EXIT_ON_PM_DEATH |
									 WL_TIMEOUT | events,
									 PQsocket(connection.conn), left,
									 hilo_wait_event("HiloHub", &wait_event));
		if (happened & WL_LATCH_SET)
			ResetLatch(MyLatch);

		/* libpq would block if it were called too early. */
		if (happened & events)
			return happened & events;
	}
}

/*
 * Send what libpq holds ready, which a hub that is frozen does not take.  What the
 * hub sends meanwhile is read, or both sides could wait for each other.
 */
static bool
flush_output(const HiloHubQuestion *question, instr_time start,
			 HiloHubAnswer *answer)
{
	int			left;

	while ((left = PQflush(connection.conn)) > 0)
	{
		int			happened = wait_for_socket(WL_SOCKET_READABLE | WL_SOCKET_WRITEABLE,
											   start, question->timeout);

		if (happened == 0)
			return fail(answer, ERRCODE_CONNECTION_FAILURE,
						"the server did not take the request in time", NULL);
		if ((happened & WL_SOCKET_READABLE) && !PQconsumeInput(connection.conn))
			return fail_as_libpq(answer);
	}
	return left == 0 || fail_as_libpq(answer);
}

/*
 * Send a statement and wait for its rows, which are valid until the next one is
 * sent or the connection is closed.  The types of its parameters may be NULL.
 */
static bool
send_and_wait(const HiloHubQuestion *question, const char *sql, int count,
			  const Oid *types, const char *const *params, HiloHubAnswer *answer)
{
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	PQclear(connection.result);
	connection.result = NULL;
	if (!PQsendQueryParams(connection.conn, sql, count, types, params, NULL,
						   NULL, 0))
		return fail_as_libpq(answer);
	if (!flush_output(question, start, answer))
		return false;
	HILO_FAILURE_POINT("hub asked");

	for (;;)
	{
		PGresult   *next;

		while (PQisBusy(connection.conn))
		{
			if (!wait_for_socket(WL_SOCKET_READABLE, start, question->timeout))
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
		PQclear(connection.result);
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
 * Connect to the address that the options name; false after an error, which is
 * appended to errors.
 */
static bool
try_address(const Options *options, int timeout, StringInfo errors)
{
	instr_time	start;
	PostgresPollingStatusType status = PGRES_POLLING_WRITING;

	INSTR_TIME_SET_CURRENT(start);
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
							 WL_SOCKET_READABLE : WL_SOCKET_WRITEABLE, start, timeout))
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
	if (PQstatus(connection.conn) == CONNECTION_OK &&
		PQsetnonblocking(connection.conn, 1) == 0)
		return true;
	append_said(errors, PQerrorMessage(connection.conn));
	disconnect();
	return false;
}

/*
 * The addresses of a host name, as a list of strings; one NULL if there are not
 * several.  libpq would try all of them, but continue with the next one only after
 * one has refused.
 */
static List *
addresses_of(const char *host)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC,.ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	List	   *addresses = NIL;

	if (host == NULL || host[0] == '/' || host[0] == '@' ||
		getaddrinfo(host, NULL, &hints, &found) != 0)
		return list_make1(NULL);
	for (struct addrinfo *it = found; it != NULL; it = it->ai_next)
	{
		char		address[NI_MAXHOST];

		if (getnameinfo(it->ai_addr, it->ai_addrlen, address,
						sizeof(address), NULL, 0, NI_NUMERICHOST) == 0)
			addresses = lappend(addresses, pstrdup(address));
	}
	freeaddrinfo(found);
	return list_length(addresses) > 1 ? addresses : list_make1(NULL);
}

/*
 * The items of a comma-separated list, of which NULL has none, as a list of strings;
 * NULL for one that is left out.
 */
static List *
items_of(const char *list)
{
	List	   *items = NIL;

	while (list != NULL)
	{
		int			len = strcspn(list, ",");

		items = lappend(items, len == 0 ? NULL : pnstrdup(list, len));
		list = list[len] == '\0' ? NULL : list + len + 1;
	}
	return items;
}

/*
 * Connect to one of the hosts, trying them in turn from the first on, so that
 * each has its turn although another one can be reached and gives nothing.  Each
 * has its own time limit, which libpq leaves to a caller that polls; in the lease worker,
 * for which DROP DATABASE waits, they share one.
 */
static bool
connect_to_any(Options *options, const HiloHubQuestion *question,
			   HiloHubAnswer *answer)
{
	const char *seconds = *value_of(options, "connect_timeout");
	long		limit = seconds == NULL || MyBgworkerEntry != NULL ? 0 : strtol(seconds, NULL, 10);
	int			timeout = limit > 0 ? Min(limit, INT_MAX / 1000) * 1000 :
		question->timeout;
	const char **places[PLACES];
	List	   *items[PLACES];
	int			hosts;
	StringInfoData errors;
	StringInfoData here;		/* those of one host */

	initStringInfo(&errors);
	initStringInfo(&here);
	for (int i = 0; i < PLACES; i++)
	{
		places[i] = value_of(options, place_keywords[i]);
		items[i] = items_of(*places[i]);
	}

	/* If the lists do not match, libpq is given all of them, and says so. */
	hosts = Max(list_length(items[HOSTADDR] != NIL ? items[HOSTADDR] : items[HOST]), 1);
	if ((items[HOST] != NIL && list_length(items[HOST]) != hosts) ||
		(list_length(items[PORT]) > 1 && list_length(items[PORT]) != hosts))
		hosts = 1;
	for (int i = 0; i < hosts; i++)
	{
		int			host = (question->host + i) % hosts;
		List	   *addresses;

		resetStringInfo(&here);
		for (int j = 0; hosts > 1 && j < PLACES; j++)
			*places[j] = items[j] == NIL ? NULL :
				list_nth(items[j], list_length(items[j]) == 1 ? 0 : host);
		addresses = *places[HOSTADDR] != NULL ? list_make1((void *) *places[HOSTADDR]) :
			addresses_of(*places[HOST]);
		foreach_ptr(const char, address, addresses)
		{
			*places[HOSTADDR] = address;
			if (try_address(options, MyBgworkerEntry == NULL ? timeout :
							timeout / (hosts * list_length(addresses)), &here))
			{
				connection.host = host;
				return true;
			}
		}
		appendStringInfo(&errors, "%s%s", errors.len > 0 ? "; " : "", here.data);
	}
	return fail(answer, ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION,
				errors.data,
				strstr(errors.data, "no password supplied") == NULL ? NULL :
				question->coordinator == NULL ?
				"The hub asks for a password: add one to the user mapping." :
				"The coordinator asks for a password: add one to pg_dist_authinfo, or allow this node in its pg_hba.conf.");
}

/*
 * Connect, unless the current connection can be used.  Check that the hub has the
 * extension, and have it cancel what takes longer than this side waits.  If this side
 * gives up sooner, by closing the connection, that also ends soon, if the hub can
 * notice it.  A cancel request on another connection would not work better, and libpq
 * blocks while it sends one.
 */
static bool
connect_to_hub(const HiloHubQuestion *question, HiloHubAnswer *answer)
{
	const char *timeout = psprintf("%d", question->timeout);
	Options		options;
	bool		may_connect;
	StringInfoData made_with;

	if (!read_options(question, &options, answer))
	{
		disconnect();
		return false;
	}
	initStringInfo(&made_with);
	appendStringInfo(&made_with, "%u %s %d", question->role, timeout,
					 options.needs_password);
	for (int i = 0; options.keywords[i] != NULL; i++)
	{
		if (options.values[i] != NULL)
			appendStringInfo(&made_with, " %s %zu %s", options.keywords[i],
							 strlen(options.values[i]), options.values[i]);
	}

	/*
	 * A connection lost since the last question is not an error.  The
	 * server's last message arrives first, and the end of the connection
	 * after it.
	 */
	if (connection.made_with != NULL &&
		strcmp(connection.made_with, made_with.data) == 0 &&
		PQconsumeInput(connection.conn) && PQconsumeInput(connection.conn))
		return true;

	/* A password that is needed must be the role's own, not the server's. */
	disconnect();
	may_connect = !options.needs_password ||
		*value_of(&options, "password") != NULL;
	if (may_connect && !connect_to_any(&options, question, answer))
		return false;
	if (!may_connect || (options.needs_password &&
						 !PQconnectionUsedPassword(connection.conn)))
		return fail(answer, ERRCODE_S_R_E_PROHIBITED_SQL_STATEMENT_ATTEMPTED,
					"password is required",
					psprintf(superuser_arg(question->role) ?
							 "The server or the user mapping is not a superuser's own, so the user mapping of role \"%s\" must have a password, and the hub must ask for it." :
							 "Role \"%s\" is not a superuser, so it must have a password in its user mapping, and the hub must ask for it.",
							 GetUserNameFromId(question->role, true)));
	HILO_FAILURE_POINT("hub connected");
	if (!send_and_wait(question,
					   "SELECT pg_catalog.set_config('statement_timeout', $1, false),"
					   " pg_catalog.set_config('default_transaction_isolation', 'read committed', false),"
					   " CASE WHEN pg_catalog.version() OPERATOR(pg_catalog.~) 'linux'"
					   " THEN pg_catalog.set_config('client_connection_check_interval', '500', false) END"
					   " FROM pg_catalog.pg_extension WHERE extname OPERATOR(pg_catalog.=) 'hilo'",
					   1, NULL, &timeout, answer))
		return false;
	if (PQntuples(connection.result) != 1)
		return fail(answer, ERRCODE_UNDEFINED_OBJECT,
					"extension \"hilo\" is not installed on the server",
					"Create it there, and commit that before other servers draw.");
	connection.made_with = MemoryContextStrdup(TopMemoryContext, made_with.data);
	return true;
}

/* The fields of an answer: the columns of hilo.lease(), and the name, which a report has. */
enum AnswerField
{
	ANSWER_LOW,
	ANSWER_HIGH,
	ANSWER_EPOCH,
	ANSWER_RANGE_SIZE,
	ANSWER_MAX_RANGE_SIZE,
	ANSWER_NODE_TAG,
	ANSWER_SEPARATOR,
	ANSWER_LINEAGE,
	ANSWER_TERM,
	ANSWER_TERM_ID,
	ANSWER_REFUSAL,
	ANSWER_HINT,
	ANSWER_WANTS_REPORT,
	ANSWER_NAME,
	ANSWER_FIELDS
};

/*
 * A lease is asked for as one value, since a hub spends twice the time on a statement with
 * a function in FROM.
 */
#define LEASE_QUERY \
	"SELECT hilo.lease($1, $2, $3, $4, $5, $6, $7, $8)"
#define REPORT_QUERY \
	"SELECT NULL, NULL, epoch, range_size, max_range_size, node_tag, separator," \
	" lineage, term, term_id, refusal, hint, wants_report, collection" \
	" FROM hilo.report($1, $2, $3, $4, $5, $6, $7, $8)"

/*
 * Split the text of a record, as record_out() writes it, in place.  An empty field is null.
 * False if it has fewer fields; more may follow, since a later version may add some.
 */
static bool
split_record(char *in, char **fields, int count)
{
	char	   *out = in;

	if (*in++ != '(')
		return false;
	for (int i = 0; i < count; i++)
	{
		bool		quoted = false;

		fields[i] = *in == ',' || *in == ')' ? NULL : out;
		for (; *in != '\0' && (quoted || (*in != ',' && *in != ')')); in++)
		{
			if (*in == '"' && !(quoted && in[1] == '"'))
				quoted = !quoted;
			else
			{
				/* in quotes, these two are doubled */
				if (quoted && (*in == '"' || *in == '\\') && in[1] == *in)
					in++;
				*out++ = *in;
			}
		}
		if (*in != ',' && !(*in == ')' && i == count - 1))
			return false;
		in++;
		*out++ = '\0';
	}
	return true;
}

/* The fields of a row; false if it has others. */
static bool
read_fields(int row, bool is_report, char **fields)
{
	fields[ANSWER_NAME] = NULL;
	if (!is_report)
		return PQnfields(connection.result) == 1 &&
			split_record(pstrdup(PQgetvalue(connection.result, row, 0)), fields, ANSWER_NAME);
	if (PQnfields(connection.result) != ANSWER_FIELDS)
		return false;
	for (int i = 0; i < ANSWER_FIELDS; i++)
		fields[i] = PQgetisnull(connection.result, row, i) ? NULL :
			PQgetvalue(connection.result, row, i);
	return true;
}

/* A number of the answer; null is 0.  False if it is none. */
static bool
read_number(const char *field, int64 *number)
{
	char	   *end;

	*number = 0;
	if (field == NULL)
		return true;
	errno = 0;
	*number = strtoll(field, &end, 10);
	return errno == 0 && *end == '\0';
}

/* A text of the answer, palloc'd; NULL: it is null. */
static char *
read_text(const char *field)
{
	return field == NULL ? NULL : readable(field);
}

/*
 * Read what a row says about a counter and, unless the hub refuses, the numbers.  False if
 * that is not plausible.
 */
static bool
read_item(char **fields, const HiloHubQuestion *question, HiloLeaseAnswer *item)
{
	int64		range_size;
	int64		max_range_size;

	if (!read_number(fields[ANSWER_LINEAGE], &item->term.lineage) ||
		!read_number(fields[ANSWER_TERM], &item->term.number) ||
		!read_number(fields[ANSWER_TERM_ID], &item->term.id))
		return false;

	/* A refusal of one that is no hub says nothing about terms. */
	if (fields[ANSWER_REFUSAL] != NULL && item->term.lineage == 0)
		return true;
	if (item->term.lineage <= 0 || item->term.id <= 0 ||
		item->term.number < 1 || item->term.number > PG_INT64_MAX / 2)
		return false;
	if (fields[ANSWER_REFUSAL] != NULL)
		return true;

	if (!read_number(fields[ANSWER_LOW], &item->range.low) ||
		!read_number(fields[ANSWER_HIGH], &item->range.high) ||
		!read_number(fields[ANSWER_EPOCH], &item->hub_epoch) || item->hub_epoch < 0 ||
		!read_number(fields[ANSWER_RANGE_SIZE], &range_size) ||
		(uint64) range_size > INT_MAX ||
		!read_number(fields[ANSWER_MAX_RANGE_SIZE], &max_range_size) ||
		(uint64) max_range_size > INT_MAX)
		return false;
	item->name = read_text(fields[ANSWER_NAME]);
	item->range_size = (int32) range_size;
	item->max_range_size = (int32) max_range_size;
	item->node_tag = read_text(fields[ANSWER_NODE_TAG]);
	item->separator = read_text(fields[ANSWER_SEPARATOR]);
	if (question->size == 0)
	{
		item->range.low = 0;
		item->range.high = -1;
		return question->name[0] != '\0' || item->name != NULL;
	}
	return item->range.low > question->at_least &&
		item->range.high >= item->range.low &&
		(uint64) item->range.high - (uint64) item->range.low < (uint64) question->size &&
		item->hub_epoch > 0;
}

/* Read the hub's answer; false if it is not plausible. */
static bool
read_answer(const HiloHubQuestion *question, HiloHubAnswer *answer)
{
	int			rows = PQntuples(connection.result);
	bool		is_report = question->name[0] == '\0';

	if (rows < 1 || (rows > 1 && !is_report))
		return false;
	answer->items = palloc0(rows * sizeof(HiloLeaseAnswer));
	for (int i = 0; i < rows; i++)
	{
		char	   *fields[ANSWER_FIELDS];

		if (!read_fields(i, is_report, fields) ||
			!read_item(fields, question, &answer->items[i]))
			return false;
		if (i == 0)
		{
			answer->wants_report = fields[ANSWER_WANTS_REPORT] != NULL &&
				strcmp(fields[ANSWER_WANTS_REPORT], "t") == 0;
			answer->message = read_text(fields[ANSWER_REFUSAL]);
			answer->hint = read_text(fields[ANSWER_HINT]);
		}
		else if (fields[ANSWER_REFUSAL] != NULL)
			return false;
		answer->items[i].term = answer->items[0].term;
	}
	answer->term = answer->items[0].term;
	if (answer->message != NULL)
		answer->sqlstate = ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
	else
		answer->count = rows;
	return true;
}

/*
 * Ask for a lease, or report, through the current connection.  If the types of the
 * arguments were left open, a function of the same name that another role has
 * created in that schema could be called instead.
 */
static bool
ask_connected(const HiloHubQuestion *question, HiloHubAnswer *answer)
{
	const char *lineage = psprintf(INT64_FORMAT, question->term.lineage);
	const char *number = psprintf(INT64_FORMAT, question->term.number);
	const char *id = psprintf(INT64_FORMAT, question->term.id);
	const char *started = psprintf(INT64_FORMAT, question->started);
	const char *const lease_params[] = {
		question->name, psprintf(INT64_FORMAT, question->size),
		psprintf(INT64_FORMAT, question->at_least), lineage, number, id,
		question->member, started
	};
	const char *const report_params[] = {
		question->member, lineage, number, id, question->names,
		question->highest, question->left, started
	};
	static const Oid lease_types[] = {
		TEXTOID, INT8OID, INT8OID, INT8OID, INT8OID, INT8OID, TEXTOID, INT8OID
	};
	static const Oid report_types[] = {
		TEXTOID, INT8OID, INT8OID, INT8OID, TEXTARRAYOID, INT8ARRAYOID, TEXTARRAYOID, INT8OID
	};
	bool		is_report = question->name[0] == '\0';
	const char *encoding = PQparameterStatus(connection.conn, "server_encoding");

	/*
	 * Such a hub takes names as they come: one name may be two in two
	 * encodings.
	 */
	if (encoding != NULL && strcmp(encoding, "SQL_ASCII") == 0 &&
		GetDatabaseEncoding() != PG_SQL_ASCII && !pg_is_ascii(question->name))
		return fail(answer, ERRCODE_FEATURE_NOT_SUPPORTED,
					"its database, in SQL_ASCII, may have that name in another encoding",
					"Use a name in ASCII, or a hub whose database has an encoding.");
	HILO_FAILURE_POINT("hub ready");
	if (!(is_report ?
		  send_and_wait(question, REPORT_QUERY, lengthof(report_params),
						report_types, report_params, answer) :
		  send_and_wait(question, LEASE_QUERY, lengthof(lease_params),
						lease_types, lease_params, answer)))
		return false;
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
		answered = connect_to_hub(question, answer) &&
			ask_connected(question, answer);
	}
	PG_CATCH();
	{
		disconnect();
		PG_RE_THROW();
	}
	PG_END_TRY();

	if (connection.conn != NULL)
		answer->host = connection.host;
	if (!answered || !question->keep)
		disconnect();
}

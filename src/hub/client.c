/*-------------------------------------------------------------------------
 *
 * client.c
 *	  One question to the hub, by libpq.
 *
 * hub_ask() goes through these steps: collect the options of the connection from the foreign
 * server; connect; send two statements in one message; receive their results; read the answer;
 * disconnect.  A deadline holds for all of it together.
 *
 * libpq has a simpler interface, PQconnectdb() and PQexec(), but those block where no request to
 * cancel reaches the session, for as long as the other side likes.  So the steps are taken with
 * libpq's non-blocking functions, and between them this waits for the socket, the latch and
 * the deadline at once.
 *
 * What the hub answers is not trusted.  It may be another program, or a server under another
 * administration: so the length of an answer is limited while it arrives, its fields are checked,
 * and a message is cut and checked for valid characters before it is shown.
 *
 * The steps return false and set a failure instead of raising errors, because for the caller it
 * is no error that a hub is away.  Errors are still raised by a request to cancel and when
 * memory runs out; the connection is then closed on the way out.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/ioctl.h>

#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/builtins.h"
#include "utils/syscache.h"
#include "utils/wait_event.h"

#include "libpq-fe.h"

#include "client.h"

/* The most bytes that an answer may have; an honest one has some hundred. */
#define MAX_ANSWER		65536

/* The most options that a connection may have. */
#define MAX_OPTIONS		64

/* The fields of an answer. */
#define ANSWER_FIELDS	5

/* A question on its way. */
typedef struct HubCall
{
	PGconn	   *connection;
	bool		needs_password; /* to have been asked for */
	instr_time	began;
	int			timeout;		/* milliseconds */
	int64		received;		/* bytes of the answer so far, about */
	HubFailure *failure;
} HubCall;

/*
 * The message is kept in the caller's struct, not palloc'd, because it is copied into shared memory
 * for the view.
 */
bool
hub_fail(HubFailure *failure, int sqlstate, const char *format,...)
{
	va_list		arguments;

	failure->sqlstate = sqlstate;
	va_start(arguments, format);
	vsnprintf(failure->message, sizeof(failure->message), format, arguments);
	va_end(arguments);

	/*
	 * It may hold what another server has sent, and was cut at any byte.
	 * libpq adds lines with advice.
	 */
	failure->message[strcspn(failure->message, "\n")] = '\0';
	failure->message[pg_mbcliplen(failure->message, strlen(failure->message),
								  sizeof(failure->message) - 2)] = '\0';
	if (!pg_verifymbstr(failure->message, strlen(failure->message), true))
		strlcpy(failure->message, "unreadable message", sizeof(failure->message));
	return false;
}

/*
 * Options
 */

/* The options of a connection, ended by NULL. */
typedef struct HubOptions
{
	int			count;
	const char *keywords[MAX_OPTIONS + 1];
	const char *values[MAX_OPTIONS + 1];
} HubOptions;

/* Options beyond the limit are left out; libpq has some forty. */
static void
add_option(HubOptions *options, const char *keyword, const char *value)
{
	if (options->count < MAX_OPTIONS)
	{
		options->keywords[options->count] = keyword;
		options->values[options->count++] = value;
	}
}

/* True if libpq knows the option; the others are those of the foreign-data wrapper. */
static bool
is_of_libpq(const PQconninfoOption *known, const char *keyword)
{
	for (; known->keyword != NULL; known++)
	{
		if (strcmp(known->keyword, keyword) == 0)
			return strchr(known->dispchar, 'D') == NULL;
	}
	return false;
}

/*
 * Collect the options of the server and of its owner's user mapping.  A role that is not a
 * superuser must not connect with what the server process can do, such as trust or a password
 * file: it needs a password of its own, as with postgres_fdw.
 */
static bool
collect_options(const char *name, HubOptions *options, bool *needs_password, HubFailure *failure)
{
	ForeignServer *server = GetForeignServerByName(name, true);
	PQconninfoOption *known;
	const char *password = "";
	List	   *definitions;
	ListCell   *cell;

	if (server == NULL)
		return hub_fail(failure, ERRCODE_UNDEFINED_OBJECT, "server \"%s\" does not exist", name);

	/*
	 * GetUserMapping() would raise an error.  Like it, take the mapping of
	 * the owner, or else that of PUBLIC.
	 */
	if (!SearchSysCacheExists2(USERMAPPINGUSERSERVER, ObjectIdGetDatum(server->owner),
							   ObjectIdGetDatum(server->serverid)) &&
		!SearchSysCacheExists2(USERMAPPINGUSERSERVER, ObjectIdGetDatum(InvalidOid),
							   ObjectIdGetDatum(server->serverid)))
		return hub_fail(failure, ERRCODE_UNDEFINED_OBJECT,
						"server \"%s\" has no user mapping for its owner", name);
	definitions = list_concat_copy(server->options,
								   GetUserMapping(server->owner, server->serverid)->options);
	known = PQconndefaults();
	if (known == NULL)
		return hub_fail(failure, ERRCODE_OUT_OF_MEMORY, "out of memory");
	foreach(cell, definitions)
	{
		DefElem    *definition = lfirst(cell);

		if (!is_of_libpq(known, definition->defname))
			continue;
		add_option(options, definition->defname, defGetString(definition));
		if (strcmp(definition->defname, "password") == 0)
			password = defGetString(definition);
	}
	PQconninfoFree(known);

	/* The encoding comes last, so that one in the options does not count. */
	add_option(options, "fallback_application_name", "hilo");
	add_option(options, "client_encoding", GetDatabaseEncodingName());

	*needs_password = !superuser_arg(server->owner);
	return !*needs_password || password[0] != '\0' ||
		hub_fail(failure, ERRCODE_S_R_E_PROHIBITED_SQL_STATEMENT_ATTEMPTED,
				 "the owner of server \"%s\" is no superuser, and its user mapping has no password", name);
}

/*
 * Connect
 */

/* Notices of the hub do not belong into the log of this server. */
static void
ignore_notice(void *arg, const PGresult *result)
{
}

/*
 * Wait for the socket, until the deadline of the question.  Returns false when that has passed;
 * true also if something else woke this up, so callers ask libpq again whether it can go on.
 */
static bool
wait_for_socket(HubCall *call, int event)
{
	instr_time	now;
	long		left;
	int			happened;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, call->began);
	left = call->timeout - (long) INSTR_TIME_GET_MILLISEC(now);
	if (left <= 0)
		return hub_fail(call->failure, ERRCODE_CONNECTION_FAILURE,
						"the hub did not answer within %d ms", call->timeout);
	happened = WaitLatchOrSocket(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH | event,
								 PQsocket(call->connection), left, PG_WAIT_EXTENSION);
	if (happened & WL_LATCH_SET)
		ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	return true;
}

/*
 * Connect.  With several hosts libpq tries them in turn, and goes on to the next one when one
 * refuses.  One that does not answer at all takes up the rest of the time: the option
 * connect_timeout holds only for libpq's blocking functions.
 *
 * That the hub has asked for the password is known only now: with trust or peer it would have
 * let this server in as the operating system's user that the server runs as.
 */
static bool
connect_to_hub(HubCall *call, const HubOptions *options)
{
	PostgresPollingStatusType status = PGRES_POLLING_WRITING;

	call->connection = PQconnectStartParams(options->keywords, options->values, false);
	if (call->connection == NULL)
		return hub_fail(call->failure, ERRCODE_OUT_OF_MEMORY, "out of memory");
	PQsetNoticeReceiver(call->connection, ignore_notice, NULL);
	while (PQstatus(call->connection) != CONNECTION_BAD && status != PGRES_POLLING_OK &&
		   status != PGRES_POLLING_FAILED)
	{
		if (!wait_for_socket(call, status == PGRES_POLLING_READING ? WL_SOCKET_READABLE :
							 WL_SOCKET_WRITEABLE))
			return false;
		status = PQconnectPoll(call->connection);
	}
	if (PQstatus(call->connection) != CONNECTION_OK)
		return hub_fail(call->failure, ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION,
						"could not connect to the hub: %s",
						pchomp(PQerrorMessage(call->connection)));
	if (call->needs_password && !PQconnectionUsedPassword(call->connection))
		return hub_fail(call->failure, ERRCODE_S_R_E_PROHIBITED_SQL_STATEMENT_ATTEMPTED,
						"the hub did not ask for the password, so its server must belong to a superuser");
	return true;
}

/*
 * Ask
 */

/*
 * Send the question.  Both statements go in one message and so in one transaction of the hub.  The
 * first one makes the hub give the question up when this side does: a lease that is
 * answered too late would only be lost.
 */
static bool
send_question(HubCall *call, const char *name, int64 count, int64 opening, int64 opening_id)
{
	char	   *literal = name == NULL ? NULL :
		PQescapeLiteral(call->connection, name, strlen(name));
	char	   *question =
		psprintf("SET LOCAL statement_timeout = %d;"
			 " SELECT hub, opening, opening_id, low, high"
			 " FROM hilo_hub.lease(%s::text, " INT64_FORMAT "::bigint, " INT64_FORMAT "::bigint, " INT64_FORMAT "::bigint)",
			 call->timeout, literal == NULL ? "NULL" : literal, count, opening, opening_id);

	PQfreemem(literal);
	return PQsendQuery(call->connection, question) ||
		hub_fail(call->failure, ERRCODE_CONNECTION_FAILURE, "could not ask the hub: %s",
				 pchomp(PQerrorMessage(call->connection)));
}

/*
 * Wait until a result is complete, but not for one without an end.  libpq does not tell how much it
 * has received, so what waits in the socket is counted before it is read.
 */
static bool
receive(HubCall *call)
{
	while (PQisBusy(call->connection))
	{
		int			waiting = 0;

		if (!wait_for_socket(call, WL_SOCKET_READABLE))
			return false;
		if (ioctl(PQsocket(call->connection), FIONREAD, &waiting) == 0)
			call->received += waiting;
		if (call->received > MAX_ANSWER)
			return hub_fail(call->failure, ERRCODE_PROTOCOL_VIOLATION,
							"the hub's answer is too long");
		if (!PQconsumeInput(call->connection))
			return hub_fail(call->failure, ERRCODE_CONNECTION_FAILURE, "lost the hub: %s",
							pchomp(PQerrorMessage(call->connection)));
	}
	return true;
}

/* A field of an answer as a number above 0; -1: it is none. */
static int64
field_number(const PGresult *result, int field)
{
	const char *value = PQgetvalue(result, 0, field);
	char	   *end;
	int64		number;

	errno = 0;
	number = strtoi64(value, &end, 10);
	return errno != 0 || *value == '\0' || *end != '\0' || number <= 0 ? -1 : number;
}

/*
 * Read an answer to a question for count numbers; 0: none.  An error of the hub keeps its
 * SQLSTATE, so that "no numbers left" can be told from everything else.
 */
static bool
read_answer(HubCall *call, const PGresult *result, int64 count, HubAnswer *answer)
{
	int64		fields[ANSWER_FIELDS] = {-1, -1, -1, 0, 0};

	if (PQresultStatus(result) != PGRES_TUPLES_OK)
	{
		const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
		const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

		return hub_fail(call->failure, state != NULL && strlen(state) == 5 ?
						MAKE_SQLSTATE(state[0], state[1], state[2], state[3], state[4]) :
						ERRCODE_CONNECTION_FAILURE,
						"the hub says: %s", message != NULL ? message : "nothing");
	}
	if (PQntuples(result) == 1 && PQnfields(result) == ANSWER_FIELDS)
	{
		for (int i = 0; i < (count == 0 ? 3 : ANSWER_FIELDS); i++)
			fields[i] = field_number(result, i);
	}
	*answer = (HubAnswer)
	{
		fields[0], fields[1], fields[2], fields[3], fields[4]
	};
	if (answer->hub > 0 && answer->opening > 0 && answer->opening_id > 0 &&
		(count == 0 || (answer->low > 0 && answer->high >= answer->low &&
						answer->high - answer->low < count)))
		return true;
	return hub_fail(call->failure, ERRCODE_PROTOCOL_VIOLATION, "the hub's answer makes no sense");
}

/*
 * Read the results of all statements; the last one has the answer.  What comes after the answer is
 * not waited for, since the connection is closed.
 */
static bool
receive_answer(HubCall *call, int64 count, HubAnswer *answer)
{
	bool		answered = hub_fail(call->failure, ERRCODE_PROTOCOL_VIOLATION,
									"the hub did not answer");
	PGresult   *result;

	while (receive(call) && (result = PQgetResult(call->connection)) != NULL)
	{
		bool		is_last = PQresultStatus(result) != PGRES_COMMAND_OK;

		answered = is_last && read_answer(call, result, count, answer);
		PQclear(result);
		if (is_last)
			break;
	}
	return answered;
}

/*
 * A connection uses a file descriptor, which the server counts.  It and the connection are given
 * back in any case, also after an error.
 */
bool
hub_ask(const char *server, const char *name, int64 count, int64 opening,
		int64 opening_id, int timeout, HubAnswer *answer, HubFailure *failure)
{
	HubCall		call = {.timeout = timeout,.failure = failure};
	HubOptions	options = {0};
	volatile bool answered = false;

	if (!collect_options(server, &options, &call.needs_password, failure))
		return false;
	if (!AcquireExternalFD())
		return hub_fail(failure, ERRCODE_INSUFFICIENT_RESOURCES, "too many open files");
	INSTR_TIME_SET_CURRENT(call.began);
	PG_TRY();
	{
		answered = connect_to_hub(&call, &options) &&
			send_question(&call, name, count, opening, opening_id) &&
			receive_answer(&call, count, answer);
	}
	PG_FINALLY();
	{
		PQfinish(call.connection);
		ReleaseExternalFD();
	}
	PG_END_TRY();
	return answered;
}

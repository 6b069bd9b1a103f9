/*-------------------------------------------------------------------------
 *
 * member.c
 *	  Leases: asks the hub, accepts its answers, and fetches leases ahead.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "commands/dbcommands.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/failure_point.h"
#include "base/settings.h"
#include "servers/citus.h"
#include "servers/connection.h"
#include "servers/member.h"
#include "shared/pool.h"

/* How often an answer may be out of date when it arrives. */
#define MAX_QUESTIONS	10

/*
 * Time limit for the lease worker: DROP DATABASE waits only 5 s for it to end.
 */
#define WORKER_TIMEOUT_MS	3000

/*
 * How often, and with which pauses, a new worker tries to take the place of
 * another.
 */
#define BEGIN_ATTEMPTS	20
#define BEGIN_PAUSE_MS	10

/* Minimum time between two reports to a hub of what is held here. */
#define REPORT_PAUSE_MS	5000

/* What is known about hubs: rows of hilo.hub */

/* Read what is known about a hub; false, and all zero, if nothing is known. */
static bool
read_hub(const char *name, HiloHubRow *hub)
{
	HiloRowRef	ref;
	HiloRowChange change;

	memset(hub, 0, sizeof(*hub));
	hilo_row_ref_init(&ref, name);
	if (!hilo_row_find(&change, HILO_TABLE_HUBS, &ref, HILO_ROW_READ))
		return false;
	hilo_row_abandon(&change);
	*hub = change.hub;
	return true;
}

/* Write what is known about a hub. */
static void
write_hub(const char *name, int64 system_identifier, int64 timeline,
		  const char *role)
{
	HiloRowRef	ref;
	HiloRowChange change;

	hilo_row_ref_init(&ref, name);
	(void) hilo_row_find(&change, HILO_TABLE_HUBS, &ref, HILO_ROW_CREATE);
	change.hub.system_identifier = system_identifier;
	change.hub.timeline = timeline;
	namestrcpy(&change.hub.role, role);
	hilo_row_flush(hilo_row_finish(&change));
}

void
hilo_hub_merge(const char *name, const HiloHubRow *other)
{
	HiloHubRow	known;

	if (!read_hub(name, &known))
		write_hub(name, other->system_identifier, other->timeline,
				  NameStr(other->role));
	else if (known.system_identifier == other->system_identifier &&
			 known.timeline < other->timeline)
		write_hub(name, known.system_identifier, other->timeline,
				  NameStr(known.role));
}

/*
 * Which hub
 */

static bool
is_coordinator(const char *hub)
{
	return strcmp(hub, HILO_CITUS_COORDINATOR) == 0;
}

/* The hub as messages name it. */
static const char *
hub_text(const char *hub)
{
	return is_coordinator(hub) ? "the Citus coordinator" :
		psprintf("server \"%s\"", hub);
}

void
hilo_lease_check_hub(const HiloRowRef *ref, const HiloRow *row)
{
	const char *hub = NameStr(row->hub);

	if (hub[0] == '\0')
		return;
	if (hilo_hub[0] != '\0' && strcmp(hub, hilo_hub) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("\"%s\" is leased from %s, but the setting \"hilo.hub\" names server \"%s\"",
						ref->name, hub_text(hub), hilo_hub),
				 errdetail("Its row, not the setting, determines where its numbers come from."),
				 errhint("Reset \"hilo.hub\", or lease from the other server with hilo.lease_from().")));
	if (is_coordinator(hub) && !hilo_citus_is_worker())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("\"%s\" is leased from the Citus coordinator, but this node is not a Citus worker",
						ref->name),
				 errhint("Lease it from a server with hilo.lease_from(), or call that with a null server and then force a seed, to count here.")));
}

void
hilo_lease_prevent_on_worker(HiloRowRef *ref, const char *function)
{
	HiloCitusConnection connection;
	HiloRow		row;
	bool		is_known;

	if (!hilo_pool_exists() || !hilo_citus_is_worker() || hilo_hub[0] != '\0')
		return;
	(void) hilo_counter_read(ref, &row);
	if ((row.flags & HILO_ROW_LEASED) ? !is_coordinator(NameStr(row.hub)) :
		!hilo_counter_is_for_hub(ref, &row, hilo_leasing()))
		return;
	is_known = hilo_citus_find_coordinator(GetUserNameFromId(hilo_catalog_tables_owner(), false),
										   &connection);
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg(HILO_COUNTER_FORMAT " is counted by the Citus coordinator",
					HILO_COUNTER_ARGS(ref->name)),
			 errdetail("Here, the change would apply to this worker only."),
			 is_known ?
			 errhint("Call %s() on the coordinator, %s:%s.", function,
					 connection.host, connection.port) :
			 errhint("Call %s() on the coordinator.", function)));
}

/* The hub to ask for numbers of a counter whose row was read; empty: none. */
static NameData
hub_to_ask(const HiloRowRef *ref, const HiloRow *row)
{
	NameData	hub = {0};

	if (row->flags & HILO_ROW_LEASED)
		hub = row->hub;
	else if (hilo_counter_is_for_hub(ref, row, hilo_leasing()))
		namestrcpy(&hub, hilo_hub[0] != '\0' ? hilo_hub :
				   HILO_CITUS_COORDINATOR);
	return hub;
}

/*
 * Errors
 */

static void
report_failure(const char *name, const char *hub, int sqlstate,
			   TimestampTz since, const char *message, const char *hint)
{
	if (hint == NULL && strcmp(hub, hilo_hub) == 0)
		hint = "The setting \"hilo.hub\" names that server.";
	ereport(ERROR,
			(errcode(sqlstate),
			 errmsg("could not lease numbers of \"%s\" from %s",
					name, hub_text(hub)),
			 since == DT_NOBEGIN ? errdetail("The error was: %s", message) :
			 errdetail("It has given no lease since %s: %s",
					   timestamptz_to_str(since), message),
			 hint == NULL ? 0 : errhint("%s", hint)));
}

static void
report_no_hub(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("\"%s\" has used up its leases and no longer has a hub",
					name),
			 errhint("Lease it again with hilo.lease_from(), or force a seed above all numbers that other servers draw, to count here.")));
}

static void
report_limit(const char *name, int64 limit)
{
	ereport(ERROR,
			(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
			 errmsg("\"%s\" does not have enough numbers left",
					name),
			 errdetail("The limit is " INT64_FORMAT ".", limit)));
}

static void
check_pool(const char *name)
{
	if (!hilo_pool_exists())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot lease numbers of \"%s\" without a pool",
						name),
				 errhint("Add hilo to shared_preload_libraries, keep hilo.pool_size above 0, and restart the server.")));
}

/*
 * Ask
 */

/* Make the answer an error that was detected here. */
static void
put_error(HiloHubAnswer *answer, int sqlstate, char *message)
{
	answer->sqlstate = sqlstate;
	answer->message = message;
	answer->hint = NULL;
}

/* A value, quoted for a connection string. */
static const char *
quoted(const char *value)
{
	StringInfoData result;

	initStringInfo(&result);
	appendStringInfoChar(&result, '\'');
	for (; *value != '\0'; value++)
	{
		if (*value == '\'' || *value == '\\')
			appendStringInfoChar(&result, '\\');
		appendStringInfoChar(&result, *value);
	}
	appendStringInfoChar(&result, '\'');
	return result.data;
}

/*
 * How a role connects to the Citus coordinator; NULL: not possible, and the
 * answer is an error.
 */
static const char *const *
coordinator_conninfo(Oid role, HiloHubAnswer *answer)
{
	const char **conninfo = palloc0(5 * sizeof(char *));
	const char *user = GetUserNameFromId(role, false);
	HiloCitusConnection connection;

	if (!hilo_citus_find_coordinator(user, &connection))
	{
		put_error(answer, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
				  "the coordinator is not in pg_dist_node");
		answer->hint = "Use SELECT citus_set_coordinator_host('<hostname>') on coordinator to configure the coordinator hostname";
		return NULL;
	}
	conninfo[0] = connection.common;
	conninfo[1] = psprintf("host=%s port=%s dbname=%s user=%s",
						   quoted(connection.host), quoted(connection.port),
						   quoted(get_database_name(MyDatabaseId)),
						   quoted(user));
	conninfo[2] = connection.pool;
	conninfo[3] = connection.authentication;
	return conninfo;
}

/* Make the answer an error if the server is not the hub known by that name. */
static void
check_hub(const HiloHubRow *known, HiloHubAnswer *answer)
{
	if (answer->sqlstate != 0 || known->system_identifier == 0)
		return;
	if (answer->system_identifier != known->system_identifier)
		put_error(answer, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
				  psprintf("it is another server, with system identifier " UINT64_FORMAT ", not " UINT64_FORMAT "; hilo.lease_from() accepts it",
						   (uint64) answer->system_identifier,
						   (uint64) known->system_identifier));
	else if (answer->timeline < known->timeline)
		put_error(answer, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
				  psprintf("it is on timeline " INT64_FORMAT ", but timeline " INT64_FORMAT " was seen before",
						   answer->timeline, known->timeline));
}

/*
 * Check an answer against what is known about the hub by now, because another
 * session may have had an answer in the meantime, and note what is new.
 */
static void
hear_hub(const char *name, HiloHubAnswer *answer)
{
	HiloRowRef	ref;
	HiloRowChange change;
	HiloHubRow	known;

	hilo_row_ref_init(&ref, name);
	(void) hilo_row_find(&change, HILO_TABLE_HUBS, &ref, HILO_ROW_CREATE);
	known = change.hub;
	if (change.created || known.system_identifier == 0 ||
		(known.system_identifier == answer->system_identifier &&
		 known.timeline < answer->timeline))
	{
		change.hub.system_identifier = answer->system_identifier;
		change.hub.timeline = answer->timeline;
		hilo_row_flush(hilo_row_finish(&change));
		return;
	}
	hilo_row_abandon(&change);
	check_hub(&known, answer);
}

/*
 * The name by which hubs know this member.  Copies of one server differ in
 * their cluster_name, or in their group of a Citus cluster.
 */
static const char *
member_name(void)
{
	int			group = hilo_citus_group();
	char	   *name = psprintf("%s%s%s/" UINT64_FORMAT "%s",
								get_database_name(MyDatabaseId),
								cluster_name[0] == '\0' ? "" : "/",
								cluster_name, GetSystemIdentifier(),
								group <= 0 ? "" : psprintf("/%d", group));

	for (char *c = name; *c != '\0'; c++)
	{
		if (*c == '|' || (unsigned char) *c < ' ')
			*c = '_';
	}
	return name;
}

/* Note which of several hosts to ask first next time. */
static void
note_host(const char *hub, int64 host)
{
	HiloRowRef	ref;
	HiloRowChange change;

	hilo_row_ref_init(&ref, hub);
	if (!hilo_row_find(&change, HILO_TABLE_HUBS, &ref, HILO_ROW_CHANGE))
		return;
	if (change.hub.host == host)
	{
		hilo_row_abandon(&change);
		return;
	}
	change.hub.host = host;
	(void) hilo_row_finish(&change);
}

/*
 * Ask a hub, about which this is known, for size numbers above at_least; with
 * size 0, for none. keep: another question follows.
 */
static void
ask_hub(const char *server, const HiloHubRow *known, Oid role, const char *name,
		int64 size, int64 at_least, bool keep, HiloHubAnswer *answer)
{
	static HiloHubAsk ask = NULL;
	HiloHubQuestion question = {
		.server = server,.role = role,
		.name = name,
		.size = size,.at_least = at_least,
		.known_system = known->system_identifier,
		.known_timeline = known->timeline,
		.member = member_name(),
		.host = known->host,
		.timeout = MyBgworkerEntry == NULL ? hilo_lease_timeout :
		Min(hilo_lease_timeout, WORKER_TIMEOUT_MS),
		.keep = keep || MyBgworkerEntry != NULL ||
		(hilo_is_identity(name) && size == 1)
	};

	memset(answer, 0, sizeof(*answer));
	if (!OidIsValid(role))
	{
		put_error(answer, ERRCODE_UNDEFINED_OBJECT,
				  psprintf("role \"%s\", whose user mapping is used, does not exist",
						   NameStr(known->role)));
		return;
	}
	if (is_coordinator(server))
	{
		question.conninfo = coordinator_conninfo(role, answer);
		if (question.conninfo == NULL)
			return;
	}
	if (ask == NULL)
		ask = (HiloHubAsk) load_external_function(HILO_HUB_LIBRARY,
												  HILO_HUB_FUNCTION, true,
												  NULL);
	ask(&question, answer);
	if (answer->host >= 0 && answer->host != known->host)
		note_host(server, answer->host);
}

/* The role whose user mapping is used. */
static Oid
role_of(const char *hub, const HiloHubRow *known)
{
	/*
	 * As Citus does between its nodes; the role's rights there do not matter.
	 */
	if (is_coordinator(hub))
		return hilo_catalog_tables_owner();
	return NameStr(known->role)[0] == '\0' ? hilo_catalog_owner() :
		get_role_oid(NameStr(known->role), true);
}

/* What a lease is needed for. */
typedef struct Need
{
	int64		least;			/* at least so many consecutive numbers, */
	int64		more;			/* preferably so many more, for sessions that
								 * wait */
	int64		above;			/* all above this number */
} Need;

/* How many numbers the next lease should have. */
static int64
lease_size(const char *name, const HiloRow *row, const HiloPoolLease *state,
		   const Need *need)
{
	int64		min = row->lease_size > 0 ? row->lease_size :
		hilo_min_lease_size;
	int64		age = state->leased_at == DT_NOBEGIN ? 0 :
		GetCurrentTimestamp() - state->leased_at;

	/*
	 * Numbers of identities come in order: lease no more than will be drawn
	 * now.
	 */
	if (hilo_is_identity(name))
		return Max(need->least + need->more,
				   Max(row->range_size, row->lease_size));

	/*
	 * The last answer did not arrive, though the hub may have given a lease.
	 * This one may not arrive, either.
	 */
	if (state->sqlstate == ERRCODE_CONNECTION_FAILURE)
		return need->least + need->more;
	return Max(need->least,
			   hilo_range_size(state->last_size, age,
							   hilo_lease_duration * INT64CONST(1000),
							   min, Max(min, hilo_max_lease_size)));
}

/*
 * Ask a hub for size numbers above a number, for a counter whose row was read.
 * *lease is the answer to be accepted, unless that is an error.
 */
static void
question_hub(HiloRowRef *ref, const HiloRow *row, NameData hub, int64 size,
			 int64 above, bool keep, HiloHubAnswer *answer,
			 HiloLeaseAnswer *lease)
{
	const char *name = NameStr(hub);
	HiloHubRow	known;

	(void) read_hub(name, &known);
	ask_hub(name, &known, role_of(name, &known), ref->name, size, above, keep,
			answer);
	if (answer->sqlstate == 0 && !hilo_is_node_tag(NameStr(answer->node_tag),
												   strlen(NameStr(answer->node_tag))))
		put_error(answer, ERRCODE_PROTOCOL_VIOLATION,
				  "it has answered with an invalid node tag");
	if (answer->sqlstate != 0)
		return;
	HILO_FAILURE_POINT("lease got");
	hear_hub(name, answer);

	memset(lease, 0, sizeof(*lease));
	lease->asked_epoch = row->epoch;
	lease->asked_hub = hub;
	lease->is_first = (row->flags & HILO_ROW_LEASED) == 0;
	lease->range.low = answer->low;
	lease->range.high = answer->high;
	lease->hub_epoch = answer->epoch;
	lease->range_size = answer->range_size;
	lease->max_range_size = answer->max_range_size;
	lease->has_tag = answer->has_tag;
	lease->node_tag = answer->node_tag;
}

/*
 * Ask for size numbers above a number, and put the lease into the pool.  This
 * session has the turn.  Returns the count of numbers received; 0: ask again,
 * or see answer->sqlstate.
 */
static int64
ask_once(HiloRowRef *ref, const HiloRow *row, NameData hub, int64 size,
		 int64 above, HiloHubAnswer *answer)
{
	HiloLeaseAnswer lease;
	HiloClaim	piece;

	question_hub(ref, row, hub, size, Max(above, row->max), false, answer,
				 &lease);
	if (answer->sqlstate != 0)
		return 0;
	if (!hilo_counter_take_in(ref, &lease, &piece) ||
		piece.range.low > piece.range.high)
		return 0;
	HILO_FAILURE_POINT("lease taken in");
	if (piece.epoch != row->epoch)
		hilo_pool_forget(ref->name);
	(void) hilo_pool_put(ref->name, &piece, true);
	HILO_KILL_POINT("pooled");
	return hilo_range_count(&piece.range);
}

/*
 * The same, repeated until numbers were received or *answer is an error; 0
 * without an error: the row is no longer leased.
 */
static int64
ask_for_lease(HiloRowRef *ref, const HiloPoolLease *state, const Need *need,
			  HiloHubAnswer *answer)
{
	memset(answer, 0, sizeof(*answer));
	for (int i = 0; i < MAX_QUESTIONS; i++)
	{
		HiloRow		row;
		NameData	hub;
		int64		size;

		(void) hilo_counter_read(ref, &row);
		hub = hub_to_ask(ref, &row);
		if (NameStr(hub)[0] == '\0')
			return 0;
		if (Max(need->above, row.max) >= row.max_value)
			report_limit(ref->name, row.max_value);
		size = ask_once(ref, &row, hub,
						lease_size(ref->name, &row, state, need), need->above,
						answer);
		if (answer->sqlstate != 0 || size >= need->least)
			return size;

		/*
		 * An id given by hand in the meantime may have cut off a part of the
		 * lease.
		 */
		if (size > 0 && answer->high - answer->low + 1 < need->least)
			return size;
		CHECK_FOR_INTERRUPTS();
	}
	return 0;
}

/* Error cleanup: end the turn without a result. */
static void
give_up_turn(int code, Datum arg)
{
	hilo_pool_end_asking(((HiloRowRef *) DatumGetPointer(arg))->name, 0, 0,
						 NULL, NULL);
}

/*
 * Use the turn to ask for what is needed.  Returns the count of numbers
 * received.
 */
static int64
use_turn(HiloRowRef *ref, const HiloPoolLease *state, const Need *need,
		 HiloHubAnswer *answer)
{
	int64		size;

	PG_ENSURE_ERROR_CLEANUP(give_up_turn, PointerGetDatum(ref));
	{
		HILO_FAILURE_POINT("asking");
		size = ask_for_lease(ref, state, need, answer);
	}
	PG_END_ENSURE_ERROR_CLEANUP(give_up_turn, PointerGetDatum(ref));

	/* Do not ask the hub for more at once: that would waste another lease. */
	if (size > 0 && size < need->least)
		put_error(answer, ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED,
				  psprintf("it was asked for " INT64_FORMAT " consecutive numbers, and gave " INT64_FORMAT,
						   need->least, size));
	hilo_pool_end_asking(ref->name, answer->sqlstate == 0 ? size : 0,
						 answer->sqlstate, answer->message, answer->hint);
	return size;
}

/*
 * Report
 */

static bool
is_leased_from(const HiloRow *row, const NameData *hub)
{
	return (row->flags & HILO_ROW_LEASED) &&
		strcmp(NameStr(row->hub), NameStr(*hub)) == 0;
}

/* The counters leased from a hub, as a list of HiloNamedRow *. */
static List *
leased_from(const NameData *hub)
{
	List	   *leased = NIL;
	ListCell   *lc;

	foreach(lc, hilo_row_list())
	{
		HiloNamedRow *named = lfirst(lc);

		if (is_leased_from(&named->row, hub))
			leased = lappend(leased, named);
	}
	return leased;
}

/*
 * Report to the hub of a leased counter, whose row was read, what is held here,
 * and apply what has happened to the counter there.  False: do so again, or see
 * answer->sqlstate.
 */
static bool
hear_once(HiloRowRef *ref, const HiloRow *row, bool keep,
		  HiloHubAnswer *answer)
{
	HiloLeaseAnswer lease;
	bool		worthless;

	question_hub(ref, row, row->hub, 0, row->max, keep, answer, &lease);
	if (answer->sqlstate != 0 || !hilo_counter_hear(ref, &lease, &worthless))
		return false;
	if (worthless)
		hilo_pool_forget(ref->name);

	/* It gives leases, so what it said when it gave none is over. */
	hilo_pool_forget_failure(ref->name);
	return true;
}

/* True if the hub was reached, even if it gives no leases. */
static bool
has_heard(const HiloHubAnswer *answer)
{
	return answer->sqlstate == 0 ||
		answer->sqlstate == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
}

/*
 * Report to a hub what is held here of each counter leased from it.  Returns
 * the number of counters reported, and the last answer.
 */
static int64
report_to(const NameData *hub, HiloHubAnswer *answer)
{
	List	   *leased = leased_from(hub);
	ListCell   *lc;
	int64		count = 0;

	memset(answer, 0, sizeof(*answer));
	foreach(lc, leased)
	{
		HiloNamedRow *named = lfirst(lc);
		HiloRowRef	ref;
		HiloRow		row;

		/* It may have changed since the list was made. */
		hilo_row_ref_init(&ref, named->name);
		if (hilo_counter_read(&ref, &row) && is_leased_from(&row, hub))
			(void) hear_once(&ref, &row, lnext(leased, lc) != NULL, answer);
		if (!has_heard(answer))
			break;
		count++;
	}
	return count;
}

/*
 * A hub has refused; it may be waiting for its members' reports.  Report,
 * unless that was done a moment ago.  Does not raise the hub's errors.
 */
static void
report_if_due(const NameData *hub)
{
	TimestampTz now = GetCurrentTimestamp();
	HiloRowRef	ref;
	HiloRowChange change;
	HiloHubAnswer answer;

	hilo_row_ref_init(&ref, NameStr(*hub));
	if (!hilo_row_find(&change, HILO_TABLE_HUBS, &ref, HILO_ROW_CHANGE))
		return;
	if (change.hub.reported_at <= now &&
		!TimestampDifferenceExceeds(change.hub.reported_at, now,
									REPORT_PAUSE_MS))
	{
		hilo_row_abandon(&change);
		return;
	}
	change.hub.reported_at = now;
	(void) hilo_row_finish(&change);
	(void) report_to(hub, &answer);
}

int64
hilo_lease_report_all(void)
{
	List	   *hubs = NIL;
	ListCell   *lc;
	int64		count = 0;

	foreach(lc, hilo_row_list())
	{
		const HiloRow *row = &((HiloNamedRow *) lfirst(lc))->row;
		HiloHubAnswer answer;
		void	   *hub = makeString(pstrdup(NameStr(row->hub)));

		if (!(row->flags & HILO_ROW_LEASED) || strVal(hub)[0] == '\0' ||
			list_member(hubs, hub))
			continue;
		hubs = lappend(hubs, hub);
		count += report_to(&row->hub, &answer);
		if (!has_heard(&answer))
			ereport(WARNING,
					(errcode(answer.sqlstate),
					 errmsg("could not report to %s what is held here: %s",
							hub_text(strVal(hub)), answer.message)));
	}
	return count;
}

/*
 * Fetch
 */

void
hilo_lease_fetch(HiloRowRef *ref, const HiloRow *row,
				 const HiloRangeRequest *request)
{
	const char *name = ref->name;
	Need		need = {.least = request->exact ? request->size : 1,
	.above = request->above};
	NameData	hub = hub_to_ask(ref, row);
	HiloPoolLease state;
	HiloHubAnswer answer;
	int			waiting;

	if (row->flags & HILO_ROW_LEASED)
		hilo_lease_check_hub(ref, row);
	else
		hilo_counter_check_may_create(ref);
	if (NameStr(hub)[0] == '\0')
		report_no_hub(name);
	check_pool(name);

	switch (hilo_pool_wait_to_ask(name, true, &waiting, &state))
	{
		case HILO_POOL_ASKED:
			return;
		case HILO_POOL_FAILED:
			report_failure(name, NameStr(hub), state.sqlstate,
						   state.failing_since, state.error,
						   state.hint[0] != '\0' ? state.hint : NULL);
		case HILO_POOL_ASK:
			break;
	}

	/* Numbers that arrived before this session's turn are sufficient. */
	if (state.left > 0 && need.least == 1 && need.above == 0)
	{
		hilo_pool_end_asking(name, 0, 0, NULL, NULL);
		return;
	}

	/*
	 * So many more numbers contain an aligned block, wherever the lease
	 * starts.
	 */
	if (request->alignment > 1)
		need.least += request->alignment - 1;
	need.more = waiting;
	(void) use_turn(ref, &state, &need, &answer);
	if (answer.sqlstate == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE)
		report_if_due(&hub);
	if (answer.sqlstate != 0)
		report_failure(name, NameStr(hub), answer.sqlstate,
					   state.failing_since, answer.message, answer.hint);
}

bool
hilo_lease_hear(HiloRowRef *ref)
{
	for (int i = 0; i < MAX_QUESTIONS; i++)
	{
		HiloRow		row;
		HiloHubAnswer answer;

		if (!hilo_counter_read(ref, &row) || !(row.flags & HILO_ROW_LEASED) ||
			NameStr(row.hub)[0] == '\0')
			return false;
		if (hear_once(ref, &row, false, &answer))
			return true;
		if (answer.sqlstate != 0)
			report_failure(ref->name, NameStr(row.hub), answer.sqlstate,
						   DT_NOBEGIN, answer.message, answer.hint);
	}
	return true;
}

/*
 * The lease worker
 */

void
hilo_lease_fetch_ahead(void)
{
	BackgroundWorker worker = {0};

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS |
		BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	worker.bgw_main_arg = ObjectIdGetDatum(MyDatabaseId);
	snprintf(worker.bgw_name, BGW_MAXLEN, "hilo lease worker");
	snprintf(worker.bgw_type, BGW_MAXLEN, "hilo lease worker");
	snprintf(worker.bgw_library_name, BGW_MAXLEN, "hilo");
	snprintf(worker.bgw_function_name, BGW_MAXLEN, "hilo_lease_worker");
	(void) RegisterDynamicBackgroundWorker(&worker, NULL);
}

/* A hub that cannot be reached, and its error. */
typedef struct LostHub
{
	NameData	hub;
	HiloHubAnswer answer;
} LostHub;

/* The entry of that hub; NULL: none. */
static const LostHub *
find_lost(const List *lost, const NameData *hub)
{
	ListCell   *lc;

	foreach(lc, lost)
	{
		const LostHub *it = lfirst(lc);

		if (strcmp(NameStr(it->hub), NameStr(*hub)) == 0)
			return it;
	}
	return NULL;
}

/*
 * Fetch the next lease of a collection, unless its hub cannot be reached.
 * Returns whether numbers were received.  Errors of the hub are logged; if it
 * cannot be reached, it is added to *lost.
 */
static bool
fetch_one(const char *name, List **lost)
{
	HiloRowRef	ref;
	HiloRow		row;
	HiloPoolLease state;
	HiloHubAnswer answer;
	const LostHub *known;
	Need		need = {.least = 1};
	int			waiting;
	bool		got = false;

	hilo_row_ref_init(&ref, name);
	if (!hilo_counter_read(&ref, &row) || !(row.flags & HILO_ROW_LEASED) ||
		NameStr(row.hub)[0] == '\0' || row.max >= row.max_value ||
		hilo_pool_wait_to_ask(name, false, &waiting, &state) != HILO_POOL_ASK)
		return false;

	known = find_lost(*lost, &row.hub);
	if (known != NULL)
	{
		answer = known->answer;
		hilo_pool_end_asking(name, 0, answer.sqlstate, answer.message,
							 answer.hint);
	}
	else
		got = use_turn(&ref, &state, &need, &answer) > 0;

	if (answer.sqlstate == 0)
		return got;
	if (answer.sqlstate == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE)
		report_if_due(&row.hub);
	ereport(LOG,
			(errcode(answer.sqlstate),
			 errmsg("could not lease numbers of \"%s\" from %s ahead: %s",
					name, hub_text(NameStr(row.hub)),
					answer.message)));
	if (known == NULL &&
		ERRCODE_TO_CATEGORY(answer.sqlstate) == ERRCODE_CONNECTION_EXCEPTION)
	{
		LostHub    *it = palloc(sizeof(LostHub));

		it->hub = row.hub;
		it->answer = answer;
		*lost = lappend(*lost, it);
	}
	return got;
}

/*
 * Become the lease worker of the database.  An existing worker may be about to
 * end, and may not see what this one was started for.
 */
static bool
begin_worker(void)
{
	for (int i = 0; i < BEGIN_ATTEMPTS; i++)
	{
		if (hilo_begin_task(HILO_FETCH_LEASES))
			return true;
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 BEGIN_PAUSE_MS, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	return false;
}

/* Exit callback. */
static void
end_worker(int code, Datum arg)
{
	hilo_end_task(HILO_FETCH_LEASES);
}

/*
 * Fetch leases that run low, once or more per collection, and end: a worker
 * that stays would block DROP DATABASE. One worker serves the whole database,
 * because a collection's name does not fit into a worker's argument.
 */
void
hilo_lease_worker(Datum database)
{
	MemoryContext context;
	List	   *lost = NIL;
	bool		got = true;

	/*
	 * The default handler would end it at once, even in the middle of a
	 * change.
	 */
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(DatumGetObjectId(database),
											  InvalidOid, 0);
	if (!hilo_pool_exists() || !begin_worker())
		return;
	before_shmem_exit(end_worker, (Datum) 0);
	SetConfigOption("lock_timeout", psprintf("%dms", Min(hilo_lease_timeout, WORKER_TIMEOUT_MS)),
					PGC_SUSET, PGC_S_OVERRIDE);
	context = AllocSetContextCreate(TopMemoryContext, "hilo lease worker",
									ALLOCSET_DEFAULT_SIZES);
	pgstat_report_activity(STATE_RUNNING, "fetching leases of hilo");

	while (got)
	{
		List	   *names;
		ListCell   *lc;

		got = false;
		MemoryContextSwitchTo(context);
		names = hilo_pool_low();
		foreach(lc, names)
		{
			SetCurrentStatementStartTimestamp();
			StartTransactionCommand();
			MemoryContextSwitchTo(context);
			if (fetch_one(lfirst(lc), &lost))
				got = true;
			CommitTransactionCommand();
		}
	}
}

/*
 * Begin and end
 */

void
hilo_lease_begin(HiloRowRef *ref, const char *server, Oid role, int32 size)
{
	const char *hub = server;
	HiloHubRow	known;
	HiloHubRow	nothing = {0};
	HiloHubAnswer answer;

	if (strlen(hub) >= NAMEDATALEN || hub[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("server \"%s\" does not exist", server)));
	if (is_coordinator(server))
		role = hilo_catalog_tables_owner();
	else if (strchr(server, '|') != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_RESERVED_NAME),
				 errmsg("server \"%s\" cannot be a hub", server),
				 errdetail("Names that contain \"|\" are reserved.")));
	else
		(void) get_foreign_server_oid(server, false);
	check_pool(ref->name);

	/* The server's name may have belonged to another server before. */
	(void) read_hub(hub, &known);
	ask_hub(server, &nothing, role, ref->name, 0, 0, false, &answer);
	if (answer.system_identifier == known.system_identifier)
		check_hub(&known, &answer);
	if (answer.sqlstate != 0)
		report_failure(ref->name, server, answer.sqlstate, DT_NOBEGIN,
					   answer.message, answer.hint);

	write_hub(hub, answer.system_identifier, answer.timeline,
			  is_coordinator(server) ? "" : GetUserNameFromId(role, false));
	HILO_FAILURE_POINT("hub known");
	if (hilo_counter_set_hub(ref, server, size))
		hilo_pool_forget(ref->name);
	hilo_pool_forget_failure(ref->name);
}

void
hilo_lease_end(HiloRowRef *ref)
{
	HiloRow		row;

	if (!hilo_counter_read(ref, &row) || !(row.flags & HILO_ROW_LEASED))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("\"%s\" is not leased", ref->name)));
	(void) hilo_counter_set_hub(ref, "", 0);
}

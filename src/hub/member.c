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
#include "catalog/pg_type.h"
#include "commands/dbcommands.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "hub/connection.h"
#include "hub/coordinator.h"
#include "hub/core.h"
#include "hub/hub.h"
#include "hub/leased.h"
#include "hub/member.h"
#include "hub/turn.h"

/* How often an answer may be out of date when it arrives. */
#define MAX_QUESTIONS	10

/*
 * Time limit for the lease worker: DROP DATABASE waits only 5 s for it to end.
 */
#define WORKER_TIMEOUT_MS	3000

/* How often a report is sent again because a later term was heard of. */
#define MAX_REPORTS	3

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
				 errmsg(HILO_NAME_FORMAT " is leased from %s, but the setting \"hilo.hub\" names server \"%s\"",
						HILO_NAME_ARGS(ref->name), hub_text(hub), hilo_hub),
				 errdetail("Its row, not the setting, determines where its numbers come from."),
				 errhint("Reset \"hilo.hub\", or lease from the other server with hilo.lease_from().")));
	if (is_coordinator(hub) && !hilo_node_is_worker())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg(HILO_NAME_FORMAT " is leased from the Citus coordinator, but this node is not a Citus worker",
						HILO_NAME_ARGS(ref->name)),
				 errhint("Lease it from a server with hilo.lease_from(), or call that with a null server and then force a seed, to count here.")));
}

void
hilo_lease_prevent_on_worker(HiloRowRef *ref, const char *function)
{
	HiloCitusConnection connection;
	HiloRow		row;
	bool		is_known;

	(void) hilo_counter_read(ref, &row);
	if ((row.flags & HILO_ROW_LEASED) ? !is_coordinator(NameStr(row.hub)) :
		!hilo_counter_is_for_hub(ref, &row, hilo_leasing()))
		return;
	is_known = hilo_find_coordinator(GetUserNameFromId(hilo_catalog_functions_owner(), false),
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
static const char *
hub_to_ask(const HiloRowRef *ref, const HiloRow *row)
{
	if (row->flags & HILO_ROW_LEASED)
		return NameStr(row->hub);
	if (!hilo_counter_is_for_hub(ref, row, hilo_leasing()))
		return "";
	return hilo_hub[0] != '\0' ? hilo_hub : HILO_CITUS_COORDINATOR;
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
			 errmsg("could not lease numbers of " HILO_NAME_FORMAT " from %s",
					HILO_NAME_ARGS(name), hub_text(hub)),
			 since == DT_NOBEGIN ? errdetail("The error was: %s", message) :
			 errdetail("It has given no lease since %s: %s",
					   timestamptz_to_str(since), message),
			 hint == NULL ? 0 : errhint("%s", hint)));
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

/*
 * The name by which hubs know this member.  Copies of one server differ in
 * their cluster_name, or in their group of a Citus cluster; copies of its database
 * in their number.
 */
const char *
hilo_member_name(bool create)
{
	int64		number = hilo_leased_member_number(create);
	int			group = hilo_node_group();
	char	   *name = psprintf("%s%s" INT64_FORMAT "%s", cluster_name,
								cluster_name[0] == '\0' ? "" : "/",
								number,
								group <= 0 ? "" : psprintf("/%d", group));

	if (number == 0)
		return NULL;
	for (char *c = name; *c != '\0'; c++)
	{
		if (*c == '|' || (unsigned char) *c < ' ')
			*c = '_';
	}
	return name;
}

/*
 * Complete the question, and ask it of the hub.  If it names no role, the recorded
 * one is used.
 */
static void
ask_hub(HiloHubQuestion *question, HiloHubAnswer *answer)
{
	static HiloHubAsk ask = NULL;
	HiloCitusConnection coordinator;
	TimestampTz began;

	memset(answer, 0, sizeof(*answer));
	answer->host = -1;
	if (is_coordinator(question->server))
	{
		/* As Citus does between its nodes; the role's rights do not matter. */
		question->role = hilo_catalog_functions_owner();
		question->coordinator = &coordinator;
		if (!hilo_find_coordinator(GetUserNameFromId(question->role, false),
								   &coordinator))
		{
			put_error(answer, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
					  "the coordinator is not in pg_dist_node");
			answer->hint = "Use SELECT citus_set_coordinator_host('<hostname>') on coordinator to configure the coordinator hostname";
			return;
		}
	}
	else if (!OidIsValid(question->role))
	{
		const char *name = hilo_hub_role(question->server);

		question->by_setting = name == NULL &&
			strcmp(question->server, hilo_hub) == 0;
		question->role = name != NULL ? get_role_oid(name, true) :
			question->by_setting ? hilo_catalog_owner() : InvalidOid;
		if (!OidIsValid(question->role))
		{
			put_error(answer, ERRCODE_UNDEFINED_OBJECT, name == NULL ?
					  "no role is known whose user mapping would be used; call hilo.lease_from() again" :
					  psprintf("role \"%s\", whose user mapping is used, does not exist; call hilo.lease_from() again",
							   name));
			return;
		}
	}
	question->member = hilo_member_name(true);
	question->started = PgStartTime;
	question->timeout = MyBgworkerEntry == NULL ? hilo_lease_timeout :
		Min(hilo_lease_timeout, WORKER_TIMEOUT_MS);
	question->keep = MyBgworkerEntry != NULL ||
		(hilo_is_identity(question->name) && question->size == 1);
	if (ask == NULL)
		ask = (HiloHubAsk) load_external_function(HILO_CONNECTION_LIBRARY,
												  HILO_CONNECTION_FUNCTION, true,
												  NULL);
	began = GetCurrentTimestamp();
	ask(question, answer);
	answer->hurried = answer->sqlstate != 0 && question->timeout < hilo_lease_timeout &&
		TimestampDifferenceExceeds(began, GetCurrentTimestamp(), question->timeout / 2);
	for (int i = 0; answer->sqlstate == 0 && i < answer->count; i++)
	{
		const char *tag = answer->items[i].node_tag;
		const char *separator = answer->items[i].separator;

		if (tag != NULL && !hilo_is_node_tag(tag, strlen(tag)))
			put_error(answer, ERRCODE_PROTOCOL_VIOLATION,
					  "it has answered with an invalid node tag");
		else if (separator != NULL && !hilo_is_own_separator(separator))
			put_error(answer, ERRCODE_PROTOCOL_VIOLATION,
					  "it has answered with an invalid separator");
	}
}

/*
 * Terms: what is known of a hub is what the rows of its counters say
 */

/*
 * The counters of a lineage, including those that were left, as a list of
 * HiloNamedRow *.  With lineage 0: those that are leased from the server.
 */
static List *
counters_of(const char *hub, int64 lineage)
{
	List	   *counters = NIL;

	foreach_ptr(HiloNamedRow, named, hilo_row_list())
	{
		const HiloRow *row = &named->row;

		if (lineage != 0 ? row->of_hub.term.lineage == lineage :
			(row->flags & HILO_ROW_LEASED) && row->of_hub.term.lineage != 0 &&
			strcmp(NameStr(row->hub), hub) == 0)
			counters = lappend(counters, named);
	}
	return counters;
}

/* The highest term in the rows of a lineage. */
static HiloTerm
highest_term(int64 lineage)
{
	HiloTerm	highest = {.lineage = lineage};

	foreach_ptr(const HiloNamedRow, named, counters_of(NULL, lineage))
	{
		if (named->row.of_hub.term.number > highest.number)
			highest = named->row.of_hub.term;
	}
	return highest;
}

/*
 * Store a term in the rows of its lineage, so that it lasts: a synchronous standby
 * that is promoted must obey it, too, also if another session has stored it, whose
 * wait for the standby may have been cancelled.  Returns the counters; all rows that
 * began to be leased before have the term then.
 */
static List *
store_term(const HiloTerm *term)
{
	for (;;)
	{
		List	   *counters = counters_of(NULL, term->lineage);
		XLogRecPtr	lsn = InvalidXLogRecPtr;
		bool		all_have = true;

		foreach_ptr(HiloNamedRow, named, counters)
		{
			HiloRowRef	ref = {.name = named->name};

			if (named->row.of_hub.term.number < term->number)
			{
				all_have = false;
				named->lsn = hilo_leased_note_term(&ref, term);
			}
			lsn = Max(lsn, named->lsn);
		}
		hilo_flush_everywhere(hilo_row_own_lsn(lsn), false);
		if (all_have)
			return counters;
		HILO_FAILURE_POINT("term stored");
		CHECK_FOR_INTERRUPTS();
	}
}

/* Make the answer an error because of the term that is known of a counter. */
static void
put_term_error(HiloHubAnswer *answer, const char *name, const HiloTerm *known)
{
	put_error(answer, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
			  answer->term.lineage != known->lineage ?
			  psprintf("it is not the hub of that name that " HILO_NAME_FORMAT " is leased from; once its counters are above the column highest of hilo.leases on all members, hilo.lease_from() accepts it",
					   HILO_NAME_ARGS(name)) :
			  answer->term.number < known->number ?
			  psprintf("it is in term " INT64_FORMAT ", but term " INT64_FORMAT " was seen before",
					   answer->term.number, known->number) :
			  psprintf("it is in another term " INT64_FORMAT " than was seen before",
					   answer->term.number));
}

/*
 * A first answer has arrived: note the hub's lineage in the row, so that reports
 * include the counter, and then the highest term that is known of it, which a
 * report may have been made for.  False: the answer is an error, because for a counter
 * that is leased by that name already, the name stands for another hub.
 */
static bool
begin_lease(HiloRowRef *ref, const char *hub, HiloHubAnswer *answer)
{
	HiloTerm	known = answer->term;

	foreach_ptr(const HiloNamedRow, named, counters_of(hub, 0))
	{
		if (named->row.of_hub.term.lineage != known.lineage)
		{
			put_term_error(answer, named->name, &named->row.of_hub.term);
			return false;
		}
	}
	hilo_leased_mark(ref, hub, known.lineage);
	HILO_FAILURE_POINT("marked");
	known = highest_term(known.lineage);
	if (known.number > 0)
		(void) hilo_leased_note_term(ref, &known);
	return true;
}

/* What a lease is needed for. */
typedef struct Need
{
	int64		least;			/* at least so many consecutive numbers, */
	int64		above;			/* all above this number */
	bool		any;			/* true: numbers in the pool will do */
} Need;

/*
 * How many numbers the next lease should have.  The hub does not know a limit that only
 * this server has, so what is left below it is shared here.
 */
static int64
lease_size(const char *name, const HiloRow *row, const HiloLeaseState *state,
		   const Need *need)
{
	int64		min = row->lease_size > 0 ? row->lease_size :
		hilo_min_lease_size;
	int64		age = state->leased_at == DT_NOBEGIN ? 0 :
		GetCurrentTimestamp() - state->leased_at;
	int64		room = row->max_value - Max(need->above, row->max);

	/*
	 * Numbers of identities come in order: lease no more than will be drawn
	 * now, also by sessions that wait.
	 */
	if (hilo_is_identity(name))
		return Max(need->least + state->waiting, row->lease_size);

	/*
	 * The next answer may not arrive, either, unless this session waits
	 * longer.
	 */
	if (state->lost && (MyBgworkerEntry != NULL || !state->hurried))
		return need->least + state->waiting;
	return Max(need->least,
			   Min(hilo_range_size(state->epoch == row->epoch ? state->last_size : 0, age,
								   HILO_LEASE_DURATION_MS * INT64CONST(1000),
								   min, Max(min, HILO_LARGEST_LEASE)),
				   room / 64));
}

/*
 * Report
 */

/*
 * The names of counters, their highest numbers, and the names of those that were
 * left, as literals of arrays.
 */
static void
list_counters(const List *counters, HiloHubQuestion *question)
{
	MemoryContext context = CurrentMemoryContext;
	ArrayBuildState *names = initArrayResult(TEXTOID, context, false);
	ArrayBuildState *highest = initArrayResult(INT8OID, context, false);
	ArrayBuildState *left = initArrayResult(TEXTOID, context, false);

	foreach_ptr(const HiloNamedRow, named, counters)
	{
		(void) accumArrayResult(names, CStringGetTextDatum(named->name), false,
								TEXTOID, context);
		(void) accumArrayResult(highest, Int64GetDatum(named->row.max), false,
								INT8OID, context);
		if (NameStr(named->row.hub)[0] == '\0')
			(void) accumArrayResult(left, CStringGetTextDatum(named->name), false,
									TEXTOID, context);
	}
	question->left = OidOutputFunctionCall(F_ARRAY_OUT,
										   makeArrayResult(left, context));
	question->names = OidOutputFunctionCall(F_ARRAY_OUT,
											makeArrayResult(names, context));
	question->highest = OidOutputFunctionCall(F_ARRAY_OUT,
											  makeArrayResult(highest, context));
}

/*
 * Apply what the hub has answered about the counters that were reported, in their
 * order.
 */
static void
take_in_items(const char *hub, const List *counters, const HiloHubAnswer *answer)
{
	for (int i = 0; i < answer->count && i < list_length(counters); i++)
	{
		const HiloNamedRow *named = list_nth(counters, i);
		const HiloLeaseAnswer *item = &answer->items[i];
		HiloRowRef	ref = {.name = named->name};
		HiloClaim	none;

		if (strcmp(item->name, named->name) != 0 || item->hub_epoch == 0 ||
			!(named->row.flags & HILO_ROW_LEASED) ||
			strcmp(NameStr(named->row.hub), hub) != 0)
			continue;
		if (hilo_leased_take_in(&ref, &named->row, item, &none) != HILO_TAKEN)
			continue;
		hilo_row_flush(none.lsn);

		/* It gives leases, so what it said when it gave none is over. */
		hilo_pool_forget(named->name, none.epoch != named->row.epoch);
	}
}

/*
 * Those of the counters that a hub is told about.  One that was left and then seeded by
 * force is counted here; its row only keeps the hub's term.
 */
static List *
counters_to_report(List *counters)
{
	List	   *reported = NIL;

	foreach_ptr(HiloNamedRow, named, counters)
	{
		if ((named->row.flags & HILO_ROW_LEASED) || NameStr(named->row.hub)[0] != '\0')
			reported = lappend(reported, named);
	}
	return reported;
}

/*
 * Report to a hub what is held here of all counters of its lineage, and of one that has left
 * it for another hub, if that is not NULL.  Before that, all their rows get the highest term
 * that any has seen: for that term the hub may count the report, and no row takes in a lease
 * of an earlier one any more.  Returns the number of counters reported.
 */
static int64
report_to(const char *hub, int64 lineage, int host, HiloNamedRow *left,
		  HiloHubAnswer *answer)
{
	HiloTerm	term = highest_term(lineage);

	if (left != NULL && left->row.of_hub.term.number > term.number)
		term = left->row.of_hub.term;
	for (int i = 0; i < MAX_REPORTS; i++)
	{
		List	   *counters = counters_to_report(store_term(&term));
		HiloHubQuestion question = {
			.server = hub,.name = "",.term = term,.host = host
		};

		if (left != NULL)
			counters = lappend(counters, left);
		list_counters(counters, &question);
		ask_hub(&question, answer);
		if (answer->sqlstate != 0 &&
			answer->sqlstate != ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE)
			return 0;
		if (answer->sqlstate == 0 && answer->term.number <= term.number)
			take_in_items(hub, counters, answer);
		if (answer->term.lineage != lineage ||
			answer->term.number <= term.number)
			return answer->sqlstate == 0 ? list_length(counters) : 0;
		term = answer->term;
	}
	return 0;
}

/* True if a counter before the given one has both its hub and the hub's lineage. */
static bool
is_reported(List *counters, const HiloNamedRow *counter)
{
	foreach_ptr(const HiloNamedRow, named, counters)
	{
		if (named == counter)
			break;
		if (named->row.of_hub.term.lineage == counter->row.of_hub.term.lineage &&
			strcmp(NameStr(named->row.hub), NameStr(counter->row.hub)) == 0)
			return true;
	}
	return false;
}

int64
hilo_lease_report_all(void)
{
	List	   *counters = hilo_row_list();
	int64		count = 0;

	foreach_ptr(const HiloNamedRow, named, counters)
	{
		const char *hub = NameStr(named->row.hub);
		int64		lineage = named->row.of_hub.term.lineage;
		HiloHubAnswer answer;

		if (hub[0] == '\0' || lineage == 0 || is_reported(counters, named))
			continue;
		count += report_to(hub, lineage, hilo_lease_state_of(named->name).host, NULL, &answer);
		if (answer.sqlstate != 0)
			ereport(WARNING,
					(errcode(answer.sqlstate),
					 errmsg("could not report to %s what is held here: %s",
							hub_text(hub), answer.message),
					 errdetail("The report is of all that is leased from the same hub, such as " HILO_NAME_FORMAT ".",
							   HILO_NAME_ARGS(named->name)),
					 answer.hint == NULL ? 0 : errhint("%s", answer.hint)));
	}
	return count;
}

/*
 * Note what a hub that refused has said about its term, in the rows of all
 * counters, and report to it what is held here if it waits for that: also if nothing
 * has arrived from it yet, because it waits for each member that has asked, and its
 * first answer may have been lost.
 */
static void
obey_refusal(HiloRowRef *ref, const HiloRow *row, HiloHubAnswer *answer)
{
	const char *hub = NameStr(row->hub);
	HiloHubAnswer reported;

	if (answer->term.lineage == 0)
		return;
	if (!(row->flags & HILO_ROW_LEASED))
	{
		if (!answer->wants_report || !begin_lease(ref, hub, answer))
			return;
	}
	else if (answer->term.lineage != row->of_hub.term.lineage ||
			 answer->term.number < row->of_hub.term.number)
		return;
	(void) store_term(&answer->term);
	if (answer->wants_report)
		(void) report_to(hub, answer->term.lineage, answer->host, NULL, &reported);
}

/*
 * Ask the hub in the row for size numbers above a number, and put the lease into the
 * pool.  This session has the turn.  Returns the count of numbers received, whose epoch
 * then is state->epoch; 0: ask again, or see answer->sqlstate.
 */
static int64
ask_once(HiloRowRef *ref, const HiloRow *row, int64 size, int64 above,
		 HiloLeaseState *state, HiloHubAnswer *answer)
{
	const char *server = NameStr(row->hub);
	bool		is_first = (row->flags & HILO_ROW_LEASED) == 0;
	HiloHubQuestion question = {
		.server = server,.name = ref->name,
		.size = size,.at_least = Max(above, row->max),
		.term = row->of_hub.term,.host = state->host
	};
	HiloClaim	piece;

	if (is_first)
		question.term.lineage = 0;
	ask_hub(&question, answer);
	if (answer->sqlstate == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE)
		obey_refusal(ref, row, answer);
	if (answer->sqlstate != 0)
		return 0;
	HILO_FAILURE_POINT("lease got");

	if ((is_first || row->of_hub.term.lineage == 0) && !begin_lease(ref, server, answer))
		return 0;
	switch (hilo_leased_take_in(ref, row, answer->items, &piece))
	{
		case HILO_NOT_AS_ASKED:
			return 0;
		case HILO_NOT_OBEYED:
			{
				HiloRow		now;
				HiloTerm	known;

				(void) hilo_counter_read(ref, &now);
				known = now.of_hub.term;
				put_term_error(answer, ref->name, &known);
				return 0;
			}
		case HILO_TAKEN:
			break;
	}
	state->epoch = piece.epoch;
	if (piece.range.low > piece.range.high)
		return 0;
	HILO_FAILURE_POINT("lease taken in");
	if (piece.epoch != row->epoch)
		hilo_pool_forget(ref->name, true);
	(void) hilo_pool_put(ref->name, &piece, true);
	HILO_KILL_POINT("pooled");
	return hilo_range_count(&piece.range);
}

/*
 * Ask until numbers are received or *answer is an error, because the row may
 * change while the hub is asked.  Returns how many numbers were received; 0 without
 * an error: the row is no longer leased, or the pool has numbers that will do.
 */
static int64
ask_for_lease(HiloRowRef *ref, HiloLeaseState *state, const Need *need,
			  HiloHubAnswer *answer)
{
	memset(answer, 0, sizeof(*answer));
	answer->host = -1;
	for (int i = 0; i < MAX_QUESTIONS; i++)
	{
		HiloRow		row;
		const char *hub;
		int64		size;

		(void) hilo_counter_read(ref, &row);

		/*
		 * Some may have arrived before this session's turn.  Those that are
		 * not valid are none: taking would leave what is above max alone.
		 */
		if (need->any && (row.flags & HILO_ROW_LEASED) && state->left > 0 &&
			hilo_pool_highest(ref->name, &row) > 0)
			return 0;
		hub = hub_to_ask(ref, &row);
		if (hub[0] == '\0')
			return 0;
		if (Max(need->above, row.max) >= row.max_value)
			ereport(ERROR,
					(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
					 errmsg(HILO_NAME_FORMAT " does not have enough numbers left",
							HILO_NAME_ARGS(ref->name)),
					 errdetail("The limit is " INT64_FORMAT ".", row.max_value)));
		if (!(row.flags & HILO_ROW_LEASED) &&
			strcmp(NameStr(row.hub), hub) != 0)
		{
			hilo_leased_mark(ref, hub, row.of_hub.term.lineage);
			continue;
		}
		size = ask_once(ref, &row, lease_size(ref->name, &row, state, need),
						need->above, state, answer);
		if (answer->sqlstate != 0 || size >= need->least)
			return size;

		/*
		 * An id given by hand in the meantime may have cut off a part of the
		 * lease.
		 */
		if (size > 0 &&
			hilo_range_count(&answer->items[0].range) < need->least)
			return size;
		CHECK_FOR_INTERRUPTS();
	}
	return 0;
}

/* Error cleanup: end the turn without a result. */
static void
give_up_turn(int code, Datum arg)
{
	hilo_turn_give_up(((HiloRowRef *) DatumGetPointer(arg))->name);
}

/*
 * Use the turn to ask for what is needed.  Returns the count of numbers
 * received.
 */
static int64
lease_in_turn(HiloRowRef *ref, HiloLeaseState *state, const Need *need,
			  HiloHubAnswer *answer)
{
	int64		size;

	PG_ENSURE_ERROR_CLEANUP(give_up_turn, PointerGetDatum(ref));
	{
		HILO_FAILURE_POINT("asking");
		size = ask_for_lease(ref, state, need, answer);

		/*
		 * Do not ask the hub for more at once: that would waste another
		 * lease.
		 */
		if (size > 0 && size < need->least)
			put_error(answer, ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED,
					  psprintf("it was asked for " INT64_FORMAT " consecutive numbers, and gave " INT64_FORMAT,
							   need->least, size));
	}
	PG_END_ENSURE_ERROR_CLEANUP(give_up_turn, PointerGetDatum(ref));

	/*
	 * A lease that was small on purpose says nothing about how large the next
	 * one should be.  As it is soon used up, that becomes twice what is
	 * recorded here.
	 */
	hilo_turn_end(ref->name, answer->sqlstate != 0 ? 0 :
				  size > 0 && state->lost ?
				  Max(size, state->last_size / 2) : size,
				  state->epoch, answer);
	return size;
}

/*
 * Fetch
 */

void
hilo_lease_fetch(HiloRowRef *ref, const HiloRow *row,
				 const HiloWanted *wanted)
{
	const char *name = ref->name;
	Need		need = {.least = wanted->exact ? wanted->size : 1,
	.above = wanted->above};
	const char *hub = hub_to_ask(ref, row);
	HiloLeaseState state;
	HiloHubAnswer answer;

	if (row->flags & HILO_ROW_LEASED)
		hilo_lease_check_hub(ref, row);
	if (hub[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg(HILO_NAME_FORMAT " has used up its leases and no longer has a hub",
						HILO_NAME_ARGS(name)),
				 errhint("Lease it again with hilo.lease_from(), or force a seed above all numbers that other servers draw, to count here.")));

	/* What exists in a Citus cluster only its coordinator knows. */
	if ((row->flags & HILO_ROW_DROPPED) && !hilo_auto_create && !is_coordinator(hub))
		hilo_counter_refuse_missing(ref);

	switch (hilo_turn_wait(name, true, &state))
	{
		case HILO_TURN_OVER:
			return;
		case HILO_TURN_FAILED:
			report_failure(name, hub, state.sqlstate, state.failing_since,
						   state.error,
						   state.hint[0] != '\0' ? state.hint : NULL);
		case HILO_TURN:
			break;
	}

	need.any = need.least == 1 && need.above == 0;

	/*
	 * So many more numbers contain an aligned block, wherever the lease
	 * starts.
	 */
	if (wanted->alignment > 1)
		need.least += wanted->alignment - 1;
	(void) lease_in_turn(ref, &state, &need, &answer);
	if (answer.sqlstate != 0)
		report_failure(name, hub, answer.sqlstate, state.failing_since,
					   answer.message, answer.hint);
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

/*
 * Fetch the next lease of a collection.  Returns whether numbers were received.
 * Errors of the hub are logged.  If it cannot be reached, that is *lost, and holds
 * for its other collections, too.
 */
static bool
fetch_one(const char *name, HiloHubAnswer *lost)
{
	HiloRowRef	ref = {.name = name};
	HiloRow		row;
	HiloLeaseState state;
	HiloHubAnswer answer;
	Need		need = {.least = 1};
	bool		got = false;

	if (!hilo_counter_read(&ref, &row) || !(row.flags & HILO_ROW_LEASED) ||
		NameStr(row.hub)[0] == '\0' || row.max >= row.max_value ||
		hilo_turn_wait(name, false, &state) != HILO_TURN)
		return false;

	if (lost->server != NULL && strcmp(lost->server, NameStr(row.hub)) == 0)
	{
		answer = *lost;
		answer.host = -1;
		hilo_turn_end(name, 0, 0, &answer);
	}
	else
		got = lease_in_turn(&ref, &state, &need, &answer) > 0;

	if (answer.sqlstate == 0)
		return got;
	ereport(LOG,
			(errcode(answer.sqlstate),
			 errmsg("could not lease numbers of " HILO_NAME_FORMAT " from %s ahead: %s",
					HILO_NAME_ARGS(name), hub_text(NameStr(row.hub)),
					answer.message)));
	if (ERRCODE_TO_CATEGORY(answer.sqlstate) == ERRCODE_CONNECTION_EXCEPTION)
	{
		*lost = answer;
		lost->server = pstrdup(NameStr(row.hub));
	}
	return got;
}

/* Exit callback. */
static void
end_worker(int code, Datum arg)
{
	LOCKTAG		tag = hilo_task_tag(HILO_FETCH_LEASES);

	LockRelease(&tag, ExclusiveLock, true);
}

/*
 * Fetch leases that run low, once or more per collection, and end: a worker
 * that stays would block DROP DATABASE. One worker serves the whole database,
 * because a collection's name does not fit into a worker's argument.
 */
void
hilo_lease_work(Datum database)
{
	MemoryContext context;
	HiloHubAnswer lost = {0};
	LOCKTAG		tag;
	bool		got = true;

	/*
	 * The default handler would end it at once, even in the middle of a
	 * change.
	 */
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(DatumGetObjectId(database),
											  InvalidOid, 0);
	tag = hilo_task_tag(HILO_FETCH_LEASES);
	if (LockAcquire(&tag, ExclusiveLock, true, true) == LOCKACQUIRE_NOT_AVAIL)
		return;
	before_shmem_exit(end_worker, (Datum) 0);
	SetConfigOption("lock_timeout", psprintf("%dms", Min(hilo_lease_timeout, WORKER_TIMEOUT_MS)),
					PGC_SUSET, PGC_S_OVERRIDE);
	context = AllocSetContextCreate(TopMemoryContext, "hilo lease worker",
									ALLOCSET_DEFAULT_SIZES);
	pgstat_report_activity(STATE_RUNNING, "fetching leases of hilo");

	while (got)
	{
		List	   *low;

		got = false;
		MemoryContextSwitchTo(context);
		low = hilo_leases_low();
		foreach_ptr(const char, name, low)
		{
			SetCurrentStatementStartTimestamp();
			StartTransactionCommand();
			MemoryContextSwitchTo(context);
			if (fetch_one(name, &lost))
				got = true;
			CommitTransactionCommand();
		}
		list_free_deep(low);
	}
}

/*
 * Begin and end
 */

/*
 * Tell the hub in the row that the counter is no longer leased from it, so that it no longer
 * waits for what this server has of it.  If that fails, the counter stays in its list.
 */
static void
tell_left(const char *name, const HiloRow *row)
{
	HiloNamedRow left = {.name = name,.row = *row};
	HiloTerm   *term = &left.row.of_hub.term;
	HiloHubAnswer answer = {0};
	const char *hub = NameStr(row->hub);
	int			host = hilo_lease_state_of(name).host;

	memset(&left.row.hub, 0, sizeof(NameData));

	/* If its answer to the first request was lost, only the hub knows of it. */
	if (term->lineage == 0)
	{
		HiloHubQuestion question = {.server = hub,.name = name,.host = host};

		ask_hub(&question, &answer);
		*term = answer.term;
	}
	if (term->lineage != 0)
		(void) report_to(hub, term->lineage, host, &left, &answer);
	if (answer.sqlstate != 0)
		ereport(WARNING,
				(errcode(answer.sqlstate),
				 errmsg("could not tell %s that \"%s\" is no longer leased: %s",
						hub_text(hub), name, answer.message),
				 errhint("It stays in hilo.members there until hilo.hub_forget() is called for this member.")));
}

void
hilo_lease_begin(HiloRowRef *ref, const char *server, Oid role, int32 size)
{
	HiloHubQuestion question = {
		.server = server,.name = ref->name,.role = role
	};
	HiloHubAnswer answer;
	HiloTerm	known;
	HiloRow		before;

	if (!is_coordinator(server))
	{
		if (strchr(server, '|') != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_RESERVED_NAME),
					 errmsg("server \"%s\" cannot be a hub", server),
					 errdetail("Names that contain \"|\" are reserved.")));
		(void) get_foreign_server_oid(server, false);
	}

	ask_hub(&question, &answer);
	if (answer.sqlstate == 0)
	{
		known = highest_term(answer.term.lineage);
		if (answer.term.number < known.number ||
			(answer.term.number == known.number && answer.term.id != known.id))
			put_term_error(&answer, ref->name, &known);
	}
	if (answer.sqlstate != 0)
		report_failure(ref->name, server, answer.sqlstate, DT_NOBEGIN,
					   answer.message, answer.hint);

	if (!is_coordinator(server))
		hilo_hub_note(server, GetUserNameFromId(role, false));
	HILO_FAILURE_POINT("hub known");
	(void) hilo_counter_read(ref, &before);
	hilo_pool_forget(ref->name,
					 hilo_leased_set_hub(ref, server, size, answer.term.lineage));

	/*
	 * As with a first lease: a report in a later term may have been made
	 * meanwhile.
	 */
	known = highest_term(answer.term.lineage);
	(void) store_term(known.number > answer.term.number ? &known : &answer.term);

	/* By the name of the same server, another one has taken its place. */
	if ((before.flags & HILO_ROW_LEASED) && NameStr(before.hub)[0] != '\0' &&
		strcmp(NameStr(before.hub), server) != 0 &&
		before.of_hub.term.lineage != 0 && before.of_hub.term.lineage != answer.term.lineage)
		tell_left(ref->name, &before);

	if (hilo_hub[0] == '\0' && !is_coordinator(server) &&
		hilo_once("no setting", server))
		ereport(NOTICE,
				(errmsg("the setting \"hilo.hub\" does not name server \"%s\"", server),
				 errdetail("After this server was restored from a backup of before this call, it would count by itself."),
				 errhint("Set hilo.hub = '%s' in the configuration file.", server)));
}

void
hilo_lease_end(HiloRowRef *ref)
{
	HiloRow		row;
	bool		is_leased;

	(void) hilo_counter_read(ref, &row);
	is_leased = (row.flags & HILO_ROW_LEASED) != 0;
	if (!is_leased && NameStr(row.hub)[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg(HILO_NAME_FORMAT " is not leased",
						HILO_NAME_ARGS(ref->name))));
	if (is_leased)
		(void) hilo_leased_set_hub(ref, "", 0, 0);
	else
		hilo_leased_unmark(ref);
	if (NameStr(row.hub)[0] != '\0' && (!is_leased || row.of_hub.term.lineage != 0))
		tell_left(ref->name, &row);
}

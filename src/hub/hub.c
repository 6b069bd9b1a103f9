/*-------------------------------------------------------------------------
 *
 * hub.c
 *	  The library of the extension hilo_hub: its SQL functions, and what it does for the
 *	  library hilo.
 *
 * Servers that share counters are one hub and its members.  The hub counts; a member leases
 * ranges from it, large ones, and then draws from them by itself (member.c).  A server is the hub
 * after a call of hilo_hub.resume() there, and a member after one of hilo_hub.join().  The library
 * hilo asks this one when a counter's row says that it is shared, and knows nothing else of
 * all this.
 *
 * Each of the functions that change what a server is (resume, join, leave) goes the same way:
 *
 * 1. The row of server-side ids is changed, so that new counters begin in the new state.
 * 2. hub_change_counters() changes all counters that are there.  It first waits for those that
 *	  are being created.  In the other order, a counter that is created after the pass, by a
 *	  session that has read the old row, would keep the old state.
 * 3. All sessions are told, the WAL is flushed, and where ranges of before could do harm,
 *	  transactions that may be drawing from them are waited for.
 *
 * All changes are in place, so a rollback takes none of them back.  If one is interrupted, some
 * counters have the new state and others the old one.  The function has not returned then, so
 * nothing may be built upon it; it has to be called again.
 *
 * Why resume works in this order
 *
 * resume() makes a server the hub after another one was: after a promotion, a restore, or the loss
 * of the old one.  The old hub may have leased numbers of which this server does not know,
 * because the WAL did not arrive here.  So all counters skip some numbers (hub_skip() tells how
 * many), and members are told by a higher opening that the old one does not count any more.
 *
 * - First the hub is closed, if it was open: begin_resume() empties the place that it notes.
 *	 From now on hilo_hub.lease() is refused, and a crash leaves the hub closed.
 * - In the same change floor is raised.  New counters begin at floor.  It is needed because the
 *	 old hub may also have created counters of which this server does not know: if one of that
 *	 name were created here, it would begin at 1, and so had the old one.  floor is the sum of
 *	 all skips for a counter of this kind.
 * - Then all counters skip.  The lock on page 0 makes sure that each counter either began with
 *	 the new floor, or is in the list.
 * - Only then the opening is counted up and the place noted, which opens the hub, and that is
 *	 flushed, together with all skips, before the function returns.  If the hub were opened
 *	 before the skips, it could lease a number that the old one has leased.
 *
 * Two sessions may resume at the same time.  Then numbers are skipped twice, and the opening counts
 * up twice.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_foreign_server.h"
#include "foreign/foreign.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "client.h"
#include "compat.h"
#include "failure_point.h"
#include "member.h"
#include "state.h"

HILO_MODULE_MAGIC("hilo_hub");

extern PGDLLEXPORT void _PG_init(void);
extern PGDLLEXPORT Datum hilo_hub_wing(PG_FUNCTION_ARGS);

const HiloCore *core;

/* The only foreign-data wrapper whose servers are used: it checks their options. */
#define WRAPPER		"postgres_fdw"

/*
 * The most numbers that one call may lease, or skip, so that one mistake does not end a counter.  No
 * member asks for more.
 */
#define MOST_AT_ONCE	(2 * (int64) INT_MAX)

/*
 * The library hilo is loaded first, if it is not yet, and hands out its table of functions.
 * Neither library is linked against the other; see wing.h.
 */
void
_PG_init(void)
{
	PGFunction	function = load_external_function(HILO_CORE_NAME, HILO_CORE_FUNCTION, true, NULL);

	core = (const HiloCore *) DatumGetPointer(function(NULL));
	DefineCustomIntVariable("hilo_hub.lease_size",
							"Sets the smallest number of ids that a member asks a hub for.",
							"A lease has half as many as were leased in the last hour, if that is more, but at most hilo.max_range_size.",
							&hub_lease_size, hub_lease_size, 1, INT_MAX, PGC_SUSET, 0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("hilo_hub.timeout",
							"Sets how long a member waits for a hub to answer.",
							NULL,
							&hub_timeout, hub_timeout, 1, 3600 * 1000, PGC_SUSET, GUC_UNIT_MS,
							NULL, NULL, NULL);
	MarkGUCPrefixReserved("hilo_hub");
}

/* Raise 55000 because this server is in no state to do something. */
static void
refuse(const char *message, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("%s", message), errhint("%s", hint)));
}

/*
 * For the library hilo
 */

/*
 * counts_here() of HiloWing.
 *
 * A member counts server-side ids by itself: its tag makes them unique.  A server that is neither
 * hub nor member, and has a row that says that others draw from the counter, has got that row
 * with a dump or a copy, and must not guess.
 */
static bool
counts_here(const char *name)
{
	HiloRow		own = hub_own_row();
	HubRole		role = hub_role(&own);

	if (role == HUB_ALONE)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot draw from " HILO_COUNTER_FORMAT, HILO_COUNTER_ARGS(name)),
				 errdetail("Its row comes from a server that shares it with others; this server does not."),
				 errhint("Run SELECT hilo_hub.join('SERVER'), or SELECT hilo_hub.keep_local(%s).",
						 quote_literal_cstr(name))));
	if (role == HUB_ITSELF)
		hub_require_open(&own);
	return role == HUB_ITSELF || strcmp(name, HILO_SERVER_SIDE_NAME) == 0;
}

Datum
hilo_hub_wing(PG_FUNCTION_ARGS)
{
	static const HiloWing wing = {counts_here, hub_member_claim, hub_member_taken};

	PG_RETURN_POINTER(&wing);
}

/*
 * Hub
 */

/*
 * Raise 55000 if the member that asks knows a later opening than this one, or another one of the
 * same number.  So a former hub that still runs learns from the first member that it is not
 * the hub any more, without any connection to the new one.  It stays open, because the
 * member might be wrong; but a member does not take its numbers either.
 */
static void
check_known_opening(const HiloRow *own, int64 opening, int64 opening_id)
{
	if (opening > own->opening || (opening == own->opening && opening_id != own->opening_id))
		refuse(opening > own->opening ? "this server is not the hub any more" :
			   "another server was opened as the hub as well",
			   "Stop this server, or drop it from the list of hosts.");
}

/*
 * hilo_hub.lease(collection, count, known_opening, known_id): what a member's client.c calls.
 *
 * A lease is an ordinary claim of this server, of a range that is as large as asked for, or
 * smaller near the limit.  counter_claim() has flushed it when it returns, and waited for the
 * hub's standbys as synchronous_commit says: what is answered is never leased again.  If the
 * answer does not arrive, its numbers are lost.
 *
 * The answer says which opening has leased the numbers, by the row as it was read before the claim.
 * If the hub is resumed in between, the numbers are above the skip, or below it; in either
 * case it is this server that has counted them, and it counts them once.
 */
PG_FUNCTION_INFO_V1(hilo_hub_lease);

Datum
hilo_hub_lease(PG_FUNCTION_ARGS)
{
	HiloRow		own;
	HiloRow		row;
	HiloClaim	claim = {{0}};
	TupleDesc	desc;
	Datum		values[5];
	bool		nulls[5] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("return type must be a row type")));
	PreventCommandIfReadOnly("hilo_hub.lease()");
	PreventCommandIfParallelMode("hilo_hub.lease()");
	own = hub_own_row();
	if (hub_role(&own) != HUB_ITSELF)
		refuse("this server is not a hub", "To make it one, run SELECT hilo_hub.resume().");
	hub_require_open(&own);
	if (!PG_ARGISNULL(2) && !PG_ARGISNULL(3))
		check_known_opening(&own, PG_GETARG_INT64(2), PG_GETARG_INT64(3));

	/* Without a name, the member only wants to know who answers. */
	if (!PG_ARGISNULL(0))
	{
		char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
		HiloRowRef	ref = {.name = name};
		HiloWanted	wanted = {.size = PG_ARGISNULL(1) ? 0 : PG_GETARG_INT64(1),.alignment = 1};

		(void) core->check_row_name(name, NULL);
		if (wanted.size < 1 || wanted.size > MOST_AT_ONCE)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("count must be between 1 and " INT64_FORMAT, MOST_AT_ONCE)));
		core->counter_claim(&ref, NULL, &wanted, &row, &claim);
	}
	HILO_FAILURE_POINT("leased");
	nulls[3] = nulls[4] = PG_ARGISNULL(0);
	values[0] = Int64GetDatum(own.hub);
	values[1] = Int64GetDatum(own.opening);
	values[2] = Int64GetDatum(own.opening_id);
	values[3] = Int64GetDatum(claim.range.low);
	values[4] = Int64GetDatum(claim.range.high);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

/*
 * Close the hub, or make this server one that is closed, and raise floor, where new counters
 * begin, by as many numbers as counters skip.
 *
 * Both are one change of the row, because page 0 is locked by a session that creates a counter,
 * while it reads this row: it sees either the old floor, and then its counter is in the list of
 * hub_change_counters(); or the new one, and then the counter need not skip.
 *
 * A counter that is created has no rate of claims and no limit yet, so floor is raised by what such
 * a counter would skip.  The first time there is nothing to skip, and floor stays 0.
 */
static void
begin_resume(const HubCounterChange *what)
{
	HiloRowChange change;
	HiloRow    *own = &change.row;
	HiloRow		fresh = {.max_value = PG_INT64_MAX};

	hub_change_own_row(&change);
	own->flags |= HILO_ROW_SHARED | HILO_ROW_HUB;
	if (own->hub == 0)
		own->hub = core->random_number();
	fresh.max = own->floor;
	own->floor += hub_skip(what, &fresh);
	memset(&own->node_tag, 0, sizeof(own->node_tag));
	(void) core->row_finish(&change);
}

/*
 * hilo_hub.resume(skip): make this server the hub, and open it.  Returns how often it was opened.
 * The head of this file tells the order, and why.
 *
 * A hub that is open where it was opened has nothing to skip, so the call does nothing unless it
 * says how many.  A server that becomes a hub for the first time has had no predecessor, so it
 * skips nothing either.
 */
PG_FUNCTION_INFO_V1(hilo_hub_resume);

Datum
hilo_hub_resume(PG_FUNCTION_ARGS)
{
	HiloRow		own;
	HubCounterChange what = {.shared = true};
	HiloRowChange change;
	char	   *place;
	Oid			table;
	XLogRecPtr	lsn;
	int64		opening;

	PreventCommandIfReadOnly("hilo_hub.resume()");
	place = hub_place();
	own = hub_own_row();
	if (hub_role(&own) == HUB_MEMBER)
		refuse("this server is a member of another hub",
			   "To count for itself again, it has to leave with SELECT hilo_hub.leave().");
	if (!PG_ARGISNULL(0) && (PG_GETARG_INT64(0) < 0 || PG_GETARG_INT64(0) > MOST_AT_ONCE))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("skip must be between 0 and " INT64_FORMAT, MOST_AT_ONCE)));
	if (PG_ARGISNULL(0) && hub_role(&own) == HUB_ITSELF && strcmp(HUB_NOTED(&own), place) == 0)
	{
		ereport(NOTICE, (errmsg("this hub is open already")));
		PG_RETURN_INT64(own.opening);
	}
	what.count = PG_ARGISNULL(0) ? 0 : PG_GETARG_INT64(0);
	what.skip = PG_ARGISNULL(0) ? own.hub != 0 : what.count > 0;

	/* Close, skip, and only then open. */
	begin_resume(&what);
	HILO_FAILURE_POINT("resume begun");
	(void) hub_change_counters(&what);
	HILO_FAILURE_POINT("counters skipped");
	hub_change_own_row(&change);
	opening = ++change.row.opening;
	change.row.opening_id = core->random_number();
	namestrcpy(&change.row.node_tag, place);
	table = RelationGetRelid(change.rel);
	lsn = core->row_finish(&change);

	/* This record is the last one, so to flush it flushes all skips as well. */
	core->catalog_announce(table);
	core->row_flush(lsn);
	PG_RETURN_INT64(opening);
}

/*
 * Member
 */

/* Raise an error on a standby, and on a hub, for which the hint says what to do instead. */
static void
check_no_hub(const char *command, const char *hint)
{
	HiloRow		own;

	PreventCommandIfReadOnly(command);
	own = hub_own_row();
	if (hub_role(&own) == HUB_ITSELF)
		refuse("this server is a hub", hint);
}

/*
 * Raise an error unless there is a foreign server of that name, its wrapper is postgres_fdw, and
 * the caller owns it: questions are asked with the password of the owner, and by a role there
 * that may be able to do more than lease.  USAGE lets others run queries with mappings of their
 * own; it does not let them use that one.
 */
static void
check_server(const char *name)
{
	ForeignServer *server = GetForeignServerByName(name, false);

	if (strcmp(GetForeignDataWrapper(server->fdwid)->fdwname, WRAPPER) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("server \"%s\" is not one of %s", name, WRAPPER)));
	if (!hilo_owns_server(server->serverid))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_FOREIGN_SERVER, name);
}

/*
 * Wait for the transactions that run now: none of them draws from a range of before when this
 * returns.
 *
 * A session compares generations with each draw, but receives messages only at the start of a
 * transaction or when it locks something.  So a transaction that is under way may go on drawing
 * from its range for as long as it only draws.  Autovacuum draws nothing, and may take long.
 */
static void
wait_for_transactions(void)
{
	int			count;
	VirtualTransactionId *running = GetCurrentVirtualXIDs(InvalidTransactionId, false, false,
														  PROC_IS_AUTOVACUUM | PROC_IN_VACUUM, &count);

	for (int i = 0; i < count; i++)
		(void) VirtualXactLock(running[i], true);
}

/*
 * The second half of join and leave: change all counters, tell all sessions, and wait until no
 * range of before is in use.  lsn is that of the row of server-side ids.
 *
 * The counters' records have to be on disk as well when this returns.  If a crash lost one of
 * them, that counter would not be shared after a restart, and draw the hub's numbers.
 */
static void
finish_sharing(Oid table, XLogRecPtr lsn, bool shared)
{
	HubCounterChange what = {.shared = shared};

	lsn = Max(lsn, hub_change_counters(&what));
	core->catalog_announce(table);
	core->row_flush(lsn);
	wait_for_transactions();
}

/*
 * hilo_hub.join(server): from now on, lease all counters from the hub behind that server.
 *
 * The hub is asked who it is before anything is changed, so that a mistake in the connection does
 * not end local draws.  That this is the hub the administrator means is taken from him: a member
 * may change its hub by joining another one.  But if it knows a later opening of the same hub,
 * the server that answered is a former one, and is refused.
 */
PG_FUNCTION_INFO_V1(hilo_hub_join);

Datum
hilo_hub_join(PG_FUNCTION_ARGS)
{
	const char *server = NameStr(*PG_GETARG_NAME(0));
	HiloRowChange change;
	HubAnswer	answer;
	HubFailure	failure;
	Oid			table;

	check_no_hub("hilo_hub.join()", "To make it a member, run SELECT hilo_hub.leave() first.");
	check_server(server);
	if (!hub_ask(server, NULL, 0, 0, 0, hub_timeout, &answer, &failure))
		ereport(ERROR,
				(errcode(failure.sqlstate),
				 errmsg("could not join the hub behind server \"%s\"", server),
				 errdetail("%s", failure.message)));

	/*
	 * Only now, because another session may have heard of a later opening
	 * meanwhile, or made this server the hub.
	 */
	hub_change_own_row(&change);
	if (hub_role(&change.row) == HUB_ITSELF ||
		(answer.hub == change.row.hub &&
		 (answer.opening < change.row.opening ||
		  (answer.opening == change.row.opening && answer.opening_id != change.row.opening_id))))
	{
		core->row_abandon(&change);
		refuse("another server is known as the hub",
			   "If that one is stopped, run SELECT hilo_hub.resume(SKIP) on the one that answered, to skip what the other may have leased.");
	}
	change.row.flags |= HILO_ROW_SHARED;
	change.row.floor = 0;
	change.row.hub = answer.hub;
	change.row.opening = answer.opening;
	change.row.opening_id = answer.opening_id;
	namestrcpy(&change.row.node_tag, server);
	table = RelationGetRelid(change.rel);
	finish_sharing(table, core->row_finish(&change), true);
	PG_RETURN_VOID();
}

/*
 * hilo_hub.leave(): count for itself again.  Counters go on above all that was leased, because max
 * of a member's row is the end of its last lease.  That other servers draw the same numbers from
 * now on is what the caller wants.  Returns false if there is nothing to leave.
 */
PG_FUNCTION_INFO_V1(hilo_hub_leave);

Datum
hilo_hub_leave(PG_FUNCTION_ARGS)
{
	HiloRow		own;
	HiloRowChange change;
	Oid			table;

	PreventCommandIfReadOnly("hilo_hub.leave()");
	own = hub_own_row();
	hub_change_own_row(&change);
	change.row.flags &= ~(HILO_ROW_SHARED | HILO_ROW_HUB);

	/* One that was a hub itself is still that hub, should it be resumed. */
	if (hub_role(&own) == HUB_MEMBER)
		change.row.hub = change.row.opening = change.row.opening_id = 0;
	memset(&change.row.node_tag, 0, sizeof(NameData));
	table = RelationGetRelid(change.rel);
	finish_sharing(table, core->row_finish(&change), false);
	PG_RETURN_BOOL(hub_role(&own) != HUB_ALONE);
}

/*
 * hilo_hub.keep_local(collection): count one collection or identity here, until the next join.
 * Ranges of it that were leased end, as with any new epoch; the next number is above them.
 */
PG_FUNCTION_INFO_V1(hilo_hub_keep_local);

Datum
hilo_hub_keep_local(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	HiloRowRef	ref = {.name = name};
	HiloRowChange change;
	Oid			table;
	XLogRecPtr	lsn;

	check_no_hub("hilo_hub.keep_local()", "Call this on a member.");
	(void) core->check_row_name(name, NULL);
	(void) core->row_find(&change, &ref, HILO_ROW_CREATE);
	change.row.flags &= ~HILO_ROW_SHARED;
	change.row.epoch = core->random_number();
	change.row.claim_low = change.row.claim = 0;
	table = RelationGetRelid(change.rel);
	lsn = core->row_finish(&change);
	core->pool_forget(name);
	core->catalog_announce(table);
	core->row_flush(lsn);
	PG_RETURN_VOID();
}

/*
 * View
 */

/*
 * What the server is, in words.  On a standby the timeline to which it would write is not known, so
 * its place cannot be compared.
 */
static const char *
state_of(const HiloRow *own)
{
	const char *place;

	if (hub_role(own) == HUB_ALONE)
		return "counts for itself";
	if (hub_role(own) == HUB_MEMBER)
		return psprintf("member by server %s", HUB_NOTED(own));
	if (RecoveryInProgress())
		return "standby of a hub";
	place = hub_place();
	return strcmp(HUB_NOTED(own), place) == 0 ? "open hub" :
		psprintf("closed hub: opened as %s, is %s", HUB_NOTED(own), place);
}

/*
 * hilo_hub._leases(), on which the view hilo_hub.leases is built: a row for the server itself,
 * without a collection, and one for each of its shared counters.
 */
PG_FUNCTION_INFO_V1(hilo_hub_leases);

Datum
hilo_hub_leases(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	HiloRow		own = hub_own_row();
	Datum		state = CStringGetTextDatum(state_of(&own));
	Datum		server[7] = {0};
	bool		server_nulls[7] = {true, true, true, true, true, false, false};

	hilo_init_materialized(fcinfo);
	server[5] = Int64GetDatum(own.opening);
	server[6] = state;
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, server, server_nulls);
	foreach_ptr(const HiloNamedRow, named, core->row_list())
	{
		HiloPoolNote note = core->pool_last_note(named->name);
		Datum		values[] = {
			CStringGetTextDatum(named->name),
			Int64GetDatum(named->row.max),
			Int64GetDatum(core->pool_count(named->name, &named->row)),
			CStringGetTextDatum(note.failure),
			TimestampTzGetDatum(note.at),
			Int64GetDatum(own.opening),
			state
		};
		bool		nulls[7] = {false, false, false, note.at == 0, note.at == 0, false, false};

		if ((named->row.flags & HILO_ROW_SHARED) && !(named->row.flags & HILO_ROW_DROPPED) &&
			strcmp(named->name, HILO_SERVER_SIDE_NAME) != 0)
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

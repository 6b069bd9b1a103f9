/*-------------------------------------------------------------------------
 *
 * hub.c
 *	  The library of the extension hilo_hub: its SQL functions, and what it does for the
 *	  library hilo.
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

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);
extern PGDLLEXPORT Datum hilo_hub_wing(PG_FUNCTION_ARGS);

const HiloCore *core;

/* The only foreign-data wrapper whose servers are used: it checks their options. */
#define WRAPPER		"postgres_fdw"

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

static bool
counts_here(const char *name)
{
	HiloRow		own = hub_own_row();

	switch (hub_role(&own))
	{
		case HUB_ITSELF:
			hub_require_open(&own);
			return true;
		case HUB_MEMBER:
			return strcmp(name, HILO_OWN_NAME) == 0;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("cannot draw from " HILO_COUNTER_FORMAT, HILO_COUNTER_ARGS(name)),
					 errdetail("Its row comes from a server that shares it with others; this server does not."),
					 errhint("Run SELECT hilo_hub.join('SERVER'), or SELECT hilo_hub.keep_local(%s).",
							 quote_literal_cstr(name))));
	}
	return false;
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

/* Raise 55000 if the one who asks knows a later opening than this one. */
static void
check_known_opening(const HiloRow *own, int64 opening, int64 opening_id)
{
	if (opening > own->opening || (opening == own->opening && opening_id != own->opening_id))
		refuse(opening > own->opening ? "this server is not the hub any more" :
			   "another server was opened as the hub as well",
			   "Stop this server, or drop it from the list of hosts.");
}

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
	if (!PG_ARGISNULL(0))
	{
		char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
		HiloRowRef	ref = {.name = name};
		HiloWanted	wanted = {.size = PG_ARGISNULL(1) ? 0 : PG_GETARG_INT64(1),.alignment = 1};

		(void) core->check_row_name(name, NULL);
		if (wanted.size < 1)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("count must be between 1 and " INT64_FORMAT, PG_INT64_MAX)));
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
 * Close the hub, or make this server one that is closed; from now on new counters begin at
 * this floor.
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

PG_FUNCTION_INFO_V1(hilo_hub_resume);

Datum
hilo_hub_resume(PG_FUNCTION_ARGS)
{
	HiloRow		own;
	HubCounterChange what = {.shared = true};
	HiloRowChange change;
	char	   *place = hub_place();
	Oid			table;
	XLogRecPtr	lsn;
	int64		opening;

	PreventCommandIfReadOnly("hilo_hub.resume()");
	own = hub_own_row();
	if (hub_role(&own) == HUB_MEMBER)
		refuse("this server is a member of another hub",
			   "To count for itself again, it has to leave with SELECT hilo_hub.leave().");
	if (!PG_ARGISNULL(0) && PG_GETARG_INT64(0) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("skip must not be negative")));
	if (PG_ARGISNULL(0) && hub_role(&own) == HUB_ITSELF && strcmp(HUB_NOTED(&own), place) == 0)
	{
		ereport(NOTICE, (errmsg("this hub is open already")));
		PG_RETURN_INT64(own.opening);
	}
	what.count = PG_ARGISNULL(0) ? 0 : PG_GETARG_INT64(0);
	what.skip = PG_ARGISNULL(0) ? own.hub != 0 : what.count > 0;

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
	core->catalog_announce(table);
	core->row_flush(lsn);
	PG_RETURN_INT64(opening);
}

/*
 * Member
 */

/* Find a foreign server that may be a hub, which the caller may use. */
static void
check_server(const char *name)
{
	ForeignServer *server = GetForeignServerByName(name, false);

	if (strcmp(GetForeignDataWrapper(server->fdwid)->fdwname, WRAPPER) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("server \"%s\" is not one of %s", name, WRAPPER)));
	if (!hilo_may_use_server(server->serverid))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FOREIGN_SERVER, name);
}

/*
 * Wait for the transactions that run now: none of them draws from a range of before when this
 * returns.
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

/* Change all counters, tell all sessions, and wait until it is safe. */
static void
finish_sharing(Oid table, XLogRecPtr lsn, bool shared)
{
	HubCounterChange what = {.shared = shared};

	lsn = Max(lsn, hub_change_counters(&what));
	core->catalog_announce(table);
	core->row_flush(lsn);
	wait_for_transactions();
}

PG_FUNCTION_INFO_V1(hilo_hub_join);

Datum
hilo_hub_join(PG_FUNCTION_ARGS)
{
	const char *server = NameStr(*PG_GETARG_NAME(0));
	HiloRow		own;
	HiloRowChange change;
	HubAnswer	answer;
	HubFailure	failure;
	Oid			table;

	PreventCommandIfReadOnly("hilo_hub.join()");
	own = hub_own_row();
	if (hub_role(&own) == HUB_ITSELF)
		refuse("this server is a hub",
			   "To make it a member, run SELECT hilo_hub.leave() first.");
	check_server(server);
	if (!hub_ask(server, NULL, 0, 0, 0, hub_timeout, &answer, &failure))
		ereport(ERROR,
				(errcode(failure.sqlstate),
				 errmsg("could not join the hub behind server \"%s\"", server),
				 errdetail("%s", failure.message)));
	if (answer.hub == own.hub &&
		(answer.opening < own.opening ||
		 (answer.opening == own.opening && answer.opening_id != own.opening_id)))
		refuse("another server is known as the hub",
			   "If that one is stopped, resume the one that answered with SELECT hilo_hub.resume().");

	hub_change_own_row(&change);
	change.row.flags |= HILO_ROW_SHARED;
	change.row.hub = answer.hub;
	change.row.opening = answer.opening;
	change.row.opening_id = answer.opening_id;
	namestrcpy(&change.row.node_tag, server);
	table = RelationGetRelid(change.rel);
	finish_sharing(table, core->row_finish(&change), true);
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(hilo_hub_leave);

Datum
hilo_hub_leave(PG_FUNCTION_ARGS)
{
	HiloRow		own;
	HiloRowChange change;
	Oid			table;

	PreventCommandIfReadOnly("hilo_hub.leave()");
	own = hub_own_row();
	if (hub_role(&own) == HUB_ALONE)
		PG_RETURN_BOOL(false);
	hub_change_own_row(&change);
	change.row.flags &= ~(HILO_ROW_SHARED | HILO_ROW_HUB);
	change.row.hub = change.row.opening = change.row.opening_id = change.row.floor = 0;
	memset(&change.row.node_tag, 0, sizeof(NameData));
	table = RelationGetRelid(change.rel);
	finish_sharing(table, core->row_finish(&change), false);
	PG_RETURN_BOOL(true);
}

PG_FUNCTION_INFO_V1(hilo_hub_keep_local);

Datum
hilo_hub_keep_local(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	HiloRowRef	ref = {.name = name};
	HiloRowChange change;
	Oid			table;
	XLogRecPtr	lsn;

	PreventCommandIfReadOnly("hilo_hub.keep_local()");
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

/* What the server is, in words. */
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

/* hilo_hub._leases(): the server itself, without a collection, and its shared counters. */
PG_FUNCTION_INFO_V1(hilo_hub_leases);

Datum
hilo_hub_leases(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	HiloRow		own = hub_own_row();
	Datum		state = CStringGetTextDatum(state_of(&own));
	Datum		server[7] = {0};
	bool		server_nulls[7] = {true, true, true, true, true, false, false};
	ListCell   *cell;

	hilo_init_materialized(fcinfo);
	server[5] = Int64GetDatum(own.opening);
	server[6] = state;
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, server, server_nulls);
	foreach(cell, core->row_list())
	{
		const HiloNamedRow *named = lfirst(cell);
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
			strcmp(named->name, HILO_OWN_NAME) != 0)
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

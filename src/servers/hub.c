/*-------------------------------------------------------------------------
 *
 * hub.c
 *	  This server as a hub: the timeline on which it gives leases, and its members.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "replication/syncrep.h"
#include "storage/lwlock.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/settings.h"
#include "counting/once.h"
#include "servers/hub.h"
#include "servers/member.h"

/* A timeline this far above the current one cannot have been this server's. */
#define MAX_AHEAD	INT64CONST(0x100000000)

/*
 * The own row of hilo.hub
 */

/* Lock our own row. */
static void
find_own(HiloRowChange *change)
{
	HiloRowRef	ref;

	hilo_row_ref_init(&ref, HILO_OWN_NAME);
	(void) hilo_row_find(change, HILO_TABLE_HUBS, &ref, HILO_ROW_CREATE);
	if (change->created || change->hub.home != change->home)
	{
		change->hub.timeline = HILO_NOT_RESUMED;
		if (change->hub.draws_on != 0)
			change->hub.draws_on = HILO_NOT_RESUMED;
		change->hub.synchronous = 0;
		change->hub.system_identifier = (int64) GetSystemIdentifier();
	}
}

/* Release it unchanged. */
static void
let_go(HiloRowChange *change)
{
	if (change->created)
		hilo_row_flush(hilo_row_finish(change));
	else
		hilo_row_abandon(change);
}

void
hilo_hub_state(HiloHubState *state)
{
	HiloRowRef	ref;
	HiloRowChange change;

	state->timeline = HILO_NOT_RESUMED;
	state->told = RecoveryInProgress() ? 0 : hilo_timeline();
	state->draws_on = 0;
	state->synchronous = hilo_hub_auto_resume;
	state->noted = state->resumes = false;
	hilo_row_ref_init(&ref, HILO_OWN_NAME);
	if (!hilo_row_find(&change, HILO_TABLE_HUBS, &ref, HILO_ROW_READ))
		return;
	state->told += change.hub.raised;
	state->draws_on = change.hub.draws_on;
	if (change.hub.home != change.home && state->draws_on != 0)
		state->draws_on = HILO_NOT_RESUMED;
	if (change.hub.home == change.home)
	{
		state->timeline = change.hub.timeline;
		state->noted = change.hub.synchronous != 0;
		state->resumes = state->synchronous && state->noted;
	}
	hilo_row_abandon(&change);
}

void
hilo_hub_set_timeline(int64 timeline)
{
	HiloRowChange change;

	find_own(&change);
	change.hub.timeline = timeline;
	if (change.hub.draws_on != 0 && timeline != HILO_NOT_RESUMED)
		change.hub.draws_on = timeline;
	hilo_row_flush(hilo_row_finish(&change));
}

/* Raise 55000 if there is no synchronous standby to wait for. */
static void
check_synchronous(void)
{
	bool		defined;

	LWLockAcquire(SyncRepLock, LW_SHARED);
	defined = hilo_sync_standbys_defined();
	LWLockRelease(SyncRepLock);
	if (!SyncRepRequested() || !defined)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("this server gives leases only if a synchronous standby has them"),
				 errdetail("The setting \"hilo.hub_auto_resume\" is on."),
				 errhint("Set synchronous_standby_names, or set hilo.hub_auto_resume to \"off\".")));
}

/*
 * On a new timeline, leases of counters that are not resumed yet may have been
 * lost: keep the mode that was noted before the promotion.
 */
void
hilo_hub_note_mode(bool gave_lease)
{
	bool		synchronous = hilo_hub_auto_resume;
	int64		timeline = hilo_timeline();
	HiloRowChange change;
	HiloHubRow *own = &change.hub;
	Oid			table;
	bool		holds;
	XLogRecPtr	lsn;

	if (synchronous)
		check_synchronous();
	find_own(&change);
	table = RelationGetRelid(change.rel);
	holds = own->synchronous == 0 ? !synchronous || own->timeline != timeline :
		synchronous && (own->timeline == timeline ||
						own->timeline == HILO_NOT_RESUMED);
	if (holds && (own->draws_on != 0 || !gave_lease))
	{
		let_go(&change);
		return;
	}
	if (own->draws_on == 0 && gave_lease)
		own->draws_on = timeline;
	if (!holds)
		own->synchronous = synchronous;
	if (!holds && synchronous)
	{
		own->timeline = timeline;
		if (own->draws_on != 0)
			own->draws_on = timeline;
	}
	lsn = hilo_row_finish(&change);
	hilo_catalog_announce(table);
	if (synchronous)
		hilo_row_flush_to_standby(lsn);
	else
		hilo_row_flush(lsn);
}

/*
 * Numbers that this server draws itself
 */

/* What was found about them, and the generation it is valid for; 0: nothing. */
static HiloHubState draw_state;
static uint64 draw_generation = 0;

static bool
may_draw(const HiloHubState *state)
{
	return state->draws_on == 0 || state->draws_on == hilo_timeline() ||
		state->resumes;
}

/*
 * Only that numbers may be drawn is remembered: it stays true as long as this
 * server runs, because only a standby is promoted, and a standby draws none.
 */
void
hilo_hub_check_draw(HiloRowRef *ref)
{
	uint64		generation = hilo_rights_generation;
	HiloRow		row;

	if (draw_generation == generation || hilo_is_own_name(ref->name))
		return;
	hilo_hub_state(&draw_state);
	draw_generation = may_draw(&draw_state) ? generation : 0;
	if (draw_generation != 0)
		return;
	(void) hilo_counter_read(ref, &row);
	if ((row.flags & HILO_ROW_LEASED) ||
		(row.epoch != 0 && row.timeline == hilo_timeline()) ||
		hilo_counter_is_for_hub(ref, &row, hilo_leasing()))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("cannot draw from " HILO_COUNTER_FORMAT " because this server was promoted, copied or restored",
					HILO_COUNTER_ARGS(ref->name)),
			 errdetail("It has given leases, and may not know about the newest ones."),
			 errhint("Call hilo.hub_resume() once all members that hilo.members shows have reported.")));
}

void
hilo_hub_wait_for_standby(XLogRecPtr lsn)
{
	int			level;

	/* Something may have been noted since the claim began. */
	if (unlikely(draw_generation != hilo_rights_generation))
		hilo_hub_state(&draw_state);
	if (likely(draw_state.draws_on == 0) || !draw_state.noted)
		return;
	level = NewGUCNestLevel();
	if (synchronous_commit < SYNCHRONOUS_COMMIT_REMOTE_FLUSH)
		(void) set_config_option("synchronous_commit", "on", PGC_USERSET,
								 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
								 false);
	hilo_row_flush_to_standby(lsn);
	AtEOXact_GUC(false, level);
}

/*
 * Stop giving leases, and report to members a timeline above the one that one
 * of them knows, so that this happens only once.  False: it has happened
 * already.
 *
 * That timeline is noted last, and no standby is waited for before that,
 * because a server that was left behind may have none: if the session ends in
 * between, the next request repeats all of it.  The last flush is that of the
 * counters, too.
 */
static bool
step_back(int64 known_timeline)
{
	HiloRowChange change;
	ListCell   *lc;

	find_own(&change);
	if (known_timeline <= hilo_timeline() + change.hub.raised)
	{
		let_go(&change);
		return false;
	}
	change.hub.timeline = HILO_NOT_RESUMED;
	hilo_row_flush_here(hilo_row_finish(&change));

	foreach(lc, hilo_row_list())
	{
		HiloNamedRow *named = lfirst(lc);
		HiloRowRef	ref;

		hilo_row_ref_init(&ref, named->name);
		if (named->row.timeline != 0)
			(void) hilo_counter_stop_leases(&ref);
	}

	find_own(&change);
	change.hub.raised = Max(change.hub.raised,
							known_timeline + 1 - hilo_timeline());
	hilo_row_flush_here(hilo_row_finish(&change));
	return true;
}

/*
 * Address of the connection, palloc'd; empty if it is not a network connection.
 */
static const char *
client_address(void)
{
	LOCAL_FCINFO(fcinfo, 0);
	Datum		address;

	InitFunctionCallInfoData(*fcinfo, NULL, 0, InvalidOid, NULL, NULL);
	address = inet_client_addr(fcinfo);
	return fcinfo->isnull ? "" :
		DatumGetCString(DirectFunctionCall1(inet_out, address));
}

static void
report_left_behind(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("this server is no longer a hub: a later one has taken over"),
			 errhint("Stop this server. If it is the right one, call hilo.hub_resume() here.")));
}

void
hilo_hub_hear(const char *member, int64 known_system, int64 known_timeline)
{
	HiloHubState state;

	if (known_system == 0)
		return;
	if (known_system != (int64) GetSystemIdentifier())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("this server is not the hub that the member knows"),
				 errdetail("Its system identifier is " UINT64_FORMAT ", not " UINT64_FORMAT ".",
						   GetSystemIdentifier(), (uint64) known_system),
				 errhint("If it has taken over, call hilo.lease_from() on the member.")));

	hilo_hub_state(&state);
	if (known_timeline <= state.told)
		return;
	if (known_timeline - state.told > MAX_AHEAD)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("this server has never been on timeline " INT64_FORMAT,
						known_timeline),
				 errdetail("It is on timeline " INT64_FORMAT ".", state.told)));
	if (!step_back(known_timeline))
		return;
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("a member knows timeline " INT64_FORMAT " of this server, which is on timeline " INT64_FORMAT,
					known_timeline, state.told),
			 errdetail("The member is \"%s\", its address \"%s\". This server gives no more leases.",
					   member, client_address())));
	report_left_behind();
}

void
hilo_hub_check_not_left(HiloRowRef *ref, const HiloHubState *before)
{
	HiloHubState now;

	hilo_hub_state(&now);
	if (now.timeline != HILO_NOT_RESUMED ||
		before->timeline == HILO_NOT_RESUMED)
		return;
	hilo_row_flush_here(hilo_counter_stop_leases(ref));
	report_left_behind();
}

/*
 * Members
 */

/* Number of items shown in a list in a message. */
#define MAX_NAMED	10

void
hilo_append_part(StringInfo list, int n, const char *part)
{
	if (n < MAX_NAMED)
		appendStringInfo(list, "%s%s", n > 0 ? ", " : "", part);
	else if (n == MAX_NAMED)
		appendStringInfoString(list, ", ...");
}

/* The name of a row: the member's name, a bar, and the counter's name. */
static const char *
row_name(const char *member, const char *counter)
{
	return psprintf("%s|%s", member, counter);
}

/* Lock the row; false if it does not exist and is not to be created. */
static bool
find_member(HiloRowChange *change, const char *name, HiloRowAccess access)
{
	HiloRowRef	ref;

	hilo_row_ref_init(&ref, name);
	if (!hilo_row_find(change, HILO_TABLE_MEMBERS, &ref, access))
		return false;
	if (change->member.home != change->home)
		change->member.timeline = change->member.epoch = 0;
	return true;
}

/*
 * Warn, once per session, about a member that reports fewer numbers than
 * before.  A single server rarely does, but two that were made from one copy
 * do, in turns.
 */
static void
warn_of_copy(const char *member, const char *counter, int64 highest,
			 const HiloMemberRow *before)
{
	if (!hilo_once("copy of a member", member))
		return;
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("member \"%s\" reports numbers of \"%s\" up to " INT64_FORMAT ", but has reported " INT64_FORMAT " before",
					member, counter, highest,
					before->highest),
			 errdetail("Its address is \"%s\"; at %s it was \"%s\".",
					   client_address(), timestamptz_to_str(before->seen_at),
					   NameStr(before->address)),
			 errhint("Unless it has crashed, or was restored or promoted, two servers have this name. Set cluster_name on each to a different value.")));
}

void
hilo_member_note(const char *member, const char *counter, int64 highest,
				 int64 known_timeline, bool in_turn)
{
	HiloMemberRow *row;
	HiloMemberRow before;
	HiloRowChange change;
	HiloHubState state;
	bool		is_new;
	XLogRecPtr	lsn;

	if (member[0] == '\0')
		return;
	hilo_hub_state(&state);
	(void) find_member(&change, row_name(member, counter), HILO_ROW_CREATE);
	row = &change.member;
	before = *row;
	is_new = row->timeline != state.told;
	row->highest = Max(row->highest, highest);
	row->timeline = state.told;
	row->known_timeline = Max(row->known_timeline, known_timeline);
	row->seen_at = GetCurrentTimestamp();
	namestrcpy(&row->address, client_address());
	lsn = hilo_row_finish(&change);

	/*
	 * Otherwise the lease that follows flushes it.  A standby would be told
	 * again after its promotion, and a server that was left behind has none.
	 */
	if (is_new)
		hilo_row_flush_here(lsn);
	if (in_turn && highest < before.highest)
		warn_of_copy(member, counter, highest, &before);
}

bool
hilo_member_note_lease(const char *member, const char *counter, int64 epoch)
{
	HiloRowChange change;
	bool		listed;

	if (member[0] == '\0')
		return true;
	if (!find_member(&change, row_name(member, counter), HILO_ROW_CHANGE))
		return false;
	listed = change.member.timeline != HILO_FORGOTTEN;
	if (!listed || change.member.epoch == epoch)
	{
		hilo_row_abandon(&change);
		return listed;
	}
	change.member.epoch = epoch;
	(void) hilo_row_finish(&change);
	return true;
}

/* All members, including forgotten ones, as in hilo_members(). */
static List *
list_all(void)
{
	List	   *members = NIL;
	HiloHubState state;
	ListCell   *lc;

	hilo_hub_state(&state);
	foreach(lc, hilo_row_list_members())
	{
		HiloNamedRow *named = lfirst(lc);
		const char *bar = strchr(named->name, '|');
		HiloMember *member;

		if (bar == NULL)
			continue;
		member = palloc(sizeof(HiloMember));
		member->name = pnstrdup(named->name, bar - named->name);
		member->counter = bar + 1;
		member->row = named->member;
		member->reported = named->member.timeline == state.told;
		members = lappend(members, member);
	}
	return members;
}

static bool
is_forgotten(const HiloMember *member)
{
	return member->row.timeline == HILO_FORGOTTEN;
}

List *
hilo_members(void)
{
	List	   *members = list_all();
	ListCell   *lc;

	foreach(lc, members)
	{
		if (is_forgotten(lfirst(lc)))
			members = foreach_delete_current(members, lc);
	}
	return members;
}

void
hilo_member_forget(const HiloMember *member)
{
	HiloRowChange change;

	if (!find_member(&change, row_name(member->name, member->counter),
					 HILO_ROW_CHANGE))
		return;
	change.member.timeline = HILO_FORGOTTEN;
	change.member.highest = change.member.epoch = 0;
	hilo_row_flush(hilo_row_finish(&change));
}

/* Append the name of member n, counting from 0, to a list in a message. */
static void
append_name(StringInfo names, int n, const HiloMember *member)
{
	hilo_append_part(names, n, psprintf("\"%s\"", member->name));
}

void
hilo_members_warn(const char *counter, int64 epoch)
{
	StringInfoData names;
	int			count = 0;
	ListCell   *lc;

	initStringInfo(&names);
	foreach(lc, hilo_members())
	{
		const HiloMember *member = lfirst(lc);

		if (strcmp(member->counter, counter) == 0 &&
			member->row.epoch != 0 && member->row.epoch != epoch)
			append_name(&names, count++, member);
	}
	if (count > 0)
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("members may draw from earlier leases until their next request: %s",
						names.data),
				 errdetail("The answer to that request invalidates these leases."),
				 errhint("To make a member ask now, call hilo.lease_report() there.")));
	pfree(names.data);
}

bool
hilo_members_are_forgotten(const char *counter, const HiloRow *row)
{
	StringInfoData names;
	int			forgotten = 0;
	int			count = 0;
	ListCell   *lc;

	if (row->epoch == 0 || row->timeline != hilo_timeline())
		return false;
	initStringInfo(&names);
	foreach(lc, list_all())
	{
		const HiloMember *member = lfirst(lc);

		if (strcmp(member->counter, counter) != 0)
			continue;
		if (is_forgotten(member))
			forgotten++;
		else
			append_name(&names, count++, member);
	}
	if (count > 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg(HILO_COUNTER_FORMAT " has given leases",
						HILO_COUNTER_ARGS(counter)),
				 errdetail("Members may still draw from them: %s.", names.data),
				 errhint("Call hilo.hub_forget() for each that no longer does.")));
	return forgotten > 0;
}

void
hilo_members_forget_counter(const char *counter)
{
	ListCell   *lc;

	foreach(lc, hilo_members())
	{
		const HiloMember *member = lfirst(lc);

		if (strcmp(member->counter, counter) == 0)
			hilo_member_forget(member);
	}
}

void
hilo_member_merge(const char *name, const HiloMemberRow *other)
{
	HiloRowChange change;

	if (find_member(&change, name, HILO_ROW_CREATE) && !change.created &&
		change.member.timeline != HILO_FORGOTTEN)
	{
		change.member.highest = Max(change.member.highest, other->highest);
		change.member.timeline = 0;
	}
	else
	{
		change.member = *other;
		if (other->timeline != HILO_FORGOTTEN)
			change.member.timeline = 0;
	}
	hilo_row_flush(hilo_row_finish(&change));
}

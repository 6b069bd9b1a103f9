/*-------------------------------------------------------------------------
 *
 * hub.c
 *	  This server as a hub: whether it may draw, and what its members have.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "nodes/bitmapset.h"
#include "replication/syncrep.h"
#include "replication/walsender.h"
#include "replication/walsender_private.h"
#include "storage/fd.h"
#include "storage/spin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/inet.h"
#include "utils/inval.h"
#include "utils/snapmgr.h"

#include "hub/core.h"
#include "hub/hub.h"

/* Columns of hilo.hub. */
enum HubColumn
{
	HUB_NAME = 1,
	HUB_ROLE,
	HUB_LINEAGE,
	HUB_TERM,
	HUB_TERM_ID,
	HUB_IS_OPEN,
	HUB_TIMELINE,
	HUB_HOME,
	HUB_SEEN,
	HUB_WAITED,
	HUB_BACKUP,
	HUB_COLUMNS
};

/* Columns of hilo.member. */
enum MemberColumn
{
	MEMBER_NAME = 1,
	MEMBER_COLLECTION,
	MEMBER_HIGHEST,
	MEMBER_EPOCH,
	MEMBER_KNOWN_TERM,
	MEMBER_REPORTED_TERM,
	MEMBER_REPORTED_ID,
	MEMBER_SEEN_AT,
	MEMBER_ADDRESS,
	MEMBER_STARTED,
	MEMBER_COLUMNS
};

/* hilo.hub.waited: a synchronous standby has every lease and own number. */
#define ALL_WAITED	2

/*
 * Rows of hilo.hub
 */

/* Read the row of that name: its columns by their numbers, 0 for NULL; false: there is none. */
static bool
read_hub(const char *name, Datum *columns)
{
	HeapTuple	found = hilo_catalog_find(HILO_TABLE_HUBS, name);
	Relation	rel;

	if (found == NULL)
		return false;
	rel = hilo_catalog_open(HILO_TABLE_HUBS, AccessShareLock);
	for (int i = HUB_NAME; i < HUB_COLUMNS; i++)
	{
		bool		isnull;

		columns[i] = hilo_getattr(found, i, RelationGetDescr(rel), &isnull);
		if (isnull)
			columns[i] = (Datum) 0;
	}
	table_close(rel, AccessShareLock);
	return true;
}

char *
hilo_hub_role(const char *hub)
{
	Datum		columns[HUB_COLUMNS];

	return read_hub(hub, columns) && columns[HUB_ROLE] != 0 ?
		pstrdup(NameStr(*DatumGetName(columns[HUB_ROLE]))) : NULL;
}

/*
 * Where a term is at home
 */

int64
hilo_hub_home(void)
{
	int64		home = hilo_catalog_home(hilo_catalog_table(HILO_TABLE_COUNTERS));

	return (int64) hash_bytes_extended((unsigned char *) &home, sizeof(home),
									   GetSystemIdentifier());
}

int64
hilo_hub_backup(void)
{
	static const char *const files[] = {BACKUP_LABEL_FILE, BACKUP_LABEL_OLD};
	static int64 backup = -1;	/* not read yet */

	for (size_t i = 0; backup < 0; i++)
	{
		unsigned char label[BLCKSZ];
		int			len;
		FILE	   *file;

		if (i == lengthof(files))
		{
			backup = 0;
			break;
		}
		file = AllocateFile(files[i], PG_BINARY_R);
		if (file == NULL && errno == ENOENT)
			continue;
		len = file == NULL ? 0 : fread(label, 1, sizeof(label), file);
		if (file == NULL || ferror(file))
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not read file \"%s\": %m", files[i])));
		FreeFile(file);
		backup = Max((int64) (hash_bytes_extended(label, len, 0) & PG_INT64_MAX), 1);
	}
	return backup;
}

/*
 * Numbers that this server draws itself
 */

/* What row | says about them; as of that generation, 0: not read. */
typedef struct ThisHub
{
	bool		may_draw;
	int			waited;			/* 0: no standby need have them */
	HiloTerm	term;			/* the one that is open here; lineage 0: none */
} ThisHub;

static ThisHub this_hub_state;
static uint64 this_hub_generation = 0;

static const ThisHub *
this_hub(void)
{
	uint64		generation = hilo_rights_generation;
	Datum		columns[HUB_COLUMNS];

	if (likely(this_hub_generation == generation))
		return &this_hub_state;
	memset(&this_hub_state, 0, sizeof(this_hub_state));
	this_hub_state.may_draw = !read_hub(HILO_OWN_NAME, columns);
	if (!this_hub_state.may_draw)
	{
		bool		is_same = DatumGetInt64(columns[HUB_TIMELINE]) == GetWALInsertionTimeLine();

		this_hub_state.waited = DatumGetInt32(columns[HUB_WAITED]);
		this_hub_state.may_draw = DatumGetInt64(columns[HUB_HOME]) == hilo_hub_home() &&
			DatumGetBool(columns[HUB_IS_OPEN]) &&
			(is_same ?
			 DatumGetInt64(columns[HUB_BACKUP]) == hilo_hub_backup() :
			 hilo_hub_auto_resume && this_hub_state.waited == ALL_WAITED);
		if (this_hub_state.may_draw && is_same)
			this_hub_state.term = (HiloTerm)
		{
			.lineage = DatumGetInt64(columns[HUB_LINEAGE]),
				.number = DatumGetInt64(columns[HUB_TERM]),
				.id = DatumGetInt64(columns[HUB_TERM_ID])
		};
	}
	this_hub_generation = generation;
	return &this_hub_state;
}

bool
hilo_is_hub(void)
{
	return !RecoveryInProgress() && !hilo_counts_alone();
}

/*
 * Only that numbers may be drawn is remembered: it stays true until the row
 * changes, because only a standby is promoted, and a standby draws none.
 */
void
hilo_hub_check_draw(HiloRowRef *ref)
{
	HiloRow		row;

	if (likely(this_hub()->may_draw))
		return;
	this_hub_generation = 0;
	(void) hilo_counter_read(ref, &row);
	if ((row.flags & HILO_ROW_LEASED) ||
		hilo_counter_is_for_hub(ref, &row, hilo_leasing()))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 hilo_is_own_name(ref->name) ?
			 errmsg("cannot draw server-side ids until this hub is resumed") :
			 errmsg("cannot draw from " HILO_COUNTER_FORMAT " until this hub is resumed",
					HILO_COUNTER_ARGS(ref->name)),
			 errdetail("It may lack leases that it has given, as after a promotion, a copy or a restore."),
			 errhint("Call hilo.hub_resume() once all members that hilo.members shows have reported.")));
}

bool
hilo_hub_requires_all_standbys(void)
{
	const SyncRepConfigData *config = SyncRepConfig;
	const char *name;

	if (max_wal_senders == 0 || config == NULL ||
		config->syncrep_method != SYNC_REP_PRIORITY ||
		config->num_sync < config->nmembers)
		return false;
	name = config->member_names;
	for (int i = 0; i < config->nmembers; i++)
	{
		if (strcmp(name, "*") == 0)
			return false;
		name += strlen(name) + 1;
	}
	return true;
}

/*
 * True if a standby of each name that is listed has reached the LSN, and so has each
 * other one of these names.  While it was waited for, other names may have been listed.
 * A standby's priority is the place of its name.
 */
static bool
all_standbys_have(XLogRecPtr lsn)
{
	Bitmapset  *places = NULL;

	if (!hilo_hub_requires_all_standbys())
		return false;
	for (int i = 0; i < max_wal_senders; i++)
	{
		WalSnd	   *sender = &WalSndCtl->walsnds[i];
		int			place;
		bool		has;

		SpinLockAcquire(&sender->mutex);
		place = sender->pid != 0 ? sender->sync_standby_priority : 0;
		has = sender->flush >= lsn && !XLogRecPtrIsInvalid(sender->flush);
		SpinLockRelease(&sender->mutex);
		if (place > 0 && !has)
			return false;
		if (place > 0)
			places = bms_add_member(places, place);
	}
	return bms_num_members(places) >= SyncRepConfig->nmembers;
}

void
hilo_flush_everywhere(XLogRecPtr lsn, bool needs_standby)
{
	int			level = NewGUCNestLevel();

	if (synchronous_commit < SYNCHRONOUS_COMMIT_REMOTE_FLUSH)
		hilo_sql_set_locally("synchronous_commit", "on");
	if (needs_standby)
		hilo_row_flush_to_standby(lsn);
	else
		hilo_row_flush(lsn);
	if (needs_standby && hilo_hub_auto_resume && !all_standbys_have(lsn))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("not all standbys that synchronous_standby_names lists have acknowledged the change"),
				 errhint("Give each standby a name of its own by cluster_name, list all, and wait for all of them: FIRST 2 (a, b); or set hilo.hub_auto_resume to \"off\".")));
	AtEOXact_GUC(false, level);
}

void
hilo_hub_wait_for_standby(XLogRecPtr lsn)
{
	/* Something may have been recorded since the claim began. */
	AcceptInvalidationMessages();
	if (this_hub()->waited == 0)
		return;

	/*
	 * What synchronous_standby_names says may be out of date in a long
	 * statement; the server waits if it requires a standby.
	 */
	hilo_flush_everywhere(lsn, hilo_hub_auto_resume);
}

/*
 * Leases
 */

bool
hilo_hub_term_for_lease(HiloTerm *term)
{
	AcceptInvalidationMessages();
	*term = this_hub()->term;
	return term->lineage != 0 &&
		(hilo_hub_auto_resume ?
		 this_hub()->waited == ALL_WAITED && hilo_hub_requires_all_standbys() :
		 this_hub()->waited == 0);
}

/*
 * What the settings say counts, even if the server does not follow them yet: the wait
 * finds out.
 */
void
hilo_hub_wait_for_lease(XLogRecPtr lsn)
{
	/* Another session may have begun to wait since the term was read. */
	AcceptInvalidationMessages();
	hilo_flush_everywhere(lsn, hilo_hub_auto_resume ||
						  (this_hub()->waited != 0 && max_wal_senders > 0 &&
						   SyncRepStandbyNames != NULL && SyncRepStandbyNames[0] != '\0'));
}

static inline bool
is_number(NullableDatum column, int64 number)
{
	return !column.isnull && DatumGetInt64(column.value) == number;
}

bool
hilo_member_is_current(const char *member, const char *counter, int64 epoch,
					   const HiloTerm *known, const HiloTerm *own, NullableDatum started)
{
	LOCAL_FCINFO(call, 0);
	Relation	rel = hilo_catalog_open(HILO_TABLE_MEMBERS, AccessShareLock);
	Oid			index = RelationGetReplicaIndex(rel);
	bool		is_current = false;
	ScanKeyData key[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	NullableDatum columns[MEMBER_COLUMNS];
	Datum		address;
	TimestampTz now = GetCurrentTimestamp();

	InitFunctionCallInfoData(*call, NULL, 0, InvalidOid, NULL, NULL);
	address = inet_client_addr(call);
	ScanKeyInit(&key[0], MEMBER_NAME, BTEqualStrategyNumber, F_TEXTEQ,
				CStringGetTextDatum(member));
	ScanKeyInit(&key[1], MEMBER_COLLECTION, BTEqualStrategyNumber, F_TEXTEQ,
				CStringGetTextDatum(counter));
	scan = systable_beginscan(rel, index, OidIsValid(index), NULL, 2, key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		for (int i = MEMBER_EPOCH; i < MEMBER_COLUMNS; i++)
			columns[i].value = hilo_getattr(tuple, i, RelationGetDescr(rel), &columns[i].isnull);
		is_current = is_number(columns[MEMBER_EPOCH], epoch) &&
			!columns[MEMBER_KNOWN_TERM].isnull &&
			DatumGetInt64(columns[MEMBER_KNOWN_TERM].value) >= known->number &&
			is_number(columns[MEMBER_REPORTED_TERM], own->number) &&
			is_number(columns[MEMBER_REPORTED_ID], own->id) &&
			DatumGetTimestampTz(columns[MEMBER_SEEN_AT].value) <= now &&
			DatumGetTimestampTz(columns[MEMBER_SEEN_AT].value) >= now - 60 * USECS_PER_SEC &&
			columns[MEMBER_ADDRESS].isnull == call->isnull &&
			(call->isnull ||
			 DatumGetBool(DirectFunctionCall2(network_eq, address, columns[MEMBER_ADDRESS].value))) &&
			(started.isnull ||
			 is_number(columns[MEMBER_STARTED], DatumGetInt64(started.value)));
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return is_current;
}

/*
 * Changes
 */

/*
 * Call a function of the install script as the owner of all of them, whose changes the
 * guard lets through, also in a security-restricted context: the worker that applies
 * changes of another server may be in one.  If the function is stable, it sees what is
 * committed by now, at any isolation level.
 */
static Datum
call_as_owner(const char *function, int nargs, Datum first, Datum second)
{
	Oid			user;
	int			context;
	Oid			oid;
	Datum		result;

	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(hilo_catalog_functions_owner(),
						   SECURITY_LOCAL_USERID_CHANGE);
	oid = DatumGetObjectId(DirectFunctionCall1(regprocin,
											   CStringGetDatum(function)));
	PushActiveSnapshot(GetLatestSnapshot());
	result = nargs == 1 ? OidFunctionCall1(oid, first) :
		OidFunctionCall2(oid, first, second);
	PopActiveSnapshot();
	SetUserIdAndSecContext(user, context);
	return result;
}

void
hilo_hub_note(const char *hub, const char *role)
{
	(void) call_as_owner(HILO_SCHEMA "._note_hub", 2, CStringGetTextDatum(hub),
						 CStringGetTextDatum(role));
}

/* True if the role may choose the server from which numbers are leased. */
static bool
may_lease(Oid role)
{
	Oid			types[] = {TEXTOID, TEXTOID, INT8OID};

	return hilo_catalog_may_execute("lease_from", types, 3, role);
}

/*
 * A row about another server names a role whose user mapping would be used to ask it, so
 * it is left out unless the user may choose servers.
 */
void
hilo_hub_restore(HiloTable table, const char *name, HeapTuple tuple,
				 TupleDesc desc)
{
	if (table == HILO_TABLE_HUBS)
	{
		if (name[0] == '\0' || strlen(name) >= NAMEDATALEN)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("hub must be the name of a server")));
		if (!hilo_is_own_name(name) && !may_lease(GetUserId()))
			return;
	}
	(void) call_as_owner(table == HILO_TABLE_HUBS ? HILO_SCHEMA "._restore_hub" :
						 HILO_SCHEMA "._restore_member",
						 1, heap_copy_tuple_as_datum(tuple, desc), (Datum) 0);
}

/*
 * Without that right the row has no hub, like the row of a member that has left it:
 * draws are refused until someone says where numbers come from.
 */
void
hilo_hub_admit(const char *name, HiloRow *row)
{
	if (may_lease(GetUserId()))
		return;
	if (row->flags & HILO_ROW_LEASED)
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg(HILO_COUNTER_FORMAT " is no longer leased from server \"%s\"",
						HILO_COUNTER_ARGS(name), NameStr(row->hub)),
				 errdetail("Role \"%s\" may not choose the server that numbers come from.",
						   GetUserNameFromId(GetUserId(), false)),
				 errhint("A superuser can do that with hilo.lease_from().")));
	memset(&row->hub, 0, sizeof(NameData));
}

/*
 * Members
 */

/*
 * The members that have leased from the counter, as a list for a message,
 * palloc'd, "" if there are none; those whose last lease is of another epoch, unless
 * that is 0.
 */
static char *
members_of(const char *counter, int64 epoch)
{
	return TextDatumGetCString(call_as_owner(HILO_SCHEMA "._members_of", 2,
											 CStringGetTextDatum(counter),
											 Int64GetDatum(epoch)));
}

/* This transaction has given a lease, or lets none be given. */
static bool is_giving = false;

/* Transaction callback. */
static void
end_transaction(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_PRE_PREPARE && is_giving)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot PREPARE a transaction in which a hub has given a lease or forgotten a member")));
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT)
		is_giving = false;
}

/*
 * From now on this transaction cannot be prepared: what would be left of it could
 * hold up all leases.
 */
static void
refuse_prepare(void)
{
	static bool is_registered = false;

	if (!is_registered)
		RegisterXactCallback(end_transaction, NULL);
	is_registered = true;
	is_giving = true;
}

/*
 * The lock is none of a table: vacuum and REINDEX CONCURRENTLY, which waits for
 * transactions, are not in the way.
 */
void
hilo_leases_begin(void)
{
	LOCKTAG		tag = hilo_task_tag(HILO_GIVE_LEASES);

	refuse_prepare();
	(void) LockAcquire(&tag, ShareLock, false, false);
}

/* The transaction that has forgotten members, and may be rolled back. */
static LocalTransactionId forgetting = InvalidLocalTransactionId;

void
hilo_leases_stop_until_commit(void)
{
	refuse_prepare();
	hilo_stop_giving();
	forgetting = hilo_local_xid();
}

void
hilo_members_refuse(const char *counter)
{
	const char *names = hilo_is_hub() ? members_of(counter, 0) : "";

	if (forgetting == hilo_local_xid())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot change " HILO_COUNTER_FORMAT " in the transaction that forgot a member",
						HILO_COUNTER_ARGS(counter)),
				 errdetail("A rollback would bring the member back, but not the counter."),
				 errhint("Commit first.")));
	if (names[0] != '\0')
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg(HILO_COUNTER_FORMAT " has given leases",
						HILO_COUNTER_ARGS(counter)),
				 errdetail("Members may still draw from them: %s.", names),
				 errhint("Call hilo.hub_forget() for each that no longer does; hilo.drop() with force forgets all.")));
}

void
hilo_members_forget_counter(const char *counter)
{
	if (hilo_is_hub())
		(void) call_as_owner(HILO_SCHEMA "._forget_counter", 1,
							 CStringGetTextDatum(counter), (Datum) 0);
}

void
hilo_members_warn(HiloRowRef *ref)
{
	HiloRow		row;
	char	   *names;

	if (!hilo_is_hub())
		return;
	(void) hilo_counter_read(ref, &row);
	names = members_of(ref->name, row.epoch);
	if (names[0] != '\0')
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("members may draw from earlier leases until their next request: %s",
						names),
				 errdetail("The answer to that request invalidates these leases."),
				 errhint("To make a member ask now, call hilo.lease_report() there.")));
}

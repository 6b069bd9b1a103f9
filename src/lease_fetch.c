/*-------------------------------------------------------------------------
 *
 * lease_fetch.c
 *	  Gets leases from the hub, when they are needed or ahead of that.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/lock.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "failure_point.h"
#include "lease_fetch.h"
#include "settings.h"

void
hilo_leased_init(HiloLeased *leased, HiloName collection)
{
	hilo_counter_init(&leased->counter, HILO_TABLE_COLLECTIONS, collection);
	hilo_counter_init(&leased->lease, HILO_TABLE_LEASES, collection);
}

/*
 * The lock of who asks for a collection, held to the end of the exchange: one on
 * an object that does not exist, of the table as a class.  Names that have the
 * same hash wait for each other.
 */
static void
set_lock_tag(LOCKTAG *tag, HiloName name)
{
	SET_LOCKTAG_OBJECT(*tag, MyDatabaseId,
					   hilo_catalog_table(HILO_TABLE_LEASES),
					   hash_bytes((const unsigned char *) name.data, name.len),
					   0);
}

static bool
lock_fetch(HiloName name, bool wait)
{
	LOCKTAG		tag;

	set_lock_tag(&tag, name);
	return LockAcquire(&tag, ExclusiveLock, false, !wait) !=
		LOCKACQUIRE_NOT_AVAIL;
}

void
hilo_lease_lock_fetch(HiloName collection)
{
	(void) lock_fetch(collection, true);
}

void
hilo_lease_unlock_fetch(HiloName collection)
{
	LOCKTAG		tag;

	set_lock_tag(&tag, collection);
	LockRelease(&tag, ExclusiveLock, false);
}

/* Has the hub failed so recently that it is not to be asked again yet? */
static bool
failed_lately(const HiloLeaseState *state)
{
	TimestampTz now = GetCurrentTimestamp();

	return state->failed_at != DT_NOBEGIN && state->failed_at <= now &&
		now - state->failed_at < hilo_lease_retry * INT64CONST(1000);
}

static void
report_failure(HiloName name, const HiloHub *hub, int code,
			   TimestampTz since, const char *message, const char *hint)
{
	ereport(ERROR,
			(errcode(code),
			 errmsg("could not lease numbers of collection \"%.*s\" from server \"%s\"",
					name.len, name.data, NameStr(hub->server)),
			 errdetail("It has given none since %s: %s",
					   timestamptz_to_str(since), message),
			 hint == NULL ? 0 : errhint("%s", hint)));
}

static void
report_no_hub(HiloName name)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("collection \"%.*s\" has used up its leases, and has no hub any more",
					name.len, name.data),
			 errhint("Lease it again with hilo_lease_from(), or let it count by hilo_seed() with force, from where no other server does.")));
}

static void
report_limit(HiloName name, int64 limit)
{
	ereport(ERROR,
			(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
			 errmsg("collection \"%.*s\" has not enough numbers left",
					name.len, name.data),
			 errdetail("The limit is " INT64_FORMAT ".", limit)));
}

static HiloHub
hub_of(const HiloCounterRow *row)
{
	HiloHub		hub = {row->hub, row->hub_role};

	return hub;
}

/* How many numbers the next lease should have, at least least. */
static int64
lease_size(const HiloCounterRow *row, const HiloLeaseState *state,
		   int64 least)
{
	int64		min = row->lease_size > 0 ? row->lease_size :
		hilo_min_lease_size;
	int64		age = state->leased_at == DT_NOBEGIN ? 0 :
		GetCurrentTimestamp() - state->leased_at;
	int64		size = hilo_range_size(state->last_size, age,
									   hilo_lease_duration * INT64CONST(1000),
									   min, Max(min, hilo_max_lease_size));

	return Max(size, least);
}

/* The highest number that is known here to be used, or leased. */
static int64
highest_known(const HiloCounterRow *row, const HiloLeaseState *state)
{
	return Max(row->max, Max(state->current.high, state->next.high));
}

/* Put a lease where claims find it. */
static void
add_lease(HiloLeased *leased, HiloRange range)
{
	HILO_FAILURE_POINT("lease got");
	hilo_counter_note_leased(&leased->counter, range, false);
	HILO_FAILURE_POINT("lease noted");
	hilo_lease_add(&leased->lease, range);
	HILO_FAILURE_POINT("lease added");
}

/*
 * Ask for a lease with so many numbers, all above floor, and add what is got of
 * it.  The fetch is locked.  Returns the error that the hub gave; it is
 * remembered.
 */
static ErrorData *
fetch(HiloLeased *leased, const HiloCounterRow *row,
	  const HiloLeaseState *state, int64 least, int64 floor,
	  HiloRange *range)
{
	HiloHub		hub = hub_of(row);
	ErrorData  *error = hilo_hub_try_lease(&hub, leased->counter.name,
								lease_size(row, state, least), floor, range);

	if (error != NULL)
	{
		if (error->sqlerrcode == ERRCODE_QUERY_CANCELED)
			ReThrowError(error);
		hilo_lease_note_failure(&leased->lease, error->sqlerrcode,
								error->message);
		return error;
	}

	range->high = Min(range->high, row->max_value);
	if (range->low <= row->max_value)
		add_lease(leased, *range);
	else
	{
		/* It is past all that can be used: no need to ask it again. */
		range->low = range->high;
		hilo_counter_note_leased(&leased->counter, *range, false);
	}
	return NULL;
}

/*
 * Raise an error if less was got than a claim needs.  The hub is not asked for
 * more at once, as it would give another lease away.
 */
static void
check_size(HiloLeased *leased, const HiloCounterRow *row,
		   const HiloRange *range, int64 least)
{
	HiloName	name = leased->counter.name;
	HiloHub		hub = hub_of(row);
	int64		size = range->high - range->low + 1;
	char	   *message;

	if (size >= least)
		return;
	if (range->high == row->max_value)
		report_limit(name, row->max_value);

	message = psprintf("it was asked for " INT64_FORMAT " numbers in a row, and has given " INT64_FORMAT,
					   least, size);
	hilo_lease_note_failure(&leased->lease,
							ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED,
							message);
	report_failure(name, &hub, ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED,
				   GetCurrentTimestamp(), message, NULL);
}

bool
hilo_lease_fetch(HiloLeased *leased, const HiloRangeRequest *request)
{
	HiloName	name = leased->counter.name;
	HiloCounterRow row;
	HiloLeaseState before;
	HiloLeaseState state;
	HiloHub		hub;
	HiloRange	range;
	int64		least = request->exact ? request->size : 1;
	int64		floor;
	ErrorData  *error;

	/* Wherever a lease starts, a multiple of that is not far. */
	if (request->alignment > 1)
		least += request->alignment - 1;

	hilo_lease_read(&leased->lease, &before);
	if (!lock_fetch(name, before.failed_at == DT_NOBEGIN))
	{
		if (!hilo_counter_read(&leased->counter, &row, false))
			return false;
		hub = hub_of(&row);
		report_failure(name, &hub, before.error_code, before.failing_since,
					   before.error, NULL);
	}

	if (!hilo_counter_read(&leased->counter, &row, true) || !row.leased)
	{
		hilo_lease_unlock_fetch(name);
		return false;
	}
	hilo_lease_read(&leased->lease, &state);
	if (state.leased_at != before.leased_at)
	{
		hilo_lease_unlock_fetch(name);
		return true;
	}

	hub = hub_of(&row);
	if (NameStr(hub.server)[0] == '\0')
		report_no_hub(name);
	if (failed_lately(&state))
		report_failure(name, &hub, state.error_code, state.failing_since,
					   state.error, NULL);

	floor = Max(request->floor, highest_known(&row, &state));
	if (floor >= row.max_value)
		report_limit(name, row.max_value);

	error = fetch(leased, &row, &state, least, floor, &range);
	if (error != NULL)
		report_failure(name, &hub, error->sqlerrcode,
					   state.failing_since != DT_NOBEGIN ?
					   state.failing_since : GetCurrentTimestamp(),
					   error->message, error->hint);
	check_size(leased, &row, &range, least);
	hilo_lease_unlock_fetch(name);
	return true;
}

/* What asking a hub has ended in. */
typedef struct HubError
{
	HiloHub		hub;
	ErrorData  *error;
} HubError;

/* The error of a hub that was not to be reached; NULL: none. */
static ErrorData *
find_error(const List *errors, const HiloHub *hub)
{
	ListCell   *lc;

	foreach(lc, errors)
	{
		const HubError *it = lfirst(lc);

		if (memcmp(&it->hub, hub, sizeof(HiloHub)) == 0)
			return it->error;
	}
	return NULL;
}

/*
 * Get the next lease, if it is still needed, nobody is at it, and the hub has
 * not failed lately.  Errors of the hub go to the log.  Returns the one that says
 * that it is not to be reached, with *hub; which may be known beforehand.
 */
static ErrorData *
fetch_if_low(HiloLeased *leased, const List *errors, HiloHub *hub)
{
	HiloName	name = leased->counter.name;
	HiloCounterRow row;
	HiloLeaseState state;
	HiloRange	range;
	ErrorData  *error = NULL;

	if (!lock_fetch(name, false))
		return NULL;

	hilo_lease_read(&leased->lease, &state);
	if (hilo_lease_is_low(&state) && !failed_lately(&state) &&
		hilo_counter_read(&leased->counter, &row, true) && row.leased &&
		NameStr(row.hub)[0] != '\0' &&
		highest_known(&row, &state) < row.max_value)
	{
		*hub = hub_of(&row);
		error = find_error(errors, hub);
		if (error != NULL)
			hilo_lease_note_failure(&leased->lease, error->sqlerrcode,
									error->message);
		else
			error = fetch(leased, &row, &state, 1,
						  highest_known(&row, &state), &range);
		if (error != NULL)
			ereport(LOG,
					(errcode(error->sqlerrcode),
					 errmsg("could not lease numbers of collection \"%.*s\" from server \"%s\" ahead: %s",
							name.len, name.data, NameStr(row.hub),
							error->message)));
	}
	hilo_lease_unlock_fetch(name);
	return error != NULL &&
		ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_CONNECTION_EXCEPTION ?
		error : NULL;
}

static bool
start_worker(void)
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
	return RegisterDynamicBackgroundWorker(&worker, NULL);
}

void
hilo_lease_fetch_ahead(HiloLeased *leased)
{
	HiloHub		hub;

	if (!start_worker())
		(void) fetch_if_low(leased, NIL, &hub);
}

static int64
set_hub(HiloLeased *leased, const HiloHub *hub, int64 size)
{
	return hilo_counter_set_hub(&leased->counter, NameStr(hub->server),
								NameStr(hub->role), size);
}

HiloRange
hilo_lease_begin(HiloLeased *leased, const HiloHub *hub, int64 size)
{
	HiloName	name = leased->counter.name;
	HiloCounterRow row = {0};
	HiloLeaseState state;
	HiloRange	range;
	ErrorData  *error;
	int64		max;

	hilo_lease_lock_fetch(name);
	if (!hilo_counter_read(&leased->counter, &row, true))
		row.max_value = PG_INT64_MAX;
	row.lease_size = size;
	hilo_lease_read(&leased->lease, &state);

	max = highest_known(&row, &state);

	/*
	 * From here on nobody counts, but waits for us: what was counted while the
	 * hub goes above it, others could have been given by then.  Leases of an
	 * earlier time may have been counted past.
	 */
	if (!row.leased)
	{
		hilo_lease_raise(&leased->lease, PG_INT64_MAX, true);
		max = Max(max, set_hub(leased, hub, size));
		HILO_FAILURE_POINT("hub set");
	}

	error = hilo_hub_try_lease(hub, name, lease_size(&row, &state, 1), max,
							   &range);
	if (error != NULL || range.low > row.max_value)
	{
		if (!row.leased)
			hilo_counter_unset_hub(&leased->counter);
		if (error != NULL)
			ReThrowError(error);
		report_limit(name, row.max_value);
	}
	if (row.leased)
		(void) set_hub(leased, hub, size);
	range.high = Min(range.high, row.max_value);
	add_lease(leased, range);
	hilo_lease_unlock_fetch(name);
	return range;
}

/* The names of the collections whose next lease should be fetched. */
static void
note_if_low(HiloName name, const HiloCounterRow *row, const HiloLease *lease,
			void *arg)
{
	List	  **names = arg;
	HiloName   *copy;

	/* Whether it really is low, is looked at again when it is fetched. */
	if (lease->next_high != 0)
		return;
	copy = palloc(sizeof(HiloName));
	copy->data = pnstrdup(name.data, name.len);
	copy->len = name.len;
	*names = lappend(*names, copy);
}

/*
 * Is this the only worker of the database, until the end of the transaction?  There
 * is none for each collection, or they would take all of max_worker_processes
 * when a hub does not answer.
 */
static bool
lock_worker(void)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId,
					   hilo_catalog_table(HILO_TABLE_LEASES), 0, 1);
	return LockAcquire(&tag, ExclusiveLock, false, true) !=
		LOCKACQUIRE_NOT_AVAIL;
}

/*
 * Fetch what is low, once for each collection, and end.  It serves all of
 * the database, as the name of one does not fit into what a worker is told.  A hub
 * that is not to be reached is asked once.
 */
void
hilo_lease_worker(Datum database)
{
	List	   *names = NIL;
	List	   *errors = NIL;
	ListCell   *lc;
	MemoryContext context;

	/* The default ends it at once, be it in the middle of a change. */
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(DatumGetObjectId(database),
											  InvalidOid, 0);
	context = AllocSetContextCreate(TopMemoryContext, "hilo lease worker",
									ALLOCSET_DEFAULT_SIZES);
	pgstat_report_activity(STATE_RUNNING, "fetching leases of hilo");

	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	MemoryContextSwitchTo(context);
	if (lock_worker())
		hilo_row_visit(HILO_TABLE_LEASES, note_if_low, &names);
	PopActiveSnapshot();
	CommitTransactionCommand();

	foreach(lc, names)
	{
		HiloName   *name = lfirst(lc);
		HubError	failed;
		HiloLeased	leased;

		StartTransactionCommand();
		PushActiveSnapshot(GetTransactionSnapshot());
		if (!lock_worker())
			names = NIL;		/* the other one goes through all of them */
		else
		{
			MemoryContextSwitchTo(context);
			hilo_leased_init(&leased, *name);
			failed.error = fetch_if_low(&leased, errors, &failed.hub);
			if (failed.error != NULL &&
				find_error(errors, &failed.hub) == NULL)
			{
				HubError   *copy = palloc(sizeof(HubError));

				*copy = failed;
				errors = lappend(errors, copy);
			}
		}
		PopActiveSnapshot();
		CommitTransactionCommand();
		if (names == NIL)
			break;
	}
}

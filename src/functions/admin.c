/*-------------------------------------------------------------------------
 *
 * admin.c
 *	  The SQL functions that administer collections: seed, drop, configure, and
 *	  those of ordered ones.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/pg_lsn.h"
#include "utils/snapmgr.h"

#include "base/sql.h"
#include "counting/source.h"
#include "session/call.h"
#include "shared/pool.h"
#include "tables/binding.h"

PG_FUNCTION_INFO_V1(hilo_seed);

Datum
hilo_seed(PG_FUNCTION_ARGS)
{
	HiloCollection collection;

	hilo_api_prevent_unless_may_write("hilo.seed()");
	(void) hilo_api_administered(fcinfo, &collection);
	hilo_prevent_on_worker(&collection.ref, "hilo.seed");

	/*
	 * Where this transaction has unbound it, a rollback may bring the column
	 * back.
	 */
	if (hilo_collection_row(&collection)->flags & HILO_ROW_BOUND &&
		(hilo_is_bound(collection.ref.name, InvalidCommandId) ||
		 !hilo_is_bound(collection.ref.name, FirstCommandId)))
		(void) hilo_collection_set_limit(&collection);
	PG_RETURN_INT64(hilo_api_seed(fcinfo, &collection));
}

/*
 * Drop
 */

/*
 * Lock the bindings, and raise an error if a column draws from the collection, or
 * it is bound, or a rollback could bring that back.
 */
static void
lock_unbound(const char *collection)
{
	Oid			table;

	/*
	 * Lock the bindings first: a session that is binding the name could not
	 * undo the drop.
	 */
	(void) hilo_bindings_lock(collection, true);
	table = hilo_drawing_table(collection, InvalidCommandId);
	if (OidIsValid(table))
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("a column of table %s draws from collection \"%s\"",
						hilo_sql_table(table), collection),
				 errhint("Undo that with hilo.detach(), or change the default, first.")));
	if (hilo_is_bound(collection, InvalidCommandId))
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("collection \"%s\" is bound to documents",
						collection),
				 errhint("Undo that with hilo.unbind() first.")));
	if (OidIsValid(hilo_drawing_table(collection, FirstCommandId)) ||
		hilo_is_bound(collection, FirstCommandId))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot drop collection \"%s\" in the transaction that unbound it",
						collection),
				 errdetail("A rollback would bring the binding back, but not the counter."),
				 errhint("Commit first.")));
}

/*
 * The name of the identity that is called as the collection, or the other way round;
 * NULL: there is none.
 */
static const char *
namesake(const char *name)
{
	const char *other = hilo_is_identity(name) ?
		pnstrdup(name, strlen(name) - 1) : psprintf("%s|", name);
	HiloRowRef	ref = {.name = other};
	HiloRow		row;

	return hilo_counter_read(&ref, &row) ? other : NULL;
}

PG_FUNCTION_INFO_V1(hilo_drop);

Datum
hilo_drop(PG_FUNCTION_ARGS)
{
	HiloCollection collection;
	const char *name;
	bool		is_identity;
	bool		dropped;
	List	   *bindings;

	hilo_api_prevent_unless_may_write("hilo.drop()");
	is_identity = hilo_api_administered(fcinfo, &collection);
	name = collection.ref.name;
	hilo_prevent_on_worker(&collection.ref, "hilo.drop");

	if (!is_identity)
		lock_unbound(name);
	dropped = hilo_collection_drop(&collection,
								   hilo_api_bool(fcinfo, 1, "force"));
	if (!dropped)
	{
		const char *other = namesake(name);

		ereport(NOTICE,
				(errmsg(HILO_COUNTER_FORMAT " does not exist",
						HILO_COUNTER_ARGS(name)),
				 other == NULL ? 0 :
				 errhint("There is " HILO_COUNTER_FORMAT "; to drop that, call it \"%s\".",
						 HILO_COUNTER_ARGS(other), other)));
	}
	if (is_identity)
		PG_RETURN_BOOL(dropped);

	/*
	 * Remove what is recorded: roles that are allowed, tables that no longer
	 * exist.
	 */
	bindings = hilo_bindings(name).all;
	foreach_ptr(HiloBinding, binding, bindings)
		(void) hilo_binding_remove(name, binding);
	if (bindings == NIL)
		hilo_bindings_unlock(name);
	PG_RETURN_BOOL(dropped);
}

/*
 * Configure
 */

/* Argument number arg, between 1 and limit; 0 if it is NULL. */
static int64
option_argument(FunctionCallInfo fcinfo, int arg, const char *name,
				int64 limit)
{
	return PG_ARGISNULL(arg) ? 0 : hilo_api_count(fcinfo, arg, name, limit, NULL);
}

/* The options to set for a counter; limit is the highest max_value allowed. */
static HiloCounterOptions
options_arguments(FunctionCallInfo fcinfo, const char *name, int64 limit)
{
	HiloCounterOptions options = {0};

	options.range_size = option_argument(fcinfo, 1, "range_size", INT_MAX);
	options.max_range_size = option_argument(fcinfo, 2, "max_range_size",
											 INT_MAX);
	options.max_value = option_argument(fcinfo, 3, "max_value", limit);
	options.reset = hilo_api_bool(fcinfo, 6, "reset");
	options.own_limit = options.max_value > 0 && options.max_value < limit;
	if (options.reset && options.max_value == 0)
		options.max_value = limit;
	options.change_order = !PG_ARGISNULL(7);
	options.ordered = options.change_order && PG_GETARG_BOOL(7);
	if (!PG_ARGISNULL(4))
	{
		options.node_tag = text_to_cstring(PG_GETARG_TEXT_PP(4));
		hilo_check_node_tag(options.node_tag);
	}
	if (!PG_ARGISNULL(5))
	{
		options.separator = text_to_cstring(PG_GETARG_TEXT_PP(5));
		hilo_check_own_separator(name, options.separator);
	}
	return options;
}

static void
refuse_identity(bool is_identity)
{
	if (is_identity)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("identities cannot be ordered"),
				 errdetail("Their numbers come in order anyway, but have no horizon.")));
}

PG_FUNCTION_INFO_V1(hilo_configure);

Datum
hilo_configure(PG_FUNCTION_ARGS)
{
	HiloCollection collection;
	const char *name;
	HiloCounterOptions options;
	bool		is_identity;
	HiloRow		before;
	bool		is_there;

	hilo_api_prevent_unless_may_write("hilo.configure()");
	is_identity = hilo_api_administered(fcinfo, &collection);
	name = collection.ref.name;
	hilo_prevent_on_worker(&collection.ref, "hilo.configure");
	is_there = hilo_counter_read(&collection.ref, &before);
	options = options_arguments(fcinfo, name, is_identity ? PG_INT64_MAX :
								hilo_bindings(name).limit);

	if (options.ordered)
		refuse_identity(is_identity);
	hilo_collection_configure(&collection, &options);
	if (!is_there)
		hilo_api_notice_created(name);
	PG_RETURN_VOID();
}

/*
 * Ordered collections
 */

/*
 * The snapshot is that of the calling statement; for a cursor, the one with
 * which the cursor was opened.
 */
PG_FUNCTION_INFO_V1(hilo_horizon);

Datum
hilo_horizon(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = hilo_api_result_desc(fcinfo);
	HiloEntry  *entry;
	int64		horizon;
	int64		epoch;
	XLogRecPtr	lsn;
	Datum		values[3];

	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot execute %s during recovery", "hilo.horizon()"),
				 errhint("Call it on the primary, wait here until pg_last_wal_replay_lsn() has reached the lsn that it returned, then read up to the horizon.")));
	refuse_identity(hilo_ends_with(hilo_api_name(fcinfo, 0, "collection"), "|"));
	entry = hilo_api_entry(fcinfo);
	hilo_collection_horizon(&entry->collection, GetActiveSnapshot(), &horizon,
							&epoch, &lsn);

	values[0] = Int64GetDatum(horizon);
	values[1] = Int64GetDatum(epoch);
	values[2] = LSNGetDatum(lsn);
	return hilo_api_result(desc, values);
}

/*
 * Wait until all transactions of this database have ended that are running now,
 * prepared ones too, as CREATE INDEX CONCURRENTLY does.
 */
static void
wait_for_transactions(void)
{
	int			count;
	VirtualTransactionId *running = GetCurrentVirtualXIDs(InvalidTransactionId,
														  false, false,
														  PROC_IN_VACUUM,
														  &count);

	for (int i = 0; i < count; i++)
		(void) VirtualXactLock(running[i], true);
}

/*
 * The change of the row takes effect when it is made.  The commit only ends our
 * snapshot, so that no session waits for this one while it waits.  The lock is there
 * because two sessions that do this would wait for each other.
 */
PG_FUNCTION_INFO_V1(hilo_make_ordered);

Datum
hilo_make_ordered(PG_FUNCTION_ARGS)
{
	CallContext *call = (CallContext *) fcinfo->context;
	HiloCounterOptions options = {.change_order = true,.ordered = true,.in_use = true};
	HiloCollection collection;
	LOCKTAG		tag = hilo_task_tag(HILO_MAKE_ORDERED);
	int			flags;

	if (call == NULL || !IsA(call, CallContext) || call->atomic)
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("%s cannot be called in a transaction block",
						"hilo.make_ordered()"),
				 errhint("A collection from which nothing was drawn becomes ordered with hilo.configure().")));
	hilo_api_prevent_unless_may_write("hilo.make_ordered()");

	SPI_connect_ext(SPI_OPT_NONATOMIC);
	refuse_identity(hilo_api_administered(fcinfo, &collection));
	hilo_prevent_on_worker(&collection.ref, "hilo.make_ordered");
	if (LockAcquire(&tag, ExclusiveLock, true, true) == LOCKACQUIRE_NOT_AVAIL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("another session of this database is making a collection ordered"),
				 errhint("Try again when it has finished.")));
	flags = hilo_collection_row(&collection)->flags;
	if (flags & HILO_ROW_SETTLED)
		ereport(NOTICE,
				(errmsg("collection \"%s\" is ordered already",
						collection.ref.name)));
	else
	{
		hilo_collection_configure(&collection, &options);
		if (flags & HILO_ROW_DROPPED)
			hilo_api_notice_created(collection.ref.name);
		SPI_commit();
		wait_for_transactions();
		if (!hilo_collection_settle_order(&collection))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("collection \"%s\" has not become ordered", collection.ref.name),
					 errdetail("Another session has changed it meanwhile.")));
	}
	LockRelease(&tag, ExclusiveLock, true);
	SPI_finish();
	PG_RETURN_VOID();
}

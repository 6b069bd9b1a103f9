/*-------------------------------------------------------------------------
 *
 * ordered.c
 *	  SQL functions of ordered collections: up to which number readers can trust
 *	  one, and how one that is in use becomes ordered.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "nodes/parsenodes.h"
#include "utils/pg_lsn.h"
#include "utils/snapmgr.h"

#include "session/call.h"
#include "shared/pool.h"

PG_FUNCTION_INFO_V1(hilo_horizon);
PG_FUNCTION_INFO_V1(hilo_make_ordered);

/*
 * The snapshot is that of the calling statement; for a cursor, the one with
 * which the cursor was opened.
 */
Datum
hilo_horizon(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = hilo_api_result_desc(fcinfo);
	HiloEntry  *entry = hilo_api_entry(fcinfo);
	Snapshot	snapshot = GetActiveSnapshot();
	int64		horizon;
	int64		epoch;
	XLogRecPtr	lsn;
	Datum		values[3];
	bool		nulls[3] = {0};

	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot execute %s during recovery", "hilo.horizon()"),
				 errhint("Call it on the primary, wait here until pg_last_wal_replay_lsn() has reached the lsn that it returned, then read up to the horizon.")));
	hilo_collection_horizon(&entry->collection, snapshot, &horizon, &epoch, &lsn);

	values[0] = Int64GetDatum(horizon);
	values[1] = Int64GetDatum(epoch);
	values[2] = LSNGetDatum(lsn);
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

/*
 * The change of the row is committed, so to speak, when it is made; the commit
 * ends our snapshot, so that nobody waits for this session while it waits.  Two
 * sessions would wait for each other.
 */
Datum
hilo_make_ordered(PG_FUNCTION_ARGS)
{
	CallContext *call = (CallContext *) fcinfo->context;
	HiloCollection collection;

	if (call == NULL || !IsA(call, CallContext) || call->atomic)
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("%s cannot be called in a transaction block",
						"hilo.make_ordered()"),
				 errhint("A collection from which nothing was drawn becomes ordered with hilo.configure().")));
	hilo_api_prevent_unless_may_write("hilo.make_ordered()");

	SPI_connect_ext(SPI_OPT_NONATOMIC);
	hilo_api_check_orderable(hilo_api_administered(fcinfo, &collection));
	collection.ref.name = pstrdup(collection.ref.name);
	if (!hilo_begin_task(HILO_MAKE_ORDERED))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("another session of this database is making a collection ordered"),
				 errhint("Try again when it has finished.")));
	if (hilo_collection_make_ordered(&collection))
	{
		SPI_commit();
		hilo_collection_wait_until_ordered(&collection);
	}
	else
		ereport(NOTICE,
				(errmsg("collection \"%s\" is ordered already",
						collection.ref.name)));
	hilo_end_task(HILO_MAKE_ORDERED);
	SPI_finish();
	PG_RETURN_VOID();
}

/*-------------------------------------------------------------------------
 *
 * ordered.c
 *	  SQL function that reports up to which number readers can trust an ordered
 *	  collection.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/pg_lsn.h"
#include "utils/snapmgr.h"

#include "session/call.h"

PG_FUNCTION_INFO_V1(hilo_horizon);

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
	HiloHorizon horizon;
	int64		epoch;
	Datum		values[3];
	bool		nulls[3] = {0};

	if (RecoveryInProgress() || snapshot->takenDuringRecovery)
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot execute %s during recovery", "hilo.horizon()"),
				 errhint("Call it on the primary, wait here until pg_last_wal_replay_lsn() has reached the lsn that it returned, then read up to the horizon.")));
	hilo_collection_horizon(&entry->collection, snapshot, &horizon, &epoch);

	values[0] = Int64GetDatum(horizon.number);
	values[1] = Int64GetDatum(epoch);
	values[2] = LSNGetDatum(horizon.lsn);
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

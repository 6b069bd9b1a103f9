/*-------------------------------------------------------------------------
 *
 * api_sync.c
 *	  The SQL functions that bring counters up to what is in the tables.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "api.h"
#include "sync.h"

PG_FUNCTION_INFO_V1(hilo_sync);
PG_FUNCTION_INFO_V1(hilo_sync_all);

/* The same, and this session forgets its range at once. */
static bool
sync_collection(HiloName collection, int64 *max)
{
	HiloCacheEntry *entry;

	if (!hilo_sync_collection(collection, max))
		return false;
	entry = hilo_cache_find(collection);
	if (entry != NULL)
		hilo_cache_forget(entry);
	return true;
}

Datum
hilo_sync(PG_FUNCTION_ARGS)
{
	HiloName	collection;
	int64		max;

	hilo_api_prevent_unless_may_write("hilo_sync()");
	collection = hilo_api_collection(fcinfo);
	if (!sync_collection(collection, &max))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("collection \"%.*s\" is not bound to a column",
						collection.len, collection.data),
				 errhint("Say with hilo_attach() or hilo_bind() where its ids are, or use hilo_seed().")));
	PG_RETURN_INT64(max);
}

/* Note the name of a collection that may be bound. */
static void
note_if_bound(HiloName name, const HiloCounterRow *row,
			  const HiloLease *lease, void *arg)
{
	List	  **names = arg;
	HiloName   *copy;

	if (!row->may_be_bound)
		return;
	copy = palloc(sizeof(HiloName));
	copy->data = pnstrdup(name.data, name.len);
	copy->len = name.len;
	*names = lappend(*names, copy);
}

Datum
hilo_sync_all(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	List	   *names = NIL;
	ListCell   *lc;

	hilo_api_prevent_unless_may_write("hilo_sync()");
	hilo_init_materialized(fcinfo);
	hilo_row_visit(HILO_TABLE_COLLECTIONS, note_if_bound, &names);
	foreach(lc, names)
	{
		HiloName   *name = lfirst(lc);
		Datum		values[2];
		bool		nulls[2] = {0};
		int64		max;

		CHECK_FOR_INTERRUPTS();
		if (!sync_collection(*name, &max))
			continue;
		values[0] = PointerGetDatum(cstring_to_text_with_len(name->data,
															 name->len));
		values[1] = Int64GetDatum(max);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

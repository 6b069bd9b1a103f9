/*-------------------------------------------------------------------------
 *
 * sync.c
 *	  Brings counters up to what is in the tables.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "binding.h"
#include "column_max.h"
#include "sync.h"

/* Highest number in the columns, not above limit. */
static int64
highest_in(List *bindings, HiloName collection, int64 limit)
{
	int64		highest = 0;
	ListCell   *lc;

	foreach(lc, bindings)
	{
		HiloBinding *binding = lfirst(lc);
		int64		number = hilo_column_max(binding->column, collection, limit);

		highest = Max(highest, number);
	}
	return highest;
}

/* Limit of a counter, which need not exist. */
static int64
limit_of(HiloCounter *counter)
{
	HiloCounterRow row;

	return hilo_counter_read(counter, &row, false) ? row.max_value :
		PG_INT64_MAX;
}

bool
hilo_sync_collection(HiloName collection, int64 *max)
{
	HiloSource	source;
	HiloCounter identity;
	List	   *bindings = NIL;
	bool		may_hold_identities = false;
	int64		limit;
	int64		highest;
	ListCell   *lc;

	/* One of several tables may be gone. */
	foreach(lc, hilo_bindings(collection))
	{
		HiloBinding *binding = lfirst(lc);

		if (!hilo_binding_has_column(binding))
			continue;
		bindings = lappend(bindings, binding);
		may_hold_identities = may_hold_identities || !binding->attached;
	}
	if (bindings == NIL)
		return false;

	hilo_source_init(&source, collection);
	limit = limit_of(&source.rows.counter);
	highest = highest_in(bindings, collection, limit);
	*max = hilo_source_seed(&source, highest, false);

	if (may_hold_identities)
	{
		hilo_counter_init(&identity, HILO_TABLE_IDENTITIES, collection);
		if (limit_of(&identity) != limit)
			highest = highest_in(bindings, collection, limit_of(&identity));
		(void) hilo_counter_seed(&identity, highest, false);
	}
	return true;
}

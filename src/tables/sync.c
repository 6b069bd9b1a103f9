/*-------------------------------------------------------------------------
 *
 * sync.c
 *	  Advances counters to the highest numbers in columns.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/guc.h"

#include "base/sql.h"
#include "tables/binding.h"
#include "tables/highest.h"
#include "tables/sync.h"

/* How long to wait for a lock on a table, unless the user has said so. */
#define LOCK_TIMEOUT	"5s"

/*
 * The living columns that a collection is bound or attached to, as a list of
 * HiloColumn *. *may_hold_identities is set to whether ids of the identity of that name may be there, too; attached
 * columns have none.
 */
static List *
columns_of(HiloCollection *counter, bool *may_hold_identities)
{
	List	   *columns = NIL;
	ListCell   *lc;

	*may_hold_identities = false;
	foreach(lc, hilo_bindings(counter->ref.name))
	{
		HiloBinding *binding = lfirst(lc);
		HiloColumn *column = palloc(sizeof(HiloColumn));

		if (!hilo_binding_column(counter->ref.name, binding, column))
			continue;
		columns = lappend(columns, column);
		*may_hold_identities = *may_hold_identities ||
			binding->kind == HILO_BOUND;
	}
	return columns;
}

/* Advance a counter, which need not exist, to the highest number in the columns. */
static int64
sync_counter(HiloCollection *counter, List *columns)
{
	HiloSought	sought = hilo_sought(counter);
	ListCell   *lc;

	/* A table need not be read below what was found in another one. */
	foreach(lc, columns)
		sought.above = hilo_column_highest(lfirst(lc), &sought, false);
	return hilo_collection_seed(counter, sought.above, false);
}

bool
hilo_sync_collection(const char *collection, int64 *max)
{
	bool		may_hold_identities;
	List	   *columns;
	HiloCollection counter;
	HiloCollection identity;
	char		buffer[HILO_MAX_ROW_NAME_LEN];
	int			level;

	hilo_collection_init(&counter, collection);
	columns = columns_of(&counter, &may_hold_identities);
	if (columns == NIL)
		return false;

	level = NewGUCNestLevel();
	if (LockTimeout == 0)
		hilo_sql_set_locally("lock_timeout", LOCK_TIMEOUT);
	*max = sync_counter(&counter, columns);
	if (may_hold_identities)
	{
		hilo_collection_init_identity(&identity, collection, buffer);
		(void) sync_counter(&identity, columns);
	}
	AtEOXact_GUC(false, level);
	return true;
}

static int
compare_names(const ListCell *a, const ListCell *b)
{
	return strcmp(lfirst(a), lfirst(b));
}

List *
hilo_sync_candidates(void)
{
	List	   *names = NIL;
	List	   *distinct = NIL;
	ListCell   *lc;

	foreach(lc, hilo_row_list())
	{
		HiloNamedRow *row = lfirst(lc);

		if (row->row.flags & HILO_ROW_BOUND)
			names = lappend(names, unconstify(char *, row->name));
	}

	list_sort(names, compare_names);
	foreach(lc, names)
	{
		if (distinct == NIL || strcmp(llast(distinct), lfirst(lc)) != 0)
			distinct = lappend(distinct, lfirst(lc));
	}
	return distinct;
}

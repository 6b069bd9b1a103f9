/*-------------------------------------------------------------------------
 *
 * sync.c
 *	  Advances counters to the highest numbers in columns.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/proc.h"
#include "utils/guc.h"

#include "base/sql.h"
#include "tables/binding.h"
#include "tables/highest.h"
#include "tables/sync.h"

/* How long to wait for a lock on a table, unless the user has said so. */
#define LOCK_TIMEOUT	"5s"

/* Advance a counter, which need not exist, to the highest number in the columns. */
static int64
sync_counter(HiloCollection *counter, List *bindings)
{
	HiloSought	sought = hilo_sought(counter);
	ListCell   *lc;

	/* A table need not be read below what was found in another one. */
	foreach(lc, bindings)
		sought.above = hilo_column_highest(&((HiloBinding *) lfirst(lc))->living,
										   &sought, false);
	return hilo_collection_seed(counter, sought.above, false);
}

bool
hilo_sync_collection(const char *name, int64 *max)
{
	List	   *bindings = hilo_living_bindings(name);
	HiloCollection collection;
	char		buffer[HILO_MAX_ROW_NAME_LEN];
	int			level;

	if (bindings == NIL)
		return false;
	hilo_bindings_refresh(name, bindings);
	level = NewGUCNestLevel();
	if (LockTimeout == 0)
		hilo_sql_set_locally("lock_timeout", LOCK_TIMEOUT);
	hilo_collection_init(&collection, name);
	*max = sync_counter(&collection, bindings);

	/* Attached columns hold no identities. */
	if (hilo_is_bound(name))
	{
		hilo_collection_init_identity(&collection, name, buffer);
		(void) sync_counter(&collection, bindings);
	}
	AtEOXact_GUC(false, level);
	return true;
}

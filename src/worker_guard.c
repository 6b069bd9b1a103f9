/*-------------------------------------------------------------------------
 *
 * worker_guard.c
 *	  Keeps workers of a Citus cluster from drawing what other nodes draw, too.
 *
 * Citus keeps in pg_dist_local_group, in one row, which group of the cluster a
 * node belongs to: 0 is the coordinator's.  When that changes it sends a
 * relcache message for the table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "catalog.h"
#include "compat.h"
#include "worker_guard.h"

#define GROUP_TABLE		"pg_dist_local_group"
#define GROUP_COLUMN	"groupid"

/* The table as last seen; InvalidOid: there was none. */
static Oid	group_table = InvalidOid;

/* What was found, and under which generation; 0: nothing yet. */
static bool is_worker = false;
static uint64 known_generation = 0;

/* Whether the table is there is part of the generation already. */
static void
group_changed(Datum arg, Oid relid)
{
	if (OidIsValid(group_table) && relid == group_table)
		hilo_rights_generation++;
}

void
hilo_worker_guard_init(void)
{
	CacheRegisterRelcacheCallback(group_changed, (Datum) 0);
}

/* Is there a row with a group above 0? */
static bool
has_group(Relation rel, AttrNumber attnum)
{
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	TableScanDesc scan = hilo_table_beginscan(rel, SnapshotSelf);
	bool		found = false;

	while (!found && table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, attnum, &isnull);

		found = !isnull && DatumGetInt32(value) > 0;
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	return found;
}

static bool
look_up(void)
{
	Relation	rel = NULL;
	AttrNumber	attnum;
	bool		result = false;

	group_table = get_relname_relid(GROUP_TABLE, PG_CATALOG_NAMESPACE);
	if (OidIsValid(group_table) &&
		get_rel_relkind(group_table) == RELKIND_RELATION)
		rel = try_table_open(group_table, AccessShareLock);
	if (rel == NULL)
		return false;

	attnum = get_attnum(group_table, GROUP_COLUMN);
	if (attnum > 0 && get_atttype(group_table, attnum) == INT4OID)
		result = has_group(rel, attnum);
	table_close(rel, AccessShareLock);
	return result;
}

bool
hilo_is_citus_worker(void)
{
	uint64		generation = hilo_rights_generation;

	if (known_generation != generation)
	{
		is_worker = look_up();
		known_generation = generation;
	}
	return is_worker;
}

void
hilo_worker_check(const char *counter, const char *name, int len,
				  bool unique_by_tag)
{
	if (unique_by_tag || hilo_allow_worker_draws || !hilo_is_citus_worker())
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("cannot draw from %s \"%.*s\" on a worker of a Citus cluster",
					counter, len, name),
			 errdetail("This node counts for itself, and other nodes would draw the same."),
			 errhint("Lease the numbers from the coordinator with hilo_lease_from(), identity_from() or the setting hilo.hub, or draw ids with a tag that only this node has in hilo.node_tag; or set hilo.allow_worker_draws, if nobody else draws these numbers.")));
}

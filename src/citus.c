/*-------------------------------------------------------------------------
 *
 * citus.c
 *	  What kind of node of a Citus cluster is this?
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
#include "utils/timestamp.h"

#include "catalog.h"
#include "citus.h"
#include "compat.h"
#include "settings.h"

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
hilo_citus_init(void)
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
hilo_citus_is_worker(void)
{
	uint64		generation = hilo_rights_generation;

	if (known_generation != generation)
	{
		is_worker = look_up();
		known_generation = generation;
	}
	return is_worker;
}

bool
hilo_citus_is_own_tag(const char *tag, int len)
{
	return len > 0 && (len != strlen(HILO_DEFAULT_NODE_TAG) ||
					   memcmp(tag, HILO_DEFAULT_NODE_TAG, len) != 0);
}

/* Do its numbers come from a hub, or will they? */
static bool
is_leased(HiloCollection *collection)
{
	const HiloRow *row = hilo_collection_row(collection);

	if (row->flags & HILO_ROW_LEASED)
		return true;
	return hilo_hub[0] != '\0' && !hilo_is_own_name(collection->ref.name) &&
		((row->flags & HILO_ROW_DROPPED) || row->claimed_at == DT_NOBEGIN);
}

void
hilo_citus_check(HiloCollection *collection, bool unique_by_tag)
{
	HiloName	name = collection->ref.name;
	bool		identity = hilo_is_identity(name);

	if (unique_by_tag || hilo_allow_worker_draws || !hilo_citus_is_worker() ||
		is_leased(collection))
		return;

	if (identity)
		name.len--;				/* the bar */
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 hilo_is_own_name(name) ?
			 errmsg("cannot draw server-side ids on a Citus worker") :
			 errmsg("cannot draw from %s \"%.*s\" on a Citus worker",
					identity ? "identity" : "collection", name.len, name.data),
			 errdetail("This node counts for itself, and other nodes would draw the same."),
			 hilo_is_own_name(name) ?
			 errhint("Give hilo.node_tag a tag that only this node has; or set hilo.allow_worker_draws, if no other node draws these numbers.") :
			 errhint("Lease the numbers from the coordinator with hilo_lease_from() or the setting hilo.hub, or draw ids with a tag in hilo.node_tag that only this node has; or set hilo.allow_worker_draws, if no other node draws these numbers.")));
}

/*-------------------------------------------------------------------------
 *
 * node.c
 *	  What kind of node this server is in a cluster of Citus, and which tables
 *	  have their rows on other nodes.
 *
 * pg_dist_local_group, a table of one row, says which group of the cluster a
 * node belongs to: 0 is the coordinator's.  When that changes, Citus sends a
 * relcache message for the table.  On each node, pg_dist_partition lists the tables
 * with shards.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "base/compat.h"
#include "counting/node.h"

#define GROUP_TABLE		"pg_dist_local_group"
#define GROUP_COLUMN	"groupid"

/* The group of a node that is in no cluster. */
#define NO_GROUP		(-1)

/* OID of the table when last seen; InvalidOid: it did not exist. */
static Oid	group_table = InvalidOid;

int			hilo_node_known_group = NO_GROUP;
uint64		hilo_node_generation = 0;

/*
 * Without the table, any relation may be the one: it may have been created, or renamed.
 */
static void
group_changed(Oid relid)
{
	if (!OidIsValid(group_table) || relid == group_table)
		hilo_rights_invalidate();
}

void
hilo_node_init(void)
{
	hilo_on_relation_change(group_changed);
}

Relation
hilo_node_open_catalog(const char *name)
{
	Oid			table = get_relname_relid(name, PG_CATALOG_NAMESPACE);

	if (!OidIsValid(table) || get_rel_relkind(table) != RELKIND_RELATION)
		return NULL;
	return try_table_open(table, AccessShareLock);
}

/*
 * The node
 */

/* The highest group in the table; 0 if it is empty. */
static int
highest_group(Relation rel, AttrNumber attnum)
{
	SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, SnapshotSelf,
										  0, NULL);
	HeapTuple	tuple;
	int			highest = 0;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool		isnull;
		Datum		value = hilo_getattr(tuple, attnum, RelationGetDescr(rel),
										 &isnull);

		if (!isnull)
			highest = Max(highest, DatumGetInt32(value));
	}
	systable_endscan(scan);
	return highest;
}

void
hilo_node_look_up(void)
{
	uint64		generation = hilo_rights_generation;
	Relation	rel = hilo_node_open_catalog(GROUP_TABLE);
	AttrNumber	attnum;

	group_table = rel == NULL ? InvalidOid : RelationGetRelid(rel);
	hilo_node_known_group = NO_GROUP;
	if (rel != NULL)
	{
		attnum = get_attnum(group_table, GROUP_COLUMN);
		if (attnum > 0 && get_atttype(group_table, attnum) == INT4OID)
			hilo_node_known_group = highest_group(rel, attnum);
		table_close(rel, AccessShareLock);
	}
	hilo_node_generation = generation;
}

/*
 * Tables
 */

bool
hilo_node_has_shards(Oid relation)
{
	Relation	rel = hilo_node_open_catalog("pg_dist_partition");
	Oid			index;
	ScanKeyData key;
	SysScanDesc scan;
	bool		has_shards;

	if (rel == NULL)
		return false;
	index = get_relname_relid("pg_dist_partition_logical_relid_index",
							  PG_CATALOG_NAMESPACE);
	ScanKeyInit(&key, SPI_fnumber(RelationGetDescr(rel), "logicalrelid"),
				BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation));
	scan = systable_beginscan(rel, index, OidIsValid(index), NULL, 1, &key);
	has_shards = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return has_shards;
}

void
hilo_node_check_isolation(Oid relation)
{
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("Citus table \"%s\" cannot be searched in a transaction of this isolation level",
						get_rel_name(relation)),
				 errdetail("On other nodes, the transaction sees the rows as of its start."),
				 errhint("Use READ COMMITTED.")));
}

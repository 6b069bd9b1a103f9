/*-------------------------------------------------------------------------
 *
 * citus.c
 *	  Citus: kinds of nodes and tables, and how to connect to the coordinator.
 *
 * pg_dist_local_group, a table of one row, says which group of the cluster a
 * node belongs to: 0 is the coordinator's.  When that changes, Citus sends a
 * relcache message for the table.  On each node, pg_dist_node lists the nodes,
 * and pg_dist_partition the tables with shards.
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
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "base/compat.h"
#include "counting/catalog.h"
#include "servers/citus.h"

#define GROUP_TABLE		"pg_dist_local_group"
#define GROUP_COLUMN	"groupid"

/* The group of a node without Citus. */
#define NO_GROUP		(-1)

/* OID of the table when last seen; InvalidOid: it did not exist. */
static Oid	group_table = InvalidOid;

int			hilo_citus_node_group = NO_GROUP;
uint64		hilo_citus_generation = 0;

/*
 * Without the table, any relation may be the one: it may have been created, or renamed.
 */
static void
group_changed(Oid relid)
{
	if (!OidIsValid(group_table) || relid == group_table)
		hilo_rights_generation++;
}

void
hilo_citus_init(void)
{
	hilo_on_relation_change(group_changed);
}

/*
 * Catalogs
 */

/* Open a catalog of Citus; NULL: it does not exist. */
static Relation
open_catalog(const char *name)
{
	Oid			table = get_relname_relid(name, PG_CATALOG_NAMESPACE);

	if (!OidIsValid(table) || get_rel_relkind(table) != RELKIND_RELATION)
		return NULL;
	return try_table_open(table, AccessShareLock);
}

/* A column of a row as text, palloc'd; "" if it is null or does not exist. */
static const char *
column_text(HeapTuple tuple, TupleDesc desc, const char *name)
{
	int			attnum = SPI_fnumber(desc, name);
	char	   *value = attnum <= 0 ? NULL : SPI_getvalue(tuple, desc, attnum);

	return value == NULL ? "" : value;
}

/*
 * The first row of a catalog that has these values now, as a copy, with its
 * descriptor in *desc; NULL: no such catalog or row.  other_column may be NULL.
 */
static HeapTuple
find_row(const char *catalog, const char *column, const char *value,
		 const char *other_column, const char *other_value, TupleDesc *desc)
{
	Relation	rel = open_catalog(catalog);
	SysScanDesc scan;
	HeapTuple	tuple;
	HeapTuple	result = NULL;

	if (rel == NULL)
		return NULL;
	*desc = CreateTupleDescCopy(RelationGetDescr(rel));
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	while (result == NULL && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		if (strcmp(column_text(tuple, *desc, column), value) == 0 &&
			(other_column == NULL ||
			 strcmp(column_text(tuple, *desc, other_column), other_value) == 0))
			result = heap_copytuple(tuple);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return result;
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
hilo_citus_look_up(void)
{
	uint64		generation = hilo_rights_generation;
	Relation	rel = open_catalog(GROUP_TABLE);
	AttrNumber	attnum;

	group_table = rel == NULL ? InvalidOid : RelationGetRelid(rel);
	hilo_citus_node_group = NO_GROUP;
	if (rel != NULL)
	{
		attnum = get_attnum(group_table, GROUP_COLUMN);
		if (attnum > 0 && get_atttype(group_table, attnum) == INT4OID)
			hilo_citus_node_group = highest_group(rel, attnum);
		table_close(rel, AccessShareLock);
	}
	hilo_citus_generation = generation;
}

/*
 * The coordinator
 */

/* Connection options of a role for a node, or else for all nodes. */
static const char *
authentication_of(const char *role, const char *node)
{
	TupleDesc	desc;
	HeapTuple	tuple = find_row("pg_dist_authinfo", "rolename", role, "nodeid",
								 node, &desc);

	if (tuple == NULL)
		tuple = find_row("pg_dist_authinfo", "rolename", role, "nodeid", "0",
						 &desc);
	return tuple == NULL ? "" : column_text(tuple, desc, "authinfo");
}

bool
hilo_citus_find_coordinator(const char *role, HiloCitusConnection *connection)
{
	TupleDesc	desc;
	HeapTuple	tuple = find_row("pg_dist_node", "groupid", "0", "noderole",
								 "primary", &desc);
	const char *common = GetConfigOption("citus.node_conninfo", true, false);
	const char *node;

	if (tuple == NULL)
		return false;
	node = column_text(tuple, desc, "nodeid");
	connection->common = common == NULL ? "" : pstrdup(common);
	connection->host = column_text(tuple, desc, "nodename");
	connection->port = column_text(tuple, desc, "nodeport");
	connection->authentication = authentication_of(role, node);
	tuple = find_row("pg_dist_poolinfo", "nodeid", node, NULL, NULL, &desc);
	connection->pool = tuple == NULL ? "" : column_text(tuple, desc, "poolinfo");
	return true;
}

/*
 * Tables
 */

bool
hilo_citus_has_shards(Oid relation)
{
	Relation	rel = open_catalog("pg_dist_partition");
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
hilo_citus_check_isolation(Oid relation)
{
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("Citus table \"%s\" cannot be searched in a transaction of this isolation level",
						get_rel_name(relation)),
				 errdetail("On other nodes, the transaction sees the rows as of its start."),
				 errhint("Use READ COMMITTED.")));
}

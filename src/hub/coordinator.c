/*-------------------------------------------------------------------------
 *
 * coordinator.c
 *	  How to connect to the coordinator of a Citus cluster.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "executor/spi.h"
#include "utils/guc.h"

#include "base/compat.h"
#include "counting/node.h"
#include "hub/coordinator.h"

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
	Relation	rel = hilo_node_open_catalog(catalog);
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
hilo_find_coordinator(const char *role, HiloCitusConnection *connection)
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

/*-------------------------------------------------------------------------
 *
 * node.c
 *	  What kind of node this server is in a cluster of Citus.
 *
 * pg_dist_local_group, a table of one row, says which group of the cluster a
 * node belongs to: 0 is the coordinator's.  When that changes, Citus sends a
 * relcache message for the table.
 *
 * Most servers have no Citus.  They too have to know that, at each draw, and the
 * extension may be created at any time.  So what was looked up is kept in two
 * variables, which an inline function reads, until a message arrives: about the table
 * if there is one, and about any relation otherwise.  To look a table up that does
 * not exist is one probe of a syscache.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "node.h"

#define GROUP_TABLE		"pg_dist_local_group"
#define GROUP_COLUMN	"groupid"

/* The group of a node that is in no cluster. */
#define NO_GROUP		(-1)

/* OID of the table when last seen; InvalidOid: it did not exist. */
static Oid	group_table = InvalidOid;

int			hilo_node_group = NO_GROUP;
bool		hilo_node_is_known = false;

/*
 * Called about changes to relations.  Without the table, any relation may be the one: it may have
 * been created, or renamed.  With it, the ranges of this session may have become invalid as
 * well, because other nodes may count now; so the generation changes.
 */
static void
group_changed(Oid relid)
{
	if (!OidIsValid(group_table) || relid == group_table || !OidIsValid(relid))
		hilo_node_is_known = false;
	if (OidIsValid(group_table) && !hilo_node_is_known)
		hilo_generation++;
}

void
hilo_node_init(void)
{
	hilo_on_relation_change(group_changed);
}

/*
 * The highest group in the table; 0 if it is empty.  SnapshotSelf sees what Citus has committed
 * since the transaction began, and leaves no trace for serializable transactions.
 */
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

/*
 * The table is one of pg_catalog, where only a superuser could have put another one of that name.
 * Its column is looked at before it is read, because that is another extension's matter.
 *
 * hilo_node_is_known is set before the table is read: a message that arrives meanwhile clears it
 * again, and then the next draw looks anew.
 */
void
hilo_node_look_up(void)
{
	int			before = hilo_node_group;
	Oid			table = get_relname_relid(GROUP_TABLE, PG_CATALOG_NAMESPACE);
	Relation	rel = NULL;
	AttrNumber	attnum;

	if (OidIsValid(table) && get_rel_relkind(table) == RELKIND_RELATION)
		rel = try_table_open(table, AccessShareLock);

	group_table = rel == NULL ? InvalidOid : RelationGetRelid(rel);
	hilo_node_is_known = true;
	hilo_node_group = NO_GROUP;
	if (rel != NULL)
	{
		attnum = get_attnum(group_table, GROUP_COLUMN);
		if (attnum > 0 && get_atttype(group_table, attnum) == INT4OID)
			hilo_node_group = highest_group(rel, attnum);
		table_close(rel, AccessShareLock);
	}

	/* Ranges end where other nodes count from now on. */
	if (hilo_node_group != before)
		hilo_generation++;
}

void
hilo_node_refuse(const char *what, const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("cannot draw from %s \"%s\" on a Citus worker", what, name),
			 errdetail("It is counted on the coordinator, and would give the same numbers here."),
			 errhint("Insert through the coordinator, or lease numbers of collections with hilo_hub.join().")));
}

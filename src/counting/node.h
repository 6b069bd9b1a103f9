/*-------------------------------------------------------------------------
 *
 * node.h
 *	  What kind of node this server is in a cluster of Citus, and which tables
 *	  have their rows on other nodes.
 *
 * All of it is read from catalogs, which may be missing; nothing is linked against
 * that extension.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_NODE_H
#define HILO_NODE_H

#include "base/export.h"
#include "counting/catalog.h"

/* Must be called once, when the library is loaded. */
extern void hilo_node_init(void);

/*
 * The group of this node in its cluster, 0 for the coordinator, -1 if it is in
 * none, as it was looked up; and the hilo_rights_generation of that, 0: not yet.
 */
extern HILO_EXPORT int hilo_node_known_group;
extern HILO_EXPORT uint64 hilo_node_generation;

/* Look the group up. */
extern HILO_EXPORT void hilo_node_look_up(void);

/* The group.  Valid as long as hilo_rights_generation does not change. */
static inline int
hilo_node_group(void)
{
	if (unlikely(hilo_node_generation != hilo_rights_generation))
		hilo_node_look_up();
	return hilo_node_known_group;
}

/* True if other nodes count for this one. */
static inline bool
hilo_node_is_worker(void)
{
	return hilo_node_group() > 0;
}

/* Open a catalog of the cluster; NULL: it does not exist. */
extern HILO_EXPORT Relation hilo_node_open_catalog(const char *name);

/*
 * True if the table's rows are in shards, here or on other nodes: it is
 * distributed, a reference table, or local to the coordinator.  The table itself
 * is then empty on every node.
 */
extern bool hilo_node_has_shards(Oid relation);

/*
 * Raise 55000 if a query would not see the newest rows in shards: at higher
 * isolation levels, rows on other nodes are visible only as of about the start
 * of the transaction.
 */
extern void hilo_node_check_isolation(Oid relation);

#endif							/* HILO_NODE_H */

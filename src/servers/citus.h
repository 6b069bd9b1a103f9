/*-------------------------------------------------------------------------
 *
 * citus.h
 *	  Citus: kinds of nodes and tables, and how to connect to the coordinator.
 *
 * All of it is read from the catalogs of Citus, which may be missing; nothing is
 * linked against Citus.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_CITUS_H
#define HILO_CITUS_H

#include "counting/catalog.h"

/*
 * Name of the coordinator as a hub, in our rows.  It cannot be the name of a
 * foreign server, because hilo.lease_from() and hilo.hub refuse names with a
 * bar.
 */
#define HILO_CITUS_COORDINATOR	"coordinator|"

/* Must be called once, when the library is loaded. */
extern void hilo_citus_init(void);

/*
 * The group of this node in its cluster, 0 for the coordinator; -1: there is no
 * Citus.  It was looked up in that hilo_rights_generation; 0: not yet.
 */
extern int	hilo_citus_node_group;
extern uint64 hilo_citus_generation;

/* Look up the group. */
extern void hilo_citus_look_up(void);

/* The group.  Valid as long as hilo_rights_generation does not change. */
static inline int
hilo_citus_group(void)
{
	if (unlikely(hilo_citus_generation != hilo_rights_generation))
		hilo_citus_look_up();
	return hilo_citus_node_group;
}

static inline bool
hilo_citus_is_worker(void)
{
	return hilo_citus_group() > 0;
}

/* How Citus connects to the coordinator.  All palloc'd. */
typedef struct HiloCitusConnection
{
	const char *common;			/* citus.node_conninfo: for all nodes */
	const char *host;
	const char *port;
	const char *pool;			/* from pg_dist_poolinfo, replaces host and
								 * port; "": none */
	const char *authentication; /* from pg_dist_authinfo; "": none */
} HiloCitusConnection;

/* False if Citus does not know the coordinator's address. */
extern bool hilo_citus_find_coordinator(const char *role,
										HiloCitusConnection *connection);

/*
 * True if the table's rows are in shards, here or on other nodes: it is
 * distributed, a reference table, or local to the coordinator.  The table itself
 * is then empty on every node.
 */
extern bool hilo_citus_has_shards(Oid relation);

/*
 * Raise 55000 if a query would not see the newest rows in shards: at higher
 * isolation levels, rows on other nodes are visible only as of about the start
 * of the transaction.
 */
extern void hilo_citus_check_isolation(Oid relation);

#endif							/* HILO_CITUS_H */

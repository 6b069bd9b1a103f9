/*-------------------------------------------------------------------------
 *
 * citus.h
 *	  Citus: what kind of node is this, what kind of table, and how to connect
 *	  to the coordinator.
 *
 * Read from the catalogs of Citus, which need not be there; nothing of it is
 * linked.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_CITUS_H
#define HILO_CITUS_H

#include "access/attnum.h"

/*
 * The coordinator as a hub has this name in rows of ours.  No foreign server can
 * be meant by it: hilo_lease_from() and hilo.hub take none with a bar.
 */
#define HILO_CITUS_COORDINATOR	"coordinator|"

/* Must be called once. */
extern void hilo_citus_init(void);

/*
 * Does Citus know this node as a worker?  The answer is good for a value of
 * hilo_rights_generation.
 */
extern bool hilo_citus_is_worker(void);

/*
 * The coordinator of a Citus cluster: does Citus know this node as one?  Also true
 * where no other node is known.
 */
extern bool hilo_citus_is_coordinator(void);

/* How Citus connects to the coordinator.  All palloc'd. */
typedef struct HiloCitusConnection
{
	const char *common;			/* citus.node_conninfo: for all nodes */
	const char *host;
	const char *port;
	const char *pool;			/* of pg_dist_poolinfo, in place of these; "" */
	const char *authentication; /* of pg_dist_authinfo; "" */
} HiloCitusConnection;

/* False if Citus does not know where it is. */
extern bool hilo_citus_find_coordinator(const char *role,
										HiloCitusConnection *connection);

/*
 * Is that a table whose rows lie in shards, here or on other nodes: distributed, a
 * reference table, or one that is local to the coordinator?  Such a table itself
 * is empty on every node.
 */
extern bool hilo_citus_has_shards(Oid relation);

/*
 * Raise 55000 if a query would not see the newest rows in shards: those on other
 * nodes it sees as of the start of the transaction, or not much later.
 */
extern void hilo_citus_check_isolation(Oid relation);

/* Does Citus refuse triggers on it?  Not on one that is local to the coordinator. */
extern bool hilo_citus_refuses_triggers(Oid relation);

/*
 * The column that it is distributed by, whose default Citus does not let change;
 * InvalidAttrNumber: none.
 */
extern AttrNumber hilo_citus_distribution_column(Oid relation);

#endif							/* HILO_CITUS_H */

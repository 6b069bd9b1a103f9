/*-------------------------------------------------------------------------
 *
 * coordinator.h
 *	  How to connect to the coordinator of a Citus cluster.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_COORDINATOR_H
#define HILO_COORDINATOR_H

/*
 * Name of the coordinator as a hub, in our rows.  It cannot be the name of a
 * foreign server, because hilo.lease_from() and hilo.hub refuse names with a
 * bar.
 */
#define HILO_CITUS_COORDINATOR	"coordinator|"

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
extern bool hilo_find_coordinator(const char *role,
								  HiloCitusConnection *connection);

#endif							/* HILO_COORDINATOR_H */

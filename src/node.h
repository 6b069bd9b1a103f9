/*-------------------------------------------------------------------------
 *
 * node.h
 *	  What kind of node this server is in a cluster of Citus.
 *
 * It is read from a catalog of Citus, if there is one; nothing is linked against that
 * extension.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_NODE_H
#define HILO_NODE_H

#include "catalog.h"

/* Must be called once, when the library is loaded. */
extern void hilo_node_init(void);

/*
 * The group of this node in its cluster, 0 for the coordinator, -1 if it is in none, as it was
 * looked up; and whether that still holds.
 */
extern int	hilo_node_group;
extern bool hilo_node_is_known;

/* Look the group up. */
extern void hilo_node_look_up(void);

/* True if other nodes count for this one. */
static inline bool
hilo_node_is_worker(void)
{
	if (unlikely(!hilo_node_is_known))
		hilo_node_look_up();
	return hilo_node_group > 0;
}

/* Raise 55000 because other nodes count what is called name. */
extern void hilo_node_refuse(const char *what, const char *name);

#endif							/* HILO_NODE_H */

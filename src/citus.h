/*-------------------------------------------------------------------------
 *
 * citus.h
 *	  What kind of node of a Citus cluster is this?
 *
 * There a default is evaluated on the coordinator or on workers, as the planner
 * likes, and each node has counters of its own: a worker must not draw what
 * other nodes draw, too.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_CITUS_H
#define HILO_CITUS_H

#include "collection.h"

/* Must be called once. */
extern void hilo_citus_init(void);

/*
 * Does Citus know this node as a worker?  The answer is good for a value of
 * hilo_rights_generation.
 */
extern bool hilo_citus_is_worker(void);

/* Does the tag tell this node's ids from those of others? */
extern bool hilo_citus_is_own_tag(const char *tag, int len);

/*
 * Raise 55000 if a worker is about to draw from a counter of its own, unless
 * what it draws is unique by a tag.  What is leased is unique.
 */
extern void hilo_citus_check(HiloCollection *collection, bool unique_by_tag);

#endif							/* HILO_CITUS_H */

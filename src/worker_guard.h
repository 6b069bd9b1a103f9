/*-------------------------------------------------------------------------
 *
 * worker_guard.h
 *	  Keeps workers of a Citus cluster from drawing what other nodes draw, too.
 *
 * There a default is evaluated on the coordinator or on workers, as the planner
 * likes, and each node has counters of its own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_WORKER_GUARD_H
#define HILO_WORKER_GUARD_H

#include "settings.h"

extern void hilo_worker_guard_init(void);

/*
 * Does Citus know this node as a worker?  What was found is good for a value of
 * hilo_rights_generation.
 */
extern bool hilo_is_citus_worker(void);

/* Does the tag tell this node's ids from those of others? */
static inline bool
hilo_is_own_tag(const char *tag, int len)
{
	return len > 0 && (len != strlen(HILO_DEFAULT_NODE_TAG) ||
					   memcmp(tag, HILO_DEFAULT_NODE_TAG, len) != 0);
}

/*
 * Raise 55000 if a worker is about to draw from a counter of its own, unless
 * what is drawn is unique by a tag.  The counter is a "collection", say, of
 * that name.
 */
extern void hilo_worker_check(const char *counter, const char *name, int len,
							  bool unique_by_tag);

#endif							/* HILO_WORKER_GUARD_H */

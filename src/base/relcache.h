/*-------------------------------------------------------------------------
 *
 * relcache.h
 *	  Tells modules that a relation has changed.
 *
 * A server has ten places for relcache callbacks, for all libraries.  This
 * library takes one, at its first request.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_RELCACHE_H
#define HILO_RELCACHE_H

/*
 * Called at any time with a relation that may have changed; InvalidOid: all
 * may have.  It must only note that.
 */
typedef void (*HiloRelationChanged) (Oid relid);

/* Have that called from now on, in this session. */
extern void hilo_on_relation_change(HiloRelationChanged changed);

#endif							/* HILO_RELCACHE_H */

/*-------------------------------------------------------------------------
 *
 * lease_fetch.h
 *	  Gets leases from the hub, when they are needed or ahead of that.
 *
 * One session or worker at a time asks for a collection; others wait for it.  A
 * failure is remembered in the row of the leases, and the hub not asked again for
 * hilo.lease_retry.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_LEASE_FETCH_H
#define HILO_LEASE_FETCH_H

#include "fmgr.h"

#include "hub.h"
#include "lease.h"

/* A leased collection: its counter, and its leases. */
typedef struct HiloLeased
{
	HiloCounter counter;
	HiloCounter lease;
} HiloLeased;

/* Start with unseen rows.  The bytes of the name are the caller's, and stay. */
extern void hilo_leased_init(HiloLeased *leased, HiloName collection);

/*
 * See that no lease of a collection is on its way, until the other function, or
 * the end of the transaction.
 */
extern void hilo_lease_lock_fetch(HiloName collection);
extern void hilo_lease_unlock_fetch(HiloName collection);

/*
 * Get a lease that can answer the request, unless another session just has.
 * Returns false if the collection is not leased.  Raises an error if the hub
 * gives none, or was asked in vain less than hilo.lease_retry ago.
 */
extern bool hilo_lease_fetch(HiloLeased *leased,
							 const HiloRangeRequest *request);

/*
 * See that the next lease is fetched soon: by a worker, or here if none can be
 * started.  Raises no error if that fails.
 */
extern void hilo_lease_fetch_ahead(HiloLeased *leased);

/*
 * Lease a collection from now on, at least lease_size numbers at a time (0: as
 * the setting says).  Returns the first lease, which lies above all that was
 * counted here.  If that fails the collection is counted here as before.
 */
extern HiloRange hilo_lease_begin(HiloLeased *leased, const HiloHub *hub,
								  int64 lease_size);

/* Entry point of the worker. */
extern PGDLLEXPORT void hilo_lease_worker(Datum database);

#endif							/* HILO_LEASE_FETCH_H */

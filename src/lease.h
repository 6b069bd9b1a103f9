/*-------------------------------------------------------------------------
 *
 * lease.h
 *	  Leases: asks the hub, takes the answer in, fetches the next one ahead.
 *
 * The hub's row is the only durable truth.  A lease lies in the pool and nowhere
 * else, so that no crash, copy or restore of this server can bring one back.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_LEASE_H
#define HILO_LEASE_H

#include "fmgr.h"

#include "collection.h"

/*
 * Where this server would have counters lease from: a foreign server that the
 * setting hilo.hub names; on a Citus worker the coordinator.
 */
extern HiloWantedHub hilo_lease_wanted(void);

/*
 * Raise 55000 if the hub in the row of a leased counter is not the one that it
 * should be: hilo.hub names another one, or this is no Citus worker any more.
 */
extern void hilo_lease_check_hub(const HiloRowRef *ref, const HiloRow *row);

/*
 * Get a lease into the pool that can answer the request, unless another
 * session just has.  The row has been read and is leased, or should be; it is
 * so once a lease has come.  Returns when it is worth reading the row, and
 * looking into the pool, again.  Raises an error if the hub gives none, or
 * failed to less than hilo.lease_retry ago.
 *
 * Opens no subtransaction and waits for no heavyweight lock of ours: the
 * others sleep while one asks.
 */
extern void hilo_lease_fetch(HiloRowRef *ref, const HiloRow *row,
							 const HiloRangeRequest *request);

/*
 * See that the next lease is fetched soon, by a worker.  Where none can be
 * started the next session that has no numbers left asks.  Raises no error.
 */
extern void hilo_lease_fetch_ahead(void);

/*
 * Lease the numbers from this server from now on, with the user mapping of the
 * role, at least size at a time (0: as the setting says).  Raises an error if the
 * server would give none; then all is as it was.  Nothing is drawn.
 */
extern void hilo_lease_begin(HiloRowRef *ref, const char *server, Oid role,
							 int32 size);

/*
 * Hear what the hub says of a counter by now, without drawing: if it was seeded,
 * dropped or resumed there, what is leased here is worthless; its options count
 * here.  Returns false if the counter is not leased; raises an error if the hub
 * says nothing.
 */
extern bool hilo_lease_hear(HiloRowRef *ref);

/* Lease no more; what is leased is drawn to its end. */
extern void hilo_lease_end(HiloRowRef *ref);

/*
 * Tell the hubs what is held here of each collection leased from them.  Returns
 * of how many they have heard; warns of each hub that could not be told.
 */
extern int64 hilo_lease_report_all(void);

/*
 * Merge a row of hilo.hub that a dump has brought: of the same server, the
 * highest timeline counts.
 */
extern void hilo_hub_merge(HiloName name, const HiloHubRow *other);

/* Entry point of the worker. */
extern PGDLLEXPORT void hilo_lease_worker(Datum database);

#endif							/* HILO_LEASE_H */

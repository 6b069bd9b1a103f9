/*-------------------------------------------------------------------------
 *
 * member.h
 *	  Leases: asks the hub, accepts its answers, and fetches leases ahead.
 *
 * The hub's row is the only durable truth.  A lease exists in the pool and
 * nowhere else, so that no crash, copy or restore of this server can bring one
 * back.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_MEMBER_H
#define HILO_MEMBER_H

#include "hub/core.h"

/*
 * Raise 55000 if the hub in the row of a leased counter is not the one that it
 * should be: hilo.hub names another one, or this server is no longer a Citus
 * worker.
 */
extern void hilo_lease_check_hub(const HiloRowRef *ref, const HiloRow *row);

/*
 * Raise 55000 if the coordinator counts for this worker: then the function has to be
 * called there.
 */
extern void hilo_lease_prevent_on_worker(HiloRowRef *ref, const char *function);

/*
 * Put a lease that can satisfy the request into the pool, unless another session
 * has just done so.  The row has been read, and is or should be leased; it is
 * leased once the lease has arrived.  On return, read the row and look into the
 * pool again.  Raises an error if the hub gives none, or has failed less than
 * HILO_LEASE_RETRY_MS ago.
 *
 * Opens no subtransaction and waits for no heavyweight lock of ours: while one
 * session asks, the others sleep.
 */
extern void hilo_lease_fetch(HiloRowRef *ref, const HiloRow *row,
							 const HiloWanted *wanted);

/*
 * Have a worker fetch the next lease soon.  If none can be started, the next
 * session that runs out of numbers asks.  Raises no error.
 */
extern void hilo_lease_fetch_ahead(void);

/*
 * Lease the numbers from this server from now on, with the user mapping of the
 * role, at least size at a time (0: as the setting says).  Raises an error,
 * having changed nothing, if the server would give none.  Draws nothing.  If they came from
 * another hub, that is told; if it cannot be, a warning says so.
 */
extern void hilo_lease_begin(HiloRowRef *ref, const char *server, Oid role,
							 int32 size);

/* Stop leasing; what is leased is still drawn. */
extern void hilo_lease_end(HiloRowRef *ref);

/*
 * Report to the hubs what is held here of each collection leased from them, and
 * apply what was seeded, dropped or configured there.  Warns about each hub that
 * could not be told.  Returns the number of collections reported.
 */
extern int64 hilo_lease_report_all(void);

/*
 * The name by which hubs know this member, palloc'd; NULL: it has none yet, and none
 * is to be created.
 */
extern const char *hilo_member_name(bool create);

/* Entry point of the lease worker. */
extern void hilo_lease_work(Datum database);

#endif							/* HILO_MEMBER_H */

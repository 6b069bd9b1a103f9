/*-------------------------------------------------------------------------
 *
 * hub.h
 *	  Asks another server, the hub, for numbers of its counters.
 *
 * The hub is a foreign server of a wrapper with the options of libpq, as
 * postgres_fdw is, and has the extension.  It is asked by one statement outside
 * a transaction block.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_HUB_H
#define HILO_HUB_H

#include "range.h"
#include "row_change.h"

/* A server, and the role whose user mapping is used. */
typedef struct HiloHub
{
	NameData	server;
	NameData	role;			/* empty: the owner of the extension */
} HiloHub;

/*
 * Raise an error unless there is such a server, the role may use it and has a
 * user mapping, and, if it is no superuser, a password there: as for
 * postgres_fdw, it must not connect as the operating system's user.
 */
extern void hilo_hub_check(const HiloHub *hub);

/*
 * Get a lease of up to size numbers of a collection, all above floor.
 *
 * Returns NULL; or, with an empty *range, the error that the attempt ended in, a
 * cancel among others, in the caller's memory context: of class 08 when the hub
 * cannot be reached or does not answer, otherwise its own.  Then a lease may
 * have been lost on the way.  What the error leaves behind is cleaned up.
 */
extern ErrorData *hilo_hub_try_lease(const HiloHub *hub, HiloName collection,
									 int64 size, int64 floor,
									 HiloRange *range);

/*
 * Draw the next number of an identity above floor.  The connection is kept for
 * the next call.
 */
extern int64 hilo_hub_next_identity(const HiloHub *hub, HiloName name,
									int64 floor);

/* The same, but returns an error as above. */
extern ErrorData *hilo_hub_try_next_identity(const HiloHub *hub,
											 HiloName name, int64 floor,
											 int64 *number);

#endif							/* HILO_HUB_H */

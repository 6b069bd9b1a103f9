/*-------------------------------------------------------------------------
 *
 * identity.h
 *	  Identities and server-side ids: numbers claimed one at a time.
 *
 * Not cached.  A number is on disk when a function returns, unless
 * synchronous_commit = off.  To be called in a transaction that may write.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_IDENTITY_H
#define HILO_IDENTITY_H

#include "counter.h"
#include "hub.h"

/*
 * The counter of the identity that name means: with or without one '|' or
 * separator at its end.  Raises 22023 if it means none.  The counter points
 * into the bytes of name.
 */
extern void hilo_identity_counter(HiloCounter *counter, HiloName name);

/*
 * Claim the next number; raises 2200H at the end.  Asks the hub, if the identity
 * has one.
 */
extern int64 hilo_identity_next(HiloCounter *counter);

/*
 * Raise 55000 on a worker of a Citus cluster, unless the identity is leased.
 */
extern void hilo_identity_check_worker(HiloCounter *counter);

/*
 * Claim number, if nobody has claimed it or one above it.  If somebody has,
 * returns 0; or, if the hub was asked, the number above it that was claimed
 * then.
 */
extern int64 hilo_identity_claim(HiloCounter *counter, int64 number);

/*
 * Draw the numbers on the hub from now on.  One is drawn at once, to see that it
 * can be; nobody gets it.  If that fails the identity is counted as before.
 */
extern void hilo_identity_lease_from(HiloCounter *counter,
									 const HiloHub *hub);

/* The id of an identity's number: name, separator, number.  Palloc'd. */
extern text *hilo_identity_id(const HiloCounter *counter, int64 number);

/*
 * The next server-side id that starts with prefix, which ends in the
 * separator; raises 22023 if it does not.  Palloc'd.
 */
extern text *hilo_next_server_side_id(HiloName prefix);

#endif							/* HILO_IDENTITY_H */

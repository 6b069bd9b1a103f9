/*-------------------------------------------------------------------------
 *
 * member.h
 *	  A member: draws from counters that a hub counts.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_HUB_MEMBER_H
#define HILO_HUB_MEMBER_H

#include "state.h"

extern int	hub_lease_size;		/* hilo_hub.lease_size */
extern int	hub_timeout;		/* hilo_hub.timeout, in milliseconds */

/* The functions of HiloWing for a member. */
extern void hub_member_claim(HiloRowRef *ref, const HiloSizing *sizing, HiloWanted *wanted,
							 HiloRow *row, HiloClaim *claim);
extern void hub_member_taken(HiloRowRef *ref, const HiloRow *row);

#endif							/* HILO_HUB_MEMBER_H */

/*-------------------------------------------------------------------------
 *
 * tell.h
 *	  Tells members what has happened to a counter of this hub.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_TELL_H
#define HILO_TELL_H

#include "row.h"

/* Has the counter given leases? */
extern bool hilo_tell_anybody(HiloRowRef *ref);

/*
 * Have the members that can be reached hear of a counter by hilo.hear_hub(), and
 * wait for them; of the others a WARNING says that they were not told.  As of now
 * those are the workers of a Citus cluster.
 */
extern void hilo_tell_members(const HiloRowRef *ref);

#endif							/* HILO_TELL_H */

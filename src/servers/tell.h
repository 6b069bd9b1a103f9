/*-------------------------------------------------------------------------
 *
 * tell.h
 *	  Tells members about changes to a counter of this hub.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_TELL_H
#define HILO_TELL_H

#include "counting/row.h"

/* True if the counter has given leases. */
extern bool hilo_tell_anybody(HiloRowRef *ref);

/*
 * Tell the members that can be reached about a counter, by hilo.hear_hub(), and
 * wait for them; a WARNING names those that were not told.  Currently only
 * workers of a Citus cluster can be reached.
 */
extern void hilo_tell_members(const HiloRowRef *ref);

#endif							/* HILO_TELL_H */

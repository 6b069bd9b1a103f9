/*-------------------------------------------------------------------------
 *
 * lease.h
 *	  The SQL functions of leases.
 *
 * The core has a function for each, of that name without do_, which loads this library.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_LEASE_H
#define HILO_LEASE_H

#include "hub/core.h"

extern HILO_EXPORT Datum do_hilo_lease_from(PG_FUNCTION_ARGS);
extern HILO_EXPORT Datum do_hilo_lease_report(PG_FUNCTION_ARGS);
extern HILO_EXPORT Datum do_hilo_own_member_name(PG_FUNCTION_ARGS);
extern HILO_EXPORT Datum do_hilo_lease_state(PG_FUNCTION_ARGS);
extern HILO_EXPORT Datum do_hilo_present(PG_FUNCTION_ARGS);
extern HILO_EXPORT Datum do_hilo_leases_stop(PG_FUNCTION_ARGS);
extern HILO_EXPORT Datum do_hilo_hub_begin(PG_FUNCTION_ARGS);
extern HILO_EXPORT Datum do_hilo_claim_lease(PG_FUNCTION_ARGS);
extern HILO_EXPORT Datum do_hilo_lease(PG_FUNCTION_ARGS);
extern HILO_EXPORT Datum do_hilo_hub_wait(PG_FUNCTION_ARGS);
extern HILO_EXPORT Datum do_hilo_check_highest(PG_FUNCTION_ARGS);
extern HILO_EXPORT Datum do_hilo_raise_counter(PG_FUNCTION_ARGS);

#endif							/* HILO_LEASE_H */

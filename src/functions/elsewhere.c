/*-------------------------------------------------------------------------
 *
 * elsewhere.c
 *	  What the server finds in this library by name, and what hilo_hub does: the SQL
 *	  functions of leases, and the lease worker.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "base/compat.h"
#include "counting/source.h"

/* A SQL function whose body is in that library. */
#define ELSEWHERE(name) \
PG_FUNCTION_INFO_V1(name); \
Datum \
name(PG_FUNCTION_ARGS) \
{ \
	static PGFunction function = NULL; \
\
	if (function == NULL) \
		function = (PGFunction) hilo_source_symbol("do_" #name); \
	return function(fcinfo); \
} \
extern int no_such_variable

ELSEWHERE(hilo_lease_from);
ELSEWHERE(hilo_lease_report);
ELSEWHERE(hilo_own_member_name);
ELSEWHERE(hilo_lease_state);
ELSEWHERE(hilo_present);
ELSEWHERE(hilo_leases_stop);
ELSEWHERE(hilo_hub_begin);
ELSEWHERE(hilo_claim_lease);
ELSEWHERE(hilo_lease);
ELSEWHERE(hilo_hub_wait);
ELSEWHERE(hilo_check_highest);
ELSEWHERE(hilo_raise_counter);

extern PGDLLEXPORT void hilo_lease_worker(Datum database);

void
hilo_lease_worker(Datum database)
{
	hilo_source()->work(database);
}

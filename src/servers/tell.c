/*-------------------------------------------------------------------------
 *
 * tell.c
 *	  Tells members about changes to a counter of this hub.
 *
 * Workers of a Citus cluster are reached by Citus's own function, called as the
 * owner of our tables: it knows the workers, uses connections of its own,
 * outside the transaction, and continues after one fails.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "utils/builtins.h"

#include "base/sql.h"
#include "counting/counter.h"
#include "servers/citus.h"
#include "servers/hub.h"
#include "servers/tell.h"

bool
hilo_tell_anybody(HiloRowRef *ref)
{
	HiloRow		row;

	return hilo_counter_read(ref, &row) && row.timeline != 0;
}

/* Warn about the nodes in the result of the query. */
static void
report_untold(const HiloRowRef *ref, uint64 count)
{
	for (uint64 i = 0; i < count; i++)
	{
		HeapTuple	tuple = SPI_tuptable->vals[i];
		TupleDesc	desc = SPI_tuptable->tupdesc;

		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("Citus worker %s was not told about the change to \"%s\"",
						SPI_getvalue(tuple, desc, 1), ref->name),
				 errdetail("The error was: %s", SPI_getvalue(tuple, desc, 2)),
				 errhint("Until it asks for its next lease, it continues with the numbers it has.")));
	}
}

/* Warn about members that continue with what they have. */
static void
warn_of_others(const HiloRowRef *ref)
{
	HiloRowRef	own = *ref;
	HiloRow		row;

	/* Also of one that was dropped. */
	(void) hilo_counter_read(&own, &row);
	hilo_members_warn(ref->name, row.epoch);
}

/* True if Citus's function exists. */
static bool
can_reach_workers(void)
{
	const Oid	arguments[] = {TEXTOID, BOOLOID};

	return OidIsValid(LookupFuncName(list_make2(makeString("pg_catalog"),
												makeString("run_command_on_workers")),
									 lengthof(arguments), arguments, true));
}

void
hilo_tell_members(const HiloRowRef *ref)
{
	char	   *name = quote_literal_cstr(ref->name);
	Oid			user;
	int			context;
	int			level;

	if (!hilo_citus_is_coordinator() || !can_reach_workers())
	{
		warn_of_others(ref);
		return;
	}
	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(hilo_catalog_tables_owner(),
						   context | SECURITY_LOCAL_USERID_CHANGE);
	level = hilo_sql_begin();
	report_untold(ref,
				  hilo_sql_select(psprintf("SELECT nodename || ':' || nodeport::pg_catalog.text, result FROM pg_catalog.run_command_on_workers(%s) WHERE NOT success",
										   quote_literal_cstr(psprintf("SELECT " HILO_SCHEMA ".hear_hub(%s)",
																	   name)))));
	hilo_sql_end(level);
	SetUserIdAndSecContext(user, context);
	warn_of_others(ref);
}

/*-------------------------------------------------------------------------
 *
 * owner_query.c
 *	  Queries over users' relations and functions, run as their owner.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"

#include "base/sql.h"
#include "tables/owner_query.h"

/* What ran before a query. */
typedef struct Caller
{
	Oid			role;
	int			context;
} Caller;

static Caller
become_owner(const HiloOwner *owner)
{
	Caller		caller;

	GetUserIdAndSecContext(&caller.role, &caller.context);
	SetUserIdAndSecContext(owner->role,
						   caller.context | SECURITY_RESTRICTED_OPERATION |
						   SECURITY_LOCAL_USERID_CHANGE |
						   (owner->sees_all_rows ? SECURITY_NOFORCE_RLS : 0));
	SPI_connect();
	return caller;
}

static void
become_caller(Caller caller)
{
	SPI_finish();
	SetUserIdAndSecContext(caller.role, caller.context);
}

int
hilo_owner_query_settings(void)
{
	int			level = hilo_sql_hide_search_path();

	/*
	 * Where there is no index, the penalty for reading a whole table must not
	 * start the compiler.
	 */
	hilo_sql_set_locally("enable_seqscan", "off");
	hilo_sql_set_locally("jit", "off");
	return level;
}

SPIPlanPtr
hilo_owner_query_prepare(const HiloOwner *owner, const char *query, Oid type)
{
	Caller		caller = become_owner(owner);
	SPIPlanPtr	plan = SPI_prepare_cursor(query, 1, &type,
										  CURSOR_OPT_GENERIC_PLAN);

	if (plan == NULL || SPI_keepplan(plan) != 0)
		elog(ERROR, "could not prepare: %s", query);
	become_caller(caller);
	return plan;
}

bool
hilo_owner_query_run(const HiloOwner *owner, SPIPlanPtr plan, Datum argument,
					 Datum *value, bool *isnull)
{
	Caller		caller = become_owner(owner);
	int			result = SPI_execute_snapshot(plan, &argument, NULL,
											  GetLatestSnapshot(),
											  InvalidSnapshot, false, false, 1);
	bool		found;

	if (result != SPI_OK_SELECT)
		elog(ERROR, "SPI_execute_snapshot returned %s",
			 SPI_result_code_string(result));
	found = SPI_processed > 0;
	if (found)
		*value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1,
							   isnull);
	become_caller(caller);
	return found;
}

int64
hilo_owner_query_number(const HiloOwner *owner, const char *query)
{
	Caller		caller = become_owner(owner);
	int			level = hilo_sql_hide_search_path();
	int64		number;

	(void) hilo_sql_select(query);
	number = hilo_sql_result();
	AtEOXact_GUC(false, level);
	become_caller(caller);
	return number;
}

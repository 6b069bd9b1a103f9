/*-------------------------------------------------------------------------
 *
 * owner_query.c
 *	  Queries over users' relations and functions, run as their owner.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "base/sql.h"
#include "counting/node.h"
#include "tables/owner_query.h"

/* Notes the caller's role and security context. */
static void
become_owner(Oid owner, Oid *role, int *context)
{
	GetUserIdAndSecContext(role, context);
	SetUserIdAndSecContext(owner,
						   *context | SECURITY_RESTRICTED_OPERATION |
						   SECURITY_LOCAL_USERID_CHANGE | SECURITY_NOFORCE_RLS);
	SPI_connect();
}

static void
become_caller(Oid role, int context)
{
	SPI_finish();
	SetUserIdAndSecContext(role, context);
}

/* A query that was prepared in this session. */
typedef struct Prepared
{
	const char *query;
	Oid			type;			/* of its parameter */
	int			options;		/* CURSOR_OPT_... */
	SPIPlanPtr	plan;
} Prepared;

/*
 * The plan of a query, kept for the rest of the session; the server analyzes it
 * anew where necessary.
 *
 * With Citus, the server chooses between one plan for all values and one for
 * each: a table or view may be in shards that can only be planned for a value,
 * which Citus tells by a price that is never chosen.
 */
static SPIPlanPtr
plan_of(const char *query, Oid type)
{
	static List *all = NIL;
	int			options = hilo_node_group() < 0 ? CURSOR_OPT_GENERIC_PLAN : 0;
	MemoryContext old;
	Prepared   *prepared;
	SPIPlanPtr	plan;
	ListCell   *lc;

	foreach(lc, all)
	{
		prepared = lfirst(lc);
		if (prepared->type == type && prepared->options == options &&
			strcmp(prepared->query, query) == 0)
			return prepared->plan;
	}
	plan = SPI_prepare_cursor(query, 1, &type, options);
	if (plan == NULL || SPI_keepplan(plan) != 0)
		elog(ERROR, "could not prepare: %s", query);
	old = MemoryContextSwitchTo(TopMemoryContext);
	prepared = palloc(sizeof(Prepared));
	prepared->query = pstrdup(query);
	prepared->type = type;
	prepared->options = options;
	prepared->plan = plan;
	all = lappend(all, prepared);
	MemoryContextSwitchTo(old);
	return plan;
}

bool
hilo_owner_query_is_true(Oid owner, const char *query, Oid type, Datum argument)
{
	Oid			role;
	int			context;
	int			level;
	int			result;
	bool		isnull;
	Datum		value = BoolGetDatum(false);

	become_owner(owner, &role, &context);
	level = hilo_sql_hide_search_path();

	/*
	 * A prepared query may be older than the rows: make the planner use an
	 * index wherever there is one, and where there is none, the penalty for
	 * reading a whole table must not start the compiler.
	 */
	hilo_sql_set_locally("enable_seqscan", "off");
	hilo_sql_set_locally("jit", "off");
	result = SPI_execute_snapshot(plan_of(query, type), &argument, NULL,
								  GetLatestSnapshot(), InvalidSnapshot, false,
								  false, 1);
	if (result != SPI_OK_SELECT)
		elog(ERROR, "SPI_execute_snapshot returned %s",
			 SPI_result_code_string(result));
	if (SPI_processed > 0)
		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1,
							  &isnull);
	AtEOXact_GUC(false, level);
	become_caller(role, context);
	return DatumGetBool(value);
}

int64
hilo_owner_query_number(Oid owner, const char *query)
{
	Oid			role;
	int			context;
	int64		number;

	become_owner(owner, &role, &context);
	number = hilo_sql_number(query, NULL);
	become_caller(role, context);
	return number;
}

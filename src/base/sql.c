/*-------------------------------------------------------------------------
 *
 * sql.c
 *	  Runs SQL for other modules.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "base/compat.h"
#include "base/sql.h"

void
hilo_sql_set_locally(const char *setting, const char *value)
{
	(void) set_config_option(setting, value, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

int
hilo_sql_hide_search_path(void)
{
	int			level = NewGUCNestLevel();

	hilo_sql_set_locally("search_path", "pg_catalog, pg_temp");
	return level;
}

int
hilo_sql_limit_lock_waits(void)
{
	int			level = NewGUCNestLevel();

	if (LockTimeout == 0)
		hilo_sql_set_locally("lock_timeout", "5s");
	return level;
}

int64
hilo_sql_number(const char *sql, Snapshot snapshot)
{
	int			level;
	int			result;
	bool		isnull;
	Datum		value;
	int64		number;

	SPI_connect();
	level = hilo_sql_hide_search_path();
	PushActiveSnapshot(snapshot != NULL ? snapshot : GetLatestSnapshot());
	result = SPI_execute(sql, true, 0);
	PopActiveSnapshot();
	if (result != SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "SPI_execute returned %s for: %s",
			 SPI_result_code_string(result), sql);
	value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1,
						  &isnull);
	number = isnull ? 0 : DatumGetInt64(value);
	AtEOXact_GUC(false, level);
	SPI_finish();
	return number;
}

char *
hilo_sql_table(Oid table)
{
	char	   *name = get_rel_name(table);
	char	   *schema = get_namespace_name(get_rel_namespace(table));

	if (name == NULL || schema == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", table)));
	return quote_qualified_identifier(schema, name);
}

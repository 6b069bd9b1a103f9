/*-------------------------------------------------------------------------
 *
 * sql.c
 *	  Runs SQL for others.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "sql.h"

int
hilo_sql_begin(void)
{
	int			level;

	SPI_connect();
	level = NewGUCNestLevel();
	(void) set_config_option("search_path", "pg_catalog, pg_temp",
							 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
							 true, 0, false);
	(void) set_config_option("row_security", "off",
							 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
							 true, 0, false);
	return level;
}

void
hilo_sql_end(int level)
{
	AtEOXact_GUC(false, level);
	SPI_finish();
}

int64
hilo_sql_number(const char *sql)
{
	bool		isnull;
	Datum		value;

	PushActiveSnapshot(GetLatestSnapshot());
	if (SPI_execute(sql, true, 1) != SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "query returned no number: %s", sql);
	PopActiveSnapshot();
	value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1,
						  &isnull);
	return isnull ? 0 : DatumGetInt64(value);
}

char *
hilo_sql_table(Oid table)
{
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(table)),
									  get_rel_name(table));
}

/*-------------------------------------------------------------------------
 *
 * sql.h
 *	  Runs SQL for other modules, with only the system's own functions and
 *	  operators.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_SQL_H
#define HILO_SQL_H

#include "utils/snapshot.h"

#include "base/export.h"

/*
 * Make unqualified names refer to the system's own objects, whatever the user's
 * search_path says.  Ends with AtEOXact_GUC(false, level), for the level
 * returned, or with an error.
 */
extern int	hilo_sql_hide_search_path(void);

/* Wait at most five seconds for a lock until such a level ends, unless lock_timeout is set. */
extern int	hilo_sql_limit_lock_waits(void);

/* Set a parameter until such a level ends. */
extern HILO_EXPORT void hilo_sql_set_locally(const char *setting, const char *value);

/*
 * Run a query that returns one bigint, as of a snapshot; NULL: as of now, at any
 * isolation level.  Returns 0 for NULL.
 */
extern int64 hilo_sql_number(const char *sql, Snapshot snapshot);

/* The name of a table, qualified and quoted, palloc'd. */
extern char *hilo_sql_table(Oid table);

#endif							/* HILO_SQL_H */

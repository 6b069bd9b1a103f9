/*-------------------------------------------------------------------------
 *
 * sql.h
 *	  Runs SQL for others: with the system's own functions and operators only,
 *	  and an error where row security would hide rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_SQL_H
#define HILO_SQL_H

/* Connect to SPI and get ready; to be undone with the value returned. */
extern int	hilo_sql_begin(void);
extern void hilo_sql_end(int level);

/*
 * Run a query that gives one bigint, of what is committed now, whatever the
 * isolation level; 0 for NULL.
 */
extern int64 hilo_sql_number(const char *sql);

/* The name of a table, qualified and quoted, palloc'd. */
extern char *hilo_sql_table(Oid table);

#endif							/* HILO_SQL_H */

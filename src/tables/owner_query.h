/*-------------------------------------------------------------------------
 *
 * owner_query.h
 *	  Queries over users' relations and functions, run as their owner.
 *
 * They run as the checks of foreign keys do: with the privileges of the owner,
 * which neither the caller lends nor gains; in a security-restricted context, in
 * which nothing that a view or function calls can change the session; and with a
 * snapshot taken now, so that no isolation level hides what is committed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_OWNER_QUERY_H
#define HILO_OWNER_QUERY_H

#include "executor/spi.h"

/* Whose query it is. */
typedef struct HiloOwner
{
	Oid			role;
	bool		sees_all_rows;	/* row security does not apply to the owner,
								 * not even with FORCE */
} HiloOwner;

/*
 * Hide the user's search_path from what queries call, and make the planner use
 * an index wherever there is one: a prepared query may be older than the rows.
 * Ends with AtEOXact_GUC(false, level), for the level returned, or with an
 * error.
 */
extern int	hilo_owner_query_settings(void);

/* Prepare a query with one parameter for the rest of the session. */
extern SPIPlanPtr hilo_owner_query_prepare(const HiloOwner *owner,
										   const char *query, Oid type);

/*
 * Run a prepared query, whose value is of a type that is passed by value.
 * Returns false if there is no row; else the first row's value, and whether it
 * is NULL.
 */
extern bool hilo_owner_query_run(const HiloOwner *owner, SPIPlanPtr plan,
								 Datum argument, Datum *value, bool *isnull);

/* Run a query that returns one bigint; 0 for NULL. */
extern int64 hilo_owner_query_number(const HiloOwner *owner, const char *query);

#endif							/* HILO_OWNER_QUERY_H */

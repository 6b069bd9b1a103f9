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

/*
 * Run a query with one parameter, prepared for the rest of the session, that
 * returns boolean: the first row's value; false if there is no row.  It sees all rows:
 * row security does not apply to the owner, not even with FORCE.
 */
extern bool hilo_owner_query_is_true(Oid owner, const char *query, Oid type,
									 Datum argument);

/* Run a query that returns one bigint; 0 for NULL.  It sees all rows. */
extern int64 hilo_owner_query_number(Oid owner, const char *query);

#endif							/* HILO_OWNER_QUERY_H */

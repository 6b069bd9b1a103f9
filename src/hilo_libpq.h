/*-------------------------------------------------------------------------
 *
 * hilo_libpq.h
 *	  Calls functions of the extension on another server.
 *
 * The functions of a library that is loaded when first needed: take their types
 * for load_external_function().
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_LIBPQ_H
#define HILO_LIBPQ_H

#define HILO_LIBPQ_LIBRARY	"hilo_libpq"

/*
 * Raise an error unless the role has a user mapping for the foreign server and,
 * if it is no superuser, a password there: as with postgres_fdw, it must not
 * connect as the operating system's user.
 */
typedef void (*HiloLibpqCheck) (Oid server, Oid role);
extern PGDLLEXPORT void hilo_libpq_check(Oid server, Oid role);

/*
 * Call a function of the extension there, with count arguments, a text and then
 * numbers, as texts in the encoding of the database, and read the numbers of the
 * one row that it gives; 0 for what is not there.
 *
 * timeout is how long connecting (unless the options of server or mapping say
 * connect_timeout), and each answer, may take, in milliseconds.  With keep the
 * connection stays open for the next call.  Raises the error that the other
 * server raises, or one of class 08; the call can be cancelled.
 */
typedef void (*HiloLibpqCall) (Oid server, Oid role, int timeout, bool keep,
							   const char *function,
							   const char *const *args, int count,
							   int64 *numbers, int number_count);
extern PGDLLEXPORT void hilo_libpq_call(Oid server, Oid role, int timeout,
										bool keep, const char *function,
										const char *const *args, int count,
										int64 *numbers, int number_count);

#endif							/* HILO_LIBPQ_H */

/*-------------------------------------------------------------------------
 *
 * id_type.h
 *	  Which types of columns hold ids, and which hold their numbers alone.
 *
 * The types asked for are base types: no domains.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_ID_TYPE_H
#define HILO_ID_TYPE_H

/* Does it hold ids: text, varchar or citext? */
extern bool hilo_holds_ids(Oid type);

/* Are ids in it equal that differ in case only: citext? */
extern bool hilo_ignores_case(Oid type);

/* Does it hold numbers: smallint, integer or bigint? */
extern bool hilo_holds_numbers(Oid type);

/* Highest number in an id or number that it holds. */
extern int64 hilo_type_limit(Oid type);

#endif							/* HILO_ID_TYPE_H */

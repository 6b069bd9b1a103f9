/*-------------------------------------------------------------------------
 *
 * catalog.h
 *	  Which tables are ours, and when they may have changed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_CATALOG_H
#define HILO_CATALOG_H

#include "miscadmin.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"

/* The schema of our tables, whatever that of the functions is. */
#define HILO_SCHEMA		"hilo"

typedef enum HiloTable
{
	HILO_TABLE_COUNTERS,		/* hilo.hilo */
	HILO_TABLE_HUBS,			/* hilo.hub */
	HILO_TABLE_MEMBERS,			/* hilo.member */
	HILO_TABLE_BINDINGS			/* hilo.binding */
} HiloTable;

#define HILO_TABLES			(HILO_TABLE_BINDINGS + 1)

/*
 * Generations: numbers that move when what was read may have changed, by
 * whatever session.  Note one before reading; what was read is good for as long
 * as it is the present one.  They move only when invalidation messages are
 * accepted: at the start of a transaction, or in taking a lock.
 */
extern uint64 hilo_row_generation;	/* a row: seeded, dropped, configured ...;
									 * the table: rewritten, dropped */
extern uint64 hilo_binding_generation;	/* a row of hilo.binding */
extern uint64 hilo_rights_generation;	/* either, or rights: roles, tables,
										 * columns, the database */

/* Must be called once. */
extern void hilo_catalog_init(void);

/* Does the table exist? Not while the extension is being dropped. */
extern bool hilo_catalog_has(HiloTable table);

/* OID of a table.  Raises an error if it does not exist. */
extern Oid	hilo_catalog_table(HiloTable table);

/*
 * Open and lock a table.  Raises an error when the extension is not there, or the
 * table is not as the extension made it.  To be closed with table_close().
 */
extern Relation hilo_catalog_open(HiloTable table, LOCKMODE lockmode);

/*
 * The same for the counters and a backend that is about to exit: NULL where it
 * would have to wait for a lock on the table or an index of it, or the table is
 * not the one with the OID expected.
 */
extern Relation hilo_catalog_open_at_exit(Oid expected, LOCKMODE lockmode);

/*
 * OID of the valid index on the table's name column, which in a table of rows
 * that change in place is unique.  The table must be locked.  Raises an error
 * when there is none.
 */
extern Oid	hilo_catalog_name_index(HiloTable table, Relation rel);

/*
 * Where rows of a table live: database and table.  It is another place in a copy
 * of the database, and after a restore.
 */
static inline int64
hilo_catalog_home(Oid table)
{
	return (int64) (((uint64) MyDatabaseId << 32) | table);
}

/* The OID of the table in that. */
#define HILO_HOME_TABLE(home)	((Oid) ((uint64) (home) & PG_UINT32_MAX))

/*
 * Schema of the functions.  Raises an error if the extension does not exist.
 */
extern Oid	hilo_catalog_schema(void);

/* Owner of the extension; InvalidOid if it does not exist. */
extern Oid	hilo_catalog_owner(void);

/*
 * Owner of our tables and functions: a superuser, also where a role that is none has
 * created the extension.
 */
extern Oid	hilo_catalog_tables_owner(void);

/* May a role execute hilo_seed(), or seed_identity_for()? */
extern bool hilo_catalog_may_seed(bool identity, Oid role);

/* May the role choose the server from which numbers are leased? */
extern bool hilo_catalog_may_lease(Oid role);

/*
 * Tell all sessions, this one included, at once and whatever becomes of the
 * current transaction, that rows of the counters' table must be read again.
 */
extern void hilo_catalog_announce(Oid table);

#endif							/* HILO_CATALOG_H */

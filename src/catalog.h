/*-------------------------------------------------------------------------
 *
 * catalog.h
 *	  Which tables and functions are ours, and when that may have changed.
 *
 * Our objects are found through the extension, never through the search_path.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_CATALOG_H
#define HILO_CATALOG_H

#include "access/attnum.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"

#include "counter_row.h"

/* Our tables; first those with rows of counters, that change in place. */
typedef enum HiloTable
{
	HILO_TABLE_COLLECTIONS,		/* hilo */
	HILO_TABLE_IDENTITIES,		/* hilo_identity */
	HILO_TABLE_LEASES,			/* hilo_lease */
	HILO_TABLE_BINDINGS			/* hilo_binding */
} HiloTable;

#define HILO_COUNTER_TABLES (HILO_TABLE_LEASES + 1)
#define HILO_TABLES			(HILO_TABLE_BINDINGS + 1)

/*
 * Number of times that something about our tables may have changed: dropped,
 * created, rewritten, a counter seeded, configured or dropped, a binding made
 * or undone (by any session).  What was read from a table under an older number
 * must be read again.  Moves only when invalidation messages are accepted, in
 * taking a lock at the latest.
 */
extern uint64 hilo_catalog_generation;

/*
 * Number of times that this, or somebody's rights on tables, may have changed.
 */
extern uint64 hilo_rights_generation;

/* Must be called once; changed() is called whenever the generation moves. */
extern void hilo_catalog_init(void (*changed) (void));

/* OID of a table.  Raises an error when there is none. */
extern Oid	hilo_catalog_table(HiloTable which);

/*
 * Say which OID a table may have, as another session has opened it in this
 * database some time: as long as nothing else is known, that is tried before it is
 * looked up.
 */
extern void hilo_catalog_suggest(HiloTable which, Oid table);

/*
 * Open and lock a table.  Raises an error when the extension is not
 * there, the table is not as the extension made it, or, with a lock that allows
 * changes, the current transaction has rewritten it.  To be closed with
 * table_close().
 */
extern Relation hilo_catalog_open(HiloTable which, LOCKMODE lockmode);

/*
 * The same for a table of counters and a backend that is about to exit: table
 * is what hilo_catalog_open() opened before.  NULL where it would have to wait
 * for a lock on the table or an index of it, or the table is not what it was.
 */
extern Relation hilo_catalog_open_at_exit(HiloTable which, Oid table,
										  LOCKMODE lockmode);

/* Number of the column with the name in a table of counters. */
static inline AttrNumber
hilo_catalog_name_attnum(HiloTable which)
{
	return which == HILO_TABLE_LEASES ? HILO_ANUM_LEASE_NAME : HILO_ANUM_NAME;
}

/*
 * May a table of counters have this index: is it unique, and does it depend on
 * the name column, attnum, only?
 */
extern bool hilo_catalog_index_fits(Relation index, AttrNumber attnum);

/*
 * OID of the valid index on a table's name column, attnum; in a table of
 * counters a unique one.  The table must be locked.  Raises an error when there
 * is none.
 */
extern Oid	hilo_catalog_name_index(HiloTable which, Relation table,
									AttrNumber attnum);

/* Schema of the extension.  Raises an error when it is not installed. */
extern Oid	hilo_catalog_schema(void);

/* Owner of the extension.  Raises an error when it is not installed. */
extern Oid	hilo_catalog_owner(void);

/* May the current user seed the counters of a table? */
extern bool hilo_catalog_may_seed(HiloTable which);

/*
 * Tell all sessions, this one included, at once and whatever becomes of the
 * current transaction, that a counter in table was seeded, configured or
 * dropped.
 */
extern void hilo_catalog_announce(Oid table);

#endif							/* HILO_CATALOG_H */

/*-------------------------------------------------------------------------
 *
 * catalog.h
 *	  Which tables are ours, and when they or their contents may have changed; and
 *	  what several files ask of the server's catalogs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_CATALOG_H
#define HILO_CATALOG_H

#include "access/attnum.h"
#include "access/htup.h"
#include "miscadmin.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"


/* The schema of our tables; the functions may be in another one. */
#define HILO_SCHEMA		"hilo"
#define HILO_EXTENSION	"hilo"

typedef enum HiloTable
{
	HILO_TABLE_COUNTERS,		/* hilo.hilo */
	HILO_TABLE_BINDINGS			/* hilo.binding */
} HiloTable;

#define HILO_TABLES			(HILO_TABLE_BINDINGS + 1)

/* The number of the column with the name. */
#define HILO_NAME_ATTNUM(table)	((table) == HILO_TABLE_COUNTERS ? 21 : 1)

/*
 * The generation: it changes when something that was read from our tables, or about the
 * node of a cluster, may have been changed by any session: a row was seeded, dropped,
 * configured or bound, a table rewritten or dropped.  Note it before reading; what was read
 * is valid as long as it stays the same.  It changes when invalidation messages are accepted, at
 * the start of a transaction or with a lock, and when this session announces a change or finds
 * itself in another Citus group.
 */
extern uint64 hilo_generation;

/* Must be called once, when the library is loaded. */
extern void hilo_catalog_init(void);

/*
 * Called at any time with a relation that may have changed; InvalidOid: all
 * may have.  It must do no more than remember that.
 */
typedef void (*HiloRelationChanged) (Oid relid);

/*
 * Call the function about changes from now on, in this session.  A server has ten
 * places for relcache callbacks, for all libraries; this library takes one.
 */
extern void hilo_on_relation_change(HiloRelationChanged changed);

/* OID of a table.  Raises an error if it does not exist. */
extern Oid	hilo_catalog_table(HiloTable table);

/*
 * Open and lock a table.  Raises an error if the extension does not exist, or the table is
 * not as the extension created it.  Close it with table_close().
 */
extern Relation hilo_catalog_open(HiloTable table, LOCKMODE lockmode);

/* True if this session has opened the table before. */
extern bool hilo_catalog_has_opened(HiloTable table);

/*
 * Have the generation follow changes of that table from now on, which this session reads without
 * having opened it.
 */
extern void hilo_catalog_heed(HiloTable table, Oid oid);

/*
 * OID of the valid index on the name column of a table, which is open as rel.  Raises an
 * error if there is none.
 */
extern Oid	hilo_catalog_name_index(HiloTable table, Relation rel);

/*
 * A snapshot of what is committed now, and what this transaction did before the
 * command, registered.  Unlike a query's, a scan with SnapshotAny whose rows are
 * compared with it leaves no trace in serializable transactions.
 */
extern Snapshot hilo_snapshot_now(Oid table, CommandId command);

/*
 * Identifies the database and table that rows belong to.  It differs in a copy
 * of the database, and after a restore.
 */
static inline int64
hilo_catalog_home(Oid table)
{
	return (int64) (((uint64) MyDatabaseId << 32) | table);
}

/* The table's OID in a home. */
#define HILO_HOME_TABLE(home)	((Oid) ((uint64) (home) & PG_UINT32_MAX))

/*
 * Schema of the functions.  Raises an error if the extension does not exist.
 */
extern Oid	hilo_catalog_schema(void);

/*
 * A function by its name and the types of its arguments; InvalidOid: there is none.  Unlike
 * by regprocedure, it is found without a right on its schema.
 */
extern Oid	hilo_catalog_function(Oid schema, const char *name, const Oid *types, int count);

/*
 * The number of a column of any relation.  Raises 42P01 if there is no such relation, 42703 if it
 * has no such column.
 */
extern AttrNumber hilo_catalog_column(Oid relation, const char *column);

/*
 * True if the role may execute hilo.seed(), or for identities, seed_identity_for().
 */
extern bool hilo_catalog_may_seed(bool identity, Oid role);

/*
 * Tell all sessions, including this one, that rows of the counters' table must
 * be read again.  This takes effect at once, and stays even if the transaction
 * is rolled back.
 */
extern void hilo_catalog_announce(Oid table);

#endif							/* HILO_CATALOG_H */

/*-------------------------------------------------------------------------
 *
 * source.h
 *	  The door to the library hilo_hub: numbers that come from other servers, or go
 *	  to them.
 *
 * Most servers count alone, and never load that library.  The core decides whether a
 * number is counted here, and never counts one that is not: it asks the library for it,
 * and raises 55000 if there is no library.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_SOURCE_H
#define HILO_SOURCE_H

#include "access/htup.h"
#include "access/tupdesc.h"
#include "fmgr.h"

#include "base/export.h"
#include "base/settings.h"
#include "counting/catalog.h"
#include "counting/node.h"
#include "counting/range.h"
#include "counting/row.h"

struct HiloPool;

/* What the library does for the core. */
typedef struct HiloSource
{
	uint64		layout;			/* HILO_SOURCE_LAYOUT, where it was built */

	/* Raise 55000 if the row's numbers should not come from where it says. */
	void		(*check) (const HiloRowRef *ref, const HiloRow *row);

	/*
	 * Put wanted numbers into the pool, or raise an error. The row has been
	 * read; on return, read it and look into the pool again.
	 */
	void		(*fetch) (HiloRowRef *ref, const HiloRow *row,
						  const HiloWanted *wanted);

	/*
	 * Fetched numbers were taken from the pool's entry, whose lock is held.
	 * Returns whether low() should be called now.
	 */
	bool		(*taken) (struct HiloPool *it, const HiloRow *row, int64 count);

	/*
	 * low() starts a process that fetches the next numbers; work() is what
	 * that process runs.
	 */
	void		(*low) (void);
	void		(*work) (Datum database);

	/* Raise 55000, on a worker, if the function has to be called elsewhere. */
	void		(*prevent) (HiloRowRef *ref, const char *function);

	/*
	 * Raise 55000 unless this server, which has given numbers to others, may
	 * count.
	 */
	void		(*opens) (HiloRowRef *ref);

	/* Such a server has claimed numbers to draw: wait for standbys. */
	void		(*drawn) (XLogRecPtr lsn);

	/*
	 * Raise 55000 if other servers draw from the counter, which is about to
	 * start over; warn them about a change; forget them.
	 */
	void		(*before_change) (const char *counter);
	void		(*after_change) (HiloRowRef *ref);
	void		(*dropped) (const char *counter);

	/*
	 * Rows from a dump.  Remove from a counter's what the user may not
	 * choose; merge what it says about its source into the one here, whose
	 * page is locked; and merge a row of another table, of that name.
	 */
	void		(*admit) (const char *name, HiloRow *row);
	void		(*merge) (HiloRow *row, const HiloRow *other);
	void		(*restored) (HiloTable table, const char *name, HeapTuple tuple,
							 TupleDesc desc);
} HiloSource;

/*
 * What both libraries must agree about: the meaning of all that they share, which has
 * this number, and the sizes of it.
 */
#define HILO_SOURCE_LAYOUT \
	(((UINT64CONST(1) * 4096 + sizeof(HiloSource)) * 4096 + \
	  sizeof(HiloRow)) * 4096 + sizeof(HiloWanted))

/* The name of the library, and of the function in it that returns the table. */
#define HILO_SOURCE_LIBRARY		"hilo_hub"
#define HILO_SOURCE_FUNCTION	"hilo_hub_source"
typedef const HiloSource *(*HiloSourceFunction) (void);

/* NULL: the library is not loaded. */
extern const HiloSource *hilo_loaded_source;

/* Load the library.  Raises 55000 if that is not possible. */
extern const HiloSource *hilo_source_load(void);

static inline const HiloSource *
hilo_source(void)
{
	return likely(hilo_loaded_source != NULL) ? hilo_loaded_source :
		hilo_source_load();
}

/* A function of the library, by its name, to be called from SQL. */
extern void *hilo_source_symbol(const char *name);

/*
 * What is counted here
 */

/*
 * Which counters should be leased: new ones if the setting hilo.hub names a server; on a
 * worker, all.
 */
static inline HiloLeasing
hilo_leasing(void)
{
	if (hilo_node_is_worker())
		return HILO_LEASE_ALL;
	return hilo_hub[0] == '\0' ? HILO_LEASE_NONE : HILO_LEASE_NEW;
}

/*
 * True if this server has never given numbers to others, as of that
 * hilo_rights_generation.  Otherwise its draws need opens() and drawn().
 */
extern HILO_EXPORT uint64 hilo_alone_generation;
extern HILO_EXPORT bool hilo_source_find_alone(void);

static inline bool
hilo_counts_alone(void)
{
	return likely(hilo_alone_generation == hilo_rights_generation) ||
		hilo_source_find_alone();
}

/*
 * Raise 55000 on a worker if other nodes count: then the function has to be called there.
 */
static inline void
hilo_prevent_on_worker(HiloRowRef *ref, const char *function)
{
	if (unlikely(hilo_node_is_worker()) && hilo_hub[0] == '\0')
		hilo_source()->prevent(ref, function);
}

#endif							/* HILO_SOURCE_H */

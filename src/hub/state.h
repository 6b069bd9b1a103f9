/*-------------------------------------------------------------------------
 *
 * state.h
 *	  What this server is to others: alone, a member, or a hub; and whether a hub is
 *	  open.
 *
 * It is kept in the row of server-side ids, in columns that other rows have no use for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_HUB_STATE_H
#define HILO_HUB_STATE_H

#include "wing.h"

/* The functions of the library hilo. */
extern const HiloCore *core;

typedef enum HubRole
{
	HUB_ALONE,					/* counts for itself */
	HUB_MEMBER,					/* has its numbers from a hub */
	HUB_ITSELF					/* counts for its members, too */
} HubRole;

/* The row of server-side ids, as it is now; all zero if there is none. */
extern HiloRow hub_own_row(void);

extern HubRole hub_role(const HiloRow *own);

/* Begin a change of that row, and finish it.  The row is created if there is none. */
extern void hub_change_own_row(HiloRowChange *change);

/*
 * The place in which this database is: the timeline, the inodes of its file PG_VERSION and of
 * pg_control, and when the first was changed.  A promoted standby, a restored backup, a copied folder and a copied
 * database are in another place than the hub that was opened.  Palloc'd.
 */
extern char *hub_place(void);

/* Where the row keeps the place of a hub; of a member, the name of the hub's server. */
#define HUB_NOTED(row)	NameStr((row)->node_tag)

/* Raise 55000 unless this hub is open. */
extern void hub_require_open(const HiloRow *own);

/* What hub_change_counters() changes. */
typedef struct HubCounterChange
{
	bool		shared;			/* whether servers share the counters */
	bool		skip;			/* whether numbers are skipped: */
	int64		count;			/* so many, or 0: as many as may be lost */
} HubCounterChange;

/*
 * Change all counters but that of server-side ids, in one pass; the row of server-side ids
 * says already what new ones get.  Ranges and pooled numbers of before end.  Returns the LSN of
 * the last change, to be flushed; InvalidXLogRecPtr if there was none.
 */
extern XLogRecPtr hub_change_counters(const HubCounterChange *what);

/* How many numbers of a row with so many left are skipped. */
extern int64 hub_skip(const HubCounterChange *what, const HiloRow *row);

#endif							/* HILO_HUB_STATE_H */

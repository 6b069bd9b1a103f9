/*-------------------------------------------------------------------------
 *
 * hub.h
 *	  This server as a hub: whether it may draw, and what its members have.
 *
 * What a hub does for its members is SQL, in the install script, over the
 * ordinary rows of hilo.hub and hilo.member.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_HUB_H
#define HILO_HUB_H

#include "counting/counter.h"

/*
 * The hilo_rights_generation in which this server was found to be no hub; 0: it was
 * not.  As long as that is current, hilo_hub_check_draw() and
 * hilo_hub_wait_for_standby() have nothing to do.
 */
extern uint64 hilo_no_hub_generation;

static inline bool
hilo_is_no_hub(void)
{
	return likely(hilo_no_hub_generation == hilo_rights_generation);
}

/*
 * Identifies the backup that the data folder was restored from, by the label that
 * the server has left there; 0: none is known.  A term that was made before that
 * backup, or while it was taken, has another value: its last leases may be missing
 * here, although a server that starts from a backup as it is stays on the timeline.
 */
extern int64 hilo_hub_backup(void);

/*
 * Raise 55000 if a number that this server draws for itself might have been
 * leased: it has been a hub, and its term is not open on this timeline, in this
 * database, and in a data folder restored from this backup.  Call this before each
 * claim, but not during recovery.  The answer is remembered, so most calls are cheap.
 */
extern void hilo_hub_check_draw(HiloRowRef *ref);

/*
 * Call this after each claim.  If a standby may resume by itself, because it is
 * recorded that a synchronous one has all leases, wait until it has this claim, too,
 * whatever synchronous_commit says.
 */
extern void hilo_hub_wait_for_standby(XLogRecPtr lsn);

/*
 * True if synchronous_standby_names requires every standby that it lists, by name:
 * then whichever of them is promoted has all that was waited for.
 */
extern bool hilo_hub_requires_all_standbys(void);

/*
 * Wait until a change is on disk, and on the standbys that
 * synchronous_standby_names requires, whatever synchronous_commit says.  If
 * standbys are needed, raises 55000 if none is required there, or, where a standby
 * may resume by itself, if one that is listed does not have the change.
 */
extern void hilo_flush_everywhere(XLogRecPtr lsn, bool needs_standby);

/* True if this server has been asked for leases. */
extern bool hilo_is_hub(void);

/*
 * A row of hilo.hub about another server: the role whose user mapping is used,
 * palloc'd.  NULL: hilo.lease_from() has not named that server.
 */
extern char *hilo_hub_role(const char *hub);

/* Record the role for that server, in a row of the current transaction. */
extern void hilo_hub_note(const char *hub, const char *role);

/* Merge a row of a dump into hilo.hub or hilo.member, whichever it is of. */
extern void hilo_hub_restore(HiloTable table, HeapTuple tuple,
							 TupleDesc desc);

/*
 * For changes that make members' leases unsafe: wait for leases that are being
 * given, and let none be given until hilo_members_unlock().  If members have leased
 * from the counter, raise 55000, or with force only warn.
 */
extern void hilo_members_lock(const char *counter, bool force);
extern void hilo_members_unlock(void);

/* Call this before a lease is given: hilo_members_lock() waits for its end. */
extern void hilo_leases_begin(void);

/*
 * Wait for leases that are being given, and let none be given until the end of this
 * transaction.
 */
extern void hilo_leases_stop_until_commit(void);

/* Forget what members have of a counter that was dropped. */
extern void hilo_members_forget_counter(const char *counter);

/*
 * Warn about members that may draw from leases of another epoch of the counter
 * until they ask again.
 */
extern void hilo_members_warn(HiloRowRef *ref);

#endif							/* HILO_HUB_H */

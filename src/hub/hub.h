/*-------------------------------------------------------------------------
 *
 * hub.h
 *	  This server as a hub: whether it may draw, and what its members have.
 *
 * What a hub does for its members is SQL, in the install script, over the
 * ordinary rows of hilo.hub and hilo.member, unless neither of them changes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_HUB_H
#define HILO_HUB_H

#include "hub/core.h"
#include "hub/leased.h"

/*
 * Identifies this database, with the table of counters, in this cluster: elsewhere, both
 * may have the same OIDs.
 */
extern int64 hilo_hub_home(void);

/*
 * Identifies the backup that the data folder was restored from, by the label that
 * the server has left there; 0: none is known.  A term that was made before that
 * backup, or while it was taken, or in the folder of another server, has another value:
 * its last leases may be missing here, although a server that starts from a backup as
 * it is, or without its standby.signal, stays on the timeline.
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
 * True if synchronous_standby_names requires every standby that it lists, by name.  Then
 * whichever is promoted has all that was waited for.  A number of any standbys (ANY, *)
 * does not do: two could have one name.
 */
extern bool hilo_hub_requires_all_standbys(void);

/*
 * Wait until a change is on disk, and on the standbys that
 * synchronous_standby_names requires, whatever synchronous_commit says.  If
 * standbys are needed, raises 55000 if none is required there, or, where a standby
 * may resume by itself, if one that is listed does not have the change.
 */
extern void hilo_flush_everywhere(XLogRecPtr lsn, bool needs_standby);

/*
 * The term of this server, if it is open, and a member may get a lease without a change to
 * the row |; false: ask hilo._lease().  Call this before the claim, and after it
 * hilo_hub_wait_for_lease(), which waits until the lease is where it has to be.
 */
extern bool hilo_hub_term_for_lease(HiloTerm *term);
extern void hilo_hub_wait_for_lease(XLogRecPtr lsn);

/*
 * True if the member's row says all that matters about a lease of that epoch, and is less
 * than a minute old.
 */
extern bool hilo_member_is_current(const char *member, const char *counter, int64 epoch,
								   const HiloTerm *known, const HiloTerm *own,
								   NullableDatum started);

/* True if this server has been asked for leases. */
extern bool hilo_is_hub(void);

/*
 * A row of hilo.hub about another server: the role whose user mapping is used,
 * palloc'd.  NULL: hilo.lease_from() has not named that server.
 */
extern char *hilo_hub_role(const char *hub);

/* Record the role for that server, in a row of the current transaction. */
extern void hilo_hub_note(const char *hub, const char *role);

/*
 * Merge a row of that name from a dump into hilo.hub or hilo.member, of which it is a
 * row.
 */
extern void hilo_hub_restore(HiloTable table, const char *name,
							 HeapTuple tuple, TupleDesc desc);

/*
 * Remove the hub from a counter's row from a dump, unless the user may choose the server
 * that numbers are leased from: not every role that may restore counters may.
 */
extern void hilo_hub_admit(const char *name, HiloRow *row);

/*
 * Raise 55000 if members have leased from the counter.  No lease may be given until the
 * change is made for which this is called.
 */
extern void hilo_members_refuse(const char *counter);

/*
 * Call this before a lease is given: changes that would repeat numbers of leases wait
 * until this transaction ends.
 */
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

/*-------------------------------------------------------------------------
 *
 * hub.h
 *	  This server as a hub: the timeline on which it gives leases, and its members.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_HUB_H
#define HILO_HUB_H

#include "lib/stringinfo.h"

#include "counting/counter.h"

extern void hilo_hub_state(HiloHubState *state);

/*
 * Raise 55000 if a number that this server draws for itself might have been leased:
 * it has given leases, and neither it nor the counter has been resumed on this
 * timeline.  Call this before each claim, but not during recovery; what was found is
 * remembered.
 */
extern void hilo_hub_check_draw(HiloRowRef *ref);

/*
 * Call this after each claim: if it is noted that a synchronous standby has all
 * leases, so that this may resume by itself, waits until it has this claim, too,
 * whatever synchronous_commit says.
 */
extern void hilo_hub_wait_for_standby(XLogRecPtr lsn);

/* Set the timeline, or HILO_NOT_RESUMED. */
extern void hilo_hub_set_timeline(int64 timeline);

/*
 * If hilo.hub_auto_resume is on, raise 55000 unless a synchronous standby is
 * configured, and note that it has all leases given until now, if that is
 * known: only then may this server resume by itself after a promotion.  If it
 * is off, note that it does not have them.  Call this before a lease is given,
 * and again after it, because another session may have read the setting
 * earlier; then also note that one was given.
 */
extern void hilo_hub_note_mode(bool gave_lease);

/*
 * Process what a member knows about this hub (system 0: nothing).  Raises 55000
 * if that is another server, or a later timeline of this one; after that, no
 * leases are given before hilo.hub_resume().
 */
extern void hilo_hub_hear(const char *member, int64 known_system,
						  int64 known_timeline);

/*
 * After a lease was claimed, and again after a standby has it: raise 55000 if another session has been told,
 * since the state was read, that this server was left behind.
 */
extern void hilo_hub_check_not_left(HiloRowRef *ref,
									const HiloHubState *before);

/*
 * Note that a member has reported what it has of a counter: numbers up to
 * highest.  in_turn: it asks for a lease, and sends these questions one after
 * the other.  Nothing is noted about a member without a name.
 */
extern void hilo_member_note(const char *member, const char *counter, int64 highest,
							 int64 known_timeline, bool in_turn);

/*
 * Note that a member was given a lease of a counter that has this epoch.
 * False: the member has not been noted, or was forgotten.
 */
extern bool hilo_member_note_lease(const char *member, const char *counter,
								   int64 epoch);

/* A row of hilo.member. */
typedef struct HiloMember
{
	const char *name;
	const char *counter;
	HiloMemberRow row;
	bool		reported;		/* true: it has reported since this hub has
								 * been on its timeline */
} HiloMember;

/*
 * Append item n, counting from 0, to a list in a message; a long list is cut
 * off.
 */
extern void hilo_append_part(StringInfo list, int n, const char *part);

/* All members that are not forgotten, as a list of HiloMember *, palloc'd. */
extern List *hilo_members(void);

/* Forget a member, until it asks again. */
extern void hilo_member_forget(const HiloMember *member);

/*
 * Warn about members that may draw from leases of another epoch of the counter,
 * until they ask again.
 */
extern void hilo_members_warn(const char *counter, int64 epoch);

/*
 * True if all members that leased from a counter are forgotten; its row was
 * read and gives leases.  False also if there were none, because leases may be
 * given without a name.  Raises 55000 if one is not forgotten.
 */
extern bool hilo_members_are_forgotten(const char *counter, const HiloRow *row);

/* Forget what members have of a counter that was dropped. */
extern void hilo_members_forget_counter(const char *counter);

/* Merge a row from a dump: that member has not reported here. */
extern void hilo_member_merge(const char *name, const HiloMemberRow *other);

#endif							/* HILO_HUB_H */

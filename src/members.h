/*-------------------------------------------------------------------------
 *
 * members.h
 *	  This server as a hub: on which timeline it gives leases, and its members.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_MEMBERS_H
#define HILO_MEMBERS_H

#include "lib/stringinfo.h"

#include "counter.h"

extern void hilo_hub_state(HiloHubState *state);

/* Set the timeline, or HILO_NOT_RESUMED. */
extern void hilo_hub_set_timeline(int64 timeline);

/*
 * Where hilo.hub_auto_resume is on, see that there is a synchronous standby, else
 * 55000, and note that it has all leases that were given until now, if that is
 * known: then only may this server go on by itself after a promotion.  Where it is
 * off, note that it has not.  To be called before a lease is given, and, as
 * another session may have read the setting earlier, after it.
 */
extern void hilo_hub_note_mode(void);

/*
 * Take in what a member knows about this hub (system 0: nothing).  Raises
 * 55000 if that is another server, or a later timeline of this one; then no
 * leases are given before hilo_hub_resume().
 */
extern void hilo_hub_hear(HiloName member, int64 known_system,
						  int64 known_timeline);

/*
 * Note that a member has reported what it has of a counter: numbers up to
 * highest.  With an epoch, the counter's, note that it was given a lease.
 * Nothing is noted of a member without a name.
 */
extern void hilo_member_note(HiloName member, HiloName counter, int64 highest,
							 int64 known_timeline);
extern void hilo_member_note_lease(HiloName member, HiloName counter,
								   int64 epoch);

/* A row of hilo.member. */
typedef struct HiloMember
{
	HiloName	name;
	HiloName	counter;
	HiloMemberRow row;
	bool		reported;		/* has it said what it has since this hub is
								 * on its timeline? */
} HiloMember;

/* Append part n, from 0, to a list in words, of which not too many are named. */
extern void hilo_append_part(StringInfo list, int n, const char *part);

/* All but the forgotten ones, as a list of HiloMember *, palloc'd. */
extern List *hilo_members(void);

/* Forget one of these, until it asks again. */
extern void hilo_member_forget(const HiloMember *member);

/*
 * Warn of members that may draw from leases that are not of that epoch of the
 * counter: until they ask again.
 */
extern void hilo_members_warn(HiloName counter, int64 epoch);

/* Forget what they have of a counter, which was dropped. */
extern void hilo_members_forget_counter(HiloName counter);

/* Merge a row that a dump has brought: it has not reported here. */
extern void hilo_member_merge(HiloName name, const HiloMemberRow *other);

#endif							/* HILO_MEMBERS_H */

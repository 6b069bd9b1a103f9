/*
 * terms.pml
 *	  The protocol between a hub, its standbys, and the servers that lease from it.
 *
 * Server 0 is the hub at first, the others are its standbys.  Two members lease
 * one number at a time.  Whatever can be late is late: a standby has any earlier
 * state of the server it follows; answers and reports stay on their way as long
 * as they like, or are lost; a server that was replaced goes on until it is
 * stopped.  (One that freezes and wakes up does nothing in between, which is one
 * of the orders that are tried anyway.)
 *
 * The property: no number twice.  A number counts as handed out as soon as a
 * member has taken it in, or a session of a hub has drawn it.  What a hub's own
 * sessions drew lives in the hub's own tables: with a server that lacks that WAL
 * it is gone, so each database has its own set of such numbers.
 *
 * Variants: SYNC (hilo.hub_auto_resume is on, so each claim waits for the
 * standby), MODES (it is switched off and on, while leases are being given), OFF
 * (at first it is off), OWN (the hub's own sessions draw, too), LATE (requests and
 * refusals are late, too), PROMOTED (begins when both standbys have been promoted
 * beside each other), RESTORED (server 0 may be replaced by a base backup of it that
 * is started as it is), SHOWN (what a hub's own sessions draw counts wherever it was
 * drawn, and a standby lags by so many numbers at most), FORGET (a member may be lost
 * once it has reported, and is forgotten), ALL (each claim waits for all standbys, and
 * any of them may be promoted).  A macro that begins with
 * WITHOUT_ leaves out a rule; each must lead to a repeat.
 */

#ifndef NUMBERS
#define NUMBERS		2			/* the counter ends here, */
#endif
#ifndef TERMS
#define TERMS		3			/* terms here, */
#endif
#ifndef HUBS
#define HUBS		2			/* and all but one server can be promoted */
#endif

#define MEMBERS		2

/* What is in a hub's database. */
typedef Database
{
	byte		max;
	byte		own;			/* numbers that own sessions drew, one bit each */
	byte		high[MEMBERS];	/* highest number reported, if above max */
	byte		backup;			/* the folder in which the term was made */
	byte		term;
	byte		id;				/* random in reality; here 1, 2, 3, ... */
	bit			open;			/* or collecting reports */
	byte		timeline;		/* on which the term was made */
	byte		seen;			/* highest foreign term, if not below ours */
	byte		waited;			/* the standby has all leases: NOT_WAITED ... */
	bit			reported[MEMBERS];	/* in this collecting term */
};

/* The note in a database; it changes by one step with a lease. */
#define NOT_WAITED		0
#define ENTERING		1		/* from now on leases are waited for, */
#define ALL_WAITED		2		/* all have been, */
#define LEAVING			3		/* and no longer are, once the standby knows */

Database	db[HUBS];
bit			is_primary[HUBS];	/* or standby, or stopped */
byte		timeline[HUBS];
bit			automatic[HUBS];	/* hilo.hub_auto_resume */
#ifdef MODES
byte		shown[HUBS];		/* the note as other transactions see it: that is
								 * after standbys can have it */
#define NOTE(h)			shown[h]
#else
#define NOTE(h)			db[h].waited
#endif
byte		promotions;
byte		folder[HUBS];		/* 0, or which restored backup it is */
Database	saved;				/* a base backup of server 0 */
byte		saved_timeline;		/* 0: none */
byte		shown_own;			/* numbers that own sessions drew anywhere */
bit			gone[MEMBERS];		/* members that are lost */
byte		ids;				/* last id of a term */

/* A member's row of the counter. */
typedef Member
{
	byte		max;
	byte		term;
	byte		id;
};

Member		member[MEMBERS];
byte		leased;				/* numbers that members have had, one bit each */

/*
 * Messages: slot 2 * member is for its request for a lease and the answer, the
 * next one for its report.
 */
#define NOTHING		0
#define ASKED		1			/* on its way to the hub, */
#define ANSWERED	2			/* and back */
#define BEGUN		3			/* with MODES: its claim comes later */

typedef Slot
{
	byte		state;
	byte		hub;
	byte		term;			/* that the member, and then the hub, has */
	byte		id;
	byte		number;			/* the member's max; then the lease, 0: refused */
	byte		waited;			/* the note, */
	bit			automatic;		/* and the setting, when it began */
};

Slot		slot[2 * MEMBERS];

byte		x, t;				/* used within one event */

#define BIT(n)			(1 << (n))
#define MAX(a, b)		((a) > (b) -> (a) : (b))

/*
 * Servers
 */

inline copy_database(from, to)
{
	db[to].max = db[from].max;
	db[to].own = db[from].own;
	db[to].high[0] = db[from].high[0];
	db[to].high[1] = db[from].high[1];
	db[to].backup = db[from].backup;
	db[to].term = db[from].term;
	db[to].id = db[from].id;
	db[to].open = db[from].open;
	db[to].timeline = db[from].timeline;
	db[to].seen = db[from].seen;
	db[to].waited = db[from].waited;
	db[to].reported[0] = db[from].reported[0];
	db[to].reported[1] = db[from].reported[1];
	timeline[to] = timeline[from]
}

#define IS_COPY(a, b)	(db[a].max == db[b].max && db[a].own == db[b].own && \
						 db[a].high[0] == db[b].high[0] && db[a].high[1] == db[b].high[1] && \
						 db[a].backup == db[b].backup && db[a].term == db[b].term && \
						 db[a].id == db[b].id && db[a].open == db[b].open && \
						 db[a].timeline == db[b].timeline && db[a].seen == db[b].seen && \
						 db[a].waited == db[b].waited && timeline[a] == timeline[b] && \
						 db[a].reported[0] == db[b].reported[0] && \
						 db[a].reported[1] == db[b].reported[1])

/*
 * The synchronous standby of h is the next server.  Where a hub resumes by
 * itself, only that one is promoted.
 */
#define ASIDE(h)		(((h) + 1) % HUBS)
#define OTHER(h)		(((h) + 2) % HUBS)
#if defined(ALL)
#define HAS_STANDBY(h)	(!is_primary[ASIDE(h)] && !is_primary[OTHER(h)])
#define MAY_PROMOTE(h)	(promotions < HUBS - 1)
#elif defined(SYNC) || defined(MODES)
#define HAS_STANDBY(h)	(!is_primary[ASIDE(h)])
#define MAY_PROMOTE(h)	((h) == promotions + 1 && timeline[h] == timeline[promotions])
#else
#define HAS_STANDBY(h)	false
#define MAY_PROMOTE(h)	(promotions < HUBS - 1)
#endif

inline promote(h)
{
	is_primary[h] = 1;
	timeline[h]++;
	promotions++;
#ifdef MODES
	shown[h] = db[h].waited;
#endif
	printf("server %d is promoted: timeline %d\n", h, timeline[h])
}

/* A standby gets everything, because the steps between are earlier states. */
#define MAY_FOLLOW(s, h)	((s) != (h) && !is_primary[s] && is_primary[h] && \
							 timeline[s] <= timeline[h] && !IS_COPY(s, h))

inline follow(s, h)
{
	copy_database(h, s);
	printf("standby %d has what server %d has\n", s, h)
}

/*
 * Terms and claims on a hub
 */

#ifdef WITHOUT_LABEL
#define IS_HOME(h)		(db[h].timeline == timeline[h])
#else
#define IS_HOME(h)		(db[h].timeline == timeline[h] && db[h].backup == folder[h])
#endif
#define IS_OPEN(h)		(db[h].open && IS_HOME(h))

/* A hub resumes by itself if its database says that it has all leases. */
#ifdef WITHOUT_STANDBY
#define RESUMES(h)		(automatic[h])
#else
#define RESUMES(h)		(automatic[h] && db[h].waited == ALL_WAITED && db[h].open && db[h].timeline != timeline[h])
#endif

/* Begin term t + 1. */
inline new_term(h)
{
	db[h].term = t + 1;
	ids++;
	db[h].id = ids;
	db[h].timeline = timeline[h];
	db[h].backup = folder[h];
	db[h].seen = 0;
	db[h].open = 0;
#ifndef WITHOUT_VOIDING
	db[h].reported[0] = 0;
	db[h].reported[1] = 0
#endif
}

/* Number t is handed out, by now for the first time. */
#define IN_TABLES(h)	(is_primary[h] && (db[h].own & BIT(t)))
#ifdef SHOWN
#define IS_OWN			(shown_own & BIT(t))
#elif HUBS > 2
#define IS_OWN			(IN_TABLES(0) || IN_TABLES(1) || IN_TABLES(2))
#else
#define IS_OWN			(IN_TABLES(0) || IN_TABLES(1))
#endif

inline check_once()
{
	if
	:: (leased & BIT(t)) || IS_OWN -> printf("  number %d is handed out TWICE\n", t); assert(false)
	:: else
	fi
}

/* With the note or the setting, a claim waits for the standby; is there one? */
#if defined(SHOWN)
#define CAN_CLAIM(h)	(db[h].max < NUMBERS && ((h) > 0 || db[0].max < db[1].max + SHOWN))
#elif defined(WITHOUT_STANDBY)
#define CAN_CLAIM(h)	(db[h].max < NUMBERS)
#else
#define CAN_CLAIM(h)	(db[h].max < NUMBERS && \
						 ((!automatic[h] && NOTE(h) == NOT_WAITED) || HAS_STANDBY(h)))
#endif

inline copy_to_standbys(h)
{
#if defined(ALL) && !defined(WITHOUT_ALL)
	copy_database(h, OTHER(h));
#endif
	copy_database(h, ASIDE(h))
}

inline wait_for_standby(h)
{
	if
#ifndef WITHOUT_STANDBY
	:: NOTE(h) != NOT_WAITED -> copy_to_standbys(h)
#endif
	:: else
	fi
}

/* Each step is noted by a lease that is waited for; the next one takes it along. */
#ifdef WITHOUT_ENTERING
#define NEXT_ON(waited)		ALL_WAITED
#else
#define NEXT_ON(waited)		(waited == NOT_WAITED -> ENTERING : ALL_WAITED)
#endif
#ifdef WITHOUT_LEAVING
#define NEXT_OFF(waited)	NOT_WAITED
#else
#define NEXT_OFF(waited)	(waited == ALL_WAITED -> LEAVING : NOT_WAITED)
#endif

/* The note may have changed since the lease began. */
#ifdef WITHOUT_SECOND_LOOK
#define IS_WAITED(s)	(slot[s].automatic || slot[s].waited != NOT_WAITED)
#else
#define IS_WAITED(s)	(slot[s].automatic || slot[s].waited != NOT_WAITED || NOTE(slot[s].hub) != NOT_WAITED)
#endif

/* A lease that has begun: claim, wait, note, answer. */
inline claim(s)
{
	x = slot[s].hub;
	db[x].max = MAX(db[x].max, slot[s].number) + 1;
	slot[s].number = db[x].max;
	if
#ifndef WITHOUT_STANDBY
	:: IS_WAITED(s) -> copy_to_standbys(x)
#endif
	:: else
	fi;
	t = (slot[s].automatic -> NEXT_ON(slot[s].waited) : NEXT_OFF(slot[s].waited));
	if
	:: NOTE(x) == slot[s].waited && db[x].waited == slot[s].waited && slot[s].waited != t ->
		db[x].waited = t;
		printf("  server %d notes about waiting for its standby: %d\n", x, t)
	:: else
	fi;
	slot[s].waited = 0;
	slot[s].automatic = 0;
	slot[s].state = ANSWERED;
	printf("  server %d answers: number %d in term %d/%d\n", x, slot[s].number, slot[s].term, slot[s].id)
}

/* Note in hub x the highest number in a request. */
inline note_high(m, s)
{
	if
	:: slot[s].number > db[x].max && slot[s].number > db[x].high[m] -> db[x].high[m] = slot[s].number
	:: else
	fi
}

/* Is hub x behind the term in a request?  Is a report in exactly its term? */
#ifdef WITHOUT_IDS
#define IS_BEHIND(s)	(slot[s].term > db[x].term)
#else
#define IS_BEHIND(s)	(slot[s].term > db[x].term || (slot[s].term == db[x].term && slot[s].id != db[x].id))
#endif
#if defined(WITHOUT_EXACT) || defined(WITHOUT_TERM)
#define COUNTS(s)		true
#elif defined(WITHOUT_IDS)
#define COUNTS(s)		(slot[s].term == db[x].term)
#else
#define COUNTS(s)		(slot[s].term == db[x].term && slot[s].id == db[x].id)
#endif

/* A hub gets the request or the report of member m. */
inline handle(m, s)
{
	x = slot[s].hub;
	if
	:: !IS_HOME(x) ->
		t = MAX(db[x].term, db[x].seen);
		t = MAX(t, slot[s].term);
		slot[s].state = RESUMES(x);
		new_term(x);
		db[x].open = slot[s].state;
		printf("  server %d makes term %d/%d (open: %d)\n", x, db[x].term, db[x].id, db[x].open)
	:: else
	fi;
	if
	:: IS_BEHIND(s) ->
		db[x].seen = MAX(db[x].seen, slot[s].term);
		slot[s].number = 0;
		printf("  server %d has term %d/%d, so it refuses, and notes that term\n", x, db[x].term, db[x].id)
	:: else ->
		note_high(m, s);
		if
		:: s % 2 == 1 ->
			slot[s].number = 0;
			if
			:: !db[x].open && COUNTS(s) ->
				db[x].reported[m] = 1;
				printf("  the report counts\n")
			:: else
			fi
		:: s % 2 == 0 && !IS_OPEN(x) ->
			slot[s].number = 0;
			printf("  server %d refuses: term %d/%d is not open\n", x, db[x].term, db[x].id)
		:: s % 2 == 0 && IS_OPEN(x) && !CAN_CLAIM(x) ->
			slot[s].number = 0;
			printf("  server %d waits for a standby in vain\n", x)
		:: s % 2 == 0 && IS_OPEN(x) && CAN_CLAIM(x) ->
			slot[s].waited = NOTE(x);
			slot[s].automatic = automatic[x];
			slot[s].state = BEGUN
		fi
	fi;
	slot[s].term = db[x].term;
	slot[s].id = db[x].id;
	if
	:: slot[s].state != BEGUN -> slot[s].state = ANSWERED
	:: else ->
#ifdef MODES
		printf("  server %d begins to give a lease\n", x)
#else
		claim(s)
#endif
	fi
}

/*
 * hilo.hub_resume().  Where the hub's own sessions draw, and no standby is waited
 * for, the operator has stopped all other servers.
 */
#if defined(OWN) && !defined(SYNC)
#if HUBS > 2
#define MAY_RESUME(h)	(!is_primary[((h) + 1) % HUBS] && !is_primary[((h) + 2) % HUBS])
#else
#define MAY_RESUME(h)	(!is_primary[((h) + 1) % HUBS])
#endif
#else
#define MAY_RESUME(h)	true
#endif

#ifdef WITHOUT_REPORTS
#define ALL_REPORTED(h)	(db[h].reported[0] || db[h].reported[1])
#else
#define ALL_REPORTED(h)	(db[h].reported[0] && db[h].reported[1])
#endif

#define NEEDS_TERM(h)	(!IS_HOME(h) || db[h].seen >= db[h].term)
#define CAN_COLLECT(h)	(is_primary[h] && MAY_RESUME(h) && NEEDS_TERM(h) && \
						 db[h].term < TERMS && db[h].seen < TERMS)
#define CAN_OPEN(h)		(is_primary[h] && MAY_RESUME(h) && !NEEDS_TERM(h) && \
						 !db[h].open && ALL_REPORTED(h))

inline collect_reports(h)
{
	t = MAX(db[h].term, db[h].seen);
	new_term(h);
	printf("hub_resume() on server %d: makes term %d/%d to collect reports\n", h, db[h].term, db[h].id)
}

inline open_term(h)
{
	db[h].open = 1;
	db[h].waited = (db[h].waited >= ALL_WAITED -> LEAVING : NOT_WAITED);
#ifdef MODES
	shown[h] = db[h].waited;
#endif
	db[h].max = MAX(db[h].max, db[h].high[0]);
	db[h].max = MAX(db[h].max, db[h].high[1]);
#if defined(SHOWN) && !defined(WITHOUT_SKIP)
	db[h].max = db[h].max + SHOWN;
#endif
	db[h].high[0] = 0;
	db[h].high[1] = 0;
	db[h].reported[0] = 0;
	db[h].reported[1] = 0;
	printf("hub_resume() on server %d: opens term %d/%d above number %d\n", h, db[h].term, db[h].id, db[h].max)
}

#ifdef WITHOUT_GUARD
#define MAY_DRAW(h)		(is_primary[h])
#else
#define MAY_DRAW(h)		(is_primary[h] && (IS_OPEN(h) || RESUMES(h)))
#endif

inline draw_own(h)
{
	db[h].max++;
	t = db[h].max;
	printf("server %d draws number %d itself\n", h, t);
	check_once();
	db[h].own = db[h].own | BIT(t);
#ifdef SHOWN
	shown_own = shown_own | BIT(t);
#endif
#ifndef WITHOUT_OWN_WAIT
	wait_for_standby(h)
#endif
}

/*
 * Members
 */

inline clear(s)
{
	slot[s].state = NOTHING;
	slot[s].hub = 0;
	slot[s].term = 0;
	slot[s].id = 0;
	slot[s].number = 0;
	slot[s].waited = 0;
	slot[s].automatic = 0
}

/* The term in an answer, beside that in the member's row. */
#define IS_HIGHER(m, s)	(slot[s].term > member[m].term)
#define IS_LOWER(m, s)	(slot[s].term < member[m].term)
#define IS_OTHER(m, s)	(slot[s].term == member[m].term && slot[s].id != member[m].id)

#if defined(WITHOUT_COMPARISON)
#define IS_WRONG(m, s)	false
#elif defined(WITHOUT_IDS)
#define IS_WRONG(m, s)	IS_LOWER(m, s)
#else
#define IS_WRONG(m, s)	(IS_LOWER(m, s) || IS_OTHER(m, s))
#endif

inline store_term(m, s)
{
	if
	:: IS_HIGHER(m, s) ->
		member[m].term = slot[s].term;
		member[m].id = slot[s].id
	:: else
	fi
}

/* A lease arrives: compare, store and move max in one step. */
inline take_in(m, s)
{
	printf("member %d gets number %d of server %d, term %d/%d\n", m, slot[s].number, slot[s].hub, slot[s].term, slot[s].id);
	if
	:: IS_WRONG(m, s) ->
		printf("  and rejects it, because it has seen term %d/%d\n", member[m].term, member[m].id)
	:: else ->
		store_term(m, s);
		if
		:: slot[s].number > member[m].max ->
			t = slot[s].number;
			check_once();
			member[m].max = t;
			leased = leased | BIT(t)
		:: else
		fi
	fi;
	clear(s)
}

/* A refusal arrives: store its term, then report to that hub. */
inline hear_refusal(m, s, r)
{
#if !defined(WITHOUT_STORING) && !defined(WITHOUT_TERM)
	store_term(m, s);
#endif
	slot[r].state = ASKED;
	slot[r].hub = slot[s].hub;
	slot[r].number = member[m].max;
#ifdef WITHOUT_STORING
	slot[r].id = (IS_HIGHER(m, s) -> slot[s].id : member[m].id);
	slot[r].term = MAX(slot[s].term, member[m].term);
#else
	slot[r].term = member[m].term;
	slot[r].id = member[m].id;
#endif
	printf("  member %d reports its numbers to server %d, with term %d/%d\n", m, slot[r].hub, slot[r].term, slot[r].id);
	if
	:: s != r -> clear(s)
	:: else
	fi
}

/*
 * Ask for a lease; what was under way is lost.  Without LATE, the request arrives
 * at once, and so does a refusal.
 */
inline ask(m, s, r, h)
{
	printf("member %d asks server %d for a lease, with term %d/%d\n", m, h, member[m].term, member[m].id);
	slot[s].state = ASKED;
	slot[s].hub = h;
	slot[s].term = member[m].term;
	slot[s].id = member[m].id;
	slot[s].number = member[m].max;
#ifndef LATE
	handle(m, s);
	if
	:: slot[s].state == ANSWERED && slot[s].number == 0 -> hear_refusal(m, s, r)
	:: else
	fi
#endif
}

/* hilo.lease_report(): another session of the member hears what the term is. */
inline call_report(m, r, h)
{
	printf("member %d is told to report to server %d, with term %d/%d\n", m, h, member[m].term, member[m].id);
	slot[r].state = ASKED;
	slot[r].hub = h;
	slot[r].term = member[m].term;
	slot[r].id = member[m].id;
	slot[r].number = member[m].max;
	handle(m, r);
	if
	:: IS_HIGHER(m, r) -> hear_refusal(m, r, r)
	:: else -> clear(r)
	fi
}

inline arrive(m, s)
{
	printf("server %d gets the report of member %d, with term %d/%d, numbers to %d\n", slot[s].hub, m, slot[s].term, slot[s].id, slot[s].number);
	handle(m, s);
#ifdef LATE
	if
	:: !IS_HIGHER(m, s) -> clear(s)
	:: else
	fi
#else
	clear(s)
#endif
}

/*
 * Restored, and lost
 */

inline save_backup()
{
	saved.max = db[0].max;
	saved.own = db[0].own;
	saved.high[0] = db[0].high[0];
	saved.high[1] = db[0].high[1];
	saved.backup = db[0].backup;
	saved.term = db[0].term;
	saved.id = db[0].id;
	saved.open = db[0].open;
	saved.timeline = db[0].timeline;
	saved.seen = db[0].seen;
	saved.waited = db[0].waited;
	saved.reported[0] = db[0].reported[0];
	saved.reported[1] = db[0].reported[1];
	saved_timeline = timeline[0];
	printf("a base backup of server 0 is taken\n")
}

/* It takes the place of server 0, which is stopped. */
inline restore_backup()
{
	db[0].max = saved.max;
	db[0].own = saved.own;
	db[0].high[0] = saved.high[0];
	db[0].high[1] = saved.high[1];
	db[0].backup = saved.backup;
	db[0].term = saved.term;
	db[0].id = saved.id;
	db[0].open = saved.open;
	db[0].timeline = saved.timeline;
	db[0].seen = saved.seen;
	db[0].waited = saved.waited;
	db[0].reported[0] = saved.reported[0];
	db[0].reported[1] = saved.reported[1];
	timeline[0] = saved_timeline;
	folder[0]++;
	saved_timeline = 0;
	is_primary[0] = 1;
	printf("the base backup is started as server 0, as it is\n")
}

inline lose(m, s, r)
{
	gone[m] = 1;
	clear(s);
	clear(r);
	printf("member %d is lost\n", m)
}

/* hilo.hub_forget() */
inline forget(h, m)
{
#ifndef WITHOUT_RAISE
	db[h].max = MAX(db[h].max, db[h].high[m]);
#endif
	db[h].high[m] = 0;
	db[h].reported[m] = 1;
	printf("hub_forget() on server %d: member %d\n", h, m)
}

/*
 * Events
 */

#define FITS(h)			(IS_HOME(h) || (db[h].term < TERMS && db[h].seen < TERMS))
#define CAN_HANDLE(h)	(is_primary[h] && FITS(h) && (!IS_OPEN(h) || CAN_CLAIM(h)))

#ifdef LATE
#define MAY_ASK(s, h)	(is_primary[h] && slot[s].state != ASKED)
#define ON_ARRIVAL(m, s) \
	:: d_step { slot[s].state == ASKED && CAN_HANDLE(slot[s].hub) -> handle(m, s); x = 0; t = 0 }
#else
#define MAY_ASK(s, h)	CAN_HANDLE(h)
#define ON_ARRIVAL(m, s)
#endif

#ifdef MODES
#define CAN_GO_ON(h, s)	(is_primary[h] && db[h].max < NUMBERS && (!IS_WAITED(s) || HAS_STANDBY(h)))
#define ON_CLAIM(s) \
	:: d_step { slot[s].state == BEGUN && CAN_GO_ON(slot[s].hub, s) -> claim(s); x = 0; t = 0 }
#else
#define ON_CLAIM(s)
#endif

/* Without an answer under way, asking for a lease does the same. */
#define MAY_CALL(s, h)	(is_primary[h] && FITS(h) && slot[s].state == ANSWERED)

#ifdef FORGET
#define IS_HERE(m)		(!gone[m])
#else
#define IS_HERE(m)		true
#endif

#define MEMBER_EVENTS(m, s, r) \
	:: d_step { IS_HERE(m) && MAY_ASK(s, 0) -> ask(m, s, r, 0); x = 0; t = 0 } \
	:: d_step { IS_HERE(m) && MAY_ASK(s, 1) -> ask(m, s, r, 1); x = 0; t = 0 } \
	:: d_step { MAY_CALL(s, 0) -> call_report(m, r, 0); x = 0; t = 0 } \
	:: d_step { MAY_CALL(s, 1) -> call_report(m, r, 1); x = 0; t = 0 } \
	ON_ARRIVAL(m, s) \
	ON_CLAIM(s) \
	:: d_step { slot[s].state == ANSWERED && slot[s].number > 0 -> take_in(m, s); t = 0 } \
	:: d_step { slot[s].state == ANSWERED && slot[s].number == 0 -> hear_refusal(m, s, r) } \
	:: d_step { slot[r].state == ASKED && is_primary[slot[r].hub] && FITS(slot[r].hub) -> arrive(m, r); x = 0; t = 0 } \
	:: d_step { slot[r].state == ANSWERED -> hear_refusal(m, r, r) }

#define HUB_EVENTS(h) \
	:: d_step { CAN_COLLECT(h) -> collect_reports(h); t = 0 } \
	:: d_step { CAN_OPEN(h) -> open_term(h) } \
	:: d_step { is_primary[h] -> is_primary[h] = 0; printf("server %d is stopped\n", h) } \
	:: d_step { !is_primary[h] && MAY_PROMOTE(h) -> promote(h) } \
	:: d_step { MAY_FOLLOW(h, ASIDE(h)) -> follow(h, ASIDE(h)) }

#define THIRD_HUB_EVENTS(m, s, r) \
	:: d_step { MAY_ASK(s, 2) -> ask(m, s, r, 2); x = 0; t = 0 } \
	:: d_step { MAY_CALL(s, 2) -> call_report(m, r, 2); x = 0; t = 0 }

#define FOLLOW_EVENTS(h) \
	:: d_step { MAY_FOLLOW(h, (h + 2) % HUBS) -> follow(h, (h + 2) % HUBS) }

#define OWN_EVENTS(h) \
	:: d_step { MAY_DRAW(h) && CAN_CLAIM(h) -> draw_own(h); t = 0 }

/* A backup is taken before anything is restored from it, and only once. */
#define RESTORE_EVENTS \
	:: d_step { is_primary[0] && saved_timeline == 0 && folder[0] == 0 -> save_backup() } \
	:: d_step { !is_primary[0] && promotions == 0 && saved_timeline > 0 -> restore_backup() }

#define LOSE_EVENTS(m, s, r) \
	:: d_step { !gone[m] && ((is_primary[0] && !db[0].open && db[0].reported[m]) || (is_primary[1] && !db[1].open && db[1].reported[m])) -> lose(m, s, r) } \
	:: d_step { gone[m] && is_primary[0] && !db[0].open && db[0].high[m] > 0 -> forget(0, m) } \
	:: d_step { gone[m] && is_primary[1] && !db[1].open && db[1].high[m] > 0 -> forget(1, m) }

#define MODE_EVENTS(h) \
	:: d_step { is_primary[h] && shown[h] != db[h].waited -> shown[h] = db[h].waited; printf("others see the note of server %d: %d\n", h, shown[h]) } \
	:: d_step { is_primary[h] -> automatic[h] = 1 - automatic[h]; printf("hub_auto_resume on server %d is now %d\n", h, automatic[h]) }

active proctype world()
{
	d_step {
		ids = 1;
		do
		:: x < HUBS ->
			db[x].term = 1;
			db[x].id = 1;
			db[x].open = 1;
			db[x].timeline = 1;
			timeline[x] = 1;
#if defined(SYNC) || defined(MODES)
			automatic[x] = 1;
			db[x].waited = ALL_WAITED;
#endif
#ifdef MODES
#ifdef OFF
			automatic[x] = x > 0;
			db[x].waited = NOT_WAITED;
#endif
			shown[x] = db[x].waited;
#endif
			x++
		:: else -> break
		od;
		x = 0;
#ifdef PROMOTED
		is_primary[1] = 1;
		is_primary[2] = 1;
		timeline[1] = 2;
		timeline[2] = 2;
		promotions = 2;
		printf("server 0 is stopped, servers 1 and 2 are promoted: timeline 2\n");
#else
		is_primary[0] = 1;
#endif
		member[0].term = 1;
		member[0].id = 1;
		member[1].term = 1;
		member[1].id = 1
	};
	do
	MEMBER_EVENTS(0, 0, 1)
	MEMBER_EVENTS(1, 2, 3)
	HUB_EVENTS(0)
	HUB_EVENTS(1)
#if HUBS > 2
	THIRD_HUB_EVENTS(0, 0, 1)
	THIRD_HUB_EVENTS(1, 2, 3)
	HUB_EVENTS(2)
	FOLLOW_EVENTS(0)
	FOLLOW_EVENTS(1)
	FOLLOW_EVENTS(2)
#endif
#ifdef OWN
	OWN_EVENTS(0)
	OWN_EVENTS(1)
#if HUBS > 2
	OWN_EVENTS(2)
#endif
#endif
#ifdef RESTORED
	RESTORE_EVENTS
#endif
#ifdef FORGET
	LOSE_EVENTS(0, 0, 1)
	LOSE_EVENTS(1, 2, 3)
#endif
#ifdef MODES
	MODE_EVENTS(0)
	MODE_EVENTS(1)
#endif
	od
}

/*
 * leases.pml
 *	  The protocol between a hub, its standbys and copies, and the members that lease from it.
 *
 * Server 0 is the hub at first, the others are its standbys.  Two members lease one number at a
 * time, and the hub's own sessions draw, too.  A standby has any earlier state of the hub.  So one
 * that is promoted stands for a restored backup and a copied folder as well.  An answer arrives at
 * any time, or is lost when its member asks again.  A member's crash loses its answer and the
 * numbers in its pool, which are then never drawn.  A request arrives at once: a late one differs
 * only in what it says the member knows, and WITHOUT_SENDING leaves that out.
 *
 * An opening (hub, opening, opening id) is one number here: the first resume made 1, the next one
 * 2, and so on.  Events print it as opening/id.
 *
 * The property: no number twice.  It holds if resume is called as the page says: after the other
 * servers were stopped for good, with a skip that covers what this one lacks.  The skip here is the
 * smallest one that does.  Variants:
 *
 * SYNC			each claim waits for the standby, so nothing is skipped and no server is stopped
 * UNFENCED		replaced servers go on; the skip covers what their own sessions draw, and what a
 *				member takes from them before it hears of a later opening
 * JOIN			member 0 counts for itself at first, joins, and joins again
 * OTHER		there is another hub, which members ask by mistake, or join
 * MEMBERS_FAIL	a member is replaced by its standby, which lacks what it noted
 *
 * Variants that the page rules out, each of which leads to a repeat:
 *
 * NO_SKIP		nothing is skipped, though the standby lags
 * FIXED_SKIP	the skip covers the numbers that were given, but not those that another resume skipped
 * UNCOVERED	UNFENCED, but the skip covers only what the server lacks when it is resumed
 * TWO_LACK		UNFENCED, and the server that is resumed lacks several openings
 * SNAPSHOT		a copy has the place of the hub
 *
 * A macro that begins with WITHOUT_ leaves out a rule.
 */

#ifndef NUMBERS
#define NUMBERS		4			/* the counter ends here, */
#endif
#ifndef OPENINGS
#define OPENINGS	3			/* after so many openings none is resumed, */
#endif
#ifndef PLACES
#define PLACES		3			/* and at the last of these places none is promoted */
#endif
#ifndef HUBS
#define HUBS		2
#endif

#define MEMBERS		2
#ifdef JOIN
#define JOINS(m)	((m) == 0)
#else
#define JOINS(m)	false
#endif

#define BIT(n)		(1 << (n))
#define MAX(a, b)	((a) > (b) -> (a) : (b))

/*
 * Servers
 */

/* What is in a hub's database. */
typedef Database
{
	bit			there;			/* the counter's row is, */
	byte		max;			/* with this max */
	byte		floor;
	byte		opened;			/* which opening, */
	byte		place;			/* and where */
};

#define STANDBY		0			/* or a backup, or a copy */
#define RUNS		1
#define STOPPED		2			/* and can be started again as it is */

/* The other hub is one more server. */
#ifdef OTHER
#define SERVERS		(HUBS + 1)
#else
#define SERVERS		HUBS
#endif

Database	db[SERVERS];
byte		state[SERVERS];
byte		place[SERVERS];		/* timeline and folder */
byte		places;

/* Openings; the last one is that of the other hub. */
#define OTHERS		(OPENINGS + 1)
byte		opening[OPENINGS + 2];	/* the number of each, */
byte		base[OPENINGS + 2];	/* and the highest number that it does not give */
byte		newest;
byte		highest;			/* number that the hub has given, */
byte		given;				/* and all of them, one bit each */

#define HUB(o)			((o) == OTHERS)

/*
 * Members
 */

typedef Member
{
	bit			hub;			/* the one that it joined, */
	byte		known;			/* and its opening; 0: it counts for itself */
	byte		max;
	byte		heard;			/* of the openings, the latest that it ever noted */
	byte		pool;			/* a number that is not drawn yet; 0: none */
	byte		joining;		/* the opening that answered to join(); 0: none */
	byte		had;			/* the numbers drawn here, one bit each */
	byte		saved_known;	/* what its standby has */
	byte		saved_max;
};

Member		member[MEMBERS];
byte		shared[2];			/* the numbers drawn that a hub counts, one bit each */

/* The answer that a member waits for. */
#define NOTHING		0
#define ANSWERED	1
#define COMPARED	2			/* with what is known, */
#define WRITTEN		3			/* and its number into the row */

typedef Answer
{
	byte		state;
	byte		opened;
	byte		number;
};

Answer		answer[MEMBERS];

byte		n, o;				/* a number and an opening, within one event */

/*
 * What is known
 */

#ifdef WITHOUT_HUB
#define IS_HUB(o, m)	true
#else
#define IS_HUB(o, m)	(HUB(o) == member[m].hub)
#endif
#ifdef WITHOUT_ID
#define SAME_ID(a, b)	true
#else
#define SAME_ID(a, b)	((a) == (b))
#endif
#ifdef WITHOUT_OPENING
#define LOWER(a, b)		false
#else
#define LOWER(a, b)		(opening[a] < opening[b])
#endif
#define EQUAL(a, b)		(opening[a] == opening[b])

/* Does an opening agree with what a member knows; has the member to note it? */
#define AGREES(o, m)	(IS_HUB(o, m) && !LOWER(o, member[m].known) && \
						 (!EQUAL(o, member[m].known) || SAME_ID(o, member[m].known)))
#define IS_LATER(o, m)	(IS_HUB(o, m) && opening[o] > opening[member[m].known])

/* Does a hub refuse the member?  It is not told which hub the member knows. */
#ifdef WITHOUT_SENDING
#define REFUSES(o, m)	false
#else
#define REFUSES(o, m)	(LOWER(o, member[m].known) || (EQUAL(o, member[m].known) && !SAME_ID(o, member[m].known)))
#endif

inline note(m)
{
	member[m].known = o;
	member[m].heard = (HUB(o) -> 0 : MAX(member[m].heard, o));
	printf("  member %d notes opening %d/%d\n", m, opening[o], o)
}

/*
 * Numbers of a hub
 */

#ifdef WITHOUT_PLACE
#define IS_OPEN(h)		(state[h] == RUNS)
#else
#define IS_OPEN(h)		(state[h] == RUNS && db[h].place == place[h])
#endif

/* A counter that is not there yet begins at the floor. */
#define IS_AT(h)		(db[h].there -> db[h].max : db[h].floor)

#if defined(SYNC) && !defined(WITHOUT_WAIT)
#define HAS_STANDBY(h)	(state[1 - (h)] == STANDBY)
#else
#define HAS_STANDBY(h)	true
#endif
#define CAN_CLAIM(h)	(IS_OPEN(h) && IS_AT(h) < NUMBERS && HAS_STANDBY(h))

inline copy_database(from, to)
{
	db[to].there = db[from].there;
	db[to].max = db[from].max;
	db[to].floor = db[from].floor;
	db[to].opened = db[from].opened;
	db[to].place = db[from].place
}

#define IS_COPY(a, b)	(db[a].there == db[b].there && db[a].max == db[b].max && db[a].floor == db[b].floor && \
						 db[a].opened == db[b].opened && db[a].place == db[b].place)

inline claim(h)
{
	db[h].max = IS_AT(h) + 1;
	db[h].there = 1;
	n = db[h].max;
#if defined(SYNC) && !defined(WITHOUT_WAIT)
	copy_database(h, 1 - h);
#endif
	highest = (h < HUBS -> MAX(highest, n) : highest);
#ifdef FIXED_SKIP
	given = given | BIT(n)
#endif
}

inline hand_out(numbers)
{
	if
	:: numbers & BIT(n) -> printf("  number %d is handed out TWICE\n", n); assert(false)
	:: else
	fi;
	numbers = numbers | BIT(n)
}

/* Does the skip of the next opening cover a number of this one? */
#if defined(UNFENCED) && !defined(UNCOVERED)
#define IS_COVERED(o, number)	(HUB(o) || (o) == newest || (number) <= base[(o) + 1])
#else
#define IS_COVERED(o, number)	true
#endif

inline draw_own(h)
{
	claim(h);
	printf("server %d draws number %d itself\n", h, n);
	hand_out(shared[HUB(db[h].opened)])
}

/*
 * What becomes of servers
 */

#ifdef SNAPSHOT
#define PLACE(h)		db[h].place
#else
#define PLACE(h)		places
#endif

inline promote(h)
{
	places++;
	place[h] = PLACE(h);
	state[h] = RUNS;
	printf("server %d is promoted or restored: place %d\n", h, place[h])
}

/* A standby gets everything, because the steps between are earlier states. */
#define MAY_FOLLOW(s, h)	((s) != (h) && state[s] != RUNS && state[h] == RUNS && \
							 db[s].opened <= db[h].opened && !(state[s] == STANDBY && IS_COPY(s, h)))

inline follow(s, h)
{
	copy_database(h, s);
	state[s] = STANDBY;
	place[s] = 0;
	printf("standby %d has what server %d has\n", s, h)
}

/* As the page says: a server that was replaced does not run any more. */
#if defined(UNFENCED) || defined(SYNC)
#define MAY_START(h)	true
#define IS_ALONE(h)		true
#else
#define MAY_START(h)	(db[h].opened == newest)
#if HUBS > 2
#define IS_ALONE(h)		(state[((h) + 1) % HUBS] != RUNS && state[((h) + 2) % HUBS] != RUNS)
#else
#define IS_ALONE(h)		(state[1 - (h)] != RUNS)
#endif
#endif

/* It lacks at most one opening, */
#if defined(UNFENCED) && !defined(TWO_LACK)
#define KNOWS(h)		(opening[db[h].opened] + 1 >= opening[newest])
#else
#define KNOWS(h)		true
#endif

/* and as many numbers as this. */
#if defined(NO_SKIP) || defined(SYNC)
#define LACKS(h)		0
#elif defined(FIXED_SKIP)
#define LACKS(h)		2
#else
#define LACKS(h)		(highest > IS_AT(h) -> highest - IS_AT(h) : 0)
#endif
#ifdef FIXED_SKIP
#define GIVEN(i)		((given >> (i)) & 1)
#define IS_ENOUGH(h)	(GIVEN(IS_AT(h) + 1) + GIVEN(IS_AT(h) + 2) + GIVEN(IS_AT(h) + 3) + GIVEN(IS_AT(h) + 4) <= LACKS(h))
#else
#define IS_ENOUGH(h)	true
#endif
#define MAY_RESUME(h)	(state[h] == RUNS && IS_ALONE(h) && KNOWS(h) && IS_ENOUGH(h) && newest < OPENINGS)

inline resume(h)
{
	n = LACKS(h);
#ifndef WITHOUT_SKIP
	db[h].max = (db[h].there -> db[h].max + n : 0);
#endif
#ifndef WITHOUT_FLOOR
	db[h].floor = db[h].floor + n;
#endif
	newest++;
	opening[newest] = opening[db[h].opened] + 1;
	base[newest] = IS_AT(h);
	db[h].opened = newest;
	db[h].place = place[h];
	printf("resume(%d) on server %d: opening %d/%d, above number %d\n", n, h, opening[newest], newest, base[newest])
}

/*
 * What members do
 */

inline clear(m)
{
	answer[m].state = NOTHING;
	answer[m].opened = 0;
	answer[m].number = 0
}

/* What was under way is lost. */
inline ask(m, h)
{
	claim(h);
	answer[m].state = ANSWERED;
	answer[m].opened = db[h].opened;
	answer[m].number = n;
	printf("member %d asks server %d, which gives number %d in opening %d/%d\n", m, h, n, opening[db[h].opened], db[h].opened)
}

#ifdef WITHOUT_COMPARISON
#define IS_WRONG(m)		false
#else
#define IS_WRONG(m)		(!AGREES(answer[m].opened, m))
#endif

inline compare(m)
{
	printf("member %d compares the answer with number %d\n", m, answer[m].number);
	answer[m].state = COMPARED;
	if
	:: IS_WRONG(m) -> printf("  and refuses it\n"); clear(m)
	:: IS_LATER(answer[m].opened, m) -> o = answer[m].opened; note(m)
	:: else
	fi
}

#ifdef WITHOUT_ABOVE
#define IS_ABOVE(m)		true
#else
#define IS_ABOVE(m)		(answer[m].number > member[m].max)
#endif

inline write(m)
{
	if
	:: IS_ABOVE(m) ->
		member[m].max = answer[m].number;
		answer[m].state = WRITTEN;
		printf("member %d writes number %d into its row\n", m, answer[m].number)
	:: else -> printf("member %d refuses number %d: not above its max\n", m, answer[m].number); clear(m)
	fi
}

#ifdef WITHOUT_SECOND_COMPARISON
#define IS_STILL_KNOWN(m)	true
#else
#define IS_STILL_KNOWN(m)	AGREES(answer[m].opened, m)
#endif

inline draw(m)
{
	printf("member %d hands out number %d\n", m, n);
	if
	:: JOINS(m) -> hand_out(member[m].had)
	:: else
	fi;
	if
	:: member[m].known > 0 -> hand_out(shared[member[m].hub])
	:: else
	fi
}

inline take_in(m)
{
	n = answer[m].number;
	if
	:: !IS_STILL_KNOWN(m) -> printf("member %d knows another opening by now: number %d is a gap\n", m, n)
	:: IS_STILL_KNOWN(m) && JOINS(m) ->
		member[m].pool = n;
		printf("member %d has number %d in its pool\n", m, n)
	:: else -> draw(m)
	fi;
	clear(m)
}

/* Before they join, members claim one number of their own. */
inline claim_own(m)
{
	member[m].max = 1;
	member[m].pool = 1;
	printf("member %d claims number 1 for itself\n", m)
}

#define MAY_JOIN(m, o)	(member[m].known == 0 || HUB(o) != member[m].hub || AGREES(o, m))

inline join(m)
{
	printf("member %d joins\n", m);
	if
#ifndef WITHOUT_JOIN_COMPARISON
	:: !MAY_JOIN(m, member[m].joining) -> printf("  which is refused\n")
#endif
	:: else ->
		o = member[m].joining;
		member[m].hub = HUB(o);
		note(m);
#ifndef WITHOUT_EPOCH
		member[m].pool = 0
#endif
	fi;
	member[m].joining = 0
}

inline fail(m)
{
	member[m].known = member[m].saved_known;
	member[m].heard = member[m].saved_known;
	member[m].max = member[m].saved_max;
	clear(m);
	printf("member %d is replaced by its standby, which knows opening %d/%d\n", m, opening[member[m].known], member[m].known)
}

/*
 * Events
 */

#define EVENT(condition, action)	:: d_step { (condition) -> action; n = 0; o = 0 }

/* A member asks for a lease, or hears of an opening by the lease of another collection. */
#define ASK_EVENTS(m, h) \
	EVENT(member[m].known > 0 && CAN_CLAIM(h) && !REFUSES(db[h].opened, m), ask(m, h)) \
	EVENT(member[m].known > 0 && IS_OPEN(h) && IS_LATER(db[h].opened, m), printf("member %d hears of server %d\n", m, h); o = db[h].opened; note(m))

/* What is not covered is not taken in, unless a later opening has been heard of. */
#define MEMBER_EVENTS(m) \
	ASK_EVENTS(m, 0) \
	ASK_EVENTS(m, 1) \
	EVENT(answer[m].state == ANSWERED, compare(m)) \
	EVENT(answer[m].state == COMPARED, write(m)) \
	EVENT(answer[m].state == WRITTEN && (member[m].heard > answer[m].opened || IS_COVERED(answer[m].opened, answer[m].number)), take_in(m))

/* A member compares when the answer to join() has come, and again when it changes its row. */
#define JOIN_EVENTS(m, h) \
	EVENT(IS_OPEN(h) && member[m].joining == 0 && MAY_JOIN(m, db[h].opened), member[m].joining = db[h].opened; printf("member %d asks server %d to join opening %d/%d\n", m, h, opening[db[h].opened], db[h].opened))

#define POOL_EVENTS(m) \
	JOIN_EVENTS(m, 0) \
	JOIN_EVENTS(m, 1) \
	EVENT(member[m].joining > 0, join(m)) \
	EVENT(member[m].known == 0 && member[m].max == 0, claim_own(m)) \
	EVENT(member[m].pool > 0, n = member[m].pool; member[m].pool = 0; draw(m))

#define FAIL_EVENTS(m) \
	EVENT(member[m].known != member[m].saved_known || member[m].max != member[m].saved_max, member[m].saved_known = member[m].known; member[m].saved_max = member[m].max; printf("the standby of member %d has what it has\n", m)) \
	EVENT(member[m].known != member[m].saved_known || member[m].max != member[m].saved_max, fail(m))

#define HUB_EVENTS(h) \
	EVENT(CAN_CLAIM(h) && IS_COVERED(db[h].opened, IS_AT(h) + 1), draw_own(h)) \
	EVENT(MAY_RESUME(h) && IS_AT(h) + LACKS(h) < NUMBERS, resume(h)) \
	EVENT(state[h] == RUNS, state[h] = STOPPED; printf("server %d is stopped\n", h)) \
	EVENT(state[h] == STOPPED && MAY_START(h), state[h] = RUNS; printf("server %d is started\n", h)) \
	EVENT(state[h] == STANDBY && places < PLACES, promote(h)) \
	EVENT(MAY_FOLLOW(h, ((h) + 1) % HUBS), follow(h, ((h) + 1) % HUBS))

#define THIRD_EVENTS(h) \
	EVENT(MAY_FOLLOW(h, ((h) + 2) % HUBS), follow(h, ((h) + 2) % HUBS))

active proctype world()
{
	d_step {
		newest = 1;
		places = 1;
		opening[1] = 1;
		opening[OTHERS] = OTHERS;
		do
		:: n < HUBS -> db[n].opened = 1; db[n].place = 1; n++
		:: else -> break
		od;
		state[0] = RUNS;
		place[0] = 1;
#ifdef OTHER
		db[HUBS].opened = OTHERS;
		db[HUBS].place = 1;
		state[HUBS] = RUNS;
		place[HUBS] = 1;
#endif
		n = JOINS(0);
		do
		:: n < MEMBERS -> member[n].known = 1; member[n].heard = 1; member[n].saved_known = 1; n++
		:: else -> break
		od;
		n = 0
	};
	do
	MEMBER_EVENTS(0)
	MEMBER_EVENTS(1)
	HUB_EVENTS(0)
	HUB_EVENTS(1)
#if HUBS > 2
	ASK_EVENTS(0, 2)
	ASK_EVENTS(1, 2)
	HUB_EVENTS(2)
	THIRD_EVENTS(0)
	THIRD_EVENTS(1)
	THIRD_EVENTS(2)
#endif
#ifdef JOIN
	POOL_EVENTS(0)
#endif
#ifdef OTHER
	EVENT(CAN_CLAIM(HUBS), draw_own(HUBS))
	ASK_EVENTS(0, HUBS)
	ASK_EVENTS(1, HUBS)
#ifdef JOIN
	JOIN_EVENTS(0, HUBS)
#endif
#endif
#ifdef MEMBERS_FAIL
	FAIL_EVENTS(0)
	FAIL_EVENTS(1)
#endif
	od
}

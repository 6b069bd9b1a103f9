/*
 * ranges.pml
 *	  One server: the row of a counter, the pool, and the ranges of two sessions.
 *
 * A claim takes two numbers.  A session's transaction begins with the messages
 * that others have sent, and not before its next one does it hear of others.
 * What is not flushed is lost when the server crashes; so are the pool and the
 * ranges.
 *
 * The properties: no number twice in one epoch, and none of an earlier epoch in
 * a transaction that began after a forced seed had returned.  A macro that begins
 * with WITHOUT_ leaves out a rule.
 */

#ifndef NUMBERS
#define NUMBERS		6
#endif
#ifndef EPOCHS
#define EPOCHS		3
#endif

#define SESSIONS	2
#define PIECES		2
#define SIZE		2

#define BIT(n)		(1 << (n))

/* The row, in memory and on disk. */
typedef Row
{
	byte		max;
	byte		low;			/* of the newest claim; above max: nothing goes back */
	byte		epoch;
};

Row			row;
Row			disk;
byte		used[EPOCHS + 1];	/* numbers shown in each epoch, one bit each */
byte		returned_epoch;		/* of the last forced seed that has returned */

/* Numbers last + 1 .. high of an epoch; none: last = high. */
typedef Range
{
	byte		last;
	byte		high;
	byte		epoch;
};

Range		piece[PIECES];		/* the pool */
Range		range[SESSIONS];
bit			open[SESSIONS];		/* in a transaction */
byte		begun[SESSIONS];	/* returned_epoch when it began */
bit			told[SESSIONS];		/* a message is waiting for it */

byte		n, i;

inline draw(s)
{
	range[s].last++;
	n = range[s].last;
	printf("session %d draws number %d of epoch %d\n", s, n, range[s].epoch);
	if
	:: used[range[s].epoch] & BIT(n) -> printf("  number %d is handed out TWICE\n", n); assert(false)
	:: range[s].epoch < begun[s] -> printf("  number %d is from before the seed, TOO LATE\n", n); assert(false)
	:: else
	fi;
	used[range[s].epoch] = used[range[s].epoch] | BIT(n);
	n = 0
}

inline forget(s)
{
	range[s].last = 0;
	range[s].high = 0;
	range[s].epoch = 0
}

inline begin(s)
{
	open[s] = 1;
	begun[s] = returned_epoch;
	printf("session %d begins a transaction\n", s);
	if
	:: told[s] ->
#ifndef WITHOUT_GENERATION
		if
		:: range[s].epoch != row.epoch -> forget(s)
		:: else
		fi;
#endif
		told[s] = 0
	:: else
	fi
}

inline claim(s)
{
	row.low = row.max + 1;
	range[s].last = row.max;
	row.max = row.max + SIZE;
	range[s].high = row.max;
	range[s].epoch = row.epoch;
	printf("session %d claims %d..%d in epoch %d\n", s, row.low, row.max, row.epoch);
#ifndef WITHOUT_FLUSH
	disk.max = row.max;
	disk.low = row.low;
	disk.epoch = row.epoch
#endif
}

inline flush()
{
	disk.max = row.max;
	disk.low = row.low;
	disk.epoch = row.epoch;
	printf("the row is flushed\n")
}

#ifdef WITHOUT_EPOCH
#define IS_WORTHLESS(p)	false
#else
#define IS_WORTHLESS(p)	(piece[p].epoch != row.epoch)
#endif

/* Take a piece; one of another epoch is worthless. */
inline take(s, p)
{
	if
	:: IS_WORTHLESS(p) -> printf("session %d drops a worthless piece\n", s)
	:: else ->
		range[s].last = piece[p].last;
		range[s].high = piece[p].high;
		range[s].epoch = piece[p].epoch;
		printf("session %d takes %d..%d from the pool\n", s, piece[p].last + 1, piece[p].high)
	fi;
#ifndef WITHOUT_TAKING
	piece[p].last = 0;
	piece[p].high = 0;
	piece[p].epoch = 0
#endif
}

/* A session ends: what is left goes to the pool. */
inline pool(s, p)
{
	printf("session %d ends and puts %d..%d into the pool\n", s, range[s].last + 1, range[s].high);
	piece[p].last = range[s].last;
	piece[p].high = range[s].high;
	piece[p].epoch = range[s].epoch;
	forget(s);
	told[s] = 0
}

/* Or to the row, if it is the end of the newest claim of this epoch. */
#ifdef WITHOUT_NEWEST
#define MAY_RETURN(s)	(range[s].epoch == row.epoch)
#else
#define MAY_RETURN(s)	(range[s].epoch == row.epoch && range[s].high == row.max && \
						 range[s].last + 1 >= row.low)
#endif

inline give_back(s)
{
	row.max = range[s].last;
	row.low = row.max + 1;
	printf("session %d ends and gives back %d..%d\n", s, range[s].last + 1, range[s].high);
	forget(s);
	told[s] = 0
}

/* A forced seed to 0: a new epoch, and a message to all. */
inline seed()
{
	row.max = 0;
	row.low = 1;
#ifndef WITHOUT_NEW_EPOCH
	row.epoch++;
#endif
	printf("the counter is set to 0, in epoch %d\n", row.epoch);
	flush();
	told[0] = 1;
	told[1] = 1;
	returned_epoch = row.epoch
}

/* "At least n" leaves the epoch in this model, and only ends the newest claim. */
inline advance()
{
	row.max++;
	row.low = row.max + 1;
	printf("an id is inserted by hand: the counter is at %d\n", row.max)
}

inline crash()
{
	printf("the server crashes\n");
	row.max = disk.max;
	row.low = disk.low;
	row.epoch = disk.epoch;
	forget(0);
	forget(1);
	open[0] = 0;
	open[1] = 0;
	told[0] = 0;
	told[1] = 0;
	i = 0;
	do
	:: i < PIECES ->
		piece[i].last = 0;
		piece[i].high = 0;
		piece[i].epoch = 0;
		i++
	:: else -> break
	od;
	i = 0
}

#define IS_EMPTY(s)		(range[s].last == range[s].high)

#define SESSION_EVENTS(s) \
	:: d_step { !open[s] -> begin(s) } \
	:: d_step { open[s] -> open[s] = 0; begun[s] = 0; printf("session %d ends its transaction\n", s) } \
	:: d_step { open[s] && !IS_EMPTY(s) -> draw(s) } \
	:: d_step { open[s] && IS_EMPTY(s) && row.max + SIZE <= NUMBERS -> claim(s) } \
	:: d_step { open[s] && IS_EMPTY(s) && piece[0].high > 0 -> take(s, 0) } \
	:: d_step { open[s] && IS_EMPTY(s) && piece[1].high > 0 -> take(s, 1) } \
	:: d_step { !open[s] && !IS_EMPTY(s) && piece[0].high == 0 -> pool(s, 0) } \
	:: d_step { !open[s] && !IS_EMPTY(s) && piece[1].high == 0 -> pool(s, 1) } \
	:: d_step { !open[s] && !IS_EMPTY(s) && MAY_RETURN(s) -> give_back(s) }

active proctype world()
{
	row.epoch = 1;
	row.low = 1;
	disk.epoch = 1;
	disk.low = 1;
	do
	SESSION_EVENTS(0)
	SESSION_EVENTS(1)
	:: d_step { row.epoch < EPOCHS -> seed() }
	:: d_step { row.max < NUMBERS -> advance() }
	:: d_step { row.max != disk.max || row.low != disk.low || row.epoch != disk.epoch -> flush() }
	:: d_step { true -> crash() }
	od
}

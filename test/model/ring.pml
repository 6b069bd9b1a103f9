/*
 * ring.pml
 *	  The ring of the horizon: three transactions draw from an ordered collection,
 *	  and a reader asks below which number no row can appear any more.
 *
 * A transaction takes an id, then draws; it commits in two steps, because between
 * the commit log and the end others see it running (it waits for a standby).  The
 * ring holds two records, so that it has to be folded.  A record is (upto, stamp,
 * lowest); a plain one is of one running transaction, a folded one of several
 * that have ended.
 *
 * The property: a row that the reader's snapshot does not see, and may appear
 * later, is above the horizon.  A macro that begins with WITHOUT_ leaves out a
 * rule.
 */

#define WRITERS		3
#define RING		2
#define FOREVER		15
#ifndef NUMBERS
#define NUMBERS		5
#endif

#define MIN(a, b)	((a) < (b) -> (a) : (b))
#define MAX(a, b)	((a) > (b) -> (a) : (b))

#define NEW			0
#define RUNNING		1
#define IN_LOG		2			/* committed, but others still see it running */
#define ENDED		3

typedef Writer
{
	byte		state;
	byte		xid;			/* 0: none yet */
	byte		lowest;			/* number that it has drawn; 0: none */
	bit			listed;			/* it has a record in this incarnation */
};

Writer		writer[WRITERS];
byte		next_xid = 1;
byte		completed;			/* highest id that has ended */
byte		last;				/* last number */

typedef Record
{
	byte		upto;			/* 0: free */
	byte		stamp;			/* 0: plain */
	byte		lowest;
};

Record		record[RING];

/* A snapshot: xmin, xmax and, as bits, the running ids between. */
typedef Snapshot
{
	byte		xmin;
	byte		xmax;			/* 0: none */
	byte		xip;
};

Snapshot	reader;
Snapshot	fold;				/* that of the writer that folds, taken before the lock */
byte		n, i, h;

#define BIT(x)			(1 << (x))
#define IS_RUNNING(w)	(writer[w].xid > 0 && (writer[w].state == RUNNING || writer[w].state == IN_LOG))

inline add_running(s, w)
{
	if
	:: IS_RUNNING(w) ->
		if
		:: writer[w].xid < s.xmax -> s.xip = s.xip | BIT(writer[w].xid); s.xmin = MIN(s.xmin, writer[w].xid)
		:: else
		fi
	:: else
	fi
}

inline take_snapshot(s)
{
	s.xmax = completed + 1;
	s.xmin = s.xmax;
	s.xip = 0;
	add_running(s, 0);
	add_running(s, 1);
	add_running(s, 2)
}

/* Is a plain record's transaction running in a snapshot? */
#define RUNS_IN(s, x)	((x) >= s.xmax || (s.xip & BIT(x)))

/* May the transaction of plain record r be folded? */
#ifdef WITHOUT_SNAPSHOT
#define IN_CLOG(w, r)	(writer[w].xid == record[r].upto && (writer[w].state == IN_LOG || writer[w].state == ENDED))
#define HAS_ENDED(r)	(IN_CLOG(0, r) || IN_CLOG(1, r) || IN_CLOG(2, r))
#else
#define HAS_ENDED(r)	(!RUNS_IN(fold, record[r].upto))
#endif
#define CAN_FOLD(r)		(record[r].upto > 0 && (record[r].stamp > 0 || HAS_ENDED(r)))

/*
 * Make room: fold both records into the first.  If one of them may be running,
 * the merged one counts for everybody.
 */
inline make_room()
{
	if
	:: CAN_FOLD(0) && CAN_FOLD(1) ->
		record[0].stamp = MAX(record[0].stamp, MAX(record[1].stamp, fold.xmax))
	:: else ->
#ifdef WITHOUT_FOREVER
		record[0].stamp = MAX(record[0].stamp, MAX(record[1].stamp, fold.xmax))
#else
		record[0].stamp = FOREVER
#endif
	fi;
	record[0].upto = MAX(record[0].upto, record[1].upto);
	record[0].lowest = MIN(record[0].lowest, record[1].lowest);
	record[1].upto = 0;
	record[1].stamp = 0;
	record[1].lowest = 0;
	printf("  the ring is folded: ids up to %d, stamp %d, lowest number %d\n", record[0].upto, record[0].stamp, record[0].lowest)
}

inline append(w)
{
	if
	:: record[0].upto > 0 && record[1].upto > 0 -> make_room()
	:: else
	fi;
	i = (record[0].upto == 0 -> 0 : 1);
	record[i].upto = writer[w].xid;
	record[i].lowest = last;
	record[i].stamp = 0;
	writer[w].listed = 1;
	i = 0
}

inline assign(w)
{
	writer[w].state = RUNNING;
	writer[w].xid = next_xid;
	next_xid++;
	printf("a transaction takes id %d\n", writer[w].xid)
}

inline draw(w)
{
	last++;
	writer[w].lowest = (writer[w].lowest == 0 -> last : writer[w].lowest);
	printf("transaction %d draws number %d\n", writer[w].xid, last);
	if
	:: !writer[w].listed -> append(w)
	:: else
	fi
}

inline end(w)
{
	writer[w].state = ENDED;
	completed = MAX(completed, writer[w].xid);
	printf("transaction %d ends\n", writer[w].xid)
}

/* Drop what no running snapshot can count. */
#define OLDEST			(reader.xmax > 0 -> reader.xmin : completed + 1)
inline oldest_running(w)
{
	if
	:: IS_RUNNING(w) -> h = MIN(h, writer[w].xid)
	:: else
	fi
}

inline drop(r)
{
#ifdef WITHOUT_OLDEST
	h = completed + 1;
#else
	h = OLDEST;
	oldest_running(0);
	oldest_running(1);
	oldest_running(2);
#endif
	if
	:: record[r].upto < h ->
		record[r].upto = 0;
		record[r].stamp = 0;
		record[r].lowest = 0;
		printf("a record that nobody needs is dropped\n")
	:: else
	fi;
	h = 0
}

/* Restart, eviction: a record that counts for all ids of before. */
inline begin_ring()
{
	printf("the ring begins anew\n");
	record[1].upto = 0;
	record[1].stamp = 0;
	record[1].lowest = 0;
	writer[0].listed = 0;
	writer[1].listed = 0;
	writer[2].listed = 0;
#ifdef WITHOUT_BEGIN
	record[0].upto = 0;
	record[0].stamp = 0;
	record[0].lowest = 0
#else
	record[0].upto = next_xid - 1;
	record[0].stamp = FOREVER;
	record[0].lowest = 1
#endif
}

#ifdef WITHOUT_STAMP
#define COUNTS(r)		(record[r].upto > 0 && record[r].stamp == 0 && RUNS_IN(reader, record[r].upto))
#else
#define COUNTS(r)		(record[r].upto > 0 && (record[r].stamp == 0 -> RUNS_IN(reader, record[r].upto) : \
						 (reader.xmin <= record[r].upto && reader.xmax <= record[r].stamp)))
#endif

/* The row of a writer that the snapshot does not see is above the horizon. */
inline check(w)
{
	if
	:: writer[w].lowest > 0 && writer[w].lowest <= h && RUNS_IN(reader, writer[w].xid) ->
		printf("  number %d of transaction %d will be MISSED\n", writer[w].lowest, writer[w].xid);
		assert(false)
	:: else
	fi
}

inline read_horizon()
{
	h = last;
	if
	:: COUNTS(0) -> h = MIN(h, record[0].lowest - 1)
	:: else
	fi;
	if
	:: COUNTS(1) -> h = MIN(h, record[1].lowest - 1)
	:: else
	fi;
	printf("the reader, with a snapshot of %d to %d, hears horizon %d\n", reader.xmin, reader.xmax, h);
	check(0);
	check(1);
	check(2);
	reader.xmin = 0;
	reader.xmax = 0;
	reader.xip = 0;
	h = 0
}

#define WRITER_EVENTS(w) \
	:: d_step { writer[w].state == NEW -> assign(w) } \
	:: d_step { writer[w].state == RUNNING && last < NUMBERS -> draw(w) } \
	:: d_step { writer[w].state == RUNNING -> writer[w].state = IN_LOG; printf("transaction %d is in the commit log\n", writer[w].xid) } \
	:: d_step { writer[w].state == IN_LOG -> end(w) }

active proctype world()
{
	do
	WRITER_EVENTS(0)
	WRITER_EVENTS(1)
	WRITER_EVENTS(2)
	:: d_step { reader.xmax == 0 -> take_snapshot(reader); printf("the reader takes a snapshot\n") }
	:: d_step { reader.xmax > 0 -> read_horizon() }
	:: d_step { take_snapshot(fold) }
	:: d_step { record[0].upto > 0 -> drop(0) }
	:: d_step { record[1].upto > 0 -> drop(1) }
	:: d_step { next_xid > 1 -> begin_ring() }
	od
}

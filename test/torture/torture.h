/*-------------------------------------------------------------------------
 *
 * torture.h
 *	  What the parts of the torture test share.
 *
 *	  torture.c	 the lives of a server, and how each of them ends
 *	  client.h	 what a client does meanwhile
 *	  ledger.c	 the account of all numbers: shown, lost, or a mistake
 *	  sequences.c  sequences: clients, and their account
 *
 * A count is the time between two resets of a collection: within it no number
 * may be shown twice.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TORTURE_H
#define TORTURE_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CLIENTS			8
#define MAX_CLIENTS		32
#define SEQUENCE_CLIENTS	6	/* more, which draw from sequences */
#define SEQUENCES		8
#define MAX_CRASHES		4096
#define MAX_COLLECTIONS	4096
#define MAX_RANGE_SIZE	256		/* setting of the server */

/* Collections with a fixed place; those of one life follow. */
enum
{
	C_PLAIN = 0,				/* 6 that are never reset */
	C_RESET = 6,				/* 3 that are seeded by force and dropped */
	C_LIMITED = 9,				/* the same, with a limit */
	C_BIGINT, C_TEXT, C_INT,	/* attached tables */
	C_DOCS,						/* a table with the trigger hilo.assign_id() */
	C_SERVER_SIDE,
	C_IDENTITY,					/* 2 that are never reset */
	C_IDENTITY_DOCS = C_IDENTITY + 2,
	C_IDENTITY_FREE,
	C_IDENTITY_RESET,
	C_OWN,						/* one per client, used by no other */
	C_JOINING = C_OWN + CLIENTS,	/* of a node that is a Citus worker by turns */
	C_OF_LIFE					/* 2 a life */
};
#define LIMIT			5000	/* of C_LIMITED */
#define PER_LIFE		2

/* Those of this life, and how many there are in it of all. */
#define C_NEW			(C_OF_LIFE + PER_LIFE * shared->life)
#define COLLECTIONS		(C_NEW + PER_LIFE)

static inline bool
is_identity(int c)
{
	return c >= C_IDENTITY && c < C_OWN;
}

static inline bool
is_own(int c)
{
	return c >= C_OWN && c < C_JOINING;
}

static inline bool
is_resettable(int c)
{
	return (c >= C_RESET && c <= C_LIMITED) || c == C_IDENTITY_RESET;
}

extern const char *collection_name(int c);
extern int	collection_by_name(const char *name, bool identity);

/* An entry of a client's log, written before its next statement is sent. */
typedef struct Entry
{
	char		kind;			/* KIND_... */
	char		why;			/* WHY_... of a loss */
	uint16_t	collection;
	uint32_t	count;
	int64_t		low;
	int64_t		high;
	int64_t		start;			/* microseconds: when the statement was sent */
	int64_t		end;			/* and answered */
} Entry;

enum
{
	KIND_SHOWN = 'S',			/* low..high */
	KIND_LOST = 'L',			/* low..high may be lost, for a known reason */
	KIND_FORGOTTEN = 'W',		/* low..high was held, and has to be forgotten
								 * because of an event since start */
	KIND_UNANSWERED = 'A',		/* up to low numbers claimed since start by
								 * statements that have not said so; those of
								 * ranges that an event made void in the
								 * meantime come on top */
	KIND_ADVANCED = 'R',		/* a statement sent at start may have skipped
								 * all numbers up to high that were not
								 * claimed then */
	KIND_EVENT = 'E',			/* sessions forget their ranges */
	KIND_BASE = 'B',			/* max was low when the count began */
	KIND_FINAL = 'M',			/* max was low when the count ended */
	KIND_BY_HAND = 'P',			/* number low was inserted by hand */
	KIND_COLLISION = 'U'		/* a drawn number collided with one by hand */
};

/* Why numbers are lost. */
enum
{
	WHY_SESSION = 'e',			/* held by a session that ended */
	WHY_FAILED = 'f',			/* drawn by a statement that failed */
	WHY_SEEDED = 's',			/* below a seed, or a last_max */
	WHY_BY_HAND = 'p',			/* below a number inserted by hand */
	WHY_ATTACHED = 'a',			/* moved by hilo.attach() */
	WHY_ALIGNED = 'h',			/* below an aligned range */
	WHY_CLIENT = 'c',			/* kept, or given back too late, by a program */
	WHY_RETURNED = 'b',			/* given back: lost only if a crash undoes
								 * that */
	WHY_SEARCH = 'i',			/* skipped by next_identity_free() */
	WHY_COUNT = 'n',			/* held when the count ended */
	WHY_POOLED = 'k',			/* left to the next session */
	WHY_STILL_POOLED = 'l'		/* when the server stopped */
};

/*
 * Numbers that sessions have not drawn go into the pool for the next session, so
 * no session has seen all that a crash, or a seed, can take.  The pool is one of a
 * server that preloads the library, or not (POOL_LATE).
 */
enum
{
	POOL_LATE, POOL_PRELOADED
};

/*
 * Forced seeds of a collection that all draw from meanwhile: each seed leads up
 * by this much, so that a number shows after which one it was claimed.
 */
#define SEED_STEP		INT64_C(1000000)

typedef struct SharedCollection
{
	volatile uint32_t count;
	volatile int readers;		/* transactions that may draw from it */
	volatile int writer;		/* a client resets it */
	volatile int uncertain;		/* a reset has not been answered */
} SharedCollection;

typedef struct SharedSequence
{
	volatile uint32_t count;
	volatile int readers;		/* clients that may draw from it */
	volatile int writer;		/* a client ends its count */
} SharedSequence;

/* When processes of the server were killed, or it was stopped immediately. */
typedef struct Crash
{
	int64_t		begin;
	int64_t		end;
} Crash;

/* In memory that all processes share. */
typedef struct Shared
{
	uint64_t	seed;
	int			life;
	int			clients;
	bool		all_async;		/* every session with synchronous_commit off */
	bool		all_sync;
	int			pool;			/* POOL_... */
	bool		killed;			/* a backend, in this life */
	volatile int ending;		/* the server is being ended: do not come back */
	volatile int pause;
	volatile int paused;
	volatile int alive;			/* clients that have not ended */
	volatile int pids[MAX_CLIENTS];
	volatile int64_t statements;
	volatile int64_t transactions;
	volatile int64_t terminations;
	volatile int64_t lost_sessions;
	volatile int64_t cancelled;
	volatile int64_t failures;
	volatile int64_t kills;		/* begun; of backends, or of the server */
	volatile int64_t locks_begun;	/* statements that lock our tables */
	volatile int64_t locks_ended;
	volatile int64_t give_backs_checked;
	volatile int64_t seeding_until; /* all draw from the collection seeded */
	volatile int seeding;		/* a client seeds it */
	volatile int64_t seed_asked;	/* highest seed sent, */
	volatile int64_t seeded;	/* and answered */
	volatile int64_t seeds;
	volatile int64_t seeded_draws;
	volatile int joining;		/* a client changes the next one */
	volatile int64_t joined;	/* whether C_JOINING's node is a Citus worker */
	volatile int64_t cluster_refused;	/* draws by Citus workers */
	volatile int64_t cluster_draws; /* and those let through */
	volatile int64_t memory_first;	/* of the long session, in bytes */
	volatile int64_t memory_last;
	volatile int64_t memory_transactions;
	SharedCollection collections[MAX_COLLECTIONS];
	SharedSequence sequences[SEQUENCES];
	volatile int64_t restores;	/* of dumps */
	volatile int64_t counts_ended;
	Crash		crashes[MAX_CRASHES];
	volatile int crash_count;
} Shared;

extern Shared *shared;

/* torture.c */
extern int64_t now_us(void);
extern uint64_t next_random(uint64_t *state);
extern void failure(const char *format,...) __attribute__((format(printf, 1, 2)));

/* client.c, maintenance.c */
extern void run_client(int number, const char *conninfo, const char *log);
extern void run_maintenance(const char *conninfo);

/* sequences.c */
extern const char *const sequences_create;
extern const char *const sequences_attach;
extern const char *const sequences_detach;
extern int64_t sequences_shown,
			sequences_repeated,
			sequences_plain,
			sequences_plain_repeated,
			sequences_by_hand,
			sequences_collisions;
extern void run_sequences(int number, const char *conninfo, const char *log,
						  const char *programs, const char *where);
extern void sequences_read(const char *log);
extern void sequences_account(void);
extern void sequences_check(PGresult *(*ask) (const char *sql));
extern void sequences_new_counts(void);

/* ledger.c */
extern void ledger_base(int c, uint32_t count, int64_t base);
extern void ledger_read(const char *log);
extern int64_t ledger_shown_before(int c, uint32_t count, int64_t time);
extern void ledger_final(int c, uint32_t count, int64_t max);
extern void ledger_pooled(int c, uint32_t count, int64_t low, int64_t high);
extern void ledger_end_life(bool crashed, bool pool_known);
extern void ledger_report(void);
extern int64_t ledger_shown,
			ledger_repeated,
			ledger_unexplained;

#endif							/* TORTURE_H */

/*-------------------------------------------------------------------------
 *
 * client.h
 *	  What the parts of a client share; each is a process of its own.
 *
 *	  client.c		random transactions, one after the other
 *	  draws.c		the statements that draw, in a transaction
 *	  moves.c		those that move counters, outside of one
 *	  cluster.c		draws on nodes of a Citus cluster, by another connection
 *	  maintenance.c	another client, which maintains the tables
 *	  account.c		what the session holds; the log
 *	  session.c		the connection
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLIENT_H
#define CLIENT_H

#include <libpq-fe.h>

#include "torture.h"

/* Seconds after which something that should not wait counts as hanging. */
#define PATIENCE		240

/* session.c */
extern PGconn *conn;
extern const char *conninfo;
extern int	me;
extern uint64_t random_state;
extern bool async;				/* synchronous_commit is off */
extern bool in_transaction;
extern bool failed;				/* the transaction is */
extern bool serializable;
extern bool cut_short;			/* the last statement was, while it ran */
extern bool not_replicated;		/* a wait for a standby was cut short */
extern bool has_timeout;		/* of a statement */
extern int64_t statement;		/* number of the last one */
extern int64_t session_transactions;

extern int	rnd(int n);
extern bool chance(int percent);
extern bool connected(void);
extern bool listed(const char *state, const char *list);
extern void judge(const PGresult *result, const char *allowed, const char *sql);
extern PGresult *run(const char *allowed, const char *format,...) __attribute__((format(printf, 2, 3)));
extern bool command(const char *sql);
extern void roll_back(void);
extern int64_t number_of(int64_t none, const char *sql);
extern int64_t stored_max(int c);
extern int64_t number_in(const char *id);
extern void connect_again(void);
extern void disconnect(void);

/* account.c */
/* What the session holds of a collection, as far as the client knows. */
typedef struct Held
{
	uint32_t	count;
	bool		known;			/* low..high is the range */
	bool		looked_up;		/* high is its end */
	bool		dirty;			/* statements have failed since */
	int64_t		low;			/* of what is known of the range */
	int64_t		high;
	int64_t		next;
	int64_t		since;			/* not later than the claim of the range */
	int64_t		left_in;		/* statement that has left one whose end was
								 * not seen */
	int64_t		dirty_size;		/* numbers they could have claimed and drawn */
	int64_t		dirty_start;	/* not later than the first such claim */
} Held;

extern Held held[MAX_COLLECTIONS];
extern int	log_file;
extern int64_t turn_start;

extern void put(char kind, char why, int c, uint32_t count, int64_t low,
				int64_t high, int64_t start, int64_t end);
extern uint32_t count_now(int c);
extern void lost(char why, int c, uint32_t count, int64_t low, int64_t high);
extern void advanced(char why, int c, int64_t high, int64_t start);
extern void unanswered(int c, uint32_t count, int64_t size, int64_t start);
extern void note_event(int c, int64_t start);
extern void write_off(Held *h, int c, char why);
extern void check_count(Held *h, int c);
extern void end_session(void);
extern void see_failure(int c, int64_t size, int64_t start);
extern void look_up(void);
extern bool has_unknown(void);
extern void show(int c, int64_t low, int64_t high, int64_t start);
extern void show_column(PGresult *result, int column, int c, int64_t start,
						bool from_range);
extern PGresult *draw(int c, bool from_range, int64_t size, const char *allowed,
					  const char *sql);
extern PGresult *draw_since(int64_t start, int c, bool from_range, int64_t size,
							const char *allowed, const char *sql);

/* draws.c */
#define MAX_READING		4
#define CURSOR_ROWS		50

extern int	reading[MAX_READING];	/* resettable collections of the transaction */
extern int	reading_count;
extern int	by_hand_table;		/* table to insert a number by hand into */
extern int64_t by_hand_max;
extern int	holding;			/* collection that a cursor draws from, plus 1 */

extern void operation(void);
extern void keep_program_ranges(void);

/* moves.c */
extern void outside(void);
extern void repeat_resets(void);

/* cluster.c */
extern void cluster_turn(void);
extern void cluster_disconnect(void);

/* client.c */
extern void pause_if_asked(void);

#endif							/* CLIENT_H */

/*-------------------------------------------------------------------------
 *
 * connection.h
 *	  Asks another server, the hub, for numbers of its counters.
 *
 * The function is in a library that is loaded when first needed, because most
 * sessions ask no hub and need not load libpq: use its type for
 * load_external_function().
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_CONNECTION_H
#define HILO_CONNECTION_H

#include "fmgr.h"

#define HILO_HUB_LIBRARY	"hilo_hub"
#define HILO_HUB_FUNCTION	"hilo_hub_ask"

/*
 * A question to a hub.  The hub has the extension; it is a foreign server of a
 * wrapper with the options of libpq, like postgres_fdw, or given by connection
 * strings.
 */
typedef struct HiloHubQuestion
{
	const char *server;
	Oid			role;			/* whose user mapping is used */
	const char *const *conninfo;	/* NULL, or connection strings instead of
									 * server and mapping, ending with NULL;
									 * later ones override earlier ones */
	const char *name;			/* of the collection or identity */
	int64		size;			/* see hilo.lease(); 0: ask only whether it
								 * would give any */
	int64		at_least;
	int64		known_system;
	int64		known_timeline;
	const char *member;			/* name of the member that asks */
	int			host;			/* which of several hosts to try first,
								 * counting from 0 */
	int			timeout;		/* milliseconds, for connecting (unless server
								 * or mapping have connect_timeout) and for
								 * each answer */
	bool		keep;			/* true: keep the connection for the next
								 * question */
} HiloHubQuestion;

/* The hub's answer: the contents of its only row, or an error. */
typedef struct HiloHubAnswer
{
	int			sqlstate;		/* 0: no error */
	char	   *message;		/* of the error; palloc'd */
	char	   *hint;			/* NULL: none */
	int64		low;			/* 0 with size 0 */
	int64		high;
	int64		epoch;
	int64		system_identifier;
	int64		timeline;
	int64		range_size;		/* its options; 0: not set */
	int64		max_range_size;
	bool		has_tag;
	NameData	node_tag;
	int			host;			/* which host to try first next time; -1: as
								 * before */
} HiloHubAnswer;

/*
 * Ask, by one statement outside a transaction block, and wait for the answer on
 * socket and latch.  Raises an error only if the wait is canceled or the
 * session ended, opens no subtransaction, and takes no lock that outlives the
 * call.  Every other failure is the answer's error: of class 08 if the hub
 * cannot be reached or does not answer; 42xxx or 2F003 if server, mapping or
 * privilege are missing (as with postgres_fdw, a role that is not a superuser
 * needs a password); otherwise the hub's own.  After an error, a lease may have
 * been lost on the way.
 */
typedef void (*HiloHubAsk) (const HiloHubQuestion *question,
							HiloHubAnswer *answer);
extern PGDLLEXPORT void hilo_hub_ask(const HiloHubQuestion *question,
									 HiloHubAnswer *answer);

#endif							/* HILO_CONNECTION_H */

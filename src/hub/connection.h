/*-------------------------------------------------------------------------
 *
 * connection.h
 *	  Asks another server, the hub, for numbers of its counters.
 *
 * The function is in a library that is loaded when first needed, because hubs, and
 * most sessions of members, ask no hub and need not load libpq: use its type for
 * load_external_function().
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_CONNECTION_H
#define HILO_CONNECTION_H

#include "fmgr.h"

#include "hub/coordinator.h"
#include "hub/leased.h"

#define HILO_CONNECTION_LIBRARY		"hilo_libpq"
#define HILO_CONNECTION_FUNCTION	"hilo_hub_ask"

/*
 * A question to a hub.  The hub has the extension; it is a foreign server of a
 * wrapper with the options of libpq, like postgres_fdw, or the Citus coordinator.
 */
typedef struct HiloHubQuestion
{
	const char *server;
	Oid			role;			/* whose user mapping is used */
	bool		by_setting;		/* only hilo.hub names the server, which was
								 * not chosen in this database */
	const HiloCitusConnection *coordinator; /* NULL, or the way to it, instead
											 * of server and mapping */
	const char *name;			/* of the collection or identity; empty: a
								 * report */
	int64		size;			/* see hilo.lease(); 0: ask only whether it
								 * would give any */
	int64		at_least;
	const char *names;			/* of a report: arrays of counters, and of the
								 * highest number of each */
	const char *highest;
	const char *left;			/* and of those counters that are no longer
								 * leased */
	HiloTerm	term;			/* what is known of the hub */
	const char *member;			/* name of the member that asks */
	int64		started;		/* when its server was started */
	int			host;			/* which of several hosts to try first,
								 * counting from 0 */
	int			timeout;		/* milliseconds, for connecting (unless server
								 * or mapping have connect_timeout) and for
								 * each answer */
	bool		keep;			/* true: keep the connection for the next
								 * question */
} HiloHubQuestion;

/* The hub's answer, or an error. */
typedef struct HiloHubAnswer
{
	const char *server;			/* for the caller */
	int			sqlstate;		/* 0: no error */
	char	   *message;		/* of the error; palloc'd */
	char	   *hint;			/* NULL: none */
	HiloTerm	term;			/* of the hub, even if it refused; lineage 0:
								 * it did not answer, or is no hub */
	bool		wants_report;	/* it waits for this member's report */
	bool		hurried;		/* for the caller: an error that may be for
								 * lack of time, which sessions have */
	int			count;			/* number of items: 1, unless it is a report */
	HiloLeaseAnswer *items;		/* without what was asked */
	int			host;			/* which host this is from; -1: none could be
								 * reached */
} HiloHubAnswer;

/*
 * Ask, by one statement outside a transaction block, and wait for the answer on
 * socket and latch.  Raises an error only if the wait is canceled or the
 * session ended, opens no subtransaction, and takes no lock that outlives the
 * call.  Every other failure is the answer's error: of class 08 if the hub
 * cannot be reached or does not answer; 42xxx or 2F003 if server, mapping or
 * privilege are missing (as with postgres_fdw, a role that is not a superuser
 * needs a password); 55000 if the hub refused because of terms; otherwise the
 * hub's own.  After an error, a lease may have been lost on the way.
 */
typedef void (*HiloHubAsk) (const HiloHubQuestion *question,
							HiloHubAnswer *answer);
extern HILO_EXPORT void hilo_hub_ask(const HiloHubQuestion *question,
									 HiloHubAnswer *answer);

#endif							/* HILO_CONNECTION_H */

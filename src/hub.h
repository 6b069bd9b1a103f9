/*-------------------------------------------------------------------------
 *
 * hub.h
 *	  Asks another server, the hub, for numbers of its counters.
 *
 * The function of a library that is loaded when first needed, as most sessions
 * ask no hub and need not load libpq: take its type for
 * load_external_function().
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_HUB_H
#define HILO_HUB_H

#include "fmgr.h"

#define HILO_HUB_LIBRARY	"hilo_hub"
#define HILO_HUB_FUNCTION	"hilo_hub_ask"

/*
 * What a hub is asked.  It has the extension, and is a foreign server of a wrapper with the
 * options of libpq, as postgres_fdw is, or what connection strings say.
 */
typedef struct HiloHubQuestion
{
	const char *server;
	Oid			role;			/* whose user mapping is used */
	const char *const *conninfo;	/* NULL, or connection strings in place of
									 * server and mapping, of which the later
									 * ones count; the last one is NULL */
	const char *name;			/* of the collection or identity */
	int64		size;			/* see hilo_lease(); 0: would it give any? */
	int64		at_least;
	int64		known_system;
	int64		known_timeline;
	const char *member;			/* name of the one that asks */
	int			host;			/* which of several to try first, from 0 */
	int			timeout;		/* milliseconds, for connecting (unless server
								 * or mapping say connect_timeout) and for
								 * each answer */
	bool		keep;			/* keep the connection for the next question? */
} HiloHubQuestion;

/* Its answer: the numbers of its one row, or an error. */
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
	int64		range_size;		/* its options: 0: not set */
	int64		max_range_size;
	bool		has_tag;
	NameData	node_tag;
	int			host;			/* which to try first the next time; -1: as
								 * before */
} HiloHubAnswer;

/*
 * Ask, by one statement outside a transaction block, and wait for the answer
 * on socket and latch.  Raises nothing except that the wait was cancelled or
 * the session ended, opens no subtransaction, and takes no lock that outlives
 * it.  Every other failure is the answer's error: of class 08 where the hub
 * cannot be reached or does not answer, 42xxx or 2F003 where server, mapping
 * or right are missing (as with postgres_fdw, a role that is no superuser
 * needs a password), else the hub's own.  Then a lease may have been lost on
 * the way.
 */
typedef void (*HiloHubAsk) (const HiloHubQuestion *question,
							HiloHubAnswer *answer);
extern PGDLLEXPORT void hilo_hub_ask(const HiloHubQuestion *question,
									 HiloHubAnswer *answer);

#endif							/* HILO_HUB_H */

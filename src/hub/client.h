/*-------------------------------------------------------------------------
 *
 * client.h
 *	  One question to the hub, by libpq.
 *
 * Each question has a connection of its own: leases are rare, and a hub then has no idle
 * sessions.  What goes wrong is a value, not an error, because a session that still has
 * numbers need not fail.  Only a request to cancel raises an error.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_HUB_CLIENT_H
#define HILO_HUB_CLIENT_H

/* What a hub has answered. */
typedef struct HubAnswer
{
	int64		hub;			/* which hub it is, */
	int64		opening;		/* how often it was opened, */
	int64		opening_id;		/* and a random number of this opening */
	int64		low;			/* the numbers that it leases; both 0: it was */
	int64		high;			/* asked for none */
} HubAnswer;

/* Why there is no answer, or none that can be used. */
typedef struct HubFailure
{
	int			sqlstate;
	char		message[256];
} HubFailure;

/* Set the failure.  Returns false, for callers that do so as well. */
extern bool hub_fail(HubFailure *failure, int sqlstate, const char *format,...) pg_attribute_printf(3, 4);

/*
 * Ask the hub behind a foreign server for count numbers of a counter, telling it which opening
 * is known here; with NULL instead of a name, only for who it is.  The connection is that of
 * the server's owner.  timeout is in milliseconds, for all of it.  The answer is well-formed:
 * its fields are positive, and the range is not larger than count.
 */
extern bool hub_ask(const char *server, const char *name, int64 count, int64 opening,
					int64 opening_id, int timeout, HubAnswer *answer, HubFailure *failure);

#endif							/* HILO_HUB_CLIENT_H */

/*-------------------------------------------------------------------------
 *
 * failure_point.h
 *	  Places at which tests make a session fail.
 *
 * These do nothing unless built with -DHILO_FAILURE_POINTS. Then the setting
 * test.failure_point, 'name:error', 'name:wait', 'name:kill' or 'name:term',
 * names the place at which an error is raised, the session waits until it is
 * canceled, the process dies, or the process is told to end, in a critical
 * section.  In code that must not fail, as between locking a page and releasing
 * it, HILO_KILL_POINT() supports only the last two.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_FAILURE_POINT_H
#define HILO_FAILURE_POINT_H

#ifdef HILO_FAILURE_POINTS

#include <signal.h>
#include <unistd.h>

#include "miscadmin.h"
#include "utils/guc.h"

static inline bool
hilo_failure_is_wanted(const char *name, const char *kind)
{
	const char *wanted = GetConfigOption("test.failure_point", true, false);
	size_t		len = strlen(name);

	return wanted != NULL && strncmp(wanted, name, len) == 0 &&
		wanted[len] == ':' && strcmp(wanted + len + 1, kind) == 0;
}

static inline void
hilo_kill_point(const char *name)
{
	if (hilo_failure_is_wanted(name, "term"))
	{
		START_CRIT_SECTION();
		raise(SIGTERM);
		END_CRIT_SECTION();
	}
	if (!hilo_failure_is_wanted(name, "kill"))
		return;
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

static inline void
hilo_failure_point(const char *name)
{
	hilo_kill_point(name);
	if (hilo_failure_is_wanted(name, "error"))
		elog(ERROR, "failure at %s", name);
	while (hilo_failure_is_wanted(name, "wait"))
	{
		CHECK_FOR_INTERRUPTS();
		pg_usleep(1000);
	}
}

#define HILO_FAILURE_POINT(name)	hilo_failure_point(name)
#define HILO_KILL_POINT(name)		hilo_kill_point(name)

#else

#define HILO_FAILURE_POINT(name)	((void) 0)
#define HILO_KILL_POINT(name)		((void) 0)

#endif

#endif							/* HILO_FAILURE_POINT_H */

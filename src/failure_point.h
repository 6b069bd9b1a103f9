/*-------------------------------------------------------------------------
 *
 * failure_point.h
 *	  Places at which tests make a session fail.
 *
 * These do nothing unless built with -DHILO_FAILURE_POINTS. Then the setting
 * test.failure_point, 'name:error', 'name:wait', 'name:kill' or 'name:term',
 * names the place at which an error is reported, the session waits until it is
 * canceled, the process dies, or the process is told to end, in a critical
 * section.  In code that must not fail, as between locking a page and releasing
 * it, HILO_KILL_POINT() supports only the last two.
 *
 * With the setting test.delay_seed, a number, one passage of a place in four takes
 * up to 20 ms longer.  Which, and how long, follows from the seed, the place, the
 * slot that the postmaster gave the process, and how often the process has passed
 * places of that file.  So the delays repeat if clients connect and call in the
 * same order; when the kernel lets a process go on does not.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_FAILURE_POINT_H
#define HILO_FAILURE_POINT_H

#ifdef HILO_FAILURE_POINTS

#include <signal.h>
#include <unistd.h>

#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/guc.h"

#define HILO_MAX_DELAY_US	20000

static inline bool
hilo_failure_is_wanted(const char *name, const char *kind)
{
	const char *wanted = GetConfigOption("test.failure_point", true, false);
	size_t		len = strlen(name);

	return wanted != NULL && strncmp(wanted, name, len) == 0 &&
		wanted[len] == ':' && strcmp(wanted + len + 1, kind) == 0;
}

static inline void
hilo_delay(const char *name)
{
	static uint64 passed = 0;
	const char *seed = GetConfigOption("test.delay_seed", true, false);
	uint64		hash;

	if (seed == NULL || seed[0] == '\0')
		return;
	hash = hash_combine64(strtou64(seed, NULL, 10),
						  (uint64) MyPMChildSlot << 32 | passed++);
	hash = hash_bytes_extended((const unsigned char *) name, strlen(name), hash);
	if (hash % 4 == 0)
		pg_usleep(hash / 4 % HILO_MAX_DELAY_US);
}

static inline void
hilo_kill_point(const char *name)
{
	hilo_delay(name);
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

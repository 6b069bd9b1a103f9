/*-------------------------------------------------------------------------
 *
 * clock.c
 *	  Moves the time of day of a server.
 *
 * A library for LD_PRELOAD.  The file that HILO_CLOCK names holds an int64: seconds, which are
 * added to the time.  PostgreSQL asks for the time in signal handlers, too, so this must neither
 * allocate memory nor lock; libfaketime does both, and servers that it is loaded into can hang.
 *
 *-------------------------------------------------------------------------
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *seconds;

/* Map the file, so that a change of it is seen at once. */
__attribute__((constructor)) static void
open_clock(void)
{
	int			file = open(getenv("HILO_CLOCK"), O_RDONLY);

	seconds = mmap(NULL, sizeof(*seconds), PROT_READ, MAP_SHARED, file, 0);
	if (seconds == MAP_FAILED)
		abort();
	close(file);
}

/* In place of the C library's, by which PostgreSQL asks for the time of day. */
int
gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec real;

	(void) zone;
	clock_gettime(CLOCK_REALTIME, &real);
	now->tv_sec = real.tv_sec + *seconds;
	now->tv_usec = real.tv_nsec / 1000;
	return 0;
}

/* pg_ctl compares its own time with that at which a server has started. */
time_t
time(time_t *now)
{
	struct timeval both;

	gettimeofday(&both, NULL);
	if (now != NULL)
		*now = both.tv_sec;
	return both.tv_sec;
}

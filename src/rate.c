/*-------------------------------------------------------------------------
 *
 * rate.c
 *	  How fast numbers are claimed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "datatype/timestamp.h"

#include "rate.h"

/* A younger counter counts as this old: a first claim says little. */
#define MIN_AGE_HOURS	(1.0 / 60)

static double
hours(int64 us)
{
	return (double) us / USECS_PER_HOUR;
}

double
hilo_rate_decay(double value, int64 elapsed_us)
{
	/* A clock that was set back adds nothing. */
	return value * exp(-hours(Max(elapsed_us, 0)));
}

double
hilo_rate_per_hour(double value, int64 age_us)
{
	return value / (1 - exp(-Max(hours(age_us), MIN_AGE_HOURS)));
}

/*-------------------------------------------------------------------------
 *
 * rate.h
 *	  How fast numbers are claimed.
 *
 * Kept as one figure: the sum of all numbers ever claimed, each weighted by
 * exp(-age), its age in hours (exponential smoothing).  At a steady pace that
 * is how many are claimed in an hour.  Pure arithmetic.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_RATE_H
#define HILO_RATE_H

/* The figure, when it was value some microseconds ago. */
extern double hilo_rate_decay(double value, int64 elapsed_us);

/*
 * Numbers an hour, when the figure is value now and counting began age_us
 * microseconds ago; from the pace until then if that is less than some hours.
 */
extern double hilo_rate_per_hour(double value, int64 age_us);

#endif							/* HILO_RATE_H */

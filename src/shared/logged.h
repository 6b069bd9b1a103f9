/*-------------------------------------------------------------------------
 *
 * logged.h
 *	  Which sequences' pages have been logged ahead.
 *
 * nextval logs its page as it will be after some more numbers, and draws these
 * without a record.  If something else has logged the page as it is, such as ALTER
 * SEQUENCE, nextval does not notice that these numbers are not logged.  So sessions note
 * here which last records of a page log numbers ahead.  There is room for few: of all
 * others, nothing is known.
 *
 * What is written here stays true: as long as no later record changes the page, only numbers
 * that were logged ahead are drawn from it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_LOGGED_H
#define HILO_LOGGED_H

#include "access/xlogdefs.h"

/*
 * Make sure that this session has the shared memory, if it can be had; without it, nothing
 * is known.  Call this without holding a LWLock.
 */
extern void hilo_logged_open(void);

/* True if the last record of the page, which ends there, is known to log numbers ahead. */
extern bool hilo_logged_is_known(Oid sequence, XLogRecPtr lsn);

/* Note that the last record of the page, which ends there, logs numbers ahead. */
extern void hilo_logged_note(Oid sequence, XLogRecPtr lsn);

#endif							/* HILO_LOGGED_H */

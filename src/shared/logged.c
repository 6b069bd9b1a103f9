/*-------------------------------------------------------------------------
 *
 * logged.c
 *	  Which sequences' pages have been logged ahead.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"

#include "shared/entry.h"
#include "shared/logged.h"

/* The notes, once this session has them. */
static HiloLogged *logged = NULL;

void
hilo_logged_open(void)
{
	if (unlikely(logged == NULL))
		logged = hilo_shared_logged();
}

static HiloLoggedPage *
place_of(Oid sequence)
{
	return &logged->pages[hash_combine(murmurhash32(MyDatabaseId), murmurhash32(sequence)) %
						  HILO_LOGGED_PAGES];
}

/*
 * A copy of the database has the same sequences, and with wal_level = minimal the
 * same LSNs.  Otherwise no two pages have the same LSN.
 */
bool
hilo_logged_is_known(Oid sequence, XLogRecPtr lsn)
{
	HiloLoggedPage page;

	if (logged == NULL)
		return false;
	LWLockAcquire(&logged->lock, LW_SHARED);
	page = *place_of(sequence);
	LWLockRelease(&logged->lock);
	return page.database == MyDatabaseId && page.sequence == sequence && page.lsn == lsn;
}

void
hilo_logged_note(Oid sequence, XLogRecPtr lsn)
{
	HiloLoggedPage page = {MyDatabaseId, sequence, lsn};

	if (logged == NULL)
		return;
	LWLockAcquire(&logged->lock, LW_EXCLUSIVE);
	*place_of(sequence) = page;
	LWLockRelease(&logged->lock);
}

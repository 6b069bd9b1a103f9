/*-------------------------------------------------------------------------
 *
 * state.c
 *	  What this server is to others: alone, a member, or a hub; and whether a hub is
 *	  open.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/stat.h>

#include "access/table.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "state.h"

/*
 * How many numbers of a counter a resume skips, unless told otherwise: at least so many, and
 * twice what was claimed in the last hour; but at most this share of what is left.
 */
#define LEAST_SKIP		INT64CONST(1048576)
#define SKIP_SHARE		1024

HiloRow
hub_own_row(void)
{
	HiloRowRef	ref = {.name = HILO_OWN_NAME};
	HiloRow		row;

	(void) core->counter_read(&ref, &row);
	return row;
}

HubRole
hub_role(const HiloRow *own)
{
	return !(own->flags & HILO_ROW_SHARED) ? HUB_ALONE :
		own->flags & HILO_ROW_HUB ? HUB_ITSELF : HUB_MEMBER;
}

void
hub_change_own_row(HiloRowChange *change)
{
	static HiloRowRef ref = {.name = HILO_OWN_NAME};

	(void) core->row_find(change, &ref, HILO_ROW_CREATE);
}

char *
hub_place(void)
{
	char	   *path = psprintf("%s/PG_VERSION", DatabasePath);
	struct stat file;

	if (stat(path, &file) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", path)));
	return psprintf("%u/" UINT64_FORMAT "/" INT64_FORMAT, GetWALInsertionTimeLine(),
					(uint64) file.st_ino,
					(int64) file.st_ctim.tv_sec * INT64CONST(1000000000) + file.st_ctim.tv_nsec);
}

void
hub_require_open(const HiloRow *own)
{
	const char *place = hub_place();

	if (strcmp(HUB_NOTED(own), place) == 0)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("this hub is closed"),
			 errdetail("It was opened as \"%s\", and is \"%s\" (timeline/inode/change time): another server may have gone on counting.",
					   HUB_NOTED(own), place),
			 errhint("If no other server is the hub, run SELECT hilo_hub.resume().")));
}

int64
hub_skip(const HubCounterChange *what, const HiloRow *row)
{
	int64		count = what->count > 0 ? what->count :
		Max(LEAST_SKIP, (int64) Min(2 * row->claim_rate, (double) PG_INT32_MAX));

	return !what->skip ? 0 : Min(count, (row->max_value - row->max) / SKIP_SHARE);
}

/* Wait until sessions that have read the old state have created their counters. */
static void
wait_for_new_counters(void)
{
	Relation	rel = core->row_lock_table(RowExclusiveLock);

	LockPage(rel, 0, ExclusiveLock);
	UnlockPage(rel, 0, ExclusiveLock);
	table_close(rel, RowExclusiveLock);
}

XLogRecPtr
hub_change_counters(const HubCounterChange *what)
{
	XLogRecPtr	lsn = InvalidXLogRecPtr;
	ListCell   *cell;

	wait_for_new_counters();
	foreach(cell, core->row_list())
	{
		HiloRowRef	ref = {.name = ((HiloNamedRow *) lfirst(cell))->name};
		HiloRowChange change;
		HiloRow    *row = &change.row;

		CHECK_FOR_INTERRUPTS();
		if (strcmp(ref.name, HILO_OWN_NAME) == 0 ||
			!core->row_find(&change, &ref, HILO_ROW_CHANGE))
			continue;
		row->flags = (row->flags & ~HILO_ROW_SHARED) | (what->shared ? HILO_ROW_SHARED : 0);
		row->max += hub_skip(what, row);
		row->epoch = core->random_number();
		row->claim_low = row->claim = 0;
		lsn = core->row_finish(&change);
		core->pool_forget(ref.name);
	}
	return lsn;
}

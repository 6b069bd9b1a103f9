/*-------------------------------------------------------------------------
 *
 * state.c
 *	  What this server is to others: alone, a member, or a hub; and whether a hub is
 *	  open.
 *
 * The state is in the row of server-side ids, and not in a setting or a table of its own: it
 * has to reach the disk in the same way as the counters, in a WAL record that a rollback does
 * not take back, and it has to come along wherever they come along.
 *
 * That it comes along is also the danger.  The row of a hub is copied with everything that
 * copies a database: to a standby that is promoted while the old primary still runs, into a
 * backup that is restored somewhere else, into a folder or a database that is copied.  Each
 * of these would take itself for the hub, and lease numbers that the other one leases as well.
 *
 * So a hub notes the place in which it was opened, and counts only there.  In any other place it
 * is closed: it leases nothing, and draws nothing from shared counters itself.  The place
 * differs in each of these cases:
 *
 * - A promotion, or recovery to a point in time, begins a new timeline.
 * - A copy of the data folder, or a restored base backup, has other inodes.  If an inode's
 *	 number is used again by chance, the time at which the inode was changed differs.
 * - A copy of the database within the server (CREATE DATABASE ... TEMPLATE) has a file
 *	 PG_VERSION of its own.
 *
 * A snapshot of a whole disk that is started on another machine cannot be told from the original.
 * If both are opened anew, members notice it by the random number of the opening (see
 * member.c).
 *
 * Only a person can know whether the other server has stopped, so a closed hub stays closed until
 * hilo_hub.resume() is called.  hub.c tells what that does.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/stat.h>

#include "access/table.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
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

/*
 * The row is read anew each time: the state is asked for when a lease is needed, which is rare,
 * and a session must not go on with a state that it has read before.
 */
HiloRow
hub_own_row(void)
{
	HiloRowRef	ref = {.name = HILO_SERVER_SIDE_NAME};
	HiloRow		row;

	(void) core->counter_read(&ref, &row);
	return row;
}

/*
 * Of a row that came here with a dump, the flags are kept as well.  Then the server is a closed
 * hub, or a member that asks the same hub.
 */
HubRole
hub_role(const HiloRow *own)
{
	return !(own->flags & HILO_ROW_SHARED) ? HUB_ALONE :
		own->flags & HILO_ROW_HUB ? HUB_ITSELF : HUB_MEMBER;
}

/*
 * The caller has the page locked until it finishes or abandons the change, and must not raise
 * errors meanwhile.
 */
void
hub_change_own_row(HiloRowChange *change)
{
	static HiloRowRef ref = {.name = HILO_SERVER_SIDE_NAME};

	(void) core->row_find(change, &ref, HILO_ROW_CREATE);
}

/*
 * The inode's change time cannot be set by a program, unlike the times of access and
 * modification, which tar and rsync restore.
 */
char *
hub_place(void)
{
	char	   *path = psprintf("%s/PG_VERSION", DatabasePath);
	struct stat file;
	struct stat control;

	if (stat(path, &file) != 0 || stat(XLOG_CONTROL_FILE, &control) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", path)));
	return psprintf("%x/" UINT64_FORMAT "/%llx/%llx", GetWALInsertionTimeLine(),
					(uint64) file.st_ino, (unsigned long long) control.st_ino,
					(unsigned long long) file.st_ctim.tv_sec * 1000000000 + file.st_ctim.tv_nsec);
}

/*
 * Both places are shown, because what differs between them tells what has happened.
 */
void
hub_require_open(const HiloRow *own)
{
	const char *place = hub_place();

	if (strcmp(HUB_NOTED(own), place) == 0)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("this hub is closed"),
			 errdetail("It was opened as \"%s\", and is \"%s\" (timeline/inodes/change time): another server may have gone on counting.",
					   HUB_NOTED(own), place),
			 errhint("If no other server is the hub, run SELECT hilo_hub.resume().")));
}

/*
 * How many numbers may have been drawn that this server does not know of?  Those that were
 * claimed after the last WAL that has arrived here.  How much that was is not known, so the
 * rate of the last hour is taken, twice, and never less than a million.  With bigint that costs
 * nothing; near a limit it would, so there it is a small share of what is left.
 */
int64
hub_skip(const HubCounterChange *what, const HiloRow *row)
{
	int64		left = row->max_value - row->max;
	int64		lost = Max(LEAST_SKIP, (int64) Min(2 * row->claim_rate, (double) PG_INT32_MAX));

	return !what->skip ? 0 : what->count > 0 ? Min(what->count, left) : Min(lost, left / SKIP_SHARE);
}

/*
 * Wait until sessions that have read the old state have created their counters.
 *
 * A counter is created under the lock on page 0, and with the state that the row of server-side
 * ids has at that moment.  The caller has changed that row.  So when this session has had the
 * lock for an instant, each counter that exists by then is in core->row_list(), and each later
 * one is created with the new state.  The lock is held only while a row is created, not until
 * the end of a transaction.
 */
static void
wait_for_new_counters(void)
{
	Relation	rel = core->row_lock_table(RowExclusiveLock);

	LockPage(rel, 0, ExclusiveLock);
	UnlockPage(rel, 0, ExclusiveLock);
	table_close(rel, RowExclusiveLock);
}

/*
 * Each row is changed and released on its own, so draws from other counters do not wait.  If
 * this is interrupted, some counters are changed and others are not.  Each caller has changed
 * the row of server-side ids before, in such a way that this does no harm, and can be
 * called again.
 *
 * The new epoch makes ranges of sessions and pooled numbers worthless.  Sessions are told by the
 * caller, once for all rows, which also flushes all changes at once.
 */
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
		if (strcmp(ref.name, HILO_SERVER_SIDE_NAME) == 0 ||
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

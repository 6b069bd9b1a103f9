/*-------------------------------------------------------------------------
 *
 * segment.c
 *	  The shared memory of this library: a dynamic segment, which the first session
 *	  that needs it makes.
 *
 * A library that is not in shared_preload_libraries cannot ask for shared memory when the
 * server starts.  But the server keeps some of its own to spare, of which a session can take
 * a few bytes at any time.  There is the anchor: it tells the handle of a dynamic segment, which
 * can be large.
 *
 * A session locks the anchor and reads it.  If it has a handle, the session attaches to that
 * segment.  Otherwise it makes one, locks the anchor again, and puts the handle there.
 * From then on the segment is pinned, so it outlives the session.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/dsm.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/resowner.h"

#include "compat.h"
#include "failure_point.h"
#include "segment.h"

/* The name of the anchor, and of the locks as pg_stat_activity shows them. */
#define SEGMENT_NAME	"hilo"

/*
 * Where sessions find the segment.  It is in the server's own shared memory, so
 * all versions of this library that run in one server share it: its name and its
 * layout never change.  All of it is 0 at first, and again after a crash, which removes
 * all dynamic segments as well.
 */
typedef struct Anchor
{
	uint32		handle;			/* 0: there is no segment */
	int32		tranche;		/* 0: none was asked for yet */
	uint32		layout;			/* of the segment */
} Anchor;

/*
 * Find the anchor, and lock it.  The lock is the one under which the server itself looks for
 * structs in its shared memory, so the first session that asks makes the anchor, and all
 * others find it.
 */
static Anchor *
lock_anchor(void)
{
	Anchor	   *anchor;
	bool		found;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	anchor = ShmemInitStruct(SEGMENT_NAME, sizeof(Anchor), &found);
	if (!found)
		memset(anchor, 0, sizeof(Anchor));
	return anchor;
}

/*
 * A copy of the anchor as it is now.  The first session that comes here asks for a tranche: the
 * server has only 65,536 of them and takes none back, so it must not be one for each session
 * that makes a segment.
 */
static Anchor
read_anchor(void)
{
	Anchor	   *anchor = lock_anchor();
	Anchor		copy;

	if (anchor->tranche == 0)
		anchor->tranche = hilo_new_tranche(SEGMENT_NAME);
	copy = *anchor;
	LWLockRelease(AddinShmemInitLock);
	return copy;
}

/*
 * Make a segment, and put it into the anchor.  The result is NULL if another session has been
 * faster, whose segment is in the anchor then.
 *
 * No lock is held while it is made: that takes as long as the operating system
 * takes to find the memory.  So several sessions may each make one, of which all
 * but one are removed at once.
 */
static void *
make_segment(Anchor made, Size size, void (*initialize) (void *segment, int tranche))
{
	dsm_segment *dsm = dsm_create(size, DSM_CREATE_NULL_IF_MAXSEGMENTS);
	Anchor	   *anchor;
	bool		is_first;

	if (dsm == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("too many dynamic shared memory segments")));
	made.handle = dsm_segment_handle(dsm);

	/* Complete before any other session can find it. */
	memset(dsm_segment_address(dsm), 0, size);
	initialize(dsm_segment_address(dsm), made.tranche);
	dsm_pin_segment(dsm);
	HILO_KILL_POINT("segment made");

	anchor = lock_anchor();
	is_first = anchor->handle == 0;
	if (is_first)
		*anchor = made;
	LWLockRelease(AddinShmemInitLock);
	if (is_first)
		return dsm_segment_address(dsm);
	dsm_unpin_segment(made.handle);
	dsm_detach(dsm);
	return NULL;
}

/*
 * Attach to the segment in the anchor, or make it.  Without a size, as when a session only looks
 * whether the pool has something, a segment is not worth making.
 */
static void *
make_or_attach(uint32 layout, Size size, void (*initialize) (void *segment, int tranche))
{
	Anchor		anchor = read_anchor();
	void	   *segment = NULL;

	if (anchor.handle == 0 && size > 0)
	{
		anchor.layout = layout;
		segment = make_segment(anchor, size, initialize);
		if (segment == NULL)
			anchor = read_anchor();
	}
	if (segment == NULL)
	{
		dsm_segment *dsm;

		if (anchor.handle == 0 || anchor.layout != layout)
			return NULL;
		dsm = dsm_attach(anchor.handle);
		if (dsm == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("the shared memory segment of hilo is not there")));
		segment = dsm_segment_address(dsm);
	}
	hilo_register_tranche(anchor.tranche, SEGMENT_NAME);
	return segment;
}

/*
 * CurrentResourceOwner is NULL meanwhile, so that the mapping stays until the session ends.  An
 * error leaves it half open, so there is no second attempt.  Then draws go on without the pool,
 * only the numbers that this session does not use are lost, and the log says why.
 *
 * This is not the end of a transaction, so a LWLock that was held at an error has to be
 * released here, and the count of HOLD_INTERRUPTS(), which any error sets to 0, put back.
 */
void *
hilo_segment_attach(uint32 layout, Size size, void (*initialize) (void *segment, int tranche))
{
	static bool has_failed = false;
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	uint32		holdoff = InterruptHoldoffCount;
	void	   *volatile segment = NULL;

	/* In single-user mode there is no other process to share memory with. */
	if (has_failed || !IsUnderPostmaster)
		return NULL;
	PG_TRY();
	{
		CurrentResourceOwner = NULL;
		segment = make_or_attach(layout, size, initialize);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		LWLockReleaseAll();
		InterruptHoldoffCount = holdoff;
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		ereport(LOG,
				(errcode(error->sqlerrcode),
				 errmsg("hilo could not get shared memory: %s", error->message),
				 errdetail("Numbers that this session does not use are lost."),
				 errhint("Make room for dynamic shared memory (on Linux, in /dev/shm), or increase min_dynamic_shared_memory.")));
		FreeErrorData(error);
		has_failed = true;
	}
	PG_END_TRY();
	CurrentResourceOwner = owner;
	return segment;
}

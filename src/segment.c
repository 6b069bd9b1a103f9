/*-------------------------------------------------------------------------
 *
 * segment.c
 *	  The shared memory of this library: a dynamic segment, which the first session
 *	  that needs it makes.
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

/* The name of the anchor, and of the locks. */
#define NAME	"hilo"

#define MAGIC	0x48694c6f

/*
 * Where sessions find the segment.  It is in the server's own shared memory, so
 * all versions of this library that run in one server share it: its name and its
 * layout never change.  All of it is 0 at first, and again after a crash.
 */
typedef struct Anchor
{
	uint32		handle;			/* 0: there is no segment */
	int32		tranche;		/* 0: none was asked for yet */
	uint32		layout;			/* of the segment */
} Anchor;

/*
 * The anchor, locked.  The server keeps some memory to spare for libraries that
 * are loaded after its start.
 */
static Anchor *
lock_anchor(void)
{
	Anchor	   *anchor;
	bool		found;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	anchor = ShmemInitStruct(NAME, sizeof(Anchor), &found);
	if (!found)
		memset(anchor, 0, sizeof(Anchor));
	return anchor;
}

/* The anchor as it is now; it has a tranche. */
static Anchor
read_anchor(void)
{
	Anchor	   *anchor = lock_anchor();
	Anchor		copy;

	if (anchor->tranche == 0)
		anchor->tranche = hilo_new_tranche(NAME);
	copy = *anchor;
	LWLockRelease(AddinShmemInitLock);
	return copy;
}

static void
begin_segment(HiloSegment *segment, Size size, const Anchor *anchor,
			  void (*initialize) (HiloSegment *segment))
{
	memset(segment, 0, size);
	segment->magic = MAGIC;
	segment->layout = anchor->layout;
	segment->handle = anchor->handle;
	segment->tranche = anchor->tranche;
	initialize(segment);
}

/*
 * Make a segment, and put it into the anchor.  NULL: another session has been
 * faster, or the server has no room for another segment.
 *
 * No lock is held while it is made: that takes as long as the operating system
 * takes to find the memory.  So several sessions may each make one, of which all
 * but one are removed at once.
 */
static HiloSegment *
make_segment(Anchor made, Size size, void (*initialize) (HiloSegment *segment))
{
	dsm_segment *dsm = dsm_create(size, DSM_CREATE_NULL_IF_MAXSEGMENTS);
	Anchor	   *anchor;
	bool		is_first;

	if (dsm == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("too many dynamic shared memory segments")));
	made.handle = dsm_segment_handle(dsm);
	begin_segment(dsm_segment_address(dsm), size, &made, initialize);
	dsm_pin_segment(dsm);
	HILO_KILL_POINT("segment made");

	anchor = lock_anchor();
	is_first = anchor->handle == 0;
	if (is_first)
		*anchor = made;
	LWLockRelease(AddinShmemInitLock);
	if (is_first)
	{
		dsm_pin_mapping(dsm);
		return dsm_segment_address(dsm);
	}
	dsm_unpin_segment(made.handle);
	dsm_detach(dsm);
	return NULL;
}

/* Attach to the segment in the anchor, and verify that it is ours. */
static HiloSegment *
attach_segment(const Anchor *anchor)
{
	dsm_segment *dsm = dsm_attach(anchor->handle);
	HiloSegment *segment = dsm == NULL ? NULL : dsm_segment_address(dsm);

	if (segment == NULL ||
		dsm_segment_map_length(dsm) < sizeof(HiloSegment) ||
		segment->magic != MAGIC || segment->handle != anchor->handle ||
		segment->layout != anchor->layout)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("the shared memory segment of hilo is not there")));
	dsm_pin_mapping(dsm);
	return segment;
}

static HiloSegment *
make_or_attach(uint32 layout, Size size,
			   void (*initialize) (HiloSegment *segment),
			   bool *other_layout)
{
	HiloSegment *segment = NULL;
	Anchor		anchor = read_anchor();

	if (anchor.handle == 0 && size > 0)
	{
		Anchor		made = {.tranche = anchor.tranche,.layout = layout};

		segment = make_segment(made, size, initialize);
		if (segment == NULL)
			anchor = read_anchor();
	}
	if (segment == NULL)
	{
		*other_layout = anchor.handle != 0 && anchor.layout != layout;
		if (anchor.handle == 0 || *other_layout)
			return NULL;
		segment = attach_segment(&anchor);
	}
	hilo_register_tranche(segment->tranche, NAME);
	return segment;
}

/*
 * Log an error that was caught, at the first time in this session: what is
 * drawn does not depend on the segment.
 */
static void
log_failure(void)
{
	static bool logged = false;
	ErrorData  *error = CopyErrorData();

	FlushErrorState();
	if (!logged)
		ereport(LOG,
				(errcode(error->sqlerrcode),
				 errmsg("hilo could not get shared memory: %s", error->message),
				 errdetail("Numbers that this session does not use are lost."),
				 errhint("Make room for dynamic shared memory (on Linux, in /dev/shm), or increase min_dynamic_shared_memory.")));
	logged = true;
	FreeErrorData(error);
}

/* A server without other processes needs no shared memory. */
static HiloSegment *
make_local(uint32 layout, Size size, void (*initialize) (HiloSegment *segment))
{
	Anchor		anchor = {.layout = layout};
	HiloSegment *segment;

	if (size == 0)
		return NULL;
	anchor.tranche = hilo_new_tranche(NAME);
	segment = MemoryContextAllocHuge(TopMemoryContext, size);
	begin_segment(segment, size, &anchor, initialize);
	return segment;
}

/*
 * What is opened on the way belongs to a resource owner of its own, which closes
 * it after an error; between transactions, as in a worker, it has no parent.  On success
 * the segment and the mapping are pinned, so that no transaction or resource owner ends
 * them.
 *
 * An error under a LWLock leaves it locked, because this is not the end of a
 * transaction; and any error ends all HOLD_INTERRUPTS() of the callers, too.
 */
HiloSegment *
hilo_segment_attach(uint32 layout, Size size,
					void (*initialize) (HiloSegment *segment),
					bool *other_layout)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner outer = CurrentResourceOwner;
	uint32		holdoff = InterruptHoldoffCount;
	HiloSegment *volatile segment = NULL;
	ResourceOwner owner;

	*other_layout = false;
	if (!IsUnderPostmaster)
		return make_local(layout, size, initialize);

	owner = ResourceOwnerCreate(outer, "hilo segment");
	PG_TRY();
	{
		CurrentResourceOwner = owner;
		segment = make_or_attach(layout, size, initialize, other_layout);
	}
	PG_CATCH();
	{
		LWLockReleaseAll();
		InterruptHoldoffCount = holdoff;
		MemoryContextSwitchTo(context);
		log_failure();
	}
	PG_END_TRY();
	CurrentResourceOwner = outer;
	for (int phase = RESOURCE_RELEASE_BEFORE_LOCKS;
		 phase <= RESOURCE_RELEASE_AFTER_LOCKS; phase++)
		ResourceOwnerRelease(owner, phase, false, outer == NULL);
	ResourceOwnerDelete(owner);
	return segment;
}

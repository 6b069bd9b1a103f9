/*-------------------------------------------------------------------------
 *
 * segment.h
 *	  The shared memory of this library: a dynamic segment, which the first session
 *	  that needs it makes.
 *
 * It is the same whether the library is in shared_preload_libraries or not.  The
 * segment is there until the server stops or starts anew after a crash.  It may
 * be at another address in each process, so nothing in it may be a pointer.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_SEGMENT_H
#define HILO_SEGMENT_H

/* What a segment begins with.  The first three tell that it is ours. */
typedef struct HiloSegment
{
	uint32		magic;
	uint32		layout;			/* of all that is in it */
	uint32		handle;			/* of the segment itself */
	int			tranche;		/* of the locks in it */
} HiloSegment;

/*
 * Attach this session to the segment, for good.  With a size other than 0 it is
 * made if there is none; initialize gets it zeroed but for what it begins with.
 * Returns NULL if there is none for this session; the next call tries again.
 * *other_layout: another version of this library has made the segment.
 *
 * Call this without holding a LWLock.  It raises no error; it logs why it has
 * failed, once in a session.
 */
extern HiloSegment *hilo_segment_attach(uint32 layout, Size size,
										void (*initialize) (HiloSegment *segment),
										bool *other_layout);

#endif							/* HILO_SEGMENT_H */

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

/*
 * Attach this session to the segment, until it ends.  With a size other than 0 a segment
 * is made if there is none; initialize gets it zeroed, with the tranche for its locks.
 *
 * The result is NULL if this session cannot have it: there is none yet, another version of
 * this library, whose layout differs, has made it, or there is no memory.  The caller goes on
 * without, and asks again when it needs the memory the next time.
 *
 * Call this without holding a LWLock.  It raises no error.  A failure is logged, and
 * is the last attempt of this session.
 */
extern void *hilo_segment_attach(uint32 layout, Size size,
								 void (*initialize) (void *segment, int tranche));

#endif							/* HILO_SEGMENT_H */

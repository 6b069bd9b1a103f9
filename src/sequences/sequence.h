/*-------------------------------------------------------------------------
 *
 * sequence.h
 *	  Sequences, counted by the server's own nextval, with a cache whose size
 *	  follows the rate.
 *
 * The range of a session is where nextval keeps it.  So nextval, currval,
 * lastval, setval, DISCARD, RESTART and TRUNCATE work as always, and can be mixed
 * with these functions call by call.
 *
 * All functions raise the errors of nextval, and 42809 for what is no sequence.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_SEQUENCE_H
#define HILO_SEQUENCE_H

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"

#include "tables/look.h"

/* The most numbers claimed at a time: nextval counts them one by one. */
#define HILO_MAX_SEQUENCE_RANGE		65536

/* What a session knows about a sequence from which it draws. */
typedef struct HiloSequence
{
	Oid			oid;			/* hash key */

	/*
	 * The range, as far as this session knows: nextval may have ended it, and
	 * then says so by touching the sequence's page.
	 */
	int64		last;			/* number drawn last */
	int64		left;			/* numbers after it */
	bool		clean;			/* these are looked at and on disk, */
	int			waited_how;		/* and on standbys as this synchronous_commit
								 * requires */

	XLogRecPtr	logged;			/* if the page's last record ends there, it
								 * covers all numbers drawn; 0: unknown */

	Oid			role;			/* that may draw; InvalidOid: find out */

	/* The catalog, and the generation in which it was read. */
	uint64		known_at;
	bool		looks;			/* ids can be looked for: it counts upwards by
								 * 1, and does not cycle */
	int64		increment;
	int64		end;			/* its limit in that direction */
	int64		cache;			/* CACHE */

	/* The last claim. */
	int64		size;			/* 0: none yet */
	bool		may_grow;		/* no other function has used or ended its
								 * range */
	int64		room;			/* numbers that were left; 0: unknown */
	TimestampTz claimed_at;

	HiloLook   *look;			/* NULL: not needed yet */
} HiloSequence;

/*
 * What the session knows about a sequence.  Never freed; but after the sequence was dropped
 * it may become that of another one: keep it only together with the OID.
 */
extern HiloSequence *hilo_sequence(Oid oid);

/* Raise 42501, as nextval does, unless the current user may draw from it. */
extern void hilo_sequence_check_may_draw(Oid sequence);

/*
 * Draw the next number.  The current user needs the right to, unless has_right says
 * that something else gives it, as with an identity column.
 */
extern int64 hilo_sequence_next(HiloSequence *sequence, bool has_right);

/*
 * Draw a contiguous block of count numbers, and return the first.  What the session
 * held is lost.  Raises 0A000 unless the increment is 1.
 */
extern int64 hilo_sequence_reserve(HiloSequence *sequence, int64 count);

/*
 * Move the sequence to at least number, and forget the session's range.  Returns the
 * number that it is at.  Raises 0A000 unless the increment is 1.
 */
extern int64 hilo_sequence_move(HiloSequence *sequence, int64 number,
								bool check_right);

/*
 * The number that the sequence is at, flushed to disk; *end is its limit.  Brings what
 * the session knows about the sequence up to date.
 */
extern int64 hilo_sequence_position(HiloSequence *sequence, int64 *end);

/*
 * The sequences of which this session holds unused numbers, as a list of
 * HiloSequence *, palloc'd.
 */
extern List *hilo_sequences_in_use(void);

#endif							/* HILO_SEQUENCE_H */

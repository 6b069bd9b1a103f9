/*-------------------------------------------------------------------------
 *
 * sequence.h
 *	  Sequences, counted by the server's own nextval: its numbers are on disk before
 *	  they are shown, and are no ids that the table has already.
 *
 * A session keeps nothing of a sequence but what nextval itself keeps.  So nextval,
 * currval, lastval, setval, DISCARD, RESTART and TRUNCATE work as always, and can be
 * mixed with these functions call by call.
 *
 * All functions raise the errors of nextval, and 42809 for what is no sequence.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_SEQUENCE_H
#define HILO_SEQUENCE_H

#include "access/xlogdefs.h"
#include "storage/buf.h"

#include "look.h"

/* What a session knows about a sequence. */
typedef struct HiloSequence
{
	Oid			oid;			/* hash key */

	/* The catalog, as of known_at; 0: not read yet. */
	uint64		known_at;
	HiloCourse	course;
	int64		cache;			/* CACHE */
	bool		cycles;			/* CYCLE: ids are not looked for */

	XLogRecPtr	lot_lsn;		/* if the page's last record ends there, it
								 * has logged numbers ahead; 0: not known */
	Buffer		buffer;			/* had its page the last time; 0: not known */
	HiloIds    *ids;			/* of the column that owns it; NULL: it cycles */
} HiloSequence;

/*
 * What the session knows about a sequence, whose catalog entries may not be read yet.
 * Once the sequence is dropped, the memory may become that of another one: keep the pointer
 * only together with the OID.
 */
extern HiloSequence *hilo_sequence(Oid oid);

/*
 * Draw the next number.  The current user needs the right to, unless has_right says that
 * something else gives it, as with an identity column.
 */
extern int64 hilo_sequence_next(HiloSequence *sequence, bool has_right);

/*
 * Move the sequence to a number, or to the next one on its way, unless it is there already
 * or beyond.  Asks for no right.  Returns the number that it is at then, which is on
 * disk.  Raises 2200H if the number is beyond the end.
 */
extern int64 hilo_sequence_move(HiloSequence *sequence, int64 number);

/*
 * The number that the sequence is at, on disk; sequence->course is up to date then.  Of one
 * that was not called yet, the number before its first.
 */
extern int64 hilo_sequence_position(HiloSequence *sequence);

/*
 * The highest number at or below which no row can appear any more, for statements that begin
 * after this call.  Waits for the transactions that have drawn from the sequence; each
 * wait ends with 55P03 after lock_timeout.  Raises 25006 in recovery, 25001 above READ
 * COMMITTED, 42501 without USAGE or SELECT, and 55000 if this transaction has drawn from
 * the sequence, or its numbers do not come one by one.
 */
extern int64 hilo_sequence_horizon(Oid oid);

#endif							/* HILO_SEQUENCE_H */

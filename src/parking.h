/*-------------------------------------------------------------------------
 *
 * parking.h
 *	  Unused numbers that connections leave behind for the next one.
 *
 * Where the library is in shared_preload_libraries, there is a place in shared
 * memory for a bounded number of tails: the ends of ranges that were claimed,
 * and are on disk as such, but not drawn.  A tail is either there or held by
 * one backend.
 *
 * This module does not know which tails are still good: who takes one says so.
 * Where there is no such place, nothing is parked or found.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_PARKING_H
#define HILO_PARKING_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"

#include "counter.h"

/* Numbers that nobody has drawn, and the claim that they come from. */
typedef struct HiloTail
{
	HiloClaim	claim;			/* range: the numbers */
	int			synchronous;	/* synchronous_commit when they were claimed */
} HiloTail;

extern void hilo_parking_init(void);

/* How many tails there is room for; 0: there is no such place. */
extern int	hilo_parking_room(void);

/*
 * Fill in where the row of a collection is, if a connection has left word of it.
 */
extern void hilo_parking_remind(HiloCounter *counter);

/*
 * Are there tails of a collection?  *usual is how many numbers a connection
 * has drawn of it of late, 0 where that is not known.
 */
extern bool hilo_parking_look(HiloName name, int64 *usual);

/*
 * Park a tail, which may be empty, and note how many numbers the connection
 * that leaves it has used.  Returns false, having done nothing, if there is no
 * room; with make_room the tail that was left alone for longest, of whatever
 * collection, makes room, and is lost.  Raises no error.
 */
extern bool hilo_parking_park(const HiloCounter *counter, const HiloTail *tail,
							  int64 used, bool make_room);

/*
 * Take numbers out of the lowest tail that lies above the number last, at most
 * count.  Of the tails that holds()
 * says no to, none is taken, and all met are thrown away; holds() must not raise
 * an error or take a lock.  Nor is one taken whose claim has waited for less
 * than one of this session would.
 */
extern bool hilo_parking_take(HiloName name, int64 last, int64 count,
							  bool (*holds) (const HiloClaim *claim, void *arg),
							  void *arg, HiloTail *tail);

/* See that number, if it is parked, is not taken. */
extern void hilo_parking_skip(HiloName name, int64 number);

/* What is parked in this database, as a list of pointers. */
typedef struct HiloParked
{
	HiloName	name;
	HiloTail	tail;
	TimestampTz parked_at;
} HiloParked;

extern List *hilo_parking_list(void);

#endif							/* HILO_PARKING_H */

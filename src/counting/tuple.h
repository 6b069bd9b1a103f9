/*-------------------------------------------------------------------------
 *
 * tuple.h
 *	  Tuples that the current transaction inserts or deletes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_TUPLE_H
#define HILO_TUPLE_H

#include "access/htup.h"
#include "utils/relcache.h"

/*
 * Insert a tuple, as the given command of the current transaction, with its
 * index entries; its place is then in tuple->t_self.  No trigger fires, and no
 * constraint but unique indexes is checked.  Logical decoding does not see it,
 * because the contents of our tables belong to this server.
 */
extern void hilo_tuple_insert(Relation rel, HeapTuple tuple, CommandId cid);

/*
 * True if the current transaction has deleted a tuple that it has not inserted.
 */
extern bool hilo_tuple_deleted_here(HeapTupleHeader header);

#endif							/* HILO_TUPLE_H */

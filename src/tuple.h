/*-------------------------------------------------------------------------
 *
 * tuple.h
 *	  Tuples of tables that this transaction changes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_TUPLE_H
#define HILO_TUPLE_H

#include "access/htup.h"
#include "utils/relcache.h"

/*
 * Insert a tuple, made by the given command of the current transaction, with
 * its index entries; its place is then in tuple->t_self.  No trigger fires, no
 * constraint but a unique index is checked.  Logical decoding does not see it:
 * what is in our tables is this server's own.
 */
extern void hilo_tuple_insert(Relation rel, HeapTuple tuple, CommandId cid);

/* Has the current transaction deleted a tuple that others had made? */
extern bool hilo_tuple_deleted_here(HeapTupleHeader header);

#endif							/* HILO_TUPLE_H */

/*-------------------------------------------------------------------------
 *
 * assign.h
 *	  The id that a document gets, of the kind that it requests.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_ASSIGN_H
#define HILO_ASSIGN_H

#include "access/htup.h"
#include "utils/relcache.h"

#include "cache.h"

/*
 * The id of a document of the collection: drawn, or requested itself.  If
 * hilo_bind() or hilo_attach() has said where the documents are, an identity
 * is one that no document has.  To be called in a transaction that may write.
 */
extern text *hilo_assign_document_id(HiloEntry *entry, text *requested);

/* A column whose values are such ids, for a trigger. */
typedef struct HiloAssigned
{
	AttrNumber	attnum;
	Oid			type;			/* of the column, */
	Oid			base_type;		/* the one below it if it is a domain, */
	int32		typmod;			/* and that one's modifier */
} HiloAssigned;

/* Get ready to assign to a column; raises 42804 unless it can hold ids. */
extern void hilo_assigned_init(HiloAssigned *column, Relation rel,
							   AttrNumber attnum);

/*
 * A row that is about to be inserted into rel, with the id that the value of
 * the column requests.  An identity is one that no row of the table has, by
 * its index.  Palloc'd, or the row itself if it needs no other id.
 */
extern HeapTuple hilo_assign_to_row(const HiloAssigned *column,
									HiloEntry *entry, Relation rel,
									HeapTuple tuple);

#endif							/* HILO_ASSIGN_H */

/*-------------------------------------------------------------------------
 *
 * assign.h
 *	  Assigns a document the kind of id that it requests.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_ASSIGN_H
#define HILO_ASSIGN_H

#include "access/htup.h"
#include "utils/relcache.h"

#include "session/session.h"

/*
 * The id for a document of the collection: drawn, or the requested one itself.
 * If hilo.bind() or hilo.attach() has said where the documents are, an identity
 * is one that no document has.  The transaction must be one that may write.
 */
extern text *hilo_assign_document_id(HiloEntry *entry, text *requested);

/* A column to which a trigger assigns such ids. */
typedef struct HiloAssigned
{
	AttrNumber	attnum;
	Oid			type;			/* of the column, */
	Oid			base_type;		/* its base type if it is a domain, */
	int32		typmod;			/* and the base type's modifier */
	HiloEntry  *entry;			/* of the collection */
} HiloAssigned;

/* Prepare to assign to a column; raises 42804 unless it can hold ids. */
extern void hilo_assigned_init(HiloAssigned *column, Relation rel,
							   AttrNumber attnum, HiloEntry *entry);

/*
 * Returns a row that is about to be inserted into rel with the id that the
 * column's value requests.  An identity is one that no row of the table has,
 * according to its index.  Palloc'd, or the row itself if its id stays the
 * same.
 */
extern HeapTuple hilo_assign_to_row(const HiloAssigned *column, Relation rel,
									HeapTuple tuple);

#endif							/* HILO_ASSIGN_H */

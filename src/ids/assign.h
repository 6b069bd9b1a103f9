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
 * An identity is one that no document has: no row in that column of rel, or, with
 * rel NULL, where hilo.bind() or hilo.attach() has said that documents are.  The
 * transaction must be one that may write.
 */
extern text *hilo_assign_document_id(HiloEntry *entry, text *requested,
									 Relation rel, AttrNumber attnum);

/* Raise 42804 unless a column can hold document ids, or perhaps numbers. */
extern void hilo_check_holds(Oid relation, AttrNumber attnum, bool numbers_too);

/*
 * Returns a row that is about to be inserted into rel with the id that the
 * column's value requests.  An identity is one that no row of the table has,
 * according to its index.  Palloc'd, or the row itself if its id stays the
 * same.
 */
extern HeapTuple hilo_assign_to_row(HiloEntry *entry, Relation rel, int attnum,
									HeapTuple tuple);

#endif							/* HILO_ASSIGN_H */

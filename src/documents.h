/*-------------------------------------------------------------------------
 *
 * documents.h
 *	  Where the documents of an identity are: is a number taken?
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_DOCUMENTS_H
#define HILO_DOCUMENTS_H

#include "utils/relcache.h"

#include "column.h"
#include "row.h"

/* The documents of an identity, ready to be looked up. */
typedef struct HiloDocuments HiloDocuments;

/*
 * Find the documents of an identity, named without a bar: where hilo_bind()
 * said, else the table of that name.  Raises 42P01, 42703, 42704, 42804 or 42501
 * where that fails.  Lives in the current memory context; to be closed, except
 * after an error.  The bytes of the name stay until then.
 */
extern HiloDocuments *hilo_documents_open(HiloName identity);

/* The same, for a column that is not bound yet. */
extern HiloDocuments *hilo_documents_open_column(HiloName identity,
												 const HiloColumn *column);

/*
 * The same, but NULL where hilo_documents_open() would look for a table of that
 * name, or nothing has an index to look ids up in.  Tables without one have no
 * unique ids, either; they are passed over.
 */
extern HiloDocuments *hilo_documents_open_bound(HiloName identity);

/*
 * The documents in column attnum, which holds ids, of a table that is being
 * inserted into.  Of a partition those of the whole table count.  NULL, or
 * passed over, as above.  The user's privileges are those to insert.
 */
extern HiloDocuments *hilo_documents_open_own(HiloName identity, Relation rel,
											  AttrNumber attnum);

extern void hilo_documents_close(HiloDocuments *documents);

/*
 * May they move the identity as far as they like?  Where they are was said by
 * hilo_bind(), or their table belongs to a role that may seed it.
 */
extern bool hilo_documents_may_lead(const HiloDocuments *documents);

/* Highest number that can be stored there. */
extern int64 hilo_documents_limit(const HiloDocuments *documents);

/*
 * Is there a document with this number?  Rows of transactions still open count,
 * whatever the isolation level and row security.
 */
extern bool hilo_documents_have(int64 number, HiloDocuments *documents);

/* Raise 42804 unless the function is one from bigint to boolean. */
extern void hilo_check_taken_function(Oid function);

#endif							/* HILO_DOCUMENTS_H */

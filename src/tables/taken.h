/*-------------------------------------------------------------------------
 *
 * taken.h
 *	  Where the documents of an identity are, and which numbers are taken.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_TAKEN_H
#define HILO_TAKEN_H

#include "utils/relcache.h"

#include "counting/row.h"
#include "tables/column.h"

/* The documents of an identity, ready to be looked up. */
typedef struct HiloDocuments
{
	const char *identity;
	bool		bound;			/* true: by hilo.bind() or hilo.attach() */
	Oid			owner;			/* of the table whose trigger is running, if
								 * they are there; else InvalidOid */
	List	   *places;			/* where to look */
	int64		limit;			/* highest number that all columns can hold */
} HiloDocuments;

/*
 * Find the documents of an identity, named without a bar: where hilo.bind()
 * said, or else, if wanted, in the table of that name.  Raises 42P01, 42703, 42704,
 * 42804 or 42501 if that fails.  The result lives in the current memory context, and
 * the bytes of the name must stay valid as long.
 */
extern HiloDocuments *hilo_documents_open(const char *identity,
										  bool or_named_like);

/* Fail as hilo.bind() would for this column. */
extern void hilo_documents_check_column(const char *identity,
										const HiloColumn *column);

/*
 * The documents in column attnum, which holds ids, of a table that is being
 * inserted into; for a partition, those of the whole table.  The user's
 * privilege to insert suffices.
 */
extern HiloDocuments *hilo_documents_open_own(const char *identity, Relation rel,
											  AttrNumber attnum);

/*
 * True if the documents may move the identity as far as necessary: hilo.bind()
 * said where they are, or their table belongs to a role that may seed the
 * identity, or to the owner of one that is bound to the name.
 */
extern bool hilo_documents_may_lead(const HiloDocuments *documents);

/*
 * True if a document with this number exists: one that is committed now, or was
 * made by this transaction, whatever the isolation level; row security does not
 * hide rows of a table from its owner.  A HiloTakenCallback.
 */
extern bool hilo_documents_have(int64 number, void *documents);

#endif							/* HILO_TAKEN_H */

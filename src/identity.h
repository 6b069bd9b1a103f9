/*-------------------------------------------------------------------------
 *
 * identity.h
 *	  Identities and server-side ids: numbers drawn one at a time, and shown
 *	  without or with a tag.
 *
 * Not cached.  A number is on disk when a function returns, unless
 * synchronous_commit = off.  To be called in a transaction that may write.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_IDENTITY_H
#define HILO_IDENTITY_H

#include "collection.h"
#include "documents.h"

typedef struct HiloIdentity
{
	HiloName	name;			/* without a bar */
	HiloCollection collection;	/* its name, with one, is in row_name */
	char		row_name[HILO_MAX_ROW_NAME_LEN];
} HiloIdentity;

/*
 * Start with the identity called name, with or without one '|' or separator at
 * its end.  Raises 22023 if the name is not valid.  The bytes must stay, and
 * so must *identity.
 */
extern void hilo_identity_init(HiloIdentity *identity, HiloName name);

/*
 * Draw the next number; raises 2200H at the end, and 55000 on a Citus worker
 * unless the identity is leased.
 */
extern int64 hilo_identity_next(HiloIdentity *identity);

/*
 * Draw the next number that no document has; *tries is how many were looked
 * up. Also raises the errors of documents.h.
 */
extern int64 hilo_identity_next_free(HiloIdentity *identity, int *tries);

/*
 * Draw the next number, and look it up; if a document has it, search for one
 * that none has, and draw that.  A document that was there before the number
 * was drawn does not have it.  With documents NULL, or if no other session
 * interferes, that is one look-up.
 */
extern int64 hilo_identity_next_beside(HiloIdentity *identity,
									   HiloDocuments *documents);

/* The id of an identity's number: name, separator, number.  Palloc'd. */
extern text *hilo_identity_id(const HiloIdentity *identity, int64 number);

/*
 * The next server-side id that starts with prefix, which ends in the
 * separator; raises 22023 if it does not.  Palloc'd.
 */
extern text *hilo_next_server_side_id(HiloName prefix);

#endif							/* HILO_IDENTITY_H */

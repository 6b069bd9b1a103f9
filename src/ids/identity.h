/*-------------------------------------------------------------------------
 *
 * identity.h
 *	  Identities and server-side ids: numbers drawn one at a time, without or with a
 *	  tag.
 *
 * Numbers are not cached.  When a function returns, its number is on disk unless
 * synchronous_commit = off.  The transaction must be one that may write.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_IDENTITY_H
#define HILO_IDENTITY_H

#include "session/session.h"
#include "tables/taken.h"

typedef struct HiloIdentity
{
	char		name[HILO_MAX_NAME_LEN + 1];	/* without a bar */
	HiloCollection collection;	/* its name, with a bar, is in row_name */
	char		row_name[HILO_MAX_ROW_NAME_LEN];
} HiloIdentity;

/*
 * Initialize for the identity called name, which may end in one '|' or
 * separator.  Raises 22023 if the name is not valid.  The bytes of the name,
 * and *identity, must stay where they are.
 */
extern void hilo_identity_init(HiloIdentity *identity, const char *name);

/*
 * Draw the next number; raises 2200H if none are left, and 55000 on a worker
 * unless another node counts.
 */
extern int64 hilo_identity_next(HiloIdentity *identity);

/*
 * Draw the next number that no document has; *tries is the number of lookups.
 * Also raises the errors of taken.h.
 */
extern int64 hilo_identity_next_free(HiloIdentity *identity, int *tries);

/*
 * Draw the next number, and look it up; if a document has it, search for a
 * number that no document has, and draw that.  No document that existed before
 * the number was drawn has it.  Adds the number of lookups to *tries.
 */
extern int64 hilo_identity_next_beside(HiloIdentity *identity,
									   HiloDocuments *documents, int *tries);

/* The id of an identity's number: name, separator, number.  Palloc'd. */
extern text *hilo_identity_id(const HiloIdentity *identity, int64 number);

/*
 * The next server-side id that starts with prefix, which ends in the
 * separator; raises 22023 if it does not.  Palloc'd.
 */
extern text *hilo_next_server_side_id(const char *prefix);

#endif							/* HILO_IDENTITY_H */

/*-------------------------------------------------------------------------
 *
 * identity.h
 *	  Identities and server-side ids: numbers drawn one at a time, without or with a
 *	  tag; and the kind of id that a document requests.
 *
 * No session holds a range of these: each number is a claim of its own.  When a function
 * returns, its number is on disk.  The transaction must be one that may write.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_IDENTITY_H
#define HILO_IDENTITY_H

#include "utils/relcache.h"

#include "session.h"

/* An identity, as its functions need it for the time of one call. */
typedef struct HiloIdentity
{
	char		name[HILO_MAX_NAME_LEN + 1];	/* without a bar */
	HiloRowRef	ref;			/* its name, with a bar, is in row_name */
	char		row_name[HILO_MAX_ROW_NAME_LEN];
	char		start[HILO_MAX_START_LEN];	/* what its ids begin with */
	int			start_len;
} HiloIdentity;

/*
 * Initialize for the identity called name, which may end in one '|' or
 * separator.  Raises 22023 if the name is not valid.  *identity must stay where it is.
 */
extern void hilo_identity_init(HiloIdentity *identity, const char *name);

/* Draw the next number; raises 2200H if none are left. */
extern int64 hilo_identity_next(HiloIdentity *identity);

/*
 * Draw the next number that no document has: in the columns bound to the identity, or else in
 * the primary key of the table of that name in the search_path.  *tries is the number of looks.
 * Raises 42P01 if there is no such table, 42501 without SELECT on it, and 55000 if there is no
 * index to look into.
 */
extern int64 hilo_identity_next_free(HiloIdentity *identity, int *tries);

/* The id of an identity's number: name, separator, number.  Palloc'd. */
extern text *hilo_identity_id(const HiloIdentity *identity, int64 number);

/*
 * The next server-side id that starts with prefix, which ends in the
 * separator; raises 22023 if it does not.  Palloc'd.
 */
extern text *hilo_next_server_side_id(const char *prefix);

/*
 * The id for a document of the collection: drawn, or the requested one itself.  An identity is
 * one that no row has in that column of rel, or, with rel NULL, in the columns that are bound
 * to it, if there are any.
 */
extern text *hilo_document_id_for(HiloEntry *entry, text *requested,
								  Relation rel, AttrNumber attnum);

#endif							/* HILO_IDENTITY_H */

/*-------------------------------------------------------------------------
 *
 * binding.h
 *	  Rows of hilo.binding: manual bindings of collections and identities, grants,
 *	  and triggers that were seen.
 *
 * A name here has no bar: a binding applies to both the collection and the
 * identity of that name.
 *
 * Bindings are transactional, like the rows of any table.  They are read as of
 * now, so that no isolation level hides one, and no serializable transaction
 * fails because of it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_BINDING_H
#define HILO_BINDING_H

#include "access/htup.h"
#include "access/tupdesc.h"

#include "counting/row.h"
#include "tables/column.h"

/* The columns of hilo.binding are those of CREATE TABLE in the install script. */
#define HILO_ANUM_BINDING_NAME		1

/* Either one of the first three is not NULL, or only the trigger. */
#define HILO_ANUM_BINDING_COLUMN	2	/* of type hilo_column */
#define HILO_ANUM_BINDING_FUNCTION	3
#define HILO_ANUM_BINDING_ROLE		4
#define HILO_ANUM_BINDING_TRIGGER	5
#define HILO_ANUM_BINDING_XID		6
#define HILO_BINDING_COLUMNS		6

/*
 * Their types; the OID of hilo_column is known only once the extension exists.
 */
#define HILO_BINDING_TYPES \
	TEXTOID, InvalidOid, TEXTOID, TEXTOID, OIDOID, XIDOID

/*
 * A binding of a name.  For an attached column, it does not say that the column
 * is attached, only that its owner had the right to attach it.
 */
typedef struct HiloBinding
{
	HiloColumn *column;			/* column with its ids; may no longer exist */
	bool		attached;		/* true: by hilo.attach(); false: by hand */
	char	   *taken;			/* function that tells which numbers are taken */
	char	   *role;			/* role that may draw and attach, or "public",
								 * which may draw */
	Oid			trigger;		/* trigger of an attached column that was
								 * seen; may no longer exist; InvalidOid: none */
	TransactionId trigger_xid;	/* the trigger's version: the transaction that
								 * last changed it */
	TransactionId xmin;			/* of the row that was read; invalid: frozen */
} HiloBinding;

/* What a row of hilo.binding says, palloc'd. */
extern HiloBinding *hilo_binding_read(HeapTuple tuple, TupleDesc desc);

/* All bindings of a name, as a list of HiloBinding *, palloc'd. */
extern List *hilo_bindings(const char *name);

/* True if the name is bound to a column or function by hand. */
extern bool hilo_is_bound(const char *name);

/* True if a rollback of this transaction would bind the name again. */
extern bool hilo_unbound_here(const char *name);

/* True if both are the same. */
extern bool hilo_binding_equals(const HiloBinding *a, const HiloBinding *b);

/* True if it is about a column that exists. */
extern bool hilo_binding_has_column(const HiloBinding *binding);

/*
 * Keep other sessions from changing the bindings of a name until the
 * transaction ends.  Call this before looking up what to change.
 */
extern void hilo_bindings_lock(const char *name);

/* Release that lock, if nothing was changed. */
extern void hilo_bindings_unlock(const char *name);

/*
 * Add a binding to a name.  The name's row notes, at once and for good, that
 * the name may be bound.
 */
extern void hilo_binding_add(const char *name, const HiloBinding *binding);

/*
 * Add a trigger to those that were seen.  Does not wait for other sessions that
 * do the same; the name's row stays as it is.
 */
extern void hilo_binding_note(const char *name, const HiloBinding *binding);

/*
 * Remove all rows for which test() returns true, and return their names, as a
 * list of char *. Does not wait for other sessions that do the same.
 */
extern List *hilo_bindings_remove_if(bool (*test) (const HiloBinding *binding,
												   void *arg), void *arg);

/* Remove one that hilo_bindings() has returned. */
extern void hilo_binding_remove(const char *name, const HiloBinding *binding);

#endif							/* HILO_BINDING_H */

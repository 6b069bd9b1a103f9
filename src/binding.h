/*-------------------------------------------------------------------------
 *
 * binding.h
 *	  Manual bindings of collections and identities, grants, and the triggers
 *	  that were seen: rows of hilo.binding.
 *
 * A name here has no bar: a binding is for the collection and the identity of
 * that name alike.
 *
 * Transactional, like the rows of any table.  They are read as they are at
 * present, so that no isolation level hides one, and no serializable
 * transaction fails because of it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_BINDING_H
#define HILO_BINDING_H

#include "access/htup.h"
#include "access/tupdesc.h"

#include "column.h"
#include "row.h"

/* The columns of hilo.binding are those of CREATE TABLE in the install script. */
#define HILO_ANUM_BINDING_NAME		1

/* One of the first three is not NULL, or the trigger alone. */
#define HILO_ANUM_BINDING_COLUMN	2	/* of type hilo_column */
#define HILO_ANUM_BINDING_FUNCTION	3
#define HILO_ANUM_BINDING_ROLE		4
#define HILO_ANUM_BINDING_TRIGGER	5
#define HILO_ANUM_BINDING_XID		6
#define HILO_BINDING_COLUMNS		6

/* Their types; that of hilo_column is not known before the extension is. */
#define HILO_BINDING_TYPES \
	TEXTOID, InvalidOid, TEXTOID, TEXTOID, OIDOID, XIDOID

/*
 * What is known of a name.  This row does not say that a column is attached,
 * only that its owner had the right to attach it.
 */
typedef struct HiloBinding
{
	HiloColumn *column;			/* column with its ids; may be gone */
	bool		attached;		/* by hilo_attach(), not bound by hand? */
	char	   *taken;			/* function that knows which are taken */
	char	   *role;			/* role that may draw and attach, or "public",
								 * which may draw */
	Oid			trigger;		/* trigger of an attached column that was
								 * seen; may be gone; InvalidOid: none */
	TransactionId trigger_xid;	/* as this transaction had left it */
	TransactionId xmin;			/* of the row read; invalid: long ago */
} HiloBinding;

/* What a row of hilo.binding says, palloc'd. */
extern HiloBinding *hilo_binding_read(HeapTuple tuple, TupleDesc desc);

/* All bindings of a name, as a list of HiloBinding *, palloc'd. */
extern List *hilo_bindings(HiloName name);

/* Is the name bound to a column or function by hand? */
extern bool hilo_is_bound(HiloName name);

/* Would a rollback of this transaction bind it again? */
extern bool hilo_unbound_here(HiloName name);

/* Do both say the same? */
extern bool hilo_binding_equals(const HiloBinding *a, const HiloBinding *b);

/* Is it a column that is there? */
extern bool hilo_binding_has_column(const HiloBinding *binding);

/*
 * Keep other sessions from changing what a name is bound to until the
 * transaction ends; call it before looking up what to change.
 */
extern void hilo_bindings_lock(HiloName name);

/* Undo that, having changed nothing. */
extern void hilo_bindings_unlock(HiloName name);

/*
 * Add a binding to those of a name.  That the name may be bound is noted in its
 * row, at once and for good.
 */
extern void hilo_binding_add(HiloName name, const HiloBinding *binding);

/*
 * Add a trigger to those that were seen.  Does not wait for other sessions
 * that do so; the row of the name stays as it is.
 */
extern void hilo_binding_note(HiloName name, const HiloBinding *binding);

/*
 * Remove all rows for which test() returns true, and return their names, as a
 * list of char *.  Does not wait for other sessions that do so.
 */
extern List *hilo_bindings_remove_if(bool (*test) (const HiloBinding *binding,
												   void *arg), void *arg);

/* Remove one that hilo_bindings() has returned. */
extern void hilo_binding_remove(HiloName name, const HiloBinding *binding);

#endif							/* HILO_BINDING_H */

/*-------------------------------------------------------------------------
 *
 * binding.h
 *	  What collections and identities are bound to: rows of hilo.binding.
 *
 * A name here has no bar: what it is bound to is the place of the ids of the
 * collection and of the identity of that name alike.
 *
 * Transactional, like the rows of any table.  Read as they are at present, so
 * that no isolation level hides one, and no serializable transaction fails by
 * it.
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

/* One of these three is not NULL. */
#define HILO_ANUM_BINDING_COLUMN	2	/* of type hilo_column */
#define HILO_ANUM_BINDING_FUNCTION	3
#define HILO_ANUM_BINDING_ROLE		4

#define HILO_ANUM_BINDING_ATTACHED	5	/* never NULL */
#define HILO_ANUM_BINDING_REPLACED	6
#define HILO_BINDING_COLUMNS		6

/* Their types; that of hilo_column is not known before the extension is. */
#define HILO_BINDING_TYPES \
	TEXTOID, InvalidOid, TEXTOID, TEXTOID, BOOLOID, TEXTOID

/* What a name is bound to: one of the first three, the others are NULL. */
typedef struct HiloBinding
{
	HiloColumn *column;			/* column with its ids; may be gone */
	char	   *taken;			/* function that knows which are taken */
	char	   *role;			/* role that may draw, or "public" */

	bool		attached;		/* by hilo_attach(): ids are drawn for it */
	char	   *replaced;		/* if so: what drew them before; NULL: not
								 * known */
} HiloBinding;

/* What a row of hilo.binding says, palloc'd. */
extern HiloBinding *hilo_binding_read(HeapTuple tuple, TupleDesc desc);

/* All bindings of a name, as a list of HiloBinding *, palloc'd. */
extern List *hilo_bindings(HiloName name);

/* Is the name bound to a column or function, and if so, attached? */
extern bool hilo_is_bound(HiloName name, bool *attached);

/* Would a rollback of this transaction bind it again? */
extern bool hilo_unbound_here(HiloName name);

/* Do both say the same, but for what was replaced? */
extern bool hilo_binding_equals(const HiloBinding *a, const HiloBinding *b);

/* Is it a column that is there? */
extern bool hilo_binding_has_column(const HiloBinding *binding);

/*
 * Keep others from changing bindings until the transaction ends; to be called
 * before it is looked up what there is to change.
 */
extern void hilo_bindings_lock(void);

/* Undo that, having changed nothing. */
extern void hilo_bindings_unlock(void);

/*
 * Add a binding to those of a name.  That the name may be bound is noted in its
 * row, at once and for good.
 */
extern void hilo_binding_add(HiloName name, const HiloBinding *binding);

/* Remove one that hilo_bindings() has returned. */
extern void hilo_binding_remove(HiloName name, const HiloBinding *binding);

#endif							/* HILO_BINDING_H */

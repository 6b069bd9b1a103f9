/*-------------------------------------------------------------------------
 *
 * binding.h
 *	  Rows of hilo.binding: which columns are attached to collections, where the
 *	  documents of identities are, and which roles may draw.
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
#define HILO_ANUM_BINDING_COLLECTION	1
#define HILO_ANUM_BINDING_KIND			2
#define HILO_ANUM_BINDING_OBJECT		3
#define HILO_ANUM_BINDING_NAME			4
#define HILO_ANUM_BINDING_COLUMN		5
#define HILO_ANUM_BINDING_NUMBER		6
#define HILO_ANUM_BINDING_OWNER			7
#define HILO_ANUM_BINDING_WAS			8
#define HILO_ANUM_BINDING_SEQUENCE		9
#define HILO_ANUM_BINDING_SEQUENCE_OID	10
#define HILO_BINDING_COLUMNS			10

typedef enum HiloBindingKind
{
	HILO_ATTACHED,				/* a relation's column, by hilo.attach() */
	HILO_BOUND,					/* a relation's column, by hilo.bind() */
	HILO_ALLOWED,				/* a role, by hilo.allow() */
	HILO_UNKNOWN				/* not a row of ours; ignored */
} HiloBindingKind;

typedef struct HiloBinding
{
	HiloBindingKind kind;
	ItemPointerData tid;		/* of its row, when it was read, */
	char	   *collection;		/* and the name there */
	Oid			object;			/* relation or role; InvalidOid: not found */
	char	   *name;			/* of the relation, qualified and quoted */
	char	   *column;			/* name of the relation's column, */
	AttrNumber	attnum;			/* and its number there */
	char	   *owner;			/* of the relation; HILO_ALLOWED: the role, or
								 * "public" */
	char	   *was;			/* HILO_ATTACHED: what drew before, */
	char	   *sequence;		/* and from which sequence; "": none */
	Oid			sequence_oid;	/* while it exists */

	/*
	 * The column that it stands for, if it is living, else with relation
	 * InvalidOid.  One made by attach is living if its column, in the
	 * relation found by OID, else by name and owner, draws from the
	 * collection; one made by bind if it exists.  Temporary tables never
	 * count.
	 */
	HiloColumn	living;
	int64		limit;			/* highest number that all of the relation's
								 * columns that draw can hold */
	bool		is_old;			/* the stored names are out of date */
} HiloBinding;

/* The bindings of a name. */
typedef struct HiloBindings
{
	List	   *all;			/* of HiloBinding *, palloc'd */
	Oid			table;			/* the first that is living; InvalidOid: none */
	int64		limit;			/* highest number that the columns of the
								 * living ones can hold */
	bool		changing;		/* this transaction may have changed or
								 * dropped one of their relations */
} HiloBindings;

/* What a row of hilo.binding says, palloc'd; nothing is living. */
extern HiloBinding *hilo_binding_read(HeapTuple tuple, TupleDesc desc);

/* All bindings of a name.  What is living is found in the catalogs. */
extern HiloBindings hilo_bindings(const char *name);

/*
 * Let the limit of a collection follow the types of the columns that it is bound to,
 * which may have changed; but one that was set by hand is only lowered.  A change that
 * this transaction makes, and that may be rolled back, does not count: then false.
 */
extern bool hilo_bindings_set_limit(const HiloBindings *bindings, HiloCollection *collection);

/* Look up the bindings, if there may be any, and do that, before the limit counts. */
extern HILO_EXPORT bool hilo_collection_set_limit(HiloCollection *collection);

/*
 * The columns that a collection is bound to, and those whose defaults draw from it in
 * tables of the same owners; if it is bound to none, *by_default is true, and it is all
 * columns whose defaults draw from it.  As a list of HiloColumn *, palloc'd.  *limit is
 * the highest number that the bound columns can hold, or, if there are none, all of these.
 */
extern List *hilo_columns_of_collection(HiloCollection *collection, bool *by_default,
										int64 *limit);

/* True if the name was bound by hilo.bind() before this command. */
extern bool hilo_is_bound(const char *name, CommandId command);

/*
 * Let the binding record the relation and its column, under their present names.
 * False, without a change: it does not exist any more.
 */
extern bool hilo_binding_set_relation(HiloBinding *binding, Oid relation,
									  AttrNumber attnum);

/* Set sequence_oid to the sequence, found by its name if need be; InvalidOid: it is gone. */
extern void hilo_binding_find_sequence(HiloBinding *binding);

/*
 * Make a binding that came from elsewhere stand for the relation of its name here, if
 * that belongs to the recorded owner, or to the current user; or for the role of its
 * name.
 */
extern void hilo_binding_settle(const char *name, HiloBinding *binding);

/*
 * True if both stand for the same.  Roles are the same if their present names are, or
 * the recorded ones of those that do not exist.
 */
extern bool hilo_binding_equals(const HiloBinding *a, const HiloBinding *b);

/*
 * A table with a column that drew from the collection before a command of this
 * transaction, or, with InvalidCommandId, that does so now.  InvalidOid: none.
 * Tables of roles whose privileges the current user does not have count only if
 * they are attached: the user could not change their defaults.
 */
extern Oid	hilo_drawing_table(const char *name, CommandId command);

/*
 * Keep other sessions from changing the bindings of a name until the
 * transaction ends.  Call this before looking up what to change.  Without wait, returns
 * false if another session has the lock.
 */
extern bool hilo_bindings_lock(const char *name, bool wait);

/* Release that lock, if nothing was changed. */
extern void hilo_bindings_unlock(const char *name);

/*
 * Add a binding to a name.  The name's row records, at once and for good, that the
 * name may be bound.
 */
extern void hilo_binding_add(const char *name, const HiloBinding *binding);

/*
 * Remove one that was read.  False: another transaction is removing it, or has
 * done so.
 */
extern bool hilo_binding_remove(const char *name, const HiloBinding *binding);

/*
 * Record the present names of what the living bindings of a name stand for, so
 * that a dump has them; but not while another session changes its bindings, nor in
 * a serializable transaction.
 */
extern void hilo_bindings_refresh(const char *name,
								  const HiloBindings *bindings);

#endif							/* HILO_BINDING_H */

/*-------------------------------------------------------------------------
 *
 * drawing.h
 *	  Which columns draw from a counter, as their defaults say.
 *
 * A default draws if it is a call with a constant sequence or collection, with
 * nothing around it but casts.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_DRAWING_H
#define HILO_DRAWING_H

#include "tables/column.h"

/* What an expression draws from. */
typedef struct HiloDraws
{
	Oid			sequence;		/* of nextval() or hilo.nextval(); InvalidOid:
								 * a collection */
	const char *collection;		/* palloc'd; NULL: a sequence */
	HiloDrawn	drawn;
	bool		by_hilo;		/* not by the server's own nextval() */
} HiloDraws;

/*
 * The name of the C function of one of our functions, which only superusers can
 * create, palloc'd; "" for other functions.
 */
extern char *hilo_c_function(Oid function);

/* The expression that a catalog has stored; NULL: it is too large. */
extern Node *hilo_stored_expression(Datum stored);

/*
 * Find out what an expression, as it is stored, draws from.  False: it does not, or from
 * what cannot be the name of a collection.
 */
extern bool hilo_expression_draws(Node *expression, HiloDraws *draws);

/*
 * Add a copy of a column to a list, palloc'd, unless it is there: what is known of it there
 * may lack what it draws.
 */
extern List *hilo_add_column(List *columns, const HiloColumn *column);

/*
 * The columns of a relation that draw from the collection, by their defaults or
 * those of their domains, as a list of HiloColumn *, palloc'd.  Reads the
 * catalogs only, and does not lock the relation, which need not exist.
 */
extern List *hilo_drawing_columns(Oid relation, const char *collection);

/*
 * A table of the collection's name, in any schema, with a column that draws from a sequence
 * by hilo.nextval(), or InvalidOid; and that sequence.
 */
extern Oid	hilo_table_on_sequence(const char *collection, Oid *sequence);

/*
 * The columns with whose ids numbers of a sequence must not collide, as a list of
 * HiloColumn *, palloc'd: the one that owns it, and those whose defaults draw from
 * it, if the owner of their table may set the sequence.  Any role can write a
 * default that names another role's sequence.
 */
extern List *hilo_columns_of_sequence(Oid sequence);

/*
 * The columns, except of temporary tables, whose defaults draw from the collection, if
 * the table's owner is one of the owners, and may execute the function that draws.  With
 * NIL, any one owner will do; if the tables have several, the result is NIL.
 */
extern List *hilo_columns_of_default(const char *collection, List *owners);

#endif							/* HILO_DRAWING_H */

/*-------------------------------------------------------------------------
 *
 * attach.h
 *	  What attaching a column does beyond the DDL: it records that, moves the
 *	  counter, and switches identity columns.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_ATTACH_H
#define HILO_ATTACH_H

#include "session/collection.h"
#include "tables/column.h"

/*
 * Arguments of the trigger hilo.advance: the collection; "was " and what drew
 * before; behind "was default", that default; then perhaps "assign", and while
 * hilo.attach_online() is under way, HILO_ATTACHING and the column.
 */
#define HILO_ATTACHING	"attaching"

/*
 * Record that the column is attached, note its triggers, and move the counter to
 * at least the given number, and, with read, the highest number in the column.
 * Returns the max.
 */
extern int64 hilo_attach_column(const HiloColumn *column,
								const char *collection, int64 at_least,
								bool read);

/*
 * Make an identity column, ATTRIBUTE_IDENTITY_..., an ordinary column that owns
 * its sequence, or with identity '\0', the other way round: no command does
 * either and leaves the sequence as it is.
 */
extern void hilo_switch_identity(const HiloColumn *column, char identity);

/* True if the string is a single expression. */
extern bool hilo_is_expression(const char *string);

#endif							/* HILO_ATTACH_H */

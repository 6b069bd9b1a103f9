/*-------------------------------------------------------------------------
 *
 * id_reader.h
 *	  Reads the number of an id in a column, of whatever type that is.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_ID_READER_H
#define HILO_ID_READER_H

#include "document_id.h"

typedef struct HiloIdReader
{
	Oid			type;			/* of the column: a base type */
	char		start[HILO_MAX_START_LEN];	/* of its ids */
	int			start_len;
} HiloIdReader;

/*
 * Get ready for the ids of a collection, or an identity, in a column.  Of text
 * only those count that start with its name; where case does not matter, all.
 */
extern void hilo_id_reader_init(HiloIdReader *reader, Oid type,
								const char *name, int len);

/* The number in a value; 0 if it has none. */
extern int64 hilo_id_reader_number(const HiloIdReader *reader, Datum value);

#endif							/* HILO_ID_READER_H */

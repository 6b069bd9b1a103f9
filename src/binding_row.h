/*-------------------------------------------------------------------------
 *
 * binding_row.h
 *	  The columns of the table hilo_binding, as the install script has them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_BINDING_ROW_H
#define HILO_BINDING_ROW_H

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

#endif							/* HILO_BINDING_ROW_H */

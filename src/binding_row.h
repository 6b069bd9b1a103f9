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
#define HILO_ANUM_BINDING_COLUMN	2	/* of type hilo_column */
#define HILO_ANUM_BINDING_FUNCTION	3
#define HILO_BINDING_COLUMNS		3

#endif							/* HILO_BINDING_ROW_H */

/*-------------------------------------------------------------------------
 *
 * planner.h
 *	  The setting hilo.sequences: nextval in queries, and identity columns, draw as
 *	  hilo.nextval does.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_PLANNER_H
#define HILO_PLANNER_H

#include "nodes/primnodes.h"

/*
 * The form of the calls that the setting puts into queries: no statement can give it to a
 * call of a function of ours, and it does not change how the server runs or prints one.
 */
#define HILO_CALL_BY_SETTING	COERCE_SQL_SYNTAX

/* Must be called once, when the library is loaded. */
extern void hilo_planner_init(void);

#endif							/* HILO_PLANNER_H */

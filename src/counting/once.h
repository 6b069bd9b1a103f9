/*-------------------------------------------------------------------------
 *
 * once.h
 *	  Messages that are sent once per session.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_ONCE_H
#define HILO_ONCE_H

#include "counting/row.h"

/*
 * True at this session's first call with that message, any text that stands for
 * one, about that name.
 */
extern bool hilo_once(const char *message, const char *name);

#endif							/* HILO_ONCE_H */

/*-------------------------------------------------------------------------
 *
 * once.h
 *	  Messages that are sent once per session.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_ONCE_H
#define HILO_ONCE_H

#include "row.h"

/*
 * Is this the first call of this session with that message, which may be any
 * text that stands for it, about that name?
 */
extern bool hilo_once(const char *message, HiloName name);

#endif							/* HILO_ONCE_H */

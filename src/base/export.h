/*-------------------------------------------------------------------------
 *
 * export.h
 *	  The mark of what other libraries of this extension use of the core.
 *
 * All else is hidden.  What is marked is looked up by name when such a library is loaded, so
 * it must be loaded after the core.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_EXPORT_H
#define HILO_EXPORT_H

#if defined(__GNUC__) && !defined(WIN32)
#define HILO_EXPORT		__attribute__((visibility("default")))
#else
#define HILO_EXPORT		PGDLLEXPORT
#endif

#endif							/* HILO_EXPORT_H */

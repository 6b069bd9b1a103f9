/*-------------------------------------------------------------------------
 *
 * setting.h
 *	  The setting hilo.sequences: nextval in queries, and identity columns, draw the
 *	  HiLo way.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_SETTING_H
#define HILO_SETTING_H

/* Must be called once, when the library is loaded. */
extern void hilo_sequences_setting_init(void);

#endif							/* HILO_SETTING_H */

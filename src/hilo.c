/*-------------------------------------------------------------------------
 *
 * hilo.c
 *	  Entry point of the library.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "cache.h"
#include "parking.h"
#include "settings.h"
#include "worker_guard.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	hilo_settings_init();
	hilo_cache_init();
	hilo_worker_guard_init();
	hilo_parking_init();
}

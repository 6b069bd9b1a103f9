/*-------------------------------------------------------------------------
 *
 * hilo.c
 *	  Entry point of the library.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "catalog.h"
#include "citus.h"
#include "compat.h"
#include "ordered.h"
#include "pool.h"
#include "settings.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	hilo_settings_init();
	hilo_catalog_init();
	hilo_citus_init();
	hilo_pool_init();
	hilo_ordered_init();
}

/*-------------------------------------------------------------------------
 *
 * hilo.c
 *	  Entry point of the library.
 *
 * The library is loaded by the first call of one of its functions, or by a preload setting.  In
 * the first case a transaction is under way; in the second there may be no database yet.  So
 * loading only defines settings and registers callbacks; whatever needs a catalog is looked up
 * at first use.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "guc.h"
#include "catalog.h"
#include "node.h"
#include "planner.h"

HILO_MODULE_MAGIC("hilo");

extern PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	hilo_settings_init();
	hilo_planner_init();
	hilo_catalog_init();
	hilo_node_init();
}

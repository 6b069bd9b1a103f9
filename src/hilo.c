/*-------------------------------------------------------------------------
 *
 * hilo.c
 *	  Entry point of the library.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "guc.h"
#include "catalog.h"
#include "node.h"
#include "setting.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	hilo_settings_init();
	hilo_setting_init();
	hilo_catalog_init();
	hilo_node_init();
}

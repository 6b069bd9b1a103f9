/*-------------------------------------------------------------------------
 *
 * hilo.c
 *	  Entry point of the library.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/settings.h"
#include "counting/catalog.h"
#include "counting/node.h"
#include "sequences/setting.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	hilo_settings_init();
	hilo_sequences_setting_init();
	hilo_catalog_init();
	hilo_node_init();
}

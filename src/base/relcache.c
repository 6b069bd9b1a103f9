/*-------------------------------------------------------------------------
 *
 * relcache.c
 *	  Tells modules that a relation has changed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/inval.h"

#include "base/relcache.h"

/* How many modules there may be. */
#define MAX_LISTENERS	4

static HiloRelationChanged listeners[MAX_LISTENERS];
static int	listener_count = 0;

static void
relation_changed(Datum arg, Oid relid)
{
	for (int i = 0; i < listener_count; i++)
		listeners[i] (relid);
}

void
hilo_on_relation_change(HiloRelationChanged changed)
{
	if (listener_count == 0)
		CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
	if (listener_count == MAX_LISTENERS)
		elog(ERROR, "too many modules listen to changes of relations");
	listeners[listener_count++] = changed;
}

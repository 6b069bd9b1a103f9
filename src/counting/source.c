/*-------------------------------------------------------------------------
 *
 * source.c
 *	  The door to the library hilo_hub: numbers that come from other servers, or go
 *	  to them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/elog.h"

#include "base/compat.h"
#include "counting/source.h"

const HiloSource *hilo_loaded_source = NULL;
uint64		hilo_alone_generation = 0;

/* Raise 55000 because there is no library that can be used. */
static void
fail(const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("cannot use the library \"%s\", which leases numbers from other servers and gives leases",
					HILO_SOURCE_LIBRARY),
			 errdetail("%s", detail),
			 errhint("%s", hint)));
}

/*
 * Whatever the server says about the library, nothing is held when it does, so the error
 * can be caught without a subtransaction.
 */
void *
hilo_source_symbol(const char *name)
{
	MemoryContext context = CurrentMemoryContext;
	void	   *volatile symbol = NULL;

	PG_TRY();
	{
		symbol = load_external_function(HILO_SOURCE_LIBRARY, name, true, NULL);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		fail(error->message,
			 "Install all libraries of the extension, where dynamic_library_path finds them.");
	}
	PG_END_TRY();
	return symbol;
}

const HiloSource *
hilo_source_load(void)
{
	HiloSourceFunction function = (HiloSourceFunction) hilo_source_symbol(HILO_SOURCE_FUNCTION);
	const HiloSource *source = function();

	if (source->layout != HILO_SOURCE_LAYOUT)
		fail("It is of another version than the one that this session uses.",
			 "Connect again; if the libraries are preloaded, restart the server.");
	hilo_loaded_source = source;
	return source;
}

/*
 * The first lease that this server gives, and a resume, put a row of this name into
 * hilo.hub.
 */
bool
hilo_source_find_alone(void)
{
	static uint64 not_alone_generation = 0;
	uint64		generation = hilo_rights_generation;

	if (not_alone_generation == generation)
		return false;
	if (hilo_catalog_find(HILO_TABLE_HUBS, HILO_OWN_NAME) == NULL)
		hilo_alone_generation = generation;
	else
		not_alone_generation = generation;
	return not_alone_generation != generation;
}

/*-------------------------------------------------------------------------
 *
 * arguments.h
 *	  What the SQL-callable functions share: arguments, call sites and results.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_ARGUMENTS_H
#define HILO_ARGUMENTS_H

#include "access/tupdesc.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "utils/builtins.h"

#include "compat.h"
#include "guc.h"
#include "session.h"

/* What a call site in a query keeps in fn_extra between calls. */
typedef struct HiloCallSite
{
	bool		constant;		/* true: all calls have the same collection */
	HiloEntry  *entry;			/* its entry, */
	uint32		generation;		/* and the generation of the settings when it
								 * was found; 0: not found yet */
} HiloCallSite;

/* Make the site of a call, at the first call. */
extern HiloCallSite *hilo_api_call_site(FmgrInfo *flinfo);

/*
 * The trigger's data.  Raises 39P01 unless the function was called as a trigger
 * before insert for each row.
 */
extern TriggerData *hilo_api_trigger(FunctionCallInfo fcinfo,
									 const char *function);

/* Raise 22004 if argument number arg, called name, is NULL. */
extern void hilo_api_reject_null(FunctionCallInfo fcinfo, int arg,
								 const char *name);

/* Argument number arg, which must not be NULL or negative. */
extern int64 hilo_api_number(FunctionCallInfo fcinfo, int arg,
							 const char *name);

/* Argument number arg, which must be between 1 and max; hint may be NULL. */
extern int64 hilo_api_count(FunctionCallInfo fcinfo, int arg, const char *name,
							int64 max, const char *hint);

/* Argument number arg, which must not be NULL. */
extern bool hilo_api_bool(FunctionCallInfo fcinfo, int arg, const char *name);

/* Text argument number arg, called what; must not be NULL.  Palloc'd. */
static inline const char *
hilo_api_name(FunctionCallInfo fcinfo, int arg, const char *what)
{
	if (unlikely(PG_ARGISNULL(arg)))
		hilo_api_reject_null(fcinfo, arg, what);
	return text_to_cstring(PG_GETARG_TEXT_PP(arg));
}

/*
 * The first argument, checked to be a collection's name.  This function and the
 * next are for callers that need no entry, so that names from which this
 * session draws nothing are not kept.
 */
extern const char *hilo_api_collection(FunctionCallInfo fcinfo);

/*
 * The first argument of a function that administers, checked to be the name of a
 * collection or, with a bar at its end, of an identity.  Returns whether it is an
 * identity.
 */
extern bool hilo_api_administered(FunctionCallInfo fcinfo, HiloRowRef *ref);

/*
 * Seed with arguments 1 and 2, value and force.  Sends a notice if the counter
 * does not move.  Returns the max now stored.
 */
extern int64 hilo_api_seed(FunctionCallInfo fcinfo, HiloRowRef *ref);

/* Say that a counter did not exist before: its name may be a mistake. */
extern void hilo_api_notice_created(const char *name);

/* The entry of the first argument, by a lookup. */
extern HiloEntry *hilo_api_find_entry(FunctionCallInfo fcinfo);

/*
 * Row type of a function with several OUT arguments.  Call this before anything
 * is claimed: it may fail if the function is dropped in the meantime.
 */
extern TupleDesc hilo_api_result_desc(FunctionCallInfo fcinfo);

/* A row of that type with these values, none of which is NULL. */
extern Datum hilo_api_result(TupleDesc desc, Datum *values);

/* Refuse what sequences refuse. */
static inline void
hilo_api_require_write(const char *function)
{
	if (unlikely(XactReadOnly))
		PreventCommandIfReadOnly(function);
	if (unlikely(IsInParallelMode()))
		PreventCommandIfParallelMode(function);
}

/* The entry of the collection named by the first argument. */
static inline HiloEntry *
hilo_api_entry(FunctionCallInfo fcinfo)
{
	HiloCallSite *site;

	if (unlikely(fcinfo->flinfo == NULL))
		return hilo_api_find_entry(fcinfo);

	site = fcinfo->flinfo->fn_extra;
	if (unlikely(site == NULL))
		site = hilo_api_call_site(fcinfo->flinfo);
	if (unlikely(!site->constant))
		return hilo_api_find_entry(fcinfo);
	if (unlikely(site->generation != hilo_settings_generation))
	{
		site->entry = hilo_api_find_entry(fcinfo);
		site->generation = hilo_settings_generation;
	}
	return site->entry;
}

#endif							/* HILO_ARGUMENTS_H */

/*-------------------------------------------------------------------------
 *
 * call.h
 *	  What the SQL-callable functions share: arguments, call sites and results.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_CALL_H
#define HILO_CALL_H

#include "access/tupdesc.h"
#include "access/xact.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "base/compat.h"
#include "base/document_id.h"
#include "base/settings.h"
#include "session/session.h"
#include "tables/rights.h"

/* What a call site in a query keeps in fn_extra between calls. */
typedef struct HiloCallSite
{
	bool		constant;		/* true: all calls have the same collection */
	HiloEntry  *entry;			/* its cache entry, */
	uint32		generation;		/* and the generation of the settings when it
								 * was found; 0: not found yet */
	uint64		command;		/* hilo_command(), if a stored default makes
								 * the calls; else 0 */
	TupleDesc	result_desc;	/* NULL: not looked up yet */
} HiloCallSite;

/* Identifies the command that this session runs now; not 0. */
extern uint64 hilo_command(void);

/* The site of a call, created at the first call. */
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
 * next are for callers that need no cache entry, so that names from which this
 * session draws nothing are not kept.
 */
extern const char *hilo_api_collection(FunctionCallInfo fcinfo);

/*
 * The same for functions that administer: the name of a collection, or, with a
 * bar at its end, of an identity.  Returns whether it is an identity.
 */
extern bool hilo_api_administered(FunctionCallInfo fcinfo,
								  HiloCollection *collection);

/* Raise 0A000 for an identity. */
extern void hilo_api_check_orderable(bool is_identity);

/*
 * Seed with arguments 1 and 2, value and force.  Sends a notice if that
 * advances nothing.  Returns the max now stored.
 */
extern int64 hilo_api_seed(FunctionCallInfo fcinfo, HiloCollection *collection);

/*
 * Drop the collection, with argument 1 as force.  Returns true, or false with a
 * notice if it does not exist.
 */
extern bool hilo_api_drop(FunctionCallInfo fcinfo, HiloCollection *collection);

/* Forget the range of a collection that this session holds, if any. */
extern void hilo_api_forget_range(const char *collection);

/* The cache entry of the first argument, by a lookup. */
extern HiloEntry *hilo_api_find_entry(FunctionCallInfo fcinfo);

/*
 * Row type of a function with several OUT arguments.  Call this before anything
 * is claimed: it may fail if the function is dropped in the meantime.
 */
extern TupleDesc hilo_api_result_desc(FunctionCallInfo fcinfo);

/* Refuse what sequences refuse. */
static inline void
hilo_api_prevent_unless_may_write(const char *function)
{
	if (unlikely(XactReadOnly))
		PreventCommandIfReadOnly(function);
	if (unlikely(IsInParallelMode()))
		PreventCommandIfParallelMode(function);
}

/* The cache entry of the collection named by the first argument. */
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
	site->entry->unseen = site->command;
	return site->entry;
}

/* The same, after checking that the current user may draw from it. */
static inline HiloEntry *
hilo_api_entry_to_draw(FunctionCallInfo fcinfo, HiloDrawn drawn)
{
	HiloEntry  *entry = hilo_api_entry(fcinfo);

	hilo_draw_right_check(entry, drawn);
	return entry;
}

/* The same, if the next number of this session's range is to be drawn. */
static inline HiloEntry *
hilo_api_entry_to_take(FunctionCallInfo fcinfo, HiloDrawn drawn)
{
	HiloEntry  *entry = hilo_api_entry(fcinfo);

	if (unlikely(entry->right.generation != hilo_rights_generation))
		hilo_cache_prepare(entry);
	hilo_draw_right_check(entry, drawn);
	return entry;
}

/*
 * Draw a number for an id.  Do this first: the range brings what is known about
 * the collection, including the node tag.
 */
static inline int64
hilo_api_next_number_for_id(HiloEntry *entry)
{
	int64		number = hilo_cache_take(entry);

	if (unlikely(entry->text.generation != hilo_settings_generation ||
				 entry->text.row_generation != entry->collection.generation))
		hilo_cache_make_text(entry);
	return number;
}

/* Draw an id. */
static inline text *
hilo_api_next_id(HiloEntry *entry)
{
	int64		number = hilo_api_next_number_for_id(entry);

	return hilo_id_form_make(&entry->text.own, number);
}

/* The same with the node tag that was given last. */
static inline text *
hilo_api_next_id_given(HiloEntry *entry)
{
	int64		number = hilo_api_next_number_for_id(entry);

	return hilo_id_form_make(&entry->text.given, number);
}

#endif							/* HILO_CALL_H */

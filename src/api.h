/*-------------------------------------------------------------------------
 *
 * api.h
 *	  What the SQL-callable functions share: arguments, call sites, results.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_API_H
#define HILO_API_H

#include "access/tupdesc.h"
#include "access/xact.h"
#include "fmgr.h"
#include "miscadmin.h"

#include "cache.h"
#include "compat.h"
#include "document_id.h"
#include "draw_right.h"
#include "settings.h"

/*
 * What a place in a query remembers between calls, in fn_extra.
 */
typedef struct HiloCallSite
{
	bool		constant;		/* will all calls have the same collection? */
	HiloCacheEntry *entry;		/* if so: its cache entry, */
	uint32		generation;		/* and that of the settings under which it was
								 * found; 0: not yet */
	TupleDesc	result_desc;	/* NULL: not asked for yet */
} HiloCallSite;

/* The site of a call, made at the first one. */
extern HiloCallSite *hilo_api_call_site(FmgrInfo *flinfo);

/* Raise 39P01 unless this is a trigger before insert, for each row. */
extern void hilo_api_check_insert_trigger(FunctionCallInfo fcinfo,
										  const char *function);

/* Raise 22004 if argument number arg, called name, is NULL. */
extern void hilo_api_reject_null(FunctionCallInfo fcinfo, int arg,
								 const char *name);

/* Argument number arg, which must be there and not negative. */
extern int64 hilo_api_number(FunctionCallInfo fcinfo, int arg,
							 const char *name);

/* The bytes of text argument number arg, called what, which must be there. */
extern HiloName hilo_api_name(FunctionCallInfo fcinfo, int arg,
							  const char *what);

/* The first argument, checked to be a collection's name. */
extern HiloName hilo_api_collection(FunctionCallInfo fcinfo);

/* The cache entry for it, the slow way. */
extern HiloCacheEntry *hilo_api_find_entry(FunctionCallInfo fcinfo);

/*
 * Row type of a function with several OUT arguments.  To be asked for before
 * anything is claimed: it may fail if the function is dropped meanwhile.
 */
extern TupleDesc hilo_api_result_desc(FunctionCallInfo fcinfo);

/* What sequences refuse is refused here, too. */
static inline void
hilo_api_prevent_unless_may_write(const char *function)
{
	if (unlikely(XactReadOnly))
		PreventCommandIfReadOnly(function);
	PreventCommandIfParallelMode(function);
}

/* The cache entry of the collection named by the first argument. */
static inline HiloCacheEntry *
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

/* The same, if the current user may draw from it. */
static inline HiloCacheEntry *
hilo_api_entry_to_draw(FunctionCallInfo fcinfo, HiloDrawn drawn)
{
	HiloCacheEntry *entry = hilo_api_entry(fcinfo);

	hilo_draw_right_check(entry, drawn);
	return entry;
}

/*
 * Draw an id.  The number first: what is known of the collection, the node tag
 * among it, comes with the range.
 */
static inline text *
hilo_api_next_id(HiloCacheEntry *entry)
{
	int64		number = hilo_cache_take(entry);

	if (unlikely(entry->id_text_generation != hilo_settings_generation))
		hilo_cache_make_id_text(entry);
	return hilo_build_id(entry->id_start, entry->id_start_len, number,
						 entry->id_suffix, entry->id_suffix_len);
}

/* The same with another node tag: suffix is a hyphen and that, or nothing. */
static inline text *
hilo_api_next_id_tagged(HiloCacheEntry *entry, const char *suffix,
						int suffix_len)
{
	int64		number = hilo_cache_take(entry);

	if (unlikely(entry->id_text_generation != hilo_settings_generation))
		hilo_cache_make_id_text(entry);
	return hilo_build_id(entry->id_start, entry->id_start_len, number,
						 suffix, suffix_len);
}

#endif							/* HILO_API_H */

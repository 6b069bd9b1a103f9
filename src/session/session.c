/*-------------------------------------------------------------------------
 *
 * session.c
 *	  The ranges that this session holds, one per collection.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "replication/walsender.h"
#include "storage/ipc.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/failure_point.h"
#include "base/settings.h"
#include "servers/citus.h"
#include "servers/hub.h"
#include "servers/member.h"
#include "session/session.h"
#include "shared/pool.h"

/* Everything in this module is allocated here, and never freed. */
static MemoryContext cache_context;

/* Maps a name to the HiloEntry that starts with it; entries never move. */
static HTAB *cache_entries;

/*
 * Where numbers come from
 */

/*
 * Note the generation before reading the row: if it changes meanwhile, what was
 * read may be out of date.
 */
void
hilo_collection_read(HiloCollection *collection)
{
	uint64		generation = hilo_row_generation;

	(void) hilo_counter_read(&collection->ref, &collection->row);
	collection->generation = generation;
	HILO_FAILURE_POINT("row read");
}

/*
 * Take from the pool.  Always reads the row again, so that pooled numbers are
 * as good as a claim made now.  Counted numbers are for sessions, and no longer
 * valid once numbers are to be leased.
 */
static bool
take_pooled(HiloCollection *collection, HiloRangeRequest *request,
			HiloClaim *claim)
{
	const char *name = collection->ref.name;
	const HiloRow *row = &collection->row;
	HiloRangeRequest any;
	bool		low;
	XLogRecPtr	lsn;

	hilo_row_check_storage();
	hilo_collection_read(collection);
	if (row->flags & HILO_ROW_LEASED)
		hilo_lease_check_hub(&collection->ref, row);
	else if ((row->flags & (HILO_ROW_ORDERED | request->unless)) ||
			 request->for_client || request->for_statement ||
			 hilo_counter_is_for_hub(&collection->ref, row, request->leasing))
		return false;

	hilo_counter_size(request, row);
	if (!hilo_pool_take(name, row, request, claim, &low))
	{
		/*
		 * A session prefers higher numbers; of leased ones it takes any.
		 */
		any = *request;
		if (!request->for_client && request->keep != 0)
			any.above = 0;
		if (!(row->flags & HILO_ROW_LEASED) || any.above == request->above ||
			!hilo_pool_take(name, row, &any, claim, &low))
			return false;
	}
	HILO_KILL_POINT("taken");

	if (low)
		hilo_lease_fetch_ahead();
	lsn = hilo_row_own_lsn(claim->lsn);
	if (request->for_statement)
		hilo_row_flush_for_statement(lsn);
	else
		hilo_row_flush(lsn);
	return true;
}

/* Put the numbers of a claim that were not asked for into the pool. */
static void
put_reserve(const char *name, int64 size, HiloClaim *claim)
{
	HiloClaim	rest = *claim;

	if (hilo_range_count(&claim->range) <= size)
		return;
	HILO_FAILURE_POINT("claimed");
	rest.range.low += size;
	claim->range.high = rest.range.low - 1;
	if (hilo_pool_put(name, &rest, false))
		HILO_KILL_POINT("rest pooled");
}

bool
hilo_collection_take(HiloCollection *collection, HiloRangeRequest *request,
					 HiloClaim *claim)
{
	HiloRow    *row = &collection->row;

	for (;;)
	{
		uint64		generation = hilo_row_generation;
		HiloRangeRequest any;
		bool		claimed;

		request->leasing = hilo_leasing();
		if (hilo_pool_exists() && hilo_pool_has(collection->ref.name) &&
			take_pooled(collection, request, claim))
			return true;

		/* A session prefers higher numbers, but does not insist on them. */
		any = *request;
		if (!request->for_client && request->keep != 0)
			any.above = 0;
		hilo_hub_check_draw(&collection->ref);
		claimed = hilo_counter_claim(&collection->ref, &any, row, claim);
		collection->generation = generation;
		if (claimed)
		{
			hilo_hub_wait_for_standby(claim->lsn);
			request->size = any.size;
			request->reserve = any.reserve;
			if (any.reserve > 0)
				put_reserve(collection->ref.name, any.size, claim);
			return true;
		}

		/*
		 * An ordered collection gives no ranges to be kept: later
		 * transactions would draw from them.
		 */
		if (row->flags & request->unless)
			return false;
		if (row->flags & HILO_ROW_ORDERED)
		{
			if (request->for_client || request->alignment > 1)
				hilo_collection_refuse_ordered(collection);
			if (hilo_collection_take_ordered(collection,
											 request->exact ? request->size : 1,
											 claim))
				return true;
		}
		else
			hilo_lease_fetch(&collection->ref, row, &any);
		CHECK_FOR_INTERRUPTS();
	}
}

int64
hilo_collection_draw(HiloCollection *collection)
{
	HiloRangeRequest request = {.size = 1,.exact = true,.alignment = 1,
	.for_statement = true};
	HiloClaim	claim;

	(void) hilo_collection_take(collection, &request, &claim);
	return claim.range.low;
}

int64
hilo_collection_draw_number(HiloCollection *collection, int64 number)
{
	HiloRangeRequest request = {.size = 1,.exact = true,.alignment = 1,
	.above = number - 1,.for_statement = true};
	HiloClaim	claim;

	hilo_hub_check_draw(&collection->ref);
	if (hilo_counter_claim_number(&collection->ref, hilo_leasing(), number))
	{
		hilo_hub_wait_for_standby(XactLastRecEnd);
		return number;
	}
	hilo_collection_read(collection);
	if (!(collection->row.flags & HILO_ROW_LEASED) &&
		collection->row.max >= number)
		return 0;
	(void) hilo_collection_take(collection, &request, &claim);
	return claim.range.low;
}

bool
hilo_collection_give_back(HiloCollection *collection, const HiloClaim *claim,
						  int64 last, bool at_exit)
{
	HiloClaim	rest = *claim;

	rest.range.low = last + 1;
	if (hilo_pool_exists())
		return hilo_pool_put(collection->ref.name, &rest, false);
	return hilo_counter_give_back(&collection->ref, claim, last, at_exit);
}

/*
 * Ranges
 */

void
hilo_cache_forget(HiloEntry *entry)
{
	entry->range.high = entry->range.last;
	entry->growth.size = 0;
}

bool
hilo_cache_skip(HiloEntry *entry, int64 number)
{
	if (number > entry->range.high)
		return false;
	entry->range.last = Max(entry->range.last, number);
	return true;
}

/*
 * Read the row, and keep the range if it is still valid; the result holds for
 * the generation from before the read.
 */
static void
revalidate(HiloEntry *entry)
{
	HiloClaim  *claim = &entry->range.claim;
	const HiloRow *row;

	/* A copy of the row that is older than the range says nothing about it. */
	if (claim->epoch != 0)
		entry->collection.generation = 0;
	row = hilo_collection_row(&entry->collection);
	if (claim->epoch != 0 && !hilo_counter_holds(row, claim))
	{
		entry->growth.drawn += hilo_entry_drawn(entry);
		hilo_cache_forget(entry);
		claim->epoch = 0;
	}
	entry->range.generation = entry->collection.generation;
}

/*
 * Draw the next number of an ordered collection, as a range of one number.
 * Returns false if the collection is no longer ordered.
 */
static bool
take_ordered(HiloEntry *entry, uint64 generation)
{
	HiloClaim  *claim = &entry->range.claim;

	if (!hilo_collection_take_ordered(&entry->collection, 1, claim))
		return false;
	entry->range.last = claim->range.low - 1;
	entry->range.high = claim->range.high;
	entry->range.generation = generation;
	return true;
}

/*
 * Claim or take a range.  Sizes follow the session's rate; but where there is a
 * pool, which takes the rest of a claim, not more than the session has drawn so
 * far: many sessions draw only one number.  Within a session numbers increase,
 * provided that the pool has higher ones.
 */
static void
claim_range(HiloEntry *entry, int unless)
{
	TimestampTz now = GetCurrentTimestamp();
	int64		drawn = entry->growth.drawn + hilo_entry_drawn(entry);
	HiloRangeRequest request = {
		.alignment = 1,
		.above = drawn > 0 ? entry->range.drawn : 0,
		.last_size = entry->growth.size,
		.age = now - entry->growth.claimed_at,
		.duration = hilo_range_duration * INT64CONST(1000),
		.keep = hilo_pool_exists() ? Max(drawn, 1) : PG_INT64_MAX,
		.unless = unless
	};
	HiloClaim	claim;
	uint64		generation = hilo_row_generation;

	if (!hilo_collection_take(&entry->collection, &request, &claim))
		return;
	entry->growth.drawn += hilo_entry_drawn(entry);
	entry->range.claim = claim;
	entry->range.last = claim.range.low - 1;
	entry->range.high = claim.range.high;
	entry->range.generation = generation;

	/* Do not judge by the duration of a range smaller than it should be. */
	if (request.reserve == 0 &&
		(entry->growth.size == 0 ||
		 hilo_range_count(&claim.range) >= request.size))
	{
		entry->growth.size = request.size;
		entry->growth.claimed_at = now;
	}
}

void
hilo_cache_refill(HiloEntry *entry, int unless)
{
	HiloCollection *collection = &entry->collection;
	uint64		generation = hilo_row_generation;

	if (hilo_entry_unused(entry) > 0)
	{
		hilo_row_check_storage();
		revalidate(entry);
		if (hilo_entry_unused(entry) > 0)
			return;
	}
	if (hilo_collection_is_ordered(collection))
	{
		if (entry->range.generation != generation)
		{
			hilo_row_check_storage();
			revalidate(entry);
		}
		if (hilo_collection_is_ordered(collection) &&
			!(collection->row.flags & unless) &&
			take_ordered(entry, generation))
			return;
	}
	claim_range(entry, unless);
}

void
hilo_cache_prepare(HiloEntry *entry)
{
	if (entry->collection.generation != hilo_row_generation &&
		!hilo_citus_is_worker())
		hilo_cache_refill(entry, HILO_ROW_BOUND);
}

/*
 * Give back
 */

int64
hilo_cache_release(HiloEntry *entry)
{
	int64		count;
	bool		went_back;

	/* At exit the row cannot be read; an invalid range is discarded later. */
	if (!proc_exit_inprogress && hilo_entry_unused(entry) > 0 &&
		entry->range.generation != hilo_row_generation)
		revalidate(entry);
	count = hilo_entry_unused(entry);

	/* This either raises an error and has changed nothing, or succeeds. */
	went_back = count > 0 &&
		hilo_collection_give_back(&entry->collection, &entry->range.claim,
								  entry->range.last, proc_exit_inprogress);
	HILO_KILL_POINT("given back");
	hilo_cache_forget(entry);
	entry->growth.drawn = -hilo_entry_drawn(entry);
	return went_back ? count : 0;
}

int64
hilo_cache_release_all(void)
{
	HASH_SEQ_STATUS status;
	HiloEntry  *entry;
	int64		count = 0;

	if (cache_entries == NULL)
		return 0;
	hash_seq_init(&status, cache_entries);
	while ((entry = hash_seq_search(&status)) != NULL)
		count += hilo_cache_release(entry);
	return count;
}

List *
hilo_cache_list(void)
{
	HASH_SEQ_STATUS status;
	HiloEntry  *entry;
	List	   *entries = NIL;
	List	   *unused_entries = NIL;
	ListCell   *lc;

	if (cache_entries == NULL)
		return NIL;
	hash_seq_init(&status, cache_entries);
	while ((entry = hash_seq_search(&status)) != NULL)
	{
		if (hilo_entry_unused(entry) > 0)
			entries = lappend(entries, entry);
	}
	foreach(lc, entries)
	{
		entry = lfirst(lc);
		revalidate(entry);
		if (hilo_entry_unused(entry) > 0)
			unused_entries = lappend(unused_entries, entry);
	}
	return unused_entries;
}

/*
 * Exit callback: put everything into the pool, which needs no transaction, or
 * give it back, without waiting for a lock on the table.  The connection may
 * end at any point, so first get into a state in which tables can be opened.
 * Assigns no transaction id, and flushes nothing.
 */
static void
release_at_exit(int code, Datum arg)
{
	HASH_SEQ_STATUS status;
	HiloEntry  *entry;
	bool		any = false;

	if (hilo_pool_exists())
	{
		(void) hilo_cache_release_all();
		return;
	}

	hash_seq_init(&status, cache_entries);
	while ((entry = hash_seq_search(&status)) != NULL)
		any = any || hilo_entry_unused(entry) > 0;
	if (!any)
		return;

	AbortOutOfAnyTransaction();
	StartTransactionCommand();
	HILO_FAILURE_POINT("at exit");
	(void) hilo_cache_release_all();
	CommitTransactionCommand();
}

/*
 * Entries
 */

static uint32
hash_name(const void *key, Size keysize)
{
	const char *name = *(const char *const *) key;

	return hash_bytes((const unsigned char *) name, strlen(name));
}

static int
compare_names(const void *key1, const void *key2, Size keysize)
{
	return strcmp(*(const char *const *) key1, *(const char *const *) key2);
}

/*
 * Create the table of entries, and make sure that ranges go back at exit; but
 * not those of a walsender, which outlives the shutdown checkpoint, after which
 * nothing may be logged.
 */
static void
create_cache(void)
{
	HASHCTL		ctl = {0};

	cache_context = AllocSetContextCreate(TopMemoryContext, "hilo cache",
										  ALLOCSET_DEFAULT_SIZES);
	ctl.keysize = sizeof(const char *);
	ctl.entrysize = sizeof(HiloEntry);
	ctl.hash = hash_name;
	ctl.match = compare_names;
	ctl.hcxt = cache_context;
	cache_entries = hash_create("hilo collections", 64, &ctl,
								HASH_ELEM | HASH_FUNCTION | HASH_COMPARE |
								HASH_CONTEXT);
	if (!am_walsender)
		before_shmem_exit(release_at_exit, (Datum) 0);
}

HiloEntry *
hilo_cache_find(const char *name)
{
	return cache_entries == NULL ? NULL :
		hash_search(cache_entries, &name, HASH_FIND, NULL);
}

HiloEntry *
hilo_cache_entry(const char *name, const char *separator)
{
	HiloEntry  *entry;
	bool		found;

	if (unlikely(cache_entries == NULL))
		create_cache();
	entry = hash_search(cache_entries, &name, HASH_FIND, NULL);
	if (entry != NULL &&
		(separator == NULL ||
		 entry->text.name_generation == hilo_settings_generation))
		return entry;

	hilo_check_collection(name, separator);
	if (entry == NULL)
	{
		name = MemoryContextStrdup(cache_context, name);
		entry = hash_search(cache_entries, &name, HASH_ENTER, &found);
		memset((char *) entry + sizeof(const char *), 0,
			   sizeof(HiloEntry) - sizeof(const char *));
		hilo_collection_init(&entry->collection, name);
	}
	if (separator != NULL)
		entry->text.name_generation = hilo_settings_generation;
	return entry;
}

/*
 * Make a form of ids that have this tag, which may be in the form.
 */
static void
make_form(HiloEntry *entry, HiloIdForm * form, const char *tag, int tag_len)
{
	char		start[HILO_MAX_START_LEN];
	int			len = hilo_document_id_start(start, entry->collection.ref.name,
											 hilo_identity_parts_separator,
											 hilo_server_prefix);
	char		suffix[1 + HILO_MAX_TAG_LEN];

	suffix[0] = '-';
	memcpy(suffix + 1, tag, tag_len);
	hilo_id_form_init(form, cache_context, start, len,
					  suffix, tag_len > 0 ? tag_len + 1 : 0);
}

void
hilo_cache_make_text(HiloEntry *entry)
{
	HiloIdForm *given = &entry->text.given;
	const char *tag = hilo_collection_node_tag(&entry->collection);

	make_form(entry, &entry->text.own, tag, strlen(tag));
	if (given->id != NULL)
		make_form(entry, given, given->suffix + 1, Max(given->suffix_len - 1, 0));
	entry->text.generation = hilo_settings_generation;
	entry->text.row_generation = entry->collection.generation;
}

void
hilo_cache_give_tag(HiloEntry *entry, const char *tag)
{
	hilo_check_node_tag(tag);
	make_form(entry, &entry->text.given, tag, strlen(tag));
}

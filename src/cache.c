/*-------------------------------------------------------------------------
 *
 * cache.c
 *	  The ranges that this backend holds, one a collection.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "replication/walsender.h"
#include "storage/ipc.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "cache.h"
#include "failure_point.h"
#include "parking.h"
#include "settings.h"

/* Everything of this module lies here, and stays. */
static MemoryContext cache_context;

/* HiloCacheEntry by the HiloName it starts with; elements never move. */
static HTAB *cache_entries;

/* The entries with high > 0: those a relcache callback has to mark. */
static dlist_head ranges_in_use = DLIST_STATIC_INIT(ranges_in_use);

/*
 * Something about the table changed: make each range look used up, so that the
 * next draw asks whether it is still good.  Called at any time.
 */
static void
mark_all_stale(void)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &ranges_in_use)
	{
		HiloCacheEntry *entry = dlist_container(HiloCacheEntry, node, iter.cur);

		entry->stale = entry->last < entry->high;
		entry->high = 0;
		dlist_delete(iter.cur);
	}
}

void
hilo_cache_init(void)
{
	hilo_catalog_init(mark_all_stale);
}

/* Start using the numbers after last, up to the end of the claim. */
static void
use_range(HiloCacheEntry *entry, int64 last)
{
	if (entry->high > 0)
		dlist_delete(&entry->node);
	entry->last = last;
	entry->high = entry->claim.range.high;
	entry->stale = false;
	dlist_push_head(&ranges_in_use, &entry->node);
}

/* Start using the numbers of another claim. */
static void
use_claim(HiloCacheEntry *entry, const HiloClaim *claim)
{
	entry->drawn += entry->last - entry->below;
	entry->below = claim->range.low - 1;
	entry->claim = *claim;
	entry->skipped = 0;
	use_range(entry, entry->below);
}

/* Last number that can still be drawn, by now or once that is asserted. */
static inline int64
end_of_range(const HiloCacheEntry *entry)
{
	return entry->stale ? entry->claim.range.high : entry->high;
}

void
hilo_cache_forget(HiloCacheEntry *entry)
{
	if (entry->high > 0)
		dlist_delete(&entry->node);
	entry->high = 0;
	entry->stale = false;
	entry->size = 0;
}

/* How many numbers this connection has drawn since it was new here. */
static inline int64
drawn_here(const HiloCacheEntry *entry)
{
	return entry->drawn + entry->last - entry->below;
}

/*
 * Park what this connection has not drawn, if there is room, and note what it
 * has drawn; from then on it is a new one here.
 */
static bool
park(HiloCacheEntry *entry, bool make_room)
{
	HiloTail	tail = {.claim = entry->claim,.synchronous = entry->synchronous};
	int64		drawn = drawn_here(entry);

	if (drawn == 0 && entry->last == end_of_range(entry))
		return true;
	tail.claim.range.low = entry->last + 1;
	tail.claim.range.high = end_of_range(entry);
	if (!hilo_parking_park(&entry->source.rows.counter, &tail, drawn, make_room))
		return false;
	HILO_KILL_POINT("parked");
	hilo_cache_forget(entry);
	entry->drawn = 0;
	entry->below = entry->last;
	return true;
}

int64
hilo_cache_release(HiloCacheEntry *entry)
{
	int64		unused = end_of_range(entry) - entry->last;
	bool		went_back = false;

	if (unused > 0 && hilo_release_to == HILO_RELEASE_TO_PARKING)
		went_back = park(entry, false);

	/* Either this raises an error and has done nothing, or it is done. */
	if (unused > 0 && !went_back)
		went_back = hilo_source_give_back(&entry->source, &entry->claim,
										  entry->last, proc_exit_inprogress);
	HILO_KILL_POINT("given back");
	if (unused > 0 && !went_back)
		went_back = park(entry, true);
	hilo_cache_forget(entry);
	return went_back ? unused : 0;
}

/* Remember the options in the row. */
static void
note_options(HiloCacheEntry *entry, const HiloCounterRow *row)
{
	entry->own_range_size = row->range_size;
	entry->own_max_range_size = row->max_range_size;
	entry->may_be_bound = row->may_be_bound;
	entry->has_own_tag = row->has_node_tag;
	entry->own_suffix[0] = '-';
	memcpy(entry->own_suffix + 1, NameStr(row->node_tag), HILO_MAX_TAG_LEN);
	entry->id_text_generation = 0;
}

/* May numbers of a claim be used, as far as the rows that were read say? */
static bool
holds(const HiloClaim *claim, void *arg)
{
	return hilo_source_holds(arg, claim);
}

/*
 * The generation is looked at before the row: if it moves meanwhile, what was
 * read may be older than that.
 */
static void
read_row(HiloCacheEntry *entry, bool for_draw, HiloSourceState *state)
{
	uint64		generation = hilo_catalog_generation;

	hilo_source_read(&entry->source, for_draw, state);
	if (entry->stale)
	{
		if (hilo_source_holds(state, &entry->claim))
			use_range(entry, entry->last);
		else
			hilo_cache_forget(entry);
	}
	/* One that was dropped has no options, but may be bound. */
	note_options(entry, &state->row);
	entry->row_generation = generation;
}

void
hilo_cache_read_row(HiloCacheEntry *entry)
{
	HiloSourceState state;

	if (entry->row_generation != hilo_catalog_generation)
		read_row(entry, entry->stale, &state);
}

int64
hilo_cache_range_size(const HiloCacheEntry *entry)
{
	return entry->own_range_size > 0 ? entry->own_range_size :
		hilo_min_range_size;
}

int64
hilo_cache_max_range_size(const HiloCacheEntry *entry)
{
	return entry->own_max_range_size > 0 ? entry->own_max_range_size :
		hilo_max_range_size;
}

const char *
hilo_cache_node_tag(const HiloCacheEntry *entry, int *len)
{
	const char *tag = entry->has_own_tag ? entry->own_suffix + 1 :
		hilo_node_tag;

	*len = strnlen(tag, HILO_MAX_TAG_LEN);
	return tag;
}

void
hilo_cache_visit(void (*visit) (HiloCacheEntry *entry, void *arg), void *arg)
{
	HASH_SEQ_STATUS status;
	HiloCacheEntry *entry;

	if (cache_entries == NULL)
		return;
	hash_seq_init(&status, cache_entries);
	while ((entry = hash_seq_search(&status)) != NULL)
	{
		if (entry->last < end_of_range(entry))
			visit(entry, arg);
	}
}

static void
revalidate_if_stale(HiloCacheEntry *entry, void *arg)
{
	HiloSourceState state;

	if (entry->stale)
		read_row(entry, true, &state);
}

void
hilo_cache_revalidate_all(void)
{
	hilo_cache_visit(revalidate_if_stale, NULL);
}

/* Leave everything, the used up ranges too, to the next connection. */
static void
park_all(void)
{
	HASH_SEQ_STATUS status;
	HiloCacheEntry *entry;

	if (cache_entries == NULL || hilo_parking_room() == 0)
		return;
	hash_seq_init(&status, cache_entries);
	while ((entry = hash_seq_search(&status)) != NULL)
		(void) park(entry, false);
}

static void
release_and_count(HiloCacheEntry *entry, void *arg)
{
	*(int64 *) arg += hilo_cache_release(entry);
}

int64
hilo_cache_release_all(void)
{
	int64		count = 0;

	hilo_cache_visit(release_and_count, &count);
	if (hilo_release_to == HILO_RELEASE_TO_PARKING)
		park_all();
	return count;
}

static void
note_any(HiloCacheEntry *entry, void *arg)
{
	*(bool *) arg = true;
}

/*
 * Exit callback: park everything, which takes no transaction, or give back what
 * there is no room for; but wait for nobody who has locked the table.  The
 * connection may end at any point, so first get into a state in which tables can be
 * opened.  No transaction id is assigned, and nothing flushed.
 */
static void
release_at_exit(int code, Datum arg)
{
	bool		any = false;

	park_all();
	hilo_cache_visit(note_any, &any);
	if (!any)
		return;

	AbortOutOfAnyTransaction();
	StartTransactionCommand();
	HILO_FAILURE_POINT("at exit");
	(void) hilo_cache_release_all();
	CommitTransactionCommand();
}

static uint32
hash_name(const void *key, Size keysize)
{
	const HiloName *name = key;

	return hash_bytes((const unsigned char *) name->data, name->len);
}

static int
compare_names(const void *key1, const void *key2, Size keysize)
{
	const HiloName *a = key1;
	const HiloName *b = key2;

	return a->len == b->len ? memcmp(a->data, b->data, a->len) : 1;
}

/*
 * Make room for entries, and see that ranges go back at exit; but not from a
 * walsender, which outlives the shutdown checkpoint, after which nothing may
 * be logged.
 */
static void
create_cache(void)
{
	HASHCTL		ctl = {0};

	cache_context = AllocSetContextCreate(TopMemoryContext, "hilo cache",
										  ALLOCSET_DEFAULT_SIZES);
	ctl.keysize = sizeof(HiloName);
	ctl.entrysize = sizeof(HiloCacheEntry);
	ctl.hash = hash_name;
	ctl.match = compare_names;
	ctl.hcxt = cache_context;
	cache_entries = hash_create("hilo collections", 64, &ctl,
								HASH_ELEM | HASH_FUNCTION | HASH_COMPARE |
								HASH_CONTEXT);
	if (!am_walsender)
		before_shmem_exit(release_at_exit, (Datum) 0);
}

/*
 * In front of the hash table: the entry last found for each of some places that
 * names are spread over.  Where a statement draws from many collections, this
 * saves most of the look-up.
 */
#define RECENT_BITS		12

static HiloCacheEntry *recent_entries[1 << RECENT_BITS];

/*
 * The place of a name, by its first and last bytes, which are what names differ
 * in: a multiplication in the place of a good hash.
 */
static inline HiloCacheEntry **
recent_place(HiloName name)
{
	uint64		first = 0;
	uint64		last = 0;

	if (name.len >= (int) sizeof(uint64))
	{
		memcpy(&first, name.data, sizeof(uint64));
		memcpy(&last, name.data + name.len - sizeof(uint64), sizeof(uint64));
	}
	else
		memcpy(&last, name.data, name.len);

	/* 2^64 divided by the golden ratio (Knuth, TAOCP volume 3, 6.4) */
	first = (first ^ name.len) * UINT64CONST(0x9E3779B97F4A7C15);
	last = (last ^ (first >> 32)) * UINT64CONST(0x9E3779B97F4A7C15);
	return &recent_entries[last >> (64 - RECENT_BITS)];
}

HiloCacheEntry *
hilo_cache_find(HiloName name)
{
	HiloCacheEntry **place = recent_place(name);
	HiloCacheEntry *entry = *place;

	if (likely(entry != NULL && entry->name.len == name.len &&
			   memcmp(entry->name.data, name.data, name.len) == 0))
		return entry;

	if (cache_entries == NULL)
		return NULL;
	entry = hash_search(cache_entries, &name, HASH_FIND, NULL);
	if (entry != NULL)
		*place = entry;
	return entry;
}

HiloCacheEntry *
hilo_cache_entry(HiloName name)
{
	HiloCacheEntry *entry = hilo_cache_find(name);
	char	   *copy;

	if (entry != NULL)
		return entry;

	if (cache_entries == NULL)
		create_cache();
	copy = MemoryContextAlloc(cache_context, name.len);
	memcpy(copy, name.data, name.len);
	name.data = copy;
	entry = hash_search(cache_entries, &name, HASH_ENTER, NULL);
	memset((char *) entry + sizeof(HiloName), 0,
		   sizeof(HiloCacheEntry) - sizeof(HiloName));
	hilo_source_init(&entry->source, name);
	hilo_parking_remind(&entry->source.rows.counter);
	return entry;
}

void
hilo_cache_make_id_text(HiloCacheEntry *entry)
{
	char		start[HILO_MAX_START_LEN];
	int			len = hilo_document_id_start(start,
											 entry->name.data, entry->name.len,
											 hilo_identity_parts_separator,
											 hilo_server_prefix);
	char	   *copy = MemoryContextAlloc(cache_context,
										  Max(len, HILO_READABLE));

	memcpy(copy, start, len);
	if (entry->id_start != NULL)
		pfree(entry->id_start);
	entry->id_start = copy;
	entry->id_start_len = len;

	(void) hilo_cache_node_tag(entry, &len);
	entry->id_suffix = entry->has_own_tag ? entry->own_suffix : hilo_id_suffix;
	entry->id_suffix_len = len > 0 ? len + 1 : 0;

	entry->id_text_generation = hilo_settings_generation;
}

/*
 * Use numbers that are parked, at most count, and above those of before, as
 * numbers grow within a session.  The row is read again, however lately that
 * was done: a tail is no worse than a claim made now.
 */
static bool
take_parked(HiloCacheEntry *entry, int64 count)
{
	int64		last = drawn_here(entry) > 0 ? entry->last : 0;
	HiloSourceState state;
	HiloTail	tail;

	read_row(entry, true, &state);
	if (!hilo_parking_take(entry->name, last, count, holds, &state, &tail))
		return false;
	HILO_KILL_POINT("taken");
	entry->synchronous = tail.synchronous;
	use_claim(entry, &tail.claim);
	return true;
}

/*
 * Claim for others, too, who find parked what is behind the first count
 * numbers.  Returns how many it was in all.
 */
static int64
claim_and_park(HiloCacheEntry *entry, int64 size, int64 count)
{
	HiloRangeRequest request = {.size = size,.alignment = 1};
	HiloTail	rest = {.synchronous = synchronous_commit};
	HiloClaim	claim;

	hilo_source_claim(&entry->source, &request, HILO_FOR_BACKEND, &claim);
	HILO_FAILURE_POINT("claimed");

	rest.claim = claim;
	size = claim.range.high - claim.range.low + 1;
	if (claim.range.high - claim.range.low >= count)
	{
		rest.claim.range.low += count;
		if (hilo_parking_park(&entry->source.rows.counter, &rest, 0, false))
			claim.range.high = rest.claim.range.low - 1;
	}
	entry->synchronous = synchronous_commit;
	use_claim(entry, &claim);
	return size;
}

/*
 * A connection that is new here takes as many numbers as such connections
 * used, and claims no fewer; the rest of a claim is for the next one.  From
 * then on sizes follow how fast it draws.
 */
void
hilo_cache_refill(HiloCacheEntry *entry)
{
	TimestampTz now;
	int64		usual;
	int64		size;
	int64		count;
	bool		any_parked;

	hilo_cache_read_row(entry);
	if (entry->last < entry->high)
		return;

	now = GetCurrentTimestamp();
	any_parked = hilo_parking_look(entry->name, &usual);
	size = hilo_range_size(entry->size > 0 ? entry->size : usual,
						   entry->size > 0 ? now - entry->claimed_at :
						   hilo_range_duration * INT64CONST(1000),
						   hilo_range_duration * INT64CONST(1000),
						   hilo_cache_range_size(entry),
						   hilo_cache_max_range_size(entry));
	count = entry->size > 0 || usual == 0 ? size : Min(usual, size);

	if (!any_parked || !take_parked(entry, count))
		size = claim_and_park(entry, size, count);
	else if (entry->high - entry->last < count)
		return;					/* how long that lasts says nothing */

	entry->size = size;
	entry->claimed_at = now;
}

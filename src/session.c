/*-------------------------------------------------------------------------
 *
 * session.c
 *	  Ranges of collections that this session holds, and the numbers drawn from them.
 *
 * For each collection from which a session draws it has an entry, in a hash table that lives as
 * long as the connection.  An entry holds a range, and a number is drawn by counting
 * range.last up: no lock, no shared memory, no disk.  That is hilo_entry_take(), inline in
 * the header.  Everything below is for the draws that need more:
 *
 * - The range is used up.  Then get_range() gets another one, from the pool or by a claim.
 * - The generation has changed, so the row may have been seeded, dropped or configured, or a
 *	 column bound.  Then refill() reads the row, and revalidate_range() throws the range away
 *	 unless the row still has the epoch and home of its claim.
 * - The range was claimed with a lower synchronous_commit than that of this transaction.
 *	 Then the standbys are waited for now.
 * - A column is bound to the collection.  Then each number is looked up there, and numbers that
 *	 are ids already are passed.
 *
 * Nothing here is undone when a transaction is rolled back: its numbers become gaps.  Raising an
 * error is safe at any point, because a number counts as drawn only when the function returns.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "failure_point.h"
#include "guc.h"
#include "pool.h"
#include "session.h"

/*
 * How many blocks are claimed at most to find one without an id.  A table with an id in each
 * thousand numbers has no free block of a thousand; without a bound, the search for one
 * would use up the counter.
 */
#define MAX_BLOCKS		100

/* What the entries consist of is allocated here. */
static MemoryContext entries_context;

/* The entries, by name; they never move. */
static HTAB *entries;

/*
 * Rows
 */

/* The tag of the row, if hilo.configure() has set one, goes before that of the setting. */
const char *
hilo_collection_node_tag(const HiloCollection *collection)
{
	return (collection->row.flags & HILO_ROW_HAS_TAG) ?
		NameStr(collection->row.node_tag) : hilo_node_tag;
}

const char *
hilo_collection_separator(const HiloCollection *collection)
{
	return collection->row.separator[0] != '\0' ?
		collection->row.separator : hilo_identity_parts_separator;
}

/*
 * Tell other sessions where a row is, unless it is still where they were told.
 *
 * This also makes the shared memory, if no session has yet: what is left of a range goes there
 * at exit, when it would be too late to make it.
 */
static void
tell_where_row_is(HiloRowRef *ref, HiloRowRef *told)
{
	if (ref->table != told->table || ref->storage != told->storage ||
		!ItemPointerEquals(&ref->tid, &told->tid))
		hilo_pool_note_row(ref);
}

/*
 * Note the generation before reading the row: if it changes meanwhile, what was
 * read may be out of date, and the next draw reads it again.
 */
void
hilo_collection_read(HiloCollection *collection)
{
	uint64		generation = hilo_generation;
	HiloRowRef *ref = &collection->ref;
	HiloRowRef	told;

	if (!OidIsValid(ref->table))
		hilo_pool_recall_row(ref);
	told = *ref;
	if (hilo_counter_read(ref, &collection->row))
		tell_where_row_is(ref, &told);
	collection->generation = generation;
	HILO_FAILURE_POINT("row read");
}

/*
 * Entries
 */

/*
 * Discard the range of an entry; its unused numbers become a gap.  The next range starts small,
 * because the count has started anew.
 */
static void
forget_range(HiloEntry *entry)
{
	entry->range.claim.range.high = entry->range.last;
	entry->growth.size = 0;
}

/*
 * Exit callback: put what is left of all ranges into the pool.
 *
 * The connection may end at any point, so no table can be read, and no WAL written: a walsender
 * outlives the shutdown checkpoint, after which nothing may be logged.  So it is not checked
 * here whether a range is still valid; the session that takes it from the pool compares it with
 * the row.  The shared memory of the pool is unmapped only after such callbacks.
 *
 * Each range is forgotten right after it was put there, so that no number is drawn here as well.
 */
static void
release_at_exit(int code, Datum arg)
{
	HASH_SEQ_STATUS status;
	HiloEntry  *entry;

	hash_seq_init(&status, entries);
	while ((entry = hash_seq_search(&status)) != NULL)
	{
		HiloClaim	rest = entry->range.claim;

		rest.range.low = entry->range.last + 1;
		if (hilo_entry_unused(entry) > 0)
			hilo_pool_put(entry->name, &rest);
		HILO_KILL_POINT("given back");
		forget_range(entry);
	}
}

HiloEntry *
hilo_entry_known(const char *name)
{
	return entries == NULL ? NULL :
		hash_search(entries, name, HASH_FIND, NULL);
}

/*
 * The name is checked when the entry is made, and again after a change of the settings, because
 * the separator is one, in which a name must not end.
 */
HiloEntry *
hilo_entry(const char *name)
{
	HiloEntry  *entry;

	if (unlikely(entries == NULL))
	{
		HASHCTL		ctl = {
			.keysize = sizeof(((HiloEntry *) 0)->name),
			.entrysize = sizeof(HiloEntry)
		};

		ctl.hcxt = entries_context = AllocSetContextCreate(TopMemoryContext,
														   "hilo collections",
														   ALLOCSET_DEFAULT_SIZES);
		entries = hash_create("hilo collections", 64, &ctl,
							  HASH_ELEM | HASH_STRINGS | HASH_CONTEXT);

		/* Only a session that may hold ranges has something to release. */
		before_shmem_exit(release_at_exit, (Datum) 0);
	}
	entry = hash_search(entries, name, HASH_FIND, NULL);
	if (entry != NULL && entry->checked == hilo_settings_generation)
		return entry;

	hilo_check_collection(name, hilo_identity_parts_separator);
	if (entry == NULL)
	{
		entry = hash_search(entries, name, HASH_ENTER, NULL);
		memset(&entry->checked, 0, sizeof(HiloEntry) - offsetof(HiloEntry, checked));
		entry->collection.ref.name = entry->name;
		entry->range.claim.range.low = 1;
	}
	entry->checked = hilo_settings_generation;
	return entry;
}

/*
 * Read the row, and throw the range away unless the row still has the epoch and home of the
 * range's claim.  The bindings are not read here, so range.generation stays as it is.
 */
static void
revalidate_range(HiloEntry *entry)
{
	hilo_collection_read(&entry->collection);
	if (hilo_counter_holds(&entry->collection.row, &entry->range.claim))
		return;
	forget_range(entry);
	entry->range.claim.epoch = 0;	/* no claim */
}

List *
hilo_entries_in_use(void)
{
	HASH_SEQ_STATUS status;
	HiloEntry  *entry;
	List	   *in_use = NIL;

	if (entries == NULL)
		return NIL;
	hash_seq_init(&status, entries);
	while ((entry = hash_seq_search(&status)) != NULL)
	{
		if (hilo_entry_unused(entry) > 0)
			revalidate_range(entry);
		if (hilo_entry_unused(entry) > 0)
			in_use = lappend(in_use, entry);
	}
	return in_use;
}

/*
 * Ranges
 */

/*
 * Take a range from the pool.  The row is read first, so that pooled numbers are as good as a claim
 * made now: a piece with another epoch is not taken.  What another session has claimed may not be
 * safe yet, so this session waits for the LSN of that claim.
 */
static bool
take_from_pool(HiloEntry *entry, const HiloSizing *sizing, HiloWanted *wanted, HiloClaim *claim)
{
	HiloCollection *collection = &entry->collection;

	if (!hilo_pool_has(entry->name))
		return false;
	hilo_collection_read(collection);
	wanted->size = hilo_counter_size(sizing, &collection->row);
	if (!hilo_pool_take(entry->name, &collection->row, wanted, claim))
		return false;
	HILO_KILL_POINT("taken");
	hilo_row_flush(hilo_row_own_lsn(claim->lsn));

	/*
	 * A server that does not count may have to ask for more before the pool
	 * is empty.
	 */
	if (collection->row.flags & HILO_ROW_SHARED)
		hilo_wing(entry->name)->taken(&collection->ref, &collection->row);
	return true;
}

/*
 * Get a range with numbers above the given one: from the pool, or else by a claim.
 *
 * How many numbers follows from the session's rate: twice as many as last time if the last
 * range was used up quickly, half as many if it lasted long.  So a bulk load soon claims
 * thousands at a time, and a session that draws once takes one number.
 *
 * Within a session numbers increase, so the pool must have higher ones than those that it has
 * drawn.
 */
static void
get_range(HiloEntry *entry, int64 above)
{
	HiloCollection *collection = &entry->collection;
	HiloSizing	sizing = {
		.last_size = entry->growth.size,
		.age = GetCurrentTimestamp() - entry->growth.claimed_at
	};
	HiloWanted	wanted = {.alignment = 1,.above = Max(above, entry->range.drawn)};
	uint64		generation = hilo_generation;
	HiloClaim	claim;

	/*
	 * A claim may fail after the row was changed, while a standby is away.
	 * Its numbers are lost, so the next attempt must not be as large.
	 */
	entry->growth.size = Min(entry->growth.size, 1);
	if (!take_from_pool(entry, &sizing, &wanted, &claim))
	{
		HiloRowRef	told = collection->ref;

		wanted.above = above;
		hilo_counter_claim(&collection->ref, &sizing, &wanted, &collection->row, &claim);
		collection->generation = generation;
		tell_where_row_is(&collection->ref, &told);
	}

	/* Do not judge by the duration of a range smaller than it should be. */
	if (hilo_range_count(&claim.range) >= wanted.size)
	{
		entry->growth.size = wanted.size;
		entry->growth.claimed_at = GetCurrentTimestamp();
	}
	else
		entry->growth.size = sizing.last_size;

	/* A new epoch may count the same numbers again. */
	if (claim.epoch != entry->range.claim.epoch)
		entry->range.drawn = 0;
	entry->range.claim = claim;
	entry->range.waited_how = synchronous_commit;
	entry->range.last = claim.range.low - 1;
}

/*
 * Make sure that the entry has a valid range with numbers left, above the given one (0: any),
 * that are as safe as this transaction wants, and that it is known where the ids are.
 *
 * The generation is noted before bindings and row are read, so a message that comes in between
 * makes the next draw read both again.
 */
static void
refill(HiloEntry *entry, int64 above)
{
	uint64		generation = hilo_generation;

	if (entry->range.generation != generation)
	{
		hilo_ids_of_collection(&entry->ids, entry->name);
		if (hilo_entry_unused(entry) > 0)
			revalidate_range(entry);
	}
	if (hilo_entry_unused(entry) <= 0)
		get_range(entry, above);
	else if (entry->range.waited_how < synchronous_commit)
	{
		/* Claimed under synchronous_commit = local, say, and drawn under on. */
		hilo_row_flush(hilo_row_own_lsn(entry->range.claim.lsn));
		entry->range.waited_how = synchronous_commit;
	}
	entry->range.generation = generation;
}

/*
 * Tell the look what stands around a number in ids: before it collection, separator and prefix;
 * after it the tag that the caller of this draw gave, or else that of the collection.  A bound
 * column of type text is searched for exactly these ids.
 */
static void
set_form(HiloEntry *entry, const HiloIdForm *form)
{
	static char start[HILO_MAX_START_LEN];
	HiloCollection *collection = &entry->collection;
	int			start_len;

	(void) hilo_collection_row(collection);
	start_len = hilo_document_id_start(start, entry->name, hilo_collection_separator(collection),
									   hilo_server_prefix);
	hilo_ids_set_form(entry->ids, start, start_len, form == &entry->text.given ?
					  pnstrdup(form->suffix + 1, Max(form->suffix_len - 1, 0)) :
					  hilo_collection_node_tag(collection));
}

/*
 * If the next number of the range is an id of a bound column, the numbers up to the next free
 * one are passed; if that is above the range, the rest of it is, too, and the next range begins
 * above.
 *
 * A search takes locks, so messages may be received.  Therefore the loop begins again with the
 * question whether the range is valid, and with messages, as hilo_ids_of_sequence() does.
 */
int64
hilo_entry_take_slowly(HiloEntry *entry, const HiloIdForm *form)
{
	int64		above = 0;

	hilo_counter_refuse_worker(entry->name);
	for (;;)
	{
		HiloCourse	course = {1};
		int64		number;
		int			tries = 0;

		AcceptInvalidationMessages();
		if (hilo_entry_unused(entry) <= 0 || entry->range.generation != hilo_generation ||
			entry->range.waited_how < synchronous_commit)
			refill(entry, above);
		number = entry->range.last + 1;
		if (entry->ids != NULL && !entry->ids->is_current)
			hilo_ids_of_collection(&entry->ids, entry->name);
		if (entry->ids == NULL)
			break;

		/* Is this number an id? */
		set_form(entry, form);
		course.end = entry->range.claim.range.high;
		if (!hilo_ids_has(entry->ids, &course, number))
			break;

		/*
		 * It is.  Search the next one that is not, beyond the range as well:
		 * then a counter that is far behind the ids needs one claim, not one
		 * for each range that is full of them.
		 */
		course.end = Max(entry->collection.row.max_value, number);
		if (hilo_ids_next_free(entry->ids, &course, number, &above, &tries))
			above--;
		entry->range.last = Min(above, entry->range.claim.range.high);
		CHECK_FOR_INTERRUPTS();
	}
	return entry->range.drawn = ++entry->range.last;
}

/*
 * A block does not come from the range, which may be smaller.
 *
 * It is taken as a whole, so it is looked at as a whole: if one of its numbers is an id, it
 * becomes a gap, and another one is claimed above the next free number.  That ends after some
 * blocks, or one call could use up the counter where no gap between ids is large enough.
 */
void
hilo_entry_take_block(HiloEntry *entry, const HiloSizing *sizing,
					  HiloWanted *wanted, HiloClaim *claim)
{
	HiloCollection *collection = &entry->collection;

	for (int blocks = 0; blocks < MAX_BLOCKS; blocks++)
	{
		uint64		generation = hilo_generation;
		HiloCourse	course = {1};
		int64		id;
		int			tries = 0;

		hilo_counter_claim(&collection->ref, sizing, wanted, &collection->row, claim);
		collection->generation = generation;
		hilo_ids_of_collection(&entry->ids, entry->name);
		if (entry->ids == NULL)
			return;
		set_form(entry, NULL);
		if (!hilo_ids_have(entry->ids, claim->range.low, claim->range.high, &id))
			return;
		course.end = Max(collection->row.max_value, id);
		if (hilo_ids_next_free(entry->ids, &course, id, &wanted->above, &tries))
			wanted->above--;
		CHECK_FOR_INTERRUPTS();
	}
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("no block of " INT64_FORMAT " free numbers was found for collection \"%s\"",
					wanted->size, entry->name),
			 errdetail("Each of %d blocks has an id of a bound column.", MAX_BLOCKS),
			 errhint("Ask for a smaller block, or seed the collection above the ids.")));
}

/*
 * The text of ids
 */

/*
 * Make a form of ids that have this tag, which may be in the form.
 *
 * A form has the text around the number, put together once, so that a draw only has to write the
 * digits.
 */
static void
make_form(HiloEntry *entry, HiloIdForm *form, const char *tag, int tag_len)
{
	char		start[HILO_MAX_START_LEN];
	int			len = hilo_document_id_start(start, entry->collection.ref.name,
											 hilo_collection_separator(&entry->collection),
											 hilo_server_prefix);

	hilo_id_form_init(form, entries_context, start, len, tag, tag_len);
}

/*
 * Set entry->text to how ids of the collection look, according to the current settings and the
 * row as last read.
 *
 * Both generations only go up, so their sum changes when either of them does.
 */
static void
make_text(HiloEntry *entry)
{
	HiloIdForm *given = &entry->text.given;
	const char *tag = hilo_collection_node_tag(&entry->collection);

	/* The row may have been written without the trigger that checks it. */
	hilo_check_node_tag(tag);
	make_form(entry, &entry->text.own, tag, strlen(tag));
	if (given->id != NULL)
		make_form(entry, given, given->suffix + 1,
				  Max(given->suffix_len - 1, 0));
	entry->text.generation = hilo_settings_generation +
		entry->collection.generation;
}

/*
 * The number comes first, because getting a range reads the row, and with it how ids look.  If
 * the text is out of date then, it is made anew.
 *
 * A look in a column of type text does not use it: set_form() tells it what is around the number
 * by the same settings and row.
 */
text *
hilo_entry_take_id(HiloEntry *entry, HiloIdForm *form)
{
	int64		number = hilo_entry_take(entry, form);

	if (unlikely(entry->text.generation !=
				 hilo_settings_generation + entry->collection.generation))
		make_text(entry);
	return hilo_id_form_make(form, number);
}

/*
 * Mostly a program gives the same tag in each call, so one such form is kept.
 */
void
hilo_entry_give_tag(HiloEntry *entry, const char *tag)
{
	hilo_check_node_tag(tag);
	make_form(entry, &entry->text.given, tag, strlen(tag));
}

/*-------------------------------------------------------------------------
 *
 * session.c
 *	  Where this session's numbers come from: the ranges that it holds, one per
 *	  collection, the pool, the row, or another server.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "storage/ipc.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/settings.h"
#include "counting/source.h"
#include "session/session.h"
#include "shared/pool.h"

/* What the entries consist of is allocated here. */
static MemoryContext entries_context;

/* The entries, by name; they never move. */
static HTAB *entries;

/*
 * Rows
 */

void
hilo_collection_init_identity(HiloCollection *collection, const char *name,
							  char *buffer)
{
	snprintf(buffer, HILO_MAX_ROW_NAME_LEN, "%s|", name);
	hilo_collection_init(collection, buffer);
}

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
 * Note the generation before reading the row: if it changes meanwhile, what was
 * read may be out of date.
 */
void
hilo_collection_read(HiloCollection *collection)
{
	uint64		generation = hilo_row_generation;
	HiloRowRef *ref = &collection->ref;
	HiloRowRef	told = *ref;

	if (!OidIsValid(told.table))
	{
		hilo_pool_recall_row(ref);
		told = *ref;
	}
	if (hilo_counter_read(ref, &collection->row) &&
		(ref->table != told.table || ref->storage != told.storage ||
		 !ItemPointerEquals(&ref->tid, &told.tid)))
		hilo_pool_note_row(ref);
	collection->generation = generation;
	HILO_FAILURE_POINT("row read");
}

/*
 * Ordered collections
 */

/*
 * Raise an error if the collection cannot be ordered, because its numbers should come from
 * another server.  One that is ordered already stays so, unless this server counts nothing.
 */
static void
check_is_counted_here(HiloCollection *collection)
{
	HiloLeasing leasing = hilo_leasing();

	if (hilo_collection_is_ordered(collection) ? leasing == HILO_LEASE_ALL :
		hilo_counter_is_for_hub(&collection->ref, &collection->row, leasing))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("collection \"%s\" cannot be ordered on this server",
						collection->ref.name),
				 errdetail("Its numbers would be leased from a hub.")));
}

/*
 * Call this when shared memory does not have what is needed: find the collection
 * there, and claim so that count numbers can be drawn.
 */
static void
refill_ordered(HiloCollection *collection, int64 count)
{
	uint64		generation = hilo_row_generation;

	CHECK_FOR_INTERRUPTS();
	check_is_counted_here(collection);
	if (count > 0 && !hilo_counts_alone())
		hilo_source()->opens(&collection->ref);
	hilo_order_refill(&collection->order, &collection->ref, &collection->row,
					  count);
	collection->generation = generation;
}

/*
 * Draw the next count numbers of an ordered collection, for the current
 * transaction.  Returns false, having drawn nothing, if the collection is no
 * longer ordered.
 */
static bool
take_ordered(HiloCollection *collection, int64 count, HiloClaim *claim)
{
	HiloOrder  *order = &collection->order;

	check_is_counted_here(collection);
	while (!hilo_order_take(order, collection->ref.name, &collection->row,
							count, claim))
	{
		refill_ordered(collection, count);
		if (!hilo_collection_is_ordered(collection))
			return false;
	}
	HILO_KILL_POINT("drawn in order");

	/*
	 * Wait only once per claim, as with the claims that a session draws
	 * ranges from.
	 */
	if (order->waited_for != claim->lsn ||
		order->waited_how != synchronous_commit)
	{
		XLogRecPtr	lsn = hilo_row_own_lsn(claim->lsn);

		hilo_row_flush(lsn);
		if (!hilo_counts_alone())
			hilo_source()->drawn(lsn);
		hilo_order_waited(order, claim);
		order->waited_for = claim->lsn;
		order->waited_how = synchronous_commit;
	}
	return true;
}

void
hilo_collection_refuse_ordered(HiloCollection *collection)
{
	(void) hilo_collection_row(collection);
	if (hilo_collection_is_ordered(collection))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("collection \"%s\" is ordered and gives no ranges to client programs",
						collection->ref.name),
				 errhint("Draw with hilo_next() or hilo_next_number(), or reserve a block with hilo_reserve().")));
}

/*
 * Where numbers come from
 */

typedef enum Source
{
	FROM_ROW,					/* they are counted here */
	IN_ORDER,
	FROM_OTHERS					/* another server counts, or should */
} Source;

/* The source, according to the row as last read. */
static Source
source_of(const HiloCollection *collection, HiloLeasing leasing)
{
	if (collection->row.flags & HILO_ROW_LEASED)
		return FROM_OTHERS;
	if (hilo_collection_is_ordered(collection))
		return IN_ORDER;
	return hilo_counter_is_for_hub(&collection->ref, &collection->row, leasing) ?
		FROM_OTHERS : FROM_ROW;
}

/*
 * Take from the pool; the row has just been read, so that pooled numbers are as good
 * as a claim made now.  The caller has to wait for claim->lsn.
 */
static bool
take_pooled(HiloCollection *collection, const HiloWanted *wanted, HiloClaim *claim)
{
	bool		low;

	if (!hilo_pool_take(collection->ref.name, &collection->row, wanted, claim, &low))
		return false;
	HILO_KILL_POINT("taken");
	if (low)
		hilo_source()->low();
	claim->lsn = hilo_row_own_lsn(claim->lsn);
	return true;
}

/*
 * Take fetched numbers from the pool, or else fetch some, and read the row
 * again; it has just been read.
 */
static bool
take_fetched(HiloCollection *collection, const HiloWanted *wanted, HiloClaim *claim)
{
	if (collection->row.flags & HILO_ROW_LEASED)
	{
		hilo_source()->check(&collection->ref, &collection->row);
		if (take_pooled(collection, wanted, claim))
			return true;
	}
	hilo_source()->fetch(&collection->ref, &collection->row, wanted);
	hilo_collection_read(collection);
	return false;
}

/*
 * After a claim for this session: put its numbers that were not asked for into the pool.  One
 * that joins says nothing about the end of the claim that it has joined.
 */
static void
put_reserve(const char *name, int64 size, bool joins, HiloClaim *claim)
{
	HiloClaim	rest = *claim;

	if (hilo_range_count(&claim->range) > size)
	{
		HILO_FAILURE_POINT("claimed");
		rest.range.low += size;
		claim->range.high = rest.range.low - 1;
		if (hilo_pool_put(name, &rest, false))
			HILO_KILL_POINT("rest pooled");
	}
	if (!joins)
		hilo_pool_finish(name, claim->range.low);
}

void
hilo_collection_take(HiloCollection *collection, HiloSizing *sizing,
					 HiloWanted *wanted, HiloClaim *claim)
{
	bool		for_client = sizing != NULL && sizing->for_client;
	HiloRow    *row = &collection->row;
	uint64		generation;

	(void) hilo_collection_row(collection);
	for (;;)
	{
		HiloLeasing leasing = hilo_leasing();
		bool		pooled = (row->flags & HILO_ROW_LEASED) != 0 ||
			(!for_client &&
			 hilo_pool_highest(collection->ref.name, NULL) > 0);

		if (pooled)
			hilo_collection_read(collection);
		if (sizing != NULL)
			hilo_counter_size(sizing, row, wanted);
		switch (source_of(collection, leasing))
		{
			case FROM_ROW:
				if (pooled && !for_client &&
					take_pooled(collection, wanted, claim))
				{
					hilo_row_flush(claim->lsn);
					return;
				}
				if (!hilo_counts_alone())
					hilo_source()->opens(&collection->ref);
				generation = hilo_row_generation;
				if (sizing != NULL)
					sizing->finished = hilo_pool_finished(collection->ref.name, &sizing->finished_at,
														  &sizing->left);
				if (hilo_counter_claim(&collection->ref, leasing, sizing, wanted, row, claim))
				{
					collection->generation = generation;
					if (!hilo_counts_alone())
						hilo_source()->drawn(claim->lsn);
					if (sizing != NULL && !for_client)
						put_reserve(collection->ref.name, wanted->size, sizing->joins, claim);
					return;
				}
				collection->generation = generation;
				break;

			case IN_ORDER:

				/*
				 * It gives no ranges to be kept: later transactions would
				 * draw from them.
				 */
				if (for_client || wanted->alignment > 1)
					hilo_collection_refuse_ordered(collection);
				if (take_ordered(collection, wanted->exact ? wanted->size : 1, claim))
					return;
				break;

			case FROM_OTHERS:
				if (take_fetched(collection, wanted, claim))
				{
					hilo_row_flush(claim->lsn);
					return;
				}
				break;
		}
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * The row is not read before it is locked: most identities are counted here.
 */
int64
hilo_collection_draw(HiloCollection *collection, int64 number)
{
	HiloWanted	wanted = {.size = 1,.exact = true,.alignment = 1,
	.above = Max(number - 1, 0)};
	HiloClaim	claim;

	for (;;)
	{
		HiloLeasing leasing = hilo_leasing();
		uint64		generation = hilo_row_generation;
		bool		claimed;

		if (!hilo_counts_alone())
			hilo_source()->opens(&collection->ref);
		claimed = hilo_counter_claim_number(&collection->ref, leasing, number,
											&collection->row, &claim);
		collection->generation = generation;
		if (claimed)
		{
			if (!hilo_counts_alone())
				hilo_source()->drawn(claim.lsn);
			return claim.range.low;
		}
		if (number > 0 && source_of(collection, leasing) == FROM_ROW)
			return 0;
		hilo_collection_read(collection);
		if (source_of(collection, leasing) == FROM_OTHERS &&
			take_fetched(collection, &wanted, &claim))
		{
			hilo_row_flush_claim(claim.lsn);
			return claim.range.low;
		}
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * Ranges
 */

/*
 * Read the row, and keep the range if it is still valid; the result holds for
 * the generation from before the read.
 */
static void
revalidate(HiloEntry *entry)
{
	HiloClaim  *claim = &entry->range.claim;

	hilo_collection_read(&entry->collection);
	if (!hilo_counter_holds(&entry->collection.row, claim))
	{
		hilo_entry_forget(entry);
		claim->epoch = 0;
	}
	entry->range.generation = entry->collection.generation;
}

/* How many numbers of the range were drawn. */
static int64
drawn_of_range(const HiloEntry *entry)
{
	return entry->range.last - entry->range.claim.range.low + 1;
}

/*
 * Claim or take a range.  Sizes follow the session's rate; but it keeps no more
 * than it has drawn so far, and the pool takes the rest: many sessions draw only
 * one number.  Without a pool it keeps all, and where a claim is costly, too.  Within a
 * session numbers increase, provided that the pool has higher ones.
 */
static void
claim_range(HiloEntry *entry, int64 above, HiloClaim *claim)
{
	int64		drawn = entry->growth.drawn + drawn_of_range(entry);
	HiloWanted	wanted = {
		.alignment = 1,
		.above = above,
		.prefer = drawn > 0 ? entry->range.drawn : 0
	};
	HiloSizing	sizing = {
		.last_size = entry->growth.size,
		.age = GetCurrentTimestamp() - entry->growth.claimed_at,
		.keep = hilo_pool_open() && entry->growth.least == 0 ? Max(drawn, 1) : 0,
		.least = entry->growth.least
	};

	/*
	 * A claim that fails, as while a standby is away, is not followed by one
	 * as large.
	 */
	entry->growth.size = Min(entry->growth.size, 1);
	hilo_collection_take(&entry->collection, &sizing, &wanted, claim);
	entry->growth.size = sizing.last_size;

	/*
	 * Do not judge by the duration of a range smaller than it should be.  It
	 * begins when the numbers can be used: a standby may be far away.
	 */
	if (wanted.size == sizing.wish &&
		(entry->growth.size == 0 ||
		 hilo_range_count(&claim->range) >= wanted.size))
	{
		entry->growth.size = wanted.size;
		entry->growth.claimed_at = GetCurrentTimestamp();
	}
}

void
hilo_entry_refill(HiloEntry *entry, int64 above)
{
	HiloCollection *collection = &entry->collection;
	uint64		generation = hilo_row_generation;
	HiloClaim	claim;

	if (hilo_entry_unused(entry) > 0 && entry->range.generation != generation)
		revalidate(entry);
	if (hilo_entry_unused(entry) > 0)
	{
		if (entry->range.waited_how < synchronous_commit)
			hilo_row_flush(hilo_row_own_lsn(entry->range.claim.lsn));
		entry->range.waited_how = Max(entry->range.waited_how, synchronous_commit);
		return;
	}

	/* A range of an ordered collection is one number. */
	if (!(collection->generation == generation &&
		  hilo_collection_is_ordered(collection) &&
		  take_ordered(collection, 1, &claim)))
		claim_range(entry, above, &claim);
	entry->growth.drawn += drawn_of_range(entry);

	/* A new epoch may count the same numbers again. */
	if (claim.epoch != entry->range.claim.epoch)
		entry->range.clean_up_to = 0;
	entry->range.claim = claim;
	entry->range.waited_how = synchronous_commit;
	entry->range.last = claim.range.low - 1;
	entry->range.generation = generation;
	entry->range.transaction = hilo_local_xid();
	entry->range.clean = false;
}

/*
 * Give back
 */

int64
hilo_entry_release(HiloEntry *entry)
{
	HiloClaim	rest;
	int64		count;
	bool		went_back = false;

	/* At exit the row cannot be read; an invalid range is discarded later. */
	if (!proc_exit_inprogress && hilo_entry_unused(entry) > 0 &&
		entry->range.generation != hilo_row_generation)
		revalidate(entry);
	count = hilo_entry_unused(entry);

	if (count > 0)
	{
		rest = entry->range.claim;
		rest.range.low = entry->range.last + 1;
		went_back = hilo_pool_put(entry->collection.ref.name, &rest, false);
	}
	HILO_KILL_POINT("given back");
	hilo_entry_forget(entry);
	entry->growth.drawn = -drawn_of_range(entry);	/* since now, none */
	return went_back ? count : 0;
}

int64
hilo_entries_release(void)
{
	HASH_SEQ_STATUS status;
	HiloEntry  *entry;
	int64		count = 0;

	if (entries == NULL)
		return 0;
	hash_seq_init(&status, entries);
	while ((entry = hash_seq_search(&status)) != NULL)
		count += hilo_entry_release(entry);
	return count;
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
			revalidate(entry);
		if (hilo_entry_unused(entry) > 0)
			in_use = lappend(in_use, entry);
	}
	return in_use;
}

/*
 * Exit callback: put everything into the pool.  The connection may end at any
 * point, so no table can be read, and no WAL written: a walsender outlives the
 * shutdown checkpoint, after which nothing may be logged.  The shared memory of
 * the pool is unmapped only after such callbacks.
 */
static void
release_at_exit(int code, Datum arg)
{
	(void) hilo_entries_release();
}

/*
 * Entries
 */

/* Create the table of entries, and make sure that unused numbers go into the pool at exit. */
static void
create_entries(void)
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
	before_shmem_exit(release_at_exit, (Datum) 0);
}

HiloEntry *
hilo_entry_known(const char *name)
{
	return entries == NULL ? NULL :
		hash_search(entries, name, HASH_FIND, NULL);
}

HiloEntry *
hilo_entry(const char *name)
{
	HiloEntry  *entry;

	if (unlikely(entries == NULL))
		create_entries();
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
 * The text of ids
 */

/*
 * Make a form of ids that have this tag, which may be in the form.  Returns true if
 * it was one of other ids.
 */
static bool
make_form(HiloEntry *entry, HiloIdForm *form, const char *tag, int tag_len)
{
	char		start[HILO_MAX_START_LEN];
	int			len = hilo_document_id_start(start, entry->collection.ref.name,
											 hilo_collection_separator(&entry->collection),
											 hilo_server_prefix);
	bool		differs = form->id != NULL &&
		!hilo_id_form_is(form, start, len, tag, tag_len);

	hilo_id_form_init(form, entries_context, start, len, tag, tag_len);
	return differs;
}

bool
hilo_entry_make_text(HiloEntry *entry)
{
	HiloIdForm *given = &entry->text.given;
	const char *tag = hilo_collection_node_tag(&entry->collection);
	bool		differs;

	/* The row may have been written with its guard disabled. */
	hilo_check_node_tag(tag);
	differs = make_form(entry, &entry->text.own, tag, strlen(tag));
	if (given->id != NULL)
		(void) make_form(entry, given, given->suffix + 1,
						 Max(given->suffix_len - 1, 0));
	entry->text.generation = hilo_settings_generation +
		entry->collection.generation;
	return differs;
}

void
hilo_entry_give_tag(HiloEntry *entry, const char *tag)
{
	hilo_check_node_tag(tag);
	(void) make_form(entry, &entry->text.given, tag, strlen(tag));
}

/*
 * The horizon
 */

/* Raise an error if the collection has no horizon, according to its row. */
static void
check_has_horizon(const HiloCollection *collection)
{
	const char *name = collection->ref.name;

	if (collection->row.flags & HILO_ROW_DROPPED)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("collection \"%s\" does not exist", name)));
	if (!hilo_collection_is_ordered(collection))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("collection \"%s\" is not ordered", name),
				 errhint("Make it ordered with hilo.configure(), or with CALL hilo.make_ordered() if it is in use.")));
	if (!(collection->row.flags & HILO_ROW_SETTLED))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("collection \"%s\" is not ordered yet", name),
				 errdetail("Transactions may hold numbers that were not drawn in order."),
				 errhint("CALL hilo.make_ordered() waits for them; if it was interrupted, call it again.")));
}

void
hilo_collection_horizon(HiloCollection *collection, Snapshot snapshot,
						int64 *horizon, int64 *epoch, XLogRecPtr *lsn)
{
	const HiloRow *row = hilo_collection_row(collection);

	/*
	 * A draw may have re-created it without announcing that, and a
	 * transaction of before need not have heard that it has become ordered.
	 */
	if (!(row->flags & HILO_ROW_SETTLED))
		hilo_collection_read(collection);
	check_has_horizon(collection);
	while (!hilo_order_horizon(&collection->order, collection->ref.name, row,
							   snapshot, horizon, lsn))
	{
		refill_ordered(collection, 0);
		check_has_horizon(collection);
	}
	*epoch = hilo_counter_reader_epoch(row);
}

/*
 * Changes to a collection
 */

/*
 * Before a change that the numbers of others do not survive: wait until none are being
 * given to them, and let none be given until allow_leases(); raise 55000 if others draw from
 * the counter, unless force.  The lock is none of a table: vacuum and REINDEX CONCURRENTLY, which
 * waits for transactions, are not in the way.
 */
static void
stop_leases(const char *name, bool force)
{
	/* Lock first: the first numbers of all may be under way. */
	hilo_stop_giving();
	AcceptInvalidationMessages();
	if (!force && !hilo_counts_alone())
		hilo_source()->before_change(name);
}

static void
allow_leases(void)
{
	LOCKTAG		tag = hilo_task_tag(HILO_GIVE_LEASES);

	LockRelease(&tag, ExclusiveLock, false);
}

/* After any change: warn of others that may still draw what they were given before. */
static void
warn_others(HiloCollection *collection)
{
	if (!hilo_counts_alone())
		hilo_source()->after_change(&collection->ref);
}

int64
hilo_collection_seed(HiloCollection *collection, int64 value, bool force)
{
	int64		max;

	if (force)
		stop_leases(collection->ref.name, false);
	max = hilo_counter_seed(&collection->ref, value, force);
	if (force)
		allow_leases();
	hilo_pool_forget(collection->ref.name, true);
	warn_others(collection);
	return max;
}

int64
hilo_collection_adopt(HiloCollection *collection, int64 highest, int64 limit)
{
	int64		max = hilo_counter_adopt(&collection->ref, highest, limit);

	hilo_pool_forget(collection->ref.name, true);
	warn_others(collection);
	return max;
}

bool
hilo_collection_drop(HiloCollection *collection, bool force)
{
	bool		dropped;

	stop_leases(collection->ref.name, force);
	dropped = hilo_counter_drop(&collection->ref);
	if (dropped)
		hilo_pool_forget(collection->ref.name, true);
	if (dropped && force)
	{
		warn_others(collection);
		if (!hilo_counts_alone())
			hilo_source()->dropped(collection->ref.name);
	}

	/* What is given from here on must not be forgotten with the rest. */
	allow_leases();
	return dropped;
}

bool
hilo_collection_settle_order(HiloCollection *collection)
{
	HILO_FAILURE_POINT("order changed");
	hilo_order_begin(collection->ref.name);
	return hilo_counter_settle(&collection->ref);
}

void
hilo_collection_configure(HiloCollection *collection,
						  const HiloCounterOptions *options)
{
	if (options->ordered)
	{
		hilo_collection_read(collection);
		check_is_counted_here(collection);
		stop_leases(collection->ref.name, false);
	}
	hilo_pool_forget(collection->ref.name,
					 hilo_counter_configure(&collection->ref, options));
	if (options->ordered)
		allow_leases();
	warn_others(collection);
	if (options->ordered && !options->in_use)
		(void) hilo_collection_settle_order(collection);
}

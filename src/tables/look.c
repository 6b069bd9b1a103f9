/*-------------------------------------------------------------------------
 *
 * look.c
 *	  The look: are there ids among the numbers that a session has taken?
 *
 * The columns of a counter are those that draw from it, found by their defaults in
 * pg_depend, or by hilo.binding.  For each of them, and each of its partitions and
 * children, one index is looked into that is in the order of the numbers.  The
 * search comes down from the highest number that was taken; the first entry below
 * the lowest one ends it before any row is visited, so mostly it is one descent.
 *
 * Nothing here waits for a lock, and no code of users runs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_inherits.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "counting/catalog.h"
#include "tables/binding.h"
#include "tables/column.h"
#include "tables/drawing.h"
#include "tables/look.h"
#include "tables/search.h"

/*
 * How far above an id to search for others at first.  After so many steps a draw goes on
 * without a look.
 */
#define WINDOW			INT64CONST(1048576)
#define MAX_STEPS		64

/* An id so near the end of the window is one of a contiguous import. */
#define NEAR_END		1024

/* After so many entries whose rows are dead, the next one counts. */
#define MAX_PASSED		1000

/* An index to look into. */
typedef struct Place
{
	HiloSearchKind kind;
	HiloColumn	column;			/* of one table */
	Oid			index;
	HiloIdReader reader;
	Oid			exact;			/* an index that answers HILO_BY_ID */
} Place;

/* All looks of this session. */
static List *looks = NIL;

/* Changes with each message about a relation, or about what a look depends on. */
static uint64 generation = 1;

/*
 * Messages
 */

/* Called for each message about a relation; InvalidOid: about all. */
static void
relation_changed(Oid relation)
{
	ListCell   *lc;

	generation++;
	foreach(lc, looks)
	{
		HiloLook   *look = lfirst(lc);

		if (OidIsValid(relation) && !look->awaits_table &&
			!list_member_oid(look->relations, relation))
			continue;
		look->changes++;
		*look->clean = false;
		if (look->right != NULL)
			*look->right = 0;
	}
}

/*
 * Syscache callback: ALTER SEQUENCE ... OWNED BY and ALTER DOMAIN ... SET DEFAULT change
 * only pg_sequence and pg_type; and a role may get a right by being granted another, or as
 * the owner of the database.
 */
static void
catalog_changed(Datum arg, int cacheid, uint32 hash)
{
	generation++;
}

static void
forget_looks(void)
{
	ListCell   *lc;

	foreach(lc, looks)
		* ((HiloLook *) lfirst(lc))->clean = false;
}

static void
transaction_ended(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_ABORT)
		forget_looks();
}

static void
subtransaction_ended(SubXactEvent event, SubTransactionId own,
					 SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		forget_looks();
}

HiloLook *
hilo_look_create(Oid sequence, HiloCollection *collection, bool *clean, uint64 *right)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	HiloLook   *look = palloc0(sizeof(HiloLook));
	static bool is_registered = false;

	if (!is_registered)
	{
		is_registered = true;
		hilo_on_relation_change(relation_changed);
		CacheRegisterSyscacheCallback(SEQRELID, catalog_changed, (Datum) 0);
		CacheRegisterSyscacheCallback(TYPEOID, catalog_changed, (Datum) 0);
		CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, catalog_changed, (Datum) 0);
		CacheRegisterSyscacheCallback(DATABASEOID, catalog_changed, (Datum) 0);
		RegisterXactCallback(transaction_ended, NULL);
		RegisterSubXactCallback(subtransaction_ended, NULL);
	}
	look->sequence = sequence;
	look->collection = collection;
	look->clean = clean;
	look->right = right;
	look->limit = PG_INT64_MAX;
	look->changes = 1;
	look->context = AllocSetContextCreate(TopMemoryContext, "hilo look",
										  ALLOCSET_SMALL_SIZES);
	looks = lappend(looks, look);
	MemoryContextSwitchTo(old);
	return look;
}

void
hilo_look_free(HiloLook *look)
{
	looks = list_delete_ptr(looks, look);
	MemoryContextDelete(look->context);
	pfree(look);
}

/*
 * Places
 */

/*
 * Lock and open a relation, unless another session has a lock that conflicts, or
 * it does not exist; then NULL.
 *
 * A conditional lock also fails if a session waits for a lock that conflicts.  But a session
 * that has a lock on the relation already is granted another one at once.  A
 * temporary table that is only looked at does not keep the transaction from being prepared.
 */
static Relation
open_if_free(Oid oid)
{
	int			flags = MyXactFlags;
	Relation	rel;

	if (!ConditionalLockRelationOid(oid, AccessShareLock))
	{
		if (!hilo_has_relation_locked(oid, AccessShareLock))
			return NULL;
		LockRelationOid(oid, AccessShareLock);
	}
	rel = try_relation_open(oid, NoLock);
	MyXactFlags = flags;
	if (rel == NULL)
		UnlockRelationOid(oid, AccessShareLock);
	return rel;
}

/*
 * Find the index of one table to look into, if it has one: the best of its kinds.
 */
static void
find_place(HiloLook *look, Relation table, HiloColumn column)
{
	Place		place = {.column = column};

	hilo_id_reader_init(&place.reader, &column, look->collection);
	if (!place.reader.holds_ids && !hilo_holds_numbers(place.reader.type))
		return;
	foreach_oid(oid, RelationGetIndexList(table))
	{
		Relation	index = open_if_free(oid);
		HiloSearchKind kind;

		look->relations = list_append_unique_oid(look->relations, oid);
		if (index == NULL)
		{
			look->places_found = false;
			continue;
		}
		if (hilo_index_answers(index, column.attnum, &place.reader, &kind))
		{
			if (kind == HILO_BY_ID)
				place.exact = oid;
			if (!OidIsValid(place.index) || kind < place.kind)
			{
				place.index = oid;
				place.kind = kind;
			}
		}
		relation_close(index, AccessShareLock);
	}
	if (OidIsValid(place.index))
		look->places = lappend(look->places, memcpy(palloc(sizeof(Place)), &place, sizeof(Place)));
}

/* True if the index to look into was found already, through a parent or child that draws, too. */
static bool
has_place(const HiloLook *look, const HiloColumn *column)
{
	foreach_ptr(const Place, place, look->places)
	{
		if (memcmp(&place->column, column, sizeof(HiloColumn)) == 0)
			return true;
	}
	return false;
}

/*
 * Find the places of a column: in its table, in partitions and in children, which mostly
 * have its default.
 */
static void
find_places(HiloLook *look, const HiloColumn *column)
{
	char	   *name = hilo_column_name(column);
	uint64		before = generation;
	List	   *parts;

	if (name == NULL)
		return;

	/*
	 * Messages come with each lock.  One that comes before the tables are
	 * known may be about any of them, which has another partition or child
	 * now.
	 */
	parts = find_all_inheritors(column->relation, NoLock, NULL);
	foreach_oid(oid, parts)
		look->relations = list_append_unique_oid(look->relations, oid);
	if (generation != before)
		look->changes++;
	HILO_FAILURE_POINT("parts found");

	foreach_oid(oid, parts)
	{
		HiloColumn	part = {oid, get_attnum(oid, name), column->drawn};
		Relation	rel;

		if (part.attnum <= 0 || get_rel_relkind(oid) != RELKIND_RELATION ||
			has_place(look, &part))
			continue;
		rel = open_if_free(oid);
		if (rel == NULL)
		{
			look->places_found = false;
			continue;
		}
		if (!RELATION_IS_OTHER_TEMP(rel))
			find_place(look, rel, part);
		relation_close(rel, AccessShareLock);
	}
}

/* True if both are the same columns. */
static bool
are_equal(List *a, List *b)
{
	if (list_length(a) != list_length(b))
		return false;
	for (int i = 0; i < list_length(a); i++)
	{
		if (memcmp(list_nth(a, i), list_nth(b, i), sizeof(HiloColumn)) != 0)
			return false;
	}
	return true;
}

/*
 * The places are found again only after a message about one of their relations:
 * a table may have very many partitions, and mostly another table has changed.
 */
void
hilo_look_prepare(HiloLook *look)
{
	uint64		now = generation;
	uint64		texts = look->collection == NULL ? 0 :
		hilo_settings_generation + hilo_row_generation;
	uint64		changes = look->changes;
	bool		is_placed = look->places_found && look->placed_at == changes &&
		look->texts == texts;
	MemoryContext old;
	List	   *columns;
	int64		limit;

	if (look->found_at == now && is_placed)
		return;
	if (look->collection != NULL)
		columns = hilo_columns_of_collection(look->collection, &look->by_default, &limit);
	else
	{
		columns = hilo_columns_of_sequence(look->sequence);
		limit = hilo_columns_limit(columns);
	}
	if (is_placed && are_equal(columns, look->columns))
	{
		look->found_at = now;
		return;
	}

	/* If this fails, it is all done again. */
	look->placed_at = 0;
	*look->clean = false;
	MemoryContextReset(look->context);
	look->columns = look->places = look->relations = NIL;
	look->limit = limit;
	old = MemoryContextSwitchTo(look->context);
	look->places_found = true;
	foreach_ptr(const HiloColumn, column, columns)
	{
		find_places(look, column);
		look->columns = lappend(look->columns,
								memcpy(palloc(sizeof(HiloColumn)), column, sizeof(HiloColumn)));
	}
	HILO_FAILURE_POINT("places found");
	MemoryContextSwitchTo(old);
	look->placed_at = changes;
	look->texts = texts;
	look->found_at = now;
}

HiloLook *
hilo_look_of_entry(HiloEntry *entry)
{
	if (entry->look == NULL)
		entry->look = hilo_look_create(InvalidOid, &entry->collection, &entry->range.clean,
									   &entry->right.generation);
	hilo_look_prepare(entry->look);
	return entry->look;
}

/*
 * Look
 */

/*
 * The highest id between two numbers in one place, or HILO_NONE.  *complete is set to false
 * if that is not certain, because it could not be locked.
 *
 * While this transaction may be rewriting a table, its values are not read, so that only
 * exact ids can be looked up: one at a time.
 */
static int64
look_into(const HiloLook *look, const Place *place, int64 low, int64 high, int64 limit,
		  bool *complete)
{
	Relation	table = open_if_free(place->column.relation);
	HiloSearchKind kind = place->kind;
	Oid			oid = place->index;
	Relation	index = NULL;
	int64		highest = HILO_NONE;

	if (table != NULL && kind == HILO_BY_FUNCTION &&
		CheckRelationLockedByMe(table, AccessExclusiveLock, false))
	{
		kind = HILO_BY_ID;
		oid = place->exact;
		*complete = false;
	}
	if (table != NULL && OidIsValid(oid))
		index = open_if_free(oid);
	if (index == NULL || index->rd_rel->relkind != RELKIND_INDEX ||
		index->rd_index->indrelid != place->column.relation || !index->rd_index->indisvalid ||
		ReindexIsProcessingIndex(oid) ||
		RelationGetNumberOfBlocks(index) == 0)
		*complete = false;
	else
	{
		HiloSearch	search = {table, index, place->column.attnum, kind, &place->reader};

		highest = kind == HILO_BY_ID ?
			hilo_search_ids(&search, look->collection, low, limit) :
			hilo_search_numbers(&search, low, high, MAX_PASSED);
	}
	if (index != NULL)
		relation_close(index, AccessShareLock);
	if (table != NULL)
		relation_close(table, AccessShareLock);
	return highest;
}

/* The highest id between two numbers, or HILO_NONE. */
static int64
look_everywhere(const HiloLook *look, int64 low, int64 high, int64 limit, bool *complete)
{
	int64		highest = HILO_NONE;

	for (int i = 0; i < list_length(look->places); i++)
	{
		int64		number = look_into(look, list_nth(look->places, i), Max(low, highest),
									   high, limit, complete);

		highest = Max(highest, number);
	}
	return highest;
}

/*
 * The numbers are not used before it is certain that none of them is an id.  If one is,
 * what is left above it is used: so ids that are far apart take nothing along.  Only if
 * nothing is left, or all of the numbers are needed, the search goes on above them, up to
 * the end of a window: any farther, and a single stray id would be followed.
 *
 * The window is doubled where ids end near its end, as those of an import do; for a block
 * whenever it was not enough.  With columns that draw by their defaults alone, which may be
 * strangers', that has an end.
 */
bool
hilo_look(HiloLook *look, HiloRange numbers, int64 limit,
		  HiloLookProgress *progress, int64 *highest)
{
	uint64		changes = look->changes;
	bool		complete = look->places_found;
	int64		size = hilo_range_count(&numbers);
	int64		share;
	int64		most;
	int64		found;
	int64		above = HILO_NONE;
	int64		end;

	if (numbers.high <= look->limit)
		limit = Min(limit, look->limit);
	limit = Max(limit, numbers.high);
	share = (int64) (((uint64) limit - (uint64) numbers.low) / 64);
	most = look->by_default ? Min(HILO_WINDOW_BY_DEFAULT, share) : PG_INT64_MAX;
	if (progress->steps++ >= MAX_STEPS)
		return false;
	found = look_everywhere(look, numbers.low, numbers.high, limit, &complete);
	HILO_FAILURE_POINT("looked");
	if (found == HILO_NONE)
	{
		/*
		 * A message during the search for places may mean that there is
		 * another one.
		 */
		*look->clean = complete && look->changes == changes && look->placed_at == changes;
		return false;
	}
	*highest = found;
	if (found < numbers.high && !progress->exact)
		return true;
	if (progress->window == 0)
		progress->window = Max(Min(WINDOW, share), size);
	end = found + (int64) Min((uint64) progress->window, (uint64) limit - (uint64) found);
	if (found < end)
		above = look_everywhere(look, found + 1, end, limit, &complete);
	*highest = Max(above, found);
	if ((progress->exact || *highest > end - NEAR_END) && progress->window < most)
		progress->window += Min(progress->window, most - progress->window);
	return true;
}

/*-------------------------------------------------------------------------
 *
 * sync.c
 *	  Advances counters to the highest numbers in columns.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/guc.h"

#include "base/sql.h"
#include "tables/attachment.h"
#include "tables/binding.h"
#include "tables/highest.h"
#include "tables/rights.h"
#include "tables/sync.h"

/* How long to wait for a lock on a table, unless the user has said so. */
#define LOCK_TIMEOUT	"5s"

/*
 * The columns that a collection is bound or attached to, as a list of
 * HiloColumn *; some of them may no longer exist. *may_hold_identities is set
 * to whether ids of the identity of that name may be there, too; attached
 * columns have none.
 */
static List *
columns_of(HiloCollection *counter, bool *may_hold_identities)
{
	List	   *columns = NIL;
	ListCell   *lc;

	*may_hold_identities = false;
	foreach(lc, hilo_bindings(counter->ref.name))
	{
		HiloBinding *binding = lfirst(lc);

		if (binding->attached || !hilo_binding_has_column(binding))
			continue;
		columns = lappend(columns, binding->column);
		*may_hold_identities = true;
	}
	foreach(lc, hilo_draw_right_attachments(counter->ref.name))
	{
		HiloAttachment *attachment = lfirst(lc);

		if (!attachment->is_clone)
			columns = lappend(columns, &attachment->column);
	}
	return columns;
}

/* Advance a counter, which need not exist, to the highest number in the columns. */
static int64
sync_counter(HiloCollection *counter, List *columns)
{
	HiloSought	sought = hilo_sought(counter);
	ListCell   *lc;

	/* A table need not be read below what was found in another one. */
	foreach(lc, columns)
		sought.above = hilo_column_highest(lfirst(lc), &sought, false);
	return hilo_collection_seed(counter, sought.above, false);
}

bool
hilo_sync_collection(const char *collection, int64 *max)
{
	bool		may_hold_identities;
	List	   *columns;
	HiloCollection counter;
	HiloCollection identity;
	char		buffer[HILO_MAX_ROW_NAME_LEN];
	int			level;

	hilo_collection_init(&counter, collection);
	columns = columns_of(&counter, &may_hold_identities);
	if (columns == NIL)
		return false;

	level = NewGUCNestLevel();
	if (LockTimeout == 0)
		hilo_sql_set_locally("lock_timeout", LOCK_TIMEOUT);
	*max = sync_counter(&counter, columns);
	if (may_hold_identities)
	{
		hilo_collection_init_identity(&identity, collection, buffer);
		(void) sync_counter(&identity, columns);
	}
	AtEOXact_GUC(false, level);
	return true;
}

static int
compare_names(const ListCell *a, const ListCell *b)
{
	return strcmp(lfirst(a), lfirst(b));
}

List *
hilo_sync_candidates(void)
{
	List	   *names = NIL;
	List	   *distinct = NIL;
	ListCell   *lc;

	foreach(lc, hilo_row_list())
	{
		HiloNamedRow *row = lfirst(lc);

		if (row->row.flags & HILO_ROW_BOUND)
			names = lappend(names, unconstify(char *, row->name));
	}

	/*
	 * A trigger that was restored has no row before it fires.  Anyone may
	 * have written its argument: as an identity's name it would move that
	 * identity.
	 */
	foreach(lc, hilo_attachments(NULL))
	{
		HiloAttachment *attachment = lfirst(lc);

		if (!attachment->is_clone && hilo_is_collection(attachment->collection))
			names = lappend(names, unconstify(char *, attachment->collection));
	}

	list_sort(names, compare_names);
	foreach(lc, names)
	{
		if (distinct == NIL || strcmp(llast(distinct), lfirst(lc)) != 0)
			distinct = lappend(distinct, lfirst(lc));
	}
	return distinct;
}

/*
 * The highest number in an attached column of one table, without its children,
 * which have their own triggers; -1: another session has locked the table.
 */
static int64
highest_attached(const HiloAttachment *attachment, const HiloSought *sought)
{
	Relation	rel;
	int64		highest;

	if (hilo_column_name(&attachment->column) == NULL ||
		!ConditionalLockRelationOid(attachment->column.relation,
									AccessShareLock))
		return -1;
	rel = try_table_open(attachment->column.relation, NoLock);
	if (rel == NULL)
	{
		UnlockRelationOid(attachment->column.relation, AccessShareLock);
		return -1;
	}
	highest = rel->rd_rel->relkind != RELKIND_RELATION ? 0 :
		hilo_highest_here(rel, attachment->column.attnum, sought);
	table_close(rel, AccessShareLock);
	return highest;
}

int64
hilo_sync_unseen(HiloCollection *collection)
{
	HiloSought	sought = hilo_sought(collection);
	List	   *seen = NIL;
	int64		limit = PG_INT64_MAX;
	int64		highest = 0;
	ListCell   *lc;

	/* Numbers below max may be in ranges. */
	sought.above = 0;
	foreach(lc, hilo_draw_right_attachments(collection->ref.name))
	{
		HiloAttachment *attachment = lfirst(lc);
		int64		number;

		if (hilo_attachment_is_seen(attachment))
			continue;
		number = highest_attached(attachment, &sought);
		if (number < 0)
			continue;
		highest = Max(highest, number);
		limit = Min(limit, hilo_type_limit(hilo_column_type(&attachment->column)));
		seen = lappend(seen, attachment);
	}

	/* If nothing was found, ranges stay valid. */
	if (highest > 0)
		(void) hilo_collection_adopt(collection, highest, limit, true);
	else
		hilo_counter_note_binding(&collection->ref, limit);
	foreach(lc, seen)
		hilo_attachment_note_seen(lfirst(lc));
	return highest;
}

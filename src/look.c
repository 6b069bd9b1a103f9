/*-------------------------------------------------------------------------
 *
 * look.c
 *	  The look: is a number an id of a table already, and which is the next one
 *	  that is not?
 *
 * First the places have to be known.  A place is an index that leads with the column.  For a
 * sequence they are found from pg_depend, which says which column owns it; for a collection from
 * the rows of hilo.binding; for an identity that is not bound, its column is given.  The
 * session remembers them, with the OIDs of all relations that it has considered.  A message that
 * one of these has changed makes it find the places again before the next draw.
 *
 * Each search descends an index once, to the lowest id at or above a number.  All
 * numbers before that id are free, too, so one search usually serves many draws:
 * these numbers are the window.  A window lasts only for one command, because the
 * session itself may insert ids by hand in the next one.  Ids that other sessions insert by hand
 * into an open window can collide, and those that the command itself inserts between its draws,
 * but for what hilo.assign_id() takes as it is.
 *
 * If a number is taken, the next free one is searched: see free_search.c.
 *
 * A draw must not wait for a lock that another transaction holds.  So every lock here is taken only
 * if that needs no wait.  What cannot be locked is not looked at, and whatever else was learned at
 * that moment counts for this one number only.
 *
 * No code of users may run, because the session that draws may have more rights than the role
 * that wrote it.  That is why indexes are read directly, not by a query: the comparison functions
 * are the server's own, and neither predicates and expressions of indexes nor row-level security
 * policies are evaluated.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_language.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "nodes/primnodes.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "binding.h"
#include "catalog.h"
#include "compat.h"
#include "failure_point.h"
#include "free_search.h"
#include "look.h"
#include "text.h"

/*
 * The most numbers in a window, because a search passes the ids of deleted rows one by one.
 * With many places it has more, so that not every number costs a search of each
 * of them; and with more than FEW_PLACES it stays open for WINDOW_OPEN microseconds.
 */
#define WINDOW			1000
#define WINDOW_A_PLACE	64
#define TEXT_WINDOW		63		/* each may cost a search */
#define FEW_PLACES		4
#define WINDOW_OPEN		USECS_PER_SEC

/*
 * After so many entries whose rows are dead, the next one counts, so that a search stays
 * short in an index that vacuum has not cleaned for long.  A free number is passed then, which
 * does no harm.
 */
#define MAX_PASSED		1000

/* At most one warning about what cannot be looked at in so many microseconds. */
#define WARNING_PAUSE	(60 * USECS_PER_SEC)

/* An index to look into. */
typedef struct HiloPlace
{
	Oid			table;
	AttrNumber	attnum;			/* of the column */
	Oid			index;
	bool		is_text;		/* it is in the order of text */
} HiloPlace;

/* What this session knows of all counters, of HiloIds *: a message may be about any of them. */
static List *all_ids = NIL;

/*
 * The distance can be as large as 2^64 - 1, from the lowest number to the highest.  It is worked
 * out without a sign, and cut to what an int64 can say.
 */
int64
hilo_steps_to(const HiloCourse *course, int64 number, int64 to)
{
	uint64		distance = course->increment > 0 ?
		(uint64) to - (uint64) number : (uint64) number - (uint64) to;
	uint64		step = course->increment > 0 ?
		(uint64) course->increment : -(uint64) course->increment;

	return (int64) Min(distance / step, PG_INT64_MAX);
}

/*
 * Messages
 */

/*
 * Called for each message about a relation; InvalidOid: about all.
 *
 * Messages are accepted whenever a lock is taken, so this can be called in the middle of a search
 * for places, or of a look.  It only marks what is out of date; what is under way then goes on with
 * the old lists, and sees the mark at its end.
 */
static void
ids_relation_changed(Oid relation)
{
	foreach_ptr(HiloIds, ids, all_ids)
	{
		if (OidIsValid(relation) && !ids->heeds_all &&
			!list_member_oid(ids->relations, relation))
			continue;
		ids->has_missed = true;
		ids->is_current = false;
	}
}

/*
 * Transaction callbacks.  What was found to be free may have been deleted by what is rolled back
 * now, or may be, once it is prepared.
 */
static void
transaction_ended(XactEvent event, void *arg)
{
	if (event != XACT_EVENT_ABORT && event != XACT_EVENT_PREPARE)
		return;
	foreach_ptr(HiloIds, ids, all_ids)
		hilo_ids_close_window(ids);
}

static void
subtransaction_ended(SubXactEvent event, SubTransactionId id, SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		transaction_ended(XACT_EVENT_ABORT, arg);
}

/*
 * There is one of these for each sequence that is drawn from, and for each collection that
 * has bindings.  The callback comes with the first, so a session that looks nowhere does not pay for
 * messages.
 */
HiloIds *
hilo_ids_create(void)
{
	static bool is_registered = false;
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "hilo ids",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	HiloIds    *ids = palloc0(sizeof(HiloIds));

	if (!is_registered)
	{
		RegisterXactCallback(transaction_ended, NULL);
		RegisterSubXactCallback(subtransaction_ended, NULL);
		hilo_on_relation_change(ids_relation_changed);
		is_registered = true;
	}
	ids->context = context;
	ids->start = ids->tag = "";
	all_ids = lappend(all_ids, ids);
	MemoryContextSwitchTo(old);
	return ids;
}

void
hilo_ids_free(HiloIds *ids)
{
	all_ids = list_delete_ptr(all_ids, ids);
	MemoryContextDelete(ids->context);
	pfree(ids);
}

/*
 * Places
 */

/*
 * Lock and open a relation, unless another session has a lock that conflicts, or it does
 * not exist; then NULL.
 *
 * A conditional lock also fails if a session waits for a lock that conflicts; but one that
 * this session has already is granted again at once.  A temporary table that is only
 * looked at must not keep the transaction from being prepared, so the flags of the
 * transaction are put back.
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
 * True if the index can be looked into: it has all rows of its table, in the order of the
 * column's numbers or texts.
 *
 * The order is that of the server's own types if the operator family is: a family that a user has
 * made could call his functions.  A collation that calls texts equal which differ in their bytes
 * would report ids that are not the one looked for.  The predicate of a partial index is asked for
 * in the catalog row, because the relation cache would evaluate functions in it.
 */
static bool
index_answers(Relation index, AttrNumber attnum, bool *is_text)
{
	Form_pg_index form = index->rd_index;

	/* The type "name" is in the first family, too. */
	*is_text = index->rd_opcintype[0] == TEXTOID &&
		(index->rd_opfamily[0] == TEXT_BTREE_FAM_OID ||
		 index->rd_opfamily[0] == TEXT_PATTERN_BTREE_FAM_OID);
	return index->rd_rel->relkind == RELKIND_INDEX &&
		index->rd_rel->relam == BTREE_AM_OID &&
		form->indisvalid && form->indisready &&
		form->indkey.values[0] == attnum &&
		(*is_text || index->rd_opfamily[0] == INTEGER_BTREE_FAM_OID) &&
		(!OidIsValid(index->rd_indcollation[0]) ||
		 get_collation_isdeterministic(index->rd_indcollation[0])) &&
		heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL);
}

/*
 * True if the index has no entries yet because this session is making them: a default that draws
 * can be evaluated by the command that makes an index anew, such as ALTER TABLE.  How many blocks
 * there are is asked only of an index that is new in this transaction, because the question costs
 * a call of the operating system.
 */
static bool
is_being_built(Relation index)
{
	return ReindexIsProcessingIndex(RelationGetRelid(index)) ||
		((index->rd_createSubid != InvalidSubTransactionId || hilo_storage_is_new(index)) &&
		 RelationGetNumberOfBlocks(index) == 0);
}

/*
 * Note that a table is not looked at, because it or its index is locked, and warn of it.  To wait
 * would stop the inserts into all partitions because one of them is locked, and an error would stop
 * them, too.  A warning for each number would fill the log.
 */
static void
note_locked(HiloIds *ids, Oid table)
{
	static TimestampTz warned_at = 0;
	TimestampTz now = GetCurrentTimestamp();
	char	   *name = get_rel_name(table);

	ids->has_missed = true;
	if (name == NULL || (warned_at != 0 && now - warned_at < WARNING_PAUSE))
		return;
	warned_at = now;
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("ids of table \"%s\" are not looked at while another session has locked it",
					name),
			 errdetail("A number that is an id there can be drawn.")));
}

/*
 * Find the index of a place, whose table is open, that can be looked into.  Returns false if there
 * is none.  All indexes are noted, not only that one: a message about another one may say that it
 * is valid now.
 */
static bool
find_index(HiloIds *ids, HiloPlace *place, Relation table)
{
	bool		is_locked = false;

	place->index = InvalidOid;
	foreach_oid(oid, RelationGetIndexList(table))
	{
		Relation	index = open_if_free(oid);

		ids->relations = list_append_unique_oid(ids->relations, oid);
		if (index == NULL)
		{
			is_locked = true;
			continue;
		}
		if (!OidIsValid(place->index) && index_answers(index, place->attnum, &place->is_text))
			place->index = oid;
		relation_close(index, AccessShareLock);
	}
	if (OidIsValid(place->index))
		return true;
	if (is_locked)
		note_locked(ids, place->table);
	ids->without_index = place->table;
	return false;
}

/* Add the place of a column in one table, if there is an index. */
static void
find_place(HiloIds *ids, Relation table, AttrNumber attnum)
{
	HiloPlace  *place = palloc0(sizeof(HiloPlace));

	place->table = RelationGetRelid(table);
	place->attnum = attnum;
	if (!find_index(ids, place, table))
		return;
	ids->holds_text = ids->holds_text || place->is_text;
	ids->places = lappend(ids->places, place);
}

/*
 * Find the places of a column in its table, and in the partitions and children of that, where the
 * column may have another number.  Partitioned tables and their indexes hold no rows.  Temporary
 * tables of other sessions cannot be read.
 *
 * Until the partitions and children are noted, any message may be about one of them: the list may
 * be out of date then.
 */
static void
find_places(HiloIds *ids, Oid relation, const char *column)
{
	bool		heeds_all = ids->heeds_all;
	List	   *parts;

	ids->heeds_all = true;
	parts = find_all_inheritors(relation, NoLock, NULL);
	foreach_oid(oid, parts)
		ids->relations = list_append_unique_oid(ids->relations, oid);
	ids->heeds_all = heeds_all;
	HILO_FAILURE_POINT("parts found");

	foreach_oid(oid, parts)
	{
		AttrNumber	attnum = get_attnum(oid, column);
		Relation	table;

		if (attnum <= 0 || get_rel_relkind(oid) != RELKIND_RELATION)
			continue;
		table = open_if_free(oid);
		if (table == NULL)
		{
			note_locked(ids, oid);
			continue;
		}
		if (!RELATION_IS_OTHER_TEMP(table))
			find_place(ids, table, attnum);
		relation_close(table, AccessShareLock);
	}
}

/*
 * True for nextval and hilo.nextval, which is known by the C function that it calls.  Only
 * superusers make functions in C, so no role can pass off one of its own.
 */
static bool
is_nextval(Oid function)
{
	HeapTuple	tuple;
	bool		found = false;
	bool		isnull;

	if (function == F_NEXTVAL)
		return true;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return false;
	if (((Form_pg_proc) GETSTRUCT(tuple))->prolang == ClanguageId)
	{
		Datum		name = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);

		found = strcmp(TextDatumGetCString(name), "hilo_nextval") == 0;
	}
	ReleaseSysCache(tuple);
	return found;
}

/*
 * Casts are passed on the way to the call: a column of another type than bigint has one, and so
 * has one of a domain.  A default that does more with the number, such as to add 1000 to it, makes
 * ids that are not the numbers of the sequence, so these would be looked at in vain.
 */
Oid
hilo_sequence_in_default(Node *expression, bool *is_plain)
{
	while (expression != NULL)
	{
		if (IsA(expression, RelabelType))
			expression = (Node *) ((RelabelType *) expression)->arg;
		else if (IsA(expression, CoerceToDomain))
			expression = (Node *) ((CoerceToDomain *) expression)->arg;
		else if (IsA(expression, FuncExpr) && ((FuncExpr *) expression)->args != NIL)
		{
			FuncExpr   *call = (FuncExpr *) expression;
			Const	   *argument = linitial(call->args);

			if (call->funcformat == COERCE_IMPLICIT_CAST ||
				call->funcformat == COERCE_EXPLICIT_CAST)
			{
				expression = (Node *) argument;
				continue;
			}
			if (!is_nextval(call->funcid) || !IsA(argument, Const) || argument->constisnull)
				break;
			*is_plain = call->funcid == F_NEXTVAL;
			return DatumGetObjectId(argument->constvalue);
		}
		else
			break;
	}
	return InvalidOid;
}

/*
 * True if the column has a stored default that draws from the sequence, and does nothing else.  The
 * default is only read, as the catalog has it; nothing in it is evaluated.
 */
static bool
default_draws_from(Relation table, AttrNumber attnum, Oid sequence)
{
	TupleConstr *constraints = RelationGetDescr(table)->constr;
	bool		is_plain;

	for (int i = 0; constraints != NULL && i < constraints->num_defval; i++)
	{
		if (constraints->defval[i].adnum == attnum)
			return sequence ==
				hilo_sequence_in_default(stringToNode(constraints->defval[i].adbin), &is_plain);
	}
	return false;
}

/*
 * Empty the list of places, before they are found again, and close the window: what was looked at
 * while places were missing, or before they changed, does not count any more.  The places count as
 * not current until the search has ended, so one that ends with an error leaves nothing that is
 * incomplete in use.
 */
static void
clear_places(HiloIds *ids)
{
	MemoryContextReset(ids->context);
	ids->places = ids->relations = NIL;
	ids->is_current = ids->has_missed = ids->heeds_all = ids->holds_text = false;
	ids->without_index = InvalidOid;
	ids->limit = PG_INT64_MAX;
	ids->window.high = ids->window.low;
}

/*
 * The owner is found by what pg_depend says of the sequence, not of the table: so no role
 * can put a column of its own there.  A column that owns the sequence without drawing
 * from it does not count, because programs keep numbers of blocks in such sequences.
 *
 * An identity column is known by the kind of its dependency, and has no default to be read.
 *
 * Messages are accepted before it is asked whether the places are current.  If the next lock
 * of a look brought them, the index that is known could be gone, and one number not be looked at.
 */
void
hilo_ids_of_sequence(HiloIds *ids, Oid sequence)
{
	Oid			owner;
	int32		attnum;
	bool		is_identity;

	AcceptInvalidationMessages();
	if (likely(ids->is_current))
		return;
	clear_places(ids);
	is_identity = sequenceIsOwned(sequence, DEPENDENCY_INTERNAL, &owner, &attnum);
	if (is_identity || sequenceIsOwned(sequence, DEPENDENCY_AUTO, &owner, &attnum))
	{
		MemoryContext old = MemoryContextSwitchTo(ids->context);
		Relation	table = open_if_free(owner);

		ids->relations = list_make1_oid(owner);
		if (table == NULL)
			note_locked(ids, owner);
		else if (is_identity || default_draws_from(table, attnum, sequence))
		{
			Form_pg_attribute column = TupleDescAttr(RelationGetDescr(table), attnum - 1);
			Oid			type = getBaseType(column->atttypid);

			if (type == INT2OID || type == INT4OID)
				ids->limit = type == INT2OID ? PG_INT16_MAX : PG_INT32_MAX;
			find_places(ids, owner, NameStr(column->attname));
		}
		if (table != NULL)
			relation_close(table, AccessShareLock);
		MemoryContextSwitchTo(old);
	}
	HILO_FAILURE_POINT("places found");
	ids->is_current = !ids->has_missed;
}

/*
 * Warn, once in a session, that a binding does not count.  It cannot be an error: after a restore,
 * say, in which the table has another owner, inserts must go on.
 */
static void
warn_lost_binding(const char *collection, const HiloBinding *binding)
{
	static bool warned = false;

	if (warned)
		return;
	warned = true;
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("ids of collection \"%s\" are not looked at in table \"%s.%s\"",
					collection, NameStr(binding->schema_name), NameStr(binding->table_name)),
			 errdetail("There is no such table with column \"%s\" that belongs to role \"%s\".",
					   NameStr(binding->column_name), NameStr(binding->owner)),
			 errhint("Bind the collection again with hilo.bind(), or call hilo.unbind().")));
}

/*
 * A collection that has no bindings, as most have none, costs no memory, and a draw of it
 * no look.
 *
 * A binding that does not count may do so later, when a table of that name is made or renamed.
 * Its OID is not known yet, so any message may be about it.
 */
void
hilo_ids_of_collection(HiloIds **known, const char *collection)
{
	List	   *bindings = hilo_bindings(collection);
	HiloIds    *ids;

	if (bindings == NIL)
	{
		if (*known != NULL)
			hilo_ids_free(*known);
		*known = NULL;
		return;
	}
	if (*known == NULL)
		*known = hilo_ids_create();
	ids = *known;
	clear_places(ids);
	foreach_ptr(const HiloBinding, binding, bindings)
	{
		MemoryContext old = MemoryContextSwitchTo(ids->context);

		if (OidIsValid(binding->relation))
			find_places(ids, binding->relation, NameStr(binding->column_name));
		else
		{
			ids->heeds_all = true;
			warn_lost_binding(collection, binding);
		}
		MemoryContextSwitchTo(old);
	}
	ids->is_current = !ids->has_missed;
}

void
hilo_ids_of_column(HiloIds *ids, Oid relation, AttrNumber attnum)
{
	MemoryContext old = MemoryContextSwitchTo(ids->context);

	clear_places(ids);
	find_places(ids, relation, get_attname(relation, attnum, false));
	MemoryContextSwitchTo(old);
	ids->is_current = !ids->has_missed;
}

/*
 * Search
 */

/*
 * True if one of the versions of the row that the scan is at counts: committed, or of a
 * transaction that is still open, because that may commit.  An entry can lead to several versions,
 * which follow each other on the page.  The dirty snapshot alone could miss a row that is being
 * updated: so once a row does not count, the scan begins anew with a snapshot as well, which
 * must be older than what is read of the index.
 */
static bool
row_counts(IndexScanDesc scan, TupleTableSlot **slot, Snapshot now)
{
	SnapshotData dirty;

	InitDirtySnapshot(dirty);
	if (*slot == NULL)
		*slot = table_slot_create(scan->heapRelation, NULL);
	while (index_fetch_heap(scan, *slot))
	{
		if (table_tuple_satisfies_snapshot(scan->heapRelation, *slot, &dirty) ||
			(now != NULL && table_tuple_satisfies_snapshot(scan->heapRelation, *slot, now)))
			return true;
		if (!scan->xs_heap_continue)
			break;
	}
	return false;
}

/*
 * Find the first entry of an index with these keys whose row counts; table and index are
 * open.  *id gets the number in it, if id is not NULL, which the index must be one of integers for.
 * After most_passed entries whose rows are dead, the next one counts.
 *
 * The scan itself is one with SnapshotAny, and what is visible is decided here.  So it leaves no
 * predicate lock, and a draw can neither raise a serialization failure nor cause one elsewhere.
 *
 * In most searches the first entry counts, or there is none.  So the snapshot, which
 * costs more than all the rest, is taken only when a row turns out not to count.
 */
static bool
search_index(Relation table, Relation index, ScanKey keys, int key_count,
			 ScanDirection direction, int64 most_passed, int64 *id)
{
	IndexScanDesc scan = hilo_index_beginscan(table, index, SnapshotAny, key_count);
	TupleTableSlot *slot = NULL;
	Snapshot	now = NULL;
	int64		passed = 0;
	bool		found = false;

	scan->xs_want_itup = id != NULL;
	index_rescan(scan, keys, key_count, NULL, 0);
	while (!found && index_getnext_tid(scan, direction) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (++passed > most_passed || row_counts(scan, &slot, now))
			found = true;
		else if (now == NULL)
		{
			/* What the index has from now on is newer than the snapshot. */
			now = hilo_snapshot_now(RelationGetRelid(table), InvalidCommandId);
			index_rescan(scan, keys, key_count, NULL, 0);
			passed = 0;
		}
	}
	if (found && id != NULL)
	{
		Oid			type = index->rd_opcintype[0];
		bool		isnull;
		Datum		value = index_getattr(scan->xs_itup, 1, scan->xs_itupdesc, &isnull);

		*id = type == INT2OID ? DatumGetInt16(value) :
			type == INT4OID ? DatumGetInt32(value) : DatumGetInt64(value);
	}
	index_endscan(scan);
	if (slot != NULL)
		ExecDropSingleTupleTableSlot(slot);
	if (now != NULL)
		UnregisterSnapshot(now);
	return found;
}

/*
 * Find the lowest id from low to high in an index of integers, or the highest one.  Both bounds
 * are keys, so that the server stops at the first entry beyond; a single number is one key, which
 * is cheaper.  The keys are always of type bigint, whatever the column's: its family has functions
 * that compare the two, so a number that does not fit the column is simply not found.
 */
static bool
search_numbers(Relation table, Relation index, int64 low, int64 high, bool highest,
			   int64 most_passed, int64 *id)
{
	Oid			type = index->rd_opcintype[0];
	bool		is_descending = (index->rd_indoption[0] & INDOPTION_DESC) != 0;
	ScanDirection direction = is_descending != highest ?
		BackwardScanDirection : ForwardScanDirection;
	ScanKeyData keys[2];

	if (low == high)
	{
		ScanKeyEntryInitialize(&keys[0], 0, 1, BTEqualStrategyNumber, INT8OID, InvalidOid,
							   type == INT2OID ? F_INT28EQ : type == INT4OID ? F_INT48EQ : F_INT8EQ,
							   Int64GetDatum(low));
		*id = low;
		return search_index(table, index, keys, 1, direction, most_passed, NULL);
	}
	ScanKeyEntryInitialize(&keys[0], 0, 1, BTGreaterEqualStrategyNumber, INT8OID, InvalidOid,
						   type == INT2OID ? F_INT28GE : type == INT4OID ? F_INT48GE : F_INT8GE,
						   Int64GetDatum(low));
	ScanKeyEntryInitialize(&keys[1], 0, 1, BTLessEqualStrategyNumber, INT8OID, InvalidOid,
						   type == INT2OID ? F_INT28LE : type == INT4OID ? F_INT48LE : F_INT8LE,
						   Int64GetDatum(high));
	return search_index(table, index, keys, lengthof(keys), direction, most_passed, id);
}

/* The id of a number as text, as the caller of the look writes it. */
static text *
build_id(const HiloIds *ids, int64 number)
{
	return hilo_build_id(ids->start, ids->start_len, number, ids->tag);
}

/*
 * True if an index of text has no entry that could be the id of a number from low to high.  In the
 * order of bytes, the ids of numbers with equally many digits are in the order of the numbers.
 * So one search passes all of them, and whatever has another length is none of them, unless so
 * much of it lies between them that the search of each is cheaper.
 *
 * The opposite does not hold: orders/100-A to orders/163-A have orders/120-B between them.
 */
static bool
has_none_between(const HiloIds *ids, Relation table, Relation index, int64 low, int64 high)
{
	text	   *low_id;
	text	   *high_id;
	ScanKeyData keys[2];
	IndexScanDesc scan;
	bool		none = true;

	if (index->rd_indcollation[0] != C_COLLATION_OID)
		return false;
	low_id = build_id(ids, low);
	high_id = build_id(ids, high);
	if (VARSIZE(low_id) != VARSIZE(high_id))
		return false;
	ScanKeyEntryInitialize(&keys[0], 0, 1, BTGreaterEqualStrategyNumber, TEXTOID,
						   C_COLLATION_OID, F_TEXT_GE, PointerGetDatum(low_id));
	ScanKeyEntryInitialize(&keys[1], 0, 1, BTLessEqualStrategyNumber, TEXTOID,
						   C_COLLATION_OID, F_TEXT_LE, PointerGetDatum(high_id));
	scan = hilo_index_beginscan(table, index, SnapshotAny, lengthof(keys));
	scan->xs_want_itup = true;
	index_rescan(scan, keys, lengthof(keys), NULL, 0);
	for (int passed = 0; none && index_getnext_tid(scan, ForwardScanDirection) != NULL; passed++)
	{
		bool		isnull;
		Datum		entry = index_getattr(scan->xs_itup, 1, scan->xs_itupdesc, &isnull);

		none = passed < TEXT_WINDOW && toast_raw_datum_size(entry) != VARSIZE(low_id);
	}
	index_endscan(scan);
	return none;
}

/*
 * Find the lowest number from low to high whose id is in an index of text.  There the order
 * is not that of numbers: orders/10-A comes before orders/9-A.  So each number is a search of its
 * own, unless has_none_between() can answer for all.
 */
static bool
search_texts(const HiloIds *ids, Relation table, Relation index, int64 low, int64 high, int64 *id)
{
	if (low < high && has_none_between(ids, table, index, low, high))
		return false;
	for (int64 number = low;; number++)
	{
		text	   *wanted = build_id(ids, number);
		ScanKeyData key;
		bool		found;

		CHECK_FOR_INTERRUPTS();
		ScanKeyEntryInitialize(&key, 0, 1, BTEqualStrategyNumber, TEXTOID,
							   index->rd_indcollation[0], F_TEXTEQ, PointerGetDatum(wanted));
		found = search_index(table, index, &key, 1, ForwardScanDirection, MAX_PASSED, NULL);
		pfree(wanted);
		*id = number;
		if (found || number == high)
			return found;
	}
}

/*
 * Open the index of a place, whose table is open; NULL: there is none that is not locked.
 *
 * Since the place was found, the index may have been dropped, or REINDEX CONCURRENTLY may have put
 * another one in its stead, of which the message arrives only now, with the lock.  Then that one is
 * taken, because a number that was not looked at would count as free.
 */
static Relation
open_index(HiloIds *ids, HiloPlace *place, Relation table)
{
	Relation	index = open_if_free(place->index);
	MemoryContext old;

	if (index != NULL && index->rd_rel->relkind == RELKIND_INDEX &&
		index->rd_index->indrelid == place->table && index->rd_index->indisvalid)
		return index;
	ids->is_current = false;
	if (index != NULL)
		relation_close(index, AccessShareLock);
	old = MemoryContextSwitchTo(ids->context);
	index = find_index(ids, place, table) ? open_if_free(place->index) : NULL;
	MemoryContextSwitchTo(old);
	return index;
}

/*
 * Find the lowest id from low to high in a place.  Returns false if there is none; *id may have
 * changed then.  If the place cannot be looked into, all places count as out of date.
 */
static bool
look_into(HiloIds *ids, HiloPlace *place, int64 low, int64 high, int64 *id)
{
	Relation	table = open_if_free(place->table);
	Relation	index = table == NULL ? NULL : open_index(ids, place, table);
	bool		found = false;

	if (table == NULL)
		note_locked(ids, place->table);
	if (index == NULL || is_being_built(index))
		ids->is_current = false;
	else if (place->is_text)
		found = search_texts(ids, table, index, low, high, id);
	else
		found = search_numbers(table, index, low, high, false, MAX_PASSED, id);

	if (index != NULL)
		relation_close(index, AccessShareLock);
	if (table != NULL)
		relation_close(table, AccessShareLock);
	return found;
}

/*
 * Afterwards ids->is_current says whether the answer is certain: it is not if a place could not be
 * looked into, or a message has come that there is another one.
 *
 * Once an id is found, only lower ones are searched for in the places that follow.
 */
bool
hilo_ids_have(HiloIds *ids, int64 low, int64 high, int64 *id)
{
	List	   *places = ids->places;
	bool		found = false;

	for (int i = 0; i < list_length(places) && !(found && *id == low); i++)
	{
		int64		other;

		if (!look_into(ids, list_nth(places, i), low, found ? *id : high, &other))
			continue;
		*id = other;
		found = true;
	}
	HILO_FAILURE_POINT("looked");
	return found;
}

/*
 * The end of the ids
 */

/* The first index of a table that can be looked into for the column, opened; NULL: there is none. */
static Relation
open_answering_index(Relation table, AttrNumber attnum)
{
	foreach_oid(oid, RelationGetIndexList(table))
	{
		Relation	index = index_open(oid, AccessShareLock);
		bool		is_text;

		if (index_answers(index, attnum, &is_text) && !is_text && !is_being_built(index))
			return index;
		index_close(index, AccessShareLock);
	}
	return NULL;
}

/*
 * Other than a draw, this waits for locks: a caller that asks for the end wants all ids.  For the
 * same reason all dead entries are passed, however many there are.
 *
 * A table without blocks needs no index.  A foreign table has rows that no index here can find.
 */
bool
hilo_end_of_ids(Oid relation, AttrNumber attnum, int64 low, int64 high, bool highest,
				int64 *id, bool *index_missing)
{
	char	   *column = get_attname(relation, attnum, false);
	bool		found = false;

	*index_missing = false;
	foreach_oid(oid, find_all_inheritors(relation, AccessShareLock, NULL))
	{
		Relation	table = relation_open(oid, AccessShareLock);
		AttrNumber	number = get_attnum(oid, column);
		char		kind = table->rd_rel->relkind;
		Relation	index = NULL;

		if (kind == RELKIND_RELATION && number > 0 && !RELATION_IS_OTHER_TEMP(table))
		{
			index = open_answering_index(table, number);
			if (index == NULL && RelationGetNumberOfBlocks(table) > 0)
				*index_missing = true;
		}
		else if (kind == RELKIND_FOREIGN_TABLE)
			*index_missing = true;

		/* From the next table only an id farther out is wanted. */
		if (index != NULL &&
			search_numbers(table, index, low, high, highest, PG_INT64_MAX, id))
		{
			found = true;
			if (highest)
				low = *id;
			else
				high = *id;
		}
		if (index != NULL)
			index_close(index, AccessShareLock);
		relation_close(table, AccessShareLock);
	}
	return found;
}

/*
 * The window
 */

/*
 * True if the command is the one that looked last.  The statement alone does not tell: a function
 * can insert an id by hand between two draws of one statement.  A command that follows one which
 * has written has another id within the transaction; others in one statement count as one.
 */
static bool
is_same_command(const HiloWindow *window)
{
	return window->statement == GetCurrentStatementStartTimestamp() &&
		window->transaction == hilo_local_xid() &&
		window->command == GetCurrentCommandId(false);
}

/*
 * True if the window was left open and its second is not over.  Without a sign, time that has
 * passed, or was set back, is too long as well.
 */
static bool
stays_open(const HiloWindow *window)
{
	return window->open_until != 0 &&
		(uint64) (window->open_until - GetCurrentTimestamp()) <= WINDOW_OPEN;
}

/*
 * Remember which command looks.  Its first window is empty, so a statement that inserts one row
 * searches for no number but its own; each window has twice as many numbers as the one before.
 */
static void
remember_command(HiloIds *ids)
{
	HiloWindow *window = &ids->window;
	bool		is_left_open = list_length(ids->places) > FEW_PLACES;

	window->statement = GetCurrentStatementStartTimestamp();
	window->transaction = hilo_local_xid();
	window->command = GetCurrentCommandId(false);
	window->open_until = is_left_open ? GetCurrentTimestamp() + WINDOW_OPEN : 0;
	if (!is_left_open)
		window->steps = 0;
}

/*
 * Look at a number, and at those that follow it, as far as the next window goes.  Those that were
 * found to be free are the window.  Returns false if there is no id among them.
 *
 * A search of a wide range costs no more than one of a single number, as long as it finds nothing
 * or the first entry.  But if all numbers of a range belong to rows that were deleted, the search
 * passes them one by one.  So a window is only as wide as the draws of the command so far justify,
 * and begins with none again after an id was found, which is mostly that of a row that another
 * session has just inserted.
 */
static bool
open_window(HiloIds *ids, const HiloCourse *course, int64 number, int64 *id)
{
	HiloWindow *window = &ids->window;
	int64		most = ids->holds_text ? TEXT_WINDOW : Max(WINDOW, WINDOW_A_PLACE * list_length(ids->places));
	int64		steps = Min(Min(window->steps, most), hilo_steps_to(course, number, course->end));
	int64		high = number + steps * course->increment;
	bool		found = hilo_ids_have(ids, number, high, id);

	window->steps = found ? 0 : 2 * steps + 1;
	window->low = number;
	window->high = found ? *id - 1 : high;
	return found;
}

/*
 * True if the number was looked at, and that still holds.  It is used up then, because the sequence
 * may be set back to a lower number, and draw it again after a row has been inserted with it.
 */
static inline bool
window_has(HiloWindow *window, int64 number)
{
	if (number <= window->low || number > window->high ||
		!(is_same_command(window) || stays_open(window)))
		return false;
	window->low = number;
	return true;
}

void
hilo_ids_close_window(HiloIds *ids)
{
	ids->window.high = ids->window.low;
}

/* Numbers that are free for other ids than these have to be looked at again. */
void
hilo_ids_set_form(HiloIds *ids, const char *start, int start_len, const char *tag)
{
	uint64		form = hash_bytes_extended((const unsigned char *) tag, strlen(tag), start_len);

	form = hash_bytes_extended((const unsigned char *) start, start_len, form);
	if (ids->form_hash != form)
		hilo_ids_close_window(ids);
	ids->form_hash = form;
	ids->start = start;
	ids->start_len = start_len;
	ids->tag = tag;
}

/*
 * A sequence that counts down has no windows, because a search finds the lowest id of several
 * numbers, not the one that comes first on its way.  So each of its numbers costs a search.
 */
bool
hilo_ids_has(HiloIds *ids, const HiloCourse *course, int64 number)
{
	int64		id;

	if (ids->places == NIL || window_has(&ids->window, number))
		return false;
	if (!is_same_command(&ids->window))
		remember_command(ids);
	if (course->increment < 0)
	{
		ids->window.low = ids->window.high;
		return hilo_ids_have(ids, number, number, &id);
	}
	return open_window(ids, course, number, &id) && id == number;
}

/*
 * The next free number
 */

/* What the search for a free number looks at. */
typedef struct HiloPassing
{
	HiloIds    *ids;
	const HiloCourse *course;
	int64		last;			/* the search begins beyond it */
} HiloPassing;

/* A HiloTakenCallback for the number so many steps beyond the last one. */
static bool
is_taken_at(int64 steps, void *arg)
{
	const HiloPassing *passing = arg;
	int64		number = passing->last + steps * passing->course->increment;
	int64		id;

	return hilo_ids_have(passing->ids, number, number, &id);
}

/*
 * The search counts steps, not numbers: so it need not know of increments, nor of sequences that
 * count down.  Upwards it ends at the end of the owning column's type, because numbers beyond fit
 * no row: there the draw fails with the type's error, not by a number that nothing could use.
 */
bool
hilo_ids_next_free(HiloIds *ids, const HiloCourse *course, int64 last, int64 *free, int *tries)
{
	HiloPassing passing = {ids, course, last};
	int64		room = hilo_steps_to(course, last, course->end);
	int64		steps;

	if (course->increment > 0 && last <= ids->limit)
		room = Min(room, hilo_steps_to(course, last, ids->limit));
	steps = hilo_free_search(0, room, is_taken_at, &passing, tries);
	*free = last + (steps > 0 ? steps : room) * course->increment;

	/* The draw that follows need not look at it again. */
	if (steps > 0 && course->increment > 0)
	{
		ids->window.low = *free - 1;
		ids->window.high = *free;
	}
	return steps > 0;
}

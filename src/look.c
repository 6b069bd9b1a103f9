/*-------------------------------------------------------------------------
 *
 * look.c
 *	  The look: is a number an id of a table already, and which is the next one
 *	  that is not?
 *
 * Each search descends an index once, to the lowest id at or above a number.  All
 * numbers before that id are free, too, so one search usually serves many draws:
 * these numbers are the window.  A window lasts only for one command, because the
 * session itself may insert ids by hand in the next one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_language.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
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
 * The most numbers in a window: a search among many ids costs more the more of them it
 * passes.  With many places it has more, so that not every number costs a search of each
 * of them; and with more than FEW_PLACES it stays open for WINDOW_OPEN microseconds.
 */
#define WINDOW			1000
#define WINDOW_A_PLACE	64
#define FEW_PLACES		4
#define WINDOW_OPEN		USECS_PER_SEC

/*
 * After so many entries whose rows are dead, the next one counts, so that a search stays
 * short in an index that vacuum has not cleaned for long.
 */
#define MAX_PASSED		1000

/* At most one warning about what cannot be looked at in so many microseconds. */
#define WARNING_PAUSE	(60 * USECS_PER_SEC)

/* An index to look into. */
typedef struct HiloPlace
{
	Oid			table;
	Oid			index;
	bool		is_text;		/* it is in the order of text */
} HiloPlace;

/* What this session knows of all counters: a list of HiloIds *. */
static List *all_ids = NIL;

/* How many messages there were about any relation. */
static uint64 all_messages = 0;

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

/* Called for each message about a relation; InvalidOid: about all. */
static void
ids_relation_changed(Oid relation)
{
	ListCell   *lc;

	all_messages++;
	foreach(lc, all_ids)
	{
		HiloIds    *ids = lfirst(lc);

		if (!OidIsValid(relation) || ids->awaits_table ||
			list_member_oid(ids->relations, relation))
		{
			ids->messages++;
			ids->is_current = false;
			ids->window.high = ids->window.low;
		}
	}
}

/* Syscache callback: ALTER SEQUENCE ... OWNED BY changes only pg_sequence. */
static void
ids_sequence_changed(Datum arg, int cacheid, uint32 hash)
{
	ids_relation_changed(InvalidOid);
}

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
		hilo_on_relation_change(ids_relation_changed);
		CacheRegisterSyscacheCallback(SEQRELID, ids_sequence_changed, (Datum) 0);
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
 */
static bool
index_answers(Relation index, AttrNumber attnum, bool *is_text)
{
	Form_pg_index form = index->rd_index;

	*is_text = index->rd_opfamily[0] == TEXT_BTREE_FAM_OID ||
		index->rd_opfamily[0] == TEXT_PATTERN_BTREE_FAM_OID;
	return index->rd_rel->relkind == RELKIND_INDEX &&
		index->rd_rel->relam == BTREE_AM_OID &&
		form->indisvalid && form->indisready &&
		form->indkey.values[0] == attnum &&
		(*is_text || index->rd_opfamily[0] == INTEGER_BTREE_FAM_OID) &&
		(!OidIsValid(index->rd_indcollation[0]) ||
		 get_collation_isdeterministic(index->rd_indcollation[0])) &&
		heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL);
}

/* Find the index of one table that can be looked into, if there is one. */
static void
find_place(HiloIds *ids, Relation table, AttrNumber attnum)
{
	HiloPlace	place = {RelationGetRelid(table)};

	foreach_oid(oid, RelationGetIndexList(table))
	{
		Relation	index = open_if_free(oid);

		ids->relations = lappend_oid(ids->relations, oid);
		if (index == NULL)
		{
			ids->is_complete = false;
			continue;
		}
		if (!OidIsValid(place.index) && index_answers(index, attnum, &place.is_text))
			place.index = oid;
		relation_close(index, AccessShareLock);
	}
	if (!OidIsValid(place.index))
	{
		ids->without_index = place.table;
		return;
	}
	ids->holds_text = ids->holds_text || place.is_text;
	ids->places = lappend(ids->places, memcpy(palloc(sizeof(place)), &place, sizeof(place)));
}

/* Warn that a table is not looked at. */
static void
warn_locked(Oid table)
{
	static TimestampTz warned_at = 0;
	TimestampTz now = GetCurrentTimestamp();
	char	   *name = get_rel_name(table);

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
 * Find the places of a column in its table, and in the partitions and children of that.
 * Messages come with each lock: one that comes before all these are known may be about any
 * of them, which has another partition or child now.
 */
static void
find_places(HiloIds *ids, Oid relation, const char *column)
{
	uint64		before = all_messages;
	List	   *parts = find_all_inheritors(relation, NoLock, NULL);

	foreach_oid(oid, parts)
		ids->relations = list_append_unique_oid(ids->relations, oid);
	if (before != all_messages)
		ids->messages++;
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
			warn_locked(oid);
			ids->is_complete = false;
			continue;
		}
		if (!RELATION_IS_OTHER_TEMP(table))
			find_place(ids, table, attnum);
		relation_close(table, AccessShareLock);
	}
}

/* True for nextval and hilo.nextval.  Only superusers make functions in C. */
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
 * The call of nextval or hilo.nextval in an expression that draws from one constant sequence
 * and does nothing else, except for casts of the number; NULL: it is no such expression.
 */
static FuncExpr *
nextval_call(Node *expression)
{
	while (expression != NULL)
	{
		FuncExpr   *call = (FuncExpr *) expression;
		Const	   *argument;

		if (IsA(expression, RelabelType))
		{
			expression = (Node *) ((RelabelType *) expression)->arg;
			continue;
		}
		if (IsA(expression, CoerceToDomain))
		{
			expression = (Node *) ((CoerceToDomain *) expression)->arg;
			continue;
		}
		if (!IsA(expression, FuncExpr) || call->args == NIL)
			return NULL;
		argument = linitial(call->args);
		if (call->funcformat == COERCE_IMPLICIT_CAST || call->funcformat == COERCE_EXPLICIT_CAST)
		{
			expression = (Node *) argument;
			continue;
		}
		return is_nextval(call->funcid) && IsA(argument, Const) && !argument->constisnull ?
			call : NULL;
	}
	return NULL;
}

Oid
hilo_sequence_in_default(Node *expression, bool *is_plain)
{
	FuncExpr   *call = nextval_call(expression);

	if (call == NULL)
		return InvalidOid;
	*is_plain = call->funcid == F_NEXTVAL;
	return DatumGetObjectId(((Const *) linitial(call->args))->constvalue);
}

/* True if the expression draws from the sequence, and does nothing else. */
static bool
draws_from(Node *expression, Oid sequence)
{
	bool		is_plain;

	return hilo_sequence_in_default(expression, &is_plain) == sequence;
}

/* The stored default of a column; NULL: it has none. */
static Node *
column_default(Relation table, AttrNumber attnum)
{
	TupleConstr *constraints = RelationGetDescr(table)->constr;

	for (int i = 0; constraints != NULL && i < constraints->num_defval; i++)
	{
		if (constraints->defval[i].adnum == attnum)
			return stringToNode(constraints->defval[i].adbin);
	}
	return NULL;
}

/* The highest number that fits into a column of that type. */
static int64
type_limit(Oid type)
{
	switch (getBaseType(type))
	{
		case INT2OID:
			return PG_INT16_MAX;
		case INT4OID:
			return PG_INT32_MAX;
		default:
			return PG_INT64_MAX;
	}
}

/* Forget the places. */
static void
begin_places(HiloIds *ids)
{
	MemoryContextReset(ids->context);
	ids->places = ids->relations = NIL;
	ids->is_current = ids->awaits_table = ids->holds_text = false;
	ids->is_complete = true;
	ids->without_index = InvalidOid;
	ids->limit = PG_INT64_MAX;
	ids->window.high = ids->window.low;
}

/*
 * The owner is found by what pg_depend says of the sequence, not of the table: so no role
 * can put a column of its own there.  A column that owns the sequence without drawing
 * from it does not count, because programs keep numbers of blocks in such sequences.
 */
void
hilo_ids_of_sequence(HiloIds *ids, Oid sequence)
{
	uint64		messages = ids->messages;
	MemoryContext old;
	Oid			owner;
	int32		attnum;
	bool		is_identity;
	Relation	table;

	if (likely(ids->is_current))
		return;
	begin_places(ids);
	is_identity = sequenceIsOwned(sequence, DEPENDENCY_INTERNAL, &owner, &attnum);
	if (is_identity || sequenceIsOwned(sequence, DEPENDENCY_AUTO, &owner, &attnum))
	{
		old = MemoryContextSwitchTo(ids->context);
		ids->relations = list_make1_oid(owner);
		table = open_if_free(owner);
		if (table == NULL)
		{
			warn_locked(owner);
			ids->is_complete = false;
		}
		else if (is_identity || draws_from(column_default(table, attnum), sequence))
		{
			Form_pg_attribute column = TupleDescAttr(RelationGetDescr(table), attnum - 1);

			ids->limit = type_limit(column->atttypid);
			find_places(ids, owner, NameStr(column->attname));
		}
		if (table != NULL)
			relation_close(table, AccessShareLock);
		MemoryContextSwitchTo(old);
	}
	HILO_FAILURE_POINT("places found");
	ids->is_current = ids->is_complete && ids->messages == messages;
}

/* Warn, once in a session, that a binding does not count. */
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

HiloIds *
hilo_ids_of_collection(HiloIds *ids, const char *collection)
{
	List	   *bindings = hilo_bindings(collection);
	uint64		messages;

	if (bindings == NIL)
	{
		if (ids != NULL)
			hilo_ids_free(ids);
		return NULL;
	}
	if (ids == NULL)
		ids = hilo_ids_create();
	messages = ids->messages;
	begin_places(ids);
	foreach_ptr(const HiloBinding, binding, bindings)
	{
		MemoryContext old = MemoryContextSwitchTo(ids->context);

		if (OidIsValid(binding->relation))
			find_places(ids, binding->relation, NameStr(binding->column_name));
		else
		{
			ids->awaits_table = true;
			warn_lost_binding(collection, binding);
		}
		MemoryContextSwitchTo(old);
	}
	ids->is_current = ids->is_complete && ids->messages == messages;
	return ids;
}

void
hilo_ids_of_column(HiloIds *ids, Oid relation, AttrNumber attnum)
{
	uint64		messages = ids->messages;
	char	   *column = get_attname(relation, attnum, false);
	MemoryContext old = MemoryContextSwitchTo(ids->context);

	begin_places(ids);
	find_places(ids, relation, column);
	MemoryContextSwitchTo(old);
	if (OidIsValid(ids->without_index))
		relation = ids->without_index;
	if (ids->places == NIL || OidIsValid(ids->without_index))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot look up ids in column \"%s\" of table \"%s\"",
						column, get_rel_name(relation)),
				 errdetail("No index on the table leads with the column."),
				 errhint("CREATE INDEX ON %s (%s);",
						 quote_qualified_identifier(get_namespace_name(get_rel_namespace(relation)),
													get_rel_name(relation)),
						 quote_identifier(column))));
	ids->is_current = ids->is_complete && ids->messages == messages;
}

/*
 * Search
 */

/*
 * True if one of the versions of the row that the scan is at counts: committed, or of a
 * transaction that is still open.  The dirty snapshot alone could miss a row that is being
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

/* The integer in a value of that type. */
static int64
integer_in(Datum value, Oid type)
{
	return type == INT2OID ? DatumGetInt16(value) :
		type == INT4OID ? DatumGetInt32(value) : DatumGetInt64(value);
}

/*
 * Find the lowest id from low to high in an index, which is open like its table, or the
 * highest one.  Both bounds are keys, so that the server stops at the first entry beyond.
 * After most_passed entries whose rows are dead, the next one counts.
 */
static bool
search_index(Relation table, Relation index, int64 low, int64 high, bool highest,
			 int64 most_passed, int64 *id)
{
	Oid			type = index->rd_opcintype[0];
	RegProcedure at_least = type == INT2OID ? F_INT28GE : type == INT4OID ? F_INT48GE : F_INT8GE;
	RegProcedure at_most = type == INT2OID ? F_INT28LE : type == INT4OID ? F_INT48LE : F_INT8LE;
	bool		is_descending = (index->rd_indoption[0] & INDOPTION_DESC) != 0;
	ScanDirection direction = is_descending != highest ?
		BackwardScanDirection : ForwardScanDirection;
	IndexScanDesc scan = hilo_index_beginscan(table, index, SnapshotAny, 2);
	TupleTableSlot *slot = NULL;
	Snapshot	now = NULL;
	ScanKeyData keys[2];
	int64		passed = 0;
	bool		found = false;

	ScanKeyEntryInitialize(&keys[0], 0, 1, BTGreaterEqualStrategyNumber, INT8OID, InvalidOid,
						   at_least, Int64GetDatum(low));
	ScanKeyEntryInitialize(&keys[1], 0, 1, BTLessEqualStrategyNumber, INT8OID, InvalidOid,
						   at_most, Int64GetDatum(high));
	scan->xs_want_itup = true;
	index_rescan(scan, keys, lengthof(keys), NULL, 0);
	while (!found && index_getnext_tid(scan, direction) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (++passed > most_passed || row_counts(scan, &slot, now))
		{
			bool		isnull;

			*id = integer_in(index_getattr(scan->xs_itup, 1, scan->xs_itupdesc, &isnull), type);
			found = true;
		}
		else if (now == NULL)
		{
			now = hilo_snapshot_now(RelationGetRelid(table), InvalidCommandId);
			index_rescan(scan, keys, lengthof(keys), NULL, 0);
			passed = 0;
		}
	}
	index_endscan(scan);
	if (slot != NULL)
		ExecDropSingleTupleTableSlot(slot);
	if (now != NULL)
		UnregisterSnapshot(now);
	return found;
}

/* True if an index, which is open like its table, has a row that counts with this key. */
static bool
search_exact(Relation table, Relation index, ScanKey key)
{
	IndexScanDesc scan = hilo_index_beginscan(table, index, SnapshotAny, 1);
	TupleTableSlot *slot = NULL;
	Snapshot	now = NULL;
	int			passed = 0;
	bool		found = false;

	index_rescan(scan, key, 1, NULL, 0);
	while (!found && index_getnext_tid(scan, ForwardScanDirection) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		found = ++passed > MAX_PASSED || row_counts(scan, &slot, now);
		if (!found && now == NULL)
		{
			now = hilo_snapshot_now(RelationGetRelid(table), InvalidCommandId);
			index_rescan(scan, key, 1, NULL, 0);
		}
	}
	index_endscan(scan);
	if (slot != NULL)
		ExecDropSingleTupleTableSlot(slot);
	if (now != NULL)
		UnregisterSnapshot(now);
	return found;
}

/* True if the number is in an index of integers. */
static bool
search_number(Relation table, Relation index, int64 number)
{
	Oid			type = index->rd_opcintype[0];
	RegProcedure equal = type == INT2OID ? F_INT28EQ : type == INT4OID ? F_INT48EQ : F_INT8EQ;
	ScanKeyData key;

	ScanKeyEntryInitialize(&key, 0, 1, BTEqualStrategyNumber, INT8OID, InvalidOid,
						   equal, Int64GetDatum(number));
	return search_exact(table, index, &key);
}

/* True if the id of the number is in an index of text. */
static bool
search_text(const HiloIds *ids, Relation table, Relation index, int64 number)
{
	text	   *id = hilo_build_id(ids->start, ids->start_len, number, ids->tag);
	ScanKeyData key;
	bool		found;

	ScanKeyEntryInitialize(&key, 0, 1, BTEqualStrategyNumber, TEXTOID,
						   index->rd_indcollation[0], F_TEXTEQ, PointerGetDatum(id));
	found = search_exact(table, index, &key);
	pfree(id);
	return found;
}

/*
 * Find the lowest id from low to high in a place.  Returns false if there is none; *is_certain
 * is set to false if the place could not be looked into.
 */
static bool
look_into(const HiloIds *ids, const HiloPlace *place, int64 low, int64 high, int64 *id, bool *is_certain)
{
	Relation	table = open_if_free(place->table);
	Relation	index = NULL;
	bool		found = false;

	if (table == NULL)
		warn_locked(place->table);
	else
		index = open_if_free(place->index);

	if (index == NULL || index->rd_rel->relkind != RELKIND_INDEX ||
		index->rd_index->indrelid != place->table || !index->rd_index->indisvalid ||
		ReindexIsProcessingIndex(place->index) ||
		(hilo_is_new(index) && RelationGetNumberOfBlocks(index) == 0))
		*is_certain = false;
	else if (!place->is_text && low == high)
	{
		found = search_number(table, index, low);
		if (found)
			*id = low;
	}
	else if (!place->is_text)
		found = search_index(table, index, low, high, false, MAX_PASSED, id);
	else
	{
		for (int64 number = low; number <= high && !found; number++)
		{
			CHECK_FOR_INTERRUPTS();
			found = search_text(ids, table, index, number);
			if (found)
				*id = number;
			if (number == PG_INT64_MAX)
				break;
		}
	}

	if (index != NULL)
		relation_close(index, AccessShareLock);
	if (table != NULL)
		relation_close(table, AccessShareLock);
	return found;
}

/*
 * Find the lowest id from low to high.  Returns false if there is none.  *is_certain is
 * true unless a place could not be looked into, or a message says that there is another one.
 */
static bool
look_everywhere(HiloIds *ids, int64 low, int64 high, int64 *id, bool *is_certain)
{
	uint64		messages = ids->messages;
	List	   *places = ids->places;
	bool		found = false;

	*is_certain = ids->is_current;
	for (int i = 0; i < list_length(places) && !(found && *id == low); i++)
	{
		if (look_into(ids, list_nth(places, i), low, found ? *id : high, id, is_certain))
			found = true;
	}
	HILO_FAILURE_POINT("looked");
	*is_certain = *is_certain && ids->messages == messages;
	return found;
}

/*
 * The end of the ids
 */

/*
 * The first index of a table that can be looked into for the column, opened; NULL: there is
 * none.  An index without blocks is still being built.
 */
static Relation
open_answering_index(Relation table, AttrNumber attnum)
{
	foreach_oid(oid, RelationGetIndexList(table))
	{
		Relation	index = index_open(oid, AccessShareLock);
		bool		is_text;

		if (index_answers(index, attnum, &is_text) && !is_text && !ReindexIsProcessingIndex(oid) &&
			!(hilo_is_new(index) && RelationGetNumberOfBlocks(index) == 0))
			return index;
		index_close(index, AccessShareLock);
	}
	return NULL;
}

/*
 * Search the end of one table's index for an id between the bounds that is beyond *id, and
 * set *id to it.  Returns false if no index answers; a table without blocks needs none.
 */
static bool
look_at_end(Oid relation, const char *column, int64 low, int64 high, bool highest,
			bool *found, int64 *id)
{
	Relation	table = relation_open(relation, AccessShareLock);
	AttrNumber	attnum = get_attnum(relation, column);
	bool		answers = true;
	Relation	index;

	if (table->rd_rel->relkind == RELKIND_FOREIGN_TABLE)
		answers = false;
	else if (table->rd_rel->relkind == RELKIND_RELATION && attnum > 0 &&
			 !RELATION_IS_OTHER_TEMP(table))
	{
		index = open_answering_index(table, attnum);
		if (index != NULL)
		{
			if (search_index(table, index, *found && highest ? *id : low,
							 *found && !highest ? *id : high, highest, PG_INT64_MAX, id))
				*found = true;
			index_close(index, AccessShareLock);
		}
		else
			answers = RelationGetNumberOfBlocks(table) == 0;
	}
	relation_close(table, AccessShareLock);
	return answers;
}

/*
 * Other than a draw, this waits for locks: who asks for the end wants all ids.
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
		if (!look_at_end(oid, column, low, high, highest, &found, id))
			*index_missing = true;
	}
	return found;
}

bool
hilo_highest_id(Oid relation, AttrNumber attnum, int64 above, int64 *highest,
				bool *index_missing)
{
	*index_missing = false;
	return above < PG_INT64_MAX &&
		hilo_end_of_ids(relation, attnum, above + 1, PG_INT64_MAX, true, highest, index_missing);
}

/*
 * The window
 */

/* True if the command is the one that looked last. */
static bool
is_same_command(const HiloWindow *window)
{
	return window->statement == GetCurrentStatementStartTimestamp() &&
		window->transaction == hilo_local_xid() &&
		window->command == GetCurrentCommandId(false);
}

/* Note which command looks.  Its first window is empty, and each one has twice as many numbers. */
static void
begin_command(HiloIds *ids)
{
	HiloWindow *window = &ids->window;
	bool		stays_open = list_length(ids->places) > FEW_PLACES;

	window->statement = GetCurrentStatementStartTimestamp();
	window->transaction = hilo_local_xid();
	window->command = GetCurrentCommandId(false);
	window->open_until = stays_open ? GetCurrentTimestamp() + WINDOW_OPEN : 0;
	if (!stays_open)
		window->steps = 0;
}

/*
 * Look at the numbers from first on, as far as the window goes beyond low, which is that
 * number or the one before.  What was found to be free is the new window.  Returns false if
 * there is no id among them.
 */
static bool
open_window(HiloIds *ids, const HiloCourse *course, int64 low, int64 first, int64 *id)
{
	HiloWindow *window = &ids->window;
	int64		most = ids->holds_text ? 0 : Max(WINDOW, WINDOW_A_PLACE * list_length(ids->places));
	int64		steps = Min(Min(window->steps, most), hilo_steps_to(course, low, course->end));
	int64		high = low + steps * course->increment;
	bool		is_certain = true;
	bool		found = first <= high && look_everywhere(ids, first, high, id, &is_certain);

	window->steps = found ? 0 : 2 * steps + 1;
	window->low = low;
	window->high = !is_certain ? low : found ? *id - 1 : high;
	return found;
}

/* True if the number was looked at, and that still holds.  It is used up. */
static inline bool
window_has(HiloWindow *window, int64 number)
{
	if (number <= window->low || number > window->high ||
		!(is_same_command(window) ||
		  GetCurrentStatementStartTimestamp() < window->open_until))
		return false;

	/*
	 * Somebody may set the sequence to a lower number, so it is good only
	 * once.
	 */
	window->low = number;
	return true;
}

/*
 * Ids above the number, but not above last, are mostly those of rows that other sessions have
 * just inserted.  They would cut the window short, so it begins above last then.
 */
bool
hilo_ids_has(HiloIds *ids, const HiloCourse *course, int64 number, int64 last)
{
	int64		id;
	bool		is_certain;
	bool		found;

	if (ids->places == NIL || window_has(&ids->window, number))
		return false;
	if (!is_same_command(&ids->window))
		begin_command(ids);
	if (course->increment < 0)
	{
		ids->window.low = ids->window.high;
		return look_everywhere(ids, number, number, &id, &is_certain);
	}
	found = open_window(ids, course, number, number, &id);
	if (found && id > number && id <= last && last < course->end)
	{
		int64		other;

		(void) open_window(ids, course, last, last + 1, &other);
	}
	return found && id == number;
}

bool
hilo_ids_have(HiloIds *ids, int64 low, int64 high, int64 *id)
{
	bool		is_certain;

	return look_everywhere(ids, low, high, id, &is_certain);
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
	bool		is_certain;

	return look_everywhere(passing->ids, number, number, &id, &is_certain);
}

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

	/* It was looked at, so it is a window of its own. */
	if (steps > 0 && course->increment > 0)
	{
		ids->window.low = *free - 1;
		ids->window.high = *free;
	}
	return steps > 0;
}

/*-------------------------------------------------------------------------
 *
 * triggers.c
 *	  The triggers of users' tables: one assigns ids, the other makes sure that ids
 *	  chosen by hand are not drawn later.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_trigger.h"
#include "executor/executor.h"
#include "parser/parse_relation.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/sql.h"
#include "ids/assign.h"
#include "session/call.h"
#include "tables/binding.h"
#include "tables/column.h"
#include "tables/highest.h"
#include "tables/rights.h"

/*
 * Assign
 */

/*
 * BEFORE INSERT, for each row: assign the id that the row requests.  The collection
 * is by default the one named after the table, or after its topmost parent.
 */
PG_FUNCTION_INFO_V1(hilo_assign_id);

Datum
hilo_assign_id(PG_FUNCTION_ARGS)
{
	TriggerData *trigdata = hilo_api_trigger(fcinfo, "hilo.assign_id");
	Trigger    *trigger = trigdata->tg_trigger;
	Relation	rel = trigdata->tg_relation;
	HiloEntry  *entry = fcinfo->flinfo->fn_extra;
	AttrNumber	attnum;

	hilo_api_prevent_unless_may_write("hilo.assign_id()");
	if (trigger->tgnargs < 1 || trigger->tgnargs > 2)
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("%s() takes the name of the id column, and the collection's name if it differs from the table's",
						"hilo.assign_id")));
	attnum = hilo_column_number(RelationGetRelid(rel), trigger->tgargs[0]);
	if (entry == NULL)
	{
		const char *name = trigger->tgnargs == 2 ? trigger->tgargs[1] :
			get_rel_name(hilo_topmost_table(rel));

		hilo_check_holds(RelationGetRelid(rel), attnum, false);
		entry = hilo_entry(name != NULL ? name : RelationGetRelationName(rel),
						   hilo_identity_parts_separator);
		fcinfo->flinfo->fn_extra = entry;
	}
	return PointerGetDatum(hilo_assign_to_row(entry, rel, attnum,
											  trigdata->tg_trigtuple));
}

/*
 * Advance
 */

/* A column whose ids the trigger keeps the counter ahead of. */
typedef struct Watched
{
	AttrNumber	attnum;
	bool		numbers;		/* its default draws numbers, not ids */
	HiloIdReader reader;
} Watched;

/*
 * What this session knows about a trigger.  It is found out when the trigger fires
 * for the first time, and again after a message about its table.
 */
typedef struct AdvanceSite
{
	Oid			trigger;		/* hash key */
	Oid			relation;		/* its table, */
	Oid			topmost;		/* and what that is a partition of */
	uint64		changes;		/* number of messages about them, from 1; */
	uint64		known_at;		/* when the rest was found out; 0: never */
	HiloEntry  *entry;			/* of the collection */
	int			count;			/* of columns; 0: the table is not attached */
	Watched    *watched;
	bool		bound;			/* the collection is */
	bool		assigns;		/* true: it assigns ids of the requested kind
								 * to the first of them */

	uint64		readers;		/* generation of settings and row together on
								 * which they depend; 0: none yet */
	bool		looked;			/* at the ids that were there before */
	LocalTransactionId used;	/* last transaction in which statements have
								 * kept a pointer to this */
} AdvanceSite;

static HTAB *sites = NULL;

/* Called for each message about a relation; InvalidOid: about all. */
static void
table_changed(Oid relation)
{
	HASH_SEQ_STATUS status;
	AdvanceSite *site;

	hash_seq_init(&status, sites);
	while ((site = hash_seq_search(&status)) != NULL)
	{
		if (!OidIsValid(relation) || relation == site->relation ||
			relation == site->topmost)
			site->changes++;
	}
}

/*
 * What is known about a trigger.  When a new one is met, those about which nothing
 * is known any more are forgotten, because a session may meet any number of triggers
 * that are then dropped; but statements of this transaction may still be using one:
 * DETACH PARTITION drops triggers of a table in use.
 */
static AdvanceSite *
find_site(TriggerData *trigdata)
{
	Oid			trigger = trigdata->tg_trigger->tgoid;
	HASH_SEQ_STATUS status;
	AdvanceSite *site;

	if (sites == NULL)
	{
		HASHCTL		ctl = {.keysize = sizeof(Oid),.entrysize = sizeof(AdvanceSite),
		.hcxt = TopMemoryContext};

		sites = hash_create("hilo triggers", 64, &ctl,
							HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
		hilo_on_relation_change(table_changed);
	}
	site = hash_search(sites, &trigger, HASH_FIND, NULL);
	if (site == NULL)
	{
		hash_seq_init(&status, sites);
		while ((site = hash_seq_search(&status)) != NULL)
		{
			if (site->known_at == site->changes || site->used == hilo_local_xid())
				continue;
			if (site->watched != NULL)
				pfree(site->watched);
			(void) hash_search(sites, &site->trigger, HASH_REMOVE, NULL);
		}
		site = hash_search(sites, &trigger, HASH_ENTER, NULL);
		memset((char *) site + sizeof(Oid), 0, sizeof(AdvanceSite) - sizeof(Oid));
		site->relation = site->topmost = RelationGetRelid(trigdata->tg_relation);
		site->changes = 1;
	}
	site->used = hilo_local_xid();
	return site;
}

/*
 * Arguments of the trigger hilo.advance: the collection; "was " and what drew
 * before; behind "was default", that default; then perhaps "assign", and while
 * hilo.attach_online() is under way, this and the column.
 */
#define ATTACHING	"attaching"

/*
 * Find the columns that draw by the defaults of the topmost table, and of this
 * one.  Returns true if hilo.attach_online() reads the ids: the default does not
 * draw yet, but the trigger's last arguments name the column.
 */
static bool
find_columns(AdvanceSite *site, TriggerData *trigdata)
{
	Relation	rel = trigdata->tg_relation;
	char	  **args = trigdata->tg_trigger->tgargs;
	int			nargs = trigdata->tg_trigger->tgnargs;
	int			next = nargs > 1 && strcmp(args[1], "was default") == 0 ? 3 : 2;
	HiloDrawing attaching = {.name = NULL};
	List	   *drawings;

	site->count = 0;
	site->assigns = next < nargs && strcmp(args[next], "assign") == 0;
	if (rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		return false;
	drawings = hilo_drawing_columns(site->topmost, args[0]);
	if (site->topmost != site->relation)
		drawings = list_concat(drawings, hilo_drawing_columns(site->relation, args[0]));
	if (nargs > 3 && strcmp(args[nargs - 2], ATTACHING) == 0)
	{
		attaching.name = args[nargs - 1];
		drawings = lappend(drawings, &attaching);
	}
	foreach_ptr(HiloDrawing, drawing, drawings)
	{
		int			attnum = attnameAttNum(rel, drawing->name, false);
		bool		is_new = attnum > 0;

		for (int i = 0; i < site->count; i++)
			is_new = is_new && site->watched[i].attnum != attnum;
		if (!is_new)
			continue;
		site->watched = site->watched == NULL ?
			MemoryContextAlloc(TopMemoryContext, sizeof(Watched)) :
			repalloc(site->watched, (site->count + 1) * sizeof(Watched));
		site->watched[site->count].attnum = attnum;
		site->watched[site->count].numbers = drawing->numbers;
		site->count++;
	}
	return attaching.name != NULL;
}

/* Sent once per session: during a migration each row may have such a number. */
static void
warn_not_advanced(HiloCollection *collection, int64 number)
{
	const HiloRow *row = hilo_collection_row(collection);
	bool		is_above = number > row->max_value;

	if (!hilo_once("not advanced", collection->ref.name))
		return;
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("collection \"%s\" is not advanced to " INT64_FORMAT,
					collection->ref.name, number),
			 is_above ?
			 errdetail("The limit is " INT64_FORMAT ".", row->max_value) :
			 errdetail("That would use up more than half of the remaining numbers."),
			 !is_above ?
			 errhint("If ids should continue above it, use hilo.seed().") :
			 (row->flags & HILO_ROW_OWN_LIMIT) ?
			 errhint("If ids should continue above it, raise max_value with hilo.configure(), and use hilo.seed().") : 0));
}

/*
 * The first time that the trigger fires: were there ids before it?  Then the counter
 * moves above them, and all ranges become invalid: the ids may be in any of them.
 * Returns the highest; this session may have drawn numbers up to that, which are ids
 * already.
 *
 * If another session has looked, it has made a range of before invalid, and one
 * that was claimed since is above the ids.
 */
static int64
look_at_table(AdvanceSite *site, TriggerData *trigdata)
{
	Relation	rel = trigdata->tg_relation;
	HiloEntry  *entry = site->entry;
	HiloCollection *collection = &entry->collection;
	HiloSought	sought;
	int64		limit;
	int64		highest = 0;
	HiloRow		row;

	if (hilo_trigger_is_noted(site->trigger))
	{
		/* That was announced before the note was committed. */
		AcceptInvalidationMessages();
		if (entry->range.claim.epoch == 0 ||
			entry->range.generation == hilo_row_generation)
			return 0;
		(void) hilo_counter_read(&collection->ref, &row);
		if (hilo_counter_holds(&row, &entry->range.claim))
			return 0;
		hilo_entry_forget(entry);
		return PG_INT64_MAX;
	}

	/* Numbers at or below max may be in ranges; one at the limit is no id. */
	sought = hilo_sought(collection);
	limit = hilo_collection_row(collection)->max_value;
	sought.above = 0;
	sought.limit = Min(sought.limit, limit - 1);

	/* To read a foreign table is left to hilo.attach(): it may not answer. */
	for (int i = 0; rel->rd_rel->relkind == RELKIND_RELATION && i < site->count; i++)
	{
		int64		number = hilo_highest_here(rel,
											   site->watched[i].attnum,
											   &site->watched[i].reader,
											   &sought, true);

		highest = Max(highest, number);
	}

	/* Others may have moved the counter meanwhile. */
	if (highest > 0)
		sought = hilo_sought(collection);
	if (!site->bound && highest > sought.max &&
		highest - sought.max > (limit - sought.max) / 2)
		warn_not_advanced(collection, highest);
	else if (highest > 0)
		(void) hilo_collection_adopt(collection, highest, PG_INT64_MAX, true);
	if (highest > 0)
		hilo_entry_forget(entry);
	hilo_note_trigger(site->trigger);
	return highest;
}

/* Find out all about the trigger. */
static void
get_ready(AdvanceSite *site, TriggerData *trigdata)
{
	Trigger    *trigger = trigdata->tg_trigger;
	Relation	rel = trigdata->tg_relation;
	uint64		changes = site->changes;

	if (trigger->tgnargs < 1)
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("%s() takes the name of the collection as its first argument",
						"hilo.advance")));

	/*
	 * Do not check the separator: the table may come from a server with
	 * another one.
	 */
	site->entry = hilo_entry(trigger->tgargs[0], NULL);
	site->topmost = hilo_topmost_table(rel);
	site->readers = 0;

	/* For hilo.attach_online(), which reads the ids, no session waits here. */
	site->looked = find_columns(site, trigdata);
	if (site->count > 0)
	{
		if (!hilo_may_advance(&site->entry->collection, site->topmost, &site->bound))
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("permission denied for collection \"%s\"",
							trigger->tgargs[0]),
					 errdetail("It is attached to tables of other roles, and trigger \"%s\" of table %s would advance it.",
							   trigger->tgname, hilo_sql_table(site->relation)),
					 errhint("Drop the trigger, or use another collection.")));
		if (site->assigns)
			hilo_check_holds(site->relation, site->watched[0].attnum, false);
	}
	else if (rel->rd_rel->relpersistence != RELPERSISTENCE_TEMP)
	{
		/* Once a default draws again, it will have to look again. */
		hilo_forget_trigger(site->trigger);
	}
	site->known_at = changes;
}

/* Make sure that the number will not be drawn later. */
static void
advance_collection(AdvanceSite *site, int64 number)
{
	HiloEntry  *entry = site->entry;
	bool		own = !hilo_collection_is_ordered(&entry->collection) &&
		number >= entry->range.claim.range.low &&
		number <= entry->range.claim.range.high;

	/* The numbers left out become a gap. */
	if (own)
		entry->range.last = Max(entry->range.last, number);

	/*
	 * A number within this session's range concerns only this session,
	 * provided that the range is known to be valid.  Numbers below the range
	 * may be in the pool.
	 */
	if (own && entry->range.generation == hilo_row_generation)
		return;
	if (!hilo_collection_advance(&entry->collection, number))
		warn_not_advanced(&entry->collection, number);
}

/* True if the first of the triggers before each inserted row is this one. */
static bool
fires_first(TriggerData *trigdata)
{
	TriggerDesc *triggers = trigdata->tg_relation->trigdesc;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		Trigger    *trigger = &triggers->triggers[i];

		if (trigger->tgoid == trigdata->tg_trigger->tgoid)
			return true;
		if (TRIGGER_TYPE_MATCHES(trigger->tgtype, TRIGGER_TYPE_ROW,
								 TRIGGER_TYPE_BEFORE, TRIGGER_TYPE_INSERT) &&
			trigger->tgenabled != TRIGGER_DISABLED)
			return false;
	}
	return false;
}

/*
 * True if the row's number may be replaced, because no one can have seen it: it
 * is the last one that this session has drawn, for a stored default, in this
 * command; neither hilo_last_number() nor a trigger has been given it.  Nor may a
 * stored default draw from the collection that is not of a table with such a
 * trigger: of a view, for example, whose number is then seen by the view's trigger.
 */
static bool
is_unseen(const AdvanceSite *site, FunctionCallInfo fcinfo, int64 number)
{
	HiloEntry  *entry = site->entry;

	return number == entry->range.drawn && entry->unseen == hilo_command() &&
		fires_first((TriggerData *) fcinfo->context) &&
		hilo_sql_number(psprintf("SELECT " HILO_SCHEMA "._drawn_elsewhere(%s)",
								 quote_literal_cstr(entry->collection.ref.name)),
						NULL) == 0;
}

/*
 * Return the row with one drawn now instead of its number, or of its id, which is of
 * that form.
 */
static HeapTuple
draw_again(AdvanceSite *site, const Watched *watched, Relation rel,
		   HeapTuple tuple, HiloIdForm *form)
{
	TupleDesc	desc = RelationGetDescr(rel);
	int			attnum = watched->attnum;
	bool		isnull = false;
	char	   *id;
	Datum		value;

	hilo_draw_right_check(site->entry, HILO_DRAW_ID);
	id = form != NULL ?
		text_to_cstring(hilo_entry_next_id(site->entry, form)) :
		psprintf(INT64_FORMAT, hilo_entry_take(site->entry));
	value = hilo_column_value(TupleDescAttr(desc, attnum - 1), id);
	return heap_modify_tuple_by_cols(tuple, desc, 1, &attnum, &value, &isnull);
}

/* True unless the table is a partition for other rows: none can be moved now. */
static bool
belongs_here(Relation rel, HeapTuple tuple)
{
	EState	   *estate = CreateExecutorState();
	ResultRelInfo *info = makeNode(ResultRelInfo);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(rel),
													&TTSOpsHeapTuple);
	bool		result;

	InitResultRelInfo(info, rel, 1, NULL, 0);
	ExecStoreHeapTuple(tuple, slot, false);
	result = ExecPartitionCheck(info, slot, estate, false);
	ExecDropSingleTupleTableSlot(slot);
	FreeExecutorState(estate);
	return result;
}

/*
 * Keep the counter ahead of the row's id in one column. highest: numbers up to it
 * that were drawn before may be ids of other rows.
 */
static HeapTuple
keep_ahead(AdvanceSite *site, const Watched *watched, FunctionCallInfo fcinfo,
		   HeapTuple tuple, int64 highest)
{
	Relation	rel = ((TriggerData *) fcinfo->context)->tg_relation;
	HiloIdForm *forms[] = {&site->entry->text.own, &site->entry->text.given};
	HiloIdForm *form = NULL;
	bool		is_id = watched->reader.holds_ids && !watched->numbers;
	bool		isnull;
	Datum		value = hilo_getattr(tuple, watched->attnum,
									 RelationGetDescr(rel), &isnull);
	int64		number;

	if (isnull)
		return tuple;
	if (watched->reader.holds_ids)
		value = PointerGetDatum(DatumGetTextPP(value));

	/* Mostly it is the id that was made last, whose number is known. */
	for (int i = 0; is_id && form == NULL && i < (int) lengthof(forms); i++)
	{
		const char *id = forms[i]->id;

		if (id != NULL &&
			VARSIZE_ANY_EXHDR(DatumGetPointer(value)) + VARHDRSZ == VARSIZE(id) &&
			memcmp(VARDATA_ANY(DatumGetPointer(value)), VARDATA(id),
				   VARSIZE(id) - VARHDRSZ) == 0)
			form = forms[i];
	}
	number = form != NULL ? form->number :
		hilo_id_reader_number(&watched->reader, value);
	if (number <= 0)
		return tuple;
	if (unlikely(number <= highest) && (form != NULL || !is_id) &&
		is_unseen(site, fcinfo, number))
	{
		HeapTuple	again = draw_again(site, watched, rel, tuple, form);

		if (belongs_here(rel, again))
			tuple = again;
	}
	else
		advance_collection(site, number);
	site->entry->unseen = 0;
	return tuple;
}

/*
 * BEFORE INSERT, for each row: make sure that the row's id, assigned first if the
 * trigger says so, will not be drawn later.
 */
PG_FUNCTION_INFO_V1(hilo_advance);

Datum
hilo_advance(PG_FUNCTION_ARGS)
{
	TriggerData *trigdata = hilo_api_trigger(fcinfo, "hilo.advance");
	HeapTuple	tuple = trigdata->tg_trigtuple;
	AdvanceSite *site = fcinfo->flinfo->fn_extra;
	int64		highest = 0;

	if (site == NULL)
		fcinfo->flinfo->fn_extra = site = find_site(trigdata);
	if (unlikely(site->known_at != site->changes))
		get_ready(site, trigdata);
	if (site->count == 0)
		return PointerGetDatum(tuple);
	if (unlikely(site->readers != hilo_settings_generation + hilo_row_generation))
	{
		for (int i = 0; i < site->count; i++)
			hilo_id_reader_init(&site->watched[i].reader,
								getBaseType(attnumTypeId(trigdata->tg_relation,
														 site->watched[i].attnum)),
								&site->entry->collection,
								site->watched[i].numbers);
		site->readers = hilo_settings_generation + hilo_row_generation;
	}
	if (unlikely(!site->looked))
	{
		highest = look_at_table(site, trigdata);
		site->looked = true;
	}
	if (site->assigns)
		tuple = hilo_assign_to_row(site->entry, trigdata->tg_relation,
								   site->watched[0].attnum, tuple);
	for (int i = 0; i < site->count; i++)
		tuple = keep_ahead(site, &site->watched[i], fcinfo, tuple, highest);
	return PointerGetDatum(tuple);
}

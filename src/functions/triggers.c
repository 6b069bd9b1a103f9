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
#include "parser/parse_relation.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "counting/once.h"
#include "ids/assign.h"
#include "session/call.h"
#include "tables/attachment.h"
#include "tables/column.h"
#include "tables/highest.h"
#include "tables/sync.h"

PG_FUNCTION_INFO_V1(hilo_assign_id);
PG_FUNCTION_INFO_V1(hilo_advance);

/*
 * Assign
 */

/* What the trigger keeps in fn_extra between the rows of a statement. */
typedef struct AssignSite
{
	HiloAssigned column;		/* holds the ids */
	HiloEntry  *entry;			/* of the collection */
} AssignSite;

/* The entry of the collection named after rel, or after its topmost parent. */
static HiloEntry *
collection_of_table(Relation rel)
{
	const char *name = get_rel_name(hilo_topmost_table(rel));

	return hilo_api_checked_entry(name != NULL ? name :
								  RelationGetRelationName(rel));
}

/* The number of the column named in the trigger's arguments. */
static AttrNumber
find_column(Relation rel, const char *name)
{
	int			attnum = attnameAttNum(rel, name, false);

	if (attnum == InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						name, RelationGetRelationName(rel))));
	return attnum;
}

static AssignSite *
make_assign_site(FunctionCallInfo fcinfo, TriggerData *trigdata)
{
	Trigger    *trigger = trigdata->tg_trigger;
	Relation	rel = trigdata->tg_relation;
	AssignSite	site;

	if (trigger->tgnargs < 1 || trigger->tgnargs > 2)
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("%s() takes the name of the id column, and the collection's name if it differs from the table's",
						"hilo.assign_id")));

	hilo_assigned_init(&site.column, rel,
					   find_column(rel, trigger->tgargs[0]));
	if (trigger->tgnargs == 2)
		site.entry = hilo_api_checked_entry(trigger->tgargs[1]);
	else
		site.entry = collection_of_table(rel);

	fcinfo->flinfo->fn_extra = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt,
												  sizeof(site));
	memcpy(fcinfo->flinfo->fn_extra, &site, sizeof(site));
	return fcinfo->flinfo->fn_extra;
}

/* BEFORE INSERT, for each row: assign the id that the row requests. */
Datum
hilo_assign_id(PG_FUNCTION_ARGS)
{
	TriggerData *trigdata = hilo_api_trigger(fcinfo, "hilo.assign_id", false);
	AssignSite *site;

	hilo_api_prevent_unless_may_write("hilo.assign_id()");
	site = fcinfo->flinfo->fn_extra;
	if (site == NULL)
		site = make_assign_site(fcinfo, trigdata);
	return PointerGetDatum(hilo_assign_to_row(&site->column, site->entry,
											  trigdata->tg_relation,
											  trigdata->tg_trigtuple));
}

/*
 * Advance
 */

/* What the trigger keeps in fn_extra between the rows of a statement. */
typedef struct AdvanceSite
{
	int			attnum;			/* of the column */
	HiloIdReader reader;		/* of its ids */
	HiloEntry  *entry;			/* of the collection */
	bool		assigns;		/* true: it assigns ids of the requested kind */
	HiloAssigned assigned;		/* where, if it does */
	HiloRange	outdated;		/* numbers drawn before this statement looked
								 * at the column's ids */
} AdvanceSite;

/*
 * The trigger was created by a restore, or was disabled for a while: the
 * counter may be behind the ids in the column, and this session may have drawn
 * numbers that are among them.
 */
static void
catch_up(AdvanceSite *site, TriggerData *trigdata)
{
	HiloEntry  *entry = site->entry;
	const char *name = entry->collection.ref.name;
	Relation	rel = trigdata->tg_relation;
	HiloRange	drawn;
	int64		highest;

	if (!hilo_draw_right_may_attach(&entry->collection, RelationGetRelid(rel)))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to attach table \"%s\" to collection \"%s\"",
						RelationGetRelationName(rel), name),
				 errdetail("Its trigger \"%s\" would advance a collection that others use.",
						   trigdata->tg_trigger->tgname),
				 errhint("Ask for a grant with hilo.configure(), or drop the trigger.")));

	drawn = hilo_cache_drawn(entry);
	highest = hilo_sync_unseen(&entry->collection);
	site->outdated.low = drawn.low;
	site->outdated.high = Min(drawn.high, highest);
}

/*
 * Another session has just caught up, perhaps after this one drew: if this
 * session's range is no longer valid, its numbers may be among the column's
 * ids.
 */
static void
distrust_void_range(AdvanceSite *site)
{
	HiloEntry  *entry = site->entry;
	HiloRow		row;

	/*
	 * Read the row again: a copy that is older than the range says nothing
	 * about it.
	 */
	if (entry->range.claim.epoch == 0)
		return;
	(void) hilo_counter_read(&entry->collection.ref, &row);
	if (!hilo_counter_holds(&row, &entry->range.claim))
		site->outdated = hilo_cache_drawn(entry);
}

static AdvanceSite *
make_advance_site(FunctionCallInfo fcinfo, TriggerData *trigdata)
{
	Relation	rel = trigdata->tg_relation;
	Trigger    *trigger = trigdata->tg_trigger;
	AdvanceSite *site;
	Form_pg_attribute att;
	const char *collection;
	bool		lately;

	/*
	 * The column comes from the column list, which follows renames, not from
	 * an argument.
	 */
	if (trigger->tgnargs < 1 || trigger->tgnattr != 1 ||
		trigger->tgqual != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("%s() must be fired by the update of one column, without a condition and with the name of the collection as its argument",
						HILO_ADVANCE_FUNCTION)));

	site = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt,
								  sizeof(AdvanceSite));
	site->attnum = trigger->tgattr[0];
	att = TupleDescAttr(RelationGetDescr(rel), site->attnum - 1);

	/*
	 * Do not check the separator: the table may come from a server with
	 * another one.
	 */
	collection = trigger->tgargs[HILO_TRIGGER_COLLECTION];
	hilo_check_collection(collection, NULL);
	site->entry = hilo_cache_entry(collection);
	site->outdated.low = 1;
	if (!hilo_attachment_was_seen(RelationGetRelid(rel), trigger->tgoid,
								  &lately))
		catch_up(site, trigdata);
	else if (lately)
		distrust_void_range(site);
	hilo_id_reader_init(&site->reader, getBaseType(att->atttypid),
						collection,
						hilo_counted_ids(&site->entry->collection));
	site->assigns = trigger->tgnargs > HILO_TRIGGER_ASSIGN &&
		strcmp(trigger->tgargs[HILO_TRIGGER_ASSIGN], HILO_ASSIGN) == 0;
	if (site->assigns)
		hilo_assigned_init(&site->assigned, rel, site->attnum);
	fcinfo->flinfo->fn_extra = site;
	return site;
}

/*
 * Sent once per session: during a migration each row may have such a number.
 */
static void
warn_not_advanced(HiloCollection *collection, int64 number)
{
	const char *name = collection->ref.name;
	const HiloRow *row = hilo_collection_row(collection);
	bool		is_above = number > row->max_value;

	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("collection \"%s\" is not advanced to " INT64_FORMAT,
					name, number),
			 is_above ?
			 errdetail("The limit is " INT64_FORMAT ".", row->max_value) :
			 errdetail("That would use up more than half of the remaining numbers."),
			 !is_above ?
			 errhint("If ids should continue above it, use hilo.seed().") :
			 (row->flags & HILO_ROW_OWN_LIMIT) ?
			 errhint("If ids should continue above it, raise max_value with hilo.configure(), and use hilo.seed().") : 0));
}

/* Make sure that the number will not be drawn later. */
static void
advance_collection(AdvanceSite *site, int64 number)
{
	HiloEntry  *entry = site->entry;
	bool		own = !hilo_collection_is_ordered(&entry->collection) &&
		number >= entry->range.claim.range.low &&
		hilo_cache_skip(entry, number);

	/*
	 * A number within this session's range concerns only this session,
	 * provided that the range is known to be valid.  Numbers below the range
	 * may be in the pool.
	 */
	if (own && entry->range.generation == hilo_row_generation)
		return;
	if (!hilo_collection_advance(&entry->collection, number) &&
		hilo_once("not advanced", entry->collection.ref.name))
		warn_not_advanced(&entry->collection, number);
}

/* Return the row with its id replaced by one drawn now. */
static HeapTuple
draw_again(const AdvanceSite *site, TriggerData *trigdata, HeapTuple tuple,
		   Datum value)
{
	int			attnum = site->attnum;
	bool		isnull = false;

	hilo_draw_right_check(site->entry, HILO_DRAW_ID);
	value = hilo_id_reader_replace(&site->reader, value,
								   hilo_cache_take(site->entry));
	return heap_modify_tuple_by_cols(tuple,
									 RelationGetDescr(trigdata->tg_relation),
									 1, &attnum, &value, &isnull);
}

/*
 * True for an update that leaves the number unchanged.  In an ordered collection
 * that number may be below the horizon: readers have already passed the row, so
 * they do not miss it.
 */
static bool
keeps_ordered(const AdvanceSite *site, TriggerData *trigdata, int64 number)
{
	Datum		value;
	bool		isnull;

	if (!TRIGGER_FIRED_BY_UPDATE(trigdata->tg_event) ||
		!(hilo_collection_row(&site->entry->collection)->flags & HILO_ROW_ORDERED))
		return false;
	value = hilo_getattr(trigdata->tg_trigtuple, site->attnum,
						 RelationGetDescr(trigdata->tg_relation), &isnull);
	return !isnull && hilo_id_reader_number(&site->reader, value) == number;
}

/*
 * BEFORE INSERT OR UPDATE, for each row: make sure that the row's id, assigned
 * first if the trigger says so, will not be drawn later.
 */
Datum
hilo_advance(PG_FUNCTION_ARGS)
{
	TriggerData *trigdata = hilo_api_trigger(fcinfo, HILO_ADVANCE_FUNCTION,
											 true);
	AdvanceSite *site;
	HeapTuple	tuple;
	Datum		value;
	bool		isnull;
	int64		number;

	site = fcinfo->flinfo->fn_extra;
	if (site == NULL)
		site = make_advance_site(fcinfo, trigdata);

	tuple = TRIGGER_FIRED_BY_UPDATE(trigdata->tg_event) ?
		trigdata->tg_newtuple : trigdata->tg_trigtuple;
	if (site->assigns && !TRIGGER_FIRED_BY_UPDATE(trigdata->tg_event))
		tuple = hilo_assign_to_row(&site->assigned, site->entry,
								   trigdata->tg_relation, tuple);
	value = hilo_getattr(tuple, site->attnum,
						 RelationGetDescr(trigdata->tg_relation), &isnull);
	number = isnull ? 0 : hilo_id_reader_number(&site->reader, value);
	if (number <= 0 || keeps_ordered(site, trigdata, number))
		return PointerGetDatum(tuple);
	if (number >= site->outdated.low && number <= site->outdated.high &&
		!TRIGGER_FIRED_BY_UPDATE(trigdata->tg_event))
		return PointerGetDatum(draw_again(site, trigdata, tuple, value));
	advance_collection(site, number);
	return PointerGetDatum(tuple);
}

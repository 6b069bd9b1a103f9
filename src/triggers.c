/*-------------------------------------------------------------------------
 *
 * triggers.c
 *	  The triggers of users' tables: one assigns ids, one sees that ids chosen by
 *	  hand are not drawn later.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "parser/parse_relation.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "api.h"
#include "assign.h"
#include "column.h"

PG_FUNCTION_INFO_V1(hilo_assign_id);
PG_FUNCTION_INFO_V1(hilo_advance);

static HiloName
name_of(const char *string)
{
	HiloName	name = {string, strlen(string)};

	return name;
}

/*
 * Assign
 */

/* What the trigger remembers between the rows of a statement, in fn_extra. */
typedef struct AssignSite
{
	HiloAssigned column;		/* with the ids */
	HiloEntry  *entry;			/* of the collection */
} AssignSite;

/* The entry of the collection that is named like rel, or its topmost parent. */
static HiloEntry *
collection_of_table(Relation rel)
{
	const char *name = get_rel_name(hilo_topmost_table(rel));

	return hilo_api_checked_entry(name_of(name != NULL ? name :
										  RelationGetRelationName(rel)));
}

/* The number of the column that the trigger names. */
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
				 errmsg("%s() takes the name of the id column, and that of the collection if it is not the table's",
						"hilo_assign_id")));

	hilo_assigned_init(&site.column, rel,
					   find_column(rel, trigger->tgargs[0]));
	if (trigger->tgnargs == 2)
		site.entry = hilo_api_checked_entry(name_of(trigger->tgargs[1]));
	else
		site.entry = collection_of_table(rel);

	fcinfo->flinfo->fn_extra = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt,
												  sizeof(site));
	memcpy(fcinfo->flinfo->fn_extra, &site, sizeof(site));
	return fcinfo->flinfo->fn_extra;
}

/* BEFORE INSERT, for each row: give the row the id that it requests. */
Datum
hilo_assign_id(PG_FUNCTION_ARGS)
{
	TriggerData *trigdata = hilo_api_trigger(fcinfo, "hilo_assign_id", false);
	AssignSite *site;

	hilo_api_prevent_unless_may_write("hilo_assign_id()");
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

/* What the trigger remembers between the rows of a statement, in fn_extra. */
typedef struct AdvanceSite
{
	int			attnum;			/* of the column */
	HiloIdReader reader;		/* of its ids */
	HiloEntry  *entry;			/* of the collection */
	bool		attached;		/* is the column attached to it? */
	bool		warned;			/* that a number is too far ahead? */
} AdvanceSite;

static AdvanceSite *
make_advance_site(FunctionCallInfo fcinfo, TriggerData *trigdata)
{
	Relation	rel = trigdata->tg_relation;
	Trigger    *trigger = trigdata->tg_trigger;
	AdvanceSite *site;
	Form_pg_attribute att;
	HiloName	collection;

	/* The list of columns follows a rename, an argument does not. */
	if (trigger->tgnargs != 2 || trigger->tgnattr != 1)
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("%s() must be fired by the update of one column, and takes the names of column and collection",
						"hilo_advance")));

	site = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt,
								  sizeof(AdvanceSite));
	site->attnum = trigger->tgattr[0];
	att = TupleDescAttr(RelationGetDescr(rel), site->attnum - 1);

	/* The table may come from a server with another separator. */
	collection = name_of(trigger->tgargs[1]);
	hilo_check_collection(collection.data, collection.len, NULL);
	site->entry = hilo_cache_entry(collection);
	site->attached = hilo_is_attached(site->entry, RelationGetRelid(rel),
									  NameStr(att->attname));
	hilo_id_reader_init(&site->reader, getBaseType(att->atttypid),
						collection.data, collection.len);
	fcinfo->flinfo->fn_extra = site;
	return site;
}

/*
 * The trigger of a column that is not attached, because the table was restored
 * and hilo.binding was not, or not yet.  A counter that has not seen the numbers
 * of this table is not to be trusted, so one that was drawn is refused.  Others
 * pass, and move nothing: who may create a trigger must not be able to move any
 * collection.
 */
static void
check_unattached(const AdvanceSite *site, TriggerData *trigdata, int64 number)
{
	Relation	rel = trigdata->tg_relation;
	HiloName	name = site->entry->collection.ref.name;

	if (!hilo_cache_has_drawn(site->entry, number))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("column \"%s\" of table \"%s\" is not attached to collection \"%.*s\" in this database",
					NameStr(TupleDescAttr(RelationGetDescr(rel),
										  site->attnum - 1)->attname),
					RelationGetRelationName(rel), name.len, name.data),
			 errdetail("The table was restored without the contents of table hilo.binding."),
			 errhint("Run hilo_attach() for the column.")));
}

/* See that the number will not be drawn later. */
static void
advance_collection(AdvanceSite *site, int64 number)
{
	HiloEntry  *entry = site->entry;
	HiloName	name = entry->collection.ref.name;
	bool		own = number >= entry->range.claim.range.low &&
		hilo_cache_skip(entry, number);

	/*
	 * Up to the end of the range that this session holds that is a matter of
	 * its own, if the range is known to be good.  Numbers below it may be in
	 * the pool.
	 */
	if (own && entry->range.generation == hilo_row_generation)
		return;
	if (hilo_collection_advance(&entry->collection, number) || site->warned)
		return;

	site->warned = true;
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("collection \"%.*s\" is not advanced to " INT64_FORMAT,
					name.len, name.data, number),
			 errdetail("It is beyond half of the numbers left, or above the limit."),
			 errhint("If ids are to go on above it, use hilo_seed().")));
}

/*
 * BEFORE INSERT OR UPDATE, for each row: see that the id of the row will not be
 * drawn later.
 */
Datum
hilo_advance(PG_FUNCTION_ARGS)
{
	TriggerData *trigdata = hilo_api_trigger(fcinfo, "hilo_advance", true);
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
	value = hilo_getattr(tuple, site->attnum,
						 RelationGetDescr(trigdata->tg_relation), &isnull);
	number = isnull ? 0 : hilo_id_reader_number(&site->reader, value);
	if (number > 0 && site->attached)
		advance_collection(site, number);
	else if (number > 0)
		check_unattached(site, trigdata, number);
	return PointerGetDatum(tuple);
}

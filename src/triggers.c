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
#include "catalog/partition.h"
#include "catalog/pg_type.h"
#include "parser/parse_relation.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "api.h"
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
	int			attnum;			/* of the id column */
	Oid			type;			/* its type, */
	Oid			base_type;		/* the one below it if it is a domain, */
	int32		typmod;			/* and that one's modifier */
	HiloEntry  *entry;			/* of the collection */
} AssignSite;

/* The entry of the collection that is named like rel, or its topmost parent. */
static HiloEntry *
collection_of_table(Relation rel)
{
	const char *name = RelationGetRelationName(rel);

	if (rel->rd_rel->relispartition)
	{
		List	   *ancestors = get_partition_ancestors(RelationGetRelid(rel));
		char	   *root = NULL;

		/* A partition that is being detached concurrently has none. */
		if (ancestors != NIL)
			root = get_rel_name(llast_oid(ancestors));
		if (root != NULL)
			name = root;
	}
	return hilo_api_checked_entry(name_of(name));
}

/* Find the id column of the trigger's table, and see that it can hold ids. */
static void
find_id_column(AssignSite *site, Relation rel, const char *column)
{
	Form_pg_attribute att;

	site->attnum = attnameAttNum(rel, column, false);
	if (site->attnum == InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						column, RelationGetRelationName(rel))));

	att = TupleDescAttr(RelationGetDescr(rel), site->attnum - 1);
	site->type = att->atttypid;
	site->typmod = att->atttypmod;
	site->base_type = getBaseTypeAndTypmod(site->type, &site->typmod);
	if (!hilo_holds_ids(site->base_type))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of relation \"%s\" cannot hold document ids",
						column, RelationGetRelationName(rel)),
				 errdetail("Its type is %s; it should be text, varchar or citext.",
						   format_type_be(site->type))));
}

static AssignSite *
make_assign_site(FunctionCallInfo fcinfo, TriggerData *trigdata)
{
	Trigger    *trigger = trigdata->tg_trigger;
	AssignSite	site;

	if (trigger->tgnargs < 1 || trigger->tgnargs > 2)
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("%s() takes the name of the id column, and that of the collection if it is not the table's",
						"hilo_assign_id")));

	find_id_column(&site, trigdata->tg_relation, trigger->tgargs[0]);
	if (trigger->tgnargs == 2)
		site.entry = hilo_api_checked_entry(name_of(trigger->tgargs[1]));
	else
		site.entry = collection_of_table(trigdata->tg_relation);

	fcinfo->flinfo->fn_extra = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt,
												  sizeof(site));
	memcpy(fcinfo->flinfo->fn_extra, &site, sizeof(site));
	return fcinfo->flinfo->fn_extra;
}

/*
 * The id as a value of the column's type: the server checks nothing again after
 * a trigger.
 */
static Datum
column_value(const AssignSite *site, text *id)
{
	Datum		value = PointerGetDatum(id);

	if (site->base_type == VARCHAROID && site->typmod >= 0)
		value = DirectFunctionCall3(varchar, value,
									Int32GetDatum(site->typmod),
									BoolGetDatum(false));
	if (site->type != site->base_type)
		domain_check(value, false, site->type, NULL, NULL);
	return value;
}

/* BEFORE INSERT, for each row: give the row the id that it requests. */
Datum
hilo_assign_id(PG_FUNCTION_ARGS)
{
	TriggerData *trigdata = hilo_api_trigger(fcinfo, "hilo_assign_id", false);
	TupleDesc	desc = RelationGetDescr(trigdata->tg_relation);
	HeapTuple	tuple = trigdata->tg_trigtuple;
	AssignSite *site;
	Datum		value;
	bool		isnull;
	text	   *requested;
	text	   *id;

	hilo_api_prevent_unless_may_write("hilo_assign_id()");
	site = fcinfo->flinfo->fn_extra;
	if (site == NULL)
		site = make_assign_site(fcinfo, trigdata);

	value = heap_getattr(tuple, site->attnum, desc, &isnull);
	requested = isnull ? NULL : DatumGetTextPP(value);
	id = hilo_api_document_id(site->entry, requested);
	if (id != requested)
	{
		value = column_value(site, id);
		isnull = false;
		tuple = heap_modify_tuple_by_cols(tuple, desc, 1, &site->attnum,
										  &value, &isnull);
	}
	return PointerGetDatum(tuple);
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
	value = heap_getattr(tuple, site->attnum,
						 RelationGetDescr(trigdata->tg_relation), &isnull);
	number = isnull ? 0 : hilo_id_reader_number(&site->reader, value);
	if (number > 0 && site->attached)
		advance_collection(site, number);
	else if (number > 0)
		check_unattached(site, trigdata, number);
	return PointerGetDatum(tuple);
}

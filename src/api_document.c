/*-------------------------------------------------------------------------
 *
 * api_document.c
 *	  The id of a document: what was requested decides which kind it gets.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/partition.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "parser/parse_relation.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"

#include "api.h"
#include "id_type.h"
#include "identity.h"

PG_FUNCTION_INFO_V1(hilo_document_id);
PG_FUNCTION_INFO_V1(hilo_assign_id);

/* What a trigger remembers between the rows of a statement, in fn_extra. */
typedef struct TriggerSite
{
	int			attnum;			/* of the id column */
	Oid			type;			/* its type, */
	Oid			base_type;		/* the one below it if it is a domain, */
	int32		typmod;			/* and that one's modifier */
	HiloCacheEntry *entry;		/* of the collection */
} TriggerSite;

static text *
random_guid(void)
{
	Datum		uuid = DirectFunctionCall1(gen_random_uuid, (Datum) 0);

	return DatumGetTextPP(DirectFunctionCall1(textin,
											  DirectFunctionCall1(uuid_out,
																  uuid)));
}

/* Draw what requested asks for, or return it if it is an id itself. */
static text *
assign_id(HiloCacheEntry *entry, text *requested)
{
	HiloName	name;
	HiloCounter counter;

	if (requested == NULL)
	{
		hilo_draw_right_check(entry, HILO_DRAW_ID);
		return hilo_api_next_id(entry);
	}

	name.data = VARDATA_ANY(requested);
	name.len = VARSIZE_ANY_EXHDR(requested);
	if (name.len == 0)
		return random_guid();
	if (hilo_ends_with(name.data, name.len, hilo_identity_parts_separator))
		return hilo_next_server_side_id(name);
	if (hilo_ends_with(name.data, name.len, "|"))
	{
		hilo_identity_counter(&counter, name);
		return hilo_identity_id(&counter, hilo_identity_next(&counter));
	}

	if (name.len > HILO_MAX_ID_LEN)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("document id is too long"),
				 errdetail("It has %d bytes, the limit is %d.",
						   name.len, HILO_MAX_ID_LEN)));
	return requested;
}

Datum
hilo_document_id(PG_FUNCTION_ARGS)
{
	text	   *requested = PG_ARGISNULL(1) ? NULL : PG_GETARG_TEXT_PP(1);

	hilo_api_prevent_unless_may_write("hilo_document_id()");
	PG_RETURN_TEXT_P(assign_id(hilo_api_entry(fcinfo), requested));
}

static HiloCacheEntry *
checked_entry(const char *collection)
{
	HiloName	name = {collection, strlen(collection)};

	hilo_check_collection(name.data, name.len, hilo_identity_parts_separator);
	return hilo_cache_entry(name);
}

/* The entry of the collection that is named like rel, or its topmost parent. */
static HiloCacheEntry *
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
	return checked_entry(name);
}

/* Find the id column of the trigger's table, and see that it can hold ids. */
static void
find_id_column(TriggerSite *site, Relation rel, const char *column)
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

static TriggerSite *
make_trigger_site(FunctionCallInfo fcinfo, TriggerData *trigdata)
{
	Trigger    *trigger = trigdata->tg_trigger;
	TriggerSite site;

	if (trigger->tgnargs < 1 || trigger->tgnargs > 2)
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("%s() takes the name of the id column, and that of the collection if it is not the table's",
						"hilo_assign_id")));

	find_id_column(&site, trigdata->tg_relation, trigger->tgargs[0]);
	if (trigger->tgnargs == 2)
		site.entry = checked_entry(trigger->tgargs[1]);
	else
		site.entry = collection_of_table(trigdata->tg_relation);

	fcinfo->flinfo->fn_extra = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt,
												  sizeof(site));
	memcpy(fcinfo->flinfo->fn_extra, &site, sizeof(site));
	return fcinfo->flinfo->fn_extra;
}

/*
 * The id as a value of the column's type: nobody checks that again after a
 * trigger.
 */
static Datum
column_value(const TriggerSite *site, text *id)
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
	TriggerData *trigdata = (TriggerData *) fcinfo->context;
	TriggerSite *site;
	HeapTuple	tuple;
	Datum		value;
	bool		isnull;
	text	   *requested;
	text	   *id;

	hilo_api_check_insert_trigger(fcinfo, "hilo_assign_id");
	hilo_api_prevent_unless_may_write("hilo_assign_id()");
	site = fcinfo->flinfo->fn_extra;
	if (site == NULL)
		site = make_trigger_site(fcinfo, trigdata);

	tuple = trigdata->tg_trigtuple;
	value = heap_getattr(tuple, site->attnum,
						 RelationGetDescr(trigdata->tg_relation), &isnull);
	requested = isnull ? NULL : DatumGetTextPP(value);
	id = assign_id(site->entry, requested);
	if (id != requested)
	{
		value = column_value(site, id);
		isnull = false;
		tuple = heap_modify_tuple_by_cols(tuple,
										  RelationGetDescr(trigdata->tg_relation),
										  1, &site->attnum, &value, &isnull);
	}
	return PointerGetDatum(tuple);
}

/*-------------------------------------------------------------------------
 *
 * api_attach.c
 *	  The SQL functions that attach tables to collections, and configure these.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "commands/trigger.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "api.h"
#include "attach.h"
#include "binding.h"
#include "id_reader.h"
#include "parking.h"

PG_FUNCTION_INFO_V1(hilo_attach);
PG_FUNCTION_INFO_V1(hilo_detach);
PG_FUNCTION_INFO_V1(hilo_configure);
PG_FUNCTION_INFO_V1(hilo_floor);

/* The first two arguments: a table and the name of a column. */
static HiloColumn
column_argument(FunctionCallInfo fcinfo)
{
	hilo_api_reject_null(fcinfo, 0, "relation");
	hilo_api_reject_null(fcinfo, 1, "column_name");
	return hilo_attachable_column(PG_GETARG_OID(0),
								  NameStr(*PG_GETARG_NAME(1)));
}

Datum
hilo_attach(PG_FUNCTION_ARGS)
{
	HiloColumn	column;
	HiloName	collection;
	bool		named = !PG_ARGISNULL(2);

	hilo_api_prevent_unless_may_write("hilo_attach()");
	column = column_argument(fcinfo);
	if (named)
		collection = hilo_api_name(fcinfo, 2, "collection");
	else
	{
		collection.data = hilo_attached_collection(&column);
		if (collection.data == NULL)
			collection.data = get_rel_name(column.relation);
		collection.len = strlen(collection.data);
	}
	hilo_check_collection(collection.data, collection.len,
						  hilo_identity_parts_separator);
	PG_RETURN_INT64(hilo_attach_column(&column, collection, named));
}

Datum
hilo_detach(PG_FUNCTION_ARGS)
{
	HiloColumn	column;
	const char *back_to = NULL;

	hilo_api_prevent_unless_may_write("hilo_detach()");
	column = column_argument(fcinfo);
	if (!PG_ARGISNULL(2))
	{
		back_to = hilo_source_of_values(text_to_cstring(PG_GETARG_TEXT_PP(2)));
		if (back_to == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("back_to must be \"sequence\", \"identity\", \"identity always\" or \"nothing\"")));
	}
	back_to = hilo_detach_column(&column, back_to);
	PG_RETURN_TEXT_P(cstring_to_text(back_to));
}

/* Argument number arg, between 1 and limit; 0 if it is NULL. */
static int64
option_argument(FunctionCallInfo fcinfo, int arg, const char *name,
				int64 limit)
{
	int64		value;

	if (PG_ARGISNULL(arg))
		return 0;
	value = PG_GETARG_INT64(arg);
	if (value < 1 || value > limit)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be between 1 and " INT64_FORMAT, name, limit)));
	return value;
}

/* Argument number arg as the binding of a role; false if it is NULL. */
static bool
role_argument(FunctionCallInfo fcinfo, int arg, HiloBinding *binding)
{
	memset(binding, 0, sizeof(HiloBinding));
	if (PG_ARGISNULL(arg))
		return false;
	binding->role = NameStr(*PG_GETARG_NAME(arg));
	return true;
}

/* Let a role draw, or, with grant false, not any more. */
static void
change_grant(HiloName collection, const HiloBinding *binding, bool grant)
{
	ListCell   *lc;

	if (grant && strcmp(binding->role, "public") != 0)
		(void) get_role_oid(binding->role, false);

	hilo_bindings_lock();
	foreach(lc, hilo_bindings(collection))
	{
		if (!hilo_binding_equals(lfirst(lc), binding))
			continue;
		if (!grant)
			hilo_binding_remove(collection, binding);
		return;
	}
	if (grant)
		hilo_binding_add(collection, binding);
	else
		ereport(WARNING,
				(errcode(ERRCODE_WARNING_PRIVILEGE_NOT_REVOKED),
				 errmsg("role \"%s\" had no grant for collection \"%.*s\"",
						binding->role, collection.len, collection.data)));
}

Datum
hilo_configure(PG_FUNCTION_ARGS)
{
	HiloCacheEntry *entry;
	HiloCounterOptions options = {0};
	HiloBinding grant;
	HiloBinding revoke;
	int64		limit;

	hilo_api_prevent_unless_may_write("hilo_configure()");
	entry = hilo_api_entry(fcinfo);
	hilo_api_reject_null(fcinfo, 7, "reset");

	limit = hilo_attached_limit(entry->name);
	options.range_size = option_argument(fcinfo, 1, "range_size", INT_MAX);
	options.max_range_size = option_argument(fcinfo, 2, "max_range_size", INT_MAX);
	options.max_value = option_argument(fcinfo, 3, "max_value", limit);
	options.reset = PG_GETARG_BOOL(7);
	if (options.reset && options.max_value == 0)
		options.max_value = limit;
	if (!PG_ARGISNULL(4))
	{
		options.node_tag = text_to_cstring(PG_GETARG_TEXT_PP(4));
		hilo_check_node_tag(options.node_tag, strlen(options.node_tag));
	}

	if (role_argument(fcinfo, 5, &grant))
		change_grant(entry->name, &grant, true);
	if (role_argument(fcinfo, 6, &revoke))
		change_grant(entry->name, &revoke, false);
	hilo_counter_configure(&entry->source.rows.counter, &options);
	PG_RETURN_VOID();
}

/*
 * The floor trigger
 */

/* What it remembers between the rows of a statement, in fn_extra. */
typedef struct FloorSite
{
	int			attnum;			/* of the column */
	HiloIdReader reader;		/* of its ids */
	HiloCacheEntry *entry;		/* of the collection */
	bool		attached;		/* is the column attached to it? */
	bool		warned;			/* that a number is too far ahead? */
} FloorSite;

static FloorSite *
make_floor_site(FunctionCallInfo fcinfo, TriggerData *trigdata)
{
	Relation	rel = trigdata->tg_relation;
	Trigger    *trigger = trigdata->tg_trigger;
	FloorSite  *site;
	Form_pg_attribute att;
	HiloName	collection;

	/* The list of columns follows a rename, an argument does not. */
	if (trigger->tgnargs != 2 || trigger->tgnattr != 1)
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("%s() must be fired by the update of one column, and takes the names of column and collection",
						"hilo_floor")));

	site = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(FloorSite));
	site->attnum = trigger->tgattr[0];
	att = TupleDescAttr(RelationGetDescr(rel), site->attnum - 1);

	collection.data = trigger->tgargs[1];
	collection.len = strlen(trigger->tgargs[1]);
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
 * and hilo_binding was not, or not yet.  A counter that has not seen the numbers
 * of this table is not to be trusted, so one that was drawn is refused.  Others
 * pass, and move nothing: who may create a trigger must not be able to move any
 * collection.
 */
static void
check_unattached(const FloorSite *site, TriggerData *trigdata, int64 number)
{
	Relation	rel = trigdata->tg_relation;

	if (!hilo_cache_has_drawn(site->entry, number))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("column \"%s\" of table \"%s\" is not attached to collection \"%.*s\" in this database",
					NameStr(TupleDescAttr(RelationGetDescr(rel),
										  site->attnum - 1)->attname),
					RelationGetRelationName(rel),
					site->entry->name.len, site->entry->name.data),
			 errdetail("The table was restored without the contents of table hilo_binding."),
			 errhint("Run hilo_attach() for the column.")));
}

/* See that the number will not be drawn later. */
static void
raise_collection(FloorSite *site, int64 number)
{
	HiloCacheEntry *entry = site->entry;

	/* Up to the end of this session's range that concerns nobody else. */
	if (entry->stale)
		hilo_cache_read_row(entry);
	if (number < entry->claim.range.low || number > entry->high)
		hilo_parking_skip(entry->name, number);
	if (hilo_cache_skip(entry, number) ||
		hilo_source_raise(&entry->source, number) || site->warned)
		return;

	site->warned = true;
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("collection \"%.*s\" is not raised to " INT64_FORMAT,
					entry->name.len, entry->name.data, number),
			 errdetail("It is beyond half of the numbers left, or above the limit."),
			 errhint("If ids are to go on above it, use hilo_seed().")));
}

/*
 * BEFORE INSERT OR UPDATE, for each row: see that the id of the row will not be
 * drawn later.
 */
Datum
hilo_floor(PG_FUNCTION_ARGS)
{
	TriggerData *trigdata = (TriggerData *) fcinfo->context;
	FloorSite  *site;
	HeapTuple	tuple;
	Datum		value;
	bool		isnull;
	int64		number;

	if (!CALLED_AS_TRIGGER(fcinfo) ||
		!TRIGGER_FIRED_BEFORE(trigdata->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigdata->tg_event) ||
		TRIGGER_FIRED_BY_DELETE(trigdata->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("%s() must be fired before insert or update for each row",
						"hilo_floor")));

	site = fcinfo->flinfo->fn_extra;
	if (site == NULL)
		site = make_floor_site(fcinfo, trigdata);

	tuple = TRIGGER_FIRED_BY_UPDATE(trigdata->tg_event) ?
		trigdata->tg_newtuple : trigdata->tg_trigtuple;
	value = heap_getattr(tuple, site->attnum,
						 RelationGetDescr(trigdata->tg_relation), &isnull);
	number = isnull ? 0 : hilo_id_reader_number(&site->reader, value);
	if (number > 0 && site->attached)
		raise_collection(site, number);
	else if (number > 0)
		check_unattached(site, trigdata, number);
	return PointerGetDatum(tuple);
}

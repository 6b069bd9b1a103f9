/*-------------------------------------------------------------------------
 *
 * api_guard.c
 *	  The triggers that guard our tables against changes by hand.
 *
 * A transactional UPDATE or DELETE would lose the claims made meanwhile, so it
 * is refused.  INSERT and COPY, which restores and replication need, become a
 * merge through the counter: all rows are then made in the one way that does
 * not depend on transactions, and one that exists already is no conflict.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/table.h"
#include "commands/trigger.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "api.h"
#include "binding.h"
#include "binding_row.h"
#include "catalog.h"
#include "counter.h"
#include "lease.h"

PG_FUNCTION_INFO_V1(hilo_guard_rows);
PG_FUNCTION_INFO_V1(hilo_guard_bindings);
PG_FUNCTION_INFO_V1(hilo_guard_table);

/* Column attnum of the new row, which must not be NULL. */
static Datum
required_column(TriggerData *trigdata, int attnum)
{
	TupleDesc	desc = RelationGetDescr(trigdata->tg_relation);
	bool		isnull;
	Datum		value;

	value = heap_getattr(trigdata->tg_trigtuple, attnum, desc, &isnull);
	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("column \"%s\" of table \"%s\" must not be null",
						NameStr(TupleDescAttr(desc, attnum - 1)->attname),
						RelationGetRelationName(trigdata->tg_relation))));
	return value;
}

static void
refuse_table(TriggerData *trigdata)
{
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("table \"%s\" is not one that this trigger can guard",
					RelationGetRelationName(trigdata->tg_relation))));
}

/* Which of our tables of counters is it? */
static HiloTable
guarded_table(TriggerData *trigdata)
{
	for (int i = 0; i < HILO_COUNTER_TABLES; i++)
	{
		if (RelationGetRelid(trigdata->tg_relation) == hilo_catalog_table(i))
			return i;
	}
	refuse_table(trigdata);
	return HILO_COUNTER_TABLES;	/* keep compiler quiet */
}

/* Raise 22023 unless a counter could be like this. */
static void
check_counter_row(const HiloCounterRow *row)
{
	if (row->max < 0 || row->max_value < 1 || row->max > row->max_value)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max must be between 0 and max_value")));
	if (row->range_size < 0 || row->range_size > INT_MAX ||
		row->max_range_size < 0 || row->max_range_size > INT_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sizes of ranges must be between 0 and %d", INT_MAX)));
	if (row->claims < 0 || row->given_back < 0 || !(row->claim_rate >= 0) ||
		isinf(row->claim_rate))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("claims, given_back and claim_rate must not be negative")));
	if (row->lease_size < 0 || row->lease_timeline < HILO_NOT_RESUMED)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("lease_size and lease_timeline must not be negative")));
	hilo_check_node_tag(NameStr(row->node_tag), strlen(NameStr(row->node_tag)));
}

/*
 * BEFORE INSERT, for each row: merge the row into the counter of its name, and
 * insert nothing.  Leases that come from another server are that server's.
 */
Datum
hilo_guard_rows(PG_FUNCTION_ARGS)
{
	TriggerData *trigdata = (TriggerData *) fcinfo->context;
	HiloCounterRow other = {0};
	HiloCounter counter;
	HiloTable	which;
	text	   *collection;
	HiloName	name;

	hilo_api_check_insert_trigger(fcinfo, "hilo_guard_rows");
	which = guarded_table(trigdata);
	if (which == HILO_TABLE_LEASES)
		return PointerGetDatum(NULL);

	/* Raises an error if the columns are not those that are read here. */
	table_close(hilo_catalog_open(which, RowExclusiveLock), RowExclusiveLock);

	collection = DatumGetTextPP(required_column(trigdata, HILO_ANUM_NAME));
	name.data = VARDATA_ANY(collection);
	name.len = VARSIZE_ANY_EXHDR(collection);
	/* The row may come from a server with another separator. */
	if (which != HILO_TABLE_COLLECTIONS ||
		name.len != 1 || memcmp(name.data, HILO_SERVER_SIDE_NAME, 1) != 0)
		hilo_check_collection(name.data, name.len, NULL);

	for (int i = 1; i < HILO_ANUM_NAME; i++)
		(void) required_column(trigdata, i);
	memcpy(&other, GETSTRUCT(trigdata->tg_trigtuple), HILO_COUNTER_ROW_SIZE);
	check_counter_row(&other);

	/* A hub was restored, which may have given more leases than it shows. */
	if (other.lease_timeline != 0)
		hilo_lease_set_hub_timeline(HILO_NOT_RESUMED);
	hilo_counter_init(&counter, which, name);
	hilo_counter_merge(&counter, &other);
	return PointerGetDatum(NULL);
}

/*
 * May a binding be added to those that there are?  A name is bound to one
 * column or function; or attached to columns, of which there may be several.
 */
static bool
fits_others(const HiloBinding *binding, List *others)
{
	ListCell   *lc;

	foreach(lc, others)
	{
		HiloBinding *other = lfirst(lc);

		if (hilo_binding_equals(binding, other))
			return false;
		if (binding->role == NULL && other->role == NULL &&
			!(binding->attached && other->attached))
			return false;
	}
	return true;
}

/*
 * BEFORE INSERT on hilo_binding, for each row: add the binding if it fits those
 * that there are, so that a restore keeps them, and the row is made in the same
 * way as by hilo_bind().
 */
Datum
hilo_guard_bindings(PG_FUNCTION_ARGS)
{
	TriggerData *trigdata = (TriggerData *) fcinfo->context;
	Relation	bindings;
	text	   *collection;
	HiloName	name;
	HiloBinding *binding;

	hilo_api_check_insert_trigger(fcinfo, "hilo_guard_bindings");

	/* Raises an error if the columns are not those that are read here. */
	bindings = hilo_catalog_open(HILO_TABLE_BINDINGS, AccessShareLock);
	if (RelationGetRelid(trigdata->tg_relation) != RelationGetRelid(bindings))
		refuse_table(trigdata);
	table_close(bindings, AccessShareLock);

	collection = DatumGetTextPP(required_column(trigdata,
												HILO_ANUM_BINDING_NAME));
	name.data = VARDATA_ANY(collection);
	name.len = VARSIZE_ANY_EXHDR(collection);
	hilo_check_collection(name.data, name.len, NULL);
	(void) required_column(trigdata, HILO_ANUM_BINDING_ATTACHED);
	binding = hilo_binding_read(trigdata->tg_trigtuple,
								RelationGetDescr(trigdata->tg_relation));
	if ((binding->column != NULL) + (binding->taken != NULL) +
		(binding->role != NULL) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a binding has either a column, a function or a role")));
	if (binding->attached && binding->column == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("only columns can be attached")));

	hilo_bindings_lock();
	if (fits_others(binding, hilo_bindings(name)))
		hilo_binding_add(name, binding);
	return PointerGetDatum(NULL);
}

/*
 * BEFORE UPDATE, DELETE or TRUNCATE: refuse.  Once a statement, so that one that
 * meets no row is refused, too; and for each row, as a statement on a parent, and
 * an apply worker, fire only such triggers.  The trigger's
 * arguments name the functions to use instead: to change, and to forget.
 */
Datum
hilo_guard_table(PG_FUNCTION_ARGS)
{
	TriggerData *trigdata = (TriggerData *) fcinfo->context;
	const char *table;

	if (!CALLED_AS_TRIGGER(fcinfo) || trigdata->tg_trigger->tgnargs != 2)
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("%s() must be called as a trigger with two arguments",
						"hilo_guard_table")));
	table = RelationGetRelationName(trigdata->tg_relation);

	if (TRIGGER_FIRED_BY_UPDATE(trigdata->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot update table \"%s\" by hand", table),
				 errhint("Use %s() instead.", trigdata->tg_trigger->tgargs[0])));
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 TRIGGER_FIRED_BY_DELETE(trigdata->tg_event) ?
			 errmsg("cannot delete from table \"%s\" by hand", table) :
			 errmsg("cannot truncate table \"%s\"", table),
			 errhint("Use %s() instead.", trigdata->tg_trigger->tgargs[1])));
}

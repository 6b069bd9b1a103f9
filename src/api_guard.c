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

#include "access/table.h"
#include "commands/trigger.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "api.h"
#include "binding.h"
#include "binding_row.h"
#include "catalog.h"
#include "column_ref.h"
#include "counter.h"

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
	for (int i = 0; i < HILO_TABLE_COUNT; i++)
	{
		if (RelationGetRelid(trigdata->tg_relation) == hilo_catalog_table(i))
			return i;
	}
	refuse_table(trigdata);
	return HILO_TABLE_COUNT;	/* keep compiler quiet */
}

/*
 * BEFORE INSERT, for each row: merge the row into the counter of its name, and
 * insert nothing.
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

	/* Raises an error if the columns are not those that are read here. */
	table_close(hilo_catalog_open(which, RowExclusiveLock), RowExclusiveLock);

	collection = DatumGetTextPP(required_column(trigdata, HILO_ANUM_NAME));
	name.data = VARDATA_ANY(collection);
	name.len = VARSIZE_ANY_EXHDR(collection);
	/* The row may come from a server with another separator. */
	if (which != HILO_TABLE_COLLECTIONS ||
		name.len != 1 || memcmp(name.data, HILO_SERVER_SIDE_NAME, 1) != 0)
		hilo_check_collection(name.data, name.len, NULL);

	other.max = DatumGetInt64(required_column(trigdata, HILO_ANUM_MAX));
	other.max_ever = DatumGetInt64(required_column(trigdata, HILO_ANUM_MAX_EVER));
	other.max_value = DatumGetInt64(required_column(trigdata, HILO_ANUM_MAX_VALUE));
	other.dropped = DatumGetBool(required_column(trigdata, HILO_ANUM_DROPPED));
	if (other.max < 0 || other.max_value < 1 || other.max > other.max_value)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max must be between 0 and max_value")));

	hilo_counter_init(&counter, which, name);
	hilo_counter_merge(&counter, &other);
	return PointerGetDatum(NULL);
}

/*
 * BEFORE INSERT on hilo_binding, for each row: bind if nothing is bound yet, so
 * that a restore keeps what is there, and the row is made in the same way as by
 * hilo_bind().
 */
Datum
hilo_guard_bindings(PG_FUNCTION_ARGS)
{
	TriggerData *trigdata = (TriggerData *) fcinfo->context;
	Relation	bindings;
	TupleDesc	desc;
	text	   *collection;
	HiloName	name;
	HiloColumn *column = NULL;
	char	   *taken = NULL;
	Datum		value;
	bool		isnull;

	hilo_api_check_insert_trigger(fcinfo, "hilo_guard_bindings");

	/* Raises an error if the columns are not those that are read here. */
	bindings = hilo_catalog_open_bindings(AccessShareLock);
	if (RelationGetRelid(trigdata->tg_relation) != RelationGetRelid(bindings))
		refuse_table(trigdata);
	table_close(bindings, AccessShareLock);
	desc = RelationGetDescr(trigdata->tg_relation);

	collection = DatumGetTextPP(required_column(trigdata,
												HILO_ANUM_BINDING_NAME));
	name.data = VARDATA_ANY(collection);
	name.len = VARSIZE_ANY_EXHDR(collection);
	value = heap_getattr(trigdata->tg_trigtuple, HILO_ANUM_BINDING_COLUMN,
						 desc, &isnull);
	if (!isnull)
		column = DatumGetHiloColumn(value);
	value = heap_getattr(trigdata->tg_trigtuple, HILO_ANUM_BINDING_FUNCTION,
						 desc, &isnull);
	if (!isnull)
		taken = TextDatumGetCString(value);
	if ((column == NULL) == (taken == NULL))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a binding has either a column or a function")));

	(void) hilo_binding_add(name, column, taken, NULL);
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

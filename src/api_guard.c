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

#include "commands/trigger.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "counter.h"
#include "document_id.h"

PG_FUNCTION_INFO_V1(hilo_guard_rows);
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
	text	   *collection;
	HiloName	name;

	if (!CALLED_AS_TRIGGER(fcinfo) ||
		!TRIGGER_FIRED_BEFORE(trigdata->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigdata->tg_event) ||
		!TRIGGER_FIRED_BY_INSERT(trigdata->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("%s() must be fired before insert for each row",
						"hilo_guard_rows")));

	collection = DatumGetTextPP(required_column(trigdata, HILO_ANUM_NAME));
	name.data = VARDATA_ANY(collection);
	name.len = VARSIZE_ANY_EXHDR(collection);
	/* The row may come from a server with another separator. */
	hilo_check_collection(name.data, name.len, NULL);

	other.max = DatumGetInt64(required_column(trigdata, HILO_ANUM_MAX));
	other.max_ever = DatumGetInt64(required_column(trigdata, HILO_ANUM_MAX_EVER));
	other.max_value = DatumGetInt64(required_column(trigdata, HILO_ANUM_MAX_VALUE));
	other.dropped = DatumGetBool(required_column(trigdata, HILO_ANUM_DROPPED));
	if (other.max < 0 || other.max_value < 1 || other.max > other.max_value)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max must be between 0 and max_value")));

	hilo_counter_init(&counter, name);
	hilo_counter_merge(&counter, &other);
	return PointerGetDatum(NULL);
}

/* BEFORE UPDATE, DELETE or TRUNCATE, for each statement: refuse. */
Datum
hilo_guard_table(PG_FUNCTION_ARGS)
{
	TriggerData *trigdata = (TriggerData *) fcinfo->context;
	const char *table;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("%s() must be called as a trigger",
						"hilo_guard_table")));
	table = RelationGetRelationName(trigdata->tg_relation);

	if (TRIGGER_FIRED_BY_UPDATE(trigdata->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot update table \"%s\" by hand", table),
				 errhint("Use hilo_seed() to move a counter.")));
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 TRIGGER_FIRED_BY_DELETE(trigdata->tg_event) ?
			 errmsg("cannot delete from table \"%s\" by hand", table) :
			 errmsg("cannot truncate table \"%s\"", table),
			 errhint("Use hilo_drop() to forget a counter.")));
}

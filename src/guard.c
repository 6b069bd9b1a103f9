/*-------------------------------------------------------------------------
 *
 * guard.c
 *	  The trigger that guards our tables against changes by hand.
 *
 * A transactional UPDATE or DELETE would lose concurrent claims, so it is
 * refused.  INSERT and COPY, which restores and replication need, become a
 * merge: rows are always created in the one way that does not depend on the
 * transaction, and an existing row is not a conflict.
 *
 * pg_dump writes the tables of an extension as COPY commands.  On restore, each row comes
 * here, and the trigger returns NULL in its place: the row that was merged stands already, and
 * COPY inserts nothing.  It does not matter whether the counter is there, nor whether the row
 * is restored twice, or after numbers were drawn: the higher max wins.
 *
 * A restore must not fail because of one row, or all others would be missing as well.  So
 * the checks here are only those that a counter needs to work.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/table.h"
#include "replication/logicalworker.h"
#include "utils/rel.h"

#include "arguments.h"
#include "binding.h"
#include "pool.h"

/* All HILO_ROW_... flags. */
#define ALL_FLAGS	(HILO_ROW_DROPPED | HILO_ROW_HAS_TAG | HILO_ROW_SHARED | HILO_ROW_HUB)

/*
 * The inserted row
 */

/*
 * A column of the new row, which must not be NULL.  The constraints of the table are checked only
 * after this trigger.
 */
static Datum
column_value(TriggerData *trigdata, AttrNumber attnum)
{
	TupleDesc	desc = RelationGetDescr(trigdata->tg_relation);
	bool		isnull;
	Datum		value = hilo_getattr(trigdata->tg_trigtuple, attnum, desc, &isnull);

	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("column \"%s\" of table \"hilo.%s\" must not be null",
						NameStr(TupleDescAttr(desc, attnum - 1)->attname),
						RelationGetRelationName(trigdata->tg_relation))));
	return value;
}

/*
 * Counters
 */

/*
 * Raise 22023 unless a counter of that name could have these contents.  Claims rely on that: below
 * a negative max, say, they would hand out negative numbers.
 */
static void
check_counter(const char *name, const HiloRow *row)
{
	const char *wrong =
		row->max < 0 || row->max_value < 1 || row->max > row->max_value ?
		"max must be between 0 and max_value" :
		row->hub < 0 || row->opening < 0 || row->opening == PG_INT64_MAX || row->floor < 0 ?
		"hub, opening and floor must not be negative" :
		row->range_size < 0 || row->max_range_size < 0 ?
		"sizes of ranges must not be negative" :
		!(row->claim_rate >= 0) || isinf(row->claim_rate) ?
		"claim_rate must be a number greater than or equal to zero" :
		(row->flags & ~ALL_FLAGS) != 0 ?
		psprintf("flags must be between 0 and %d", ALL_FLAGS) : NULL;

	if (wrong != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s", wrong)));
	if (!hilo_is_server_side(name))
		hilo_check_node_tag(NameStr(row->node_tag));
	if (row->separator[0] != '\0')
		hilo_check_own_separator(name, row->separator);
}

/* Merge the row into the counter of its name. */
static void
merge_counter(TriggerData *trigdata, const char *name)
{
	HeapTupleHeader header = trigdata->tg_trigtuple->t_data;
	HiloRow		other = {0};
	HiloRowRef	ref = {.name = name};

	/* The row may come from a server with another separator. */
	if (!hilo_is_server_side(name))
		(void) hilo_check_row_name(name, NULL);

	/* Without nulls, the columns before the name have the layout of the row. */
	for (AttrNumber i = 1; i < HILO_NAME_ATTNUM(HILO_TABLE_COUNTERS); i++)
		(void) column_value(trigdata, i);
	memcpy(&other, (char *) header + header->t_hoff, HILO_ROW_SIZE);

	check_counter(name, &other);

	/* What a publisher shares with others is not shared by its subscriber. */
	if (IsLogicalWorker())
	{
		other.flags &= ~(HILO_ROW_SHARED | HILO_ROW_HUB);
		other.hub = other.opening = other.opening_id = other.floor = 0;
	}

	/*
	 * With whose password this server connects to another, the owner of the
	 * server decides.  A hub that comes with a dump is closed even in the
	 * place where it was opened: its counters are older.
	 */
	if (hilo_is_server_side(name) && (!superuser() || (other.flags & HILO_ROW_HUB)))
		memset(&other.node_tag, 0, sizeof(other.node_tag));
	hilo_counter_merge(&ref, &other);
	hilo_pool_forget(name);
}

/*
 * Bindings
 */

/*
 * Add the binding as it is, whether or not its table exists, so that a restore in any order
 * succeeds.  It takes effect when there is such a table.
 */
static void
merge_binding(TriggerData *trigdata, const char *collection)
{
	HiloBinding binding = {0};
	NameData   *names[] = {&binding.schema_name, &binding.table_name,
	&binding.column_name, &binding.owner};

	hilo_check_collection(collection, NULL);
	for (int i = 0; i < (int) lengthof(names); i++)
		namestrcpy(names[i], NameStr(*DatumGetName(column_value(trigdata, i + 2))));
	hilo_binding_insert(collection, &binding);
}

/*
 * The trigger
 */

/*
 * Merge the inserted row into the existing ones of the table that it is for.
 *
 * The trigger function could be put on any table, by any role.  So the table has to be one of
 * ours, by its OID: what a row of another one says must not change a counter.
 */
static void
merge(TriggerData *trigdata)
{
	Relation	rel = trigdata->tg_relation;
	HiloTable	table = HILO_TABLE_COUNTERS;
	const char *name;
	int			len;

	while (table < HILO_TABLES &&
		   RelationGetRelid(rel) != hilo_catalog_table(table))
		table++;
	if (table == HILO_TABLES)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("this trigger cannot guard table \"%s\"",
						RelationGetRelationName(rel))));

	/*
	 * Opening the table raises an error unless it has the columns that are
	 * read here.
	 */
	table_close(hilo_catalog_open(table, AccessShareLock), AccessShareLock);

	name = TextDatumGetCString(column_value(trigdata, HILO_NAME_ATTNUM(table)));
	len = (int) strlen(name) - hilo_is_identity(name);

	/*
	 * A name from a database with another encoding may be too long here.  It
	 * must not keep all other rows of a dump out.  Nothing can draw from it.
	 */
	if (len > HILO_MAX_NAME_LEN)
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("row of " HILO_COUNTER_FORMAT " is left out", HILO_COUNTER_ARGS(name)),
				 errdetail("The name has %d bytes; the limit is %d.", len, HILO_MAX_NAME_LEN)));
	else if (table == HILO_TABLE_COUNTERS)
		merge_counter(trigdata, name);
	else
		merge_binding(trigdata, name);
}

/*
 * BEFORE INSERT, for each row: merge, and insert nothing.
 *
 * BEFORE UPDATE, DELETE or TRUNCATE: refuse; once per statement, so that one
 * that affects no row is refused as well, and for each row, because statements
 * on a parent table fire only row triggers.  Rows that logical replication brings
 * concern another server, and are left alone.  The trigger's arguments name the
 * functions to use instead: to change a row, and to delete one.
 */
PG_FUNCTION_INFO_V1(hilo_guard);

Datum
hilo_guard(PG_FUNCTION_ARGS)
{
	TriggerData *trigdata = (TriggerData *) fcinfo->context;
	const char *table;
	bool		is_update;

	if (!CALLED_AS_TRIGGER(fcinfo) ||
		!TRIGGER_FIRED_BEFORE(trigdata->tg_event) ||
		trigdata->tg_trigger->tgnargs != 2)
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("%s() must be fired as a BEFORE trigger with two arguments",
						"hilo.guard")));

	if (TRIGGER_FIRED_BY_INSERT(trigdata->tg_event))
	{
		merge(hilo_api_trigger(fcinfo, "hilo.guard"));
		return PointerGetDatum(NULL);
	}
	if (IsLogicalWorker() && !TRIGGER_FIRED_BY_TRUNCATE(trigdata->tg_event))
		return PointerGetDatum(NULL);

	table = RelationGetRelationName(trigdata->tg_relation);
	is_update = TRIGGER_FIRED_BY_UPDATE(trigdata->tg_event);
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 is_update ?
			 errmsg("cannot update table \"hilo.%s\" by hand", table) :
			 TRIGGER_FIRED_BY_DELETE(trigdata->tg_event) ?
			 errmsg("cannot delete from table \"hilo.%s\" by hand", table) :
			 errmsg("cannot truncate table \"hilo.%s\"", table),
			 errhint("Use %s() instead.", trigdata->tg_trigger->tgargs[is_update ? 0 : 1])));
}

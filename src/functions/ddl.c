/*-------------------------------------------------------------------------
 *
 * ddl.c
 *	  Event triggers for commands that affect attached columns.
 *
 * ALTER TABLE refuses to change the type of a column that fires a trigger,
 * because the trigger's condition could depend on it.  Our trigger has no
 * condition.  So its dependency is removed when the command begins and restored
 * when it ends, in the same transaction.
 *
 * When a trigger is dropped, the notes about it are deleted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_trigger.h"
#include "executor/spi.h"
#include "commands/event_trigger.h"
#include "commands/tablecmds.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"

#include "base/compat.h"
#include "base/sql.h"
#include "counting/catalog.h"
#include "counting/counter.h"
#include "tables/attach.h"
#include "tables/attachment.h"
#include "tables/binding.h"

PG_FUNCTION_INFO_V1(hilo_before_alter);
PG_FUNCTION_INFO_V1(hilo_after_alter);
PG_FUNCTION_INFO_V1(hilo_after_drop);

static void
check_call(FunctionCallInfo fcinfo)
{
	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("not fired by event trigger manager")));
}

/*
 * Types
 */

/* True if the command changes the type of that column; NULL: of any column. */
static bool
changes_type(const AlterTableStmt *statement, const char *column)
{
	ListCell   *lc;

	foreach(lc, statement->cmds)
	{
		AlterTableCmd *command = lfirst_node(AlterTableCmd, lc);

		if (command->subtype == AT_AlterColumnType &&
			(column == NULL || strcmp(command->name, column) == 0))
			return true;
	}
	return false;
}

/*
 * The attachments of columns whose types the command changes, including those
 * of children.  Locks the tables as the command does.  Before the command, raises
 * the command's own error if the user does not own the table.
 */
static List *
affected_attachments(FunctionCallInfo fcinfo, bool before)
{
	AlterTableStmt *statement;
	Oid			relation;
	List	   *affected = NIL;
	ListCell   *lc;

	check_call(fcinfo);
	statement = (AlterTableStmt *) ((EventTriggerData *) fcinfo->context)->parsetree;
	if (!IsA(statement, AlterTableStmt) || !changes_type(statement, NULL))
		return NIL;
	relation = RangeVarGetRelidExtended(statement->relation,
										AccessExclusiveLock, RVR_MISSING_OK,
										before ? RangeVarCallbackOwnsRelation : NULL,
										NULL);
	if (!OidIsValid(relation))
		return NIL;

	foreach(lc, find_all_inheritors(relation, AccessExclusiveLock, NULL))
	{
		ListCell   *lc2;

		foreach(lc2, hilo_attachments_of_table(lfirst_oid(lc)))
		{
			HiloAttachment *attachment = lfirst(lc2);

			if (changes_type(statement, hilo_column_name(&attachment->column)))
				affected = lappend(affected, attachment);
		}
	}
	return affected;
}

/* ddl_command_start */
Datum
hilo_before_alter(PG_FUNCTION_ARGS)
{
	ListCell   *lc;

	foreach(lc, affected_attachments(fcinfo, true))
	{
		HiloAttachment *attachment = lfirst(lc);

		deleteDependencyRecordsForClass(TriggerRelationId, attachment->trigger,
										RelationRelationId, DEPENDENCY_NORMAL);
	}
	CommandCounterIncrement();
	return (Datum) 0;
}

/* ddl_command_end */
Datum
hilo_after_alter(PG_FUNCTION_ARGS)
{
	ListCell   *lc;

	foreach(lc, affected_attachments(fcinfo, false))
	{
		HiloAttachment *attachment = lfirst(lc);
		ObjectAddress trigger;
		ObjectAddress column;

		ObjectAddressSet(trigger, TriggerRelationId, attachment->trigger);
		ObjectAddressSubSet(column, RelationRelationId,
							attachment->column.relation,
							attachment->column.attnum);
		recordDependencyOn(&trigger, &column, DEPENDENCY_NORMAL);
		hilo_attach_limit(attachment->collection);
	}
	return (Datum) 0;
}

/*
 * Drops
 */

/*
 * True if the command has dropped triggers, tables or columns. *triggers lists
 * the triggers; it lives in context.
 */
static bool
find_dropped(MemoryContext context, List **triggers)
{
	int			level = hilo_sql_begin();
	uint64		count;

	*triggers = NIL;
	count = hilo_sql_select("SELECT CASE WHEN classid = 'pg_catalog.pg_trigger'::pg_catalog.regclass THEN objid END"
							" FROM pg_catalog.pg_event_trigger_dropped_objects()"
							" WHERE NOT is_temporary AND object_type IN ('trigger', 'table', 'table column')");
	for (uint64 i = 0; i < count; i++)
	{
		bool		isnull;
		Datum		trigger = SPI_getbinval(SPI_tuptable->vals[i],
											SPI_tuptable->tupdesc, 1, &isnull);
		MemoryContext old = MemoryContextSwitchTo(context);

		if (!isnull)
			*triggers = lappend_oid(*triggers, DatumGetObjectId(trigger));
		MemoryContextSwitchTo(old);
	}
	hilo_sql_end(level);
	return count > 0;
}

/*
 * True if the row concerns one of the triggers, or a column that no longer
 * exists.
 */
static bool
is_obsolete(const HiloBinding *binding, void *triggers)
{
	return list_member_oid(triggers, binding->trigger) ||
		(binding->attached && !hilo_binding_has_column(binding));
}

/* Mark those of the collections that no longer have bindings or grants. */
static void
note_deserted(List *collections)
{
	ListCell   *lc;

	foreach(lc, collections)
	{
		const char *name = lfirst(lc);
		HiloRowRef	ref;

		hilo_row_ref_init(&ref, name);
		if (hilo_bindings(name) == NIL)
			hilo_counter_note_deserted(&ref);
	}
}

/* sql_drop */
Datum
hilo_after_drop(PG_FUNCTION_ARGS)
{
	List	   *triggers;
	List	   *collections;

	check_call(fcinfo);
	if (!hilo_catalog_has(HILO_TABLE_BINDINGS) ||
		!find_dropped(CurrentMemoryContext, &triggers))
		return (Datum) 0;
	collections = hilo_bindings_remove_if(is_obsolete, triggers);

	/*
	 * A table that has lost only its trigger still exists, and may have drawn
	 * numbers.
	 */
	if (((EventTriggerData *) fcinfo->context)->tag != CMDTAG_DROP_TRIGGER)
		note_deserted(collections);
	return (Datum) 0;
}

/*-------------------------------------------------------------------------
 *
 * triggers.c
 *	  The trigger of users' tables that assigns ids.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "ids/assign.h"
#include "session/call.h"
#include "tables/column.h"

/*
 * BEFORE INSERT, for each row: assign the id that the row requests.  The collection
 * is by default the one named after the table, or after its topmost parent.
 */
PG_FUNCTION_INFO_V1(hilo_assign_id);

Datum
hilo_assign_id(PG_FUNCTION_ARGS)
{
	TriggerData *trigdata = hilo_api_trigger(fcinfo, "hilo.assign_id");
	Trigger    *trigger = trigdata->tg_trigger;
	Relation	rel = trigdata->tg_relation;
	HiloEntry  *entry = fcinfo->flinfo->fn_extra;
	AttrNumber	attnum;

	hilo_api_prevent_unless_may_write("hilo.assign_id()");
	if (trigger->tgnargs < 1 || trigger->tgnargs > 2)
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("%s() takes the name of the id column, and the collection's name if it differs from the table's",
						"hilo.assign_id")));
	attnum = hilo_column_number(RelationGetRelid(rel), trigger->tgargs[0]);
	if (entry == NULL)
	{
		const char *name = trigger->tgnargs == 2 ? trigger->tgargs[1] :
			get_rel_name(hilo_topmost_table(rel));

		hilo_check_holds(RelationGetRelid(rel), attnum, false);
		entry = hilo_entry(name != NULL ? name : RelationGetRelationName(rel));
		fcinfo->flinfo->fn_extra = entry;
	}
	return PointerGetDatum(hilo_assign_to_row(entry, rel, attnum,
											  trigdata->tg_trigtuple));
}

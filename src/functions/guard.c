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
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/table.h"
#include "replication/logicalworker.h"
#include "utils/inval.h"

#include "counting/source.h"
#include "session/call.h"
#include "shared/pool.h"
#include "tables/binding.h"
#include "tables/taken.h"

/* All HILO_ROW_... flags. */
#define ALL_FLAGS \
	(HILO_ROW_DROPPED | HILO_ROW_LEASED | HILO_ROW_HAS_TAG | HILO_ROW_BOUND | \
	 HILO_ROW_NEW_END | HILO_ROW_ORDERED | HILO_ROW_OWN_LIMIT | \
	 HILO_ROW_SETTLED | HILO_ROW_DRAWN)

/*
 * The inserted row
 */

/* The name of the new row.  Neither that nor a column before it may be NULL. */
static const char *
name_column(TriggerData *trigdata, HiloTable table)
{
	TupleDesc	desc = RelationGetDescr(trigdata->tg_relation);
	Datum		value = (Datum) 0;

	for (int i = 0; i < HILO_NAME_ATTNUM(table); i++)
	{
		bool		isnull;

		value = hilo_getattr(trigdata->tg_trigtuple, i + 1, desc, &isnull);
		if (isnull)
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("column \"%s\" of table \"hilo.%s\" must not be null",
							NameStr(TupleDescAttr(desc, i)->attname),
							RelationGetRelationName(trigdata->tg_relation))));
	}
	return TextDatumGetCString(value);
}

/*
 * Counters
 */

/* Raise 22023 unless a counter of that name could have these contents. */
static void
check_counter(const char *name, const HiloRow *row)
{
	const char *wrong =
		row->max < 0 || row->max_value < 1 || row->max > row->max_value ?
		"max must be between 0 and max_value" :
		row->range_size < 0 || row->max_range_size < 0 || row->lease_size < 0 ?
		"sizes of ranges and leases must not be negative" :
		!(row->claim_rate >= 0) || isinf(row->claim_rate) ?
		"claim_rate must be a number greater than or equal to zero" :
		(row->flags & ~ALL_FLAGS) != 0 ?
		psprintf("flags must be between 0 and %d", ALL_FLAGS) : NULL;

	if (wrong != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s", wrong)));
	hilo_check_node_tag(NameStr(row->node_tag));
	if (row->separator[0] != '\0')
		hilo_check_own_separator(name, row->separator);
}

/* Merge the row into the counter of its name. */
static void
merge_counter(TriggerData *trigdata)
{
	const char *name = name_column(trigdata, HILO_TABLE_COUNTERS);
	HeapTupleHeader header = trigdata->tg_trigtuple->t_data;
	HiloRow		other = {0};
	HiloRowRef	ref = {.name = name};

	/* The row may come from a server with another separator. */
	if (!hilo_is_own_name(name))
		(void) hilo_check_row_name(name, NULL);

	/* Without nulls, the columns before the name have the layout of the row. */
	memcpy(&other, (char *) header + header->t_hoff, HILO_ROW_SIZE);

	/* If flags were omitted, a limit that was given counts as set by hand. */
	if (other.max_value == PG_INT64_MAX)
		other.flags &= ~HILO_ROW_OWN_LIMIT;
	check_counter(name, &other);
	if (NameStr(other.hub)[0] != '\0')
		hilo_source()->admit(name, &other);

	hilo_counter_merge(&ref, &other);
	hilo_pool_forget(name, true);
}

/*
 * Rows that only functions in SQL change
 */

/*
 * True if one of our functions in SQL makes the change: it runs as their owner.  All
 * sessions are told about a change of hilo.hub: it decides whether they may draw.
 */
static bool
is_ours(TriggerData *trigdata)
{
	Relation	rel = trigdata->tg_relation;
	bool		is_hub = RelationGetRelid(rel) == hilo_catalog_table(HILO_TABLE_HUBS);
	Oid			user;
	int			context;

	GetUserIdAndSecContext(&user, &context);
	if (context != SECURITY_LOCAL_USERID_CHANGE ||
		user != hilo_catalog_functions_owner() ||
		!(is_hub || RelationGetRelid(rel) == hilo_catalog_table(HILO_TABLE_MEMBERS)))
		return false;
	if (is_hub)
		CacheInvalidateRelcache(rel);
	return true;
}

/*
 * Bindings
 */

/*
 * True if the binding of a column may be added to the existing ones.  A name can be bound
 * to one column.
 */
static bool
fits_others(const HiloBinding *binding, List *others)
{
	foreach_ptr(HiloBinding, other, others)
	{
		if (hilo_binding_equals(binding, other) ||
			(other->kind != HILO_ALLOWED &&
			 (binding->kind != HILO_ATTACHED || other->kind != HILO_ATTACHED)))
			return false;
	}
	return true;
}

/*
 * True if the current user may make the binding, that is, owns the table, as
 * hilo.bind() requires.
 */
static bool
may_bind(const HiloBinding *binding)
{
	return superuser() || binding->kind != HILO_BOUND ||
		(OidIsValid(binding->object) &&
		 hilo_owns(RelationRelationId, binding->object, GetUserId()));
}

/*
 * Add the binding if it fits the existing ones, so that a restore keeps those,
 * and the row is created in the same way as by hilo.bind().  One from elsewhere
 * stands for what has its names here.
 */
static void
merge_binding(TriggerData *trigdata)
{
	const char *name;
	HiloBinding *binding;

	binding = hilo_binding_read(trigdata->tg_trigtuple,
								RelationGetDescr(trigdata->tg_relation));
	name = name_column(trigdata, HILO_TABLE_BINDINGS);
	hilo_check_collection(name, NULL);
	if (binding->kind == HILO_UNKNOWN)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("kind must be attached, bound or allowed")));
	hilo_binding_settle(name, binding);
	if (!may_bind(binding))
	{
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("\"%s\" is not bound to its documents", name),
				 errdetail("Role \"%s\" does not own the table.",
						   GetUserNameFromId(GetUserId(), false)),
				 errhint("The owner can use hilo.bind().")));
		return;
	}

	(void) hilo_bindings_lock(name, true);
	if (binding->kind == HILO_ALLOWED)
		(void) hilo_binding_remove(name, binding);
	else if (!fits_others(binding, hilo_bindings(name).all))
		return;
	hilo_binding_add(name, binding);
	if (binding->kind == HILO_ALLOWED && !OidIsValid(binding->object) &&
		strcmp(binding->owner, "public") != 0)
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("role \"%s\" may not draw from collection \"%s\"",
						binding->owner, name),
				 errdetail("There is no such role."),
				 errhint("Create it, and use hilo.allow().")));
}

/*
 * The trigger
 */

/*
 * Warn if the name is too long, as one from a database with another encoding may be
 * here: it must not keep all other rows of a dump out.  Nothing can draw from it.
 */
static bool
is_too_long(const char *name)
{
	if (strlen(name) - hilo_is_identity(name) <= HILO_MAX_NAME_LEN)
		return false;
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("row of " HILO_COUNTER_FORMAT " is left out", HILO_COUNTER_ARGS(name)),
			 errdetail("The name has %d bytes; the limit is %d.",
					   (int) strlen(name) - hilo_is_identity(name), HILO_MAX_NAME_LEN)));
	return true;
}

/* Merge the inserted row into the existing ones of the table that it is for. */
static void
merge(TriggerData *trigdata)
{
	Relation	rel = trigdata->tg_relation;
	HiloTable	table = HILO_TABLE_COUNTERS;

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

	if (table == HILO_TABLE_COUNTERS || table == HILO_TABLE_BINDINGS)
	{
		if (is_too_long(name_column(trigdata, table)))
			return;
	}
	if (table == HILO_TABLE_COUNTERS)
		merge_counter(trigdata);
	else if (table == HILO_TABLE_BINDINGS)
		merge_binding(trigdata);

	/*
	 * That a publisher gives numbers to others does not make its subscriber
	 * one that does.
	 */
	else if (!IsLogicalWorker())
		hilo_source()->restored(table, name_column(trigdata, table),
								trigdata->tg_trigtuple, RelationGetDescr(rel));
}

/*
 * Refuse anything but an insert.  The trigger's arguments name the functions to
 * use instead: to change a row, and to delete one.
 */
static void
refuse_change(TriggerData *trigdata)
{
	const char *table = RelationGetRelationName(trigdata->tg_relation);
	bool		is_update = TRIGGER_FIRED_BY_UPDATE(trigdata->tg_event);

	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 is_update ?
			 errmsg("cannot update table \"hilo.%s\" by hand", table) :
			 TRIGGER_FIRED_BY_DELETE(trigdata->tg_event) ?
			 errmsg("cannot delete from table \"hilo.%s\" by hand", table) :
			 errmsg("cannot truncate table \"hilo.%s\"", table),
			 errhint("Use %s() instead.",
					 trigdata->tg_trigger->tgargs[is_update ? 0 : 1])));
}

/*
 * BEFORE INSERT, for each row: merge, and insert nothing.
 *
 * BEFORE UPDATE, DELETE or TRUNCATE: refuse; once per statement, so that one
 * that affects no row is refused as well, and for each row, because statements
 * on a parent table fire only row triggers.  Rows that logical replication brings
 * concern another server, and are left alone.
 */
PG_FUNCTION_INFO_V1(hilo_guard);

Datum
hilo_guard(PG_FUNCTION_ARGS)
{
	TriggerData *trigdata = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo) ||
		!TRIGGER_FIRED_BEFORE(trigdata->tg_event) ||
		trigdata->tg_trigger->tgnargs != 2)
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("%s() must be fired as a BEFORE trigger with two arguments",
						"hilo.guard")));

	if (is_ours(trigdata))
		return PointerGetDatum(TRIGGER_FIRED_BY_UPDATE(trigdata->tg_event) ?
							   trigdata->tg_newtuple : trigdata->tg_trigtuple);
	if (!TRIGGER_FIRED_BY_INSERT(trigdata->tg_event))
	{
		if (!IsLogicalWorker() || TRIGGER_FIRED_BY_TRUNCATE(trigdata->tg_event))
			refuse_change(trigdata);
		return PointerGetDatum(NULL);
	}
	merge(hilo_api_trigger(fcinfo, "hilo.guard"));
	return PointerGetDatum(NULL);
}

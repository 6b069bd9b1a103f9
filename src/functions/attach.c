/*-------------------------------------------------------------------------
 *
 * attach.c
 *	  What hilo.attach() and its kin, which are written in PL/pgSQL, cannot do in
 *	  SQL; and who may draw.
 *
 * Everybody may call these functions, so each checks by itself that the caller
 * owns the table, and has the right to attach it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "commands/sequence.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "base/failure_point.h"
#include "base/sql.h"
#include "counting/catalog.h"
#include "ids/assign.h"
#include "sequences/sequence.h"
#include "session/call.h"
#include "tables/binding.h"
#include "tables/drawing.h"
#include "tables/highest.h"
#include "tables/rights.h"

/* True if the error comes from one of our internal functions, not from a statement in it. */
static bool
is_ours(const ErrorData *error)
{
	const char *name = error->context == NULL ? NULL :
		strstr(error->context, " " HILO_SCHEMA "._");

	return name != NULL && name < error->context + strcspn(error->context, "\n");
}

/*
 * hilo.attach() and hilo.detach() are written in PL/pgSQL.  For errors that they raise,
 * their lines are no context that tells a user anything; the user's own functions are.
 */
PG_FUNCTION_INFO_V1(hilo_call_inner);

Datum
hilo_call_inner(PG_FUNCTION_ARGS)
{
	MemoryContext caller = CurrentMemoryContext;
	Datum		result;

	PG_TRY();
	{
		result = hilo_api_call_inner(fcinfo);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(caller);
		error = CopyErrorData();
		if (!is_ours(error))
			PG_RE_THROW();
		FlushErrorState();
		error->context = NULL;
		ThrowErrorData(error);
	}
	PG_END_TRY();
	return result;
}

/*
 * hilo._lock(relation, function): lock a table of the current user and its children,
 * whose rows can be inserted directly, for a function that is named in errors.
 */
PG_FUNCTION_INFO_V1(hilo_lock);

Datum
hilo_lock(PG_FUNCTION_ARGS)
{
	Oid			relation = PG_GETARG_OID(0);
	const char *function = hilo_api_name(fcinfo, 1, "function");

	hilo_api_prevent_unless_may_write(function);
	hilo_api_reject_null(fcinfo, 0, "relation");
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s cannot be used in a transaction of this isolation level",
						function),
				 errdetail("It would not see what was committed since the transaction began."),
				 errhint("Use READ COMMITTED.")));
	hilo_check_owned(relation);
	LockRelationOid(relation, AccessExclusiveLock);
	hilo_check_owned(relation);
	(void) find_all_inheritors(relation, AccessExclusiveLock, NULL);
	PG_RETURN_VOID();
}

/*
 * hilo._check_holds(relation, column_name, assign): raise an error unless the column
 * can hold ids, as text if hilo.assign_id() is to assign them, or numbers.
 */
PG_FUNCTION_INFO_V1(hilo_check_column);

Datum
hilo_check_column(PG_FUNCTION_ARGS)
{
	Oid			relation = PG_GETARG_OID(0);
	AttrNumber	attnum = hilo_column_number(relation, NameStr(*PG_GETARG_NAME(1)));

	hilo_check_holds(relation, attnum, !PG_GETARG_BOOL(2));
	PG_RETURN_VOID();
}

/*
 * Sequences
 */

/*
 * True if the ids of a table that draws from the sequence are in one of its columns; a
 * warning if they are not.
 */
static bool
counts_for_sequence(Oid relation, Oid sequence, List *columns)
{
	foreach_ptr(HiloColumn, column, columns)
	{
		if (column->relation == relation)
			return true;
	}
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("ids of table %s do not count for sequence \"%s\"",
					hilo_sql_table(relation), get_rel_name(sequence)),
			 errdetail("The owner of the table may not set it."),
			 errhint("Give both the same owner, or grant UPDATE on the sequence to the table's owner.")));
	return false;
}

/* Move a sequence, as hilo._sync_sequence() does.  Returns the number that it is at. */
static int64
sync_sequence(HiloSequence *sequence, Oid relation, bool attach)
{
	List	   *columns = hilo_columns_of_sequence(sequence->oid);
	int64		limit;
	int64		at = hilo_sequence_position(sequence, &limit);
	int64		too_far = at;
	HiloSought	sought = {.above = at};

	if (!sequence->looks)
		ereport(NOTICE,
				(errmsg("ids are not compared with sequence \"%s\"", get_rel_name(sequence->oid)),
				 errdetail("It has a cycle, or an increment other than 1."),
				 errhint("If ids should continue above it, use setval().")));
	if (!sequence->looks ||
		(OidIsValid(relation) &&
		 !counts_for_sequence(relation, sequence->oid, columns) && attach))
		return at;

	foreach_ptr(HiloColumn, column, columns)
	{
		int64		last = Min(limit, hilo_column_limit(column));
		int64		highest = at;

		/*
		 * A row with the last number of its type, or of the sequence, marks
		 * an end.
		 */
		sought.limit = attach ? Min(last, PG_INT64_MAX - 1) : last - 1;
		if (sought.above < sought.limit)
			highest = hilo_column_highest(column, &sought);
		hilo_catalog_announce(column->relation);
		if (attach && highest > sought.above &&
			(uint64) highest - (uint64) at > ((uint64) last - (uint64) at) / 2)
			too_far = Max(too_far, highest);
		else
			sought.above = Max(sought.above, highest);
	}
	if (too_far > sought.above)
		hilo_warn_too_far("sequence", get_rel_name(sequence->oid), too_far, HILO_MORE_THAN_HALF,
						  "setval()");
	if (sought.above <= at)
		return at;
	return hilo_sequence_move(sequence, sought.above, attach);
}

/*
 * hilo._sync_sequence(sequence, relation, attach): move the sequence to at least the
 * highest number in its columns, and return the number that it is at; null: it does not
 * exist any more.  A table of which no id counts is warned of; relation 0: none.  To
 * attach such a table, the sequence is not moved; nor to a number so high that more than
 * half of what is left would be used up.
 */
PG_FUNCTION_INFO_V1(hilo_sync_sequence);

Datum
hilo_sync_sequence(PG_FUNCTION_ARGS)
{
	Oid			sequence = PG_GETARG_OID(0);
	Oid			relation = PG_GETARG_OID(1);
	bool		attach = PG_GETARG_BOOL(2);
	int			level;
	int64		at = 0;
	bool		is_there;

	hilo_api_prevent_unless_may_write(attach ? "hilo.attach()" : "hilo.sync()");
	if (attach)
	{
		/* A default may name any sequence. */
		hilo_check_owned(relation);
		hilo_sequence_check_may_draw(sequence);
	}
	else
		hilo_catalog_check_may_sync();
	level = hilo_sql_limit_lock_waits();

	/* It may have been dropped meanwhile. */
	LockRelationOid(sequence, RowExclusiveLock);
	is_there = SearchSysCacheExists1(RELOID, ObjectIdGetDatum(sequence));
	if (is_there)
		at = sync_sequence(hilo_sequence(sequence), relation, attach);
	AtEOXact_GUC(false, level);
	if (!is_there)
		PG_RETURN_NULL();
	PG_RETURN_INT64(at);
}

/*
 * hilo._sequence_position(sequence): the last number that was drawn from it, or that
 * setval() or ALTER SEQUENCE has left out.
 */
PG_FUNCTION_INFO_V1(hilo_position_of_sequence);

Datum
hilo_position_of_sequence(PG_FUNCTION_ARGS)
{
	Oid			oid = PG_GETARG_OID(0);
	int64		limit;

	if (pg_class_aclcheck(oid, GetUserId(), ACL_SELECT | ACL_USAGE) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_SEQUENCE, get_rel_name(oid));
	PG_RETURN_INT64(hilo_sequence_position(hilo_sequence(oid), &limit));
}

/* So many draws take some milliseconds. */
#define MAX_DRAWS		65536

/*
 * Warn that a sequence cannot be moved above a number.  If only its limit were changed, it
 * would give the numbers up to that again.
 */
static void
warn_ends_below(Oid sequence, int64 limit, int64 number)
{
	const char *name = hilo_sql_table(sequence);

	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("sequence %s ends below " INT64_FORMAT, name, number),
			 errdetail("Its maximum value is " INT64_FORMAT ".", limit),
			 errhint("ALTER SEQUENCE %s AS bigint NO MAXVALUE; SELECT setval(%s, " INT64_FORMAT ");",
					 name, quote_literal_cstr(name), number)));
}

/*
 * hilo._raise_sequence(sequence, number): move a sequence that counts upwards to at least the
 * number, by draws, for which no other session has to wait.  False: that would take too many;
 * it is left to setval(), and locked, so that nobody draws from it between a look at it and
 * that.
 */
PG_FUNCTION_INFO_V1(hilo_raise_sequence);

Datum
hilo_raise_sequence(PG_FUNCTION_ARGS)
{
	Oid			oid = PG_GETARG_OID(0);
	HiloSequence *sequence = hilo_sequence(oid);
	int64		limit;
	int64		at;
	int64		number;

	if (pg_class_aclcheck(oid, GetUserId(), ACL_UPDATE) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_SEQUENCE, get_rel_name(oid));
	at = hilo_sequence_position(sequence, &limit);
	number = Min(PG_GETARG_INT64(1), limit);
	if (sequence->increment > 0 && number < PG_GETARG_INT64(1))
		warn_ends_below(oid, limit, PG_GETARG_INT64(1));
	if (sequence->looks)
		(void) hilo_sequence_move(sequence, number, true);
	else if (sequence->increment > 0 && at < number &&
			 ((uint64) number - (uint64) at) / (uint64) sequence->increment >= MAX_DRAWS)
	{
		LockRelationOid(oid, ShareRowExclusiveLock);
		PG_RETURN_BOOL(false);
	}
	else if (sequence->increment > 0)
	{
		while (at < number && (uint64) limit - (uint64) at >= (uint64) sequence->increment)
		{
			CHECK_FOR_INTERRUPTS();
			at = nextval_internal(oid, false);
		}
	}
	PG_RETURN_BOOL(true);
}

/*
 * Collections
 */

/*
 * Raise 42501 unless the current user may attach tables, and this one to the collection:
 * that creates it, whatever hilo.auto_create says.
 */
static void
check_may_attach(Oid relation, HiloCollection *collection)
{
	Oid			types[] = {REGCLASSOID, NAMEOID, TEXTOID, BOOLOID};

	if (!hilo_catalog_may_execute("attach", types, 4, GetUserId()))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for function attach")));
	if (!hilo_may_attach_to(collection, GetUserId()))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to attach table %s to collection \"%s\"",
						hilo_sql_table(relation), collection->ref.name),
				 errdetail("The collection, or the identity of its name, is already in use."),
				 errhint("Specify another collection, or have a role do it that may execute hilo.seed().")));
}

/*
 * The column in argument 1 of the current user's table in argument 0, and the
 * collection in argument 2, to which it may be attached.  Locks the bindings.
 */
static HiloColumn
attachable_argument(FunctionCallInfo fcinfo, HiloCollection *collection)
{
	HiloColumn	column = hilo_owned_column(PG_GETARG_OID(0),
										   NameStr(*PG_GETARG_NAME(1)));
	const char *name = text_to_cstring(PG_GETARG_TEXT_PP(2));

	hilo_check_holds(column.relation, column.attnum, true);
	hilo_check_collection(name, hilo_identity_parts_separator);
	hilo_collection_init(collection, name);
	check_may_attach(column.relation, collection);
	(void) hilo_bindings_lock(name, true);
	return column;
}

/*
 * hilo._may_attach(relation, column_name, collection, alone): raise an error unless the
 * column of a locked table may be attached; with alone, also if the collection is attached
 * to another table.
 */
PG_FUNCTION_INFO_V1(hilo_may_attach);

Datum
hilo_may_attach(PG_FUNCTION_ARGS)
{
	HiloCollection collection;
	HiloColumn	column = attachable_argument(fcinfo, &collection);
	const char *name = collection.ref.name;
	HiloBindings bindings;
	Oid			table;

	if (hilo_is_bound(name, InvalidCommandId))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("\"%s\" is bound elsewhere", name),
				 errhint("Undo that with hilo.unbind() first.")));
	bindings = hilo_bindings(name);
	hilo_bindings_refresh(name, &bindings);
	table = bindings.table;
	if (PG_GETARG_BOOL(3) && OidIsValid(table) &&
		!list_member_oid(find_all_inheritors(column.relation, NoLock, NULL),
						 table))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("collection \"%s\" is attached to table %s",
						name, hilo_sql_table(table)),
				 errhint("Specify the collection: this one to share it, or another.")));
	(void) hilo_collection_set_limit(&collection);
	PG_RETURN_VOID();
}

/*
 * hilo._bind_column(relation, column_name, collection, was, sequence): record that the
 * column is attached, and what drew before.  This replaces what is recorded of it, and of
 * columns that are gone.
 */
PG_FUNCTION_INFO_V1(hilo_bind_column);

Datum
hilo_bind_column(PG_FUNCTION_ARGS)
{
	HiloColumn	column = hilo_owned_column(PG_GETARG_OID(0), NameStr(*PG_GETARG_NAME(1)));
	const char *name = text_to_cstring(PG_GETARG_TEXT_PP(2));
	HiloBinding binding = {.kind = HILO_ATTACHED};
	HiloCollection collection;

	hilo_check_collection(name, hilo_identity_parts_separator);
	hilo_collection_init(&collection, name);
	check_may_attach(column.relation, &collection);
	if (hilo_drawing_columns(column.relation, name) == NIL ||
		!hilo_binding_set_relation(&binding, column.relation, column.attnum))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table %s does not draw from collection \"%s\"",
						hilo_sql_table(column.relation), name)));
	(void) hilo_bindings_lock(name, true);
	foreach_ptr(HiloBinding, other, hilo_bindings(name).all)
	{
		if (other->kind == HILO_ATTACHED &&
			(!OidIsValid(other->living.relation) ||
			 (other->living.relation == column.relation && other->living.attnum == column.attnum)))
			(void) hilo_binding_remove(name, other);
	}
	binding.was = text_to_cstring(PG_GETARG_TEXT_PP(3));
	binding.sequence_oid = PG_GETARG_OID(4);
	binding.sequence = OidIsValid(binding.sequence_oid) ? hilo_sql_table(binding.sequence_oid) : pstrdup("");
	hilo_binding_add(name, &binding);
	PG_RETURN_VOID();
}

/*
 * hilo._drawn_before(relation, column_name, collection): what drew before, as it was
 * recorded; null: nothing is.  The record stays when the column is detached: it says whose
 * tables the collection was for.
 */
PG_FUNCTION_INFO_V1(hilo_drawn_before);

Datum
hilo_drawn_before(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = hilo_api_result_desc(fcinfo);
	HiloColumn	column = hilo_owned_column(PG_GETARG_OID(0), NameStr(*PG_GETARG_NAME(1)));
	const char *name = text_to_cstring(PG_GETARG_TEXT_PP(2));

	foreach_ptr(HiloBinding, binding, hilo_bindings(name).all)
	{
		Datum		values[2];

		if (binding->kind != HILO_ATTACHED || binding->object != column.relation ||
			binding->attnum != column.attnum)
			continue;
		hilo_binding_find_sequence(binding);
		values[0] = CStringGetTextDatum(binding->was);
		values[1] = ObjectIdGetDatum(binding->sequence_oid);
		return hilo_api_result(desc, values);
	}
	PG_RETURN_NULL();
}

/* The column as one that draws from the collection.  Raises 55000 if it does not. */
static HiloColumn
drawing_column(HiloColumn column, const char *collection)
{
	foreach_ptr(HiloColumn, drawing, hilo_drawing_columns(column.relation, collection))
	{
		if (drawing->attnum == column.attnum)
			return *drawing;
	}
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("column \"%s\" of table %s does not draw from collection \"%s\"",
					hilo_column_name(&column), hilo_sql_table(column.relation), collection)));
	return column;				/* keep compiler quiet */
}

/*
 * hilo._attach_counter(relation, column_name, collection, at_least): the last step:
 * move the counter to at least the given number, and the highest number in the column.
 * Returns the max, the node tag, and whether the column has only ids of another form.
 */
PG_FUNCTION_INFO_V1(hilo_attach_counter);

Datum
hilo_attach_counter(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = hilo_api_result_desc(fcinfo);
	HiloCollection collection;
	HiloColumn	column;
	HiloSought	sought;
	int64		limit;
	int64		highest;
	bool		ignored;
	Datum		values[3];

	hilo_api_prevent_unless_may_write("hilo.attach()");
	column = attachable_argument(fcinfo, &collection);
	column = drawing_column(column, collection.ref.name);
	limit = hilo_column_limit(&column);
	sought = hilo_sought(&collection);
	sought.above = Max(sought.above, PG_GETARG_INT64(3));
	highest = hilo_column_highest(&column, &sought);
	if (highest > sought.above && highest < PG_INT64_MAX - 1 &&
		highest - sought.above > (Min(limit, sought.limit) - sought.above) / 2 &&
		highest < Min(limit, sought.limit))
	{
		hilo_warn_too_far("collection", collection.ref.name, highest,
						  HILO_MORE_THAN_HALF, "hilo.seed()");
		highest = sought.above;
	}
	ignored = highest == sought.above && hilo_column_has_others(&column, &collection);
	HILO_FAILURE_POINT("column bound");

	/* The last step: no rollback undoes it. */
	values[0] = Int64GetDatum(hilo_collection_adopt(&collection, highest, limit));
	HILO_FAILURE_POINT("counter adopted");
	(void) hilo_collection_row(&collection);
	values[1] = CStringGetTextDatum(hilo_collection_node_tag(&collection));
	values[2] = BoolGetDatum(ignored);
	return hilo_api_result(desc, values);
}

/*
 * hilo._max(relation, collection): the counter's max, for whoever owns a table
 * with a column that draws from it, unless only others own the tables that it is bound
 * to; else NULL.
 */
PG_FUNCTION_INFO_V1(hilo_max);

Datum
hilo_max(PG_FUNCTION_ARGS)
{
	Oid			relation = PG_GETARG_OID(0);
	HiloRowRef	ref = {.name = text_to_cstring(PG_GETARG_TEXT_PP(1))};
	Oid			owner = hilo_table_owner(relation);
	HiloRow		row;

	hilo_check_owned(relation);
	if (hilo_drawing_columns(relation, ref.name) == NIL ||
		(OidIsValid(hilo_bindings(ref.name).table) &&
		 !hilo_has_part_in(ref.name, owner) && !hilo_catalog_may_seed(false, owner)) ||
		!hilo_counter_read(&ref, &row))
		PG_RETURN_NULL();
	PG_RETURN_INT64(row.max);
}

/*
 * Defaults
 */

/*
 * hilo._draws(pg_node_tree): the sequence, or else the collection, that a default draws
 * from; null: none.
 */
PG_FUNCTION_INFO_V1(hilo_draws);

Datum
hilo_draws(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = hilo_api_result_desc(fcinfo);
	HiloDraws	draws;
	Datum		values[2] = {0};
	bool		nulls[2];

	if (!hilo_expression_draws(hilo_stored_expression(PG_GETARG_DATUM(0)), &draws))
		PG_RETURN_NULL();
	nulls[0] = !OidIsValid(draws.sequence);
	values[0] = ObjectIdGetDatum(draws.sequence);
	nulls[1] = draws.collection == NULL;
	if (draws.collection != NULL)
		values[1] = CStringGetTextDatum(draws.collection);
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

/*
 * The right to draw
 */

/*
 * Let the role in argument 1, "public" for all, draw from the collection in
 * argument 0, or no longer.  What is recorded of a role that had this name, and was
 * dropped or not found by a restore, goes as well.
 */
static void
change_allowed(FunctionCallInfo fcinfo, const char *function, bool may_draw)
{
	HiloBinding binding = {.kind = HILO_ALLOWED};
	const char *collection;
	HiloRowRef	ref = {.name = NULL};
	HiloRow		row;
	bool		is_there;
	bool		recorded;

	hilo_api_prevent_unless_may_write(function);
	ref.name = collection = hilo_api_collection(fcinfo);
	hilo_api_reject_null(fcinfo, 1, "role");
	binding.owner = NameStr(*PG_GETARG_NAME(1));
	if (strcmp(binding.owner, "public") != 0)
		binding.object = get_role_oid(binding.owner, !may_draw);
	is_there = hilo_counter_read(&ref, &row);
	(void) hilo_bindings_lock(collection, true);
	recorded = hilo_binding_remove(collection, &binding);
	if (may_draw)
	{
		hilo_binding_add(collection, &binding);
		if (!is_there && !recorded)
			hilo_api_notice_created(collection);
	}
	else if (!recorded)
		ereport(WARNING,
				(errcode(ERRCODE_WARNING_PRIVILEGE_NOT_REVOKED),
				 errmsg("role \"%s\" was not allowed to draw from collection \"%s\"",
						binding.owner, collection)));
}

/* hilo.allow(collection, role) */
PG_FUNCTION_INFO_V1(hilo_allow);

Datum
hilo_allow(PG_FUNCTION_ARGS)
{
	change_allowed(fcinfo, "hilo.allow()", true);
	PG_RETURN_VOID();
}

/* hilo.disallow(collection, role) */
PG_FUNCTION_INFO_V1(hilo_disallow);

Datum
hilo_disallow(PG_FUNCTION_ARGS)
{
	change_allowed(fcinfo, "hilo.disallow()", false);
	PG_RETURN_VOID();
}

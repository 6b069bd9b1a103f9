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
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_inherits.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"

#include "base/failure_point.h"
#include "base/sql.h"
#include "ids/assign.h"
#include "session/call.h"
#include "tables/binding.h"
#include "tables/highest.h"
#include "tables/rights.h"

/*
 * hilo._lock(relation, mode, function): lock a table and its children, whose rows
 * can be inserted directly, for a function that is named in errors.
 */
PG_FUNCTION_INFO_V1(hilo_lock);

Datum
hilo_lock(PG_FUNCTION_ARGS)
{
	Oid			relation = PG_GETARG_OID(0);
	const char *mode = hilo_api_name(fcinfo, 1, "mode");
	const char *function = hilo_api_name(fcinfo, 2, "function");
	LOCKMODE	lockmode = strcmp(mode, "exclusive") == 0 ? AccessExclusiveLock :
		strcmp(mode, "share") == 0 ? ShareRowExclusiveLock : AccessShareLock;

	if (strcmp(mode, "none, outside a block") == 0 &&
		(IsTransactionBlock() || IsSubTransaction()))
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("%s cannot be called in a transaction block",
						"hilo.attach_online()"),
				 errhint("Use hilo.attach() there.")));
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
	LockRelationOid(relation, lockmode);
	hilo_check_owned(relation);
	(void) find_all_inheritors(relation, lockmode, NULL);
	PG_RETURN_VOID();
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
	if (!hilo_may_attach_to(collection, GetUserId()))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to attach table %s to collection \"%s\"",
						hilo_sql_table(column.relation), name),
				 errdetail("The collection is already in use."),
				 errhint("Specify another collection, or have a role do it that may execute hilo.seed().")));
	(void) hilo_bindings_lock(name, true);
	return column;
}

/*
 * hilo._may_attach(relation, column_name, collection, assign, alone): raise an
 * error unless the column of a locked table may be attached, and, with alone, if
 * the collection is attached to another table.
 */
PG_FUNCTION_INFO_V1(hilo_may_attach);

Datum
hilo_may_attach(PG_FUNCTION_ARGS)
{
	HiloCollection collection;
	HiloColumn	column = attachable_argument(fcinfo, &collection);
	const char *name = collection.ref.name;
	Oid			table;

	if (PG_GETARG_BOOL(3))
		hilo_check_holds(column.relation, column.attnum, false);
	if (hilo_is_bound(name, InvalidCommandId))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("\"%s\" is bound elsewhere", name),
				 errhint("Undo that with hilo.unbind() first.")));
	table = hilo_bindings(name).table;
	if (PG_GETARG_BOOL(4) && OidIsValid(table) &&
		!list_member_oid(find_all_inheritors(column.relation, NoLock, NULL),
						 table))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("collection \"%s\" is attached to table %s",
						name, hilo_sql_table(table)),
				 errhint("Specify the collection: this one to share it, or another.")));
	PG_RETURN_VOID();
}

/*
 * Record the binding, instead of those to the same table, and of dead ones.
 */
static void
record(Oid relation, const char *collection)
{
	HiloBinding binding = {.kind = HILO_ATTACHED};

	foreach_ptr(HiloBinding, other, hilo_bindings(collection).all)
	{
		if (other->kind == HILO_ATTACHED &&
			(!OidIsValid(other->living.relation) ||
			 other->living.relation == relation))
			(void) hilo_binding_remove(collection, other);
	}
	(void) hilo_binding_set_relation(&binding, relation, InvalidAttrNumber);
	hilo_binding_add(collection, &binding);
}

/* Note that all ids are known that a trigger of the table would look for. */
static void
note_triggers(Oid relation, const char *collection)
{
	Relation	rel = table_open(relation, NoLock);
	TriggerDesc *triggers = CopyTriggerDesc(rel->trigdesc);

	/* A look-up may rebuild the relcache entry. */
	table_close(rel, NoLock);
	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		Trigger    *trigger = &triggers->triggers[i];

		if (trigger->tgnargs > 0 &&
			strcmp(trigger->tgargs[0], collection) == 0 &&
			strcmp(hilo_c_function(trigger->tgfoid), "hilo_advance") == 0)
			hilo_note_trigger(trigger->tgoid);
	}
}

/*
 * hilo._attach_counter(relation, column_name, collection, at_least, read): the
 * last step: record that the column is attached, note the triggers, and move the
 * counter to at least the given number, and, with read, the highest number in the
 * column.  Returns the max, and what decides about notices: the limit of the type,
 * the size of the smallest ranges, and the tag.
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
	Datum		values[4];

	hilo_api_prevent_unless_may_write("hilo.attach()");
	hilo_check_owned(PG_GETARG_OID(0));
	LockRelationOid(PG_GETARG_OID(0), AccessShareLock);
	column = attachable_argument(fcinfo, &collection);

	sought = hilo_sought(&collection);
	sought.above = Max(sought.above, PG_GETARG_INT64(3));
	if (PG_GETARG_BOOL(4))
		sought.above = hilo_column_highest(&column, &sought, true);
	record(column.relation, collection.ref.name);
	foreach_oid(table, find_all_inheritors(column.relation, AccessShareLock, NULL))
		note_triggers(table, collection.ref.name);
	HILO_FAILURE_POINT("column bound");

	/* The last step: no rollback undoes it. */
	limit = hilo_column_limit(&column);
	values[0] = Int64GetDatum(hilo_collection_adopt(&collection, sought.above,
													limit, false));
	HILO_FAILURE_POINT("counter adopted");
	values[1] = Int64GetDatum(limit);
	values[2] = Int64GetDatum(hilo_counter_range_size(hilo_collection_row(&collection)));
	values[3] = CStringGetTextDatum(hilo_collection_node_tag(&collection));
	return hilo_api_result(desc, values);
}

/*
 * hilo._max(relation, collection): the counter's max, for whoever owns a table
 * with a column that draws from it, and whose trigger may move it; else NULL.
 */
PG_FUNCTION_INFO_V1(hilo_max);

Datum
hilo_max(PG_FUNCTION_ARGS)
{
	Oid			relation = PG_GETARG_OID(0);
	HiloCollection collection = {.ref.name = text_to_cstring(PG_GETARG_TEXT_PP(1))};
	HiloRow		row;
	bool		bound;

	hilo_check_owned(relation);
	if (hilo_drawing_columns(relation, collection.ref.name) == NIL ||
		!hilo_may_advance(&collection, relation, &bound) ||
		!hilo_counter_read(&collection.ref, &row))
		PG_RETURN_NULL();
	PG_RETURN_INT64(row.max);
}

/* hilo._clean_notes() */
PG_FUNCTION_INFO_V1(hilo_clean_notes_now);

Datum
hilo_clean_notes_now(PG_FUNCTION_ARGS)
{
	hilo_api_prevent_unless_may_write("hilo.detach()");
	hilo_clean_notes();
	PG_RETURN_VOID();
}

/*
 * Identity columns
 */

static void
refuse_identity(const HiloColumn *column, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("column \"%s\" of table %s cannot be an identity column again",
					hilo_column_name(column), hilo_sql_table(column->relation)),
			 errdetail("%s", detail),
			 errhint("Drop the trigger that calls hilo.advance(), and give the column a default.")));
}

/*
 * hilo._set_identity(relation, column_name, identity, sequence): make an identity
 * column, ATTRIBUTE_IDENTITY_..., of an ordinary column that owns a sequence, or
 * with identity '\0', the other way round: no command does either and leaves the
 * sequence as it is.  Partitions own none, 0.
 */
PG_FUNCTION_INFO_V1(hilo_set_identity);

Datum
hilo_set_identity(PG_FUNCTION_ARGS)
{
	char		identity = PG_GETARG_CHAR(2);
	DependencyType before = identity == '\0' ? DEPENDENCY_INTERNAL : DEPENDENCY_AUTO;
	DependencyType after = identity == '\0' ? DEPENDENCY_AUTO : DEPENDENCY_INTERNAL;
	HiloColumn	column;
	bool		is_partition;
	char		kind;
	Oid			sequence = PG_GETARG_OID(3);
	Oid			owner;
	int32		attnum;
	HeapTuple	tuple;
	Form_pg_attribute att;
	Relation	rel;

	hilo_api_prevent_unless_may_write("hilo.attach()");
	hilo_check_owned(PG_GETARG_OID(0));
	LockRelationOid(PG_GETARG_OID(0), AccessExclusiveLock);
	column = hilo_owned_column(PG_GETARG_OID(0), NameStr(*PG_GETARG_NAME(1)));
	is_partition = get_rel_relispartition(column.relation);

	/* Before version 17 partitions have no identity. */
	if (is_partition && !HILO_PARTITIONS_HAVE_IDENTITY)
		PG_RETURN_VOID();
	kind = get_rel_relkind(column.relation);
	tuple = SearchSysCacheCopyAttNum(column.relation, column.attnum);
	att = (Form_pg_attribute) GETSTRUCT(tuple);
	if ((kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE) ||
		!hilo_holds_numbers(att->atttypid) ||
		(identity != '\0' && identity != ATTRIBUTE_IDENTITY_ALWAYS &&
		 identity != ATTRIBUTE_IDENTITY_BY_DEFAULT) ||
		(identity == '\0') == (att->attidentity == '\0'))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" is not a column that can be an identity column",
						NameStr(att->attname))));
	if (OidIsValid(sequence) ?
		get_rel_relkind(sequence) != RELKIND_SEQUENCE ||
		!sequenceIsOwned(sequence, before, &owner, &attnum) ||
		owner != column.relation || attnum != column.attnum : !is_partition)
		refuse_identity(&column, "It does not own exactly one sequence.");
	if (identity != '\0' && (att->atthasdef || !att->attnotnull))
		refuse_identity(&column, "It has a default, or allows nulls.");
	if (OidIsValid(sequence))
	{
		ObjectAddress object;
		ObjectAddress referenced;

		if (deleteDependencyRecordsForClass(RelationRelationId, sequence,
											RelationRelationId, before) != 1)
			refuse_identity(&column, "Its sequence was changed at the same time.");
		ObjectAddressSet(object, RelationRelationId, sequence);
		ObjectAddressSubSet(referenced, RelationRelationId, owner, attnum);
		recordDependencyOn(&object, &referenced, after);
	}
	att->attidentity = identity;
	rel = table_open(AttributeRelationId, RowExclusiveLock);
	CatalogTupleUpdate(rel, &tuple->t_self, tuple);
	table_close(rel, RowExclusiveLock);
	CommandCounterIncrement();
	PG_RETURN_VOID();
}

/*
 * Expressions
 */

/*
 * hilo._check_expression(expression): raise an error unless the text is a single
 * expression, so that ALTER TABLE with it is one command that does one thing.  The
 * text of a replaced default comes from an argument of a trigger, which the table's
 * owner may have made up, while the current user may be a superuser.
 */
PG_FUNCTION_INFO_V1(hilo_check_expression);

Datum
hilo_check_expression(PG_FUNCTION_ARGS)
{
	char	   *expression = text_to_cstring(PG_GETARG_TEXT_PP(0));
	List	   *statements = raw_parser(psprintf("ALTER TABLE t ALTER c SET DEFAULT (%s)",
												 expression),
										RAW_PARSE_DEFAULT);
	RawStmt    *first = linitial_node(RawStmt, statements);

	if (list_length(statements) != 1 ||
		list_length(castNode(AlterTableStmt, first->stmt)->cmds) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" is not an expression", expression),
				 errdetail("A trigger that calls hilo.advance() names it as a default.")));
	PG_RETURN_VOID();
}

/* hilo._draws_from(pg_node_tree): the collection that a default draws from. */
PG_FUNCTION_INFO_V1(hilo_draws_from);

Datum
hilo_draws_from(PG_FUNCTION_ARGS)
{
	bool		numbers;
	char	   *collection = hilo_default_draws(stringToNode(text_to_cstring(PG_GETARG_TEXT_PP(0))),
												&numbers);

	if (collection == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(collection));
}

/*
 * The right to draw
 */

/*
 * Let the role in argument 1, "public" for all, draw from the collection in
 * argument 0, or no longer.
 */
static void
allow(FunctionCallInfo fcinfo, const char *function, bool may_draw)
{
	HiloBinding binding = {.kind = HILO_ALLOWED};
	const char *collection;
	bool		recorded;

	hilo_api_prevent_unless_may_write(function);
	collection = hilo_api_collection(fcinfo);
	hilo_api_reject_null(fcinfo, 1, "role");
	binding.owner = NameStr(*PG_GETARG_NAME(1));
	if (may_draw && strcmp(binding.owner, "public") != 0)
		(void) get_role_oid(binding.owner, false);
	(void) hilo_bindings_lock(collection, true);
	recorded = hilo_binding_remove(collection, &binding);
	if (may_draw)
		hilo_binding_add(collection, &binding);
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
	allow(fcinfo, "hilo.allow()", true);
	PG_RETURN_VOID();
}

/* hilo.disallow(collection, role) */
PG_FUNCTION_INFO_V1(hilo_disallow);

Datum
hilo_disallow(PG_FUNCTION_ARGS)
{
	allow(fcinfo, "hilo.disallow()", false);
	PG_RETURN_VOID();
}

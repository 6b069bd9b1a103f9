/*-------------------------------------------------------------------------
 *
 * attach.c
 *	  What hilo.attach() and its kin, which are written in PL/pgSQL, cannot do in
 *	  SQL; and who may draw.
 *
 * Everybody may call these functions, so each checks by itself that the caller
 * owns the table and has the right to attach it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_subscription.h"
#include "funcapi.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "base/sql.h"
#include "counting/catalog.h"
#include "session/call.h"
#include "shared/pool.h"
#include "tables/attach.h"
#include "tables/binding.h"

PG_FUNCTION_INFO_V1(hilo_attach_begin);
PG_FUNCTION_INFO_V1(hilo_attach_target);
PG_FUNCTION_INFO_V1(hilo_attach_move);
PG_FUNCTION_INFO_V1(hilo_attach_report);
PG_FUNCTION_INFO_V1(hilo_detach_target);
PG_FUNCTION_INFO_V1(hilo_detach_done);
PG_FUNCTION_INFO_V1(hilo_set_identity);
PG_FUNCTION_INFO_V1(hilo_check_expression);
PG_FUNCTION_INFO_V1(hilo_draws_from);
PG_FUNCTION_INFO_V1(hilo_allow);
PG_FUNCTION_INFO_V1(hilo_disallow);

/*
 * Targets
 */

/* The column name in argument 1; NULL: none. */
static const char *
column_argument(FunctionCallInfo fcinfo)
{
	return PG_ARGISNULL(1) ? NULL : NameStr(*PG_GETARG_NAME(1));
}

/*
 * Under REPEATABLE READ the commands would be decided by catalogs as of the
 * transaction's start.
 */
static void
check_isolation(const char *function)
{
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s cannot be used in a transaction of this isolation level",
						function),
				 errdetail("It would not see what was committed since the transaction began."),
				 errhint("Use READ COMMITTED.")));
}

/*
 * Lock a table and its children, whose rows can be inserted directly, as
 * argument number arg says.
 */
static void
lock_tables(FunctionCallInfo fcinfo, int arg, Oid relation)
{
	const char *strength = text_to_cstring(PG_GETARG_TEXT_PP(arg));
	LOCKMODE	lockmode = strcmp(strength, "exclusive") == 0 ? AccessExclusiveLock :
		strcmp(strength, "share") == 0 ? ShareRowExclusiveLock : AccessShareLock;

	LockRelationOid(relation, lockmode);
	(void) find_all_inheritors(relation, lockmode, NULL);
}

/*
 * The collection in argument 2; if that is NULL, the one that the column is
 * attached to, or else the one named like the table.
 */
static const char *
collection_argument(FunctionCallInfo fcinfo, const HiloColumn *column)
{
	const char *name = get_rel_name(column->relation);
	ListCell   *lc;

	if (!PG_ARGISNULL(2))
		name = text_to_cstring(PG_GETARG_TEXT_PP(2));
	foreach(lc, hilo_drawing_columns(column->relation))
	{
		HiloDrawing *drawing = lfirst(lc);

		if (PG_ARGISNULL(2) && drawing->attnum == column->attnum &&
			hilo_has_trigger(column->relation, drawing->collection))
			name = drawing->collection;
	}
	hilo_check_collection(name, hilo_identity_parts_separator);
	return name;
}

static void
check_may_attach(const HiloColumn *column, const char *name)
{
	HiloCollection collection;

	hilo_collection_init(&collection, name);
	if (!hilo_may_attach(&collection, GetUserId()))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to attach table %s to collection \"%s\"",
						hilo_sql_table(column->relation), name),
				 errdetail("The collection is already in use."),
				 errhint("Specify another collection, or have a role do it that may execute hilo.seed().")));
}

/* The trigger can assign ids of the requested kind. */
static void
check_may_assign(const HiloColumn *column)
{
	if (!hilo_holds_ids(hilo_column_type(column)))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of table \"%s\" cannot be assigned ids of the requested kind",
						hilo_column_name(column),
						get_rel_name(column->relation)),
				 errdetail("Its type is %s; it should be text, varchar or citext.",
						   format_type_be(hilo_column_type(column)))));
	if (hilo_is_partition_key(column))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" of table \"%s\" cannot be assigned ids by a trigger",
						hilo_column_name(column),
						get_rel_name(column->relation)),
				 errdetail("It is a partition key, and a row is routed to its partition before a trigger sees it."),
				 errhint("Attach it without assign, so that its default draws the ids.")));
}

/* The default that draws from the collection, as the server prints it. */
static char *
drawing_default(const HiloColumn *column, const char *collection)
{
	return psprintf("%s.%s(%s::text)",
					quote_identifier(get_namespace_name(hilo_catalog_schema())),
					hilo_holds_numbers(hilo_column_type(column)) ?
					"hilo_next_number" : "hilo_next",
					hilo_sql_shown_literal(collection));
}

/*
 * hilo.attach_target(relation, column_name, collection, assign, strength): check
 * all that hilo.attach() needs, with the table locked.  Returns the names of the
 * column and the collection, and the new default.
 */
Datum
hilo_attach_target(PG_FUNCTION_ARGS)
{
	HiloColumn	column;
	const char *collection;
	Datum		values[3];
	bool		nulls[3] = {0};
	TupleDesc	desc = hilo_api_result_desc(fcinfo);

	hilo_api_prevent_unless_may_write("hilo.attach()");
	hilo_api_reject_null(fcinfo, 0, "relation");
	hilo_api_reject_null(fcinfo, 4, "strength");
	check_isolation("hilo.attach()");
	(void) hilo_attachable_column(PG_GETARG_OID(0), column_argument(fcinfo));
	lock_tables(fcinfo, 4, PG_GETARG_OID(0));
	column = hilo_attachable_column(PG_GETARG_OID(0), column_argument(fcinfo));
	collection = collection_argument(fcinfo, &column);
	check_may_attach(&column, collection);
	if (!PG_ARGISNULL(3) && PG_GETARG_BOOL(3))
		check_may_assign(&column);
	hilo_bindings_lock(collection);
	hilo_check_free(&column, collection, PG_ARGISNULL(2) &&
					!hilo_has_trigger(column.relation, collection));

	values[0] = DirectFunctionCall1(namein, CStringGetDatum(hilo_column_name(&column)));
	values[1] = CStringGetTextDatum(collection);
	values[2] = CStringGetTextDatum(drawing_default(&column, collection));
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

/*
 * hilo.attach_move(relation, column_name, collection, at_least, read): the last
 * step; see hilo_attach_counter().
 */
Datum
hilo_attach_move(PG_FUNCTION_ARGS)
{
	HiloColumn	column;
	const char *collection;

	hilo_api_prevent_unless_may_write("hilo.attach()");
	for (int i = 0; i < 5; i++)
		hilo_api_reject_null(fcinfo, i, "argument");
	check_isolation("hilo.attach()");
	column = hilo_attachable_column(PG_GETARG_OID(0), column_argument(fcinfo));
	LockRelationOid(column.relation, AccessShareLock);
	column = hilo_attachable_column(PG_GETARG_OID(0), column_argument(fcinfo));
	collection = text_to_cstring(PG_GETARG_TEXT_PP(2));
	hilo_check_collection(collection, hilo_identity_parts_separator);
	check_may_attach(&column, collection);
	hilo_bindings_lock(collection);
	PG_RETURN_INT64(hilo_attach_counter(&column, collection, PG_GETARG_INT64(3),
										PG_GETARG_BOOL(4)));
}

/*
 * Report that ids of several servers meet in this database while this one has
 * the default tag.
 */
static void
report_common_tag(HiloCollection *collection)
{
	if (CountDBSubscriptions(MyDatabaseId) == 0)
		return;
	(void) hilo_collection_row(collection);
	if (strcmp(hilo_collection_node_tag(collection), HILO_DEFAULT_NODE_TAG) == 0)
		ereport(NOTICE,
				(errmsg("this database receives rows from another server, but ids of collection \"%s\" have the default tag \"%s\"",
						collection->ref.name, HILO_DEFAULT_NODE_TAG),
				 errhint("Set hilo.node_tag to a tag that only this server has.")));
}

/* What a type with few numbers costs where no session leaves numbers to others. */
static void
report_short_connections(const HiloColumn *column, HiloCollection *collection)
{
	int64		limit = hilo_type_limit(hilo_column_type(column));
	int64		size;

	if (limit == PG_INT64_MAX || hilo_pool_exists())
		return;
	(void) hilo_collection_row(collection);
	size = hilo_counter_range_size(&collection->row);
	if (size > 1)
		ereport(NOTICE,
				(errmsg("column \"%s\" of table %s has numbers up to " INT64_FORMAT ", and each short connection can cost " INT64_FORMAT " of them",
						hilo_column_name(column), hilo_sql_table(column->relation),
						limit, size),
				 errhint("Add hilo to shared_preload_libraries, so that connections leave what they have not used to others; or move the column to bigint; or set range_size to 1 with hilo.configure().")));
}

/*
 * hilo.attach_report(relation, column_name, collection, kind, old default, max):
 * the notices of hilo.attach().
 */
Datum
hilo_attach_report(PG_FUNCTION_ARGS)
{
	HiloColumn	column;
	const char *name;
	const char *replaced = PG_ARGISNULL(4) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(4));
	bool		identity;
	HiloCollection collection;

	for (int i = 0; i < 6; i++)
	{
		if (i != 4)
			hilo_api_reject_null(fcinfo, i, "argument");
	}
	column = hilo_attachable_column(PG_GETARG_OID(0), column_argument(fcinfo));
	name = hilo_column_name(&column);
	identity = strncmp(text_to_cstring(PG_GETARG_TEXT_PP(3)), "identity", 8) == 0;
	hilo_check_collection(text_to_cstring(PG_GETARG_TEXT_PP(2)), hilo_identity_parts_separator);
	hilo_collection_init(&collection, text_to_cstring(PG_GETARG_TEXT_PP(2)));
	ereport(NOTICE,
			(errmsg("column \"%s\" of table %s is attached to collection \"%s\", which continues above " INT64_FORMAT,
					name, hilo_sql_table(column.relation), collection.ref.name,
					PG_GETARG_INT64(5)),
			 identity ?
			 errdetail("It is not an identity column while it is attached.") :
			 replaced != NULL ? errdetail("Its default was %s.", replaced) : 0,
			 identity || (replaced != NULL && strstr(replaced, "nextval(") != NULL) ?
			 errhint("lastval() and currval() do not see the numbers of a collection: use RETURNING, or hilo_last_number().") : 0));
	if (hilo_holds_ids(hilo_column_type(&column)))
		report_common_tag(&collection);
	report_short_connections(&column, &collection);
	PG_RETURN_VOID();
}

/*
 * hilo.detach_target(relation, column_name, strength): lock the table, and return
 * the names of the attached column and its collection; NULL: none.  Raises an
 * error if column_name is NULL and several are attached.
 */
Datum
hilo_detach_target(PG_FUNCTION_ARGS)
{
	const char *name = column_argument(fcinfo);
	HiloColumn	column = {0};
	TupleDesc	desc = hilo_api_result_desc(fcinfo);
	Datum		values[2];
	bool		nulls[2] = {0};
	ListCell   *lc;

	hilo_api_prevent_unless_may_write("hilo.detach()");
	hilo_api_reject_null(fcinfo, 0, "relation");
	hilo_api_reject_null(fcinfo, 2, "strength");
	check_isolation("hilo.detach()");
	(void) hilo_check_owned(PG_GETARG_OID(0));
	lock_tables(fcinfo, 2, PG_GETARG_OID(0));
	column.relation = PG_GETARG_OID(0);
	(void) hilo_check_owned(column.relation);
	if (name != NULL && get_attnum(column.relation, name) <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						name, get_rel_name(column.relation))));
	foreach(lc, hilo_drawing_columns(column.relation))
	{
		HiloDrawing *drawing = lfirst(lc);

		if (!hilo_has_trigger(column.relation, drawing->collection) ||
			(name != NULL && drawing->attnum != get_attnum(column.relation, name)))
			continue;
		if (column.attnum != 0)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("several columns of table \"%s\" are attached to collections",
							get_rel_name(column.relation)),
					 errhint("Specify the column.")));
		column.attnum = drawing->attnum;
		values[1] = CStringGetTextDatum(drawing->collection);
	}
	if (column.attnum == 0)
		PG_RETURN_NULL();
	values[0] = DirectFunctionCall1(namein,
									CStringGetDatum(hilo_column_name(&column)));
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

/*
 * hilo.detach_done(collection): the last step of hilo.detach().  Returns the max;
 * NULL: the collection does not exist.
 */
Datum
hilo_detach_done(PG_FUNCTION_ARGS)
{
	HiloCollection collection;
	HiloRow		row;

	hilo_api_prevent_unless_may_write("hilo.detach()");
	hilo_collection_init(&collection, hilo_api_collection(fcinfo));
	hilo_clean_notes();
	hilo_raise_limit(collection.ref.name);
	if (!hilo_counter_read(&collection.ref, &row))
		PG_RETURN_NULL();
	PG_RETURN_INT64(row.max);
}

/* hilo.attach_begin(): raise 25001 in a transaction block. */
Datum
hilo_attach_begin(PG_FUNCTION_ARGS)
{
	if (IsTransactionBlock() || IsSubTransaction())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("hilo.attach_online() cannot be called in a transaction block"),
				 errhint("Use hilo.attach() there.")));
	PG_RETURN_VOID();
}

/*
 * Parts of the commands
 */

/* hilo.set_identity(relation, column_name, identity) */
Datum
hilo_set_identity(PG_FUNCTION_ARGS)
{
	HiloColumn	column = {PG_GETARG_OID(0)};
	char		identity = PG_GETARG_CHAR(2);

	(void) hilo_check_owned(column.relation);
	LockRelationOid(column.relation, AccessExclusiveLock);
	(void) hilo_check_owned(column.relation);
	column.attnum = get_attnum(column.relation, NameStr(*PG_GETARG_NAME(1)));
	if (column.attnum <= 0 || (get_rel_relkind(column.relation) != RELKIND_RELATION &&
							   get_rel_relkind(column.relation) != RELKIND_PARTITIONED_TABLE) ||
		(identity != '\0' && identity != ATTRIBUTE_IDENTITY_ALWAYS &&
		 identity != ATTRIBUTE_IDENTITY_BY_DEFAULT))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" is not a column that can be an identity column",
						NameStr(*PG_GETARG_NAME(1)))));

	/* Before version 17 partitions have no identity. */
	if (!get_rel_relispartition(column.relation) || hilo_partitions_have_identity())
		hilo_switch_identity(&column, identity);
	PG_RETURN_VOID();
}

/*
 * hilo.check_expression(expression): raise 22023 unless the text is a single
 * expression.  The text of a replaced default comes from an argument of a
 * trigger, which the table's owner may have made up, while the current user may
 * be a superuser.
 */
Datum
hilo_check_expression(PG_FUNCTION_ARGS)
{
	char	   *expression = text_to_cstring(PG_GETARG_TEXT_PP(0));

	if (!hilo_is_expression(expression))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" is not an expression", expression),
				 errdetail("A trigger that calls hilo.advance() names it as a default.")));
	PG_RETURN_VOID();
}

/* hilo.draws_from(pg_node_tree): the collection that a default draws from. */
Datum
hilo_draws_from(PG_FUNCTION_ARGS)
{
	HiloDrawing drawing;

	if (!hilo_default_draws(text_to_cstring(PG_GETARG_TEXT_PP(0)), &drawing))
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(drawing.collection));
}

/*
 * Who may draw
 */

/* The role in argument 1; "public": all. */
static HiloBinding
role_argument(FunctionCallInfo fcinfo)
{
	HiloBinding binding = {.kind = HILO_ALLOWED};

	hilo_api_reject_null(fcinfo, 1, "role");
	binding.owner = pstrdup(NameStr(*PG_GETARG_NAME(1)));
	return binding;
}

static bool
is_recorded(const char *collection, const HiloBinding *binding)
{
	ListCell   *lc;

	foreach(lc, hilo_bindings(collection))
	{
		if (hilo_binding_equals(lfirst(lc), binding))
			return true;
	}
	return false;
}

/* hilo.allow(collection, role) */
Datum
hilo_allow(PG_FUNCTION_ARGS)
{
	const char *collection = hilo_api_collection(fcinfo);
	HiloBinding binding = role_argument(fcinfo);

	hilo_api_prevent_unless_may_write("hilo.allow()");
	if (strcmp(binding.owner, "public") != 0)
		(void) get_role_oid(binding.owner, false);
	hilo_bindings_lock(collection);
	if (!is_recorded(collection, &binding))
		hilo_binding_add(collection, &binding);
	PG_RETURN_VOID();
}

/* hilo.disallow(collection, role) */
Datum
hilo_disallow(PG_FUNCTION_ARGS)
{
	const char *collection = hilo_api_collection(fcinfo);
	HiloBinding binding = role_argument(fcinfo);

	hilo_api_prevent_unless_may_write("hilo.disallow()");
	hilo_bindings_lock(collection);
	if (is_recorded(collection, &binding))
		(void) hilo_binding_remove(collection, &binding);
	else
		ereport(WARNING,
				(errcode(ERRCODE_WARNING_PRIVILEGE_NOT_REVOKED),
				 errmsg("role \"%s\" was not allowed to draw from collection \"%s\"",
						binding.owner, collection)));
	PG_RETURN_VOID();
}

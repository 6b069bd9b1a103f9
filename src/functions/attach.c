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
#include "access/sysattr.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/partition.h"
#include "catalog/pg_inherits.h"
#include "funcapi.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "base/sql.h"
#include "counting/catalog.h"
#include "session/call.h"
#include "tables/attach.h"
#include "tables/binding.h"
#include "tables/rights.h"

PG_FUNCTION_INFO_V1(hilo_refuse_block);
PG_FUNCTION_INFO_V1(hilo_lock);
PG_FUNCTION_INFO_V1(hilo_may_attach);
PG_FUNCTION_INFO_V1(hilo_attach_counter);
PG_FUNCTION_INFO_V1(hilo_max);
PG_FUNCTION_INFO_V1(hilo_clean_notes_now);
PG_FUNCTION_INFO_V1(hilo_set_identity);
PG_FUNCTION_INFO_V1(hilo_check_expression);
PG_FUNCTION_INFO_V1(hilo_draws_from);
PG_FUNCTION_INFO_V1(hilo_allow);
PG_FUNCTION_INFO_V1(hilo_disallow);

/* hilo._refuse_block(): raise 25001 in a transaction block. */
Datum
hilo_refuse_block(PG_FUNCTION_ARGS)
{
	if (IsTransactionBlock() || IsSubTransaction())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("hilo.attach_online() cannot be called in a transaction block"),
				 errhint("Use hilo.attach() there.")));
	PG_RETURN_VOID();
}

/*
 * hilo._lock(relation, mode, function): lock a table and its children, whose rows
 * can be inserted directly, for a function that is named in errors.
 */
Datum
hilo_lock(PG_FUNCTION_ARGS)
{
	Oid			relation = PG_GETARG_OID(0);
	const char *mode = hilo_api_name(fcinfo, 1, "mode");
	const char *function = hilo_api_name(fcinfo, 2, "function");
	LOCKMODE	lockmode = strcmp(mode, "exclusive") == 0 ? AccessExclusiveLock :
		strcmp(mode, "share") == 0 ? ShareRowExclusiveLock : AccessShareLock;

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

/* The column in argument 1 of a table in argument 0 that the current user owns. */
static HiloColumn
column_argument(FunctionCallInfo fcinfo)
{
	return hilo_owned_column(PG_GETARG_OID(0), NameStr(*PG_GETARG_NAME(1)));
}

/* The same, and the collection in argument 2, to which it may be attached. */
static HiloColumn
attachable_argument(FunctionCallInfo fcinfo, const char **collection)
{
	HiloColumn	column = column_argument(fcinfo);
	Oid			type = hilo_column_type(&column);
	HiloCollection counter;

	if (!hilo_holds_ids(type) && !hilo_holds_numbers(type))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of relation \"%s\" cannot hold ids of a collection",
						hilo_column_name(&column), get_rel_name(column.relation)),
				 errdetail("Its type is %s; it should be smallint, integer, bigint, text, varchar or citext.",
						   format_type_be(type))));
	*collection = text_to_cstring(PG_GETARG_TEXT_PP(2));
	hilo_check_collection(*collection, hilo_identity_parts_separator);
	hilo_collection_init(&counter, *collection);
	if (!hilo_may_attach_to(&counter, GetUserId()))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to attach table %s to collection \"%s\"",
						hilo_sql_table(column.relation), *collection),
				 errdetail("The collection is already in use."),
				 errhint("Specify another collection, or have a role do it that may execute hilo.seed().")));
	hilo_bindings_lock(*collection);
	return column;
}

/* True if the table is partitioned by the column. */
static bool
is_partition_key(const HiloColumn *column)
{
	Relation	rel = table_open(column->relation, AccessShareLock);
	Bitmapset  *columns = bms_make_singleton(column->attnum -
											 FirstLowInvalidHeapAttributeNumber);
	bool		in_expression;
	bool		result = has_partition_attrs(rel, columns, &in_expression);

	table_close(rel, NoLock);
	return result;
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
	if (is_partition_key(column))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" of table \"%s\" cannot be assigned ids by a trigger",
						hilo_column_name(column),
						get_rel_name(column->relation)),
				 errdetail("It is a partition key, and a row is routed to its partition before a trigger sees it."),
				 errhint("Attach it without assign, so that its default draws the ids.")));
}

/*
 * hilo._may_attach(relation, column_name, collection, assign, alone): raise an
 * error unless the column of a locked table may be attached, and, with alone, if
 * the collection is attached to another table.  Returns the default that draws,
 * as the server prints it.
 */
Datum
hilo_may_attach(PG_FUNCTION_ARGS)
{
	const char *collection;
	HiloColumn	column = attachable_argument(fcinfo, &collection);
	ListCell   *lc;

	if (PG_GETARG_BOOL(3))
		check_may_assign(&column);
	if (hilo_is_bound(collection))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("\"%s\" is bound elsewhere", collection),
				 errhint("Undo that with hilo.unbind() first.")));
	foreach(lc, PG_GETARG_BOOL(4) ? hilo_bindings(collection) : NIL)
	{
		Oid			table = ((HiloBinding *) lfirst(lc))->living.relation;

		if (OidIsValid(table) &&
			!list_member_oid(find_all_inheritors(column.relation, NoLock, NULL),
							 table))
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("collection \"%s\" is attached to table %s",
							collection, hilo_sql_table(table)),
					 errhint("Specify the collection: this one to share it, or another.")));
	}
	PG_RETURN_TEXT_P(cstring_to_text(psprintf("%s.%s(%s::text)",
											  quote_identifier(get_namespace_name(hilo_catalog_schema())),
											  hilo_holds_numbers(hilo_column_type(&column)) ?
											  "hilo_next_number" : "hilo_next",
											  hilo_sql_shown_literal(collection))));
}

/*
 * hilo._attach_counter(relation, column_name, collection, at_least, read): the
 * last step; see hilo_attach_column().  Returns the max, and what decides about
 * notices: the limit of the type, the size of the smallest ranges, and the tag.
 */
Datum
hilo_attach_counter(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = hilo_api_result_desc(fcinfo);
	HiloCollection collection;
	HiloColumn	column;
	const char *name;
	Datum		values[4];
	bool		nulls[4] = {0};

	hilo_api_prevent_unless_may_write("hilo.attach()");
	hilo_check_owned(PG_GETARG_OID(0));
	LockRelationOid(PG_GETARG_OID(0), AccessShareLock);
	column = attachable_argument(fcinfo, &name);
	values[0] = Int64GetDatum(hilo_attach_column(&column, name,
												 PG_GETARG_INT64(3),
												 PG_GETARG_BOOL(4)));
	hilo_collection_init(&collection, name);
	values[1] = Int64GetDatum(hilo_type_limit(hilo_column_type(&column)));
	values[2] = Int64GetDatum(hilo_counter_range_size(hilo_collection_row(&collection)));
	values[3] = CStringGetTextDatum(hilo_collection_node_tag(&collection));
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

/*
 * hilo._max(relation, collection): the counter's max, for whoever owns a table
 * with a column that draws from it, and whose trigger may move it; else NULL.
 */
Datum
hilo_max(PG_FUNCTION_ARGS)
{
	Oid			relation = PG_GETARG_OID(0);
	HiloCollection collection;
	HiloRow		row;
	bool		bound;

	hilo_check_owned(relation);
	hilo_collection_init(&collection, text_to_cstring(PG_GETARG_TEXT_PP(1)));
	if (hilo_drawing_columns(relation, collection.ref.name) == NIL ||
		!hilo_may_advance(&collection, relation, &bound) ||
		!hilo_counter_read(&collection.ref, &row))
		PG_RETURN_NULL();
	PG_RETURN_INT64(row.max);
}

/* hilo._clean_notes() */
Datum
hilo_clean_notes_now(PG_FUNCTION_ARGS)
{
	hilo_api_prevent_unless_may_write("hilo.detach()");
	hilo_clean_notes();
	PG_RETURN_VOID();
}

/* hilo._set_identity(relation, column_name, identity) */
Datum
hilo_set_identity(PG_FUNCTION_ARGS)
{
	char		identity = PG_GETARG_CHAR(2);
	HiloColumn	column;

	hilo_api_prevent_unless_may_write("hilo.attach()");
	hilo_check_owned(PG_GETARG_OID(0));
	LockRelationOid(PG_GETARG_OID(0), AccessExclusiveLock);
	column = column_argument(fcinfo);
	if ((get_rel_relkind(column.relation) != RELKIND_RELATION &&
		 get_rel_relkind(column.relation) != RELKIND_PARTITIONED_TABLE) ||
		(identity != '\0' && identity != ATTRIBUTE_IDENTITY_ALWAYS &&
		 identity != ATTRIBUTE_IDENTITY_BY_DEFAULT))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" is not a column that can be an identity column",
						hilo_column_name(&column))));

	/* Before version 17 partitions have no identity. */
	if (!get_rel_relispartition(column.relation) || hilo_partitions_have_identity())
		hilo_switch_identity(&column, identity);
	PG_RETURN_VOID();
}

/*
 * hilo._check_expression(expression): raise 22023 unless the text is a single
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

/* hilo._draws_from(pg_node_tree): the collection that a default draws from. */
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

/*
 * The role in argument 1, "public" for all, as a binding of the collection in
 * argument 0; *recorded is that one, if it is there, else NULL.
 */
static HiloBinding
role_argument(FunctionCallInfo fcinfo, const char *function,
			  const char **collection, const HiloBinding **recorded)
{
	HiloBinding binding = {.kind = HILO_ALLOWED};
	ListCell   *lc;

	hilo_api_prevent_unless_may_write(function);
	*collection = hilo_api_collection(fcinfo);
	hilo_api_reject_null(fcinfo, 1, "role");
	binding.owner = NameStr(*PG_GETARG_NAME(1));
	*recorded = NULL;
	hilo_bindings_lock(*collection);
	foreach(lc, hilo_bindings(*collection))
	{
		if (hilo_binding_equals(lfirst(lc), &binding))
			*recorded = lfirst(lc);
	}
	return binding;
}

/* hilo.allow(collection, role) */
Datum
hilo_allow(PG_FUNCTION_ARGS)
{
	const char *collection;
	const HiloBinding *recorded;
	HiloBinding binding = role_argument(fcinfo, "hilo.allow()", &collection,
										&recorded);

	if (strcmp(binding.owner, "public") != 0)
		(void) get_role_oid(binding.owner, false);
	if (recorded == NULL)
		hilo_binding_add(collection, &binding);
	PG_RETURN_VOID();
}

/* hilo.disallow(collection, role) */
Datum
hilo_disallow(PG_FUNCTION_ARGS)
{
	const char *collection;
	const HiloBinding *recorded;
	HiloBinding binding = role_argument(fcinfo, "hilo.disallow()", &collection,
										&recorded);

	if (recorded != NULL)
		(void) hilo_binding_remove(recorded);
	else
		ereport(WARNING,
				(errcode(ERRCODE_WARNING_PRIVILEGE_NOT_REVOKED),
				 errmsg("role \"%s\" was not allowed to draw from collection \"%s\"",
						binding.owner, collection)));
	PG_RETURN_VOID();
}

/*-------------------------------------------------------------------------
 *
 * taken.c
 *	  Where the documents of an identity are, and which numbers are taken.
 *
 * Documents are either in tables, whose indexes are probed, or known to a
 * function, which is called.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "base/settings.h"
#include "base/sql.h"
#include "counting/counter.h"
#include "counting/index_probe.h"
#include "servers/citus.h"
#include "tables/attachment.h"
#include "tables/binding.h"
#include "tables/rights.h"
#include "tables/taken.h"

/* A table, or one part of a partitioned one, with the index to probe. */
typedef struct Part
{
	Relation	heap;
	Relation	index;
	TupleTableSlot *slot;
	FmgrInfo	equal;			/* of the index's operator family */
	Oid			type;			/* of the column: a base type */
	const char *query;			/* of a Citus table with shards; a literal is
								 * appended to it; else NULL */
} Part;

struct HiloDocuments
{
	const char *identity;
	bool		bound;			/* true: by hilo.bind() or hilo.attach() */
	Oid			own_table;		/* table whose trigger is running; else
								 * InvalidOid */
	bool		only_indexed;	/* true: skip tables without an index */

	/* If the documents are in tables. */
	List	   *parts;			/* of Part * */
	int64		limit;			/* highest number that all their columns can
								 * hold */

	/* The function to call; else InvalidOid. */
	Oid			function;
	Oid			owner;
	FmgrInfo	call;
};

/*
 * Documents in a table
 */

/*
 * The table with an identity's name, in the schemas of the user's search_path;
 * temporary tables do not count.
 */
static Oid
table_named_like(const char *name)
{
	char	   *relname = pstrdup(name);
	List	   *schemas = fetch_search_path(false);
	ListCell   *lc;

	foreach(lc, schemas)
	{
		Oid			relid = InvalidOid;

		if (!isAnyTempNamespace(lfirst_oid(lc)) && strlen(name) < NAMEDATALEN)
			relid = get_relname_relid(relname, lfirst_oid(lc));
		if (OidIsValid(relid) &&
			(get_rel_relkind(relid) == RELKIND_RELATION ||
			 get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE))
			return relid;
	}

	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_TABLE),
			 errmsg("document table \"%s\" does not exist",
					relname),
			 errhint("Use hilo.bind() to specify the column with the ids.")));
	return InvalidOid;			/* keep compiler quiet */
}

static bool
is_primary_key_of_one_column(Relation index, void *arg)
{
	return index->rd_index->indisprimary && index->rd_index->indnkeyatts == 1;
}

/* The only column of a table's primary key. */
static AttrNumber
primary_key_column(Relation rel)
{
	Relation	index = hilo_index_find(rel, is_primary_key_of_one_column, NULL);
	AttrNumber	attnum;

	if (index == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("table \"%s\" has no single-column primary key",
						RelationGetRelationName(rel)),
				 errhint("Use hilo.bind() to specify the column with the ids.")));
	attnum = index->rd_index->indkey.values[0];
	index_close(index, AccessShareLock);
	return attnum;
}

/*
 * A user who may neither read nor write a table must not learn its contents
 * from lookups.
 */
static void
check_may_look(Relation rel)
{
	Oid			relid = RelationGetRelid(rel);
	AclMode		mode = ACL_SELECT | ACL_INSERT;

	if (!hilo_may_use_schema(RelationGetNamespace(rel), GetUserId()))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_SCHEMA,
					   get_namespace_name(RelationGetNamespace(rel)));
	if (pg_class_aclmask(relid, GetUserId(), mode, ACLMASK_ANY) == 0 &&
		pg_attribute_aclcheck_all(relid, GetUserId(), mode,
								  ACLMASK_ANY) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE,
					   RelationGetRelationName(rel));
}

static bool
leads_index(Relation index, void *attnum)
{
	return hilo_index_leads(index, *(AttrNumber *) attnum);
}

/*
 * Query that counts the rows with a value in a table with shards.  Case matters
 * as it does in the column, whose operators may not be in the search_path.
 */
static const char *
shards_query(Relation heap, const char *column, Oid type)
{
	const char *name = quote_identifier(column);

	hilo_citus_check_isolation(RelationGetRelid(heap));
	if (hilo_ignores_case(type))
		name = psprintf("pg_catalog.lower(%s::pg_catalog.text)", name);
	return psprintf("SELECT pg_catalog.count(*) FROM %s WHERE %s = ",
					hilo_sql_table(RelationGetRelid(heap)), name);
}

/*
 * Add heap, a single table, with its index that starts with a column.  If there
 * is no such index, raise an error, or close and skip the table.
 */
static void
add_part(HiloDocuments *documents, Relation heap, const char *column, Oid type)
{
	AttrNumber	attnum = get_attnum(RelationGetRelid(heap), column);
	Relation	index = hilo_index_find(heap, leads_index, &attnum);
	Part	   *part;
	Oid			equal;

	if (index == NULL && documents->only_indexed)
	{
		table_close(heap, AccessShareLock);
		return;
	}
	if (index == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("table \"%s\" has no index for looking up ids",
						RelationGetRelationName(heap)),
				 errhint("Create a btree index that starts with column \"%s\" and has no WHERE clause.",
						 column)));

	part = palloc(sizeof(Part));
	part->heap = heap;
	part->index = index;
	part->type = type;
	part->query = hilo_citus_has_shards(RelationGetRelid(heap)) ?
		shards_query(heap, column, type) : NULL;
	part->slot = table_slot_create(heap, NULL);
	equal = get_opfamily_member(index->rd_opfamily[0], index->rd_opcintype[0],
								index->rd_opcintype[0], BTEqualStrategyNumber);
	fmgr_info(get_opcode(equal), &part->equal);
	documents->parts = lappend(documents->parts, part);
}

/*
 * Open a table in which documents can be looked up, and in which the user may
 * look.
 */
static Relation
open_table(const char *identity, Oid relid)
{
	Relation	rel = NULL;

	if (OidIsValid(relid))
		rel = try_table_open(relid, AccessShareLock);
	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the document table of \"%s\" no longer exists",
						identity),
				 errhint("Use hilo.unbind() and hilo.bind() to specify another column.")));

	if ((rel->rd_rel->relkind != RELKIND_RELATION &&
		 rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE) ||
		rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("documents cannot be looked up in \"%s\"",
						RelationGetRelationName(rel)),
				 errhint("For anything but an ordinary or partitioned table, bind a function.")));
	check_may_look(rel);
	return rel;
}

/* The type of a column, after checking that ids can be looked up in it. */
static Oid
checked_id_type(const HiloColumn *column)
{
	Oid			type = hilo_column_type(column);

	if (!hilo_holds_ids(type) && !hilo_holds_numbers(type))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("ids cannot be looked up in a column of type %s",
						format_type_be(type)),
				 errdetail("The type should be text, varchar, citext, smallint, integer or bigint.")));
	return type;
}

/*
 * Open the index of a table on the column called name, and those of all its
 * partitions and children.  The table is locked, and stays so.
 */
static void
open_parts(HiloDocuments *documents, Oid relid, const char *name, Oid type)
{
	List	   *relids = find_all_inheritors(relid, AccessShareLock, NULL);
	ListCell   *lc;

	foreach(lc, relids)
	{
		Relation	rel = table_open(lfirst_oid(lc), NoLock);

		if (rel->rd_rel->relkind == RELKIND_RELATION &&
			!RELATION_IS_OTHER_TEMP(rel))
			add_part(documents, rel, name, type);
		else if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ||
				 RELATION_IS_OTHER_TEMP(rel) || documents->only_indexed)
			table_close(rel, AccessShareLock);
		else
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("documents cannot be looked up in foreign table \"%s\"",
							RelationGetRelationName(rel)),
					 errhint("Bind a function.")));
	}
}

/*
 * Prepare to look up ids in a column of a table; if attnum is invalid, in that
 * of its primary key.
 */
static void
open_column(HiloDocuments *documents, HiloColumn column)
{
	Relation	rel = open_table(documents->identity, column.relation);
	char	   *name;
	Oid			type;

	if (column.attnum == InvalidAttrNumber)
		column.attnum = primary_key_column(rel);
	table_close(rel, NoLock);

	name = hilo_column_name(&column);
	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("the column with the ids of \"%s\" no longer exists",
						documents->identity),
				 errhint("Use hilo.unbind() and hilo.bind() to specify another column.")));
	type = checked_id_type(&column);
	documents->limit = Min(documents->limit, hilo_type_limit(type));
	open_parts(documents, column.relation, name, type);
}

/*
 * True if the part has a row with this value.  A dirty snapshot also sees the
 * rows of open transactions, and does not depend on the transaction's snapshot.
 */
static bool
part_has(Part *part, Datum value)
{
	SnapshotData dirty;
	ScanKeyData key;

	InitDirtySnapshot(dirty);
	ScanKeyEntryInitializeWithInfo(&key, 0, 1, BTEqualStrategyNumber,
								   part->index->rd_opcintype[0],
								   part->index->rd_indcollation[0],
								   &part->equal, value);
	return hilo_index_has(part->heap, part->index, &key, &dirty, part->slot);
}

static Datum
id_datum(const HiloDocuments *documents, Oid type, int64 number)
{
	char		start[HILO_MAX_START_LEN];
	int			len;

	switch (type)
	{
		case INT2OID:
			return Int16GetDatum((int16) number);
		case INT4OID:
			return Int32GetDatum((int32) number);
		case INT8OID:
			return Int64GetDatum(number);
		default:
			len = hilo_document_id_start(start, documents->identity,
										 hilo_identity_parts_separator, "");
			return PointerGetDatum(hilo_build_id(start, len, number, start, 0));
	}
}

/*
 * Query all nodes of Citus, as the owner of the table, who sees all rows.  Rows
 * of open transactions do not count there.
 */
static bool
shards_have(const HiloDocuments *documents, Part *part, int64 number)
{
	Oid			user;
	int			context;
	int			level;
	const char *literal;
	int64		count;

	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(part->heap->rd_rel->relowner,
						   context | SECURITY_LOCAL_USERID_CHANGE);
	level = hilo_sql_begin();
	literal = hilo_holds_numbers(part->type) ?
		psprintf(INT64_FORMAT, number) :
		quote_literal_cstr(TextDatumGetCString(id_datum(documents, part->type,
														number)));
	count = hilo_sql_number(psprintf(hilo_ignores_case(part->type) ?
									 "%s pg_catalog.lower(%s)" : "%s %s",
									 part->query, literal));
	hilo_sql_end(level);
	SetUserIdAndSecContext(user, context);
	return count > 0;
}

static bool
tables_have(HiloDocuments *documents, int64 number)
{
	ListCell   *lc;

	foreach(lc, documents->parts)
	{
		Part	   *part = lfirst(lc);

		if (part->query != NULL ? shards_have(documents, part, number) :
			part_has(part, id_datum(documents, part->type, number)))
			return true;
	}
	return false;
}

/*
 * Documents that a function knows
 */

void
hilo_check_taken_function(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc proc;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("function with OID %u does not exist", function)));
	proc = (Form_pg_proc) GETSTRUCT(tuple);
	if (proc->prokind != PROKIND_FUNCTION || proc->proretset ||
		proc->prorettype != BOOLOID || proc->pronargs != 1 ||
		proc->proargtypes.values[0] != INT8OID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("function %s must take a bigint and return boolean",
						NameStr(proc->proname))));
	ReleaseSysCache(tuple);
}

static void
open_function(HiloDocuments *documents, const char *signature)
{
	Oid			function = DatumGetObjectId(DirectFunctionCall1(regprocedurein,
																CStringGetDatum(signature)));
	HeapTuple	tuple;

	/* The function may have been replaced since it was bound. */
	hilo_check_taken_function(function);
	if (!hilo_may_execute(function, GetUserId()))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FUNCTION,
					   get_func_name(function));

	/*
	 * A volatile function would see only what existed when the transaction
	 * began.
	 */
	if (IsolationUsesXactSnapshot() &&
		func_volatile(function) == PROVOLATILE_VOLATILE)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("volatile function %s cannot be called in a transaction of this isolation level",
						get_func_name(function)),
				 errhint("Mark it STABLE, or use READ COMMITTED.")));

	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("function with OID %u does not exist", function)));
	documents->function = function;
	documents->owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
	ReleaseSysCache(tuple);
	fmgr_info(function, &documents->call);
}

/*
 * Call the function as its owner: the caller lends it no rights, and gains
 * nothing but the answer.  For the same reason it does not run with the
 * caller's search_path.  Unless it is marked volatile, it sees what is
 * committed now, at any isolation level.
 */
static bool
function_says(HiloDocuments *documents, int64 number)
{
	LOCAL_FCINFO(fcinfo, 1);
	Oid			user;
	int			context;
	int			level;
	Datum		result;

	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(documents->owner,
						   context | SECURITY_RESTRICTED_OPERATION);
	level = hilo_sql_hide_search_path();
	PushActiveSnapshot(GetLatestSnapshot());

	InitFunctionCallInfoData(*fcinfo, &documents->call, 1, InvalidOid, NULL,
							 NULL);
	fcinfo->args[0].value = Int64GetDatum(number);
	fcinfo->args[0].isnull = false;
	result = FunctionCallInvoke(fcinfo);

	PopActiveSnapshot();
	AtEOXact_GUC(false, level);
	SetUserIdAndSecContext(user, context);

	if (fcinfo->isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("function %s returned null for " INT64_FORMAT,
						format_procedure(documents->function), number)));
	return DatumGetBool(result);
}

/*
 * Both
 */

static HiloDocuments *
make_documents(const char *identity)
{
	HiloDocuments *documents = palloc0(sizeof(HiloDocuments));

	documents->identity = identity;
	documents->limit = PG_INT64_MAX;
	return documents;
}

HiloDocuments *
hilo_documents_open_column(const char *identity, const HiloColumn *column)
{
	HiloDocuments *documents = make_documents(identity);

	open_column(documents, *column);
	return documents;
}

/* Open what the identity is bound or attached to. */
static void
open_bound(HiloDocuments *documents)
{
	ListCell   *lc;

	foreach(lc, hilo_bindings(documents->identity))
	{
		HiloBinding *binding = lfirst(lc);

		if (binding->attached)
			continue;
		if (binding->column != NULL)
			open_column(documents, *binding->column);
		else if (binding->taken != NULL)
			open_function(documents, binding->taken);
		else
			continue;
		documents->bound = true;
	}
	foreach(lc, hilo_draw_right_attachments(documents->identity))
	{
		HiloAttachment *attachment = lfirst(lc);

		if (attachment->is_clone)
			continue;
		open_column(documents, attachment->column);
		documents->bound = true;
	}
}

HiloDocuments *
hilo_documents_open(const char *identity)
{
	HiloDocuments *documents = make_documents(identity);

	open_bound(documents);
	if (!documents->bound)
	{
		HiloColumn	key = {table_named_like(identity), InvalidAttrNumber};

		open_column(documents, key);
	}
	return documents;
}

/* The documents; NULL: nothing exists in which to look them up. */
static HiloDocuments *
unless_empty(HiloDocuments *documents)
{
	if (documents->parts != NIL || OidIsValid(documents->function))
		return documents;
	hilo_documents_close(documents);
	return NULL;
}

/*
 * True if the row says that the identity may be bound; only then is
 * hilo.binding read.
 */
static bool
may_be_bound(const char *identity)
{
	HiloRowRef	ref;
	HiloRow		row;

	hilo_row_ref_init(&ref, identity);
	(void) hilo_counter_read(&ref, &row);
	return (row.flags & HILO_ROW_BOUND) != 0;
}

HiloDocuments *
hilo_documents_open_bound(const char *identity)
{
	HiloDocuments *documents = make_documents(identity);

	documents->only_indexed = true;
	if (may_be_bound(identity))
		open_bound(documents);
	return unless_empty(documents);
}

HiloDocuments *
hilo_documents_open_own(const char *identity, Relation rel, AttrNumber attnum)
{
	HiloDocuments *documents = make_documents(identity);
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), attnum - 1);
	Oid			table = hilo_topmost_table(rel);

	/*
	 * The partition is locked, but its table may not be, and could be
	 * dropped.
	 */
	LockRelationOid(table, AccessShareLock);
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(table)))
	{
		table = RelationGetRelid(rel);
		LockRelationOid(table, AccessShareLock);
	}

	documents->only_indexed = true;
	documents->own_table = table;
	open_parts(documents, table, NameStr(att->attname),
			   getBaseType(att->atttypid));
	return unless_empty(documents);
}

void
hilo_documents_close(HiloDocuments *documents)
{
	ListCell   *lc;

	foreach(lc, documents->parts)
	{
		Part	   *part = lfirst(lc);

		ExecDropSingleTupleTableSlot(part->slot);
		index_close(part->index, AccessShareLock);
		table_close(part->heap, AccessShareLock);
	}
	pfree(documents);
}

/* True if the identity is bound to a column of the trigger's own table. */
static bool
own_table_is_bound(const HiloDocuments *documents)
{
	ListCell   *lc;

	foreach(lc, hilo_bindings(documents->identity))
	{
		HiloBinding *binding = lfirst(lc);

		if (binding->column != NULL && !binding->attached &&
			binding->column->relation == documents->own_table)
			return true;
	}
	return false;
}

bool
hilo_documents_may_lead(const HiloDocuments *documents)
{
	HeapTuple	tuple;
	Oid			owner;

	if (documents->bound || !OidIsValid(documents->own_table))
		return documents->bound;
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(documents->own_table));
	if (!HeapTupleIsValid(tuple))
		return false;
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return hilo_catalog_may_seed(true, owner) || own_table_is_bound(documents);
}

int64
hilo_documents_limit(const HiloDocuments *documents)
{
	return documents->limit;
}

bool
hilo_documents_have(int64 number, HiloDocuments *documents)
{
	if (OidIsValid(documents->function))
		return function_says(documents, number);
	return tables_have(documents, number);
}

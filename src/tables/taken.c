/*-------------------------------------------------------------------------
 *
 * taken.c
 *	  Where the documents of an identity are, and which numbers are taken.
 *
 * A number is looked up by a query over the relation with the documents, which is
 * prepared once in a session.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "base/compat.h"
#include "base/settings.h"
#include "base/sql.h"
#include "counting/counter.h"
#include "counting/node.h"
#include "tables/binding.h"
#include "tables/owner_query.h"
#include "tables/rights.h"
#include "tables/taken.h"

/* Kinds of relations that can be queried. */
static const char RELATIONS[] = {
	RELKIND_RELATION, RELKIND_PARTITIONED_TABLE, RELKIND_FOREIGN_TABLE,
	RELKIND_VIEW, RELKIND_MATVIEW, '\0'
};

/* Where to look: in a column of a relation. */
typedef struct Place
{
	Oid			owner;			/* who looks */
	const char *query;			/* that tells whether a number is taken */
	Oid			type;			/* of its parameter: that of the ids, or
								 * bigint */
} Place;

/*
 * Queries
 */

/* A number, or the id with that number, as the parameter of a query. */
static Datum
id_datum(const HiloDocuments *documents, Oid type, int64 number)
{
	char		start[HILO_MAX_START_LEN];
	int			len;

	if (type == INT8OID)
		return Int64GetDatum(number);
	len = hilo_document_id_start(start, documents->identity,
								 hilo_identity_parts_separator, "");
	return PointerGetDatum(hilo_build_id(start, len, number, ""));
}

/*
 * Documents in a relation
 */

/*
 * The only column of the primary key of the table with an identity's name, in the
 * schemas of the user's search_path; temporary tables do not count.
 */
static HiloColumn
key_named_like(const char *name)
{
	HiloColumn	key = {InvalidOid};
	Oid			constraint;
	int			only;

	foreach_oid(schema, fetch_search_path(false))
	{
		Oid			relid = InvalidOid;

		if (!isAnyTempNamespace(schema) && strlen(name) < NAMEDATALEN)
			relid = get_relname_relid(name, schema);
		if (!OidIsValid(key.relation) && OidIsValid(relid) &&
			(get_rel_relkind(relid) == RELKIND_RELATION ||
			 get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE))
			key.relation = relid;
	}
	if (!OidIsValid(key.relation))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("document table \"%s\" does not exist", name),
				 errhint("Use hilo.bind() to specify the column with the ids.")));
	if (!bms_get_singleton_member(get_primary_key_attnos(key.relation, true,
														 &constraint), &only))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("table \"%s\" has no single-column primary key", name),
				 errhint("Use hilo.bind() to specify the column with the ids.")));
	key.attnum = only + FirstLowInvalidHeapAttributeNumber;
	return key;
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

	if (!hilo_has_privilege(NamespaceRelationId, RelationGetNamespace(rel),
							GetUserId(), ACL_USAGE))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_SCHEMA,
					   get_namespace_name(RelationGetNamespace(rel)));
	if (pg_class_aclmask(relid, GetUserId(), mode, ACLMASK_ANY) == 0 &&
		pg_attribute_aclcheck_all(relid, GetUserId(), mode,
								  ACLMASK_ANY) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV,
					   get_relkind_objtype(rel->rd_rel->relkind),
					   RelationGetRelationName(rel));
}

/*
 * Look up ids in a column of a relation, which is locked.  The column's operator
 * may be in a schema that is not in the search_path.
 */
static void
add_column(HiloDocuments *documents, Relation rel, AttrNumber attnum)
{
	HiloColumn	column = {RelationGetRelid(rel), attnum};
	Oid			type = hilo_column_type(&column);
	int64		limit = hilo_column_limit(&column);
	Place	   *place = palloc(sizeof(Place));
	StringInfoData query;

	if (!hilo_holds_ids(type) && !hilo_holds_numbers(type))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("ids cannot be looked up in a column of type %s",
						format_type_be(type)),
				 errdetail("The type should be text, varchar, citext, smallint, integer or bigint.")));
	if (hilo_node_has_shards(column.relation))
		hilo_node_check_isolation(column.relation);
	documents->limit = Min(documents->limit, limit);
	place->owner = rel->rd_rel->relowner;
	place->type = hilo_holds_numbers(type) ? INT8OID : type;
	initStringInfo(&query);
	appendStringInfo(&query, "SELECT true FROM %s WHERE ",
					 hilo_sql_table(column.relation));
	generate_operator_clause(&query,
							 quote_identifier(get_attname(column.relation, attnum,
														  false)),
							 place->type,
							 lookup_type_cache(place->type, TYPECACHE_EQ_OPR)->eq_opr,
							 "$1", place->type);
	place->query = query.data;
	documents->places = lappend(documents->places, place);
}

/*
 * Look up ids in a column, as a bound one, which may be gone, and in which the user
 * may look.  Its relation stays locked.  Temporary ones never count.
 */
static void
open_column(HiloDocuments *documents, HiloColumn column)
{
	Relation	rel = NULL;

	if (OidIsValid(column.relation))
		rel = try_relation_open(column.relation, AccessShareLock);
	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the document table of \"%s\" no longer exists",
						documents->identity),
				 errhint("Use hilo.unbind() and hilo.bind() to specify another column.")));
	if (strchr(RELATIONS, rel->rd_rel->relkind) == NULL ||
		rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("documents cannot be looked up in \"%s\"",
						RelationGetRelationName(rel)),
				 errhint("Use a table or view that is not temporary.")));
	check_may_look(rel);
	if (hilo_column_name(&column) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("the column with the ids of \"%s\" no longer exists",
						documents->identity),
				 errhint("Use hilo.unbind() and hilo.bind() to specify another column.")));
	add_column(documents, rel, column.attnum);
	relation_close(rel, NoLock);
}

/*
 * The documents of an identity
 */

static HiloDocuments *
make_documents(const char *identity)
{
	HiloDocuments *documents = palloc0(sizeof(HiloDocuments));

	documents->identity = identity;
	documents->limit = PG_INT64_MAX;
	return documents;
}

void
hilo_documents_check_column(const char *identity, const HiloColumn *column)
{
	open_column(make_documents(identity), *column);
}

/* Open what the identity is bound or attached to. */
static void
open_bound(HiloDocuments *documents)
{
	HiloBindings bindings = hilo_bindings(documents->identity);

	hilo_bindings_refresh(documents->identity, &bindings);
	foreach_ptr(HiloBinding, binding, bindings.all)
	{
		HiloColumn	gone = {binding->object};

		/* What hilo.bind() named and is gone is an error. */
		if (OidIsValid(binding->living.relation))
			open_column(documents, binding->living);
		else if (binding->kind == HILO_BOUND)
			open_column(documents, gone);
		else
			continue;
		documents->bound = true;
	}
}

HiloDocuments *
hilo_documents_open(const char *identity, bool or_named_like)
{
	HiloDocuments *documents = make_documents(identity);
	HiloRowRef	ref = {.name = identity};
	HiloRow		row;

	/* hilo.binding is read only if the row says that it may be bound. */
	(void) hilo_counter_read(&ref, &row);
	if (row.flags & HILO_ROW_BOUND)
		open_bound(documents);
	if (!documents->bound && or_named_like)
		open_column(documents, key_named_like(identity));
	return documents;
}

HiloDocuments *
hilo_documents_open_own(const char *identity, Relation rel, AttrNumber attnum)
{
	HiloDocuments *documents = make_documents(identity);
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), attnum - 1);
	Relation	table = try_table_open(hilo_topmost_table(rel), AccessShareLock);

	/* The partition is locked, but its table could have been dropped. */
	if (table == NULL)
		table = table_open(RelationGetRelid(rel), NoLock);
	documents->owner = table->rd_rel->relowner;
	add_column(documents, table,
			   get_attnum(RelationGetRelid(table), NameStr(att->attname)));
	table_close(table, NoLock);
	return documents;
}

bool
hilo_documents_may_lead(const HiloDocuments *documents)
{
	Oid			owner = documents->owner;

	return documents->bound ||
		(OidIsValid(owner) && (hilo_catalog_may_seed(true, owner) ||
							   hilo_has_part_in(documents->identity, owner)));
}

bool
hilo_documents_have(int64 number, void *arg)
{
	HiloDocuments *documents = arg;

	foreach_ptr(const Place, place, documents->places)
	{
		if (hilo_owner_query_is_true(place->owner, place->query, place->type,
									 id_datum(documents, place->type, number)))
			return true;
	}
	return false;
}

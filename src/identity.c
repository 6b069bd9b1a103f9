/*-------------------------------------------------------------------------
 *
 * identity.c
 *	  Identities and server-side ids: numbers drawn one at a time, without or with a
 *	  tag; and the kind of id that a document requests.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "binding.h"
#include "catalog.h"
#include "compat.h"
#include "failure_point.h"
#include "guc.h"
#include "identity.h"
#include "node.h"

/*
 * Any role can create a table with the name of an unbound identity, and fill it so that the
 * search makes a large jump.  A jump beyond this needs the privilege to seed.
 */
#define FARTHEST_JUMP	INT64CONST(1048576)

/* Where the documents of an identity are, for one search. */
typedef struct HiloDocuments
{
	HiloIds    *ids;			/* NULL: nowhere */
	Oid			table;			/* InvalidOid: they are bound, else any role
								 * could have made it */
	List	   *locked;			/* OIDs of the tables that are locked for it */
	char		start[HILO_MAX_START_LEN];
} HiloDocuments;

void
hilo_identity_init(HiloIdentity *identity, const char *name)
{
	hilo_identity_name(identity->name, name, hilo_identity_parts_separator);
	snprintf(identity->row_name, sizeof(identity->row_name), "%s|", identity->name);
	memset(&identity->ref, 0, sizeof(identity->ref));
	identity->ref.name = identity->row_name;
}

int64
hilo_identity_next(HiloIdentity *identity)
{
	return hilo_counter_claim_number(&identity->ref, 0);
}

text *
hilo_identity_id(const HiloIdentity *identity, int64 number)
{
	char		start[HILO_MAX_START_LEN];
	int			len = hilo_document_id_start(start, identity->name,
											 hilo_identity_parts_separator, "");

	return hilo_build_id(start, len, number, "");
}

/*
 * Where documents are
 */

/*
 * The places of a search.  Its lists are made anew for each one, so all searches of the
 * session share it.
 */
static HiloIds *
document_ids(HiloDocuments *documents, const HiloIdentity *identity)
{
	static HiloIds *ids = NULL;

	if (ids == NULL)
		ids = hilo_ids_create();
	ids->start = documents->start;
	ids->start_len = hilo_document_id_start(documents->start, identity->name,
											hilo_identity_parts_separator, "");
	ids->tag = "";
	return ids;
}

/*
 * Lock the tables that are bound to an identity, with their partitions and children, as a query
 * would: unlike a draw, a search for a free number waits for a table, because it must not
 * return a number that nobody looked for.
 */
static List *
lock_bound_tables(const char *name)
{
	List	   *locked = NIL;

	foreach_ptr(const HiloBinding, binding, hilo_bindings(name))
	{
		if (!OidIsValid(binding->relation))
			continue;
		LockRelationOid(binding->relation, AccessShareLock);
		locked = list_concat(locked, find_all_inheritors(binding->relation, AccessShareLock, NULL));
	}
	return locked;
}

/* The search is over. */
static void
unlock_bound_tables(const HiloDocuments *documents)
{
	foreach_oid(oid, documents->locked)
		UnlockRelationOid(oid, AccessShareLock);
}

/* Find the bound columns of an identity; nothing if there are none. */
static void
find_bound_documents(HiloDocuments *documents, const HiloIdentity *identity)
{
	static HiloIds *bound = NULL;

	documents->locked = lock_bound_tables(identity->name);
	bound = hilo_ids_of_collection(bound, identity->name);
	documents->ids = bound;
	documents->table = InvalidOid;
	if (bound == NULL)
		return;
	bound->start = documents->start;
	bound->start_len = hilo_document_id_start(documents->start, identity->name,
											  hilo_identity_parts_separator, "");
	bound->tag = "";
	if (bound->places == NIL || OidIsValid(bound->without_index))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot look up documents of identity \"%s\"", identity->name),
				 OidIsValid(bound->without_index) ?
				 errdetail("No index on table \"%s\" leads with the column that is bound to it.",
						   get_rel_name(bound->without_index)) :
				 errdetail("The columns that are bound to it cannot be looked into."),
				 errhint("Query the view hilo.columns to see why.")));
}

/* Look in a column, whether or not it is bound. */
static void
use_column(HiloDocuments *documents, const HiloIdentity *identity, Oid table, AttrNumber attnum)
{
	documents->ids = document_ids(documents, identity);
	documents->table = table;
	hilo_ids_of_column(documents->ids, table, attnum);
}

/* The table of that name in the caller's search_path that is not temporary; InvalidOid: none. */
static Oid
table_named(const char *name)
{
	foreach_oid(schema, fetch_search_path(false))
	{
		Oid			relation = get_relname_relid(name, schema);
		char		kind = OidIsValid(relation) ? get_rel_relkind(relation) : '\0';

		if ((kind == RELKIND_RELATION || kind == RELKIND_PARTITIONED_TABLE) &&
			get_rel_persistence(relation) != RELPERSISTENCE_TEMP)
			return relation;
	}
	return InvalidOid;
}

/*
 * Find the table that has the name of an identity, in the caller's search_path, and its primary
 * key.
 */
static void
find_named_documents(HiloDocuments *documents, const HiloIdentity *identity)
{
	Oid			relation;
	Relation	rel;
	Bitmapset  *key;
	Oid			constraint;
	AttrNumber	attnum;

	/* Another session may drop the table while this one waits for it. */
	do
	{
		relation = table_named(identity->name);
		if (!OidIsValid(relation))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_TABLE),
					 errmsg("there is no table of documents for identity \"%s\"", identity->name),
					 errhint("Name the column of its ids with hilo.bind().")));
		rel = try_relation_open(relation, AccessShareLock);
	} while (rel == NULL);
	key = get_primary_key_attnos(relation, true, &constraint);
	if (bms_membership(key) != BMS_SINGLETON)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" has no primary key of one column", RelationGetRelationName(rel)),
				 errhint("Name the column of its ids with hilo.bind().")));
	attnum = bms_singleton_member(key) + FirstLowInvalidHeapAttributeNumber;
	if (pg_class_aclcheck(relation, GetUserId(), ACL_SELECT) != ACLCHECK_OK &&
		pg_attribute_aclcheck(relation, attnum, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, RelationGetRelationName(rel));
	relation_close(rel, AccessShareLock);
	use_column(documents, identity, relation, attnum);
}

/*
 * The next free one
 */

/* True if one of the columns that are bound to the identity is in the table. */
static bool
is_bound_table(const char *name, Oid table)
{
	foreach_ptr(const HiloBinding, binding, hilo_bindings(name))
	{
		if (binding->relation == table)
			return true;
	}
	return false;
}

/*
 * Raise 42501 if the search in an unbound table has gone farther than the user, or the owner of
 * the table, may seed.
 */
static void
check_may_jump(const char *name, const HiloDocuments *documents, int64 last, int64 number)
{
	if (number - last > FARTHEST_JUMP &&
		!hilo_catalog_may_seed(true, GetUserId()) &&
		!hilo_catalog_may_seed(true, GetSysCacheOid1(RELOID, Anum_pg_class_relowner,
													 ObjectIdGetDatum(documents->table))) &&
		!is_bound_table(name, documents->table))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to move identity \"%s\" from " INT64_FORMAT " to " INT64_FORMAT,
						name, last, number),
				 errdetail("Moving it by more than " INT64_FORMAT " for a table that is not bound requires the privilege to execute seed_identity_for().",
						   FARTHEST_JUMP),
				 errhint("Have the table bound with hilo.bind().")));
}

/* Find a number above last that no document has, and that can be drawn. */
static int64
search_free(HiloIdentity *identity, const HiloDocuments *documents, int64 last, int *tries)
{
	HiloCourse	course = {.increment = 1};
	HiloRow		row;
	int64		limit;
	int64		number;
	int			before = *tries;

	(void) hilo_counter_read(&identity->ref, &row);
	course.end = row.max_value;
	limit = Min(row.max_value, documents->ids->limit);
	if (!hilo_ids_next_free(documents->ids, &course, last, &number, tries))
		ereport(ERROR,
				(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
				 errmsg("no free number was found for identity \"%s\"", identity->name),
				 errdetail("Of the numbers from " INT64_FORMAT " up to the limit " INT64_FORMAT ", %d were looked up.",
						   last + 1, limit, *tries - before)));
	if (OidIsValid(documents->table))
		check_may_jump(identity->name, documents, last, number);
	return number;
}

/*
 * Search for a free number while other sessions draw.  The documents that they
 * have just created must not make the search jump over free numbers above them.
 * So a number is accepted only if none was drawn since the search began, or if a
 * second search ends there as well, as it does behind a block of documents.
 */
static int64
search_beside_others(HiloIdentity *identity, const HiloDocuments *documents, int64 last, int *tries)
{
	int64		before = 0;

	for (;;)
	{
		int64		number = search_free(identity, documents, last, tries);
		HiloRow		row;

		if (number == last + 1 || number == before)
			return number;
		(void) hilo_counter_read(&identity->ref, &row);
		if (row.max <= last || row.max >= number)
			return number;
		before = number;
		last = row.max;
	}
}

/*
 * Draw the next number, and look it up; if a document has it, search for one that no document
 * has.  Each number is claimed before it is looked up, so that sessions that search at the
 * same time end with different numbers, and none is left out.
 */
static int64
next_beside_documents(HiloIdentity *identity, const HiloDocuments *documents, int *tries)
{
	int64		number = hilo_identity_next(identity);
	int64		id;

	while (hilo_ids_have(documents->ids, number, number, &id))
	{
		number = search_beside_others(identity, documents, number, tries);
		HILO_FAILURE_POINT("free number found");
		number = hilo_counter_claim_number(&identity->ref, number);

		/* Numbers above it may be free as well. */
		if (number == 0)
			number = hilo_identity_next(identity);
	}
	return number;
}

/*
 * Unless several servers draw, nothing is claimed before a free number is found.  If another
 * session has claimed past it by then, the search starts again above that: two sessions never
 * get the same number.
 */
int64
hilo_identity_next_free(HiloIdentity *identity, int *tries)
{
	HiloDocuments documents = {NULL};
	int64		drawn = 0;

	*tries = 0;
	find_bound_documents(&documents, identity);
	if (documents.ids == NULL)
		find_named_documents(&documents, identity);
	while (drawn == 0)
	{
		HiloRow		row;
		int64		number;

		(void) hilo_counter_read(&identity->ref, &row);
		if (row.flags & HILO_ROW_SHARED)
		{
			drawn = next_beside_documents(identity, &documents, tries);
			break;
		}
		number = search_beside_others(identity, &documents, row.max, tries);
		HILO_FAILURE_POINT("free number found");
		drawn = hilo_counter_claim_number(&identity->ref, number);

		/* The first claim of all may have found that another server counts. */
		if (drawn > number)
			drawn = 0;
	}
	unlock_bound_tables(&documents);
	return drawn;
}

/*
 * Server-side ids
 */

/*
 * All server-side ids of a node have one counter, so that their numbers increase whatever the
 * prefix.  Each node of a cluster counts its own, so on a Citus worker a tag must make them
 * unique.
 */
text *
hilo_next_server_side_id(const char *prefix)
{
	HiloRowRef	ref = {.name = HILO_OWN_NAME};

	hilo_check_server_side_prefix(prefix, hilo_identity_parts_separator);
	if (!hilo_has_own_tag() && hilo_node_is_worker())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot draw server-side ids on a Citus worker"),
				 errdetail("This node counts by itself, so other nodes would draw the same numbers."),
				 errhint("Set hilo.node_tag to a tag that only this node has, in its postgresql.conf.")));
	return hilo_server_side_id(prefix, hilo_counter_claim_number(&ref, 0), hilo_node_tag);
}

/*
 * The id of a document
 */

/* Look in the column of a row that is being inserted; rows of other partitions count as well. */
static void
use_column_of_row(HiloDocuments *documents, const HiloIdentity *identity, Relation rel, AttrNumber attnum)
{
	Oid			table = RelationGetRelid(rel);

	if (rel->rd_rel->relispartition)
	{
		table = llast_oid(get_partition_ancestors(table));
		attnum = get_attnum(table, NameStr(TupleDescAttr(RelationGetDescr(rel), attnum - 1)->attname));
	}
	use_column(documents, identity, table, attnum);
}

/* The next id of an identity: one that no row of rel's table has, or else no bound column. */
static text *
next_identity_beside(const char *name, Relation rel, AttrNumber attnum)
{
	HiloIdentity identity;
	HiloDocuments documents = {NULL};
	int64		number;
	int			tries = 0;

	hilo_identity_init(&identity, name);
	if (rel == NULL)
		find_bound_documents(&documents, &identity);
	else
		use_column_of_row(&documents, &identity, rel, attnum);
	number = documents.ids == NULL ? hilo_identity_next(&identity) :
		next_beside_documents(&identity, &documents, &tries);
	unlock_bound_tables(&documents);
	return hilo_identity_id(&identity, number);
}

text *
hilo_document_id_for(HiloEntry *entry, text *requested, Relation rel, AttrNumber attnum)
{
	const char *name;

	if (requested == NULL)
		return hilo_entry_take_id(entry, &entry->text.own);

	name = text_to_cstring(requested);
	if (name[0] == '\0')
	{
		Datum		uuid = DirectFunctionCall1(gen_random_uuid, (Datum) 0);

		return cstring_to_text(DatumGetCString(DirectFunctionCall1(uuid_out, uuid)));
	}
	if (hilo_ends_with(name, hilo_identity_parts_separator))
		return hilo_next_server_side_id(name);
	if (hilo_ends_with(name, "|"))
		return next_identity_beside(name, rel, attnum);
	if (strlen(name) > HILO_MAX_ID_LEN)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("document id is too long"),
				 errdetail("It has %d bytes; the limit is %d.",
						   (int) strlen(name), HILO_MAX_ID_LEN)));
	return requested;
}

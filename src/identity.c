/*-------------------------------------------------------------------------
 *
 * identity.c
 *	  Identities and server-side ids: numbers drawn one at a time, without or with a
 *	  tag; and the kind of id that a document requests.
 *
 * To draw the next number of an identity is one claim, and that is all.  The larger part of this
 * file is about the next number that no document has.  First the documents have to be found: in the
 * columns that are bound to the identity, or else in the primary key of the table of that name.
 * Then there are two ways to a free number.  If this server alone counts, a free number is searched
 * above max, and then claimed, together with all numbers below it.  If several servers count,
 * numbers above max may belong to another one.  So a number is claimed first, and looked up then.
 *
 * Unlike a draw, next_identity_free() waits for locks of tables, and hilo_document_id() for locks of
 * bound tables: a free number is only free if all documents were looked at.  A trigger does not wait.
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
	HiloIds    *ids;			/* document_ids; NULL: nowhere */
	Oid			table;			/* InvalidOid: they are bound, else any role
								 * could have made it */
	List	   *locked;			/* OIDs of the tables that are locked for it */
} HiloDocuments;

/*
 * The places of a search.  They are found anew for each one, because another identity may be
 * searched each time, so all searches of the session share them.  NULL: there are none.
 */
static HiloIds *document_ids = NULL;

/*
 * An identity's row has a bar at the end of its name, so an identity and a collection can be called
 * alike and do not share a counter.
 */
void
hilo_identity_init(HiloIdentity *identity, const char *name)
{
	hilo_identity_name(identity->name, name, hilo_identity_parts_separator);
	snprintf(identity->row_name, sizeof(identity->row_name), "%s|", identity->name);
	memset(&identity->ref, 0, sizeof(identity->ref));
	identity->ref.name = identity->row_name;
	identity->start_len = hilo_document_id_start(identity->start, identity->name,
												 hilo_identity_parts_separator, "");
}

/* A claim of one number writes no record mostly, because numbers are logged ahead. */
int64
hilo_identity_next(HiloIdentity *identity)
{
	return hilo_counter_claim_number(&identity->ref, 0);
}

/* Ids of identities have no tag, as in RavenDB: companies/4. */
text *
hilo_identity_id(const HiloIdentity *identity, int64 number)
{
	return hilo_build_id(identity->start, identity->start_len, number, "");
}

/*
 * Where documents are
 */

/*
 * Lock a table, with its partitions and children, as a query would lock them: the look itself passes
 * over a table that it cannot lock at once.  Each is locked once, also one with several parents.
 */
static void
lock_documents(HiloDocuments *documents, Oid table)
{
	List	   *tables = find_all_inheritors(table, NoLock, NULL);

	foreach_oid(oid, tables)
		LockRelationOid(oid, AccessShareLock);
	documents->locked = list_concat(documents->locked, tables);
}

/*
 * Take the places that were found.  Unlike for a draw, it is an error here if there are none, or if
 * a table has no index: the caller has asked for a number that no document has, and one that was
 * not looked up would be a wrong answer.
 */
static void
use_documents(HiloDocuments *documents, const HiloIdentity *identity)
{
	HiloIds    *ids = documents->ids = document_ids;

	ids->start = identity->start;
	ids->start_len = identity->start_len;
	if (ids->places != NIL && !OidIsValid(ids->without_index))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("cannot look up documents of identity \"%s\"", identity->name),
			 ids->has_missed ?
			 errdetail("Another session has locked or changed a table or its index.") :
			 OidIsValid(ids->without_index) ?
			 errdetail("No index on table \"%s\" leads with the column of the ids.",
					   get_rel_name(ids->without_index)) :
			 errdetail("There is no table or partition to look into."),
			 OidIsValid(documents->table) ? 0 :
			 errhint("Query the view hilo.columns to see why.")));
}

/* Find the bound columns of an identity; documents->ids is NULL if there are none. */
static void
find_bound_documents(HiloDocuments *documents, const HiloIdentity *identity)
{
	foreach_ptr(const HiloBinding, binding, hilo_bindings(identity->name))
	{
		if (OidIsValid(binding->relation))
			lock_documents(documents, binding->relation);
	}
	hilo_ids_of_collection(&document_ids, identity->name);
	if (document_ids != NULL)
		use_documents(documents, identity);
}

/*
 * The search is over.  The locks of tables must not outlast it, or an ALTER TABLE would wait for
 * the end of each transaction that has drawn.  After an error the transaction's end releases them.
 */
static void
unlock_documents(const HiloDocuments *documents)
{
	foreach_oid(oid, documents->locked)
		UnlockRelationOid(oid, AccessShareLock);
}

/* Look in a column, whether or not it is bound. */
static void
use_column(HiloDocuments *documents, const HiloIdentity *identity, Oid table, AttrNumber attnum)
{
	if (document_ids == NULL)
		document_ids = hilo_ids_create();
	hilo_ids_of_column(document_ids, table, attnum);
	documents->table = table;
	use_documents(documents, identity);
}

/*
 * The table of that name in the caller's search_path that is not temporary; InvalidOid: none.
 * Temporary tables are passed over because the numbers of an identity are for all sessions.
 */
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
 * key.  What is returned tells which ids exist, so the caller needs the right to read them.
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

	/* Of a key with several columns, none has the ids alone. */
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

	lock_documents(documents, relation);
	relation_close(rel, AccessShareLock);
	use_column(documents, identity, relation, attnum);
}

/*
 * The next free one
 */

/*
 * Raise 42501 if the search in an unbound table has gone farther than the user, or the owner of
 * the table, may seed.  A short way is no harm: the user could draw as many numbers.
 */
static void
check_may_jump(const char *name, const HiloDocuments *documents, int64 last, int64 number)
{
	if (number - last <= FARTHEST_JUMP ||
		hilo_catalog_may_seed(true, GetUserId()) ||
		hilo_catalog_may_seed(true, GetSysCacheOid1(RELOID, Anum_pg_class_relowner,
													ObjectIdGetDatum(documents->table))))
		return;

	/*
	 * To bind a column needs a privilege that lets its holder move any
	 * counter.
	 */
	foreach_ptr(const HiloBinding, binding, hilo_bindings(name))
	{
		if (binding->relation == documents->table)
			return;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied to move identity \"%s\" from " INT64_FORMAT " to " INT64_FORMAT,
					name, last, number),
			 errdetail("Moving it by more than " INT64_FORMAT " for a table that is not bound requires the privilege to execute seed_identity_for().",
					   FARTHEST_JUMP),
			 errhint("Have the table bound with hilo.bind().")));
}

/*
 * Find a number above last that no document has, and that can be drawn.  The limit is read anew,
 * because hilo.configure() may have changed it since the last search.
 */
static int64
search_free(HiloIdentity *identity, const HiloDocuments *documents, int64 last, int *tries)
{
	HiloCourse	course = {.increment = 1};
	HiloRow		row;
	int64		number;
	int			before = *tries;

	(void) hilo_counter_read(&identity->ref, &row);
	course.end = row.max_value;
	if (!hilo_ids_next_free(documents->ids, &course, last, &number, tries))
		ereport(ERROR,
				(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
				 errmsg("no free number was found for identity \"%s\"", identity->name),
				 errdetail("Of the numbers above " INT64_FORMAT ", up to the limit " INT64_FORMAT ", %d were looked up.",
						   last, row.max_value, *tries - before)));
	if (OidIsValid(documents->table))
		check_may_jump(identity->name, documents, last, number);
	return number;
}

/*
 * Search for a free number while other sessions draw.  The documents that they
 * have just created must not make the search jump over free numbers above them.
 * So a number is accepted only if none was drawn since the search began, or if a
 * second search ends there as well, as it does after a block of documents.
 *
 * The number next to last needs no second search, because nothing was jumped over.  If max has
 * reached the number meanwhile, the claim will fail, and the caller begins anew.
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

		/*
		 * If numbers between the two were drawn meanwhile, their documents
		 * may be what the search has jumped over: search again above them.
		 */
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

		/*
		 * 0 says that another session has claimed it.  Numbers above it may
		 * be free as well, so the next one is tried before a search.
		 */
		if (number == 0)
			number = hilo_identity_next(identity);
	}
	return number;
}

/*
 * Unless several servers draw, nothing is claimed before a free number is found, so a search
 * that fails uses up no number.  If another session has claimed past it by then, the search starts
 * again above that: two sessions never get the same number.
 *
 * If meanwhile an index was locked, or a table has changed, the number may be one that was not
 * looked at.  So it becomes a gap, and the documents are found anew, which raises an error if they
 * still cannot be looked at.
 */
int64
hilo_identity_next_free(HiloIdentity *identity, int *tries)
{
	HiloDocuments documents = {NULL};
	int64		drawn = 0;

	*tries = 0;
	while (drawn == 0 || documents.ids->has_missed)
	{
		HiloRow		row;
		int64		number;

		/* Bindings come first: they say where the ids are. */
		if (documents.ids == NULL || documents.ids->has_missed)
		{
			unlock_documents(&documents);
			memset(&documents, 0, sizeof(documents));
			find_bound_documents(&documents, identity);
			if (documents.ids == NULL)
				find_named_documents(&documents, identity);
		}

		/* Whether other servers count can change with each read of the row. */
		(void) hilo_counter_read(&identity->ref, &row);
		if (row.flags & HILO_ROW_SHARED)
		{
			drawn = next_beside_documents(identity, &documents, tries);
			continue;
		}
		number = search_beside_others(identity, &documents, row.max, tries);
		HILO_FAILURE_POINT("free number found");
		drawn = hilo_counter_claim_number(&identity->ref, number);

		/* The first claim of all may have found that another server counts. */
		if (drawn > number)
			drawn = 0;
	}
	unlock_documents(&documents);
	return drawn;
}

/*
 * Server-side ids
 */

/*
 * All server-side ids of a node have one counter, so that their numbers increase whatever the
 * prefix.  Each node of a cluster counts its own, so on a Citus worker a tag must make them
 * unique: the tag that all nodes have by default would give two nodes the same id.
 */
text *
hilo_next_server_side_id(const char *prefix)
{
	HiloRowRef	ref = {.name = HILO_SERVER_SIDE_NAME};

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

/*
 * The next id of an identity: one that no row of rel's table has, or else no bound column.
 *
 * If rel is a partition, the row's identity is that of the whole table, so rows of other
 * partitions count as well.  In the whole table the column may have another number, because a
 * table that becomes a partition by ATTACH need not have its columns in the same order.
 */
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
	{
		Oid			table = RelationGetRelid(rel);
		List	   *ancestors = rel->rd_rel->relispartition ? get_partition_ancestors(table) : NIL;

		/* A partition that is being detached concurrently has none. */
		if (ancestors != NIL)
		{
			const char *column = get_attname(table, attnum, false);

			table = llast_oid(ancestors);
			attnum = get_attnum(table, column);
		}
		use_column(&documents, &identity, table, attnum);
	}
	number = documents.ids == NULL ? hilo_identity_next(&identity) :
		next_beside_documents(&identity, &documents, &tries);
	unlock_documents(&documents);
	return hilo_identity_id(&identity, number);
}

/*
 * What a document requests is told by the id itself, as in RavenDB: NULL is an id of the
 * collection, the empty string a GUID; an end in the separator asks for a server-side id, an end
 * in a bar for an identity; anything else is a semantic id, which is taken as it is.
 */
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

	/* The command may have found it to be free before, and not drawn it yet. */
	if (entry->ids != NULL)
		hilo_ids_close_window(entry->ids);
	return requested;
}

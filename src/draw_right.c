/*-------------------------------------------------------------------------
 *
 * draw_right.c
 *	  The right to draw from a collection.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_rewrite.h"
#include "parser/parse_coerce.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "binding.h"
#include "catalog.h"
#include "citus.h"
#include "compat.h"
#include "draw_right.h"
#include "settings.h"

/* Views over views that are looked through. */
#define MAX_VIEW_DEPTH	8

/* A column that a collection is bound to, or a role that may draw. */
typedef struct Bound
{
	HiloColumn	column;			/* relation InvalidOid: it is a role */
	bool		attached;
	NameData	role;			/* or "public" */
} Bound;

/* What hilo.binding says about a collection. */
typedef struct HiloBoundColumns
{
	uint64		generation;		/* hilo_binding_generation when it was read */
	Oid			attached_relation;	/* table last found attached */
	int			count;
	Bound		bound[FLEXIBLE_ARRAY_MEMBER];
} HiloBoundColumns;

/*
 * Bindings
 */

static Bound
bound_from(const HiloBinding *binding)
{
	Bound		bound = {.attached = binding->attached};

	if (binding->column != NULL)
		bound.column = *binding->column;
	else
		namestrcpy(&bound.role, binding->role);
	return bound;
}

/* Read what the collection is bound to, and keep it with the entry. */
static void
read_bound(HiloEntry *entry)
{
	uint64		generation = hilo_binding_generation;
	List	   *bindings = hilo_bindings(entry->collection.ref.name);
	HiloBoundColumns *bound;
	ListCell   *lc;

	bound = MemoryContextAllocZero(TopMemoryContext,
								   offsetof(HiloBoundColumns, bound) +
								   list_length(bindings) * sizeof(Bound));
	bound->generation = generation;
	foreach(lc, bindings)
	{
		const HiloBinding *binding = lfirst(lc);

		if (binding->column != NULL || binding->role != NULL)
			bound->bound[bound->count++] = bound_from(binding);
	}

	if (entry->right.bound != NULL)
		pfree(entry->right.bound);
	entry->right.bound = bound;
	list_free_deep(bindings);
}

/*
 * What the collection is bound to; NULL: nothing.  The row says whether the
 * bindings need to be looked at, so that changes of other rows are no reason to.
 */
static HiloBoundColumns *
bound_to(HiloEntry *entry)
{
	if (!(hilo_collection_row(&entry->collection)->flags & HILO_ROW_BOUND))
		return NULL;
	if (entry->right.bound == NULL ||
		entry->right.bound->generation != hilo_binding_generation)
		read_bound(entry);
	return entry->right.bound;
}

/*
 * Rights
 */

/* Has the user the privilege to insert into the relation, or a column of it? */
static bool
may_insert_directly(Oid relation, Oid user)
{
	return pg_class_aclcheck(relation, user, ACL_INSERT) == ACLCHECK_OK ||
		pg_attribute_aclcheck_all(relation, user, ACL_INSERT,
								  ACLMASK_ANY) == ACLCHECK_OK;
}

/* The relation that a rewrite rule belongs to; InvalidOid: it is gone. */
static Oid
relation_of_rule(Oid rule)
{
	Relation	rel = table_open(RewriteRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	Oid			relation = InvalidOid;

	ScanKeyInit(&key, Anum_pg_rewrite_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(rule));
	scan = systable_beginscan(rel, RewriteOidIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		relation = ((Form_pg_rewrite) GETSTRUCT(tuple))->ev_class;
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return relation;
}

/* The relations with rules that refer to this one: its views. */
static List *
relations_over(Oid relation)
{
	Relation	rel = table_open(DependRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	List	   *result = NIL;

	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(relation));
	scan = systable_beginscan(rel, DependReferenceIndexId, true, NULL,
							  lengthof(keys), keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend depend = (Form_pg_depend) GETSTRUCT(tuple);

		if (depend->classid == RewriteRelationId)
			result = list_append_unique_oid(result,
											relation_of_rule(depend->objid));
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return list_delete_oid(result, relation);
}

/* Owner of a view that lends its rights to its users; else InvalidOid. */
static Oid
lender(Oid view)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(view));
	Oid			owner = InvalidOid;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	if (((Form_pg_class) GETSTRUCT(tuple))->relkind == RELKIND_VIEW &&
		!hilo_is_security_invoker(tuple))
		owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return owner;
}

/*
 * May the user insert into the relation: by his own privileges, or through a
 * view with those of its owner?
 */
static bool
may_insert(Oid relation, Oid user, int depth)
{
	List	   *views;
	ListCell   *lc;
	bool		allowed = false;

	if (may_insert_directly(relation, user))
		return true;
	if (depth >= MAX_VIEW_DEPTH)
		return false;

	views = relations_over(relation);
	foreach(lc, views)
	{
		Oid			owner = lender(lfirst_oid(lc));

		CHECK_FOR_INTERRUPTS();
		allowed = OidIsValid(owner) && may_insert_directly(relation, owner) &&
			may_insert(lfirst_oid(lc), user, depth + 1);
		if (allowed)
			break;
	}
	list_free(views);
	return allowed;
}

/* Has the user, or a role that he has the privileges of, been granted to draw? */
static bool
is_granted(const Bound *grant, Oid user)
{
	Oid			role;

	if (strcmp(NameStr(grant->role), "public") == 0)
		return true;
	role = get_role_oid(NameStr(grant->role), true);
	return OidIsValid(role) && has_privs_of_role(user, role);
}

/*
 * Raise 42501 unless the user may draw from a collection that is bound.  First
 * his privileges are looked at, then, as that takes longer, those of views.
 */
static void
check_bound(HiloName name, const HiloBoundColumns *bound, Oid user)
{
	Oid			table = InvalidOid;

	for (int i = 0; i < bound->count; i++)
	{
		const Bound *one = &bound->bound[i];
		Oid			relation = one->column.relation;

		if (NameStr(one->role)[0] != '\0' ? is_granted(one, user) :
			SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation)) &&
			may_insert_directly(relation, user))
			return;
	}

	for (int i = 0; i < bound->count; i++)
	{
		Oid			relation = bound->bound[i].column.relation;

		/* A table that was dropped protects nothing. */
		if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation)))
			continue;
		if (may_insert(relation, user, 0))
			return;
		table = relation;
	}

	if (OidIsValid(table))
	{
		char	   *table_name = get_rel_name(table);

		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for collection \"%.*s\"",
						name.len, name.data),
				 errdetail("It is bound to table \"%s\": drawing needs the privilege to insert there, or a grant by hilo_configure().",
						   table_name == NULL ? "" : table_name)));
	}
}

/* Do its ids have something that those of other nodes do not have? */
static bool
has_own_ids(HiloCollection *collection)
{
	int			len;
	const char *tag;

	(void) hilo_collection_row(collection);
	tag = hilo_collection_node_tag(collection, &len);
	return hilo_citus_is_own_tag(tag, len) || hilo_server_prefix[0] != '\0';
}

void
hilo_draw_right_verify(HiloEntry *entry, HiloDrawn drawn)
{
	uint64		generation = hilo_rights_generation;
	HiloCollection *collection = &entry->collection;
	Oid			user = GetUserId();
	HiloBoundColumns *bound = bound_to(entry);

	if (bound != NULL)
		check_bound(collection->ref.name, bound, user);

	/* There the next draw may be of another kind; what is leased is unique. */
	if (hilo_citus_is_worker() &&
		!(hilo_collection_row(collection)->flags & HILO_ROW_LEASED))
	{
		hilo_citus_check(collection,
						 drawn == HILO_DRAW_ID && has_own_ids(collection));
		return;
	}

	entry->right.role = user;
	entry->right.generation = generation;
}

bool
hilo_is_attached(HiloEntry *entry, Oid relation, const char *column)
{
	HiloBoundColumns *bound = bound_to(entry);

	if (bound == NULL)
		return false;
	if (bound->attached_relation == relation)
		return true;

	for (int i = 0; i < bound->count; i++)
	{
		const Bound *one = &bound->bound[i];
		Oid			table = one->column.relation;
		char	   *name;

		if (!one->attached)
			continue;
		name = hilo_column_name(&one->column);
		if (name == NULL || strcmp(name, column) != 0)
			continue;
		if (relation == table ||
			typeInheritsFrom(get_rel_type_id(relation), get_rel_type_id(table)))
		{
			bound->attached_relation = relation;
			return true;
		}
	}
	return false;
}

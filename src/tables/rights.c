/*-------------------------------------------------------------------------
 *
 * rights.c
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
#include "catalog/pg_rewrite.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "base/settings.h"
#include "counting/catalog.h"
#include "servers/citus.h"
#include "shared/pool.h"
#include "tables/attachment.h"
#include "tables/binding.h"
#include "tables/rights.h"

/*
 * A collection counts as new after a single claim of at most this many numbers.
 */
#define MAX_NEW			1024

/* How many levels of views over views are followed. */
#define MAX_VIEW_DEPTH	8

/* A table that a collection is bound to, or a role that may draw. */
typedef struct Bound
{
	Oid			relation;		/* InvalidOid: this is a role */
	NameData	role;			/* or "public" */
} Bound;

/* What hilo.binding contains about a collection. */
typedef struct HiloBoundTables
{
	uint64		generation;		/* hilo_binding_generation when it was read */
	int			count;
	Bound		bound[FLEXIBLE_ARRAY_MEMBER];
} HiloBoundTables;

/*
 * Bindings
 */

/* Convert a binding; false if it is neither an existing table nor a role. */
static bool
bound_from(const HiloBinding *binding, Bound *bound)
{
	HiloAttachment *attachment;

	memset(bound, 0, sizeof(Bound));
	if (binding->role != NULL)
		namestrcpy(&bound->role, binding->role);
	else if (binding->column != NULL)
	{
		/* A column that was detached again protects nothing. */
		if (!binding->attached ||
			hilo_attachment_of_column(binding->column) != NULL)
			bound->relation = binding->column->relation;
	}
	else if (OidIsValid(binding->trigger) &&
			 (attachment = hilo_attachment_of_trigger(binding->trigger)) != NULL)
		bound->relation = attachment->column.relation;
	return binding->role != NULL || OidIsValid(bound->relation);
}

/* Read what the collection is bound to, and store it in the entry. */
static void
read_bound(HiloEntry *entry)
{
	uint64		generation = hilo_binding_generation;
	List	   *bindings = hilo_bindings(entry->collection.ref.name);
	HiloBoundTables *bound;
	ListCell   *lc;

	bound = MemoryContextAllocZero(TopMemoryContext,
								   offsetof(HiloBoundTables, bound) +
								   list_length(bindings) * sizeof(Bound));
	bound->generation = generation;
	foreach(lc, bindings)
	{
		if (bound_from(lfirst(lc), &bound->bound[bound->count]))
			bound->count++;
	}

	if (entry->right.bound != NULL)
		pfree(entry->right.bound);
	entry->right.bound = bound;
}

/*
 * What the collection is bound to; NULL: nothing.  A flag in the row says
 * whether the bindings have to be read, so that changes to bindings of other
 * collections do not matter.
 */
static HiloBoundTables *
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

/*
 * True if the user has the privilege to insert into the relation, or into a
 * column of it.
 */
static bool
may_insert_directly(Oid relation, Oid user)
{
	return pg_class_aclcheck(relation, user, ACL_INSERT) == ACLCHECK_OK ||
		pg_attribute_aclcheck_all(relation, user, ACL_INSERT,
								  ACLMASK_ANY) == ACLCHECK_OK;
}

/*
 * The relation that a rewrite rule belongs to; InvalidOid: the rule was
 * dropped.
 */
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

/* The relations whose rules refer to this one: the views over it. */
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

/*
 * The owner of a view whose accesses are checked as the owner's; else
 * InvalidOid.
 */
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
 * True if the user may insert into the relation, with the user's own privileges
 * or through a view with those of its owner.
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

/* True if the user is, or has the privileges of, the role of this grant. */
static bool
is_granted(const char *grant, Oid user)
{
	Oid			role = get_role_oid(grant, true);

	return OidIsValid(role) && has_privs_of_role(user, role);
}

/* True if the table exists. */
static bool
is_table(Oid relation)
{
	return OidIsValid(relation) &&
		SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation));
}

/* True if the user's own privileges, or a grant, allow the user to draw. */
static bool
may_draw_directly(const HiloBoundTables *bound, Oid user)
{
	for (int i = 0; i < bound->count; i++)
	{
		const Bound *one = &bound->bound[i];
		const char *role = NameStr(one->role);

		if (role[0] != '\0' ? strcmp(role, "public") == 0 || is_granted(role, user) :
			is_table(one->relation) && may_insert_directly(one->relation, user))
			return true;
	}
	return false;
}

/*
 * True if the user may insert into a table that is rightfully attached, but not
 * by a call of hilo.attach() here, as after a restore.  Otherwise *table is such
 * a table, if one exists.
 */
static bool
may_insert_into_others(HiloEntry *entry, Oid user, Oid *table)
{
	ListCell   *lc;

	foreach(lc, hilo_draw_right_attachments(entry->collection.ref.name))
	{
		const HiloAttachment *attachment = lfirst(lc);

		if (attachment->is_clone)
			continue;
		*table = attachment->column.relation;
		if (may_insert(*table, user, 0))
			return true;
	}
	return false;
}

/*
 * Raise 42501 unless the user may draw from a collection that is bound.  The
 * cheapest checks come first: the user's own privileges, then those through
 * views, then tables that came with a restore.
 */
static void
check_bound(HiloEntry *entry, const HiloBoundTables *bound, Oid user)
{
	const char *name = entry->collection.ref.name;
	Oid			table = InvalidOid;

	if (may_draw_directly(bound, user))
		return;
	for (int i = 0; i < bound->count; i++)
	{
		/* A table that was dropped protects nothing. */
		if (!is_table(bound->bound[i].relation))
			continue;
		table = bound->bound[i].relation;
		if (may_insert(table, user, 0))
			return;
	}

	if (bound->count > 0 && !may_insert_into_others(entry, user, &table) &&
		OidIsValid(table))
	{
		char	   *table_name = get_rel_name(table);

		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for collection \"%s\"",
						name),
				 errdetail("It is bound to table \"%s\"; drawing requires the privilege to insert into it, or a grant made with hilo.configure().",
						   table_name == NULL ? "" : table_name)));
	}
}

/*
 * The right to attach
 */

/* The owner of a table; InvalidOid: it was dropped. */
static Oid
owner_of(Oid relation)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return owner;
}

/*
 * True if only the user's tables have triggers that name the collection,
 * provided that one of these was seen or the collection is new.
 */
static bool
is_alone(HiloCollection *collection, Oid user)
{
	HiloRow		row;
	bool		seen = false;
	ListCell   *lc;

	foreach(lc, hilo_attachments(collection->ref.name))
	{
		const HiloAttachment *attachment = lfirst(lc);
		Oid			owner;

		if (attachment->is_clone)
			continue;
		owner = owner_of(attachment->column.relation);
		if (OidIsValid(owner) && !has_privs_of_role(user, owner))
			return false;
		seen = seen || hilo_attachment_is_seen(attachment);
	}
	if (seen)
		return true;

	/* A draw, for example by a default, may have come before the trigger. */
	return !hilo_counter_read(&collection->ref, &row) ||
		(row.flags & HILO_ROW_DESERTED) ||
		(row.claim_low == 1 && row.max <= MAX_NEW);
}

/*
 * hilo.binding records which tables hilo.attach() was called for, in this
 * database or the one that it is a copy of, and which roles have grants.  If it
 * records no existing table and no grant, as in a copy of the schema alone, a
 * role may use the collection if it is the only one to do so; if all its tables
 * were dropped, any role may.
 */
bool
hilo_draw_right_may_attach(HiloCollection *collection, Oid relation)
{
	Oid			owner = owner_of(relation);
	bool		others = false;
	bool		own = false;
	bool		gone = false;
	ListCell   *lc;

	if (!OidIsValid(owner) || superuser_arg(owner) ||
		hilo_catalog_may_seed(false, owner))
		return true;
	foreach(lc, hilo_bindings(collection->ref.name))
	{
		const HiloBinding *binding = lfirst(lc);
		Oid			table_owner;

		if (binding->role != NULL && strcmp(binding->role, "public") != 0)
		{
			if (is_granted(binding->role, owner))
				return true;
			others = others || OidIsValid(get_role_oid(binding->role, true));
		}
		others = others || binding->taken != NULL;
		if (binding->column == NULL)
			continue;
		table_owner = owner_of(binding->column->relation);
		if (binding->attached && binding->column->relation == relation)
			return true;
		if (!OidIsValid(table_owner))
			gone = true;
		else if (has_privs_of_role(owner, table_owner))
			own = true;
		else
			others = true;
	}
	if (others || own)
		return !others;
	return gone || is_alone(collection, owner);
}

List *
hilo_draw_right_attachments(const char *name)
{
	HiloCollection collection;
	List	   *by_right = NIL;
	ListCell   *lc;

	hilo_collection_init(&collection, name);
	foreach(lc, hilo_attachments(name))
	{
		HiloAttachment *attachment = lfirst(lc);

		if (hilo_attachment_is_seen(attachment) ||
			hilo_draw_right_may_attach(&collection, attachment->column.relation))
			by_right = lappend(by_right, attachment);
	}
	return by_right;
}

/*
 * The right to draw
 */

/*
 * True if a prefix or tag of this node's own distinguishes its ids from those
 * of other nodes.  A tag in the row is the same on all nodes.
 */
static bool
has_own_ids(HiloCollection *collection)
{
	return hilo_has_own_prefix() ||
		(hilo_has_own_tag() &&
		 !(hilo_collection_row(collection)->flags & HILO_ROW_HAS_TAG));
}

/*
 * True if the numbers are leased, or will be.  Server-side ids never are.  A
 * Citus worker that preloads the library leases all others.
 */
static bool
can_be_leased(HiloCollection *collection)
{
	if (hilo_is_own_name(collection->ref.name))
		return false;
	return hilo_pool_exists() ||
		(hilo_collection_row(collection)->flags & HILO_ROW_LEASED);
}

void
hilo_draw_right_check_node(HiloCollection *collection, bool unique_by_tag)
{
	const char *name = collection->ref.name;

	if (unique_by_tag || !hilo_citus_is_worker() ||
		can_be_leased(collection))
		return;

	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 hilo_is_own_name(name) ?
			 errmsg("cannot draw server-side ids on a Citus worker") :
			 errmsg("cannot draw from " HILO_COUNTER_FORMAT " on a Citus worker",
					HILO_COUNTER_ARGS(name)),
			 errdetail("This node counts by itself, so other nodes would draw the same numbers."),
			 hilo_is_own_name(name) ?
			 errhint("Set hilo.node_tag to a tag that only this node has, in its postgresql.conf.") :
			 hilo_pool_size == 0 ?
			 errhint("Set hilo.pool_size above 0, so that this node leases the numbers from the coordinator.") :
			 errhint("Add hilo to shared_preload_libraries of this node, so that it leases the numbers from the coordinator.")));
}

void
hilo_draw_right_verify(HiloEntry *entry, HiloDrawn drawn)
{
	uint64		generation = hilo_rights_generation;
	HiloCollection *collection = &entry->collection;
	Oid			user = GetUserId();
	HiloBoundTables *bound = bound_to(entry);

	if (bound != NULL)
		check_bound(entry, bound, user);

	/*
	 * On such a node the result is not remembered, because the next draw may
	 * be of another kind.  A range that was counted here must not be used any
	 * more once numbers will be leased.
	 */
	if (hilo_citus_is_worker() &&
		!(hilo_collection_row(collection)->flags & HILO_ROW_LEASED))
	{
		hilo_draw_right_check_node(collection,
								   drawn == HILO_DRAW_ID && has_own_ids(collection));
		if (hilo_pool_exists())
			hilo_cache_forget(entry);
		return;
	}

	entry->right.role = user;
	entry->right.generation = generation;
}

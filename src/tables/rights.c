/*-------------------------------------------------------------------------
 *
 * rights.c
 *	  The rights to draw from a collection, and to attach to it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_inherits.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "base/sql.h"
#include "counting/catalog.h"
#include "counting/node.h"
#include "tables/binding.h"
#include "tables/look.h"
#include "tables/rights.h"

/*
 * The right to draw from a collection that is bound
 */

/* True if the role may insert into the table, or into a column of it. */
static bool
may_insert(Oid table, Oid role)
{
	return pg_class_aclcheck(table, role, ACL_INSERT) == ACLCHECK_OK ||
		pg_attribute_aclcheck_all(table, role, ACL_INSERT, ACLMASK_ANY) == ACLCHECK_OK;
}

/*
 * True if a binding lets the user draw: hilo.allow() named the user, a role of
 * the user's, or "public"; or the user may insert into the table, or into a
 * partition, for whose lock no draw waits.
 */
static bool
lets_draw(const HiloBindings *bindings, Oid user)
{
	foreach_ptr(HiloBinding, binding, bindings->all)
	{
		Oid			table = binding->living.relation;
		Oid			role = binding->object;

		if (binding->kind == HILO_ALLOWED &&
			(strcmp(binding->owner, "public") == 0 ||
			 (SearchSysCacheExists1(AUTHOID, ObjectIdGetDatum(role)) &&
			  has_privs_of_role(user, role))))
			return true;
		if (!OidIsValid(table))
			continue;
		if (may_insert(table, user))
			return true;
		foreach_oid(part, find_all_inheritors(table, NoLock, NULL))
		{
			if (get_rel_relispartition(part) && may_insert(part, user))
				return true;
		}
	}
	return false;
}

/*
 * The right to attach
 */

/*
 * True if the role has the privileges of the owners of the tables that the
 * collection is bound to: the living ones, or else those that are recorded.  A role
 * that was dropped cannot be harmed.  With any, those of one owner suffice.
 * False if there is no such binding.
 */
static bool
stands_for_owners(const HiloBindings *bindings, Oid role, bool any)
{
	int			owners = 0;
	int			matching = 0;

	foreach_ptr(HiloBinding, binding, bindings->all)
	{
		Oid			owner = get_role_oid(binding->owner, true);

		if ((binding->kind != HILO_ATTACHED && binding->kind != HILO_BOUND) ||
			(OidIsValid(bindings->table) && !OidIsValid(binding->living.relation)) ||
			!OidIsValid(owner))
			continue;
		owners++;
		if (has_privs_of_role(role, owner))
			matching++;
	}
	return matching > 0 && (any || matching == owners);
}

/* True if no number of the counter was ever drawn. */
static bool
is_new(HiloRowRef *ref)
{
	HiloRow		row;

	return !hilo_counter_read(ref, &row) || row.max == 0;
}

/* A binding is also one of the identity of that name, whose search for free numbers it leads. */
bool
hilo_may_attach_to(HiloCollection *collection, Oid role)
{
	const char *name = collection->ref.name;
	HiloBindings bindings;
	HiloCollection identity;
	char		buffer[HILO_MAX_ROW_NAME_LEN];

	if (hilo_catalog_may_seed(false, role))
		return true;
	bindings = hilo_bindings(name);
	if (bindings.all != NIL)
		return stands_for_owners(&bindings, role, false);
	hilo_collection_init_identity(&identity, name, buffer);
	return is_new(&collection->ref) &&
		(is_new(&identity.ref) || hilo_catalog_may_seed(true, role));
}

bool
hilo_has_part_in(const char *collection, Oid role)
{
	HiloBindings bindings = hilo_bindings(collection);

	return stands_for_owners(&bindings, role, true);
}

/*
 * The right to draw
 */

void
hilo_draw_right_verify(HiloEntry *entry)
{
	uint64		generation = hilo_rights_generation;
	uint64		bindings = hilo_binding_generation;
	HiloCollection *collection = &entry->collection;
	Oid			user = GetUserId();
	bool		is_known = entry->right.generation != 0;
	uint64		changes = 0;
	bool		is_right = true;

	/*
	 * Most changes of rows concern other collections: what was found in the
	 * bindings, whose table may be locked, is still right.
	 */
	if (!(hilo_collection_row(collection)->flags & HILO_ROW_BOUND))
		bindings = 0;
	else if (!is_known || entry->right.role != user ||
			 entry->right.bindings != bindings)
	{
		HiloLook   *look = hilo_look_of_entry(entry);
		HiloBindings bound;

		/*
		 * From now on, a message about a table makes this be verified again:
		 * any, if none is living.
		 */
		look->awaits_table = true;
		changes = look->changes;
		bound = hilo_bindings(collection->ref.name);
		look->awaits_table = !OidIsValid(bound.table);

		if (OidIsValid(bound.table) && !lets_draw(&bound, user))
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("permission denied for collection \"%s\"",
							collection->ref.name),
					 errdetail("It is bound to table %s; drawing requires the privilege to insert into it, or into a partition of it.",
							   hilo_sql_table(bound.table)),
					 errhint("Grant that privilege, or use hilo.allow().")));
		is_right = hilo_bindings_set_limit(&bound, collection);
	}
	entry->right.role = user;
	entry->right.bindings = bindings;
	entry->right.generation = 0;

	/* Others count for a worker: what was counted here must not be used. */
	if (hilo_node_is_worker() &&
		!(hilo_collection_row(collection)->flags & HILO_ROW_LEASED))
		hilo_entry_forget(entry);

	if (is_right && (changes == 0 || changes == entry->look->changes))
		entry->right.generation = generation;
}

/*-------------------------------------------------------------------------
 *
 * draw_right.c
 *	  Who may draw from a collection.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_inherits.h"
#include "parser/parse_coerce.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "binding.h"
#include "catalog.h"
#include "draw_right.h"
#include "settings.h"
#include "worker_guard.h"

/* A column that a collection is bound to. */
typedef struct HiloBoundColumn
{
	HiloColumn	column;
	bool		attached;
} HiloBoundColumn;

/* Make entry->bound what is bound at present. */
static void
read_bound(HiloCacheEntry *entry)
{
	uint64		generation = hilo_catalog_generation;
	List	   *bindings = NIL;
	HiloBoundColumn *bound;
	int			count = 0;
	ListCell   *lc;

	hilo_cache_read_row(entry);
	if (entry->may_be_bound)
		bindings = hilo_bindings(entry->name);

	bound = MemoryContextAlloc(TopMemoryContext,
							   (list_length(bindings) + 1) * sizeof(HiloBoundColumn));
	foreach(lc, bindings)
	{
		HiloBinding *binding = lfirst(lc);

		if (binding->column == NULL)
			continue;
		bound[count].column = *binding->column;
		bound[count++].attached = binding->attached;
	}

	if (entry->bound != NULL)
		pfree(entry->bound);
	entry->bound = bound;
	entry->bound_count = count;
	entry->bound_generation = generation;
	list_free_deep(bindings);
}

static void
know_bound(HiloCacheEntry *entry)
{
	if (entry->bound_generation != hilo_catalog_generation)
		read_bound(entry);
}

/* May the user insert into the table, or into a column of it? */
static bool
may_insert(Oid relation, Oid user)
{
	return pg_class_aclcheck(relation, user, ACL_INSERT) == ACLCHECK_OK ||
		pg_attribute_aclcheck_all(relation, user, ACL_INSERT,
								  ACLMASK_ANY) == ACLCHECK_OK;
}

/* Has the user, or a role that he has the privileges of, been granted to draw? */
static bool
is_granted(HiloName name, Oid user)
{
	ListCell   *lc;

	foreach(lc, hilo_bindings(name))
	{
		HiloBinding *binding = lfirst(lc);
		Oid			role;

		if (binding->role == NULL)
			continue;
		if (strcmp(binding->role, "public") == 0)
			return true;
		role = get_role_oid(binding->role, true);
		if (OidIsValid(role) && has_privs_of_role(user, role))
			return true;
	}
	return false;
}

/* Do its ids have something that those of other nodes do not have? */
static bool
has_own_ids(const HiloCacheEntry *entry)
{
	int			len;
	const char *tag = hilo_cache_node_tag(entry, &len);

	return hilo_is_own_tag(tag, len) || hilo_server_prefix[0] != '\0';
}

void
hilo_draw_right_verify(HiloCacheEntry *entry, HiloDrawn drawn)
{
	uint64		generation = hilo_rights_generation;
	Oid			user = GetUserId();
	char	   *table = NULL;
	bool		allowed = true;

	know_bound(entry);
	for (int i = 0; i < entry->bound_count; i++)
	{
		Oid			relation = entry->bound[i].column.relation;

		/* A table that was dropped protects nothing. */
		if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation)))
			continue;
		allowed = may_insert(relation, user);
		if (allowed)
			break;
		table = get_rel_name(relation);
	}

	if (!allowed && !is_granted(entry->name, user))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for collection \"%.*s\"",
						entry->name.len, entry->name.data),
				 errdetail("It is bound to table \"%s\": drawing needs the privilege to insert there, or a grant by hilo_configure().",
						   table == NULL ? "" : table)));

	/* There the next draw may be of another kind; what is leased is unique. */
	if (hilo_is_citus_worker() && !entry->source.leased)
	{
		hilo_worker_check("collection", entry->name.data, entry->name.len,
						  (entry->source.undrawn && hilo_hub[0] != '\0') ||
						  (drawn == HILO_DRAW_ID && has_own_ids(entry)));
		return;
	}

	entry->may_draw = user;
	entry->rights_generation = generation;
}

bool
hilo_is_attached(HiloCacheEntry *entry, Oid relation, const char *column)
{
	know_bound(entry);
	if (relation == entry->attached_relation &&
		entry->attached_generation == entry->bound_generation)
		return true;

	for (int i = 0; i < entry->bound_count; i++)
	{
		HiloBoundColumn *bound = &entry->bound[i];
		Oid			table = bound->column.relation;
		char	   *name = hilo_column_name(&bound->column);

		if (!bound->attached || name == NULL || strcmp(name, column) != 0)
			continue;
		if (relation == table ||
			typeInheritsFrom(get_rel_type_id(relation), get_rel_type_id(table)))
		{
			entry->attached_relation = relation;
			entry->attached_generation = entry->bound_generation;
			return true;
		}
	}
	return false;
}

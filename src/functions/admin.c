/*-------------------------------------------------------------------------
 *
 * admin.c
 *	  The SQL functions that administer collections: seed, drop, configure.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "base/sql.h"
#include "servers/member.h"
#include "session/call.h"
#include "tables/attach.h"
#include "tables/binding.h"

PG_FUNCTION_INFO_V1(hilo_seed);
PG_FUNCTION_INFO_V1(hilo_drop);
PG_FUNCTION_INFO_V1(hilo_configure);

Datum
hilo_seed(PG_FUNCTION_ARGS)
{
	HiloCollection collection;
	int64		max;

	hilo_api_prevent_unless_may_write("hilo.seed()");
	(void) hilo_api_administered(fcinfo, &collection);
	hilo_lease_prevent_on_worker(&collection.ref, "hilo.seed");
	max = hilo_api_seed(fcinfo, &collection);
	hilo_api_forget_range(collection.ref.name);
	PG_RETURN_INT64(max);
}

/*
 * Drop
 */

/*
 * Lock the bindings, and raise an error if a column draws from the collection, or
 * it is bound, or a rollback could bring that back.
 */
static void
lock_unbound(const char *collection)
{
	Oid			table;

	/*
	 * Lock the bindings first: a session that is binding the name could not
	 * undo the drop.
	 */
	hilo_bindings_lock(collection);
	table = hilo_drawing_table(collection);
	if (OidIsValid(table))
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("a column of table %s draws from collection \"%s\"",
						hilo_sql_table(table), collection),
				 errhint("Undo that with hilo.detach(), or change the default, first.")));
	if (hilo_is_bound(collection))
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("collection \"%s\" is bound to documents",
						collection),
				 errhint("Undo that with hilo.unbind() first.")));
	if ((IsTransactionBlock() || IsSubTransaction()) &&
		hilo_unbound_here(collection))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot drop collection \"%s\" in the transaction that unbound it",
						collection),
				 errdetail("A rollback would bring the binding back, but not the counter."),
				 errhint("Commit first.")));
}

/*
 * Remove what is recorded: roles that are allowed, tables that no longer exist.
 * Returns whether there was anything.
 */
static bool
forget_bindings(const char *collection)
{
	bool		result = false;
	ListCell   *lc;

	hilo_clean_notes();
	foreach(lc, hilo_bindings(collection))
	{
		(void) hilo_binding_remove(collection, lfirst(lc));
		result = true;
	}
	return result;
}

Datum
hilo_drop(PG_FUNCTION_ARGS)
{
	HiloCollection collection;
	bool		is_identity;
	bool		dropped;

	hilo_api_prevent_unless_may_write("hilo.drop()");
	is_identity = hilo_api_administered(fcinfo, &collection);

	if (!is_identity)
		lock_unbound(collection.ref.name);
	dropped = hilo_api_drop(fcinfo, &collection);
	if (!is_identity && !forget_bindings(collection.ref.name))
		hilo_bindings_unlock(collection.ref.name);
	hilo_api_forget_range(collection.ref.name);
	PG_RETURN_BOOL(dropped);
}

/*
 * Configure
 */

/* Argument number arg, between 1 and limit; 0 if it is NULL. */
static int64
option_argument(FunctionCallInfo fcinfo, int arg, const char *name,
				int64 limit)
{
	int64		value;

	if (PG_ARGISNULL(arg))
		return 0;
	value = PG_GETARG_INT64(arg);
	if (value < 1 || value > limit)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be between 1 and " INT64_FORMAT, name, limit)));
	return value;
}

/* The options to set; limit is the highest max_value allowed. */
static HiloCounterOptions
options_arguments(FunctionCallInfo fcinfo, int64 limit)
{
	HiloCounterOptions options = {0};

	options.range_size = option_argument(fcinfo, 1, "range_size", INT_MAX);
	options.max_range_size = option_argument(fcinfo, 2, "max_range_size",
											 INT_MAX);
	options.max_value = option_argument(fcinfo, 3, "max_value", limit);
	options.reset = hilo_api_bool(fcinfo, 5, "reset");
	options.own_limit = options.max_value > 0 && options.max_value < limit;
	if (options.reset && options.max_value == 0)
		options.max_value = limit;
	options.change_order = !PG_ARGISNULL(6);
	options.ordered = options.change_order && PG_GETARG_BOOL(6);
	if (!PG_ARGISNULL(4))
	{
		options.node_tag = text_to_cstring(PG_GETARG_TEXT_PP(4));
		hilo_check_node_tag(options.node_tag);
	}
	return options;
}

Datum
hilo_configure(PG_FUNCTION_ARGS)
{
	HiloCollection collection;
	const char *name;
	HiloCounterOptions options;
	bool		is_identity;
	HiloRow		before;
	bool		is_there;

	hilo_api_prevent_unless_may_write("hilo.configure()");
	is_identity = hilo_api_administered(fcinfo, &collection);
	name = collection.ref.name;
	hilo_lease_prevent_on_worker(&collection.ref, "hilo.configure");
	is_there = hilo_counter_read(&collection.ref, &before);
	options = options_arguments(fcinfo, is_identity ? PG_INT64_MAX :
								hilo_attached_limit(name));

	if (options.ordered)
		hilo_api_check_orderable(is_identity);
	hilo_collection_configure(&collection, &options);
	if (!is_there)
		ereport(NOTICE,
				(errmsg(HILO_COUNTER_FORMAT " did not exist and was created",
						HILO_COUNTER_ARGS(name)),
				 errhint("If that was a mistake, undo it with hilo.drop().")));
	PG_RETURN_VOID();
}

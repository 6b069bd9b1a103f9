/*-------------------------------------------------------------------------
 *
 * hub.c
 *	  Asks another server, the hub, for numbers of its counters.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "foreign/foreign.h"
#include "utils/acl.h"

#include "catalog.h"
#include "compat.h"
#include "hilo_libpq.h"
#include "hub.h"
#include "settings.h"

/* The OIDs of a hub; checks that the role may use the server. */
static void
look_up(const HiloHub *hub, Oid *server, Oid *role)
{
	*server = get_foreign_server_oid(NameStr(hub->server), false);
	*role = NameStr(hub->role)[0] == '\0' ? hilo_catalog_owner() :
		get_role_oid(NameStr(hub->role), false);
	if (!hilo_may_use_server(*server, *role))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FOREIGN_SERVER,
					   NameStr(hub->server));
}

/* A function of the other library, which is loaded if need be. */
static void *
libpq_function(const char *name)
{
	return load_external_function(HILO_LIBPQ_LIBRARY, name, true, NULL);
}

void
hilo_hub_check(const HiloHub *hub)
{
	static HiloLibpqCheck check = NULL;
	Oid			server;
	Oid			role;

	if (check == NULL)
		check = (HiloLibpqCheck) libpq_function("hilo_libpq_check");
	look_up(hub, &server, &role);
	check(server, role);
}

/* Error context: what the hub is asked for. */
static void
tell_hub(void *arg)
{
	const HiloHub *hub = arg;

	errcontext("asking server \"%s\" for numbers", NameStr(hub->server));
}

/* Call a function on the hub, whose first argument is a name. */
static void
call(const HiloHub *hub, bool keep, const char *function, HiloName name,
	 const int64 *args, int count, int64 *numbers, int number_count)
{
	static HiloLibpqCall libpq_call = NULL;
	ErrorContextCallback context = {error_context_stack, tell_hub,
	unconstify(HiloHub *, hub)};
	const char *texts[3];
	Oid			server;
	Oid			role;

	if (libpq_call == NULL)
		libpq_call = (HiloLibpqCall) libpq_function("hilo_libpq_call");

	texts[0] = pnstrdup(name.data, name.len);
	for (int i = 0; i < count; i++)
		texts[i + 1] = psprintf(INT64_FORMAT, args[i]);

	error_context_stack = &context;
	look_up(hub, &server, &role);
	libpq_call(server, role, hilo_lease_timeout, keep, function, texts,
			   count + 1, numbers, number_count);
	error_context_stack = context.previous;
}

/*
 * Raise 08P01 about numbers that the hub cannot have meant: it is not to be
 * trusted with more.
 */
static void
fail_at_answer(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROTOCOL_VIOLATION),
			 errmsg("the server has answered with numbers that it was not asked for")));
}

HiloRange
hilo_hub_lease(const HiloHub *hub, HiloName collection, int64 size,
			   int64 floor)
{
	int64		args[2] = {size, floor};
	int64		numbers[2];
	HiloRange	range;

	call(hub, false, "hilo_lease", collection, args, 2, numbers, 2);
	range.low = numbers[0];
	range.high = numbers[1];
	if (range.low <= floor || range.high < range.low ||
		range.high - range.low >= size)
		fail_at_answer();
	return range;
}

int64
hilo_hub_next_identity(const HiloHub *hub, HiloName name, int64 floor)
{
	int64		number;

	call(hub, true, "identity_lease", name, &floor, 1, &number, 1);
	if (number <= floor)
		fail_at_answer();
	return number;
}

/*-------------------------------------------------------------------------
 *
 * hub.c
 *	  Asks another server, the hub, for numbers of its counters.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "foreign/foreign.h"
#include "utils/acl.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

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

int64
hilo_hub_next_identity(const HiloHub *hub, HiloName name, int64 floor)
{
	int64		number;

	call(hub, true, "identity_lease", name, &floor, 1, &number, 1);
	if (number <= floor)
		fail_at_answer();
	return number;
}

/* What is asked for, and got. */
typedef struct Request
{
	const HiloHub *hub;
	HiloName	name;
	int64		size;			/* of a lease; 0: a number of an identity */
	int64		floor;
	HiloRange	range;
} Request;

static void
ask(Request *request)
{
	int64		args[2] = {request->size, request->floor};
	int64		numbers[2];

	if (request->size == 0)
	{
		request->range.low = hilo_hub_next_identity(request->hub, request->name,
													request->floor);
		request->range.high = request->range.low;
		return;
	}

	call(request->hub, false, "hilo_lease", request->name, args, 2, numbers, 2);
	if (numbers[0] <= request->floor || numbers[1] < numbers[0] ||
		numbers[1] - numbers[0] >= request->size)
		fail_at_answer();
	request->range.low = numbers[0];
	request->range.high = numbers[1];
}

/* Ask in a subtransaction; returns the error that it ended in. */
static ErrorData *
try_to_ask(Request *request)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		ask(request);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return error;
}

ErrorData *
hilo_hub_try_lease(const HiloHub *hub, HiloName collection, int64 size,
				   int64 floor, HiloRange *range)
{
	Request		request = {hub, collection, size, floor, {0, -1}};
	ErrorData  *error = try_to_ask(&request);

	*range = request.range;
	return error;
}

ErrorData *
hilo_hub_try_next_identity(const HiloHub *hub, HiloName name, int64 floor,
						   int64 *number)
{
	Request		request = {hub, name, 0, floor, {0, -1}};
	ErrorData  *error = try_to_ask(&request);

	*number = request.range.low;
	return error;
}

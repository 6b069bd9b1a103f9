/*-------------------------------------------------------------------------
 *
 * identity.c
 *	  Identities and server-side ids: numbers claimed one at a time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "document_id.h"
#include "failure_point.h"
#include "identity.h"
#include "settings.h"
#include "worker_guard.h"

void
hilo_identity_counter(HiloCounter *counter, HiloName name)
{
	name.len = hilo_check_identity(name.data, name.len,
								   hilo_identity_parts_separator);
	hilo_counter_init(counter, HILO_TABLE_IDENTITIES, name);
}

/*
 * Draw a number above floor, and above all that were got before, on the hub that
 * the row of a leased identity names.
 */
static int64
next_on_hub(HiloCounter *counter, int64 floor)
{
	HiloCounterRow row;
	HiloHub		hub;
	HiloRange	number;

	if (!hilo_counter_read(counter, &row, true) || !row.leased ||
		NameStr(row.hub)[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("identity \"%.*s\" has no hub any more",
						counter->name.len, counter->name.data),
				 errhint("Name one with identity_from(), or let it count by seed_identity_for() with force, from where no other server does.")));
	hub.server = row.hub;
	hub.role = row.hub_role;
	number.low = hilo_hub_next_identity(&hub, counter->name,
										Max(floor, row.max));
	number.high = number.low;
	HILO_FAILURE_POINT("identity got");
	hilo_counter_note_leased(counter, number, true);
	return number.low;
}

/* Claim one number.  Returns false if they are leased. */
static bool
claim_one(HiloCounter *counter, int64 *number)
{
	HiloRangeRequest request = {.size = 1, .exact = true, .alignment = 1};
	HiloClaim	claim;

	if (!hilo_counter_claim(counter, &request, HILO_FOR_STATEMENT, &claim))
		return false;
	*number = claim.range.low;
	return true;
}

void
hilo_identity_check_worker(HiloCounter *counter)
{
	HiloCounterRow row;

	if (hilo_is_citus_worker() &&
		!(hilo_counter_read(counter, &row, true) && row.leased))
		hilo_worker_check("identity", counter->name.data, counter->name.len,
						  false);
}

int64
hilo_identity_next(HiloCounter *counter)
{
	int64		number;

	hilo_identity_check_worker(counter);
	return claim_one(counter, &number) ? number : next_on_hub(counter, 0);
}

int64
hilo_identity_claim(HiloCounter *counter, int64 number)
{
	HiloCounterRow row;

	if (hilo_counter_read(counter, &row, true) && row.leased)
		return next_on_hub(counter, number - 1);
	return hilo_counter_claim_number(counter, number) ? number : 0;
}

/*
 * The hub is asked to go above what was counted here.  A number counted here
 * after that could be one that it has given to another member by then: so first
 * nobody counts here any more, but asks the hub, too.
 */
static void
begin_lease(HiloCounter *counter, const HiloHub *hub)
{
	int64		max = hilo_counter_set_hub(counter, NameStr(hub->server),
										   NameStr(hub->role), 0);
	int64		number;
	ErrorData  *error = hilo_hub_try_next_identity(hub, counter->name, max,
												   &number);

	if (error != NULL)
	{
		hilo_counter_unset_hub(counter);
		ReThrowError(error);
	}
}

void
hilo_identity_lease_from(HiloCounter *counter, const HiloHub *hub)
{
	HiloCounterRow row;

	if (!hilo_counter_read(counter, &row, true) || !row.leased)
	{
		begin_lease(counter, hub);
		return;
	}
	(void) hilo_hub_next_identity(hub, counter->name, row.max);
	hilo_counter_set_hub(counter, NameStr(hub->server), NameStr(hub->role), 0);
}

text *
hilo_identity_id(const HiloCounter *counter, int64 number)
{
	char		start[HILO_MAX_START_LEN];
	int			len = hilo_document_id_start(start, counter->name.data,
											 counter->name.len,
											 hilo_identity_parts_separator, "");

	return hilo_build_id(start, len, number, start, 0);
}

/*
 * All server-side ids of a node have one counter, so that their numbers
 * increase whatever the prefix.  It is a row of the table hilo, with a name
 * that no collection can have.
 */
text *
hilo_next_server_side_id(HiloName prefix)
{
	HiloName	name = {HILO_SERVER_SIDE_NAME, strlen(HILO_SERVER_SIDE_NAME)};
	HiloCounter counter;
	int64		number = 0;

	hilo_check_server_side_prefix(prefix.data, prefix.len,
								  hilo_identity_parts_separator);
	hilo_worker_check("server-side ids", prefix.data, prefix.len,
					  hilo_is_own_tag(hilo_node_tag, strlen(hilo_node_tag)));
	hilo_counter_init(&counter, HILO_TABLE_COLLECTIONS, name);
	(void) claim_one(&counter, &number);
	return hilo_server_side_id(prefix.data, prefix.len, number,
							   hilo_id_suffix, hilo_id_suffix_len);
}

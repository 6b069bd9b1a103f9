/*-------------------------------------------------------------------------
 *
 * door.c
 *	  Entry point of the library: what it does for the core.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "hub/core.h"
#include "hub/hub.h"
#include "hub/leased.h"
#include "hub/member.h"
#include "hub/turn.h"

PG_MODULE_MAGIC;

extern HILO_EXPORT const HiloSource *hilo_hub_source(void);

const HiloSource *
hilo_hub_source(void)
{
	static HiloSource source = {
		.check = hilo_lease_check_hub,
		.fetch = hilo_lease_fetch,
		.taken = hilo_lease_taken,
		.low = hilo_lease_fetch_ahead,
		.work = hilo_lease_work,
		.prevent = hilo_lease_prevent_on_worker,
		.opens = hilo_hub_check_draw,
		.drawn = hilo_hub_wait_for_standby,
		.before_change = hilo_members_refuse,
		.after_change = hilo_members_warn,
		.dropped = hilo_members_forget_counter,
		.merge = hilo_leased_merge,
		.admit = hilo_hub_admit,
		.restored = hilo_hub_restore
	};

	source.layout = hilo_pool_entry_size == sizeof(HiloPool) ? HILO_SOURCE_LAYOUT : 0;
	return &source;
}

/*-------------------------------------------------------------------------
 *
 * wing.c
 *	  The functions of this library that the library of the extension hilo_hub calls.
 *
 * Neither library is linked against the other, so each can be loaded where the other one is
 * missing.  hilo_hub asks for this table when it is loaded.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "compat.h"
#include "guc.h"
#include "wing.h"

/* Flush a claim that other sessions may have to flush as well, see hilo_row_own_lsn(). */
static void
flush_claim(XLogRecPtr lsn)
{
	hilo_row_flush(hilo_row_own_lsn(lsn));
}

extern PGDLLEXPORT Datum hilo_core(PG_FUNCTION_ARGS);

Datum
hilo_core(PG_FUNCTION_ARGS)
{
	static const HiloCore core = {
		.max_range_size = &hilo_max_range_size,
		.row_find = hilo_row_find,
		.row_finish = hilo_row_finish,
		.row_abandon = hilo_row_abandon,
		.row_flush = flush_claim,
		.row_list = hilo_row_list,
		.row_lock_table = hilo_row_lock_table,
		.random_number = hilo_random_number,
		.rate_decay = hilo_rate_decay,
		.catalog_announce = hilo_catalog_announce,
		.check_row_name = hilo_check_row_name,
		.counter_read = hilo_counter_read,
		.counter_claim = hilo_counter_claim,
		.counter_size = hilo_counter_size,
		.range_cut = hilo_range_cut,
		.pool_keep = hilo_pool_keep,
		.pool_put = hilo_pool_put,
		.pool_take = hilo_pool_take,
		.pool_forget = hilo_pool_forget,
		.pool_count = hilo_pool_count,
		.pool_note = hilo_pool_note,
		.pool_last_note = hilo_pool_last_note
	};

	PG_RETURN_POINTER(&core);
}

/*-------------------------------------------------------------------------
 *
 * rows.c
 *	  The SQL functions behind the views: what is known about counters, the pool
 *	  and ranges.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "sequences/sequence.h"
#include "session/call.h"
#include "shared/order.h"
#include "shared/pool.h"
#include "tables/binding.h"
#include "tables/drawing.h"

static void
put_row(FunctionCallInfo fcinfo, Datum *values)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	bool	   *nulls = palloc0(rsinfo->setDesc->natts * sizeof(bool));

	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * Counters
 */

/* What the collection is bound to, as text[]. */
static Datum
bound_to(const char *name, const HiloRow *row)
{
	List	   *bindings = row->flags & HILO_ROW_BOUND ? hilo_bindings(name).all : NIL;
	Datum	   *texts = palloc((list_length(bindings) + 1) * sizeof(Datum));
	int			count = 0;

	foreach_ptr(HiloBinding, binding, bindings)
	{
		char	   *column = hilo_column_name(&binding->living);

		if (column != NULL)
			texts[count++] = CStringGetTextDatum(psprintf("%s.%s", binding->name,
														  quote_identifier(column)));
		else if (binding->kind == HILO_BOUND)
			texts[count++] = CStringGetTextDatum("-");
	}
	return PointerGetDatum(construct_array(texts, count, TEXTOID, -1, false,
										   TYPALIGN_INT));
}

/*
 * The limit of a counter: its own, or that of the columns whose defaults draw from it, if
 * it is bound to none.
 */
static int64
limit_of(const char *name, const HiloRow *row)
{
	int64		limit;

	if ((row->flags & HILO_ROW_BOUND) || hilo_is_identity(name))
		return row->max_value;
	limit = hilo_columns_limit(hilo_columns_of_default(name, NIL));
	return Max(Min(limit, row->max_value), row->max);
}

/*
 * hilo._counters().  The process that holds a horizon back is 0 if its transaction
 * is prepared.
 */
PG_FUNCTION_INFO_V1(hilo_counters);

Datum
hilo_counters(PG_FUNCTION_ARGS)
{
	hilo_init_materialized(fcinfo);
	foreach_ptr(const HiloNamedRow, named, hilo_row_list())
	{
		const HiloRow *row = &named->row;
		TimestampTz since = DT_NOBEGIN;
		TransactionId holder = hilo_order_holder(named->name,
												 GetActiveSnapshot(), &since);
		Datum		values[] = {
			CStringGetTextDatum(named->name),
			Int64GetDatum(row->max),
			Int64GetDatum(limit_of(named->name, row)),
			Int32GetDatum(row->flags),
			TimestampTzGetDatum(row->claimed_at),
			Float8GetDatum(row->claim_rate),
			Int64GetDatum(row->range_size),
			Int64GetDatum(row->max_range_size),
			CStringGetTextDatum(NameStr(row->node_tag)),
			CStringGetTextDatum(row->separator),
			CStringGetTextDatum(NameStr(row->hub)),
			Int32GetDatum(BackendXidGetPid(holder)),
			TimestampTzGetDatum(since),
			bound_to(named->name, row)
		};

		put_row(fcinfo, values);
	}
	return (Datum) 0;
}

/* hilo._bound_tables() */
PG_FUNCTION_INFO_V1(hilo_bound_tables);

Datum
hilo_bound_tables(PG_FUNCTION_ARGS)
{
	hilo_init_materialized(fcinfo);
	foreach_ptr(const HiloNamedRow, named, hilo_row_list())
	{
		List	   *bindings = named->row.flags & HILO_ROW_BOUND ? hilo_bindings(named->name).all : NIL;

		foreach_ptr(HiloBinding, binding, bindings)
		{
			Datum		values[] = {
				CStringGetTextDatum(named->name), ObjectIdGetDatum(binding->living.relation)
			};

			if (OidIsValid(binding->living.relation))
				put_row(fcinfo, values);
		}
	}
	return (Datum) 0;
}

/*
 * The pool
 */

/* The pieces whose numbers can be drawn. */
PG_FUNCTION_INFO_V1(hilo_pool);

Datum
hilo_pool(PG_FUNCTION_ARGS)
{
	hilo_init_materialized(fcinfo);
	foreach_ptr(const HiloPooled, pooled, hilo_pool_list())
	{
		HiloRowRef	ref = {.name = pooled->name};
		HiloRow		row;

		(void) hilo_counter_read(&ref, &row);
		for (int i = 0; i < pooled->count; i++)
		{
			const HiloClaim *piece = &pooled->pieces[i];
			Datum		values[] = {
				CStringGetTextDatum(pooled->name),
				Int64GetDatum(piece->range.low),
				Int64GetDatum(piece->range.high),
				Int64GetDatum(hilo_range_count(&piece->range)),
				BoolGetDatum(piece->fetched)
			};

			if (hilo_counter_holds(&row, piece))
				put_row(fcinfo, values);
		}
	}
	return (Datum) 0;
}

/* hilo._pool_use() */
PG_FUNCTION_INFO_V1(hilo_pool_use_row);

Datum
hilo_pool_use_row(PG_FUNCTION_ARGS)
{
	HiloPoolUse use = hilo_pool_use();
	Datum		values[] = {
		Int64GetDatum(use.given), Int64GetDatum(use.taken), Int64GetDatum(use.lost)
	};

	hilo_init_materialized(fcinfo);
	put_row(fcinfo, values);
	return (Datum) 0;
}

/*
 * Ranges of this session; of a sequence, what is left of it
 */

PG_FUNCTION_INFO_V1(hilo_ranges);

Datum
hilo_ranges(PG_FUNCTION_ARGS)
{
	hilo_init_materialized(fcinfo);
	foreach_ptr(HiloEntry, entry, hilo_entries_in_use())
	{
		HiloRange  *range = &entry->range.claim.range;
		Datum		values[] = {
			CStringGetTextDatum(entry->collection.ref.name),
			Int64GetDatum(range->low),
			Int64GetDatum(range->high),
			Int64GetDatum(entry->range.last + 1),
			Int64GetDatum(hilo_range_count(range))
		};

		put_row(fcinfo, values);
	}
	foreach_ptr(const HiloSequence, sequence, hilo_sequences_in_use())
	{
		char	   *name = get_rel_name(sequence->oid);
		char	   *schema = get_namespace_name(get_rel_namespace(sequence->oid));
		Datum		next = Int64GetDatum(sequence->last + sequence->increment);
		Datum		values[] = {
			0,
			next,
			Int64GetDatum(sequence->last + sequence->left * sequence->increment),
			next,
			Int64GetDatum(sequence->left)
		};

		/* It may have been dropped. */
		if (name == NULL || schema == NULL)
			continue;
		values[0] = CStringGetTextDatum(quote_qualified_identifier(schema, name));
		put_row(fcinfo, values);
	}
	return (Datum) 0;
}

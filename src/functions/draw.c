/*-------------------------------------------------------------------------
 *
 * draw.c
 *	  The SQL functions that draw from collections, return ranges, and read and
 *	  write ids.
 *
 * Each function unpacks and checks its arguments, calls the module that does
 * the work, and builds the result.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"
#include "utils/timestamp.h"

#include "session/call.h"
#include "shared/pool.h"
#include "tables/rights.h"
#include "tables/take.h"

/*
 * Draw
 */

PG_FUNCTION_INFO_V1(hilo_next);

Datum
hilo_next(PG_FUNCTION_ARGS)
{
	HiloEntry  *entry;

	hilo_api_prevent_unless_may_write("hilo_next()");
	entry = hilo_draw_right_check(hilo_api_entry(fcinfo));
	PG_RETURN_TEXT_P(hilo_take_id(entry, &entry->text.own));
}

PG_FUNCTION_INFO_V1(hilo_next_tagged);

Datum
hilo_next_tagged(PG_FUNCTION_ARGS)
{
	HiloEntry  *entry;
	text	   *tag;
	int			len;

	hilo_api_prevent_unless_may_write("hilo_next()");
	if (unlikely(PG_ARGISNULL(1)))
		hilo_api_reject_null(fcinfo, 1, "node_tag");
	tag = PG_GETARG_TEXT_PP(1);
	len = VARSIZE_ANY_EXHDR(tag);
	entry = hilo_draw_right_check(hilo_api_entry(fcinfo));

	if (unlikely(!hilo_entry_has_tag(entry, VARDATA_ANY(tag), len)))
		hilo_entry_give_tag(entry, text_to_cstring(tag));
	PG_RETURN_TEXT_P(hilo_take_id(entry, &entry->text.given));
}

PG_FUNCTION_INFO_V1(hilo_next_number);

Datum
hilo_next_number(PG_FUNCTION_ARGS)
{
	hilo_api_prevent_unless_may_write("hilo_next_number()");
	PG_RETURN_INT64(hilo_take(hilo_draw_right_check(hilo_api_entry(fcinfo))));
}

PG_FUNCTION_INFO_V1(hilo_last_number);

Datum
hilo_last_number(PG_FUNCTION_ARGS)
{
	const char *collection = hilo_api_collection(fcinfo);
	HiloEntry  *entry = hilo_entry_known(collection);

	/*
	 * Numbers drawn before the extension was dropped and created again do not
	 * count.
	 */
	if (entry == NULL || entry->range.drawn == 0 ||
		HILO_HOME_TABLE(entry->range.claim.home) !=
		hilo_catalog_table(HILO_TABLE_COUNTERS))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no number of collection \"%s\" has been drawn in this session",
						collection),
				 errhint("Draw one with hilo_next_number() or hilo_next(). If a pooler gives each transaction a different connection, use INSERT ... RETURNING.")));
	PG_RETURN_INT64(entry->range.drawn);
}

/*
 * Take exactly as many consecutive numbers as argument 1, called what, says: at most the
 * collection's largest range.  If aligned, the highest is a multiple of that number, which
 * an ordered collection refuses.
 */
static HiloRange
take_exactly(FunctionCallInfo fcinfo, const char *what, bool aligned)
{
	HiloEntry  *entry = hilo_draw_right_check(hilo_api_entry(fcinfo));
	const HiloRow *row = hilo_collection_row(&entry->collection);
	HiloWanted	block = {.exact = true};
	HiloClaim	claim;

	block.size = hilo_api_count(fcinfo, 1, what, hilo_counter_max_range_size(row),
								"The upper bound is the setting \"hilo.max_range_size\", unless hilo.configure() has set another one.");
	block.alignment = aligned ? block.size : 1;
	if (aligned)
		hilo_collection_refuse_ordered(&entry->collection);
	hilo_take_apart(entry, NULL, &block, &claim);
	return claim.range;
}

PG_FUNCTION_INFO_V1(hilo_reserve);

Datum
hilo_reserve(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = hilo_api_result_desc(fcinfo);
	HiloRange	range;
	Datum		values[2];

	hilo_api_prevent_unless_may_write("hilo_reserve()");
	range = take_exactly(fcinfo, "count", false);
	values[0] = Int64GetDatum(range.low);
	values[1] = Int64GetDatum(range.high);
	return hilo_api_result(desc, values);
}

PG_FUNCTION_INFO_V1(hilo_next_hi);

Datum
hilo_next_hi(PG_FUNCTION_ARGS)
{
	hilo_api_prevent_unless_may_write("hilo.next_hi()");
	PG_RETURN_INT64(take_exactly(fcinfo, "capacity", true).high /
					PG_GETARG_INT64(1));
}

/*
 * Ranges of client programs
 */

/*
 * Raise 42501 if last_max would move the counter, or skip fetched numbers
 * that others could draw, unless the caller may seed.
 */
static void
check_may_pass(HiloCollection *collection, int64 last_max)
{
	const char *name = collection->ref.name;
	HiloRow		row;
	int64		pooled;

	/* max changes without an announcement, so read the row again. */
	(void) hilo_counter_read(&collection->ref, &row);
	pooled = (row.flags & HILO_ROW_LEASED) ? hilo_pool_highest(name, &row) : 0;
	if (last_max <= row.max && (pooled == 0 || last_max < pooled))
		return;

	if (!hilo_catalog_may_seed(false, GetUserId()))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to move collection \"%s\" to " INT64_FORMAT,
						name, last_max),
				 errdetail("Skipping unclaimed numbers requires the privilege to execute hilo.seed().")));
}

PG_FUNCTION_INFO_V1(hilo_next_range);

Datum
hilo_next_range(PG_FUNCTION_ARGS)
{
	HiloSizing	sizing = {.for_client = true,.age = HILO_CLIENT_RANGE_DURATION};
	HiloWanted	wanted = {.alignment = 1};
	TupleDesc	desc = hilo_api_result_desc(fcinfo);
	HiloEntry  *entry;
	HiloCollection *collection;
	HiloClaim	claim;
	char		start[HILO_MAX_START_LEN];
	int			start_len;
	TimestampTz now = GetCurrentTimestamp();
	Datum		values[7];

	hilo_api_prevent_unless_may_write("hilo.next_range()");
	sizing.last_size = hilo_api_number(fcinfo, 1, "last_batch_size");
	wanted.above = hilo_api_number(fcinfo, 3, "last_max");
	entry = hilo_draw_right_check(hilo_api_entry(fcinfo));
	collection = &entry->collection;
	(void) hilo_collection_row(collection);

	/* If no time is given, use the last size unchanged. */
	if (!PG_ARGISNULL(2) &&
		pg_sub_s64_overflow(now, PG_GETARG_TIMESTAMPTZ(2), &sizing.age))
		sizing.age = PG_INT64_MAX;
	if (wanted.above > 0)
		check_may_pass(collection, wanted.above);
	hilo_take_apart(entry, &sizing, &wanted, &claim);

	start_len = hilo_document_id_start(start, collection->ref.name,
									   hilo_collection_separator(collection),
									   hilo_server_prefix);
	values[0] = PointerGetDatum(cstring_to_text_with_len(start, start_len));
	values[1] = Int64GetDatum(claim.range.low);
	values[2] = Int64GetDatum(claim.range.high);
	values[3] = Int64GetDatum(hilo_range_count(&claim.range));
	values[4] = CStringGetTextDatum(hilo_collection_node_tag(collection));
	values[5] = TimestampTzGetDatum(now);
	values[6] = Int64GetDatum(claim.token);
	return hilo_api_result(desc, values);
}

PG_FUNCTION_INFO_V1(hilo_return_range);

Datum
hilo_return_range(PG_FUNCTION_ARGS)
{
	HiloRowRef	ref = {.name = NULL};
	int64		last;
	HiloClaim	rest = {.home = 0};

	hilo_api_prevent_unless_may_write("hilo.return_range()");
	last = hilo_api_number(fcinfo, 1, "last");
	rest.range.high = hilo_api_number(fcinfo, 2, "high");
	if (last > rest.range.high)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("last must not be greater than high")));
	ref.name = hilo_api_collection(fcinfo);

	/*
	 * No claim has the token 0, which must not pass for an omitted argument.
	 */
	if (!PG_ARGISNULL(3))
	{
		rest.token = PG_GETARG_INT64(3);
		if (rest.token <= 0)
			PG_RETURN_BOOL(false);
	}
	PG_RETURN_BOOL(!pg_add_s64_overflow(last, 1, &rest.range.low) &&
				   hilo_counter_give_back(&ref, &rest));
}

/*
 * Ranges of this session
 */

PG_FUNCTION_INFO_V1(hilo_release);

Datum
hilo_release(PG_FUNCTION_ARGS)
{
	HiloEntry  *entry;

	if (XactReadOnly || IsInParallelMode())
		PG_RETURN_INT64(0);
	if (PG_ARGISNULL(0))
		PG_RETURN_INT64(hilo_entries_release());
	entry = hilo_entry_known(hilo_api_collection(fcinfo));
	PG_RETURN_INT64(entry == NULL ? 0 : hilo_entry_release(entry));
}

/*
 * The text of ids
 */

PG_FUNCTION_INFO_V1(hilo_number);

Datum
hilo_number(PG_FUNCTION_ARGS)
{
	text	   *id = PG_GETARG_TEXT_PP(0);
	int64		number;

	if (!hilo_document_id_number(VARDATA_ANY(id), VARSIZE_ANY_EXHDR(id),
								 &number))
		PG_RETURN_NULL();
	PG_RETURN_INT64(number);
}

/*
 * Do not create entries for names that are only formatted; there may be many.
 */
PG_FUNCTION_INFO_V1(hilo_format);

Datum
hilo_format(PG_FUNCTION_ARGS)
{
	const char *name = hilo_api_collection(fcinfo);
	HiloEntry  *entry = hilo_entry_known(name);
	HiloCollection unknown = {.ref.name = name};
	HiloCollection *collection = entry != NULL ? &entry->collection : &unknown;
	const char *tag;
	int64		number;
	char		start[HILO_MAX_START_LEN];
	int			start_len;

	(void) hilo_collection_row(collection);
	tag = PG_NARGS() > 2 ? hilo_api_name(fcinfo, 2, "node_tag") :
		hilo_collection_node_tag(collection);
	hilo_check_node_tag(tag);
	number = hilo_api_count(fcinfo, 1, "number", PG_INT64_MAX, NULL);
	start_len = hilo_document_id_start(start, name,
									   hilo_collection_separator(collection),
									   hilo_server_prefix);
	PG_RETURN_TEXT_P(hilo_build_id(start, start_len, number, tag));
}

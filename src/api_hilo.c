/*-------------------------------------------------------------------------
 *
 * api_hilo.c
 *	  The SQL functions of HiLo ids: draw, reserve, give back, seed, drop.
 *
 * Each function unpacks and checks its arguments, calls the module that does
 * the work, and builds the result.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "common/int.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "api.h"
#include "binding.h"

PG_FUNCTION_INFO_V1(hilo_next);
PG_FUNCTION_INFO_V1(hilo_next_tagged);
PG_FUNCTION_INFO_V1(hilo_nextval);
PG_FUNCTION_INFO_V1(hilo_currval);
PG_FUNCTION_INFO_V1(hilo_reserve);
PG_FUNCTION_INFO_V1(hilo_next_range);
PG_FUNCTION_INFO_V1(hilo_return_range);
PG_FUNCTION_INFO_V1(hilo_next_hi);
PG_FUNCTION_INFO_V1(hilo_release);
PG_FUNCTION_INFO_V1(hilo_seed);
PG_FUNCTION_INFO_V1(hilo_drop);
PG_FUNCTION_INFO_V1(hilo_number);
PG_FUNCTION_INFO_V1(hilo_format);
PG_FUNCTION_INFO_V1(hilo_format_tagged);
PG_FUNCTION_INFO_V1(hilo_cached_ranges);

/*
 * Argument number arg, which must be positive and at most what a range of the
 * collection may have.
 */
static int64
checked_count(FunctionCallInfo fcinfo, HiloCacheEntry *entry, int arg,
			  const char *name)
{
	int64		count;
	int64		max;

	hilo_api_reject_null(fcinfo, arg, name);
	hilo_cache_read_row(entry);
	count = PG_GETARG_INT64(arg);
	max = hilo_cache_max_range_size(entry);
	if (count < 1 || count > max)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be between 1 and " INT64_FORMAT, name, max),
				 errhint("The upper bound is the setting \"hilo.max_range_size\", or what hilo_configure() says.")));
	return count;
}

/* Write the suffix of the tag in argument number arg; returns its length. */
static int
tag_suffix(FunctionCallInfo fcinfo, int arg, char *suffix)
{
	text	   *tag;
	int			len;

	hilo_api_reject_null(fcinfo, arg, "node_tag");
	tag = PG_GETARG_TEXT_PP(arg);
	len = VARSIZE_ANY_EXHDR(tag);
	hilo_check_node_tag(VARDATA_ANY(tag), len);
	if (len == 0)
		return 0;

	suffix[0] = '-';
	memcpy(suffix + 1, VARDATA_ANY(tag), len);
	return len + 1;
}

Datum
hilo_next(PG_FUNCTION_ARGS)
{
	hilo_api_prevent_unless_may_write("hilo_next()");
	PG_RETURN_TEXT_P(hilo_api_next_id(hilo_api_entry_to_draw(fcinfo,
															 HILO_DRAW_ID)));
}

Datum
hilo_next_tagged(PG_FUNCTION_ARGS)
{
	HiloCacheEntry *entry;
	char		suffix[1 + HILO_MAX_TAG_LEN];
	int			suffix_len;

	hilo_api_prevent_unless_may_write("hilo_next()");
	suffix_len = tag_suffix(fcinfo, 1, suffix);
	entry = hilo_api_entry_to_draw(fcinfo, HILO_DRAW_NUMBER);
	PG_RETURN_TEXT_P(hilo_api_next_id_tagged(entry, suffix, suffix_len));
}

Datum
hilo_nextval(PG_FUNCTION_ARGS)
{
	hilo_api_prevent_unless_may_write("hilo_nextval()");
	PG_RETURN_INT64(hilo_cache_take(hilo_api_entry_to_draw(fcinfo,
														   HILO_DRAW_NUMBER)));
}

Datum
hilo_currval(PG_FUNCTION_ARGS)
{
	HiloCacheEntry *entry = hilo_api_entry(fcinfo);

	/* What was drawn from an extension dropped since does not count. */
	if (hilo_cache_last_drawn(entry) == 0 ||
		entry->claim.table != hilo_catalog_table(entry->claim.which))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no number of collection \"%.*s\" has been drawn in this session",
						entry->name.len, entry->name.data)));
	PG_RETURN_INT64(hilo_cache_last_drawn(entry));
}

Datum
hilo_reserve(PG_FUNCTION_ARGS)
{
	HiloRangeRequest request = {.exact = true, .alignment = 1};
	TupleDesc	desc = hilo_api_result_desc(fcinfo);
	HiloCacheEntry *entry;
	HiloClaim	claim;
	Datum		values[2];
	bool		nulls[2] = {0};

	hilo_api_prevent_unless_may_write("hilo_reserve()");
	entry = hilo_api_entry_to_draw(fcinfo, HILO_DRAW_NUMBER);
	request.size = checked_count(fcinfo, entry, 1, "count");
	hilo_source_claim(&entry->source, &request, HILO_FOR_BACKEND, &claim);

	values[0] = Int64GetDatum(claim.range.low);
	values[1] = Int64GetDatum(claim.range.high);
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

/* Raise 42501 if last_max would raise a counter its caller may not seed. */
static void
check_may_raise(HiloCacheEntry *entry, int64 last_max)
{
	if (last_max > hilo_counter_max(&entry->source.rows.counter) &&
		!hilo_catalog_may_seed(HILO_TABLE_COLLECTIONS))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to raise collection \"%.*s\" to " INT64_FORMAT,
						entry->name.len, entry->name.data,
						last_max),
				 errdetail("A last_max above the stored max needs the privilege to execute hilo_seed().")));
}

Datum
hilo_next_range(PG_FUNCTION_ARGS)
{
	HiloRangeRequest request = {.exact = false, .alignment = 1};
	TupleDesc	desc = hilo_api_result_desc(fcinfo);
	HiloCacheEntry *entry;
	HiloClaim	claim;
	char		start[HILO_MAX_START_LEN];
	int			start_len;
	const char *tag;
	int			tag_len;
	int64		last_size;
	int64		age;
	TimestampTz now = GetCurrentTimestamp();
	Datum		values[7];
	bool		nulls[7] = {0};

	hilo_api_prevent_unless_may_write("hilo_next_range()");
	last_size = hilo_api_number(fcinfo, 1, "last_batch_size");
	request.floor = hilo_api_number(fcinfo, 3, "last_max");
	entry = hilo_api_entry_to_draw(fcinfo, HILO_DRAW_ID);
	hilo_cache_read_row(entry);

	/* Without a time, the size last asked for is taken as it is. */
	age = hilo_client_range_duration * INT64CONST(1000);
	if (!PG_ARGISNULL(2) &&
		pg_sub_s64_overflow(now, PG_GETARG_TIMESTAMPTZ(2), &age))
		age = PG_INT64_MAX;
	request.size = hilo_range_size(last_size, age,
								   hilo_client_range_duration * INT64CONST(1000),
								   hilo_cache_range_size(entry),
								   hilo_cache_max_range_size(entry));
	if (request.floor > 0)
		check_may_raise(entry, request.floor);
	hilo_source_claim(&entry->source, &request, HILO_FOR_CLIENT, &claim);

	start_len = hilo_document_id_start(start, entry->name.data, entry->name.len,
									   hilo_identity_parts_separator,
									   hilo_server_prefix);
	values[0] = PointerGetDatum(cstring_to_text_with_len(start, start_len));
	values[1] = Int64GetDatum(claim.range.low);
	values[2] = Int64GetDatum(claim.range.high);
	values[3] = Int64GetDatum(claim.range.high - claim.range.low + 1);
	tag = hilo_cache_node_tag(entry, &tag_len);
	values[4] = PointerGetDatum(cstring_to_text_with_len(tag, tag_len));
	values[5] = TimestampTzGetDatum(now);
	values[6] = Int64GetDatum(claim.number);
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

Datum
hilo_return_range(PG_FUNCTION_ARGS)
{
	HiloCacheEntry *entry;
	int64		last;
	int64		high;
	int64		number = 0;

	hilo_api_prevent_unless_may_write("hilo_return_range()");
	last = hilo_api_number(fcinfo, 1, "last");
	high = hilo_api_number(fcinfo, 2, "high");
	if (last > high)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("last must not be greater than high")));
	entry = hilo_api_entry(fcinfo);

	/* 0 is the number of no claim, and must not pass for one left out. */
	if (!PG_ARGISNULL(3))
	{
		number = PG_GETARG_INT64(3);
		if (number <= 0)
			PG_RETURN_BOOL(false);
	}
	PG_RETURN_BOOL(hilo_source_return(&entry->source, last, high, number));
}

Datum
hilo_next_hi(PG_FUNCTION_ARGS)
{
	HiloRangeRequest request = {.exact = true};
	HiloCacheEntry *entry;
	HiloClaim	claim;

	hilo_api_prevent_unless_may_write("hilo_next_hi()");
	entry = hilo_api_entry_to_draw(fcinfo, HILO_DRAW_NUMBER);
	request.size = checked_count(fcinfo, entry, 1, "capacity");
	request.alignment = request.size;
	hilo_source_claim(&entry->source, &request, HILO_FOR_BACKEND, &claim);
	PG_RETURN_INT64(claim.range.high / request.size);
}

Datum
hilo_release(PG_FUNCTION_ARGS)
{
	hilo_api_prevent_unless_may_write("hilo_release()");
	if (PG_ARGISNULL(0))
		PG_RETURN_INT64(hilo_cache_release_all());
	PG_RETURN_INT64(hilo_cache_release(hilo_api_entry(fcinfo)));
}

Datum
hilo_seed(PG_FUNCTION_ARGS)
{
	HiloCacheEntry *entry;
	int64		value;
	int64		max;

	hilo_api_prevent_unless_may_write("hilo_seed()");
	value = hilo_api_number(fcinfo, 1, "value");
	hilo_api_reject_null(fcinfo, 2, "force");
	entry = hilo_api_entry(fcinfo);

	max = hilo_source_seed(&entry->source, value, PG_GETARG_BOOL(2));
	hilo_cache_forget(entry);
	PG_RETURN_INT64(max);
}

Datum
hilo_drop(PG_FUNCTION_ARGS)
{
	HiloCacheEntry *entry;
	bool		attached;
	bool		dropped;

	hilo_api_prevent_unless_may_write("hilo_drop()");
	entry = hilo_api_entry(fcinfo);

	/* Who is binding it at present could not take back what this does. */
	hilo_bindings_lock();
	if (hilo_is_bound(entry->name, &attached))
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("collection \"%.*s\" is bound to documents",
						entry->name.len, entry->name.data),
				 errhint("Undo that with %s() first.",
						 attached ? "hilo_detach" : "hilo_unbind")));
	if ((IsTransactionBlock() || IsSubTransaction()) &&
		hilo_unbound_here(entry->name))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot drop collection \"%.*s\" in the transaction that has unbound it",
						entry->name.len, entry->name.data),
				 errdetail("A rollback would bring the binding back, but not the counter."),
				 errhint("Commit first.")));

	dropped = hilo_source_drop(&entry->source);
	hilo_bindings_unlock();
	hilo_cache_forget(entry);
	PG_RETURN_BOOL(dropped);
}

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

/* Argument number arg, which must be one that a document can have. */
static int64
document_number(FunctionCallInfo fcinfo, int arg)
{
	int64		number;

	hilo_api_reject_null(fcinfo, arg, "number");
	number = PG_GETARG_INT64(arg);
	if (number < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number must be at least 1")));
	return number;
}

/* Build the id of the first two arguments. */
static text *
format_id(FunctionCallInfo fcinfo, const char *suffix, int suffix_len)
{
	char		start[HILO_MAX_START_LEN];
	int			start_len;
	HiloName	collection = hilo_api_collection(fcinfo);
	int64		number = document_number(fcinfo, 1);

	start_len = hilo_document_id_start(start, collection.data, collection.len,
									   hilo_identity_parts_separator,
									   hilo_server_prefix);
	return hilo_build_id(start, start_len, number, suffix, suffix_len);
}

/* Names that are only formatted, perhaps many, are not remembered. */
Datum
hilo_format(PG_FUNCTION_ARGS)
{
	HiloName	collection = hilo_api_collection(fcinfo);
	HiloCacheEntry *entry = hilo_cache_find(collection);
	HiloCacheEntry unknown = {{0}};
	char		suffix[1 + HILO_MAX_TAG_LEN];
	const char *tag;
	int			len;

	if (entry == NULL || entry->row_generation != hilo_catalog_generation)
	{
		entry = &unknown;
		hilo_source_init(&entry->source, collection);
		hilo_cache_read_row(entry);
	}
	tag = hilo_cache_node_tag(entry, &len);
	suffix[0] = '-';
	memcpy(suffix + 1, tag, len);
	PG_RETURN_TEXT_P(format_id(fcinfo, suffix, len > 0 ? len + 1 : 0));
}

Datum
hilo_format_tagged(PG_FUNCTION_ARGS)
{
	char		suffix[1 + HILO_MAX_TAG_LEN];
	int			suffix_len = tag_suffix(fcinfo, 2, suffix);

	PG_RETURN_TEXT_P(format_id(fcinfo, suffix, suffix_len));
}

static void
put_range(HiloCacheEntry *entry, void *arg)
{
	ReturnSetInfo *rsinfo = arg;
	HiloClaim  *claim = &entry->claim;
	Datum		values[5];
	bool		nulls[5] = {0};

	values[0] = PointerGetDatum(cstring_to_text_with_len(entry->name.data,
														 entry->name.len));
	values[1] = Int64GetDatum(claim->range.low);
	values[2] = Int64GetDatum(claim->range.high);
	values[3] = Int64GetDatum(entry->last + 1);
	values[4] = Int64GetDatum(claim->range.high - claim->range.low + 1);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

Datum
hilo_cached_ranges(PG_FUNCTION_ARGS)
{
	hilo_init_materialized(fcinfo);
	hilo_cache_revalidate_all();
	hilo_cache_visit(put_range, fcinfo->resultinfo);
	return (Datum) 0;
}

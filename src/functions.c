/*-------------------------------------------------------------------------
 *
 * functions.c
 *	  The SQL functions that draw: from collections, identities and sequences; and
 *	  those that read and write ids.
 *
 * Each function unpacks and checks its arguments, calls the module that does
 * the work, and builds the result.  The C name is the name in SQL, but for the
 * schema and for variants with other arguments.
 *
 * Before a function draws it does all that may raise errors: it refuses what
 * nextval() refuses, a read-only transaction and a parallel worker, checks the
 * arguments, and finds the row type of the result.  So a call that fails because
 * of these loses no number.
 *
 * Most of these functions are called once for each row that is inserted.  So what
 * does not change between the calls of a query, such as the entry of a collection or
 * the sequence, is kept in fn_extra of the call site.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/partition.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "arguments.h"
#include "identity.h"
#include "pool.h"
#include "sequence.h"
#include "planner.h"

/*
 * Collections
 */

/* hilo_next(collection): an id with the tag of the collection. */
PG_FUNCTION_INFO_V1(hilo_next);

Datum
hilo_next(PG_FUNCTION_ARGS)
{
	HiloEntry  *entry;

	hilo_api_require_write("hilo_next()");
	entry = hilo_api_entry(fcinfo);
	PG_RETURN_TEXT_P(hilo_entry_take_id(entry, &entry->text.own));
}

/*
 * hilo_next(collection, node_tag): an id with this tag.  The form of such ids is made anew only
 * if the tag is another one than in the last call.
 */
PG_FUNCTION_INFO_V1(hilo_next_tagged);

Datum
hilo_next_tagged(PG_FUNCTION_ARGS)
{
	HiloEntry  *entry;
	text	   *tag;
	int			len;

	hilo_api_require_write("hilo_next()");
	if (unlikely(PG_ARGISNULL(1)))
		hilo_api_reject_null(fcinfo, 1, "node_tag");
	tag = PG_GETARG_TEXT_PP(1);
	len = VARSIZE_ANY_EXHDR(tag);
	entry = hilo_api_entry(fcinfo);

	if (unlikely(!hilo_entry_has_tag(entry, VARDATA_ANY(tag), len)))
		hilo_entry_give_tag(entry, text_to_cstring(tag));
	PG_RETURN_TEXT_P(hilo_entry_take_id(entry, &entry->text.given));
}

/* hilo_next_number(collection): a number. */
PG_FUNCTION_INFO_V1(hilo_next_number);

Datum
hilo_next_number(PG_FUNCTION_ARGS)
{
	hilo_api_require_write("hilo_next_number()");
	PG_RETURN_INT64(hilo_entry_take(hilo_api_entry(fcinfo), NULL));
}

/*
 * hilo_last_number(collection): the number that this session has drawn last, as currval() does.
 * It draws nothing, so it is allowed in a read-only transaction.
 */
PG_FUNCTION_INFO_V1(hilo_last_number);

Datum
hilo_last_number(PG_FUNCTION_ARGS)
{
	const char *collection = hilo_api_collection(fcinfo);
	HiloEntry  *entry = hilo_entry_known(collection);

	/*
	 * Numbers of an extension that was dropped, and created again, do not
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
 * collection's largest range.  If aligned, the highest is a multiple of that number.
 *
 * Unlike a range, a block is not made smaller close to the limit: the caller counts on its size.
 */
static HiloRange
take_exactly(FunctionCallInfo fcinfo, const char *what, bool aligned)
{
	HiloEntry  *entry = hilo_api_entry(fcinfo);
	const HiloRow *row = hilo_collection_row(&entry->collection);
	HiloWanted	block = {.exact = true};
	HiloClaim	claim;

	block.size = hilo_api_count(fcinfo, 1, what, hilo_counter_max_range_size(row),
								"The upper bound is the setting \"hilo.max_range_size\", unless hilo.configure() has set another one.");
	block.alignment = aligned ? block.size : 1;
	hilo_entry_take_block(entry, NULL, &block, &claim);
	return claim.range;
}

/* hilo_reserve(collection, count): a block, as its lowest and highest number. */
PG_FUNCTION_INFO_V1(hilo_reserve);

Datum
hilo_reserve(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = hilo_api_result_desc(fcinfo);
	HiloRange	range;
	Datum		values[2];

	hilo_api_require_write("hilo_reserve()");
	range = take_exactly(fcinfo, "count", false);
	values[0] = Int64GetDatum(range.low);
	values[1] = Int64GetDatum(range.high);
	return hilo_api_result(desc, values);
}

/*
 * hilo.next_hi(collection, capacity): the hi of the HiLo algorithm of client libraries, which
 * number their ids from (hi - 1) * capacity + 1 to hi * capacity.  So a block has to end at a
 * multiple of the capacity.
 */
PG_FUNCTION_INFO_V1(hilo_next_hi);

Datum
hilo_next_hi(PG_FUNCTION_ARGS)
{
	hilo_api_require_write("hilo.next_hi()");
	PG_RETURN_INT64(take_exactly(fcinfo, "capacity", true).high /
					PG_GETARG_INT64(1));
}

/*
 * Ranges of client programs
 */

/*
 * Raise 42501 if last_max would move the counter, unless the caller may seed.
 *
 * A client that has numbers of before a seed or a restore says the highest one, so as to get
 * higher ones.  With any number at all it could use the counter up, which is a matter of
 * administration.
 */
static void
check_may_pass(HiloCollection *collection, int64 last_max)
{
	HiloRow		row;

	/* max changes without an announcement, so read the row again. */
	(void) hilo_counter_read(&collection->ref, &row);
	if (last_max > row.max && !hilo_catalog_may_seed(false, GetUserId()))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to move collection \"%s\" to " INT64_FORMAT,
						collection->ref.name, last_max),
				 errdetail("Skipping unclaimed numbers requires the privilege to execute hilo.seed().")));
}

/*
 * hilo.next_range(collection, last_batch_size, last_range_at, last_max): a range for a client
 * program, and all that it needs to write ids itself, as RavenDB's server answers.
 */
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

	hilo_api_require_write("hilo.next_range()");
	sizing.last_size = hilo_api_number(fcinfo, 1, "last_batch_size");
	wanted.above = hilo_api_number(fcinfo, 3, "last_max");
	entry = hilo_api_entry(fcinfo);
	collection = &entry->collection;
	(void) hilo_collection_row(collection);

	/* If no time is given, use the last size unchanged. */
	if (!PG_ARGISNULL(2) &&
		pg_sub_s64_overflow(now, PG_GETARG_TIMESTAMPTZ(2), &sizing.age))
		sizing.age = PG_INT64_MAX;
	if (wanted.above > 0)
		check_may_pass(collection, wanted.above);
	hilo_entry_take_block(entry, &sizing, &wanted, &claim);

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

/*
 * hilo.return_range(collection, last, high, claim): true if the numbers above last went back.
 * No entry is needed, because they are none of this session's.
 */
PG_FUNCTION_INFO_V1(hilo_return_range);

Datum
hilo_return_range(PG_FUNCTION_ARGS)
{
	HiloRowRef	ref = {.name = NULL};
	int64		last;
	HiloClaim	rest = {.home = 0};

	hilo_api_require_write("hilo.return_range()");
	last = hilo_api_number(fcinfo, 1, "last");
	rest.range.high = hilo_api_number(fcinfo, 2, "high");
	if (last > rest.range.high)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("last must not be greater than high")));
	ref.name = hilo_api_collection(fcinfo);

	rest.token = hilo_api_number(fcinfo, 3, "claim");

	/* No claim has the token 0, which stands for none in the row. */
	PG_RETURN_BOOL(rest.token > 0 && !pg_add_s64_overflow(last, 1, &rest.range.low) &&
				   hilo_counter_give_back(&ref, &rest));
}

/*
 * The text of ids
 */

/* hilo_number(id): the number in an id; NULL if it has none. */
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
 * hilo_format(collection, number [, node_tag]): the id with that number, as a draw would write it.
 * Names that are only formatted get no entry, because there may be many.
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

/*
 * Identities, server-side ids, documents
 */

/*
 * Refuse what sequences refuse, and read the identity from the first argument, which errors call
 * what.
 */
static void
identity_argument(FunctionCallInfo fcinfo, const char *function,
				  const char *what, HiloIdentity *identity)
{
	hilo_api_require_write(function);
	hilo_identity_init(identity, hilo_api_name(fcinfo, 0, what));
}

/*
 * Draw and seed
 */

/* next_identity(name): an id, such as companies/4. */
PG_FUNCTION_INFO_V1(next_identity);

Datum
next_identity(PG_FUNCTION_ARGS)
{
	HiloIdentity identity;

	identity_argument(fcinfo, "next_identity()", "name", &identity);
	PG_RETURN_TEXT_P(hilo_identity_id(&identity,
									  hilo_identity_next(&identity)));
}

/* next_identity_for(name): its number alone. */
PG_FUNCTION_INFO_V1(next_identity_for);

Datum
next_identity_for(PG_FUNCTION_ARGS)
{
	HiloIdentity identity;

	identity_argument(fcinfo, "next_identity_for()", "name", &identity);
	PG_RETURN_INT64(hilo_identity_next(&identity));
}

/* seed_identity_for(name, value, force): as hilo.seed(), for an identity. */
PG_FUNCTION_INFO_V1(seed_identity_for);

Datum
seed_identity_for(PG_FUNCTION_ARGS)
{
	HiloIdentity identity;

	identity_argument(fcinfo, "seed_identity_for()", "name", &identity);
	PG_RETURN_INT64(hilo_api_seed(fcinfo, &identity.ref));
}

/* next_identity_free(prefix): an id that no document has. */
PG_FUNCTION_INFO_V1(next_identity_free);

Datum
next_identity_free(PG_FUNCTION_ARGS)
{
	HiloIdentity identity;
	int			tries;

	identity_argument(fcinfo, "next_identity_free()", "prefix", &identity);
	PG_RETURN_TEXT_P(hilo_identity_id(&identity,
									  hilo_identity_next_free(&identity,
															  &tries)));
}

/* next_identity_free_for(prefix): its number, and how many look-ups it took. */
PG_FUNCTION_INFO_V1(next_identity_free_for);

Datum
next_identity_free_for(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = hilo_api_result_desc(fcinfo);
	HiloIdentity identity;
	int			tries;
	Datum		values[2];

	identity_argument(fcinfo, "next_identity_free_for()", "prefix", &identity);
	values[0] = Int64GetDatum(hilo_identity_next_free(&identity, &tries));
	values[1] = Int32GetDatum(tries);
	return hilo_api_result(desc, values);
}

/* next_server_side_id(prefix): an id such as companies/0000000000000000027-A. */
PG_FUNCTION_INFO_V1(next_server_side_id);

Datum
next_server_side_id(PG_FUNCTION_ARGS)
{
	hilo_api_require_write("next_server_side_id()");
	PG_RETURN_TEXT_P(hilo_next_server_side_id(hilo_api_name(fcinfo, 0,
															"prefix")));
}

/*
 * The id of a document
 */

/*
 * hilo_document_id(collection, requested): the id for a document as RavenDB gives it, by what the
 * program requests: nothing, a prefix that ends in a separator or a bar, or the id itself.
 */
PG_FUNCTION_INFO_V1(hilo_document_id);

Datum
hilo_document_id(PG_FUNCTION_ARGS)
{
	text	   *requested = PG_ARGISNULL(1) ? NULL : PG_GETARG_TEXT_PP(1);

	hilo_api_require_write("hilo_document_id()");
	PG_RETURN_TEXT_P(hilo_document_id_for(hilo_api_entry(fcinfo), requested,
										  NULL, InvalidAttrNumber));
}

/*
 * The id of a row
 */

/*
 * The collection that a trigger names, or else the table, or its topmost parent: all partitions
 * of a table draw from one collection.
 */
static HiloEntry *
trigger_entry(const Trigger *trigger, Relation rel)
{
	List	   *ancestors = NIL;

	if (trigger->tgnargs == 2)
		return hilo_entry(trigger->tgargs[1]);
	if (rel->rd_rel->relispartition)
		ancestors = get_partition_ancestors(RelationGetRelid(rel));
	return hilo_entry(ancestors == NIL ? RelationGetRelationName(rel) :
					  get_rel_name(llast_oid(ancestors)));
}

/* Raise 42804 unless the column can hold document ids. */
static void
check_holds_ids(Relation rel, AttrNumber attnum)
{
	Oid			type = getBaseType(TupleDescAttr(RelationGetDescr(rel), attnum - 1)->atttypid);

	if (type != TEXTOID && type != VARCHAROID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of relation \"%s\" cannot hold document ids",
						NameStr(TupleDescAttr(RelationGetDescr(rel), attnum - 1)->attname),
						RelationGetRelationName(rel)),
				 errdetail("Its type is %s; it should be text or varchar.", format_type_be(type))));
}

/*
 * A row with that id in a column.  If the type is not text itself, as with varchar(20) or a
 * domain, its input function checks the id and raises the errors of the type.
 */
static HeapTuple
row_with_id(Relation rel, HeapTuple tuple, int attnum, text *id)
{
	TupleDesc	desc = RelationGetDescr(rel);
	Form_pg_attribute att = TupleDescAttr(desc, attnum - 1);
	Datum		value = PointerGetDatum(id);
	bool		isnull = false;

	if (att->atttypid != TEXTOID)
	{
		Oid			function;
		Oid			param;

		getTypeInputInfo(att->atttypid, &function, &param);
		value = OidInputFunctionCall(function, text_to_cstring(id), param, att->atttypmod);
	}
	return heap_modify_tuple_by_cols(tuple, desc, 1, &attnum, &value, &isnull);
}

/*
 * Trigger hilo.assign_id(column [, collection]), BEFORE INSERT for each row: replace what the row
 * has in the column, which requests an id as with hilo_document_id(), by the id.  A row that
 * brings a complete id stays as it is.
 */
PG_FUNCTION_INFO_V1(hilo_assign_id);

Datum
hilo_assign_id(PG_FUNCTION_ARGS)
{
	TriggerData *trigdata = hilo_api_trigger(fcinfo, "hilo.assign_id");
	Trigger    *trigger = trigdata->tg_trigger;
	Relation	rel = trigdata->tg_relation;
	HiloEntry  *entry = fcinfo->flinfo->fn_extra;
	AttrNumber	attnum;
	bool		isnull;
	Datum		value;
	text	   *requested;
	text	   *id;

	hilo_api_require_write("hilo.assign_id()");
	if (trigger->tgnargs < 1 || trigger->tgnargs > 2)
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("%s() takes the name of the id column, and the collection's name if it differs from the table's",
						"hilo.assign_id")));
	attnum = get_attnum(RelationGetRelid(rel), trigger->tgargs[0]);
	if (attnum <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						trigger->tgargs[0], RelationGetRelationName(rel))));

	/* Once per statement: the trigger's data stays the same meanwhile. */
	if (entry == NULL)
	{
		check_holds_ids(rel, attnum);
		entry = trigger_entry(trigger, rel);
		fcinfo->flinfo->fn_extra = entry;
	}
	value = hilo_getattr(trigdata->tg_trigtuple, attnum, RelationGetDescr(rel), &isnull);
	requested = isnull ? NULL : DatumGetTextPP(value);
	id = hilo_document_id_for(entry, requested, rel, attnum);
	return PointerGetDatum(id == requested ? trigdata->tg_trigtuple :
						   row_with_id(rel, trigdata->tg_trigtuple, attnum, id));
}

/*
 * Sequences
 */

/*
 * The sequence in the first argument.  The call site remembers it, as mostly it is the
 * same in the next call.
 */
static HiloSequence *
sequence_argument(FunctionCallInfo fcinfo)
{
	Oid			oid = PG_GETARG_OID(0);
	HiloSequence *sequence = fcinfo->flinfo == NULL ? NULL : fcinfo->flinfo->fn_extra;

	if (unlikely(sequence == NULL || sequence->oid != oid))
	{
		sequence = hilo_sequence(oid);
		if (fcinfo->flinfo != NULL)
			fcinfo->flinfo->fn_extra = sequence;
	}
	return sequence;
}

/*
 * hilo.nextval(sequence): the number that nextval() would give, or the next one that is no id of
 * the owning column; on disk when this returns.  Strict, so the sequence is not null.
 * sequence.c refuses what nextval() refuses, in the same words, because it calls the server's
 * own function first.
 */
PG_FUNCTION_INFO_V1(hilo_nextval);

Datum
hilo_nextval(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(hilo_sequence_next(sequence_argument(fcinfo), false));
}

/*
 * hilo._identity_nextval(sequence, internal): what the setting hilo.sequences puts in
 * place of the number of an identity column.  The right to insert suffices there, so
 * it is refused in any other call: XMLTABLE can make a value of type internal.
 */
PG_FUNCTION_INFO_V1(hilo_identity_nextval);

Datum
hilo_identity_nextval(PG_FUNCTION_ARGS)
{
	const FuncExpr *call = fcinfo->flinfo == NULL ? NULL :
		(const FuncExpr *) fcinfo->flinfo->fn_expr;

	if (unlikely(call == NULL || !IsA(call, FuncExpr) ||
				 call->funcformat != HILO_CALL_BY_SETTING))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for function _identity_nextval")));
	PG_RETURN_INT64(hilo_sequence_next(sequence_argument(fcinfo), true));
}

/*
 * CALL hilo.horizon(sequence, INOUT horizon): its result is a row, as of all procedures.  It is a
 * procedure because the rows have to be read by a later statement: the snapshot of the one that
 * calls it was taken before the wait.  What is passed as the horizon is
 * not read; the argument is INOUT with a default, so that a call need only name the sequence.
 */
PG_FUNCTION_INFO_V1(hilo_horizon);

Datum
hilo_horizon(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = hilo_api_result_desc(fcinfo);
	Datum		values[1];

	hilo_api_reject_null(fcinfo, 0, "sequence");
	values[0] = Int64GetDatum(hilo_sequence_horizon(PG_GETARG_OID(0)));
	return hilo_api_result(desc, values);
}

/*-------------------------------------------------------------------------
 *
 * arguments.c
 *	  What the SQL-callable functions share: arguments, call sites and results.
 *
 * The functions are not strict, because a NULL collection must be an error, not a NULL id
 * that may go unnoticed.  So arguments are checked here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "nodes/primnodes.h"
#include "utils/memutils.h"

#include "arguments.h"
#include "pool.h"

/*
 * The call, and its entry
 */

/*
 * A default such as hilo_next('orders') is a call with a constant.  Its site remembers the entry,
 * which saves the look-up of the name for each row of an INSERT.
 *
 * Only a constant collection is certain to be the same in the next call: variables of a
 * procedural language look stable, too, but change their values under the same FmgrInfo.
 */
HiloCallSite *
hilo_api_call_site(FmgrInfo *flinfo)
{
	HiloCallSite *site = MemoryContextAllocZero(flinfo->fn_mcxt, sizeof(HiloCallSite));
	Node	   *expr = flinfo->fn_expr;

	site->constant = expr != NULL && IsA(expr, FuncExpr) &&
		IsA(linitial(((FuncExpr *) expr)->args), Const);
	flinfo->fn_extra = site;
	return site;
}

HiloEntry *
hilo_api_find_entry(FunctionCallInfo fcinfo)
{
	return hilo_entry(hilo_api_name(fcinfo, 0, "collection"));
}

/*
 * Arguments and results
 */

/*
 * The function may be called for a row of any table, and even not as a trigger, so nothing is
 * taken for granted.
 */
TriggerData *
hilo_api_trigger(FunctionCallInfo fcinfo, const char *function)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo) ||
		!TRIGGER_FIRED_BEFORE(trigger->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigger->tg_event) ||
		!TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("%s() must be fired before insert for each row",
						function)));
	return trigger;
}

void
hilo_api_reject_null(FunctionCallInfo fcinfo, int arg, const char *name)
{
	if (PG_ARGISNULL(arg))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", name)));
}

int64
hilo_api_number(FunctionCallInfo fcinfo, int arg, const char *name)
{
	int64		number;

	hilo_api_reject_null(fcinfo, arg, name);
	number = PG_GETARG_INT64(arg);
	if (number < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must not be negative", name)));
	return number;
}

int64
hilo_api_count(FunctionCallInfo fcinfo, int arg, const char *name, int64 max,
			   const char *hint)
{
	int64		count;

	hilo_api_reject_null(fcinfo, arg, name);
	count = PG_GETARG_INT64(arg);
	if (count < 1 || count > max)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be between 1 and " INT64_FORMAT, name, max),
				 hint == NULL ? 0 : errhint("%s", hint)));
	return count;
}

bool
hilo_api_bool(FunctionCallInfo fcinfo, int arg, const char *name)
{
	hilo_api_reject_null(fcinfo, arg, name);
	return PG_GETARG_BOOL(arg);
}

/*
 * A name that ends in the separator is refused: its ids could be taken for those of another
 * collection.
 */
const char *
hilo_api_collection(FunctionCallInfo fcinfo)
{
	const char *name = hilo_api_name(fcinfo, 0, "collection");

	hilo_check_collection(name, hilo_identity_parts_separator);
	return name;
}

/*
 * Seeds, drops and options are for collections and identities alike, which differ in the bar at
 * the end of the name only.
 */
bool
hilo_api_administered(FunctionCallInfo fcinfo, HiloRowRef *ref)
{
	const char *name = hilo_api_name(fcinfo, 0, "collection");
	bool		is_identity = hilo_check_row_name(name, hilo_identity_parts_separator);

	memset(ref, 0, sizeof(*ref));
	ref->name = name;
	return is_identity;
}

void
hilo_api_notice_created(const char *name)
{
	ereport(NOTICE,
			(errmsg(HILO_COUNTER_FORMAT " did not exist and was created",
					HILO_COUNTER_ARGS(name)),
			 errhint("If that was a mistake, undo it with hilo.drop().")));
}

/*
 * Before and after are read apart, so another session's claim may come between them.  Then at
 * worst the notice is missing, or says too low a number.
 *
 * The pool forgets what it has of the counter.  It would not be handed out, because the epoch is
 * another one, but it takes up space.
 */
int64
hilo_api_seed(FunctionCallInfo fcinfo, HiloRowRef *ref)
{
	const char *name = ref->name;
	int64		value;
	bool		force;
	HiloRow		before;
	bool		is_there;
	int64		max;

	/* max(id) of an empty table is null, which is a common mistake. */
	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("value must not be null"),
				 errhint("For the highest number of a table that may be empty, write coalesce(max(id), 0).")));
	value = hilo_api_number(fcinfo, 1, "value");
	force = hilo_api_bool(fcinfo, 2, "force");
	is_there = hilo_counter_read(ref, &before);
	max = hilo_counter_seed(ref, value, force);
	hilo_pool_forget(name);
	if (!is_there)
		hilo_api_notice_created(name);
	if (is_there && !force && value <= before.max)
		ereport(NOTICE,
				(errmsg(HILO_COUNTER_FORMAT " is at " INT64_FORMAT " already",
						HILO_COUNTER_ARGS(name), max),
				 value == max ? 0 :
				 errhint("To set it back to " INT64_FORMAT ", call the function with force; numbers above it will be drawn a second time.",
						 value)));
	return max;
}

/*
 * A function's row type stays as long as the function does, so it is made once a
 * session: that takes longer than some of the calls.  There are as many as the library
 * has functions of that kind, so a list is enough, and nothing is ever freed.
 */
typedef struct KnownRowType
{
	Oid			function;
	TupleDesc	desc;
} KnownRowType;

TupleDesc
hilo_api_result_desc(FunctionCallInfo fcinfo)
{
	static List *types = NIL;
	KnownRowType *type;
	MemoryContext old;
	TupleDesc	desc;

	foreach_ptr(const KnownRowType, known, types)
	{
		if (known->function == fcinfo->flinfo->fn_oid)
			return known->desc;
	}
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("return type must be a row type")));
	old = MemoryContextSwitchTo(TopMemoryContext);
	type = palloc(sizeof(KnownRowType));
	type->function = fcinfo->flinfo->fn_oid;
	type->desc = BlessTupleDesc(CreateTupleDescCopy(desc));
	types = lappend(types, type);
	MemoryContextSwitchTo(old);
	return type->desc;
}

/*
 * The row type was blessed, so that the caller can find it by its number in the row.
 */
Datum
hilo_api_result(TupleDesc desc, Datum *values)
{
	bool	   *nulls = palloc0(desc->natts * sizeof(bool));

	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

/*-------------------------------------------------------------------------
 *
 * sequences.c
 *	  The SQL functions that draw from sequences.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "session/call.h"
#include "sequences/sequence.h"
#include "sequences/setting.h"

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

/* hilo.nextval(sequence) */
PG_FUNCTION_INFO_V1(hilo_nextval);

Datum
hilo_nextval(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(hilo_sequence_next(sequence_argument(fcinfo), false));
}

/*
 * hilo._identity_nextval(sequence, internal): what the setting hilo.sequences puts in
 * place of the number of an identity column.  The right to insert suffices there, so
 * nobody else may call it: XMLTABLE can make a value of type internal.
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

/* hilo.reserve(sequence, count) */
PG_FUNCTION_INFO_V1(hilo_reserve_of_sequence);

Datum
hilo_reserve_of_sequence(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = hilo_api_result_desc(fcinfo);
	int64		count;
	Datum		values[2];

	hilo_api_reject_null(fcinfo, 0, "sequence");
	count = hilo_api_count(fcinfo, 1, "count", hilo_max_range_size,
						   "The upper bound is the setting \"hilo.max_range_size\".");
	values[0] = Int64GetDatum(hilo_sequence_reserve(hilo_sequence(PG_GETARG_OID(0)), count));
	values[1] = Int64GetDatum(DatumGetInt64(values[0]) + (count - 1));
	return hilo_api_result(desc, values);
}

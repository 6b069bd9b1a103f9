/*-------------------------------------------------------------------------
 *
 * tables.c
 *	  What hilo.attach(), hilo.sync() and the view hilo.columns need and SQL cannot do.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"

#include "arguments.h"
#include "look.h"
#include "sequence.h"

/*
 * hilo._draws(expression pg_node_tree, OUT sequence oid, OUT function text): SQL cannot make a
 * value of that type, so it is one of the catalog.
 */
PG_FUNCTION_INFO_V1(hilo_draws_of);

Datum
hilo_draws_of(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = hilo_api_result_desc(fcinfo);
	Datum		values[2] = {0};
	bool		nulls[2] = {true, true};
	bool		is_plain = false;
	Oid			sequence;

	sequence = hilo_sequence_in_default(stringToNode(TextDatumGetCString(PG_GETARG_DATUM(0))),
										&is_plain);
	if (OidIsValid(sequence))
	{
		values[0] = ObjectIdGetDatum(sequence);
		values[1] = CStringGetTextDatum(is_plain ? "nextval" : "hilo.nextval");
		nulls[0] = nulls[1] = false;
	}
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}

/*
 * The number of a column.  Raises 42501 unless the current user may read it in all rows: the
 * end of an index knows no policies.
 */
static AttrNumber
readable_column(Oid relation, const char *column)
{
	AttrNumber	attnum;

	/* It may be dropped while this session waits for the lock. */
	LockRelationOid(relation, AccessShareLock);
	attnum = hilo_catalog_column(relation, column);
	if (pg_class_aclcheck(relation, GetUserId(), ACL_SELECT) != ACLCHECK_OK &&
		pg_attribute_aclcheck(relation, attnum, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, get_rel_name(relation));
	if (check_enable_rls(relation, InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row-level security policies may hide rows of table \"%s\"",
						get_rel_name(relation))));
	return attnum;
}

/*
 * hilo._highest_id(relation, column_name, lowest, OUT highest, OUT index_missing): the highest
 * id of a column, or, for a sequence that counts down, the lowest.  It is read from the end of
 * an index, which runs no code of the table's owner, whereas a query would evaluate predicates
 * and policies with the rights of the caller.  Without an index that leads with the column
 * there is no answer, only the mark that it is missing.
 */
PG_FUNCTION_INFO_V1(hilo_highest_id_of);

Datum
hilo_highest_id_of(PG_FUNCTION_ARGS)
{
	Oid			relation = PG_GETARG_OID(0);
	AttrNumber	attnum = readable_column(relation, NameStr(*PG_GETARG_NAME(1)));
	bool		lowest = PG_GETARG_BOOL(2);
	TupleDesc	desc = hilo_api_result_desc(fcinfo);
	bool		nulls[2] = {false, false};
	Datum		values[2];
	bool		index_missing;
	int64		id = 0;

	nulls[0] = !hilo_end_of_ids(relation, attnum, PG_INT64_MIN, PG_INT64_MAX, !lowest,
								&id, &index_missing);
	values[0] = Int64GetDatum(id);
	values[1] = BoolGetDatum(index_missing);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}

/*
 * hilo._move_sequence(sequence, number): move a sequence forward, and return the number that it
 * is at; with a null number, only that.  setval() would not do: another session may draw
 * between the look at the table and the call, and a sequence must not move back.  UPDATE is
 * the privilege that setval() needs.
 */
PG_FUNCTION_INFO_V1(hilo_move_sequence);

Datum
hilo_move_sequence(PG_FUNCTION_ARGS)
{
	Oid			oid = PG_GETARG_OID(0);
	HiloSequence *sequence;

	hilo_api_reject_null(fcinfo, 0, "sequence");
	hilo_api_require_write("hilo.sync()");
	if (get_rel_relkind(oid) == RELKIND_SEQUENCE &&
		pg_class_aclcheck(oid, GetUserId(), ACL_UPDATE) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_SEQUENCE, get_rel_name(oid));
	sequence = hilo_sequence(oid);
	PG_RETURN_INT64(PG_ARGISNULL(1) ? hilo_sequence_position(sequence) :
					hilo_sequence_move(sequence, PG_GETARG_INT64(1)));
}

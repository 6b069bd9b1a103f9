/*-------------------------------------------------------------------------
 *
 * column_ref.c
 *	  The type hilo_column: a column of a table, as regclass is a table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_attribute.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "compat.h"
#include "column_ref.h"

PG_FUNCTION_INFO_V1(hilo_column_in);
PG_FUNCTION_INFO_V1(hilo_column_out);

/* How a column that is not there is written. */
#define NO_COLUMN	"-"

char *
hilo_column_name(const HiloColumn *column)
{
	HeapTuple	tuple = NULL;
	char	   *name;

	if (column->attnum > 0)
		tuple = SearchSysCacheAttNum(column->relation, column->attnum);
	if (!HeapTupleIsValid(tuple))
		return NULL;
	name = pstrdup(NameStr(((Form_pg_attribute) GETSTRUCT(tuple))->attname));
	ReleaseSysCache(tuple);
	return name;
}

/*
 * schema.table.column, quoted where needed.  A column that is not there is no
 * error, so that one table left out does not spoil the restore of all bindings.
 */
Datum
hilo_column_in(PG_FUNCTION_ARGS)
{
	char	   *string = PG_GETARG_CSTRING(0);
	HiloColumn *column = palloc0(sizeof(HiloColumn));
	List	   *names;
	RangeVar   *table;

	if (strcmp(string, NO_COLUMN) == 0)
		PG_RETURN_POINTER(column);

	names = hilo_qualified_name_list(string);
	if (list_length(names) != 3)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid input syntax for type %s: \"%s\"",
						"hilo_column", string),
				 errdetail("It should be schema.table.column.")));

	table = makeRangeVar(strVal(linitial(names)), strVal(lsecond(names)), -1);
	column->relation = RangeVarGetRelid(table, NoLock, true);
	column->attnum = get_attnum(column->relation, strVal(lthird(names)));
	if (column->attnum <= 0)
	{
		ereport(WARNING,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column %s does not exist", string),
				 errhint("Say with hilo_unbind() and hilo_bind() where the ids are.")));
		column->relation = InvalidOid;
		column->attnum = InvalidAttrNumber;
	}
	PG_RETURN_POINTER(column);
}

char *
hilo_column_text(const HiloColumn *column)
{
	char	   *name = hilo_column_name(column);
	char	   *schema;
	char	   *table;

	/* Each may be gone, even if the one before was there a moment ago. */
	table = get_rel_name(column->relation);
	schema = get_namespace_name(get_rel_namespace(column->relation));
	if (name == NULL || table == NULL || schema == NULL)
		return pstrdup(NO_COLUMN);

	return psprintf("%s.%s", quote_qualified_identifier(schema, table),
					quote_identifier(name));
}

Datum
hilo_column_out(PG_FUNCTION_ARGS)
{
	PG_RETURN_CSTRING(hilo_column_text(DatumGetHiloColumn(PG_GETARG_DATUM(0))));
}

/*-------------------------------------------------------------------------
 *
 * column.c
 *	  Columns that hold ids: the SQL type that identifies one, the types allowed,
 *	  and the numbers in a column.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "base/settings.h"
#include "tables/column.h"

PG_FUNCTION_INFO_V1(hilo_column_in);
PG_FUNCTION_INFO_V1(hilo_column_out);

/* Text of a column that does not exist. */
#define NO_COLUMN	"-"

Oid
hilo_topmost_table(Relation rel)
{
	Oid			relid = RelationGetRelid(rel);
	List	   *ancestors = NIL;

	if (rel->rd_rel->relispartition)
		ancestors = get_partition_ancestors(relid);
	return ancestors == NIL ? relid : llast_oid(ancestors);
}

/*
 * A column
 */

bool
hilo_is_partition_key(const HiloColumn *column)
{
	Relation	rel = try_table_open(column->relation, AccessShareLock);
	Bitmapset  *columns = bms_make_singleton(column->attnum -
											 FirstLowInvalidHeapAttributeNumber);
	bool		in_expression;
	bool		result;

	if (rel == NULL)
		return false;
	result = has_partition_attrs(rel, columns, &in_expression);
	table_close(rel, AccessShareLock);
	return result;
}

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

char *
hilo_column_text(const HiloColumn *column)
{
	char	   *name = hilo_column_name(column);
	char	   *schema;
	char	   *table;

	/*
	 * Each may have been dropped, even if the previous one existed a moment
	 * ago.
	 */
	table = get_rel_name(column->relation);
	schema = get_namespace_name(get_rel_namespace(column->relation));
	if (name == NULL || table == NULL || schema == NULL)
		return pstrdup(NO_COLUMN);

	return psprintf("%s.%s", quote_qualified_identifier(schema, table),
					quote_identifier(name));
}

Oid
hilo_column_type(const HiloColumn *column)
{
	Oid			type = get_atttype(column->relation, column->attnum);

	return OidIsValid(type) ? getBaseType(type) : InvalidOid;
}

/*
 * schema.table.column, quoted where needed.  A missing column is not an error,
 * so that one omitted table does not make the restore of all bindings fail.
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
				 errdetail("It should have the form schema.table.column.")));

	table = makeRangeVar(strVal(linitial(names)), strVal(lsecond(names)), -1);
	column->relation = RangeVarGetRelid(table, NoLock, true);
	column->attnum = get_attnum(column->relation, strVal(lthird(names)));
	if (column->attnum <= 0)
	{
		ereport(WARNING,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column %s does not exist", string),
				 errhint("Use hilo.unbind() and hilo.bind() to specify another column.")));
		column->relation = InvalidOid;
		column->attnum = InvalidAttrNumber;
	}
	PG_RETURN_POINTER(column);
}

Datum
hilo_column_out(PG_FUNCTION_ARGS)
{
	PG_RETURN_CSTRING(hilo_column_text(DatumGetHiloColumn(PG_GETARG_DATUM(0))));
}

/*
 * Types
 */

/* True for the type citext of the extension of that name. */
bool
hilo_ignores_case(Oid type)
{
	Oid			extension = get_extension_oid("citext", true);
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	result = strcmp(NameStr(((Form_pg_type) GETSTRUCT(tuple))->typname),
					"citext") == 0 &&
		OidIsValid(extension) &&
		getExtensionOfObject(TypeRelationId, type) == extension;
	ReleaseSysCache(tuple);
	return result;
}

bool
hilo_holds_ids(Oid type)
{
	return type == TEXTOID || type == VARCHAROID || hilo_ignores_case(type);
}

bool
hilo_holds_numbers(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

int64
hilo_type_limit(Oid type)
{
	switch (type)
	{
		case INT2OID:
			return PG_INT16_MAX;
		case INT4OID:
			return PG_INT32_MAX;
		default:
			return PG_INT64_MAX;
	}
}

/*
 * Numbers
 */

void
hilo_id_reader_init(HiloIdReader *reader, Oid type, const char *name,
					HiloCountedIds counted)
{
	reader->counted = counted;
	reader->type = type;
	reader->holds_ids = hilo_holds_ids(type);
	reader->start_len = hilo_ignores_case(type) ? 0 :
		hilo_document_id_start(reader->start, name,
							   hilo_identity_parts_separator, "");
}

/* True if the id counts.  Its digits are from start to just before end. */
static bool
is_counted(const HiloIdReader *reader, const char *id, int len, int start,
		   int end)
{
	if (id[start] == '0')
		return false;
	switch (reader->counted)
	{
		case HILO_COUNT_TAGGED:
			return end < len;
		case HILO_COUNT_UNTAGGED:
			return end == len;
		default:
			return true;
	}
}

/* The number in an id; 0 if the id does not start as it should. */
static int64
number_in_id(const HiloIdReader *reader, text *id)
{
	const char *rest = VARDATA_ANY(id) + reader->start_len;
	int			len = (int) VARSIZE_ANY_EXHDR(id) - reader->start_len;
	int			start;
	int			end;
	int64		number = 0;

	if (len <= 0 ||
		memcmp(VARDATA_ANY(id), reader->start, reader->start_len) != 0 ||
		!hilo_document_id_digits(rest, len, &start, &end) ||
		!is_counted(reader, rest, len, start, end) ||
		!hilo_document_id_number(rest, len, &number))
		return 0;
	return number;
}

static text *
replace_number(const HiloIdReader *reader, text *id, int64 number)
{
	const char *data = VARDATA_ANY(id);
	int			len = VARSIZE_ANY_EXHDR(id);
	int			start = len;
	int			end = len;

	(void) hilo_document_id_digits(data + reader->start_len,
								   len - reader->start_len, &start, &end);
	start += reader->start_len;
	end += reader->start_len;
	return hilo_build_id(data, start, number, data + end, len - end);
}

int64
hilo_id_reader_number(const HiloIdReader *reader, Datum value)
{
	switch (reader->type)
	{
		case INT2OID:
			return DatumGetInt16(value);
		case INT4OID:
			return DatumGetInt32(value);
		case INT8OID:
			return DatumGetInt64(value);
		default:
			return reader->holds_ids ?
				number_in_id(reader, DatumGetTextPP(value)) : 0;
	}
}

Datum
hilo_id_reader_replace(const HiloIdReader *reader, Datum value, int64 number)
{
	switch (reader->type)
	{
		case INT2OID:
			return Int16GetDatum((int16) number);
		case INT4OID:
			return Int32GetDatum((int32) number);
		case INT8OID:
			return Int64GetDatum(number);
		default:
			return PointerGetDatum(replace_number(reader, DatumGetTextPP(value),
												  number));
	}
}

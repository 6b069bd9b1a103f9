/*-------------------------------------------------------------------------
 *
 * column.c
 *	  Columns that hold ids: the types allowed, and the numbers in a column.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/dependency.h"
#include "catalog/partition.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "base/settings.h"
#include "tables/column.h"

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

void
hilo_check_owned(Oid relation)
{
	char	   *name = get_rel_name(relation);

	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table does not exist"),
				 errdetail("Its OID is %u.", relation),
				 errhint("If it was dropped, its trigger was dropped as well. Drop its collection with hilo.drop().")));
	if (!hilo_owns(RelationRelationId, relation, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER,
					   get_relkind_objtype(get_rel_relkind(relation)), name);
}

AttrNumber
hilo_column_number(Oid relation, const char *name)
{
	AttrNumber	attnum = get_attnum(relation, name);

	if (attnum <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						name, get_rel_name(relation))));
	return attnum;
}

HiloColumn
hilo_owned_column(Oid relation, const char *name)
{
	HiloColumn	column = {relation};

	hilo_check_owned(relation);
	column.attnum = hilo_column_number(relation, name);
	return column;
}

char *
hilo_column_name(const HiloColumn *column)
{
	return OidIsValid(hilo_column_type(column)) ?
		get_attname(column->relation, column->attnum, true) : NULL;
}

Oid
hilo_column_type(const HiloColumn *column)
{
	Oid			type = InvalidOid;

	if (column->attnum > 0)
		type = get_atttype(column->relation, column->attnum);
	return OidIsValid(type) ? getBaseType(type) : InvalidOid;
}

/*
 * Types
 */

bool
hilo_holds_ids(Oid type)
{
	Oid			extension;

	if (type == TEXTOID || type == VARCHAROID)
		return true;
	if (!IsBinaryCoercible(type, TEXTOID))
		return false;
	extension = get_extension_oid("citext", true);
	return OidIsValid(extension) &&
		getExtensionOfObject(TypeRelationId, type) == extension;
}

bool
hilo_holds_numbers(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

int64
hilo_number_in(Datum value, Oid type)
{
	switch (type)
	{
		case INT2OID:
			return DatumGetInt16(value);
		case INT4OID:
			return DatumGetInt32(value);
		default:
			return DatumGetInt64(value);
	}
}

int64
hilo_column_limit(const HiloColumn *column)
{
	switch (hilo_column_type(column))
	{
		case INT2OID:
			return PG_INT16_MAX;
		case INT4OID:
			return PG_INT32_MAX;
		default:
			return PG_INT64_MAX;
	}
}

int64
hilo_columns_limit(List *columns)
{
	int64		limit = PG_INT64_MAX;

	foreach_ptr(HiloColumn, column, columns)
	{
		int64		own = hilo_column_limit(column);

		limit = Min(limit, own);
	}
	return limit;
}

/*
 * Numbers
 */

/* True if ids that differ in case may be equal: in citext, and by some collations. */
static bool
may_ignore_case(const HiloColumn *column)
{
	Oid			type;
	int32		typmod;
	Oid			collation;

	get_atttypetypmodcoll(column->relation, column->attnum, &type, &typmod, &collation);
	type = getBaseType(type);
	return (type != TEXTOID && type != VARCHAROID) ||
		(OidIsValid(collation) && !get_collation_isdeterministic(collation));
}

void
hilo_id_reader_init(HiloIdReader *reader, const HiloColumn *column,
					HiloCollection *collection)
{
	const char *name = collection == NULL ? "" : collection->ref.name;
	const char *separator = hilo_identity_parts_separator;
	const char *own_tag = "";
	const char *tag = "";

	reader->counted = HILO_COUNT_ALL;
	if (column->drawn.form == HILO_DRAWN_NUMBERS)
		reader->counted = HILO_COUNT_NUMBERS;
	else if (hilo_is_identity(name))
	{
		reader->counted = HILO_COUNT_UNTAGGED;
		name = pnstrdup(name, strlen(name) - 1);
	}
	else
	{
		(void) hilo_collection_row(collection);
		separator = hilo_collection_separator(collection);
		own_tag = hilo_collection_node_tag(collection);
		tag = column->drawn.form == HILO_DRAWN_TAGGED ? NameStr(column->drawn.tag) : own_tag;
		if (tag[0] != '\0' && own_tag[0] != '\0' && column->drawn.form != HILO_DRAWN_VARIOUS)
			reader->counted = HILO_COUNT_TAGGED;
	}
	namestrcpy(&reader->own_tag, own_tag);
	namestrcpy(&reader->tag, tag);
	reader->type = hilo_column_type(column);
	reader->holds_ids = hilo_holds_ids(reader->type);
	reader->start_len = reader->holds_ids && may_ignore_case(column) ? 0 :
		hilo_document_id_start(reader->start, name, separator, "");
}

/* The value as text, palloc'd. */
static char *
text_of(const HiloIdReader *reader, Datum value)
{
	Oid			function;
	bool		varlena;

	if (reader->holds_ids)
		return TextDatumGetCString(value);
	getTypeOutputInfo(reader->type, &function, &varlena);
	return OidOutputFunctionCall(function, value);
}

/*
 * Find the number in a value as text: from offset start to just before offset end.
 * Returns false if it is an id that does not start as it should, or does not count.
 */
static bool
find_number(const HiloIdReader *reader, const char *id, int *start, int *end)
{
	int			skipped = reader->start_len;
	int			len = strlen(id);

	*start = 0;
	*end = len;
	if (!reader->holds_ids || reader->counted == HILO_COUNT_NUMBERS)
		return true;
	if (len < skipped || memcmp(id, reader->start, skipped) != 0 ||
		!hilo_document_id_digits(id + skipped, len - skipped, start, end))
		return false;
	*start += skipped;
	*end += skipped;
	return !(reader->counted == HILO_COUNT_TAGGED && *end == len) &&
		!(reader->counted == HILO_COUNT_UNTAGGED && *end < len);
}

int64
hilo_id_reader_number(const HiloIdReader *reader, Datum value)
{
	char	   *id;
	int			start;
	int			end;
	char	   *rest;
	int64		number = 0;

	if (hilo_holds_numbers(reader->type))
		return hilo_number_in(value, reader->type);
	if (!reader->holds_ids && reader->counted != HILO_COUNT_NUMBERS)
		return 0;
	id = text_of(reader, value);
	if (find_number(reader, id, &start, &end) && id[start] >= '1' && id[start] <= '9')
	{
		id[end] = '\0';
		errno = 0;
		number = strtoi64(id + start, &rest, 10);
		if (errno != 0 || !(*rest == '\0' || (*rest == '.' && !reader->holds_ids)))
			number = 0;
	}
	pfree(id);
	return number;
}

Oid
hilo_table_owner(Oid relation)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	Oid			owner = InvalidOid;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	if (((Form_pg_class) GETSTRUCT(tuple))->relpersistence != RELPERSISTENCE_TEMP)
		owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return owner;
}

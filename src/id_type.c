/*-------------------------------------------------------------------------
 *
 * id_type.c
 *	  Which types of columns hold ids, and which hold their numbers alone.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/dependency.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "utils/syscache.h"

#include "id_type.h"

/* Is it the type citext, of the extension of that name? */
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

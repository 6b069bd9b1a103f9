/*-------------------------------------------------------------------------
 *
 * api_attach.c
 *	  The SQL functions that attach tables to collections.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "api.h"
#include "attach.h"

PG_FUNCTION_INFO_V1(hilo_attach);
PG_FUNCTION_INFO_V1(hilo_detach);

/* The first two arguments: a table and the name of a column. */
static HiloColumn
column_argument(FunctionCallInfo fcinfo)
{
	hilo_api_reject_null(fcinfo, 0, "relation");
	hilo_api_reject_null(fcinfo, 1, "column_name");
	return hilo_attachable_column(PG_GETARG_OID(0),
								  NameStr(*PG_GETARG_NAME(1)));
}

Datum
hilo_attach(PG_FUNCTION_ARGS)
{
	HiloColumn	column;
	HiloName	collection;
	bool		named = !PG_ARGISNULL(2);

	hilo_api_prevent_unless_may_write("hilo_attach()");
	column = column_argument(fcinfo);
	if (named)
		collection = hilo_api_name(fcinfo, 2, "collection");
	else
	{
		collection.data = hilo_attached_collection(&column);
		if (collection.data == NULL)
			collection.data = get_rel_name(column.relation);
		collection.len = strlen(collection.data);
	}
	hilo_check_collection(collection.data, collection.len,
						  hilo_identity_parts_separator);
	PG_RETURN_INT64(hilo_attach_column(&column, collection, named));
}

Datum
hilo_detach(PG_FUNCTION_ARGS)
{
	HiloColumn	column;
	const char *back_to = NULL;

	hilo_api_prevent_unless_may_write("hilo_detach()");
	column = column_argument(fcinfo);
	if (!PG_ARGISNULL(2))
	{
		back_to = hilo_drawn_by(text_to_cstring(PG_GETARG_TEXT_PP(2)));
		if (back_to == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("back_to must be \"sequence\", \"identity\", \"identity always\" or \"nothing\"")));
	}
	back_to = hilo_detach_column(&column, back_to);
	PG_RETURN_TEXT_P(cstring_to_text(back_to));
}

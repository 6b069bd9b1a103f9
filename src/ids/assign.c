/*-------------------------------------------------------------------------
 *
 * assign.c
 *	  Assigns a document the kind of id that it requests.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"

#include "ids/assign.h"
#include "ids/identity.h"
#include "session/call.h"
#include "tables/rights.h"
#include "tables/take.h"

/*
 * The id of a document
 */

static text *
next_identity_beside(const char *name, Relation rel, AttrNumber attnum)
{
	HiloIdentity identity;
	HiloDocuments *documents;
	int64		number;
	int			tries = 0;

	hilo_identity_init(&identity, name);
	documents = rel == NULL ?
		hilo_documents_open(identity.name, false) :
		hilo_documents_open_own(identity.name, rel, attnum);
	number = hilo_identity_next_beside(&identity, documents, &tries);
	return hilo_identity_id(&identity, number);
}

text *
hilo_assign_document_id(HiloEntry *entry, text *requested, Relation rel,
						AttrNumber attnum)
{
	const char *name;

	if (requested == NULL)
	{
		hilo_draw_right_check(entry);
		return hilo_take_id(entry, &entry->text.own);
	}

	name = text_to_cstring(requested);
	if (name[0] == '\0')
	{
		Datum		uuid = DirectFunctionCall1(gen_random_uuid, (Datum) 0);

		return cstring_to_text(DatumGetCString(DirectFunctionCall1(uuid_out, uuid)));
	}
	if (hilo_ends_with(name, hilo_identity_parts_separator))
		return hilo_next_server_side_id(name);
	if (hilo_ends_with(name, "|"))
		return next_identity_beside(name, rel, attnum);

	if (strlen(name) > HILO_MAX_ID_LEN)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("document id is too long"),
				 errdetail("It has %d bytes; the limit is %d.",
						   (int) strlen(name), HILO_MAX_ID_LEN)));
	return requested;
}

/*
 * The id of a row
 */

void
hilo_check_holds(Oid relation, AttrNumber attnum, bool numbers_too)
{
	HiloColumn	column = {relation, attnum};
	Oid			type = hilo_column_type(&column);

	if (!hilo_holds_ids(type) && !(numbers_too && hilo_holds_numbers(type)))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of relation \"%s\" cannot hold %s",
						hilo_column_name(&column), get_rel_name(relation),
						numbers_too ? "ids of a collection" : "document ids"),
				 errdetail("Its type is %s; it should be %stext, varchar or citext.",
						   format_type_be(type),
						   numbers_too ? "smallint, integer, bigint, " : ""),
				 type == UUIDOID ?
				 errhint("It needs no counter: DEFAULT gen_random_uuid().") :
				 type == NUMERICOID && numbers_too ?
				 errhint("ALTER TABLE %s ALTER COLUMN %s TYPE bigint;",
						 quote_qualified_identifier(get_namespace_name(get_rel_namespace(relation)), get_rel_name(relation)),
						 quote_identifier(hilo_column_name(&column))) : 0));
}

HeapTuple
hilo_assign_to_row(HiloEntry *entry, Relation rel, int attnum, HeapTuple tuple)
{
	TupleDesc	desc = RelationGetDescr(rel);
	Form_pg_attribute att = TupleDescAttr(desc, attnum - 1);
	bool		isnull;
	Datum		value = hilo_getattr(tuple, attnum, desc, &isnull);
	text	   *requested = isnull ? NULL : DatumGetTextPP(value);
	text	   *id = hilo_assign_document_id(entry, requested, rel, attnum);

	if (id == requested)
		return tuple;
	value = PointerGetDatum(id);
	if (att->atttypid != TEXTOID)
	{
		Oid			function;
		Oid			param;

		/*
		 * This raises the errors of the type, perhaps a domain: the server
		 * does not check what a trigger has changed.
		 */
		getTypeInputInfo(att->atttypid, &function, &param);
		value = OidInputFunctionCall(function, text_to_cstring(id), param, att->atttypmod);
	}
	isnull = false;
	return heap_modify_tuple_by_cols(tuple, desc, 1, &attnum, &value, &isnull);
}

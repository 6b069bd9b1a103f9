/*-------------------------------------------------------------------------
 *
 * id_reader.c
 *	  Reads the number of an id in a column, of whatever type that is.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"

#include "compat.h"
#include "id_reader.h"
#include "id_type.h"
#include "settings.h"

void
hilo_id_reader_init(HiloIdReader *reader, Oid type, const char *name, int len)
{
	reader->type = type;
	reader->start_len = hilo_ignores_case(type) ? 0 :
		hilo_document_id_start(reader->start, name, len,
							   hilo_identity_parts_separator, "");
}

int64
hilo_id_reader_number(const HiloIdReader *reader, Datum value)
{
	int64		number = 0;
	text	   *id;

	switch (reader->type)
	{
		case INT2OID:
			return DatumGetInt16(value);
		case INT4OID:
			return DatumGetInt32(value);
		case INT8OID:
			return DatumGetInt64(value);
	}

	if (!hilo_holds_ids(reader->type))
		return 0;
	id = DatumGetTextPP(value);
	if (VARSIZE_ANY_EXHDR(id) <= (Size) reader->start_len ||
		memcmp(VARDATA_ANY(id), reader->start, reader->start_len) != 0 ||
		!hilo_document_id_number(VARDATA_ANY(id) + reader->start_len,
								 VARSIZE_ANY_EXHDR(id) - reader->start_len,
								 &number))
		return 0;
	return number;
}

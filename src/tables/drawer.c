/*-------------------------------------------------------------------------
 *
 * drawer.c
 *	  Changes how values of a column are drawn: sequences, identity, defaults.
 *
 * It does so by SQL, as the table's owner would.  Only the dependency by which a
 * sequence belongs to an identity column, or to an ordinary one, is changed in
 * the catalogs, because no SQL command changes it and leaves the sequence as it
 * is.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "nodes/nodes.h"
#include "nodes/parsenodes.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "base/sql.h"
#include "tables/attachment.h"
#include "tables/drawer.h"

/* The column of that name in a table that the caller has locked. */
HiloTableColumn
hilo_table_column(Oid relation, const char *name)
{
	HiloTableColumn change = {.column = {relation, get_attnum(relation, name)}};

	change.name = pstrdup(name);
	change.quoted_name = pstrdup(quote_identifier(name));
	change.type = hilo_column_type(&change.column);
	change.table = hilo_sql_table(relation);
	change.is_partition = get_rel_relispartition(relation);
	return change;
}

/*
 * Sequences
 */

static HiloSequence *
new_sequence(Oid oid, bool owned)
{
	HiloSequence *sequence = palloc(sizeof(HiloSequence));

	sequence->oid = oid;
	sequence->owned = owned;
	sequence->name = hilo_sql_table(oid);
	return sequence;
}

/* The sequences that the column owns, as a serial or identity column. */
static List *
owned_sequences(const HiloColumn *column)
{
	List	   *sequences = NIL;
	ListCell   *lc;

	foreach(lc, getOwnedSequences(column->relation))
	{
		Oid			sequence = lfirst_oid(lc);
		Oid			relation;
		int32		attnum;

		if ((sequenceIsOwned(sequence, DEPENDENCY_AUTO, &relation, &attnum) ||
			 sequenceIsOwned(sequence, DEPENDENCY_INTERNAL, &relation, &attnum)) &&
			attnum == column->attnum)
			sequences = lappend(sequences, new_sequence(sequence, true));
	}
	return sequences;
}

/* The sequence that the column owns; NULL: not exactly one. */
HiloSequence *
hilo_owned_sequence(const HiloColumn *column)
{
	List	   *sequences = owned_sequences(column);

	return list_length(sequences) == 1 ? linitial(sequences) : NULL;
}

/*
 * The sequences that the column owns, and those that its default draws from.
 */
List *
hilo_column_sequences(const HiloColumn *column)
{
	List	   *sequences = owned_sequences(column);
	uint64		count;

	count = hilo_sql_select(psprintf("SELECT DISTINCT s.oid FROM pg_catalog.pg_attrdef def"
									 " JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass AND d.objid = def.oid"
									 " JOIN pg_catalog.pg_class s ON d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND s.oid = d.refobjid AND s.relkind = 'S'"
									 " WHERE def.adrelid = %u AND def.adnum = %d",
									 column->relation, column->attnum));
	for (uint64 i = 0; i < count; i++)
	{
		bool		isnull;
		Oid			oid = DatumGetObjectId(SPI_getbinval(SPI_tuptable->vals[i],
														 SPI_tuptable->tupdesc,
														 1, &isnull));
		bool		known = false;
		ListCell   *lc;

		foreach(lc, sequences)
			known = known || ((HiloSequence *) lfirst(lc))->oid == oid;
		if (!known)
			sequences = lappend(sequences, new_sequence(oid, false));
	}
	return sequences;
}

/*
 * The highest number that a sequence has drawn or put into a session's cache:
 * its last value is beyond all of them, and represents a block of numbers if
 * the increment is above 1.  A descending sequence began at its start value.
 */
static int64
highest_drawn(const HiloSequence *sequence)
{
	return hilo_sql_number(psprintf("SELECT CASE WHEN q.seqincrement < 0 THEN q.seqstart"
									" WHEN v.last IS NOT NULL THEN LEAST(v.last::pg_catalog.numeric + q.seqincrement - 1, q.seqmax)::pg_catalog.int8 END"
									" FROM pg_catalog.pg_sequence q, pg_catalog.pg_sequence_last_value(q.seqrelid) v(last)"
									" WHERE q.seqrelid = %u",
									sequence->oid));
}

/*
 * A literal as the server prints it in a default: without E, even with
 * backslashes.
 */
char *
hilo_shown_literal(const char *string)
{
	StringInfoData result;

	initStringInfo(&result);
	appendStringInfoChar(&result, '\'');
	for (; *string != '\0'; string++)
	{
		if (SQL_STR_DOUBLE(*string, hilo_backslash_escapes()))
			appendStringInfoChar(&result, *string);
		appendStringInfoChar(&result, *string);
	}
	appendStringInfoChar(&result, '\'');
	return result.data;
}

char *
hilo_draw_from(const HiloSequence *sequence)
{
	return psprintf("nextval(%s::regclass)", hilo_shown_literal(sequence->name));
}

/* The highest number that any of the sequences has drawn. */
int64
hilo_highest_drawn(List *sequences)
{
	int64		highest = 0;
	ListCell   *lc;

	foreach(lc, sequences)
	{
		int64		drawn = highest_drawn(lfirst(lc));

		highest = Max(highest, drawn);
	}
	return highest;
}

/*
 * A program that hands out a block of numbers for each value of the sequence
 * may use the numbers below the value or those above it: in both cases the next
 * block must be above max.
 */
void
hilo_position_sequence(const HiloSequence *sequence, int64 max)
{
	hilo_sql_select(psprintf("SELECT pg_catalog.setval(%s, v.last, v.called)"
							 " FROM %s s, pg_catalog.pg_sequence q,"
							 " LATERAL (SELECT CASE WHEN " INT64_FORMAT " < q.seqstart THEN q.seqstart::pg_catalog.numeric"
							 " ELSE LEAST(q.seqstart + pg_catalog.ceil((" INT64_FORMAT " - q.seqstart)::pg_catalog.numeric / q.seqincrement) * q.seqincrement, q.seqmax) END::pg_catalog.int8,"
							 " " INT64_FORMAT " >= q.seqstart) v(last, called)"
							 " WHERE q.seqrelid = %u AND q.seqincrement > 0"
							 " AND (v.last > s.last_value OR v.last = s.last_value AND v.called AND NOT s.is_called)",
							 quote_literal_cstr(sequence->name), sequence->name,
							 max, max, max, sequence->oid));
}

/*
 * Identity columns
 */

/*
 * The kind of identity column: ATTRIBUTE_IDENTITY_..., or '\0' if it is none.
 */
char
hilo_column_identity(const HiloColumn *column)
{
	HeapTuple	tuple = SearchSysCacheAttNum(column->relation, column->attnum);
	char		identity;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for attribute %d of relation %u",
			 column->attnum, column->relation);
	identity = ((Form_pg_attribute) GETSTRUCT(tuple))->attidentity;
	ReleaseSysCache(tuple);
	return identity;
}

static void
set_identity(const HiloColumn *column, char identity)
{
	Relation	rel = table_open(AttributeRelationId, RowExclusiveLock);
	HeapTuple	tuple = SearchSysCacheCopyAttNum(column->relation,
												 column->attnum);

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for attribute %d of relation %u",
			 column->attnum, column->relation);
	((Form_pg_attribute) GETSTRUCT(tuple))->attidentity = identity;
	CatalogTupleUpdate(rel, &tuple->t_self, tuple);
	table_close(rel, RowExclusiveLock);
}

/*
 * Turn the sequence of an identity column into one that the column owns like a
 * serial column, or the other way round.  Its name, options, privileges and
 * comment stay.
 */
static void
change_ownership(const HiloColumn *column, Oid sequence, DependencyType before,
				 DependencyType after)
{
	ObjectAddress owned;
	ObjectAddress owner;

	if (deleteDependencyRecordsForClass(RelationRelationId, sequence,
										RelationRelationId, before) != 1)
		elog(ERROR, "sequence %u does not depend on one column", sequence);
	ObjectAddressSet(owned, RelationRelationId, sequence);
	ObjectAddressSubSet(owner, RelationRelationId, column->relation,
						column->attnum);
	recordDependencyOn(&owned, &owner, after);
}

/* Make the column an ordinary one; its sequence stays. */
void
hilo_end_identity(const HiloTableColumn *change)
{
	HiloSequence *sequence = hilo_owned_sequence(&change->column);

	set_identity(&change->column, '\0');
	if (sequence != NULL)
		change_ownership(&change->column, sequence->oid, DEPENDENCY_INTERNAL,
						 DEPENDENCY_AUTO);
	CommandCounterIncrement();
}

/*
 * Make the column, which has no default, an identity column again.  A partition
 * has no sequence of its own.
 */
void
hilo_begin_identity(const HiloTableColumn *change, char identity)
{
	HiloSequence *sequence = hilo_owned_sequence(&change->column);

	if (!hilo_holds_numbers(change->type))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of table %s cannot be an identity column again",
						change->name, change->table),
				 errdetail("Its type is %s.", format_type_be(change->type)),
				 errhint("Drop the trigger whose name begins with %s, and give the column a default.",
						 HILO_TRIGGER_NAME)));
	if (sequence == NULL && !change->is_partition)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("column \"%s\" of table %s does not own exactly one sequence",
						change->name, change->table),
				 errhint("Drop the trigger whose name begins with %s, and give the column a default.",
						 HILO_TRIGGER_NAME)));
	if (sequence != NULL)
	{
		/* The column may have been moved to a larger type. */
		hilo_sql_run("ALTER SEQUENCE %s AS %s", sequence->name,
					 format_type_be_qualified(change->type));
		change_ownership(&change->column, sequence->oid, DEPENDENCY_AUTO,
						 DEPENDENCY_INTERNAL);
	}
	set_identity(&change->column, identity);
	CommandCounterIncrement();
}

/*
 * What draws
 */

/* The default of the column as text; NULL: it has none. */
char *
hilo_column_default(const HiloColumn *column)
{
	Relation	rel = table_open(column->relation, NoLock);
	TupleConstr *constr = RelationGetDescr(rel)->constr;
	char	   *result = NULL;

	for (int i = 0; constr != NULL && i < constr->num_defval; i++)
	{
		if (constr->defval[i].adnum == column->attnum)
			result = TextDatumGetCString(DirectFunctionCall2(pg_get_expr,
															 CStringGetTextDatum(constr->defval[i].adbin),
															 ObjectIdGetDatum(column->relation)));
	}
	table_close(rel, NoLock);
	return result;
}

HiloDrawer
hilo_present_drawer(const HiloColumn *column)
{
	HiloDrawer	drawer = {HILO_REPLACED_DEFAULT, hilo_column_default(column)};
	HiloSequence *sequence;

	switch (hilo_column_identity(column))
	{
		case ATTRIBUTE_IDENTITY_ALWAYS:
			drawer.kind = HILO_REPLACED_IDENTITY_ALWAYS;
			return drawer;
		case ATTRIBUTE_IDENTITY_BY_DEFAULT:
			drawer.kind = HILO_REPLACED_IDENTITY;
			return drawer;
	}
	sequence = hilo_owned_sequence(column);
	if (drawer.default_text == NULL)
		drawer.kind = HILO_REPLACED_NOTHING;
	else if (sequence != NULL &&
			 strcmp(drawer.default_text, hilo_draw_from(sequence)) == 0)
		drawer.kind = HILO_REPLACED_SEQUENCE;
	return drawer;
}

bool
hilo_same_expression(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/*
 * The attidentity of a HILO_REPLACED_... kind; '\0': not an identity column.
 */
char
hilo_identity_of_kind(const char *kind)
{
	if (strcmp(kind, HILO_REPLACED_IDENTITY) == 0)
		return ATTRIBUTE_IDENTITY_BY_DEFAULT;
	if (strcmp(kind, HILO_REPLACED_IDENTITY_ALWAYS) == 0)
		return ATTRIBUTE_IDENTITY_ALWAYS;
	return '\0';
}

bool
hilo_same_drawer(const HiloDrawer *a, const HiloDrawer *b)
{
	return hilo_identity_of_kind(a->kind) == hilo_identity_of_kind(b->kind) &&
		hilo_same_expression(a->default_text, b->default_text);
}

/*
 * True if the string is a single expression.  The text of a replaced default
 * comes from an argument of a trigger, which the table's owner may have made
 * up, while the current user may be a superuser.
 */
static bool
is_expression(const char *string)
{
	SelectStmt	plain = {.type = T_SelectStmt};
	List	   *statements = raw_parser(psprintf("SELECT (%s)", string),
										RAW_PARSE_DEFAULT);
	SelectStmt *select;

	if (list_length(statements) != 1)
		return false;
	select = (SelectStmt *) linitial_node(RawStmt, statements)->stmt;
	if (!IsA(select, SelectStmt) || list_length(select->targetList) != 1)
		return false;
	plain.targetList = select->targetList;
	plain.groupDistinct = select->groupDistinct;
	plain.limitOption = select->limitOption;
	return equal(select, &plain);
}

void
hilo_set_default(const HiloTableColumn *change, const char *expression)
{
	if (!is_expression(expression))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" is not an expression", expression),
				 errdetail("The trigger of table %s names it as the default of column \"%s\".",
						   change->table, change->name)));
	hilo_sql_run("ALTER TABLE ONLY %s ALTER COLUMN %s SET DEFAULT (%s)",
				 change->table, change->quoted_name, expression);
}

void
hilo_drop_default(const HiloTableColumn *change)
{
	hilo_sql_run("ALTER TABLE ONLY %s ALTER COLUMN %s DROP DEFAULT",
				 change->table, change->quoted_name);
}

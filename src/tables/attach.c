/*-------------------------------------------------------------------------
 *
 * attach.c
 *	  Which columns may be attached, and what attaching does beyond the DDL.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/catalog.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "parser/parser.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "base/failure_point.h"
#include "base/sql.h"
#include "servers/citus.h"
#include "tables/attach.h"
#include "tables/binding.h"
#include "tables/highest.h"

/*
 * Columns that can be attached
 */

char *
hilo_check_owned(Oid relation)
{
	char	   *table = get_rel_name(relation);

	if (table == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relation),
				 errhint("If it was dropped, its trigger was dropped as well. Drop its collection with hilo.drop().")));
	if (!hilo_owns_relation(relation, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, table);
	return table;
}

static void
refuse(const char *kind, const char *name, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("%s \"%s\" cannot be attached to a collection", kind, name),
			 errhint("%s", hint)));
}

/* Raise an error unless it is a table that can be attached. */
static void
check_kind(Oid relation, const char *name)
{
	switch (get_rel_relkind(relation))
	{
		case RELKIND_RELATION:
		case RELKIND_PARTITIONED_TABLE:
			break;
		case RELKIND_VIEW:
			refuse("view", name, "Attach the table that it selects from.");
			break;
		case RELKIND_MATVIEW:
			refuse("materialized view", name, "Attach the table that it selects from.");
			break;
		case RELKIND_FOREIGN_TABLE:
			refuse("foreign table", name, "Attach the table on the foreign server; or let a default draw here, and use hilo.bind() and hilo.sync().");
			break;
		case RELKIND_SEQUENCE:
			refuse("sequence", name, "Attach the table whose column draws from it.");
			break;
		case RELKIND_INDEX:
		case RELKIND_PARTITIONED_INDEX:
			refuse("index", name, "Attach its table.");
			break;
		default:
			refuse("relation", name, "Only tables can be attached.");
	}
	if (get_rel_persistence(relation) == RELPERSISTENCE_TEMP)
		refuse("temporary table", name, "Its ids never count; a default with hilo_next() or hilo_next_number() suffices.");
	if (IsCatalogRelationOid(relation))
		refuse("system catalog", name, "Only tables of users can be attached.");
	if (OidIsValid(getExtensionOfObject(RelationRelationId, relation)))
		refuse("table of an extension", name, "Only tables of users can be attached.");
	if (get_rel_relispartition(relation))
		refuse("partition", name, "Attach the partitioned table.");
}

/* The primary key's only column; an error if it does not have exactly one. */
static AttrNumber
primary_key(Oid relation, const char *table)
{
	Oid			constraint;
	Bitmapset  *columns = get_primary_key_attnos(relation, false, &constraint);
	int			attnum;

	if (!bms_get_singleton_member(columns, &attnum))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("table \"%s\" has no single-column primary key", table),
				 errhint("Specify the column.")));
	return attnum + FirstLowInvalidHeapAttributeNumber;
}

/*
 * Refuse a table of Citus that cannot have triggers, and say what to do
 * instead: draw and advance in one transaction, during which no row is inserted.
 */
static void
refuse_citus_table(const HiloColumn *column)
{
	char	   *name = hilo_column_name(column);
	char	   *table = get_rel_name(column->relation);
	char	   *collection = quote_literal_cstr(table);
	char	   *quoted = hilo_sql_table(column->relation);
	const char *literal = quote_literal_cstr(quoted);
	const char *quoted_name = quote_identifier(name);
	char	   *identity = "";
	char	   *alter;
	HeapTuple	tuple = SearchSysCacheAttNum(column->relation, column->attnum);

	if (HeapTupleIsValid(tuple))
	{
		if (((Form_pg_attribute) GETSTRUCT(tuple))->attidentity != '\0')
			identity = psprintf("ALTER COLUMN %s DROP IDENTITY, ", quoted_name);
		ReleaseSysCache(tuple);
	}
	alter = psprintf("ALTER TABLE %s %sALTER COLUMN %s SET DEFAULT %s(%s);",
					 quoted, identity, quoted_name,
					 hilo_holds_numbers(hilo_column_type(column)) ?
					 "hilo_next_number" : "hilo_next", collection);

	/*
	 * Citus changes neither the default of a distribution column nor an
	 * identity column while the table is distributed.
	 */
	if (*identity != '\0' ||
		hilo_citus_distribution_column(column->relation) == column->attnum)
		alter = psprintf("SELECT undistribute_table(%s); %s SELECT create_distributed_table(%s, %s);",
						 literal, alter, literal,
						 quote_literal_cstr(hilo_citus_distribution_column(column->relation) == column->attnum ?
											name : "distribution column"));
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("Citus table \"%s\" cannot be attached to a collection",
					table),
			 errdetail("Citus does not allow triggers on distributed tables or reference tables."),
			 errhint("Draw in a column default, and advance the collection in the same transaction: BEGIN; LOCK TABLE %s; SELECT hilo.bind(%s, %s, %s); SELECT hilo.sync(%s); %s COMMIT;",
					 quoted, collection, literal, quote_literal_cstr(name),
					 collection, alter)));
}

HiloColumn
hilo_attachable_column(Oid relation, const char *column_name)
{
	HiloColumn	column = {relation, InvalidAttrNumber};
	char	   *table = hilo_check_owned(relation);
	char		generated;
	Oid			type;

	check_kind(relation, table);
	column.attnum = column_name == NULL ? primary_key(relation, table) :
		get_attnum(relation, column_name);
	if (column.attnum <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						column_name, table)));
	column_name = hilo_column_name(&column);
	type = hilo_column_type(&column);
	if (hilo_citus_refuses_triggers(relation))
		refuse_citus_table(&column);
	if (!hilo_holds_ids(type) && !hilo_holds_numbers(type))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of relation \"%s\" cannot hold ids of a collection",
						column_name, table),
				 errdetail("Its type is %s; it should be smallint, integer, bigint, text, varchar or citext.",
						   format_type_be(type))));
	generated = get_attgenerated(relation, column.attnum);
	if (generated != '\0')
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("column \"%s\" of relation \"%s\" is a generated column",
						column_name, table),
				 generated == ATTRIBUTE_GENERATED_STORED ?
				 errhint("Drop its expression with ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION.") :
				 errhint("Attach a stored column.")));
	return column;
}

/*
 * Triggers and bindings
 */

static Oid
advance_function(void)
{
	return LookupFuncName(list_make2(makeString(HILO_SCHEMA),
									 makeString("advance")), 0, NULL, false);
}

/*
 * The OIDs of the table's triggers that name the collection; the table is locked.
 */
static List *
triggers_of(Oid relation, const char *collection, bool clones)
{
	Relation	rel = table_open(relation, NoLock);
	Oid			function = advance_function();
	List	   *result = NIL;

	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		Trigger    *trigger = &rel->trigdesc->triggers[i];

		if (trigger->tgfoid == function && trigger->tgnargs > 0 &&
			strcmp(trigger->tgargs[0], collection) == 0 &&
			(clones || !trigger->tgisclone))
			result = lappend_oid(result, trigger->tgoid);
	}
	table_close(rel, NoLock);
	return result;
}

bool
hilo_has_trigger(Oid relation, const char *collection)
{
	return triggers_of(relation, collection, false) != NIL;
}

/* Raise an error if a column of the table is attached to the collection. */
static void
refuse_attached(Oid relation, AttrNumber attnum, const char *collection,
				const char *hint)
{
	HiloColumn	column = {relation, attnum};

	if (!hilo_has_trigger(relation, collection))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_DUPLICATE_OBJECT),
			 errmsg("column \"%s\" of table %s is attached to collection \"%s\"",
					hilo_column_name(&column), hilo_sql_table(relation), collection),
			 errhint("%s", hint)));
}

/* The same, for all columns of a table and its children. */
static void
check_not_attached(List *tables, const char *column_name,
				   const char *collection)
{
	ListCell   *lc;

	foreach(lc, tables)
	{
		Oid			relation = lfirst_oid(lc);
		AttrNumber	attnum = get_attnum(relation, column_name);
		ListCell   *lc2;

		foreach(lc2, hilo_drawing_columns(relation))
		{
			HiloDrawing *drawing = lfirst(lc2);
			bool		same = strcmp(drawing->collection, collection) == 0;

			if (drawing->attnum == attnum && !same)
				refuse_attached(relation, attnum, drawing->collection,
								"Undo that with hilo.detach() first.");
			else if (drawing->attnum != attnum && same)
				refuse_attached(relation, drawing->attnum, collection,
								"Specify another collection for this column.");
		}
	}
}

void
hilo_check_free(const HiloColumn *column, const char *collection,
				bool unshared)
{
	List	   *tables = find_all_inheritors(column->relation, NoLock, NULL);
	ListCell   *lc;

	check_not_attached(tables, hilo_column_name(column), collection);
	if (hilo_is_bound(collection))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("\"%s\" is bound elsewhere", collection),
				 errhint("Undo that with hilo.unbind() first.")));
	if (!unshared)
		return;
	foreach(lc, hilo_bound_columns(collection))
	{
		HiloColumn *other = lfirst(lc);

		if (!list_member_oid(tables, other->relation))
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("collection \"%s\" is attached to table %s",
							collection, hilo_sql_table(other->relation)),
					 errhint("Specify the collection: this one to share it, or another.")));
	}
}

Oid
hilo_drawing_table(const char *collection)
{
	int			level = hilo_sql_begin();
	int64		table;

	table = hilo_sql_number(psprintf("SELECT pg_catalog.max(relation::pg_catalog.int8) FROM " HILO_SCHEMA ".drawing_columns() WHERE collection = %s",
									 quote_literal_cstr(collection)));
	hilo_sql_end(level);
	return (Oid) table;
}

int64
hilo_attached_limit(const char *collection)
{
	int64		limit = PG_INT64_MAX;
	ListCell   *lc;

	foreach(lc, hilo_bound_columns(collection))
	{
		int64		of_type = hilo_type_limit(hilo_column_type(lfirst(lc)));

		limit = Min(limit, of_type);
	}
	return limit;
}

void
hilo_raise_limit(const char *collection)
{
	HiloCounterOptions options = {.max_value = hilo_attached_limit(collection)};
	HiloRow		row;
	HiloRowRef	ref;

	hilo_row_ref_init(&ref, collection);
	if (hilo_counter_read(&ref, &row) &&
		row.max_value < options.max_value && !(row.flags & HILO_ROW_OWN_LIMIT))
		hilo_counter_configure(&ref, &options);
}

/*
 * Record the binding, instead of those to the same table that are no longer
 * right, and of dead ones.
 */
static void
record(const HiloColumn *column, const char *collection)
{
	HiloBinding binding = {.kind = HILO_ATTACHED};
	bool		recorded = false;
	ListCell   *lc;

	hilo_binding_set_relation(&binding, column->relation, InvalidAttrNumber);
	foreach(lc, hilo_bindings(collection))
	{
		HiloBinding *other = lfirst(lc);
		HiloColumn	living;

		if (other->kind != HILO_ATTACHED)
			continue;
		if (hilo_binding_equals(&binding, other) &&
			strcmp(binding.name, other->name) == 0 &&
			strcmp(binding.owner, other->owner) == 0)
			recorded = true;
		else if (!hilo_binding_column(collection, other, &living) ||
				 living.relation == column->relation)
			(void) hilo_binding_remove(collection, other);
	}
	if (!recorded)
		hilo_binding_add(collection, &binding);
}

int64
hilo_attach_counter(const HiloColumn *column, const char *collection,
					int64 at_least, bool read)
{
	HiloCollection counter;
	HiloSought	sought;
	ListCell   *lc;
	int64		max;

	hilo_collection_init(&counter, collection);
	sought = hilo_sought(&counter);
	sought.above = Max(sought.above, at_least);
	if (read)
		sought.above = hilo_column_highest(column, &sought, true);
	record(column, collection);
	foreach(lc, find_all_inheritors(column->relation, NoLock, NULL))
	{
		ListCell   *lc2;

		foreach(lc2, triggers_of(lfirst_oid(lc), collection, true))
			hilo_note_trigger(lfirst_oid(lc2));
	}
	HILO_FAILURE_POINT("column bound");

	/* The last step: no rollback undoes it. */
	max = hilo_collection_adopt(&counter, sought.above,
								hilo_type_limit(hilo_column_type(column)), false);
	HILO_FAILURE_POINT("counter adopted");
	return max;
}

/*
 * Identity columns
 */

/* The sequence that the column owns, with that dependency; InvalidOid: not one. */
static Oid
owned_sequence(const HiloColumn *column, DependencyType deptype)
{
	Oid			result = InvalidOid;
	ListCell   *lc;

	foreach(lc, getOwnedSequences(column->relation))
	{
		Oid			relation;
		int32		attnum;

		if (!sequenceIsOwned(lfirst_oid(lc), deptype, &relation, &attnum) ||
			attnum != column->attnum)
			continue;
		if (OidIsValid(result))
			return InvalidOid;
		result = lfirst_oid(lc);
	}
	return result;
}

static void
refuse_identity(const HiloColumn *column, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("column \"%s\" of table %s cannot be an identity column again",
					hilo_column_name(column), hilo_sql_table(column->relation)),
			 errdetail("%s", detail),
			 errhint("Drop the trigger that calls hilo.advance(), and give the column a default.")));
}

/*
 * Turn the sequence of an identity column into one that the column owns like a
 * serial column, or the other way round.
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

void
hilo_switch_identity(const HiloColumn *column, char identity)
{
	Relation	rel = table_open(AttributeRelationId, RowExclusiveLock);
	HeapTuple	tuple = SearchSysCacheCopyAttNum(column->relation,
												 column->attnum);
	bool		is_partition = get_rel_relispartition(column->relation);
	Form_pg_attribute att;
	Oid			sequence = owned_sequence(column, identity == '\0' ?
										  DEPENDENCY_INTERNAL : DEPENDENCY_AUTO);

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for attribute %d of relation %u",
			 column->attnum, column->relation);
	att = (Form_pg_attribute) GETSTRUCT(tuple);
	if ((identity == '\0') == (att->attidentity == '\0'))
		elog(ERROR, "attribute %d of relation %u has no identity to switch",
			 column->attnum, column->relation);
	if (identity != '\0')
	{
		if (!hilo_holds_numbers(att->atttypid))
			refuse_identity(column, psprintf("Its type is %s.",
											 format_type_be(att->atttypid)));
		if (att->atthasdef || !att->attnotnull)
			refuse_identity(column, "It has a default, or allows nulls.");
		if (!OidIsValid(sequence) && !is_partition)
			refuse_identity(column, "It does not own exactly one sequence.");
	}
	if (OidIsValid(sequence))
		change_ownership(column, sequence,
						 identity == '\0' ? DEPENDENCY_INTERNAL : DEPENDENCY_AUTO,
						 identity == '\0' ? DEPENDENCY_AUTO : DEPENDENCY_INTERNAL);
	att->attidentity = identity;
	CatalogTupleUpdate(rel, &tuple->t_self, tuple);
	table_close(rel, RowExclusiveLock);
	CommandCounterIncrement();
}

bool
hilo_is_expression(const char *string)
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

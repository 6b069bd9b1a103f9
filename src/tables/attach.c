/*-------------------------------------------------------------------------
 *
 * attach.c
 *	  What attaching a column does beyond the DDL.
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
#include "catalog/pg_inherits.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/failure_point.h"
#include "base/sql.h"
#include "tables/attach.h"
#include "tables/binding.h"
#include "tables/highest.h"

/*
 * The record, and the counter
 */

/*
 * Record the binding, instead of those to the same table, and of dead ones.
 */
static void
record(const HiloColumn *column, const char *collection)
{
	HiloBinding binding = {.kind = HILO_ATTACHED};
	ListCell   *lc;

	foreach(lc, hilo_bindings(collection))
	{
		HiloBinding *other = lfirst(lc);

		if (other->kind == HILO_ATTACHED &&
			(!OidIsValid(other->living.relation) ||
			 other->living.relation == column->relation))
			(void) hilo_binding_remove(other);
	}
	hilo_binding_set_relation(&binding, column->relation, InvalidAttrNumber);
	hilo_binding_add(collection, &binding);
}

/* Note that all ids are known that a trigger of the table would look for. */
static void
note_triggers(Oid relation, const char *collection)
{
	Relation	rel = table_open(relation, NoLock);
	Oid			function = LookupFuncName(list_make2(makeString(HILO_SCHEMA),
													 makeString("advance")),
										  0, NULL, false);

	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		Trigger    *trigger = &rel->trigdesc->triggers[i];

		if (trigger->tgfoid == function && trigger->tgnargs > 0 &&
			strcmp(trigger->tgargs[0], collection) == 0)
			hilo_note_trigger(trigger->tgoid);
	}
	table_close(rel, NoLock);
}

int64
hilo_attach_column(const HiloColumn *column, const char *collection,
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
		note_triggers(lfirst_oid(lc), collection);
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
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 identity == '\0' ?
				 errmsg("column \"%s\" of relation \"%s\" is not an identity column",
						hilo_column_name(column), get_rel_name(column->relation)) :
				 errmsg("column \"%s\" of relation \"%s\" is already an identity column",
						hilo_column_name(column), get_rel_name(column->relation))));
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

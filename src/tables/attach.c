/*-------------------------------------------------------------------------
 *
 * attach.c
 *	  Attaches columns to collections, and detaches them.
 *
 * The default and the trigger, which belong to the table, are changed by SQL, as
 * the table's owner would do it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/catalog.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_subscription.h"
#include "commands/defrem.h"
#include "commands/extension.h"
#include "commands/trigger.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "base/failure_point.h"
#include "base/settings.h"
#include "base/sql.h"
#include "counting/catalog.h"
#include "servers/citus.h"
#include "session/collection.h"
#include "tables/attach.h"
#include "tables/attachment.h"
#include "tables/binding.h"
#include "tables/drawer.h"
#include "tables/highest.h"
#include "tables/rights.h"

#define SEE_ATTACHMENTS \
	"The view hilo.attachments shows which columns are attached."

/*
 * Columns
 */

/* Raise an error unless the current user owns the table. */
static char *
check_owned(Oid relation)
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

/* The column of that name. */
static AttrNumber
named_column(Oid relation, const char *table, const char *name)
{
	AttrNumber	attnum = get_attnum(relation, name);

	if (attnum <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						name, table)));
	return attnum;
}

/*
 * Refuse a table of Citus that cannot have triggers, and say what to do
 * instead.
 */
static void
refuse_citus_table(const HiloColumn *column)
{
	char	   *name = hilo_column_name(column);
	char	   *table = get_rel_name(column->relation);
	char	   *collection = quote_literal_cstr(table);
	char	   *quoted = hilo_sql_table(column->relation);
	char	   *alter = psprintf("ALTER TABLE %s ALTER COLUMN %s SET DEFAULT %s(%s);",
								 quoted, quote_identifier(name),
								 hilo_holds_numbers(hilo_column_type(column)) ?
								 "hilo_next_number" : "hilo_next", collection);

	/*
	 * The default of the distribution column can be changed only while the
	 * table is not distributed.
	 */
	if (hilo_citus_distribution_column(column->relation) == column->attnum)
		alter = psprintf("SELECT undistribute_table(%s); %s SELECT create_distributed_table(%s, %s);",
						 quote_literal_cstr(quoted), alter,
						 quote_literal_cstr(quoted), quote_literal_cstr(name));
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("Citus table \"%s\" cannot be attached to a collection",
					table),
			 errdetail("Citus does not allow triggers on distributed tables or reference tables."),
			 errhint("Draw in a column default, and advance the collection by hand: %s SELECT hilo.bind(%s, %s, %s); SELECT hilo.sync(%s);",
					 alter, collection, quote_literal_cstr(quoted),
					 quote_literal_cstr(name), collection)));
}

HiloColumn
hilo_attachable_column(Oid relation, const char *column_name)
{
	HiloColumn	column = {relation, InvalidAttrNumber};
	char	   *table = check_owned(relation);
	char		kind = get_rel_relkind(relation);
	char		generated;
	Oid			type;

	if ((kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE) ||
		get_rel_persistence(relation) == RELPERSISTENCE_TEMP ||
		IsCatalogRelationOid(relation) ||
		OidIsValid(getExtensionOfObject(RelationRelationId, relation)))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" cannot be attached to a collection", table),
				 errdetail("Only ordinary and partitioned tables can be attached, but not temporary tables, catalogs, or tables of an extension.")));
	if (get_rel_relispartition(relation))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("partition \"%s\" cannot be attached to a collection",
						table),
				 errhint("Attach the partitioned table.")));

	column.attnum = column_name == NULL ? primary_key(relation, table) :
		named_column(relation, table, column_name);
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
 * Check again, now that the table is locked, that the column exists and that
 * the current user may attach it.  Returns its name.
 */
static const char *
check_again(const HiloColumn *column)
{
	char	   *name = hilo_column_name(column);

	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("the column was dropped by another session")));
	(void) hilo_attachable_column(column->relation, name);
	return name;
}

/*
 * The attachment of a column by a trigger of its own, not a clone; NULL: none.
 */
static HiloAttachment *
own_attachment(const HiloColumn *column)
{
	ListCell   *lc;

	foreach(lc, hilo_attachments_of_table(column->relation))
	{
		HiloAttachment *attachment = lfirst(lc);

		if (!attachment->is_clone &&
			hilo_same_column(&attachment->column, column))
			return attachment;
	}
	return NULL;
}

HiloColumn
hilo_detachable_column(Oid relation, const char *column_name)
{
	HiloColumn	column = {relation, InvalidAttrNumber};
	char	   *table = check_owned(relation);
	List	   *attachments;

	if (column_name != NULL)
	{
		column.attnum = named_column(relation, table, column_name);
		return column;
	}
	attachments = hilo_attachments_of_table(relation);
	if (list_length(attachments) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 attachments == NIL ?
				 errmsg("no column of table \"%s\" is attached to a collection", table) :
				 errmsg("several columns of table \"%s\" are attached to collections", table),
				 attachments == NIL ?
				 errhint(SEE_ATTACHMENTS) : errhint("Specify the column.")));
	return ((HiloAttachment *) linitial(attachments))->column;
}

int64
hilo_attached_limit(const char *collection)
{
	int64		limit = PG_INT64_MAX;
	ListCell   *lc;

	foreach(lc, hilo_draw_right_attachments(collection))
	{
		HiloAttachment *attachment = lfirst(lc);

		limit = Min(limit,
					hilo_type_limit(hilo_column_type(&attachment->column)));
	}
	return limit;
}

/*
 * Attach
 */

/*
 * The default expression that draws from the collection, as the server prints
 * it.
 */
static char *
hilo_default(const HiloTableColumn *change, const char *collection)
{
	return psprintf("%s.%s(%s::text)",
					quote_identifier(get_namespace_name(hilo_catalog_schema())),
					hilo_holds_numbers(change->type) ? "hilo_next_number" : "hilo_next",
					hilo_shown_literal(collection));
}

/* An unused name for a trigger of the table, palloc'd. */
static char *
new_trigger_name(const HiloTableColumn *change)
{
	char	   *name = makeObjectName(HILO_TRIGGER_NAME, change->name, NULL);

	for (int i = 1; OidIsValid(get_trigger_oid(change->column.relation, name, true)); i++)
		name = makeObjectName(HILO_TRIGGER_NAME, change->name, psprintf("%d", i));
	return name;
}

/*
 * Create the trigger, which advances the collection, and records what was
 * replaced.
 */
static void
create_trigger(const HiloTableColumn *change, const char *collection,
			   const HiloDrawer *replaced, bool assign)
{
	StringInfoData arguments;
	bool		by_default = strcmp(replaced->kind, HILO_REPLACED_DEFAULT) == 0;

	initStringInfo(&arguments);
	appendStringInfo(&arguments, "%s, %s", quote_literal_cstr(collection),
					 quote_literal_cstr(replaced->kind));
	if (by_default || assign)
		appendStringInfo(&arguments, ", %s",
						 quote_literal_cstr(by_default ? replaced->default_text : ""));
	if (assign)
		appendStringInfo(&arguments, ", %s", quote_literal_cstr(HILO_ASSIGN));
	hilo_sql_run("CREATE TRIGGER %s BEFORE INSERT OR UPDATE OF %s ON %s FOR EACH ROW EXECUTE FUNCTION hilo.%s(%s)",
				 quote_identifier(new_trigger_name(change)),
				 change->quoted_name, change->table,
				 HILO_ADVANCE_FUNCTION, arguments.data);
}

/*
 * Re-create the column's trigger if it does not assign ids although it should,
 * or the other way round.
 */
static void
replace_trigger(const HiloTableColumn *change, const HiloAttachment *own, bool assign)
{
	HiloDrawer	drawer = {own->replaced, own->default_text};

	if (own->assigns == assign)
		return;
	hilo_sql_run("DROP TRIGGER %s ON %s", quote_identifier(own->trigger_name),
				 change->table);
	create_trigger(change, own->collection, &drawer, assign);
}

/*
 * True if a partition needs no trigger of its own.  It has a clone of its
 * parent's, which describes what was replaced in both, provided that is the
 * same.  A partition without a default stays without one.
 */
static bool
follows_parent(const HiloTableColumn *change, const HiloDrawer *drawer,
			   const HiloDrawer *of_parent)
{
	return change->is_partition &&
		(hilo_same_drawer(drawer, of_parent) ||
		 strcmp(drawer->kind, HILO_REPLACED_NOTHING) == 0);
}

/*
 * What drew the values of a child created while its parent was attached, and
 * whose default is therefore the collection's.
 */
static HiloDrawer
drawer_of_later_child(const HiloAttachment *parent)
{
	HiloDrawer	drawer = {HILO_REPLACED_NOTHING, NULL};
	HiloSequence *sequence;

	if (strcmp(parent->replaced, HILO_REPLACED_DEFAULT) == 0)
		drawer.default_text = parent->default_text;
	else if (strcmp(parent->replaced, HILO_REPLACED_SEQUENCE) == 0 &&
			 (sequence = hilo_owned_sequence(&parent->column)) != NULL)
		drawer.default_text = hilo_draw_from(sequence);
	if (drawer.default_text != NULL)
		drawer.kind = HILO_REPLACED_DEFAULT;
	return drawer;
}

/* Create or re-create the triggers of the table and its children. */
static void
create_triggers(const char *column, List *tables, const char *collection,
				const HiloDrawer *of_parent, HiloAttachAssign assign)
{
	HiloTableColumn root = hilo_table_column(linitial_oid(tables), column);
	const HiloAttachment *attachment = own_attachment(&root.column);
	bool		assigns = assign == HILO_ATTACH_ASSIGN ||
		(assign == HILO_ATTACH_AS_IS && attachment != NULL &&
		 attachment->assigns);
	ListCell   *lc;

	foreach(lc, tables)
	{
		HiloTableColumn one = hilo_table_column(lfirst_oid(lc), column);
		HiloDrawer	drawer = hilo_present_drawer(&one.column);
		HiloAttachment *own = own_attachment(&one.column);

		if (own != NULL)
		{
			if (assign != HILO_ATTACH_AS_IS)
				replace_trigger(&one, own, assign == HILO_ATTACH_ASSIGN);
			continue;
		}
		if (attachment != NULL &&
			hilo_same_expression(drawer.default_text, hilo_default(&one, collection)))
			drawer = drawer_of_later_child(attachment);
		if (!follows_parent(&one, &drawer, of_parent))
			create_trigger(&one, collection, &drawer, assigns);
	}
}

/*
 * Make the default of the column in the table and its children draw from the
 * collection.
 */
static void
set_defaults(const char *column, List *tables, const char *collection,
			 const HiloDrawer *of_parent)
{
	ListCell   *lc;

	foreach(lc, tables)
	{
		HiloTableColumn one = hilo_table_column(lfirst_oid(lc), column);
		HiloDrawer	drawer = hilo_present_drawer(&one.column);

		if (one.is_partition && !hilo_same_drawer(&drawer, of_parent) &&
			strcmp(drawer.kind, HILO_REPLACED_NOTHING) == 0)
			continue;
		if (hilo_column_identity(&one.column) != '\0')
			hilo_end_identity(&one);
		hilo_set_default(&one, hilo_default(&one, collection));
	}
}

/*
 * Raise an error if the column is attached to another collection, or the
 * collection is bound to something else.
 */
static void
check_not_elsewhere(const HiloTableColumn *change, List *tables, const char *collection)
{
	ListCell   *lc;

	foreach(lc, tables)
	{
		HiloTableColumn one = hilo_table_column(lfirst_oid(lc), change->name);
		HiloAttachment *attachment = hilo_attachment_of_column(&one.column);

		if (attachment != NULL &&
			strcmp(attachment->collection, collection) != 0)
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("column \"%s\" of table %s is attached to collection \"%s\"",
							change->name, one.table, attachment->collection),
					 errhint("Undo that with hilo.detach() first.")));
	}

	if (hilo_is_bound(collection))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("\"%s\" is bound elsewhere", collection),
				 errhint("Undo that with hilo.unbind() first.")));
}

void
hilo_attach_check_unshared(const HiloColumn *column, const char *collection)
{
	List	   *tables;
	ListCell   *lc;

	/* A column that already shares the collection need not name it again. */
	if (hilo_attachment_of_column(column) != NULL)
		return;
	tables = find_all_inheritors(column->relation, NoLock, NULL);
	foreach(lc, hilo_draw_right_attachments(collection))
	{
		HiloAttachment *attachment = lfirst(lc);

		if (!list_member_oid(tables, attachment->column.relation))
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("collection \"%s\" is attached to table \"%s\"",
							collection,
							get_rel_name(attachment->column.relation)),
					 errhint("Specify the collection: this one to share it, or another.")));
	}
}

/*
 * Delete notes about columns that no longer exist, and about triggers that no
 * longer exist or have changed.  The note about a detached column stays, because
 * the column may be attached again.
 */
static void
remove_outdated(const char *collection)
{
	ListCell   *lc;

	foreach(lc, hilo_bindings(collection))
	{
		HiloBinding *binding = lfirst(lc);
		HiloAttachment *attachment;

		if (binding->attached)
		{
			if (!hilo_binding_has_column(binding))
				hilo_binding_remove(collection, binding);
			continue;
		}
		if (!OidIsValid(binding->trigger))
			continue;
		attachment = hilo_attachment_of_trigger(binding->trigger);
		if (attachment == NULL || attachment->xid != binding->trigger_xid)
			hilo_binding_remove(collection, binding);
	}
}

/*
 * Note that the column was attached by a user who may do so, and that the
 * triggers of the tables were seen.
 */
static void
note_attached(const HiloColumn *column, List *tables, const char *collection)
{
	HiloColumn	copy = *column;
	HiloBinding binding = {.column = &copy,.attached = true};
	bool		noted = false;
	ListCell   *lc;

	remove_outdated(collection);
	foreach(lc, hilo_bindings(collection))
	{
		HiloBinding *other = lfirst(lc);

		noted = noted || (other->attached &&
						  hilo_same_column(other->column, column));
	}
	if (!noted)
		hilo_binding_add(collection, &binding);

	foreach(lc, hilo_attachments(collection))
	{
		HiloAttachment *attachment = lfirst(lc);

		if (list_member_oid(tables, attachment->column.relation) &&
			!hilo_attachment_is_seen(attachment))
			hilo_attachment_note_seen(attachment);
	}
}

/*
 * Report that ids of several servers meet in this database while this one has
 * the default tag.
 */
static void
report_common_tag(const HiloTableColumn *change, const char *name)
{
	HiloCollection collection;

	if (!hilo_holds_ids(hilo_column_type(&change->column)) ||
		CountDBSubscriptions(MyDatabaseId) == 0)
		return;
	hilo_collection_init(&collection, name);
	(void) hilo_collection_row(&collection);
	if (strcmp(hilo_collection_node_tag(&collection), HILO_DEFAULT_NODE_TAG) == 0)
		ereport(NOTICE,
				(errmsg("this database receives rows from another server, but ids of collection \"%s\" have the default tag \"%s\"",
						name, HILO_DEFAULT_NODE_TAG),
				 errhint("Set hilo.node_tag to a tag that only this server has.")));
}

static void
report_attached(const HiloTableColumn *change, const char *collection,
				const HiloDrawer *replaced, bool from_sequence, int64 max)
{
	ereport(NOTICE,
			(errmsg("column \"%s\" of table %s is attached to collection \"%s\", which continues above " INT64_FORMAT,
					change->name, change->table, collection, max),
			 hilo_identity_of_kind(replaced->kind) != '\0' ?
			 errdetail("It is not an identity column while it is attached.") :
			 replaced->default_text != NULL ?
			 errdetail("Its default was %s.", replaced->default_text) : 0,
			 !from_sequence ? 0 :
			 errhint("lastval() and currval() do not see the numbers of a collection: use RETURNING, or hilo_last_number().")));
	report_common_tag(change, collection);
}

/* Raise an error unless the column is attached to the collection. */
static const HiloAttachment *
check_attached(const HiloTableColumn *change, const char *collection)
{
	HiloAttachment *attachment = own_attachment(&change->column);

	if (attachment == NULL ||
		strcmp(attachment->collection, collection) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("column \"%s\" of table %s is not attached to collection \"%s\"",
						change->name, change->table, collection)));
	return attachment;
}

/*
 * Lock the table and its children, into which rows can be inserted directly, and
 * raise an error unless the column may be attached.
 */
static HiloTableColumn
lock_to_attach(const HiloColumn *column, const char *collection,
			   LOCKMODE lockmode, List **tables)
{
	HiloTableColumn change;

	LockRelationOid(column->relation, lockmode);
	*tables = find_all_inheritors(column->relation, lockmode, NULL);
	change = hilo_table_column(column->relation, check_again(column));
	hilo_bindings_lock(collection);
	check_not_elsewhere(&change, *tables, collection);
	return change;
}

/*
 * The last step of attaching: advance the counter, which no rollback undoes.
 */
static int64
adopt(const HiloTableColumn *change, HiloCollection *collection, int64 highest)
{
	int64		max = hilo_collection_adopt(collection, highest,
											hilo_type_limit(change->type), false);

	HILO_FAILURE_POINT("counter adopted");
	return max;
}

static int64
highest_id(const HiloTableColumn *change, HiloCollection *collection)
{
	HiloSought	sought = hilo_sought(collection);

	return hilo_column_highest(&change->column, &sought, true);
}

int64
hilo_attach_column(const HiloColumn *column, const char *name,
				   HiloAttachAssign assign)
{
	int			level = hilo_sql_begin();
	List	   *tables;
	HiloTableColumn change = lock_to_attach(column, name, AccessExclusiveLock,
											&tables);
	bool		was_attached = own_attachment(column) != NULL;
	List	   *sequences = hilo_column_sequences(&change.column);
	HiloDrawer	replaced = hilo_present_drawer(&change.column);
	HiloCollection collection;
	int64		highest;
	int64		max;

	hilo_collection_init(&collection, name);
	highest = Max(highest_id(&change, &collection),
				  hilo_highest_drawn(sequences));
	create_triggers(change.name, tables, name, &replaced, assign);
	set_defaults(change.name, tables, name, &replaced);
	note_attached(column, tables, name);
	HILO_FAILURE_POINT("column bound");

	max = adopt(&change, &collection, highest);
	if (!was_attached)
		report_attached(&change, name, &replaced, sequences != NIL, max);
	hilo_sql_end(level);
	return max;
}

/*
 * The triggers can be noted as seen before the ids are read: rows inserted from
 * now on advance the counter, and no default draws from it yet.
 */
void
hilo_attach_triggers(const HiloColumn *column, const char *name,
					 HiloAttachAssign assign)
{
	int			level = hilo_sql_begin();
	List	   *tables;
	HiloTableColumn change = lock_to_attach(column, name, ShareRowExclusiveLock,
											&tables);
	HiloDrawer	replaced = hilo_present_drawer(&change.column);

	create_triggers(change.name, tables, name, &replaced, assign);
	note_attached(column, tables, name);
	hilo_sql_end(level);
}

void
hilo_attach_check_room(const HiloColumn *column, const char *name)
{
	int64		limit = hilo_type_limit(hilo_column_type(column));
	HiloCollection collection;
	HiloSought	sought;
	int64		highest;

	if (limit == PG_INT64_MAX)
		return;
	hilo_collection_init(&collection, name);
	sought = hilo_sought(&collection);
	sought.above = 0;
	highest = hilo_column_highest(column, &sought, true);
	if (highest >= limit)
		ereport(ERROR,
				(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
				 errmsg("column \"%s\" of table %s already has the highest number of its type, " INT64_FORMAT,
						hilo_column_name(column),
						hilo_sql_table(column->relation), highest),
				 errhint("Move the column to a larger type, or change that row.")));
}

void
hilo_attach_counter(const HiloColumn *column, const char *name)
{
	HiloCollection collection;
	HiloTableColumn change;

	LockRelationOid(column->relation, AccessShareLock);
	change = hilo_table_column(column->relation, check_again(column));
	check_attached(&change, name);
	hilo_collection_init(&collection, name);
	(void) adopt(&change, &collection, highest_id(&change, &collection));
}

int64
hilo_attach_defaults(const HiloColumn *column, const char *name)
{
	int			level = hilo_sql_begin();
	List	   *tables;
	HiloTableColumn change = lock_to_attach(column, name, AccessExclusiveLock,
											&tables);
	const HiloAttachment *attachment = check_attached(&change, name);
	List	   *sequences = hilo_column_sequences(&change.column);
	HiloDrawer	replaced = hilo_present_drawer(&change.column);
	HiloCollection collection;
	bool		is_first;
	int64		max;

	/* A repeated call finds the default that the first call has set. */
	is_first = !hilo_same_expression(replaced.default_text, hilo_default(&change, name));
	if (is_first)
	{
		if (strcmp(attachment->replaced, replaced.kind) != 0)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("the default of column \"%s\" of table %s was changed by another session",
							change.name, change.table),
					 errhint("Call hilo.detach() and try again.")));
		set_defaults(change.name, tables, name, &replaced);
	}
	note_attached(column, tables, name);
	hilo_collection_init(&collection, name);
	max = adopt(&change, &collection, hilo_highest_drawn(sequences));
	if (is_first)
		report_attached(&change, name, &replaced, sequences != NIL, max);
	hilo_sql_end(level);
	return max;
}

void
hilo_attach_limit(const char *collection)
{
	HiloCounterOptions options = {.max_value = hilo_attached_limit(collection)};
	HiloRow		row;
	HiloRowRef	ref;

	hilo_row_ref_init(&ref, collection);
	if (!hilo_counter_read(&ref, &row))
		return;
	if (row.max_value < options.max_value && !(row.flags & HILO_ROW_OWN_LIMIT))
		hilo_counter_configure(&ref, &options);
}

/*
 * Detach
 */

/* Error callback: the objects in the default may have been renamed since. */
static void
hint_at_default(void *change)
{
	if (ERRCODE_TO_CATEGORY(geterrcode()) ==
		ERRCODE_SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION)
		errhint("The default dates from before the table was attached. Restore the objects that it refers to, or drop the trigger whose name begins with %s and give column \"%s\" a default.",
				HILO_TRIGGER_NAME, ((const HiloTableColumn *) change)->name);
}

/* Restore an earlier default. */
static void
restore_default(const HiloTableColumn *change, const char *expression)
{
	ErrorContextCallback callback = {error_context_stack, hint_at_default,
	(void *) change};

	error_context_stack = &callback;
	hilo_set_default(change, expression);
	error_context_stack = callback.previous;
}

/*
 * Restore what drew the values of one table: the default expression (NULL:
 * none), or, if identity is not '\0', an identity column.
 */
static void
restore_drawer(const HiloTableColumn *change, const char *expression, char identity)
{
	if (expression != NULL)
		restore_default(change, expression);
	else
		hilo_drop_default(change);

	/* Before version 17 partitions have no identity. */
	if (identity != '\0' &&
		(!change->is_partition || hilo_partitions_have_identity()))
		hilo_begin_identity(change, identity);
}

/* The default that draws from the sequence that the column owns. */
static char *
owned_default(const HiloTableColumn *change)
{
	HiloSequence *sequence = hilo_owned_sequence(&change->column);

	if (sequence == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("column \"%s\" of table %s does not own exactly one sequence",
						change->name, change->table),
				 errhint("Drop the trigger whose name begins with %s, and give the column a default.",
						 HILO_TRIGGER_NAME)));
	return hilo_draw_from(sequence);
}

/*
 * Detach one table. replaced is the attachment of the table's own trigger, or
 * of the parent's for a partition without one.
 */
static void
detach_table(const HiloTableColumn *change, const char *collection,
			 const HiloAttachment *replaced, const char *sequence_default)
{
	char	   *present = hilo_column_default(&change->column);
	char		identity = hilo_identity_of_kind(replaced->replaced);
	const char *expression = replaced->default_text;

	if (strcmp(replaced->replaced, HILO_REPLACED_SEQUENCE) == 0)
		expression = sequence_default;
	if (hilo_same_expression(present, hilo_default(change, collection)))
		restore_drawer(change, expression, identity);
	else if (!change->is_partition &&
			 (identity != '\0' || !hilo_same_expression(present, expression)))
		ereport(NOTICE,
				(errmsg("column \"%s\" of table %s keeps the default set since it was attached",
						change->name, change->table)));
}

/* Set the sequences that will draw again to continue above the collection. */
static void
position_sequences(const HiloTableColumn *change, const char *collection)
{
	HiloRowRef	ref;
	HiloRow		row;
	ListCell   *lc;

	hilo_row_ref_init(&ref, collection);
	if (!hilo_counter_read(&ref, &row))
		return;
	foreach(lc, hilo_column_sequences(&change->column))
		hilo_position_sequence(lfirst(lc), row.max);
}

const char *
hilo_detach_column(const HiloColumn *column)
{
	int			level = hilo_sql_begin();
	List	   *tables;
	HiloTableColumn change;
	HiloAttachment *root;
	const char *replaced;
	char	   *sequence_default = NULL;
	ListCell   *lc;

	LockRelationOid(column->relation, AccessExclusiveLock);
	tables = find_all_inheritors(column->relation, AccessExclusiveLock, NULL);
	change = hilo_table_column(column->relation, check_again(column));
	root = own_attachment(column);
	if (root == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("column \"%s\" of table %s is not attached to a collection",
						change.name, change.table),
				 errhint(SEE_ATTACHMENTS)));
	if (strcmp(root->replaced, HILO_REPLACED_SEQUENCE) == 0)
		sequence_default = owned_default(&change);

	hilo_bindings_lock(root->collection);
	foreach(lc, tables)
	{
		HiloTableColumn one = hilo_table_column(lfirst_oid(lc), change.name);
		HiloAttachment *own = own_attachment(&one.column);

		if (own == NULL && !one.is_partition)
			continue;
		if (own != NULL)
			hilo_sql_run("DROP TRIGGER %s ON %s",
						 quote_identifier(own->trigger_name), one.table);
		if (own != NULL && own->trigger != root->trigger &&
			strcmp(own->replaced, HILO_REPLACED_SEQUENCE) == 0)
			detach_table(&one, root->collection, own, owned_default(&one));
		else
			detach_table(&one, root->collection, own != NULL ? own : root,
						 sequence_default);
	}
	foreach(lc, tables)
	{
		HiloTableColumn one = hilo_table_column(lfirst_oid(lc), change.name);

		position_sequences(&one, root->collection);
	}
	remove_outdated(root->collection);
	hilo_attach_limit(root->collection);

	replaced = root->replaced;
	hilo_sql_end(level);
	return replaced;
}

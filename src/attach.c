/*-------------------------------------------------------------------------
 *
 * attach.c
 *	  Switches a column over to ids of a collection, and back.
 *
 * What belongs to the table (default, trigger, sequence) is changed by SQL, as
 * its owner would do it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/catalog.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "commands/defrem.h"
#include "commands/extension.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "attach.h"
#include "binding.h"
#include "catalog.h"
#include "collection.h"
#include "compat.h"
#include "failure_point.h"
#include "sql.h"
#include "sync.h"

/* Fires after triggers with ordinary names, which may set the id. */
#define TRIGGER_NAME	"zzz_hilo_advance"

/* How often, and how long, hilo_attach() waits for a sequence's lock. */
#define LOCK_ATTEMPTS	20
#define LOCK_PAUSE_MS	1

/* A column while it is switched over; all strings are palloc'd. */
typedef struct Switch
{
	HiloColumn	column;
	Oid			type;			/* base type of the column */
	char	   *schema;			/* of the table, */
	char	   *table;			/* and its qualified name, quoted */
	char	   *name;			/* of the column, */
	char	   *quoted_name;	/* quoted */
	char	   *hilo;			/* schema of the extension, quoted */
	int			sql_level;
} Switch;

/* Get ready to change the table by SQL. */
static Switch *
begin_switch(const HiloColumn *column)
{
	Switch	   *change = palloc0(sizeof(Switch));
	char	   *table = get_rel_name(column->relation);

	change->column = *column;
	change->name = hilo_column_name(column);
	change->schema = get_namespace_name(get_rel_namespace(column->relation));
	if (table == NULL || change->name == NULL || change->schema == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist",
						column->relation)));
	change->quoted_name = pstrdup(quote_identifier(change->name));
	change->type = hilo_column_type(column);
	change->table = pstrdup(quote_qualified_identifier(change->schema, table));
	change->hilo = pstrdup(quote_identifier(get_namespace_name(hilo_catalog_schema())));

	change->sql_level = hilo_sql_begin();
	return change;
}

static void
end_switch(Switch *change)
{
	hilo_sql_end(change->sql_level);
}

/*
 * Columns
 */

HiloColumn
hilo_attachable_column(Oid relation, const char *column_name)
{
	HiloColumn	column = {relation, InvalidAttrNumber};
	char	   *table = get_rel_name(relation);
	char		kind = get_rel_relkind(relation);
	Oid			type;

	if (table == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relation)));
	if (!hilo_owns_relation(relation, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, table);
	if ((kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE) ||
		get_rel_persistence(relation) == RELPERSISTENCE_TEMP ||
		IsCatalogRelationOid(relation) ||
		OidIsValid(getExtensionOfObject(RelationRelationId, relation)))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" cannot be attached to a collection", table),
				 errdetail("It should be an ordinary or partitioned table, not a temporary one, a catalog, or a table of an extension.")));
	if (get_rel_relispartition(relation))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("partition \"%s\" cannot be attached to a collection",
						table),
				 errhint("Attach the partitioned table.")));

	column.attnum = get_attnum(relation, column_name);
	if (column.attnum <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						column_name, table)));

	type = hilo_column_type(&column);
	if (!hilo_holds_ids(type) && !hilo_holds_numbers(type))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of relation \"%s\" cannot hold ids of a collection",
						column_name, table),
				 errdetail("Its type is %s; it should be smallint, integer, bigint, text, varchar or citext.",
						   format_type_be(type))));
	return column;
}

/*
 * Call visit for each trigger of a table that attaches a column.  Its list of
 * columns says which one: that follows it through renames.
 */
static void
visit_triggers(Oid relation, const char *column,
			   void (*visit) (Relation rel, Trigger *trigger, void *arg),
			   void *arg)
{
	Relation	rel = table_open(relation, AccessShareLock);
	AttrNumber	attnum = get_attnum(relation, column);
	Oid			function = LookupFuncName(list_make2(makeString(get_namespace_name(hilo_catalog_schema())),
													 makeString(HILO_ADVANCE_FUNCTION)),
										  0, NULL, false);

	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		Trigger    *trigger = &rel->trigdesc->triggers[i];

		if (trigger->tgfoid == function && trigger->tgnargs == 2 &&
			trigger->tgnattr == 1 && trigger->tgattr[0] == attnum)
			visit(rel, trigger, arg);
	}
	table_close(rel, AccessShareLock);
}

static void
note_collection(Relation rel, Trigger *trigger, void *arg)
{
	*(char **) arg = pstrdup(trigger->tgargs[1]);
}

/* The collection that a column of a table is attached to; NULL: none. */
static char *
attached_collection(Oid relation, const char *column)
{
	char	   *collection = NULL;

	visit_triggers(relation, column, note_collection, &collection);
	return collection;
}

char *
hilo_attached_collection(const HiloColumn *column)
{
	return attached_collection(column->relation, hilo_column_name(column));
}

int64
hilo_attached_limit(HiloName collection)
{
	int64		limit = PG_INT64_MAX;
	ListCell   *lc;

	foreach(lc, hilo_bindings(collection))
	{
		HiloBinding *binding = lfirst(lc);

		if (binding->attached && hilo_binding_has_column(binding))
			limit = Min(limit,
						hilo_type_limit(hilo_column_type(binding->column)));
	}
	return limit;
}

/*
 * Sequences
 */

/* A sequence that draws the values of a column. */
typedef struct Sequence
{
	Oid			oid;
	bool		owned;			/* by the column, which can drop it */
	char	   *name;			/* qualified and quoted */
} Sequence;

/* Those that the column owns, and those that its default draws from. */
static List *
find_sequences(const Switch *change)
{
	List	   *sequences = NIL;
	char	   *sql;
	uint64		count;

	sql = psprintf("SELECT s.oid, pg_catalog.bool_or(d.deptype IN ('a', 'i')), pg_catalog.format('%%I.%%I', n.nspname, s.relname)"
				   " FROM pg_catalog.pg_depend d"
				   " JOIN pg_catalog.pg_class s ON s.relkind = 'S' AND s.oid = CASE WHEN d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass THEN d.objid ELSE d.refobjid END"
				   " JOIN pg_catalog.pg_namespace n ON n.oid = s.relnamespace"
				   " LEFT JOIN pg_catalog.pg_attrdef def ON d.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass AND def.oid = d.objid"
				   " WHERE (d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid = %u AND d.refobjsubid = %d AND d.deptype IN ('a', 'i'))"
				   " OR (d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND def.adrelid = %u AND def.adnum = %d)"
				   " GROUP BY s.oid, n.nspname, s.relname",
				   change->column.relation, change->column.attnum,
				   change->column.relation, change->column.attnum);

	count = hilo_sql_select(sql);
	for (uint64 i = 0; i < count; i++)
	{
		HeapTuple	tuple = SPI_tuptable->vals[i];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		Sequence   *sequence = palloc(sizeof(Sequence));
		bool		isnull;

		sequence->oid = DatumGetObjectId(SPI_getbinval(tuple, desc, 1, &isnull));
		sequence->owned = DatumGetBool(SPI_getbinval(tuple, desc, 2, &isnull));
		sequence->name = SPI_getvalue(tuple, desc, 3);
		sequences = lappend(sequences, sequence);
	}
	return sequences;
}

/*
 * Highest number that a sequence has drawn or put into a session's cache:
 * last_value is beyond all of them.  One that descends began at its start.
 */
static int64
highest_drawn(const Sequence *sequence)
{
	return hilo_sql_number(psprintf("SELECT CASE WHEN q.seqincrement < 0 THEN q.seqstart WHEN s.is_called THEN s.last_value END"
									" FROM %s s, pg_catalog.pg_sequence q WHERE q.seqrelid = %u",
									sequence->name, sequence->oid));
}

/*
 * Lock a sequence, unless another session has it locked for longer than a
 * moment.  A transaction that ends lets its locks go one after the other, the
 * table's perhaps first.
 */
static bool
lock_sequence(Oid sequence)
{
	static uint32 wait_event = 0;

	for (int i = 0; !ConditionalLockRelationOid(sequence, AccessExclusiveLock); i++)
	{
		if (i == LOCK_ATTEMPTS)
			return false;
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 LOCK_PAUSE_MS,
						 hilo_wait_event("HiloAttach", &wait_event));
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	return true;
}

/*
 * Lock the table and the sequences that it owns, so that no other session draws
 * or inserts until the transaction ends.
 *
 * Transactions that draw and insert in separate statements lock the sequence
 * first; those whose default draws lock the table first.  To stay out of their
 * way we wait for one lock, for more than a moment, only while we hold no
 * other.
 */
static List *
lock_all(const Switch *change)
{
	for (;;)
	{
		List	   *sequences;
		ListCell   *lc;
		Oid			busy = InvalidOid;
		List	   *locked = NIL;

		LockRelationOid(change->column.relation, AccessExclusiveLock);
		sequences = find_sequences(change);
		foreach(lc, sequences)
		{
			Sequence   *sequence = lfirst(lc);

			if (!sequence->owned)
				continue;
			if (!lock_sequence(sequence->oid))
			{
				busy = sequence->oid;
				break;
			}
			locked = lappend_oid(locked, sequence->oid);
		}
		if (!OidIsValid(busy))
			return sequences;

		foreach(lc, locked)
			UnlockRelationOid(lfirst_oid(lc), AccessExclusiveLock);
		UnlockRelationOid(change->column.relation, AccessExclusiveLock);
		LockRelationOid(busy, AccessExclusiveLock);
		UnlockRelationOid(busy, AccessExclusiveLock);
		CHECK_FOR_INTERRUPTS();
	}
}

/* Raise an error if the column is not any more what it was before the lock. */
static void
check_still_there(const Switch *change)
{
	HiloColumn	column = hilo_attachable_column(change->column.relation,
												change->name);

	if (column.attnum != change->column.attnum ||
		hilo_column_type(&column) != change->type ||
		strcmp(change->table, hilo_sql_table(column.relation)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("table %s was changed by another session", change->table)));
}

/* Is something but the column's default drawing from the sequence? */
static bool
is_used_elsewhere(const Sequence *sequence)
{
	return hilo_sql_number(psprintf("SELECT pg_catalog.count(*) FROM pg_catalog.pg_depend"
									" WHERE refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND refobjid = %u AND deptype = 'n'",
									sequence->oid)) > 0;
}

/* The default is gone: drop a sequence that only served it. */
static void
retire_sequence(const Switch *change, const Sequence *sequence)
{
	if (get_rel_name(sequence->oid) == NULL)
		return;					/* dropped with the identity */
	if (!sequence->owned)
		ereport(NOTICE,
				(errmsg("sequence %s is kept: column \"%s\" does not own it",
						sequence->name, change->name)));
	else if (is_used_elsewhere(sequence))
	{
		hilo_sql_run("ALTER SEQUENCE %s OWNED BY NONE", sequence->name);
		ereport(NOTICE,
				(errmsg("sequence %s is kept: it is used elsewhere",
						sequence->name)));
	}
	else
	{
		hilo_sql_run("DROP SEQUENCE %s", sequence->name);
		ereport(NOTICE,
				(errmsg("sequence %s was dropped", sequence->name)));
	}
}

/*
 * Attach
 */

/* The default of the column as text; NULL: it has none. */
static char *
default_text(const Switch *change)
{
	if (hilo_sql_select(psprintf("SELECT pg_catalog.pg_get_expr(adbin, adrelid) FROM pg_catalog.pg_attrdef WHERE adrelid = %u AND adnum = %d",
								 change->column.relation,
								 change->column.attnum)) == 0)
		return NULL;
	return SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
}

const char *
hilo_drawn_by(const char *name)
{
	static const char *const known[] = {
		HILO_DRAWN_BY_SEQUENCE, HILO_DRAWN_BY_IDENTITY,
		HILO_DRAWN_BY_IDENTITY_ALWAYS, HILO_DRAWN_BY_NOTHING
	};

	for (int i = 0; i < (int) lengthof(known); i++)
	{
		if (strcmp(known[i], name) == 0)
			return known[i];
	}
	return NULL;
}

/* What draws the values now. */
static const char *
present_drawn_by(const Switch *change, List *sequences)
{
	Relation	rel = table_open(change->column.relation, NoLock);
	char		identity = TupleDescAttr(RelationGetDescr(rel),
										 change->column.attnum - 1)->attidentity;

	table_close(rel, NoLock);
	switch (identity)
	{
		case ATTRIBUTE_IDENTITY_ALWAYS:
			return HILO_DRAWN_BY_IDENTITY_ALWAYS;
		case ATTRIBUTE_IDENTITY_BY_DEFAULT:
			return HILO_DRAWN_BY_IDENTITY;
		default:
			return sequences != NIL ? HILO_DRAWN_BY_SEQUENCE : HILO_DRAWN_BY_NOTHING;
	}
}

static bool
is_identity(const char *drawn_by)
{
	return strcmp(drawn_by, HILO_DRAWN_BY_IDENTITY) == 0 ||
		strcmp(drawn_by, HILO_DRAWN_BY_IDENTITY_ALWAYS) == 0;
}

static void
set_default(const Switch *change, HiloName collection, const char *replaced)
{
	char	   *before;
	char	   *after;

	if (is_identity(replaced))
	{
		hilo_sql_run("ALTER TABLE %s ALTER COLUMN %s DROP IDENTITY",
					 change->table, change->quoted_name);
		ereport(NOTICE,
				(errmsg("column \"%s\" is no identity column any more",
						change->name)));
	}

	before = default_text(change);
	hilo_sql_run("ALTER TABLE %s ALTER COLUMN %s SET DEFAULT %s.%s(%s)",
				 change->table, change->quoted_name, change->hilo,
				 hilo_holds_numbers(change->type) ? "hilo_next_number" : "hilo_next",
				 quote_literal_cstr(pnstrdup(collection.data, collection.len)));
	after = default_text(change);
	if (after == NULL)
		elog(ERROR, "column \"%s\" has no default", change->name);

	if (before == NULL)
		ereport(NOTICE,
				(errmsg("default of column \"%s\" is %s",
						change->name, after)));
	else if (strcmp(before, after) != 0)
		ereport(NOTICE,
				(errmsg("default of column \"%s\" was %s, is %s",
						change->name, before, after)));
}

/* A name for the trigger that the table does not have yet, palloc'd. */
static char *
new_trigger_name(const Switch *change, Oid table)
{
	char	   *name = makeObjectName(TRIGGER_NAME, change->name, NULL);

	for (int i = 1; OidIsValid(get_trigger_oid(table, name, true)); i++)
		name = makeObjectName(TRIGGER_NAME, change->name, psprintf("%d", i));
	return name;
}

/* Advance the collection for ids that are not drawn, in the table and children. */
static void
create_triggers(const Switch *change, List *tables, HiloName collection)
{
	ListCell   *lc;

	foreach(lc, tables)
	{
		Oid			table = lfirst_oid(lc);

		/* Triggers of a partitioned table come with it. */
		if (get_rel_relispartition(table) ||
			attached_collection(table, change->name) != NULL)
			continue;

		hilo_sql_run("CREATE TRIGGER %s BEFORE INSERT OR UPDATE OF %s ON %s FOR EACH ROW EXECUTE FUNCTION %s.%s(%s, %s)",
					 quote_identifier(new_trigger_name(change, table)),
					 change->quoted_name,
					 hilo_sql_table(table),
					 change->hilo, HILO_ADVANCE_FUNCTION,
					 quote_literal_cstr(change->name),
					 quote_literal_cstr(pnstrdup(collection.data, collection.len)));
		ereport(NOTICE,
				(errmsg("table \"%s\" has a trigger that advances the collection for ids that are not drawn",
						get_rel_name(table))));
	}
}

/*
 * Raise an error if the binding cannot be added to those of the collection.
 * Returns what was there and is for the same column, and removes what is not
 * there any more.
 */
static HiloBinding *
check_bindings(const HiloColumn *column, HiloName collection, bool named)
{
	HiloBinding *same = NULL;
	HiloBinding *elsewhere = NULL;
	ListCell   *lc;

	foreach(lc, hilo_bindings(collection))
	{
		HiloBinding *other = lfirst(lc);

		if (other->role != NULL)
			continue;
		if (other->column != NULL && !hilo_binding_has_column(other))
			hilo_binding_remove(collection, other);
		else if (other->column != NULL &&
				 hilo_same_column(other->column, column))
			same = other;
		else if (other->column == NULL || !other->attached)
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("\"%.*s\" is bound elsewhere",
							collection.len, collection.data),
					 errhint("Undo that with hilo_unbind() first.")));
		else
			elsewhere = other;
	}

	/* A column that shares it already need not say so again. */
	if (elsewhere != NULL && same == NULL && !named)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("collection \"%.*s\" is attached to table \"%s\"",
						collection.len, collection.data,
						get_rel_name(elsewhere->column->relation)),
				 errhint("Name the collection in the call, to share this one or to use another.")));
	return same;
}

/*
 * Raise an error if the column, or that of a child, is attached to another
 * collection.
 */
static void
check_not_attached_elsewhere(const Switch *change, List *tables,
							 HiloName collection)
{
	ListCell   *lc;

	foreach(lc, tables)
	{
		char	   *attached = attached_collection(lfirst_oid(lc), change->name);

		if (attached != NULL &&
			(strlen(attached) != (Size) collection.len ||
			 memcmp(attached, collection.data, collection.len) != 0))
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("column \"%s\" of table %s is attached to collection \"%s\"",
							change->name, hilo_sql_table(lfirst_oid(lc)),
							attached),
					 errhint("Undo that with hilo_detach() first.")));
	}
}

/* Bind the column, in the place of an earlier binding, which may be NULL. */
static void
bind_column(const Switch *change, HiloName collection,
			const HiloBinding *before, const char *replaced)
{
	HiloColumn	column = change->column;
	HiloBinding binding = {.column = &column,.attached = true};

	if (before != NULL && before->attached)
		return;
	if (before != NULL)
		hilo_binding_remove(collection, before);
	binding.replaced = pstrdup(replaced);
	hilo_binding_add(collection, &binding);
	ereport(NOTICE,
			(errmsg("column \"%s\" of table %s is attached to collection \"%.*s\"",
					change->name, change->table,
					collection.len, collection.data)));
}

/* The max of a collection; 0: there is none. */
static int64
max_of(HiloRowRef *ref)
{
	HiloRow		row;

	return hilo_counter_read(ref, &row) ? row.max : 0;
}

/* Get the counter ready; returns its max. */
static int64
adopt_counter(const Switch *change, HiloName name, int64 highest)
{
	HiloCollection collection;
	int64		old_max;
	int64		max;

	hilo_collection_init(&collection, name);
	old_max = max_of(&collection.ref);
	max = hilo_collection_adopt(&collection, highest,
								hilo_type_limit(change->type));
	if (max > old_max)
		ereport(NOTICE,
				(errmsg("collection \"%.*s\" goes on above " INT64_FORMAT,
						name.len, name.data, max)));
	return max;
}

/* Highest number that the column has, or one of its sequences has drawn. */
static int64
highest_number(const Switch *change, HiloName collection, List *sequences)
{
	int64		highest = hilo_column_highest(&change->column, collection,
											  PG_INT64_MAX);
	ListCell   *lc;

	foreach(lc, sequences)
	{
		int64		drawn = highest_drawn(lfirst(lc));

		highest = Max(highest, drawn);
	}
	return highest;
}

int64
hilo_attach_column(const HiloColumn *column, HiloName collection, bool named)
{
	Switch	   *change = begin_switch(column);
	List	   *sequences = lock_all(change);
	List	   *tables;
	HiloBinding *before;
	const char *replaced;
	int64		highest;
	int64		max;
	ListCell   *lc;

	check_still_there(change);

	/* Rows can be inserted into children and partitions directly, too. */
	tables = find_all_inheritors(change->column.relation, AccessExclusiveLock,
								 NULL);
	check_not_attached_elsewhere(change, tables, collection);
	hilo_bindings_lock();
	before = check_bindings(&change->column, collection, named);
	highest = highest_number(change, collection, sequences);

	replaced = present_drawn_by(change, sequences);
	set_default(change, collection, replaced);
	foreach(lc, sequences)
		retire_sequence(change, lfirst(lc));
	create_triggers(change, tables, collection);

	/* The counter last: it changes for good. */
	bind_column(change, collection, before, replaced);
	HILO_FAILURE_POINT("column bound");
	max = adopt_counter(change, collection, highest);
	HILO_FAILURE_POINT("counter adopted");
	end_switch(change);
	return max;
}

/*
 * Detach
 */

static void
drop_trigger(Relation rel, Trigger *trigger, void *arg)
{
	List	  **drops = arg;

	*drops = lappend(*drops,
					 psprintf("DROP TRIGGER %s ON %s",
							  quote_identifier(trigger->tgname),
							  hilo_sql_table(RelationGetRelid(rel))));
}

static void
drop_triggers(const Switch *change)
{
	List	   *tables = find_all_inheritors(change->column.relation, NoLock,
											 NULL);
	List	   *drops = NIL;
	ListCell   *lc;

	foreach(lc, tables)
	{
		if (!get_rel_relispartition(lfirst_oid(lc)))
			visit_triggers(lfirst_oid(lc), change->name, drop_trigger, &drops);
	}
	foreach(lc, drops)
		hilo_sql_run("%s", (char *) lfirst(lc));
}

/* The name of an unused sequence for the column, qualified and quoted. */
static char *
new_sequence_name(const Switch *change)
{
	char	   *name = ChooseRelationName(get_rel_name(change->column.relation),
										  change->name, "seq",
										  get_rel_namespace(change->column.relation),
										  false);

	return quote_qualified_identifier(change->schema, name);
}

static char *
table_owner(const Switch *change)
{
	Relation	rel = table_open(change->column.relation, NoLock);
	Oid			owner = rel->rd_rel->relowner;

	table_close(rel, NoLock);
	return GetUserNameFromId(owner, false);
}

static void
put_sequence_back(const Switch *change, const char *back_to)
{
	char	   *sequence;

	if (!is_identity(back_to))
	{
		sequence = new_sequence_name(change);
		hilo_sql_run("CREATE SEQUENCE %s AS %s", sequence,
					 format_type_be_qualified(change->type));
		hilo_sql_run("ALTER SEQUENCE %s OWNER TO %s", sequence,
					 quote_identifier(table_owner(change)));
		hilo_sql_run("ALTER SEQUENCE %s OWNED BY %s.%s", sequence,
					 change->table, change->quoted_name);
		hilo_sql_run("ALTER TABLE %s ALTER COLUMN %s SET DEFAULT pg_catalog.nextval(%s)",
					 change->table, change->quoted_name, quote_literal_cstr(sequence));
	}
	else
		hilo_sql_run("ALTER TABLE %s ALTER COLUMN %s ADD GENERATED %s AS IDENTITY",
					 change->table, change->quoted_name,
					 strcmp(back_to, HILO_DRAWN_BY_IDENTITY_ALWAYS) == 0 ? "ALWAYS" : "BY DEFAULT");
}

/* Let the sequence go on above what the collection has claimed. */
static void
position_sequence(const Switch *change, HiloName collection)
{
	HiloRowRef	ref;
	int64		max;

	hilo_row_ref_init(&ref, collection);
	max = max_of(&ref);
	(void) hilo_sql_number(psprintf("SELECT pg_catalog.setval(pg_catalog.pg_get_serial_sequence(%s, %s), " INT64_FORMAT ", %s)",
									quote_literal_cstr(change->table),
									quote_literal_cstr(change->name),
									Max(max, 1), max > 0 ? "true" : "false"));
}

/* Remove the binding; returns what it says was replaced. */
static const char *
remove_binding(const HiloColumn *column, HiloName collection)
{
	const char *replaced = NULL;
	ListCell   *lc;

	/* Restored without its binding, it has none. */
	hilo_bindings_lock();
	foreach(lc, hilo_bindings(collection))
	{
		HiloBinding *binding = lfirst(lc);

		if (!binding->attached ||
			!hilo_same_column(binding->column, column))
			continue;
		if (binding->replaced != NULL)
			replaced = hilo_drawn_by(binding->replaced);
		hilo_binding_remove(collection, binding);
	}
	return replaced == NULL ? HILO_DRAWN_BY_NOTHING : replaced;
}

/* Lift a limit that was there for the column's type only. */
static void
lift_limit(const Switch *change, HiloName collection)
{
	HiloCounterOptions options = {.max_value = hilo_attached_limit(collection)};
	HiloRow		row;
	HiloRowRef	ref;

	hilo_row_ref_init(&ref, collection);
	if (hilo_counter_read(&ref, &row) &&
		row.max_value == hilo_type_limit(change->type) &&
		row.max_value < options.max_value)
		hilo_counter_configure(&ref, &options);
}

const char *
hilo_detach_column(const HiloColumn *column, const char *back_to)
{
	Switch	   *change = begin_switch(column);
	HiloName	collection;
	const char *replaced;

	LockRelationOid(column->relation, AccessExclusiveLock);
	check_still_there(change);
	collection.data = hilo_attached_collection(column);
	if (collection.data == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("column \"%s\" of table %s is not attached to a collection",
						change->name, change->table)));
	collection.len = strlen(collection.data);

	replaced = remove_binding(column, collection);
	if (back_to == NULL)
		back_to = replaced;
	if (strcmp(back_to, HILO_DRAWN_BY_NOTHING) != 0 && !hilo_holds_numbers(change->type))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of table %s cannot be drawn from a sequence",
						change->name, change->table),
				 errdetail("Its type is %s.", format_type_be(change->type))));

	drop_triggers(change);
	hilo_sql_run("ALTER TABLE %s ALTER COLUMN %s DROP DEFAULT",
				 change->table, change->quoted_name);
	if (strcmp(back_to, HILO_DRAWN_BY_NOTHING) != 0)
	{
		put_sequence_back(change, back_to);
		position_sequence(change, collection);
	}
	lift_limit(change, collection);

	end_switch(change);
	return back_to;
}

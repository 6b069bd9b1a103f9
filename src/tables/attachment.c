/*-------------------------------------------------------------------------
 *
 * attachment.c
 *	  Which columns are attached to collections, as their triggers say.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_trigger.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/compat.h"
#include "base/relcache.h"
#include "counting/catalog.h"
#include "counting/row.h"
#include "tables/attachment.h"
#include "tables/binding.h"

/*
 * Read triggers
 */

static Oid
advance_function(void)
{
	return LookupFuncName(list_make2(makeString("hilo"),
									 makeString(HILO_ADVANCE_FUNCTION)),
						  0, NULL, false);
}

/* The HILO_REPLACED_... that equals name. */
static const char *
known_replaced(const char *name)
{
	static const char *const known[] = {
		HILO_REPLACED_SEQUENCE, HILO_REPLACED_IDENTITY,
		HILO_REPLACED_IDENTITY_ALWAYS, HILO_REPLACED_DEFAULT
	};

	for (int i = 0; i < (int) lengthof(known); i++)
	{
		if (strcmp(known[i], name) == 0)
			return known[i];
	}
	return HILO_REPLACED_NOTHING;
}

/* The arguments of a trigger: strings, each followed by a zero byte. */
static List *
read_arguments(Relation rel, HeapTuple tuple, int count)
{
	bool		isnull;
	Datum		value = hilo_getattr(tuple, Anum_pg_trigger_tgargs,
									 RelationGetDescr(rel), &isnull);
	char	   *p = VARDATA_ANY(DatumGetByteaPCopy(value));
	List	   *arguments = NIL;

	for (int i = 0; i < count; i++)
	{
		arguments = lappend(arguments, p);
		p += strlen(p) + 1;
	}
	return arguments;
}

/* The attachment that a row of pg_trigger describes; NULL: none. */
static HiloAttachment *
read_trigger(Relation rel, HeapTuple tuple, Oid function)
{
	Form_pg_trigger form = (Form_pg_trigger) GETSTRUCT(tuple);
	HiloAttachment *attachment;
	List	   *arguments;

	/* A trigger with a condition is refused when it fires. */
	if (form->tgfoid != function || form->tgattr.dim1 != 1 ||
		form->tgnargs < 1 ||
		!heap_attisnull(tuple, Anum_pg_trigger_tgqual,
						RelationGetDescr(rel)))
		return NULL;

	arguments = read_arguments(rel, tuple, form->tgnargs);
	attachment = palloc0(sizeof(HiloAttachment));
	attachment->trigger = form->oid;
	attachment->xid = HeapTupleHeaderGetRawXmin(tuple->t_data);
	attachment->is_clone = OidIsValid(form->tgparentid);
	attachment->trigger_name = pstrdup(NameStr(form->tgname));
	attachment->column.relation = form->tgrelid;
	attachment->column.attnum = form->tgattr.values[0];
	attachment->collection = list_nth(arguments, HILO_TRIGGER_COLLECTION);
	attachment->replaced = HILO_REPLACED_NOTHING;
	if (form->tgnargs > HILO_TRIGGER_REPLACED)
		attachment->replaced = known_replaced(list_nth(arguments,
													   HILO_TRIGGER_REPLACED));
	if (attachment->replaced == known_replaced(HILO_REPLACED_DEFAULT))
	{
		if (form->tgnargs > HILO_TRIGGER_DEFAULT)
			attachment->default_text = list_nth(arguments,
												HILO_TRIGGER_DEFAULT);
		else
			attachment->replaced = HILO_REPLACED_NOTHING;
	}
	attachment->assigns = form->tgnargs > HILO_TRIGGER_ASSIGN &&
		strcmp(list_nth(arguments, HILO_TRIGGER_ASSIGN), HILO_ASSIGN) == 0;
	return attachment;
}

/* The attachments whose triggers an index of pg_trigger finds by a key. */
static List *
triggers_by(AttrNumber attnum, Oid index, Oid key_value, Oid function)
{
	Relation	rel = table_open(TriggerRelationId, AccessShareLock);
	List	   *attachments = NIL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, attnum, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(key_value));
	scan = systable_beginscan(rel, index, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		HiloAttachment *attachment = read_trigger(rel, tuple, function);

		if (attachment != NULL)
			attachments = lappend(attachments, attachment);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return attachments;
}

static HiloAttachment *
read_by_oid(Oid trigger, Oid function)
{
	List	   *found = triggers_by(Anum_pg_trigger_oid, TriggerOidIndexId,
									trigger, function);

	return found == NIL ? NULL : linitial(found);
}

HiloAttachment *
hilo_attachment_of_trigger(Oid trigger)
{
	return read_by_oid(trigger, advance_function());
}

List *
hilo_attachments_of_table(Oid relation)
{
	return triggers_by(Anum_pg_trigger_tgrelid, TriggerRelidNameIndexId,
					   relation, advance_function());
}

HiloAttachment *
hilo_attachment_of_column(const HiloColumn *column)
{
	ListCell   *lc;

	foreach(lc, hilo_attachments_of_table(column->relation))
	{
		HiloAttachment *attachment = lfirst(lc);

		if (hilo_same_column(&attachment->column, column))
			return attachment;
	}
	return NULL;
}

/* The triggers that call the function, found by their dependency on it. */
static List *
triggers_of_function(Oid function)
{
	Relation	rel = table_open(DependRelationId, AccessShareLock);
	List	   *triggers = NIL;
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(ProcedureRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(function));
	scan = systable_beginscan(rel, DependReferenceIndexId, true, NULL,
							  lengthof(keys), keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend depend = (Form_pg_depend) GETSTRUCT(tuple);

		if (depend->classid == TriggerRelationId)
			triggers = lappend_oid(triggers, depend->objid);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return triggers;
}

List *
hilo_attachments(const char *name)
{
	Oid			function = advance_function();
	List	   *attachments = NIL;
	ListCell   *lc;

	foreach(lc, triggers_of_function(function))
	{
		HiloAttachment *attachment = read_by_oid(lfirst_oid(lc), function);

		CHECK_FOR_INTERRUPTS();
		if (attachment != NULL &&
			(name == NULL || strcmp(attachment->collection, name) == 0))
			attachments = lappend(attachments, attachment);
	}
	return attachments;
}

/*
 * Seen triggers
 *
 * They are noted in hilo.binding: triggers of tables under the collection's
 * name, where they also determine the right to draw; clones, of which there may
 * be very many, each under a name of its own that no collection can have.
 */

/* A table whose trigger was seen, as this session knows. */
typedef struct SeenTable
{
	Oid			relation;		/* hash key */
	Oid			trigger;		/* InvalidOid: not known, or no longer */
} SeenTable;

static HTAB *seen_tables = NULL;

/* Every change of a table's triggers sends a message. */
static void
table_changed(Oid relation)
{
	HASH_SEQ_STATUS status;
	SeenTable  *seen;

	if (OidIsValid(relation))
	{
		seen = hash_search(seen_tables, &relation, HASH_FIND, NULL);
		if (seen != NULL)
			seen->trigger = InvalidOid;
		return;
	}
	hash_seq_init(&status, seen_tables);
	while ((seen = hash_seq_search(&status)) != NULL)
		seen->trigger = InvalidOid;
}

static void
remember_seen(Oid relation, Oid trigger)
{
	SeenTable  *seen;

	if (seen_tables == NULL)
	{
		HASHCTL		ctl = {.keysize = sizeof(Oid),.entrysize = sizeof(SeenTable),
		.hcxt = TopMemoryContext};

		seen_tables = hash_create("hilo attached tables", 64, &ctl,
								  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
		hilo_on_relation_change(table_changed);
	}
	seen = hash_search(seen_tables, &relation, HASH_ENTER, NULL);
	seen->trigger = trigger;
}

/*
 * The name under which the trigger is noted. buffer has CLONE_NAME_LEN bytes.
 */
#define CLONE_NAME_LEN	16
static const char *
name_of_note(const HiloAttachment *attachment, char *buffer)
{
	if (!attachment->is_clone)
		return attachment->collection;
	snprintf(buffer, CLONE_NAME_LEN, "|%u", attachment->trigger);
	return buffer;
}

/* The note about the current version of the trigger, palloc'd; NULL: none. */
static HiloBinding *
find_note(const HiloAttachment *attachment)
{
	char		buffer[CLONE_NAME_LEN];
	ListCell   *lc;

	foreach(lc, hilo_bindings(name_of_note(attachment, buffer)))
	{
		HiloBinding *note = lfirst(lc);

		if (note->trigger == attachment->trigger &&
			note->trigger_xid == attachment->xid)
			return note;
	}
	return NULL;
}

bool
hilo_attachment_is_seen(const HiloAttachment *attachment)
{
	return find_note(attachment) != NULL;
}

bool
hilo_attachment_was_seen(Oid relation, Oid trigger, bool *lately)
{
	HiloAttachment *attachment;
	HiloBinding *note = NULL;
	SeenTable  *seen = seen_tables == NULL ? NULL :
		hash_search(seen_tables, &relation, HASH_FIND, NULL);

	*lately = false;
	if (seen != NULL && seen->trigger == trigger)
		return true;

	/*
	 * Remember it before looking: an invalidation that arrives in the
	 * meantime resets it.
	 */
	remember_seen(relation, trigger);
	attachment = hilo_attachment_of_trigger(trigger);
	if (attachment != NULL)
		note = find_note(attachment);
	if (note == NULL)
	{
		remember_seen(relation, InvalidOid);
		return false;
	}
	*lately = TransactionIdIsValid(note->xmin) && ActiveSnapshotSet() &&
		!TransactionIdIsCurrentTransactionId(note->xmin) &&
		XidInMVCCSnapshot(note->xmin, GetActiveSnapshot());
	return true;
}

void
hilo_attachment_note_seen(const HiloAttachment *attachment)
{
	HiloBinding note = {.trigger = attachment->trigger,
	.trigger_xid = attachment->xid};
	char		buffer[CLONE_NAME_LEN];

	hilo_binding_note(name_of_note(attachment, buffer), &note);
}

/* True if the current transaction has dropped the trigger. */
static bool
is_dropped_here(Relation rel, Oid trigger)
{
	bool		result = false;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_trigger_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(trigger));
	scan = systable_beginscan(rel, TriggerOidIndexId, true, SnapshotAny, 1,
							  &key);
	while (!result && HeapTupleIsValid(tuple = systable_getnext(scan)))
		result = hilo_tuple_deleted_here(tuple->t_data);
	systable_endscan(scan);
	return result && hilo_attachment_of_trigger(trigger) == NULL;
}

bool
hilo_attachment_dropped_here(const char *collection)
{
	Relation	rel = table_open(TriggerRelationId, AccessShareLock);
	bool		result = false;
	ListCell   *lc;

	foreach(lc, hilo_bindings(collection))
	{
		const HiloBinding *note = lfirst(lc);

		if (OidIsValid(note->trigger) && is_dropped_here(rel, note->trigger))
			result = true;
	}
	table_close(rel, AccessShareLock);
	return result;
}

/*-------------------------------------------------------------------------
 *
 * drawing.c
 *	  Which columns draw from a counter, as their defaults say.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/pg_attrdef.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/primnodes.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "counting/catalog.h"
#include "tables/drawing.h"

/*
 * Expressions
 */

char *
hilo_c_function(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	char	   *name = NULL;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		return pstrdup("");
	if (((Form_pg_proc) GETSTRUCT(tuple))->prolang == ClanguageId)
		name = TextDatumGetCString(SysCacheGetAttr(PROCOID, tuple,
												   Anum_pg_proc_prosrc,
												   &isnull));
	ReleaseSysCache(tuple);
	return name == NULL ? pstrdup("") : name;
}

/* The call in an expression, without the casts around it; NULL: none. */
static FuncExpr *
call_within(Node *expression)
{
	for (;;)
	{
		FuncExpr   *call = (FuncExpr *) expression;

		if (call == NULL)
			return NULL;
		else if (IsA(call, RelabelType))
			expression = (Node *) ((RelabelType *) expression)->arg;
		else if (IsA(call, CoerceViaIO))
			expression = (Node *) ((CoerceViaIO *) expression)->arg;
		else if (IsA(call, CoerceToDomain))
			expression = (Node *) ((CoerceToDomain *) expression)->arg;
		else if (!IsA(call, FuncExpr) || call->args == NIL)
			return NULL;
		else if (call->funcformat != COERCE_EXPLICIT_CALL &&
				 call->funcformat != COERCE_SQL_SYNTAX)
			expression = linitial(call->args);
		else
			return call;
	}
}

/* An argument of a call, from 0, if it is a constant; else NULL. */
static const Const *
constant_argument(const FuncExpr *call, int number)
{
	Node	   *argument = number < list_length(call->args) ?
		list_nth(call->args, number) : NULL;

	foreach_ptr(NamedArgExpr, named, call->args)
	{
		if (IsA(named, NamedArgExpr) && named->argnumber == number)
			argument = (Node *) named->arg;
	}
	if (argument != NULL && IsA(argument, RelabelType))
		argument = (Node *) ((RelabelType *) argument)->arg;
	return argument != NULL && IsA(argument, Const) && !((Const *) argument)->constisnull ?
		(const Const *) argument : NULL;
}

/* The ids that a call with this argument as the tag draws; NULL: it is no constant. */
static HiloDrawn
drawn_with_tag(const Const *argument)
{
	HiloDrawn	drawn = {HILO_DRAWN_VARIOUS};
	char	   *tag;

	if (argument == NULL || argument->constlen != -1)
		return drawn;
	tag = TextDatumGetCString(argument->constvalue);
	if (hilo_is_node_tag(tag, strlen(tag)))
	{
		drawn.form = HILO_DRAWN_TAGGED;
		namestrcpy(&drawn.tag, tag);
	}
	return drawn;
}

bool
hilo_expression_draws(Node *expression, HiloDraws *draws)
{
	FuncExpr   *call = call_within(expression);
	const Const *argument = call == NULL ? NULL : constant_argument(call, 0);
	char	   *function;

	memset(draws, 0, sizeof(*draws));
	if (argument == NULL)
		return false;
	function = hilo_c_function(call->funcid);
	draws->drawn.form = HILO_DRAWN_NUMBERS;
	draws->by_hilo = call->funcid != F_NEXTVAL;
	if (call->funcid == F_NEXTVAL || strcmp(function, "hilo_nextval") == 0)
		draws->sequence = DatumGetObjectId(argument->constvalue);
	else if (argument->constlen == -1 &&
			 (strcmp(function, "hilo_next") == 0 ||
			  strcmp(function, "hilo_next_tagged") == 0 ||
			  strcmp(function, "hilo_next_number") == 0))
	{
		char	   *name = TextDatumGetCString(argument->constvalue);

		if (strcmp(function, "hilo_next") == 0)
			draws->drawn.form = HILO_DRAWN_IDS;
		else if (strcmp(function, "hilo_next_tagged") == 0)
			draws->drawn = drawn_with_tag(constant_argument(call, 1));
		draws->collection = hilo_may_name_collection(name) ? name : NULL;
	}
	return OidIsValid(draws->sequence) || draws->collection != NULL;
}

/*
 * Defaults
 */

/*
 * Size in bytes of a stored default that may be a single call: more is not read, for anybody
 * can write one that names a stranger's counter.
 */
#define MAX_DEFAULT_SIZE	65536

Node *
hilo_stored_expression(Datum stored)
{
	return toast_raw_datum_size(stored) > MAX_DEFAULT_SIZE ? NULL :
		stringToNode(TextDatumGetCString(stored));
}

/* Find out what the default of a domain draws from.  False: it has none. */
static bool
default_of_domain(Oid domain, HiloDraws *draws)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(domain));
	Datum		stored;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		return false;
	stored = SysCacheGetAttr(TYPEOID, tuple, Anum_pg_type_typdefaultbin, &isnull);
	if (!isnull)
		(void) hilo_expression_draws(hilo_stored_expression(stored), draws);
	ReleaseSysCache(tuple);
	return !isnull;
}

static bool
is_same_source(const HiloDraws *a, const HiloDraws *b)
{
	if (a->collection != NULL && b->collection != NULL)
		return strcmp(a->collection, b->collection) == 0;
	return OidIsValid(a->sequence) && a->sequence == b->sequence;
}

/* What is known about a default.  One that is changed gets another OID. */
typedef struct Default
{
	Oid			oid;			/* hash key */
	HiloColumn	column;
	HiloDraws	draws;
} Default;

/* All that are known. */
static HTAB *defaults = NULL;

/*
 * Forget defaults that were dropped, whenever there are twice as many as there were left
 * the last time.
 */
static void
forget_dropped(void)
{
	static long enough = 64;
	HASH_SEQ_STATUS status;
	Default    *known;

	if (hash_get_num_entries(defaults) < enough)
		return;
	hash_seq_init(&status, defaults);
	while ((known = hash_seq_search(&status)) != NULL)
	{
		if (OidIsValid(GetAttrDefaultColumnAddress(known->oid).objectId))
			continue;
		if (known->draws.collection != NULL)
			pfree(unconstify(char *, known->draws.collection));
		hash_search(defaults, &known->oid, HASH_REMOVE, NULL);
	}
	enough = Max(2 * hash_get_num_entries(defaults), 64);
}

/*
 * Find out what a default draws from by its OID alone, with one search: there may be one for
 * each table.  No stored generated column draws, because functions that do are volatile.
 */
static void
read_default(Default *made)
{
	Relation	rel = table_open(AttrDefaultRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		isnull;

	ScanKeyInit(&key, Anum_pg_attrdef_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(made->oid));
	scan = systable_beginscan(rel, AttrDefaultOidIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		Form_pg_attrdef form = (Form_pg_attrdef) GETSTRUCT(tuple);
		Datum		stored = hilo_getattr(tuple, Anum_pg_attrdef_adbin, RelationGetDescr(rel), &isnull);

		(void) hilo_expression_draws(hilo_stored_expression(stored), &made->draws);
		made->column = (HiloColumn)
		{
			form->adrelid, form->adnum, made->draws.drawn
		};
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
}

/* The default with the OID.  Valid until the next call. */
static const Default *
default_with_oid(Oid oid)
{
	Default		made = {oid};
	Default    *known;

	if (defaults == NULL)
	{
		HASHCTL		ctl = {.keysize = sizeof(Oid),.entrysize = sizeof(Default),
		.hcxt = TopMemoryContext};

		defaults = hash_create("hilo defaults", 64, &ctl,
							   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	known = hash_search(defaults, &oid, HASH_FIND, NULL);
	if (known != NULL)
		return known;
	forget_dropped();
	read_default(&made);
	if (made.draws.collection != NULL)
		made.draws.collection = MemoryContextStrdup(TopMemoryContext, made.draws.collection);
	known = hash_search(defaults, &oid, HASH_ENTER, NULL);
	*known = made;
	return known;
}

/*
 * Columns
 */

/*
 * Find out what a column draws from, by its own default, or else its domain's: nothing, if
 * that is no such call.  False: it has no default.  Without a lock, no relcache entry can
 * be built: the table may be changing.
 */
static bool
find_source(HiloColumn *column, HiloDraws *draws)
{
	HeapTuple	tuple = SearchSysCacheAttNum(column->relation, column->attnum);
	bool		found = false;

	memset(draws, 0, sizeof(*draws));
	if (HeapTupleIsValid(tuple))
	{
		Form_pg_attribute att = (Form_pg_attribute) GETSTRUCT(tuple);

		found = att->atthasdef;
		if (found)
			*draws = default_with_oid(GetAttrDefaultOid(column->relation, column->attnum))->draws;
		else if (get_typtype(att->atttypid) == TYPTYPE_DOMAIN)
			found = default_of_domain(att->atttypid, draws);
		ReleaseSysCache(tuple);
	}
	column->drawn = draws->drawn;
	return found;
}

List *
hilo_add_column(List *columns, const HiloColumn *column)
{
	foreach_ptr(HiloColumn, other, columns)
	{
		if (other->relation != column->relation || other->attnum != column->attnum)
			continue;
		if (other->drawn.form == HILO_DRAWN_IDS)
			other->drawn = column->drawn;
		return columns;
	}
	return lappend(columns, memcpy(palloc(sizeof(*column)), column, sizeof(*column)));
}

/*
 * True for what has ids of its own.  A view or a composite type may have a default, too,
 * and to read a view runs its query.
 */
static bool
is_table(Oid relation)
{
	char		kind = get_rel_relkind(relation);

	return kind == RELKIND_RELATION || kind == RELKIND_PARTITIONED_TABLE ||
		kind == RELKIND_FOREIGN_TABLE;
}

/*
 * Add the columns that draw from the source, by defaults that depend on an object: their own,
 * or those of domains.
 */
static List *
add_dependents(List *columns, Oid class, Oid object, const HiloDraws *source)
{
	Relation	rel = table_open(DependRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(class));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(object));
	scan = systable_beginscan(rel, DependReferenceIndexId, true, NULL, lengthof(keys), keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend depend = (Form_pg_depend) GETSTRUCT(tuple);
		HiloColumn	column = {depend->objid, depend->objsubid};
		HiloDraws	draws = {InvalidOid};

		if (depend->classid == AttrDefaultRelationId)
		{
			const Default *known = default_with_oid(depend->objid);

			column = known->column;
			draws = known->draws;
		}
		else if (depend->classid == RelationRelationId && column.attnum > 0)
			(void) find_source(&column, &draws);
		else if (depend->classid == TypeRelationId && get_typtype(depend->objid) == TYPTYPE_DOMAIN)
			columns = add_dependents(columns, TypeRelationId, depend->objid, source);
		if (is_same_source(&draws, source) && is_table(column.relation))
			columns = hilo_add_column(columns, &column);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return columns;
}

List *
hilo_drawing_columns(Oid relation, const char *collection)
{
	HiloDraws	source = {.collection = collection};
	HiloColumn	column = {relation, 1};
	List	   *columns = NIL;

	for (; SearchSysCacheExists2(ATTNUM, ObjectIdGetDatum(relation), Int16GetDatum(column.attnum));
		 column.attnum++)
	{
		HiloDraws	draws;

		(void) find_source(&column, &draws);
		if (is_same_source(&draws, &source))
			columns = hilo_add_column(columns, &column);
	}
	return columns;
}

/*
 * The column that owns the sequence, if its default draws from the sequence itself, or
 * if it has none: an identity column, or one for which programs draw.  Other
 * expressions give ids ahead of the sequence.
 */
static List *
add_owning_column(List *columns, const HiloDraws *source)
{
	HiloColumn	column = {InvalidOid};
	HiloDraws	draws;

	if (!sequenceIsOwned(source->sequence, DEPENDENCY_AUTO, &column.relation, &column.attnum) &&
		!sequenceIsOwned(source->sequence, DEPENDENCY_INTERNAL, &column.relation, &column.attnum))
		return columns;
	if (!is_table(column.relation) ||
		(find_source(&column, &draws) && !is_same_source(&draws, source)))
		return columns;
	column.drawn.form = HILO_DRAWN_NUMBERS;
	return hilo_add_column(columns, &column);
}

List *
hilo_columns_of_sequence(Oid sequence)
{
	HiloDraws	source = {sequence};
	List	   *columns = add_owning_column(NIL, &source);

	foreach_ptr(HiloColumn, column, add_dependents(NIL, RelationRelationId, sequence, &source))
	{
		HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(column->relation));

		if (!HeapTupleIsValid(tuple))
			continue;
		if (pg_class_aclcheck(sequence, ((Form_pg_class) GETSTRUCT(tuple))->relowner,
							  ACL_UPDATE) == ACLCHECK_OK)
			columns = hilo_add_column(columns, column);
		ReleaseSysCache(tuple);
	}
	return columns;
}

Oid
hilo_table_on_sequence(const char *collection, Oid *sequence)
{
	CatCList   *classes;
	Oid			table = InvalidOid;

	if (strlen(collection) >= NAMEDATALEN)
		return InvalidOid;
	classes = SearchSysCacheList1(RELNAMENSP, CStringGetDatum(collection));
	for (int i = 0; i < classes->n_members && !OidIsValid(table); i++)
	{
		HiloColumn	column = {((Form_pg_class) GETSTRUCT(&classes->members[i]->tuple))->oid, 1};

		for (; SearchSysCacheExists2(ATTNUM, ObjectIdGetDatum(column.relation), Int16GetDatum(column.attnum));
			 column.attnum++)
		{
			HiloDraws	draws;

			(void) find_source(&column, &draws);
			if (!draws.by_hilo || !OidIsValid(draws.sequence))
				continue;
			table = column.relation;
			*sequence = draws.sequence;
		}
	}
	ReleaseSysCacheList(classes);
	return table;
}

/*
 * The functions that draw from a collection: those in C of these names, in whatever schema
 * the extension was created.  Whether one is ours, and draws from the collection in
 * question, is found out from the call.
 */
static List *
drawing_functions(void)
{
	static const char *const names[] = {"hilo_next", "hilo_next_number"};
	List	   *functions = NIL;

	for (int i = 0; i < (int) lengthof(names); i++)
	{
		CatCList   *procs = SearchSysCacheList1(PROCNAMEARGSNSP, CStringGetDatum(names[i]));

		for (int j = 0; j < procs->n_members; j++)
		{
			Form_pg_proc proc = (Form_pg_proc) GETSTRUCT(&procs->members[j]->tuple);

			if (proc->prolang == ClanguageId)
				functions = lappend_oid(functions, proc->oid);
		}
		ReleaseSysCacheList(procs);
	}
	return functions;
}

List *
hilo_columns_of_default(const char *collection, List *owners)
{
	HiloDraws	source = {.collection = collection};
	List	   *columns = NIL;
	Oid			owner = InvalidOid;

	foreach_oid(function, drawing_functions())
	{
		foreach_ptr(HiloColumn, column, add_dependents(NIL, ProcedureRelationId, function, &source))
		{
			Oid			table_owner = hilo_table_owner(column->relation);

			if (!OidIsValid(table_owner) ||
				(owners != NIL && !list_member_oid(owners, table_owner)) ||
				!hilo_has_privilege(ProcedureRelationId, function, table_owner, ACL_EXECUTE))
				continue;
			if (owners == NIL && OidIsValid(owner) && owner != table_owner)
				return NIL;
			owner = table_owner;
			columns = hilo_add_column(columns, column);
		}
	}
	return columns;
}

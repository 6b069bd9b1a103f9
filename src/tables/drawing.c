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

/* The first argument of a call, if it is a constant; else NULL. */
static const Const *
constant_argument(const FuncExpr *call)
{
	Node	   *argument = linitial(call->args);

	foreach_ptr(NamedArgExpr, named, call->args)
	{
		if (IsA(named, NamedArgExpr) && named->argnumber == 0)
			argument = (Node *) named->arg;
	}
	if (IsA(argument, RelabelType))
		argument = (Node *) ((RelabelType *) argument)->arg;
	return IsA(argument, Const) && !((Const *) argument)->constisnull ?
		(const Const *) argument : NULL;
}

bool
hilo_expression_draws(Node *expression, HiloDraws *draws)
{
	FuncExpr   *call = call_within(expression);
	const Const *argument = call == NULL ? NULL : constant_argument(call);
	char	   *function;

	memset(draws, 0, sizeof(*draws));
	if (argument == NULL)
		return false;
	function = call->funcid == F_NEXTVAL ? pstrdup("") : hilo_c_function(call->funcid);
	draws->by_hilo = call->funcid != F_NEXTVAL;
	draws->numbers = true;
	if (call->funcid == F_NEXTVAL || strcmp(function, "hilo_nextval") == 0)
		draws->sequence = DatumGetObjectId(argument->constvalue);
	else if (argument->constlen == -1 &&
			 (strcmp(function, "hilo_next") == 0 ||
			  strcmp(function, "hilo_next_tagged") == 0 ||
			  strcmp(function, "hilo_next_number") == 0))
	{
		draws->collection = TextDatumGetCString(argument->constvalue);
		draws->numbers = strcmp(function, "hilo_next_number") == 0;
	}
	else
		return false;
	return true;
}

/*
 * Defaults
 */

/*
 * Size in bytes of a stored default that may be a single call: more is not read, for anybody
 * can write one that names a stranger's counter.
 */
#define MAX_DEFAULT_SIZE	65536

/* The first default that a scan of pg_attrdef by these keys finds; NULL: none, or too large. */
static Node *
stored_default(Oid index, const ScanKeyData *keys, int nkeys, Oid *relation, int32 *attnum)
{
	Relation	rel = table_open(AttrDefaultRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(rel, index, true, NULL, nkeys,
										  unconstify(ScanKeyData *, keys));
	HeapTuple	tuple = systable_getnext(scan);
	Node	   *expression = NULL;
	bool		isnull;

	if (HeapTupleIsValid(tuple))
	{
		Datum		stored = hilo_getattr(tuple, Anum_pg_attrdef_adbin, RelationGetDescr(rel),
										  &isnull);

		if (toast_raw_datum_size(stored) <= MAX_DEFAULT_SIZE)
			expression = stringToNode(TextDatumGetCString(stored));
		*relation = ((Form_pg_attrdef) GETSTRUCT(tuple))->adrelid;
		*attnum = ((Form_pg_attrdef) GETSTRUCT(tuple))->adnum;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return expression;
}

/* The default of a column; NULL: none. */
static Node *
default_of_column(Oid relation, int32 attnum)
{
	ScanKeyData keys[2];

	ScanKeyInit(&keys[0], Anum_pg_attrdef_adrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relation));
	ScanKeyInit(&keys[1], Anum_pg_attrdef_adnum, BTEqualStrategyNumber, F_INT2EQ,
				Int16GetDatum(attnum));
	return stored_default(AttrDefaultIndexId, keys, lengthof(keys), &relation, &attnum);
}

/* The default of a domain; NULL: none, or too large. */
static Node *
default_of_domain(Oid domain)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(domain));
	Node	   *expression = NULL;
	Datum		stored;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	stored = SysCacheGetAttr(TYPEOID, tuple, Anum_pg_type_typdefaultbin, &isnull);
	if (!isnull && toast_raw_datum_size(stored) <= MAX_DEFAULT_SIZE)
		expression = stringToNode(TextDatumGetCString(stored));
	ReleaseSysCache(tuple);
	return expression;
}

/* What is known about a default.  One that is changed gets another OID. */
typedef struct Default
{
	Oid			oid;			/* hash key */
	HiloColumn	column;			/* relation InvalidOid: it does not draw */
	Oid			sequence;
	char	   *collection;
} Default;

/* All that are known. */
static HTAB *defaults = NULL;

/* The default with the OID; NULL: it does not exist. */
static Node *
default_stored_as(Oid oid, Oid *relation, int32 *attnum)
{
	ScanKeyData key;

	ScanKeyInit(&key, Anum_pg_attrdef_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(oid));
	return stored_default(AttrDefaultOidIndexId, &key, 1, relation, attnum);
}

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
		Oid			relation;
		int32		attnum;

		if (default_stored_as(known->oid, &relation, &attnum) != NULL)
			continue;
		if (known->collection != NULL)
			pfree(known->collection);
		hash_search(defaults, &known->oid, HASH_REMOVE, NULL);
	}
	enough = Max(2 * hash_get_num_entries(defaults), 64);
}

/* What the default with the OID draws from.  Valid until the next call. */
static const Default *
default_with_oid(Oid oid)
{
	Default    *known;
	bool		found;
	HiloColumn	column = {InvalidOid};
	Node	   *expression;
	HiloDraws	draws;

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
	expression = default_stored_as(oid, &column.relation, &column.attnum);
	if (!hilo_expression_draws(expression, &draws))
		column.relation = InvalidOid;
	column.numbers = draws.numbers;
	known = hash_search(defaults, &oid, HASH_ENTER, &found);
	known->column = column;
	known->sequence = draws.sequence;
	known->collection = draws.collection == NULL ? NULL :
		MemoryContextStrdup(TopMemoryContext, draws.collection);
	return known;
}

/* What depends on an object, as a list of ObjectAddress *. */
static List *
dependents(Oid class, Oid object)
{
	Relation	rel = table_open(DependRelationId, AccessShareLock);
	List	   *found = NIL;
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
		ObjectAddress *dependent = palloc(sizeof(ObjectAddress));

		ObjectAddressSubSet(*dependent, depend->classid, depend->objid, depend->objsubid);
		found = lappend(found, dependent);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
}

/*
 * Columns
 */

static List *
add_column(List *columns, HiloColumn column)
{
	foreach_ptr(const HiloColumn, other, columns)
	{
		if (other->relation == column.relation && other->attnum == column.attnum)
			return columns;
	}
	return lappend(columns, memcpy(palloc(sizeof(column)), &column, sizeof(column)));
}

/* The columns that have the default of a domain, because they have none of their own. */
static List *
columns_of_domain(Oid domain, bool numbers)
{
	List	   *columns = NIL;

	foreach_ptr(const ObjectAddress, dependent, dependents(TypeRelationId, domain))
	{
		HiloColumn	column = {dependent->objectId, dependent->objectSubId, numbers};
		HeapTuple	tuple;
		Form_pg_attribute att;

		if (dependent->classId != RelationRelationId || column.attnum <= 0)
			continue;
		tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(column.relation),
								Int16GetDatum(column.attnum));
		if (!HeapTupleIsValid(tuple))
			continue;
		att = (Form_pg_attribute) GETSTRUCT(tuple);
		if (att->atttypid == domain && !att->atthasdef && !att->attisdropped)
			columns = add_column(columns, column);
		ReleaseSysCache(tuple);
	}
	return columns;
}

/*
 * The columns whose default is the dependent, a default or a domain, and what it draws
 * from; NIL: it does not draw.
 */
static List *
columns_of_dependent(const ObjectAddress * dependent, HiloDraws *draws)
{
	if (dependent->classId == AttrDefaultRelationId)
	{
		const Default *known = default_with_oid(dependent->objectId);

		draws->sequence = known->sequence;
		draws->collection = known->collection;
		return OidIsValid(known->column.relation) ? add_column(NIL, known->column) : NIL;
	}
	if (dependent->classId == TypeRelationId &&
		get_typtype(dependent->objectId) == TYPTYPE_DOMAIN &&
		hilo_expression_draws(default_of_domain(dependent->objectId), draws))
		return columns_of_domain(dependent->objectId, draws->numbers);
	return NIL;
}

/*
 * Columns without a default of their own have that of their domain.  Without a lock,
 * no relcache entry can be built: the table may be changing.
 */
List *
hilo_drawing_columns(Oid relation, const char *collection)
{
	List	   *columns = NIL;
	HeapTuple	tuple;

	for (int attnum = 1;
		 HeapTupleIsValid(tuple = SearchSysCache2(ATTNUM,
												  ObjectIdGetDatum(relation),
												  Int16GetDatum(attnum)));
		 attnum++)
	{
		Form_pg_attribute att = (Form_pg_attribute) GETSTRUCT(tuple);
		HiloColumn	column = {relation, attnum};
		Node	   *expression = NULL;
		HiloDraws	draws;

		if (att->atthasdef && att->attgenerated == '\0')
			expression = default_of_column(relation, attnum);
		else if (!att->attisdropped && !att->atthasdef &&
				 get_typtype(att->atttypid) == TYPTYPE_DOMAIN)
			expression = default_of_domain(att->atttypid);
		ReleaseSysCache(tuple);
		if (!hilo_expression_draws(expression, &draws) || draws.collection == NULL ||
			strcmp(draws.collection, collection) != 0)
			continue;
		column.numbers = draws.numbers;
		columns = add_column(columns, column);
	}
	return columns;
}

/*
 * The column that owns the sequence, if its default draws from the sequence itself, or
 * if it has none: an identity column, or one for which programs draw.  Other
 * expressions give ids ahead of the sequence.
 */
static List *
add_owning_column(List *columns, Oid sequence)
{
	HiloColumn	column = {.numbers = true};
	Node	   *expression;
	HiloDraws	draws;

	if (!sequenceIsOwned(sequence, DEPENDENCY_AUTO, &column.relation, &column.attnum) &&
		!sequenceIsOwned(sequence, DEPENDENCY_INTERNAL, &column.relation, &column.attnum))
		return columns;
	expression = default_of_column(column.relation, column.attnum);
	if (expression != NULL &&
		!(hilo_expression_draws(expression, &draws) && draws.sequence == sequence))
		return columns;
	return add_column(columns, column);
}

List *
hilo_columns_of_sequence(Oid sequence)
{
	List	   *columns = add_owning_column(NIL, sequence);

	foreach_ptr(const ObjectAddress, dependent, dependents(RelationRelationId, sequence))
	{
		HiloDraws	draws;

		foreach_ptr(const HiloColumn, column, columns_of_dependent(dependent, &draws))
		{
			HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(column->relation));

			if (!HeapTupleIsValid(tuple))
				continue;
			if (draws.sequence == sequence &&
				pg_class_aclcheck(sequence, ((Form_pg_class) GETSTRUCT(tuple))->relowner,
								  ACL_UPDATE) == ACLCHECK_OK)
				columns = add_column(columns, *column);
			ReleaseSysCache(tuple);
		}
	}
	return columns;
}

/*
 * The functions that draw from a collection: those in C of these names, in whatever schema
 * the extension was made.  Which collection, and whether they are ours, their calls say.
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
hilo_columns_of_default(const char *collection)
{
	List	   *columns = NIL;
	Oid			owner = InvalidOid;

	foreach_oid(function, drawing_functions())
	{
		foreach_ptr(const ObjectAddress, dependent, dependents(ProcedureRelationId, function))
		{
			HiloDraws	draws;

			foreach_ptr(const HiloColumn, column, columns_of_dependent(dependent, &draws))
			{
				Oid			table_owner = hilo_table_owner(column->relation);

				if (draws.collection == NULL || strcmp(draws.collection, collection) != 0 ||
					!OidIsValid(table_owner) ||
					!hilo_has_privilege(ProcedureRelationId, function, table_owner, ACL_EXECUTE))
					continue;
				if (OidIsValid(owner) && owner != table_owner)
					return NIL;
				owner = table_owner;
				columns = add_column(columns, *column);
			}
		}
	}
	return columns;
}

/*-------------------------------------------------------------------------
 *
 * planner.c
 *	  The setting hilo.sequences: nextval in queries, and identity columns, draw as
 *	  hilo.nextval does.
 *
 * Before a query is planned, its calls of nextval are replaced, so that no catalog
 * has to change.  The defaults of columns are in the query by then, because the rewriter has put
 * them there.  Plans that are kept are made anew when the setting changes.
 *
 * Identity columns draw by a node that checks no right, for which there is a function that can
 * only be called from here.  What is not planned, such as the defaults of COPY, and SQL
 * functions that are inlined later, keep drawing by nextval from the same sequence.  Their numbers
 * are in order, only neither flushed nor looked at.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planner.h"
#include "utils/acl.h"
#include "utils/fmgroids.h"

#include "guc.h"
#include "catalog.h"
#include "planner.h"
#include "node.h"

static planner_hook_type next_planner = NULL;

/* The functions that are called instead.  They are looked up for each query that draws. */
typedef struct Replacements
{
	Oid			nextval;
	Oid			identity_nextval;
} Replacements;

/*
 * True if the expression draws from a sequence: nextval, or an identity column.  nextval of a serial
 * column is an ordinary call of the function.
 */
static bool
is_drawing(const Node *node)
{
	return (IsA(node, FuncExpr) && ((const FuncExpr *) node)->funcid == F_NEXTVAL) ||
		IsA(node, NextValueExpr);
}

/*
 * True if something in a query, or an expression, draws from a sequence.  Most queries draw nothing,
 * and to walk through one costs far less than the copy that a mutator makes.
 */
static bool
draws_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (is_drawing(node))
		return true;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, draws_walker, context, 0);
	return expression_tree_walker(node, draws_walker, context);
}

/*
 * What an identity column calls instead of drawing directly.  The column may have a
 * smaller type, for which the sequence's limit is not too high.
 */
static Node *
identity_call(const NextValueExpr *value, const Replacements *functions)
{
	List	   *args = list_make2(makeConst(REGCLASSOID, -1, InvalidOid, sizeof(Oid),
											ObjectIdGetDatum(value->seqid), false, true),
								  makeNullConst(INTERNALOID, -1, InvalidOid));
	Expr	   *call = (Expr *) makeFuncExpr(functions->identity_nextval, INT8OID, args,
											 InvalidOid, InvalidOid, HILO_CALL_BY_SETTING);

	if (value->typeId == INT8OID)
		return (Node *) call;
	return (Node *) makeFuncExpr(value->typeId == INT4OID ? F_INT4_INT8 : F_INT2_INT8,
								 value->typeId, list_make1(call), InvalidOid, InvalidOid,
								 COERCE_IMPLICIT_CAST);
}

/*
 * A copy of a query, or of an expression, with the calls replaced, also in its subqueries.  A call
 * of nextval keeps all but the function: what it looks like in a plan, and where it is in the
 * text of the query.
 */
static Node *
replace_mutator(Node *node, void *context)
{
	const Replacements *functions = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, NextValueExpr))
		return identity_call((const NextValueExpr *) node, functions);
	if (IsA(node, Query))
		return (Node *) query_tree_mutator((Query *) node, replace_mutator, context, 0);
	node = expression_tree_mutator(node, replace_mutator, context);
	if (is_drawing(node))
		((FuncExpr *) node)->funcid = functions->nextval;
	return node;
}

/*
 * Find the functions.  False if this database does not have the extension, PUBLIC may not call
 * them, or other nodes count for this one; queries then draw plainly.
 *
 * A query must not need other rights because of the setting.  PUBLIC must have the right to call
 * nextval as well, because otherwise a role that may not call that must not call its twin.
 */
static bool
find_replacements(Replacements *functions)
{
	Oid			schema = get_namespace_oid(HILO_SCHEMA, true);
	Oid			types[] = {REGCLASSOID, INTERNALOID};

	if (!OidIsValid(schema) || !OidIsValid(get_extension_oid(HILO_EXTENSION, true)) ||
		hilo_node_is_worker() || !hilo_may_execute(F_NEXTVAL, ACL_ID_PUBLIC))
		return false;
	functions->nextval = hilo_catalog_function(schema, "nextval", types, 1);
	functions->identity_nextval = hilo_catalog_function(schema, "_identity_nextval", types, 2);
	return OidIsValid(functions->nextval) && OidIsValid(functions->identity_nextval) &&
		hilo_may_execute(functions->nextval, ACL_ID_PUBLIC) &&
		hilo_may_execute(functions->identity_nextval, ACL_ID_PUBLIC);
}

/* The planner hook: what comes next plans the query that it is given, as always. */
static PlannedStmt *
plan_with_hilo(HILO_PLANNER_PARAMETERS)
{
	Replacements functions;

	if (hilo_sequences && draws_walker((Node *) parse, NULL) && find_replacements(&functions))
		parse = (Query *) replace_mutator((Node *) parse, &functions);
	return next_planner != NULL ? next_planner(HILO_PLANNER_ARGUMENTS) :
		standard_planner(HILO_PLANNER_ARGUMENTS);
}

/*
 * The hook comes with the first use of the setting, so that a server without it may preload
 * this library before one that insists on being the first to have the hook.
 */
static void
install_planner(void)
{
	static bool is_installed = false;

	if (is_installed)
		return;
	next_planner = planner_hook;
	planner_hook = plan_with_hilo;
	is_installed = true;
}

void
hilo_planner_init(void)
{
	hilo_sequences_switched_on = install_planner;
	if (hilo_sequences)
		install_planner();
}

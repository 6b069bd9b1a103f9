/*-------------------------------------------------------------------------
 *
 * attach.c
 *	  The SQL functions that attach tables to collections.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/spi.h"
#include "nodes/parsenodes.h"
#include "storage/latch.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "counting/catalog.h"
#include "session/call.h"
#include "tables/attach.h"
#include "tables/attachment.h"

PG_FUNCTION_INFO_V1(hilo_attach);
PG_FUNCTION_INFO_V1(hilo_attach_online);
PG_FUNCTION_INFO_V1(hilo_detach);

/* The column name in argument 1; NULL: none. */
static const char *
column_argument(FunctionCallInfo fcinfo)
{
	return PG_ARGISNULL(1) ? NULL : NameStr(*PG_GETARG_NAME(1));
}

/*
 * The collection in argument 2; if that is NULL, the one that the column is
 * attached to, or else the one named like the table.
 */
static const char *
collection_argument(FunctionCallInfo fcinfo, const HiloColumn *column)
{
	HiloAttachment *attachment;
	const char *name;

	/* Copy the name: hilo.attach_online() uses it in later transactions. */
	if (!PG_ARGISNULL(2))
		name = text_to_cstring(PG_GETARG_TEXT_PP(2));
	else if ((attachment = hilo_attachment_of_column(column)) != NULL)
		name = attachment->collection;
	else
		name = get_rel_name(column->relation);
	hilo_check_collection(name, hilo_identity_parts_separator);
	return name;
}

static bool
may_attach(const char *name, Oid relation)
{
	HiloCollection collection;

	hilo_collection_init(&collection, name);
	return hilo_draw_right_may_attach(&collection, relation);
}

/*
 * The column and collection of a call, after checking that the user may attach
 * them.
 */
static HiloColumn
attach_arguments(FunctionCallInfo fcinfo, const char **collection)
{
	HiloColumn	column;

	hilo_api_prevent_unless_may_write("hilo.attach()");
	hilo_api_reject_null(fcinfo, 0, "relation");
	column = hilo_attachable_column(PG_GETARG_OID(0), column_argument(fcinfo));
	*collection = collection_argument(fcinfo, &column);
	if (!hilo_catalog_may_seed(false, GetUserId()) &&
		!may_attach(*collection, column.relation))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to attach table \"%s\" to collection \"%s\"",
						get_rel_name(column.relation), *collection),
				 errdetail("The collection is already in use."),
				 errhint("Specify another collection, or ask for a grant with hilo.configure().")));
	if (PG_ARGISNULL(2))
		hilo_attach_check_unshared(&column, *collection);
	return column;
}

/* Argument 3; NULL: leave it as it is. */
static HiloAttachAssign
assign_argument(FunctionCallInfo fcinfo, const HiloColumn *column)
{
	if (PG_ARGISNULL(3))
		return HILO_ATTACH_AS_IS;
	if (!PG_GETARG_BOOL(3))
		return HILO_ATTACH_ADVANCE_ONLY;
	if (!hilo_holds_ids(hilo_column_type(column)))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of table \"%s\" cannot be assigned ids of the requested kind",
						hilo_column_name(column),
						get_rel_name(column->relation)),
				 errdetail("Its type is %s; it should be text, varchar or citext.",
						   format_type_be(hilo_column_type(column)))));
	if (hilo_is_partition_key(column))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" of table \"%s\" cannot be assigned ids by a trigger",
						hilo_column_name(column),
						get_rel_name(column->relation)),
				 errdetail("It is a partition key, and a row is routed to its partition before a trigger sees it."),
				 errhint("Attach it without assign, so that its default draws the ids.")));
	return HILO_ATTACH_ASSIGN;
}

Datum
hilo_attach(PG_FUNCTION_ARGS)
{
	const char *collection;
	HiloColumn	column = attach_arguments(fcinfo, &collection);

	PG_RETURN_INT64(hilo_attach_column(&column, collection,
									   assign_argument(fcinfo, &column)));
}

/*
 * Online
 */

/* What all steps attach. */
typedef struct Online
{
	HiloColumn	column;
	const char *collection;
	HiloAttachAssign assign;
} Online;

/*
 * How long a step waits for a lock, with other sessions queued behind it,
 * before it gives up.
 */
#define LOCK_TIMEOUT	"50ms"
#define LOCK_PAUSE_MS	100

/* Number of attempts after which a notice reports the wait. */
#define QUIET_ATTEMPTS	20

typedef void (*AttachStep) (const Online *online);

static void
triggers_step(const Online *online)
{
	hilo_attach_triggers(&online->column, online->collection, online->assign);
}

static void
room_step(const Online *online)
{
	hilo_attach_check_room(&online->column, online->collection);
}

static void
counter_step(const Online *online)
{
	hilo_attach_counter(&online->column, online->collection);
}

static void
defaults_step(const Online *online)
{
	(void) hilo_attach_defaults(&online->column, online->collection);
}

/* Run a step; false if it could not acquire a lock soon. */
static bool
try_step(AttachStep step, const Online *online)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool done = true;

	PushActiveSnapshot(GetTransactionSnapshot());
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		(void) set_config_option("lock_timeout", LOCK_TIMEOUT, PGC_USERSET,
								 PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0,
								 false);
		step(online);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		if (error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE)
			ReThrowError(error);
		done = false;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	PopActiveSnapshot();
	return done;
}

/* Commit, and begin a transaction, which SPI_commit() of early 14 does not. */
static void
commit_and_begin(void)
{
	SPI_commit();
	SPI_start_transaction();
}

/* Run a step in transactions of its own, until it is done. */
static void
run_step(AttachStep step, const Online *online)
{
	static uint32 wait_event = 0;

	for (int attempts = 1; !try_step(step, online); attempts++)
	{
		commit_and_begin();
		if (attempts % QUIET_ATTEMPTS == 0)
			ereport(NOTICE,
					(errmsg("table \"%s\" is in use; still trying to lock it",
							get_rel_name(online->column.relation))));
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 LOCK_PAUSE_MS,
						 hilo_wait_event("HiloAttach", &wait_event));
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	commit_and_begin();
}

/*
 * The steps are committed one by one: triggers first, so that rows inserted
 * while the ids are read advance the counter; defaults last.
 */
Datum
hilo_attach_online(PG_FUNCTION_ARGS)
{
	CallContext *call = (CallContext *) fcinfo->context;
	Online		online;

	if (call == NULL || !IsA(call, CallContext) || call->atomic)
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("hilo.attach_online() cannot be called in a transaction block"),
				 errhint("Use hilo.attach() there.")));
	online.column = attach_arguments(fcinfo, &online.collection);
	online.assign = assign_argument(fcinfo, &online.column);

	SPI_connect_ext(SPI_OPT_NONATOMIC);
	run_step(room_step, &online);
	run_step(triggers_step, &online);
	run_step(counter_step, &online);
	run_step(defaults_step, &online);
	SPI_finish();
	PG_RETURN_VOID();
}

Datum
hilo_detach(PG_FUNCTION_ARGS)
{
	HiloColumn	column;

	hilo_api_prevent_unless_may_write("hilo.detach()");
	hilo_api_reject_null(fcinfo, 0, "relation");
	column = hilo_detachable_column(PG_GETARG_OID(0), column_argument(fcinfo));
	PG_RETURN_TEXT_P(cstring_to_text(hilo_detach_column(&column)));
}

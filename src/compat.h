/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  Differences between the server versions that hilo supports.
 *
 * This is the only file that uses PG_VERSION_NUM.  A library that is built for one minor
 * release runs on all others of that version: nothing is used that a minor release has
 * added (test/server-functions lists all that may be used), and nothing that minor
 * releases changed is left to the compiler.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_COMPAT_H
#define HILO_COMPAT_H

#include "access/genam.h"
#include "access/tableam.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#if PG_VERSION_NUM < 160000
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#pragma GCC diagnostic pop
#endif
#include "access/xloginsert.h"
#include "storage/bufmgr.h"
#include "storage/lock.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/smgr.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "utils/wait_event.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#if PG_VERSION_NUM < 150000
#error "hilo needs PostgreSQL 15 or later"
#endif

/* The storage of a relation, and roles' rights, have other names before version 16. */
#if PG_VERSION_NUM < 160000
typedef RelFileNode RelFileLocator;

#define rd_locator	rd_node
#define smgr_rlocator	smgr_rnode
#define locator		node
#define object_ownercheck(class, object, role)	pg_class_ownercheck(object, role)
#define object_aclcheck(class, object, role, mode) \
	((class) == ProcedureRelationId ? pg_proc_aclcheck(object, role, mode) : \
	 pg_foreign_server_aclcheck(object, role, mode))
#endif

/* What pg_get_loaded_modules() says of a library, and the magic that all of them have. */
#define HILO_VERSION	"1.0.0"
#if PG_VERSION_NUM >= 180000
#define HILO_MODULE_MAGIC(library)	PG_MODULE_MAGIC_EXT(.name = library,.version = HILO_VERSION)
#else
#define HILO_MODULE_MAGIC(library)	PG_MODULE_MAGIC
#endif

/* Allocate memory for the extra value of a check hook; NULL: out of memory. */
static inline void *
hilo_guc_malloc(size_t size)
{
#if PG_VERSION_NUM >= 160000
	return guc_malloc(LOG, size);
#else
	return malloc(size);
#endif
}

/* The local id of the current transaction; this session has used it for no other. */
static inline LocalTransactionId
hilo_local_xid(void)
{
#if PG_VERSION_NUM >= 170000
	return MyProc->vxid.lxid;
#else
	return MyProc->lxid;
#endif
}

/*
 * True if this session has a lock of at least that mode on the relation, which is one of
 * this database.
 */
static inline bool
hilo_has_relation_locked(Oid relation, LOCKMODE least)
{
	LOCKTAG		tag;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, relation);
#if PG_VERSION_NUM >= 170000
	return LockHeldByMe(&tag, least, true);
#else
	for (LOCKMODE mode = least; mode <= AccessExclusiveLock; mode++)
	{
		if (LockHeldByMe(&tag, mode))
			return true;
	}
	return false;
#endif
}

/*
 * True if the current transaction has given rel new storage.  A rollback would bring the old
 * one back.
 */
static inline bool
hilo_storage_is_new(Relation rel)
{
#if PG_VERSION_NUM >= 160000
	return rel->rd_firstRelfilelocatorSubid != InvalidSubTransactionId;
#else
	return rel->rd_firstRelfilenodeSubid != InvalidSubTransactionId;
#endif
}

/*
 * Log a page of rel with these contents, as a full-page image.  Returns the LSN, which the
 * contents get.
 */
static inline XLogRecPtr
hilo_log_page(Relation rel, BlockNumber block, Page contents)
{
	return log_newpage(&rel->rd_locator, MAIN_FORKNUM, block, contents, true);
}

/*
 * Pin the first block of rel.  Looking for a page costs as much as all else that a draw does with
 * it, so the caller passes the buffer that had it the last time; 0: not known.
 */
static inline Buffer
hilo_read_again(Relation rel, Buffer recent)
{
	if (BufferIsValid(recent) &&
		ReadRecentBuffer(rel->rd_locator, MAIN_FORKNUM, 0, recent))
		return recent;
	return ReadBuffer(rel, 0);
}

/*
 * The storage of a permanent table of this database, by what pg_class says of it.  The table must
 * be locked; the relcache is not needed.
 */
static inline SMgrRelation
hilo_open_storage(Oid tablespace, Oid storage)
{
	RelFileLocator place = {OidIsValid(tablespace) ? tablespace : MyDatabaseTableSpace,
	MyDatabaseId, storage};

	return smgropen(place, -1);
}

/* Read a page of the storage of a table, which is locked; InvalidBuffer: it has no such page. */
static inline Buffer
hilo_read_page(Oid tablespace, Oid storage, BlockNumber block)
{
	SMgrRelation pages = hilo_open_storage(tablespace, storage);

	if (block >= smgrnblocks(pages, MAIN_FORKNUM))
		return InvalidBuffer;
	return ReadBufferWithoutRelcache(pages->smgr_rlocator.locator, MAIN_FORKNUM, block,
									 RBM_NORMAL, NULL, true);
}

/* True if role may execute the function. */
static inline bool
hilo_may_execute(Oid function, Oid role)
{
	return object_aclcheck(ProcedureRelationId, function, role, ACL_EXECUTE) == ACLCHECK_OK;
}

/* True if the current user owns the foreign server. */
static inline bool
hilo_owns_server(Oid server)
{
#if PG_VERSION_NUM >= 160000
	return object_ownercheck(ForeignServerRelationId, server, GetUserId());
#else
	return pg_foreign_server_ownercheck(server, GetUserId());
#endif
}

/* The parameters of a planner_hook, and the arguments that pass them on. */
#if PG_VERSION_NUM >= 190000
#define HILO_PLANNER_PARAMETERS \
	Query *parse, const char *query_string, int cursor_options, \
	ParamListInfo bound_params, ExplainState *explain
#define HILO_PLANNER_ARGUMENTS	parse, query_string, cursor_options, bound_params, explain
#else
#define HILO_PLANNER_PARAMETERS \
	Query *parse, const char *query_string, int cursor_options, \
	ParamListInfo bound_params
#define HILO_PLANNER_ARGUMENTS	parse, query_string, cursor_options, bound_params
#endif

/* Begin a sequential scan of a table, without keys. */
static inline TableScanDesc
hilo_table_beginscan(Relation rel, Snapshot snapshot)
{
#if PG_VERSION_NUM >= 190000
	return table_beginscan(rel, snapshot, 0, NULL, SO_NONE);
#else
	return table_beginscan(rel, snapshot, 0, NULL);
#endif
}

/* Begin an index scan with some keys, and without ordering operators. */
static inline IndexScanDesc
hilo_index_beginscan(Relation heap, Relation index, Snapshot snapshot,
					 int nkeys)
{
#if PG_VERSION_NUM >= 190000
	return index_beginscan(heap, index, snapshot, NULL, nkeys, 0, SO_NONE);
#elif PG_VERSION_NUM >= 180000
	return index_beginscan(heap, index, snapshot, NULL, nkeys, 0);
#else
	return index_beginscan(heap, index, snapshot, nkeys, 0);
#endif
}

/*
 * A column of a row. heap_getattr() is inline: in the headers of some minor
 * releases it calls a function, heap_datum_check(), that earlier servers do not
 * have.
 */
static inline Datum
hilo_getattr(HeapTuple tuple, int attnum, TupleDesc desc, bool *isnull)
{
	return SPI_getbinval(tuple, desc, attnum, isnull);
}

/*
 * Insert entries for the tuple in slot into all indexes of result_rel that are
 * ready.
 */
static inline void
hilo_insert_index_entries(ResultRelInfo *result_rel, TupleTableSlot *slot,
						  EState *estate)
{
#if PG_VERSION_NUM >= 190000
	ExecInsertIndexTuples(result_rel, estate, 0, slot, NIL, NULL);
#elif PG_VERSION_NUM >= 160000
	ExecInsertIndexTuples(result_rel, slot, estate, false, false, NULL, NIL,
						  false);
#else
	ExecInsertIndexTuples(result_rel, slot, estate, false, false, NULL, NIL);
#endif
}

/*
 * Make fcinfo return rows through a tuplestore.  The first release of version 15
 * has the function only under its former name, which later ones keep.
 */
static inline void
hilo_init_materialized(FunctionCallInfo fcinfo)
{
#if PG_VERSION_NUM >= 160000
	InitMaterializedSRF(fcinfo, 0);
#else
	SetSingleFuncCall(fcinfo, 0);
#endif
}

/*
 * Loop through a list of pointers, or of OIDs, and declare the variable that is
 * each of them in turn.  A loop declares variables of only one type: the outer
 * one, which runs once, declares where the inner one is.
 */
#if PG_VERSION_NUM < 170000
#define foreach_ptr(type, var, lst)	foreach_internal(type *, var, lst, lfirst)
#define foreach_oid(var, lst)	foreach_internal(Oid, var, lst, lfirst_oid)
#define foreach_internal(type, var, lst, value) \
	for (ForEachState var##__state = {(lst), 0}; \
		 var##__state.i >= 0; \
		 var##__state.i = -1) \
		for (type var; \
			 var##__state.i < list_length(var##__state.l) && \
			 (var = value(list_nth_cell(var##__state.l, var##__state.i)), true); \
			 var##__state.i++)
#endif

/*
 * The wait event that pg_stat_activity shows under a name; *event caches its
 * number, and is 0 at first.  Older servers have only one wait event for all
 * extensions.
 */
static inline uint32
hilo_wait_event(const char *name, uint32 *event)
{
#if PG_VERSION_NUM >= 170000
	if (*event == 0)
		*event = WaitEventExtensionNew(name);
	return *event;
#else
	return PG_WAIT_EXTENSION;
#endif
}

/* The level from which on this process logs messages: log_min_messages. */
static inline int *
hilo_log_level(void)
{
#if PG_VERSION_NUM >= 190000
	return &log_min_messages[MyBackendType];
#else
	return &log_min_messages;
#endif
}

/* Get a tranche for locks in dynamic shared memory. */
static inline int
hilo_new_tranche(const char *name)
{
#if PG_VERSION_NUM >= 190000
	return LWLockNewTrancheId(name);
#else
	return LWLockNewTrancheId();
#endif
}

/* Tell this session the name of a tranche. */
static inline void
hilo_register_tranche(int tranche, const char *name)
{
#if PG_VERSION_NUM < 190000
	LWLockRegisterTranche(tranche, name);
#endif
}

/*
 * The libraries export only marked symbols.  Older servers define the mark only
 * where the linker needs it, and do not set it for functions called from SQL.
 */
#if PG_VERSION_NUM < 160000 && defined(__GNUC__) && !defined(WIN32)
#undef PGDLLEXPORT
#define PGDLLEXPORT __attribute__((visibility("default")))
#undef PG_FUNCTION_INFO_V1
#define PG_FUNCTION_INFO_V1(funcname) \
extern PGDLLEXPORT Datum funcname(PG_FUNCTION_ARGS); \
extern PGDLLEXPORT const Pg_finfo_record *CppConcat(pg_finfo_,funcname)(void); \
const Pg_finfo_record * \
CppConcat(pg_finfo_,funcname) (void) \
{ \
	static const Pg_finfo_record my_finfo = {1}; \
	return &my_finfo; \
} \
extern int no_such_variable
#endif

#endif							/* HILO_COMPAT_H */

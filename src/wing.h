/*-------------------------------------------------------------------------
 *
 * wing.h
 *	  What this library does for that of the extension hilo_hub.
 *
 * Each library has a function, which takes no arguments, that returns a pointer to its table
 * of functions, so that neither is linked against the other.  HiloWing is the other table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_WING_H
#define HILO_WING_H

#include "pool.h"

/* The function of this library that returns HiloCore. */
#define HILO_CORE_NAME		"hilo"
#define HILO_CORE_FUNCTION	"hilo_core"

/* What it needs, as the headers describe it, without the prefix hilo_. */
typedef struct HiloCore
{
	const int  *max_range_size;
	bool		(*row_find) (HiloRowChange *change, HiloRowRef *ref, HiloRowAccess access);
	XLogRecPtr	(*row_finish) (HiloRowChange *change);
	void		(*row_abandon) (HiloRowChange *change);
	void		(*row_flush) (XLogRecPtr lsn);
	List	   *(*row_list) (void);
	Relation	(*row_lock_table) (LOCKMODE lockmode);
	int64		(*random_number) (void);
	double		(*rate_decay) (double value, int64 elapsed_us, int64 unit_us);
	void		(*catalog_announce) (Oid table);
	bool		(*check_row_name) (const char *name, const char *separator);
	bool		(*counter_read) (HiloRowRef *ref, HiloRow *row);
	void		(*counter_claim) (HiloRowRef *ref, const HiloSizing *sizing, HiloWanted *wanted,
								  HiloRow *row, HiloClaim *claim);
	int64		(*counter_size) (const HiloSizing *sizing, const HiloRow *row);
	bool		(*range_cut) (const HiloWanted *wanted, int64 max, int64 limit, bool pooled,
							  HiloRange *range);
	bool		(*pool_keep) (const char *name);
	void		(*pool_put) (const char *name, const HiloClaim *piece);
	bool		(*pool_take) (const char *name, const HiloRow *row, const HiloWanted *wanted,
							  HiloClaim *claim);
	void		(*pool_forget) (const char *name);
	int64		(*pool_count) (const char *name, const HiloRow *row);
	void		(*pool_note) (const char *name, const char *failure);
	HiloPoolNote (*pool_last_note) (const char *name);
} HiloCore;

#endif							/* HILO_WING_H */

/*-------------------------------------------------------------------------
 *
 * core.h
 *	  What hilo_hub uses of the core: what these headers mark with HILO_EXPORT, and
 *	  their types and inline functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_CORE_H
#define HILO_CORE_H

#include "base/compat.h"
#include "base/export.h"
#include "base/failure_point.h"
#include "base/settings.h"
#include "base/sql.h"
#include "counting/counter.h"
#include "counting/node.h"
#include "counting/row.h"
#include "counting/source.h"
#include "session/call.h"
#include "shared/entry.h"
#include "shared/pool.h"
#include "tables/binding.h"

#endif							/* HILO_CORE_H */

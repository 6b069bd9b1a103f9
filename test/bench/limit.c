/*-------------------------------------------------------------------------
 *
 * limit.c
 *	  What no function that draws ids can be faster than: one that only counts,
 *	  and one that only builds a text; and the time that a process has used.
 *	  Nobody but the benchmark uses them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/resource.h>

#include "fmgr.h"
#include "utils/builtins.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(bench_count);
PG_FUNCTION_INFO_V1(bench_text);
PG_FUNCTION_INFO_V1(bench_count_from);
PG_FUNCTION_INFO_V1(bench_cpu);

static int64 last_number;

/* bench_count(text) returns bigint: 1, 2, 3 ... */
Datum
bench_count(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(++last_number);
}

/* bench_text(text) returns text: orders/1-A, orders/2-A ... */
Datum
bench_text(PG_FUNCTION_ARGS)
{
	static const char before[] = {'o', 'r', 'd', 'e', 'r', 's', '/'};
	static const char after[] = {'-', 'A'};
	text	   *result = palloc(VARHDRSZ + sizeof(before) + 20 + sizeof(after));
	char	   *end = VARDATA(result);

	memcpy(end, before, sizeof(before));
	end += sizeof(before);
	end += pg_ulltoa_n(++last_number, end);
	memcpy(end, after, sizeof(after));
	end += sizeof(after);
	SET_VARSIZE(result, end - (char *) result);
	PG_RETURN_TEXT_P(result);
}

/* bench_count_from(bigint) returns void: the number after which both go on. */
Datum
bench_count_from(PG_FUNCTION_ARGS)
{
	last_number = PG_GETARG_INT64(0);
	PG_RETURN_VOID();
}

/* bench_cpu() returns float8: seconds of CPU time of this process. */
Datum
bench_cpu(PG_FUNCTION_ARGS)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	PG_RETURN_FLOAT8(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
					 (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
}

/*
 * What the server tells Valgrind about memory, told to AddressSanitizer.
 */
#ifndef MEMCHECK_FOR_ASAN_H
#define MEMCHECK_FOR_ASAN_H

#include <sanitizer/asan_interface.h>

#define VALGRIND_MAKE_MEM_DEFINED(addr, size) \
	ASAN_UNPOISON_MEMORY_REGION(addr, size)
#define VALGRIND_MAKE_MEM_UNDEFINED(addr, size) \
	ASAN_UNPOISON_MEMORY_REGION(addr, size)
#define VALGRIND_MAKE_MEM_NOACCESS(addr, size) \
	ASAN_POISON_MEMORY_REGION(addr, size)
#define VALGRIND_MEMPOOL_ALLOC(context, addr, size) \
	ASAN_UNPOISON_MEMORY_REGION(addr, size)
#define VALGRIND_MEMPOOL_CHANGE(context, old, addr, size) \
	ASAN_UNPOISON_MEMORY_REGION(addr, size)

/* The server has made that inaccessible already. */
#define VALGRIND_MEMPOOL_FREE(context, addr)				do {} while (0)
#define VALGRIND_CREATE_MEMPOOL(context, redzones, zeroed)	do {} while (0)
#define VALGRIND_DESTROY_MEMPOOL(context)					do {} while (0)
#define VALGRIND_CHECK_MEM_IS_DEFINED(addr, size)			do {} while (0)

#endif

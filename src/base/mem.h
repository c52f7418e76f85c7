/*
 * mem.h - the one place that memory comes from.
 *
 * Everything in the library allocates through here, so that a program can put
 * its own allocator underneath and a test can make any single call fail.
 */
#ifndef FW_BASE_MEM_H
#define FW_BASE_MEM_H

#include <stddef.h>
#include <yyjson.h>

/* NULL when there is no memory; errno means nothing. */
void *fw__allocate(size_t size);
void *fw__reallocate(void *ptr, size_t size);
/* NULL is a no-op; keeps errno. */
void fw__release(void *ptr);

/* The same, in the form that yyjson takes. */
extern const yyjson_alc fw__yyjson_alc;

#endif

/*
 * mem.h - memory allocation.
 *
 * Everything in the library allocates through these functions, so that a program can
 * install its own allocator and a test can make any single call fail.
 */
#ifndef FW_BASE_MEM_H
#define FW_BASE_MEM_H

#include <stddef.h>
#include <yyjson.h>

/* NULL if out of memory; errno is not set. */
void *fw__allocate(size_t size);
void *fw__reallocate(void *ptr, size_t size);
/* NULL is a no-op; preserves errno. */
void fw__release(void *ptr);

/* A copy of a C string, or of its first `len` bytes. NULL: no memory. */
char *fw_strdup(const char *text);
char *fw_strdup_n(const char *text, size_t len);

/* memset() to 0 as a call of the C library. For a constant size compilers write "rep
 * stos" instead, which is slower for a few hundred bytes. */
void fw__zero(void *ptr, size_t size);

/* The same allocator in the form that yyjson takes. */
extern const yyjson_alc fw__yyjson_alc;

#endif

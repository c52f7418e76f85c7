/*
 * mem.c - see mem.h.
 *
 * The allocator is a global that is set before the library is used. A pointer per
 * object would cost every error eight bytes and every call an argument, for a choice
 * that a program makes once.
 */
#include "base/mem.h"

#include <errno.h>
#include <faultwire/base.h>
#include <stdlib.h>
#include <string.h>

static void *libc_allocate(void *ctx, size_t size)
{
	(void)ctx;
	return malloc(size);
}

static void *libc_reallocate(void *ctx, void *ptr, size_t size)
{
	(void)ctx;
	return realloc(ptr, size);
}

static void libc_release(void *ctx, void *ptr)
{
	(void)ctx;
	free(ptr);
}

static const fw_allocator libc_allocator = { libc_allocate, libc_reallocate, libc_release,
					     NULL };

static fw_allocator current = { libc_allocate, libc_reallocate, libc_release, NULL };

void fw_allocator_set(const fw_allocator *allocator)
{
	current = allocator ? *allocator : libc_allocator;
}

void *fw__allocate(size_t size)
{
	return current.allocate(current.ctx, size);
}

void *fw__reallocate(void *ptr, size_t size)
{
	return current.reallocate(current.ctx, ptr, size);
}

void fw__release(void *ptr)
{
	int saved = errno;

	if (ptr)
		current.release(current.ctx, ptr);
	errno = saved;
}

void fw__zero(void *ptr, size_t size)
{
	memset(ptr, 0, size);
}

void fw_free(void *ptr)
{
	fw__release(ptr);
}

static void *yyjson_allocate(void *ctx, size_t size)
{
	(void)ctx;
	return fw__allocate(size);
}

static void *yyjson_reallocate(void *ctx, void *ptr, size_t old_size, size_t size)
{
	(void)ctx;
	(void)old_size;
	return fw__reallocate(ptr, size);
}

static void yyjson_release(void *ctx, void *ptr)
{
	(void)ctx;
	fw__release(ptr);
}

const yyjson_alc fw__yyjson_alc = { yyjson_allocate, yyjson_reallocate, yyjson_release, NULL };

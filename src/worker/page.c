/*
 * page.c - maps the memory that the server shares with its workers.
 */
#include "worker/page.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <faultwire/raw.h>

fw_error *fw_worker_pages_map(struct fw_worker_pages *pages, uint32_t count)
{
	int error;

	if (pages->start)
		return NULL;
	pages->stride = (size_t)sysconf(_SC_PAGESIZE);
	pages->count = count;
	/* Anonymous memory has no file. */
	pages->start = mmap(NULL, pages->stride * pages->count, PROT_READ | PROT_WRITE,
			    /* cppcheck-suppress invalidFunctionArg */
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (pages->start != MAP_FAILED)
		return NULL;
	error = errno;
	pages->start = NULL;
	return fw_error_from_errno(FW_HERE, error, "memory shared with workers");
}

void fw_worker_pages_unmap(struct fw_worker_pages *pages)
{
	if (pages->start)
		(void)munmap(pages->start, pages->stride * pages->count);
	pages->start = NULL;
}

void fw_worker_pages_keep(const struct fw_worker_pages *pages, uint32_t slot)
{
	char *page = pages->start + slot * pages->stride;
	size_t after = (pages->count - slot - 1) * pages->stride;

	if (slot)
		(void)munmap(pages->start, slot * pages->stride);
	if (after)
		(void)munmap(page + pages->stride, after);
}

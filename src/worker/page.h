/*
 * page.h - memory that the server shares with its workers.
 *
 * Each worker has one page, and unmaps the pages of the others. The server must not trust
 * the contents of a page, because the worker can write to it at any time.
 */
#ifndef FW_WORKER_PAGE_H
#define FW_WORKER_PAGE_H

#include <stdatomic.h>

#include <faultwire/error.h>

#include "worker/crash.h"

struct fw_worker_page {
	atomic_int cancelled;    /* set by the server: the call was cancelled */
	atomic_ullong begun_run; /* set by the worker: the run that it began last */
	struct fw_worker_crash crash;
};

struct fw_worker_pages {
	char *start;
	size_t stride;
	uint32_t count;
};

/* Maps `count` pages, once. Raises io errors. */
FW_NODISCARD fw_error *fw_worker_pages_map(struct fw_worker_pages *pages, uint32_t count);
void fw_worker_pages_unmap(struct fw_worker_pages *pages);
/* In a worker: unmaps all pages except its own. */
void fw_worker_pages_keep(const struct fw_worker_pages *pages, uint32_t slot);

static inline struct fw_worker_page *fw_worker_page_at(const struct fw_worker_pages *pages,
						       uint32_t slot)
{
	return (struct fw_worker_page *)(void *)(pages->start + slot * pages->stride);
}

#endif

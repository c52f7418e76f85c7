/*
 * store.h - what the other parts need of the store of open caches.
 */
#ifndef FW_TOOLS_CONTEXT_STORE_H
#define FW_TOOLS_CONTEXT_STORE_H

#include "tools/context/cache.h"

/* NULL: caches are named by path. */
const char *fw_context_store_root(const struct fw_context_store *store);
/* The cache, checked and indexed. The caller owns a reference. */
FW_NODISCARD fw_error *fw_context_store_get(struct fw_context_store *store, const char *name,
					    size_t len, const struct fw_context_run *run,
					    struct fw_context_cache **ret_cache);

#endif

/*
 * tools.h - the handlers of semantic_search, find_symbol, outline and find_references; `ctx` is
 * a struct fw_code_set. And the process that keeps the indexes up to date.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_TOOLS_H
#define FW_TOOLS_CODE_SEMANTIC_TOOLS_H

#include <faultwire/faultwire.h>

fw_error *fw_semantic_search(fw_call *call, void *ctx);
fw_error *fw_semantic_find_symbol(fw_call *call, void *ctx);
fw_error *fw_semantic_outline(fw_call *call, void *ctx);
fw_error *fw_semantic_find_references(fw_call *call, void *ctx);

/* Builds the indexes of the repositories of a struct fw_code_set, again and again; does not
 * return. In a worker process of its own. */
void fw_semantic_keep(void *ctx);
/* Loads what it needs, before the sandbox. */
fw_error *fw_semantic_keep_prepare(void *ctx);

#endif

/*
 * pool.h - threads that run handlers.
 *
 * The one rule to remember: they are never joined. A handler that never returns must not
 * prevent a server from stopping or a program from ending. libuv's pool is joined when
 * the program ends, so it cannot be used here.
 */
#ifndef FW_MCP_POOL_H
#define FW_MCP_POOL_H

#include <stdbool.h>

#include <faultwire/call.h>

struct fw_pool;

/* At most `most` threads. NULL: out of memory. */
struct fw_pool *fw_pool_new(unsigned most);

/* Runs `run` on a thread, in the order of submission; false: no thread is available. */
typedef void fw_pool_fn(fw_call *call);
bool fw_pool_submit(struct fw_pool *pool, fw_pool_fn *run, fw_call *call);

/* Releases the pool: idle threads end. False: some threads are still busy, and what
 * they use must not be freed. NULL is a no-op. */
bool fw_pool_free(struct fw_pool *pool);

#endif

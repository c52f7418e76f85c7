/*
 * pool.h - threads that run handlers.
 *
 * The one rule to remember: nobody waits for them. A handler that never
 * returns must not keep a server from stopping or a program from ending, which
 * is why this is not libuv's pool: that one is joined when the program ends.
 */
#ifndef FW_MCP_POOL_H
#define FW_MCP_POOL_H

#include <stdbool.h>

#include <faultwire/call.h>

struct fw_pool;

/* At most so many threads. NULL where there is no memory. */
struct fw_pool *fw_pool_new(unsigned most);

/* `run` on some thread, in the order of asking; false where none can be had. */
typedef void fw_pool_fn(fw_call *call);
bool fw_pool_submit(struct fw_pool *pool, fw_pool_fn *run, fw_call *call);

/* Lets go: idle threads end. False: some are still at work, and what they use
 * must stay. NULL is a no-op. */
bool fw_pool_free(struct fw_pool *pool);

#endif

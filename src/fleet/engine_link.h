/*
 * engine_link.h - a connection of hiredis on the loop. hiredis does not poll its socket: this does.
 * It also limits replies, and refuses those that nobody waits for.
 *
 * The one rule to remember: hiredis ends a link (redisAsyncFree()), nobody else.
 */
#ifndef FW_FLEET_ENGINE_LINK_H
#define FW_FLEET_ENGINE_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "fleet/hiredis.h"

struct fw_engine;

/* The handles of one connection. They outlive it by a turn of the loop. */
struct fw_engine_link {
	uv_poll_t poll;
	uv_prepare_t flush;
	struct fw_engine *engine; /* NULL: the connection has ended */
	redisAsyncContext *context;
	int events;
	bool is_flushing;
	bool has_stray;    /* a reply came that nobody waits for, or that is too large */
	uint64_t elements; /* of the reply that is being read */
	unsigned open;     /* handles that are not closed */
	/* How hiredis makes replies, and how we do. */
	const redisReplyObjectFunctions *plain;
	redisReplyObjectFunctions guard;
};

/* NULL: no memory, or the socket cannot be polled. Borrows `context` until hiredis frees it. */
struct fw_engine_link *fw_engine_link_new(struct fw_engine *engine, uv_loop_t *loop,
					  redisAsyncContext *context);

/* In engine.c. Ends the connection, whatever state it is in. `why` is for the log. */
void fw_engine__lose(struct fw_engine *engine, const char *why);
/* In engine.c. hiredis has ended the connection. */
void fw_engine__ended(const redisAsyncContext *context);

#endif

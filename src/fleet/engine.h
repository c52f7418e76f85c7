/*
 * engine.h - a connection to Redis or Valkey, on the loop.
 *
 * It connects by itself, and again when the connection was lost, with a growing delay.
 * Commands are sent only while it is up. A command that is not answered within the time
 * limit ends the connection, so no caller waits longer than that, and what was sent
 * before it is answered at once, without a reply.
 *
 *   DOWN        waits for the next attempt
 *   RESOLVING   looks the host up, on a thread of libuv
 *   CONNECTING  waits for the socket
 *   GREETING    login, database and scripts are sent
 *   UP          commands are sent
 *
 * The one rule to remember: `done` of a command that was accepted is called exactly once,
 * also when the connection or the engine ends. Replies are data of a peer: check them.
 */
#ifndef FW_FLEET_ENGINE_H
#define FW_FLEET_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

#include "base/loop.h"
#include "fleet/engine_url.h"

struct redisReply;
struct fw_engine;

/* A Lua script that the engine runs. Its user declares it; engine.c keeps it loaded. */
struct fw_engine_script {
	const char *text;
	char digest[41]; /* its SHA-1 in the engine; "": not loaded */
};

struct fw_engine_options {
	struct fw_loop *loop;
	const struct fw_engine_url *url; /* copied */
	uint32_t wait_ms;                /* for a reply */
	struct fw_engine_script *scripts;
	size_t script_count;
	bool is_quiet; /* log nothing: another connection to the same engine does */
	/* It has come up, or gone down. */
	void (*changed)(void *ctx, bool is_up);
	void *ctx;
};

/* Begins to connect. Raises internal.out_of_memory, internal.unsupported (no hiredis). */
FW_NODISCARD fw_error *fw_engine_new(const struct fw_engine_options *options,
				     struct fw_engine **ret_engine);
/* Commands that were sent complete without a reply. The handles are closed when the loop runs
 * again. Must not be called from a callback. NULL is a no-op. */
void fw_engine_free(struct fw_engine *engine);

bool fw_engine_is_up(const struct fw_engine *engine);
/* Whether a reply is still awaited. */
bool fw_engine_is_busy(const struct fw_engine *engine);
/* Whether an awaited reply keeps the loop running. Default: it does not. */
void fw_engine_keep(struct fw_engine *engine, bool keeps);
/* How often the connection was lost, or could not be made. */
uint64_t fw_engine_failures(const struct fw_engine *engine);

/* A command in progress; embedded in what it is about. */
struct fw_engine_call {
	struct fw_engine_call *next;
	struct fw_engine *engine;
	struct fw_engine_script *script; /* NULL: not a script */
	uint64_t sent_ms;
	/* `reply` is borrowed; NULL: the connection has ended. `is_unknown`: the engine has
	 * lost the script, and the command had no effect: send it again. */
	void (*done)(struct fw_engine_call *call, const struct redisReply *reply,
		     bool is_unknown);
};

/* A part of a command. */
struct fw_engine_word {
	const char *text;
	size_t len;
};
enum {
	FW_ENGINE_WORDS = 24,
	FW_ENGINE_CONNECT_MS = 1000, /* the most */
	FW_ENGINE_RETRY_MS = 2000    /* longest delay before the next attempt */
};

/* Sends a command. `call->done` is set; NULL call: nobody waits for the reply. False: it
 * is not up, or out of memory, and done is not called. */
bool fw_engine_send(struct fw_engine *engine, struct fw_engine_call *call,
		    const struct fw_engine_word *words, size_t count);
/* Runs a script with the first `key_count` words as its keys. */
bool fw_engine_run(struct fw_engine *engine, struct fw_engine_call *call,
		   struct fw_engine_script *script, size_t key_count,
		   const struct fw_engine_word *words, size_t count);

/* Element `index` of a reply that is an array; NULL: there is none. */
const struct redisReply *fw_engine_reply_element(const struct redisReply *reply, size_t index);
/* Element `index` of a reply that is an array, if it is a whole number; else false. */
bool fw_engine_reply_number(const struct redisReply *reply, size_t index, int64_t *ret_number);
/* The reply itself. */
bool fw_engine_reply_is_number(const struct redisReply *reply, int64_t *ret_number);

#endif

/*
 * op.h - operations of a handler on its call, as data: a block of content, a
 * question, progress. The server applies them at once. A worker records and
 * sends them, and the server applies them with the same code, which therefore
 * trusts no worker.
 *
 * The one rule to remember: a text ends in NUL after its length, and is otherwise
 * unchecked: the code that applies an operation checks it.
 */
#ifndef FW_MCP_OP_H
#define FW_MCP_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/call.h>

enum fw_op_kind {
	/* The result (call_result.c). */
	FW_OP_TEXT,          /* text */
	FW_OP_IMAGE,         /* base64, MIME type */
	FW_OP_AUDIO,         /* the same */
	FW_OP_RESOURCE_TEXT, /* URI, MIME type or none, text */
	FW_OP_RESOURCE_BLOB, /* the same, base64 */
	FW_OP_RESOURCE_LINK, /* URI, name, MIME type or none */
	FW_OP_STRUCTURED,    /* JSON */
	FW_OP_RESULT,        /* JSON */
	FW_OP_ROLE,          /* role */
	FW_OP_DESCRIPTION,   /* text */
	FW_OP_VALUE,         /* text */
	/* Before the result (call.c, ask.c). */
	FW_OP_PROGRESS,     /* message or none; both numbers */
	FW_OP_LOG,          /* text, logger or none; `number`: the level */
	FW_OP_ASK,          /* key, method, params or none */
	FW_OP_CLOSE_STREAM, /* `number`: milliseconds */
	FW_OP_SET_STATE,    /* text */
	/* The result could not be recorded: `number` is a fw_buf_state. */
	FW_OP_LOST,
	/* The handler's error: canonical JSON, the operator's detail or none. */
	FW_OP_ERROR,
	FW_OP_COUNT
};

enum { FW_OP_TEXTS = 3 };

struct fw_op_text {
	const char *text; /* NULL: none */
	size_t len;
};

struct fw_op {
	enum fw_op_kind kind;
	uint32_t number;
	struct fw_op_text texts[FW_OP_TEXTS];
	double numbers[2];
};

struct fw_recorder;

/* Takes the operations of a call in a worker, where they are not applied. */
struct fw_recorder {
	void (*record)(struct fw_recorder *recorder, const struct fw_op *op);
	bool (*is_cancelled)(const struct fw_recorder *recorder);
	const char *capabilities; /* names of the client's capabilities, each ends in NUL */
	size_t capabilities_len;
	const char *state; /* NULL: none */
	size_t state_len;
};

/* Applies it: in the server, or on the thread that handles the call. */
void fw_op_apply(fw_call *call, const struct fw_op *op);

/* By kind. */
void fw_op_apply_result(fw_call *call, const struct fw_op *op);
void fw_op_apply_progress(fw_call *call, const struct fw_op *op);
void fw_op_apply_log(fw_call *call, const struct fw_op *op);
void fw_ask_apply(fw_call *call, const struct fw_op *op);
void fw_op_apply_close_stream(fw_call *call, uint32_t retry_ms);
void fw_shared_apply(fw_call *call, const char *text, size_t len);

#endif

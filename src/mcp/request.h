/*
 * request.h - what a client asked for: the part of a call that is known before
 * it runs.
 */
#ifndef FW_MCP_REQUEST_H
#define FW_MCP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include <yyjson.h>

#include <faultwire/error.h>

#include "base/buf.h"
#include "rpc/message.h"
#include "rpc/version.h"

struct fw_capabilities;
struct fw_method;
struct fw_offer;

enum fw_call_kind {
	FW_CALL_TOOL,
	FW_CALL_RESOURCE,
	FW_CALL_PROMPT,
	FW_CALL_COMPLETE,
	FW_CALL_OTHER
};

struct fw_request {
	bool is_modern;
	bool has_id;
	bool may_hold_nul; /* the message contains \u0000, so a string may hold a NUL */
	enum fw_version version;
	enum fw_call_kind kind;
	const struct fw_method *method;
	const struct fw_offer *offer;
	fw_contract contract;
	yyjson_doc *doc;
	yyjson_doc *made_arguments; /* variables of a resource template */
	yyjson_val *root;
	yyjson_val *params;
	yyjson_val *meta;
	yyjson_val *arguments;
	yyjson_val *progress_token;
	yyjson_val *capabilities;                     /* in `doc` or `session_capabilities` */
	struct fw_capabilities *session_capabilities; /* legacy; NULL: not known */
	const char *method_name;                      /* without a NUL inside */
	const char *name;                             /* without a NUL inside */
	size_t name_len;
	int log_level;      /* -1: none; legacy: that of the session at the start */
	char *client_name;  /* modern: redacted name of the client; NULL: nothing to redact */
	/* From here on, memory is kept for the next call. */
	struct fw_buf json; /* text that fw_call_json() returned */
	struct fw_message_id id;
};

#endif

/*
 * result.h - the result of a call, as its handler adds to it.
 */
#ifndef FW_MCP_RESULT_H
#define FW_MCP_RESULT_H

#include <stdbool.h>

#include <yyjson.h>

#include <faultwire/call.h>

#include "base/buf.h"

struct fw_result {
	struct fw_buf content;
	struct fw_buf structured;
	yyjson_doc *parsed; /* `structured` as it was read, for its schema; NULL: none */
	struct fw_buf description;
	const char *role;
	bool is_raw;       /* the handler gave the whole result object */
	bool is_own_error; /* a raw result of a tool, with isError */
	unsigned values;
	fw_error *fault; /* why the result cannot be sent; NULL: it can */
};

void fw_call_forget_result(fw_call *call);
/* Checks the result, and writes its members into `out`. */
fw_error *fw_call_write_result(fw_call *call, struct fw_buf *out);
/* ttlMs and cacheScope, for modern clients. */
void fw_call_put_cache(const fw_call *call, struct fw_buf *out);

#endif

/*
 * project.h - the wire form of an error: which contract the client understands,
 * and the error in it.
 */
#ifndef FW_MCP_PROJECT_H
#define FW_MCP_PROJECT_H

#include <stdbool.h>

#include <yyjson.h>

#include <faultwire/call.h>

struct fw_buf;
struct fw_exchange;
struct fw_reply;

/* What a client may choose, in words. */
#define FW_MCP_CONTRACT_NAMES "canonical, kaiza, context-v0, codeintel, toolerror or owlclaw"

/* A contract as a client writes it: its name, or an object with `name`. False: it is
 * neither, or there is no such contract. */
bool fw_mcp_read_contract(yyjson_val *value, fw_contract *ret_contract);
/* Reads the contract that the request asks for, if any. */
fw_error *fw_mcp_choose_contract(fw_call *call);
/* The same for a page: the header names a contract; else a media type of Accept may.
 * FW_AUTO: neither does. */
fw_error *fw_mcp_choose_page_contract(struct fw_exchange *exchange, fw_contract *ret_contract);
/* The contract in which errors of this call are reported. */
fw_contract fw_mcp_contract(const fw_call *call);
/* Whether the error is reported as a tool's result, not as a protocol error. */
bool fw_mcp_is_tool_failure(const fw_call *call, const fw_error *err);
/* Writes the whole reply into `server->out`. */
void fw_mcp_put_error(fw_call *call, const fw_error *err);
/* Appends the error in a contract. */
void fw_mcp_encode(const fw_server *server, const fw_error *err, fw_contract contract,
		   struct fw_buf *buf);
/* Sets the HTTP status and headers. */
void fw_mcp_put_headers(const fw_call *call, const fw_error *err, struct fw_reply *reply);

#endif

/*
 * method_session.c - initialize and ping, server/discover, and the log level of
 * a session.
 */
#include <stdio.h>
#include <string.h>

#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/out.h"
#include "base/text.h"
#include "core/redact.h"
#include "mcp/boundary.h"
#include "mcp/call.h"
#include "mcp/era.h"
#include "mcp/method.h"
#include "mcp/project.h"
#include "mcp/relay.h"
#include "mcp/replica.h"
#include "mcp/server.h"
#include "mcp/session.h"
#include "rpc/names.h"
#include "rpc/version.h"

/* Capabilities follow from what was registered; changes are always reported. */
static void put_capabilities(const fw_server *server, struct fw_buf *out)
{
	FW_BUF(out, "\"capabilities\":");
	if (server->relay) {
		const char *relayed = server->relay->hello.capabilities;

		fw_buf_str(out, relayed ? relayed : "{}");
		return;
	}
	FW_BUF(out, "{");
	if (server->offers.tools.count)
		FW_BUF(out, "\"tools\":{\"listChanged\":true},");
	if (server->offers.resources.count + server->offers.templates.count)
		FW_BUF(out, "\"resources\":{\"subscribe\":true,\"listChanged\":true},");
	if (server->offers.prompts.count)
		FW_BUF(out, "\"prompts\":{\"listChanged\":true},");
	if (server->offers.has_completion)
		FW_BUF(out, "\"completions\":{},");
	FW_BUF(out, "\"logging\":{}}");
}

static void put_instructions(const fw_server *server, struct fw_buf *out)
{
	if (server->relay && server->relay->hello.instructions) {
		FW_BUF(out, ",\"instructions\":");
		fw_buf_str(out, server->relay->hello.instructions);
	} else if (server->identity.instructions) {
		FW_BUF(out, ",\"instructions\":");
		fw_buf_json_str(out, server->identity.instructions);
	}
}

fw_error *fw_session_read_contract(struct fw_session *session)
{
	yyjson_val *root = yyjson_doc_get_root(session->capabilities->doc);
	yyjson_val *value =
		fw_json_member(fw_json_member(root, "experimental"), FW_META_CONTRACT);

	if (!value)
		return NULL;
	if (!fw_mcp_read_contract(value, &session->contract))
		return fw_raise_input_invalid_value(
			"capabilities/experimental/dev.faultwire/contract",
			FW_MCP_CONTRACT_NAMES);
	session->has_contract = true;
	return NULL;
}

/* The depth of the text was checked with the message. */
struct fw_capabilities *fw_capabilities_new(const struct fw_buf *text)
{
	struct fw_capabilities *capabilities = fw__allocate(sizeof *capabilities);

	if (!capabilities)
		return NULL;
	capabilities->refs = 1;
	capabilities->doc =
		fw_json_read(text->text, text->len, (struct fw_json_limits){ text->max, 0 },
			     YYJSON_READ_NOFLAG, NULL, NULL);
	if (capabilities->doc)
		return capabilities;
	fw_capabilities_unref(capabilities);
	return NULL;
}

/* The client's capabilities outlive the message that brought them. */
static fw_error *keep_client(struct fw_session *session, yyjson_val *capabilities,
			     yyjson_val *info)
{
	const char *name = fw_text_str(fw_text_of(fw_json_member(info, "name")));
	const char *version = fw_text_str(fw_text_of(fw_json_member(info, "version")));
	struct fw_buf text;
	char client[256];

	fw_capabilities_unref(session->capabilities);
	session->capabilities = NULL;
	fw__release(session->client);
	session->client = NULL;
	fw_buf_init(&text, session->server->limits.message_bytes);
	fw_buf_str(&text, name);
	FW_BUF(&text, "/");
	fw_buf_str(&text, version);
	if (text.state == FW_BUF_OK) {
		(void)fw_redact_copy(client, sizeof client, text.text, text.len);
		session->client = fw_strdup(client);
		session->client_len = strlen(client);
		session->has_plain_client = fw_out_is_plain(client, session->client_len);
	}
	fw_buf_clear(&text);
	fw_buf_init(&text, session->server->limits.message_bytes);
	fw_buf_value(&text, capabilities);
	if (text.state == FW_BUF_OK)
		session->capabilities = fw_capabilities_new(&text);
	fw_buf_clear(&text);
	return session->capabilities && session->client ? NULL
							: fw_raise_internal_out_of_memory();
}

fw_error *fw_method_initialize(fw_call *call)
{
	yyjson_val *version = fw_json_member(call->request.params, "protocolVersion");
	yyjson_val *capabilities = fw_json_member(call->request.params, "capabilities");
	yyjson_val *info = fw_json_member(call->request.params, "clientInfo");
	struct fw_session *session = call->session;
	bool is_new = !session;
	enum fw_version agreed;
	fw_error *err;

	if (!yyjson_is_str(version))
		return fw_raise_protocol_invalid_params("/params/protocolVersion", "a string");
	if (!yyjson_is_obj(capabilities))
		return fw_raise_protocol_invalid_params("/params/capabilities", "an object");
	if (!fw_text_str(fw_text_of(fw_json_member(info, "name"))) ||
	    !fw_text_str(fw_text_of(fw_json_member(info, "version"))))
		return fw_raise_protocol_invalid_params("/params/clientInfo",
							"an object with name and version");
	agreed = fw_version_find(fw_text_of(version));
	if (agreed > FW_V_2025_11_25)
		agreed = FW_V_2025_11_25;
	if (is_new)
		FW_TRY(fw_session_new(call->exchange, &session));
	err = keep_client(session, capabilities, info);
	if (!err)
		err = fw_session_read_contract(session);
	if (err) {
		if (is_new)
			fw_session_free(session);
		return err;
	}
	session->version = agreed;
	if (is_new)
		fw_call_join(call, session);
	call->request.version = agreed;
	/* The client may use the session at another replica as soon as it has the answer. */
	if (!fw_replica_save(session, call))
		fw_method_initialized(call);
	return NULL;
}

void fw_method_initialized(fw_call *call)
{
	fw_server *server = call->server;
	struct fw_buf *out = fw_mcp_begin(call);

	FW_BUF(out, "\"protocolVersion\":\"");
	fw_buf_str(out, fw_version_names[call->request.version]);
	FW_BUF(out, "\",");
	put_capabilities(server, out);
	FW_BUF(out, ",\"serverInfo\":");
	fw_buf_str(out, server->relay && server->relay->hello.server
				? server->relay->hello.server
				: server->identity.implementation);
	put_instructions(server, out);
	fw_mcp_end(call, out);
	fw_mcp_reply(call);
}

fw_error *fw_method_discover(fw_call *call)
{
	struct fw_buf *out;

	FW_TRY(fw_mcp_choose_contract(call));
	out = fw_mcp_begin(call);
	FW_BUF(out, "\"supportedVersions\":[\"2026-07-28\"],");
	put_capabilities(call->server, out);
	put_instructions(call->server, out);
	FW_BUF(out, ",\"ttlMs\":");
	fw_buf_i64(out, call->server->options.cache_ttl_ms);
	fw_buf_str(out, call->server->options.cache_public ? ",\"cacheScope\":\"public\""
							   : ",\"cacheScope\":\"private\"");
	fw_mcp_end(call, out);
	fw_mcp_reply(call);
	return NULL;
}

fw_error *fw_method_ping(fw_call *call)
{
	fw_mcp_reply_empty(call);
	return NULL;
}

fw_error *fw_method_set_level(fw_call *call)
{
	yyjson_val *level = fw_json_member(call->request.params, "level");
	int found = fw_mcp_log_level(fw_text_of(level));
	bool is_saving = false;

	FW_TRY(fw_mcp_choose_contract(call));
	if (found < 0)
		return fw_raise_protocol_invalid_params("/params/level", "a log level");
	if (call->session) {
		call->session->log_level = (fw_log_level)found;
		is_saving = fw_replica_save(call->session, call);
	}
	if (call->server->relay && call->server->relay->ops->levelled)
		call->server->relay->ops->levelled(call->server->relay, found);
	if (!is_saving)
		fw_mcp_reply_empty(call);
	return NULL;
}

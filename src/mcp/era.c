/*
 * era.c - which protocol a request speaks, and whether it follows its rules.
 *
 * The era is determined per request: a modern one states its version in `_meta`
 * (or in the HTTP header), everything else is legacy and belongs to a session.
 * Clients and the conformance suite rely on the order of the checks; each
 * reports the first violation.
 */
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/json.h"
#include "base/text.h"
#include "mcp/call.h"
#include "mcp/era.h"
#include "mcp/method.h"
#include "mcp/offer.h"
#include "mcp/session.h"
#include "mcp/transport.h"
#include "rpc/header.h"
#include "rpc/names.h"
#include "rpc/version.h"

static const char *header(const fw_call *call, const char *name, unsigned *ret_count)
{
	if (ret_count)
		*ret_count = 0;
	if (!call->exchange || !call->exchange->ops->header)
		return NULL;
	return call->exchange->ops->header(call->exchange, name, ret_count);
}

/* ---- header values ---------------------------------------------------------- */

static fw_error *mismatch(const char *name, const char *reason)
{
	return fw_raise_protocol_header_mismatch(name, reason);
}

static fw_error *check_mirror(const fw_call *call, const char *name, struct fw_text text)
{
	char buf[FW_HEADER_VALUE_MAX];
	unsigned count;
	size_t got;
	const char *value = header(call, name, &count);

	if (!value)
		return mismatch(name, "is missing");
	if (count > 1)
		return mismatch(name, "came more than once");
	if (!fw_header_decode(value, buf, sizeof buf, &got))
		return mismatch(name, "cannot be decoded");
	if (!fw__text_is(text, buf, got))
		return mismatch(name, "differs from the body");
	return NULL;
}

/* The value of a raw JSON number, or of the text of a header. */
static bool same_number(const char *text, size_t len, yyjson_val *value)
{
	char *end;
	double given;

	if (!len || strspn(text, "+-0123456789.eE") != len)
		return false;
	given = strtod(text, &end);
	return *end == '\0' && given == strtod(yyjson_get_raw(value), NULL);
}

static fw_error *check_param(const fw_call *call, const struct fw_mirror *mirror)
{
	yyjson_val *value = yyjson_ptr_get(call->request.arguments, mirror->pointer);
	char buf[FW_HEADER_VALUE_MAX];
	unsigned count;
	const char *text;
	size_t len;

	if (!value || yyjson_is_null(value))
		return NULL;
	if (yyjson_is_str(value))
		return check_mirror(call, mirror->header, fw_text_of(value));
	if (yyjson_is_bool(value)) {
		text = yyjson_get_bool(value) ? "true" : "false";
		return check_mirror(call, mirror->header,
				    (struct fw_text){ text, strlen(text) });
	}
	text = header(call, mirror->header, &count);
	if (!text)
		return mismatch(mirror->header, "is missing");
	if (count > 1)
		return mismatch(mirror->header, "came more than once");
	if (!fw_header_decode(text, buf, sizeof buf, &len))
		return mismatch(mirror->header, "cannot be decoded");
	if (yyjson_is_raw(value) && !same_number(buf, len, value))
		return mismatch(mirror->header, "differs from the body");
	return NULL;
}

fw_error *fw_era_check_mirrors(const fw_call *call, const struct fw_mirrors *mirrors)
{
	if (!call->request.is_modern || !call->exchange || !call->exchange->is_http)
		return NULL;
	for (size_t i = 0; i < mirrors->count; i++)
		FW_TRY(check_param(call, &mirrors->items[i]));
	return NULL;
}

/* ---- modern ------------------------------------------------------------------- */

static fw_error *invalid_meta(const char *key, const char *expected)
{
	char pointer[128];

	(void)snprintf(pointer, sizeof pointer, "/params/_meta/io.modelcontextprotocol~1%s",
		       key);
	return fw_raise_protocol_invalid_params(pointer, expected);
}

static fw_error *check_claim(fw_call *call, yyjson_val *version)
{
	yyjson_val *info = fw_json_member(call->request.meta, FW_META_CLIENT_INFO);
	yyjson_val *level = fw_json_member(call->request.meta, FW_META_LOG_LEVEL);

	if (!fw_text_str(fw_text_of(version)))
		return invalid_meta("protocolVersion", "a string");
	call->request.capabilities =
		fw_json_member(call->request.meta, FW_META_CLIENT_CAPABILITIES);
	if (!yyjson_is_obj(call->request.capabilities))
		return invalid_meta("clientCapabilities", "an object");
	if (info && (!fw_text_str(fw_text_of(fw_json_member(info, "name"))) ||
		     !fw_text_str(fw_text_of(fw_json_member(info, "version")))))
		return invalid_meta("clientInfo", "an object with name and version");
	if (level) {
		call->request.log_level = fw_mcp_log_level(fw_text_of(level));
		if (call->request.log_level < 0)
			return invalid_meta("logLevel", "a log level");
	}
	return NULL;
}

static fw_error *check_name_header(const fw_call *call)
{
	yyjson_val *value;

	if (!call->request.method || !call->request.method->name_param)
		return NULL;
	value = fw_json_member(call->request.params, call->request.method->name_param);
	if (!yyjson_is_str(value))
		return NULL;
	return check_mirror(call, FW_HEADER_NAME, fw_text_of(value));
}

static fw_error *enter_modern(fw_call *call, yyjson_val *claim)
{
	bool is_http = call->exchange && call->exchange->is_http;
	const struct fw_text claimed = fw_text_of(claim);
	unsigned count = 0;
	const char *version = is_http ? header(call, FW_HEADER_VERSION, &count) : NULL;
	const char *method = is_http ? header(call, FW_HEADER_METHOD, NULL) : NULL;

	call->request.is_modern = true;
	call->request.version = FW_V_2026_07_28;
	FW_TRY(check_claim(call, claim));
	if (count > 1)
		return mismatch(FW_HEADER_VERSION, "came more than once");
	if (version && !fw_text_is(claimed, version))
		return fw_raise_protocol_version_conflict(fw_text_str(claimed), version);
	if (method && strcmp(method, call->request.method_name) != 0)
		return mismatch(FW_HEADER_METHOD, "differs from the body");
	if (fw_version_find(claimed) != FW_V_2026_07_28)
		return fw_raise_protocol_unsupported_version(fw_version_list,
							     fw_text_str(claimed));
	if (is_http && call->request.has_id) {
		if (!version)
			return mismatch(FW_HEADER_VERSION, "is missing");
		if (!method)
			return mismatch(FW_HEADER_METHOD, "is missing");
		FW_TRY(check_name_header(call));
	}
	return NULL;
}

/* ---- legacy ------------------------------------------------------------------- */

/* `version` is the header, NULL if there is none, and `named` the version it names. */
static fw_error *enter_legacy_http(fw_call *call, const char *version, enum fw_version named)
{
	const char *id = header(call, FW_HEADER_SESSION, NULL);
	struct fw_session *session;
	bool is_initialize = call->request.has_id &&
			     strcmp(call->request.method_name, FW_METHOD_INITIALIZE) == 0;

	if (version && named == FW_V_NONE)
		return fw_raise_protocol_unsupported_version(fw_version_list, version);
	if (is_initialize) {
		if (id)
			return fw_raise_protocol_invalid_request(
				"initialize begins a session and cannot be part of one");
		return NULL;
	}
	call->stage = FW_STAGE_SESSION;
	if (!id)
		return fw_raise_session_missing();
	session = fw_session_of(call->exchange, id);
	if (!session)
		return fw_raise_session_unknown();
	fw_call_join(call, session);
	call->request.version = session->version;
	return NULL;
}

static fw_error *enter_legacy_wire(fw_call *call)
{
	struct fw_exchange *exchange = call->exchange;

	call->stage = FW_STAGE_SESSION;
	if (!exchange->session) {
		FW_TRY(fw_session_new(exchange, &exchange->session));
		exchange->session->id[0] = '\0';
		exchange->session->wire = exchange;
	}
	fw_call_join(call, exchange->session);
	call->request.version = call->session->version;
	if (call->request.version == FW_V_NONE && call->request.has_id &&
	    strcmp(call->request.method_name, FW_METHOD_INITIALIZE) != 0 &&
	    strcmp(call->request.method_name, FW_METHOD_PING) != 0 &&
	    /* Modern clients probe with it; a legacy server does not know it. */
	    strcmp(call->request.method_name, FW_METHOD_DISCOVER) != 0)
		return fw_raise_protocol_not_initialized(call->request.method_name);
	return NULL;
}

fw_error *fw_era_enter(fw_call *call)
{
	yyjson_val *claim = fw_json_member(call->request.meta, FW_META_VERSION);
	const char *version;
	enum fw_version named;

	call->stage = FW_STAGE_PROTOCOL;
	if (claim)
		return enter_modern(call, claim);
	if (!call->exchange->is_http)
		return enter_legacy_wire(call);
	version = header(call, FW_HEADER_VERSION, NULL);
	named = version ? fw_version_named(version) : FW_V_NONE;
	if (named == FW_V_2026_07_28) {
		call->request.is_modern = true;
		call->request.version = FW_V_2026_07_28;
		if (!call->request.has_id)
			return NULL;
		if (strcmp(call->request.method_name, FW_METHOD_INITIALIZE) == 0)
			return mismatch(FW_HEADER_VERSION,
					"names a version without initialize");
		return invalid_meta("protocolVersion", "a string");
	}
	return enter_legacy_http(call, version, named);
}

/*
 * call_read.c - arguments as a handler reads them. Numbers are raw text in the
 * document, and converted on demand.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/text.h"
#include "mcp/call.h"
#include "mcp/op.h"
#include "mcp/principal.h"
#include "mcp/session.h"
#include "rpc/names.h"
#include "rpc/version.h"

const char *fw_call_name(const fw_call *call)
{
	return call->request.name;
}

const char *fw_call_session(const fw_call *call)
{
	return call->session && call->session->id[0] ? call->session->id : NULL;
}

const char *fw_call_client(const fw_call *call)
{
	yyjson_val *info = fw_json_member(call->request.meta, FW_META_CLIENT_INFO);

	return call->session ? call->session->client
			     : fw_text_str(fw_text_of(fw_json_member(info, "name")));
}

const fw_principal *fw_call_principal(const fw_call *call)
{
	return call->principal ? call->principal : fw_principal_anonymous();
}

static yyjson_val *argument(const fw_call *call, const char *name)
{
	return name ? fw_json_member(call->request.arguments, name) : NULL;
}

bool fw_call_has(const fw_call *call, const char *name)
{
	yyjson_val *value = argument(call, name);

	return value && !yyjson_is_null(value);
}

const char *fw_call_string(const fw_call *call, const char *name, size_t *ret_len)
{
	const struct fw_text text = fw_text_of(argument(call, name));

	if (!ret_len)
		return call->request.may_hold_nul ? fw_text_str(text) : text.p;
	*ret_len = text.n;
	return text.p;
}

/* "12", "12.0" and "1.2e1" are the same integer to JSON Schema. */
int64_t fw_call_i64(const fw_call *call, const char *name, int64_t otherwise)
{
	const char *text = yyjson_get_raw(argument(call, name));
	long long value;
	double wide;
	char *end;

	if (!text)
		return otherwise;
	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno == 0 && *end != '.' && *end != 'e' && *end != 'E')
		return value;
	wide = strtod(text, NULL);
	if (wide >= -9223372036854775808.0 && wide < 9223372036854775808.0 &&
	    wide == (double)(int64_t)wide)
		return (int64_t)wide;
	return otherwise;
}

double fw_call_f64(const fw_call *call, const char *name, double otherwise)
{
	const char *text = yyjson_get_raw(argument(call, name));

	return text ? strtod(text, NULL) : otherwise;
}

bool fw_call_bool(const fw_call *call, const char *name, bool otherwise)
{
	yyjson_val *value = argument(call, name);

	return yyjson_is_bool(value) ? yyjson_get_bool(value) : otherwise;
}

const char *fw_call_json(fw_call *call, const char *name, size_t *ret_len)
{
	yyjson_val *value = name ? argument(call, name) : call->request.arguments;

	fw_buf_reset(&call->request.json, FW_CALL_KEEP_BYTES);
	if (!value && name)
		return NULL;
	if (value)
		fw_buf_value(&call->request.json, value);
	else
		FW_BUF(&call->request.json, "{}");
	if (call->request.json.state != FW_BUF_OK)
		return NULL;
	if (ret_len)
		*ret_len = call->request.json.len;
	return call->request.json.text;
}

const char *fw_call_protocol(const fw_call *call)
{
	return call->request.version < FW_V_COUNT ? fw_version_names[call->request.version]
						  : "";
}

yyjson_val *fw_call_capabilities(const fw_call *call)
{
	return call->request.capabilities;
}

/* A worker has the names only. */
static bool is_named(const struct fw_recorder *recorder, const char *name)
{
	size_t at = 0;

	while (at < recorder->capabilities_len) {
		if (strcmp(recorder->capabilities + at, name) == 0)
			return true;
		at += strlen(recorder->capabilities + at) + 1;
	}
	return false;
}

bool fw_call_client_can(const fw_call *call, const char *capability)
{
	if (capability && call->run.recorder)
		return is_named(call->run.recorder, capability);
	return capability && fw_json_member(fw_call_capabilities(call), capability) != NULL;
}

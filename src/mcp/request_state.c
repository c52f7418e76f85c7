/*
 * request_state.c - requestState: text that a modern client carries from one
 * round of a call to the next. Clients could change it, so it is signed, bound
 * to the request that it belongs to, and expires.
 *
 * v1.<payload>.<HMAC-SHA256 of that>, both base64url; the payload is JSON:
 * {"e":expiry,"n":round,"d":"digest of method, name, arguments, principal",
 * "a":{answers}}.
 */
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "mcp/ask.h"
#include "mcp/call.h"
#include "mcp/request_state.h"
#include "mcp/server.h"
#include "mcp/transport.h"

enum { MAC_TEXT = 43 };

/* Decodes base64; NULL: it is not valid, or no memory. */
static char *decode(const char *text, size_t len, size_t *ret_len)
{
	char *bytes = fw__allocate(len + 3);

	if (bytes && fw_base64_read(text, len, (unsigned char *)bytes, ret_len))
		return bytes;
	fw__release(bytes);
	return NULL;
}

/* Binds the state to this request and this caller. */
static bool digest(const fw_call *call, struct fw_buf *out)
{
	const char *principal = fw_principal_name(call->principal);
	unsigned char hash[FW_SHA256_BYTES];
	struct fw_buf text;
	bool is_made;

	fw_buf_init(&text, 2 * (size_t)call->server->limits.message_bytes);
	fw_buf_json_str(&text, call->request.method_name);
	fw_buf_json(&text, call->request.name, call->request.name_len);
	fw_buf_json_str(&text, principal);
	if (call->request.arguments)
		fw_buf_value(&text, call->request.arguments);
	is_made = text.state == FW_BUF_OK && fw_sha256(text.text, text.len, hash);
	fw_buf_clear(&text);
	if (is_made)
		fw_base64url_put(out, hash, sizeof hash);
	return is_made;
}

static bool sign(const fw_server *server, const char *text, size_t len, struct fw_buf *out)
{
	unsigned char mac[FW_SHA256_BYTES];

	if (!fw_hmac_sha256(server->key, sizeof server->key, text, len, mac))
		return false;
	fw_base64url_put(out, mac, sizeof mac);
	return true;
}

fw_error *fw_request_state_write(fw_call *call, struct fw_buf *out)
{
	struct fw_buf payload;
	size_t start;
	bool is_first = true;

	if (!fw_digest_load())
		return fw_raise_internal_unsupported("a question without libcrypto");
	fw_buf_init(&payload, 2 * (size_t)call->server->limits.answer_bytes);
	FW_BUF(&payload, "{\"e\":");
	fw_buf_i64(&payload, (fw_unix_ms() + (int64_t)call->server->limits.state_ms) / 1000);
	FW_BUF(&payload, ",\"n\":");
	fw_buf_i64(&payload, call->questions.round);
	FW_BUF(&payload, ",\"d\":\"");
	if (!digest(call, &payload))
		payload.state = FW_BUF_NO_MEMORY;
	FW_BUF(&payload, "\",\"a\":{");
	for (size_t i = 0; i < call->questions.count; i++) {
		const struct fw_question *question = &call->questions.items[i];

		/* Only questions that were asked: a client may send anything. The answers
		 * of the server are asked for again. */
		if (!question->answer || question->is_host)
			continue;
		if (!is_first)
			FW_BUF(&payload, ",");
		is_first = false;
		fw_buf_json_str(&payload, question->key);
		FW_BUF(&payload, ":");
		fw_buf_str(&payload, question->answer);
	}
	FW_BUF(&payload, "}}");
	if (payload.state != FW_BUF_OK) {
		fw_buf_clear(&payload);
		return fw_raise_input_too_large("answers", call->server->limits.answer_bytes);
	}
	start = out->len;
	FW_BUF(out, "v1.");
	fw_base64url_put(out, (const unsigned char *)payload.text, payload.len);
	fw_buf_clear(&payload);
	if (out->state == FW_BUF_OK) {
		size_t len = out->len - start;

		/* Reserve first: the signed text must not move in the meantime. */
		if (fw_buf_reserve(out, MAC_TEXT + 2)) {
			struct fw_buf mac;

			fw_buf_init(&mac, 64);
			if (!sign(call->server, out->text + start, len, &mac))
				out->state = FW_BUF_NO_MEMORY;
			FW_BUF(out, ".");
			fw_buf_put(out, mac.text ? mac.text : "", mac.len);
			fw_buf_clear(&mac);
		}
	}
	return NULL;
}

static bool take_payload(fw_call *call, yyjson_val *root)
{
	yyjson_val *answers = fw_json_member(root, "a");
	yyjson_obj_iter iter = yyjson_obj_iter_with(answers);
	struct fw_buf expected;
	yyjson_val *key;
	bool is_mine;

	if (fw_unix_ms() / 1000 > strtoll(yyjson_get_raw(fw_json_member(root, "e")), NULL, 10))
		return false;
	fw_buf_init(&expected, 64);
	is_mine = digest(call, &expected) && expected.state == FW_BUF_OK &&
		  yyjson_equals_str(fw_json_member(root, "d"), expected.text);
	fw_buf_clear(&expected);
	if (!is_mine)
		return false;
	call->questions.round =
		(unsigned)strtoul(yyjson_get_raw(fw_json_member(root, "n")), NULL, 10);
	while ((key = yyjson_obj_iter_next(&iter)))
		fw_ask_restore(call, fw_text_of(key), yyjson_obj_iter_get_val(key));
	return true;
}

fw_error *fw_request_state_read(fw_call *call, struct fw_text state)
{
	const char *text = state.p;
	size_t len = state.n;
	size_t signed_len = len > MAC_TEXT + 1 ? len - MAC_TEXT - 1 : 0;
	struct fw_buf mac;
	bool is_mine = false;
	char *payload;
	size_t payload_len;
	yyjson_doc *doc;

	if (signed_len < 4 || memcmp(text, "v1.", 3) != 0 || text[signed_len] != '.')
		return fw_raise_protocol_state_tampered();
	fw_buf_init(&mac, 64);
	is_mine = sign(call->server, text, signed_len, &mac) && mac.len == MAC_TEXT &&
		  fw_bytes_equal(mac.text, text + signed_len + 1, MAC_TEXT);
	fw_buf_clear(&mac);
	if (!is_mine)
		return fw_raise_protocol_state_tampered();
	payload = decode(text + 3, signed_len - 3, &payload_len);
	if (!payload)
		return fw_raise_protocol_state_tampered();
	/* We wrote it, from answers whose depth was checked. */
	doc = fw_json_read(payload, payload_len,
			   (struct fw_json_limits){ call->server->limits.message_bytes, 0 },
			   YYJSON_READ_NUMBER_AS_RAW, NULL, NULL);
	is_mine = doc && take_payload(call, yyjson_doc_get_root(doc));
	yyjson_doc_free(doc);
	fw__release(payload);
	return is_mine ? NULL : fw_raise_protocol_state_tampered();
}

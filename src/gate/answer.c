/*
 * answer.c - decides what an upstream's reply means: a success, a failure in one of the
 * contracts, or a failure described in plain text.
 *
 * The code comes from the reply where possible: an envelope keeps its own code, and the
 * classifier assigns one to plain text. A failure that neither can identify becomes
 * upstream.failed.
 */
#include <stdlib.h>
#include <string.h>

#include <faultwire/classify.h>
#include <faultwire/contract.h>
#include <faultwire/raise.h>
#include <faultwire/raw.h>

#include "base/limits.h"
#include "base/mem.h"
#include "gate/gate_impl.h"
#include "mcp/call.h"

enum { METHOD_NOT_FOUND = -32601, RESOURCE_NOT_FOUND = -32002, MISSING_CAPABILITY = -32021 };

static const char *tool_of(const fw_call *call)
{
	return call->request.kind == FW_CALL_TOOL ? call->request.name : NULL;
}

/* Copies the text of the first content block that has any. */
static size_t first_text(struct fw_slice content, char *ret_text, size_t size)
{
	struct fw_slice key;
	struct fw_slice item;
	const char *at = NULL;

	ret_text[0] = '\0';
	while (content.p && fw_slice_next(content, &at, &key, &item)) {
		struct fw_scan_member text = { .name = "text" };

		(void)fw_slice_members(item, &text, 1);
		if (fw_slice_is_string(text.value)) {
			size_t len = fw_slice_text(text.value, ret_text, size);

			return len < size ? len : strlen(ret_text);
		}
	}
	return 0;
}

/* Adds what only the gateway knows: the upstream's name, and that a reply came. Consumes
 * `err`. */
static fw_error *finish(const struct fw_upstream *upstream, fw_error *err,
			const fw_flat_text *text)
{
	const char *name = upstream->entry->target.name;

	if (fw_error_code(err) == FW_TOOL_FAILED) {
		err = fw_error_reclassify(err, fw_classifier_builtin(), text);
		/* The text may blame another system, but it came from the upstream. */
		fw_error_set_origin(err, FW_ORIGIN_UPSTREAM);
	}
	if (fw_error_code(err) == FW_TOOL_FAILED) {
		fw_error *failed = fw_raise_upstream_failed(
			name, text->len ? fw_error_message(err) : "no reason was given");

		err = fw_error_caused_by(failed, err);
	}
	if (fw_error_delivery(err) == FW_DELIVERY_NONE)
		fw_error_set_delivery(err, FW_REPLIED);
	fw_error_add_string(err, "upstream", name);
	return err;
}

/* Decodes an envelope, other JSON, or text. Returns NULL if it cannot be read. */
static fw_error *decode(const char *text, size_t len)
{
	fw_error *read = NULL;
	fw_error *err = fw_error_decode(text, len, FW_AUTO, NULL, &read);

	if (!err)
		return read;
	fw_error_free(err);
	return NULL;
}

static fw_error *read_result(const struct fw_upstream *upstream, const fw_call *call,
			     const struct fw_scan *scan)
{
	char text[FW_LIMIT_TEXT_BYTES];
	size_t len = first_text(scan->content, text, sizeof text);
	const fw_flat_text flat = { .text = text, .len = len, .tool = tool_of(call) };
	fw_error *err = NULL;

	if (scan->result.n <= FW_LIMIT_ENVELOPE_BYTES)
		err = decode(scan->result.p, scan->result.n);
	/* Some servers put the envelope into the structured content only. */
	if ((!err || fw_error_code(err) == FW_TOOL_FAILED) &&
	    fw_slice_is_object(scan->structured) &&
	    fw_sniff(scan->structured.p, scan->structured.n) < FW_CONTRACT_COUNT) {
		fw_error_free(err);
		err = decode(scan->structured.p, scan->structured.n);
	}
	if (!err)
		err = fw_error_from_text(FW_HERE, text, len);
	return finish(upstream, err, &flat);
}

/* JSON-RPC errors that have a code of their own in our registry. */
static fw_error *known_error(const fw_call *call, const struct fw_scan *scan, long code)
{
	switch (code) {
	case METHOD_NOT_FOUND:
		return fw_raise_protocol_method_not_found(call->request.method_name);
	case RESOURCE_NOT_FOUND:
		return call->request.name
			       ? fw_raise_protocol_resource_not_found(call->request.name)
			       : NULL;
	case MISSING_CAPABILITY: {
		struct fw_scan_member required = { .name = "requiredCapabilities" };
		char *text;
		fw_error *err;

		(void)fw_slice_members(scan->data, &required, 1);
		if (!fw_slice_is_object(required.value))
			return NULL;
		text = fw_strdup_n(required.value.p, required.value.n);
		err = text ? fw_raise_protocol_missing_capability(text) : NULL;
		fw__release(text);
		return err;
	}
	default: return NULL;
	}
}

static fw_error *read_error(const struct fw_upstream *upstream, const fw_call *call,
			    const struct fw_scan *scan)
{
	struct fw_buf whole;
	char text[FW_LIMIT_TEXT_BYTES];
	long code = strtol(scan->code.p, NULL, 10);
	size_t len = fw_slice_text(scan->message, text, sizeof text);
	const fw_flat_text flat = { .text = text,
				    .len = len < sizeof text ? len : strlen(text),
				    .tool = tool_of(call),
				    .jsonrpc_code = (int)code };
	fw_error *err = NULL;

	fw_buf_init(&whole, FW_LIMIT_ENVELOPE_BYTES);
	FW_BUF(&whole, "{\"jsonrpc\":\"2.0\",\"error\":");
	fw_buf_put(&whole, scan->error.p, scan->error.n);
	FW_BUF(&whole, "}");
	if (whole.state == FW_BUF_OK)
		err = decode(whole.text, whole.len);
	fw_buf_clear(&whole);
	if (!err || fw_error_code(err) == FW_TOOL_FAILED) {
		fw_error *known = known_error(call, scan, code);

		if (known) {
			fw_error_free(err);
			err = known;
		}
	}
	if (!err)
		err = fw_error_from_text(FW_HERE, text, flat.len);
	return finish(upstream, err, &flat);
}

/* "Error ...", or "notes.md: Error ..." if the call named several things and one of them
 * failed. */
static bool begins_as_error(const char *text)
{
	enum { PREFIX_BYTES = 128 };
	const char *colon;

	if (strncasecmp(text, "error", 5) == 0)
		return true;
	colon = strcasestr(text, ": error");
	return colon && colon - text <= PREFIX_BYTES &&
	       strcspn(text, "\n") > (size_t)(colon - text);
}

/* Detects a result that is marked as a success although its only text is an error, as far
 * as the classifier is certain. */
static fw_error *suspect(const struct fw_upstream *upstream, const fw_call *call,
			 const struct fw_scan *scan)
{
	enum { SHORT = 2000 };
	char text[SHORT + 1];
	size_t len = first_text(scan->content, text, sizeof text);
	const fw_flat_text flat = { .text = text, .len = len, .tool = tool_of(call) };
	fw_classification found;
	bool is_envelope;

	/* A long text is more likely to discuss errors than to be one. */
	if (!len || len >= SHORT || scan->content.n > 4 * SHORT)
		return NULL;
	is_envelope = text[0] == '{' && fw_sniff(text, len) < FW_CONTRACT_COUNT;
	if (!is_envelope && !begins_as_error(text))
		return NULL;
	fw_classify(fw_classifier_builtin(), &flat, &found);
	if (!is_envelope && found.confidence < 0.7)
		return NULL;
	{
		fw_error *err = is_envelope ? decode(text, len) : NULL;

		if (!err)
			err = fw_error_from_text(FW_HERE, text, len);
		err = finish(upstream, err, &flat);
		fw_error_add_bool(err, "suspected", true);
		return err;
	}
}

fw_error *fw_answer_read(const struct fw_upstream *upstream, const fw_call *call,
			 const struct fw_remote_reply *reply)
{
	if (reply->error.p)
		return read_error(upstream, call, reply->scan);
	if (call->request.kind != FW_CALL_TOOL)
		return NULL;
	if (fw_slice_is(reply->scan->is_error, "true"))
		return read_result(upstream, call, reply->scan);
	return upstream->gate->options.suspects ? suspect(upstream, call, reply->scan) : NULL;
}

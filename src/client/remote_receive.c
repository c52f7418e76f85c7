/*
 * remote_receive.c - receives the messages of a server, and assigns a code to each way in
 * which it can fail.
 *
 * A reply is matched by its id. A reply that cannot be matched or is damaged is
 * attributed to a request only if that is certain: by the HTTP response in which it came,
 * by an id that can still be read, or because exactly one request has no answer. That
 * request fails at once instead of at its deadline. All other text that is not a message
 * is only counted and shown to the operator, because many servers print banners and log
 * lines.
 */
#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"
#include "client/remote_impl.h"
#include "core/redact.h"
#include "rpc/names.h"

enum { SHOWN_BYTES = 512 };

static const char *name_of(const struct fw_remote *remote)
{
	return remote->options.target.name;
}

/* ---- failing a request ------------------------------------------------------------ */

/* Fails a request with `err`, which it consumes. The operator sees the beginning of the
 * text. */
static void fail_with(struct fw_remote *remote, struct fw_remote_pending *pending,
		      fw_error *err, const char *text, size_t len)
{
	char shown[SHOWN_BYTES];

	fw_error_set_delivery(err, FW_REPLIED);
	if (len) {
		(void)fw_redact_copy(shown, sizeof shown, text, len);
		fw_error_set_detail(err, shown);
	}
	fw_remote__finish(remote, pending, NULL, err);
}

static fw_error *invalid(const struct fw_remote *remote, const char *reason)
{
	return fw_raise_upstream_invalid_reply(name_of(remote), reason);
}

struct fw_remote_pending *fw_remote__only_one(const struct fw_remote *remote)
{
	struct fw_remote_pending *at = remote->first;

	while (at && at->is_stream)
		at = at->next;
	return remote->outstanding == 1 ? at : NULL;
}

/* The request that a message without a usable id belongs to, if that is certain. */
static struct fw_remote_pending *only_one(const struct fw_remote *remote, uint64_t key)
{
	return key ? fw_remote__find(remote, key) : fw_remote__only_one(remote);
}

/* ---- broken text ------------------------------------------------------------------ */

static fw_error *raise_broken(const struct fw_remote *remote, const struct fw_scan *scan)
{
	fw_error *err;

	switch (scan->status) {
	case FW_SCAN_TOO_DEEP: return invalid(remote, "it is nested too deeply");
	case FW_SCAN_AMBIGUOUS: return invalid(remote, "a member occurs twice");
	case FW_SCAN_NOT_OBJECT:
		return invalid(remote,
			       scan->is_array ? "it is a batch" : "it is not an object");
	default: break;
	}
	err = fw_raise_upstream_garbled(name_of(remote), scan->position);
	fw_error_add_string(err, "reason",
			    scan->status == FW_SCAN_CUT        ? "cut"
			    : scan->status == FW_SCAN_NOT_UTF8 ? "not UTF-8"
							       : "not JSON");
	return err;
}

/* True: the text looks like the report of a program that is about to crash. */
static bool is_crash_report(const char *text, size_t len)
{
	static const char *const starts[] = {
		"Traceback (most recent call last)",
		"panic: ",
		"fatal error: ",
		"Uncaught ",
		"Unhandled ",
		"thread 'main' panicked",
		"Segmentation fault",
	};
	const struct fw_text line = { text, len };

	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if (fw_text_starts(line, starts[i]))
			return true;
	return false;
}

/* True: the line has a reply after other text, such as a banner without a newline. */
static bool has_reply(const struct fw_remote *remote, const char *text, size_t len)
{
	const char *brace = memchr(text, '{', len);
	struct fw_scan scan;
	unsigned long long id;

	if (!brace)
		return false;
	(void)fw_slice_scan(brace, len - (size_t)(brace - text), remote->options.depth, &scan);
	return !scan.method.p && fw_slice_u64(scan.id, &id) && fw_remote__find(remote, id);
}

static void stray(struct fw_remote *remote, const char *text, size_t len)
{
	const struct fw_remote_pending *only = only_one(remote, 0);

	remote->counts.stray++;
	if (remote->options.on.stray)
		remote->options.on.stray(remote->options.ctx, text, len);
	if (remote->alarm_ms)
		return;
	/* Do not fail yet, because the answer may follow: the server may catch the
	 * exception, or log what it is about to send. */
	remote->alarm = fw_remote__framing(remote, only, (struct fw_text){ text, len },
					   &remote->alarm_id);
	if (!remote->alarm && only) {
		remote->alarm = is_crash_report(text, len)     ? "crash report"
				: has_reply(remote, text, len) ? "not JSON"
							       : NULL;
		remote->alarm_id = only->id;
	}
	if (remote->alarm)
		fw_remote__sound(remote, remote->alarm, remote->alarm_id);
}

void fw_remote__sound(struct fw_remote *remote, const char *alarm, uint64_t id)
{
	remote->alarm = alarm;
	remote->alarm_id = id;
	remote->alarm_ms = uv_now(&remote->loop->uv) + FW_LIMIT_CRASH_REPORT_MS;
	fw_remote__watch(remote, remote->alarm_ms);
}

void fw_remote__alarm(struct fw_remote *remote)
{
	struct fw_remote_pending *pending;

	remote->alarm_ms = 0;
	/* Output that follows does not belong to this answer. */
	if (remote->is_compressed && remote->link)
		fw_link_drop_partial(remote->link);
	if (!remote->alarm)
		fw_remote__check_partial(remote);
	else if ((pending = fw_remote__find(remote, remote->alarm_id)))
		fw_remote__finish(remote, pending, NULL,
				  fw_remote__raise_garbled(remote, remote->alarm));
}

/* True: the text begins like a message, so it is a truncated or damaged one. A brace or a
 * bracket is not enough, because "[INFO] ..." and printed objects are log lines. */
static bool is_like_message(const char *text, size_t len)
{
	enum { LOOKED_AT = 256 };
	size_t most = len < LOOKED_AT ? len : LOOKED_AT;

	return len && (text[0] == '{' || text[0] == '[') &&
	       (memmem(text, most, "jsonrpc", 7) || memmem(text, most, "\"result\":", 9) ||
		memmem(text, most, "\"error\":{", 9));
}

static void take_broken(struct fw_remote *remote, uint64_t key, const struct fw_scan *scan,
			const char *text, size_t len)
{
	struct fw_remote_pending *pending = NULL;
	unsigned long long id;

	bool is_message = is_like_message(text, len);

	if (scan->id.p && !scan->method.p && fw_slice_u64(scan->id, &id))
		pending = fw_remote__find(remote, id);
	if (!pending && (key || is_message))
		pending = only_one(remote, key);
	if (pending)
		fail_with(remote, pending, raise_broken(remote, scan), text, len);
	else if (!fw_remote__take_wide(remote, text, len))
		stray(remote, text, len);
}

/* ---- replies ---------------------------------------------------------------------- */

static const char *check_tool_result(const struct fw_scan *scan, bool is_modern)
{
	if (scan->is_error.p && !fw_slice_is(scan->is_error, "true") &&
	    !fw_slice_is(scan->is_error, "false"))
		return "isError is not a boolean";
	if (fw_slice_equals(scan->type, "input_required"))
		return NULL;
	/* In the modern era any JSON is allowed. */
	if (scan->structured.p && !is_modern && !fw_slice_is_object(scan->structured))
		return "structuredContent is not an object";
	if (!scan->content.p)
		return scan->structured.p ? NULL : "the tool's result has no content";
	if (!fw_slice_is_array(scan->content))
		return "content is not an array";
	switch (scan->blocks) {
	case FW_BLOCKS_NOT_OBJECT: return "a block of content is not an object";
	case FW_BLOCKS_NO_TYPE: return "a block of content has no type";
	case FW_BLOCKS_NO_TEXT: return "a block of text has no text";
	case FW_BLOCKS_NO_DATA: return "a block of an image or audio has no data";
	case FW_BLOCKS_NO_RESOURCE: return "a block has no resource";
	case FW_BLOCKS_NO_URI: return "a resource link has no uri";
	case FW_BLOCKS_OK: break;
	}
	return NULL;
}

/* NULL: it is valid. */
static const char *check_reply(const struct fw_remote_pending *pending,
			       const struct fw_scan *scan, bool is_modern)
{
	if (!fw_slice_equals(scan->version, "2.0"))
		return "it is not JSON-RPC 2.0";
	if (scan->method.p)
		return "it is a request, too";
	if (scan->result.p && scan->error.p)
		return "it has both a result and an error";
	if (!scan->result.p && !scan->error.p)
		return "it has neither a result nor an error";
	if (scan->error.p) {
		const char *digits = scan->code.p;

		if (!fw_slice_is_object(scan->error))
			return "its error is not an object";
		if (!digits || !(*digits == '-' || (*digits >= '0' && *digits <= '9')))
			return "its error has no code";
		return fw_slice_is_string(scan->message) ? NULL : "its error has no message";
	}
	if (!fw_slice_is_object(scan->result))
		return "its result is not an object";
	if (scan->type.p && !fw_slice_equals(scan->type, "complete") &&
	    !fw_slice_equals(scan->type, "input_required"))
		return "its resultType is not known";
	return pending->is_tool ? check_tool_result(scan, is_modern) : NULL;
}

/* JSON-RPC 1.0 has both members, one of them null. Some servers still do that. */
static void drop_null(struct fw_scan *scan)
{
	const struct fw_slice none = { NULL, 0 };

	if (scan->result.p && fw_slice_is(scan->error, "null"))
		scan->error = none;
	else if (scan->error.p && fw_slice_is(scan->result, "null"))
		scan->result = none;
}

static void take_matched(struct fw_remote *remote, struct fw_remote_pending *pending,
			 const struct fw_scan *scan, const char *text, size_t len)
{
	const char *fault = check_reply(pending, scan, fw_remote_is_modern(remote));
	struct fw_remote_reply reply = { .scan = scan };

	remote->counts.replies++;
	if (fault) {
		fail_with(remote, pending, invalid(remote, fault), text, len);
		return;
	}
	reply.result = scan->result;
	reply.error = scan->error;
	fw_remote__finish(remote, pending, &reply, NULL);
}

static void take_reply(struct fw_remote *remote, uint64_t key, const struct fw_scan *scan,
		       const char *text, size_t len)
{
	struct fw_remote_pending *pending = NULL;
	unsigned long long id = 0;
	bool is_number = fw_slice_u64(scan->id, &id);

	if (is_number)
		pending = fw_remote__find(remote, id);
	if (pending) {
		take_matched(remote, pending, scan, text, len);
		return;
	}
	/* The connection has used this id before: the reply is late or was sent twice. It
	 * says nothing about other requests. */
	if (is_number && id >= remote->first_id && id <= remote->last_id) {
		remote->counts.late++;
		if (remote->options.on.late)
			remote->options.on.late(remote->options.ctx, id);
		return;
	}
	pending = only_one(remote, key);
	if (!pending) {
		remote->counts.unmatched++;
		return;
	}
	/* A server that could not read the id of a request sends an error without an id. */
	if ((!scan->id.p || fw_slice_is(scan->id, "null")) && scan->error.p) {
		take_matched(remote, pending, scan, text, len);
		return;
	}
	remote->counts.unmatched++;
	fail_with(remote, pending, fw_raise_upstream_wrong_id(name_of(remote)), text, len);
}

/* ---- messages by the server -------------------------------------------------------- */

static void take_notification(struct fw_remote *remote, uint64_t key,
			      const struct fw_scan *scan)
{
	unsigned long long token;

	if (fw_slice_equals(scan->method, FW_NOTE_PROGRESS)) {
		struct fw_remote_pending *pending = NULL;

		if (fw_slice_u64(scan->token, &token))
			pending = fw_remote__find(remote, token);
		if (pending && pending->progress)
			pending->progress(pending->ctx, scan->params);
		return;
	}
	if (remote->options.on.notified)
		remote->options.on.notified(remote->options.ctx, key, scan);
}

static void take_question(struct fw_remote *remote, uint64_t key, const struct fw_scan *scan)
{
	static const char refusal[] = "{\"code\":-32601,\"message\":\"method not found\"}";
	const struct fw_slice none = { NULL, 0 };

	if (fw_slice_equals(scan->method, FW_METHOD_PING))
		fw_remote_answer(remote, scan->id, (struct fw_slice){ "{}", 2 }, none);
	else if (remote->options.on.asked && remote->state == FW_REMOTE_READY)
		remote->options.on.asked(remote->options.ctx, key, scan);
	else
		fw_remote_answer(remote, scan->id, none,
				 (struct fw_slice){ refusal, sizeof refusal - 1 });
}

/* The HTTP response is JSON but not JSON-RPC, for example that of another API. */
static fw_error *raise_other_json(const struct fw_remote *remote)
{
	fw_error *err = invalid(remote, "it is JSON, but no JSON-RPC message");

	fw_error_add_string(err, FW_LINK_ENDPOINT, "other JSON");
	return err;
}

/* 2025-03-26 allows a server to answer in batches. */
static void take_batch(struct fw_remote *remote, uint64_t key, const char *text, size_t len);

static void take_scanned(struct fw_remote *remote, uint64_t key, struct fw_scan scan,
			 const char *text, size_t len)
{
	if (scan.status != FW_SCAN_OK) {
		if (scan.status == FW_SCAN_NOT_OBJECT && scan.is_array &&
		    remote->version == FW_V_2025_03_26)
			take_batch(remote, key, text, len);
		else
			take_broken(remote, key, &scan, text, len);
	} else if (fw_slice_is_string(scan.method) && !scan.result.p && !scan.error.p) {
		/* Some servers send notifications with "id": null instead of without one. */
		if (scan.id.p && !fw_slice_is(scan.id, "null"))
			take_question(remote, key, &scan);
		else
			take_notification(remote, key, &scan);
	} else if (scan.id.p || scan.result.p || scan.error.p) {
		drop_null(&scan);
		take_reply(remote, key, &scan, text, len);
	} else if (key) {
		struct fw_remote_pending *pending = fw_remote__find(remote, key);

		if (pending)
			fail_with(remote, pending, raise_other_json(remote), text, len);
	} else {
		/* A log line in JSON. */
		stray(remote, text, len);
	}
}

/* A text that is cut in the middle of an emoji, or has the name of a file that is not UTF-8, is
 * written with half a surrogate pair by JavaScript and Python, and read by them. It has no form
 * in UTF-8, so it is U+FFFD from here on. False: that is not what is wrong, or no memory. */
static bool take_repaired(struct fw_remote *remote, uint64_t key, const char *text, size_t len)
{
	char *copy = memchr(text, '\\', len) ? fw_strdup_n(text, len) : NULL;
	struct fw_scan scan;
	bool is_taken = copy && fw_slice_repair(copy, len) &&
			fw_slice_scan(copy, len, remote->options.depth, &scan) == FW_SCAN_OK;

	if (is_taken)
		take_scanned(remote, key, scan, copy, len);
	fw__release(copy);
	return is_taken;
}

static void take_message(struct fw_remote *remote, uint64_t key, const char *text, size_t len)
{
	struct fw_scan scan;

	/* Programs on other systems begin their output with it. */
	fw_utf8_skip_mark(&text, &len);
	if (fw_slice_scan(text, len, remote->options.depth, &scan) == FW_SCAN_OK)
		remote->is_compressed = false;
	if (scan.status != FW_SCAN_NOT_JSON || !take_repaired(remote, key, text, len))
		take_scanned(remote, key, scan, text, len);
}

static void take_batch(struct fw_remote *remote, uint64_t key, const char *text, size_t len)
{
	const struct fw_slice batch = { text, len };
	struct fw_slice none;
	struct fw_slice item;
	const char *at = NULL;

	/* No message ends the connection, so the link and the text stay valid in this loop. */
	while (fw_slice_next(batch, &at, &none, &item))
		if (fw_slice_is_object(item))
			take_message(remote, key, item.p, item.n);
}

/* ---- what the link reports ----------------------------------------------------------- */

static void on_message(void *ctx, uint64_t key, const char *text, size_t len)
{
	struct fw_remote *remote = ctx;

	if (remote->options.on.trace)
		remote->options.on.trace(remote->options.ctx, false, text, len);
	take_message(ctx, key, text, len);
}

static void on_noise(void *ctx, uint64_t key, enum fw_link_noise noise, const char *text,
		     size_t len)
{
	struct fw_remote *remote = ctx;
	struct fw_scan scan;
	struct fw_remote_pending *pending = NULL;
	unsigned long long id;

	(void)fw_slice_scan(text, len, remote->options.depth, &scan);
	if (noise == FW_LINK_CUT) {
		if (scan.status == FW_SCAN_OK)
			take_message(remote, key, text, len);
		else if (key)
			take_broken(remote, key, &scan, text, len);
		else
			/* The end of the process follows, and explains more. */
			stray(remote, text, len);
		return;
	}
	if (scan.id.p && !scan.method.p && fw_slice_u64(scan.id, &id))
		pending = fw_remote__find(remote, id);
	if (!pending)
		pending = only_one(remote, key);
	if (pending)
		fail_with(
			remote, pending,
			fw_raise_upstream_reply_too_large(
				name_of(remote), remote->options.target.message_bytes
							 ? remote->options.target.message_bytes
							 : FW_LIMIT_CHILD_LINE_BYTES),
			NULL, 0);
	else
		remote->counts.unmatched++;
}

static void on_failed(void *ctx, uint64_t key, fw_error *err)
{
	struct fw_remote *remote = ctx;
	struct fw_remote_pending *pending = fw_remote__find(remote, key);

	if (!pending) {
		fw_error_free(err);
		return;
	}
	if (err && fw_error_code(err) == FW_SESSION_UNKNOWN && !pending->is_repeated &&
	    (remote->state == FW_REMOTE_READY || remote->greeting.is_renewal)) {
		fw_error_free(err);
		fw_remote__renew(remote, pending);
		return;
	}
	if (!err) {
		err = fw_raise_upstream_closed(name_of(remote));
		fw_error_set_delivery(err, FW_SENT);
	}
	fw_remote__finish(remote, pending, NULL, err);
}

/* Marks the messages as unsent. Their requests fail with the connection, which ends next. */
static void on_unsent(void *ctx, uint64_t from)
{
	struct fw_remote *remote = ctx;

	if (remote->state != FW_REMOTE_READY)
		return;
	for (struct fw_remote_pending *at = remote->first; at; at = at->next)
		at->is_unsent = at->serial >= from;
	fw_remote__give_up_input(remote);
}

static bool is_open(void *ctx, uint64_t key)
{
	return fw_remote__find(ctx, key) != NULL;
}

static void on_ended(void *ctx, const struct fw_link_ending *ending)
{
	struct fw_remote *remote = ctx;
	bool is_probe = remote->greeting.step == FW_STEP_PROBE &&
			remote->greeting.era == FW_REMOTE_AUTO && !remote->greeting.refused;
	fw_error *err;

	fw_error_free(remote->start_err);
	remote->start_err = NULL;
	if (is_probe) {
		/* Some legacy servers exit when the first message is not initialize. */
		struct fw_link *link = remote->link;

		remote->link = NULL;
		remote->greeting.era = FW_REMOTE_LEGACY;
		if (remote->first)
			fw_remote_cancel(remote, remote->first->id, "");
		fw_link_free(link);
		fw_remote__open(remote);
		return;
	}
	err = fw_link_raise_ending(remote->link, ending, FW_NOT_SENT);
	if (remote->greeting.refused) {
		/* Report the reason that it gave before it ended. */
		fw_error_free(err);
		err = remote->greeting.refused;
		remote->greeting.refused = NULL;
	} else if (remote->state == FW_REMOTE_GREETING) {
		err = fw_link_raise_not_started(name_of(remote), fw_error_message(err), err,
						remote->greeting.has_succeeded);
	}
	fw_remote__go_down(remote, ending, err);
}

const struct fw_link_callbacks fw_remote__callbacks = { .message = on_message,
							.noise = on_noise,
							.partial = fw_remote__partial,
							.failed = on_failed,
							.is_open = is_open,
							.unsent = on_unsent,
							.ended = on_ended };

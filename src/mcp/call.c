/*
 * call.c - the life of a call, and its messages before the reply.
 *
 * Calls are reused: a call that has ended keeps its pool and its buffers for the
 * next one, so an ordinary call allocates nothing.
 */
#include <math.h>
#include <string.h>

#include <uv.h>
#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"
#include "mcp/ask.h"
#include "mcp/boundary.h"
#include "mcp/call.h"
#include "mcp/era.h"
#include "mcp/follow.h"
#include "mcp/lane.h"
#include "mcp/listen.h"
#include "mcp/op.h"
#include "mcp/page.h"
#include "mcp/post.h"
#include "mcp/principal.h"
#include "mcp/request.h"
#include "mcp/result.h"
#include "mcp/run.h"
#include "mcp/server.h"
#include "mcp/session.h"
#include "mcp/stream.h"
#include "mcp/transport.h"
#include "rpc/names.h"
#include "rpc/version.h"

enum { FREE_CALLS = 64 };

fw_call *fw_call_new(fw_server *server)
{
	fw_call *call = server->calls.unused;

	if (call) {
		server->calls.unused = call->next;
		server->calls.unused_count--;
	} else {
		call = fw__allocate(sizeof *call);
		if (!call)
			return NULL;
		memset(call, 0, sizeof *call);
		fw_buf_init(&call->result.content, server->limits.result_bytes);
		fw_buf_init(&call->result.structured, server->limits.result_bytes);
		fw_buf_init(&call->result.description, FW_LIMIT_TEXT_BYTES);
		fw_buf_init(&call->request.json, 2 * (size_t)server->limits.message_bytes);
		call->pool = fw__allocate(FW_CALL_POOL_BYTES);
		if (!call->pool) {
			fw__release(call);
			return NULL;
		}
	}
	call->next = NULL;
	call->server = server;
	atomic_store_explicit(&call->refs, 1, memory_order_relaxed);
	call->request.version = FW_V_NONE;
	call->request.kind = FW_CALL_OTHER;
	call->request.log_level = -1;
	call->result.role = "user";
	call->request.contract = FW_AUTO;
	call->run.last_progress = -1;
	call->started_ns = uv_hrtime();
	return call;
}

void fw_call_forget_result(fw_call *call)
{
	fw_buf_reset(&call->result.content, FW_CALL_KEEP_BYTES);
	fw_buf_reset(&call->result.structured, FW_CALL_KEEP_BYTES);
	fw_buf_reset(&call->result.description, FW_CALL_KEEP_BYTES);
	yyjson_doc_free(call->result.parsed);
	call->result.parsed = NULL;
	call->result.is_raw = false;
	call->result.is_own_error = false;
	call->result.values = 0;
	call->result.role = "user";
	fw_error_free(call->result.fault);
	call->result.fault = NULL;
}

fw_call *fw_call__ref(fw_call *call)
{
	(void)atomic_fetch_add_explicit(&call->refs, 1, memory_order_relaxed);
	return call;
}

/* Clears everything that is not kept for the next call. The result has been reset, and
 * the buffers and the text of the id, which follow, are kept. */
static void wipe(fw_call *call)
{
	struct fw_post *end = call->run.end;

	fw_call_forget_result(call);
	fw_buf_reset(&call->request.json, FW_CALL_KEEP_BYTES);
	if (call->hold.out.text)
		fw_buf_clear(&call->hold.out);
	fw_relay_clear(call);
	if (call->run.late_progress.text)
		fw_buf_clear(&call->run.late_progress);
	if (call->lane)
		fw_lane_leave(call);
	if (call->questions.items || call->questions.missing_capability)
		fw_ask_clear(call);
	for (size_t i = 0; i < call->listening.uri_count; i++)
		fw__release(call->listening.uris[i]);
	if (call->listening.uris)
		fw__release(call->listening.uris);
	if (call->request.client_name)
		fw__release(call->request.client_name);
	if (call->request.made_arguments)
		yyjson_doc_free(call->request.made_arguments);
	yyjson_doc_free(call->request.doc);
	fw_capabilities_unref(call->request.session_capabilities);
	fw_session_unref(call->session);
	fw_principal_unref(call->principal);
	if (call->page)
		fw_page_unref(call->page);
	fw__zero(call, offsetof(fw_call, request.json));
	call->request.id.len = 0;
	call->run.end = end;
}

void fw_call_destroy(fw_call *call)
{
	fw_buf_clear(&call->result.content);
	fw_buf_clear(&call->result.structured);
	fw_buf_clear(&call->result.description);
	fw_buf_clear(&call->request.json);
	fw__release(call->pool);
	fw__release(call->run.end);
	fw__release(call);
}

void fw_call__unref(fw_call *call)
{
	fw_server *server = call->server;

	/* Only the loop's thread drops the last reference: other threads post theirs. */
	if (atomic_fetch_sub_explicit(&call->refs, 1, memory_order_acq_rel) != 1)
		return;
	wipe(call);
	if (server->calls.unused_count >= FREE_CALLS) {
		fw_call_destroy(call);
		return;
	}
	call->next = server->calls.unused;
	server->calls.unused = call;
	server->calls.unused_count++;
}

void fw_call_enlist(fw_call *call)
{
	fw_server *server = call->server;

	call->previous = NULL;
	call->next = server->calls.first;
	if (call->next)
		call->next->previous = call;
	server->calls.first = call;
	server->calls.count++;
	if (!call->is_uncounted)
		server->calls.admitted++;
	call->is_listed = true;
	if (call->lane)
		call->lane->in_flight++;
	if (call->session)
		call->session->calls++;
	if (call->exchange) {
		call->exchange_next = call->exchange->calls;
		call->exchange->calls = call;
	}
}

void fw_call_join(fw_call *call, struct fw_session *session)
{
	session->refs++;
	if (call->is_listed)
		session->calls++;
	call->session = session;
}

void fw_call_detach(fw_call *call)
{
	if (call->exchange && call->is_listed) {
		fw_call **at = &call->exchange->calls;

		while (*at && *at != call)
			at = &(*at)->exchange_next;
		if (*at)
			*at = call->exchange_next;
	}
	call->exchange = NULL;
}

void fw_call_delist(fw_call *call)
{
	fw_server *server = call->server;

	if (!call->is_listed)
		return;
	fw_call_detach(call);
	if (call->previous)
		call->previous->next = call->next;
	else
		server->calls.first = call->next;
	if (call->next)
		call->next->previous = call->previous;
	call->next = NULL;
	call->is_listed = false;
	server->calls.count--;
	if (!call->is_uncounted)
		server->calls.admitted--;
	if (call->lane)
		call->lane->in_flight--;
	if (call->session)
		call->session->calls--;
}

bool fw_call_is_on_loop(const fw_call *call)
{
	uv_thread_t self = uv_thread_self();

	return uv_thread_equal(&self, &call->server->thread) != 0;
}

/* ---- before the answer ------------------------------------------------------ */

void fw_call_send(fw_call *call, const char *json, size_t len)
{
	if (!fw_call_is_on_loop(call)) {
		struct fw_post *post = fw__allocate(sizeof *post + len + 1);

		if (!post)
			return;
		*post = (struct fw_post){ .kind = FW_POST_SEND, .len = len };
		post->call = fw_call__ref(call);
		memcpy(post->text, json, len);
		fw_server__post(call->server, post);
		return;
	}
	/* A page is answered with the result alone. */
	if (fw_call_is_over(call) || call->page)
		return;
	fw_follow_call(call);
	if (call->stream) {
		fw_stream_send(call->stream, json, len, false);
	} else if (call->exchange && !call->batch) {
		const struct fw_event event = { .json = json, .len = len };

		call->exchange->ops->send(call->exchange, &event);
	} else if (call->session) {
		fw_session_send(call->session, json, len);
	}
}

/* A notification that is not valid text is dropped, without an error. */
static bool is_text(const struct fw_op_text *text)
{
	return !text->text || fw_utf8_valid(text->text, text->len) == text->len;
}

void fw_op_apply_progress(fw_call *call, const struct fw_op *op)
{
	const struct fw_limits *limits = &call->server->limits;
	struct fw_buf buf;
	bool is_due;

	/* Progress must increase: the protocol requires it, and clients rely on it. */
	if (!call->request.progress_token || !(op->numbers[0] > call->run.last_progress) ||
	    !isfinite(op->numbers[0]) || !is_text(&op->texts[0]))
		return;
	call->run.last_progress = op->numbers[0];
	/* Above the rate limit, the newest replaces those before it. */
	is_due = fw_rate_take(&call->run.progress_rate, limits->progress_per_second,
			      limits->progress_burst, uv_hrtime());
	fw_buf_init(&buf, call->server->limits.result_bytes);
	FW_BUF(&buf, "{\"jsonrpc\":\"2.0\",\"method\":\"" FW_NOTE_PROGRESS "\",\"params\":{"
		     "\"progressToken\":");
	fw_buf_value(&buf, call->request.progress_token);
	FW_BUF(&buf, ",\"progress\":");
	fw_buf_f64(&buf, op->numbers[0]);
	if (op->numbers[1] > 0 && isfinite(op->numbers[1])) {
		FW_BUF(&buf, ",\"total\":");
		fw_buf_f64(&buf, op->numbers[1]);
	}
	if (op->texts[0].text) {
		FW_BUF(&buf, ",\"message\":");
		fw_buf_json(&buf, op->texts[0].text, op->texts[0].len);
	}
	FW_BUF(&buf, "}}");
	fw_buf_clear(&call->run.late_progress);
	if (buf.state == FW_BUF_OK && !is_due) {
		call->run.late_progress = buf;
		return;
	}
	if (buf.state == FW_BUF_OK)
		fw_call_send(call, buf.text, buf.len);
	fw_buf_clear(&buf);
}

static const char *const levels[FW_LOG_LEVEL_COUNT] = {
	"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
};

int fw_mcp_log_level(struct fw_text name)
{
	for (int i = 0; i < FW_LOG_LEVEL_COUNT; i++)
		if (fw_text_is(name, levels[i]))
			return i;
	return -1;
}

int fw_call_log_level(const fw_call *call)
{
	return call->request.log_level;
}

static void send_log(fw_call *call, const struct fw_op *op)
{
	struct fw_buf buf;

	fw_buf_init(&buf, call->server->limits.result_bytes);
	FW_BUF(&buf, "{\"jsonrpc\":\"2.0\",\"method\":\"" FW_NOTE_LOG "\",\"params\":{"
		     "\"level\":\"");
	fw_buf_str(&buf, levels[op->number]);
	FW_BUF(&buf, "\"");
	if (op->texts[1].text) {
		FW_BUF(&buf, ",\"logger\":");
		fw_buf_json(&buf, op->texts[1].text, op->texts[1].len);
	}
	FW_BUF(&buf, ",\"data\":");
	fw_buf_json(&buf, op->texts[0].text, op->texts[0].len);
	FW_BUF(&buf, "}}");
	if (buf.state == FW_BUF_OK)
		fw_call_send(call, buf.text, buf.len);
	fw_buf_clear(&buf);
}

void fw_op_apply_log(fw_call *call, const struct fw_op *op)
{
	const struct fw_limits *limits = &call->server->limits;
	int lowest = fw_call_log_level(call);

	if (lowest < 0 || op->number >= FW_LOG_LEVEL_COUNT || (int)op->number < lowest ||
	    !op->texts[0].text || !is_text(&op->texts[0]) || !is_text(&op->texts[1]))
		return;
	if (fw_rate_take(&call->run.log_rate, limits->logs_per_second, limits->logs_burst,
			 uv_hrtime()))
		send_log(call, op);
	else
		call->run.logs_dropped++;
}

void fw_call_catch_up(fw_call *call)
{
	int lowest = fw_call_log_level(call);
	struct fw_op op = { .kind = FW_OP_LOG };
	char text[128];

	if (call->run.late_progress.len) {
		fw_call_send(call, call->run.late_progress.text, call->run.late_progress.len);
		fw_buf_clear(&call->run.late_progress);
	}
	if (!call->run.logs_dropped)
		return;
	op.number = (uint32_t)(lowest > FW_LOG_WARNING ? lowest : FW_LOG_WARNING);
	op.texts[0].len = (size_t)snprintf(
		text, sizeof text, "%llu log messages were dropped: the limit is %llu a second",
		(unsigned long long)call->run.logs_dropped,
		(unsigned long long)call->server->limits.logs_per_second);
	op.texts[0].text = text;
	op.texts[1].text = "faultwire";
	op.texts[1].len = 9;
	call->run.logs_dropped = 0;
	send_log(call, &op);
}

void fw_op_apply_close_stream(fw_call *call, uint32_t retry_ms)
{
	struct fw_session *session;
	struct fw_stream *stream;
	struct fw_event priming = { .json = "", .retry_ms = retry_ms ? retry_ms : 1000 };
	struct fw_exchange *exchange;
	char id[FW_STREAM_ID_SIZE];

	if (!fw_call_is_on_loop(call)) {
		struct fw_post *post = fw__allocate(sizeof *post + 1);

		if (!post)
			return;
		*post = (struct fw_post){ .kind = FW_POST_CLOSE_STREAM, .retry_ms = retry_ms };
		post->call = fw_call__ref(call);
		fw_server__post(call->server, post);
		return;
	}
	session = call->session;
	if (fw_call_is_over(call) || call->request.is_modern || !session || session->is_ended ||
	    !call->exchange || !call->exchange->is_http || call->batch ||
	    call->request.version < FW_V_2025_11_25)
		return;
	stream = call->stream ? call->stream : fw_stream_new(session);
	if (!stream)
		return;
	if (!call->stream)
		fw_follow_begin(stream, call);
	call->stream = stream;
	fw_stream_event_id(stream, stream->last, id);
	priming.id = id;
	exchange = call->exchange;
	exchange->ops->send(exchange, &priming);
	fw_call_detach(call);
	stream->exchange = exchange;
	fw_stream_detach(stream);
}

/* ---- its end ------------------------------------------------------------------- */

bool fw_call_is_cancelled(const fw_call *call)
{
	if (call->run.recorder)
		return call->run.recorder->is_cancelled(call->run.recorder);
	return atomic_load(&call->run.cancelled);
}

/* The client has cancelled: no reply is sent, but observers see the outcome. */
void fw_call_cancel(fw_call *call)
{
	if (call->is_answered)
		return;
	atomic_store(&call->run.cancelled, true);
	call->is_silent = true;
	(void)fw_call__ref(call);
	if (call->is_listener)
		fw_listen_end(call);
	else
		fw_mcp_fail(call, fw_raise_runtime_cancelled());
	fw_call__unref(call);
}

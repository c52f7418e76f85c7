/*
 * boundary.c - where every call leaves.
 *
 * parse > protocol > auth > limits > session > tool known > input schema > run
 * > output schema > reply: each of these can fail, and each failure comes to
 * fw_mcp_fail() as an fw_error. There it gets its scope, incident and time, is
 * shown to the observers, and only then becomes bytes. Nothing else in the
 * runtime writes an error.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <uv.h>
#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/out.h"
#include "base/text.h"
#include "core/error_own.h"
#include "mcp/ask.h"
#include "mcp/authority.h"
#include "mcp/batch.h"
#include "mcp/boundary.h"
#include "mcp/call.h"
#include "mcp/early.h"
#include "mcp/hold.h"
#include "mcp/lane.h"
#include "mcp/method.h"
#include "mcp/offer.h"
#include "mcp/outcome.h"
#include "mcp/page.h"
#include "mcp/project.h"
#include "mcp/relay.h"
#include "mcp/request.h"
#include "mcp/run.h"
#include "mcp/server.h"
#include "mcp/session.h"
#include "mcp/stream.h"
#include "mcp/transport.h"
#include "rpc/names.h"

/* ---- leaving ------------------------------------------------------------------------ */

/* An error without context, if there is no memory or no room. */
static void put_last_words(const fw_call *call, struct fw_reply *reply, const char *message)
{
	char *text = call->server->last_words;
	const size_t size = sizeof call->server->last_words;
	/* An id that could not be read is left out: null is not a valid one. */
	bool has_id = call->request.id.len && call->request.id.len < size / 2;
	const char *id_text = has_id ? call->request.id.text : "";
	int id_len = has_id ? (int)call->request.id.len : 0;
	int len;

	if (call->exchange && call->exchange->is_page)
		len = snprintf(text, size,
			       "{\"title\":\"Out of Memory\",\"status\":%d,"
			       "\"code\":\"internal.out_of_memory\"}",
			       reply->status);
	else
		len = snprintf(text, size,
			       "{\"jsonrpc\":\"2.0\",%s%.*s%s\"error\":{\"code\":-32603,"
			       "\"message\":\"%s\"}}",
			       has_id ? "\"id\":" : "", id_len, id_text, has_id ? "," : "",
			       message);
	reply->json = text;
	reply->len = (size_t)len;
}

/* One reply of a batch. Room for results was reserved before; an error that does
 * not fit is reported without its context. */
static void put_in_batch(fw_call *call, const char *text, size_t len, bool is_error)
{
	struct fw_reply brief = { .status = 200 };

	if (len && is_error && !fw_batch_reserve_error(call->batch, len)) {
		put_last_words(call, &brief, "error too large for its batch");
		text = brief.json;
		len = brief.len;
	}
	fw_batch_put(call->batch, text, len);
}

/* Hands `server->out` to the transport, and ends the call. The transport may free an
 * exchange as soon as it is answered, so nothing points to it by then. */
static void leave(fw_call *call, const fw_error *err)
{
	fw_server *server = call->server;
	struct fw_exchange *exchange = call->exchange;
	struct fw_stream *stream = call->stream;
	struct fw_reply reply = { .status = 200 };

	call->is_answered = true;
	fw_authority_end(call, err);
	if (err && exchange && exchange->is_http)
		fw_mcp_put_headers(call, err, &reply);
	/* Another thread may still be writing what it has not finished. */
	if (call->page && (!call->page->is_kept || call->page->is_finished)) {
		reply.headers = call->page->answer.headers.text;
		reply.has_cache_control = call->page->answer.has_cache_control;
	}
	if (!call->is_silent) {
		reply.json = server->out.text;
		reply.len = server->out.len;
		if (server->out.state != FW_BUF_OK)
			put_last_words(call, &reply, "out of memory");
		else
			reply.own = &server->out;
	}
	if (call->questions.items)
		fw_ask_forget(call);
	if (!call->batch && !stream && call->session && exchange && exchange->is_http)
		reply.session_id = call->session->id;
	fw_call_delist(call);
	call->exchange = NULL;
	call->stream = NULL;
	if (call->batch) {
		put_in_batch(call, reply.json, reply.len, err != NULL);
		call->batch = NULL;
	} else if (stream && call->is_silent) {
		fw_stream_end(stream);
	} else if (stream) {
		fw_stream_send(stream, reply.json, reply.len, true);
	} else if (exchange && !call->is_silent) {
		exchange->ops->reply(exchange, &reply);
	} else if (exchange) {
		exchange->ops->close(exchange);
	}
	if (server->out.cap > FW_SERVER_KEEP_OUT_BYTES) {
		fw_buf_clear(&server->out);
		fw_loop_trim_later(server->residence.loop);
	}
}

/* A stop continues on the loop, not here: it ends sessions and closes transports, and
 * one of them may be our caller. */
static void finish(fw_call *call)
{
	fw_server *server = call->server;

	fw_call__unref(call);
	if (server->state == FW_DRAINING)
		fw_server__wake(server);
}

/* Sets the parts of the scope that were redacted before, so that they are not searched
 * for secrets with every failure, and removes them from `scope`. */
static void fill_known_scope(const fw_call *call, fw_error *err, fw_scope *scope)
{
	const struct fw_offer *offer = call->request.offer;
	const struct fw_session *session = call->session;

	if (call->request.kind == FW_CALL_TOOL && offer && offer->is_plain_name) {
		fw__error_fill_plain(err, FW_SLOT_TOOL, offer->name, offer->name_len);
		scope->tool = NULL;
	}
	if (!session)
		return;
	if (session->client) {
		if (session->has_plain_client)
			fw__error_fill_plain(err, FW_SLOT_CLIENT, session->client,
					     session->client_len);
		else
			fw__error_fill_own(err, FW_SLOT_CLIENT, session->client,
					   session->client_len);
		scope->client = NULL;
	}
	if (session->id[0] && !call->server->identity.has_own_sessions) {
		fw__error_fill_own(err, FW_SLOT_SESSION_ID, session->id, strlen(session->id));
		scope->session_id = NULL;
	}
}

static bool is_empty(const fw_scope *scope)
{
	return !scope->tool && !scope->operation && !scope->role && !scope->session_id &&
	       !scope->workspace_root && !scope->client && !scope->trace_id;
}

/* Adds what the raising code could not know. */
static void complete_error(fw_call *call, fw_error *err)
{
	fw_server *server = call->server;
	fw_scope scope = {
		.role = server->identity.role,
		.workspace_root = server->identity.workspace_root,
	};
	yyjson_val *trace = fw_json_member(call->request.meta, FW_META_TRACE);

	fw_mcp_report_failing(call, err);
	if (call->request.kind == FW_CALL_TOOL) {
		scope.tool = call->request.name;
		if (call->request.offer)
			scope.operation = call->request.offer->operation;
	} else if (call->request.kind != FW_CALL_OTHER && call->request.method) {
		/* A resource or a prompt has a handler too; its method stands for it. */
		scope.tool = call->request.method->name;
	}
	scope.client = fw_mcp_client(call);
	if (call->session)
		scope.session_id = call->session->id[0] ? call->session->id : NULL;
	if (server->identity.has_own_sessions)
		scope.session_id = server->identity.session_id;
	scope.trace_id = fw_text_str(fw_text_of(trace));
	fill_known_scope(call, err, &scope);
	if (!is_empty(&scope))
		fw_error_fill_scope(err, &scope);
	fw__error_fill_incident(err, fw_unix_ms());
	if (call->request.offer && call->request.offer->empty_result &&
	    call->request.offer->empty_result[1] != '}')
		fw__error_set_own(err, FW_SLOT_EMPTY_RESULT, call->request.offer->empty_result,
				  strlen(call->request.offer->empty_result));
}

/* ---- the hold ------------------------------------------------------------------------- */

static fw_call *call_of(fw_hold *hold)
{
	return (fw_call *)(void *)((char *)hold - offsetof(fw_call, hold));
}

/* The only function that changes the state; the table is in hold.h. */
static void change_state(fw_hold *hold, enum fw_hold_state next)
{
	static const unsigned char allowed[] = {
		[FW_HOLD_FREE] = 1 << FW_HOLD_ASKING,
		[FW_HOLD_ASKING] =
			1 << FW_HOLD_FREE | 1 << FW_HOLD_RELEASED | 1 << FW_HOLD_HELD,
		[FW_HOLD_RELEASED] = 1 << FW_HOLD_FREE,
		[FW_HOLD_HELD] = 1 << FW_HOLD_FREE | 1 << FW_HOLD_ABANDONED,
		[FW_HOLD_ABANDONED] = 1 << FW_HOLD_FREE,
	};

	assert(allowed[hold->state] & 1 << next);
	hold->state = next;
}

/* The error of an observer replaces the outcome. The earlier error, if any, becomes
 * its cause. */
static void replace_outcome(fw_call *call, fw_error *instead)
{
	struct fw_hold *hold = &call->hold;

	hold->err = hold->err ? fw__error_in_place_of(instead, hold->err) : instead;
	complete_error(call, hold->err);
}

/*
 * A call that failed early is on no list yet, but its connection may close and the
 * server may stop before the reply is released. Failures that wait for an
 * observer count against their client only, not against the limit of all clients.
 */
static void list_held(fw_call *call)
{
	if (!call->is_listed) {
		call->is_uncounted = true;
		fw_lane_burden(call);
		fw_call_enlist(call);
	} else if (call->hold.err && !call->is_uncounted) {
		call->is_uncounted = true;
		call->server->calls.admitted--;
	}
}

/* Calls one observer; false: it holds the reply. */
static bool ask(fw_call *call, const fw_observer *observer)
{
	struct fw_hold *hold = &call->hold;
	const fw_outcome outcome = fw_outcome_of(call, hold->err);
	fw_error *instead;

	change_state(hold, FW_HOLD_ASKING);
	if (observer->replying(observer->ctx, &outcome, hold) &&
	    hold->state == FW_HOLD_ASKING) {
		change_state(hold, FW_HOLD_HELD);
		(void)fw_call__ref(call);
		list_held(call);
		return false;
	}
	change_state(hold, FW_HOLD_FREE);
	instead = hold->instead;
	hold->instead = NULL;
	if (instead)
		replace_outcome(call, instead);
	return true;
}

/* Calls the observers that were not called yet; false: one of them holds the reply. */
static bool consult(fw_call *call)
{
	const struct fw_observers *observers = &call->server->observers;
	struct fw_hold *hold = &call->hold;

	while (hold->next < observers->count) {
		const fw_observer *observer = &observers->items[hold->next++];

		if (observer->replying && !ask(call, observer))
			return false;
	}
	return true;
}

/* The reply of a success waits in the call, because others use the server's buffer
 * in the meantime. */
static void set_aside(fw_call *call)
{
	fw_server *server = call->server;

	call->hold.out = server->out;
	fw_buf_init(&server->out, call->hold.out.max);
}

static void take_back(fw_call *call)
{
	fw_server *server = call->server;
	struct fw_hold *hold = &call->hold;

	if (!hold->out.text)
		return;
	fw_buf_clear(&server->out);
	server->out = hold->out;
	memset(&hold->out, 0, sizeof hold->out);
}

/* All observers were called. */
static void depart(fw_call *call)
{
	fw_error *err = call->hold.err;

	call->hold.err = NULL;
	if (err)
		fw_mcp_report_failed(call, err);
	if (err && !call->is_silent)
		fw_mcp_put_error(call, err);
	leave(call, err);
	fw_mcp_report_finished(call, err);
	fw_error_free(err);
	finish(call);
}

/* Calls the observers that are left; then the reply leaves or waits. */
static void proceed(fw_call *call)
{
	if (consult(call))
		depart(call);
	else if (!call->hold.err)
		set_aside(call);
}

void fw_hold_end(struct fw_hold *hold, fw_error *err)
{
	fw_call *call = call_of(hold);

	switch (hold->state) {
	case FW_HOLD_ASKING:
		change_state(hold, FW_HOLD_RELEASED);
		hold->instead = err;
		return;
	case FW_HOLD_HELD:
		change_state(hold, FW_HOLD_FREE);
		take_back(call);
		if (err)
			replace_outcome(call, err);
		proceed(call);
		break;
	case FW_HOLD_ABANDONED:
		change_state(hold, FW_HOLD_FREE);
		fw_error_free(err);
		break;
	case FW_HOLD_FREE:
	case FW_HOLD_RELEASED: /* a second release is misuse, and ignored */
		fw_error_free(err);
		return;
	}
	fw_call__unref(call);
}

void fw_hold_abandon(fw_hold *hold)
{
	fw_call *call = call_of(hold);

	change_state(hold, FW_HOLD_ABANDONED);
	fw_buf_clear(&hold->out);
	replace_outcome(call,
			fw_raise_audit_log_failed("the server stopped before it was written"));
	depart(call);
}

void fw_hold_release(fw_hold *hold, fw_error *err)
{
	fw_call *call = call_of(hold);
	fw_server *server = call->server;
	bool is_first;

	if (fw_call_is_on_loop(call)) {
		fw_hold_end(hold, err);
		return;
	}
	hold->instead = err;
	hold->next_released = NULL;
	uv_mutex_lock(&server->inbox.lock);
	/* If others are in the list, the loop was already woken for them. */
	is_first = !server->inbox.released && !server->inbox.is_closed;
	if (server->inbox.released)
		server->inbox.last_released->next_released = hold;
	else
		server->inbox.released = hold;
	server->inbox.last_released = hold;
	uv_mutex_unlock(&server->inbox.lock);
	/* The call may be freed from here on; the server lives as long as a reply of
	 * it is held. */
	if (is_first)
		fw_server__wake(server);
}

/* Observers look at it after the exchange is gone. */
static void keep_peer(fw_call *call)
{
	const char *peer = call->exchange ? call->exchange->peer : NULL;
	size_t len = peer ? strnlen(peer, sizeof call->peer - 1) : 0;

	if (len)
		memcpy(call->peer, peer, len);
	call->peer[len] = '\0';
}

void fw_mcp_fail(fw_call *call, fw_error *err)
{
	bool was_running;
	bool is_relayed;

	/* The outcome of a held reply is decided. */
	if (fw_call_is_over(call)) {
		fw_error_free(err);
		return;
	}
	if (call->server->observers.count) /* nobody else looks at it */
		call->failed_ns = uv_hrtime();
	fw_mcp_read_early(call);
	call->is_unauthenticated = call->stage == FW_STAGE_TRANSPORT && call->exchange &&
				   call->exchange->is_http && !call->exchange->principal &&
				   !call->exchange->is_alarm && !call->session;
	keep_peer(call);
	/* A running handler can see that the client is gone; its run keeps the call
	 * alive. */
	was_running = call->run.is_active;
	is_relayed = call->relayed.job != NULL;
	if (is_relayed)
		(void)fw_call__ref(call);
	if (was_running)
		atomic_store(&call->run.cancelled, true);
	/* An answer that arrives while the reply is held must not restart the call. */
	if (call->questions.items)
		fw_ask_forget(call);
	complete_error(call, err);
	call->hold.err = err;
	call->hold.next = 0;
	proceed(call);
	if (was_running)
		fw_call_abandon(call);
	if (is_relayed) {
		fw_relay_abandon(call);
		fw_call__unref(call);
	}
}

/* ---- success --------------------------------------------------------------------------- */

struct fw_buf *fw_mcp_begin(fw_call *call)
{
	struct fw_buf *out = &call->server->out;

	fw_buf_reset(out, FW_SERVER_KEEP_OUT_BYTES);
	if (call->page) { /* the result alone */
		FW_BUF(out, "{");
		return out;
	}
	FW_BUF(out, "{\"jsonrpc\":\"2.0\",\"id\":");
	fw_buf_put(out, call->request.id.text, call->request.id.len);
	FW_BUF(out, ",\"result\":{");
	return out;
}

void fw_mcp_end(fw_call *call, struct fw_buf *out)
{
	if (call->page) {
		FW_BUF(out, "}");
		return;
	}
	if (call->request.is_modern) {
		if (out->len && out->text[out->len - 1] != '{')
			FW_BUF(out, ",");
		fw_buf_put(out, call->server->identity.modern_tail,
			   call->server->identity.modern_tail_len);
	}
	FW_BUF(out, "}}");
}

void fw_mcp_reply(fw_call *call)
{
	struct fw_buf *out = &call->server->out;
	const uint64_t most = call->server->limits.result_bytes;

	if (fw_call_is_over(call))
		return;
	if (out->state != FW_BUF_OK) {
		fw_mcp_fail(call, out->state == FW_BUF_TOO_LARGE
					  ? fw_raise_tool_result_too_large(most)
					  : fw_raise_internal_out_of_memory());
		return;
	}
	if (call->batch && !fw_batch_reserve_result(call->batch, out->len, most)) {
		fw_mcp_fail(call, fw_raise_tool_result_too_large(most));
		return;
	}
	call->hold.next = 0;
	proceed(call);
}

void fw_mcp_reply_empty(fw_call *call)
{
	fw_mcp_end(call, fw_mcp_begin(call));
	fw_mcp_reply(call);
}

void fw_mcp_accept(fw_call *call)
{
	static const struct fw_reply accepted = { .status = 202 };

	call->is_answered = true;
	if (call->batch) {
		put_in_batch(call, NULL, 0, false);
		call->batch = NULL;
	} else if (call->exchange && call->exchange->is_http) {
		call->exchange->ops->reply(call->exchange, &accepted);
	}
	finish(call);
}

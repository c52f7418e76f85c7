/*
 * relay.c - see relay.h.
 *
 * A relayed call runs like one with an asynchronous handler: the handler is the relay.
 * Its offer is one of two that stand for everything, without schemas, because the other
 * server checks arguments itself.
 */
#include "mcp/relay.h"
#include "mcp/replica.h"

#include <string.h>

#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"
#include "mcp/ask.h"
#include "mcp/authority.h"
#include "mcp/boundary.h"
#include "mcp/call.h"
#include "mcp/method.h"
#include "mcp/outcome.h"
#include "mcp/project.h"
#include "mcp/request.h"
#include "mcp/run.h"
#include "mcp/server.h"
#include "mcp/session.h"
#include "mcp/transport.h"
#include "rpc/names.h"

/* ---- requests ------------------------------------------------------------------ */

static fw_error *take(fw_call *call, void *ctx)
{
	struct fw_relay *relay = ctx;

	relay->ops->take(relay, call);
	return NULL;
}

void fw_relay_attach(struct fw_relay *relay, fw_server *server)
{
	relay->server = server;
	relay->tool = (struct fw_offer){ .kind = FW_OFFER_TOOL,
					 .handler = take,
					 .complete = take,
					 .ctx = relay,
					 .run = FW_RUN_ASYNC,
					 .contract = FW_AUTO,
					 .checks_arguments = true,
					 .takes_nul = true };
	relay->other = relay->tool;
	relay->other.kind = FW_OFFER_RESOURCE;
	server->relay = relay;
}

/* The server answers these itself. */
static bool is_own(const struct fw_method *method)
{
	return method->run == fw_method_initialize || method->run == fw_method_discover ||
	       method->run == fw_method_ping || method->run == fw_method_set_level ||
	       method->run == fw_method_listen;
}

bool fw_relay_wants(const fw_call *call)
{
	const struct fw_method *method = call->request.method;

	if (!call->server->relay)
		return false;
	if (!method)
		return true;
	return !is_own(method) &&
	       (call->request.is_modern ? method->in_modern : method->in_legacy);
}

fw_error *fw_relay_enter(fw_call *call)
{
	struct fw_relay *relay = call->server->relay;
	const struct fw_method *method = call->request.method;
	bool is_tool = call->request.kind == FW_CALL_TOOL;

	if (method && method->name_param)
		FW_TRY(fw_mcp_read_name(
			call, fw_json_member(call->request.params, method->name_param),
			strcmp(method->name_param, "uri") == 0 ? "/params/uri"
							       : "/params/name"));
	call->request.arguments = fw_json_member(call->request.params, "arguments");
	call->request.offer = is_tool ? &relay->tool : &relay->other;
	FW_TRY(fw_mcp_choose_contract(call));
	if (is_tool) {
		FW_TRY(fw_authority_enter(call));
		FW_TRY(fw_mcp_enter(call));
		FW_TRY(fw_mcp_admit(call));
		return fw_authority_start(call);
	}
	FW_TRY(fw_authority_read(call));
	fw_call_start(call);
	return NULL;
}

/* ---- what the server is ----------------------------------------------------------- */

bool fw_relay_puts_off(fw_call *call)
{
	struct fw_relay *relay = call->server->relay;

	if (!relay || !call->request.method ||
	    (call->request.method->run != fw_method_initialize &&
	     call->request.method->run != fw_method_discover) ||
	    relay->ops->is_settled(relay, call))
		return false;
	call->relayed.is_greeting = true;
	return true;
}

bool fw_exchange_is_greeting(const struct fw_exchange *exchange)
{
	for (const fw_call *call = exchange->calls; call; call = call->exchange_next)
		if (call->relayed.is_greeting)
			return true;
	return false;
}

void fw_relay_settled(struct fw_relay *relay)
{
	fw_call *call = relay->server->calls.first;

	while (call) {
		fw_error *err;

		if (!call->relayed.is_greeting || fw_call_is_over(call)) {
			call = call->next;
			continue;
		}
		call->relayed.is_greeting = false;
		err = call->request.method->run(call);
		if (err)
			fw_mcp_fail(call, err);
		/* The call has left the list. */
		call = relay->server->calls.first;
	}
}

/* ---- results ----------------------------------------------------------------------- */

void fw_relay_put_result(const fw_call *call, struct fw_buf *out)
{
	const struct fw_relayed *relayed = &call->relayed;
	const char *rest = relayed->result.p + 1;
	size_t len = relayed->result.n - 1;

	fw_buf_put(out, relayed->before.p ? relayed->before.p : "", relayed->before.n);
	while (len && (*rest == ' ' || *rest == '\t' || *rest == '\n' || *rest == '\r')) {
		rest++;
		len--;
	}
	if (relayed->before.n && *rest != '}')
		FW_BUF(out, ",");
	fw_buf_put(out, rest, len);
	/* The answer to a page is the result alone. */
	if (!call->page)
		FW_BUF(out, "}");
}

/* The session gets the notifications that it has subscribed to. Returns whether it changed. */
static bool note_subscription(const fw_call *call)
{
	const struct fw_method *method = call->request.method;
	const char *uri = fw_text_str(fw_text_of(fw_json_member(call->request.params, "uri")));

	if (!method || !call->session || !uri)
		return false;
	if (method->run == fw_method_subscribe)
		fw_error_free(fw_session_subscribe(call->session, uri));
	else if (method->run == fw_method_unsubscribe)
		fw_session_unsubscribe(call->session, uri);
	else
		return false;
	return true;
}

/* Copies the result, so that it can be sent later. */
static bool hold(struct fw_relayed *relayed, struct fw_slice before, struct fw_slice result)
{
	struct fw_buf *copy = &relayed->original;

	fw_buf_init(copy, before.n + result.n + 1);
	fw_buf_put(copy, before.p ? before.p : "", before.n);
	fw_buf_put(copy, result.p, result.n);
	if (copy->state != FW_BUF_OK)
		return false;
	relayed->before = (struct fw_slice){ copy->text, before.n };
	relayed->result = (struct fw_slice){ copy->text + before.n, result.n };
	return true;
}

void fw_relay_reply(fw_call *call, struct fw_slice before, struct fw_slice result)
{
	struct fw_relayed *relayed = &call->relayed;

	relayed->job = NULL;
	if (note_subscription(call) &&
	    fw_replica_save(call->session, hold(relayed, before, result) ? call : NULL))
		return; /* until fw_replica_saved() */
	relayed->before = before;
	relayed->result = result;
	fw_call_complete(call, NULL);
}

void fw_relay_fail(fw_call *call, fw_error *err, enum fw_relay_form form,
		   struct fw_slice original)
{
	struct fw_relayed *relayed = &call->relayed;

	relayed->job = NULL;
	if (original.p) {
		fw_buf_init(&relayed->original, call->server->limits.result_bytes);
		fw_buf_put(&relayed->original, original.p, original.n);
		if (relayed->original.state == FW_BUF_OK)
			relayed->form = form;
	}
	fw_call_complete(call, err);
}

void fw_relay_drop(fw_call *call)
{
	call->relayed.job = NULL;
	if (call->run.is_active)
		fw_call_complete(call, NULL);
}

void fw_relay_abandon(fw_call *call)
{
	struct fw_relay *relay = call->server->relay;

	if (call->relayed.job)
		relay->ops->abandon(relay, call);
}

void fw_relay_ask(fw_call *call)
{
	fw_call_complete(call, NULL);
}

bool fw_relay_ask_session(struct fw_relay *relay, const char *capability, const char *method,
			  struct fw_slice params, void *asker)
{
	struct fw_session *session = relay->server->sessions.first;
	yyjson_val *offered;

	if (!session || session->next || !session->is_initialized || session->is_ended ||
	    !session->capabilities)
		return false;
	offered = fw_json_member(yyjson_doc_get_root(session->capabilities->doc), capability);
	return offered && fw_ask_session(session, NULL, method, params.p, params.n, asker);
}

bool fw_relay_list(fw_server *server, const fw_principal *principal, fw_relay_listed_fn *done,
		   void *ctx)
{
	if (!server->relay || !server->relay->ops->list)
		return false;
	server->relay->ops->list(server->relay, principal, done, ctx);
	return true;
}

void fw_relay_initialized(fw_server *server)
{
	if (server->relay && server->relay->ops->initialized)
		server->relay->ops->initialized(server->relay);
}

void fw_relay_answered(fw_server *server, void *asker, const fw_call *message)
{
	if (server->relay && server->relay->ops->answered)
		server->relay->ops->answered(server->relay, asker, message);
}

void fw_relay_clear(fw_call *call)
{
	if (call->relayed.original.text)
		fw_buf_clear(&call->relayed.original);
}

/* ---- failures ---------------------------------------------------------------------- */

/* Members of an object but for two, each followed by a comma. */
static void put_members(struct fw_buf *out, struct fw_slice object, const char *without,
			const char *nor)
{
	struct fw_slice key;
	struct fw_slice value;
	const char *at = NULL;

	while (fw_slice_next(object, &at, &key, &value)) {
		if ((without && fw_slice_equals(key, without)) ||
		    (nor && fw_slice_equals(key, nor)))
			continue;
		fw_buf_put(out, key.p, key.n);
		FW_BUF(out, ":");
		fw_buf_put(out, value.p, value.n);
		FW_BUF(out, ",");
	}
}

static void put_start(const fw_call *call, struct fw_buf *out)
{
	FW_BUF(out, "{\"jsonrpc\":\"2.0\",\"id\":");
	fw_buf_put(out, call->request.id.text, call->request.id.len);
}

static void put_result_failure(fw_call *call, const fw_error *err, struct fw_slice original,
			       struct fw_buf *out)
{
	struct fw_scan_member members[] = { { .name = "_meta" }, { .name = "resultType" } };

	(void)fw_slice_members(original, members, 2);
	put_start(call, out);
	FW_BUF(out, ",\"result\":{");
	/* A success that --suspect took for a failure has no isError yet. */
	put_members(out, original, "_meta", "isError");
	FW_BUF(out, "\"isError\":true,");
	if (call->request.is_modern && !members[1].value.p)
		FW_BUF(out, "\"resultType\":\"complete\",");
	FW_BUF(out, "\"_meta\":{");
	put_members(out, members[0].value, FW_META_ERROR, NULL);
	FW_BUF(out, "\"" FW_META_ERROR "\":");
	fw_mcp_encode(call->server, err, FW_CANONICAL, out);
	FW_BUF(out, "}}}");
}

static void put_error_failure(fw_call *call, const fw_error *err, struct fw_slice original,
			      struct fw_buf *out)
{
	struct fw_scan_member data = { .name = "data" };
	struct fw_scan_member own = { .name = FW_META_ERROR };

	(void)fw_slice_members(original, &data, 1);
	put_start(call, out);
	FW_BUF(out, ",\"error\":{");
	put_members(out, original, "data", NULL);
	FW_BUF(out, "\"data\":{");
	if (fw_slice_is_object(data.value)) {
		(void)fw_slice_members(data.value, &own, 1);
		put_members(out, data.value, FW_META_ERROR, NULL);
	} else if (data.value.p) {
		FW_BUF(out, "\"data\":");
		fw_buf_put(out, data.value.p, data.value.n);
		FW_BUF(out, ",");
	}
	FW_BUF(out, "\"" FW_META_ERROR "\":");
	fw_mcp_encode(call->server, err, FW_CANONICAL, out);
	FW_BUF(out, "}}}");
}

bool fw_relay_put_failure(fw_call *call, const fw_error *err, struct fw_buf *out)
{
	const struct fw_relayed *relayed = &call->relayed;
	const struct fw_slice original = { relayed->original.text, relayed->original.len };
	bool is_chosen = call->request.contract < FW_CONTRACT_COUNT ||
			 call->server->options.contract < FW_CONTRACT_COUNT;

	/* An observer may have replaced the failure. */
	if (relayed->form == FW_RELAYED_NOTHING || call->page ||
	    (relayed->form == FW_RELAYED_RESULT && is_chosen))
		return false;
	if (relayed->form == FW_RELAYED_RESULT)
		put_result_failure(call, err, original, out);
	else
		put_error_failure(call, err, original, out);
	return true;
}

/* ---- before the reply ---------------------------------------------------------------- */

void fw_relay_progress(fw_call *call, struct fw_slice params)
{
	struct fw_buf *out = &call->server->scratch;

	if (!call->request.progress_token || fw_call_is_over(call))
		return;
	fw_buf_reset(out, FW_LIMIT_CHILD_KEPT_BYTES);
	FW_BUF(out, "{\"jsonrpc\":\"2.0\",\"method\":\"" FW_NOTE_PROGRESS "\",\"params\":{");
	put_members(out, params, "progressToken", NULL);
	FW_BUF(out, "\"progressToken\":");
	fw_buf_value(out, call->request.progress_token);
	FW_BUF(out, "}}");
	if (out->state == FW_BUF_OK)
		fw_call_send(call, out->text, out->len);
}

void fw_relay_notify(struct fw_relay *relay, fw_call *call, const char *method,
		     struct fw_slice params)
{
	struct fw_buf *out = &relay->server->scratch;

	fw_buf_reset(out, FW_LIMIT_CHILD_KEPT_BYTES);
	FW_BUF(out, "{\"jsonrpc\":\"2.0\",\"method\":");
	fw_buf_json_str(out, method);
	if (params.p) {
		FW_BUF(out, ",\"params\":");
		fw_buf_put(out, params.p, params.n);
	}
	FW_BUF(out, "}");
	if (out->state != FW_BUF_OK)
		return;
	if (call) {
		fw_call_send(call, out->text, out->len);
		return;
	}
	for (struct fw_session *session = relay->server->sessions.first; session;
	     session = session->next)
		if (session->is_initialized)
			fw_session_send(session, out->text, out->len);
}

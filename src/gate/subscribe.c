/*
 * subscribe.c - subscribes to changes of upstreams. A modern upstream announces them as
 * long as a request is open (subscriptions/listen), a legacy one after
 * resources/subscribe.
 *
 * The request to a modern upstream names all resources that some client has subscribed
 * to, so it is replaced when that set changes.
 */
#include <string.h>

#include "base/limits.h"
#include "gate/gate_impl.h"
#include "mcp/call.h"
#include "mcp/server.h"
#include "mcp/session.h"
#include "rpc/names.h"

static void ignore_reply(void *ctx, const struct fw_remote_reply *reply, fw_error *err)
{
	(void)ctx;
	(void)reply;
	fw_error_free(err);
}

static void on_stream_end(void *ctx, const struct fw_remote_reply *reply, fw_error *err)
{
	struct fw_upstream *upstream = ctx;

	(void)reply;
	upstream->stream_key = 0;
	fw_error_free(err);
}

/* Calls `use` for each resource that a client has subscribed to. A resource may come twice. */
static void each_uri(struct fw_upstream *upstream,
		     void (*use)(struct fw_upstream *upstream, const char *uri))
{
	const fw_server *server = upstream->gate->relay.server;

	/* If there is a second connection, legacy clients subscribe over it. */
	bool is_split = upstream->legacy && !upstream->is_modern_only;

	for (const struct fw_session *session = is_split ? NULL : server->sessions.first;
	     session; session = session->next)
		for (size_t i = 0; i < session->subscription_count; i++)
			use(upstream, session->subscriptions[i]);
	for (const fw_call *call = upstream->owner ? NULL : server->calls.first; call;
	     call = call->next)
		for (size_t i = 0; call->is_listener && i < call->listening.uri_count; i++)
			use(upstream, call->listening.uris[i]);
}

static void put_uri(struct fw_upstream *upstream, const char *uri)
{
	struct fw_buf *out = &upstream->gate->params;

	if (out->len && out->text[out->len - 1] != '[')
		FW_BUF(out, ",");
	fw_buf_json_str(out, uri);
}

static void open_stream(struct fw_upstream *upstream)
{
	struct fw_buf *out = &upstream->gate->params;
	struct fw_remote_request request = { .method = FW_METHOD_LISTEN,
					     .done = on_stream_end,
					     .is_stream = true,
					     .ctx = upstream };

	if (upstream->stream_key)
		fw_remote_cancel(upstream->remote, upstream->stream_key, "replaced");
	upstream->stream_key = 0;
	fw_buf_reset(out, FW_LIMIT_CHILD_KEPT_BYTES);
	FW_BUF(out, "\"notifications\":{\"toolsListChanged\":true,\"promptsListChanged\":true,"
		    "\"resourcesListChanged\":true,\"resourceSubscriptions\":[");
	each_uri(upstream, put_uri);
	FW_BUF(out, "]}");
	request.params = (struct fw_slice){ out->text, out->len };
	if (out->state == FW_BUF_OK)
		fw_error_free(
			fw_remote_call(upstream->remote, &request, &upstream->stream_key));
}

static void subscribe(struct fw_upstream *upstream, const char *uri)
{
	struct fw_buf *out = &upstream->gate->params;
	struct fw_remote_request request = { .method = FW_METHOD_SUBSCRIBE,
					     .done = ignore_reply,
					     .deadline_ms = FW_LIMIT_PROBE_MS };

	fw_buf_reset(out, FW_LIMIT_CHILD_KEPT_BYTES);
	FW_BUF(out, "\"uri\":");
	fw_buf_json_str(out, uri);
	request.params = (struct fw_slice){ out->text, out->len };
	if (out->state == FW_BUF_OK)
		fw_error_free(fw_remote_call(upstream->remote, &request, NULL));
}

void fw_upstream_listen(struct fw_upstream *upstream)
{
	if (fw_remote_state(upstream->remote) != FW_REMOTE_READY)
		return;
	/* A legacy upstream is asked for every resource. It refuses those that it does
	 * not have, which does no harm. */
	if (fw_remote_is_modern(upstream->remote))
		open_stream(upstream);
	else
		each_uri(upstream, subscribe);
}

void fw_upstream_listen_to(struct fw_upstream *upstream, bool is_legacy, char *const *uris,
			   size_t count)
{
	/* If there is a second connection, legacy clients subscribe over it. */
	if (is_legacy && upstream->legacy && !upstream->is_modern_only)
		upstream = upstream->legacy;
	if (fw_remote_state(upstream->remote) != FW_REMOTE_READY)
		return;
	if (fw_remote_is_modern(upstream->remote))
		open_stream(upstream);
	for (size_t i = 0; i < count && !fw_remote_is_modern(upstream->remote); i++)
		subscribe(upstream, uris[i]);
}

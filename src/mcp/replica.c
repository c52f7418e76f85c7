/*
 * replica.c - see replica.h. The state of a session is a JSON object; what is read back is
 * checked as a message of a client is.
 */
#include "mcp/replica.h"

#include <string.h>

#include <yyjson.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/json.h"
#include "base/limits_fleet.h"
#include "base/mem.h"
#include "base/out.h"
#include "base/text.h"
#include "mcp/boundary.h"
#include "mcp/call.h"
#include "mcp/follow.h"
#include "mcp/method.h"
#include "mcp/relay.h"
#include "mcp/run.h"
#include "mcp/server.h"
#include "mcp/session.h"
#include "mcp/transport.h"
#include "rpc/names.h"
#include "rpc/version.h"

enum { ID_LEN = 32, CLIENT_MAX = 255, DEPTH = 64 };

struct fw_takeover {
	struct fw_exchange *exchange; /* NULL: gone, or a refresh */
	fw_server *server;            /* of a refresh; else NULL */
	void (*resume)(struct fw_exchange *exchange);
	char id[ID_LEN + 1];
};

void fw_server__set_replica(fw_server *server, struct fw_replica *replica)
{
	server->replica = replica;
}

/* Only what fw_session_new() makes is looked up. */
static bool is_id(const char *id)
{
	return strlen(id) == ID_LEN &&
	       strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789") == ID_LEN;
}

/* ---- writing ----------------------------------------------------------------------------- */

static void put_state(const struct fw_session *session, struct fw_buf *out)
{
	FW_BUF(out, "{\"version\":");
	fw_buf_json_str(out, fw_version_names[session->version]);
	FW_BUF(out, ",\"client\":");
	fw_buf_json_str(out, session->client);
	FW_BUF(out, ",\"principal\":");
	fw_buf_json_str(out, fw_principal_name(session->principal));
	FW_BUF(out, ",\"proof\":");
	fw_buf_i64(out, (int64_t)fw_principal_proof(session->principal));
	FW_BUF(out, ",\"initialized\":");
	fw_buf_str(out, session->is_initialized ? "true" : "false");
	FW_BUF(out, ",\"level\":");
	fw_buf_i64(out, (int64_t)session->log_level);
	FW_BUF(out, ",\"since\":");
	fw_buf_i64(out, (int64_t)session->get.sent);
	FW_BUF(out, ",\"subscriptions\":[");
	for (size_t i = 0; i < session->subscription_count; i++) {
		if (i)
			FW_BUF(out, ",");
		fw_buf_json_str(out, session->subscriptions[i]);
	}
	FW_BUF(out, "],\"capabilities\":");
	fw_buf_value(out, yyjson_doc_get_root(session->capabilities->doc));
	FW_BUF(out, "}");
}

bool fw_replica_save(struct fw_session *session, fw_call *call)
{
	struct fw_replica *replica = session->server->replica;
	bool is_new = call && call->request.method &&
		      call->request.method->run == fw_method_initialize;
	struct fw_buf text;
	bool waits = false;

	if (!replica || session->wire || session->is_ended || session->version == FW_V_NONE ||
	    !session->capabilities || !session->client)
		return false;
	fw_buf_init(&text, FW_LIMIT_FLEET_SESSION_BYTES);
	put_state(session, &text);
	/* One that is too large stays with this server. */
	if (text.state == FW_BUF_OK) {
		session->shared.stamp = fw_hash(text.text, text.len, 0);
		if (call)
			(void)fw_call__ref(call);
		waits = replica->ops->save(replica, session->id, text.text, text.len, is_new,
					   call);
		if (call && !waits)
			fw_call__unref(call);
	}
	fw_buf_clear(&text);
	return call && waits;
}

void fw_replica_saved(fw_call *call)
{
	const struct fw_method *method = call->request.method;

	if (fw_call_is_over(call)) {
		/* Nobody waits for the answer, but the run of a relayed call has a reference to it. */
		if (call->run.is_active)
			fw_call_complete(call, NULL);
	} else if (!call->request.has_id)
		fw_mcp_accept(call);
	else if (method && method->run == fw_method_initialize)
		fw_method_initialized(call);
	else if (call->relayed.result.p)
		fw_call_complete(call, NULL);
	else
		fw_mcp_reply_empty(call);
	fw_call__unref(call);
}

void fw_replica_end(const struct fw_session *session)
{
	struct fw_replica *replica = session->server->replica;

	if (replica && !session->wire)
		replica->ops->end(replica, session->id);
}

/* ---- reading ----------------------------------------------------------------------------- */

static bool read_number(yyjson_val *root, const char *name, uint64_t most, uint64_t *ret)
{
	yyjson_val *value = fw_json_member(root, name);

	if (!yyjson_is_uint(value) || yyjson_get_uint(value) > most)
		return false;
	*ret = yyjson_get_uint(value);
	return true;
}

static bool is_of(yyjson_val *root, const fw_principal *principal)
{
	uint64_t proof;

	return read_number(root, "proof", FW_PROOF_COUNT - 1, &proof) &&
	       proof == (uint64_t)fw_principal_proof(principal) &&
	       fw_text_is(fw_text_of(fw_json_member(root, "principal")),
			  fw_principal_name(principal));
}

static bool read_subscriptions(struct fw_session *session, yyjson_val *list)
{
	struct fw_relay *relay = session->server->relay;
	yyjson_val *item;
	size_t at, count;

	if (!yyjson_is_arr(list))
		return false;
	while (session->subscription_count)
		fw_session_unsubscribe(session, session->subscriptions[0]);
	yyjson_arr_foreach(list, at, count, item)
	{
		const char *uri = fw_text_str(fw_text_of(item));
		fw_error *err = uri ? fw_session_subscribe(session, uri) : NULL;

		fw_error_free(err);
		if (!uri || err)
			return false;
	}
	/* Servers behind this one must report their changes here, too. */
	if (relay && relay->ops->listening && session->subscription_count)
		relay->ops->listening(relay, true, session->subscriptions,
				      session->subscription_count);
	return true;
}

/* What can change while a session lives. */
static bool read_state(struct fw_session *session, yyjson_val *root)
{
	yyjson_val *initialized = fw_json_member(root, "initialized");
	uint64_t level;

	if (!yyjson_is_bool(initialized) ||
	    !read_number(root, "level", FW_LOG_EMERGENCY, &level))
		return false;
	session->is_initialized = yyjson_get_bool(initialized);
	session->log_level = (fw_log_level)level;
	return read_subscriptions(session, fw_json_member(root, "subscriptions"));
}

static bool read_client(struct fw_session *session, yyjson_val *root)
{
	struct fw_text client = fw_text_of(fw_json_member(root, "client"));
	const char *name = fw_text_str(client);
	yyjson_val *capabilities = fw_json_member(root, "capabilities");
	enum fw_version version = fw_version_find(fw_text_of(fw_json_member(root, "version")));
	struct fw_buf text;
	fw_error *err;

	if (!name || client.n > CLIENT_MAX || !yyjson_is_obj(capabilities) ||
	    version > FW_V_2025_11_25 ||
	    !fw_text_is(fw_text_of(fw_json_member(root, "version")), fw_version_names[version]))
		return false;
	session->version = version;
	session->client = fw_strdup(name);
	session->client_len = client.n;
	fw_buf_init(&text, FW_LIMIT_FLEET_SESSION_BYTES);
	fw_buf_value(&text, capabilities);
	if (text.state == FW_BUF_OK)
		session->capabilities = fw_capabilities_new(&text);
	fw_buf_clear(&text);
	if (!session->client || !session->capabilities)
		return false;
	session->has_plain_client = fw_out_is_plain(session->client, session->client_len);
	err = fw_session_read_contract(session);
	fw_error_free(err);
	return !err;
}

/* A session of another replica becomes one of this server. */
static struct fw_session *adopt(struct fw_exchange *exchange, const char *id, yyjson_val *root)
{
	struct fw_session *session = NULL;
	fw_error *err = fw_session_new(exchange, &session);
	uint64_t since;

	if (err) {
		fw_error_free(err);
		return NULL;
	}
	memcpy(session->id, id, ID_LEN + 1);
	fw_follow_begin_session(session);
	/* Events since then, which no replica may have sent yet. */
	if (read_number(root, "since", session->get.sent ? session->get.sent : INT64_MAX,
			&since))
		session->get.last = session->get.sent = since;
	/* Streams of several replicas must not have the same number. */
	fw_random((unsigned char *)&session->last_stream, 5);
	session->last_stream <<= 16;
	session->last_id = session->last_stream;
	if (read_client(session, root))
		return session;
	fw_session_free(session);
	return NULL;
}

static yyjson_doc *read_text(const char *text, size_t len)
{
	return fw_json_read(text, len,
			    (struct fw_json_limits){ FW_LIMIT_FLEET_SESSION_BYTES, DEPTH },
			    YYJSON_READ_NOFLAG, NULL, NULL);
}

static void take_over(struct fw_exchange *exchange, const char *id, const char *text,
		      size_t len)
{
	struct fw_session *session = fw_session_of(exchange, id);
	uint64_t stamp = fw_hash(text, len, 0);
	yyjson_doc *doc;
	yyjson_val *root;

	if (session && session->shared.stamp == stamp)
		return;
	doc = read_text(text, len);
	root = yyjson_doc_get_root(doc);
	if (yyjson_is_obj(root) && is_of(root, exchange->principal)) {
		if (!session)
			session = adopt(exchange, id, root);
		if (session && read_state(session, root))
			session->shared.stamp = stamp;
	}
	yyjson_doc_free(doc);
}

/* ---- a lookup ------------------------------------------------------------------------------ */

bool fw_exchange_looks_up(struct fw_exchange *exchange,
			  void (*resume)(struct fw_exchange *exchange))
{
	struct fw_replica *replica = exchange->server->replica;
	const char *id =
		replica ? exchange->ops->header(exchange, FW_HEADER_SESSION, NULL) : NULL;
	struct fw_takeover *takeover;

	if (!id || !is_id(id) || exchange->server->state != FW_RUNNING)
		return false;
	takeover = fw__allocate(sizeof *takeover);
	if (!takeover)
		return false;
	takeover->exchange = exchange;
	takeover->server = NULL;
	takeover->resume = resume;
	memcpy(takeover->id, id, sizeof takeover->id);
	if (!replica->ops->find(replica, takeover->id, takeover)) {
		fw__release(takeover);
		return false;
	}
	exchange->takeover = takeover;
	return true;
}

/* Changes are sent by the subscriptions of the session, so none is sent meanwhile. */
void fw_replica_refresh(struct fw_session *session)
{
	struct fw_replica *replica = session->server->replica;
	struct fw_takeover *takeover;

	if (session->shared.is_refreshing || !is_id(session->id))
		return;
	takeover = fw__allocate(sizeof *takeover);
	if (!takeover)
		return;
	*takeover = (struct fw_takeover){ .server = session->server };
	memcpy(takeover->id, session->id, sizeof takeover->id);
	session->shared.is_refreshing = replica->ops->find(replica, takeover->id, takeover);
	if (!session->shared.is_refreshing)
		fw__release(takeover);
	else
		fw_follow_stop(&session->get);
}

static void end_refresh(const struct fw_takeover *takeover, const char *text, size_t len)
{
	struct fw_session *session = takeover->server->sessions.first;
	yyjson_doc *doc;
	yyjson_val *root;

	while (session && strcmp(session->id, takeover->id) != 0)
		session = session->next;
	if (!session)
		return;
	session->shared.is_refreshing = false;
	doc = text && session->shared.stamp != fw_hash(text, len, 0) ? read_text(text, len)
								     : NULL;
	root = yyjson_doc_get_root(doc);
	if (yyjson_is_obj(root) && is_of(root, session->principal) && read_state(session, root))
		session->shared.stamp = fw_hash(text, len, 0);
	yyjson_doc_free(doc);
	fw_follow(&session->get);
}

void fw_takeover_leave(struct fw_takeover *takeover)
{
	if (takeover)
		takeover->exchange = NULL;
}

void fw_takeover_end(struct fw_takeover *takeover, enum fw_takeover_result result,
		     const char *text, size_t len)
{
	struct fw_exchange *exchange = takeover->exchange;
	struct fw_session *session;

	if (takeover->server)
		end_refresh(takeover, result == FW_TAKEOVER_FOUND ? text : NULL, len);
	if (exchange) {
		exchange->takeover = NULL;
		session = result == FW_TAKEOVER_FOUND ? NULL
						      : fw_session_of(exchange, takeover->id);
		if (result == FW_TAKEOVER_FOUND)
			take_over(exchange, takeover->id, text, len);
		else if (session && result == FW_TAKEOVER_ENDED)
			fw_session_free(session);
		/* The engine has lost it. */
		else if (session && result == FW_TAKEOVER_NONE)
			(void)fw_replica_save(session, NULL);
		takeover->resume(exchange);
	}
	fw__release(takeover);
}

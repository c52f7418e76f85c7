/*
 * clients.c - see clients.h.
 */
#include "tools/workspace/clients.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"

#include <faultwire/raise.h>

/* ---- who is who ---- */

static void digest(const char *kind, const char *text, char ret_hex[FW_SHA256_TEXT])
{
	char whole[1024];
	int len = snprintf(whole, sizeof whole, "%s:%s", kind, text ? text : "");

	/* Names are cut: clients that differ only after the cut count as one. */
	fw_sha256_text(whole, len < (int)sizeof whole ? (size_t)len : sizeof whole - 1,
		       ret_hex);
}

static void key_of_session(const char *session, char ret_key[FW_SHA256_TEXT])
{
	digest("session", session, ret_key);
}

static void name_of(const fw_call *call, char ret_name[FW_SHA256_TEXT])
{
	digest("client", fw_call_client(call), ret_name);
}

static void key_of(const fw_workspace *ws, const fw_call *call, char ret_key[FW_SHA256_TEXT])
{
	const char *session = fw_call_session(call);

	if (!fw_server_url(ws->server))
		digest("stdio", "", ret_key);
	else if (session)
		key_of_session(session, ret_key);
	else
		name_of(call, ret_key);
}

static struct fw_ws_client *find(const fw_workspace *ws, const char *key)
{
	struct fw_ws_client *client = ws->clients;

	while (client && strcmp(client->key, key) != 0)
		client = client->next;
	return client;
}

struct fw_ws_client *fw_ws_client_find(fw_workspace *ws, const fw_call *call)
{
	char key[FW_SHA256_TEXT];

	key_of(ws, call, key);
	return find(ws, key);
}

void fw_ws_client_read_session(fw_workspace *ws, const fw_call *call,
			       struct fw_ws_session *ret_session)
{
	const struct fw_ws_client *client;

	memset(ret_session, 0, sizeof *ret_session);
	(void)pthread_mutex_lock(&ws->lock);
	client = fw_ws_client_find(ws, call);
	if (client)
		*ret_session = client->shared;
	(void)pthread_mutex_unlock(&ws->lock);
}

/* ---- coming ---- */

static bool is_free(const struct fw_ws_client *client)
{
	return !client->key[0] && !client->session.locked_by[0] && !client->calls;
}

/* A client that can be removed: nothing is lost but its session. */
static bool is_idle(const struct fw_ws_client *client)
{
	return !client->session.locked_by[0] && !client->calls;
}

static struct fw_ws_client *new_client(fw_workspace *ws)
{
	struct fw_ws_client *client = fw__allocate(sizeof *client);
	fw_error *err;

	if (!client)
		return NULL;
	memset(client, 0, sizeof *client);
	err = fw_server_add_state(ws->server, "{}", 2, &client->state);
	if (err) {
		fw_error_free(err);
		fw__release(client);
		return NULL;
	}
	(void)pthread_mutex_lock(&ws->lock);
	client->next = ws->clients;
	ws->clients = client;
	(void)pthread_mutex_unlock(&ws->lock);
	ws->client_count++;
	return client;
}

/* An unused one, else a new one, else the least recently used one. */
static fw_error *take(fw_workspace *ws, struct fw_ws_client **ret_client)
{
	struct fw_ws_client *oldest = NULL;

	for (struct fw_ws_client *client = ws->clients; client; client = client->next) {
		if (is_free(client)) {
			*ret_client = client;
			return NULL;
		}
		if (is_idle(client) && (!oldest || client->used < oldest->used))
			oldest = client;
	}
	if (ws->client_count < FW_LIMIT_WORKSPACE_SESSIONS)
		oldest = new_client(ws);
	else if (!oldest)
		return fw_raise_session_init_failed(
			"too many clients have a locked session, or a call in progress");
	*ret_client = oldest;
	return oldest ? NULL : fw_raise_internal_out_of_memory();
}

/* The lock that a client of this name has left behind. */
static void inherit_lock(fw_workspace *ws, struct fw_ws_client *client)
{
	for (struct fw_ws_client *left = ws->clients; left; left = left->next) {
		if (left->key[0] || !left->session.locked_by[0] || left->calls ||
		    strcmp(left->name, client->name) != 0)
			continue;
		memcpy(client->session.locked_by, left->session.locked_by,
		       sizeof client->session.locked_by);
		left->session.locked_by[0] = '\0';
		return;
	}
}

fw_error *fw_ws_client_add(fw_workspace *ws, const fw_call *call,
			   struct fw_ws_client **ret_client)
{
	struct fw_ws_client *client;
	char key[FW_SHA256_TEXT];

	key_of(ws, call, key);
	*ret_client = find(ws, key);
	if (*ret_client)
		return NULL;
	FW_TRY(take(ws, &client));
	(void)pthread_mutex_lock(&ws->lock);
	memset(&client->session, 0, sizeof client->session);
	memcpy(client->key, key, sizeof client->key);
	name_of(call, client->name);
	(void)pthread_mutex_unlock(&ws->lock);
	client->used = ++ws->last_use;
	inherit_lock(ws, client);
	fw_ws_client_publish(ws, client);
	*ret_client = client;
	return NULL;
}

/* ---- its session ---- */

/* On stdio every failure belongs to the one session, also one that has no tool. */
static void publish_scope(const fw_workspace *ws, const struct fw_ws_client *client)
{
	fw_scope scope = { .role = NULL };

	if (!fw_server_url(ws->server) && client->session.id[0]) {
		scope.role = fw_ws_role_name(ws->role);
		scope.session_id = client->session.id;
		scope.workspace_root = client->session.root;
	}
	fw_server_set_scope(ws->server, &scope);
}

void fw_ws_client_publish(fw_workspace *ws, struct fw_ws_client *client)
{
	struct fw_ws_session session = client->session;
	struct fw_buf text;

	/* A client without a session sees which root the others have. */
	if (!session.id[0] && ws->root.fd >= 0) {
		(void)snprintf(session.root, sizeof session.root, "%s", ws->root.path);
		session.dev = (uint64_t)ws->root.dev;
		session.ino = (uint64_t)ws->root.ino;
	}
	fw_buf_init(&text, FW_WS_STATE_BYTES);
	FW_BUF(&text, "{");
	fw_ws_session_write(&session, &text);
	FW_BUF(&text, "}");
	if (text.state == FW_BUF_OK)
		(void)fw_state_set(client->state, text.text, text.len);
	fw_buf_clear(&text);
	(void)pthread_mutex_lock(&ws->lock);
	client->shared = client->session;
	(void)pthread_mutex_unlock(&ws->lock);
	publish_scope(ws, client);
}

bool fw_ws_clients_have_session(const fw_workspace *ws)
{
	for (const struct fw_ws_client *client = ws->clients; client; client = client->next)
		if (client->session.id[0])
			return true;
	return false;
}

/* ---- going ---- */

void fw_ws_client_leave(fw_workspace *ws, const char *session)
{
	struct fw_ws_client *client;
	char key[FW_SHA256_TEXT];

	key_of_session(session, key);
	client = find(ws, key);
	if (!client)
		return;
	(void)pthread_mutex_lock(&ws->lock);
	client->key[0] = '\0';
	client->shared.id[0] = '\0';
	(void)pthread_mutex_unlock(&ws->lock);
}

void fw_ws_clients_free(fw_workspace *ws)
{
	while (ws->clients) {
		struct fw_ws_client *client = ws->clients;

		ws->clients = client->next;
		fw__release(client);
	}
	ws->client_count = 0;
}

/*
 * owner.c - counts sessions per owner, and chooses the session to evict for a
 * new one.
 *
 * An owner is what the server itself knows: the token, and the address. If the
 * table is full, the owner with most sessions loses one, so a client that
 * creates sessions without end displaces its own. Sessions that were never
 * confirmed (notifications/initialized) are evicted first.
 */
#include <faultwire/raise.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "mcp/owner.h"
#include "mcp/server.h"
#include "mcp/session.h"
#include "mcp/transport.h"

struct fw_owner *fw_owner_of(struct fw_exchange *exchange)
{
	fw_server *server = exchange->server;
	struct fw_owner *owner = server->sessions.owners;
	uint64_t key;

	memcpy(&key, server->key, sizeof key);
	key = fw_hash_text(exchange->principal ? fw_principal_name(exchange->principal) : "",
			   key);
	key = fw_hash_text(exchange->peer ? exchange->peer : "", key);
	while (owner && owner->key != key)
		owner = owner->next;
	if (owner)
		return owner;
	owner = fw__allocate(sizeof *owner);
	if (!owner)
		return NULL;
	*owner = (struct fw_owner){ .next = server->sessions.owners, .key = key };
	server->sessions.owners = owner;
	return owner;
}

void fw_owner_leave(fw_server *server, struct fw_owner *owner)
{
	struct fw_owner **at = &server->sessions.owners;

	if (!owner || (owner->sessions && --owner->sessions))
		return;
	while (*at != owner)
		at = &(*at)->next;
	*at = owner->next;
	fw__release(owner);
}

static const struct fw_owner *heaviest(const fw_server *server)
{
	const struct fw_owner *found = server->sessions.owners;

	for (const struct fw_owner *owner = found; owner; owner = owner->next)
		if (owner->sessions > found->sessions)
			found = owner;
	return found;
}

/* The session that was unused for longest; `owner` NULL: of any owner. The list has the
 * most recently used first. */
static struct fw_session *oldest(const fw_server *server, const struct fw_owner *owner,
				 uint64_t idle_ms, bool is_unconfirmed)
{
	struct fw_session *found = NULL;

	for (struct fw_session *session = server->sessions.first; session;
	     session = session->next)
		if ((!owner || session->owner == owner) &&
		    fw_session_is_idle(session, idle_ms) &&
		    !(is_unconfirmed && session->is_initialized))
			found = session;
	return found;
}

fw_error *fw_owner_make_room(fw_server *server, const struct fw_owner *owner)
{
	const struct fw_limits *limits = &server->limits;
	const bool is_full = server->sessions.count >= limits->sessions;
	const bool is_beyond_share = owner->sessions > limits->client_sessions;
	const struct fw_owner *giver = is_beyond_share ? owner : heaviest(server);
	struct fw_session *session = NULL;

	if (!is_full && !is_beyond_share)
		return NULL;
	if (giver == owner || giver->sessions > owner->sessions)
		session = oldest(server, giver, 0, true);
	if (!session && giver->sessions > owner->sessions)
		session = oldest(server, giver, 0, false);
	if (!session)
		session = oldest(server, is_beyond_share ? owner : NULL,
				 limits->session_spare_ms, false);
	if (!session)
		return fw_raise_session_limit_reached(is_beyond_share ? limits->client_sessions
								      : limits->sessions);
	fw_session_free(session);
	return NULL;
}

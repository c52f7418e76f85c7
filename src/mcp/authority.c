/*
 * authority.c - see authority.h.
 */
#include "mcp/authority.h"

#include "base/clock.h"
#include "mcp/boundary.h"
#include "mcp/call.h"
#include "mcp/listen.h"
#include "mcp/offer.h"
#include "mcp/page.h"
#include "mcp/principal.h"
#include "mcp/relay.h"
#include "mcp/request.h"
#include "mcp/run.h"
#include "mcp/server.h"
#include "mcp/session.h"

void fw_server__set_authority(fw_server *server, struct fw_authority *authority)
{
	server->authority = authority;
}

struct fw_authority *fw_server__authority(const fw_server *server)
{
	return server->authority;
}

fw_error *fw_authority_read(const fw_call *call)
{
	struct fw_authority *authority = call->server->authority;
	bool is_foreign = !call->request.method; /* only an upstream knows it */

	if (!authority || call->request.kind == FW_CALL_TOOL ||
	    (call->request.kind == FW_CALL_OTHER && !is_foreign))
		return NULL;
	return authority->ops->read(authority, call);
}

bool fw_authority_shows(const fw_server *server, const fw_principal *principal,
			const struct fw_listed *listed)
{
	struct fw_authority *authority = server->authority;

	return !authority || authority->ops->shows(authority, principal, listed);
}

bool fw_authority_shows_tool(const fw_server *server, const fw_principal *principal,
			     const struct fw_offer *tool)
{
	const struct fw_listed listed = { .tool = tool->name,
					  .toolset = tool->toolset,
					  .changes = tool->changes };

	return !tool->is_hidden && fw_authority_shows(server, principal, &listed);
}

/* Ending one may end others, so the list is read again from its start. */
static bool end_a_listener(fw_server *server, int64_t now_ms)
{
	for (fw_call *call = server->calls.first; call; call = call->next) {
		if (!call->is_listener || fw_call_is_over(call) ||
		    fw_principal_is_valid(call->principal, now_ms))
			continue;
		fw_listen_end(call);
		return true;
	}
	return false;
}

void fw_authority_end_streams(fw_server *server)
{
	int64_t now_ms = fw_unix_ms();

	while (end_a_listener(server, now_ms))
		;
	for (struct fw_session *session = server->sessions.first; session;
	     session = session->next)
		fw_streams_end_invalid(session, now_ms);
	fw_pages_end_invalid(server, now_ms);
}

fw_error *fw_authority_enter(fw_call *call)
{
	struct fw_authority *authority = call->server->authority;

	return authority ? authority->ops->enter(authority, call) : NULL;
}

fw_error *fw_authority_start(fw_call *call)
{
	struct fw_authority *authority = call->server->authority;
	bool waits = false;

	if (authority)
		/* cppcheck-suppress returnDanglingLifetime ; an error keeps no such pointer */
		FW_TRY(authority->ops->admit(authority, call, &waits));
	if (!waits)
		fw_call_start(call);
	return NULL;
}

void fw_authority_end(fw_call *call, const fw_error *err)
{
	struct fw_authority *authority = call->server->authority;

	if (authority && call->run.grant.account)
		authority->ops->ended(authority, call, err);
}

bool fw_authority_decided(fw_call *call, fw_error *err)
{
	bool is_over = fw_call_is_over(call);

	if (is_over)
		fw_error_free(err);
	else if (err)
		fw_mcp_fail(call, err);
	else
		fw_call_start(call);
	fw_call__unref(call);
	return !is_over;
}

const char *fw_authority_toolset(const fw_call *call)
{
	struct fw_relay *relay = call->server->relay;

	if (!relay)
		return call->request.offer ? call->request.offer->toolset : NULL;
	return relay->ops->toolset_of ? relay->ops->toolset_of(relay, call->request.name)
				      : NULL;
}

bool fw_authority_may_change(const fw_call *call)
{
	/* What an upstream says about its own tools is not to be trusted here. */
	return call->server->relay || !call->request.offer || call->request.offer->changes;
}

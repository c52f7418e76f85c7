/*
 * http_auth.c - see http_auth.h. There may be one token of the transport's own, which is
 * for everything, and an authority that knows others.
 */
#include "net/http_auth.h"

#include <string.h>

#include <faultwire/raise.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "mcp/authority.h"
#include "mcp/principal.h"
#include "mcp/server.h"
#include "net/http.h"
#include "net/http_check.h"
#include "net/http_conn.h"
#include "net/http_request.h"
#include "policy/guard.h"

static struct fw_authority *authority_of(const struct fw_http *http)
{
	struct fw_authority *authority = fw_server__authority(http->base.server);

	return authority && authority->requires_token ? authority : NULL;
}

bool fw_http__needs_token(const struct fw_http *http)
{
	return http->config.bearer_token || authority_of(http);
}

static void accept_as(struct fw_http_conn *conn, fw_principal *principal)
{
	fw_principal_unref(conn->exchange.principal);
	conn->exchange.principal = principal;
}

/* The time depends on the length of the token, but not on its bytes. */
static bool is_own(const struct fw_http *http, const char *token, size_t len)
{
	const char *own = http->config.bearer_token;

	return own && len == strlen(own) && fw_bytes_equal(token, own, len);
}

/* A wrong token costs its address a part of its allowance. */
static void note_wrong(struct fw_http_conn *conn)
{
	struct fw_http *http = conn->http;

	if (!http->guard) {
		http->guard = fw__allocate(sizeof *http->guard);
		if (!http->guard)
			return;
		fw_guard_init(http->guard);
	}
	(void)fw_guard_failed(http->guard, conn->exchange.peer, (uint64_t)fw_steady_ns());
}

/* The transport's own token, if no authority knows others. As with those of an authority,
 * an address that has used up its wrong tokens has to wait, but a client whose token was
 * accepted before is not locked out by another one on the same address that guesses. */
static fw_error *check_own(struct fw_http_conn *conn, const struct fw_credential *credential)
{
	struct fw_http *http = conn->http;
	bool is_right = is_own(http, credential->token, credential->len);
	uint64_t wait_ns = 0;

	if (http->guard && !(is_right && http->is_proven))
		wait_ns = fw_guard_wait_ns(http->guard, conn->exchange.peer,
					   (uint64_t)fw_steady_ns());
	if (wait_ns)
		return fw_guard_refuse(wait_ns);
	if (!is_right) {
		note_wrong(conn);
		return fw_raise_auth_unauthorized();
	}
	http->is_proven = true;
	accept_as(conn, fw_principal_ref(http->config.principal));
	return NULL;
}

/* Of a browser that is signed in. Web pages of other programs on this host may make it
 * send the cookie, so it counts only where nothing is changed. */
static void read_cookie(struct fw_http_conn *conn, struct fw_credential *credential)
{
	const struct fw_http_header *cookie = &conn->head.cookie;

	if (cookie->count == 1)
		credential->token = fw_signin_token(&conn->http->base.server->pages.signins,
						    fw_http__at(conn, cookie->value),
						    fw_steady_ms(), &credential->len);
}

fw_error *fw_http__authenticate(struct fw_http_conn *conn, bool takes_cookie)
{
	struct fw_authority *authority = authority_of(conn->http);
	struct fw_credential credential = { .peer = conn->exchange.peer };
	fw_principal *principal = NULL;
	fw_error *err;

	if (!fw_http__needs_token(conn->http))
		return NULL;
	if (conn->head.authorization.count)
		credential.token = fw_http_bearer(
			fw_http__at(conn, conn->head.authorization.value), &credential.len);
	else if (takes_cookie)
		read_cookie(conn, &credential);
	if (!credential.token)
		return fw_raise_auth_unauthorized();
	/* The token of a cookie was checked, and the cookie cannot be guessed. */
	if (!authority && conn->head.authorization.count)
		return check_own(conn, &credential);
	if (is_own(conn->http, credential.token, credential.len)) {
		accept_as(conn, fw_principal_ref(conn->http->config.principal));
		return NULL;
	}
	if (!authority)
		return fw_raise_auth_unauthorized();
	err = authority->ops->identify(authority, &credential, &principal);
	conn->exchange.is_alarm = credential.is_alarm;
	if (!err)
		accept_as(conn, principal);
	/* cppcheck-suppress returnDanglingLifetime ; an error keeps no such pointer */
	return err;
}

/* Only what RFC 6749 permits in a scope, so that nothing ends the quotes or the line. */
static bool is_scope(const char *text)
{
	for (const char *c = text; *c; c++)
		if (*c < 0x21 || *c > 0x7e || *c == '"' || *c == '\\')
			return false;
	return *text != '\0';
}

static void put_parameter(struct fw_buf *head, bool *is_first, const char *name,
			  const char *value)
{
	fw_buf_str(head, *is_first ? " " : ", ");
	*is_first = false;
	fw_buf_str(head, name);
	FW_BUF(head, "=\"");
	fw_buf_str(head, value);
	FW_BUF(head, "\"");
}

void fw_http__put_challenge(struct fw_http_conn *conn, const struct fw_reply *reply,
			    struct fw_buf *head)
{
	bool is_missing = reply->challenge || reply->status == 401;
	bool is_first = true;

	if (!is_missing && !reply->scope)
		return;
	FW_BUF(head, "WWW-Authenticate: Bearer");
	if (conn->http->config.metadata_url)
		put_parameter(head, &is_first, "resource_metadata",
			      conn->http->config.metadata_url);
	/* A request without a token gets no error code (RFC 6750, section 3.1). */
	if (is_missing && conn->head.authorization.count)
		put_parameter(head, &is_first, "error", "invalid_token");
	if (reply->scope) {
		put_parameter(head, &is_first, "error", "insufficient_scope");
		if (is_scope(reply->scope))
			put_parameter(head, &is_first, "scope", reply->scope);
	}
	FW_BUF(head, "\r\n");
}

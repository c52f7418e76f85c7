/*
 * http_auth.h - bearer tokens: who sends a request, and the WWW-Authenticate header of a
 * refusal.
 */
#ifndef FW_NET_HTTP_AUTH_H
#define FW_NET_HTTP_AUTH_H

#include <stdbool.h>

#include <faultwire/error.h>

#include "base/buf.h"
#include "mcp/transport.h"

struct fw_http;
struct fw_http_conn;

/* Whether every message needs a token. */
bool fw_http__needs_token(const struct fw_http *http);
/* Finds out who sends the request: the principal of its exchange. `takes_cookie`: the
 * cookie of a browser that is signed in counts, too. Raises auth.unauthorized, and what
 * the server's authority raises. */
fw_error *fw_http__authenticate(struct fw_http_conn *conn, bool takes_cookie);
/* Writes WWW-Authenticate if the answer needs it (RFC 6750, RFC 9728). */
void fw_http__put_challenge(struct fw_http_conn *conn, const struct fw_reply *reply,
			    struct fw_buf *head);

#endif

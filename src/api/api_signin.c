/*
 * api_signin.c - a browser signs in to the dashboard with a token, and out.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <faultwire/raise.h>

#include "api/api_impl.h"
#include "base/clock.h"
#include "mcp/server.h"
#include "mcp/signin.h"

/* The name of the cookie has the port that the browser asked for. */
static void set_cookie(fw_page *page, const char *value, int max_age_s)
{
	const char *host = fw_page_header(page, "Host");
	const char *colon = host ? strrchr(host, ':') : NULL;
	size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
	char line[256];

	(void)snprintf(line, sizeof line,
		       FW_SIGNIN_COOKIE
		       "_%.*s=%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Strict",
		       digits <= 5 ? (int)digits : 0, colon ? colon + 1 : "", value, max_age_s);
	fw_page_set_header(page, "Set-Cookie", line);
}

/* The token has been checked, if the server requires one: the route is guarded, and takes
 * no cookie. */
fw_error *fw_api_sign_in(fw_page *page, void *ctx)
{
	struct fw_api *api = ctx;
	const char *authorization = fw_page_header(page, "Authorization");
	char id[FW_SIGNIN_ID_SIZE];

	fw_page_status(page, 204, "text/plain");
	if (!authorization || strncasecmp(authorization, "Bearer", 6) != 0)
		return NULL;
	authorization += 6;
	authorization += strspn(authorization, " \t");
	FW_TRY(fw_signin_add(&api->server->pages.signins, authorization,
			     strcspn(authorization, " \t"), fw_steady_ms(), id));
	set_cookie(page, id, FW_SIGNIN_MS / 1000);
	return NULL;
}

fw_error *fw_api_sign_out(fw_page *page, void *ctx)
{
	struct fw_api *api = ctx;

	fw_signin_remove(&api->server->pages.signins, fw_page_header(page, "Cookie"));
	set_cookie(page, "", 0);
	fw_page_status(page, 204, "text/plain");
	return NULL;
}

/*
 * govern.c - see govern.h.
 */
#include "cli/serve/govern.h"

#include <stdio.h>
#include <string.h>

#include <faultwire/faultwire.h>

#include "base/limits_store.h"
#include "cli/terminal/report.h"
#include "fleet/fleet.h"
#include "govern/govern.h"

enum { TOKENS_AGE_MOST_S = 24 * 3600 };

fw_error *serve_governance_path(const char *given, char path[CLI_PATH_SIZE],
				const char **ret_path)
{
	*ret_path = given;
	if (given)
		return NULL;
	FW_TRY(cli_state_path("governance.db", false, path));
	if (!path[0])
		return cli_usage("there is no state directory: give --governance");
	*ret_path = path;
	return NULL;
}

bool serve_is_governed(const cli_args *args)
{
	return serve_value(args, SERVE_TOKENS) || serve_value(args, SERVE_CLIENTS) ||
	       serve_value(args, SERVE_OAUTH_ISSUER);
}

static bool is_url(const char *text)
{
	bool has_scheme = strncmp(text, "https://", 8) == 0 || strncmp(text, "http://", 7) == 0;

	return has_scheme && !strpbrk(text, " \"\\<>#?") && strstr(text, "://")[3];
}

static fw_error *check_oauth(const cli_args *args)
{
	const char *issuer = serve_value(args, SERVE_OAUTH_ISSUER);
	const char *audience = serve_value(args, SERVE_OAUTH_AUDIENCE);

	if (!issuer != !audience || !issuer != !serve_value(args, SERVE_OAUTH_JWKS))
		return cli_usage("--oauth-issuer, --oauth-audience and --oauth-jwks go "
				 "together");
	if (!issuer)
		return NULL;
	if (!serve_value(args, SERVE_HTTP))
		return cli_usage("--oauth-issuer requires --http");
	if (!is_url(issuer) || !is_url(audience))
		return cli_usage("--oauth-issuer and --oauth-audience take an http or https "
				 "URL");
	return NULL;
}

/* The well-known path comes between the host and the path of the resource. */
void serve_metadata_url(const cli_args *args, char *ret_url, size_t size)
{
	const char *audience = serve_value(args, SERVE_OAUTH_AUDIENCE);
	const char *host = audience ? strstr(audience, "://") : NULL;
	const char *path = host ? strchr(host + 3, '/') : NULL;
	size_t origin = path ? (size_t)(path - audience) : host ? strlen(audience) : 0;

	ret_url[0] = '\0';
	if (host)
		(void)snprintf(ret_url, size, "%.*s/.well-known/oauth-protected-resource%s",
			       (int)origin, audience, path && path[1] ? path : "");
}

fw_error *serve_govern_begin(struct serve_shared *shared)
{
	const cli_args *args = shared->args;
	char path[CLI_PATH_SIZE];
	struct fw_govern_options how = {
		.loop = &shared->loop,
		.uses_tokens = serve_value(args, SERVE_TOKENS) != NULL,
		.policy_file = serve_value(args, SERVE_CLIENTS),
		.oauth_issuer = serve_value(args, SERVE_OAUTH_ISSUER),
		.oauth_audience = serve_value(args, SERVE_OAUTH_AUDIENCE),
		.oauth_jwks = serve_value(args, SERVE_OAUTH_JWKS),
		.quotas = shared->fleet ? fw_fleet_quotas(shared->fleet) : NULL,
	};

	uint32_t age_s = FW_LIMIT_TOKEN_AGE_MS / 1000;

	FW_TRY(check_oauth(args));
	if (serve_value(args, SERVE_TOKENS_AGE) && !how.uses_tokens)
		return cli_usage("--tokens-age requires --tokens");
	FW_TRY(serve_number_read("--tokens-age", serve_value(args, SERVE_TOKENS_AGE),
				 TOKENS_AGE_MOST_S, &age_s));
	how.token_age_ms = (int64_t)age_s * 1000;
	if (!serve_is_governed(args)) {
		if (serve_value(args, SERVE_GOVERNANCE))
			return cli_usage("--governance requires --tokens or --clients");
		return NULL;
	}
	if (how.uses_tokens && !serve_value(args, SERVE_HTTP))
		return cli_usage("--tokens requires --http");
	FW_TRY(serve_governance_path(serve_database(args, SERVE_GOVERNANCE), path, &how.store));
	return fw_govern_new(shared->server, &how, &shared->govern);
}

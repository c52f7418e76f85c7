/*
 * shared.c - see shared.h.
 */
#include "cli/serve/shared.h"

#include <errno.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdlib.h>
#include <string.h>

#include <faultwire/faultwire.h>
#include <faultwire/raise.h>

#include "base/decimal.h"
#include "base/loop.h"
#include "cli/serve/fleet.h"
#include "cli/serve/govern.h"
#include "cli/serve/limit.h"
#include "cli/serve/listen.h"
#include "cli/state.h"
#include "cli/terminal/input.h"
#include "cli/terminal/report.h"
#include "fleet/fleet.h"
#include "govern/govern.h"
#include "mcp/server.h"
#include "observe/audit/audit_anchor.h"
#include "observe/log/log.h"
#include "store/store.h"

const cli_option serve_options[SERVE_OPTION_COUNT] = {
	[SERVE_STDIO] = { "stdio", NULL, 0, CLI_NOTHING,
			  "Serve on standard input and output; the default." },
	[SERVE_HTTP] = { "http", "ADDR:PORT", 0, CLI_TEXT,
			 "Listen on this address; the endpoint is /mcp. Port 0 chooses a free "
			 "port. The URL is printed on standard error." },
	[SERVE_TOKEN_FILE] = { "token-file", "FILE", 0, CLI_FILE,
			       "HTTP: require the bearer token on the first line of FILE." },
	[SERVE_TOKENS] = { "tokens", NULL, 0, CLI_NOTHING,
			   "HTTP: require a bearer token that faultwire token has made; its "
			   "scopes decide what a client may do." },
	[SERVE_TOKENS_AGE] = { "tokens-age", "SECONDS", 0, CLI_TEXT,
			       "How long known tokens are accepted while a store that servers "
			       "share is away, by default 60; then they are refused, since a "
			       "revocation would not be noticed." },
	[SERVE_CLIENTS] = { "clients", "FILE", 0, CLI_FILE,
			    "Limits and budgets of clients, as JSON; see docs/governance.md. A "
			    "changed file is read again." },
	[SERVE_GOVERNANCE] = { "governance", "FILE|URL", 0, CLI_FILE,
			       "Database of tokens and budgets; by default governance.db in "
			       "the state directory." },
	[SERVE_OAUTH_ISSUER] = { "oauth-issuer", "URL", 0, CLI_TEXT,
				 "HTTP: accept access tokens (JWT) of this OAuth authorization "
				 "server; their scopes decide what a client may do." },
	[SERVE_OAUTH_AUDIENCE] = { "oauth-audience", "URL", 0, CLI_TEXT,
				   "The URL of this server, as access tokens name it in their "
				   "audience." },
	[SERVE_OAUTH_JWKS] = { "oauth-jwks", "FILE|URL", 0, CLI_TEXT,
			       "The public keys of the issuer, a JSON Web Key Set." },
	[SERVE_LIMITS_STORE] = { "limits-store", "URL", 0, CLI_TEXT,
				 "Share limits of clients with other replicas through Redis or "
				 "Valkey: redis://[user:password@]host:port,.../db. See "
				 "docs/fleet.md." },
	[SERVE_LIMITS_STORE_FILE] = { "limits-store-file", "FILE", 0, CLI_FILE,
				      "The same; the URL is the first line of FILE." },
	[SERVE_LIMITS_LEASE] = { "limits-lease", "MS", 0, CLI_TEXT,
				 "Take a part of each limit for this time and decide without "
				 "asking; by default 0: ask for each call." },
	[SERVE_LIMITS_WAIT] = { "limits-wait", "MS", 0, CLI_TEXT,
				"How long a call may wait for the limits store, by default "
				"100; then this replica applies its share of the limits." },
	[SERVE_FLEET] = { "fleet", "NAME", 0, CLI_TEXT,
			  "Name of the fleet, by default \"default\": replicas with the same "
			  "name and limits store share their limits." },
	[SERVE_STORE] = { "store", "FILE|URL", 0, CLI_FILE,
			  "Database for file reservations, and for answers of the HTTP API "
			  "to requests with an Idempotency-Key, or off; by default store.db "
			  "in the state directory. A postgresql:// URL is a store that "
			  "several servers share: incidents, tokens and budgets are kept "
			  "there too. See docs/store.md." },
	[SERVE_LIMIT] = { "limit", "NAME=VALUE", 'l', CLI_SETTING,
			  "Set a limit; may be repeated. Bytes take the suffix k or m, times "
			  "ms or s. For a list see faultwire serve --limits." },
	[SERVE_AUDIT] = { "audit", "FILE", 0, CLI_FILE,
			  "Audit log of failures and changes, or off; by default "
			  "audit-log.jsonl in the state directory." },
	[SERVE_AUDIT_SYNC] = { "audit-sync", "WHEN", 0, CLI_AUDIT_SYNC,
			       "When to sync the audit log to disk: always (before each reply, "
			       "the default), interval, interval=MS, or off." },
	[SERVE_AUDIT_ARGS] = { "audit-args", "HOW", 0, CLI_AUDIT_FORM,
			       "How to record arguments: hash (the default) or redacted." },
	[SERVE_AUDIT_BYTES] = { "audit-bytes", "N", 0, CLI_TEXT,
				"Rotate the audit log at this size, by default 64m; takes the "
				"suffix k or m. Rotated files are never deleted." },
	[SERVE_AUDIT_ANCHORS] = { "audit-anchors", "URL", 0, CLI_TEXT,
				  "Keep the last record of the audit log elsewhere too, "
				  "every few seconds: file:PATH, postgresql://..., a webhook "
				  "(https://...), or off; by default the shared store, if "
				  "there is one." },
	[SERVE_REPLICA] = { "replica", "NAME", 0, CLI_TEXT,
			    "Name of this server in anchors; by default the host name." },
	[SERVE_INCIDENTS] = { "incidents", "FILE|URL", 0, CLI_FILE,
			      "Database for incidents, or off; by default incidents.db in the "
			      "state directory." },
	[SERVE_INCIDENTS_AGE] = { "incidents-age", "DAYS", 0, CLI_TEXT,
				  "Delete incidents older than this; by default 30." },
	[SERVE_INCIDENTS_BYTES] = { "incidents-bytes", "N", 0, CLI_TEXT,
				    "Maximum size of the incident database, by default 256m; "
				    "takes the suffix k or m. The oldest incidents are "
				    "deleted." },
	[SERVE_METRICS] = { "metrics", "on|off", 0, CLI_SWITCH,
			    "HTTP: serve Prometheus metrics at /metrics; by default on." },
	[SERVE_ALERT_WEBHOOK] = { "alert-webhook", "URL", 0, CLI_TEXT,
				  "Post each alert to URL as JSON, when it fires and when it "
				  "is resolved." },
	[SERVE_ALERT_SECRET_FILE] = { "alert-secret-file", "FILE", 0, CLI_FILE,
				      "Sign webhook requests (alerts and anchors) with the "
				      "secret on the first line of FILE." },
	[SERVE_ALERTMANAGER] = { "alertmanager", "URL", 0, CLI_TEXT,
				 "Send firing alerts to the Prometheus Alertmanager at URL." },
	[SERVE_LOG] = { "log", "FORM", 0, CLI_LOG_FORM,
			"Log format on standard error: json, text, journald or off; by default "
			"text on a terminal, otherwise json." },
	[SERVE_LOG_LEVEL] = { "log-level", "LEVEL", 0, CLI_LOG_LEVEL,
			      "Lowest level to log: debug, info (the default), notice, "
			      "warning, error or critical." },
};

/* ---- values ------------------------------------------------------------------------- */

fw_error *serve_number_read(const char *option, const char *text, uint32_t most,
			    uint32_t *ret_number)
{
	uint64_t number;

	if (!text)
		return NULL;
	if (!fw_decimal_read(text, 0, most, &number))
		return cli_usage("%s takes a number up to %u; found \"%s\"", option, most,
				 text);
	*ret_number = (uint32_t)number;
	return NULL;
}

const char *serve_shared_store(const cli_args *args)
{
	const char *store = serve_value(args, SERVE_STORE);

	return store && fw_store_is_shared(store) ? store : NULL;
}

const char *serve_database(const cli_args *args, enum serve_option option)
{
	const char *given = serve_value(args, option);

	return given ? given : serve_shared_store(args);
}

bool serve_is_log_only(const cli_args *args)
{
	const char *log = serve_value(args, SERVE_LOG);

	return log && strcmp(log, "json") == 0;
}

fw_error *serve_shared_read(struct serve_shared *shared)
{
	const cli_args *args = shared->args;
	const char *http = serve_value(args, SERVE_HTTP);
	const char *token_file = serve_value(args, SERVE_TOKEN_FILE);

	if (http && serve_value(args, SERVE_STDIO))
		return cli_usage("--stdio and --http cannot both be given");
	if (!http && serve_value(args, SERVE_METRICS))
		return cli_usage("--metrics requires --http");
	FW_TRY(serve_observers_read(&shared->observers, args, &shared->observe));
	if (!token_file)
		return NULL;
	return cli_read_first_line(token_file, "--token-file", shared->token,
				   sizeof shared->token);
}

/* ---- the server ------------------------------------------------------------------------ */

void serve_keep_heap(int mapped, int kept)
{
#ifdef __GLIBC__
	(void)mallopt(M_MMAP_THRESHOLD, mapped);
	(void)mallopt(M_TRIM_THRESHOLD, kept);
#else
	(void)mapped;
	(void)kept;
#endif
}

fw_error *serve_shared_make(struct serve_shared *shared, const fw_server_options *options)
{
	char state[CLI_PATH_SIZE];

	serve_raise_open_files();
	/* Before the sandbox, which can only permit what exists. If it cannot be made,
	 * whatever needs it fails, and a server that records nothing runs without. */
	fw_error_free(cli_state_path("", true, state));
	if (fw_loop_init(&shared->loop) != 0)
		return fw_raise_internal_unexpected("uv_loop_init");
	FW_TRY(fw_server__new_on(&shared->loop, options, &shared->server));
	return serve_limits_set(shared->server, shared->args);
}

fw_error *serve_shared_listen(struct serve_shared *shared)
{
	struct serve_observers *observers = &shared->observers;
	const char *http = serve_value(shared->args, SERVE_HTTP);
	char metadata[1024];

	serve_metadata_url(shared->args, metadata, sizeof metadata);
	FW_TRY(serve_fleet_begin(shared));
	FW_TRY(serve_govern_begin(shared));
	if (http)
		FW_TRY(serve_listen_http(shared->server, http,
					 shared->token[0] ? shared->token : NULL,
					 metadata[0] ? metadata : NULL));
	else
		FW_TRY(fw_server_listen_stdio(shared->server));
	FW_TRY(fw_observation_complete(&observers->observation, shared->server, &shared->loop,
				       &shared->observe));
	if (shared->fleet && observers->observation.metrics)
		FW_TRY(fw_fleet_observe(shared->fleet, observers->observation.metrics));
	if (observers->anchorer && observers->observation.metrics)
		FW_TRY(fw_audit_anchorer_observe(observers->anchorer,
						 observers->observation.metrics));
	if (shared->govern && observers->observation.metrics)
		FW_TRY(fw_govern_observe(shared->govern, observers->observation.metrics));
	explicit_bzero(observers->secret, sizeof observers->secret);
	explicit_bzero(shared->token, sizeof shared->token);
	return NULL;
}

void serve_shared_started(struct serve_shared *shared, const char *event, const char *tools)
{
	const char *url = fw_server_url(shared->server);
	const fw_field fields[] = {
		fw_log_text("version", fw_version()),
		fw_log_text("transport", url ? "http" : "stdio"),
		fw_log_text("url", url),
		fw_log_text("tools", tools),
	};

	fw_log_event(FW_LOG_INFO, "faultwire", event, fields, sizeof fields / sizeof *fields);
	if (url && !serve_is_log_only(shared->args))
		cli_remark("listening on %s", url);
	shared->is_started = true;
}

bool serve_shared_close(struct serve_shared *shared)
{
	bool is_free;

	/* Decides on the calls that still wait for it. */
	fw_fleet_close(shared->fleet);
	fw_govern_close(shared->govern);
	fw_audit_anchorer_free(shared->observers.anchorer);
	shared->observers.anchorer = NULL;
	is_free = fw_observation_close(&shared->observers.observation);

	if (is_free)
		fw_server_free(shared->server);
	return is_free;
}

void serve_shared_clear(struct serve_shared *shared, bool is_free, const char *event)
{
	if (shared->is_started)
		fw_log_event(FW_LOG_INFO, "faultwire", event, NULL, 0);
	fw_observation_clear(&shared->observers.observation);
	/* A server that is still in use keeps its handles. */
	if (is_free) {
		fw_loop_close(&shared->loop);
		fw_govern_free(shared->govern);
		fw_fleet_free(shared->fleet);
	}
}

/*
 * shared.h - what the commands that run a server have in common: options, what these
 * set, how the server begins to listen.
 *
 * The one rule to remember: an option that serve and gate both have is in this table only.
 */
#ifndef FW_CLI_SERVE_SHARED_H
#define FW_CLI_SERVE_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"
#include "cli/serve/observers.h"

struct fw_fleet;
struct fw_govern;

enum serve_option {
	SERVE_STDIO,
	SERVE_HTTP,
	SERVE_TOKEN_FILE,
	SERVE_TOKENS,
	SERVE_TOKENS_AGE,
	SERVE_CLIENTS,
	SERVE_GOVERNANCE,
	SERVE_OAUTH_ISSUER,
	SERVE_OAUTH_AUDIENCE,
	SERVE_OAUTH_JWKS,
	SERVE_LIMITS_STORE,
	SERVE_LIMITS_STORE_FILE,
	SERVE_LIMITS_LEASE,
	SERVE_LIMITS_WAIT,
	SERVE_FLEET,
	SERVE_STORE,
	SERVE_LIMIT,
	SERVE_AUDIT,
	SERVE_AUDIT_SYNC,
	SERVE_AUDIT_ARGS,
	SERVE_AUDIT_BYTES,
	SERVE_AUDIT_ANCHORS,
	SERVE_REPLICA,
	SERVE_INCIDENTS,
	SERVE_INCIDENTS_AGE,
	SERVE_INCIDENTS_BYTES,
	SERVE_METRICS,
	SERVE_ALERT_WEBHOOK,
	SERVE_ALERT_SECRET_FILE,
	SERVE_ALERTMANAGER,
	SERVE_LOG,
	SERVE_LOG_LEVEL,
	SERVE_OPTION_COUNT
};

/** For cli_command.shared_options. */
extern const cli_option serve_options[SERVE_OPTION_COUNT];

/** The value of an option; NULL: not given. */
static inline const char *serve_value(const cli_args *args, enum serve_option option)
{
	return args->values[args->first_shared + option];
}

/** --store, if it is a URL that servers share; NULL: it is not. */
const char *serve_shared_store(const cli_args *args);

/** The value of an option that names a database; by default the store that servers
 *  share; NULL: neither is given. */
const char *serve_database(const cli_args *args, enum serve_option option);

/** Where anchors of the audit log go; NULL: nowhere. */
const char *serve_anchors(const cli_args *args);

/* A server with its loop and observers. All zero to begin with. */
struct serve_shared {
	const cli_args *args;
	fw_server *server;
	struct fw_loop loop; /* of the server and the alerts */
	struct serve_observers observers;
	fw_observe_options observe;
	char token[1024];         /* "": none */
	struct fw_fleet *fleet;   /* NULL: none */
	struct fw_govern *govern; /* NULL: none */
	bool is_started;
};

/** Reads and checks the options, except for --limit. Raises cli.usage. */
FW_NODISCARD fw_error *serve_shared_read(struct serve_shared *shared);

/**
 * Large replies come one after the other, so the heap keeps up to `kept` bytes of what they used
 * instead of returning it to the system with each: fw_loop_trim_later() does so when they have
 * passed. Blocks of `mapped` bytes or more are always returned.
 */
void serve_keep_heap(int mapped, int kept);

/** Makes the state directory, the loop and the server, and sets its limits. */
FW_NODISCARD fw_error *serve_shared_make(struct serve_shared *shared,
					 const fw_server_options *options);

/** Listens, then adds metrics and alerts, which need the URL of the server. */
FW_NODISCARD fw_error *serve_shared_listen(struct serve_shared *shared);

/** Logs `event` and prints the URL; then the server is started. `tools` may be NULL. */
void serve_shared_started(struct serve_shared *shared, const char *event, const char *tools);

/**
 * Ends the observers and frees the server, unless replies still wait for the disk: then
 * it returns false, and nothing that the server uses may be freed. Then comes
 * serve_shared_clear().
 */
bool serve_shared_close(struct serve_shared *shared);

/** Logs `event` if the server was started, then ends the log. `is_free`: what
 *  serve_shared_close() returned. */
void serve_shared_clear(struct serve_shared *shared, bool is_free, const char *event);

/** With --log json, standard error contains nothing else. */
bool serve_is_log_only(const cli_args *args);

/** The value of an option that takes a number up to `most`; NULL: `*ret_number` is
 *  unchanged. Raises cli.usage. */
FW_NODISCARD fw_error *serve_number_read(const char *option, const char *text, uint32_t most,
					 uint32_t *ret_number);

#endif

/*
 * confine.h - confines `faultwire serve` to the files and ports that its options need.
 */
#ifndef FW_CLI_SERVE_CONFINE_H
#define FW_CLI_SERVE_CONFINE_H

#include <faultwire/faultwire.h>

#include "cli/serve/toolsets.h"

/* Values of options; NULL: not given. */
struct fw_engine_url;

struct serve_confine {
	fw_sandbox sandbox;
	const char *http;               /* ADDR:PORT */
	const char *audit;              /* a file, or off */
	const char *incidents;          /* the same */
	const char *store;              /* the same */
	const char *governance;         /* a file */
	const char *anchors;            /* file:PATH, or the URL of a store */
	const char *policy;             /* a file that may be replaced */
	const char *jwks;               /* such a file, or a URL */
	const struct serve_path *paths; /* of toolsets */
	size_t path_count;
	const char *secret_file; /* for the webhook */
	const char *webhook;     /* URLs */
	const char *alertmanager;
	const struct fw_engine_url *engine; /* the limits store; NULL: none */
};

/** Call it before fw_server_prepare(). Raises what fw_server_confine() raises. */
FW_NODISCARD fw_error *serve_confine(fw_server *server, const struct serve_confine *how);

/** Whether the server has to connect to another one. */
bool serve_confine_connects(const struct serve_confine *how);

/** The TCP port of a URL; 0: unknown. */
uint16_t serve_port_of(const char *url, uint16_t otherwise);

#endif

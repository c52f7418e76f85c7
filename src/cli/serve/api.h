/*
 * api.h - adds the HTTP API to a server or a gateway.
 */
#ifndef FW_CLI_SERVE_API_H
#define FW_CLI_SERVE_API_H

#include "api/api.h"
#include "cli/serve/shared.h"
#include "cli/state.h"

/* Values of options; NULL: not given. */
struct serve_api {
	const char *api; /* on or off */
	bool upgrade_required;
};

/** A file of the state directory, unless the option names another or is off: then NULL. */
FW_NODISCARD fw_error *serve_api_file(const char *given, const char *name,
				      char path[CLI_PATH_SIZE], const char **ret_file);

/** Writes, as a JSON object, what the server shares with other replicas and whether it can be
 *  reached; null: nothing. For fw_api_set_fleet(), ctx the struct serve_shared. */
void serve_put_fleet(void *ctx, struct fw_buf *out);

/** With --api off there is none, and `*ret_api` is unchanged. Raises what fw_api_new()
 *  raises. */
FW_NODISCARD fw_error *serve_api_add(struct serve_shared *shared, const struct serve_api *how,
				     struct fw_api **ret_api);

#endif

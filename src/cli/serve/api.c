/*
 * api.c - see api.h.
 */
#include "cli/serve/api.h"

#include <string.h>

#include "cli/state.h"

fw_error *serve_api_file(const char *given, const char *name, char path[CLI_PATH_SIZE],
			 const char **ret_file)
{
	*ret_file = given && strcmp(given, "off") == 0 ? NULL : given;
	if (given)
		return NULL;
	FW_TRY(cli_state_path(name, false, path));
	*ret_file = path[0] ? path : NULL;
	return NULL;
}

fw_error *serve_api_add(struct serve_shared *shared, const struct serve_api *how,
			struct fw_api **ret_api)
{
	char incidents[CLI_PATH_SIZE], store[CLI_PATH_SIZE];
	struct fw_api_options options = { .loop = &shared->loop,
					  .upgrade_required = how->upgrade_required };

	if (how->api && strcmp(how->api, "off") == 0)
		return NULL;
	FW_TRY(serve_api_file(serve_database(shared->args, SERVE_INCIDENTS), "incidents.db",
			      incidents, &options.incident_file));
	FW_TRY(serve_api_file(serve_value(shared->args, SERVE_STORE), "store.db", store,
			      &options.store_file));
	return fw_api_new(shared->server, &options, ret_api);
}

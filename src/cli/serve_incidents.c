/*
 * serve_incidents.c - see serve_observe.h: where a server keeps its incidents, by
 * its options.
 */
#include "serve_observe.h"

#include <string.h>

#include "state.h"

fw_error *add_incidents(fw_server *server, struct serve_observers *observers, const char *file)
{
	const struct fw_incidents_options options = { 0 };
	struct fw_incident_store *store = NULL;
	char path[CLI_PATH_SIZE];
	fw_observer observer;

	if (file && strcmp(file, "off") == 0)
		return NULL;
	if (!file) {
		FW_TRY(cli_state_path("incidents.db", true, path));
		if (!path[0])
			return NULL;
		file = path;
	}
	FW_TRY(fw_incident_sqlite(file, false, &store));
	FW_TRY(fw_incidents_new(store, &options, &observers->incidents));
	observer = fw_incidents_observer(observers->incidents);
	return fw_server_add_observer(server, &observer);
}

void end_incidents(struct serve_observers *observers)
{
	fw_incidents_free(observers->incidents);
	observers->incidents = NULL;
}

/*
 * incidents.h - the incident store of a server.
 */
#ifndef FW_CLI_SERVE_INCIDENTS_H
#define FW_CLI_SERVE_INCIDENTS_H

#include "cli/serve/observers.h"

/** The options of the incident store; each may be NULL. */
struct serve_incidents {
	const char *file;  /* or "off"; NULL: in the state directory */
	const char *age;   /* days */
	const char *bytes; /* limit of the store */
};

/** Raises cli.usage. */
FW_NODISCARD fw_error *serve_incidents_add(fw_server *server, struct serve_observers *observers,
					   const struct serve_incidents *how);

/** Adds metrics of the store and of the log, if there are metrics. Call it after both
 *  were added. */
FW_NODISCARD fw_error *serve_incidents_add_metrics(struct serve_observers *observers);

/** Call it after the server is freed: writes what is queued. */
void serve_incidents_end(struct serve_observers *observers);

#endif

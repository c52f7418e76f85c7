/*
 * serve_observe.h - what watches a server that `faultwire serve` runs.
 */
#ifndef FW_CLI_SERVE_OBSERVE_H
#define FW_CLI_SERVE_OBSERVE_H

#include <faultwire/faultwire.h>

#include "observe/incident.h"

/* All NULL to begin with. */
struct serve_observers {
	fw_incidents *incidents;
};

/** The log: `form` is json, text, journald or off, NULL: what fits standard
 *  error; `level` the lowest that is told, NULL: info. Raises cli.usage. */
FW_NODISCARD fw_error *add_log(fw_server *server, const char *form, const char *level);

/** The incident store: a file, or "off"; NULL: in the state directory. */
FW_NODISCARD fw_error *add_incidents(fw_server *server, struct serve_observers *observers,
				     const char *file);

/** After the server is gone: what is still to be written, is. */
void end_observers(struct serve_observers *observers);

#endif

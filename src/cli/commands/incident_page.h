/*
 * incident_page.h - everything about one incident, as text or JSON.
 */
#ifndef FW_CLI_COMMANDS_INCIDENT_PAGE_H
#define FW_CLI_COMMANDS_INCIDENT_PAGE_H

#include <faultwire/faultwire.h>

#include "observe/incident/incident.h"

/** Prints the page. Raises what reading the error raises. */
FW_NODISCARD fw_error *cli_incident_page(const fw_registry *registry,
					 const struct fw_incident *incident);

/** Prints one line of JSON. Raises internal.out_of_memory. */
FW_NODISCARD fw_error *cli_incident_json(const fw_registry *registry,
					 const struct fw_incident *incident);

#endif

/*
 * incident_page.h - one incident in full, for people and for programs.
 */
#ifndef FW_CLI_COMMANDS_INCIDENT_PAGE_H
#define FW_CLI_COMMANDS_INCIDENT_PAGE_H

#include <faultwire/faultwire.h>

#include "observe/incident.h"

/** What, where, when, why, and what to do. Raises what reading its error raises. */
FW_NODISCARD fw_error *cli_incident_page(const fw_registry *registry,
					 const struct fw_incident *incident);

/** A line of JSON. Raises internal.out_of_memory. */
FW_NODISCARD fw_error *cli_incident_json(const fw_registry *registry,
					 const struct fw_incident *incident);

#endif

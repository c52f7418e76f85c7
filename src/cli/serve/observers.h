/*
 * observers.h - what observes a server that `faultwire serve` runs.
 */
#ifndef FW_CLI_SERVE_OBSERVERS_H
#define FW_CLI_SERVE_OBSERVERS_H

#include "cli/serve/toolsets.h"
#include "cli/state.h"
#include "observe/alert/alerting.h"
#include "observe/audit/audit.h"
#include "observe/incident/incident.h"
#include "observe/metrics/metrics.h"

/* All zero to begin with. */
struct serve_observers {
	struct fw_audit *audit;
	char audit_home[CLI_PATH_SIZE]; /* the path of the log before a toolset moves it */
	struct fw_metrics *metrics;
	struct fw_alerting *alerting;
	fw_incidents *incidents;
	struct serve_toolsets toolsets;
};

#endif

/*
 * serve_observe.h - what watches a server that `faultwire serve` runs.
 */
#ifndef FW_CLI_SERVE_OBSERVE_H
#define FW_CLI_SERVE_OBSERVE_H

#include <stdbool.h>

#include <faultwire/faultwire.h>

#include "observe/alerting.h"
#include "observe/audit.h"
#include "observe/incident.h"
#include "observe/metrics.h"
#include "serve_toolsets.h"
#include "state.h"

/* All zero to begin with. */
struct serve_observers {
	struct fw_audit *audit;
	char audit_home[CLI_PATH_SIZE]; /* the log's path without a session */
	struct fw_metrics *metrics;
	struct fw_alerting *alerting;
	fw_incidents *incidents;
	struct serve_toolsets toolsets;
};

/** What the options say of the audit log; any may be NULL. */
struct serve_audit {
	const char *file;  /* or "off"; NULL: in the state directory */
	const char *sync;  /* always (NULL), interval, interval=MS or off */
	const char *args;  /* hash (NULL) or redacted */
	const char *bytes; /* of one file */
};

/** Raises cli.usage, what fw_audit_open() does. */
FW_NODISCARD fw_error *add_audit(fw_server *server, struct serve_observers *observers,
				 const struct serve_audit *how);

/** For fw_toolset_host: `ctx` is the struct serve_observers. */
void serve_audit_move(void *ctx, int dir, const char *log);
void serve_audit_note(void *ctx, const fw_scope *scope, const char *text);
FW_NODISCARD fw_error *serve_audit_verify(const char *path,
					  struct fw_toolset_audit_report *ret_report);

/** Before the server is freed, for replies may still wait. False: the disk does
 *  not answer, and the server must not be freed. */
bool end_audit(struct serve_observers *observers);

/** The log: `form` is json, text, journald or off, NULL: what fits standard
 *  error; `level` the lowest that is told, NULL: info. fw_log_stop() ends it, last
 *  of all. Raises cli.usage, what fw_log_start() does. */
FW_NODISCARD fw_error *add_log(fw_server *server, const char *form, const char *level);

/** What the options say of incidents; any may be NULL. */
struct serve_incidents {
	const char *file;  /* or "off"; NULL: in the state directory */
	const char *age;   /* days */
	const char *bytes; /* of the store */
};

/** Raises cli.usage. */
FW_NODISCARD fw_error *add_incidents(fw_server *server, struct serve_observers *observers,
				     const struct serve_incidents *how);

/** How the store and the log do, where there are metrics. After both. */
FW_NODISCARD fw_error *add_incident_metrics(struct serve_observers *observers);

/** After the server is gone: what waits is written. */
void end_incidents(struct serve_observers *observers);

/** Metrics, at /metrics: `word` is on or off, NULL: on. Raises cli.usage. */
FW_NODISCARD fw_error *add_metrics(fw_server *server, struct serve_observers *observers,
				   const char *word);

/** What the options say of alerts; any may be NULL. */
struct serve_alerts {
	const char *webhook;
	const char *secret_file;
	const char *alertmanager;
};

/** Alerts, at /alerts and in the state directory. After add_metrics() and after
 *  the server listens. Raises cli.usage, and what fw_alerting_new() does. */
FW_NODISCARD fw_error *add_alerts(fw_server *server, struct serve_observers *observers,
				  const struct serve_alerts *options);

/** After the server is gone. */
void end_alerts(struct serve_observers *observers);

/** The first line of a file, without its end. Raises what fopen() meets,
 *  input.invalid_value where it is empty or too long. */
FW_NODISCARD fw_error *serve_read_line(const char *path, const char *option, char *ret_line,
				       size_t size);

#endif

/*
 * observers.h - what observes a server that `faultwire serve` runs, from the values of
 * its options.
 */
#ifndef FW_CLI_SERVE_OBSERVERS_H
#define FW_CLI_SERVE_OBSERVERS_H

#include <faultwire/observe.h>

#include "cli/serve/toolsets.h"
#include "host/observation.h"

/* All zero to begin with. */
struct serve_observers {
	struct fw_observation observation;
	struct serve_toolsets toolsets;
	char secret[1024]; /* of the webhook */
};

/** Values of options; each may be NULL. */
struct serve_observing {
	const char *log;             /* json, text, journald or off; NULL: it depends */
	const char *log_level;       /* NULL: info */
	const char *audit;           /* a file, or off; NULL: in the state directory */
	const char *audit_sync;      /* always (NULL), interval, interval=MS or off */
	const char *audit_args;      /* hash (NULL) or redacted */
	const char *audit_bytes;     /* limit of one file */
	const char *incidents;       /* a file, or off; NULL: in the state directory */
	const char *incidents_age;   /* days */
	const char *incidents_bytes; /* limit of the store */
	const char *metrics;         /* on (NULL) or off */
	const char *webhook;
	const char *secret_file;
	const char *alertmanager;
};

/** Reads the values. The result borrows from them and from `observers`. Raises
 *  cli.usage. */
FW_NODISCARD fw_error *serve_observers_read(struct serve_observers *observers,
					    const struct serve_observing *values,
					    fw_observe_options *ret_options);

/** Log, audit log and incidents. Raises cli.usage, and what fw_observation_begin()
 *  raises. */
FW_NODISCARD fw_error *serve_observers_begin(struct serve_observers *observers,
					     fw_server *server,
					     const fw_observe_options *options);

#endif

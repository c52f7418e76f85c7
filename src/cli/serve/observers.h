/*
 * observers.h - what observes a server that `faultwire serve` or `faultwire gate` runs,
 * from the values of its options.
 */
#ifndef FW_CLI_SERVE_OBSERVERS_H
#define FW_CLI_SERVE_OBSERVERS_H

#include <faultwire/observe.h>

#include "cli/serve/toolsets.h"
#include "host/observation.h"

struct fw_audit_anchorer;

/* All zero to begin with. */
struct serve_observers {
	struct fw_observation observation;
	struct serve_toolsets toolsets;
	char secret[1024];   /* of the webhook */
	const char *anchors; /* URL for anchors of the audit log; NULL: none */
	const char *replica; /* NULL: the name of the host */
	struct fw_audit_anchorer *anchorer;
};

/** Reads the options of observers (see shared.h). The result borrows from `args` and from
 *  `observers`. Raises cli.usage. */
FW_NODISCARD fw_error *serve_observers_read(struct serve_observers *observers,
					    const cli_args *args,
					    fw_observe_options *ret_options);

/** Log, audit log and incidents. Raises cli.usage, and what fw_observation_begin()
 *  raises. */
FW_NODISCARD fw_error *serve_observers_begin(struct serve_observers *observers,
					     fw_server *server, struct fw_loop *loop,
					     const fw_observe_options *options);

#endif

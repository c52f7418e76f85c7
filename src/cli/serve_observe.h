/*
 * serve_observe.h - what watches a server that `faultwire serve` runs.
 */
#ifndef FW_CLI_SERVE_OBSERVE_H
#define FW_CLI_SERVE_OBSERVE_H

#include <stdbool.h>

#include <faultwire/faultwire.h>

#include "observe/audit.h"

/* All NULL to begin with. */
struct serve_observers {
	struct fw_audit *audit;
};

/**
 * The audit log: a file, or "off"; NULL: in the state directory. `sync` is
 * always, interval, interval=MS or off, NULL: always; `args` is hash or
 * redacted, NULL: hash. Raises cli.usage, what fw_audit_open() does.
 */
FW_NODISCARD fw_error *add_audit(fw_server *server, struct serve_observers *observers,
				 const char *file, const char *sync, const char *args);

/** Before the server is freed, for replies may still wait. False: the disk does
 *  not answer, and the server must not be freed. */
bool end_audit(struct serve_observers *observers);

#endif

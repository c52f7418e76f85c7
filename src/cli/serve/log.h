/*
 * log.h - the log of a server.
 */
#ifndef FW_CLI_SERVE_LOG_H
#define FW_CLI_SERVE_LOG_H

#include <faultwire/faultwire.h>

/**
 * `form`: json, text, journald or off; NULL: depends on whether standard error is a
 * terminal. `level`: the lowest that is logged; NULL: info. fw_log_stop() ends it, after
 * everything else. Raises cli.usage, and what fw_log_start() raises.
 */
FW_NODISCARD fw_error *serve_log_add(fw_server *server, const char *form, const char *level);

#endif

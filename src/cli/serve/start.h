/*
 * start.h - failures before a server accepts its first call.
 */
#ifndef FW_CLI_SERVE_START_H
#define FW_CLI_SERVE_START_H

#include "cli/serve/observers.h"

/**
 * Records in the audit log why the server could not start: server.start_failed (kaiza:
 * BOOTSTRAP_FAILURE) with `err` as its cause, or a failed check of the server itself as
 * it is. The log is opened for that, by `options`, if it is not open yet; if it cannot be
 * written, there is no record. Errors of usage are not recorded.
 *
 * Consumes `err`, and returns what to report: what was recorded if `in_contract`,
 * otherwise `err`, whose message is enough for people.
 */
FW_NODISCARD fw_error *serve_start_failed(struct serve_observers *observers,
					  const fw_observe_options *options, const char *role,
					  fw_error *err, bool in_contract);

#endif

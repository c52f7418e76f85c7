/*
 * audit_anchors.h - compares the records of an audit log with its anchors.
 */
#ifndef FW_CLI_COMMANDS_AUDIT_ANCHORS_H
#define FW_CLI_COMMANDS_AUDIT_ANCHORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

struct cli_anchors;

/* Reads the anchors of the log at `path`, which `name` (NULL: by host and path) names.
 * Raises what fw_anchors_list() does. Yours, for cli_anchors_free(). */
FW_NODISCARD fw_error *cli_anchors_read(const char *url, const char *name, const char *path,
					struct cli_anchors **ret_anchors);
/* NULL is a no-op. */
void cli_anchors_free(struct cli_anchors *anchors);

/* For fw_audit_verify_options.record: each record, in its order. */
void cli_anchors_record(void *ctx, uint64_t seq, const char *hash);

/* After the last record: does the log have all that was anchored? */
bool cli_anchors_hold(const struct cli_anchors *anchors);
void cli_anchors_put(const struct cli_anchors *anchors, bool is_json);

#endif

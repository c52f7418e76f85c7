/*
 * output.h - whether a tool's result is what its definition promises: the structured
 * content against the tool's `outputSchema`.
 *
 * Schemas are learnt from the lists of tools that pass through the gateway. Each is
 * compiled once, with the first result that it has to check. Only the structured content
 * of a tool with a schema is parsed; everything else stays bytes.
 *
 * The one rule to remember: a schema of an upstream is not trusted. One that is too large
 * or does not compile checks nothing.
 */
#ifndef FW_GATE_OUTPUT_H
#define FW_GATE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include <faultwire/error.h>

#include "rpc/scan.h"

struct fw_output;

enum {
	FW_OUTPUT_SCHEMA_BYTES = 256 * 1024,       /* of one tool */
	FW_OUTPUTS_BYTES = 4 * 1024 * 1024,        /* of one upstream */
	FW_OUTPUT_CONTENT_BYTES = 64 * 1024 * 1024 /* larger ones are not parsed */
};

/* The schemas of one upstream. All zero is empty. */
struct fw_outputs {
	struct fw_output *first;
	size_t bytes;
	bool is_known; /* a list of tools was seen */
};

/* A tool as tools/list has it. Cannot fail: without memory nothing is checked. */
void fw_outputs_learn(struct fw_outputs *outputs, const char *tool, struct fw_slice schema);
/* Checks a result that is no failure. Raises upstream.invalid_result, with delivery
 * `replied`; internal.out_of_memory. */
fw_error *fw_outputs_check(struct fw_outputs *outputs, const char *upstream, const char *tool,
			   const struct fw_scan *result);
/* Leaves it empty. */
void fw_outputs_clear(struct fw_outputs *outputs);

#endif

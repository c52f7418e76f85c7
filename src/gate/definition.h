/*
 * definition.h - what an upstream's tool definitions promise and require: structured
 * content that follows `outputSchema`, and arguments that are also sent as headers
 * (rpc/mirror.h).
 *
 * Definitions are learnt from the lists of tools that pass through the gateway. An output
 * schema is compiled once, with the first result that it has to check. Only the structured
 * content of a tool with a schema is parsed; everything else stays bytes.
 *
 * The one rule to remember: a definition of an upstream is not trusted. A schema that is
 * too large or does not compile checks nothing.
 */
#ifndef FW_GATE_DEFINITION_H
#define FW_GATE_DEFINITION_H

#include <stdbool.h>
#include <stddef.h>

#include <faultwire/error.h>

#include "rpc/mirror.h"
#include "rpc/scan.h"

struct fw_definition;

enum {
	FW_DEFINITION_SCHEMA_BYTES = 256 * 1024,       /* largest schema of one tool */
	FW_DEFINITIONS_BYTES = 4 * 1024 * 1024,        /* all schemas of one upstream */
	FW_DEFINITION_CONTENT_BYTES = 64 * 1024 * 1024 /* larger ones are not parsed */
};

/* The definitions of one upstream's tools. All zero is empty. */
struct fw_definitions {
	struct fw_definition *first;
	size_t bytes;
	bool is_known; /* a list of tools was seen */
};

/* A tool as tools/list has it. Returns what is wrong with its header annotations as a
 * static text, or NULL. If memory runs out, nothing is learnt. */
const char *fw_definitions_learn(struct fw_definitions *definitions, const char *tool,
				 struct fw_slice output, struct fw_slice input);
/* The arguments that are also sent as headers. NULL: none. */
const struct fw_mirrors *fw_definitions_mirrors(const struct fw_definitions *definitions,
						const char *tool);
/* `item` is the definition of a tool. False: it has an output schema that does not
 * compile. */
bool fw_definitions_has_output(struct fw_definitions *definitions, const char *upstream,
			       const char *tool, struct fw_slice item);
/* Checks a successful result. Raises upstream.invalid_result, with delivery `replied`;
 * internal.out_of_memory. */
fw_error *fw_definitions_check(struct fw_definitions *definitions, const char *upstream,
			       const char *tool, const struct fw_scan *result);
/* Leaves it empty. */
void fw_definitions_clear(struct fw_definitions *definitions);

#endif

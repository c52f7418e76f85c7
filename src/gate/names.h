/*
 * names.h - full names of tools and prompts, for when several upstreams use the same
 * name: the name of the upstream, two underscores, and the name.
 */
#ifndef FW_GATE_NAMES_H
#define FW_GATE_NAMES_H

#include <stddef.h>

struct fw_upstream;

enum { FW_GATE_PREFIX_SIZE = 65, FW_GATE_NAME_SIZE = 4096 + 128 };

/* Makes the prefix. Characters that some clients do not accept become underscores. A name
 * that does not fit is truncated. */
void fw_gate_prefix(const char *server, char ret_prefix[FW_GATE_PREFIX_SIZE]);
/* The prefix of the upstream, two underscores, and the name. */
void fw_gate_full_name(const struct fw_upstream *upstream, const char *name,
		       char ret_name[FW_GATE_NAME_SIZE]);
/* The name without the prefix of this upstream; NULL: it has another prefix, or none. */
const char *fw_gate_bare_name(const struct fw_upstream *upstream, const char *name);

#endif

/*
 * config_impl.h - the internals of a configuration. config.c reads the members that
 * clients know, config_own.c reads our own.
 */
#ifndef FW_GATE_CONFIG_IMPL_H
#define FW_GATE_CONFIG_IMPL_H

#include <yyjson.h>

#include "gate/config.h"

enum { FW_GATE_LIST_MOST = 1024 };

struct fw_gate_block;

struct fw_gate_config {
	struct fw_gate_block *blocks;
	struct fw_gate_entry entries[FW_GATE_UPSTREAMS];
	size_t count;
	const char *where;
	bool is_short; /* an allocation failed */
};

/* A list of strings with a fixed capacity (`room`) and a NULL at the end. */
struct fw_gate_list {
	const char **items;
	size_t count;
	size_t room;
};

/* False: no memory. */
bool fw_gate_config__list(struct fw_gate_config *config, struct fw_gate_list *list,
			  size_t room);
/* Raises upstream.config_invalid: "MEMBER of "NAME" must be EXPECTED". */
fw_error *fw_gate_config__invalid(const struct fw_gate_config *config, const char *name,
				  const char *member, const char *expected);
/* Appends an array of strings to the list. */
fw_error *fw_gate_config__strings(struct fw_gate_config *config, const char *name,
				  const char *member, yyjson_val *array,
				  struct fw_gate_list *list);
/* The object `faultwire` of an entry; NULL: there is none. */
fw_error *fw_gate_config__own(struct fw_gate_config *config, struct fw_gate_entry *entry,
			      yyjson_val *own);

#endif

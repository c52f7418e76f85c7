/*
 * registry.h - rows and their lookup tables, the same for the built-in registry
 * (generated at build time) and for a loaded one.
 */
#ifndef FW_CORE_REGISTRY_H
#define FW_CORE_REGISTRY_H

#include "core/row_index.h"
#include "base/text.h"

#include <faultwire/registry.h>

struct fw_registry {
	const fw_row *rows; /* sorted by number */
	size_t count;
	/* For each key slot_mask + 1 slots; see row_index.h. */
	const uint16_t *slots[FW_INDEX_COUNT];
	uint32_t slot_mask;
};

/* Names of enum values, indexed by value; see fw_type_name() etc. */
extern const struct fw_text fw__category_names[FW_CATEGORY_COUNT];
extern const struct fw_text fw__type_names[FW_TYPE_COUNT];
extern const struct fw_text fw__retry_names[FW_RETRY_COUNT];
extern const struct fw_text fw__severity_names[FW_SEVERITY_COUNT];
extern const struct fw_text fw__origin_names[FW_ORIGIN_COUNT];

/* As fw_registry_read(), for a text of known length. */
const fw_row *fw__registry_read(const fw_registry *registry, fw_contract contract,
				struct fw_text code);

/* The text of `row` in the table of `key`; NULL if the row is not in that table. */
const char *fw__row_key(const fw_row *row, enum fw_index_key key);

/* Adds row `position` to a table; an existing entry is kept. */
void fw__index_put(uint16_t *slots, uint32_t mask, const char *text, size_t position);

#endif

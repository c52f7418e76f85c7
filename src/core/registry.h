/*
 * registry.h - rows and the tables that find them, the same for the built-in
 * registry (made at build time) and for a loaded one.
 */
#ifndef FW_CORE_REGISTRY_H
#define FW_CORE_REGISTRY_H

#include "core/row_index.h"
#include "base/text.h"

#include <faultwire/registry.h>

struct fw_registry {
	const fw_row *rows; /* ordered by number */
	size_t count;
	/* Per key: slot_mask + 1 slots; see row_index.h. */
	const uint16_t *slots[FW_INDEX_COUNT];
	uint32_t slot_mask;
};

/* The names of values as they are written, by value; see fw_type_name() etc. */
extern const struct fw_text fw__category_names[FW_CATEGORY_COUNT];
extern const struct fw_text fw__type_names[FW_TYPE_COUNT];
extern const struct fw_text fw__retry_names[FW_RETRY_COUNT];
extern const struct fw_text fw__severity_names[FW_SEVERITY_COUNT];
extern const struct fw_text fw__origin_names[FW_ORIGIN_COUNT];

/* The text of `row` that the table of `key` is keyed by; NULL: not in it. */
const char *fw__row_key(const fw_row *row, enum fw_index_key key);

/* Put row `position` of `rows` into a table; what is there already stays. */
void fw__index_put(uint16_t *slots, uint32_t mask, const char *text, size_t position);

#endif

/*
 * registry.c - looking codes up. Read on every decode, so each look-up is one
 * hash and, as a rule, one comparison.
 */
#include "core/registry.h"

#include "core/registry_table.h"

#include <string.h>

const fw_registry *fw_registry_builtin(void)
{
	static fw_registry builtin = {
		.rows = fw__rows,
		.slots = { fw__row_slots[FW_INDEX_CODE], fw__row_slots[FW_INDEX_KAIZA],
			   fw__row_slots[FW_INDEX_CONTEXT_V0],
			   fw__row_slots[FW_INDEX_CODEINTEL],
			   fw__row_slots[FW_INDEX_TOOLERROR] },
		.slot_mask = FW_INDEX_SLOTS - 1,
	};

	return &builtin;
}

static const fw_registry *or_builtin(const fw_registry *registry)
{
	return registry ? registry : fw_registry_builtin();
}

/* The built-in one's rows are counted in another file, at link time. */
static size_t count_of(const fw_registry *registry)
{
	return registry == fw_registry_builtin() ? fw__row_count : registry->count;
}

size_t fw_registry_count(const fw_registry *registry)
{
	return count_of(or_builtin(registry));
}

const fw_row *fw_registry_at(const fw_registry *registry, size_t index)
{
	registry = or_builtin(registry);
	return index < count_of(registry) ? &registry->rows[index] : NULL;
}

const fw_row *fw_registry_number(const fw_registry *registry, int number)
{
	size_t low = 0, high;

	registry = or_builtin(registry);
	high = count_of(registry);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (registry->rows[middle].number == number)
			return &registry->rows[middle];
		if (registry->rows[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* ---- by text ------------------------------------------------------------- */

const char *fw__row_key(const fw_row *row, enum fw_index_key key)
{
	switch (key) {
	case FW_INDEX_CODE: return row->code;
	case FW_INDEX_KAIZA: return row->reads & 1u << FW_KAIZA ? row->kaiza : NULL;
	case FW_INDEX_CONTEXT_V0:
		return row->reads & 1u << FW_CONTEXT_V0 ? row->context_v0 : NULL;
	case FW_INDEX_CODEINTEL: return row->reads & 1u << FW_CODEINTEL ? row->codeintel : NULL;
	case FW_INDEX_TOOLERROR:
		return row->reads & 1u << FW_TOOLERROR ? fw_type_name(row->type) : NULL;
	default: return NULL;
	}
}

void fw__index_put(uint16_t *slots, uint32_t mask, const char *text, size_t position)
{
	uint32_t at = fw_index_hash(text, strlen(text)) & mask;

	while (slots[at])
		at = (at + 1) & mask;
	slots[at] = (uint16_t)(position + 1);
}

static const fw_row *look_up(const fw_registry *registry, enum fw_index_key key,
			     const char *text)
{
	const uint16_t *slots;
	uint32_t at;

	if (!text)
		return NULL;
	registry = or_builtin(registry);
	slots = registry->slots[key];
	for (at = fw_index_hash(text, strlen(text)) & registry->slot_mask; slots[at];
	     at = (at + 1) & registry->slot_mask) {
		const fw_row *row = &registry->rows[slots[at] - 1];

		if (strcmp(fw__row_key(row, key), text) == 0)
			return row;
	}
	return NULL;
}

const fw_row *fw_registry_find(const fw_registry *registry, const char *code)
{
	return look_up(registry, FW_INDEX_CODE, code);
}

const fw_row *fw_registry_read(const fw_registry *registry, fw_contract contract,
			       const char *code)
{
	switch (contract) {
	case FW_KAIZA: return look_up(registry, FW_INDEX_KAIZA, code);
	case FW_CONTEXT_V0: return look_up(registry, FW_INDEX_CONTEXT_V0, code);
	case FW_CODEINTEL: return look_up(registry, FW_INDEX_CODEINTEL, code);
	case FW_TOOLERROR: return look_up(registry, FW_INDEX_TOOLERROR, code);
	case FW_CANONICAL:
	case FW_OWLCLAW:
	case FW_OWLCLAW_API: return look_up(registry, FW_INDEX_CODE, code);
	default: return NULL;
	}
}

const char *fw_row_code_in(const fw_row *row, fw_contract contract)
{
	switch (contract) {
	case FW_KAIZA: return row->kaiza;
	case FW_CONTEXT_V0: return row->context_v0;
	case FW_CODEINTEL: return row->codeintel;
	case FW_TOOLERROR: return fw_type_name(row->type);
	default: return row->code;
	}
}

/* ---- names --------------------------------------------------------------- */

#define DEFINE_NAME(noun, COUNT, ...)                                       \
	const char *fw_##noun##_name(fw_##noun value)                       \
	{                                                                   \
		static const char *const names[] = { __VA_ARGS__ };         \
                                                                            \
		_Static_assert(sizeof(names) / sizeof(names[0]) == (COUNT), \
			       #noun " has a name for each value");         \
		return (unsigned)value < (COUNT) ? names[value] : NULL;     \
	}

DEFINE_NAME(category, FW_CATEGORY_COUNT, "validation", "compatibility", "governance", "auth",
	    "runtime", "dependency", "internal")
DEFINE_NAME(type, FW_TYPE_COUNT, "NOT_FOUND", "CONFLICT", "VALIDATION", "PERMISSION",
	    "TRANSIENT", "INTERNAL")
DEFINE_NAME(retry, FW_RETRY_COUNT, "never", "after_fix", "backoff")
DEFINE_NAME(severity, FW_SEVERITY_COUNT, "warning", "critical")
DEFINE_NAME(origin, FW_ORIGIN_COUNT, "client", "policy", "tool", "server", "gateway",
	    "transport", "upstream")
DEFINE_NAME(contract, FW_AUTO + 1, "canonical", "kaiza", "context-v0", "codeintel", "toolerror",
	    "owlclaw", "owlclaw-api", "json", "text", "auto")

bool fw_contract_from_name(const char *name, fw_contract *ret_contract)
{
	for (int i = 0; i <= FW_AUTO; i++) {
		if (strcmp(fw_contract_name((fw_contract)i), name) == 0) {
			*ret_contract = (fw_contract)i;
			return true;
		}
	}
	return false;
}

/*
 * registry.c - looks up codes. Every decoded error needs one, so a lookup is one hash
 * and usually one comparison.
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

/* The number of built-in rows is in a generated file, known at link time. */
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

/* ---- by text ---- */

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

/* The text of a row that a slot of that table points to. */
static inline struct fw_text key_of(const fw_row *row, enum fw_index_key key)
{
	switch (key) {
	case FW_INDEX_KAIZA: return (struct fw_text){ row->kaiza, row->kaiza_len };
	case FW_INDEX_CONTEXT_V0:
		return (struct fw_text){ row->context_v0, row->context_v0_len };
	case FW_INDEX_CODEINTEL: return (struct fw_text){ row->codeintel, row->codeintel_len };
	case FW_INDEX_TOOLERROR: return fw__type_names[row->type];
	default: return (struct fw_text){ row->code, row->code_len };
	}
}

static const fw_row *look_up(const fw_registry *registry, enum fw_index_key key,
			     struct fw_text text)
{
	const uint16_t *slots;
	uint32_t at;

	registry = or_builtin(registry);
	slots = registry->slots[key];
	for (at = fw_index_hash(text.p, text.n) & registry->slot_mask; slots[at];
	     at = (at + 1) & registry->slot_mask) {
		const fw_row *row = &registry->rows[slots[at] - 1];

		if (fw__text_is(key_of(row, key), text.p, text.n))
			return row;
	}
	return NULL;
}

const fw_row *fw__registry_read(const fw_registry *registry, fw_contract contract,
				struct fw_text code)
{
	static const uint8_t keys[FW_CONTRACT_COUNT] = {
		[FW_CANONICAL] = FW_INDEX_CODE,        [FW_KAIZA] = FW_INDEX_KAIZA,
		[FW_CONTEXT_V0] = FW_INDEX_CONTEXT_V0, [FW_CODEINTEL] = FW_INDEX_CODEINTEL,
		[FW_TOOLERROR] = FW_INDEX_TOOLERROR,   [FW_OWLCLAW] = FW_INDEX_CODE,
		[FW_OWLCLAW_API] = FW_INDEX_CODE,
	};

	if (!code.p || (unsigned)contract >= FW_CONTRACT_COUNT)
		return NULL;
	return look_up(registry, (enum fw_index_key)keys[contract], code);
}

const fw_row *fw_registry_read(const fw_registry *registry, fw_contract contract,
			       const char *code)
{
	return fw__registry_read(registry, contract,
				 (struct fw_text){ code, code ? strlen(code) : 0 });
}

const fw_row *fw_registry_find(const fw_registry *registry, const char *code)
{
	return fw_registry_read(registry, FW_CANONICAL, code);
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

fw_retry fw_row_retry_in(const fw_row *row, fw_contract contract)
{
	if ((unsigned)contract >= FW_CONTRACT_COUNT || !(row->reads & 1u << contract))
		return row->retry;
	return (fw_retry)(row->read_retry >> 2 * contract & 3u);
}

/* ---- names ---- */

#define T(text)                        \
	{                              \
		text, sizeof(text) - 1 \
	}

const struct fw_text fw__category_names[FW_CATEGORY_COUNT] = {
	T("validation"), T("compatibility"), T("governance"), T("auth"),
	T("runtime"),    T("dependency"),    T("internal"),
};
const struct fw_text fw__type_names[FW_TYPE_COUNT] = {
	T("NOT_FOUND"),  T("CONFLICT"),  T("VALIDATION"),
	T("PERMISSION"), T("TRANSIENT"), T("INTERNAL"),
};
const struct fw_text fw__retry_names[FW_RETRY_COUNT] = { T("never"), T("after_fix"),
							 T("backoff") };
const struct fw_text fw__severity_names[FW_SEVERITY_COUNT] = { T("warning"), T("critical") };
const struct fw_text fw__origin_names[FW_ORIGIN_COUNT] = {
	T("client"),  T("policy"),    T("tool"),     T("server"),
	T("gateway"), T("transport"), T("upstream"),
};
static const struct fw_text contract_names[FW_AUTO + 1] = {
	T("canonical"), T("kaiza"),       T("context-v0"), T("codeintel"), T("toolerror"),
	T("owlclaw"),   T("owlclaw-api"), T("json"),       T("text"),      T("auto"),
};

#define NAME(names, value) \
	((size_t)(value) < sizeof(names) / sizeof((names)[0]) ? (names)[value].p : NULL)

const char *fw_category_name(fw_category category)
{
	return NAME(fw__category_names, category);
}

const char *fw_type_name(fw_type type)
{
	return NAME(fw__type_names, type);
}

const char *fw_retry_name(fw_retry retry)
{
	return NAME(fw__retry_names, retry);
}

const char *fw_severity_name(fw_severity severity)
{
	return NAME(fw__severity_names, severity);
}

const char *fw_origin_name(fw_origin origin)
{
	return NAME(fw__origin_names, origin);
}

const char *fw_contract_name(fw_contract contract)
{
	return NAME(contract_names, contract);
}

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

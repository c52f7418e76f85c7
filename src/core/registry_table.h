/*
 * registry_table.h - declarations of the tables that tools/fwgen generates from
 * registry/ into the build directory.
 */
#ifndef FW_CORE_REGISTRY_TABLE_H
#define FW_CORE_REGISTRY_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>
#include <faultwire/registry.h>

#include "core/row_index.h"

/* The built-in rows, sorted by number. */
extern const fw_row fw__rows[];
extern const size_t fw__row_count;

/* Texts of a built-in row as JSON, in the order of fw__rows; see contract/canonical.c. */
struct fw_row_text {
	const char *head; /* the first members of the canonical form, up to the title */
	const char *hint; /* the hint as a member: ,"hint":"..." */
	uint16_t head_len;
	uint16_t hint_len;
	uint16_t codeintel_reader; /* position + 1 of the row that codeintel reads for its
				    * code; 0: none */
};
extern const struct fw_row_text fw__row_texts[];

/* NULL: it is not a built-in row. */
static inline const struct fw_row_text *fw__row_text_of(const fw_row *row)
{
	uintptr_t offset = (uintptr_t)row - (uintptr_t)fw__rows;

	return offset < fw__row_count * sizeof(*row) ? &fw__row_texts[offset / sizeof(*row)]
						     : NULL;
}

/*
 * For the generated constructors: as fw_raise_row(), without its checks. `given`: bit i is
 * set if parameter i was given; `fields` has those, in the order of the parameters.
 */
FW_NODISCARD fw_error *fw__row_raise(fw_src at, const fw_row *row, const fw_field *fields,
				     unsigned given);
/* The same for a row whose message is its only parameter, which is not a field. */
FW_NODISCARD fw_error *fw__row_raise_text(fw_src at, const fw_row *row, const char *text);

/* See row_index.h; a slot is a position in fw__rows + 1. */
extern const uint16_t fw__row_slots[FW_INDEX_COUNT][FW_INDEX_SLOTS];

/* The JSON Schema of each contract. */
extern const char *const fw__schemas[FW_CONTRACT_COUNT];

/* Further schemas, by name; ends in NULL: what the codeintel contract publishes. */
struct fw_named_schema {
	const char *name;
	const char *text;
};
extern const struct fw_named_schema fw__more_schemas[];

/* docs/registry.json and docs/codes.md, NUL-terminated. */
extern const char fw__registry_json[];
extern const char fw__codes_markdown[];

#endif

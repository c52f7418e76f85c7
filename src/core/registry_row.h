/*
 * registry_row.h - reads one row of a user's registry and checks it by the same rules
 * as tools/fwgen checks the built-in rows.
 */
#ifndef FW_CORE_REGISTRY_ROW_H
#define FW_CORE_REGISTRY_ROW_H

#include <faultwire/registry.h>
#include <yyjson.h>

enum { FW_ROW_PARAMS_MAX = 8 };

/* Receiver of faults, and the current position. */
struct fw_row_reader {
	fw_registry_problem_fn *on_problem; /* may be NULL */
	void *ctx;
	fw_error *first;  /* the first fault */
	uint64_t row;     /* counted from 1; 0: the file as a whole */
	const char *code; /* of the row, if it has one */
};

/* Reports a fault of the current row: what is wrong, and what is expected. */
void fw__row_fault(struct fw_row_reader *reader, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Reads a row and reports all its faults. Its strings are borrowed from `value`, its
 * parameters are written to `params`. Not set: number, since, example. codeintel is
 * NULL if the row has none; `reads` is not set yet.
 */
void fw__row_read(struct fw_row_reader *reader, yyjson_val *value, fw_row *ret_row,
		  fw_param params[FW_ROW_PARAMS_MAX]);

/* Checks the wording of title, message, hint and explanation. */
void fw__row_check_words(struct fw_row_reader *reader, const fw_row *row);

/* The type of a value in words: "a string", "an array". */
const char *fw__row_kind_of(yyjson_val *value);

/* Is it words of lower-case letters and digits, joined by `joint`? */
bool fw__row_is_joined(const char *text, size_t len, char joint);

#endif

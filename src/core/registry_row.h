/*
 * registry_row.h - one row of a user's registry: read, and held to the laws
 * that tools/fwgen holds the built-in rows to.
 */
#ifndef FW_CORE_REGISTRY_ROW_H
#define FW_CORE_REGISTRY_ROW_H

#include <faultwire/registry.h>
#include <yyjson.h>

enum { FW_ROW_PARAMS_MAX = 8 };

/* Who is told of faults, and where the reader stands. */
struct fw_row_reader {
	fw_registry_problem_fn *on_problem; /* may be NULL */
	void *ctx;
	fw_error *first;  /* the first fault */
	uint64_t row;     /* counted from 1; 0: the whole file */
	const char *code; /* of the row, as far as it has one */
};

/* Tell a fault of the row at hand: what is wrong, and what would be right. */
void fw__row_fault(struct fw_row_reader *reader, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Read a row; all its faults are told. Its strings are those of `value`, its
 * parameters are put into `params`. Not set: number, since, example; codeintel
 * is NULL where the row names none, `reads` says nothing yet.
 */
void fw__row_read(struct fw_row_reader *reader, yyjson_val *value, fw_row *ret_row,
		  fw_param params[FW_ROW_PARAMS_MAX]);

/* How the texts of a row are written: title, message, hint, explanation. */
void fw__row_check_words(struct fw_row_reader *reader, const fw_row *row);

/* What a value is, for people: "a string", "an array". */
const char *fw__row_kind_of(yyjson_val *value);

/* Words of lower-case letters and digits joined by `joint`. */
bool fw__row_is_joined(const char *text, size_t len, char joint);

#endif

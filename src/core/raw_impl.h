/*
 * raw_impl.h - shared by the tables of foreign errors.
 */
#ifndef FW_CORE_RAW_IMPL_H
#define FW_CORE_RAW_IMPL_H

#include <faultwire/error.h>

/*
 * Raises `code`. Each string parameter of the code gets `what` or `reason`, depending
 * on its name; the code must not have parameters of other types. `what` is NULL if
 * unknown.
 */
FW_NODISCARD fw_error *fw__raw_raise(fw_src at, int code, const char *what, const char *reason);

/* An error of `row` with the text as its message and its first cause. */
FW_NODISCARD fw_error *fw__raw_text(fw_src at, const fw_row *row, const char *text, size_t len);

#endif

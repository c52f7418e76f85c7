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

/* Gives an error that was made from a text or a JSON value another row, with the row's
 * class, retry advice and status. */
void fw__raw_set_row(fw_error *err, const fw_row *row);

#endif

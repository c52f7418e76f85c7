/*
 * raw_impl.h - what the tables of foreign errors share.
 */
#ifndef FW_CORE_RAW_IMPL_H
#define FW_CORE_RAW_IMPL_H

#include <faultwire/error.h>

/*
 * Raise `code` about `what` for that reason: each string parameter of the code
 * gets the one or the other, by its name. `code` must not have parameters of
 * other types. `what` NULL says that nobody knows.
 */
FW_NODISCARD fw_error *fw__raw_raise(fw_src at, int code, const char *what, const char *reason);

#endif

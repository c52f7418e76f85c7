/*
 * foreign.h - names of failures in other software: ENOENT, SIGSEGV, 404, -32602, 23505.
 */
#ifndef FW_CLI_COMMANDS_FOREIGN_H
#define FW_CLI_COMMANDS_FOREIGN_H

#include <stddef.h>

#include <faultwire/faultwire.h>

/** What the failure of that name is reported as; NULL: the name is not known. `ret_what`
 *  describes it ("errno 2, no such file or directory"). The error is yours. */
FW_NODISCARD fw_error *cli_foreign_error(const char *name, char *ret_what, size_t size);

#endif

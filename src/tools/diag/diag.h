/*
 * diag.h - tools about errors themselves: what a code means, an error in
 * another contract, an error on demand.
 */
#ifndef FW_TOOLS_DIAG_DIAG_H
#define FW_TOOLS_DIAG_DIAG_H

#include <faultwire/server.h>

/* Registers them, to be run so; `workers` as of a tool. Raises what
 * fw_server_add_tool() does. */
FW_NODISCARD fw_error *fw_diag_add(fw_server *server, fw_run run, fw_workers *workers);

#endif

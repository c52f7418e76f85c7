/*
 * govern.h - governance of a server, from the options of its command: tokens and policy.
 */
#ifndef FW_CLI_SERVE_GOVERN_H
#define FW_CLI_SERVE_GOVERN_H

#include "cli/serve/shared.h"
#include "cli/state.h"

/** The database of tokens and budgets: `given`, or governance.db in the state directory.
 *  Raises cli.usage if there is none. */
FW_NODISCARD fw_error *serve_governance_path(const char *given, char path[CLI_PATH_SIZE],
					     const char **ret_path);

/** Whether an option asks for it. */
bool serve_is_governed(const cli_args *args);

/** Where the metadata of an OAuth resource server is (RFC 9728); "": there is none. */
void serve_metadata_url(const cli_args *args, char *ret_url, size_t size);

/** Makes the authority of the server, if an option asks for it. Before it listens. */
FW_NODISCARD fw_error *serve_govern_begin(struct serve_shared *shared);

#endif

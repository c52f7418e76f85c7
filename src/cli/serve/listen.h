/*
 * listen.h - what commands that run a server do with the process and the network.
 */
#ifndef FW_CLI_SERVE_LISTEN_H
#define FW_CLI_SERVE_LISTEN_H

#include <faultwire/server.h>

/** Listens on ADDR:PORT; `token` may be NULL. Raises cli.usage, and what
 *  fw_server_listen_http() raises. */
FW_NODISCARD fw_error *serve_listen_http(fw_server *server, const char *where,
					 const char *token, const char *metadata);

/** Raises the soft limit of open files: each connection needs one, and the usual limit is
 *  meant for select(). */
void serve_raise_open_files(void);

#endif

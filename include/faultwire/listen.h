/*
 * listen.h - where a server listens: standard input and output, or HTTP.
 */
#ifndef FAULTWIRE_LISTEN_H
#define FAULTWIRE_LISTEN_H

#include <faultwire/error.h>

FW_EXTERN_C_BEGIN

typedef struct fw_server fw_server;

/** Serve on standard input and output. The server stops when its input ends. */
FW_API FW_NODISCARD fw_error *fw_server_listen_stdio(fw_server *server);

/** The same on two file descriptors, which the caller still owns. */
FW_API FW_NODISCARD fw_error *fw_server_listen_fds(fw_server *server, int in, int out);

/** Begin with FW_HTTP_OPTIONS_INIT. Strings are copied. */
typedef struct fw_http_options {
	size_t struct_size;
	const char *address;      /**< "127.0.0.1", "::1", "0.0.0.0"; NULL: 127.0.0.1 */
	uint16_t port;            /**< 0: any free port; see fw_server_url() */
	const char *path;         /**< NULL: "/mcp" */
	const char *bearer_token; /**< NULL: no authentication */
	/** Further allowed Host values, comma separated, with or without port.
	 *  Loopback names are always allowed on a loopback address. */
	const char *allowed_hosts;
	/** Further allowed Origin values, comma separated. */
	const char *allowed_origins;
	const char *tls_certificate; /**< PEM text; with tls_key: HTTPS */
	const char *tls_key;
	/** Metadata about authorization for clients (RFC 9728); NULL: none. */
	const char *resource_metadata_url;
} fw_http_options;

#define FW_HTTP_OPTIONS_INIT FW_INIT(fw_http_options)

/** `options` may be NULL: the defaults. Bind now; requests are served while the server runs. An address that is not
 *  loopback requires a bearer token or allowed hosts. Raises io.failed,
 *  internal.api_misuse, internal.out_of_memory, transport.tls_failed. */
FW_API FW_NODISCARD fw_error *fw_server_listen_http(fw_server *server,
						    const fw_http_options *options);

FW_EXTERN_C_END

#endif

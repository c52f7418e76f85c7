/*
 * listen.c - see listen.h.
 */
#include "cli/serve/listen.h"

#include <string.h>
#include <sys/resource.h>

#include <faultwire/faultwire.h>

#include "base/decimal.h"
#include "cli/terminal/report.h"

enum { OPEN_FILES = 66560 };

fw_error *serve_listen_http(fw_server *server, const char *where, const char *token,
			    const char *metadata)
{
	fw_http_options http = FW_HTTP_OPTIONS_INIT;
	const char *colon = strrchr(where, ':');
	char address[256];
	uint64_t port;
	fw_error *err;
	size_t len;

	if (!colon)
		return cli_usage("--http takes ADDR:PORT, such as 127.0.0.1:4000");
	if (!fw_decimal_read(colon + 1, 0, 65535, &port))
		return cli_usage("the port of --http must be a number up to 65535");
	len = (size_t)(colon - where);
	if (len >= 2 && where[0] == '[' && where[len - 1] == ']') {
		where++;
		len -= 2;
	}
	if (len >= sizeof address)
		return cli_usage("the address of --http is too long");
	memcpy(address, where, len);
	address[len] = '\0';
	http.address = len ? address : NULL;
	http.port = (uint16_t)port;
	http.bearer_token = token;
	http.resource_metadata_url = metadata;
	err = fw_server_listen_http(server, &http);
	if (err && !token && fw_error_code(err) == FW_INTERNAL_API_MISUSE) {
		fw_error_free(err);
		return cli_usage("--http on an address that is not loopback needs "
				 "--token-file or --tokens");
	}
	return err;
}

/* Each connection needs a descriptor, and the usual soft limit is meant for select(). */
void serve_raise_open_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= OPEN_FILES)
		return;
	files.rlim_cur = files.rlim_max < OPEN_FILES ? files.rlim_max : OPEN_FILES;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

/*
 * engine_url.h - where an engine (Redis or Valkey) is:
 * redis://[user:password@]host[:port][,host[:port]...][/db]. With several places, the
 * engine is the one of them that is the primary.
 *
 * The one rule to remember: a URL has a password in it, so neither an error nor the log
 * contains the URL. fw_engine_place.name is for them.
 */
#ifndef FW_FLEET_ENGINE_URL_H
#define FW_FLEET_ENGINE_URL_H

#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

enum {
	FW_ENGINE_HOST_SIZE = 256,
	FW_ENGINE_SECRET_SIZE = 512,
	FW_ENGINE_NAME_SIZE = FW_ENGINE_HOST_SIZE + 8,
	FW_ENGINE_PORT = 6379,
	FW_ENGINE_PLACES = 8,
	FW_ENGINE_DB_MAX = 65535
};

struct fw_engine_place {
	char host[FW_ENGINE_HOST_SIZE];
	uint16_t port;
	char name[FW_ENGINE_NAME_SIZE]; /* host:port */
};

struct fw_engine_url {
	struct fw_engine_place places[FW_ENGINE_PLACES];
	size_t place_count;
	uint32_t db;
	char user[FW_ENGINE_SECRET_SIZE];     /* "": the default user */
	char password[FW_ENGINE_SECRET_SIZE]; /* "": none */
};

/* `option` is named by the error. Raises input.invalid_value, which does not contain the
 * URL; internal.unsupported for rediss://, as TLS is not built in. */
FW_NODISCARD fw_error *fw_engine_url_read(const char *option, const char *text,
					  struct fw_engine_url *ret_url);

#endif

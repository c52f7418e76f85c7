/*
 * confine.c - see confine.h.
 *
 * Paths that do not exist are skipped here: the part that needs one reports it later,
 * with the name of the option.
 */
#include "cli/serve/confine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/state.h"
#include "cli/terminal/report.h"
#include "fleet/engine_url.h"
#include "observe/audit/audit_anchor.h"
#include "store/store.h"

enum {
	PATHS_MAX = 9 + 4 * FW_STORE_FILES_MAX + SERVE_PATHS_MAX,
	PORTS_MAX = 8 + FW_ENGINE_PLACES + 4 * FW_STORE_PORTS_MAX,
	HTTP_PORT = 80,
	HTTPS_PORT = 443,
	PROXY_PORT = 1080
};

struct paths {
	size_t count;
	char text[PATHS_MAX][CLI_PATH_SIZE];
	const char *list[PATHS_MAX + 1];
};

struct ports {
	size_t count;
	uint16_t list[PORTS_MAX + 1];
};

/* ---- paths ------------------------------------------------------------------ */

static void add_path(struct paths *paths, const char *path)
{
	char *text;
	int len;

	if (!path || !path[0] || paths->count >= PATHS_MAX || access(path, F_OK) != 0)
		return;
	text = paths->text[paths->count];
	len = snprintf(text, CLI_PATH_SIZE, "%s", path);
	if (len > 0 && len < CLI_PATH_SIZE)
		paths->list[paths->count++] = text;
}

/* A path that does not exist yet can be read later if its parent directory exists. */
static void add_future_path(struct paths *paths, const char *path)
{
	char above[CLI_PATH_SIZE];
	char *slash;

	add_path(paths, path);
	if (!path || access(path, F_OK) == 0)
		return;
	(void)snprintf(above, sizeof above, "%s", path);
	for (size_t len = strlen(above); len > 1 && above[len - 1] == '/'; len--)
		above[len - 1] = '\0';
	slash = strrchr(above, '/');
	if (slash)
		*slash = '\0';
	/* Not the root directory, which would permit everything. */
	add_path(paths, slash ? above : ".");
}

/* The server creates files next to it: rotated logs, the journal of a database. */
static void add_directory_of(struct paths *paths, const char *file)
{
	char path[CLI_PATH_SIZE];
	char *real;
	char *slash;

	if (!file || strcmp(file, "off") == 0 || fw_store_is_shared(file))
		return;
	/* SQLite follows symbolic links, and creates its files next to the target. */
	real = realpath(file, NULL);
	(void)snprintf(path, sizeof path, "%s", real ? real : file);
	free(real);
	slash = strrchr(path, '/');
	if (slash)
		slash[slash == path] = '\0';
	add_path(paths, slash ? path : ".");
}

/* ---- ports ------------------------------------------------------------------ */

uint16_t serve_port_of(const char *url, uint16_t otherwise)
{
	const char *at = strstr(url, "://");
	const char *host = at ? at + 3 : url;
	const char *end = host + strcspn(host, "/?#");
	const char *colon = NULL;
	unsigned long port;

	/* The port follows the last colon that is not inside [::1]. */
	for (const char *c = host; c < end; c++) {
		if (*c == ':')
			colon = c;
		else if (*c == ']' || *c == '@')
			colon = NULL;
	}
	if (!colon || colon + 1 == end)
		return strncasecmp(url, "https:", 6) == 0  ? HTTPS_PORT
		       : strncasecmp(url, "http:", 5) == 0 ? otherwise
							   : PROXY_PORT;
	port = strtoul(colon + 1, NULL, 10);
	return port <= UINT16_MAX ? (uint16_t)port : 0;
}

static void add_port(struct ports *ports, const char *url, uint16_t otherwise)
{
	uint16_t port = url && url[0] ? serve_port_of(url, otherwise) : 0;

	if (port && ports->count < PORTS_MAX)
		ports->list[ports->count++] = port;
}

static bool is_url(const char *text)
{
	return text && strstr(text, "://");
}

static bool is_shared(const char *store)
{
	return store && fw_store_is_shared(store);
}

/* NULL: there is none. */
static const char *anchors_webhook(const struct serve_confine *how)
{
	return how->anchors && fw_audit_anchor_is_webhook(how->anchors) ? how->anchors : NULL;
}

bool serve_confine_connects(const struct serve_confine *how)
{
	return how->webhook || how->alertmanager || anchors_webhook(how) || is_url(how->jwks) ||
	       how->engine || is_shared(how->store) || is_shared(how->incidents) ||
	       is_shared(how->governance) || is_shared(how->anchors);
}

/* A database that is on another machine, or on a socket. */
static fw_error *add_store(struct paths *readable, struct ports *ports, const char *url)
{
	struct fw_store_needs needs;

	if (!is_shared(url))
		return NULL;
	FW_TRY(fw_store_needs(url, &needs));
	if (needs.has_socket)
		return cli_usage("a confined server has no Unix sockets: name the host of the "
				 "store, or give --sandbox off");
	for (size_t i = 0; i < needs.port_count && ports->count < PORTS_MAX; i++)
		ports->list[ports->count++] = needs.ports[i];
	for (size_t i = 0; i < needs.file_count; i++)
		add_path(readable, needs.files[i]);
	return NULL;
}

/* libcurl sends alerts through the proxies in the environment. */
static void add_alert_ports(struct ports *ports, const struct serve_confine *how)
{
	static const char *const proxies[] = { "http_proxy", "https_proxy", "HTTPS_PROXY",
					       "all_proxy", "ALL_PROXY" };

	for (size_t i = 0;
	     how->engine && i < how->engine->place_count && ports->count < PORTS_MAX; i++)
		ports->list[ports->count++] = how->engine->places[i].port;
	add_port(ports, how->webhook, HTTP_PORT);
	add_port(ports, anchors_webhook(how), HTTP_PORT);
	add_port(ports, how->alertmanager, HTTP_PORT);
	if (is_url(how->jwks))
		add_port(ports, how->jwks, HTTP_PORT);
	for (size_t i = 0; i < sizeof proxies / sizeof *proxies; i++)
		add_port(ports, getenv(proxies[i]), PROXY_PORT);
}

/* ---- both --------------------------------------------------------------------- */

fw_error *serve_confine(fw_server *server, const struct serve_confine *how)
{
	struct paths readable = { 0 }, writable = { 0 };
	fw_confine_options options = FW_CONFINE_INIT;
	struct ports ports = { 0 };
	const char *colon = how->http ? strrchr(how->http, ':') : NULL;
	char state[CLI_PATH_SIZE];

	if (how->sandbox == FW_SANDBOX_OFF)
		return NULL;
	FW_TRY(cli_state_path("", false, state));
	add_path(&writable, state);
	add_directory_of(&writable, how->audit);
	add_directory_of(&writable, how->incidents);
	add_directory_of(&writable, how->store);
	add_directory_of(&writable, how->governance);
	if (how->anchors && strncmp(how->anchors, "file:", 5) == 0)
		add_directory_of(&writable, how->anchors + 5);
	add_directory_of(&readable, how->policy);
	if (!is_url(how->jwks))
		add_directory_of(&readable, how->jwks);
	for (size_t i = 0; i < how->path_count; i++) {
		if (how->paths[i].may_write)
			add_path(&writable, how->paths[i].path);
		else
			add_future_path(&readable, how->paths[i].path);
	}
	add_path(&readable, how->secret_file);
	FW_TRY(add_store(&readable, &ports, how->store));
	FW_TRY(add_store(&readable, &ports, how->incidents));
	FW_TRY(add_store(&readable, &ports, how->governance));
	FW_TRY(add_store(&readable, &ports, how->anchors));
	options.sandbox = how->sandbox;
	options.readable = readable.list;
	options.writable = writable.list;
	if (serve_confine_connects(how)) {
		add_alert_ports(&ports, how);
		options.connect_ports = ports.list;
	}
	if (colon)
		options.listen_port = (uint16_t)strtoul(colon + 1, NULL, 10);
	return fw_server_confine(server, &options);
}

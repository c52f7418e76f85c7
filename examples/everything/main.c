/*
 * main.c - a server with one of everything: what the official conformance suite asks for,
 * and a few tools to measure with.
 *
 *     everything --stdio
 *     everything --http 127.0.0.1:4000        endpoint /mcp
 *
 * Options: --contract NAME, --token TOKEN, --limit NAME=VALUE (may be repeated). The URL is
 * printed to standard error.
 */
#include "everything.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *option(int argc, char **argv, const char *name)
{
	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return argv[i + 1];
	return NULL;
}

static fw_error *set_limits(fw_server *server, int argc, char **argv)
{
	char name[64];

	for (int i = 1; i + 1 < argc; i++) {
		const char *equals = strchr(argv[i + 1], '=');

		if (strcmp(argv[i], "--limit") != 0 || !equals)
			continue;
		(void)snprintf(name, sizeof name, "%.*s", (int)(equals - argv[i + 1]),
			       argv[i + 1]);
		FW_TRY(fw_server_set_limit(server, name, strtoull(equals + 1, NULL, 10)));
	}
	return NULL;
}

static fw_error *listen_on(fw_server *server, const char *http, const char *token)
{
	fw_http_options options = FW_HTTP_OPTIONS_INIT;
	const char *colon;
	char address[128];

	if (!http)
		return fw_server_listen_stdio(server);
	colon = strrchr(http, ':');
	if (!colon)
		return fw_raise_internal_api_misuse("everything", "--http takes ADDR:PORT");
	(void)snprintf(address, sizeof address, "%.*s", (int)(colon - http), http);
	options.address = address;
	options.port = (uint16_t)strtoul(colon + 1, NULL, 10);
	options.bearer_token = token;
	FW_TRY(fw_server_listen_http(server, &options));
	(void)fprintf(stderr, "%s\n", fw_server_url(server));
	return NULL;
}

static fw_error *serve(int argc, char **argv, fw_server **ret_server)
{
	fw_server_options options = FW_SERVER_OPTIONS_INIT;
	const char *contract = option(argc, argv, "--contract");

	options.name = "faultwire-everything";
	options.version = fw_version();
	options.instructions = "One of everything, to test clients with.";
	if (contract && !fw_contract_from_name(contract, &options.contract))
		return fw_raise_internal_api_misuse("everything",
						    "--contract names no contract");
	FW_TRY(fw_server_new(&options, ret_server));
	FW_TRY(set_limits(*ret_server, argc, argv));
	FW_TRY(everything_add_tools(*ret_server));
	FW_TRY(everything_add_resources(*ret_server));
	FW_TRY(everything_add_prompts(*ret_server));
	FW_TRY(listen_on(*ret_server, option(argc, argv, "--http"),
			 option(argc, argv, "--token")));
	return fw_server_run(*ret_server);
}

int main(int argc, char **argv)
{
	fw_server *server = NULL;
	fw_error *err = serve(argc, argv, &server);
	int status = err ? 1 : 0;

	if (err)
		(void)fprintf(stderr, "everything: %s\n", fw_error_message(err));
	fw_error_free(err);
	fw_server_free(server);
	return status;
}

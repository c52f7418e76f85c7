/*
 * escape.c - a server whose tools try to get out of the sandbox, one attempt each.
 *
 *     escape (--stdio | --http ADDR:PORT) --read DIR --write DIR
 *            [--sandbox required|best-effort|off] [--confine inline|thread]
 *            [--connect PORT]
 *
 * With --confine the tools run in the server process itself, inline or in
 * threads, and it is the server that is confined; --sandbox off leaves it
 * unconfined, and --connect names a port that it may connect to.
 *
 * A tool answers "refused: EACCES", with the error that it got, or "done".
 * Arguments: secret (a file outside), read, write (the declared directories), pid
 * (the process to attack), port, socket (a path), abstract (a name).
 */
#include "escape.h"

#include <stdlib.h>

static fw_error *attempt(fw_call *call, void *ctx)
{
	const struct trick *trick = ctx;
	const int errnum = trick->run(call);

	if (errnum)
		fw_call_textf(call, "refused: %s", fw_errno_name(errnum));
	else
		fw_call_text(call, "done");
	return NULL;
}

/* Allowed actions, so that a sandbox that refuses everything fails the tests. */
static fw_error *work(fw_call *call, void *ctx)
{
	const char *path;
	FILE *file;

	(void)ctx;
	if (try_read(in(call, "read", "file")))
		return fw_raise_tool_failed("what may be read cannot be read");
	path = in(call, "write", "work");
	file = fopen(path, "we");
	if (!file)
		return fw_raise_tool_failed("what may be written cannot be written");
	(void)fputs("some work", file);
	(void)fclose(file);
	if (try_read(path) || unlink(path))
		return fw_raise_tool_failed("what was written cannot be read and removed");
	fw_call_textf(call, "worked as %d", (int)getpid());
	return NULL;
}

/* Writes to the standard output of the server. */
static fw_error *shout(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_textf(call, "%zd", write(STDOUT_FILENO, "garbage\n", 8));
	return NULL;
}

/* ---- the program ------------------------------------------------------------------------- */

static const char *option(int argc, char **argv, const char *name)
{
	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return argv[i + 1];
	return NULL;
}

static fw_error *add_tricks(fw_server *server, fw_tool *tool, const struct trick *tricks)
{
	for (; tricks->name; tricks++) {
		tool->name = tricks->name;
		tool->ctx = (void *)(uintptr_t)tricks;
		FW_TRY(fw_server_add_tool(server, tool));
	}
	return NULL;
}

static fw_sandbox sandbox_of(int argc, char **argv)
{
	const char *sandbox = option(argc, argv, "--sandbox");

	if (sandbox && strcmp(sandbox, "off") == 0)
		return FW_SANDBOX_OFF;
	if (sandbox && strcmp(sandbox, "best-effort") == 0)
		return FW_SANDBOX_BEST_EFFORT;
	return FW_SANDBOX_REQUIRED;
}

/* Tools run in workers, or in the server, which is confined then. */
static fw_error *add_place(fw_server *server, int argc, char **argv, fw_tool *tool)
{
	const char *const readable[] = { option(argc, argv, "--read"), NULL };
	const char *const writable[] = { option(argc, argv, "--write"), NULL };
	const char *connect = option(argc, argv, "--connect");
	const char *confine = option(argc, argv, "--confine");
	const uint16_t ports[] = { connect ? (uint16_t)strtoul(connect, NULL, 10) : 0, 0 };
	fw_workers_options workers = FW_WORKERS_INIT;
	fw_confine_options server_options = FW_CONFINE_INIT;

	if (confine) {
		tool->run = strcmp(confine, "thread") == 0 ? FW_RUN_THREAD : FW_RUN_INLINE;
		server_options.sandbox = sandbox_of(argc, argv);
		server_options.readable = readable;
		server_options.writable = writable;
		server_options.connect_ports = connect ? ports : NULL;
		return fw_server_confine(server, &server_options);
	}
	workers.count = 1;
	workers.most = 1;
	workers.readable = readable;
	workers.writable = writable;
	workers.sandbox = sandbox_of(argc, argv);
	tool->run = FW_RUN_PROCESS;
	return fw_server_add_workers(server, &workers, &tool->workers);
}

static fw_error *add_tools(fw_server *server, int argc, char **argv)
{
	fw_tool tool = FW_TOOL_INIT;

	FW_TRY(add_place(server, argc, argv, &tool));
	tool.handler = attempt;
	FW_TRY(add_tricks(server, &tool, file_tricks));
	FW_TRY(add_tricks(server, &tool, reach_tricks));
	FW_TRY(add_tricks(server, &tool, server_tricks));
	tool.name = "work";
	tool.handler = work;
	FW_TRY(fw_server_add_tool(server, &tool));
	tool.name = "shout";
	tool.handler = shout;
	return fw_server_add_tool(server, &tool);
}

static fw_error *listen_on(fw_server *server, const char *http)
{
	fw_http_options options = FW_HTTP_OPTIONS_INIT;

	if (!http)
		return fw_server_listen_stdio(server);
	FW_TRY(fw_server_listen_http(server, &options));
	(void)fprintf(stderr, "%s\n", fw_server_url(server));
	return NULL;
}

static fw_error *serve(int argc, char **argv, fw_server **ret_server)
{
	fw_server_options options = FW_SERVER_OPTIONS_INIT;

	options.name = "escape";
	options.version = fw_version();
	options.page_size = 1000;
	FW_TRY(fw_server_new(&options, ret_server));
	FW_TRY(add_tools(*ret_server, argc, argv));
	FW_TRY(listen_on(*ret_server, option(argc, argv, "--http")));
	return fw_server_run(*ret_server);
}

int main(int argc, char **argv)
{
	fw_server *server = NULL;
	fw_error *err = serve(argc, argv, &server);
	const int status = err ? 1 : 0;

	if (err)
		(void)fprintf(stderr, "escape: %s\n", fw_error_message(err));
	fw_error_free(err);
	fw_server_free(server);
	return status;
}

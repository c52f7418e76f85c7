/*
 * escape.c - a server whose tools try to get out of the sandbox, one trick each.
 *
 *     escape (--stdio | --http ADDR:PORT) --read DIR --write DIR
 *            [--sandbox required|best-effort|off]
 *
 * A tool says "refused: EACCES", with the error that it met, or "done".
 * Arguments: secret (a file outside), read, write (the declared folders), pid
 * (whom to attack), port, socket (a path), abstract (a name).
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

/* What has to work, so that refusing everything is not enough. */
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

/* Says something where the server speaks. */
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

static fw_error *add_tools(fw_server *server, int argc, char **argv)
{
	const char *const readable[] = { option(argc, argv, "--read"), NULL };
	const char *const writable[] = { option(argc, argv, "--write"), NULL };
	const char *sandbox = option(argc, argv, "--sandbox");
	fw_workers_options options = FW_WORKERS_INIT;
	fw_workers *workers = NULL;
	fw_tool tool = FW_TOOL_INIT;

	options.count = 1;
	options.most = 1;
	options.readable = readable;
	options.writable = writable;
	options.sandbox = FW_SANDBOX_REQUIRED;
	if (sandbox && strcmp(sandbox, "off") == 0)
		options.sandbox = FW_SANDBOX_OFF;
	else if (sandbox && strcmp(sandbox, "best-effort") == 0)
		options.sandbox = FW_SANDBOX_BEST_EFFORT;
	FW_TRY(fw_server_add_workers(server, &options, &workers));

	tool.run = FW_RUN_PROCESS;
	tool.workers = workers;
	tool.handler = attempt;
	FW_TRY(add_tricks(server, &tool, file_tricks));
	FW_TRY(add_tricks(server, &tool, reach_tricks));
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

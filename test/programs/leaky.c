/*
 * leaky.c - a server whose tools put what they are given wherever an error can
 * hold text. It logs on standard error and keeps incidents in the file that is
 * its argument, so that a test can look for the text in all of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <faultwire/faultwire.h>

#include "base/buf.h"
#include "observe/incident.h"
#include "observe/log.h"

static fw_error *leak(fw_call *call, void *ctx)
{
	size_t len;
	const char *text = fw_call_string(call, "text", &len);
	const char *environment = getenv("FW_LEAK");
	struct fw_buf json;
	fw_error *err = fw_raise_file_not_found(text);

	(void)ctx;
	fw_buf_init(&json, 1 << 20);
	FW_BUF(&json, "{\"stderr\":");
	fw_buf_json(&json, text, len);
	FW_BUF(&json, ",\"deep\":[{\"argument\":");
	fw_buf_json(&json, text, len);
	FW_BUF(&json, "}]}");
	err = fw_error_wrap(err, FW_HERE, "could not fetch %s", text);
	fw_error_add_cause(err, text, "1", "exit");
	fw_error_set_cause_json(err, json.text, json.len);
	fw_error_add_string(err, "url", text);
	fw_error_add_string(err, text, "as a key");
	fw_error_add_json(err, "arguments", json.text, json.len);
	if (environment)
		fw_error_add_string(err, "environment", environment);
	fw_error_set_detail(err, text);
	fw_error_set_hint(err, text);
	fw_buf_clear(&json);
	/* An event, too: the server's own words may quote others. */
	fw_log_event(FW_LOG_NOTICE, "faultwire", "leak",
		     (const fw_field[]){ fw_log_text("quoted", text) }, 1);
	return err;
}

/* In a process: on its standard error and output, so often; then it crashes, or not. */
static fw_error *say(fw_call *call, void *ctx)
{
	size_t len;
	const char *text = fw_call_string(call, "text", &len);
	int64_t times = fw_call_i64(call, "times", 1);

	(void)ctx;
	for (int64_t i = 0; i < times; i++)
		if (write(i % 2 ? 1 : 2, text, len) < 0)
			break;
	if (fw_call_bool(call, "crash", false))
		abort();
	fw_call_text(call, "said");
	return NULL;
}

static fw_error *add_say(fw_server *server)
{
	fw_workers_options options = FW_WORKERS_INIT;
	fw_tool tool = FW_TOOL_INIT;

	options.count = 1;
	options.breaker_crashes = UINT32_MAX;
	FW_TRY(fw_server_add_workers(server, &options, &tool.workers));
	tool.name = "say";
	tool.handler = say;
	tool.run = FW_RUN_PROCESS;
	tool.deadline_ms = 3000;
	FW_TRY(fw_server_add_tool(server, &tool));
	tool.name = "say_again";
	return fw_server_add_tool(server, &tool);
}

static fw_error *run(const char *file, fw_server **ret_server, fw_incidents **ret_incidents)
{
	const struct fw_log_options log = { .form = FW_LOG_JSON, .fd = 2 };
	const struct fw_incidents_options keep = { 0 };
	fw_server_options options = FW_SERVER_OPTIONS_INIT;
	fw_tool tool = FW_TOOL_INIT;
	struct fw_incident_store *store = NULL;
	fw_observer observer;

	options.name = "leaky";
	options.version = "1";
	options.contract = FW_CANONICAL;
	options.debug_stack = true;
	FW_TRY(fw_server_new(&options, ret_server));
	FW_TRY(fw_log_start(&log));
	FW_TRY(fw_incident_sqlite(file, false, &store));
	FW_TRY(fw_incidents_new(store, &keep, ret_incidents));
	observer = fw_log_observer();
	FW_TRY(fw_server_add_observer(*ret_server, &observer));
	observer = fw_incidents_observer(*ret_incidents);
	FW_TRY(fw_server_add_observer(*ret_server, &observer));
	tool.name = "leak";
	tool.handler = leak;
	FW_TRY(fw_server_add_tool(*ret_server, &tool));
	FW_TRY(add_say(*ret_server));
	FW_TRY(fw_server_listen_stdio(*ret_server));
	return fw_server_run(*ret_server);
}

int main(int argc, char **argv)
{
	fw_server *server = NULL;
	fw_incidents *incidents = NULL;
	fw_error *err = run(argc > 1 ? argv[1] : "incidents.db", &server, &incidents);

	if (err)
		(void)fprintf(stderr, "leaky: %s\n", fw_error_message(err));
	fw_server_free(server);
	fw_incidents_free(incidents);
	fw_log_stop();
	fw_error_free(err);
	return err != NULL;
}

/*
 * leaky.c - a server whose tools put what they are given wherever an error can
 * hold text. It logs on standard error and has every other sink in files of the
 * directory that is its argument, so that a test can look for the text in all of
 * them: incidents.db; hashed.jsonl and redacted.jsonl, audit logs with the hashes
 * of arguments and with arguments; alerts.json; at the end metrics.txt.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <faultwire/faultwire.h>

#include "base/buf.h"
#include "observe/alert/alerting.h"
#include "observe/audit/audit.h"
#include "observe/incident/incident.h"
#include "observe/log/log.h"
#include "observe/metrics/metrics.h"

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

/* One that fires an alert at once, for any client name. */
static fw_error *leak_critical(fw_call *call, void *ctx)
{
	(void)ctx;
	return fw_raise_audit_log_failed(fw_call_string(call, "text", NULL));
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
	tool.checks_arguments = true; /* what it says may hold NULs */
	tool.run = FW_RUN_PROCESS;
	tool.deadline_ms = 3000;
	FW_TRY(fw_server_add_tool(server, &tool));
	tool.name = "say_again";
	return fw_server_add_tool(server, &tool);
}

struct sinks {
	const char *directory;
	fw_server *server;
	fw_incidents *incidents;
	struct fw_audit *audits[2];
	struct fw_metrics *metrics;
	struct fw_alerting *alerting;
};

static const char *path_of(const struct sinks *sinks, const char *name)
{
	static char path[4096];

	(void)snprintf(path, sizeof path, "%s/%s", sinks->directory, name);
	return path;
}

static fw_error *add_sinks(struct sinks *sinks)
{
	const struct fw_log_options log = { .form = FW_LOG_JSON, .fd = 2 };
	const struct fw_incidents_options keep = { 0 };
	const struct fw_audit_options hashed = { .sync = FW_AUDIT_SYNC_OFF };
	const struct fw_audit_options redacted = { .sync = FW_AUDIT_SYNC_OFF,
						   .keep_args = true };
	struct fw_alerting_options alerting = { .log_fd = -1 };
	struct fw_store *store = NULL;
	fw_observer observers[6];

	FW_TRY(fw_log_start(&log));
	FW_TRY(fw_store_open(path_of(sinks, "incidents.db"), NULL, &store));
	FW_TRY(fw_incidents_new(store, &keep, &sinks->incidents));
	FW_TRY(fw_audit_open(path_of(sinks, "hashed.jsonl"), &hashed, &sinks->audits[0]));
	FW_TRY(fw_audit_open(path_of(sinks, "redacted.jsonl"), &redacted, &sinks->audits[1]));
	FW_TRY(fw_metrics_new(&sinks->metrics));
	alerting.state_file = path_of(sinks, "alerts.json");
	FW_TRY(fw_alerting_new(&alerting, &sinks->alerting));
	observers[0] = fw_log_observer();
	observers[1] = fw_incidents_observer(sinks->incidents);
	observers[2] = fw_audit_observer(sinks->audits[0]);
	observers[3] = fw_audit_observer(sinks->audits[1]);
	observers[4] = (fw_observer){ .struct_size = sizeof(fw_observer),
				      .finished = fw_metrics_finished,
				      .ctx = sinks->metrics };
	observers[5] = (fw_observer){ .struct_size = sizeof(fw_observer),
				      .finished = fw_alerting_finished,
				      .ctx = sinks->alerting };
	for (size_t i = 0; i < sizeof observers / sizeof *observers; i++)
		FW_TRY(fw_server_add_observer(sinks->server, &observers[i]));
	return NULL;
}

static fw_error *run(struct sinks *sinks)
{
	fw_server_options options = FW_SERVER_OPTIONS_INIT;
	fw_tool tool = FW_TOOL_INIT;

	options.name = "leaky";
	options.version = "1";
	options.contract = FW_CANONICAL;
	options.debug_stack = true;
	FW_TRY(fw_server_new(&options, &sinks->server));
	FW_TRY(add_sinks(sinks));
	tool.name = "leak";
	tool.handler = leak;
	FW_TRY(fw_server_add_tool(sinks->server, &tool));
	/* The same on the other side of a border: nothing but what crosses it may
	 * be known here. */
	tool.name = "leak_apart";
	tool.run = FW_RUN_PROCESS;
	FW_TRY(fw_server_add_tool(sinks->server, &tool));
	tool.name = "leak_critical";
	tool.run = FW_RUN_INLINE;
	tool.handler = leak_critical;
	FW_TRY(fw_server_add_tool(sinks->server, &tool));
	tool.name = "login";
	tool.input_schema =
		"{\"type\":\"object\",\"properties\":{\"password\":{\"type\":\"string\","
		"\"minLength\":64}}}";
	FW_TRY(fw_server_add_tool(sinks->server, &tool));
	FW_TRY(add_say(sinks->server));
	FW_TRY(fw_server_listen_stdio(sinks->server));
	return fw_server_run(sinks->server);
}

static void write_metrics(const struct sinks *sinks)
{
	FILE *file = fopen(path_of(sinks, "metrics.txt"), "we");
	struct fw_buf text;

	if (!file || !sinks->metrics)
		return;
	fw_buf_init(&text, 1 << 24);
	fw_metrics_write(sinks->metrics, FW_METRICS_TEXT, &text);
	(void)fwrite(text.text, 1, text.len, file);
	(void)fclose(file);
	fw_buf_clear(&text);
}

int main(int argc, char **argv)
{
	struct sinks sinks = { .directory = argc > 1 ? argv[1] : "." };
	fw_error *err = run(&sinks);

	if (err)
		(void)fprintf(stderr, "leaky: %s\n", fw_error_message(err));
	write_metrics(&sinks);
	(void)fw_audit_close(sinks.audits[0]);
	(void)fw_audit_close(sinks.audits[1]);
	fw_server_free(sinks.server);
	fw_alerting_free(sinks.alerting);
	fw_metrics_free(sinks.metrics);
	fw_incidents_free(sinks.incidents);
	fw_log_stop();
	fw_error_free(err);
	return err != NULL;
}

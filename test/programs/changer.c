/*
 * changer.c - a server with tools that succeed, fail and change something, and
 * an audit log: for the tests and the bench of that.
 *
 *   changer [--stdio | --http ADDR:PORT] [--audit FILE] [--sync always|interval|off]
 *           [--batch N] [--rotate BYTES] [--lock-ms MS] [--state FILE] [--guard-reads]
 *           [--role ROLE]
 *
 * `change` appends its text as a line to the state file, so that one can see
 * whether it ran.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <faultwire/faultwire.h>

#include "observe/audit/audit.h"
#include "observe/log/log.h"

#define TEXT                                                                                  \
	"{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}},\"required\":[" \
	"\"text\"]}"

static const char *state_file;

/* What only the program knows of a call. */
static void describe(void *ctx, const fw_outcome *outcome, struct fw_audit_record *record)
{
	(void)outcome;
	record->scope.role = ctx;
}

static fw_error *echo(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_text(call, fw_call_string(call, "text", NULL));
	return NULL;
}

static fw_error *fail(fw_call *call, void *ctx)
{
	(void)ctx;
	return fw_raise_file_not_found(fw_call_string(call, "text", NULL));
}

static fw_error *change(fw_call *call, void *ctx)
{
	const char *text = fw_call_string(call, "text", NULL);
	FILE *file = state_file ? fopen(state_file, "a") : NULL;

	(void)ctx;
	if (file) {
		(void)fprintf(file, "%s\n", text);
		(void)fclose(file);
	}
	fw_call_text(call, text);
	return NULL;
}

/* Not done before it is cancelled: what becomes of it is the server's to say. */
static void hang_on(fw_call *call, void *ctx)
{
	if (fw_call_is_cancelled(call))
		fw_call_finish(call, NULL);
	else
		fw_call_after(call, 20, hang_on, ctx);
}

static fw_error *hang(fw_call *call, void *ctx)
{
	fw_call_after(call, 20, hang_on, ctx);
	return NULL;
}

static fw_error *add_tools(fw_server *server)
{
	static const struct {
		const char *name;
		fw_handler *handler;
		bool changes;
	} tools[] = { { "echo", echo, false },
		      { "fail", fail, false },
		      { "change", change, true } };

	for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
		fw_tool tool = FW_TOOL_INIT;

		tool.name = tools[i].name;
		tool.input_schema = TEXT;
		tool.handler = tools[i].handler;
		tool.changes = tools[i].changes;
		FW_TRY(fw_server_add_tool(server, &tool));
	}
	{
		fw_tool tool = FW_TOOL_INIT;

		tool.name = "hang";
		tool.handler = hang;
		tool.run = FW_RUN_ASYNC;
		return fw_server_add_tool(server, &tool);
	}
}

static fw_error *listen_on(fw_server *server, const char *where)
{
	fw_http_options http = FW_HTTP_OPTIONS_INIT;
	const char *colon = where ? strrchr(where, ':') : NULL;

	if (!colon)
		return fw_server_listen_stdio(server);
	http.port = (uint16_t)strtoul(colon + 1, NULL, 10);
	FW_TRY(fw_server_listen_http(server, &http));
	(void)fprintf(stderr, "listening on %s\n", fw_server_url(server));
	return NULL;
}

static fw_error *serve(fw_server *server, const char *where, const char *log,
		       const struct fw_audit_options *options, struct fw_audit **ret_audit)
{
	FW_TRY(add_tools(server));
	if (log) {
		fw_observer observer;

		FW_TRY(fw_audit_open(log, options, ret_audit));
		observer = fw_audit_observer(*ret_audit);
		FW_TRY(fw_server_add_observer(server, &observer));
	}
	FW_TRY(listen_on(server, where));
	return fw_server_run(server);
}

int main(int argc, char **argv)
{
	fw_server_options options = FW_SERVER_OPTIONS_INIT;
	struct fw_audit_options how = { .sync = FW_AUDIT_SYNC_ALWAYS };
	const char *where = NULL;
	const char *log = NULL;
	struct fw_audit *audit = NULL;
	fw_server *server = NULL;
	fw_error *err = NULL;

	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (strcmp(argv[i], "--stdio") == 0)
			continue;
		if (strcmp(argv[i], "--guard-reads") == 0) {
			how.guard_reads = true;
			continue;
		}
		if (strcmp(argv[i], "--log") == 0)
			err = fw_log_start(
				&(struct fw_log_options){ .form = FW_LOG_JSON, .fd = 2 });
		else if (strcmp(argv[i], "--http") == 0)
			where = value;
		else if (strcmp(argv[i], "--audit") == 0)
			log = value;
		else if (strcmp(argv[i], "--state") == 0)
			state_file = value;
		else if (strcmp(argv[i], "--batch") == 0)
			how.batch_most = (uint32_t)strtoul(value, NULL, 10);
		else if (strcmp(argv[i], "--rotate") == 0)
			how.rotate_bytes = strtoull(value, NULL, 10);
		else if (strcmp(argv[i], "--lock-ms") == 0)
			how.lock_ms = (uint32_t)strtoul(value, NULL, 10);
		else if (strcmp(argv[i], "--role") == 0) {
			how.describe = describe;
			how.describe_ctx = argv[i + 1];
		} else if (strcmp(argv[i], "--sync") == 0)
			how.sync = strcmp(value, "off") == 0      ? FW_AUDIT_SYNC_OFF
				   : strcmp(value, "always") == 0 ? FW_AUDIT_SYNC_ALWAYS
								  : FW_AUDIT_SYNC_INTERVAL;
		else
			return 2;
		i++;
	}
	options.name = "changer";
	options.version = "1.0.0";
	if (!err)
		err = fw_server_new(&options, &server);
	if (!err)
		err = serve(server, where, log, &how, &audit);
	if (err)
		(void)fprintf(stderr, "changer: %s\n", fw_error_message(err));
	if (getenv("CHANGER_HEALTH") && audit) {
		struct fw_audit_health health;

		fw_audit_health(audit, &health);
		(void)fprintf(
			stderr, "records %llu, batches %llu, syncs %llu, lost %llu\n",
			(unsigned long long)health.records, (unsigned long long)health.batches,
			(unsigned long long)health.syncs, (unsigned long long)health.lost);
	}
	if (fw_audit_close(audit))
		fw_server_free(server);
	fw_log_stop();
	fw_error_free(err);
	return err != NULL;
}

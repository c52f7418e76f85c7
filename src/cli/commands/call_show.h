/*
 * call_show.h - what "faultwire call" shows: lists, results, and what happens meanwhile.
 */
#ifndef FW_CLI_COMMANDS_CALL_SHOW_H
#define FW_CLI_COMMANDS_CALL_SHOW_H

#include <stdbool.h>

#include <faultwire/client.h>

struct call_show {
	bool is_verbose; /* attempts, waits, progress and log are shown */
	bool traces;     /* messages are shown */
};

/* An fw_client_event_fn; `ctx` is a struct call_show. */
void cli_call_show_event(void *ctx, const fw_client_event *event);

/* A list as text: of tools with a usage line each, of resources, templates or prompts. */
void cli_call_show_list(const char *method, const fw_client_result *list);

/* Reports tools whose definitions other clients do not accept. */
void cli_call_check_tools(const fw_client_result *list);

/* The content of a result: texts as they are, a line for anything else. */
void cli_call_show_result(const fw_client_result *result);

/* What to do about an error. */
void cli_call_show_decision(const fw_decision *decision, const fw_error *err);

/* A failure as JSON: the error, what to do, the attempts. */
void cli_call_show_failure_json(const fw_client *client, const fw_error *err);

#endif

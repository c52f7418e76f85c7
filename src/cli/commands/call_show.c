/*
 * call_show.c - see call_show.h. What servers wrote is shown without control characters.
 */
#include "cli/commands/call_show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <yyjson.h>

#include "base/json.h"
#include "base/printable.h"
#include "cli/commands/call_input.h"
#include "cli/terminal/json_out.h"
#include "cli/terminal/output.h"
#include "cli/terminal/report.h"
#include "cli/terminal/text.h"

enum { SHOWN_BYTES = 400 };

static yyjson_doc *parse(const char *text, size_t len)
{
	return fw_json_read(text, len, (struct fw_json_limits){ len, 0 }, 0, NULL, NULL);
}

/* ---- meanwhile --------------------------------------------------------------------- */

static void trace(const char *mark, const char *text, size_t len)
{
	bool is_terminal = isatty(STDERR_FILENO);

	(void)fputs(mark, stderr);
	for (size_t i = 0; i < len;) {
		size_t step = is_terminal ? fw_printable(text + i, len - i) : len - i;

		(void)fwrite(step ? text + i : "?", 1, step ? step : 1, stderr);
		i += step ? step : 1;
	}
	(void)fputc('\n', stderr);
}

static void show_progress(const fw_client_event *event)
{
	yyjson_doc *doc = parse(event->text, event->len);
	yyjson_val *root = yyjson_doc_get_root(doc);
	yyjson_val *total = fw_json_member(root, "total");
	const char *message = yyjson_get_str(fw_json_member(root, "message"));
	double done = yyjson_get_num(fw_json_member(root, "progress"));

	if (total)
		cli_remark("progress: %g of %g%s%.300s", done, yyjson_get_num(total),
			   message ? ", " : "", message ? message : "");
	else
		cli_remark("progress: %g%s%.300s", done, message ? ", " : "",
			   message ? message : "");
	yyjson_doc_free(doc);
}

static void show_log(const fw_client_event *event)
{
	yyjson_doc *doc = parse(event->text, event->len);
	yyjson_val *root = yyjson_doc_get_root(doc), *data = fw_json_member(root, "data");
	const char *level = yyjson_get_str(fw_json_member(root, "level"));
	char *text = yyjson_is_str(data) ? NULL : yyjson_val_write(data, 0, NULL);

	cli_remark("server logs %s: %.400s", level ? level : "",
		   text   ? text
		   : data ? yyjson_get_str(data)
			  : "");
	free(text);
	yyjson_doc_free(doc);
}

void cli_call_show_decision(const fw_decision *decision, const fw_error *err)
{
	double after = fw_error_retry_after(err);
	char when[64] = "";

	if (decision->action == FW_ACTION_LATER && after >= 0)
		(void)snprintf(when, sizeof when, ", in %.10g s", after);
	cli_remark("decision: %s%s%s%s; %s", fw_action_name(decision->action),
		   decision->next ? " " : "", decision->next ? decision->next : "", when,
		   decision->reason);
}

static void show_failed(const fw_client_event *event)
{
	const fw_decision *decision = event->decision;

	cli_remark("attempt %u failed: %s, %s: %.300s", event->attempt,
		   fw_type_name(fw_error_row(event->error)->type), fw_error_name(event->error),
		   fw_error_message(event->error));
	cli_call_show_decision(decision, event->error);
}

void cli_call_show_event(void *ctx, const fw_client_event *event)
{
	const struct call_show *show = ctx;

	if (show->traces && event->kind == FW_CLIENT_SENT)
		trace("> ", event->text, event->len);
	else if (show->traces && event->kind == FW_CLIENT_RECEIVED)
		trace("< ", event->text, event->len);
	else if (show->traces && event->kind == FW_CLIENT_STRAY)
		trace("? ", event->text, event->len);
	if (!show->is_verbose)
		return;
	switch (event->kind) {
	case FW_CLIENT_READY:
		cli_remark("connected, protocol %.*s", (int)event->len, event->text);
		break;
	case FW_CLIENT_PROGRESS: show_progress(event); break;
	case FW_CLIENT_LOG: show_log(event); break;
	case FW_CLIENT_ASKED:
		cli_remark("the server asks for %.*s; declined", (int)event->len, event->text);
		break;
	case FW_CLIENT_FAILED: show_failed(event); break;
	case FW_CLIENT_WAITING:
		cli_remark("waiting %.1f s before attempt %u", event->delay, event->attempt);
		break;
	case FW_CLIENT_SENT:
	case FW_CLIENT_RECEIVED:
	case FW_CLIENT_STRAY: break;
	}
}

/* ---- lists ---------------------------------------------------------------------------- */

/* The first line of a text. */
static void put_first_line(yyjson_val *text)
{
	char shown[SHOWN_BYTES], line[SHOWN_BYTES];
	const char *given = yyjson_get_str(text);
	size_t len = 0;

	while (given && *given == '\n')
		given++;
	if (!given || !*given)
		return;
	len = strcspn(given, "\n");
	(void)snprintf(line, sizeof line, "%.*s",
		       (int)(len < sizeof line ? len : sizeof line - 1), given);
	cli_make_harmless(line, shown, sizeof shown);
	cli_pad(6);
	cli_wrap(shown, 6, 6);
}

static void put_name(yyjson_val *item, const char *key)
{
	char shown[SHOWN_BYTES];
	const char *name = yyjson_get_str(fw_json_member(item, key));

	cli_make_harmless(name ? name : "", shown, sizeof shown);
	cli_printf("  %s", shown);
}

static void put_prompt_usage(yyjson_val *prompt)
{
	yyjson_val *argument;
	size_t index, max;

	yyjson_arr_foreach(fw_json_member(prompt, "arguments"), index, max, argument)
	{
		bool is_needed = yyjson_is_true(fw_json_member(argument, "required"));
		char shown[SHOWN_BYTES];
		const char *name = yyjson_get_str(fw_json_member(argument, "name"));

		cli_make_harmless(name ? name : "", shown, sizeof shown);
		cli_printf(" %s%s=STRING%s", is_needed ? "" : "[", shown, is_needed ? "" : "]");
	}
}

static const char *find_fault(yyjson_val *tool)
{
	yyjson_val *schema = fw_json_member(tool, "inputSchema");
	yyjson_val *key, *value;
	size_t index, max;

	if (!yyjson_is_str(fw_json_member(tool, "name")))
		return "it has no name";
	if (!yyjson_is_obj(schema))
		return "it has no inputSchema";
	if (!yyjson_equals_str(fw_json_member(schema, "type"), "object"))
		return "its inputSchema is not of type \"object\"";
	yyjson_obj_foreach(tool, index, max, key, value)
	{
		if (yyjson_is_null(value))
			return "a member is null, not absent";
	}
	return NULL;
}

void cli_call_check_tools(const fw_client_result *list)
{
	yyjson_doc *doc = parse(list->text, list->len);
	yyjson_val *tool;
	size_t index, max;

	yyjson_arr_foreach(fw_json_member(yyjson_doc_get_root(doc), "tools"), index, max, tool)
	{
		const char *fault = find_fault(tool);
		const char *name = yyjson_get_str(fw_json_member(tool, "name"));

		if (fault)
			cli_remark("tool %zu (%.64s) is not valid: %s; official clients reject "
				   "the list because of it",
				   index + 1, name ? name : "no name", fault);
	}
	yyjson_doc_free(doc);
}

void cli_call_show_list(const char *method, const fw_client_result *list)
{
	static const struct {
		const char *method, *items, *heading, *name;
	} kinds[] = {
		{ "tools/list", "tools", "Tools:", "name" },
		{ "resources/list", "resources", "Resources (--read URI):", "uri" },
		{ "resources/templates/list", "resourceTemplates",
		  "Resource templates:", "uriTemplate" },
		{ "prompts/list", "prompts", "Prompts (--prompt NAME):", "name" },
	};
	yyjson_doc *doc = parse(list->text, list->len);
	yyjson_val *item;
	size_t index, max, kind = 0;

	while (kind < 3 && strcmp(kinds[kind].method, method) != 0)
		kind++;
	if (yyjson_arr_size(fw_json_member(yyjson_doc_get_root(doc), kinds[kind].items)))
		cli_heading(kinds[kind].heading);
	yyjson_arr_foreach(fw_json_member(yyjson_doc_get_root(doc), kinds[kind].items), index,
			   max, item)
	{
		put_name(item, kinds[kind].name);
		if (kind == 0)
			cli_call_input_usage(item);
		if (kind == 3)
			put_prompt_usage(item);
		cli_putc('\n');
		put_first_line(fw_json_member(item, "description"));
	}
	yyjson_doc_free(doc);
}

/* ---- results ----------------------------------------------------------------------------- */

/* A text of the server, as it is; without control characters on a terminal. */
static void put_text(const char *text, size_t len)
{
	bool is_terminal = isatty(STDOUT_FILENO);

	for (size_t i = 0; is_terminal && i < len;) {
		size_t step = text[i] == '\n' || text[i] == '\t'
				      ? 1
				      : fw_printable(text + i, len - i);

		cli_put(step ? text + i : "?", step ? step : 1);
		i += step ? step : 1;
	}
	if (!is_terminal)
		cli_put(text, len);
	if (len && text[len - 1] != '\n')
		cli_putc('\n');
}

static void put_block(yyjson_val *block)
{
	yyjson_val *resource = fw_json_member(block, "resource");
	yyjson_val *text = fw_json_member(resource ? resource : block, "text");
	const char *type = yyjson_get_str(fw_json_member(block, "type"));
	const char *mime = yyjson_get_str(fw_json_member(block, "mimeType"));
	const char *uri = yyjson_get_str(fw_json_member(block, "uri"));
	char shown[SHOWN_BYTES];

	if (yyjson_is_str(text)) {
		put_text(yyjson_get_str(text), yyjson_get_len(text));
		return;
	}
	(void)snprintf(shown, sizeof shown, "[%s%s%s%s%s]", type ? type : "data",
		       mime ? " " : "", mime ? mime : "", uri ? " " : "", uri ? uri : "");
	cli_put_harmless(shown);
	cli_putc('\n');
}

/* A message of a prompt, with who says it. */
static void put_message(yyjson_val *message)
{
	const char *role = yyjson_get_str(fw_json_member(message, "role"));

	cli_put_harmless(role ? role : "");
	cli_puts(":\n");
	put_block(fw_json_member(message, "content"));
}

void cli_call_show_result(const fw_client_result *result)
{
	yyjson_doc *doc = parse(result->text, result->len);
	yyjson_val *root = yyjson_doc_get_root(doc), *block;
	yyjson_val *content = fw_json_member(root, "content");
	yyjson_val *contents = fw_json_member(root, "contents");
	yyjson_val *messages = fw_json_member(root, "messages");
	size_t index, max;

	yyjson_arr_foreach(content, index, max, block) put_block(block);
	yyjson_arr_foreach(contents, index, max, block) put_block(block);
	yyjson_arr_foreach(messages, index, max, block) put_message(block);
	if (!yyjson_arr_size(content) && !contents && !messages) {
		cli_put_json(result->text, result->len);
		cli_putc('\n');
	}
	yyjson_doc_free(doc);
}

void cli_call_show_failure_json(const fw_client *client, const fw_error *err)
{
	const fw_decision *decision = fw_client_decision(client);
	char delay[32];

	(void)snprintf(delay, sizeof delay, "%.3f", decision->delay);
	cli_json_open(NULL, '{');
	cli_json_error("error", err, FW_CANONICAL);
	cli_json_open("decision", '{');
	cli_json_string("action", fw_action_name(decision->action));
	cli_json_raw("delay", delay);
	cli_json_string("reason", decision->reason);
	cli_json_string("next", decision->next);
	cli_json_close('}');
	cli_json_number("attempts", fw_client_attempts(client));
	cli_json_close('}');
	cli_json_line_end();
}

/*
 * incident_page.c - see incident_page.h.
 *
 * The page answers, in this order: what, where, when, how often, why, what to do.
 */
#include "cli/commands/incident_page.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <yyjson.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "cli/commands/lookup.h"
#include "cli/terminal/output.h"
#include "cli/terminal/text.h"

enum { LABEL_WIDTH = 13, INDENT = 2, TEXT_SIZE = 8192, JSON_MAX = 16 << 20 };

/* ---- small things ------------------------------------------------------------------------ */

static void put_labelled(const char *label, const char *text)
{
	char harmless[TEXT_SIZE];

	if (!text || !*text)
		return;
	cli_make_harmless(text, harmless, sizeof harmless);
	cli_pad(INDENT);
	cli_cell(label, LABEL_WIDTH);
	cli_wrap(harmless, INDENT + LABEL_WIDTH, INDENT + LABEL_WIDTH);
}

/* A text of several lines, such as the end of a standard error: each on a line of its own. */
static void put_lines(const char *label, const char *text)
{
	char line[TEXT_SIZE];

	while (text && *text) {
		size_t len;

		text += strspn(text, " \t\r\n");
		len = strcspn(text, "\n");

		(void)snprintf(line, sizeof line, "%.*s",
			       (int)(len < sizeof line ? len : sizeof line - 1), text);
		put_labelled(label, line);
		label = "";
		text += len;
	}
}

static void put_section(const char *heading)
{
	cli_putc('\n');
	cli_heading(heading);
}

/* "3 minutes ago"; `size` of at least 32. */
static void put_ago(int64_t unix_ms, char *ret_text, size_t size)
{
	static const struct {
		int64_t seconds;
		const char *name;
	} units[] = { { 86400, "day" }, { 3600, "hour" }, { 60, "minute" }, { 1, "second" } };
	int64_t seconds = (fw_unix_ms() - unix_ms) / 1000;

	(void)snprintf(ret_text, size, "just now");
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (seconds >= units[i].seconds) {
			long long count = (long long)(seconds / units[i].seconds);

			(void)snprintf(ret_text, size, "%lld %s%s ago", count, units[i].name,
				       count == 1 ? "" : "s");
			return;
		}
}

static void time_text(int64_t unix_ms, char *ret_text, size_t size)
{
	char stamp[FW_TIME_SIZE];
	char ago[48];

	(void)fw_time_text(unix_ms, stamp);
	stamp[10] = ' ';
	stamp[19] = '\0';
	put_ago(unix_ms, ago, sizeof ago);
	(void)snprintf(ret_text, size, "%s UTC, %s", stamp, ago);
}

static const fw_row *row_of(const fw_registry *registry, const struct fw_incident *incident)
{
	return fw_registry_find(registry, incident->code);
}

/* ---- the page ------------------------------------------------------------------------------ */

static void put_what(const struct fw_incident *incident, const fw_row *row)
{
	char text[256];

	cli_heading(incident->id);
	(void)snprintf(text, sizeof text, "%s%s%s (%s, HTTP %d)", incident->code,
		       row ? ": " : "", row ? row->title : "", incident->severity,
		       incident->status);
	put_labelled("what", text);
	put_labelled("message", incident->message);
}

static void put_where(const struct fw_incident *incident, const fw_error *err)
{
	fw_scope scope = fw_error_scope(err);

	put_section("Where");
	put_labelled("tool", incident->tool);
	put_labelled("operation", incident->operation);
	put_labelled("client", incident->client);
	put_labelled("session", incident->session);
	put_labelled("peer", incident->peer);
	put_labelled("role", scope.role);
	put_labelled("workspace", scope.workspace_root);
	put_labelled("plan", scope.plan_hash);
	put_labelled("phase", scope.phase_id);
	put_labelled("invariant", scope.invariant_id);
	put_labelled("origin", fw_origin_name(fw_error_origin(err)));
	put_labelled("delivery", fw_delivery_name(fw_error_delivery(err)));
	put_labelled("contract", incident->contract);
	put_labelled("trace", incident->trace);
}

static void put_when(const struct fw_incident *incident)
{
	char text[128], first[96], last[96];

	put_section("When");
	time_text(incident->time_ms, text, sizeof text);
	put_labelled("at", text);
	(void)snprintf(text, sizeof text, "%.3f ms", (double)incident->duration_us / 1000);
	put_labelled("after", text);
	if (incident->count < 2) {
		put_labelled("how often", "the first of its kind");
		return;
	}
	(void)snprintf(text, sizeof text, "%llu times%s%.48s",
		       (unsigned long long)incident->count, incident->tool ? " from " : "",
		       incident->tool ? incident->tool : "");
	put_labelled("how often", text);
	time_text(incident->first_ms, first, sizeof first);
	put_labelled("first", first);
	time_text(incident->last_ms, last, sizeof last);
	put_labelled("last", last);
}

static void put_field(const fw_field *field)
{
	char value[TEXT_SIZE / 2];
	char text[TEXT_SIZE];

	switch (field->type) {
	case FW_FIELD_STRING:
	case FW_FIELD_JSON: (void)snprintf(value, sizeof value, "%s", field->string); break;
	case FW_FIELD_I64:
		(void)snprintf(value, sizeof value, "%lld", (long long)field->i64);
		break;
	case FW_FIELD_U64:
		(void)snprintf(value, sizeof value, "%llu", (unsigned long long)field->u64);
		break;
	case FW_FIELD_F64: (void)snprintf(value, sizeof value, "%g", field->f64); break;
	case FW_FIELD_BOOL:
		(void)snprintf(value, sizeof value, "%s", field->boolean ? "true" : "false");
		break;
	}
	(void)snprintf(text, sizeof text, "%.*s", (int)field->key_len, field->key);
	put_labelled(text, value);
}

static void put_causes(const fw_error *err)
{
	char text[TEXT_SIZE];
	fw_cause cause;

	for (size_t i = 0; fw_error_cause(err, i, &cause); i++) {
		const char *message = cause.message ? cause.message : cause.json;

		(void)snprintf(text, sizeof text, "%s%s%s%s%s%s", message ? message : "",
			       cause.code ? " (" : "", cause.code ? cause.code : "",
			       cause.code && cause.name ? ", " : "",
			       cause.code && cause.name ? cause.name : "",
			       cause.code ? ")" : "");
		put_labelled("because", text);
	}
}

static void put_why(const struct fw_incident *incident, const fw_error *err)
{
	fw_field field;

	if (!fw_error_cause_count(err) && !fw_error_field_count(err) && !incident->detail)
		return;
	put_section("Why");
	put_causes(err);
	for (size_t i = 0; fw_error_field(err, i, &field); i++)
		put_field(&field);
	put_lines("detail", incident->detail);
}

static void put_what_to_do(const fw_error *err, const fw_row *row)
{
	const char *hint = fw_error_hint(err);
	char text[64];

	put_section("What to do");
	put_labelled("hint", hint ? hint : row ? row->hint : NULL);
	put_labelled("retry", cli_retry_advice(fw_error_retry(err)));
	if (fw_error_retry_after(err) >= 0) {
		(void)snprintf(text, sizeof text, "%g s", fw_error_retry_after(err));
		put_labelled("retry after", text);
	}
	if (row && *row->explanation) {
		cli_putc('\n');
		cli_pad(INDENT);
		cli_wrap(row->explanation, INDENT, INDENT);
	}
}

/* Members that the error itself does not contain. */
static void put_trail(const char *json)
{
	/* Only the first two levels are read. */
	const struct fw_json_limits limits = { .bytes = FW_LIMIT_INCIDENT_BYTES };
	yyjson_doc *doc = fw_json_read(json, strlen(json), limits, 0, NULL, NULL);
	yyjson_val *trail = yyjson_obj_get(yyjson_doc_get_root(doc), "trail");
	size_t index, max;
	yyjson_val *line;

	if (yyjson_arr_size(trail))
		put_section("Trail");
	yyjson_arr_foreach(trail, index, max, line)
	{
		cli_pad(INDENT);
		cli_put_harmless(yyjson_is_str(line) ? yyjson_get_str(line) : "?");
		cli_putc('\n');
	}
	yyjson_doc_free(doc);
}

fw_error *cli_incident_page(const fw_registry *registry, const struct fw_incident *incident)
{
	const fw_decode_options options = { .struct_size = sizeof(fw_decode_options),
					    .registry = registry };
	const fw_row *row = row_of(registry, incident);
	fw_error *err = NULL;

	FW_TRY(fw_error_decode(incident->error, strlen(incident->error), FW_CANONICAL, &options,
			       &err));
	put_what(incident, row);
	put_where(incident, err);
	put_when(incident);
	put_why(incident, err);
	put_what_to_do(err, row);
	put_trail(incident->error);
	fw_error_free(err);
	return NULL;
}

/* ---- for programs ---------------------------------------------------------------------------- */

fw_error *cli_incident_json(const fw_registry *registry, const struct fw_incident *incident)
{
	const fw_row *row = row_of(registry, incident);
	struct fw_buf out;
	bool is_whole;

	fw_buf_init(&out, JSON_MAX);
	fw_incident_put_json(&out, incident);
	if (out.len && row) {
		out.len--; /* the closing brace */
		FW_BUF(&out, ",\"title\":");
		fw_buf_json_str(&out, row->title);
		FW_BUF(&out, ",\"explanation\":");
		fw_buf_json_str(&out, row->explanation);
		FW_BUF(&out, ",\"advice\":");
		fw_buf_json_str(&out, cli_retry_advice(row->retry));
		FW_BUF(&out, "}");
	}
	FW_BUF(&out, "\n");
	is_whole = out.state == FW_BUF_OK;
	if (is_whole)
		cli_put_json(out.text, out.len);
	fw_buf_clear(&out);
	return is_whole ? NULL : fw_raise_internal_out_of_memory();
}

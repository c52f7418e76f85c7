/*
 * limit.c - see limit.h.
 */
#include "cli/serve/limit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "cli/terminal/json_out.h"
#include "cli/terminal/output.h"
#include "cli/terminal/report.h"
#include "cli/terminal/suggest.h"
#include "cli/terminal/text.h"

struct unit {
	const char *suffix; /* of names */
	const char *shown;
	const char *written;
	uint64_t size;
};

/* Larger ones first. */
static const struct unit units[] = {
	{ "_bytes", " MiB", "m", 1024 * 1024 },
	{ "_bytes", " KiB", "k", 1024 },
	{ "_bytes", " bytes", "", 1 },
	{ "_ms", " s", "s", 1000 },
	{ "_ms", " ms", "ms", 1 },
	{ "_percent", " %", "%", 1 },
};

enum { UNITS = sizeof units / sizeof *units };

static bool is_of(const struct unit *unit, const char *name)
{
	size_t len = strlen(name), suffix_len = strlen(unit->suffix);

	return len > suffix_len && strcmp(name + len - suffix_len, unit->suffix) == 0;
}

/* ---- shown ---------------------------------------------------------------------- */

static void format(const char *name, uint64_t value, char *text, size_t size)
{
	for (size_t i = 0; i < UNITS; i++) {
		if (!is_of(&units[i], name) || (value && value % units[i].size) ||
		    (!value && units[i].size > 1))
			continue;
		(void)snprintf(text, size, "%" PRIu64 "%s", value / units[i].size,
			       units[i].shown);
		return;
	}
	(void)snprintf(text, size, "%" PRIu64, value);
}

static void put_json(void)
{
	const fw_limit *limit;

	cli_json_open(NULL, '[');
	for (size_t i = 0; (limit = fw_limit_at(i)); i++) {
		cli_putc('\n');
		cli_json_open(NULL, '{');
		cli_json_string("name", limit->name);
		cli_json_number("value", (int64_t)limit->value);
		cli_json_number("least", (int64_t)limit->least);
		cli_json_number("most", (int64_t)limit->most);
		cli_json_string("summary", limit->summary);
		cli_json_close('}');
	}
	cli_putc('\n');
	cli_json_close(']');
	cli_json_line_end();
}

void serve_limits_put(bool as_json)
{
	enum { NAME = 22, VALUE = 12, RANGE = 24 };
	const fw_limit *limit;
	char text[64], most[32];

	if (as_json) {
		put_json();
		return;
	}
	cli_cell("limit", NAME);
	cli_cell("default", VALUE);
	cli_cell("from - to", RANGE);
	cli_puts("meaning\n");
	for (size_t i = 0; (limit = fw_limit_at(i)); i++) {
		cli_cell(limit->name, NAME);
		format(limit->name, limit->value, text, sizeof text);
		cli_cell(text, VALUE);
		format(limit->name, limit->least, text, sizeof text);
		format(limit->name, limit->most, most, sizeof most);
		(void)snprintf(text + strlen(text), sizeof text - strlen(text), " - %s", most);
		cli_cell(text, RANGE);
		cli_printf("%s\n", limit->summary);
	}
}

/* ---- set ------------------------------------------------------------------------ */

static const fw_limit *find(const char *name, size_t len)
{
	const fw_limit *limit;

	for (size_t i = 0; (limit = fw_limit_at(i)); i++)
		if (strlen(limit->name) == len && memcmp(limit->name, name, len) == 0)
			return limit;
	return NULL;
}

static fw_error *no_such_limit(const char *name, size_t len)
{
	fw_error *err = cli_usage("there is no limit \"%.*s\"", (int)len, name);
	cli_suggestions close = { .wanted = name, .wanted_len = len };
	const fw_limit *limit;

	for (size_t i = 0; (limit = fw_limit_at(i)); i++)
		cli_suggest(&close, limit->name);
	cli_suggestions_hint(&close, err);
	return err;
}

/* Digits, and a unit that matches the name. */
static bool read_value(const char *name, const char *text, uint64_t *ret_value)
{
	uint64_t size = 0;

	if (!fw_decimal_take(&text, ret_value))
		return false;
	if (!*text)
		return true;
	for (size_t i = 0; i < UNITS && !size; i++)
		if (is_of(&units[i], name) && strcmp(text, units[i].written) == 0)
			size = units[i].size;
	return size && !__builtin_mul_overflow(*ret_value, size, ret_value);
}

static fw_error *set(fw_server *server, const char *setting)
{
	const char *equals = strchr(setting, '=');
	size_t len = equals ? (size_t)(equals - setting) : strlen(setting);
	const fw_limit *limit = find(setting, len);
	char least[32], most[32];
	uint64_t value;

	if (!limit)
		return no_such_limit(setting, len);
	if (equals && read_value(limit->name, equals + 1, &value) && value >= limit->least &&
	    value <= limit->most)
		return fw_server_set_limit(server, limit->name, value);
	format(limit->name, limit->least, least, sizeof least);
	format(limit->name, limit->most, most, sizeof most);
	return cli_usage("--limit %s takes a number from %s to %s; found \"%s\"", limit->name,
			 least, most, equals ? equals + 1 : "");
}

fw_error *serve_bytes_read(const char *option, const char *text, uint64_t least, uint64_t most,
			   uint64_t *ret_bytes)
{
	static const char unit[] = "option_bytes";
	char from[32], to[32];
	uint64_t value;

	if (!text)
		return NULL;
	if (read_value(unit, text, &value) && value >= least && value <= most) {
		*ret_bytes = value;
		return NULL;
	}
	format(unit, least, from, sizeof from);
	format(unit, most, to, sizeof to);
	return cli_usage("%s takes a number of bytes from %s to %s, such as 100m; found \"%s\"",
			 option, from, to, text);
}

fw_error *serve_limits_set(fw_server *server, const cli_args *args)
{
	for (size_t i = 0; i < args->setting_count; i++)
		FW_TRY(set(server, args->settings[i]));
	return NULL;
}

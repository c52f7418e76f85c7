/*
 * json_out.c - see json_out.h. The state is global, like standard output: whether a
 * comma is needed before the next value.
 */
#include "cli/terminal/json_out.h"

#include <inttypes.h>
#include <string.h>

#include "base/printable.h"
#include "cli/terminal/output.h"

static bool comma;

static void put_string(const char *text)
{
	size_t left = strlen(text);

	cli_putc('"');
	while (left > 0) {
		size_t n = fw_printable(text, left);
		size_t step = n ? n : fw_printable_step(text, left);

		if (n == 1 && (*text == '"' || *text == '\\'))
			cli_putc('\\');
		if (n > 0)
			cli_put(text, n);
		else if (*text == '\n')
			cli_puts("\\n");
		else
			cli_put_escaped(text, left);
		text += step;
		left -= step;
	}
	cli_putc('"');
}

static void begin(const char *key)
{
	if (comma)
		cli_putc(',');
	comma = true;
	if (!key)
		return;
	put_string(key);
	cli_putc(':');
}

void cli_json_open(const char *key, char bracket)
{
	begin(key);
	cli_putc(bracket);
	comma = false;
}

void cli_json_close(char bracket)
{
	cli_putc(bracket);
	comma = true;
}

/* Values on different lines are not separated by commas. */
void cli_json_line_end(void)
{
	cli_putc('\n');
	comma = false;
}

void cli_json_string(const char *key, const char *value)
{
	begin(key);
	if (value)
		put_string(value);
	else
		cli_puts("null");
}

void cli_json_number(const char *key, int64_t value)
{
	begin(key);
	cli_printf("%" PRId64, value);
}

void cli_json_bool(const char *key, bool value)
{
	begin(key);
	cli_puts(value ? "true" : "false");
}

void cli_json_raw(const char *key, const char *json)
{
	begin(key);
	cli_puts(json);
}

void cli_json_error(const char *key, const fw_error *err, fw_contract contract)
{
	char *text = NULL;
	size_t len = 0;
	fw_error *failure = fw_error_to_text(err, contract, NULL, &text, &len);

	begin(key);
	if (failure) {
		cli_puts("null");
		fw_error_free(failure);
		return;
	}
	cli_put(text, len > 0 && text[len - 1] == '\n' ? len - 1 : len);
	fw_free(text);
}

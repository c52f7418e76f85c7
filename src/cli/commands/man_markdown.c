/*
 * man_markdown.c - every command and option as one page of Markdown, from the same tables
 * as the help: docs/configuration.md. test/checks/reference compares the two.
 */
#include "cli/commands/man_markdown.h"

#include <string.h>

#include "cli/terminal/output.h"

/* A cell of a table: what Markdown would read as a sign is escaped. */
static void put_text(const char *text)
{
	for (const char *at = text; *at; at++) {
		if (*at == '|')
			cli_puts("\\|");
		else if (*at == '<' || *at == '*')
			cli_printf("\\%c", *at);
		else if (at[0] == '\n' && at[1] != '\n' && (at == text || at[-1] != '\n') &&
			 strncmp(at, "\n  ", 3) != 0)
			cli_putc(' ');
		else
			cli_putc(*at);
	}
}

/* Code in a table: only the bar would end it. */
static void put_cell(const char *text)
{
	for (; *text; text++) {
		if (*text == '|')
			cli_putc('\\');
		cli_putc(*text);
	}
}

static void put_values(cli_values values)
{
	const char *word;

	for (size_t i = 0; (word = cli_listed_at(values, i)); i++)
		cli_printf("%s`%s`",
			   i                 ? ", "
			   : values->is_list ? " Any of: "
					     : " One of: ",
			   word);
	if (cli_listed_at(values, 0))
		cli_putc('.');
}

static void put_option(const cli_option *option)
{
	cli_puts("| `");
	if (option->short_name)
		cli_printf("-%c`, `", option->short_name);
	cli_printf("--%s", option->name);
	if (option->argument) {
		cli_putc(' ');
		put_cell(option->argument);
	}
	cli_puts("` | ");
	put_text(option->help);
	put_values(option->values);
	cli_puts(" |\n");
}

static void put_head(void)
{
	cli_puts("| option | meaning |\n|---|---|\n");
}

/* --help and --contract are the same everywhere. */
static bool is_common(const cli_option *option)
{
	return strcmp(option->name, "help") == 0 ||
	       (strcmp(option->name, "contract") == 0 &&
		strstr(option->help, "errors of faultwire itself"));
}

static void put_options(const cli_command *command)
{
	const cli_option *option;
	const char *last = NULL;
	bool has_head = false;

	for (size_t i = 0; (option = cli_option_at(command, i)); i++) {
		if (cli_option_part(command, i) || is_common(option))
			continue;
		if (!has_head)
			put_head();
		has_head = true;
		put_option(option);
	}
	for (size_t i = 0; (option = cli_option_at(command, i)); i++) {
		const char *part = cli_option_part(command, i);

		if (!part)
			continue;
		if (part != last) {
			cli_printf("\n### `%s`: options of %s `%s`\n\n", command->name,
				   command->part_kind, part);
			put_head();
		}
		last = part;
		put_option(option);
	}
}

void cli_put_markdown(void)
{
	const cli_command *command;
	const cli_option *option;

	cli_puts("<!-- Made by \"faultwire man --markdown\" from the tables of options. Do not "
		 "edit. -->\n# Configuration reference\n\n"
		 "Every command and every option. Two options are common to all commands:\n\n");
	put_head();
	for (size_t i = 0; (option = cli_option_at(&cli_command_convert, i)); i++)
		if (is_common(option))
			put_option(option);
	cli_puts("\nThe values of `--limit` are in [limits.md](limits.md). `faultwire COMMAND "
		 "--help` prints the same with examples, `faultwire man COMMAND` as a man "
		 "page.\n");
	for (size_t i = 0; (command = cli_command_at(i)); i++) {
		cli_printf("\n## `%s`\n\n`faultwire %s", command->name, command->name);
		if (command->synopsis && *command->synopsis)
			cli_printf(" %s", command->synopsis);
		cli_puts("`: ");
		put_text(command->summary);
		cli_puts(".\n\n");
		put_options(command);
	}
}

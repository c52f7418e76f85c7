/*
 * help.c - prints the help of a command from its description.
 */
#include "cli/command.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/terminal/output.h"
#include "cli/terminal/report.h"
#include "cli/terminal/text.h"

enum { OPTION_COLUMN = 27, COMMAND_COLUMN = 14 };

static bool is_program(const cli_command *command)
{
	return command == &cli_program;
}

static void put_option(const cli_option *option)
{
	char left[96];
	char help[1024];
	const char *word;
	size_t used;

	(void)snprintf(left, sizeof left, "  %c%c%c --%s%s%s", option->short_name ? '-' : ' ',
		       option->short_name ? option->short_name : ' ',
		       option->short_name ? ',' : ' ', option->name,
		       option->argument ? " " : "", option->argument ? option->argument : "");
	(void)snprintf(help, sizeof help, "%s", option->help);
	used = strlen(help);
	for (size_t i = 0; (word = cli_listed_at(option->values, i)); i++) {
		int n = snprintf(help + used, sizeof help - used, "%s%s",
				 i                         ? ", "
				 : option->values->is_list ? " Any of: "
							   : " One of: ",
				 word);

		if (n < 0 || (size_t)n >= sizeof help - used)
			break;
		used += (size_t)n;
	}
	if (cli_listed_at(option->values, 0) && used + 1 < sizeof help)
		memcpy(help + used, ".", 2);

	cli_puts(left);
	if (strlen(left) + 2 > OPTION_COLUMN) {
		cli_putc('\n');
		cli_pad(OPTION_COLUMN);
	} else {
		cli_pad(OPTION_COLUMN - strlen(left));
	}
	cli_wrap(help, OPTION_COLUMN, OPTION_COLUMN);
}

static void put_options(const cli_command *command)
{
	const cli_option *option;
	const char *last = NULL;

	cli_putc('\n');
	cli_heading("Options:");
	for (size_t i = 0; (option = cli_option_at(command, i)); i++)
		if (!cli_option_part(command, i))
			put_option(option);
	for (size_t i = 0; (option = cli_option_at(command, i)); i++) {
		const char *part = cli_option_part(command, i);
		char heading[96];

		if (!part)
			continue;
		if (part != last) {
			(void)snprintf(heading, sizeof heading,
				       "Options of %s %s:", command->part_kind, part);
			cli_putc('\n');
			cli_heading(heading);
			last = part;
		}
		put_option(option);
	}
}

static void put_entry(const char *name, const char *summary)
{
	cli_pad(2);
	cli_cell(name, COMMAND_COLUMN - 2);
	cli_wrap(summary, COMMAND_COLUMN, COMMAND_COLUMN);
}

static void put_parts(const cli_command *command)
{
	char heading[64];
	cli_entry part;

	if (!command->part_at)
		return;
	(void)snprintf(heading, sizeof heading,
		       "%c%ss:", toupper((unsigned char)command->part_kind[0]),
		       command->part_kind + 1);
	cli_putc('\n');
	cli_heading(heading);
	for (size_t i = 0; command->part_at(i, &part); i++)
		put_entry(part.name, part.summary);
}

static void put_commands(void)
{
	const cli_command *command;

	cli_putc('\n');
	cli_heading("Commands:");
	for (size_t i = 0; (command = cli_command_at(i)); i++)
		put_entry(command->name, command->summary);
}

static void put_examples(const cli_command *command)
{
	if (!command->examples)
		return;
	cli_putc('\n');
	cli_heading("Examples:");
	for (const cli_example *example = command->examples; example->command; example++) {
		if (example->what)
			cli_printf("  # %s\n", example->what);
		cli_printf("  %s\n", example->command);
	}
}

const cli_status cli_common_statuses[] = {
	{ CLI_DONE, "done" },
	{ CLI_FAILED, "failed: input that cannot be read, violations, no such code" },
	{ CLI_MISUSED, "the command line is invalid" },
	{ 0, NULL },
};

static void put_statuses(const cli_status *status)
{
	for (; status->what; status++)
		cli_printf("  %d  %s\n", status->status, status->what);
}

void cli_help(const cli_command *command)
{
	cli_printf("Usage: faultwire%s%s %s\n\n", is_program(command) ? "" : " ",
		   is_program(command) ? "" : command->name, command->synopsis);
	cli_wrap(command->description, 0, 0);
	if (is_program(command))
		put_commands();
	put_parts(command);
	put_options(command);
	put_examples(command);
	cli_putc('\n');
	cli_heading("Exit status:");
	put_statuses(command->statuses ? command->statuses : cli_common_statuses);
	if (is_program(command))
		cli_puts("\nHelp on a command: faultwire COMMAND --help, or faultwire man "
			 "COMMAND.\n");
}

static int run(const cli_args *args)
{
	const cli_command *command = &cli_program;

	if (args->operand_count > 1)
		return cli_fail(cli_usage("faultwire help takes one command at most"));
	if (args->operand_count == 1)
		command = cli_command_find(args->operands[0]);
	if (!command)
		return cli_fail(cli_usage("there is no command %s", args->operands[0]));
	cli_help(command);
	return CLI_DONE;
}

static const cli_example examples[] = {
	{ NULL, "faultwire help convert" },
	{ NULL, NULL },
};

const cli_command cli_command_help = {
	.name = "help",
	.summary = "show the help of a command",
	.synopsis = "[COMMAND]",
	.description =
		"Prints the same as COMMAND --help; without COMMAND, the list of commands.",
	.operands = CLI_COMMAND_NAME,
	.examples = examples,
	.run = run,
};

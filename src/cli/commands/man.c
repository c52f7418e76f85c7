/*
 * man.c - prints man pages from the same descriptions as the help. `make install`
 * installs them.
 */
#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <faultwire/faultwire.h>

#include "cli/commands/man_markdown.h"
#include "cli/terminal/output.h"
#include "cli/terminal/report.h"

/*
 * Escapes text for troff: a backslash would start an escape, a bare "-" would become a
 * hyphen that cannot be pasted into a shell, and a period or an apostrophe at the start
 * of a line would be a request.
 */
static void put_roff(const char *text, size_t len)
{
	bool line_start = true;

	for (size_t i = 0; i < len; i++) {
		if (line_start && text[i] == '.')
			cli_puts("\\&");
		switch (text[i]) {
		case '\\': cli_puts("\\e"); break;
		case '-': cli_puts("\\-"); break;
		case '\'': cli_puts("\\(aq"); break;
		case '`': cli_puts("\\(ga"); break;
		case '^': cli_puts("\\(ha"); break;
		case '~': cli_puts("\\(ti"); break;
		default: cli_putc(text[i]);
		}
		line_start = text[i] == '\n';
	}
}

static void puts_roff(const char *text)
{
	put_roff(text, strlen(text));
}

/* Prose: one line per sentence, as is usual for troff, and ".PP" for an empty line. */
static void put_prose(const char *text)
{
	const char *from = text;

	for (const char *at = text; *at; at++) {
		bool paragraph = at[0] == '\n' && at[1] == '\n';
		bool sentence = at > text && at[-1] == '.' && at[0] == ' ' &&
				isupper((unsigned char)at[1]);

		if (!paragraph && !sentence)
			continue;
		put_roff(from, (size_t)(at - from));
		cli_puts(paragraph ? "\n.PP\n" : "\n");
		at += paragraph;
		from = at + 1;
	}
	put_roff(from, strlen(from));
	cli_putc('\n');
}

static void put_upper(const char *text)
{
	for (; *text; text++) {
		if (*text == '-')
			cli_puts("\\-");
		else
			cli_putc((char)toupper((unsigned char)*text));
	}
}

/* "faultwire-convert"; the program's own page is "faultwire". */
static void page_name(const cli_command *command, char *ret_name, size_t size)
{
	if (command == &cli_program)
		(void)snprintf(ret_name, size, "faultwire");
	else
		(void)snprintf(ret_name, size, "faultwire-%s", command->name);
}

static void put_option(const cli_option *option)
{
	const char *word;

	cli_puts(".TP\n");
	if (option->short_name)
		cli_printf("\\fB\\-%c\\fR, ", option->short_name);
	cli_puts("\\fB\\-\\-");
	puts_roff(option->name);
	cli_puts("\\fR");
	if (option->argument) {
		cli_puts(" \\fI");
		puts_roff(option->argument);
		cli_puts("\\fR");
	}
	cli_putc('\n');
	put_prose(option->help);
	for (size_t i = 0; (word = cli_listed_at(option->values, i)); i++) {
		cli_puts(i ? ",\n" : option->values->is_list ? "Any of:\n" : "One of:\n");
		cli_puts("\\fB");
		puts_roff(word);
		cli_puts("\\fR");
	}
	if (cli_listed_at(option->values, 0))
		cli_puts(".\n");
}

static void put_options(const cli_command *command)
{
	const cli_option *option;
	const char *last = NULL;

	cli_puts(".SH OPTIONS\n");
	for (size_t i = 0; (option = cli_option_at(command, i)); i++)
		if (!cli_option_part(command, i))
			put_option(option);
	for (size_t i = 0; (option = cli_option_at(command, i)); i++) {
		const char *part = cli_option_part(command, i);

		if (!part)
			continue;
		if (part != last) {
			cli_printf(".SS Options of %s ", command->part_kind);
			puts_roff(part);
			cli_putc('\n');
			last = part;
		}
		put_option(option);
	}
}

static void put_parts(const cli_command *command)
{
	cli_entry part;

	if (!command->part_at)
		return;
	cli_puts(".SH ");
	put_upper(command->part_kind);
	cli_puts("S\n");
	for (size_t i = 0; command->part_at(i, &part); i++) {
		cli_puts(".TP\n\\fB");
		puts_roff(part.name);
		cli_puts("\\fR\n");
		puts_roff(part.summary);
		cli_putc('\n');
	}
}

static void put_commands(void)
{
	const cli_command *command;

	cli_puts(".SH COMMANDS\n");
	for (size_t i = 0; (command = cli_command_at(i)); i++) {
		cli_printf(".TP\n\\fB%s\\fR\n", command->name);
		puts_roff(command->summary);
		cli_puts(command->run ? "\n" : " (not built yet)\n");
	}
}

static void put_examples(const cli_command *command)
{
	if (!command->examples)
		return;
	cli_puts(".SH EXAMPLES\n");
	for (const cli_example *example = command->examples; example->command; example++) {
		if (example != command->examples)
			cli_puts(".PP\n");
		if (example->what)
			put_prose(example->what);
		cli_puts(".nf\n.RS\n");
		puts_roff(example->command);
		cli_puts("\n.RE\n.fi\n");
	}
}

static void put_statuses(const cli_status *status)
{
	cli_puts(".SH EXIT STATUS\n");
	for (; status->what; status++) {
		cli_printf(".TP\n\\fB%d\\fR\n", status->status);
		puts_roff(status->what);
		cli_putc('\n');
	}
}

static void put_environment(void)
{
	cli_puts(".SH ENVIRONMENT\n"
		 ".TP\n\\fBDEBUG_STACK\\fR\nIf it is \\fBtrue\\fR, errors show where they were "
		 "raised.\n"
		 ".TP\n\\fBNO_COLOR\\fR\nIf it is set and not empty, nothing is coloured.\n");
}

static void put_see_also(const cli_command *command)
{
	const cli_command *other;
	bool comma = command != &cli_program;

	cli_puts(".SH SEE ALSO\n");
	if (comma)
		cli_puts("\\fBfaultwire\\fR(1)");
	for (size_t i = 0; (other = cli_command_at(i)); i++) {
		if (other == command || other == &cli_command_help || !other->run)
			continue;
		cli_puts(comma ? ",\n" : "");
		cli_printf("\\fBfaultwire\\-%s\\fR(1)", other->name);
		comma = true;
	}
	cli_putc('\n');
}

static void put_page(const cli_command *command)
{
	char name[64];

	page_name(command, name, sizeof name);
	cli_puts(".TH ");
	put_upper(name);
	cli_printf(" 1 \"\" \"faultwire %s\" \"User Commands\"\n.SH NAME\n", fw_version());
	puts_roff(name);
	cli_puts(" \\- ");
	puts_roff(command->summary);
	cli_puts("\n.SH SYNOPSIS\n\\fBfaultwire");
	if (command != &cli_program) {
		cli_putc(' ');
		puts_roff(command->name);
	}
	cli_puts("\\fR ");
	puts_roff(command->synopsis);
	cli_puts("\n.SH DESCRIPTION\n");
	put_prose(command->description);
	if (command == &cli_program)
		put_commands();
	put_parts(command);
	put_options(command);
	put_examples(command);
	put_statuses(command->statuses ? command->statuses : cli_common_statuses);
	put_environment();
	put_see_also(command);
}

/* Starts "man -l -" with a pipe as its standard input, whose other end is returned.
 * man(1) renders the page and chooses the pager. -1: it cannot be started. */
static int start_pager(pid_t *ret_pid)
{
	char name[] = "man", local[] = "-l", input[] = "-";
	char *const argv[] = { name, local, input, NULL };
	posix_spawn_file_actions_t actions;
	int ends[2], result;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
	result = posix_spawnp(ret_pid, name, &actions, NULL, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)close(ends[0]);
	if (result == 0)
		return ends[1];
	(void)close(ends[1]);
	return -1;
}

/* On a terminal a manual page is read, not its source. */
static bool page_through_man(const cli_command *command)
{
	pid_t pid;
	int terminal, pipe_end, status;

	if (!isatty(STDOUT_FILENO))
		return false;
	terminal = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	pipe_end = terminal >= 0 ? start_pager(&pid) : -1;
	if (pipe_end < 0) {
		if (terminal >= 0)
			(void)close(terminal);
		return false;
	}
	(void)dup2(pipe_end, STDOUT_FILENO);
	(void)close(pipe_end);
	put_page(command);
	cli_output_flush();
	/* Closes the pipe too, so the pager reads its end. */
	(void)dup2(terminal, STDOUT_FILENO);
	(void)close(terminal);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return true;
}

enum option { MARKDOWN };

static const cli_option options[] = {
	[MARKDOWN] = { "markdown", NULL, 0, CLI_NOTHING,
		       "Print every command and option as one page of Markdown." },
};

static int run(const cli_args *args)
{
	const cli_command *command = &cli_program;

	if (cli_given(args, MARKDOWN)) {
		cli_put_markdown();
		return CLI_DONE;
	}
	if (args->operand_count > 1)
		return cli_fail(cli_usage("faultwire man takes one command at most"));
	if (args->operand_count == 1)
		command = cli_command_find(args->operands[0]);
	if (!command)
		return cli_fail(cli_usage("there is no command %s", args->operands[0]));
	if (!page_through_man(command))
		put_page(command);
	return CLI_DONE;
}

static const cli_example examples[] = {
	{ NULL, "faultwire man convert | man -l -" },
	{ NULL, NULL },
};

const cli_command cli_command_man = {
	.name = "man",
	.summary = "print the manual page of a command",
	.synopsis = "[--markdown] [COMMAND]",
	.description = "Prints the manual page of COMMAND, or of the program, in the format of "
		       "man(1). On a terminal, man(1) shows it in a pager.",
	CLI_OPTIONS(options),
	.operands = CLI_COMMAND_NAME,
	.examples = examples,
	.run = run,
};

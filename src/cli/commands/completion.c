/*
 * completion.c - completion scripts for bash and zsh, from the tables.
 *
 * They are plain data and a little shell around it: completing never runs the
 * program, so it is quick, and works while the program is being replaced.
 */
#include "cli/command.h"

#include <string.h>

#include "cli/terminal/output.h"
#include "cli/terminal/report.h"

static void each_option(const cli_command *command, void (*put)(const cli_option *))
{
	const cli_option *option;

	for (size_t i = 0; (option = cli_option_at(command, i)); i++)
		put(option);
}

static void put_words(cli_values values)
{
	const char *word;

	for (size_t i = 0; (word = cli_value_at(values, i)); i++)
		cli_printf("%s%s", i ? " " : "", word);
}

/* ---- bash ---------------------------------------------------------------------- */

static void put_bash_words(cli_values values)
{
	if (values == CLI_FILE) {
		cli_puts("COMPREPLY=($(compgen -f -- \"$cur\")); compopt -o filenames "
			 "2>/dev/null\n");
		return;
	}
	cli_puts("COMPREPLY=($(compgen -W '");
	put_words(values);
	cli_puts("' -- \"$cur\"))\n");
}

static void put_bash_option_name(const cli_option *option)
{
	cli_printf(" --%s", option->name);
}

static void put_bash_option_value(const cli_option *option)
{
	if (!option->argument)
		return;
	cli_puts("\t\t");
	if (option->short_name)
		cli_printf("-%c|", option->short_name);
	cli_printf("--%s) ", option->name);
	put_bash_words(option->values);
	cli_puts("\t\t\treturn ;;\n");
}

static void put_bash_command(const cli_command *command)
{
	cli_printf("\t%s)\n", command == &cli_program ? "''" : command->name);
	cli_puts("\t\tcase $prev in\n");
	each_option(command, put_bash_option_value);
	cli_puts("\t\tesac\n\t\tif [[ $cur == -* ]]; then\n\t\t\tCOMPREPLY=($(compgen -W '");
	each_option(command, put_bash_option_name);
	cli_puts("' -- \"$cur\"))\n\t\telse\n\t\t\t");
	if (command->operands == CLI_NOTHING)
		cli_puts(":\n");
	else
		put_bash_words(command->operands);
	cli_puts("\t\tfi ;;\n");
}

static void put_bash(void)
{
	const cli_command *command;

	cli_puts("# bash completion for faultwire; made by: faultwire completion bash\n"
		 "_faultwire()\n"
		 "{\n"
		 "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev= command= i word\n"
		 "\t[ \"$COMP_CWORD\" -gt 0 ] && prev=${COMP_WORDS[COMP_CWORD-1]}\n"
		 "\t# \"--to=ka\" arrives as three words.\n"
		 "\tif [[ $cur == = ]]; then\n"
		 "\t\tcur=\n"
		 "\telif [[ $prev == = && $COMP_CWORD -gt 1 ]]; then\n"
		 "\t\tprev=${COMP_WORDS[COMP_CWORD-2]}\n"
		 "\tfi\n"
		 "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
		 "\t\tword=${COMP_WORDS[i]}\n"
		 "\t\tcase $word in\n"
		 "\t\t--contract) [[ ${COMP_WORDS[i+1]} == = ]] && i=$((i + 1)); i=$((i + 1)) "
		 ";;\n"
		 "\t\t-*|=) ;;\n"
		 "\t\t*) command=$word; break ;;\n"
		 "\t\tesac\n"
		 "\tdone\n"
		 "\tCOMPREPLY=()\n"
		 "\tcase $command in\n");
	put_bash_command(&cli_program);
	for (size_t i = 0; (command = cli_command_at(i)); i++)
		if (command->run)
			put_bash_command(command);
	cli_puts("\tesac\n"
		 "}\n"
		 "complete -F _faultwire faultwire\n");
}

/* ---- zsh ------------------------------------------------------------------------ */

/* Inside '...' of zsh, within a spec of _arguments: quotes end it, [ ] and : part it. */
static void put_zsh_text(const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			cli_puts("'\\''");
		else if (strchr("[]:\\", *text))
			cli_printf("\\%c", *text);
		else
			cli_putc(*text);
	}
}

static void put_zsh_action(cli_values values)
{
	if (values == CLI_FILE) {
		cli_puts("_files");
	} else if (cli_value_at(values, 0)) {
		cli_putc('(');
		put_words(values);
		cli_putc(')');
	} else {
		cli_putc(' ');
	}
}

static void put_zsh_option(const cli_option *option)
{
	cli_puts(" \\\n\t\t\t\t");
	if (option->short_name)
		cli_printf("'(-%c --%s)'{-%c%s,--%s%s}", option->short_name, option->name,
			   option->short_name, option->argument ? "+" : "", option->name,
			   option->argument ? "=" : "");
	else
		cli_printf("--%s%s", option->name, option->argument ? "=" : "");
	cli_puts("'[");
	put_zsh_text(option->help);
	cli_putc(']');
	if (option->argument) {
		cli_putc(':');
		put_zsh_text(option->argument);
		cli_putc(':');
		put_zsh_action(option->values);
	}
	cli_putc('\'');
}

static void put_zsh_command(const cli_command *command)
{
	cli_printf("\t\t%s)\n\t\t\t_arguments -s -S", command->name);
	each_option(command, put_zsh_option);
	if (command->operands != CLI_NOTHING) {
		cli_puts(" \\\n\t\t\t\t'*: :");
		put_zsh_action(command->operands);
		cli_putc('\'');
	}
	cli_puts(" ;;\n");
}

static void put_zsh(void)
{
	const cli_command *command;

	cli_puts("#compdef faultwire\n"
		 "# zsh completion for faultwire; made by: faultwire completion zsh\n"
		 "_faultwire()\n"
		 "{\n"
		 "\tlocal context state state_descr line\n"
		 "\ttypeset -A opt_args\n"
		 "\tlocal -a commands\n"
		 "\tcommands=(\n");
	for (size_t i = 0; (command = cli_command_at(i)); i++) {
		cli_printf("\t\t'%s:", command->name);
		put_zsh_text(command->summary);
		cli_puts(command->run ? "'\n" : " (not built yet)'\n");
	}
	cli_puts("\t)\n\t_arguments -C -S");
	each_option(&cli_program, put_zsh_option);
	cli_puts(" \\\n\t\t\t\t'1: :->command' '*:: :->rest' && return\n"
		 "\tcase $state in\n"
		 "\tcommand) _describe command commands ;;\n"
		 "\trest)\n"
		 "\t\tcase $line[1] in\n");
	for (size_t i = 0; (command = cli_command_at(i)); i++)
		if (command->run)
			put_zsh_command(command);
	cli_puts("\t\tesac ;;\n"
		 "\tesac\n"
		 "}\n"
		 "# Found on fpath it is the function; sourced, it tells zsh of it.\n"
		 "if [ \"${funcstack[1]}\" = _faultwire ]; then\n"
		 "\t_faultwire \"$@\"\n"
		 "else\n"
		 "\tcompdef _faultwire faultwire\n"
		 "fi\n");
}

/* ---- the command ----------------------------------------------------------------- */

static int run(const cli_args *args)
{
	if (args->operand_count != 1 || !cli_value_is_valid(CLI_SHELL, args->operands[0]))
		return cli_fail(cli_usage(
			"faultwire completion takes the name of a shell: bash or zsh"));
	if (strcmp(args->operands[0], "bash") == 0)
		put_bash();
	else
		put_zsh();
	return CLI_DONE;
}

static const cli_example examples[] = {
	{ "For the shell that runs now (bash):", "source <(faultwire completion bash)" },
	{ "For good (zsh; the directory must be on fpath):",
	  "mkdir -p ~/.zfunc && faultwire completion zsh > ~/.zfunc/_faultwire" },
	{ NULL, NULL },
};

const cli_command cli_command_completion = {
	.name = "completion",
	.summary = "the completion script for bash or zsh",
	.synopsis = "bash|zsh",
	.description =
		"Prints a script that lets the shell complete commands, options, contracts and "
		"codes.",
	.operands = CLI_SHELL,
	.examples = examples,
	.run = run,
};

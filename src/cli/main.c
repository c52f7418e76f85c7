/*
 * main.c - finds and runs the command, and checks that its output was written.
 */
#include "cli/command.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <faultwire/faultwire.h>

#include "cli/terminal/output.h"
#include "cli/terminal/report.h"
#include "cli/terminal/suggest.h"

enum { VERSION };
enum { ACTIONS_SIZE = 128 };

static const cli_option options[] = {
	[VERSION] = { "version", NULL, 'V', CLI_NOTHING, "Show the version and exit." },
};

static const cli_example examples[] = {
	{ "Convert an error to another contract:",
	  "echo '{\"error\":{\"code\":\"cache_missing\",\"message\":\"Cache does not "
	  "exist\"}}' | faultwire convert --to kaiza" },
	{ "Explain an error code:", "faultwire explain FILE_NOT_FOUND" },
	{ NULL, NULL },
};

const cli_command cli_program = {
	.name = "faultwire",
	.summary = "the error layer for MCP",
	.synopsis = "[--contract CONTRACT] COMMAND [ARGUMENT]...",
	.description = "The error layer for MCP: converts, checks and explains errors of "
		       "tools, in five public contracts and in the canonical contract, which "
		       "includes what all of them contain.",
	CLI_OPTIONS(options),
	.operands = CLI_COMMAND_NAME,
	.examples = examples,
};

static const cli_command *const built[] = {
	&cli_command_serve,      &cli_command_gate,     &cli_command_wrap,
	&cli_command_call,       &cli_command_convert,  &cli_command_validate,
	&cli_command_explain,    &cli_command_classify, &cli_command_registry,
	&cli_command_audit,      &cli_command_alerts,   &cli_command_incident,
	&cli_command_token,      &cli_command_reserve,  &cli_command_store,
	&cli_command_plan,       &cli_command_context,  &cli_command_index,
	&cli_command_completion, &cli_command_man,      &cli_command_help,
};

const cli_command *cli_command_at(size_t index)
{
	return index < sizeof built / sizeof *built ? built[index] : NULL;
}

const cli_command *cli_command_find(const char *name)
{
	const cli_command *command;

	for (size_t i = 0; (command = cli_command_at(i)); i++)
		if (strcmp(command->name, name) == 0)
			return command;
	return NULL;
}

static fw_error *no_such_command(const char *name)
{
	fw_error *err = cli_usage("there is no command %s", name);
	cli_suggestions close = { .wanted = name, .wanted_len = strlen(name) };
	const cli_command *command;

	fw_error_set_hint(err, "Run faultwire --help for the list of commands.");
	for (size_t i = 0; (command = cli_command_at(i)); i++)
		cli_suggest(&close, command->name);
	cli_suggestions_hint(&close, err);
	return err;
}

/* "build, status or drop" */
static void join(const char *const *words, char *to, size_t size)
{
	size_t len = 0;

	to[0] = '\0';
	for (size_t i = 0; words[i] && len < size; i++)
		len += (size_t)snprintf(to + len, size - len, "%s%s",
					!i             ? ""
					: words[i + 1] ? ", "
						       : " or ",
					words[i]);
}

static fw_error *read_action(const cli_command *command, cli_args *args)
{
	const char *given = args->operand_count ? args->operands[0] : NULL;
	cli_suggestions close = { .wanted = given, .wanted_len = given ? strlen(given) : 0 };
	char words[ACTIONS_SIZE];
	fw_error *err;

	for (size_t i = 0; given && command->actions[i]; i++) {
		args->action = i;
		if (strcmp(command->actions[i], given) == 0)
			return NULL;
		cli_suggest(&close, command->actions[i]);
	}
	join(command->actions, words, sizeof words);
	err = given ? cli_usage("there is no faultwire %s %s; it takes %s", command->name,
				given, words)
		    : cli_usage("faultwire %s takes %s", command->name, words);
	cli_suggestions_hint(&close, err);
	return err;
}

static int run_command(const cli_command *command, int argc, char **argv)
{
	cli_args args;
	fw_error *err = cli_args_read(command, argc, argv, false, &args);

	if (!err && command->actions && !args.help)
		err = read_action(command, &args);
	if (err) {
		(void)cli_fail(err);
		return command->misused ? command->misused : CLI_MISUSED;
	}
	if (!args.help)
		return command->run(&args);
	cli_help(command);
	return CLI_DONE;
}

static int run(int argc, char **argv)
{
	const cli_command *command;
	cli_args args;
	fw_error *err = cli_args_read(&cli_program, argc, argv, true, &args);

	if (err)
		return cli_fail(err);
	if (args.help) {
		cli_help(&cli_program);
		return CLI_DONE;
	}
	if (cli_given(&args, VERSION)) {
		cli_printf("faultwire %s\n", fw_version());
		return CLI_DONE;
	}
	if (args.operand_count == 0) {
		err = cli_usage("no command is given");
		fw_error_set_hint(err, "Run faultwire --help for the list of commands.");
		return cli_fail(err);
	}
	command = cli_command_find(args.operands[0]);
	if (!command)
		return cli_fail(no_such_command(args.operands[0]));
	return run_command(command, (int)args.operand_count - 1, args.operands + 1);
}

/*
 * Opens standard descriptors that are closed, so that no other file, such as the audit
 * log, gets their numbers and is written to by mistake. Input is opened for writing and
 * output for reading, so that using them fails as before; standard error is discarded.
 */
static void keep_standard_descriptors(void)
{
	static const int flags[] = { O_WRONLY, O_RDONLY, O_WRONLY };

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		/* The lowest free descriptor is this one, since those below are open. */
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", flags[fd]) < 0)
			return;
}

int main(int argc, char **argv)
{
	bool gone = false;
	fw_error *err;
	int status;

	keep_standard_descriptors();
	status = run(argc > 0 ? argc - 1 : 0, argv + 1);
	err = cli_output_end(&gone);
	if (err)
		return cli_fail(err);
	return gone ? CLI_FAILED : status;
}

/*
 * options.c - reads a command line by a table.
 *
 * Not getopt_long: it keeps its state in globals, prints on its own, and takes
 * abbreviations, which turn every new option into a possible break of
 * somebody's script.
 */
#include "options.h"

#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "report.h"
#include "suggest.h"

enum { CONTRACT = 1 };

const cli_option cli_common_options[] = {
	{ "help", NULL, 'h', CLI_NOTHING, "Show this help and exit." },
	[CONTRACT] = { "contract", "CONTRACT", 0, CLI_CONTRACT,
		       "Report errors of faultwire itself as one line of JSON in this "
		       "contract." },
};
const size_t cli_common_option_count = sizeof cli_common_options / sizeof *cli_common_options;

/* ---- what values may be ------------------------------------------------ */

static const char *const shells[] = { "bash", "zsh" };
static const char *const runs[] = { "process", "thread", "inline" };
static const char *const sandboxes[] = { "required", "best-effort", "off" };
static const char *const context_actions[] = { "build", "resolve", "inspect", "verify",
					       "list" };

/* Every code once: all canonical ones, then each contract's own. */
static const char *code_at(size_t index)
{
	static const fw_contract others[] = { FW_KAIZA, FW_CONTEXT_V0, FW_CODEINTEL,
					      FW_TOOLERROR };
	size_t rows = fw_registry_count(NULL);

	if (index < rows)
		return fw_registry_at(NULL, index)->code;
	index -= rows;
	for (size_t c = 0; c < sizeof others / sizeof *others; c++) {
		for (size_t i = 0; i < rows; i++) {
			const fw_row *row = fw_registry_at(NULL, i);

			if (!(row->reads & 1u << others[c]))
				continue;
			if (index-- == 0)
				return fw_row_code_in(row, others[c]);
		}
	}
	return NULL;
}

const char *cli_listed_at(cli_values values, size_t index)
{
	return values == CLI_CODE ? NULL : cli_value_at(values, index);
}

const char *cli_value_at(cli_values values, size_t index)
{
	switch (values) {
	case CLI_CONTRACT:
		return index < FW_CONTRACT_COUNT ? fw_contract_name((fw_contract)index) : NULL;
	case CLI_CONTRACT_OR_AUTO:
		if (index == FW_CONTRACT_COUNT)
			return fw_contract_name(FW_AUTO);
		return cli_value_at(CLI_CONTRACT, index);
	case CLI_SOURCE: return index <= FW_AUTO ? fw_contract_name((fw_contract)index) : NULL;
	case CLI_CODE: return code_at(index);
	case CLI_RUN: return index < sizeof runs / sizeof *runs ? runs[index] : NULL;
	case CLI_SANDBOX:
		return index < sizeof sandboxes / sizeof *sandboxes ? sandboxes[index] : NULL;
	case CLI_CONTEXT_ACTION:
		return index < sizeof context_actions / sizeof *context_actions
			       ? context_actions[index]
			       : NULL;
	case CLI_SHELL: return index < sizeof shells / sizeof *shells ? shells[index] : NULL;
	case CLI_COMMAND_NAME: {
		const cli_command *command = cli_command_at(index);

		return command ? command->name : NULL;
	}
	case CLI_NOTHING:
	case CLI_TEXT:
	case CLI_FILE:
	case CLI_SETTING: break;
	}
	return NULL;
}

bool cli_value_is_lawful(cli_values values, const char *word)
{
	if (values == CLI_CODE || !cli_value_at(values, 0))
		return true;
	for (size_t i = 0; cli_value_at(values, i); i++)
		if (strcmp(word, cli_value_at(values, i)) == 0)
			return true;
	return false;
}

fw_contract cli_contract(const cli_args *args, size_t option, fw_contract otherwise)
{
	fw_contract contract = otherwise;

	if (args->values[option])
		(void)fw_contract_from_name(args->values[option], &contract);
	return contract;
}

/* ---- parsing ------------------------------------------------------------ */

struct parser {
	const cli_command *command;
	cli_args *args;
	int left; /* words not read yet */
	char **next;
	fw_error *err; /* the first mistake */
};

static void mistake(struct parser *p, fw_error *err)
{
	if (p->err)
		fw_error_free(err);
	else
		p->err = err;
}

/* The command's own options first, then the common ones. */
static const cli_option *option_at(const cli_command *command, size_t index)
{
	if (index < command->option_count)
		return &command->options[index];
	index -= command->option_count;
	return index < cli_common_option_count ? &cli_common_options[index] : NULL;
}

static const cli_option *find_long(const cli_command *command, const char *name, size_t len)
{
	const cli_option *option;

	for (size_t i = 0; (option = option_at(command, i)); i++)
		if (strlen(option->name) == len && memcmp(option->name, name, len) == 0)
			return option;
	return NULL;
}

static const cli_option *find_short(const cli_command *command, char name)
{
	const cli_option *option;

	for (size_t i = 0; (option = option_at(command, i)); i++)
		if (option->short_name == name)
			return option;
	return NULL;
}

static fw_error *no_such_option(const cli_command *command, const char *word, size_t len)
{
	fw_error *err = cli_usage("there is no option %.*s", (int)len, word);
	cli_suggestions close = { .wanted = word, .wanted_len = len };
	const cli_option *option;
	char name[64];

	for (size_t i = 0; (option = option_at(command, i)); i++) {
		(void)snprintf(name, sizeof name, "--%s", option->name);
		cli_suggest(&close, name);
	}
	cli_suggestions_hint(&close, err);
	return err;
}

static fw_error *bad_value(const cli_option *option, const char *value)
{
	cli_suggestions close = { .wanted = value, .wanted_len = strlen(value) };
	const char *word;
	char list[512] = "";
	size_t used = 0;
	fw_error *err;

	for (size_t i = 0; (word = cli_value_at(option->values, i)); i++) {
		int n = snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", word);

		if (n < 0 || (size_t)n >= sizeof list - used)
			break;
		used += (size_t)n;
		cli_suggest(&close, word);
	}
	err = cli_usage("--%s must be one of %s; found \"%s\"", option->name, list, value);
	cli_suggestions_hint(&close, err);
	return err;
}

static void take(struct parser *p, const cli_option *option, const char *value)
{
	if (!cli_value_is_lawful(option->values, value)) {
		mistake(p, bad_value(option, value));
		return;
	}
	if (option == &cli_common_options[CONTRACT]) {
		fw_contract contract = FW_CANONICAL;

		(void)fw_contract_from_name(value, &contract);
		cli_report_in(contract);
	} else if (option >= cli_common_options &&
		   option < cli_common_options + cli_common_option_count) {
		p->args->help = true;
	} else {
		p->args->values[option - p->command->options] = value;
		if (option->values != CLI_SETTING)
			return;
		if (p->args->setting_count == CLI_SETTINGS_MAX)
			mistake(p, cli_usage("--%s is given too often", option->name));
		else
			p->args->settings[p->args->setting_count++] = value;
	}
}

/* The next word as the value of `option`: NULL and a mistake where none is left. */
static const char *value_of(struct parser *p, const cli_option *option)
{
	if (p->left == 0) {
		mistake(p, cli_usage("option --%s needs %s", option->name, option->argument));
		return NULL;
	}
	p->left--;
	return *p->next++;
}

static void read_long(struct parser *p, char *word)
{
	char *equals = strchr(word, '=');
	size_t len = equals ? (size_t)(equals - word) : strlen(word);
	const cli_option *option = find_long(p->command, word + 2, len - 2);
	const char *value = equals ? equals + 1 : "";

	if (!option) {
		mistake(p, no_such_option(p->command, word, len));
		return;
	}
	if (option->argument && !equals)
		value = value_of(p, option);
	if (!option->argument && equals)
		mistake(p, cli_usage("option --%s takes no value", option->name));
	else if (value)
		take(p, option, value);
}

/* "-l", "-lj", "-tkaiza", "-t kaiza". */
static void read_short(struct parser *p, char *word)
{
	for (const char *at = word + 1; *at; at++) {
		const cli_option *option = find_short(p->command, *at);
		const char *value = "";

		if (!option) {
			char shown[3] = { '-', *at, '\0' };

			mistake(p, no_such_option(p->command, shown, 2));
			return;
		}
		if (option->argument)
			value = at[1] ? at + 1 : value_of(p, option);
		if (value)
			take(p, option, value);
		if (option->argument)
			return;
	}
}

fw_error *cli_args_read(const cli_command *command, int argc, char **argv, bool stop,
			cli_args *ret_args)
{
	cli_args args = { .operands = argv };
	struct parser p = { .command = command, .args = &args, .left = argc, .next = argv };
	bool only_operands = false;

	while (p.left > 0) {
		char *word = *p.next++;

		p.left--;
		if (only_operands || word[0] != '-' || word[1] == '\0') {
			args.operands[args.operand_count++] = word;
			only_operands = only_operands || stop;
		} else if (strcmp(word, "--") == 0) {
			only_operands = true;
		} else if (word[1] == '-') {
			read_long(&p, word);
		} else {
			read_short(&p, word);
		}
	}
	if (p.err && args.help) {
		/* Whoever asks for help need not get the rest right. */
		fw_error_free(p.err);
		p.err = NULL;
	}
	if (!p.err)
		*ret_args = args;
	return p.err;
}

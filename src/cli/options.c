/*
 * options.c - see options.h.
 *
 * It does not use getopt_long, which keeps its state in globals, prints messages, and
 * accepts abbreviations, so that any new option may break existing scripts.
 */
#include "cli/options.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "cli/command.h"
#include "cli/terminal/report.h"
#include "cli/terminal/suggest.h"
#include "core/registry_table.h"
#include "tools/toolset.h"

enum { CONTRACT = 1, COMMON_COUNT = 2, THREADS_MOST = 999 };

#define NO_OPTION SIZE_MAX

/* Every command takes these, unless its own table has an option of the same name. */
static const cli_option common_options[COMMON_COUNT] = {
	{ "help", NULL, 'h', CLI_NOTHING, "Show this help and exit." },
	[CONTRACT] = { "contract", "CONTRACT", 0, CLI_CONTRACT,
		       "Report errors of faultwire itself as one line of JSON in this "
		       "contract." },
};

/* ---- what values may be ------------------------------------------------ */

static const char *contract_at(size_t index)
{
	return index < FW_CONTRACT_COUNT ? fw_contract_name((fw_contract)index) : NULL;
}

static const char *contract_or_auto_at(size_t index)
{
	return index == FW_CONTRACT_COUNT ? fw_contract_name(FW_AUTO) : contract_at(index);
}

static const char *schema_at(size_t index)
{
	size_t more = 0;

	while (fw__more_schemas[more].name)
		more++;
	if (index < FW_CONTRACT_COUNT)
		return contract_at(index);
	return index - FW_CONTRACT_COUNT < more
		       ? fw__more_schemas[index - FW_CONTRACT_COUNT].name
		       : NULL;
}

static const char *source_at(size_t index)
{
	return index <= FW_AUTO ? fw_contract_name((fw_contract)index) : NULL;
}

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

static const char *command_name_at(size_t index)
{
	const cli_command *command = cli_command_at(index);

	return command ? command->name : NULL;
}

static const char *toolset_at(size_t index)
{
	for (size_t i = 0; fw_toolsets[i]; i++)
		if (i == index)
			return fw_toolsets[i]->name;
	return NULL;
}

static const char *const shells[] = { "bash", "zsh", NULL };
static const char *const runs[] = { "process", "thread", "inline", NULL };
static const char *const sandboxes[] = { "required", "best-effort", "off", NULL };
static const char *const switches[] = { "on", "off", NULL };
static const char *const hints[] = { "on", "off", "auto", NULL };
static const char *const log_forms[] = { "json", "text", "journald", "off", NULL };
static const char *const log_levels[] = { "debug", "info",     "notice", "warning",
					  "error", "critical", NULL };
static const char *const audit_syncs[] = { "always", "interval", "off", NULL };
static const char *const roles[] = { "executor", "planner", "windsurf", "antigravity", NULL };
static const char *const audit_forms[] = { "hash", "redacted", NULL };

/* Kinds are compared by address. */
const struct cli_value_kind cli_nothing = { .is_open = true };
const struct cli_value_kind cli_text = { .is_open = true };
const struct cli_value_kind cli_file = { .is_open = true };
const struct cli_value_kind cli_files = { .is_open = true };
const struct cli_value_kind cli_texts = { .is_open = true };
const struct cli_value_kind cli_setting = { .is_open = true };
const struct cli_value_kind cli_contracts = { .at = contract_at };
const struct cli_value_kind cli_contracts_and_auto = { .at = contract_or_auto_at };
const struct cli_value_kind cli_sources = { .at = source_at };
const struct cli_value_kind cli_codes = { .at = code_at, .is_open = true, .is_long = true };
const struct cli_value_kind cli_shells = { .words = shells };
const struct cli_value_kind cli_command_names = { .at = command_name_at };
const struct cli_value_kind cli_runs = { .words = runs };
const struct cli_value_kind cli_sandboxes = { .words = sandboxes };
const struct cli_value_kind cli_switches = { .words = switches, .is_long = true };
const struct cli_value_kind cli_hints = { .words = hints, .is_long = true };
/* The commands check these, which may have other forms ("interval=MS"), and report
 * what they take. */
const struct cli_value_kind cli_log_forms = { .words = log_forms,
					      .is_open = true,
					      .is_long = true };
const struct cli_value_kind cli_log_levels = { .words = log_levels,
					       .is_open = true,
					       .is_long = true };
const struct cli_value_kind cli_audit_syncs = { .words = audit_syncs,
						.is_open = true,
						.is_long = true };
const struct cli_value_kind cli_audit_forms = { .words = audit_forms, .is_long = true };
const struct cli_value_kind cli_roles = { .words = roles, .is_open = true, .is_long = true };
const struct cli_value_kind cli_schemas = { .at = schema_at };
/* `serve` checks each name of the list. */
const struct cli_value_kind cli_toolsets = { .at = toolset_at,
					     .is_open = true,
					     .is_list = true };

const char *cli_value_at(cli_values values, size_t index)
{
	if (values->at)
		return values->at(index);
	for (size_t i = 0; values->words && values->words[i]; i++)
		if (i == index)
			return values->words[i];
	return NULL;
}

const char *cli_listed_at(cli_values values, size_t index)
{
	return values->is_long ? NULL : cli_value_at(values, index);
}

bool cli_value_is_valid(cli_values values, const char *word)
{
	const char *permitted;

	if (values->is_open)
		return true;
	for (size_t i = 0; (permitted = cli_value_at(values, i)); i++)
		if (strcmp(word, permitted) == 0)
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

fw_error *cli_threads_read(const char *text, unsigned *ret_threads)
{
	uint64_t threads = 0;

	if (text && !fw_decimal_read(text, 1, THREADS_MOST, &threads))
		return cli_usage("--threads must be a number from 1 to %d; found \"%s\"",
				 THREADS_MOST, text);
	*ret_threads = (unsigned)threads;
	return NULL;
}

/* ---- the options of a command -------------------------------------------- */

static const cli_option *part_option_at(const cli_command *command, size_t index,
					const char **ret_part)
{
	return command->more_options ? command->more_options(index, ret_part) : NULL;
}

static size_t count_part_options(const cli_command *command)
{
	const char *part;
	size_t count = 0;

	while (part_option_at(command, count, &part))
		count++;
	return count;
}

static bool is_replaced(const cli_command *command, const cli_option *common)
{
	for (size_t i = 0; i < command->option_count; i++)
		if (strcmp(command->options[i].name, common->name) == 0)
			return true;
	return false;
}

const cli_option *cli_option_at(const cli_command *command, size_t index)
{
	const cli_option *option;
	const char *part;

	if (index < command->option_count)
		return &command->options[index];
	index -= command->option_count;
	if (index < command->shared_count)
		return &command->shared_options[index];
	index -= command->shared_count;
	option = part_option_at(command, index, &part);
	if (option)
		return option;
	index -= count_part_options(command);
	for (size_t i = 0; i < COMMON_COUNT; i++)
		if (!is_replaced(command, &common_options[i]) && index-- == 0)
			return &common_options[i];
	return NULL;
}

const char *cli_option_part(const cli_command *command, size_t index)
{
	size_t first = command->option_count + command->shared_count;
	const char *part = NULL;

	if (index < first || !part_option_at(command, index - first, &part))
		return NULL;
	return part;
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

static size_t find_long(const cli_command *command, const char *name, size_t len)
{
	const cli_option *option;

	for (size_t i = 0; (option = cli_option_at(command, i)); i++)
		if (strlen(option->name) == len && memcmp(option->name, name, len) == 0)
			return i;
	return NO_OPTION;
}

static size_t find_short(const cli_command *command, char name)
{
	const cli_option *option;

	for (size_t i = 0; (option = cli_option_at(command, i)); i++)
		if (option->short_name == name)
			return i;
	return NO_OPTION;
}

static fw_error *no_such_option(const cli_command *command, const char *word, size_t len)
{
	fw_error *err = cli_usage("there is no option %.*s", (int)len, word);
	cli_suggestions close = { .wanted = word, .wanted_len = len };
	const cli_option *option;
	char name[64];

	for (size_t i = 0; (option = cli_option_at(command, i)); i++) {
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

static void take_own(struct parser *p, size_t index, const char *value)
{
	const cli_option *option = cli_option_at(p->command, index);
	cli_args *args = p->args;

	assert(index < CLI_OPTIONS_MAX);
	args->values[index] = value;
	if (option->values != CLI_SETTING && option->values != CLI_FILES &&
	    option->values != CLI_TEXTS)
		return;
	if (args->setting_count == CLI_SETTINGS_MAX || args->file_count == CLI_SETTINGS_MAX) {
		mistake(p, cli_usage("--%s is given too often", option->name));
	} else if (option->values == CLI_SETTING) {
		args->settings[args->setting_count++] = value;
	} else {
		args->files[args->file_count].option = index;
		args->files[args->file_count++].value = value;
	}
}

static void take(struct parser *p, size_t index, const char *value)
{
	const cli_option *option = cli_option_at(p->command, index);

	if (!cli_value_is_valid(option->values, value)) {
		mistake(p, bad_value(option, value));
	} else if (option == &common_options[CONTRACT]) {
		fw_contract contract = FW_CANONICAL;

		(void)fw_contract_from_name(value, &contract);
		cli_report_in(contract);
	} else if (option >= common_options && option < common_options + COMMON_COUNT) {
		p->args->help = true;
	} else {
		take_own(p, index, value);
	}
}

/* The next word as the value of `option`; NULL, and a mistake, if there is none. */
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
	size_t index = find_long(p->command, word + 2, len - 2);
	const cli_option *option;
	const char *value = equals ? equals + 1 : "";

	if (index == NO_OPTION) {
		mistake(p, no_such_option(p->command, word, len));
		return;
	}
	option = cli_option_at(p->command, index);
	if (option->argument && !equals)
		value = value_of(p, option);
	if (!option->argument && equals)
		mistake(p, cli_usage("option --%s takes no value", option->name));
	else if (value)
		take(p, index, value);
}

/* "-l", "-lj", "-tkaiza", "-t kaiza". */
static void read_short(struct parser *p, char *word)
{
	for (const char *at = word + 1; *at; at++) {
		size_t index = find_short(p->command, *at);
		const cli_option *option;
		const char *value = "";

		if (index == NO_OPTION) {
			char shown[3] = { '-', *at, '\0' };

			mistake(p, no_such_option(p->command, shown, 2));
			return;
		}
		option = cli_option_at(p->command, index);
		if (option->argument)
			value = at[1] ? at + 1 : value_of(p, option);
		if (value)
			take(p, index, value);
		if (option->argument)
			return;
	}
}

static bool is_action(const cli_command *command, const char *word, size_t len)
{
	for (size_t i = 0; command->actions && command->actions[i]; i++)
		if (strlen(command->actions[i]) == len &&
		    memcmp(command->actions[i], word, len) == 0)
			return true;
	return false;
}

/* Whether "new, rotate: ..." at `at` names actions; then also whether `action` is one. */
static bool lists_actions(const cli_command *command, const char *at, const char *action,
			  bool *ret_is_listed)
{
	size_t wanted = strlen(action);

	for (;;) {
		size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyz");

		if (!is_action(command, at, len) || (at[len] != ':' && at[len] != ','))
			return false;
		if (len == wanted && memcmp(at, action, len) == 0)
			*ret_is_listed = true;
		if (at[len] == ':')
			return true;
		at += len + 1 + strspn(at + len + 1, " ");
	}
}

/* An option whose help begins a sentence with the names of actions is for those alone. */
static bool is_for_action(const cli_command *command, const cli_option *option,
			  const char *action)
{
	bool is_listed = false, has_list = false;

	for (const char *at = option->help; at;) {
		const char *stop;

		has_list |= lists_actions(command, at, action, &is_listed);
		stop = strstr(at, ". ");
		at = stop ? stop + 2 : NULL;
	}
	return is_listed || !has_list;
}

/* An option of another action would be ignored, and its user would believe that it took effect:
 * "token rotate NAME --scope read" narrows nothing. */
static void refuse_options_of_other_actions(struct parser *p)
{
	const char *action = p->args->operand_count ? p->args->operands[0] : "";
	const cli_option *option;

	if (!is_action(p->command, action, strlen(action)))
		return;
	for (size_t i = 0; (option = cli_option_at(p->command, i)); i++) {
		fw_error *err;

		if (i >= CLI_OPTIONS_MAX || !p->args->values[i] ||
		    is_for_action(p->command, option, action))
			continue;
		err = cli_usage("option --%s has no effect on %s %s", option->name,
				p->command->name, action);
		fw_error_set_hint(err, "Leave it out; --help says which actions it is for.");
		mistake(p, err);
	}
}

fw_error *cli_args_read(const cli_command *command, int argc, char **argv, bool stop,
			cli_args *ret_args)
{
	cli_args args = { .first_shared = command->option_count, .operands = argv };
	struct parser p = { .command = command, .args = &args, .left = argc, .next = argv };
	bool only_operands = false;

	while (p.left > 0) {
		char *word = *p.next++;

		p.left--;
		/* A negative number is not an option. */
		if (only_operands || word[0] != '-' || word[1] == '\0' ||
		    (word[1] >= '0' && word[1] <= '9')) {
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
	refuse_options_of_other_actions(&p);
	if (p.err && args.help) {
		/* With --help, mistakes are ignored. */
		fw_error_free(p.err);
		p.err = NULL;
	}
	if (!p.err)
		*ret_args = args;
	return p.err;
}

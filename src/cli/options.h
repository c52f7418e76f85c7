/*
 * options.h - the command line as data: one table of options per command, and
 * the parser that it drives.
 *
 * The one rule to remember: the table is the only place that knows an option.
 * Parsing, --help, completion and the man page read it from there.
 */
#ifndef FW_CLI_OPTIONS_H
#define FW_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include <faultwire/faultwire.h>

struct cli_command;

/* What may stand where a value is wanted. */
typedef enum cli_values {
	CLI_NOTHING, /* a flag; a command without operands */
	CLI_TEXT,
	CLI_FILE,
	CLI_SETTING,          /* NAME=VALUE; may be given several times */
	CLI_CONTRACT,         /* the name of a contract */
	CLI_CONTRACT_OR_AUTO, /* the same, or "auto" */
	CLI_SOURCE,           /* the same, or JSON or text of no contract */
	CLI_CODE,             /* a code of any contract */
	CLI_SHELL,
	CLI_CONTEXT_ACTION, /* what is done with a context cache */
	CLI_COMMAND_NAME,
	CLI_RUN,    /* where tools run */
	CLI_SANDBOX /* how strictly workers are confined */
} cli_values;

typedef struct cli_option {
	const char *name;     /* without the dashes */
	const char *argument; /* as shown: "FILE"; NULL for a flag */
	char short_name;      /* 0: none */
	cli_values values;
	const char *help; /* a sentence */
} cli_option;

enum { CLI_OPTIONS_MAX = 48, CLI_SETTINGS_MAX = 64 };

/* What a command line said. All strings are borrowed from argv. */
typedef struct cli_args {
	/* By position in the command's table; NULL: not given; "" for a flag. */
	const char *values[CLI_OPTIONS_MAX];
	/* Those of CLI_SETTING, in their order. */
	const char *settings[CLI_SETTINGS_MAX];
	size_t setting_count;
	char **operands;
	size_t operand_count;
	bool help;
} cli_args;

/** Options that every command takes, unless its own table has one of the name. */
extern const cli_option cli_common_options[];
extern const size_t cli_common_option_count;

/**
 * Read `argv` (without the command's name) by the table of `command`. Operands
 * and options may be mixed; "--" ends the options; of an option given twice the
 * last counts, but for settings, which all do. With `stop` the first operand ends the options too.
 *
 * The words are all read even after a mistake, so that a --contract behind it
 * still says how to report it. Reorders argv. Raises cli.usage.
 */
FW_NODISCARD fw_error *cli_args_read(const struct cli_command *command, int argc, char **argv,
				     bool stop, cli_args *ret_args);

/** Whether the flag, or an option with a value, was given. */
static inline bool cli_given(const cli_args *args, size_t option)
{
	return args->values[option] != NULL;
}

/** The contract that a (checked) option names; `otherwise` where not given. */
fw_contract cli_contract(const cli_args *args, size_t option, fw_contract otherwise);

/** The words that `values` may be, by index; NULL past the end, and for free text. */
const char *cli_value_at(cli_values values, size_t index);
/** Those that a help lists: not codes, of which there are too many. */
const char *cli_listed_at(cli_values values, size_t index);

/** Whether `word` is one of them; always so for free text. */
bool cli_value_is_lawful(cli_values values, const char *word);

#endif

/*
 * options.h - options as tables, one per command, and the parser that uses them.
 *
 * The one rule to remember: an option is defined only in its table. Parsing, --help,
 * completion and the man page use it.
 */
#ifndef FW_CLI_OPTIONS_H
#define FW_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include <faultwire/faultwire.h>

struct cli_command;

/* What the value of an option, or an operand, may be. */
struct cli_value_kind {
	const char *(*at)(size_t index); /* permitted words; NULL past the end */
	const char *const *words;        /* the same as an array that ends with NULL */
	bool is_open;                    /* other words are permitted, too */
	bool is_long;                    /* the help text does not list the words */
	bool is_list;                    /* several words, separated by commas */
};
typedef const struct cli_value_kind *cli_values;

extern const struct cli_value_kind cli_nothing, cli_text, cli_file, cli_files, cli_texts,
	cli_setting, cli_contracts, cli_contracts_and_auto, cli_sources, cli_codes, cli_shells,
	cli_command_names, cli_runs, cli_sandboxes, cli_schemas, cli_toolsets, cli_switches,
	cli_hints, cli_log_forms, cli_log_levels, cli_audit_syncs, cli_audit_forms, cli_roles;

#define CLI_NOTHING (&cli_nothing) /* a flag; a command without operands */
#define CLI_TEXT (&cli_text)
#define CLI_FILE (&cli_file)
#define CLI_FILES (&cli_files)                         /* a file; may be repeated */
#define CLI_TEXTS (&cli_texts)                         /* a text; may be repeated */
#define CLI_SETTING (&cli_setting)                     /* NAME=VALUE; may be repeated */
#define CLI_CONTRACT (&cli_contracts)                  /* the name of a contract */
#define CLI_CONTRACT_OR_AUTO (&cli_contracts_and_auto) /* the same, or "auto" */
#define CLI_SOURCE (&cli_sources)                      /* the same, or "json" or "text" */
#define CLI_CODE (&cli_codes)                          /* an error code of any contract */
#define CLI_SHELL (&cli_shells)
#define CLI_COMMAND_NAME (&cli_command_names)
#define CLI_RUN (&cli_runs)          /* where tools run */
#define CLI_SANDBOX (&cli_sandboxes) /* how strictly the server is confined */
#define CLI_SCHEMA (&cli_schemas)    /* a contract, or a part of codeintel with a schema */
#define CLI_TOOLSET (&cli_toolsets)  /* names of toolsets, separated by commas */
#define CLI_SWITCH (&cli_switches)   /* on or off */
#define CLI_HINTS (&cli_hints)       /* the same, or "auto" */
#define CLI_LOG_FORM (&cli_log_forms)
#define CLI_LOG_LEVEL (&cli_log_levels)
#define CLI_AUDIT_SYNC (&cli_audit_syncs)
#define CLI_AUDIT_FORM (&cli_audit_forms)
#define CLI_ROLE (&cli_roles) /* of the toolset `workspace`, or any text */

typedef struct cli_option {
	const char *name;     /* without the dashes */
	const char *argument; /* as shown: "FILE"; NULL for a flag */
	char short_name;      /* 0: none */
	cli_values values;
	const char *help; /* a sentence */
} cli_option;

enum { CLI_OPTIONS_MAX = 96, CLI_SETTINGS_MAX = 64 };

/* The parsed command line. All strings are borrowed from argv. */
typedef struct cli_args {
	/* By the index of cli_option_at(); NULL: not given; "" for a flag. */
	const char *values[CLI_OPTIONS_MAX];
	size_t first_shared; /* index of the first shared option of the command */
	/* The values of CLI_SETTING, in order. */
	const char *settings[CLI_SETTINGS_MAX];
	size_t setting_count;
	/* The values of CLI_FILES and CLI_TEXTS, in order, each with the index of its option. */
	struct {
		size_t option;
		const char *value;
	} files[CLI_SETTINGS_MAX];
	size_t file_count;
	char **operands;
	size_t operand_count;
	size_t action; /* index of operands[0] in cli_command.actions, if it has some */
	bool help;
} cli_args;

/**
 * The options of `command`: first its own, then those that it shares with other commands,
 * then those of its parts (more_options), then the common ones that it does not replace.
 * NULL past the end.
 */
const cli_option *cli_option_at(const struct cli_command *command, size_t index);

/** The part of the command that declares the option, such as a toolset; NULL: none. */
const char *cli_option_part(const struct cli_command *command, size_t index);

/**
 * Parses `argv` (without the command's name) by the table of `command`. Operands and
 * options may be mixed; "--" ends the options, and with `stop` so does the first operand.
 * If an option is repeated, the last value is used, except for CLI_SETTING, CLI_FILES and CLI_TEXTS,
 * whose values all apply.
 *
 * An option for other actions of the command than the one that is given is a mistake.
 * After a mistake the remaining words are still parsed, because a later --contract
 * determines how it is reported. Reorders argv. Raises cli.usage.
 */
FW_NODISCARD fw_error *cli_args_read(const struct cli_command *command, int argc, char **argv,
				     bool stop, cli_args *ret_args);

/** Whether the flag, or an option with a value, was given. */
static inline bool cli_given(const cli_args *args, size_t option)
{
	return args->values[option] != NULL;
}

/** The contract that a (checked) option names; `otherwise` if it is not given. */
fw_contract cli_contract(const cli_args *args, size_t option, fw_contract otherwise);

/** The value of --threads; 0 if it is not given. Raises cli.usage. */
FW_NODISCARD fw_error *cli_threads_read(const char *text, unsigned *ret_threads);

/** The words that `values` lists, by index; NULL past the end, and for free text. */
const char *cli_value_at(cli_values values, size_t index);

/** The same for a help text: NULL if there are too many. */
const char *cli_listed_at(cli_values values, size_t index);

/** Whether `word` is permitted. */
bool cli_value_is_valid(cli_values values, const char *word);

#endif

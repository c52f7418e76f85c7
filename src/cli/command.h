/*
 * command.h - the description of a command, from which --help, completion and man page
 * are generated, and the exit statuses.
 *
 * The one rule to remember: a command reports its errors itself, through report.h, and
 * returns an exit status.
 */
#ifndef FW_CLI_COMMAND_H
#define FW_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"

enum {
	CLI_DONE = 0,
	CLI_FAILED = 1, /* the command failed */
	CLI_MISUSED = 2 /* the command line is invalid */
};

/* A command that can be pasted into a shell, and what it does. */
typedef struct cli_example {
	const char *what;
	const char *command;
} cli_example;

typedef struct cli_status {
	int status;
	const char *what; /* no capital, no period */
} cli_status;

/** For commands without statuses of their own; ends with a NULL. */
extern const cli_status cli_common_statuses[];

/* An entry of a list in a help text. */
typedef struct cli_entry {
	const char *name;
	const char *summary; /* no capital, no period */
} cli_entry;

typedef struct cli_command {
	const char *name;
	const char *summary;       /* in lists: no capital, no period */
	const char *synopsis;      /* what follows the name in "Usage:" */
	const char *description;   /* sentences; an empty line separates paragraphs */
	const cli_option *options; /* without the common ones */
	size_t option_count;
	/* Options that several commands have; listed after its own. NULL: none. */
	const cli_option *shared_options;
	size_t shared_count;
	/* What its first operand must be ("list", "show"); ends with NULL. cli_args.action is
	 * the index of the one that is given. NULL: it has no such words. */
	const char *const *actions;
	cli_values operands;         /* for completion: the others */
	const cli_example *examples; /* ends with a NULL command */
	int (*run)(const cli_args *args);
	const cli_status *statuses; /* ends with a NULL; NULL: the common ones */
	/* Options that parts of the command declare, such as toolsets: the option at
	 * `index` and the name of its part; NULL past the end. */
	const cli_option *(*more_options)(size_t index, const char **ret_part);
	const char *part_kind; /* what such a part is: "toolset" */
	/* Its parts, as a list in the help; false past the end. */
	bool (*part_at)(size_t index, cli_entry *ret_part);
	int misused; /* the status for an invalid command line; 0: CLI_MISUSED */
} cli_command;

/* The options of a command are this array. */
#define CLI_OPTIONS(array) .options = (array), .option_count = sizeof(array) / sizeof *(array)

/** The program itself: the options before the name of a command. */
extern const cli_command cli_program;

/** All commands, in the order of the help; NULL past the end. */
const cli_command *cli_command_at(size_t index);

/** NULL if there is no such command. */
const cli_command *cli_command_find(const char *name);

/** Prints the help of `command`, or of the program. */
void cli_help(const cli_command *command);

extern const cli_command cli_command_serve;
extern const cli_command cli_command_gate;
extern const cli_command cli_command_wrap;
extern const cli_command cli_command_convert;
extern const cli_command cli_command_validate;
extern const cli_command cli_command_explain;
extern const cli_command cli_command_classify;
extern const cli_command cli_command_call;
extern const cli_command cli_command_registry;
extern const cli_command cli_command_plan;
extern const cli_command cli_command_audit;
extern const cli_command cli_command_alerts;
extern const cli_command cli_command_incident;
extern const cli_command cli_command_reserve;
extern const cli_command cli_command_store;
extern const cli_command cli_command_token;
extern const cli_command cli_command_context;
extern const cli_command cli_command_index;
extern const cli_command cli_command_completion;
extern const cli_command cli_command_man;
extern const cli_command cli_command_help;

#endif

/*
 * call_target.h - where the server is that a command line names: a URL, a command, or a
 * server of a client's configuration file.
 */
#ifndef FW_CLI_COMMANDS_CALL_TARGET_H
#define FW_CLI_COMMANDS_CALL_TARGET_H

#include <stddef.h>

#include <faultwire/faultwire.h>

enum { CALL_WORDS_MAX = 256 };

/* A list of strings that ends with a NULL; the strings are owned. */
struct call_words {
	char *words[CALL_WORDS_MAX + 1];
	size_t count;
};

struct call_target {
	char *name;
	char *url;       /* NULL: a command */
	char *directory; /* NULL: that of this process */
	struct call_words command;
	struct call_words headers;
	struct call_words environment; /* empty: that of this process */
};

/* Reads TARGET. Raises cli.usage, and what reading the file raises. */
FW_NODISCARD fw_error *cli_call_target_read(const char *text, struct call_target *ret_target);
/* Adds a header "Name: value" or a variable "NAME=value". */
FW_NODISCARD fw_error *cli_call_target_header(struct call_target *target, const char *line);
FW_NODISCARD fw_error *cli_call_target_variable(struct call_target *target,
						const char *variable);
void cli_call_target_clear(struct call_target *target);

#endif

/*
 * man_markdown.h - the configuration reference.
 */
#ifndef FW_CLI_COMMANDS_MAN_MARKDOWN_H
#define FW_CLI_COMMANDS_MAN_MARKDOWN_H

#include "cli/command.h"

/** Prints all commands and options as Markdown. */
void cli_put_markdown(void);

#endif

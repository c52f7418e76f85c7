/*
 * call_input.h - the arguments of a tool, from words of the command line and its schema.
 */
#ifndef FW_CLI_COMMANDS_CALL_INPUT_H
#define FW_CLI_COMMANDS_CALL_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include <yyjson.h>

#include <faultwire/faultwire.h>

/*
 * Makes a JSON object of words: key=value, key:=json, or an object. A value has the type
 * that the schema of `tool` gives it. The caller frees the text with free(). Raises
 * cli.usage: for any other word, a value that is not of its type, and for
 * required arguments that are missing. `tool` NULL: no schema is known.
 */
FW_NODISCARD fw_error *cli_call_input_read(yyjson_val *tool, char **words, size_t count,
					   char **ret_json);

/* Prints "path=STRING [limit:=INTEGER]" to standard output. */
void cli_call_input_usage(yyjson_val *tool);

#endif

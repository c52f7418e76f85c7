/*
 * json_out.h - writes JSON, for commands with --json.
 *
 * The functions return nothing, as in output.h, and add commas where needed.
 */
#ifndef FW_CLI_TERMINAL_JSON_OUT_H
#define FW_CLI_TERMINAL_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/faultwire.h>

/** `key` NULL: an element of an array, or the outermost value. */
void cli_json_open(const char *key, char bracket);        /**< '{' or '[' */
void cli_json_close(char bracket);                        /**< '}' or ']' */
void cli_json_string(const char *key, const char *value); /**< NULL: null */
void cli_json_number(const char *key, int64_t value);
void cli_json_bool(const char *key, bool value);
/** JSON text, unchanged. */
void cli_json_raw(const char *key, const char *json);
/** `err` in `contract`, without a newline. */
void cli_json_error(const char *key, const fw_error *err, fw_contract contract);
/** A newline after the outermost value; a new value follows. */
void cli_json_line_end(void);

#endif

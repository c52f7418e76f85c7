/*
 * json_out.h - just enough JSON for what the commands print with --json.
 *
 * Straight-line writers, as in output.h; commas are put by the writer itself.
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
/** JSON text as it is. */
void cli_json_raw(const char *key, const char *json);
/** `err` in `contract`, without a newline. */
void cli_json_error(const char *key, const fw_error *err, fw_contract contract);
/** A newline behind the outermost value: the next one is a value of its own. */
void cli_json_line_end(void);

#endif

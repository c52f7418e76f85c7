/*
 * row_json.h - a registry row as JSON: in `registry --json` and `explain --json`.
 */
#ifndef FW_CLI_COMMANDS_ROW_JSON_H
#define FW_CLI_COMMANDS_ROW_JSON_H

#include <faultwire/registry.h>

/** The row as one object: the members of a file for --registry, and its projections. */
void cli_row_json(const char *key, const fw_row *row);

/** {"kaiza":"FILE_NOT_FOUND",...}: its code in each contract. */
void cli_row_contracts_json(const char *key, const fw_row *row);

/** "string", "i64": the name of a parameter's type. */
const char *cli_param_type_name(fw_param_type type);

#endif

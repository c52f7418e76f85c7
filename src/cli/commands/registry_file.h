/*
 * registry_file.h - the value of --registry: a user's own codes.
 */
#ifndef FW_CLI_COMMANDS_REGISTRY_FILE_H
#define FW_CLI_COMMANDS_REGISTRY_FILE_H

#include <stdbool.h>

#include <faultwire/faultwire.h>

/**
 * Load `path`; NULL gives NULL, the built-in registry. What is wrong with the
 * file is reported here, every row of it; the answer is then false.
 */
bool cli_registry_load(const char *path, fw_registry **ret_registry);

#endif

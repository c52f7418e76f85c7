/*
 * registry_file.h - the value of --registry: a user's own codes.
 */
#ifndef FW_CLI_COMMANDS_REGISTRY_FILE_H
#define FW_CLI_COMMANDS_REGISTRY_FILE_H

#include <stdbool.h>

#include <faultwire/faultwire.h>

/**
 * Loads `path`; if it is NULL, `*ret_registry` is NULL: the built-in registry. If rows are
 * invalid, reports each of them and returns false.
 */
bool cli_registry_load(const char *path, fw_registry **ret_registry);

#endif

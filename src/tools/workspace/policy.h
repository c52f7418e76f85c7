/*
 * policy.h - rules for the content of files: regular expressions that must not match,
 * for the paths that a glob matches.
 *
 * A rules file is JSON: an array of
 *	{"id": "no-tabs", "globs": ["src/"], "except": ["src/old/"],
 *	 "pattern": "\\t", "message": "why", "set": "rust"}
 * of which `except`, `message` and `set` are optional. Matching is bounded: if the limits
 * are exceeded, the file is refused.
 *
 * The one rule to remember: rules are compiled before the server runs and never change
 * afterwards.
 */
#ifndef FW_TOOLS_WORKSPACE_POLICY_H
#define FW_TOOLS_WORKSPACE_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#include <faultwire/error.h>

struct fw_ws_policy;

/* The built-in rules, as JSON. */
extern const char fw_ws_policy_default[];

/* `json` is a rules file. Raises input.invalid_value, which names the rule and the
 * fault, input.invalid_format, internal.out_of_memory. */
FW_NODISCARD fw_error *fw_ws_policy_new(const char *json, size_t len,
					struct fw_ws_policy **ret_policy);
void fw_ws_policy_free(struct fw_ws_policy *policy);

/* Raises policy.violation or policy.rust_violation for the first line that
 * violates a rule. */
FW_NODISCARD fw_error *fw_ws_policy_check(const struct fw_ws_policy *policy, const char *path,
					  const char *text, size_t len);

#endif

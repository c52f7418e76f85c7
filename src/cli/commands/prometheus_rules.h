/*
 * prometheus_rules.h - alerting rules for Prometheus, generated from the registry.
 */
#ifndef FW_CLI_COMMANDS_PROMETHEUS_RULES_H
#define FW_CLI_COMMANDS_PROMETHEUS_RULES_H

#include <faultwire/faultwire.h>

/** Prints YAML, one rule per code. */
void cli_put_prometheus_rules(const fw_registry *registry);

#endif

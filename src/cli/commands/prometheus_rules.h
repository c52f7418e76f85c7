/*
 * prometheus_rules.h - alerting rules for Prometheus, made from the registry.
 */
#ifndef FW_CLI_COMMANDS_PROMETHEUS_RULES_H
#define FW_CLI_COMMANDS_PROMETHEUS_RULES_H

#include <faultwire/faultwire.h>

/** On standard output, as YAML: one rule for each code. */
void cli_put_prometheus_rules(const fw_registry *registry);

#endif

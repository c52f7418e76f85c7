/*
 * prometheus_rules.c - see prometheus_rules.h.
 *
 * The rules say the same as src/policy/alert.c does in the server. They do not
 * use increase(): it extrapolates, so that five events may look like more than
 * five, and it does not see the first event of a series at all. The difference
 * to five minutes ago is exact; it needs two further cases. A counter that is
 * less than it was began anew. One that was not there counts from nothing, but
 * only where the server was watched five minutes ago, or has not run for that
 * long: else all that it ever counted would look new.
 */
#include "cli/commands/prometheus_rules.h"

#include <string.h>

#include "cli/terminal/json_out.h"
#include "cli/terminal/output.h"
#include "observe/alert_text.h"
#include "policy/alert.h"

enum { WINDOW_MINUTES = FW_ALERT_WINDOW_MS / 60000 };

static void put_expression(const fw_row *row)
{
	int borne = row->severity == FW_CRITICAL ? 0 : FW_ALERT_WARNINGS;
	const char *code = row->code;

	cli_puts("    expr: |-\n");
	cli_printf("      faultwire_alert_events_total{code=\"%s\"}\n"
		   "        - faultwire_alert_events_total{code=\"%s\"} offset %dm > %d\n",
		   code, code, WINDOW_MINUTES, borne);
	cli_printf("      or (faultwire_alert_events_total{code=\"%s\"}\n"
		   "        < faultwire_alert_events_total{code=\"%s\"} offset %dm) > %d\n",
		   code, code, WINDOW_MINUTES, borne);
	cli_printf(
		"      or ((faultwire_alert_events_total{code=\"%s\"}\n"
		"        unless faultwire_alert_events_total{code=\"%s\"} offset %dm) > %d)\n",
		code, code, WINDOW_MINUTES, borne);
	cli_printf("        and on (job, instance) (faultwire_build_info offset %dm\n"
		   "          or process_start_time_seconds > time() - %d)\n",
		   WINDOW_MINUTES, WINDOW_MINUTES * 60);
}

static void put_annotation(const char *name, const char *text)
{
	cli_printf("      %s: \"", name);
	for (; *text; text++) {
		if (*text == '\n') {
			cli_puts("\\n");
			continue;
		}
		if (*text == '"' || *text == '\\')
			cli_putc('\\');
		cli_putc(*text);
	}
	cli_puts("\"\n");
}

static void put_rule(const fw_row *row)
{
	char name[FW_ALERT_NAME_SIZE];

	fw_alert_name(row, name);
	cli_printf("  - alert: %s\n", name);
	put_expression(row);
	cli_printf("    labels:\n      severity: %s\n    annotations:\n",
		   fw_severity_name(row->severity));
	put_annotation("summary", row->title);
	put_annotation("description", row->hint);
}

static void put_group(const fw_registry *registry, fw_severity severity)
{
	const fw_row *row;

	cli_printf("- name: faultwire-%s\n  rules:\n", fw_severity_name(severity));
	for (size_t i = 0; (row = fw_registry_at(registry, i)); i++)
		if (row->severity == severity)
			put_rule(row);
}

void cli_put_prometheus_rules(const fw_registry *registry)
{
	cli_printf("# Made by faultwire %s: faultwire registry --prometheus-rules\n"
		   "# A critical code alerts on a single event, a warning on more than %d in\n"
		   "# %d minutes, for each client.\ngroups:\n",
		   fw_version(), FW_ALERT_WARNINGS, WINDOW_MINUTES);
	put_group(registry, FW_CRITICAL);
	put_group(registry, FW_WARNING);
}

/*
 * status.c - the state of upstreams for /metrics and /readyz. The labels are the names of
 * the configuration, of which there are at most FW_GATE_UPSTREAMS.
 */
#include <stdio.h>
#include <string.h>

#include "gate/gate_impl.h"
#include "mcp/page.h"
#include "observe/metrics/metrics.h"

/* ---- metrics --------------------------------------------------------------------------- */

/* The upstream with this index, among `kinds` numbers of each. */
static bool find(const struct fw_gate *gate, size_t index, size_t kinds,
		 struct fw_gate_status *ret_status, const char *ret_labels[2])
{
	if (!fw_gate_status(gate, index / kinds, ret_status))
		return false;
	ret_labels[0] = ret_status->name;
	return true;
}

static bool each_up(void *ctx, size_t index, const char *ret_labels[2], double *ret_value)
{
	struct fw_gate_status status;

	if (!find(ctx, index, 1, &status, ret_labels))
		return false;
	*ret_value = status.is_up;
	return true;
}

static bool each_in_flight(void *ctx, size_t index, const char *ret_labels[2],
			   double *ret_value)
{
	struct fw_gate_status status;

	if (!find(ctx, index, 1, &status, ret_labels))
		return false;
	*ret_value = (double)status.in_flight;
	return true;
}

static bool each_restart(void *ctx, size_t index, const char *ret_labels[2], double *ret_value)
{
	struct fw_gate_status status;

	if (!find(ctx, index, 1, &status, ret_labels))
		return false;
	*ret_value = status.connects ? (double)(status.connects - 1) : 0;
	return true;
}

static bool each_change(void *ctx, size_t index, const char *ret_labels[2], double *ret_value)
{
	struct fw_gate_status status;

	if (!find(ctx, index, 1, &status, ret_labels))
		return false;
	*ret_value = (double)status.changed_tools;
	return true;
}

static bool each_breaker(void *ctx, size_t index, const char *ret_labels[2], double *ret_value)
{
	static const char *const names[] = { "closed", "open", "half_open" };
	struct fw_gate_status status;
	size_t state;

	if (!find(ctx, index, 3, &status, ret_labels))
		return false;
	state = !status.is_suspended ? 0 : status.is_tried ? 2 : 1;
	ret_labels[1] = names[index % 3];
	*ret_value = state == index % 3;
	return true;
}

static bool each_outcome(void *ctx, size_t index, const char *ret_labels[2], double *ret_value)
{
	static const char *const names[FW_GATE_OUTCOMES] = { "ok", "failed", "broken",
							     "refused" };
	struct fw_gate_status status;

	if (!find(ctx, index, FW_GATE_OUTCOMES, &status, ret_labels))
		return false;
	ret_labels[1] = names[index % FW_GATE_OUTCOMES];
	*ret_value = (double)status.outcomes[index % FW_GATE_OUTCOMES];
	return true;
}

static bool each_dropped(void *ctx, size_t index, const char *ret_labels[2], double *ret_value)
{
	static const char *const names[] = { "late", "stray", "unmatched" };
	struct fw_gate_status status;

	if (!find(ctx, index, 3, &status, ret_labels))
		return false;
	ret_labels[1] = names[index % 3];
	*ret_value = (double)(index % 3 == 0   ? status.late
			      : index % 3 == 1 ? status.stray
					       : status.unmatched);
	return true;
}

static const struct fw_metrics_source sources[] = {
	{ "faultwire_upstream_up",
	  "Whether the upstream is connected and has answered the handshake.",
	  false,
	  { "upstream", NULL },
	  each_up,
	  NULL },
	{ "faultwire_upstream_breaker",
	  "State of the breaker of the upstream: 1 for the one that it is in.",
	  false,
	  { "upstream", "state" },
	  each_breaker,
	  NULL },
	{ "faultwire_upstream_in_flight",
	  "Requests of clients that are on their way to the upstream.",
	  false,
	  { "upstream", NULL },
	  each_in_flight,
	  NULL },
	{ "faultwire_upstream_restarts_total",
	  "Connections to the upstream after the first.",
	  true,
	  { "upstream", NULL },
	  each_restart,
	  NULL },
	{ "faultwire_upstream_requests_total",
	  "Requests of clients to the upstream, by how they ended.",
	  true,
	  { "upstream", "outcome" },
	  each_outcome,
	  NULL },
	{ "faultwire_upstream_dropped_total",
	  "Messages of the upstream that no request waited for, and lines that are no message.",
	  true,
	  { "upstream", "reason" },
	  each_dropped,
	  NULL },
	{ "faultwire_upstream_tool_changes_total",
	  "Definitions of tools that have changed while the gateway ran, or differ from their "
	  "pin.",
	  true,
	  { "upstream", NULL },
	  each_change,
	  NULL },
};

/* ---- readiness --------------------------------------------------------------------------- */

static bool has_any(const struct fw_gate *gate)
{
	for (size_t i = 0; i < gate->count; i++)
		if (!gate->upstreams[i].fault)
			return true;
	return false;
}

/* Anybody may read the page, so it names the code, and no command or address. */
static bool check_upstream(void *ctx, char *text, size_t size)
{
	const struct fw_upstream *upstream = ctx;
	const char *name = upstream->entry->target.name;
	const char *suspended = upstream->breaker.is_open ? ", suspended" : "";

	if (fw_remote_state(upstream->remote) == FW_REMOTE_READY)
		(void)snprintf(text, size, "upstream %s: up%s", name, suspended);
	else if (upstream->fault)
		(void)snprintf(text, size, "upstream %s: down (%s)%s", name,
			       fw_error_name(upstream->fault), suspended);
	else
		(void)snprintf(text, size, "upstream %s: not connected%s", name, suspended);
	return has_any(upstream->gate);
}

fw_error *fw_gate_observe(struct fw_gate *gate, struct fw_metrics *metrics)
{
	for (size_t i = 0; metrics && i < sizeof sources / sizeof *sources; i++) {
		struct fw_metrics_source source = sources[i];

		source.ctx = gate;
		FW_TRY(fw_metrics_add_source(metrics, &source));
	}
	for (size_t i = 0; i < gate->count; i++)
		FW_TRY(fw_server__add_check(gate->relay.server, check_upstream,
					    &gate->upstreams[i]));
	return NULL;
}

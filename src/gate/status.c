/*
 * status.c - the state of upstreams for /metrics and /readyz. The labels are the
 * upstreams' names in the configuration, so there are at most FW_GATE_UPSTREAMS of them.
 */
#include <stdio.h>
#include <string.h>

#include "gate/gate_impl.h"
#include "mcp/page.h"
#include "observe/metrics/metrics.h"

/* ---- metrics --------------------------------------------------------------------------- */

/* Finds the upstream of a sample, if there are `kinds` samples per upstream. */
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

static uint64_t restarts_of(const struct fw_gate_status *status)
{
	return status->connects ? status->connects - 1 : 0;
}

static bool each_restart(void *ctx, size_t index, const char *ret_labels[2], double *ret_value)
{
	struct fw_gate_status status;

	if (!find(ctx, index, 1, &status, ret_labels))
		return false;
	*ret_value = (double)restarts_of(&status);
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

static const char *const breaker_names[] = { "closed", "open", "half_open" };
static const char *const outcome_names[FW_GATE_OUTCOMES] = { "ok", "failed", "broken",
							     "refused" };

/* The state of the breaker, as an index into breaker_names. */
static size_t breaker_of(const struct fw_gate_status *status)
{
	return !status->is_suspended ? 0 : status->is_tried ? 2 : 1;
}

static bool each_breaker(void *ctx, size_t index, const char *ret_labels[2], double *ret_value)
{
	struct fw_gate_status status;

	if (!find(ctx, index, 3, &status, ret_labels))
		return false;
	ret_labels[1] = breaker_names[index % 3];
	*ret_value = breaker_of(&status) == index % 3;
	return true;
}

static bool each_outcome(void *ctx, size_t index, const char *ret_labels[2], double *ret_value)
{
	struct fw_gate_status status;

	if (!find(ctx, index, FW_GATE_OUTCOMES, &status, ret_labels))
		return false;
	ret_labels[1] = outcome_names[index % FW_GATE_OUTCOMES];
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

/* ---- the dashboard ----------------------------------------------------------------------- */

static void put_upstream(struct fw_buf *out, const struct fw_gate_status *status)
{
	FW_BUF(out, "{\"name\":");
	fw_buf_json_str(out, status->name);
	fw_buf_json_key(out, "state");
	fw_buf_json_str(out, status->is_up ? "up" : status->fault ? "down" : "not_connected");
	if (status->fault) {
		fw_buf_json_key(out, "code");
		fw_buf_json_str(out, fw_error_name(status->fault));
		fw_buf_json_key(out, "message");
		fw_buf_json_str(out, fw_error_message(status->fault));
	}
	fw_buf_json_key(out, "breaker");
	fw_buf_json_str(out, breaker_names[breaker_of(status)]);
	fw_buf_json_key(out, "in_flight");
	fw_buf_i64(out, (int64_t)status->in_flight);
	fw_buf_json_key(out, "restarts");
	fw_buf_i64(out, (int64_t)restarts_of(status));
	fw_buf_json_key(out, "requests");
	for (size_t i = 0; i < FW_GATE_OUTCOMES; i++) {
		if (i == 0)
			FW_BUF(out, "{\"ok\":");
		else
			fw_buf_json_key(out, outcome_names[i]);
		fw_buf_i64(out, (int64_t)status->outcomes[i]);
	}
	FW_BUF(out, "}}");
}

void fw_gate_put_status(void *ctx, struct fw_buf *out)
{
	const struct fw_gate *gate = ctx;
	struct fw_gate_status status;

	FW_BUF(out, "[");
	for (size_t i = 0; fw_gate_status(gate, i, &status); i++) {
		if (i)
			FW_BUF(out, ",");
		put_upstream(out, &status);
	}
	FW_BUF(out, "]");
}

/* ---- readiness --------------------------------------------------------------------------- */

static bool has_any(const struct fw_gate *gate)
{
	for (size_t i = 0; i < gate->count; i++)
		if (!gate->upstreams[i].fault)
			return true;
	return false;
}

/* The page is public, so it has the error code, but no command or address. */
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

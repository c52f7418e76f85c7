/*
 * fleet_state.c - what a server shares with other replicas, for the overview of the
 * dashboard: can it be reached, since when not, and what is decided here meanwhile.
 */
#include <string.h>

#include "cli/serve/api.h"
#include "fleet/fleet.h"
#include "govern/govern.h"
#include "store/store.h"

static void put_number(struct fw_buf *out, const char *name, int64_t number)
{
	FW_BUF(out, ",\"");
	fw_buf_str(out, name);
	FW_BUF(out, "\":");
	fw_buf_i64(out, number);
}

static void put_state(struct fw_buf *out, bool is_up)
{
	if (is_up)
		FW_BUF(out, "{\"state\":\"up\"");
	else
		FW_BUF(out, "{\"state\":\"away\"");
}

static bool is_shared(const cli_args *args, enum serve_option option)
{
	const char *url = serve_database(args, option);

	return url && fw_store_is_shared(url);
}

/* The first of the two that noticed it. */
static int64_t away_since(const struct fw_incidents_health *incidents,
			  const struct fw_govern_health *govern)
{
	if (!incidents->is_down)
		return govern->lost_unix_ms;
	if (!govern->is_store_lost || incidents->down_unix_ms < govern->lost_unix_ms)
		return incidents->down_unix_ms;
	return govern->lost_unix_ms;
}

static void put_store(const struct serve_shared *shared, struct fw_buf *out)
{
	fw_incidents *recorder = shared->observers.observation.incidents;
	bool has_incidents = recorder && is_shared(shared->args, SERVE_INCIDENTS);
	struct fw_incidents_health incidents = { 0 };
	struct fw_govern_health govern = { 0 };
	bool is_away;

	if (has_incidents)
		incidents = fw_incidents_health(recorder);
	if (shared->govern)
		govern = fw_govern_health(shared->govern);
	govern.is_store_lost = govern.is_store_lost && govern.is_shared;
	is_away = incidents.is_down || govern.is_store_lost;
	put_state(out, !is_away);
	if (is_away)
		put_number(out, "since_ms", away_since(&incidents, &govern));
	put_number(out, "incidents_waiting", (int64_t)incidents.waiting);
	put_number(out, "incidents_waiting_bytes", (int64_t)incidents.disk_bytes);
	put_number(out, "incidents_lost", (int64_t)incidents.lost);
	if (!govern.is_shared)
		FW_BUF(out, ",\"tokens\":null}");
	else if (govern.refuses_tokens)
		FW_BUF(out, ",\"tokens\":\"refused\"}");
	else
		FW_BUF(out, ",\"tokens\":\"accepted\"}");
}

static void put_limits(const struct fw_fleet *fleet, struct fw_buf *out)
{
	struct fw_fleet_health health = fw_fleet_health(fleet);

	put_state(out, health.is_up);
	put_number(out, "since_ms", health.since_unix_ms);
	put_number(out, "replicas", (int64_t)health.replicas);
	FW_BUF(out, ",\"decisions\":{\"shared\":");
	fw_buf_i64(out, (int64_t)health.shared);
	put_number(out, "leased", (int64_t)health.leased);
	put_number(out, "local", (int64_t)health.local);
	FW_BUF(out, "}}");
}

void serve_put_fleet(void *ctx, struct fw_buf *out)
{
	const struct serve_shared *shared = ctx;
	bool has_store = serve_shared_store(shared->args) ||
			 is_shared(shared->args, SERVE_INCIDENTS) ||
			 is_shared(shared->args, SERVE_GOVERNANCE);

	if (!has_store && !shared->fleet) {
		FW_BUF(out, "null");
		return;
	}
	FW_BUF(out, "{\"store\":");
	if (has_store)
		put_store(shared, out);
	else
		FW_BUF(out, "null");
	FW_BUF(out, ",\"limits\":");
	if (shared->fleet)
		put_limits(shared->fleet, out);
	else
		FW_BUF(out, "null");
	FW_BUF(out, "}");
}

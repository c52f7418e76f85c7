/*
 * fleet.c - see fleet.h.
 */
#include "fleet/fleet.h"

#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "fleet/circuits.h"
#include "fleet/engine.h"
#include "fleet/journal.h"
#include "fleet/quota.h"
#include "fleet/roster.h"
#include "mcp/page.h"
#include "observe/metrics/metrics.h"

struct fw_fleet {
	struct fw_loop *loop;
	struct fw_engine *engine; /* NULL: closed */
	struct fw_quotas *quotas;
	struct fw_roster *roster;   /* NULL: none */
	struct fw_journal *journal; /* NULL: none */
	struct fw_circuits *circuits;
	uv_timer_t *timer; /* NULL: closed */
	uint64_t changed_ms;
	uint32_t wait_ms;
};

bool fw_fleet_name_is_valid(const char *name)
{
	size_t len = strspn(
		name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");

	return len && !name[len] && len <= FW_FLEET_NAME_MAX;
}

struct fw_quotas *fw_fleet_quotas(struct fw_fleet *fleet)
{
	return fleet->quotas;
}

fw_error *fw_fleet_add_breaker(struct fw_fleet *fleet, const char *url,
			       struct fw_breaker *breaker)
{
	return fw_circuits_add(fleet->circuits, url, breaker);
}

/* ---- readiness and metrics ----------------------------------------------------------------- */

static bool is_up(const struct fw_fleet *fleet)
{
	return fleet->engine && fw_engine_is_up(fleet->engine);
}

/* The first attempt has no result yet. */
static bool is_connecting(const struct fw_fleet *fleet, uint64_t since_ms)
{
	if (!fleet->engine || fw_engine_failures(fleet->engine) ||
	    since_ms >= FW_ENGINE_RETRY_MS)
		return false;
	return !fw_engine_is_up(fleet->engine) ||
	       (fleet->journal && !fw_journal_is_sharing(fleet->journal));
}

/* Public, so it does not name the engine. A server works without its engine, so it is ready
 * as soon as it knows whether the engine is up. */
static bool check(void *ctx, char *text, size_t size)
{
	const struct fw_fleet *fleet = ctx;
	size_t replicas = fw_quotas_replicas(fleet->quotas);
	uint64_t away_ms = uv_now(&fleet->loop->uv) - fleet->changed_ms;

	/* Until the first attempt has a result, a replica would refuse sessions of other replicas. */
	if (is_connecting(fleet, away_ms)) {
		(void)snprintf(text, size, "limits store: connecting");
		return false;
	}
	if (is_up(fleet))
		(void)snprintf(text, size, "limits store: up, %zu %s", replicas,
			       replicas == 1 ? "replica" : "replicas");
	else
		(void)snprintf(text, size,
			       "limits store: away for %llu s, limits are divided by %zu",
			       (unsigned long long)(away_ms / 1000), replicas);
	return true;
}

struct fw_fleet_health fw_fleet_health(const struct fw_fleet *fleet)
{
	return (struct fw_fleet_health){
		.is_up = is_up(fleet),
		.since_unix_ms =
			fw_unix_ms() - (int64_t)(uv_now(&fleet->loop->uv) - fleet->changed_ms),
		.replicas = fw_quotas_replicas(fleet->quotas),
		.shared = fw_quotas_decisions(fleet->quotas, FW_QUOTA_SHARED),
		.leased = fw_quotas_decisions(fleet->quotas, FW_QUOTA_LEASED),
		.local = fw_quotas_decisions(fleet->quotas, FW_QUOTA_LOCAL),
	};
}

static double read_up(void *ctx)
{
	return is_up(ctx);
}

static double read_replicas(void *ctx)
{
	const struct fw_fleet *fleet = ctx;

	return (double)fw_quotas_replicas(fleet->quotas);
}

static double read_failures(void *ctx)
{
	const struct fw_fleet *fleet = ctx;

	return fleet->engine ? (double)fw_engine_failures(fleet->engine) : 0;
}

static double read_breakers(void *ctx)
{
	const struct fw_fleet *fleet = ctx;

	return (double)fw_circuits_applied(fleet->circuits);
}

static bool each_way(void *ctx, size_t index, const char *ret_labels[2], double *ret_value)
{
	static const char *const names[FW_QUOTA_WAYS] = { "shared", "leased", "local" };
	const struct fw_fleet *fleet = ctx;

	if (index >= FW_QUOTA_WAYS)
		return false;
	ret_labels[0] = names[index];
	*ret_value = (double)fw_quotas_decisions(fleet->quotas, (enum fw_quota_way)index);
	return true;
}

static bool each_event(void *ctx, size_t index, const char *ret_labels[2], double *ret_value)
{
	static const char *const names[FW_JOURNAL_COUNTS] = {
		"kept", "lost", "resumed", "announced", "heard", "answered"
	};
	const struct fw_fleet *fleet = ctx;

	if (index >= FW_JOURNAL_COUNTS || !fleet->journal)
		return false;
	ret_labels[0] = names[index];
	*ret_value = (double)fw_journal_counted(fleet->journal, (enum fw_journal_count)index);
	return true;
}

fw_error *fw_fleet_observe(struct fw_fleet *fleet, struct fw_metrics *metrics)
{
	const struct fw_metrics_source decisions = {
		.name = "faultwire_fleet_decisions_total",
		.help = "Decisions on limits of clients, by who has made them: the engine, a "
			"lease, or this replica alone.",
		.is_counter = true,
		.labels = { "by", NULL },
		.each = each_way,
		.ctx = fleet,
	};
	const struct fw_metrics_source events = {
		.name = "faultwire_fleet_events_total",
		.help = "Events of legacy streams that were kept, lost, or read for a client "
			"that went on here; changes announced, and heard of; calls of "
			"replicas that have ended, answered here.",
		.is_counter = true,
		.labels = { "what", NULL },
		.each = each_event,
		.ctx = fleet,
	};

	FW_TRY(fw_metrics_gauge(metrics, "faultwire_fleet_engine_up",
				"Whether the engine that replicas share answers.", read_up,
				fleet));
	FW_TRY(fw_metrics_gauge(metrics, "faultwire_fleet_replicas",
				"Replicas that the engine knew when it was last asked.",
				read_replicas, fleet));
	FW_TRY(fw_metrics_counter(metrics, "faultwire_fleet_engine_failures_total",
				  "Connections to the engine that were lost or not made.",
				  read_failures, fleet));
	FW_TRY(fw_metrics_counter(metrics, "faultwire_fleet_breakers_total",
				  "Breakers of upstreams that were opened or closed because "
				  "of another replica.",
				  read_breakers, fleet));
	FW_TRY(fw_metrics_add_source(metrics, &events));
	return fw_metrics_add_source(metrics, &decisions);
}

/* ---- life -------------------------------------------------------------------------------------- */

static void on_changed(void *ctx, bool up)
{
	struct fw_fleet *fleet = ctx;

	fleet->changed_ms = uv_now(&fleet->loop->uv);
	fw_quotas_changed(fleet->quotas, up);
	if (fleet->journal)
		fw_journal_changed(fleet->journal, up);
}

static void on_timer(uv_timer_t *timer)
{
	struct fw_fleet *fleet = timer->data;

	fw_quotas_beat(fleet->quotas);
	if (fleet->journal)
		fw_journal_beat(fleet->journal);
	fw_circuits_beat(fleet->circuits);
}

static fw_error *start_timer(struct fw_fleet *fleet)
{
	fleet->timer = fw__allocate(sizeof *fleet->timer);
	if (!fleet->timer)
		return fw_raise_internal_out_of_memory();
	(void)uv_timer_init(&fleet->loop->uv, fleet->timer);
	fleet->timer->data = fleet;
	uv_unref((uv_handle_t *)fleet->timer);
	(void)uv_timer_start(fleet->timer, on_timer, FW_QUOTA_BEAT_MS, FW_QUOTA_BEAT_MS);
	return NULL;
}

static fw_error *start(struct fw_fleet *fleet, const struct fw_fleet_options *options)
{
	const struct fw_quotas_options limits = { .loop = options->loop,
						  .fleet = options->name,
						  .lease_ms = options->lease_ms };
	struct fw_engine_options engine = { .loop = options->loop,
					    .url = options->url,
					    .wait_ms = options->wait_ms,
					    .changed = on_changed,
					    .ctx = fleet };
	const struct fw_journal_options news = { .loop = options->loop,
						 .server = options->server,
						 .url = options->url,
						 .fleet = options->name,
						 .wait_ms = options->wait_ms };

	FW_TRY(fw_quotas_new(&limits, &fleet->quotas));
	engine.scripts = fw_quotas_scripts(fleet->quotas, &engine.script_count);
	FW_TRY(start_timer(fleet));
	FW_TRY(fw_engine_new(&engine, &fleet->engine));
	fw_quotas_set_engine(fleet->quotas, fleet->engine);
	FW_TRY(fw_circuits_new(options->loop, options->name, fleet->engine, &fleet->circuits));
	if (!options->server)
		return NULL;
	FW_TRY(fw_journal_new(&news, &fleet->journal));
	fw_journal_set_engine(fleet->journal, fleet->engine);
	FW_TRY(fw_roster_new(options->server, options->name, fleet->engine, fleet->journal,
			     &fleet->roster));
	return fw_server__add_check(options->server, check, fleet);
}

fw_error *fw_fleet_new(const struct fw_fleet_options *options, struct fw_fleet **ret_fleet)
{
	struct fw_fleet *fleet = fw__allocate(sizeof *fleet);
	fw_error *err;

	if (!fleet)
		return fw_raise_internal_out_of_memory();
	memset(fleet, 0, sizeof *fleet);
	fleet->loop = options->loop;
	fleet->wait_ms = options->wait_ms;
	fleet->changed_ms = uv_now(&options->loop->uv);
	err = start(fleet, options);
	if (err) {
		fw_fleet_close(fleet);
		fw_fleet_free(fleet);
		return err;
	}
	*ret_fleet = fleet;
	return NULL;
}

/* Waits for replies; bounded by the time limit of the engine. */
static void settle(struct fw_fleet *fleet)
{
	fw_engine_keep(fleet->engine, true);
	while (is_up(fleet) && fw_engine_is_busy(fleet->engine))
		(void)uv_run(&fleet->loop->uv, UV_RUN_ONCE);
	fw_engine_keep(fleet->engine, false);
}

static void on_timer_closed(uv_handle_t *handle)
{
	fw__release(handle);
}

void fw_fleet_close(struct fw_fleet *fleet)
{
	if (!fleet)
		return;
	if (fleet->timer)
		uv_close((uv_handle_t *)fleet->timer, on_timer_closed);
	fleet->timer = NULL;
	fw_quotas_close(fleet->quotas);
	if (fleet->engine) {
		settle(fleet);
		fw_roster_close(fleet->roster);
		fw_journal_close(fleet->journal);
		fw_circuits_close(fleet->circuits);
		fw_quotas_return(fleet->quotas);
		settle(fleet);
		fw_engine_free(fleet->engine);
		fw_quotas_set_engine(fleet->quotas, NULL);
	}
	fleet->engine = NULL;
}

void fw_fleet_free(struct fw_fleet *fleet)
{
	if (!fleet)
		return;
	fw_quotas_free(fleet->quotas);
	fw_roster_free(fleet->roster);
	fw_journal_free(fleet->journal);
	fw_circuits_free(fleet->circuits);
	fw__release(fleet);
}

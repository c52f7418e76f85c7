/*
 * govern_health.c - whether the store of tokens and budgets is away, for operators.
 */
#include <stdio.h>

#include "base/clock.h"
#include "govern/govern_impl.h"
#include "observe/metrics/metrics.h"

struct fw_govern_health fw_govern_health(const struct fw_govern *govern)
{
	return (struct fw_govern_health){
		.is_shared = govern->is_store_shared,
		.is_store_lost = govern->is_store_lost,
		.lost_unix_ms = govern->lost_unix_ms,
		.refuses_tokens = fw_govern__is_stale(govern),
	};
}

/* Anybody may read it, so it does not name the store. The server stays ready: other
 * replicas would not do better. */
bool fw_govern__check(void *ctx, char *text, size_t size)
{
	const struct fw_govern *govern = ctx;
	int64_t away_ms = fw_steady_ms() - govern->store_ok_ms;
	int64_t left_ms = govern->token_age_ms - away_ms;

	if (!govern->is_store_lost)
		return true;
	if (!govern->is_store_shared)
		(void)snprintf(text, size, "governance: the store cannot be used");
	else if (fw_govern__is_stale(govern))
		(void)snprintf(text, size,
			       "governance: the store is away for %lld s, tokens are refused",
			       (long long)(away_ms / 1000));
	else
		(void)snprintf(text, size,
			       "governance: the store is away for %lld s, known tokens are "
			       "accepted for %lld s more",
			       (long long)(away_ms / 1000), (long long)(left_ms / 1000));
	return true;
}

static double read_up(void *ctx)
{
	const struct fw_govern *govern = ctx;

	return !govern->is_store_lost;
}

static double read_failures(void *ctx)
{
	const struct fw_govern *govern = ctx;

	return (double)govern->poll_failures;
}

fw_error *fw_govern_observe(struct fw_govern *govern, struct fw_metrics *metrics)
{
	if (!govern->queue)
		return NULL;
	FW_TRY(fw_metrics_gauge(metrics, "faultwire_governance_store_up",
				"Whether the store of tokens and budgets answers.", read_up,
				govern));
	return fw_metrics_counter(metrics, "faultwire_governance_store_failures_total",
				  "Looks for changed tokens that have failed.", read_failures,
				  govern);
}

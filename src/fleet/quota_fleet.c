/*
 * quota_fleet.c - all quotas of a server together. How a replica reports itself and counts the
 * others, what happens when the engine comes up, and creation and end. See quota_impl.h.
 */
#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/id.h"
#include "base/mem.h"
#include "fleet/quota_impl.h"
#include "fleet/quota_script.h"
#include "fleet/words.h"

enum { RENEW_BEATS = 10 };

/* ---- the fleet ------------------------------------------------------------------------------------- */

static void on_beat(struct fw_engine_call *call, const struct redisReply *reply,
		    bool is_unknown)
{
	struct fw_quotas *quotas =
		(struct fw_quotas *)(void *)((char *)call - offsetof(struct fw_quotas, beat));
	int64_t count;

	(void)is_unknown;
	quotas->is_beating = false;
	if (fw_engine_reply_number(reply, 0, &count) && count > 0 &&
	    count <= FW_QUOTA_REPLICAS_MAX)
		quotas->replicas = (size_t)count;
}

static void send_beat(struct fw_quotas *quotas, const char *replica, const char *leaves)
{
	struct fw_words words;

	if (quotas->is_beating)
		return;
	fw_words_clear(&words);
	fw_words_key(&words, quotas->fleet, "replicas", "");
	fw_words_text(&words, replica);
	fw_words_number(&words, (uint64_t)FW_QUOTA_DEAD_MS * 1000000 / FW_QUOTA_UNIT_NS);
	fw_words_text(&words, leaves);
	quotas->beat.done = on_beat;
	quotas->is_beating = fw_engine_run(quotas->options.engine, &quotas->beat,
					   &quotas->scripts[FW_QUOTA_SCRIPT_BEAT], 1,
					   words.list, words.count);
}

void fw_quotas_beat(struct fw_quotas *quotas)
{
	uint64_t now_ms = uv_now(&quotas->options.loop->uv);
	/* This process was suspended, so the others may have considered it dead. */
	bool was_late = now_ms - quotas->beat_ms >= FW_QUOTA_DEAD_MS;
	struct fw_quota *next;
	bool renews;

	if (!fw_quotas__are_up(quotas))
		return;
	quotas->beat_ms = now_ms;
	send_beat(quotas, quotas->replica, "");
	/* The counts of this replica must not expire in the engine. */
	renews = ++quotas->beats % RENEW_BEATS == 0 || was_late;
	for (struct fw_quota *quota = quotas->held; quota; quota = next) {
		next = quota->next;
		if (renews || quota->released)
			fw_quota__release(quota);
	}
}

void fw_quotas_changed(struct fw_quotas *quotas, bool is_up)
{
	char before[FW_QUOTA_REPLICA_SIZE];
	struct fw_quota *next;

	if (!is_up)
		return;
	memcpy(before, quotas->replica, sizeof before);
	/* A new name: the counts under the old one expire in the engine with the old replica. */
	fw_random_hex(quotas->replica, sizeof quotas->replica);
	for (struct fw_quota *quota = quotas->held; quota; quota = next) {
		next = quota->next;
		quota->permits = 0;
		quota->tokens = 0;
		quota->released = 0;
		fw_quota__list(quota);
	}
	send_beat(quotas, quotas->replica, before);
}

void fw_quotas_return(struct fw_quotas *quotas)
{
	struct fw_quota *next;

	if (!fw_quotas__are_up(quotas))
		return;
	for (struct fw_quota *quota = quotas->held; quota; quota = next) {
		next = quota->next;
		fw_quota__end_lease(quota, true);
	}
	send_beat(quotas, "", quotas->replica);
}

struct fw_engine_script *fw_quotas_scripts(struct fw_quotas *quotas, size_t *ret_count)
{
	*ret_count = FW_QUOTA_SCRIPTS;
	return quotas->scripts;
}

void fw_quotas_set_engine(struct fw_quotas *quotas, struct fw_engine *engine)
{
	quotas->options.engine = engine;
}

void fw_quotas_set_decided(struct fw_quotas *quotas,
			   void (*decided)(void *ctx, struct fw_quota *quota,
					   const struct fw_quota_answer *answer),
			   void *ctx)
{
	quotas->options.decided = decided;
	quotas->options.ctx = ctx;
}

size_t fw_quotas_replicas(const struct fw_quotas *quotas)
{
	return quotas->replicas;
}

uint64_t fw_quotas_decisions(const struct fw_quotas *quotas, enum fw_quota_way way)
{
	return quotas->decisions[way];
}

/* ---- life --------------------------------------------------------------------------------------------- */

static void on_timer_closed(uv_handle_t *handle)
{
	fw__release(handle);
}

fw_error *fw_quotas_new(const struct fw_quotas_options *options, struct fw_quotas **ret_quotas)
{
	struct fw_quotas *quotas = fw__allocate(sizeof *quotas);
	uint64_t tick_ms = options->lease_ms / 2 ? options->lease_ms / 2 : 1;

	if (!quotas)
		return fw_raise_internal_out_of_memory();
	memset(quotas, 0, sizeof *quotas);
	quotas->options = *options;
	(void)snprintf(quotas->fleet, sizeof quotas->fleet, "%s", options->fleet);
	fw_random_hex(quotas->replica, sizeof quotas->replica);
	quotas->scripts[FW_QUOTA_SCRIPT_RATE].text = FW_QUOTA_RATE;
	quotas->scripts[FW_QUOTA_SCRIPT_TAKE].text = FW_QUOTA_TAKE;
	quotas->scripts[FW_QUOTA_SCRIPT_GIVE].text = FW_QUOTA_GIVE;
	quotas->scripts[FW_QUOTA_SCRIPT_BEAT].text = FW_QUOTA_BEAT;
	quotas->replicas = 1;
	if (options->lease_ms) {
		quotas->timer = fw__allocate(sizeof *quotas->timer);
		if (!quotas->timer) {
			fw__release(quotas);
			return fw_raise_internal_out_of_memory();
		}
		(void)uv_timer_init(&options->loop->uv, quotas->timer);
		quotas->timer->data = quotas;
		uv_unref((uv_handle_t *)quotas->timer);
		(void)uv_timer_start(quotas->timer, fw_quotas__end_leases, tick_ms, tick_ms);
	}
	*ret_quotas = quotas;
	return NULL;
}

void fw_quotas_close(struct fw_quotas *quotas)
{
	if (!quotas || !quotas->timer)
		return;
	uv_close((uv_handle_t *)quotas->timer, on_timer_closed);
	quotas->timer = NULL;
}

void fw_quotas_free(struct fw_quotas *quotas)
{
	if (!quotas)
		return;
	while (quotas->unused) {
		struct fw_quota_ask *unused = quotas->unused;

		quotas->unused = unused->next;
		fw__release(unused);
	}
	fw__release(quotas);
}

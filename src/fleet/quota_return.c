/*
 * quota_return.c - gives back to the engine what a replica holds of a client's limits: calls
 * that have ended, and the unused part of a lease. See quota_impl.h.
 */
#include "fleet/quota_impl.h"

#include <string.h>

#include "base/mem.h"
#include "fleet/words.h"

/* Reports ended calls and unused tokens to the engine. */
struct give {
	struct fw_engine_call call; /* must be first */
	struct fw_quotas *quotas;
	struct fw_quota *quota; /* NULL: the quota was freed */
	char key[FW_QUOTA_KEY_SIZE];
	uint64_t each;
	uint64_t tokens;
	uint32_t ended;
	uint32_t counted;
};

uint64_t fw_quota__each(const struct fw_quota_limits *limits)
{
	uint64_t each = (limits->every_ns + FW_QUOTA_UNIT_NS / 2) / FW_QUOTA_UNIT_NS;

	return limits->every_ns && !each ? 1 : each;
}

/* ---- those that hold something ------------------------------------------------------------- */

void fw_quota__list(struct fw_quota *quota)
{
	struct fw_quotas *quotas = quota->quotas;
	bool holds = quota->running || quota->permits || quota->tokens || quota->released;

	if (holds == quota->is_listed)
		return;
	quota->is_listed = holds;
	if (holds) {
		quota->previous = NULL;
		quota->next = quotas->held;
		if (quota->next)
			quota->next->previous = quota;
		quotas->held = quota;
		return;
	}
	if (quota->previous)
		quota->previous->next = quota->next;
	else
		quotas->held = quota->next;
	if (quota->next)
		quota->next->previous = quota->previous;
}

uint32_t fw_quota__counted(const struct fw_quota *quota)
{
	return quota->permits > quota->running ? quota->permits : quota->running;
}

/* ---- giving back ----------------------------------------------------------------------------- */

static bool send_give(struct give *give);

static void on_given(struct fw_engine_call *call, const struct redisReply *reply,
		     bool is_unknown)
{
	struct give *give = (struct give *)(void *)call;
	struct fw_quota *quota = give->quota;
	uint32_t ended = give->ended;
	int64_t left;

	if (is_unknown && send_give(give))
		return;
	fw__release(give);
	if (!quota)
		return;
	quota->is_releasing = false;
	if (!reply) {
		/* After a reconnect the engine counts this replica from zero. */
		quota->released = 0;
	} else if (!fw_engine_reply_number(reply, 0, &left)) {
		/* Refused, for example because the engine is out of memory: the next beat retries. */
		quota->released += ended;
	} else if (quota->released) {
		fw_quota__release(quota);
	}
	fw_quota__list(quota);
}

static bool send_give(struct give *give)
{
	struct fw_quotas *quotas = give->quotas;
	struct fw_words words;

	fw_words_clear(&words);
	fw_words_key(&words, quotas->fleet, "bucket:", give->key);
	fw_words_key(&words, quotas->fleet, "calls:", give->key);
	fw_words_number(&words, give->each);
	fw_words_number(&words, give->tokens);
	fw_words_number(&words, give->ended);
	fw_words_text(&words, quotas->replica);
	fw_words_number(&words, give->counted);
	fw_words_number(&words, FW_QUOTA_CALLS_TTL_MS);
	return fw_engine_run(quotas->options.engine, &give->call,
			     &quotas->scripts[FW_QUOTA_SCRIPT_GIVE], 2, words.list,
			     words.count);
}

bool fw_quota__give_back(struct fw_quota *quota, uint64_t tokens, uint32_t ended, bool is_last)
{
	struct give *give = fw__allocate(sizeof *give);

	if (!give)
		return false;
	*give = (struct give){ .call.done = on_given,
			       .quotas = quota->quotas,
			       .quota = is_last ? NULL : quota,
			       .each = fw_quota__each(&quota->limits),
			       .tokens = tokens,
			       .ended = ended,
			       .counted = fw_quota__counted(quota) };
	memcpy(give->key, quota->key, sizeof give->key);
	if (send_give(give))
		return true;
	fw__release(give);
	return false;
}

void fw_quota__release(struct fw_quota *quota)
{
	uint32_t ended = quota->released;

	if (quota->is_releasing || !quota->limits.concurrent)
		return;
	quota->is_releasing = fw_quota__give_back(quota, 0, ended, false);
	if (quota->is_releasing)
		quota->released = 0;
	fw_quota__list(quota);
}

void fw_quota__end_lease(struct fw_quota *quota, bool is_last)
{
	uint64_t tokens = quota->tokens;
	uint32_t spare = quota->permits > quota->running ? quota->permits - quota->running : 0;

	if ((!tokens && !spare) || (!is_last && quota->is_releasing))
		return;
	quota->tokens = 0;
	quota->permits -= spare;
	if (fw_quota__give_back(quota, tokens, spare, is_last) && !is_last)
		quota->is_releasing = true;
	fw_quota__list(quota);
}

void fw_quotas__end_leases(uv_timer_t *timer)
{
	struct fw_quotas *quotas = timer->data;
	uint64_t now_ns = uv_hrtime();
	struct fw_quota *next;

	for (struct fw_quota *quota = quotas->held; quota; quota = next) {
		next = quota->next;
		/* Calls that wait for a decision may use it. */
		if (now_ns >= quota->lease_until_ns && !quota->asks)
			fw_quota__end_lease(quota, false);
	}
}

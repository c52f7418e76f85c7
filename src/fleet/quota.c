/*
 * quota.c - decides on a call; see quota.h. quota_script.h has what the engine runs.
 *
 * An ask is a script in progress that decides on the oldest calls of a client. Calls that
 * come while FW_QUOTA_ASKS are in progress are decided together by the next one.
 */
#include "fleet/quota.h"

#include <string.h>

#include "base/digest.h"
#include "base/mem.h"
#include "fleet/quota_impl.h"
#include "fleet/words.h"

enum {
	UNITS_PER_MS = 1000000 / FW_QUOTA_UNIT_NS,
	BUCKET_TTL_MS = 1000, /* of a bucket, after it is full again */
	DRY_MS = 1000,        /* a bucket that is empty is asked again after this time */
	/* A lease is at most this fraction of a limit, divided among the replicas. */
	LEASE_PARTS = 8
};

/* ---- decisions of this replica alone --------------------------------------------------------- */

static size_t at_least_one(size_t number)
{
	return number ? number : 1;
}

/* Applies the share of the limits that one replica has. */
static bool decide_locally(struct fw_quota *quota, uint64_t now_ns,
			   struct fw_quota_answer *ret_answer)
{
	const struct fw_quotas *quotas = quota->quotas;
	const struct fw_quota_limits *limits = &quota->limits;
	uint64_t every_ns = limits->every_ns * quotas->replicas;
	uint64_t burst = at_least_one(limits->burst / quotas->replicas);

	*ret_answer = (struct fw_quota_answer){ .count = 1, .reason = FW_QUOTA_TOO_MANY };
	if (limits->concurrent &&
	    quota->running >= at_least_one(limits->concurrent / quotas->replicas))
		return false;
	if (every_ns && !fw_rate_take_each(&quota->share, every_ns, burst, now_ns)) {
		ret_answer->reason = FW_QUOTA_TOO_FAST;
		ret_answer->wait_ns =
			fw_rate_wait_each_ns(&quota->share, every_ns, burst, now_ns);
		return false;
	}
	ret_answer->granted = 1;
	return true;
}

static void grant(struct fw_quota *quota, size_t count)
{
	quota->running += (uint32_t)count;
	fw_quota__list(quota);
}

static void count_decisions(struct fw_quotas *quotas, enum fw_quota_way way, size_t count)
{
	quotas->decisions[way] += count;
}

/* The engine is down: decides the calls that wait for it. */
static void decide_waiting(struct fw_quota *quota, size_t count)
{
	struct fw_quotas *quotas = quota->quotas;

	while (count--) {
		struct fw_quota_answer answer;

		if (decide_locally(quota, uv_hrtime(), &answer))
			grant(quota, 1);
		count_decisions(quotas, FW_QUOTA_LOCAL, 1);
		quotas->options.decided(quotas->options.ctx, quota, &answer);
	}
}

/* ---- leases ----------------------------------------------------------------------------------- */

static uint64_t lease_of(const struct fw_quotas *quotas, uint64_t limit)
{
	return at_least_one(limit / (LEASE_PARTS * quotas->replicas));
}

/* Spends a token of the lease. */
static bool spend(struct fw_quota *quota, uint64_t now_ns)
{
	const struct fw_quota_limits *limits = &quota->limits;

	if (limits->concurrent && quota->permits <= quota->running)
		return false;
	if (limits->every_ns) {
		if (!quota->tokens || now_ns >= quota->lease_until_ns)
			return false;
		quota->tokens--;
	}
	grant(quota, 1);
	return true;
}

/* ---- asking ------------------------------------------------------------------------------------ */

static void ask(struct fw_quota *quota);

static struct fw_quota_ask *ask_new(struct fw_quotas *quotas)
{
	struct fw_quota_ask *found = quotas->unused;

	if (found)
		quotas->unused = found->next;
	else
		found = fw__allocate(sizeof *found);
	if (found)
		memset(found, 0, sizeof *found);
	return found;
}

static void ask_free(struct fw_quotas *quotas, struct fw_quota_ask *ask)
{
	ask->next = quotas->unused;
	quotas->unused = ask;
}

/* Reads and checks a reply of the engine: it must not grant more than was asked for. */
static bool read_reply(const struct fw_quota_ask *ask, const struct redisReply *reply,
		       uint64_t *ret_tokens, uint32_t *ret_permits, uint64_t *ret_wait_ns)
{
	int64_t tokens, permits, wait;

	if (fw_engine_reply_is_number(reply, &wait)) {
		tokens = (int64_t)ask->tokens;
		permits = ask->permits;
	} else if (!fw_engine_reply_number(reply, 0, &tokens) ||
		   !fw_engine_reply_number(reply, 1, &permits) ||
		   !fw_engine_reply_number(reply, 2, &wait)) {
		return false;
	}
	if (tokens < 0 || (uint64_t)tokens > ask->tokens || permits < 0 ||
	    (uint64_t)permits > ask->permits || wait < 0 || wait > INT64_MAX / FW_QUOTA_UNIT_NS)
		return false;
	*ret_tokens = (uint64_t)tokens;
	*ret_permits = (uint32_t)permits;
	*ret_wait_ns = (uint64_t)wait * FW_QUOTA_UNIT_NS;
	return true;
}

/* How many of the calls may run with the tokens and permits granted now and left from before. */
static size_t use(struct fw_quota *quota, size_t calls, uint64_t tokens, uint32_t permits,
		  uint64_t now_ns)
{
	const struct fw_quota_limits *limits = &quota->limits;
	uint32_t lease_ms = quota->quotas->options.lease_ms;
	size_t granted = 0;

	if (!lease_ms) {
		granted = tokens < permits ? (size_t)tokens : permits;
		grant(quota, granted);
		return granted;
	}
	if (quota->tokens && now_ns >= quota->lease_until_ns) {
		(void)fw_quota__give_back(quota, quota->tokens, 0, true);
		quota->tokens = 0;
	}
	/* A lease expires with its oldest token. */
	if (!quota->tokens)
		quota->lease_until_ns = now_ns + (uint64_t)lease_ms * 1000000;
	if (limits->every_ns)
		quota->tokens += tokens;
	if (limits->concurrent)
		quota->permits += permits;
	while (granted < calls && spend(quota, now_ns))
		granted++;
	fw_quota__list(quota);
	return granted;
}

/* The bucket is empty until the next refill, so the engine is not asked before then. The pause
 * is limited: another replica may return tokens, and the engine may have lost its data. */
static void run_dry(struct fw_quota *quota, uint64_t now_ns, uint64_t wait_ns)
{
	uint32_t lease_ms = quota->quotas->options.lease_ms;
	uint64_t most_ns =
		(uint64_t)(lease_ms && lease_ms < DRY_MS ? lease_ms : DRY_MS) * 1000000;

	quota->refill_ns = now_ns + wait_ns;
	quota->dry_until_ns = now_ns + (wait_ns < most_ns ? wait_ns : most_ns);
}

static void on_asked(struct fw_engine_call *call, const struct redisReply *reply,
		     bool is_unknown)
{
	struct fw_quota_ask *asked = (struct fw_quota_ask *)(void *)call;
	struct fw_quota *quota = asked->quota;
	struct fw_quotas *quotas = quota->quotas;
	struct fw_quota_answer answer = { .count = asked->calls };
	uint64_t now_ns = uv_hrtime(), tokens, wait_ns;
	uint32_t permits;
	size_t waiting;

	/* The quota stays busy until its calls are decided. */
	if (is_unknown) {
		quota->asks--;
		quota->unasked += asked->calls;
		ask_free(quotas, asked);
		ask(quota);
		return;
	}
	if (!read_reply(asked, reply, &tokens, &permits, &wait_ns)) {
		ask_free(quotas, asked);
		decide_waiting(quota, answer.count);
	} else {
		ask_free(quotas, asked);
		answer.granted = use(quota, answer.count, tokens, permits, now_ns);
		answer.wait_ns = wait_ns;
		answer.reason = quota->limits.every_ns && wait_ns ? FW_QUOTA_TOO_FAST
								  : FW_QUOTA_TOO_MANY;
		if (answer.granted < answer.count && answer.reason == FW_QUOTA_TOO_FAST)
			run_dry(quota, now_ns, wait_ns);
		count_decisions(quotas, FW_QUOTA_SHARED, answer.count);
		quotas->options.decided(quotas->options.ctx, quota, &answer);
	}
	quota->asks--;
	/* Calls that arrived in the meantime. */
	waiting = quota->unasked;
	if (waiting && !fw_quotas__are_up(quotas)) {
		quota->unasked = 0;
		decide_waiting(quota, waiting);
	} else if (waiting) {
		ask(quota);
	}
}

/* How long an empty bucket takes to fill. */
static uint64_t whole_of(const struct fw_quota_limits *limits)
{
	const uint64_t most = (uint64_t)1 << 60;
	uint64_t each = fw_quota__each(limits);

	return each && limits->burst > most / each ? most : limits->burst * each;
}

static void put_ask(const struct fw_quota *quota, const struct fw_quota_ask *ask,
		    struct fw_words *words)
{
	const struct fw_quotas *quotas = quota->quotas;
	uint64_t whole = whole_of(&quota->limits);

	fw_words_number(words, fw_quota__each(&quota->limits));
	fw_words_number(words, whole);
	fw_words_number(words, ask->tokens);
	fw_words_number(words, whole / UNITS_PER_MS + BUCKET_TTL_MS);
	fw_words_number(words, ask->permits);
	if (!quota->limits.concurrent)
		return;
	fw_words_number(words, quota->limits.concurrent);
	fw_words_number(words, !quotas->options.lease_ms);
	fw_words_text(words, quotas->replica);
	fw_words_number(words, fw_quota__counted(quota));
	fw_words_number(words, FW_QUOTA_CALLS_TTL_MS);
	fw_words_number(words, (uint64_t)FW_QUOTA_DEAD_MS * 1000000 / FW_QUOTA_UNIT_NS);
}

static bool run_ask(struct fw_quota *quota, struct fw_quota_ask *asked)
{
	struct fw_quotas *quotas = quota->quotas;
	bool has_calls = quota->limits.concurrent;
	struct fw_words words;

	fw_words_clear(&words);
	fw_words_key(&words, quotas->fleet, "bucket:", quota->key);
	if (has_calls) {
		fw_words_key(&words, quotas->fleet, "calls:", quota->key);
		fw_words_key(&words, quotas->fleet, "replicas", "");
	}
	put_ask(quota, asked, &words);
	return fw_engine_run(
		quotas->options.engine, &asked->call,
		&quotas->scripts[has_calls ? FW_QUOTA_SCRIPT_TAKE : FW_QUOTA_SCRIPT_RATE],
		has_calls ? 3 : 1, words.list, words.count);
}

/* Asks for all calls that wait. False: the engine cannot be asked. */
static bool send_ask(struct fw_quota *quota)
{
	struct fw_quotas *quotas = quota->quotas;
	const struct fw_quota_limits *limits = &quota->limits;
	struct fw_quota_ask *asked = ask_new(quotas);
	bool is_lease;

	if (!asked)
		return false;
	asked->call.done = on_asked;
	asked->quota = quota;
	asked->calls = quota->unasked < FW_QUOTA_ASKED ? quota->unasked : FW_QUOTA_ASKED;
	asked->tokens = asked->calls;
	asked->permits = (uint32_t)asked->calls;
	/* One request for a lease at a time, so that at most one lease is held. */
	is_lease = quotas->options.lease_ms && !quota->asks;
	if (is_lease && limits->every_ns && !quota->tokens)
		asked->tokens += lease_of(quotas, limits->burst) - 1;
	if (is_lease && limits->concurrent)
		asked->permits += (uint32_t)lease_of(quotas, limits->concurrent) - 1;
	if (!run_ask(quota, asked)) {
		ask_free(quotas, asked);
		return false;
	}
	quota->unasked -= asked->calls;
	quota->asks++;
	return true;
}

static void ask(struct fw_quota *quota)
{
	if (quota->asks >= FW_QUOTA_ASKS || !quota->unasked)
		return;
	if (!send_ask(quota)) {
		size_t waiting = quota->unasked;

		quota->unasked = 0;
		decide_waiting(quota, waiting);
	}
}

/* ---- a call --------------------------------------------------------------------------------------- */

static void begin(struct fw_quotas *quotas, struct fw_quota *quota, const char *name,
		  const struct fw_quota_limits *limits)
{
	char digest[FW_SHA256_TEXT];

	if (memcmp(&quota->limits, limits, sizeof *limits) != 0)
		quota->dry_until_ns = 0;
	quota->limits = *limits;
	if (quota->quotas)
		return;
	quota->quotas = quotas;
	/* The engine does not see names of clients. */
	fw_sha256_text(name, strlen(name), digest);
	memcpy(quota->key, digest, FW_QUOTA_KEY_SIZE - 1);
}

bool fw_quota_take(struct fw_quotas *quotas, struct fw_quota *quota, const char *name,
		   const struct fw_quota_limits *limits, struct fw_quota_answer *ret_answer)
{
	uint64_t now_ns = uv_hrtime();

	begin(quotas, quota, name, limits);
	/* Earlier calls are decided first. */
	if (quota->asks || quota->unasked) {
		quota->unasked++;
		if (fw_quotas__are_up(quotas) && quota->asks < FW_QUOTA_ASKS && send_ask(quota))
			return false;
		/* It is asked for after the reply that is awaited. */
		if (quota->asks)
			return false;
		quota->unasked--;
	}
	*ret_answer = (struct fw_quota_answer){ .count = 1 };
	if (!fw_quotas__are_up(quotas)) {
		if (decide_locally(quota, now_ns, ret_answer))
			grant(quota, 1);
		count_decisions(quotas, FW_QUOTA_LOCAL, 1);
		return true;
	}
	if (quotas->options.lease_ms && spend(quota, now_ns)) {
		count_decisions(quotas, FW_QUOTA_LEASED, 1);
		ret_answer->granted = 1;
		return true;
	}
	if (now_ns < quota->dry_until_ns) {
		count_decisions(quotas, FW_QUOTA_SHARED, 1);
		ret_answer->reason = FW_QUOTA_TOO_FAST;
		ret_answer->wait_ns = quota->refill_ns - now_ns;
		return true;
	}
	quota->unasked++;
	if (send_ask(quota))
		return false;
	quota->unasked--;
	if (decide_locally(quota, now_ns, ret_answer))
		grant(quota, 1);
	count_decisions(quotas, FW_QUOTA_LOCAL, 1);
	return true;
}

void fw_quota_end(struct fw_quota *quota)
{
	struct fw_quotas *quotas = quota->quotas;

	if (quota->running)
		quota->running--;
	fw_quota__list(quota);
	if (quotas->options.lease_ms || !quota->limits.concurrent || !fw_quotas__are_up(quotas))
		return;
	quota->released++;
	fw_quota__release(quota);
}

bool fw_quota_is_busy(const struct fw_quota *quota)
{
	return quota->asks || quota->unasked || quota->running || quota->is_releasing;
}

void fw_quota_clear(struct fw_quota *quota)
{
	if (!quota->quotas)
		return;
	if (fw_quotas__are_up(quota->quotas))
		fw_quota__end_lease(quota, true);
	quota->tokens = 0;
	quota->permits = 0;
	quota->running = 0;
	quota->released = 0;
	fw_quota__list(quota);
}

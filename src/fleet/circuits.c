/*
 * circuits.c - see circuits.h.
 */
#include "fleet/circuits.h"

#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/digest.h"
#include "base/id.h"
#include "base/limits_fleet.h"
#include "base/mem.h"
#include "fleet/quota.h"
#include "fleet/words.h"

enum {
	/* How long a replica may take to try an upstream before another one does. */
	TRIAL_MS = 5000,
	/* The pause is extended to at least this, so that the engine chooses the replica that
	 * tries the upstream before one tries it alone. */
	WAIT_MS = 2500,
	KEPT_MS = 10 * 60 * 1000, /* of a breaker in the engine that no replica uses */
	FAILURES_MOST = 1000000
};

/* KEYS: breaker. ARGV: 'open', 'close' or 'ask'; this replica, failures, rest of the pause
 * in ms, time of a trial, time to live. Returns: whether it is open, the rest of the pause,
 * failures, whether this replica is to try the upstream. */
static const char SCRIPT[] =
	"local t=redis.call('TIME')\n"
	"local now=t[1]*1000+math.floor(t[2]/1000)\n"
	"if ARGV[1]=='close' then redis.call('DEL',KEYS[1]) return {0,0,0,0} end\n"
	"if ARGV[1]=='open' then\n"
	" redis.call('HSET',KEYS[1],'until',string.format('%.0f',now+ARGV[4]),'failures',ARGV["
	"3])\n"
	" redis.call('HDEL',KEYS[1],'trial','trial_until')\n"
	" redis.call('PEXPIRE',KEYS[1],ARGV[6])\n"
	"end\n"
	"local b=redis.call('HMGET',KEYS[1],'until','failures','trial','trial_until')\n"
	"if not b[1] then return {0,0,0,0} end\n"
	"redis.call('PEXPIRE',KEYS[1],ARGV[6])\n"
	"local rest,f=tonumber(b[1])-now,tonumber(b[2]) or 1\n"
	"if rest>0 then return {1,rest,f,0} end\n"
	"if b[3] and b[3]~=ARGV[2] and tonumber(b[4])>now then return {1,0,f,0} end\n"
	"redis.call('HSET',KEYS[1],'trial',ARGV[2],'trial_until',"
	"string.format('%.0f',now+ARGV[5]))\n"
	"return {1,0,f,1}\n";

struct circuit {
	struct fw_engine_call call; /* must be first */
	struct fw_circuits *circuits;
	struct circuit *next;
	struct fw_breaker *breaker; /* NULL: closed */
	char key[FW_WORDS_KEY];
	bool is_asking;
	/* What the engine knows, and what was sent to it and is not confirmed. */
	bool is_open;
	bool was_open;
	uint64_t until_ms;
	uint64_t was_until_ms;
};

struct fw_circuits {
	struct fw_loop *loop;
	struct fw_engine *engine; /* NULL: closed */
	char fleet[FW_QUOTA_FLEET_SIZE];
	char self[FW_QUOTA_REPLICA_SIZE];
	struct fw_engine_script script;
	struct circuit *first;
	size_t count;
	uint64_t applied;
};

/* It was opened by this replica, possibly for a second time. */
static bool is_opened_here(const struct circuit *circuit)
{
	return circuit->breaker->is_open &&
	       (!circuit->is_open || circuit->breaker->until_ms != circuit->until_ms);
}

static bool is_closed_here(const struct circuit *circuit)
{
	return circuit->is_open && !circuit->breaker->is_open;
}

static void apply(struct circuit *circuit, uint64_t rest_ms, uint32_t failures, bool may_try)
{
	struct fw_breaker *breaker = circuit->breaker;
	uint64_t now_ms = uv_now(&circuit->circuits->loop->uv);

	if (!breaker->is_open)
		circuit->circuits->applied++;
	circuit->is_open = true;
	/* A trial in progress decides. */
	if (breaker->trial)
		return;
	breaker->is_open = true;
	breaker->crashes = failures;
	breaker->until_ms = now_ms + (may_try ? 0 : rest_ms > WAIT_MS ? rest_ms : WAIT_MS);
	circuit->until_ms = breaker->until_ms;
}

static void on_reply(struct fw_engine_call *call, const struct redisReply *reply,
		     bool is_unknown)
{
	struct circuit *circuit = (struct circuit *)(void *)call;
	int64_t open, rest, failures, may_try;

	(void)is_unknown;
	circuit->is_asking = false;
	if (!circuit->breaker || !fw_engine_reply_number(reply, 0, &open) ||
	    !fw_engine_reply_number(reply, 1, &rest) ||
	    !fw_engine_reply_number(reply, 2, &failures) ||
	    !fw_engine_reply_number(reply, 3, &may_try) || rest < 0 || rest > INT32_MAX ||
	    failures < 0)
		return; /* sent again with the next beat */
	circuit->is_open = circuit->was_open;
	circuit->until_ms = circuit->was_until_ms;
	/* It has changed here since: the next beat reports that. */
	if (is_opened_here(circuit) || is_closed_here(circuit))
		return;
	if (open) {
		apply(circuit, (uint64_t)rest,
		      failures > FAILURES_MOST ? FAILURES_MOST : (uint32_t)failures,
		      may_try == 1);
	} else if (circuit->is_open && !circuit->breaker->trial) {
		fw_breaker_worked(circuit->breaker);
		circuit->is_open = false;
		circuit->circuits->applied++;
	}
}

static void ask(struct circuit *circuit)
{
	struct fw_circuits *circuits = circuit->circuits;
	const struct fw_breaker *breaker = circuit->breaker;
	uint64_t now_ms = uv_now(&circuits->loop->uv);
	bool was_opened = is_opened_here(circuit), was_closed = is_closed_here(circuit);
	struct fw_words words;

	fw_words_clear(&words);
	FW_WORDS_TEXTS(&words, circuit->key,
		       was_opened   ? "open"
		       : was_closed ? "close"
				    : "ask",
		       circuits->self);
	fw_words_number(&words, breaker->crashes);
	fw_words_number(&words, breaker->until_ms > now_ms ? breaker->until_ms - now_ms : 0);
	fw_words_number(&words, TRIAL_MS);
	fw_words_number(&words, KEPT_MS);
	circuit->call.done = on_reply;
	circuit->is_asking = fw_engine_run(circuits->engine, &circuit->call, &circuits->script,
					   1, words.list, words.count);
	circuit->was_open = breaker->is_open;
	circuit->was_until_ms = breaker->until_ms;
}

void fw_circuits_beat(struct fw_circuits *circuits)
{
	if (!circuits->engine || !fw_engine_is_up(circuits->engine))
		return;
	for (struct circuit *circuit = circuits->first; circuit; circuit = circuit->next)
		if (!circuit->is_asking)
			ask(circuit);
}

uint64_t fw_circuits_applied(const struct fw_circuits *circuits)
{
	return circuits->applied;
}

fw_error *fw_circuits_add(struct fw_circuits *circuits, const char *url,
			  struct fw_breaker *breaker)
{
	char digest[FW_SHA256_TEXT], rest[FW_QUOTA_KEY_SIZE];
	struct circuit *circuit;

	if (circuits->count == FW_LIMIT_FLEET_BREAKERS)
		return NULL;
	circuit = fw__allocate(sizeof *circuit);
	if (!circuit)
		return fw_raise_internal_out_of_memory();
	memset(circuit, 0, sizeof *circuit);
	fw_sha256_text(url, strlen(url), digest);
	(void)snprintf(rest, sizeof rest, "%.32s", digest);
	fw_words_make_key(circuits->fleet, "breaker:", rest, circuit->key);
	circuit->circuits = circuits;
	circuit->breaker = breaker;
	circuit->next = circuits->first;
	circuits->first = circuit;
	circuits->count++;
	return NULL;
}

fw_error *fw_circuits_new(struct fw_loop *loop, const char *fleet, struct fw_engine *engine,
			  struct fw_circuits **ret_circuits)
{
	struct fw_circuits *circuits = fw__allocate(sizeof *circuits);

	if (!circuits)
		return fw_raise_internal_out_of_memory();
	memset(circuits, 0, sizeof *circuits);
	circuits->loop = loop;
	circuits->engine = engine;
	circuits->script.text = SCRIPT;
	(void)snprintf(circuits->fleet, sizeof circuits->fleet, "%s", fleet);
	fw_random_hex(circuits->self, sizeof circuits->self);
	*ret_circuits = circuits;
	return NULL;
}

void fw_circuits_close(struct fw_circuits *circuits)
{
	if (!circuits)
		return;
	circuits->engine = NULL;
	for (struct circuit *circuit = circuits->first; circuit; circuit = circuit->next)
		circuit->breaker = NULL;
}

void fw_circuits_free(struct fw_circuits *circuits)
{
	if (!circuits)
		return;
	while (circuits->first) {
		struct circuit *circuit = circuits->first;

		circuits->first = circuit->next;
		fw__release(circuit);
	}
	fw__release(circuits);
}

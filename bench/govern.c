/*
 * govern.c - what governance costs a call that is let through: its token is looked up, its
 * scopes, limits and budgets are checked, and its end is noted. Time, allocations, and for
 * callgrind the instructions of a part of it.
 *
 *   bench_govern DIR             ns and allocations per call: token, then a policy with rate,
 *                                concurrency, two budgets and a deadline as well
 *   bench_govern DIR --compare   for callgrind: wrong tokens, which differ from a right one in
 *                                the first, a middle or the last character of the secret
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <faultwire/faultwire.h>

#include "govern/govern.h"
#include "govern/govern_impl.h"
#include "mcp/call.h"
#include "mcp/offer.h"
#include "mcp/principal.h"
#include "mcp/server.h"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_ZERO_STATS (void)0
#define CALLGRIND_TOGGLE_COLLECT (void)0
#define CALLGRIND_DUMP_STATS_AT(name) (void)(name)
#endif

enum { WARM = 2000, CALLS = 50000, ROUNDS = 9 };

static atomic_ulong allocations;

/* Every allocation of the process, also those of libraries. */
void *__libc_malloc(size_t size);
void *__libc_realloc(void *ptr, size_t size);
void *__libc_calloc(size_t count, size_t size);

void *malloc(size_t size)
{
	atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
	return __libc_malloc(size);
}

void *realloc(void *ptr, size_t size)
{
	atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
	return __libc_realloc(ptr, size);
}

void *calloc(size_t count, size_t size)
{
	atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
	return __libc_calloc(count, size);
}

static void must(fw_error *err)
{
	if (!err)
		return;
	(void)fprintf(stderr, "bench_govern: %s\n", fw_error_message(err));
	exit(1);
}

struct bench {
	struct fw_loop loop;
	fw_server *server;
	struct fw_govern *govern;
	struct fw_token_made made;
	struct fw_offer offer;
};

static void write_policy(const char *path)
{
	FILE *out = fopen(path, "w");

	if (!out)
		exit(1);
	(void)fputs("{\"version\":1,\"costs\":{\"a\":2,\"b\":3,\"c\":4},\"clients\":{\"ada\":{"
		    "\"calls_per_second\":1000000,\"burst\":1000000000,\"concurrent\":1000,"
		    "\"budget_per_day\":9007199254740992,\"budget_per_month\":9007199254740992,"
		    "\"deadline_seconds\":30}},\"breaker\":{}}",
		    out);
	(void)fclose(out);
}

static void begin(struct bench *bench, const char *directory, bool has_policy)
{
	static const char *const scopes[] = { "read", "tool:other", "tool:echo" };
	struct fw_token_new how = {
		.name = "ada", .scopes = scopes, .scope_count = 3, .now_ms = 1
	};
	fw_server_options options = FW_SERVER_OPTIONS_INIT;
	struct fw_govern_options govern = { .loop = &bench->loop, .uses_tokens = true };
	static char name[] = "echo";
	struct fw_store *store = NULL;
	char path[512], policy[512];

	memset(bench, 0, sizeof *bench);
	(void)snprintf(path, sizeof path, "%s/govern-%d.db", directory, has_policy);
	(void)snprintf(policy, sizeof policy, "%s/policy.json", directory);
	write_policy(policy);
	must(fw_store_open(path, NULL, &store));
	must(fw_token_make(store, &how, &bench->made));
	fw_store_free(store);
	if (fw_loop_init(&bench->loop) != 0)
		exit(1);
	options.name = "bench";
	options.version = "1";
	must(fw_server__create(&options, &bench->loop, &bench->server));
	govern.store = path;
	govern.policy_file = has_policy ? policy : NULL;
	must(fw_govern_new(bench->server, &govern, &bench->govern));
	bench->offer = (struct fw_offer){ .name = name, .changes = true };
}

static void end(struct bench *bench)
{
	fw_govern_close(bench->govern);
	fw_server_free(bench->server);
	fw_loop_close(&bench->loop);
	fw_govern_free(bench->govern);
}

/* What the server does with a request, as far as governance is concerned. */
static bool pass(struct bench *bench, fw_call *call, const char *token)
{
	struct fw_authority *authority = fw_server__authority(bench->server);
	struct fw_credential credential = { .token = token,
					    .len = FW_TOKEN_LEN,
					    .peer = "127.0.0.1" };
	bool waits = false;
	fw_error *err = authority->ops->identify(authority, &credential, &call->principal);

	if (!err)
		err = authority->ops->enter(authority, call);
	if (!err)
		err = authority->ops->admit(authority, call, &waits);
	if (call->run.grant.account && !waits)
		authority->ops->ended(authority, call, err);
	if (!waits) {
		fw_principal_unref(call->principal);
		call->principal = NULL;
	}
	fw_error_free(err);
	return !err && !waits;
}

static void prepare(struct bench *bench, fw_call *call)
{
	call->request.name = "echo";
	call->request.offer = &bench->offer;
	call->request.kind = FW_CALL_TOOL;
	call->started_ns = uv_hrtime();
}

static double measure(struct bench *bench, fw_call *call, unsigned long *ret_allocations)
{
	double best = 1e18;

	for (int round = 0; round < ROUNDS; round++) {
		unsigned long before = atomic_load(&allocations);
		uint64_t start = uv_hrtime();
		double each;

		for (int i = 0; i < CALLS; i++)
			if (!pass(bench, call, bench->made.text))
				exit(2);
		each = (double)(uv_hrtime() - start) / CALLS;
		*ret_allocations = atomic_load(&allocations) - before;
		if (each < best)
			best = each;
	}
	return best;
}

static void run(const char *directory, bool has_policy)
{
	struct bench bench;
	unsigned long count = 0;
	fw_call *call;
	double each;

	begin(&bench, directory, has_policy);
	call = fw_call_new(bench.server);
	prepare(&bench, call);
	/* The first call waits for a part of the budgets; it is dropped here. */
	for (int i = 0; i < WARM && !pass(&bench, call, bench.made.text); i++) {
		call->is_answered = true; /* nobody waits for it */
		while (bench.govern->pending)
			(void)uv_run(&bench.loop.uv, UV_RUN_ONCE);
		if (call->run.grant.account)
			bench.govern->base.ops->ended(&bench.govern->base, call, NULL);
		call->is_answered = false;
	}
	each = measure(&bench, call, &count);
	(void)printf("case %s %.0f %.6f\n", has_policy ? "token+policy" : "token", each,
		     (double)count / CALLS);
	fw_call__unref(call);
	end(&bench);
}

/* A token that differs from the right one in one character. */
static void spoil(const struct bench *bench, size_t at, char ret_token[FW_TOKEN_LEN + 1])
{
	memcpy(ret_token, bench->made.text, FW_TOKEN_LEN + 1);
	ret_token[at] = ret_token[at] == '0' ? '1' : '0';
}

/* Its digest, and the comparison with what the server knows. */
static void look_up(struct bench *bench, const char *token)
{
	unsigned char hash[FW_SHA256_BYTES];

	fw_hasher_add(bench->govern->hasher, token, FW_TOKEN_LEN);
	if (!fw_hasher_take(bench->govern->hasher, hash) ||
	    fw_keyring_find(bench->govern->keyring, token, FW_TOKEN_LEN, hash))
		exit(2);
}

static void compare(const char *directory)
{
	static const struct {
		const char *name;
		size_t at;
	} cases[] = { { "case first", 4 + FW_TOKEN_ID_LEN + 1 },
		      { "case middle", 4 + FW_TOKEN_ID_LEN + 20 },
		      { "case last", FW_TOKEN_LEN - 1 } };
	char token[FW_TOKEN_LEN + 1];
	struct bench bench;

	begin(&bench, directory, false);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		spoil(&bench, cases[i].at, token);
		/* Once before, so that nothing is loaded in between. */
		look_up(&bench, token);
		CALLGRIND_ZERO_STATS;
		CALLGRIND_TOGGLE_COLLECT;
		look_up(&bench, token);
		CALLGRIND_TOGGLE_COLLECT;
		CALLGRIND_DUMP_STATS_AT(cases[i].name);
	}
	end(&bench);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	if (argc == 3 && strcmp(argv[2], "--compare") == 0) {
		compare(argv[1]);
		return 0;
	}
	run(argv[1], false);
	run(argv[1], true);
	return 0;
}

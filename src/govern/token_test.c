/*
 * token_test.c - scopes, tokens in a store, the keyring of a server, and the guard.
 */
#include "govern/token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <faultwire/faultwire.h>

#include "core/redact.h"
#include "govern/keyring.h"
#include "govern/scope.h"
#include "mcp/principal.h"
#include "policy/guard.h"
#include "test/memory.h"

#define SCRATCH_FORM "sqlite:%s/tokens.db"
#include "test/scratch.h"

/* The clock of the store; times in these tests are small. */
static int64_t store_ms;

static int64_t now_of_store(void)
{
	return store_ms;
}

static struct fw_store *open_store(void)
{
	const struct fw_store_options options = { .now_ms = now_of_store };
	struct fw_store *store = NULL;

	store_ms = 1000;
	assert_null(fw_store_open(path, &options, &store));
	return store;
}

static const char *const scopes[] = { "read", "tool:echo" };

static struct fw_token_made make(struct fw_store *store, const char *name, int64_t expires_ms)
{
	const struct fw_token_new how = { .name = name,
					  .scopes = scopes,
					  .scope_count = 2,
					  .now_ms = 1000,
					  .expires_ms = expires_ms };
	struct fw_token_made made;

	assert_null(fw_token_make(store, &how, &made));
	return made;
}

static void must_fail(fw_error *err, int code)
{
	assert_int_equal(fw_error_code(err), code);
	fw_error_free(err);
}

static struct fw_key *find(struct fw_keyring *keyring, const char *text)
{
	unsigned char hash[FW_SHA256_BYTES];

	assert_true(fw_sha256(text, strlen(text), hash));
	return fw_keyring_find(keyring, text, strlen(text), hash);
}

/* ---- scopes ---------------------------------------------------------------------- */

static void test_scope__forms(void **state)
{
	static const char *const good[] = { "read", "incidents", "admin", "tool:a",
					    "toolset:code" };
	static const char *const wrong[] = { "",         "write",     "tool:",  "toolset:",
					     "tool:a b", "tool:a\"b", "Admin",  "admin ",
					     "tool:\n",  "tool:\\",   "reader", "tools:a" };

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		assert_true(fw_scope_is_valid(good[i]));
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_false(fw_scope_is_valid(wrong[i]));
}

static bool covers(const char *scope, const char *tool, const char *toolset, bool changes)
{
	const struct fw_scope_tool what = { tool, toolset, changes };
	fw_principal *who = NULL;
	bool is_covered;

	assert_null(fw_principal_new(FW_PROOF_TOKEN, "ada", &scope, 1, &who));
	is_covered = fw_scope_covers_tool(who, &what);
	fw_principal_unref(who);
	return is_covered;
}

static void test_scope__covers_tools(void **state)
{
	(void)state;
	assert_true(covers("tool:echo", "echo", NULL, true));
	assert_false(covers("tool:echo", "echo2", NULL, false));
	assert_false(covers("tool:echo2", "echo", NULL, false));
	assert_true(covers("toolset:diag", "echo", "diag", true));
	assert_false(covers("toolset:diag", "echo", NULL, true));
	assert_false(covers("toolset:diag", "diag", "code", false));
	assert_true(covers("read", "echo", NULL, false));
	assert_false(covers("read", "echo", NULL, true));
	assert_true(covers("admin", "echo", NULL, true));
	assert_false(covers("incidents", "echo", NULL, false));
	/* A caller without a token is not bound by scopes. */
	assert_true(fw_scope_covers(fw_principal_process(), "admin"));
	assert_true(fw_scope_covers(fw_principal_anonymous(), "incidents"));
}

/* ---- tokens ---------------------------------------------------------------------- */

static void count_states(void *ctx, const struct fw_token *token)
{
	size_t *counts = ctx;

	counts[fw_token_state_at(token, 2000)]++;
}

static void test_token__is_made_listed_and_revoked(void **state)
{
	struct fw_store *store = open_store();
	struct fw_token_made made = make(store, "ada", 0);
	size_t counts[3] = { 0 }, revoked = 0;
	const char *id = NULL;

	(void)state;
	assert_true(fw_token_has_form(made.text, strlen(made.text), &id));
	assert_memory_equal(id, made.id, FW_TOKEN_ID_LEN);
	assert_false(fw_token_has_form(made.text, strlen(made.text) - 1, &id));
	(void)make(store, "bob", 1500);
	assert_null(fw_token_list(store, count_states, counts));
	assert_int_equal(counts[FW_TOKEN_ACTIVE], 1);
	assert_int_equal(counts[FW_TOKEN_EXPIRED], 1);
	assert_null(fw_token_revoke(store, made.id, 2000, &revoked));
	assert_int_equal(revoked, 1);
	must_fail(fw_token_revoke(store, "ada", 2000, &revoked), FW_RESOURCE_NOT_FOUND);
	must_fail(fw_token_revoke(store, "bob", 2000, &revoked), FW_RESOURCE_NOT_FOUND);
	fw_store_free(store);
}

static void test_token__names_and_scopes_are_checked(void **state)
{
	static const char *const bad = "tools";
	struct fw_store *store = open_store();
	struct fw_token_new how = {
		.name = "ada", .scopes = &bad, .scope_count = 1, .now_ms = 1
	};
	struct fw_token_made made;

	(void)state;
	must_fail(fw_token_make(store, &how, &made), FW_INPUT_INVALID_VALUE);
	how.scopes = scopes;
	how.scope_count = 0;
	must_fail(fw_token_make(store, &how, &made), FW_INPUT_INVALID_VALUE);
	how.scope_count = 2;
	how.name = "oauth:ada";
	must_fail(fw_token_make(store, &how, &made), FW_INPUT_INVALID_VALUE);
	how.name = "ada";
	how.expires_ms = 1;
	must_fail(fw_token_make(store, &how, &made), FW_INPUT_INVALID_VALUE);
	how.expires_ms = 0;
	assert_null(fw_token_make(store, &how, &made));
	must_fail(fw_token_make(store, &how, &made), FW_RESOURCE_ALREADY_EXISTS);
	fw_store_free(store);
}

static void test_token__rotation_keeps_scopes_and_may_overlap(void **state)
{
	struct fw_store *store = open_store();
	struct fw_token_made first = make(store, "ada", 0), second, third;
	struct fw_keyring *keyring = NULL;

	(void)state;
	assert_null(fw_token_rotate(store, "ada", 2000, 5000, 0, &second));
	assert_null(fw_keyring_read(store, &keyring));
	assert_int_equal(fw_keyring_count(keyring), 2);
	assert_int_equal(find(keyring, first.text)->expires_ms, 5000);
	assert_true(fw_principal_has_scope(find(keyring, second.text)->principal, "tool:echo"));
	assert_string_equal(fw_principal_name(find(keyring, second.text)->principal), "ada");
	fw_keyring_free(keyring);
	assert_null(fw_token_rotate(store, "ada", 3000, 3000, 0, &third));
	assert_null(fw_keyring_read(store, &keyring));
	assert_true(find(keyring, first.text)->is_revoked);
	assert_true(find(keyring, second.text)->is_revoked);
	assert_false(find(keyring, third.text)->is_revoked);
	fw_keyring_free(keyring);
	fw_store_free(store);
}

static void count(void *ctx, const struct fw_token *token)
{
	(void)token;
	++*(size_t *)ctx;
}

static size_t count_at(struct fw_store *store, int64_t day)
{
	size_t counted = 0;

	store_ms = day * 24 * 3600 * 1000;
	assert_null(fw_token_list(store, count, &counted));
	return counted;
}

/* There is a greatest number of them, so old ones must not fill it. */
static void test_token__that_ended_is_forgotten_after_90_days(void **state)
{
	struct fw_store *store = open_store();
	size_t revoked = 0;

	(void)state;
	(void)make(store, "lasting", 0);
	(void)make(store, "short", (int64_t)10 * 24 * 3600 * 1000);
	(void)make(store, "revoked", 0);
	assert_null(fw_token_revoke(store, "revoked", 2000, &revoked));
	assert_int_equal(count_at(store, 89), 3);
	assert_int_equal(count_at(store, 91), 2);
	assert_int_equal(count_at(store, 101), 1);
	assert_int_equal(count_at(store, 10000), 1);
	fw_store_free(store);
}

static void test_token__generation_moves_with_each_change(void **state)
{
	struct fw_store *store = open_store();
	int64_t before = 0, between = 0, after = 0;
	size_t revoked;

	(void)state;
	assert_null(fw_token_generation(store, &before));
	(void)make(store, "ada", 0);
	assert_null(fw_token_generation(store, &between));
	assert_null(fw_token_revoke(store, "ada", 2000, &revoked));
	assert_null(fw_token_generation(store, &after));
	assert_true(before != between && between != after);
	fw_store_free(store);
}

static void test_token__the_store_has_only_the_digest(void **state)
{
	struct fw_store *store = open_store();
	struct fw_token_made made = make(store, "ada", 0);
	char file[192], *bytes = malloc(1 << 20);
	size_t len;
	FILE *in;

	(void)state;
	fw_store_free(store);
	(void)snprintf(file, sizeof file, "%s", path + strlen("sqlite:"));
	in = fopen(file, "rb");
	assert_non_null(in);
	assert_non_null(bytes);
	len = fread(bytes, 1, 1 << 20, in);
	(void)fclose(in);
	assert_true(len > 0);
	assert_non_null(memmem(bytes, len, made.id, FW_TOKEN_ID_LEN));
	assert_null(memmem(bytes, len, made.text + 4 + FW_TOKEN_ID_LEN + 1, 20));
	free(bytes);
}

static void test_token__is_redacted_in_texts(void **state)
{
	struct fw_store *store = open_store();
	struct fw_token_made made = make(store, "ada", 0);

	(void)state;
	assert_int_equal(fw_redact_find(made.text, FW_TOKEN_LEN), 0);
	fw_store_free(store);
}

/* ---- the keyring ----------------------------------------------------------------- */

static void test_keyring__finds_only_the_exact_token(void **state)
{
	struct fw_store *store = open_store();
	struct fw_keyring *keyring = NULL, *next = NULL;
	struct fw_token_made made[40];
	char name[16];

	(void)state;
	for (int i = 0; i < 40; i++) {
		(void)snprintf(name, sizeof name, "c%d", i);
		made[i] = make(store, name, 0);
	}
	assert_null(fw_keyring_read(store, &keyring));
	for (int i = 0; i < 40; i++) {
		char wrong[FW_TOKEN_LEN + 1];

		assert_string_equal(find(keyring, made[i].text)->id, made[i].id);
		memcpy(wrong, made[i].text, sizeof wrong);
		wrong[FW_TOKEN_LEN - 1] ^= 1;
		assert_null(find(keyring, wrong));
		memcpy(wrong, made[i].text, sizeof wrong);
		wrong[6] = wrong[6] == '0' ? '1' : '0';
		assert_null(find(keyring, wrong));
	}
	assert_null(find(keyring, "fwt_"));
	assert_null(find(NULL, made[0].text));
	find(keyring, made[3].text)->is_proven = true;
	find(keyring, made[3].text)->used_ms = 77;
	assert_null(fw_keyring_read(store, &next));
	fw_keyring_inherit(next, keyring);
	assert_true(find(next, made[3].text)->is_proven);
	assert_int_equal(find(next, made[3].text)->used_ms, 77);
	assert_false(find(next, made[4].text)->is_proven);
	fw_keyring_free(keyring);
	fw_keyring_free(next);
	fw_store_free(store);
}

/* ---- the guard ------------------------------------------------------------------- */

static void test_guard__slows_an_address_and_alarms_once(void **state)
{
	static struct fw_guard guard;
	const uint64_t second = 1000000000;
	unsigned alarms = 0;

	(void)state;
	fw_guard_init(&guard);
	guard.seed = 1; /* the addresses below have different slots */
	for (int i = 0; i < FW_GUARD_BURST; i++) {
		assert_int_equal(fw_guard_wait_ns(&guard, "10.0.0.1", second), 0);
		alarms += fw_guard_failed(&guard, "10.0.0.1", second);
	}
	assert_int_equal(alarms, 1);
	assert_true(fw_guard_wait_ns(&guard, "10.0.0.1", second) > 0);
	assert_int_equal(fw_guard_wait_ns(&guard, "10.0.0.2", second), 0);
	assert_int_equal(fw_guard_wait_ns(&guard, "10.0.0.1", 2 * second), 0);
	assert_false(fw_guard_failed(&guard, "10.0.0.1", 2 * second));
	/* One network of IPv6 is one address. */
	for (int i = 0; i < FW_GUARD_BURST; i++) {
		char peer[32];

		(void)snprintf(peer, sizeof peer, "2001:db8::%d", i + 1);
		(void)fw_guard_failed(&guard, peer, 2 * second);
	}
	assert_true(fw_guard_wait_ns(&guard, "2001:db8::ffff", 2 * second) > 0);
	assert_int_equal(fw_guard_wait_ns(&guard, "2001:db8:1::1", 2 * second), 0);
}

/* ---- memory ------------------------------------------------------------------------ */

static void clear_directory(void)
{
	static const char *const ends[] = { "", "-wal", "-shm", "-journal" };
	char file[160];

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		(void)snprintf(file, sizeof file, "%s%s", path + strlen("sqlite:"), ends[i]);
		(void)remove(file);
	}
}

static void use_everything(void)
{
	const struct fw_token_new how = {
		.name = "ada", .scopes = scopes, .scope_count = 2, .now_ms = 1000
	};
	struct fw_store *store = NULL;
	struct fw_keyring *keyring = NULL;
	struct fw_token_made made;
	fw_error *err;
	size_t count;

	/* Each run begins with the same rows, so it has as many allocations. */
	clear_directory();
	err = fw_store_open(path, NULL, &store);
	if (!err)
		err = fw_token_make(store, &how, &made);
	if (!err)
		err = fw_token_rotate(store, "ada", 1500, 1500, 0, &made);
	if (!err)
		err = fw_keyring_read(store, &keyring);
	if (!err)
		err = fw_token_revoke(store, "ada", 2000, &count);
	assert_true(!err || fw_error_code(err) == FW_INTERNAL_OUT_OF_MEMORY);
	fw_error_free(err);
	fw_keyring_free(keyring);
	fw_store_free(store);
}

static void test_token__each_allocation_fails(void **state)
{
	(void)state;
	each_allocation_fails(use_everything);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scope__forms),
		cmocka_unit_test(test_scope__covers_tools),
		cmocka_unit_test_setup_teardown(test_token__is_made_listed_and_revoked, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_token__names_and_scopes_are_checked,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_token__rotation_keeps_scopes_and_may_overlap, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_token__that_ended_is_forgotten_after_90_days, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_token__generation_moves_with_each_change,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_token__the_store_has_only_the_digest,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_token__is_redacted_in_texts, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_keyring__finds_only_the_exact_token,
						set_up, tear_down),
		cmocka_unit_test(test_guard__slows_an_address_and_alarms_once),
		cmocka_unit_test_setup_teardown(test_token__each_allocation_fails, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * policy_test.c - policies are read with exact complaints, and budgets are never overspent,
 * also by processes that are killed.
 */
#include "govern/policy.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <faultwire/faultwire.h>

#include "govern/account.h"
#include "govern/budget.h"
#include "govern/suspend.h"
#include "mcp/principal.h"
#include "test/memory.h"

#define SCRATCH_FORM "sqlite:%s/budgets.db"
#include "test/scratch.h"

/* ---- reading ------------------------------------------------------------------------- */

static const char COMPLETE[] =
	"{\"version\":1,\"costs\":{\"*\":2,\"search\":5,\"free\":0},\n"
	"\"default\":{\"calls_per_second\":0.5},\n"
	"\"clients\":{\"bob\":{\"concurrent\":3},\"ada\":{\"calls_per_second\":10,\"burst\":20,"
	"\"budget_per_day\":100,\"budget_per_month\":1000,\"deadline_seconds\":1.5,"
	"\"tools\":[\"read_*\",\"echo\"]}},\n"
	"\"scopes\":{\"read\":{\"concurrent\":1},\"tool:x\":{\"concurrent\":2}},\n"
	"\"breaker\":{\"failures\":4,\"pause_seconds\":2},\n"
	"\"oauth_scopes\":{\"mcp\":[\"read\",\"tool:x\"]}}";

static const struct fw_policy_limits *limits_of(const struct fw_policy *policy,
						const char *name, const char *scope)
{
	const struct fw_policy_limits *limits;
	fw_principal *who = NULL;

	assert_null(fw_principal_new(FW_PROOF_TOKEN, name, &scope, scope ? 1 : 0, &who));
	limits = fw_policy_limits_of(policy, who);
	fw_principal_unref(who);
	return limits;
}

static void test_policy__is_read(void **state)
{
	struct fw_policy *policy = NULL;
	const struct fw_policy_limits *ada;
	uint32_t pause_ms;

	(void)state;
	assert_null(fw_policy_parse(COMPLETE, sizeof COMPLETE - 1, "p", &policy));
	ada = limits_of(policy, "ada", "read");
	assert_int_equal(ada->every_ns, 100000000);
	assert_int_equal(ada->burst, 20);
	assert_int_equal(ada->budget[FW_PERIOD_DAY], 100);
	assert_int_equal(ada->budget[FW_PERIOD_MONTH], 1000);
	assert_int_equal(ada->deadline_ms, 1500);
	assert_true(fw_policy_permits(ada, "read_file") && fw_policy_permits(ada, "echo"));
	assert_false(fw_policy_permits(ada, "echo2") || fw_policy_permits(ada, "write"));
	assert_int_equal(limits_of(policy, "bob", NULL)->concurrent, 3);
	assert_int_equal(limits_of(policy, "eve", "tool:x")->concurrent, 2);
	/* "admin" is not every scope here. */
	assert_int_equal(limits_of(policy, "eve", "admin")->every_ns, 2000000000);
	assert_int_equal(limits_of(policy, "eve", NULL)->burst, 1);
	assert_int_equal(fw_policy_cost(policy, "search"), 5);
	assert_int_equal(fw_policy_cost(policy, "free"), 0);
	assert_int_equal(fw_policy_cost(policy, "other"), 2);
	assert_int_equal(fw_policy_breaker(policy, &pause_ms), 4);
	assert_int_equal(pause_ms, 2000);
	assert_string_equal(fw_policy_oauth_scope(policy, "mcp", 3, 1), "tool:x");
	assert_null(fw_policy_oauth_scope(policy, "mcp", 3, 2));
	fw_policy_free(policy);
}

static void test_policy__mistakes_have_line_and_member(void **state)
{
	static const struct {
		const char *text;
		const char *message;
	} rows[] = {
		{ "[]", "p:1: the policy must be an object" },
		{ "{}", "p:1: the policy must be an object with the member \"version\": 1" },
		{ "{\"version\":1,\n\"a\" 1}",
		  "p:2: the policy must be JSON, not nested deeper than 8" },
		{ "{\"version\":1,\n\n\"cost\":{}}",
		  "p:3: cost must be version, costs, default, clients, scopes, breaker or "
		  "oauth_scopes" },
		{ "{\"version\":1,\"costs\":{\"a\":1,\n\"a\":2}}",
		  "p:2: costs.a must be given once" },
		{ "{\"version\":1,\"costs\":{\"a\":-1}}",
		  "p:1: costs.a must be a whole number from 0 to 1000000000" },
		{ "{\"version\":1,\"default\":{\"calls_per_second\":0}}",
		  "p:1: default.calls_per_second must be a number from 1e-06 to 1e+06" },
		{ "{\"version\":1,\"clients\":{\"a\":\n{\"tools\":[1]}}}",
		  "p:2: clients.a.tools must be an array of names of tools" },
		{ "{\"version\":1,\"clients\":{\"a\":3}}", "p:1: clients.a must be an object" },
		{ "{\"version\":1,\"clients\":{\"a\":{\"budget_per_day\":1.5}}}",
		  "p:1: clients.a.budget_per_day must be a whole number from 0 to "
		  "9007199254740992" },
		{ "{\"version\":1,\"default\":{\"calls_per_second\":0.000001,"
		  "\"burst\":1000000000}}",
		  "p:1: default must be an object whose burst refills in less than a "
		  "century" },
		{ "{\"version\":1,\"oauth_scopes\":{\"a\":[\"x\"]}}",
		  "p:1: oauth_scopes.a must be an array of at most 64 scopes" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct fw_policy *policy = NULL;
		fw_error *err =
			fw_policy_parse(rows[i].text, strlen(rows[i].text), "p", &policy);

		assert_int_equal(fw_error_code(err), FW_INPUT_INVALID_VALUE);
		assert_string_equal(fw_error_message(err), rows[i].message);
		assert_null(policy);
		fw_error_free(err);
	}
}

static void parse_once(void)
{
	struct fw_policy *policy = NULL;
	fw_error *err = fw_policy_parse(COMPLETE, sizeof COMPLETE - 1, "p", &policy);

	assert_true(!err || fw_error_code(err) == FW_INTERNAL_OUT_OF_MEMORY);
	fw_error_free(err);
	fw_policy_free(policy);
}

static void test_policy__each_allocation_fails(void **state)
{
	(void)state;
	each_allocation_fails(parse_once);
}

/* ---- accounts -------------------------------------------------------------------------- */

static void test_accounts__are_found_by_name_and_address(void **state)
{
	static struct fw_accounts accounts;
	fw_principal *ada = NULL;
	struct fw_account *found;

	(void)state;
	assert_null(fw_principal_new(FW_PROOF_TOKEN, "ada", NULL, 0, &ada));
	found = fw_accounts_find(&accounts, ada, "10.0.0.1");
	assert_string_equal(found->name, "ada");
	assert_ptr_equal(fw_accounts_find(&accounts, ada, "10.0.0.2"), found);
	found = fw_accounts_find(&accounts, fw_principal_anonymous(), "10.0.0.1");
	assert_string_equal(found->name, "anonymous@10.0.0.1");
	assert_ptr_not_equal(fw_accounts_find(&accounts, fw_principal_anonymous(), "10.0.0.2"),
			     found);
	assert_int_equal(accounts.count, 3);
	fw_principal_unref(ada);
	fw_accounts_clear(&accounts);
	assert_int_equal(accounts.count, 0);
}

static void test_accounts__the_oldest_unused_one_is_given_up(void **state)
{
	struct fw_accounts *accounts = calloc(1, sizeof *accounts);
	struct fw_account *used = NULL;
	char peer[32];

	(void)state;
	assert_non_null(accounts);
	for (int i = 0; i < FW_ACCOUNTS_MAX + 10; i++) {
		struct fw_account *made;

		(void)snprintf(peer, sizeof peer, "peer-%d", i);
		made = fw_accounts_find(accounts, fw_principal_anonymous(), peer);
		assert_non_null(made);
		if (!i) {
			used = made;
			used->refs = 1;
		}
	}
	assert_int_equal(accounts->count, FW_ACCOUNTS_MAX);
	assert_ptr_equal(fw_accounts_find(accounts, fw_principal_anonymous(), "peer-0"), used);
	fw_accounts_clear(accounts);
	free(accounts);
}

static void test_suspensions__one_per_tool(void **state)
{
	static struct fw_suspensions all;
	struct fw_suspension *made;

	(void)state;
	assert_null(fw_suspensions_find(&all, "a"));
	made = fw_suspensions_make(&all, "a");
	assert_ptr_equal(fw_suspensions_find(&all, "a"), made);
	assert_ptr_equal(fw_suspensions_make(&all, "a"), made);
	assert_null(fw_suspensions_find(&all, "b"));
	for (int i = 0; i < 2 * FW_SUSPENSIONS_MAX; i++) {
		char name[32];

		(void)snprintf(name, sizeof name, "tool-%d", i);
		(void)fw_suspensions_make(&all, name);
	}
	assert_int_equal(all.count, FW_SUSPENSIONS_MAX);
	fw_suspensions_clear(&all);
}

/* ---- budgets ----------------------------------------------------------------------------- */

static const int64_t NOW_MS = 1795996800000; /* 2026-11-30T00:00:00Z */

static void test_budget__windows_end_with_the_day_and_the_month(void **state)
{
	struct fw_budget_window window;

	(void)state;
	fw_budget_window_at(FW_PERIOD_DAY, NOW_MS, &window);
	assert_string_equal(window.name, "2026-11-30");
	assert_int_equal(window.ends_ms, NOW_MS + 86400000);
	fw_budget_window_at(FW_PERIOD_MONTH, NOW_MS + 1, &window);
	assert_string_equal(window.name, "2026-11");
	assert_int_equal(window.ends_ms, NOW_MS + 86400000);
	fw_budget_window_at(FW_PERIOD_MONTH, NOW_MS + 86400000, &window);
	assert_string_equal(window.name, "2026-12");
}

static int64_t reserve(struct fw_store *store, int64_t limit, int64_t want)
{
	struct fw_budget_part part;

	assert_null(fw_budget_reserve(store, "ada", FW_PERIOD_DAY, NOW_MS, limit, want, &part));
	return part.amount;
}

static void test_budget__hands_out_the_limit_and_takes_back(void **state)
{
	struct fw_store *store = NULL;
	struct fw_budget_window window;

	(void)state;
	assert_null(fw_store_open(path, NULL, &store));
	assert_int_equal(reserve(store, 0, 5), 0);
	assert_int_equal(reserve(store, 10, 4), 4);
	assert_int_equal(reserve(store, 10, 7), 6);
	assert_int_equal(reserve(store, 10, 1), 0);
	fw_budget_window_at(FW_PERIOD_DAY, NOW_MS, &window);
	assert_null(fw_budget_return(store, "ada", FW_PERIOD_DAY, &window, 3));
	assert_int_equal(reserve(store, 10, 100), 3);
	fw_store_free(store);
}

struct shared {
	_Atomic int64_t spent;
	atomic_int is_dry;
};

enum { ROUNDS = 200, BUDGET = 60000, PART = 16 };

/* Spends until the budget is used up, or it is killed. */
static void spend(struct shared *shared)
{
	struct fw_store *store = NULL;
	fw_error *err = fw_store_open(path, NULL, &store);
	int64_t lease = 0;

	while (!err) {
		struct fw_budget_part part;

		for (; lease > 0; lease--)
			atomic_fetch_add(&shared->spent, 1);
		err = fw_budget_reserve(store, "eve", FW_PERIOD_DAY, NOW_MS, BUDGET, PART,
					&part);
		if (err || !part.amount) {
			atomic_store(&shared->is_dry, !err);
			break;
		}
		lease = part.amount;
		/* Long enough that most rounds end within a part. */
		(void)usleep(200);
	}
	fw_error_free(err);
	fw_store_free(store);
	_exit(0);
}

static int64_t first_ms(void)
{
	return NOW_MS;
}

static int64_t later_ms(void)
{
	return NOW_MS + (int64_t)100 * 86400000;
}

static void count_row(void *ctx, const struct fw_store_row *row)
{
	(void)row;
	++*(size_t *)ctx;
}

static void test_budget__rows_of_old_windows_are_deleted(void **state)
{
	const struct fw_store_options first = { .now_ms = first_ms };
	const struct fw_store_options later = { .now_ms = later_ms };
	struct fw_store *store = NULL;
	struct fw_budget_part part;
	size_t count = 0;

	(void)state;
	assert_null(fw_store_open(path, &later, &store));
	for (int day = 0; day < 20; day++)
		assert_null(fw_budget_reserve(store, "ada", FW_PERIOD_DAY,
					      NOW_MS + (int64_t)day * 86400000, 10, 1, &part));
	assert_null(fw_budget_reserve(store, "ada", FW_PERIOD_DAY, later_ms(), 10, 1, &part));
	fw_store_free(store);
	/* A row that was not deleted had not expired then. */
	assert_null(fw_store_open(path, &first, &store));
	assert_null(fw_store_list(store, "budget", NULL, NULL, 100, count_row, &count));
	assert_int_equal(count, 1);
	fw_store_free(store);
}

static void test_budget__a_refund_after_midnight_does_not_add_to_the_new_day(void **state)
{
	const int64_t day_ms = 86400000, evening_ms = 20000 * day_ms - 1;
	struct fw_policy_limits limits = { .has_budget = { [FW_PERIOD_DAY] = true },
					   .budget = { [FW_PERIOD_DAY] = 10 } };
	struct fw_account account = { .name = "ada", .limits = &limits };
	struct fw_budget_part *part = &account.leases[FW_PERIOD_DAY].part;

	(void)state;
	fw_budget_window_at(FW_PERIOD_DAY, evening_ms, &part->window);
	fw_account_refund(&account, 3, fw_account_budgets(&account), evening_ms);
	assert_int_equal(part->amount, 3);
	fw_budget_window_at(FW_PERIOD_DAY, evening_ms + 2, &part->window);
	fw_account_refund(&account, 3, fw_account_budgets(&account), evening_ms);
	assert_int_equal(part->amount, 3);
}

static void test_budget__is_not_overspent_by_processes_that_are_killed(void **state)
{
	struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
				     /* cppcheck-suppress invalidFunctionArg ; no file */
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned seed = 7;
	int kills = 0;

	(void)state;
	assert_ptr_not_equal(shared, MAP_FAILED);
	for (int i = 0; i < ROUNDS && !atomic_load(&shared->is_dry); i++) {
		pid_t children[2];
		int status;

		for (int j = 0; j < 2; j++) {
			children[j] = fork();
			assert_true(children[j] >= 0);
			if (!children[j])
				spend(shared);
		}
		(void)usleep(1000 + (unsigned)rand_r(&seed) % 6000);
		for (int j = 0; j < 2; j++) {
			(void)kill(children[j], SIGKILL);
			assert_int_equal(waitpid(children[j], &status, 0), children[j]);
			kills += WIFSIGNALED(status);
		}
		assert_true(atomic_load(&shared->spent) <= BUDGET);
	}
	assert_true(kills > 0);
	/* The last one spends what is left: lost is at most a part per kill. */
	if (!fork())
		spend(shared);
	(void)wait(NULL);
	assert_true(atomic_load(&shared->is_dry));
	assert_true(atomic_load(&shared->spent) <= BUDGET);
	assert_true(atomic_load(&shared->spent) + (int64_t)PART * kills >= BUDGET);
	(void)munmap(shared, sizeof *shared);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_policy__is_read),
		cmocka_unit_test(test_policy__mistakes_have_line_and_member),
		cmocka_unit_test(test_policy__each_allocation_fails),
		cmocka_unit_test(test_accounts__are_found_by_name_and_address),
		cmocka_unit_test(test_accounts__the_oldest_unused_one_is_given_up),
		cmocka_unit_test(test_suspensions__one_per_tool),
		cmocka_unit_test(test_budget__windows_end_with_the_day_and_the_month),
		cmocka_unit_test(
			test_budget__a_refund_after_midnight_does_not_add_to_the_new_day),
		cmocka_unit_test_setup_teardown(test_budget__rows_of_old_windows_are_deleted,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_budget__hands_out_the_limit_and_takes_back,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_budget__is_not_overspent_by_processes_that_are_killed, set_up,
			tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * account_test.c - what a client has spent, and what it gets back.
 */
#include "govern/account.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "mcp/principal.h"
#include "test/memory.h"

enum { NOON_MS = 12 * 3600 * 1000, DAY_MS = 24 * 3600 * 1000 };

static struct fw_accounts accounts;
static fw_principal *ada;

static int setup(void **state)
{
	(void)state;
	memset(&accounts, 0, sizeof accounts);
	assert_null(fw_principal_new(FW_PROOF_TOKEN, "ada", NULL, 0, &ada));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fw_accounts_clear(&accounts);
	fw_principal_unref(ada);
	return 0;
}

/* With a part of both budgets; the limits say which of them apply. */
static struct fw_account *account_with(struct fw_policy_limits *limits)
{
	struct fw_account *account = fw_accounts_find(&accounts, ada, NULL);

	assert_non_null(account);
	account->limits = limits;
	for (int i = 0; i < FW_PERIOD_COUNT; i++) {
		fw_budget_window_at((enum fw_period)i, NOON_MS,
				    &account->leases[i].part.window);
		account->leases[i].part.amount = 100;
	}
	return account;
}

static int64_t left(const struct fw_account *account, enum fw_period period)
{
	return account->leases[period].part.amount;
}

static void pay(struct fw_account *account, int64_t cost)
{
	enum fw_period period;

	assert_int_equal(fw_account_spend(account, cost, NOON_MS, 1, &period), FW_SPENT);
}

/* Sanitizers see it: a call may end after the policy that it began under. */
static void test_account__a_refund_does_not_read_a_policy_that_is_gone(void **state)
{
	struct fw_policy_limits *limits = fw__allocate(sizeof *limits);
	struct fw_account *account;
	unsigned paid;

	(void)state;
	assert_non_null(limits);
	*limits = (struct fw_policy_limits){ .has_budget = { true, true } };
	account = account_with(limits);
	pay(account, 30);
	paid = fw_account_budgets(account);
	fw__release(limits);
	fw_account_refund(account, 30, paid, NOON_MS);
	assert_int_equal(left(account, FW_PERIOD_DAY), 100);
	assert_int_equal(left(account, FW_PERIOD_MONTH), 100);
}

static void test_account__a_budget_that_was_not_charged_gets_nothing_back(void **state)
{
	struct fw_policy_limits day = { .has_budget = { [FW_PERIOD_DAY] = true } };
	struct fw_policy_limits both = { .has_budget = { true, true } };
	struct fw_account *account = account_with(&day);
	unsigned paid;

	(void)state;
	pay(account, 30);
	paid = fw_account_budgets(account);
	account->limits = &both;
	fw_account_refund(account, 30, paid, NOON_MS);
	assert_int_equal(left(account, FW_PERIOD_DAY), 100);
	assert_int_equal(left(account, FW_PERIOD_MONTH), 100);
}

static void test_account__all_budgets_are_charged_or_none(void **state)
{
	struct fw_policy_limits both = { .has_budget = { true, true } };
	struct fw_account *account = account_with(&both);
	enum fw_period period = FW_PERIOD_DAY;

	(void)state;
	account->leases[FW_PERIOD_MONTH].part.amount = 10;
	assert_int_equal(fw_account_spend(account, 30, NOON_MS, 1, &period), FW_SPEND_LATER);
	account->leases[FW_PERIOD_MONTH].dry_until_ns = 2;
	assert_int_equal(fw_account_spend(account, 30, NOON_MS, 1, &period), FW_SPEND_NEVER);
	assert_int_equal(period, FW_PERIOD_MONTH);
	assert_int_equal(left(account, FW_PERIOD_DAY), 100);
	/* The part of a day that is over cannot be spent. */
	assert_int_equal(fw_account_spend(account, 5, NOON_MS + DAY_MS, 3, &period),
			 FW_SPEND_LATER);
	assert_int_equal(left(account, FW_PERIOD_DAY), 0);
}

static void test_account__of_unauthenticated_callers_is_that_of_an_address_or_an_IPv6_network(
	void **state)
{
	const fw_principal *nobody = fw_principal_anonymous();
	struct fw_account *v4 = fw_accounts_find(&accounts, nobody, "192.0.2.1");
	struct fw_account *v6 = fw_accounts_find(&accounts, nobody, "2001:db8:1:2::1");

	(void)state;
	assert_ptr_not_equal(fw_accounts_find(&accounts, nobody, "192.0.2.2"), v4);
	assert_ptr_equal(fw_accounts_find(&accounts, nobody, "2001:db8:1:2:ffff::9"), v6);
	assert_ptr_not_equal(fw_accounts_find(&accounts, nobody, "2001:db8:1:3::1"), v6);
	/* A name is one client, wherever it comes from. */
	assert_ptr_equal(fw_accounts_find(&accounts, ada, "192.0.2.1"),
			 fw_accounts_find(&accounts, ada, "2001:db8::1"));
}

static void find_and_clear(void)
{
	memset(&accounts, 0, sizeof accounts);
	(void)fw_accounts_find(&accounts, ada, NULL);
	fw_accounts_clear(&accounts);
}

static void test_account__each_allocation_may_fail(void **state)
{
	(void)state;
	each_allocation_fails(find_and_clear);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_account__##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_refund_does_not_read_a_policy_that_is_gone),
		TEST(a_budget_that_was_not_charged_gets_nothing_back),
		TEST(all_budgets_are_charged_or_none),
		TEST(of_unauthenticated_callers_is_that_of_an_address_or_an_IPv6_network),
		TEST(each_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * govern_call.c - what the authority does with a call: scopes and limits when it comes,
 * budgets when it is about to run, and bookkeeping at its end.
 *
 * A call that is let through costs a few look-ups and no allocation. It waits only if the
 * part of a budget that is reserved for this server is used up.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>
#include <faultwire/registry.h>

#include "base/clock.h"
#include "base/real.h"
#include "govern/govern_impl.h"
#include "govern/scope.h"
#include "mcp/call.h"
#include "mcp/transport.h"

static struct fw_govern *of(struct fw_authority *authority)
{
	return (struct fw_govern *)authority;
}

/* ---- scopes ----------------------------------------------------------------------------- */

static fw_error *check_scope(const fw_call *call, const fw_principal *principal)
{
	struct fw_scope_tool tool = { .name = call->request.name };
	char action[FW_SCOPE_SIZE + 16], scope[FW_SCOPE_SIZE];

	if (!fw_scope_binds(principal))
		return NULL;
	tool.toolset = fw_authority_toolset(call);
	tool.changes = fw_authority_may_change(call);
	if (fw_scope_covers_tool(principal, &tool))
		return NULL;
	(void)snprintf(action, sizeof action, "call tool %.*s", FW_SCOPE_SIZE, tool.name);
	(void)snprintf(scope, sizeof scope, "tool:%.*s", FW_SCOPE_SIZE - 8, tool.name);
	return fw_govern__forbidden(action, scope);
}

fw_error *fw_govern__read(struct fw_authority *authority, const fw_call *call)
{
	const char *scope = call->request.method ? "read" : "admin";
	char action[64];

	(void)authority;
	if (fw_scope_covers(fw_call_principal(call), scope))
		return NULL;
	(void)snprintf(action, sizeof action, "use %.40s", call->request.method_name);
	return fw_govern__forbidden(action, scope);
}

bool fw_govern__shows(struct fw_authority *authority, const fw_principal *principal,
		      const struct fw_listed *listed)
{
	const struct fw_policy *policy = of(authority)->policy;
	const struct fw_scope_tool tool = { .name = listed->tool,
					    .toolset = listed->toolset,
					    .changes = listed->changes };
	const struct fw_policy_limits *limits;

	if (!listed->tool)
		return fw_scope_covers(principal, "read");
	if (!fw_scope_covers_tool(principal, &tool))
		return false;
	limits = policy ? fw_policy_limits_of(policy, principal) : NULL;
	return !limits || fw_policy_permits(limits, listed->tool);
}

/* ---- limits ----------------------------------------------------------------------------- */

static fw_error *too_fast(double wait_s, const char *hint)
{
	fw_error *err = fw_raise_governance_rate_limited();

	if (hint)
		fw_error_set_hint(err, hint);
	fw_error_set_retry_after(err, wait_s);
	return err;
}

/* Limits of a replaced policy are freed: look them up again. */
static const struct fw_policy_limits *limits_of(const struct fw_govern *govern,
						struct fw_account *account,
						const fw_principal *principal)
{
	if (account->serial != govern->policy_serial) {
		account->limits = fw_policy_limits_of(govern->policy, principal);
		account->serial = govern->policy_serial;
	}
	return account->limits;
}

static fw_error *check_rate(struct fw_account *account, const struct fw_policy_limits *limits,
			    uint64_t now_ns)
{
	uint64_t wait_ns;

	if (!limits->every_ns ||
	    fw_rate_take_each(&account->rate, limits->every_ns, limits->burst, now_ns))
		return NULL;
	wait_ns = fw_rate_wait_each_ns(&account->rate, limits->every_ns, limits->burst, now_ns);
	return too_fast(fw_ceil((double)wait_ns / 1e6) / 1000, NULL);
}

static fw_error *check_breaker(struct fw_govern *govern, fw_call *call)
{
	struct fw_suspension *suspension =
		fw_suspensions_find(&govern->suspensions, call->request.name);
	uint64_t wait_ms = 0;
	char what[128];
	fw_error *err;

	if (!suspension ||
	    fw_breaker_admit(&suspension->breaker, uv_now(&govern->loop->uv), call, &wait_ms)) {
		call->run.grant.breaker = suspension;
		return NULL;
	}
	(void)snprintf(what, sizeof what, "what tool %.80s depends on", call->request.name);
	err = fw_raise_dependency_unavailable(what);
	fw_error_set_origin(err, FW_ORIGIN_POLICY);
	fw_error_set_delivery(err, FW_NOT_SENT);
	fw_error_set_retry_after(err, (double)wait_ms / 1000);
	return err;
}

static fw_error *check_limits(struct fw_govern *govern, fw_call *call,
			      const fw_principal *principal)
{
	const char *peer = call->exchange ? call->exchange->peer : NULL;
	struct fw_account *account = fw_accounts_find(&govern->accounts, principal, peer);
	const struct fw_policy_limits *limits;
	char action[FW_SCOPE_SIZE];

	if (!account)
		return fw_raise_internal_out_of_memory();
	account->refs++;
	call->run.grant.account = account;
	limits = limits_of(govern, account, principal);
	if (limits) {
		if (!fw_policy_permits(limits, call->request.name)) {
			(void)snprintf(action, sizeof action, "call tool %.100s",
				       call->request.name);
			return fw_raise_auth_forbidden(action);
		}
		FW_TRY(check_rate(account, limits, call->started_ns));
		call->run.grant.deadline_ms = limits->deadline_ms;
	}
	return check_breaker(govern, call);
}

fw_error *fw_govern__enter(struct fw_authority *authority, fw_call *call)
{
	const fw_principal *principal = fw_call_principal(call);

	FW_TRY(check_scope(call, principal));
	return of(authority)->policy ? check_limits(of(authority), call, principal) : NULL;
}

/* ---- budgets ---------------------------------------------------------------------------- */

static fw_error *used_up(const struct fw_account *account, enum fw_period period, int64_t cost)
{
	int64_t left = fw_account_left(account, period);
	struct fw_budget_window window = account->leases[period].part.window;
	char renews[FW_TIME_SIZE];
	fw_error *err;

	if (!window.ends_ms)
		fw_budget_window_at(period, fw_unix_ms(), &window);
	(void)fw_time_text(window.ends_ms, renews);
	err = fw_raise_governance_budget_exceeded(fw_budget_period_name(period),
						  (uint64_t)account->limits->budget[period]);
	fw_error_add_i64(err, "left", left);
	fw_error_add_i64(err, "cost", cost);
	fw_error_add_string(err, "renews_at", renews);
	return err;
}

static void renew(struct fw_govern *govern, struct fw_account *account);

static void enqueue(struct fw_account *account, fw_call *call)
{
	(void)fw_call__ref(call);
	call->run.grant.waiting = NULL;
	if (account->last_waiting)
		account->last_waiting->run.grant.waiting = call;
	else
		account->first_waiting = call;
	account->last_waiting = call;
	account->waiting_cost += (int64_t)call->run.grant.cost;
}

static fw_call *dequeue(struct fw_account *account)
{
	fw_call *call = account->first_waiting;

	account->first_waiting = call->run.grant.waiting;
	if (!account->first_waiting)
		account->last_waiting = NULL;
	account->waiting_cost -= (int64_t)call->run.grant.cost;
	return call;
}

/* `now_ms` 0: nothing was charged. */
static void note_payment(const struct fw_account *account, fw_call *call, int64_t now_ms)
{
	call->run.grant.paid_ms = now_ms;
	call->run.grant.paid = fw_account_budgets(account);
}

/* The calls that wait, in their order. */
static void decide(struct fw_govern *govern, struct fw_account *account, const fw_error *failed)
{
	account->refs++;
	while (account->first_waiting) {
		fw_call *call = account->first_waiting;
		int64_t cost = (int64_t)call->run.grant.cost;
		enum fw_period period = FW_PERIOD_DAY;
		enum fw_spending spending;
		int64_t now_ms = fw_unix_ms();
		fw_error *err = NULL;

		if (!failed && !fw_call_is_over(call)) {
			(void)limits_of(govern, account, fw_call_principal(call));
			spending =
				fw_account_spend(account, cost, now_ms, uv_hrtime(), &period);
			if (spending == FW_SPEND_LATER)
				break;
			if (spending == FW_SPEND_NEVER)
				err = used_up(account, period, cost);
			note_payment(account, call, spending == FW_SPENT ? now_ms : 0);
		} else if (failed && !fw_call_is_over(call)) {
			err = fw_raise_dependency_unavailable("the store of budgets");
			fw_error_set_origin(err, FW_ORIGIN_POLICY);
			fw_error_set_delivery(err, FW_NOT_SENT);
			fw_error_set_retry_after(err, 1);
		}
		(void)dequeue(account);
		(void)fw_authority_decided(call, err);
	}
	account->refs--;
	if (account->first_waiting)
		renew(govern, account);
}

static fw_error *work(struct fw_store_call *call, struct fw_store *store)
{
	struct fw_renewal *renewal = (struct fw_renewal *)(void *)call;
	const struct fw_account *account = renewal->account;

	for (int i = 0; i < FW_PERIOD_COUNT; i++) {
		if (renewal->is_return)
			FW_TRY(fw_budget_return(store, account->name, (enum fw_period)i,
						&renewal->part[i].window,
						renewal->part[i].amount));
		else if (renewal->want[i])
			FW_TRY(fw_budget_reserve(store, account->name, (enum fw_period)i,
						 renewal->now_ms, renewal->limit[i],
						 renewal->want[i], &renewal->part[i]));
	}
	return NULL;
}

static void done(struct fw_store_call *call, fw_error *err, bool is_over)
{
	struct fw_renewal *renewal = (struct fw_renewal *)(void *)call;
	struct fw_govern *govern = renewal->owner;

	renewal->is_busy = false;
	govern->pending--;
	if (!renewal->is_return && !err)
		fw_account_take(renewal->account, uv_hrtime());
	if (!renewal->is_return && !is_over)
		decide(govern, renewal->account, err);
	fw_error_free(err);
}

static void submit(struct fw_govern *govern, struct fw_account *account)
{
	struct fw_renewal *renewal = &account->renewal;
	fw_error *err;

	renewal->account = account;
	renewal->owner = govern;
	renewal->call.work = work;
	renewal->call.done = done;
	renewal->is_busy = true;
	govern->pending++;
	err = fw_store_queue_submit(govern->queue, &renewal->call);
	if (err)
		done(&renewal->call, err, false);
}

static void renew(struct fw_govern *govern, struct fw_account *account)
{
	if (account->renewal.is_busy)
		return;
	fw_account_plan(account, fw_unix_ms());
	submit(govern, account);
}

void fw_govern__return_budgets(struct fw_govern *govern)
{
	for (struct fw_account *account = govern->accounts.oldest; account;
	     account = account->newer) {
		bool has_part = false;

		for (int i = 0; i < FW_PERIOD_COUNT; i++) {
			account->renewal.part[i] = account->leases[i].part;
			has_part |= account->leases[i].part.amount > 0;
		}
		if (!has_part || account->renewal.is_busy || !govern->queue)
			continue;
		account->renewal.is_return = true;
		submit(govern, account);
	}
}

/* ---- a call ------------------------------------------------------------------------------ */

static bool has_budgets(const struct fw_policy_limits *limits)
{
	return limits->has_budget[FW_PERIOD_DAY] || limits->has_budget[FW_PERIOD_MONTH];
}

static fw_error *spend(struct fw_govern *govern, struct fw_account *account, fw_call *call,
		       bool *ret_waits)
{
	int64_t cost = fw_policy_cost(govern->policy, call->request.name);
	enum fw_period period = FW_PERIOD_DAY;
	enum fw_spending spending = FW_SPEND_LATER;
	int64_t now_ms = fw_unix_ms();

	if (!cost)
		return NULL;
	call->run.grant.cost = (uint64_t)cost;
	/* Earlier calls go first. */
	if (!account->first_waiting)
		spending = fw_account_spend(account, cost, now_ms, call->started_ns, &period);
	note_payment(account, call, spending == FW_SPENT ? now_ms : 0);
	if (spending == FW_SPEND_NEVER)
		return used_up(account, period, cost);
	if (spending == FW_SPEND_LATER) {
		*ret_waits = true;
		enqueue(account, call);
		renew(govern, account);
	}
	return NULL;
}

static fw_error *too_many(void)
{
	return too_fast(1, "Too many calls are in progress at once: wait for one of them to "
			   "end.");
}

/* Rate and number of calls permit it. */
static fw_error *count_in(struct fw_govern *govern, fw_call *call,
			  const struct fw_policy_limits *limits, bool *ret_waits)
{
	struct fw_account *account = call->run.grant.account;

	account->in_progress++;
	call->run.grant.is_counted = true;
	return limits && has_budgets(limits) ? spend(govern, account, call, ret_waits) : NULL;
}

/* ---- limits that all replicas share ------------------------------------------------------- */

static fw_error *refuse_share(struct fw_account *account, const struct fw_quota_answer *answer)
{
	/* The token of this server's own bucket was not used. */
	if (account->quota.limits.every_ns)
		fw_rate_untake_each(&account->rate, account->quota.limits.every_ns);
	if (answer->reason == FW_QUOTA_TOO_MANY)
		return too_many();
	return too_fast(fw_ceil((double)answer->wait_ns / 1e6) / 1000, NULL);
}

static fw_error *take_share(struct fw_govern *govern, fw_call *call,
			    const struct fw_policy_limits *limits, bool *ret_waits)
{
	struct fw_account *account = call->run.grant.account;
	const struct fw_quota_limits shared = { .every_ns = limits->every_ns,
						.burst = limits->burst,
						.concurrent = limits->concurrent };
	struct fw_quota_answer answer;

	if (fw_quota_take(govern->quotas, &account->quota, account->name, &shared, &answer)) {
		if (!answer.granted)
			return refuse_share(account, &answer);
		call->run.grant.is_shared = true;
		return count_in(govern, call, limits, ret_waits);
	}
	*ret_waits = true;
	(void)fw_call__ref(call);
	call->run.grant.waiting = NULL;
	if (account->last_asking)
		account->last_asking->run.grant.waiting = call;
	else
		account->first_asking = call;
	account->last_asking = call;
	return NULL;
}

/* A call that has waited. */
static void continue_call(struct fw_govern *govern, struct fw_account *account, fw_call *call,
			  const struct fw_quota_answer *answer, bool is_granted)
{
	fw_error *err = NULL;
	bool waits = false;

	if (fw_call_is_over(call)) {
		if (is_granted)
			fw_quota_end(&account->quota);
	} else if (!is_granted) {
		err = refuse_share(account, answer);
	} else {
		call->run.grant.is_shared = true;
		err = count_in(govern, call,
			       limits_of(govern, account, fw_call_principal(call)), &waits);
	}
	/* It waits for a budget now, with a reference of its own. */
	if (waits)
		fw_call__unref(call);
	else
		(void)fw_authority_decided(call, err);
}

void fw_govern__decided(void *ctx, struct fw_quota *quota, const struct fw_quota_answer *answer)
{
	struct fw_account *account =
		(struct fw_account *)(void *)((char *)quota -
					      offsetof(struct fw_account, quota));

	account->refs++;
	for (size_t i = 0; i < answer->count && account->first_asking; i++) {
		fw_call *call = account->first_asking;

		account->first_asking = call->run.grant.waiting;
		if (!account->first_asking)
			account->last_asking = NULL;
		continue_call(ctx, account, call, answer, i < answer->granted);
	}
	account->refs--;
}

fw_error *fw_govern__admit(struct fw_authority *authority, fw_call *call, bool *ret_waits)
{
	struct fw_govern *govern = of(authority);
	struct fw_account *account = call->run.grant.account;
	const struct fw_policy_limits *limits;

	if (!account || !govern->policy)
		return NULL;
	limits = limits_of(govern, account, fw_call_principal(call));
	if (limits && govern->quotas && (limits->every_ns || limits->concurrent))
		return take_share(govern, call, limits, ret_waits);
	if (limits && limits->concurrent && account->in_progress >= limits->concurrent)
		return too_many();
	return count_in(govern, call, limits, ret_waits);
}

static bool is_dependency(const fw_error *err)
{
	const fw_row *row = err ? fw_error_row(err) : NULL;

	return row && row->category == FW_DEPENDENCY;
}

/* The outcome of a call that was let through. */
static void note_outcome(struct fw_govern *govern, fw_call *call, const fw_error *err)
{
	struct fw_suspension *suspension = call->run.grant.breaker;
	uint32_t pause_ms = 0;
	uint32_t failures = govern->policy ? fw_policy_breaker(govern->policy, &pause_ms) : 0;

	if (failures && is_dependency(err)) {
		if (!suspension)
			suspension =
				fw_suspensions_make(&govern->suspensions, call->request.name);
		if (suspension)
			fw_breaker_crashed(&suspension->breaker, uv_now(&govern->loop->uv),
					   call, failures, pause_ms);
	} else if (suspension && !err) {
		fw_breaker_worked(&suspension->breaker);
	} else if (suspension) {
		fw_breaker_let_go(&suspension->breaker, call);
	}
}

void fw_govern__ended(struct fw_authority *authority, fw_call *call, const fw_error *err)
{
	struct fw_grant *grant = &call->run.grant;
	struct fw_account *account = grant->account;

	if (grant->is_counted) {
		note_outcome(of(authority), call, err);
		account->in_progress--;
		if (grant->is_shared)
			fw_quota_end(&account->quota);
		if (grant->paid_ms && err && fw_call_has_not_run(err))
			fw_account_refund(account, (int64_t)grant->cost, grant->paid,
					  grant->paid_ms);
	} else if (grant->breaker) {
		fw_breaker_let_go(&((struct fw_suspension *)grant->breaker)->breaker, call);
	}
	account->refs--;
	grant->is_counted = false;
	grant->is_shared = false;
	grant->paid_ms = 0;
	grant->breaker = NULL;
	grant->account = NULL;
}

/*
 * account.c - see account.h. Accounts are kept in the order of their last use; the one that
 * was not used for the longest time is given up for a new one, if no call refers to it.
 */
#include "govern/account.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

/* ---- the table ----------------------------------------------------------------------- */

static struct fw_account **bucket_of(struct fw_accounts *accounts, uint64_t hash)
{
	return &accounts->buckets[hash % FW_ACCOUNT_BUCKETS];
}

/* Whether the name is that of the principal, with the address after it if there is one. */
static bool is_of(const struct fw_account *account, const char *name, const char *peer)
{
	size_t len = strlen(name);

	if (strncmp(account->name, name, len) != 0)
		return false;
	if (!peer)
		return account->name[len] == '\0';
	return account->name[len] == '@' && strcmp(account->name + len + 1, peer) == 0;
}

static void leave_order(struct fw_accounts *accounts, struct fw_account *account)
{
	if (account->newer)
		account->newer->older = account->older;
	else
		accounts->newest = account->older;
	if (account->older)
		account->older->newer = account->newer;
	else
		accounts->oldest = account->newer;
}

static void become_newest(struct fw_accounts *accounts, struct fw_account *account)
{
	account->newer = NULL;
	account->older = accounts->newest;
	if (accounts->newest)
		accounts->newest->newer = account;
	else
		accounts->oldest = account;
	accounts->newest = account;
}

static void remove_account(struct fw_accounts *accounts, struct fw_account *account)
{
	struct fw_account **at = bucket_of(accounts, account->hash);

	while (*at != account)
		at = &(*at)->next;
	*at = account->next;
	leave_order(accounts, account);
	accounts->count--;
	fw_quota_clear(&account->quota);
	fw__release(account);
}

/* False: all are in use. */
static bool make_room(struct fw_accounts *accounts)
{
	struct fw_account *account = accounts->oldest;

	if (accounts->count < FW_ACCOUNTS_MAX)
		return true;
	while (account && (account->refs || account->first_waiting ||
			   account->renewal.is_busy || fw_quota_is_busy(&account->quota)))
		account = account->newer;
	if (account)
		remove_account(accounts, account);
	return account != NULL;
}

static struct fw_account *make(struct fw_accounts *accounts, uint64_t hash, const char *name,
			       const char *peer)
{
	size_t name_len = strlen(name), peer_len = peer ? strlen(peer) + 1 : 0;
	struct fw_account *account;
	char *text;

	if (!make_room(accounts))
		return NULL;
	account = fw__allocate(sizeof *account + name_len + peer_len + 1);
	if (!account)
		return NULL;
	memset(account, 0, sizeof *account);
	text = (char *)(account + 1);
	memcpy(text, name, name_len);
	if (peer) {
		text[name_len] = '@';
		memcpy(text + name_len + 1, peer, peer_len - 1);
	}
	text[name_len + peer_len] = '\0';
	account->name = text;
	account->hash = hash;
	account->next = *bucket_of(accounts, hash);
	*bucket_of(accounts, hash) = account;
	become_newest(accounts, account);
	accounts->count++;
	return account;
}

/* The owner of an IPv6 address has all of its network (/64). */
static const char *network_of(const char *peer, char text[INET6_ADDRSTRLEN])
{
	struct in6_addr address;

	if (!peer || inet_pton(AF_INET6, peer, &address) != 1)
		return peer;
	memset(address.s6_addr + 8, 0, 8);
	return inet_ntop(AF_INET6, &address, text, INET6_ADDRSTRLEN);
}

struct fw_account *fw_accounts_find(struct fw_accounts *accounts, const fw_principal *principal,
				    const char *peer)
{
	const char *name = fw_principal_name(principal);
	uint64_t hash = fw_hash_text(name, 0);
	struct fw_account *account;
	char network[INET6_ADDRSTRLEN];

	peer = fw_principal_proof(principal) == FW_PROOF_NONE ? network_of(peer, network)
							      : NULL;
	if (peer)
		hash = fw_hash_text(peer, hash);
	account = *bucket_of(accounts, hash);
	while (account && (account->hash != hash || !is_of(account, name, peer)))
		account = account->next;
	if (!account)
		return make(accounts, hash, name, peer);
	if (accounts->newest != account) {
		leave_order(accounts, account);
		become_newest(accounts, account);
	}
	return account;
}

void fw_accounts_clear(struct fw_accounts *accounts)
{
	while (accounts->oldest)
		remove_account(accounts, accounts->oldest);
}

/* ---- budgets --------------------------------------------------------------------------- */

static bool has_budget(const struct fw_account *account, int period)
{
	return account->limits && account->limits->has_budget[period];
}

enum fw_spending fw_account_spend(struct fw_account *account, int64_t cost, int64_t now_ms,
				  uint64_t now_ns, enum fw_period *ret_period)
{
	enum fw_spending result = FW_SPENT;

	for (int i = 0; i < FW_PERIOD_COUNT; i++) {
		struct fw_lease *lease = &account->leases[i];

		if (!has_budget(account, i))
			continue;
		/* A part that was reserved for a past day or month cannot be spent. */
		if (now_ms >= lease->part.window.ends_ms)
			*lease = (struct fw_lease){ .dry_until_ns = 0 };
		if (lease->part.amount >= cost)
			continue;
		if (now_ns < lease->dry_until_ns) {
			*ret_period = (enum fw_period)i;
			return FW_SPEND_NEVER;
		}
		result = FW_SPEND_LATER;
	}
	for (int i = 0; i < FW_PERIOD_COUNT && result == FW_SPENT; i++)
		if (has_budget(account, i))
			account->leases[i].part.amount -= cost;
	return result;
}

unsigned fw_account_budgets(const struct fw_account *account)
{
	unsigned budgets = 0;

	for (int i = 0; i < FW_PERIOD_COUNT; i++)
		budgets |= (unsigned)has_budget(account, i) << i;
	return budgets;
}

/* `account->limits` may belong to a policy that was freed, so they are not read. */
void fw_account_refund(struct fw_account *account, int64_t cost, unsigned budgets,
		       int64_t paid_ms)
{
	for (int i = 0; i < FW_PERIOD_COUNT; i++) {
		struct fw_budget_part *part = &account->leases[i].part;
		struct fw_budget_window window;

		fw_budget_window_at((enum fw_period)i, paid_ms, &window);
		if (budgets & 1u << i && strcmp(window.name, part->window.name) == 0)
			part->amount += cost;
	}
}

int64_t fw_account_left(const struct fw_account *account, enum fw_period period)
{
	const struct fw_budget_part *part = &account->leases[period].part;

	return part->amount + part->store_left;
}

void fw_account_plan(struct fw_account *account, int64_t now_ms)
{
	struct fw_renewal *renewal = &account->renewal;

	renewal->account = account;
	renewal->is_return = false;
	renewal->now_ms = now_ms;
	for (int i = 0; i < FW_PERIOD_COUNT; i++) {
		const struct fw_budget_part *part = &account->leases[i].part;
		int64_t usual;

		renewal->want[i] = 0;
		if (!has_budget(account, i))
			continue;
		renewal->limit[i] = account->limits->budget[i];
		usual = renewal->limit[i] / FW_ACCOUNT_PARTS;
		if (part->amount >= account->waiting_cost && part->amount)
			continue;
		renewal->want[i] = account->waiting_cost - part->amount;
		if (renewal->want[i] < usual)
			renewal->want[i] = usual;
		if (renewal->want[i] < 1)
			renewal->want[i] = 1;
	}
}

void fw_account_take(struct fw_account *account, uint64_t now_ns)
{
	const struct fw_renewal *renewal = &account->renewal;

	for (int i = 0; i < FW_PERIOD_COUNT; i++) {
		const struct fw_budget_part *got = &renewal->part[i];
		struct fw_lease *lease = &account->leases[i];

		if (!renewal->want[i])
			continue;
		if (strcmp(lease->part.window.name, got->window.name) != 0)
			*lease = (struct fw_lease){ .part.window = got->window };
		lease->part.amount += got->amount;
		lease->part.store_left = got->store_left;
		lease->dry_until_ns = got->amount < renewal->want[i]
					      ? now_ns + FW_ACCOUNT_DRY_MS * (uint64_t)1000000
					      : 0;
	}
}

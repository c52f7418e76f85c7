/*
 * govern.c - the life of the authority, and how it notices changes: twice per second the
 * store's thread compares one number, and reads the tokens only if it has moved.
 */
#include "govern/govern.h"

#include <string.h>
#include <sys/stat.h>

#include <faultwire/raise.h>

#include "base/clock.h"
#include "base/mem.h"
#include "govern/govern_impl.h"
#include "mcp/page.h"
#include "observe/log/log.h"

/* ---- changes ------------------------------------------------------------------------- */

static fw_error *work(struct fw_store_call *call, struct fw_store *store)
{
	struct fw_govern_poll *poll = (struct fw_govern_poll *)(void *)call;
	int64_t generation;

	poll->is_read = false;
	FW_TRY(fw_token_generation(store, &generation));
	if (generation != poll->generation)
		FW_TRY(fw_keyring_read(store, &poll->keyring));
	poll->generation = generation;
	poll->is_read = true;
	/* Last: a store that cannot be written to must not hide a revocation. */
	return fw_token_record_use(store, poll->ids, poll->used_ms, poll->use_count);
}

static void report_store(struct fw_govern *govern, const fw_error *err)
{
	bool is_lost = err != NULL;

	govern->poll_failures += is_lost;
	if (is_lost == govern->is_store_lost)
		return;
	govern->is_store_lost = is_lost;
	govern->lost_unix_ms = is_lost ? fw_unix_ms() : 0;
	/* Tokens that are known stay valid. */
	if (is_lost)
		fw_log_event(FW_LOG_ERROR, "faultwire", "governance_store_lost",
			     (const fw_field[]){ fw_log_text("why", fw_error_message(err)) },
			     1);
	else
		fw_log_event(FW_LOG_INFO, "faultwire", "governance_store_found", NULL, 0);
}

static void take_keyring(struct fw_govern *govern)
{
	struct fw_keyring *keyring = govern->poll.keyring;

	govern->poll.keyring = NULL;
	fw_keyring_inherit(keyring, govern->keyring);
	fw_keyring_free(govern->keyring);
	govern->keyring = keyring;
	fw_authority_end_streams(govern->server);
	fw_log_event(FW_LOG_INFO, "faultwire", "tokens_loaded",
		     (const fw_field[]){ fw_log_number("count", fw_keyring_count(keyring)) },
		     1);
}

static void done(struct fw_store_call *call, fw_error *err, bool is_over)
{
	struct fw_govern_poll *poll = (struct fw_govern_poll *)(void *)call;
	struct fw_govern *govern = poll->govern;

	poll->is_busy = false;
	govern->pending--;
	if (!is_over)
		report_store(govern, err);
	if (poll->is_read)
		govern->store_ok_ms = fw_steady_ms();
	fw_error_free(err);
	if (poll->keyring)
		take_keyring(govern);
}

/* `least_ms`: how old a recorded use must be to be recorded again. */
static void collect_uses(struct fw_govern *govern, int64_t least_ms)
{
	struct fw_govern_poll *poll = &govern->poll;

	poll->use_count = 0;
	for (size_t i = 0; i < fw_keyring_count(govern->keyring); i++) {
		struct fw_key *key = fw_keyring_at(govern->keyring, i);

		if (poll->use_count == FW_LIMIT_STORE_CHANGES)
			return;
		if (key->used_ms <= key->recorded_ms ||
		    (key->recorded_ms && key->used_ms - key->recorded_ms < least_ms))
			continue;
		memcpy(poll->ids[poll->use_count], key->id, sizeof key->id);
		poll->used_ms[poll->use_count++] = key->used_ms;
		key->recorded_ms = key->used_ms;
	}
}

static void look(struct fw_govern *govern, int64_t least_ms)
{
	struct fw_govern_poll *poll = &govern->poll;
	fw_error *err;

	if (!govern->queue || !govern->uses_tokens || poll->is_busy)
		return;
	collect_uses(govern, least_ms);
	poll->call.work = work;
	poll->call.done = done;
	poll->govern = govern;
	err = fw_store_queue_submit(govern->queue, &poll->call);
	poll->is_busy = !err;
	govern->pending += !err;
	fw_error_free(err);
}

/* ---- the policy ------------------------------------------------------------------------ */

static struct fw_govern_stamp stamp_of(const char *path)
{
	struct fw_govern_stamp stamp = { 0 };
	struct stat found;

	if (stat(path, &found) != 0)
		return stamp;
	stamp.modified_ns = (int64_t)found.st_mtim.tv_sec * 1000000000 + found.st_mtim.tv_nsec;
	stamp.changed_ns = (int64_t)found.st_ctim.tv_sec * 1000000000 + found.st_ctim.tv_nsec;
	stamp.inode = found.st_ino;
	stamp.bytes = (uint64_t)found.st_size;
	return stamp;
}

static bool is_same(const struct fw_govern_stamp *a, const struct fw_govern_stamp *b)
{
	return a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns &&
	       a->inode == b->inode && a->bytes == b->bytes;
}

/* The stamp is taken first: a change in between is noticed the next time. */
static fw_error *read_policy(struct fw_govern *govern)
{
	struct fw_policy *policy = NULL;

	govern->policy_stamp = stamp_of(govern->policy_file);
	FW_TRY(fw_policy_read(govern->policy_file, &policy));
	if (fw_policy_has_budgets(policy) && !govern->queue) {
		fw_policy_free(policy);
		return fw_raise_input_invalid_value(govern->policy_file,
						    "without budgets, as there is no store");
	}
	fw_policy_free(govern->policy);
	govern->policy = policy;
	govern->policy_serial++;
	fw_issuer_forget(govern->issuer);
	return NULL;
}

/* If the file is missing or not valid, the current policy stays in use. */
static void look_at_policy(struct fw_govern *govern)
{
	struct fw_govern_stamp stamp;
	fw_error *err;

	if (!govern->policy_file)
		return;
	stamp = stamp_of(govern->policy_file);
	if (is_same(&stamp, &govern->policy_stamp))
		return;
	err = read_policy(govern);
	fw_log_event(
		err ? FW_LOG_ERROR : FW_LOG_INFO, "faultwire",
		err ? "policy_rejected" : "policy_loaded",
		(const fw_field[]){ fw_log_text("why", err ? fw_error_message(err) : NULL) },
		1);
	fw_error_free(err);
}

static void on_timer(uv_timer_t *timer)
{
	struct fw_govern *govern = timer->data;

	look(timer->data, FW_GOVERN_USE_MS);
	look_at_policy(timer->data);
	if (govern->issuer)
		fw_issuer_look(govern->issuer);
	/* Tokens expire without a change of the store, too. */
	if (govern->base.requires_token)
		fw_authority_end_streams(govern->server);
}

/* ---- life ------------------------------------------------------------------------------ */

/* The tokens are read before the first request, so this one waits for the disk. */
static fw_error *open_store(struct fw_govern *govern, const char *url)
{
	const struct fw_store_options durable = { .is_durable = true };
	struct fw_store *store = NULL;
	char shown[256];
	fw_error *err;

	FW_TRY(fw_store_open(url, &durable, &store));
	err = govern->uses_tokens ? fw_token_generation(store, &govern->poll.generation) : NULL;
	if (!err && govern->uses_tokens)
		err = fw_keyring_read(store, &govern->keyring);
	if (err) {
		fw_store_free(store);
		fw_store_url_show(url, shown, sizeof shown);
		return fw_error_wrap(err, FW_HERE, "could not read the tokens in %s", shown);
	}
	govern->is_store_shared = fw_store_is_shared(url);
	govern->store_ok_ms = fw_steady_ms();
	return fw_store_queue_new(store, govern->loop, &govern->queue);
}

static void start_timer(struct fw_govern *govern)
{
	(void)uv_timer_init(&govern->loop->uv, &govern->timer);
	govern->timer.data = govern;
	govern->has_timer = true;
	(void)uv_timer_start(&govern->timer, on_timer, FW_GOVERN_POLL_MS, FW_GOVERN_POLL_MS);
	/* It does not keep the loop running. */
	uv_unref((uv_handle_t *)&govern->timer);
}

fw_error *fw_govern_new(fw_server *server, const struct fw_govern_options *options,
			struct fw_govern **ret_govern)
{
	static const struct fw_authority_ops ops = { .identify = fw_govern__identify,
						     .open_page = fw_govern__open_page,
						     .read = fw_govern__read,
						     .shows = fw_govern__shows,
						     .enter = fw_govern__enter,
						     .admit = fw_govern__admit,
						     .ended = fw_govern__ended };
	struct fw_govern *govern = fw__allocate(sizeof *govern);
	fw_error *err = NULL;

	if (!govern)
		return fw_raise_internal_out_of_memory();
	memset(govern, 0, sizeof *govern);
	govern->base.ops = &ops;
	govern->server = server;
	govern->loop = options->loop;
	govern->uses_tokens = options->uses_tokens;
	govern->token_age_ms = options->token_age_ms;
	govern->base.requires_token = options->uses_tokens || options->oauth_issuer;
	govern->quotas = options->quotas;
	if (govern->quotas)
		fw_quotas_set_decided(govern->quotas, fw_govern__decided, govern);
	fw_guard_init(&govern->guard);
	govern->hasher = fw_hasher_new();
	if (!govern->hasher)
		err = fw_raise_internal_out_of_memory();
	else if (govern->base.requires_token && !fw_digest_load())
		err = fw_raise_internal_unsupported("tokens without libcrypto");
	if (!err && options->store)
		err = open_store(govern, options->store);
	if (!err && options->policy_file) {
		govern->policy_file = fw_strdup(options->policy_file);
		err = govern->policy_file ? read_policy(govern)
					  : fw_raise_internal_out_of_memory();
	}
	if (!err && options->oauth_issuer)
		err = fw_govern__add_issuer(govern, options);
	if (!err && govern->queue)
		err = fw_server__add_check(server, fw_govern__check, govern);
	if (err) {
		fw_govern_free(govern);
		return err;
	}
	start_timer(govern);
	fw_server__set_authority(server, &govern->base);
	*ret_govern = govern;
	return NULL;
}

void fw_govern_close(struct fw_govern *govern)
{
	if (!govern || govern->is_closed)
		return;
	govern->is_closed = true;
	if (govern->has_timer)
		uv_close((uv_handle_t *)&govern->timer, NULL);
	/* Renewals in progress must complete before their parts can be returned. */
	while (govern->pending)
		(void)uv_run(&govern->loop->uv, UV_RUN_ONCE);
	look(govern, 0);
	fw_govern__return_budgets(govern);
	fw_store_queue_free(govern->queue);
	govern->queue = NULL;
	fw_issuer_free(govern->issuer);
	govern->issuer = NULL;
	/* All results are on the loop by now. */
	while (govern->pending)
		(void)uv_run(&govern->loop->uv, UV_RUN_NOWAIT);
}

void fw_govern_free(struct fw_govern *govern)
{
	if (!govern)
		return;
	fw_issuer_free(govern->issuer);
	fw_buf_clear(&govern->metadata);
	fw_keyring_free(govern->keyring);
	fw_keyring_free(govern->poll.keyring);
	fw_hasher_free(govern->hasher);
	fw_accounts_clear(&govern->accounts);
	fw_suspensions_clear(&govern->suspensions);
	fw_policy_free(govern->policy);
	fw__release(govern->policy_file);
	fw_store_queue_free(govern->queue);
	fw__release(govern);
}

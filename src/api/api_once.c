/*
 * api_once.c - Idempotency-Key: a request that is repeated gets the answer of the first
 * one, and its tool runs once.
 *
 * A row in the store says that a key is in use before the tool is called, and has the
 * answer before the client does. A server that is killed in between leaves a row without
 * an answer: it is unknown whether the tool has run, so the key is refused until it
 * expires, and the tool does not run again. A call that was refused before its tool ran
 * leaves no row. If the client goes away, the call continues: its answer is kept.
 */
#include <stdio.h>
#include <string.h>

#include <uv.h>

#include <faultwire/raise.h>

#include "api/api_impl.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "mcp/boundary.h"
#include "mcp/call.h"
#include "mcp/page.h"
#include "mcp/project.h"
#include "mcp/run.h"
#include "mcp/server.h"
#include "mcp/transport.h"
#include "store/store_queue.h"

enum {
	KEY_BYTES = 255,
	HEX = 2 * FW_SHA256_BYTES + 1,
	KEPT_MS = 24 * 3600 * 1000,
	/* How long a call without an answer is thought to be running at another server. */
	ELSEWHERE_MS = 60 * 1000,
	SWEPT = 8
};

static const char KIND[] = "idempotency";

struct fw_api_once {
	struct fw_store_call call; /* must be first */
	struct fw_api_once *next;  /* of those that are in progress */
	struct fw_api *api;
	fw_page *page; /* a reference of its own */
	fw_hold *hold; /* NULL: the tool has not run */
	char key[HEX];
	char body[HEX];
	bool is_found;       /* the row was there */
	bool is_deleted;     /* the row is to be deleted */
	struct fw_buf value; /* of the row: found, or to be written */
};

static void once_free(struct fw_api_once *once)
{
	struct fw_api_once **at = &once->api->onces;

	while (*at && *at != once)
		at = &(*at)->next;
	if (*at)
		*at = once->next;
	fw_page_unref(once->page);
	fw_buf_clear(&once->value);
	fw__release(once);
}

/* Keys of different callers and tools differ. */
static bool make_key(struct fw_api_once *once, const char *key)
{
	const fw_principal *who = fw_page_principal(once->page);
	unsigned char hash[FW_SHA256_BYTES];
	struct fw_buf text;
	size_t len = 0;
	const char *body = fw_page_body(once->page, &len);
	bool is_made;

	fw_buf_init(&text, FW_LIMIT_TEXT_BYTES);
	fw_buf_json_str(&text, fw_proof_name(fw_principal_proof(who)));
	fw_buf_json_str(&text, fw_principal_name(who));
	fw_buf_json_str(&text, fw_page_parameter(once->page, "name"));
	fw_buf_json_str(&text, key);
	is_made = text.state == FW_BUF_OK && fw_sha256(text.text, text.len, hash);
	fw_buf_clear(&text);
	if (!is_made)
		return false;
	fw_hex(hash, FW_SHA256_BYTES, once->key);
	if (!fw_sha256(body, len, hash))
		return false;
	fw_hex(hash, FW_SHA256_BYTES, once->body);
	return true;
}

/* ---- the end: the answer is kept, then sent ------------------------------------------ */

static fw_error *keep_answer(struct fw_store_call *call, struct fw_store *store)
{
	struct fw_api_once *once = (struct fw_api_once *)(void *)call;
	const struct fw_store_change change = {
		.action = once->is_deleted ? FW_STORE_DELETE : FW_STORE_PUT,
		.kind = KIND,
		.key = once->key,
		.value = once->value.text,
		.expires_ms = fw_unix_ms() + KEPT_MS,
	};
	struct fw_store_result result;

	return fw_store_apply(store, &change, 1, &result);
}

/* An answer that could not be kept is sent all the same: the tool has run. */
static void answer_kept(struct fw_store_call *call, fw_error *err, bool is_over)
{
	struct fw_api_once *once = (struct fw_api_once *)(void *)call;

	fw_error_free(err);
	if (once->hold && !is_over)
		fw_hold_release(once->hold, NULL);
	once_free(once);
}

static void put_answer(struct fw_api_once *once, fw_call *call, const fw_error *err)
{
	struct fw_reply reply = { .status = 200, .type = "application/json" };
	const struct fw_buf *out = &call->server->out;
	size_t value_max = FW_LIMIT_STORE_VALUE_BYTES - 1;

	if (err) {
		fw_mcp_put_error(call, err);
		fw_mcp_put_headers(call, err, &reply);
	}
	fw_buf_reset(&once->value, 0);
	once->value.max = value_max;
	FW_BUF(&once->value, "{\"body\":");
	fw_buf_json_str(&once->value, once->body);
	FW_BUF(&once->value, ",\"status\":");
	fw_buf_i64(&once->value, reply.status);
	FW_BUF(&once->value, ",\"type\":");
	fw_buf_json_str(&once->value, reply.type);
	if (out->state == FW_BUF_OK && out->len + once->value.len < value_max / 2) {
		FW_BUF(&once->value, ",\"answer\":");
		fw_buf_json(&once->value, out->text, out->len);
	}
	FW_BUF(&once->value, "}");
}

bool fw_api_keep_answer(struct fw_api *api, const fw_outcome *outcome, fw_hold *hold)
{
	fw_call *call = outcome->call;
	struct fw_api_once *once = call->page ? call->page->note : NULL;
	fw_error *err;

	if (!once || !api->keys)
		return false;
	call->page->note = NULL;
	once->hold = hold;
	once->is_deleted = outcome->error &&
			   (call->stage < FW_STAGE_RUN || fw_call_has_not_run(outcome->error));
	if (!once->is_deleted)
		put_answer(once, call, outcome->error);
	once->call.work = keep_answer;
	once->call.done = answer_kept;
	err = once->value.state == FW_BUF_OK ? fw_store_queue_submit(api->keys, &once->call)
					     : fw_raise_internal_out_of_memory();
	if (!err)
		return true;
	fw_error_free(err);
	once_free(once);
	return false;
}

/* ---- the beginning: is the key in use? -------------------------------------------------- */

static void copy_value(void *ctx, const struct fw_store_row *row)
{
	struct fw_api_once *once = ctx;

	once->is_found = true;
	fw_buf_str(&once->value, row->value);
}

static fw_error *claim(struct fw_store_call *call, struct fw_store *store)
{
	struct fw_api_once *once = (struct fw_api_once *)(void *)call;
	char value[2 * HEX + FW_API_INSTANCE_SIZE];
	struct fw_store_change change = {
		.action = FW_STORE_PUT,
		.kind = KIND,
		.key = once->key,
		.value = value,
		.if_version = FW_STORE_ABSENT,
		.expires_ms = fw_unix_ms() + KEPT_MS,
	};
	struct fw_store_result result;
	size_t swept;

	(void)snprintf(value, sizeof value,
		       "{\"body\":\"%s\",\"server\":\"%s\",\"since_ms\":%lld}", once->body,
		       once->api->instance, (long long)fw_unix_ms());
	FW_TRY(fw_store_expire(store, SWEPT, &swept));
	FW_TRY(fw_store_apply(store, &change, 1, &result));
	if (result.is_refused)
		FW_TRY(fw_store_get(store, KIND, once->key, copy_value, once));
	return NULL;
}

static fw_error *in_use(const char *why, bool is_running)
{
	fw_error *err = fw_raise_resource_conflict("Idempotency-Key");

	fw_error_set_hint(err, why);
	if (is_running)
		fw_error_set_retry_after(err, 1);
	else
		fw_error_set_retry(err, FW_RETRY_NEVER);
	return err;
}

/* A row without an answer may also be left by a server that was killed, or by a request of
 * this one that the store has failed. */
static bool is_running(const struct fw_api_once *once, yyjson_val *row)
{
	const struct fw_api_once *other = once->api->onces;
	int64_t age_ms = fw_unix_ms() - yyjson_get_sint(fw_json_member(row, "since_ms"));

	if (!yyjson_equals_str(fw_json_member(row, "server"), once->api->instance))
		return age_ms < ELSEWHERE_MS;
	while (other && (other == once || strcmp(other->key, once->key) != 0))
		other = other->next;
	return other != NULL;
}

static fw_error *replay(const struct fw_api_once *once, yyjson_val *row)
{
	yyjson_val *answer = fw_json_member(row, "answer");

	if (!yyjson_equals_str(fw_json_member(row, "body"), once->body))
		return fw_raise_input_invalid_value(
			"Idempotency-Key", "a key that was not used with another body");
	if (!answer && !fw_json_member(row, "status") && is_running(once, row))
		return in_use("The first request with this key may still be running: wait.",
			      true);
	if (!answer)
		return in_use("The outcome of the first request with this key is not known: "
			      "it was cut off, or its answer could not be kept. Check its "
			      "effect, then use another key.",
			      false);
	fw_page_set_header(once->page, "Idempotency-Replayed", "true");
	fw_page_status(once->page, yyjson_get_int(fw_json_member(row, "status")),
		       yyjson_get_str(fw_json_member(row, "type")));
	fw_page_write(once->page, yyjson_get_str(answer), yyjson_get_len(answer));
	return NULL;
}

static fw_error *replay_text(const struct fw_api_once *once)
{
	const struct fw_json_limits limits = { FW_LIMIT_STORE_VALUE_BYTES, 4 };
	yyjson_doc *doc = once->value.text ? fw_json_read(once->value.text, once->value.len,
							  limits, 0, NULL, NULL)
					   : NULL;
	fw_error *err = doc ? replay(once, yyjson_doc_get_root(doc))
			    : fw_raise_dependency_unavailable("idempotency store");

	yyjson_doc_free(doc);
	return err;
}

/* The tool does not run: the key is free again. */
static void give_up(struct fw_api_once *once)
{
	fw_error *err;

	once->is_deleted = true;
	once->call.work = keep_answer;
	once->call.done = answer_kept;
	err = fw_store_queue_submit(once->api->keys, &once->call);
	if (!err)
		return;
	fw_error_free(err);
	once_free(once);
}

static void run_tool(struct fw_api_once *once)
{
	fw_page *page = once->page;
	size_t len = 0;
	const char *body = fw_page_body(page, &len);

	fw_buf_clear(&once->value);
	page->note = once;
	page->outlives_client = true;
	if (fw_page_call_tool(page, fw_page_parameter(page, "name"), len ? body : "{}",
			      len ? len : 2))
		return;
	page->note = NULL;
	give_up(once);
}

static void claimed(struct fw_store_call *call, fw_error *err, bool is_over)
{
	struct fw_api_once *once = (struct fw_api_once *)(void *)call;
	fw_page *page = once->page;
	bool is_ours = !err && !once->is_found && !is_over;

	if (is_ours) {
		(void)fw_page_ref(page);
		if (fw_page_is_gone(page))
			give_up(once);
		else
			run_tool(once);
		fw_page_finish(page, NULL);
		fw_page_unref(page);
		return;
	}
	if (!err && once->is_found)
		err = replay_text(once);
	fw_page_finish(page, err);
	once_free(once);
}

static fw_error *open_store(struct fw_api *api)
{
	static const struct fw_store_options durable = { .is_durable = true };
	struct fw_store *store;

	if (api->keys)
		return NULL;
	if (!api->store_file)
		return fw_raise_internal_unsupported("Idempotency-Key without a store");
	FW_TRY(fw_store_open(api->store_file, &durable, &store));
	return fw_store_queue_new(store, api->loop, &api->keys);
}

static bool is_valid_key(const char *key)
{
	size_t len = strlen(key);

	for (size_t i = 0; i < len; i++)
		if (key[i] <= ' ' || key[i] > '~')
			return false;
	return len > 0 && len <= KEY_BYTES;
}

/* Consumes nothing if it fails. */
static fw_error *begin(struct fw_api_once *once, const char *key)
{
	if (!make_key(once, key))
		return fw_raise_internal_out_of_memory();
	once->call.work = claim;
	once->call.done = claimed;
	FW_TRY(fw_page_keep(once->page));
	return NULL;
}

fw_error *fw_api_call_once(struct fw_api *api, fw_page *page)
{
	const char *key = fw_page_header(page, "Idempotency-Key");
	struct fw_api_once *once;
	fw_error *err;

	if (!is_valid_key(key))
		return fw_raise_input_invalid_format("Idempotency-Key",
						     "1 to 255 visible ASCII characters");
	FW_TRY(open_store(api));
	once = fw__allocate(sizeof *once);
	if (!once)
		return fw_raise_internal_out_of_memory();
	memset(once, 0, sizeof *once);
	fw_buf_init(&once->value, FW_LIMIT_STORE_VALUE_BYTES);
	once->page = fw_page_ref(page);
	once->api = api;
	once->next = api->onces;
	api->onces = once;
	err = begin(once, key);
	if (err) {
		once_free(once);
		return err;
	}
	err = fw_store_queue_submit(api->keys, &once->call);
	if (err) {
		fw_page_finish(page, err);
		once_free(once);
	}
	return NULL;
}

/*
 * client_request.c - requests. A request has one or more attempts, an attempt has one
 * exchange with the server, and one more for each time that a modern server requires
 * input.
 */
#include <string.h>

#include <faultwire/raise.h>

#include "base/id.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "client/client_impl.h"
#include "rpc/names.h"

/* ---- one exchange ---------------------------------------------------------------- */

static void on_done(void *ctx, const struct fw_remote_reply *reply, fw_error *err)
{
	fw_client *client = ctx;
	struct fw_slice text = { NULL, 0 };

	if (err) {
		client->err = err;
		client->outcome = FW_CLIENT_BROKEN;
	} else if (!reply->result.p) {
		text = reply->error;
		client->outcome = FW_CLIENT_ERROR;
	} else {
		text = reply->result;
		client->outcome = FW_CLIENT_RESULT;
		if (fw_slice_equals(reply->scan->type, "input_required"))
			client->outcome = FW_CLIENT_INPUT;
		else if (fw_slice_is(reply->scan->is_error, "true"))
			client->outcome = FW_CLIENT_TOOL;
	}
	fw_buf_reset(&client->text, 0);
	if (text.p)
		fw_buf_put(&client->text, text.p, text.n);
	fw_loop_stop(&client->loop);
}

static void on_progress(void *ctx, struct fw_slice params)
{
	fw_client *client = ctx;

	fw_client__report(client, &(fw_client_event){ .kind = FW_CLIENT_PROGRESS,
						      .attempt = client->attempts,
						      .text = params.p,
						      .len = params.n });
}

static uint32_t attempt_ms(const fw_client *client)
{
	double left, seconds = client->options.timeout;

	if (fw_client__left(client, &left) && left < seconds)
		seconds = left;
	if (seconds > UINT32_MAX / 1000.0)
		return UINT32_MAX;
	return seconds * 1000 >= 1 ? (uint32_t)(seconds * 1000) : 1;
}

/* Sends the request and waits for its end. `outcome` then says how it ended. */
static fw_error *exchange(fw_client *client, const struct fw_client_order *order,
			  struct fw_slice params)
{
	const struct fw_remote_request request = {
		.method = order->method,
		.params = params,
		.meta = order->meta,
		.name = order->name,
		.headers = order->headers,
		.deadline_ms = attempt_ms(client),
		.done = on_done,
		.progress = client->options.event ? on_progress : NULL,
		.ctx = client,
	};
	uint64_t key = 0;
	fw_error *err;

	client->outcome = FW_CLIENT_RUNNING;
	FW_TRY(fw_remote_call(client->remote, &request, &key));
	while (client->outcome == FW_CLIENT_RUNNING && !atomic_load(&client->is_interrupted) &&
	       uv_loop_alive(&client->loop.uv))
		fw_loop_run(&client->loop);
	if (client->outcome == FW_CLIENT_RUNNING) {
		fw_remote_cancel(client->remote, key, "the user interrupted the call");
		fw_client__flush(client);
		err = fw_raise_runtime_cancelled();
		fw_error_set_delivery(err, FW_SENT);
		return err;
	}
	if (client->outcome == FW_CLIENT_BROKEN) {
		err = client->err;
		client->err = NULL;
		return err;
	}
	return client->text.state == FW_BUF_OK ? NULL : fw_raise_internal_out_of_memory();
}

/* ---- one attempt: an exchange, and the rounds after it ------------------------------ */

static fw_error *next_round(fw_client *client, const struct fw_client_order *order,
			    struct fw_buf *params)
{
	const struct fw_slice result = { client->text.text, client->text.len };
	struct fw_scan_member state = { .name = "requestState" };

	fw_buf_reset(params, 0);
	fw_buf_put(params, order->params.p ? order->params.p : "", order->params.n);
	if (params->len)
		FW_BUF(params, ",");
	FW_TRY(fw_client__answer_all(client, result, params));
	if (fw_slice_members(result, &state, 1) && state.value.p) {
		FW_BUF(params, ",\"requestState\":");
		fw_buf_put(params, state.value.p, state.value.n);
	}
	return params->state == FW_BUF_OK ? NULL : fw_raise_internal_out_of_memory();
}

static fw_error *attempt(fw_client *client, const struct fw_client_order *order)
{
	struct fw_buf params;
	fw_error *err = fw_client__connect(client);

	if (!err)
		err = exchange(client, order, order->params);
	fw_buf_init(&params, FW_LIMIT_CHILD_LINE_BYTES);
	for (int round = 0; !err && client->outcome == FW_CLIENT_INPUT; round++) {
		if (round == FW_CLIENT_ROUNDS_MAX)
			err = fw_raise_upstream_invalid_reply(client->options.name,
							      "it asks without end");
		else
			err = next_round(client, order, &params);
		if (!err)
			err = exchange(client, order,
				       (struct fw_slice){ params.text, params.len });
	}
	fw_buf_clear(&params);
	if (!err && client->outcome != FW_CLIENT_RESULT)
		err = fw_client__read(client, order->name);
	return err;
}

/* ---- all attempts ---------------------------------------------------------------------- */

static double random_part(void)
{
	unsigned char bytes[4];
	uint32_t number;

	fw_random(bytes, sizeof bytes);
	memcpy(&number, bytes, sizeof number);
	return number / 4294967296.0;
}

/* Decides whether to retry after `err`, which is borrowed. */
static void decide(fw_client *client, const struct fw_client_order *order, const fw_error *err)
{
	fw_decide_options how = FW_DECIDE_OPTIONS_INIT;

	how.attempt = client->attempts;
	how.attempts_max = client->options.attempts_max;
	how.is_idempotent = order->is_idempotent;
	how.has_deadline = fw_client__left(client, &how.left);
	how.random = random_part();
	fw_error_free(fw_decide(err, &how, &client->decision));
	fw_client__report(client, &(fw_client_event){ .kind = FW_CLIENT_FAILED,
						      .attempt = client->attempts,
						      .error = err,
						      .decision = &client->decision });
}

fw_error *fw_client__run(fw_client *client, const struct fw_client_order *order,
			 fw_client_result *ret_result)
{
	fw_error *err;

	atomic_store(&client->is_interrupted, false);
	client->started_ms = uv_hrtime() / 1000000;
	client->attempts = 0;
	client->decision = (fw_decision){ .action = FW_ACTION_GIVE_UP, .reason = "" };
	for (;;) {
		client->attempts++;
		fw__release(client->failure);
		client->failure = NULL;
		err = attempt(client, order);
		if (!err)
			break;
		decide(client, order, err);
		if (client->decision.action != FW_ACTION_RETRY)
			return err;
		fw_error_free(err);
		fw_client__report(client,
				  &(fw_client_event){ .kind = FW_CLIENT_WAITING,
						      .attempt = client->attempts + 1,
						      .delay = client->decision.delay });
		fw_client__wait(client, NULL, client->decision.delay);
		if (atomic_load(&client->is_interrupted))
			return fw_raise_runtime_cancelled();
	}
	ret_result->text = client->text.text;
	ret_result->len = client->text.len;
	ret_result->attempts = client->attempts;
	/* The result takes ownership of the buffer's memory. */
	client->text.text = NULL;
	client->text.len = client->text.cap = 0;
	return NULL;
}

/* ---- requests --------------------------------------------------------------------------- */

/* Copies the members of the object to `params`, and those of `_meta` to `meta`. */
static bool split(yyjson_val *object, struct fw_buf *params, struct fw_buf *meta)
{
	yyjson_obj_iter iter = yyjson_obj_iter_with(object);
	yyjson_val *key;

	while ((key = yyjson_obj_iter_next(&iter))) {
		bool is_meta = yyjson_equals_str(key, "_meta");
		struct fw_buf *out = is_meta ? meta : params;
		yyjson_write_err problem;
		size_t len;
		char *text = yyjson_val_write_opts(yyjson_obj_iter_get_val(key), 0,
						   &fw__yyjson_alc, &len, &problem);

		if (!text)
			return false;
		if (is_meta && len >= 2) {
			fw_buf_put(out, text + 1, len - 2);
		} else {
			if (out->len)
				FW_BUF(out, ",");
			fw_buf_json(out, yyjson_get_str(key), yyjson_get_len(key));
			FW_BUF(out, ":");
			fw_buf_put(out, text, len);
		}
		fw__release(text);
	}
	return params->state == FW_BUF_OK && meta->state == FW_BUF_OK;
}

static const char *name_in(const char *method, yyjson_val *params)
{
	if (strcmp(method, FW_METHOD_RESOURCES_READ) == 0)
		return yyjson_get_str(fw_json_member(params, "uri"));
	if (strcmp(method, FW_METHOD_TOOLS_CALL) == 0 ||
	    strcmp(method, FW_METHOD_PROMPTS_GET) == 0)
		return yyjson_get_str(fw_json_member(params, "name"));
	return NULL;
}

static fw_error *run_parsed(fw_client *client, const char *method, yyjson_val *object,
			    fw_client_result *ret_result)
{
	bool is_call = strcmp(method, FW_METHOD_TOOLS_CALL) == 0;
	struct fw_client_order order = { .method = method, .name = name_in(method, object) };
	yyjson_val *tool = is_call && order.name ? fw_client__tool(client, order.name) : NULL;
	struct fw_mirror_lines headers = { .count = 0 };
	struct fw_buf params, meta;
	fw_error *err;

	order.is_idempotent = !is_call || fw_client__is_idempotent(tool);
	fw_buf_init(&params, FW_LIMIT_CHILD_LINE_BYTES);
	fw_buf_init(&meta, FW_LIMIT_CHILD_LINE_BYTES);
	err = split(object, &params, &meta)
		      ? fw_client__put_params(tool, fw_json_member(object, "arguments"),
					      &headers)
		      : fw_raise_internal_out_of_memory();
	if (!err) {
		order.params = (struct fw_slice){ params.text, params.len };
		order.meta = (struct fw_slice){ meta.text, meta.len };
		order.headers = headers.lines;
		err = fw_client__run(client, &order, ret_result);
	}
	fw_buf_clear(&headers.text);
	fw_buf_clear(&params);
	fw_buf_clear(&meta);
	return err;
}

fw_error *fw_client_request(fw_client *client, const char *method, const char *params,
			    size_t len, fw_client_result *ret_result)
{
	const struct fw_json_limits limits = { FW_LIMIT_CHILD_LINE_BYTES, FW_LIMIT_JSON_DEPTH };
	yyjson_read_err problem = { .code = YYJSON_READ_SUCCESS };
	yyjson_doc *doc = fw_json_read(params ? params : "{}", params ? len : 2, limits,
				       YYJSON_READ_NUMBER_AS_RAW, NULL, &problem);
	fw_error *err;

	client->decision = (fw_decision){ .action = FW_ACTION_FIX, .reason = "" };
	if (problem.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
		err = fw_raise_internal_out_of_memory();
	else if (!yyjson_is_obj(yyjson_doc_get_root(doc)))
		err = fw_raise_input_invalid_format("params", "a JSON object");
	else
		err = run_parsed(client, method, yyjson_doc_get_root(doc), ret_result);
	yyjson_doc_free(doc);
	return err;
}

fw_error *fw_client_call(fw_client *client, const char *tool, const char *arguments, size_t len,
			 fw_client_result *ret_result)
{
	struct fw_buf params;
	fw_error *err;

	/* A server that cannot list its tools may still be able to run one. */
	if (!client->tools) {
		fw_client_result list = { .text = NULL };

		err = fw_client_list(client, FW_METHOD_TOOLS_LIST, &list);
		fw_client_result_clear(&list);
		if (err && fw_error_code(err) == FW_RUNTIME_CANCELLED)
			return err;
		fw_error_free(err);
	}
	fw_buf_init(&params, FW_LIMIT_CHILD_LINE_BYTES);
	FW_BUF(&params, "{\"name\":");
	fw_buf_json_str(&params, tool);
	FW_BUF(&params, ",\"arguments\":");
	fw_buf_put(&params, arguments ? arguments : "{}", arguments ? len : 2);
	FW_BUF(&params, "}");
	err = params.state == FW_BUF_OK ? fw_client_request(client, FW_METHOD_TOOLS_CALL,
							    params.text, params.len, ret_result)
					: fw_raise_internal_out_of_memory();
	fw_buf_clear(&params);
	return err;
}

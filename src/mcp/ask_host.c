/*
 * ask_host.c - questions of a handler that the server's program answers, and not the
 * client: a handler in a worker asks for what only the server knows.
 *
 * They come before the client's questions. When all of them are answered the handler runs
 * again, as it does after answers of a client. The question holds a reference to the call
 * until it is answered, because the call may be over by then.
 */
#include <string.h>

#include <faultwire/raise.h>

#include "mcp/ask.h"
#include "mcp/boundary.h"
#include "mcp/call.h"
#include "mcp/result.h"
#include "mcp/run.h"
#include "mcp/server.h"

bool fw_ask_is_host_key(struct fw_text key)
{
	size_t len = strlen(FW_ASK_HOST);

	return key.n >= len && memcmp(key.p, FW_ASK_HOST, len) == 0;
}

const struct fw_answering *fw_ask_answering(const fw_call *call, const char *method)
{
	const struct fw_answerers *all = &call->server->answerers;

	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->items[i].method, method) == 0)
			return &all->items[i];
	return NULL;
}

fw_error *fw_server_add_answerer(fw_server *server, const char *method, fw_answerer *answer,
				 void *ctx)
{
	struct fw_answerers *all = &server->answerers;

	if (server->state != FW_IDLE || all->count == FW_ANSWERERS || !method || !answer)
		return fw_raise_internal_api_misuse("fw_server_add_answerer",
						    "the server runs, or there are too many");
	all->items[all->count++] = (struct fw_answering){ method, answer, ctx };
	return NULL;
}

/* An answerer may answer at once: `outstanding` is one too many until all are asked. */
bool fw_ask_send_host(fw_call *call)
{
	bool is_any = false;

	call->questions.outstanding++;
	(void)fw_call__ref(call);
	for (size_t i = 0; i < call->questions.count && !fw_call_is_over(call); i++) {
		struct fw_question *question = &call->questions.items[i];
		const struct fw_answering *by;

		if (!question->is_host || !question->method || question->answer ||
		    question->is_sent)
			continue;
		is_any = true;
		question->is_sent = true;
		call->questions.outstanding++;
		(void)fw_call__ref(call);
		by = fw_ask_answering(call, question->method);
		by->answer(call, question->key, question->params, by->ctx);
	}
	call->questions.outstanding--;
	if (is_any && !call->questions.outstanding && !fw_call_is_over(call)) {
		fw_call_forget_result(call);
		fw_call_start(call);
	}
	fw_call__unref(call);
	return is_any;
}

static struct fw_question *find(const fw_call *call, const char *key)
{
	for (size_t i = 0; i < call->questions.count; i++)
		if (strcmp(call->questions.items[i].key, key) == 0)
			return &call->questions.items[i];
	return NULL;
}

static void take_answer(fw_call *call, const char *key, const char *json, size_t len,
			fw_error *err)
{
	struct fw_question *question = find(call, key);

	call->questions.outstanding--;
	if (fw_call_is_over(call)) {
		fw_error_free(err);
		return;
	}
	if (question && !err) {
		question->is_sent = false;
		err = fw_ask_set_text(call, question, json, len);
	}
	if (err) {
		fw_mcp_fail(call, err);
	} else if (!call->questions.outstanding) {
		fw_call_forget_result(call);
		fw_call_start(call);
	}
}

void fw_call_supply(fw_call *call, const char *key, const char *json, size_t len, fw_error *err)
{
	take_answer(call, key, json, len, err);
	fw_call__unref(call);
}

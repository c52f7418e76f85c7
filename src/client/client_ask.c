/*
 * client_ask.c - answers questions of the server. A legacy server sends them as requests,
 * a modern one as a result that requires input. Questions that the program does not
 * answer are declined, so that the server can continue.
 */
#include <string.h>

#include <faultwire/raise.h>

#include "client/client_impl.h"
#include "rpc/names.h"

enum { METHOD_BYTES = 128 };

/* The program's answer. NULL: the program refuses. */
static const char *ask(const fw_client *client, const char *method, struct fw_slice params)
{
	const fw_client_options *options = &client->options;

	fw_client__report(client, &(fw_client_event){ .kind = FW_CLIENT_ASKED,
						      .attempt = client->attempts,
						      .text = method,
						      .len = strlen(method) });
	if (!options->answer)
		return NULL;
	return options->answer(options->ctx, method, params.p ? params.p : "{}",
			       params.p ? params.n : 2);
}

void fw_client__asked(void *ctx, uint64_t key, const struct fw_scan *message)
{
	static const char declined[] = "{\"action\":\"decline\"}";
	static const char refused[] =
		"{\"code\":-32601,\"message\":\"this client does not answer such questions\"}";
	const fw_client *client = ctx;
	const struct fw_slice none = { NULL, 0 };
	char method[METHOD_BYTES];
	const char *answer;

	(void)key;
	(void)fw_slice_text(message->method, method, sizeof method);
	answer = ask(client, method, message->params);
	if (!answer && strcmp(method, FW_METHOD_ELICIT) == 0)
		answer = declined;
	if (answer)
		fw_remote_answer(client->remote, message->id,
				 (struct fw_slice){ answer, strlen(answer) }, none);
	else
		fw_remote_answer(client->remote, message->id, none,
				 (struct fw_slice){ refused, sizeof refused - 1 });
}

fw_error *fw_client__answer_all(fw_client *client, struct fw_slice result,
				struct fw_buf *params)
{
	struct fw_scan_member questions = { .name = "inputRequests" };
	struct fw_slice key, question;
	const char *at = NULL;
	bool is_first = true;

	FW_BUF(params, "\"inputResponses\":{");
	(void)fw_slice_members(result, &questions, 1);
	while (fw_slice_is_object(questions.value) &&
	       fw_slice_next(questions.value, &at, &key, &question)) {
		struct fw_scan_member members[] = { { .name = "method" },
						    { .name = "params" } };
		char method[METHOD_BYTES];
		const char *answer;

		(void)fw_slice_members(question, members, 2);
		(void)fw_slice_text(members[0].value, method, sizeof method);
		answer = ask(client, method, members[1].value);
		if (!answer && strcmp(method, FW_METHOD_ELICIT) == 0)
			answer = "{\"action\":\"decline\"}";
		if (!answer)
			return fw_raise_protocol_missing_capability(
				strcmp(method, FW_METHOD_SAMPLE) == 0 ? "{\"sampling\":{}}"
								      : "{\"roots\":{}}");
		if (!is_first)
			FW_BUF(params, ",");
		is_first = false;
		fw_buf_put(params, key.p, key.n);
		FW_BUF(params, ":");
		fw_buf_str(params, answer);
	}
	FW_BUF(params, "}");
	return NULL;
}

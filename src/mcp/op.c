/*
 * op.c - the functions that a handler calls, each of them an operation (op.h)
 * that is applied here or recorded.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "mcp/ask.h"
#include "mcp/call.h"
#include "mcp/op.h"

void fw_op_apply(fw_call *call, const struct fw_op *op)
{
	switch (op->kind) {
	case FW_OP_PROGRESS: fw_op_apply_progress(call, op); break;
	case FW_OP_LOG: fw_op_apply_log(call, op); break;
	case FW_OP_ASK: fw_ask_apply(call, op); break;
	case FW_OP_CLOSE_STREAM: fw_op_apply_close_stream(call, op->number); break;
	case FW_OP_SET_STATE: fw_shared_apply(call, op->texts[0].text, op->texts[0].len); break;
	default: fw_op_apply_result(call, op); break;
	}
}

static void say(fw_call *call, const struct fw_op *op)
{
	if (call->run.recorder)
		call->run.recorder->record(call->run.recorder, op);
	else
		fw_op_apply(call, op);
}

static struct fw_op_text text_of(const char *text)
{
	return (struct fw_op_text){ text, text ? strlen(text) : 0 };
}

/* ---- the result --------------------------------------------------------------- */

void fw_call_text_n(fw_call *call, const char *text, size_t len)
{
	const struct fw_op op = { .kind = FW_OP_TEXT, .texts = { { text, text ? len : 0 } } };

	if (call->run.recorder)
		call->run.recorder->record(call->run.recorder, &op);
	else
		fw_op_apply_result(call, &op);
}

void fw_call_text(fw_call *call, const char *text)
{
	fw_call_text_n(call, text, text ? strlen(text) : 0);
}

void fw_call_textf(fw_call *call, const char *fmt, ...)
{
	char small[512];
	char *text = small;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(small, sizeof small, fmt, args);
	va_end(args);
	if (len >= (int)sizeof small) {
		text = fw__allocate((size_t)len + 1);
		if (!text) {
			const struct fw_op lost = { .kind = FW_OP_LOST,
						    .number = FW_BUF_NO_MEMORY };

			say(call, &lost);
			return;
		}
		va_start(args, fmt);
		(void)vsnprintf(text, (size_t)len + 1, fmt, args);
		va_end(args);
	}
	if (len >= 0)
		fw_call_text_n(call, text, (size_t)len);
	if (text != small)
		fw__release(text);
}

static void say_texts(fw_call *call, enum fw_op_kind kind, const char *first,
		      const char *second, const char *third)
{
	const struct fw_op op = {
		.kind = kind, .texts = { text_of(first), text_of(second), text_of(third) }
	};

	say(call, &op);
}

static void say_json(fw_call *call, enum fw_op_kind kind, const char *json, size_t len)
{
	const struct fw_op op = { .kind = kind, .texts = { { json, json ? len : 0 } } };

	say(call, &op);
}

void fw_call_image(fw_call *call, const char *base64, const char *mime_type)
{
	say_texts(call, FW_OP_IMAGE, base64, mime_type, NULL);
}

void fw_call_audio(fw_call *call, const char *base64, const char *mime_type)
{
	say_texts(call, FW_OP_AUDIO, base64, mime_type, NULL);
}

void fw_call_resource_text(fw_call *call, const char *uri, const char *mime_type,
			   const char *text)
{
	say_texts(call, FW_OP_RESOURCE_TEXT, uri, mime_type, text);
}

void fw_call_resource_blob(fw_call *call, const char *uri, const char *mime_type,
			   const char *base64)
{
	say_texts(call, FW_OP_RESOURCE_BLOB, uri, mime_type, base64);
}

void fw_call_resource_link(fw_call *call, const char *uri, const char *name,
			   const char *mime_type)
{
	say_texts(call, FW_OP_RESOURCE_LINK, uri, name, mime_type);
}

void fw_call_structured(fw_call *call, const char *json, size_t len)
{
	say_json(call, FW_OP_STRUCTURED, json, len);
}

void fw_call_structured_json(fw_call *call, fw_json *json)
{
	const struct fw_op lost = { .kind = FW_OP_LOST, .number = fw_json__state(json) };
	size_t len = 0;
	const char *text = fw_json_text(json, &len);

	/* An empty text is reported as a result that is not JSON. */
	if (lost.number == FW_BUF_OK)
		fw_call_structured(call, text ? text : "", len);
	else
		say(call, &lost);
	fw_json_free(json);
}

void fw_call_result(fw_call *call, const char *json, size_t len)
{
	say_json(call, FW_OP_RESULT, json, len);
}

void fw_call_role(fw_call *call, const char *role)
{
	say_texts(call, FW_OP_ROLE, role, NULL, NULL);
}

void fw_call_description(fw_call *call, const char *description)
{
	say_texts(call, FW_OP_DESCRIPTION, description, NULL, NULL);
}

void fw_call_value(fw_call *call, const char *value)
{
	say_texts(call, FW_OP_VALUE, value, NULL, NULL);
}

/* ---- on the way ----------------------------------------------------------------- */

bool fw_call_wants_progress(const fw_call *call)
{
	return call->request.progress_token != NULL;
}

void fw_call_progress(fw_call *call, double progress, double total, const char *message)
{
	const struct fw_op op = { .kind = FW_OP_PROGRESS,
				  .texts = { text_of(message) },
				  .numbers = { progress, total } };

	if (call->request.progress_token)
		say(call, &op);
}

void fw_call_log(fw_call *call, fw_log_level level, const char *logger, const char *text)
{
	const struct fw_op op = { .kind = FW_OP_LOG,
				  .number = (uint32_t)level,
				  .texts = { text_of(text), text_of(logger) } };

	if (text && fw_call_log_level(call) >= 0 && (int)level >= fw_call_log_level(call))
		say(call, &op);
}

const char *fw_call_ask(fw_call *call, const char *key, const char *method, const char *params)
{
	const char *answer = key ? fw_ask_answered(call, key) : NULL;

	if (!answer)
		say_texts(call, FW_OP_ASK, key, method, params);
	return answer;
}

void fw_call_close_stream(fw_call *call, uint32_t retry_ms)
{
	const struct fw_op op = { .kind = FW_OP_CLOSE_STREAM, .number = retry_ms };

	say(call, &op);
}

void fw_call_set_state(fw_call *call, const char *text, size_t len)
{
	say_json(call, FW_OP_SET_STATE, text, len);
}

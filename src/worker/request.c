/*
 * request.c - a call as bytes, from the server to a worker.
 *
 * Arguments are not serialized as JSON and parsed again. A value that yyjson has read is
 * a contiguous array of cells, and the strings that the cells point to are in one range
 * of memory. Both are sent unchanged, and the worker adjusts the pointers.
 */
#include <string.h>

#include <yyjson.h>

#include "base/buf.h"
#include "base/text.h"
#include "mcp/ask.h"
#include "mcp/call.h"
#include "mcp/offer.h"
#include "mcp/op.h"
#include "mcp/request.h"
#include "rpc/version.h"
#include "worker/frame.h"
#include "worker/request.h"

struct request {
	const struct fw_offer *offer; /* valid in workers, too: they are forked copies */
	const char *texts;            /* address of the strings in the server */
	uint32_t cell_count;
	uint32_t texts_len;
	uint32_t name_len;
	uint32_t capabilities_len;
	uint32_t answers_len;
	uint32_t state_len;
	int32_t log_level;
	uint8_t kind;
	uint8_t version;
	uint8_t is_modern;
	uint8_t wants_progress;
	uint8_t has_state;
	uint8_t spare[7];
};

_Static_assert(sizeof(struct fw_worker_frame) % 8 == 0 && sizeof(struct request) % 8 == 0,
	       "cells are aligned");

static bool has_text(const yyjson_val *cell)
{
	yyjson_type type = unsafe_yyjson_get_type((void *)cell);

	return type == YYJSON_TYPE_STR || type == YYJSON_TYPE_RAW;
}

/* The range of memory that contains the strings of the value, with their NULs. */
static void find_texts(const yyjson_val *cells, size_t count, const char **ret_start,
		       const char **ret_end)
{
	const char *start = NULL;
	const char *end = NULL;

	for (size_t i = 0; i < count; i++) {
		const char *text = cells[i].uni.str;

		if (!has_text(&cells[i]))
			continue;
		if (!start || text < start)
			start = text;
		text += unsafe_yyjson_get_len((void *)&cells[i]) + 1;
		if (!end || text > end)
			end = text;
	}
	*ret_start = start;
	*ret_end = end;
}

static void put_capabilities(struct fw_buf *out, const fw_call *call)
{
	yyjson_obj_iter iter = yyjson_obj_iter_with(fw_call_capabilities(call));
	yyjson_val *key;

	while ((key = yyjson_obj_iter_next(&iter)))
		if (fw_text_str(fw_text_of(key)))
			fw_buf_put(out, fw_text_of(key).p, yyjson_get_len(key) + 1);
}

static void put_answers(struct fw_buf *out, const fw_call *call)
{
	for (size_t i = 0; i < call->questions.count; i++) {
		const struct fw_question *question = &call->questions.items[i];
		uint32_t len = (uint32_t)question->answer_len;

		if (!question->answer)
			continue;
		fw_buf_put(out, question->key, sizeof question->key);
		fw_buf_put(out, (const char *)&len, sizeof len);
		fw_buf_put(out, question->answer, len);
		FW_BUF(out, "\0");
	}
}

void fw_worker_request_write(struct fw_buf *out, const fw_call *call, uint64_t run)
{
	const yyjson_val *cells = call->request.arguments;
	struct request request = { .offer = call->request.offer,
				   .name_len = (uint32_t)call->request.name_len,
				   .log_level = fw_call_log_level(call),
				   .kind = (uint8_t)call->request.kind,
				   .version = (uint8_t)call->request.version,
				   .is_modern = call->request.is_modern,
				   .wants_progress = call->request.progress_token != NULL };
	const char *end = NULL;
	const char *state;
	size_t state_len = 0;
	size_t mark;

	fw_worker_frame_begin(out);
	if (cells) {
		request.cell_count =
			(uint32_t)(unsafe_yyjson_get_next((yyjson_val *)cells) - cells);
		find_texts(cells, request.cell_count, &request.texts, &end);
		request.texts_len = (uint32_t)(end - request.texts);
	}
	state = fw_call_state(call, &state_len);
	request.has_state = state != NULL;
	request.state_len = (uint32_t)state_len;
	mark = out->len;
	fw_buf_put(out, (const char *)&request, sizeof request);
	if (request.cell_count)
		fw_buf_put(out, (const char *)cells, request.cell_count * sizeof *cells);
	if (request.texts_len)
		fw_buf_put(out, request.texts, request.texts_len);
	fw_buf_put(out, call->request.name, call->request.name_len);
	FW_BUF(out, "\0");
	if (state) {
		fw_buf_put(out, state, state_len);
		FW_BUF(out, "\0");
	}
	request.capabilities_len = (uint32_t)out->len;
	put_capabilities(out, call);
	request.capabilities_len = (uint32_t)out->len - request.capabilities_len;
	request.answers_len = (uint32_t)out->len;
	put_answers(out, call);
	request.answers_len = (uint32_t)out->len - request.answers_len;
	if (out->state == FW_BUF_OK)
		memcpy(out->text + mark, &request, sizeof request);
	fw_worker_frame_end(out, FW_WORKER_FRAME_REQUEST, run);
}

/* ---- in the worker ---------------------------------------------------------------- */

static void read_answers(fw_call *call, const char *at, size_t len)
{
	const char *end = at + len;

	while (at < end) {
		const char *key = at;
		uint32_t answer_len;

		at += sizeof call->questions.items->key;
		memcpy(&answer_len, at, sizeof answer_len);
		at += sizeof answer_len;
		fw_ask_restore_text(call, key, at, answer_len);
		at += answer_len + 1;
	}
}

bool fw_worker_request_read(char *body, size_t len, fw_call *call, struct fw_recorder *recorder)
{
	static yyjson_val token = { .tag = YYJSON_TYPE_NULL };
	struct request request;
	yyjson_val *cells;
	char *at = body + sizeof request;

	if (len < sizeof request)
		return false;
	memcpy(&request, body, sizeof request);
	cells = (yyjson_val *)(void *)at;
	at += request.cell_count * sizeof *cells;
	/* The offset into the string area is unchanged. */
	for (size_t i = 0; i < request.cell_count; i++)
		if (has_text(&cells[i]))
			cells[i].uni.str = at + (cells[i].uni.str - request.texts);
	at += request.texts_len;
	call->request.offer = request.offer;
	call->request.kind = (enum fw_call_kind)request.kind;
	call->request.version = (enum fw_version)request.version;
	call->request.is_modern = request.is_modern;
	call->request.log_level = request.log_level;
	call->request.arguments = request.cell_count ? cells : NULL;
	call->request.progress_token = request.wants_progress ? &token : NULL;
	call->request.name = at;
	call->request.name_len = request.name_len;
	at += request.name_len + 1;
	recorder->state = request.has_state ? at : NULL;
	recorder->state_len = request.state_len;
	if (request.has_state)
		at += request.state_len + 1;
	recorder->capabilities = at;
	recorder->capabilities_len = request.capabilities_len;
	at += request.capabilities_len;
	read_answers(call, at, request.answers_len);
	return true;
}

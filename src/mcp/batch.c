/*
 * batch.c - replies of a batch are collected, and leave when the last one is
 * there. Results and errors are bounded separately, so that a large result
 * cannot displace the errors of other members.
 */
#include "mcp/batch.h"

#include "base/limits.h"
#include "base/mem.h"
#include "mcp/server.h"
#include "mcp/transport.h"

/* Room for the shortest error of one member. */
enum { ERROR_BYTES = 512 + FW_LIMIT_ID_BYTES };

struct fw_batch *fw_batch_new(struct fw_exchange *exchange)
{
	const struct fw_limits *limits = &exchange->server->limits;
	struct fw_batch *batch = fw__allocate(sizeof *batch);

	if (!batch)
		return NULL;
	*batch = (struct fw_batch){ .next = exchange->batches,
				    .exchange = exchange,
				    .is_open = true };
	fw_buf_init(&batch->out, limits->result_bytes + FW_LIMIT_ENVELOPE_BYTES +
					 limits->batch_messages * ERROR_BYTES);
	exchange->batches = batch;
	return batch;
}

void fw_batch_detach(struct fw_batch *batch)
{
	struct fw_batch **at;

	if (!batch->exchange)
		return;
	at = &batch->exchange->batches;
	while (*at != batch)
		at = &(*at)->next;
	*at = batch->next;
	batch->exchange = NULL;
}

bool fw_batch_reserve_result(struct fw_batch *batch, size_t len, uint64_t most)
{
	if (len + 2 > most - batch->promised)
		return false;
	batch->promised += len + 2;
	return true;
}

bool fw_batch_reserve_error(struct fw_batch *batch, size_t len)
{
	if (len > FW_LIMIT_ENVELOPE_BYTES - batch->errors)
		return false;
	batch->errors += len;
	return true;
}

void fw_batch_put(struct fw_batch *batch, const char *text, size_t len)
{
	if (len) {
		fw_buf_put(&batch->out, batch->out.len ? "," : "[", 1);
		fw_buf_put(&batch->out, text, len);
	}
	batch->pending--;
	fw_batch_settle(batch);
}

void fw_batch_settle(struct fw_batch *batch)
{
	static const char no_memory[] = "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32603,"
					"\"message\":\"out of memory\"}}";
	struct fw_reply reply = { .status = 202 };
	struct fw_exchange *exchange;

	if (batch->pending || batch->is_open)
		return;
	exchange = batch->exchange;
	fw_batch_detach(batch);
	if (batch->out.len) {
		FW_BUF(&batch->out, "]");
		reply.status = 200;
		reply.json = batch->out.text;
		reply.len = batch->out.len;
	}
	if (batch->out.state != FW_BUF_OK) {
		reply.status = 503;
		reply.json = no_memory;
		reply.len = sizeof no_memory - 1;
	}
	if (exchange && (reply.json || exchange->is_http))
		exchange->ops->reply(exchange, &reply);
	fw_buf_clear(&batch->out);
	fw__release(batch);
}

/*
 * frame.c - operations as bytes. Both ends are the same program on the same machine, so
 * numbers have the byte order of the machine. The server reads what a worker, which may
 * have been taken over, has written.
 *
 * An operation is: its kind, a mask of what follows, two zero bytes, `number`; two
 * doubles if the mask has HAS_NUMBERS; each text as its length, its bytes and a NUL.
 */
#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "mcp/op.h"
#include "mcp/server.h"
#include "worker/frame.h"

enum { HAS_NUMBERS = 0x80, HEAD_BYTES = 8 };

size_t fw_worker_frame_bytes_max(const fw_server *server)
{
	return (size_t)server->limits.result_bytes + 2 * (size_t)FW_LIMIT_ENVELOPE_BYTES;
}

void fw_worker_frame_begin(struct fw_buf *out)
{
	static const struct fw_worker_frame none;

	fw_buf_reset(out, FW_LIMIT_HTTP_KEPT_BYTES);
	fw_buf_put(out, (const char *)&none, sizeof none);
}

void fw_worker_frame_put(struct fw_buf *out, const struct fw_op *op)
{
	unsigned char head[HEAD_BYTES] = { (unsigned char)op->kind };

	for (size_t i = 0; i < FW_OP_TEXTS; i++)
		if (op->texts[i].text)
			head[1] = (unsigned char)(head[1] | 1u << i);
	if (op->kind == FW_OP_PROGRESS)
		head[1] |= HAS_NUMBERS;
	memcpy(head + 4, &op->number, sizeof op->number);
	fw_buf_put(out, (const char *)head, sizeof head);
	if (head[1] & HAS_NUMBERS)
		fw_buf_put(out, (const char *)op->numbers, sizeof op->numbers);
	for (size_t i = 0; i < FW_OP_TEXTS; i++) {
		uint32_t len = (uint32_t)op->texts[i].len;

		if (!op->texts[i].text)
			continue;
		if (op->texts[i].len > out->max) {
			out->state = FW_BUF_TOO_LARGE;
			return;
		}
		fw_buf_put(out, (const char *)&len, sizeof len);
		fw_buf_put(out, op->texts[i].text, len);
		FW_BUF(out, "\0");
	}
}

void fw_worker_frame_end(struct fw_buf *out, enum fw_worker_frame_kind kind, uint64_t run)
{
	struct fw_worker_frame frame = { .kind = (uint32_t)kind, .run = run };

	if (out->state != FW_BUF_OK)
		return;
	frame.len = (uint32_t)(out->len - sizeof frame);
	memcpy(out->text, &frame, sizeof frame);
}

static bool take(struct fw_worker_frame_reader *reader, void *to, size_t len)
{
	if ((size_t)(reader->end - reader->at) < len)
		return false;
	memcpy(to, reader->at, len);
	reader->at += len;
	return true;
}

static bool take_text(struct fw_worker_frame_reader *reader, struct fw_op_text *text)
{
	uint32_t len;

	if (!take(reader, &len, sizeof len) || (size_t)(reader->end - reader->at) <= len ||
	    reader->at[len] != '\0')
		return false;
	*text = (struct fw_op_text){ reader->at, len };
	reader->at += len + 1;
	return true;
}

static bool read_op(struct fw_worker_frame_reader *reader, struct fw_op *op)
{
	unsigned char head[HEAD_BYTES];

	if (!take(reader, head, sizeof head) || head[0] >= FW_OP_COUNT)
		return false;
	if (head[1] & ~(HAS_NUMBERS | ((1u << FW_OP_TEXTS) - 1)) || head[2] || head[3])
		return false;
	op->kind = (enum fw_op_kind)head[0];
	memcpy(&op->number, head + 4, sizeof op->number);
	if (head[1] & HAS_NUMBERS && !take(reader, op->numbers, sizeof op->numbers))
		return false;
	for (size_t i = 0; i < FW_OP_TEXTS; i++)
		if (head[1] & 1u << i && !take_text(reader, &op->texts[i]))
			return false;
	return true;
}

bool fw_worker_frame_next(struct fw_worker_frame_reader *reader, struct fw_op *ret_op)
{
	const char *start = reader->at;

	memset(ret_op, 0, sizeof *ret_op);
	if (reader->at == reader->end)
		return false;
	if (read_op(reader, ret_op))
		return true;
	/* A part may have been read: go back, so that `at` is not `end`. */
	reader->at = start;
	return false;
}

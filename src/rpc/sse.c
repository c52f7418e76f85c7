/*
 * sse.c - see sse.h.
 *
 * The reader works line by line. A line is copied into a buffer only if it
 * arrives in several pieces; a line that arrives whole is read in place.
 */
#include "rpc/sse.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/utf8.h"

/* ---- writing --------------------------------------------------------------- */

void fw_sse_put(struct fw_buf *out, const struct fw_sse_event *event)
{
	char retry[32];

	if (event->name) {
		FW_BUF(out, "event: ");
		fw_buf_str(out, event->name);
		FW_BUF(out, "\n");
	} else if (event->len) {
		FW_BUF(out, "event: message\n");
	}
	if (event->id) {
		FW_BUF(out, "id: ");
		fw_buf_str(out, event->id);
		FW_BUF(out, "\n");
	}
	if (event->retry_ms) {
		snprintf(retry, sizeof retry, "retry: %" PRIu32 "\n", event->retry_ms);
		fw_buf_str(out, retry);
	}
	FW_BUF(out, "data: ");
	fw_buf_put(out, event->data, event->len);
	FW_BUF(out, "\n\n");
}

void fw_sse_put_comment(struct fw_buf *out)
{
	FW_BUF(out, ":\n\n");
}

/* ---- reading --------------------------------------------------------------- */

void fw_sse_reader_init(struct fw_sse_reader *reader, size_t max, fw_sse_fn *deliver, void *ctx)
{
	*reader = (struct fw_sse_reader){ .deliver = deliver, .ctx = ctx };
	fw_buf_init(&reader->line, max);
	fw_buf_init(&reader->data, max);
	fw_buf_init(&reader->type, FW_LIMIT_SSE_NAME_BYTES);
	fw_buf_init(&reader->id, FW_LIMIT_SSE_NAME_BYTES);
	fw_buf_init(&reader->next_id, FW_LIMIT_SSE_NAME_BYTES);
}

void fw_sse_reader_clear(struct fw_sse_reader *reader)
{
	fw_buf_clear(&reader->line);
	fw_buf_clear(&reader->data);
	fw_buf_clear(&reader->type);
	fw_buf_clear(&reader->id);
	fw_buf_clear(&reader->next_id);
}

bool fw_sse_reader_is_partial(const struct fw_sse_reader *reader)
{
	return reader->line.len || reader->has_data || reader->type.len;
}

static void check(struct fw_sse_reader *reader, const struct fw_buf *buf)
{
	if (reader->status != FW_SSE_OK || buf->state == FW_BUF_OK)
		return;
	reader->status = buf->state == FW_BUF_NO_MEMORY ? FW_SSE_NO_MEMORY : FW_SSE_TOO_LARGE;
}

static void set(struct fw_sse_reader *reader, struct fw_buf *buf, const char *text, size_t len)
{
	fw_buf_reset(buf, buf->max);
	fw_buf_put(buf, text, len);
	check(reader, buf);
}

static const char *text_of(const struct fw_buf *buf)
{
	return buf->text ? buf->text : "";
}

/* An empty line: the event is complete. */
static void dispatch(struct fw_sse_reader *reader)
{
	struct fw_sse_received event = { .type = "message", .type_len = 7 };

	set(reader, &reader->id, text_of(&reader->next_id), reader->next_id.len);
	if (!reader->has_data || reader->status != FW_SSE_OK) {
		fw_buf_reset(&reader->type, reader->type.max);
		return;
	}
	if (reader->type.len) {
		event.type = reader->type.text;
		event.type_len = reader->type.len;
	}
	/* Each data line added an LF; the last one is not part of the data. */
	event.data = text_of(&reader->data);
	event.len = reader->data.len - 1;
	event.id = text_of(&reader->id);
	event.id_len = reader->id.len;
	if (!reader->deliver(reader->ctx, &event))
		reader->status = FW_SSE_STOPPED;
	reader->has_data = false;
	fw_buf_reset(&reader->data, FW_LIMIT_SSE_KEPT_BYTES);
	fw_buf_reset(&reader->type, reader->type.max);
}

static void take_retry(struct fw_sse_reader *reader, const char *value, size_t len)
{
	uint32_t ms = 0;

	if (!len)
		return;
	for (size_t i = 0; i < len; i++) {
		if (value[i] < '0' || value[i] > '9')
			return;
		if (ms > (UINT32_MAX - 9) / 10)
			return;
		ms = ms * 10 + (uint32_t)(value[i] - '0');
	}
	reader->retry_ms = ms;
	reader->has_retry = true;
}

static void take_field(struct fw_sse_reader *reader, const char *name, size_t name_len,
		       const char *value, size_t len)
{
	if (name_len == 4 && memcmp(name, "data", 4) == 0) {
		fw_buf_put(&reader->data, value, len);
		FW_BUF(&reader->data, "\n");
		reader->has_data = true;
		check(reader, &reader->data);
	} else if (name_len == 5 && memcmp(name, "event", 5) == 0) {
		set(reader, &reader->type, value, len);
	} else if (name_len == 2 && memcmp(name, "id", 2) == 0) {
		/* The specification ignores an id with a NUL in it. */
		if (!memchr(value, '\0', len))
			set(reader, &reader->next_id, value, len);
	} else if (name_len == 5 && memcmp(name, "retry", 5) == 0) {
		take_retry(reader, value, len);
	}
}

static void take_line(struct fw_sse_reader *reader, const char *line, size_t len)
{
	const char *colon = len ? memchr(line, ':', len) : NULL;
	const char *value;
	size_t name_len;

	if (!len) {
		dispatch(reader);
		return;
	}
	if (!colon) {
		take_field(reader, line, len, "", 0);
		return;
	}
	name_len = (size_t)(colon - line);
	if (!name_len)
		return; /* a comment */
	value = colon + 1;
	len -= name_len + 1;
	if (len && *value == ' ') {
		value++;
		len--;
	}
	take_field(reader, line, name_len, value, len);
}

static void end_line(struct fw_sse_reader *reader, const char *line, size_t len)
{
	if (reader->line.len) {
		fw_buf_put(&reader->line, line, len);
		check(reader, &reader->line);
		line = reader->line.text;
		len = reader->line.len;
	}
	if (reader->status == FW_SSE_OK) {
		if (!reader->has_begun)
			fw_utf8_skip_mark(&line, &len);
		reader->has_begun = true;
		take_line(reader, line, len);
	}
	fw_buf_reset(&reader->line, FW_LIMIT_SSE_KEPT_BYTES);
}

/* The end of the line that begins at `at`; `end` where there is none yet. */
static const char *line_end(const char *at, const char *end)
{
	while (at < end && *at != '\n' && *at != '\r')
		at++;
	return at;
}

enum fw_sse_status fw_sse_reader_push(struct fw_sse_reader *reader, const char *bytes,
				      size_t len)
{
	const char *at = bytes;
	const char *end = bytes + len;

	while (at < end && reader->status == FW_SSE_OK) {
		const char *stop;

		if (reader->was_cr) {
			reader->was_cr = false;
			if (*at == '\n') {
				at++;
				continue;
			}
		}
		stop = line_end(at, end);
		if (stop == end) {
			fw_buf_put(&reader->line, at, (size_t)(end - at));
			check(reader, &reader->line);
			break;
		}
		end_line(reader, at, (size_t)(stop - at));
		reader->was_cr = *stop == '\r';
		at = stop + 1;
	}
	return reader->status;
}

/*
 * redact_stream.c - a window over the text. At its start is text that has come out
 * already: matchers look back for keys and for the first line of a private key. After it
 * is text that waits for the end of its line.
 *
 * Of a secret that has no end yet the middle is dropped when room is needed: its first
 * bytes say what it is, its last ones where it continues.
 */
#include "core/redact_stream.h"

#include <string.h>

#include "core/redact.h"
#include "core/redact_impl.h"

enum {
	CONTEXT = 1024,    /* bytes kept before the position */
	OPEN_BEFORE = 128, /* of the key of a secret that continues */
	OPEN_HEAD = 256,   /* of its beginning */
	OPEN_TAIL = 256,   /* of its end so far */
	AHEAD = 1024,      /* a line without an end is released but for this much */
	FULL = FW_LIMIT_REDACT_WINDOW_BYTES / 2,
	BODY_LINE_LEAST = 16,
};

void fw_redact_stream_reset(struct fw_redact_stream *stream)
{
	stream->len = stream->done = stream->open = 0;
	stream->is_open = false;
}

/* A line of base64 may be that of a private key whose last line is still to come. */
static bool is_body_line(const char *line, size_t len)
{
	while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == '\r'))
		len--;
	for (size_t i = 0; i < len; i++)
		if (!fw_is_alnum(line[i]) && line[i] != '+' && line[i] != '/' && line[i] != '=')
			return false;
	return len >= BODY_LINE_LEAST;
}

/* How far the text can come out now: whole lines, without what may be a key. */
static size_t settled_end(const struct fw_redact_stream *s)
{
	const char *newline = memrchr(s->text + s->done, '\n', s->len - s->done);
	size_t end = newline ? (size_t)(newline + 1 - s->text) : s->done;
	bool is_full = s->len - s->done >= FULL;

	if (is_full)
		return end > s->len - FULL ? end : s->len - AHEAD;
	while (end > s->done) {
		const char *before = memrchr(s->text + s->done, '\n', end - 1 - s->done);
		size_t line = before ? (size_t)(before + 1 - s->text) : s->done;

		if (!is_body_line(s->text + line, end - line))
			break;
		end = line;
	}
	return end;
}

/* The part of [from, to) that has not come out. */
static void release(const struct fw_redact_stream *s, size_t from, size_t to,
		    fw_redact_take_fn *take, void *ctx)
{
	if (from < s->done)
		from = s->done;
	if (from < to)
		take(ctx, s->text + from, to - from);
}

static void release_secret(const struct fw_redact_match *m, fw_redact_take_fn *take, void *ctx)
{
	if (m->quote_len)
		take(ctx, m->quote, m->quote_len);
	take(ctx, FW_REDACTED, sizeof(FW_REDACTED) - 1);
	if (m->quote_len)
		take(ctx, m->quote, m->quote_len);
}

static bool is_rest_newlines(const struct fw_redact_stream *s, size_t at)
{
	while (at < s->len && (s->text[at] == '\n' || s->text[at] == '\r'))
		at++;
	return at == s->len;
}

static void settle(struct fw_redact_stream *s, size_t limit, fw_redact_take_fn *take, void *ctx)
{
	size_t last_body = FW_REDACT_NOT_LOOKED;
	struct fw_redact_view view = { s->text, s->len, 0, &last_body };
	struct fw_redact_match m = { 0, 0, NULL, 0 };
	bool goes_on = false;

	while (fw_redact__find(&view, &m) && m.start < limit) {
		bool is_same = s->is_open && m.start <= s->open && m.end > s->open;

		release(s, view.from, m.start, take, ctx);
		if (m.end > s->done && !is_same)
			release_secret(&m, take, ctx);
		view.from = m.end;
		goes_on = is_rest_newlines(s, m.end);
	}
	/* The newline after a secret that continues may be part of it. */
	if (!goes_on)
		release(s, view.from, limit, take, ctx);
	s->done = goes_on || view.from > limit ? view.from : limit;
	s->is_open = goes_on;
	s->open = goes_on ? m.start : 0;
}

static void drop(struct fw_redact_stream *s, size_t from, size_t to)
{
	memmove(s->text + from, s->text + to, s->len - to);
	s->len -= to - from;
	s->done -= to - from;
}

/* Forgets what is not needed to know what follows. */
static void forget(struct fw_redact_stream *s)
{
	size_t from = s->done > CONTEXT ? s->done - CONTEXT : 0;

	if (s->is_open) {
		size_t head = s->open + OPEN_HEAD;
		size_t tail = s->done > OPEN_TAIL ? s->done - OPEN_TAIL : 0;

		/* Not between a backslash and what it escapes. */
		while (tail > head && tail < s->done && !fw_is_alnum(s->text[tail]))
			tail++;
		if (tail > head)
			drop(s, head, tail);
		if (from > s->open)
			from = s->open;
		from = from > OPEN_BEFORE ? from - OPEN_BEFORE : 0;
		s->open -= from;
	}
	drop(s, 0, from);
}

void fw_redact_stream_add(struct fw_redact_stream *stream, const char *text, size_t len,
			  fw_redact_take_fn *take, void *ctx)
{
	while (len > 0) {
		size_t room = sizeof stream->text - stream->len, limit;
		size_t n = len < room ? len : room;

		memcpy(stream->text + stream->len, text, n);
		stream->len += n;
		text += n;
		len -= n;
		limit = settled_end(stream);
		if (limit > stream->done)
			settle(stream, limit, take, ctx);
		forget(stream);
	}
}

void fw_redact_stream_end(struct fw_redact_stream *stream, fw_redact_take_fn *take, void *ctx)
{
	if (stream->len > stream->done)
		settle(stream, stream->len, take, ctx);
	release(stream, stream->done, stream->len, take, ctx);
	fw_redact_stream_reset(stream);
}

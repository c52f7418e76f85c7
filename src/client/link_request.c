/*
 * link_request.c - makes the HTTP requests of a link: a POST with a message, or a GET
 * that opens a stream, and the headers of both. See link_http.h.
 */
#include <string.h>

#include <faultwire/raise.h>

#include "base/limits.h"
#include "client/link_http.h"
#include "rpc/header.h"
#include "rpc/names.h"

/* The headers of a request, one after the other in `text`. */
struct lines {
	struct fw_buf text;
	size_t starts[FW_LINK_HEADERS];
	const char *lines[FW_LINK_HEADERS + 1];
	size_t count;
};

static void end_line(struct lines *lines)
{
	fw_buf_put(&lines->text, "", 1);
}

static bool begin_line(struct lines *lines, const char *name)
{
	if (lines->count >= FW_LINK_HEADERS)
		return false;
	lines->starts[lines->count++] = lines->text.len;
	fw_buf_str(&lines->text, name);
	FW_BUF(&lines->text, ": ");
	return true;
}

static void add_line(struct lines *lines, const char *name, const char *value)
{
	if (!begin_line(lines, name))
		return;
	fw_buf_str(&lines->text, value);
	end_line(lines);
}

/* Adds a header that repeats a value of the body. */
static void add_mirror(struct lines *lines, const char *name, const char *value)
{
	size_t len = strlen(value);

	if (len > FW_HEADER_VALUE_MAX / 2 || !begin_line(lines, name))
		return;
	/* libcurl does not send a header that has no value. */
	if (len)
		fw_header_encode(value, len, &lines->text);
	else
		FW_BUF(&lines->text, "=?base64?"
				     "?=");
	end_line(lines);
}

static void put_lines(const struct fw_link_http *link, const struct fw_link_message *message,
		      struct lines *lines)
{
	if (message) {
		add_line(lines, "Content-Type", "application/json");
		add_line(lines, "Accept", "application/json, text/event-stream");
	} else {
		add_line(lines, "Accept", "text/event-stream");
	}
	if (link->version)
		add_line(lines, FW_HEADER_VERSION, link->version);
	if (link->session[0] && !link->is_modern)
		add_line(lines, FW_HEADER_SESSION, link->session);
	if (message && link->is_modern && message->method)
		add_mirror(lines, FW_HEADER_METHOD, message->method);
	if (message && link->is_modern && message->name)
		add_mirror(lines, FW_HEADER_NAME, message->name);
}

fw_error *fw_link__fetch(struct fw_link_post *post, const struct fw_link_message *message)
{
	static const struct fw_fetch_callbacks callbacks = { fw_link__on_head, fw_link__on_body,
							     fw_link__on_end };
	struct fw_link_http *link = post->link;
	const struct fw_link_target *target = link->base.target;
	struct fw_fetch_options options = { .method = message ? "POST" : "GET",
					    .url = link->moved ? link->moved : target->url,
					    .connect_ms = target->connect_ms,
					    .on = callbacks,
					    .ctx = post };
	const char *const *more;
	struct lines lines = { .count = 0 };
	size_t n = 0;
	fw_error *err;

	fw_buf_init(&lines.text, FW_LIMIT_HELLO_BYTES);
	put_lines(link, message, &lines);
	if (!message && post->last_id[0])
		add_line(&lines, FW_HEADER_LAST_EVENT, post->last_id);
	if (message)
		post->session = link->session[0] && !link->is_modern ? link->sessions : 0;
	if (lines.text.state != FW_BUF_OK) {
		fw_buf_clear(&lines.text);
		return fw_raise_internal_out_of_memory();
	}
	for (; n < lines.count; n++)
		lines.lines[n] = lines.text.text + lines.starts[n];
	for (more = target->headers; more && *more && n < FW_LINK_HEADERS; more++)
		lines.lines[n++] = *more;
	for (more = message ? message->headers : NULL; more && *more && n < FW_LINK_HEADERS;
	     more++)
		lines.lines[n++] = *more;
	lines.lines[n] = NULL;
	options.headers = lines.lines;
	if (message) {
		options.body = message->text;
		options.len = message->len;
	}
	err = fw_fetch_start(link->fetcher, &options, &post->fetch);
	fw_buf_clear(&lines.text);
	fw_error_set_delivery(err, FW_NOT_SENT);
	return err;
}

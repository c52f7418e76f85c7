/*
 * page_fields.c - what a handler reads of the request and writes to the answer. When the
 * answer is sent is decided in page.c.
 */
#include "mcp/page.h"

#include <string.h>
#include <strings.h>

#include "mcp/principal.h"
#include "mcp/route.h"
#include "mcp/transport.h"

static const char PLAIN[] = "text/plain; charset=utf-8";

/* ---- the request ----------------------------------------------------------------- */

const char *fw_page_method(const fw_page *page)
{
	return page->method;
}

const char *fw_page_path(const fw_page *page)
{
	return page->path;
}

const char *fw_page_parameter(const fw_page *page, const char *name)
{
	const char *pattern = page->pattern, *part = page->parts;
	const char *end = part + strlen(page->path);

	while (*pattern == '/' && part < end) {
		const char *next = strchrnul(++pattern, '/');

		part++;
		if (fw_route_is_parameter(pattern, (size_t)(next - pattern), name))
			return part;
		pattern = next;
		part += strlen(part);
	}
	return NULL;
}

const char *fw_page_body(const fw_page *page, size_t *ret_len)
{
	if (ret_len)
		*ret_len = page->body_len;
	return page->body;
}

const fw_principal *fw_page_principal(const fw_page *page)
{
	return page->principal ? page->principal : fw_principal_anonymous();
}

const char *fw_page_header(const fw_page *page, const char *name)
{
	struct fw_exchange *exchange = page->exchange;

	return exchange && exchange->ops->header ? exchange->ops->header(exchange, name, NULL)
						 : NULL;
}

const char *fw_page_query(const fw_page *page, const char *name)
{
	struct fw_exchange *exchange = page->exchange;

	return exchange && exchange->ops->query ? exchange->ops->query(exchange, name) : NULL;
}

/* ---- the answer ------------------------------------------------------------------ */

void fw_page_status(fw_page *page, int status, const char *content_type)
{
	const char *type = content_type ? content_type : PLAIN;
	size_t len = strnlen(type, sizeof page->answer.type - 1);

	page->answer.status = status;
	memcpy(page->answer.type, type, len);
	page->answer.type[len] = '\0';
}

void fw_page_set_header(fw_page *page, const char *name, const char *value)
{
	struct fw_buf *headers = &page->answer.headers;
	bool is_valid = name[0] && !strpbrk(name, " \t:\r\n") && !strpbrk(value, "\r\n");

	if (!is_valid) {
		headers->state = FW_BUF_TOO_LARGE;
		return;
	}
	fw_buf_str(headers, name);
	FW_BUF(headers, ": ");
	fw_buf_str(headers, value);
	FW_BUF(headers, "\r\n");
	if (strcasecmp(name, "Cache-Control") == 0)
		page->answer.has_cache_control = true;
}

void fw_page_write(fw_page *page, const char *text, size_t len)
{
	fw_buf_put(&page->answer.out, text, len);
}

/*
 * page_problem.c - the page behind a problem's type URI: what happened, what
 * it means, what to do.
 *
 * A code is found by every name that a client may have been shown: the last
 * part of a type URI in either contract that has those, the canonical code, or
 * the code of another contract. Three forms are made from one list of facts.
 */
#include "mcp/page.h"

#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/accept.h"
#include "base/buf.h"
#include "base/limits.h"

enum { PREFIX_BYTES = sizeof "/problems/" - 1 };

enum form { HTML, TEXT, JSON };
static const char *const types[] = { "text/html", "text/plain", "application/json",
				     "application/problem+json" };

/* ---- finding ------------------------------------------------------------------ */

/* "file.not_found" as the last part of a type URI. */
static bool is_slug_of(const char *code, const char *slug)
{
	if (strcmp(code, "protocol.unsupported_version") == 0 &&
	    strcmp(slug, "protocol-version") == 0)
		return true;
	for (; *code && *slug; code++, slug++)
		if (*slug != (*code == '.' || *code == '_' ? '-' : *code))
			return false;
	return !*code && !*slug;
}

static const fw_row *find_row(const char *name)
{
	const fw_row *row = fw_registry_find(NULL, name);

	for (size_t i = 0; !row && fw_registry_at(NULL, i); i++)
		if (is_slug_of(fw_registry_at(NULL, i)->code, name))
			row = fw_registry_at(NULL, i);
	for (fw_contract c = FW_KAIZA; !row && c < FW_CONTRACT_COUNT; c++)
		row = fw_registry_read(NULL, c, name);
	return row;
}

/* ---- the three forms -------------------------------------------------------------- */

static void put_html(struct fw_buf *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&': FW_BUF(out, "&amp;"); break;
		case '<': FW_BUF(out, "&lt;"); break;
		case '>': FW_BUF(out, "&gt;"); break;
		case '"': FW_BUF(out, "&quot;"); break;
		default: fw_buf_put(out, text, 1);
		}
	}
}

static void put_head(struct fw_buf *out, const char *title)
{
	FW_BUF(out, "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\n"
		    "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
	put_html(out, title);
	FW_BUF(out, "</title>\n<link rel=\"stylesheet\" href=\"/assets/page.css\">\n<h1>");
	put_html(out, title);
	FW_BUF(out, "</h1>\n");
}

static void put_fact(struct fw_buf *out, enum form form, const char *name, const char *value)
{
	switch (form) {
	case HTML:
		FW_BUF(out, "<tr><th>");
		put_html(out, name);
		FW_BUF(out, "<td><code>");
		put_html(out, value);
		FW_BUF(out, "</code>\n");
		break;
	case TEXT:
		fw_buf_str(out, name);
		FW_BUF(out, ": ");
		fw_buf_str(out, value);
		FW_BUF(out, "\n");
		break;
	case JSON:
		FW_BUF(out, ",");
		fw_buf_json_str(out, name);
		FW_BUF(out, ":");
		fw_buf_json_str(out, value);
		break;
	}
}

static void put_facts(struct fw_buf *out, enum form form, const fw_row *row)
{
	char number[16];

	put_fact(out, form, "code", row->code);
	(void)snprintf(number, sizeof number, "%d", row->status);
	put_fact(out, form, "status", number);
	put_fact(out, form, "category", fw_category_name(row->category));
	put_fact(out, form, "type", fw_type_name(row->type));
	put_fact(out, form, "retry", fw_retry_name(row->retry));
	put_fact(out, form, "severity", fw_severity_name(row->severity));
	put_fact(out, form, "message", row->message);
}

static void put_projections(struct fw_buf *out, enum form form, const fw_row *row)
{
	for (fw_contract c = FW_KAIZA; c < FW_CONTRACT_COUNT; c++)
		put_fact(out, form, fw_contract_name(c), fw_row_code_in(row, c));
}

/* Whether a retry makes sense, in words. */
static const char *retry_text(fw_retry retry)
{
	switch (retry) {
	case FW_RETRY_BACKOFF: return "The same call may work later: wait, then try again.";
	case FW_RETRY_AFTER_FIX: return "The same call will fail again: change it first.";
	default: return "Do not try again.";
	}
}

static void put_row(struct fw_buf *out, enum form form, const fw_row *row)
{
	switch (form) {
	case HTML:
		put_head(out, row->title);
		FW_BUF(out, "<p>");
		put_html(out, row->explanation);
		FW_BUF(out, "</p>\n<h2>What to do</h2>\n<p>");
		put_html(out, row->hint);
		FW_BUF(out, " ");
		put_html(out, retry_text(row->retry));
		FW_BUF(out, "</p>\n<h2>Facts</h2>\n<table>\n");
		put_facts(out, form, row);
		FW_BUF(out, "</table>\n<h2>In the contracts</h2>\n<table>\n");
		put_projections(out, form, row);
		FW_BUF(out,
		       "</table>\n<p><a href=\"/problems/\">All problems</a></p>\n</html>\n");
		break;
	case TEXT:
		fw_buf_str(out, row->title);
		FW_BUF(out, "\n\n");
		fw_buf_str(out, row->explanation);
		FW_BUF(out, "\nWhat to do: ");
		fw_buf_str(out, row->hint);
		FW_BUF(out, " ");
		fw_buf_str(out, retry_text(row->retry));
		FW_BUF(out, "\n\n");
		put_facts(out, form, row);
		FW_BUF(out, "\nIn the contracts:\n");
		put_projections(out, form, row);
		break;
	case JSON:
		FW_BUF(out, "{\"title\":");
		fw_buf_json_str(out, row->title);
		put_fact(out, form, "explanation", row->explanation);
		put_fact(out, form, "hint", row->hint);
		put_facts(out, form, row);
		FW_BUF(out, ",\"contracts\":{\"canonical\":");
		fw_buf_json_str(out, row->code);
		put_projections(out, form, row);
		FW_BUF(out, "}}\n");
		break;
	}
}

/* ---- the list ------------------------------------------------------------------------ */

static void put_entry(struct fw_buf *out, enum form form, const fw_row *row, bool is_first)
{
	switch (form) {
	case HTML:
		FW_BUF(out, "<tr><td><a href=\"/problems/");
		put_html(out, row->code);
		FW_BUF(out, "\"><code>");
		put_html(out, row->code);
		FW_BUF(out, "</code></a><td>");
		put_html(out, row->title);
		FW_BUF(out, "\n");
		break;
	case TEXT: put_fact(out, form, row->code, row->title); break;
	case JSON:
		if (!is_first)
			FW_BUF(out, ",");
		FW_BUF(out, "{\"code\":");
		fw_buf_json_str(out, row->code);
		put_fact(out, form, "title", row->title);
		FW_BUF(out, "}");
		break;
	}
}

static void put_list(struct fw_buf *out, enum form form)
{
	const fw_row *row;

	if (form == HTML) {
		put_head(out, "Problems");
		FW_BUF(out, "<table>\n");
	} else if (form == JSON) {
		FW_BUF(out, "[");
	}
	for (size_t i = 0; (row = fw_registry_at(NULL, i)); i++)
		put_entry(out, form, row, i == 0);
	if (form == HTML)
		FW_BUF(out, "</table>\n</html>\n");
	else if (form == JSON)
		FW_BUF(out, "]\n");
}

fw_error *fw_page_problem(fw_page *page, void *ctx)
{
	static const char *const shown_types[] = { "text/html; charset=utf-8",
						   "text/plain; charset=utf-8",
						   "application/json" };
	const char *name = fw_page_path(page) + PREFIX_BYTES;
	size_t choice = fw_accept_choose(fw_page_header(page, "Accept"), types,
					 sizeof types / sizeof *types);
	enum form form = choice < JSON ? (enum form)choice : JSON;
	const fw_row *row = *name ? find_row(name) : NULL;
	struct fw_buf out;

	(void)ctx;
	if (*name && !row)
		return fw_raise_protocol_path_not_found(fw_page_path(page));
	/* The size of the page is bounded. */
	fw_buf_init(&out, FW_LIMIT_ENVELOPE_BYTES);
	if (row)
		put_row(&out, form, row);
	else
		put_list(&out, form);
	if (out.state != FW_BUF_OK) {
		fw_buf_clear(&out);
		return fw_raise_internal_out_of_memory();
	}
	fw_page_status(page, 200, shown_types[form]);
	fw_page_write(page, out.text, out.len);
	fw_buf_clear(&out);
	return NULL;
}

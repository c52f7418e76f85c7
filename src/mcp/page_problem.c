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
#include "base/ascii.h"
#include "base/buf.h"
#include "base/limits.h"
#include "mcp/server.h"

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
		if (*slug != fw_slug_char(*code))
			return false;
	return !*code && !*slug;
}

static const fw_row *find_row(const fw_registry *registry, const char *name)
{
	const fw_row *row = fw_registry_find(registry, name);

	for (size_t i = 0; !row && fw_registry_at(registry, i); i++)
		if (is_slug_of(fw_registry_at(registry, i)->code, name))
			row = fw_registry_at(registry, i);
	for (fw_contract c = FW_KAIZA; !row && c < FW_CONTRACT_COUNT; c++)
		row = fw_registry_read(registry, c, name);
	return row;
}

static bool has_word(const char *text, const char *word)
{
	return strcasestr(text, word) != NULL;
}

/* Does a row match the words of a search? Any of its names may. */
static bool is_wanted(const fw_row *row, const char *wanted)
{
	char number[16];

	if (!wanted || !*wanted)
		return true;
	(void)snprintf(number, sizeof number, "%d", row->status);
	for (fw_contract c = FW_CANONICAL; c < FW_CONTRACT_COUNT; c++)
		if (has_word(fw_row_code_in(row, c), wanted))
			return true;
	return has_word(row->title, wanted) || has_word(row->message, wanted) ||
	       has_word(row->hint, wanted) || strcmp(number, wanted) == 0;
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

/* One character of Markdown: `code` is marked, everything else is text. */
static void put_inline(struct fw_buf *out, char c, bool *is_code)
{
	const char text[2] = { c, '\0' };

	if (c != '`') {
		put_html(out, text);
		return;
	}
	fw_buf_str(out, *is_code ? "</code>" : "<code>");
	*is_code = !*is_code;
}

/* The Markdown that explanations use: paragraphs, lists and code. */
static void put_markdown(struct fw_buf *out, const char *text)
{
	bool is_list = false, is_code = false;

	FW_BUF(out, "<p>");
	for (; *text; text++) {
		bool is_item = text[0] == '\n' && strncmp(text + 1, "- ", 2) == 0;

		if (is_item) {
			fw_buf_str(out, is_list ? "<li>" : "<ul><li>");
			is_list = true;
			text += 2;
		} else if (text[0] == '\n' && text[1] == '\n') {
			fw_buf_str(out, is_list ? "</ul>\n<p>" : "\n<p>");
			is_list = false;
			text++;
		} else {
			put_inline(out, *text, &is_code);
		}
	}
	if (is_code)
		FW_BUF(out, "</code>");
	if (is_list)
		FW_BUF(out, "</ul>");
	FW_BUF(out, "\n");
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
		put_markdown(out, row->explanation);
		FW_BUF(out, "<h2>What to do</h2>\n<p>");
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

static size_t domain_len(const fw_row *row)
{
	return strcspn(row->code, ".");
}

/* Rows are sorted by number, so those of a domain are neighbours, mostly. */
static void put_domain(struct fw_buf *out, const fw_row *row, bool is_first)
{
	char name[64];

	(void)snprintf(name, sizeof name, "%.*s", (int)domain_len(row), row->code);
	if (!is_first)
		FW_BUF(out, "</table>\n");
	FW_BUF(out, "<h2>");
	put_html(out, name);
	FW_BUF(out, "</h2>\n<table>\n");
}

static void put_search(struct fw_buf *out, const char *wanted)
{
	FW_BUF(out, "<form action=\"/problems/\"><input name=\"q\" type=\"search\" "
		    "aria-label=\"Search\" placeholder=\"code, status or words\" value=\"");
	put_html(out, wanted ? wanted : "");
	FW_BUF(out, "\"> <button>Search</button></form>\n");
}

static void put_list(struct fw_buf *out, enum form form, const fw_registry *registry,
		     const char *wanted)
{
	const fw_row *row, *before = NULL;

	if (form == HTML) {
		put_head(out, "Problems");
		put_search(out, wanted);
	} else if (form == JSON) {
		FW_BUF(out, "[");
	}
	for (size_t i = 0; (row = fw_registry_at(registry, i)); i++) {
		if (!is_wanted(row, wanted))
			continue;
		if (form == HTML && (!before || domain_len(before) != domain_len(row) ||
				     strncmp(before->code, row->code, domain_len(row)) != 0))
			put_domain(out, row, !before);
		put_entry(out, form, row, !before);
		before = row;
	}
	if (form == HTML)
		fw_buf_str(out, before ? "</table>\n</html>\n"
				       : "<p>Nothing matches.</p>\n</html>\n");
	else if (form == JSON)
		FW_BUF(out, "]\n");
}

/* For a person in a browser, in place of a problem document. */
static void put_missing(struct fw_buf *out, const char *name)
{
	put_head(out, "No Such Problem");
	FW_BUF(out, "<p>There is no problem type <code>");
	put_html(out, name);
	FW_BUF(out, "</code> here.</p>\n");
	put_search(out, name);
	FW_BUF(out, "<p><a href=\"/problems/\">All problems</a></p>\n</html>\n");
}

fw_error *fw_page_problem(fw_page *page, void *ctx)
{
	static const char *const shown_types[] = { "text/html; charset=utf-8",
						   "text/plain; charset=utf-8",
						   "application/json" };
	const fw_registry *registry = page->server->options.registry;
	const char *name = fw_page_path(page) + PREFIX_BYTES;
	const char *accept = fw_page_header(page, "Accept");
	size_t choice = fw_accept_choose(accept, types, sizeof types / sizeof *types);
	enum form form = choice < JSON ? (enum form)choice : JSON;
	const fw_row *row = *name ? find_row(registry, name) : NULL;
	bool is_missing = *name && !row;
	struct fw_buf out;

	(void)ctx;
	/* A program gets a problem document; so does one that does not say what it wants. */
	if (is_missing && (form != HTML || !accept || !strstr(accept, "text/html")))
		return fw_raise_protocol_path_not_found(fw_page_path(page));
	/* The size of the page is bounded. */
	fw_buf_init(&out, FW_LIMIT_ENVELOPE_BYTES);
	if (is_missing)
		put_missing(&out, name);
	else if (row)
		put_row(&out, form, row);
	else
		put_list(&out, form, registry, fw_page_query(page, "q"));
	if (out.state != FW_BUF_OK) {
		fw_buf_clear(&out);
		return fw_raise_internal_out_of_memory();
	}
	fw_page_status(page, is_missing ? 404 : 200, shown_types[form]);
	fw_page_write(page, out.text, out.len);
	fw_buf_clear(&out);
	return NULL;
}

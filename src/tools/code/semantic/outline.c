/*
 * outline.c - see outline.h.
 *
 * A definition ends before the next line that is indented no deeper, unless that line
 * belongs to it: a brace, "end", a label, a directive of the preprocessor.
 */
#include "tools/code/semantic/outline.h"

#include <string.h>

#include "base/mem.h"
#include "tools/code/semantic/outline_line.h"

enum { TAB = 8, OPEN_MAX = 64, SYMBOLS_MAX = 100 * 1000 };

/* ---- languages ---- */

/* #!/bin/sh, #!/usr/bin/env python3 */
static enum fw_outline_language language_by_text(const char *text, size_t len)
{
	static const struct {
		const char *word;
		enum fw_outline_language language;
	} words[] = {
		{ "python", FW_OUTLINE_PYTHON }, { "node", FW_OUTLINE_SCRIPT },
		{ "perl", FW_OUTLINE_PERL },     { "ruby", FW_OUTLINE_RUBY },
		{ "php", FW_OUTLINE_PHP },       { "lua", FW_OUTLINE_LUA },
		{ "sh", FW_OUTLINE_SHELL },
	};
	const char *end =
		len > 2 && memcmp(text, "#!", 2) == 0 ? memchr(text, '\n', len) : NULL;

	for (size_t i = 0; end && i < sizeof words / sizeof *words; i++)
		if (memmem(text, (size_t)(end - text), words[i].word, strlen(words[i].word)))
			return words[i].language;
	return FW_OUTLINE_NONE;
}

static enum fw_outline_language language_by_name(const char *path, size_t len)
{
	static const struct {
		const char *ends; /* between spaces */
		enum fw_outline_language language;
	} ends[] = {
		{ " c h cc hh cpp hpp cxx hxx m mm inc cu ", FW_OUTLINE_C },
		{ " py pyi pyx ", FW_OUTLINE_PYTHON },
		{ " js mjs cjs jsx ts tsx mts cts ", FW_OUTLINE_SCRIPT },
		{ " go ", FW_OUTLINE_GO },
		{ " rs ", FW_OUTLINE_RUST },
		{ " java cs kt kts scala swift dart groovy ", FW_OUTLINE_JAVA },
		{ " rb rake ", FW_OUTLINE_RUBY },
		{ " php ", FW_OUTLINE_PHP },
		{ " sh bash zsh ", FW_OUTLINE_SHELL },
		{ " pl pm t perl ", FW_OUTLINE_PERL },
		{ " lua ", FW_OUTLINE_LUA },
		{ " md markdown ", FW_OUTLINE_MARKDOWN },
		{ " mk mak ", FW_OUTLINE_MAKE },
		{ " sql ", FW_OUTLINE_SQL },
	};
	const char *end = path + len, *dot = end, *name;

	for (name = end; name > path && name[-1] != '/';)
		name--;
	while (dot > name && dot[-1] != '.')
		dot--;
	if ((size_t)(end - name) >= 8 && memcmp(name, "Makefile", 8) == 0)
		return FW_OUTLINE_MAKE;
	if (dot == name || dot == end || end - dot > 8)
		return FW_OUTLINE_NONE;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		for (const char *at = ends[i].ends; (at = strchr(at, ' ')) && at[1];) {
			at++;
			if (strncmp(at, dot, (size_t)(end - dot)) == 0 && at[end - dot] == ' ')
				return ends[i].language;
		}
	return FW_OUTLINE_NONE;
}

enum fw_outline_language fw_outline_language_of(const char *path, const char *text, size_t len)
{
	enum fw_outline_language language = language_by_name(path, strlen(path));

	return language == FW_OUTLINE_NONE ? language_by_text(text, len) : language;
}

const char *fw_outline_kind_name(enum fw_outline_kind kind)
{
	static const char *const names[FW_OUTLINE_KIND_COUNT] = {
		[FW_OUTLINE_FUNCTION] = "function",   [FW_OUTLINE_METHOD] = "method",
		[FW_OUTLINE_CLASS] = "class",         [FW_OUTLINE_STRUCT] = "struct",
		[FW_OUTLINE_ENUM] = "enum",           [FW_OUTLINE_UNION] = "union",
		[FW_OUTLINE_INTERFACE] = "interface", [FW_OUTLINE_TYPE] = "type",
		[FW_OUTLINE_MODULE] = "module",       [FW_OUTLINE_MACRO] = "macro",
		[FW_OUTLINE_VARIABLE] = "variable",   [FW_OUTLINE_HEADING] = "heading",
	};

	return names[kind];
}

/* ---- lines ---- */

struct open {
	uint32_t symbol;
	size_t indent;
};

struct reading {
	struct fw_outline *outline;
	struct fw_outline_line line;
	struct open open[OPEN_MAX];
	size_t depth;
	uint32_t number; /* of the line */
	uint32_t last;   /* line with text */
	bool is_fenced;  /* a block of code in Markdown */
	bool is_typedef; /* the line is between "typedef struct {" and "} NAME;" */
};

static bool is_type(enum fw_outline_kind kind)
{
	return kind == FW_OUTLINE_CLASS || kind == FW_OUTLINE_STRUCT ||
	       kind == FW_OUTLINE_INTERFACE || kind == FW_OUTLINE_ENUM;
}

/* Does the line belong to the definition above, although it is not indented? */
static bool goes_on(const struct fw_outline_line *line)
{
	const char *at = line->text;
	size_t len = (size_t)(line->end - at);

	switch (*at) {
	case '{':
	case '}':
	case ')':
	case ']': return true;
	case '#': return line->language == FW_OUTLINE_C;
	default: break;
	}
	if (len >= 3 && memcmp(at, "end", 3) == 0 && (len == 3 || !at[3] || at[3] == ' '))
		return line->language == FW_OUTLINE_RUBY || line->language == FW_OUTLINE_LUA;
	/* A label of goto; public: and the like. */
	if (line->language == FW_OUTLINE_C && line->end[-1] == ':')
		return memchr(at, ' ', len) == NULL;
	return false;
}

/* A closing brace in the column of the definition is its last line. */
static bool is_last(const struct fw_outline_line *line)
{
	return *line->text == '}' || *line->text == 'e';
}

static void end_symbols(struct reading *r)
{
	const struct fw_outline_line *line = &r->line;

	if (line->language == FW_OUTLINE_MARKDOWN)
		return;
	while (r->depth) {
		struct open *top = &r->open[r->depth - 1];
		struct fw_outline_symbol *symbol = &r->outline->list[top->symbol];

		if (line->indent > top->indent ||
		    (line->indent == top->indent && symbol->kind != FW_OUTLINE_MACRO &&
		     goes_on(line) && !is_last(line)))
			return;
		symbol->end_line = r->last;
		if (line->indent == top->indent && goes_on(line) &&
		    symbol->kind != FW_OUTLINE_MACRO) {
			symbol->end_line = r->number;
			r->depth--;
			return;
		}
		r->depth--;
	}
}

/* Headings end where one of the same or a higher level begins. */
static void end_sections(struct reading *r, size_t level)
{
	while (r->depth && r->open[r->depth - 1].indent >= level) {
		r->outline->list[r->open[r->depth - 1].symbol].end_line = r->last;
		r->depth--;
	}
}

static bool grow(struct fw_outline *outline)
{
	size_t cap = outline->cap ? 2 * outline->cap : 64;
	struct fw_outline_symbol *list;

	if (outline->count < outline->cap)
		return true;
	if (cap > SYMBOLS_MAX)
		cap = SYMBOLS_MAX;
	list = cap > outline->cap ? fw__reallocate(outline->list, cap * sizeof *list) : NULL;
	if (!list) {
		outline->is_cut = true;
		return false;
	}
	outline->list = list;
	outline->cap = cap;
	return true;
}

static void begin_symbol(struct reading *r, struct fw_outline_symbol *symbol, size_t level)
{
	struct fw_outline *outline = r->outline;

	if (!grow(outline))
		return;
	symbol->start_line = symbol->end_line = r->number;
	symbol->parent = r->depth ? r->open[r->depth - 1].symbol : UINT32_MAX;
	outline->list[outline->count] = *symbol;
	if (r->depth < OPEN_MAX)
		r->open[r->depth++] = (struct open){ (uint32_t)outline->count, level };
	outline->count++;
}

/* Between the first and the last line of a typedef with members. */
static void follow_typedef(struct reading *r)
{
	struct fw_outline_line *line = &r->line;
	size_t len = (size_t)(line->end - line->text);

	line->ends_typedef = false;
	if (line->language != FW_OUTLINE_C || line->indent)
		return;
	line->ends_typedef = *line->text == '}' && r->is_typedef;
	if (line->ends_typedef)
		r->is_typedef = false;
	else if (len > 8 && memcmp(line->text, "typedef ", 8) == 0)
		r->is_typedef = !memchr(line->text, ';', len);
}

static void read_line(struct reading *r)
{
	struct fw_outline_line *line = &r->line;
	struct fw_outline_symbol symbol = { .name = NULL };
	enum fw_outline_kind parent;
	size_t level = line->indent;

	if (line->language == FW_OUTLINE_MARKDOWN && (line->end - line->text >= 3) &&
	    memcmp(line->text, "```", 3) == 0)
		r->is_fenced = !r->is_fenced;
	end_symbols(r);
	follow_typedef(r);
	parent = r->depth ? r->outline->list[r->open[r->depth - 1].symbol].kind
			  : FW_OUTLINE_KIND_COUNT;
	line->in_type = is_type(parent);
	line->in_interface = parent == FW_OUTLINE_INTERFACE;
	if (!r->is_fenced && fw_outline_line_defines(line, &symbol)) {
		if (line->language == FW_OUTLINE_MARKDOWN) {
			for (level = 0;
			     line->text + level < line->end && line->text[level] == '#';
			     level++)
				;
			end_sections(r, level);
		}
		begin_symbol(r, &symbol, level);
	}
	r->last = r->number;
}

void fw_outline_read(struct fw_outline *outline, enum fw_outline_language language,
		     const char *text, size_t len)
{
	struct reading r = { .outline = outline };
	const char *stop = text + len;

	outline->count = 0;
	outline->lines = 0;
	outline->is_cut = false;
	r.line.language = language;
	r.line.stop = stop;
	while (text < stop) {
		const char *end = memchr(text, '\n', (size_t)(stop - text));
		const char *next = end ? end + 1 : stop;

		end = end ? end : stop;
		r.number++;
		r.line.indent = 0;
		for (; text < end && (*text == ' ' || *text == '\t'); text++)
			r.line.indent += *text == '\t' ? TAB - r.line.indent % TAB : 1;
		if (end > text && end[-1] == '\r')
			end--;
		if (text < end && language != FW_OUTLINE_NONE) {
			r.line.text = text;
			r.line.end = end;
			read_line(&r);
		}
		text = next;
	}
	while (r.depth)
		outline->list[r.open[--r.depth].symbol].end_line = r.last;
	outline->lines = r.number;
}

void fw_outline_clear(struct fw_outline *outline)
{
	fw__release(outline->list);
	*outline = (struct fw_outline){ .list = NULL };
}

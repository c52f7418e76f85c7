/*
 * reference.c - the tool find_references: a name as a whole word, wherever it is in the
 * files. It does not know scopes or types; what looks like a use comes before what looks
 * like a mention.
 */
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "tools/code/arguments.h"
#include "tools/code/limits.h"
#include "tools/code/semantic/outline.h"
#include "tools/code/semantic/ranking.h"
#include "tools/code/semantic/sweep.h"
#include "tools/code/semantic/tools.h"

#include <faultwire/raise.h>

enum { SHOWN = 100, MOST = 1000, PREVIEW = 200, BEFORE = 40 };

enum grade { DEFINITION, CALL, USE, MENTION };

struct finding {
	const char *word;
	size_t word_len;
	enum fw_outline_language language;
	struct fw_outline outline;
	size_t begun; /* symbols that begin in the current line or before */
	struct fw_semantic_ranking ranking;
};

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* Do two bytes beside each other belong to one name? What is beyond ASCII beside a letter of
 * ASCII is mostly a quotation mark, or a sentence in Chinese. */
static bool are_joined(char a, char b)
{
	return (is_name_byte(a) && is_name_byte(b)) ||
	       ((unsigned char)a >= 0x80 && (unsigned char)b >= 0x80);
}

/* Is what begins the line the mark of a comment? */
static bool is_comment(const char *line, const char *end)
{
	while (line < end && (*line == ' ' || *line == '\t'))
		line++;
	return line < end &&
	       ((*line == '*' && (line + 1 == end || strchr(" \t/*\r", line[1]))) ||
		(*line == '/' && line + 1 < end && strchr("/*", line[1])) ||
		(*line == '#' && !(end - line > 8 && memcmp(line, "#define ", 8) == 0) &&
		 !(end - line > 3 && memcmp(line, "#if", 3) == 0)) ||
		(*line == '-' && line + 1 < end && line[1] == '-' &&
		 (line + 2 == end || strchr(" -[", line[2]))));
}

/* The innermost symbol around a line: the last that has begun, or one that contains it. */
static const struct fw_outline_symbol *around(const struct finding *f, uint32_t line)
{
	const struct fw_outline_symbol *list = f->outline.list;
	size_t at = f->begun ? f->begun - 1 : UINT32_MAX;

	while (at != UINT32_MAX && list[at].end_line < line)
		at = list[at].parent;
	return at == UINT32_MAX ? NULL : &list[at];
}

/* In C, a name with parentheses outside of any definition is declared, unless it is a value or
 * begins the line, as a macro does. */
static bool is_declaration(const struct finding *f, const char *line, const char *at,
			   uint32_t number)
{
	return f->language == FW_OUTLINE_C && at > line && *line != ' ' && *line != '\t' &&
	       *line != '#' && !memchr(line, '=', (size_t)(at - line)) && !around(f, number);
}

static enum grade grade_of(const struct finding *f, const char *line, const char *end,
			   const char *at, uint32_t number)
{
	const char *after = at + f->word_len;

	for (size_t i = f->begun; i-- > 0 && f->outline.list[i].start_line == number;)
		if (f->outline.list[i].name == at)
			return DEFINITION;
	if (is_comment(line, end))
		return MENTION;
	while (after < end && (*after == ' ' || *after == '\t'))
		after++;
	return after < end && *after == '(' && !is_declaration(f, line, at, number) ? CALL
										    : USE;
}

static void put_text(struct fw_buf *out, const char *text, size_t len)
{
	char repaired[3 * PREVIEW + 16];
	size_t size =
		fw_utf8_repair(repaired, sizeof repaired, text, len < PREVIEW ? len : PREVIEW);

	size = size < sizeof repaired ? size : sizeof repaired;
	fw_buf_json(out, repaired, fw_utf8_cut(repaired, size, PREVIEW));
}

struct spot {
	const char *path;
	const char *line, *end; /* of the line */
	const char *at;
	uint32_t number;
};

/* The line, or of a long one the part with the name. */
static void put_preview(struct fw_buf *out, const struct spot *spot, size_t word_len)
{
	const char *from = spot->line;
	size_t before = (size_t)(spot->at - from);

	if (before > BEFORE && before + word_len > PREVIEW) {
		from = spot->at - BEFORE;
		while (((unsigned char)*from & 0xc0) == 0x80)
			from++;
	}
	put_text(out, from, (size_t)(spot->end - from));
}

static bool keep(struct finding *f, const struct spot *spot)
{
	static const char *const names[] = { "definition", "call", "use", "mention" };
	const struct fw_outline_symbol *symbol;
	struct fw_buf *out;
	int64_t column = 1;
	enum grade grade;

	while (f->begun < f->outline.count &&
	       f->outline.list[f->begun].start_line <= spot->number)
		f->begun++;
	grade = grade_of(f, spot->line, spot->end, spot->at, spot->number);
	symbol = around(f, spot->number);
	if (!fw_semantic_ranking_add(&f->ranking, grade, &out))
		return false;
	if (!out)
		return true;
	for (const char *at = spot->line; at < spot->at; at++)
		column += ((unsigned char)*at & 0xc0) != 0x80;
	FW_BUF(out, "{\"path\":");
	fw_buf_json_str(out, spot->path);
	FW_BUF(out, ",\"line\":");
	fw_buf_i64(out, spot->number);
	FW_BUF(out, ",\"column\":");
	fw_buf_i64(out, column);
	FW_BUF(out, ",\"kind\":");
	fw_buf_json_str(out, names[grade]);
	FW_BUF(out, ",\"symbol\":");
	put_text(out, symbol ? symbol->name : "", symbol ? symbol->name_len : 0);
	FW_BUF(out, ",\"preview\":");
	put_preview(out, spot, f->word_len);
	FW_BUF(out, "}");
	return fw_semantic_ranking_end(&f->ranking);
}

/* Each line once. */
static bool see_file(void *ctx, const char *path, const char *text, size_t len)
{
	struct finding *f = ctx;
	const char *stop = text + len, *counted = text;
	struct spot spot = { .path = path, .number = 1 };

	f->language = fw_outline_language_of(path, text, len);
	fw_outline_read(&f->outline, f->language, text, len);
	f->begun = 0;
	for (const char *at = text;
	     (at = memmem(at, (size_t)(stop - at), f->word, f->word_len));) {
		const char *end = memchr(at, '\n', (size_t)(stop - at));

		if ((at > text && are_joined(at[-1], *at)) ||
		    (at + f->word_len < stop &&
		     are_joined(at[f->word_len - 1], at[f->word_len]))) {
			at++;
			continue;
		}
		for (; counted < at; counted++)
			if (*counted == '\n') {
				spot.number++;
				text = counted + 1;
			}
		spot.line = text;
		spot.end = end ? end : stop;
		spot.at = at;
		if (spot.end > spot.line && spot.end[-1] == '\r')
			spot.end--;
		if (!keep(f, &spot))
			return false;
		if (!end)
			return true;
		at = end;
	}
	return true;
}

fw_error *fw_semantic_find_references(fw_call *call, void *ctx)
{
	struct finding f = { .word = NULL };
	struct fw_semantic_sweep sweep = {
		.call = call, .code = ctx, .file = see_file, .ctx = &f
	};
	int64_t limit;
	fw_error *err;

	FW_TRY(fw_semantic_sweep_word(call, &sweep.word));
	FW_TRY(fw_code_max_results(call, "limit", SHOWN, MOST, &limit));
	f.word = sweep.word;
	f.word_len = strlen(f.word);
	fw_semantic_ranking_init(&f.ranking, DEFINITION);
	err = fw_semantic_sweep(&sweep);
	f.ranking.is_cut = sweep.is_cut;
	if (!err)
		err = fw_semantic_ranking_answer(&f.ranking, call, "references", "lexical",
						 (size_t)limit);
	fw_outline_clear(&f.outline);
	fw_semantic_ranking_clear(&f.ranking);
	return err;
}

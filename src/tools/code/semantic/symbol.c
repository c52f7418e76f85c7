/*
 * symbol.c - the tools find_symbol and outline.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "tools/code/arguments.h"
#include "tools/code/code.h"
#include "tools/code/limits.h"
#include "tools/code/semantic/outline.h"
#include "tools/code/semantic/ranking.h"
#include "tools/code/semantic/sweep.h"
#include "tools/code/semantic/tools.h"
#include "tools/common/file.h"

#include <faultwire/raise.h>

enum { SHOWN = 50, MOST = 1000 };

static void put_name(struct fw_buf *out, const char *name, size_t len)
{
	char repaired[1024];
	size_t size = fw_utf8_repair(repaired, sizeof repaired, name, len < 256 ? len : 256);

	fw_buf_json(out, repaired, size < sizeof repaired ? size : sizeof repaired);
}

static void put_symbol(struct fw_buf *out, const struct fw_outline *outline,
		       const struct fw_outline_symbol *symbol)
{
	FW_BUF(out, "\"name\":");
	put_name(out, symbol->name, symbol->name_len);
	FW_BUF(out, ",\"kind\":");
	fw_buf_json_str(out, fw_outline_kind_name(symbol->kind));
	FW_BUF(out, ",\"start_line\":");
	fw_buf_i64(out, symbol->start_line);
	FW_BUF(out, ",\"end_line\":");
	fw_buf_i64(out, symbol->end_line);
	FW_BUF(out, ",\"container\":");
	if (symbol->parent == UINT32_MAX)
		FW_BUF(out, "\"\"");
	else
		put_name(out, outline->list[symbol->parent].name,
			 outline->list[symbol->parent].name_len);
}

/* ---- find_symbol ---- */

struct finding {
	const char *word;
	size_t word_len;
	int kind; /* -1: any */
	struct fw_outline outline;
	struct fw_semantic_ranking ranking;
};

/* How well a name fits; 4: not at all. */
static unsigned grade(const struct finding *f, const struct fw_outline_symbol *symbol)
{
	if (symbol->name_len < f->word_len)
		return 4;
	if (symbol->name_len == f->word_len) {
		if (memcmp(symbol->name, f->word, f->word_len) == 0)
			return 0;
		if (strncasecmp(symbol->name, f->word, f->word_len) == 0)
			return 1;
		return 4;
	}
	if (strncasecmp(symbol->name, f->word, f->word_len) == 0)
		return 2;
	for (size_t i = 1; i + f->word_len <= symbol->name_len; i++)
		if (strncasecmp(symbol->name + i, f->word, f->word_len) == 0)
			return 3;
	return 4;
}

static bool keep(struct finding *f, unsigned how_well, const char *path,
		 const struct fw_outline_symbol *symbol)
{
	struct fw_buf *out;

	if (!fw_semantic_ranking_add(&f->ranking, how_well, &out))
		return false;
	if (!out)
		return true;
	FW_BUF(out, "{\"path\":");
	fw_buf_json_str(out, path);
	FW_BUF(out, ",");
	put_symbol(out, &f->outline, symbol);
	FW_BUF(out, "}");
	return fw_semantic_ranking_end(&f->ranking);
}

static bool see_file(void *ctx, const char *path, const char *text, size_t len)
{
	struct finding *f = ctx;

	fw_outline_read(&f->outline, fw_outline_language_of(path, text, len), text, len);
	f->ranking.is_cut = f->ranking.is_cut || f->outline.is_cut;
	for (size_t i = 0; i < f->outline.count; i++) {
		unsigned how_well = grade(f, &f->outline.list[i]);

		if (how_well < 4 && (f->kind < 0 || (int)f->outline.list[i].kind == f->kind) &&
		    !keep(f, how_well, path, &f->outline.list[i]))
			return false;
	}
	return true;
}

static fw_error *read_kind(const fw_call *call, int *ret_kind)
{
	const char *word =
		fw_call_has(call, "kind") ? fw_call_string(call, "kind", NULL) : NULL;

	*ret_kind = -1;
	if (!word)
		return NULL;
	for (int i = 0; i < FW_OUTLINE_KIND_COUNT; i++)
		if (strcmp(fw_outline_kind_name((enum fw_outline_kind)i), word) == 0)
			*ret_kind = i;
	return *ret_kind >= 0
		       ? NULL
		       : fw_raise_input_invalid_value("kind", "a kind of symbol, such as "
							      "function or class");
}

fw_error *fw_semantic_find_symbol(fw_call *call, void *ctx)
{
	struct finding f = { .kind = -1 };
	struct fw_semantic_sweep sweep = {
		.call = call, .code = ctx, .ignores_case = true, .file = see_file, .ctx = &f
	};
	int64_t limit;
	fw_error *err;

	FW_TRY(fw_semantic_sweep_word(call, &sweep.word));
	FW_TRY(read_kind(call, &f.kind));
	FW_TRY(fw_code_max_results(call, "limit", SHOWN, MOST, &limit));
	f.word = sweep.word;
	f.word_len = strlen(f.word);
	/* Names that are equal but for their case are always kept. */
	fw_semantic_ranking_init(&f.ranking, 1);
	err = fw_semantic_sweep(&sweep);
	f.ranking.is_cut = f.ranking.is_cut || sweep.is_cut;
	if (!err)
		err = fw_semantic_ranking_answer(&f.ranking, call, "symbols", "outline",
						 (size_t)limit);
	fw_outline_clear(&f.outline);
	fw_semantic_ranking_clear(&f.ranking);
	return err;
}

/* ---- outline ---- */

static fw_error *put_outline(fw_call *call, const char *path, const struct fw_outline *outline)
{
	fw_error *err = NULL;
	struct fw_buf out;

	fw_buf_init(&out, FW_LIMIT_CODE_RESULT_BYTES);
	FW_BUF(&out, "{\"path\":");
	fw_buf_json_str(&out, path);
	FW_BUF(&out, ",\"symbols\":[");
	for (size_t i = 0; i < outline->count; i++) {
		fw_buf_str(&out, i ? ",{" : "{");
		put_symbol(&out, outline, &outline->list[i]);
		FW_BUF(&out, "}");
	}
	FW_BUF(&out, "],\"lines\":");
	fw_buf_i64(&out, outline->lines);
	FW_BUF(&out, ",\"method\":\"outline\"}");
	if (out.state == FW_BUF_OK)
		fw_call_structured(call, out.text, out.len);
	else
		err = out.state == FW_BUF_TOO_LARGE
			      ? fw_raise_file_too_large(path, FW_LIMIT_CODE_FILE_BYTES)
			      : fw_raise_internal_out_of_memory();
	fw_buf_clear(&out);
	return err;
}

static fw_error *read_outline(fw_call *call, const struct fw_code_place *place)
{
	struct fw_outline outline = { .list = NULL };
	struct stat st;
	char *text = NULL;
	size_t len = 0, skip;
	fw_error *err;
	int fd;

	FW_TRY(fw_code_place_open(place, &fd, &st));
	err = fw_file_read_all(fd, place->shown, FW_LIMIT_CODE_FILE_BYTES, &text, &len);
	(void)close(fd);
	if (err)
		return err;
	if (memchr(text, '\0', len) || fw_utf8_valid(text, len) != len) {
		err = fw_file_not_text(place->shown, text, len, 0);
	} else {
		skip = fw_file_mark(text, len);
		fw_outline_read(&outline, fw_outline_language_of(place->path, text, len),
				text + skip, len - skip);
		err = put_outline(call, place->shown, &outline);
	}
	fw_outline_clear(&outline);
	fw__release(text);
	return err;
}

fw_error *fw_semantic_outline(fw_call *call, void *ctx)
{
	const struct fw_code_set *code = ctx;
	struct fw_code_place place;
	size_t len = 0;
	const char *path = fw_call_string(call, "path", &len);
	fw_error *err;

	FW_TRY(fw_code_place_find(&code->repos, path, len, &place));
	err = read_outline(call, &place);
	fw_code_place_close(&place);
	return err;
}

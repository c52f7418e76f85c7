/*
 * fuzz_code.c - what the toolset code reads of others: the output of git blame, and regular
 * expressions. The first byte chooses.
 *
 * Properties: a blame has no line of a commit that it does not have, and its JSON can be read;
 * a text that PCRE2 matches contains one of the texts that the expression requires, with any
 * case if case is ignored; the automaton finds what PCRE2 finds by backtracking.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "fuzz.h"

#include <yyjson.h>

/* The toolsets are no part of the library. */
#include "../src/tools/code/blame.c"
#include "../src/tools/code/date.c"
#include "../src/tools/code/linear.c"
#include "../src/tools/code/literal.c"
#include "../src/tools/code/pattern.c"

static void check_blame(const char *text, size_t len)
{
	struct fw_blame blame = { .commits = NULL };
	struct fw_buf out;
	yyjson_doc *doc;

	while (len) {
		char line[2 * FW_BLAME_TEXT_BYTES + 1];
		const char *end = memchr(text, '\n', len);
		size_t part = end ? (size_t)(end - text) : len;
		size_t kept = part < sizeof line - 1 ? part : sizeof line - 1;

		memcpy(line, text, kept);
		line[kept] = '\0';
		if (kept)
			MUST(fw_blame_read(&blame, line, kept));
		text += part + (end != NULL);
		len -= part + (end != NULL);
	}
	for (size_t i = 0; i < blame.line_count; i++)
		MUST(blame.lines[i] < blame.commit_count);
	fw_buf_init(&out, 1 << 28);
	FW_BUF(&out, "[");
	fw_blame_put(&blame, INT64_MIN, INT64_MAX, &out);
	FW_BUF(&out, "]");
	MUST(out.state == FW_BUF_OK);
	doc = yyjson_read(out.text, out.len, 0);
	MUST(doc);
	MUST(yyjson_arr_size(yyjson_doc_get_root(doc)) == blame.line_count);
	yyjson_doc_free(doc);
	fw_buf_clear(&out);
	fw_blame_clear(&blame);
}

static bool contains(const struct fw_literal *literal, bool folds, const char *text, size_t len)
{
	for (size_t i = 0; i + literal->len <= len; i++) {
		size_t j = 0;

		for (; j < literal->len; j++) {
			char c = text[i + j];

			if (folds && c >= 'A' && c <= 'Z')
				c = (char)(c | 0x20);
			if (c != literal->text[j])
				break;
		}
		if (j == literal->len)
			return true;
	}
	return false;
}

enum found { NO_MATCH, MATCH, NOT_KNOWN /* not valid, or too many steps */ };

/* Matches by backtracking. */
static enum found backtrack(const char *pattern, size_t len, bool folds, const char *text,
			    size_t text_len, size_t *ret_start)
{
	pcre2_match_context *context = pcre2_match_context_create(NULL);
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	int result = PCRE2_ERROR_INTERNAL;
	pcre2_code *code;
	size_t at;
	int error;

	code = pcre2_compile((PCRE2_SPTR)pattern, len,
			     PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF |
				     PCRE2_NEVER_BACKSLASH_C | PCRE2_NO_DOTSTAR_ANCHOR |
				     (folds ? PCRE2_CASELESS : 0),
			     &error, &at, NULL);
	(void)pcre2_set_match_limit(context, 10000);
	(void)pcre2_set_depth_limit(context, 1000);
	if (code)
		result = pcre2_match(code, (PCRE2_SPTR)text, text_len, 0, 0, data, context);
	if (result >= 0)
		*ret_start = pcre2_get_ovector_pointer(data)[0];
	pcre2_code_free(code);
	pcre2_match_data_free(data);
	pcre2_match_context_free(context);
	return result >= 0 ? MATCH : result == PCRE2_ERROR_NOMATCH ? NO_MATCH : NOT_KNOWN;
}

/* The automaton finds what backtracking finds. */
static void check_linear(const char *pattern, size_t len, bool folds, const char *text,
			 size_t text_len, enum found expected, size_t expected_start)
{
	struct fw_linear *linear =
		fw_linear_is_possible(pattern, len) ? fw_linear_new(pattern, len, folds) : NULL;
	enum fw_linear_answer answer;
	size_t start = expected_start;

	if (!linear)
		return;
	answer = fw_linear_match(linear, text, text_len, &start);
	/* Behind an incomplete character the interpreter of PCRE2 10.42 misses $. */
	if (answer != FW_LINEAR_NO_ANSWER && fw_utf8_valid(text, text_len) == text_len) {
		MUST((answer == FW_LINEAR_MATCH) == (expected == MATCH));
		MUST(start == expected_start);
	}
	fw_linear_free(linear);
}

/* The expression ends at the first NUL. */
static void check_expression(const char *text, size_t len, bool folds)
{
	const char *nul = memchr(text, '\0', len);
	size_t pattern = nul ? (size_t)(nul - text) : len;
	struct fw_literals literals;
	bool has_one = false;
	size_t start = 0;
	enum found found;

	fw_literals_of_regex(text, pattern, folds, &literals);
	MUST(literals.count <= FW_LITERALS_MAX);
	for (size_t i = 0; i < literals.count; i++)
		MUST(literals.list[i].len && literals.list[i].len <= FW_LITERAL_BYTES);
	if (!nul || pattern > 1000)
		return;
	found = backtrack(text, pattern, folds, nul + 1, len - pattern - 1, &start);
	if (found != NOT_KNOWN && !memchr(nul + 1, '\n', len - pattern - 1))
		check_linear(text, pattern, folds, nul + 1, len - pattern - 1, found, start);
	if (!literals.count || found != MATCH)
		return;
	for (size_t i = 0; i < literals.count; i++)
		has_one = has_one ||
			  contains(&literals.list[i], folds, nul + 1, len - pattern - 1);
	MUST(has_one);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;

	if (!size)
		return 0;
	if (data[0] % 3 == 0)
		check_blame(text + 1, size - 1);
	else
		check_expression(text + 1, size - 1, data[0] % 3 == 1);
	return 0;
}

/*
 * linear.c - see linear.h. The automaton is pcre2_dfa_match().
 *
 * It tries each place where a match could begin, one after the other, which makes the time
 * quadratic. So it is first asked whether there is a match at all, by an expression that begins
 * with "anything" and has only one place to begin.
 *
 * It counts how often a character was repeated, also for `a+`, and then has a state for each
 * number. It does not count groups, so `a+` is compiled as `(?:a)+`.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "tools/code/linear.h"

#include <pcre2.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "tools/code/limits.h"

enum {
	OFFSETS = 2, /* pairs */
	TEXT_BYTES = 4 * FW_LIMIT_CODE_QUERY_BYTES
};

struct fw_linear {
	pcre2_code *anywhere; /* begins with anything */
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *context;
	int states[FW_LIMIT_CODE_LINEAR_STATES];
};

/* ---- which expressions ---- */

static bool is_simple(const char *text, size_t len, bool has_ends)
{
	for (size_t i = 0; i < len; i++) {
		char next = i + 1 < len ? text[i + 1] : '\0';

		switch (text[i]) {
		case '\\':
			if (!strchr("dDwWsSbBhH.()[]{}*+?|/-_\"'<>=,:;!@#%&~^$ ", next) ||
			    !next)
				return false;
			i++;
			break;
		case '$': /* the line end of CR LF */
		case '^':
			if (!has_ends)
				return false;
			break;
		case '(':
			if (next == '*' ||
			    (next == '?' && (i + 2 >= len || text[i + 2] != ':')))
				return false;
			break;
		case '+':
		case '?':
		case '*':
		case '}':
			if (next == '+')
				return false;
			break;
		default: break;
		}
	}
	return true;
}

bool fw_linear_is_plain(const char *text, size_t len)
{
	return is_simple(text, len, false);
}

bool fw_linear_is_possible(const char *text, size_t len)
{
	static const char option[] = "(?i)";
	size_t skipped = sizeof option - 1;

	if (len < skipped || memcmp(text, option, skipped) != 0)
		skipped = 0;
	return is_simple(text + skipped, len - skipped, true);
}

/* ---- lifecycle ---- */

static pcre2_code *compile(const char *text, size_t len, uint32_t options)
{
	size_t at;
	int error;

	/* Possessive quantifiers, which PCRE2 would add, are followed by recursion. */
	return pcre2_compile((PCRE2_SPTR)text, len,
			     options | PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C |
				     PCRE2_NO_AUTO_POSSESS,
			     &error, &at, NULL);
}

/* The length of the class at `text`, which ends in a bracket since the expression is valid. */
static size_t class_len(const char *text, size_t len)
{
	size_t i = len > 1 && text[1] == '^' ? 2 : 1;

	if (i < len && text[i] == ']') /* a member, since it comes first */
		i++;
	for (; i < len && text[i] != ']'; i++) {
		const char *end = NULL;

		if (text[i] == '\\')
			i++;
		else if (text[i] == '[' && i + 1 < len && text[i + 1] == ':')
			end = memmem(text + i, len - i, ":]", 2);
		if (end)
			i = (size_t)(end - text) + 1;
	}
	return i < len ? i + 1 : len;
}

/* The length of a character, or of what stands for one. */
static size_t item_len(const char *text, size_t len)
{
	size_t n = 1;

	if (text[0] == '[')
		return class_len(text, len);
	if (text[0] == '\\')
		return len > 1 ? 2 : 1;
	while (n < len && ((unsigned char)text[n] & 0xc0) == 0x80)
		n++;
	return n;
}

static void put_expression(struct fw_buf *to, const char *text, size_t len)
{
	for (size_t i = 0, n; i < len; i += n) {
		n = item_len(text + i, len - i);
		if (i + n < len && text[i + n] == '+' && text[i] != ')') {
			FW_BUF(to, "(?:");
			fw_buf_put(to, text + i, n);
			FW_BUF(to, ")");
		} else {
			fw_buf_put(to, text + i, n);
		}
	}
}

static pcre2_code *compile_behind(const char *before, const char *text, size_t len,
				  uint32_t options)
{
	pcre2_code *code = NULL;
	struct fw_buf buf;

	fw_buf_init(&buf, TEXT_BYTES);
	fw_buf_put(&buf, before, strlen(before));
	FW_BUF(&buf, "(?:");
	put_expression(&buf, text, len);
	FW_BUF(&buf, ")");
	if (buf.state == FW_BUF_OK)
		code = compile(buf.text, buf.len, options);
	fw_buf_clear(&buf);
	return code;
}

struct fw_linear *fw_linear_new(const char *text, size_t len, bool ignores_case)
{
	struct fw_linear *linear = fw__allocate(sizeof *linear);
	uint32_t options = ignores_case ? PCRE2_CASELESS : 0;

	if (!linear)
		return NULL;
	linear->anywhere = compile_behind("(?s:.)*?", text, len, options | PCRE2_ANCHORED);
	linear->code = compile_behind("", text, len, options);
	linear->data = pcre2_match_data_create(OFFSETS, NULL);
	linear->context = pcre2_match_context_create(NULL);
	if (linear->anywhere && linear->code && linear->data && linear->context)
		return linear;
	fw_linear_free(linear);
	return NULL;
}

void fw_linear_free(struct fw_linear *linear)
{
	if (!linear)
		return;
	pcre2_code_free(linear->anywhere);
	pcre2_code_free(linear->code);
	pcre2_match_data_free(linear->data);
	pcre2_match_context_free(linear->context);
	fw__release(linear);
}

/* ---- matching ---- */

/* `starts`: how many places are tried. */
static enum fw_linear_answer run(struct fw_linear *linear, const pcre2_code *code,
				 const char *text, size_t len, uint32_t options, size_t starts)
{
	int result;

	(void)pcre2_set_match_limit(linear->context, (uint32_t)starts);
	result = pcre2_dfa_match(code, (PCRE2_SPTR)text, len, 0, PCRE2_DFA_SHORTEST | options,
				 linear->data, linear->context, linear->states,
				 FW_LIMIT_CODE_LINEAR_STATES);
	return result >= 0                     ? FW_LINEAR_MATCH
	       : result == PCRE2_ERROR_NOMATCH ? FW_LINEAR_NO_MATCH
					       : FW_LINEAR_NO_ANSWER;
}

static enum fw_linear_answer match_part(struct fw_linear *linear, const char *part, size_t len,
					uint32_t options, size_t *ret_start)
{
	enum fw_linear_answer answer = run(linear, linear->anywhere, part, len, options, 2);

	if (answer == FW_LINEAR_MATCH)
		answer = run(linear, linear->code, part, len, options,
			     FW_LIMIT_CODE_LINEAR_STEPS / (len + 1) + 2);
	if (answer == FW_LINEAR_MATCH)
		*ret_start = pcre2_get_ovector_pointer(linear->data)[0];
	return answer;
}

/* As with PCRE2_MATCH_INVALID_UTF, which pcre2_dfa_match() does not have: no match has a byte
 * that is not UTF-8. */
enum fw_linear_answer fw_linear_match(struct fw_linear *linear, const char *line, size_t len,
				      size_t *ret_start)
{
	enum fw_linear_answer answer = FW_LINEAR_NO_MATCH;
	size_t from = 0;

	if (len > FW_LIMIT_CODE_LINEAR_BYTES)
		return FW_LINEAR_NO_ANSWER;
	while (from < len + !len && answer == FW_LINEAR_NO_MATCH) {
		size_t valid = fw_utf8_valid(line + from, len - from), start = 0;

		/* Nor is there an empty one between two such bytes. */
		if (valid || !from)
			answer = match_part(linear, line + from, valid,
					    PCRE2_NO_UTF_CHECK | (from ? PCRE2_NOTBOL : 0) |
						    (from + valid < len ? PCRE2_NOTEOL : 0),
					    &start);
		if (answer == FW_LINEAR_MATCH)
			*ret_start = from + start;
		from += valid + 1;
	}
	return answer;
}

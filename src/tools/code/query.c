/*
 * query.c - see query.h.
 *
 * A search spends most of its time on lines that do not match. They are skipped by
 * looking for the texts that a match requires (literal.h, scan.h). If an expression
 * requires no text, as in `[0-9]{7,}`, it is first run on the whole block to find the
 * next line that can match, and then on that line alone. That is correct only for
 * expressions that match in the block wherever they match in a line, so it is not done
 * for assertions and atomic groups.
 *
 * A line on which PCRE2 takes too many steps is matched by an automaton (linear.h).
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "tools/code/query.h"

#include <pcre2.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "tools/code/limits.h"
#include "tools/code/linear.h"
#include "tools/code/scan.h"

#include <faultwire/raise.h>

enum { ASK_LINES = 256, ASK_REGEX_LINES = 4, JIT_STACK_LEAST = 32 * 1024, LITERAL_LEAST = 3 };
enum { LINE_START = 2 /* PCRE2_INFO_FIRSTCODETYPE */ };

struct fw_query {
	char *text;
	size_t len;
	bool ignores_case;
	bool is_exact; /* a literal is always a match: no expression needed */
	struct fw_literals literals;
	struct fw_scan scans[FW_LITERALS_MAX];
	size_t scan_count;
	struct fw_byte_runs runs;
	struct fw_byte_run_scan
		run_scans[FW_BYTE_RUN_BRANCHES]; /* the best run of each branch */
	size_t run_scan_count; /* 0: the literals are better, or there are no runs */
	pcre2_code *code;      /* for a line; NULL if exact */
	pcre2_code *sieve;     /* for a block; NULL: match line by line */
	bool has_jit;
	bool sieve_has_jit;
	bool can_be_linear;
	bool needs_count;  /* JIT code takes many steps on long lines without counting them */
	pcre2_code *loose; /* for a block that is not UTF-8; NULL: the others are right there */
	bool loose_has_jit;
};

struct fw_matcher {
	const struct fw_query *query;
	pcre2_match_data *data;
	pcre2_match_context *context;
	pcre2_jit_stack *stack;
	struct fw_linear *linear; /* NULL: was not needed yet, or is not possible */
	bool can_be_linear;
	bool is_loose;    /* the block is not UTF-8 */
	bool is_last_try; /* the automaton has no answer for the line */
};

/* ---- compiling ---- */

static fw_error *invalid(int error, size_t at)
{
	PCRE2_UCHAR words[128];
	char expected[224];
	fw_error *err;

	if (pcre2_get_error_message(error, words, sizeof words) < 0)
		words[0] = '\0';
	(void)snprintf(expected, sizeof expected, "a regular expression; at offset %zu: %s", at,
		       (const char *)words);
	err = fw_raise_input_invalid_value("query", expected);
	fw_error_add_u64(err, "offset", at);
	fw_error_set_hint(err,
			  "Write a backslash before a character that is meant as it is, or "
			  "search for the text itself, without regex.");
	return err;
}

static pcre2_code *compile(const struct fw_query *query, uint32_t options, int *ret_error,
			   size_t *ret_at, bool *ret_has_jit)
{
	pcre2_code *code;

	if (query->ignores_case)
		options |= PCRE2_CASELESS;
	code = pcre2_compile((PCRE2_SPTR)query->text, query->len,
			     options | PCRE2_UTF | PCRE2_MATCH_INVALID_UTF, ret_error, ret_at,
			     NULL);
	if (code)
		*ret_has_jit = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0;
	return code;
}

/* The length of the character at `text`, or of the escape. */
static size_t unit_len(const char *text, size_t len)
{
	return text[0] == '\\' && len > 1 ? 2 : 1;
}

/* After a group with an empty alternative the JIT compiler of PCRE2 10.42 remembers from the
 * alternatives before where a repetition ended, and misses matches: (x|)\s*[a-z] does not match
 * "x". Without the optimizations of the start it does not remember. */
static bool has_empty_alternative(const char *text, size_t len)
{
	bool is_empty = false; /* the alternative that is being read */
	bool is_named =
		false; /* a group begins with more, as in (?<name>|a), and is not parsed */
	bool has_several = false;

	for (size_t i = 0, n; i < len; i += n) {
		n = unit_len(text + i, len - i);
		if (is_empty && (text[i] == '|' || text[i] == ')'))
			return true;
		is_named = is_named || (i + 2 < len && text[i] == '(' && text[i + 1] == '?' &&
					text[i + 2] != ':');
		has_several = has_several || text[i] == '|';
		is_empty = text[i] == '|' || text[i] == '(' ||
			   (is_empty && (text[i] == '?' || text[i] == ':'));
	}
	return is_named && has_several;
}

/* How many repetitions without an upper limit there are, or more. */
static unsigned count_repetitions(const char *text, size_t len)
{
	unsigned count = 0;

	for (size_t i = 0, n; i < len; i += n) {
		n = unit_len(text + i, len - i);
		count += text[i] == '*' || text[i] == '+' ||
			 (text[i] == ',' && i + 1 < len && text[i + 1] == '}');
	}
	return count;
}

/* PCRE2 tries an expression that begins with .* only where a line begins. After a byte that is
 * not UTF-8 it goes on as if there were no line beginning, and finds nothing in the rest of the
 * line. */
static fw_error *compile_loose(struct fw_query *query, uint32_t options)
{
	uint32_t type = 0, all = 0;
	size_t at;
	int error;

	(void)pcre2_pattern_info(query->code, PCRE2_INFO_FIRSTCODETYPE, &type);
	(void)pcre2_pattern_info(query->code, PCRE2_INFO_ALLOPTIONS, &all);
	if (type != LINE_START && !(all & PCRE2_ANCHORED))
		return NULL;
	query->loose = compile(query, options | PCRE2_NO_DOTSTAR_ANCHOR, &error, &at,
			       &query->loose_has_jit);
	return query->loose ? NULL : fw_raise_internal_out_of_memory();
}

static fw_error *compile_regex(struct fw_query *query)
{
	uint32_t options = PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C;
	size_t at = 0;
	int error = 0;

	if (has_empty_alternative(query->text, query->len))
		options |= PCRE2_NO_START_OPTIMIZE;
	query->code = compile(query, options, &error, &at, &query->has_jit);
	if (!query->code)
		return error == PCRE2_ERROR_HEAP_FAILED ? fw_raise_internal_out_of_memory()
							: invalid(error, at);
	fw_literals_of_regex(query->text, query->len, query->ignores_case, &query->literals);
	fw_byte_runs_of_regex(query->text, query->len, query->ignores_case, &query->runs);
	FW_TRY(compile_loose(query, options));
	query->can_be_linear = fw_linear_is_possible(query->text, query->len);
	query->needs_count =
		query->can_be_linear && count_repetitions(query->text, query->len) > 1;
	/* Negated classes could match a line feed, but `^` is not plain. */
	if (!query->literals.count && fw_linear_is_plain(query->text, query->len))
		query->sieve = compile(query, options, &error, &at, &query->sieve_has_jit);
	return NULL;
}

static fw_error *compile_text(struct fw_query *query)
{
	size_t at = 0;
	int error = 0;

	fw_literals_of_text(query->text, query->len, query->ignores_case, &query->literals);
	query->is_exact = !query->ignores_case || (query->literals.count == 1 &&
						   query->literals.list[0].len == query->len);
	if (query->is_exact)
		return NULL;
	query->code = compile(query, PCRE2_LITERAL, &error, &at, &query->has_jit);
	return query->code ? NULL : fw_raise_internal_out_of_memory();
}

static void prepare_scans(struct fw_query *query)
{
	bool has_short = false;

	/* The text may be longer than a literal can be. */
	if (query->is_exact && !query->ignores_case) {
		fw_scan_init(&query->scans[0], query->text, query->len, false);
		query->scan_count = 1;
		return;
	}
	for (size_t i = 0; i < query->literals.count; i++)
		fw_scan_init(&query->scans[i], query->literals.list[i].text,
			     query->literals.list[i].len, query->ignores_case);
	query->scan_count = query->literals.count;
	for (size_t i = 0; i < query->literals.count; i++)
		if (query->literals.list[i].len < LITERAL_LEAST)
			has_short = true;
	if (query->literals.count && !has_short)
		return;
	for (size_t i = 0; i < query->runs.count; i++)
		fw_byte_run_scan_init(&query->run_scans[i], &query->runs.branches[i].runs[0]);
	query->run_scan_count = query->runs.count;
}

/* True: the expression has \n outside of a class. It could not match, because no line has
 * one. */
static bool has_line_break(const char *text, size_t len)
{
	bool in_class = false;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\\' && i + 1 < len) {
			i++;
			if (text[i] == 'Q' || (text[i] == 'n' && !in_class))
				return text[i] == 'n'; /* after \Q comes literal text */
		} else if (text[i] == '[' || text[i] == ']') {
			in_class = text[i] == '[';
		}
	}
	return false;
}

static fw_error *check(const struct fw_query_options *options)
{
	if (!options->len)
		return fw_raise_input_invalid_value("query", "a text that is not empty");
	if (options->len > FW_LIMIT_CODE_QUERY_BYTES)
		return fw_raise_input_too_large("query", FW_LIMIT_CODE_QUERY_BYTES);
	if (memchr(options->text, '\n', options->len) ||
	    (options->is_regex && has_line_break(options->text, options->len)))
		return fw_raise_input_invalid_value(
			"query", "a text without line breaks: lines are searched one by one");
	return NULL;
}

fw_error *fw_query_new(const struct fw_query_options *options, struct fw_query **ret_query)
{
	struct fw_query *query;
	fw_error *err;

	FW_TRY(check(options));
	query = fw__allocate(sizeof *query);
	if (!query)
		return fw_raise_internal_out_of_memory();
	fw__zero(query, sizeof *query);
	query->text = fw_strdup_n(options->text, options->len);
	query->len = options->len;
	query->ignores_case = !options->is_case_sensitive;
	err = !query->text        ? fw_raise_internal_out_of_memory()
	      : options->is_regex ? compile_regex(query)
				  : compile_text(query);
	if (err) {
		fw_query_free(query);
		return err;
	}
	prepare_scans(query);
	*ret_query = query;
	return NULL;
}

void fw_query_free(struct fw_query *query)
{
	if (!query)
		return;
	pcre2_code_free(query->code);
	pcre2_code_free(query->sieve);
	pcre2_code_free(query->loose);
	fw__release(query->text);
	fw__release(query);
}

const struct fw_literals *fw_query_literals(const struct fw_query *query)
{
	return &query->literals;
}

const struct fw_byte_runs *fw_query_runs(const struct fw_query *query)
{
	return &query->runs;
}

bool fw_query_ignores_case(const struct fw_query *query)
{
	return query->ignores_case;
}

/* True: lines of this text without a run can be skipped. */
static bool has_runs(const struct fw_query *query, const char *text, size_t len)
{
	for (size_t i = 0; i < query->run_scan_count; i++)
		if (!fw_byte_run_is_exact(query->run_scans[i].run, text, len))
			return false;
	return query->run_scan_count > 0;
}

bool fw_query_may_match(const struct fw_query *query, const char *text, size_t len)
{
	if (has_runs(query, text, len)) {
		for (size_t i = 0; i < query->run_scan_count; i++)
			if (fw_byte_run_find(&query->run_scans[i], text, len))
				return true;
		return false;
	}
	for (size_t i = 0; i < query->scan_count; i++)
		if (fw_scan_find(&query->scans[i], text, len))
			return true;
	return query->scan_count == 0;
}

/* ---- a matcher ---- */

fw_error *fw_matcher_new(const struct fw_query *query, struct fw_matcher **ret_matcher)
{
	struct fw_matcher *matcher = fw__allocate(sizeof *matcher);

	if (!matcher)
		return fw_raise_internal_out_of_memory();
	*matcher = (struct fw_matcher){ .query = query, .can_be_linear = query->can_be_linear };
	if (query->code) {
		matcher->data = pcre2_match_data_create(1, NULL);
		matcher->context = pcre2_match_context_create(NULL);
		matcher->stack = pcre2_jit_stack_create(JIT_STACK_LEAST,
							FW_LIMIT_CODE_JIT_STACK_BYTES, NULL);
		if (!matcher->data || !matcher->context || !matcher->stack) {
			fw_matcher_free(matcher);
			return fw_raise_internal_out_of_memory();
		}
		(void)pcre2_set_depth_limit(matcher->context, FW_LIMIT_CODE_MATCH_DEPTH);
		(void)pcre2_set_heap_limit(matcher->context, FW_LIMIT_CODE_MATCH_KIB);
		pcre2_jit_stack_assign(matcher->context, NULL, matcher->stack);
	}
	*ret_matcher = matcher;
	return NULL;
}

void fw_matcher_free(struct fw_matcher *matcher)
{
	if (!matcher)
		return;
	pcre2_match_data_free(matcher->data);
	pcre2_match_context_free(matcher->context);
	pcre2_jit_stack_free(matcher->stack);
	fw_linear_free(matcher->linear);
	fw__release(matcher);
}

static fw_error *too_many_steps(void)
{
	fw_error *err = fw_raise_input_invalid_value(
		"query", "a regular expression that can be matched within the step limit");

	fw_error_set_hint(err,
			  "Make the expression simpler: avoid repetition within repetition, "
			  "such as (a+)+.");
	return err;
}

static const pcre2_code *choose(const struct fw_matcher *m, bool with_sieve, size_t len,
				bool *ret_has_jit)
{
	const struct fw_query *query = m->query;

	if (with_sieve) {
		*ret_has_jit = query->sieve_has_jit;
		return query->sieve;
	}
	*ret_has_jit = (m->is_loose ? query->loose_has_jit : query->has_jit) &&
		       !(query->needs_count && len > FW_LIMIT_CODE_JIT_LINE_BYTES);
	return m->is_loose ? query->loose : query->code;
}

static int run_pcre2(struct fw_matcher *m, bool with_sieve, const char *text, size_t len,
		     size_t from)
{
	bool has_jit;
	const pcre2_code *code = choose(m, with_sieve, len, &has_jit);
	bool is_first_try = m->can_be_linear && !with_sieve && !m->is_last_try;

	(void)pcre2_set_match_limit(m->context, is_first_try ? FW_LIMIT_CODE_MATCH_FIRST_STEPS
							     : FW_LIMIT_CODE_MATCH_STEPS);
	return has_jit ? pcre2_jit_match(code, (PCRE2_SPTR)text, len, from, 0, m->data,
					 m->context)
		       : pcre2_match(code, (PCRE2_SPTR)text, len, from, PCRE2_NO_JIT, m->data,
				     m->context);
}

/* Where the expression matches in a text; `*ret_at` is not set if it does not. */
static fw_error *match(struct fw_matcher *m, bool with_sieve, const char *text, size_t len,
		       size_t from, bool *ret_has_match, size_t *ret_at)
{
	int result = run_pcre2(m, with_sieve, text, len, from);

	*ret_has_match = result >= 0;
	if (result >= 0) {
		const size_t *at = pcre2_get_ovector_pointer(m->data);

		*ret_at = at[0] < at[1] ? at[0] : at[1];
		return NULL;
	}
	if (result == PCRE2_ERROR_NOMATCH || result == PCRE2_ERROR_PARTIAL)
		return NULL;
	if (result == PCRE2_ERROR_NOMEMORY)
		return fw_raise_internal_out_of_memory();
	return too_many_steps();
}

static enum fw_linear_answer match_linear(struct fw_matcher *m, const char *line, size_t len,
					  size_t *ret_at)
{
	const struct fw_query *query = m->query;

	if (!m->linear && m->can_be_linear) {
		m->linear = fw_linear_new(query->text, query->len, query->ignores_case);
		m->can_be_linear = m->linear != NULL;
	}
	return m->linear ? fw_linear_match(m->linear, line, len, ret_at) : FW_LINEAR_NO_ANSWER;
}

static fw_error *match_line(struct fw_matcher *m, const char *line, size_t len,
			    bool *ret_has_match, size_t *ret_at)
{
	fw_error *err = match(m, false, line, len, 0, ret_has_match, ret_at);
	enum fw_linear_answer answer;

	if (!err || !m->can_be_linear || fw_error_code(err) != FW_INPUT_INVALID_VALUE)
		return err;
	fw_error_free(err);
	answer = match_linear(m, line, len, ret_at);
	*ret_has_match = answer == FW_LINEAR_MATCH;
	if (answer != FW_LINEAR_NO_ANSWER)
		return NULL;
	m->is_last_try = true;
	err = match(m, false, line, len, 0, ret_has_match, ret_at);
	m->is_last_try = false;
	return err;
}

/* ---- a block ---- */

enum { SCANS_MAX = 8 };
_Static_assert((int)FW_LITERALS_MAX <= SCANS_MAX && (int)FW_BYTE_RUN_BRANCHES <= SCANS_MAX,
	       "room for what is looked for");

struct block {
	struct fw_matcher *matcher;
	const struct fw_matching *matching;
	const char *text;
	const char *end;
	const char *at; /* the start of the first line that was not examined yet */
	struct fw_matcher_lines lines;
	unsigned tried; /* lines since is_stopped() was called */
	bool is_ended;
	bool by_runs;                /* look for runs, not for literals */
	const char *next[SCANS_MAX]; /* next occurrence from `at` on; NULL: none */
	bool is_known[SCANS_MAX];    /* next[] is up to date */
};

static const char *line_end(const struct block *b, const char *from)
{
	const char *newline = memchr(from, '\n', (size_t)(b->end - from));

	return newline ? newline : b->end;
}

uint64_t fw_matcher_line(const struct fw_match *match)
{
	struct fw_matcher_lines *lines = match->lines;

	lines->number += fw_scan_lines(lines->at, (size_t)(match->line - lines->at));
	lines->at = match->line;
	return lines->number;
}

static void report(struct block *b, const char *line, size_t len, size_t start)
{
	const struct fw_match found = { line, len, start, &b->lines };

	if (!b->matching->found(b->matching->ctx, &found))
		b->is_ended = true;
}

/* Matches the line that begins at `line`, and moves to the next line. `hit`: the position
 * of a literal; NULL: not known. */
static fw_error *try_line(struct block *b, const char *line, const char *hit)
{
	const struct fw_query *query = b->matcher->query;
	const char *end = line_end(b, hit ? hit : line);
	size_t len = (size_t)(end - line);
	size_t start = hit ? (size_t)(hit - line) : 0;
	bool has_match = true;

	b->at = end < b->end ? end + 1 : b->end;
	if (len && line[len - 1] == '\r')
		len--;
	if (++b->tried >= (query->code ? ASK_REGEX_LINES : ASK_LINES)) {
		b->tried = 0;
		if (b->matching->is_stopped(b->matching->ctx)) {
			b->is_ended = true;
			return NULL;
		}
	}
	if (query->code)
		FW_TRY(match_line(b->matcher, line, len, &has_match, &start));
	else
		has_match = start + query->len <= len;
	if (has_match)
		report(b, line, len, start);
	return NULL;
}

static const char *find(const struct block *b, size_t scan)
{
	const struct fw_query *query = b->matcher->query;
	size_t len = (size_t)(b->end - b->at);

	return b->by_runs ? fw_byte_run_find(&query->run_scans[scan], b->at, len)
			  : fw_scan_find(&query->scans[scan], b->at, len);
}

/* The next occurrence of a literal or a run. */
static const char *next_hit(struct block *b)
{
	const struct fw_query *query = b->matcher->query;
	size_t count = b->by_runs ? query->run_scan_count : query->scan_count;
	const char *first = NULL;

	for (size_t i = 0; i < count; i++) {
		if (!b->is_known[i] || (b->next[i] && b->next[i] < b->at)) {
			b->next[i] = find(b, i);
			b->is_known[i] = true;
		}
		if (b->next[i] && (!first || b->next[i] < first))
			first = b->next[i];
	}
	return first;
}

static const char *line_of(const struct block *b, const char *hit)
{
	const char *newline = memrchr(b->at, '\n', (size_t)(hit - b->at));

	return newline ? newline + 1 : b->at;
}

/* True: each occurrence of the text is a match, and the caller only counts. Not if the
 * text has a CR, which may be part of a line end. */
static bool can_count(const struct block *b)
{
	const struct fw_query *query = b->matcher->query;

	return query->is_exact && query->scan_count == 1 && b->matching->only_counts &&
	       !memchr(query->text, '\r', query->len) &&
	       b->matching->only_counts(b->matching->ctx);
}

/* Counts the remaining matching lines, without looking for where they begin. */
static void count_rest(struct block *b)
{
	const struct fw_scan *scan = &b->matcher->query->scans[0];
	uint64_t lines = 0;
	const char *hit;

	while (!b->is_ended && b->at < b->end &&
	       (hit = fw_scan_find(scan, b->at, (size_t)(b->end - b->at)))) {
		const char *end = line_end(b, hit);

		b->at = end < b->end ? end + 1 : b->end;
		if (++lines % ASK_LINES == 0 && b->matching->is_stopped(b->matching->ctx))
			b->is_ended = true;
	}
	b->matching->counted(b->matching->ctx, lines);
}

static fw_error *run_scans(struct block *b)
{
	const char *hit;

	while (!b->is_ended && b->at < b->end && !can_count(b) && (hit = next_hit(b)))
		FW_TRY(try_line(b, line_of(b, hit), hit));
	if (!b->is_ended && b->at < b->end && can_count(b))
		count_rest(b);
	return NULL;
}

static fw_error *run_lines(struct block *b)
{
	while (!b->is_ended && b->at < b->end)
		FW_TRY(try_line(b, b->at, NULL));
	return NULL;
}

static fw_error *run_sieve(struct block *b)
{
	while (!b->is_ended && b->at < b->end) {
		bool has_match = false;
		size_t at = 0;
		fw_error *err = match(b->matcher, true, b->text, (size_t)(b->end - b->text),
				      (size_t)(b->at - b->text), &has_match, &at);

		/* It takes too many steps on the whole block, but may not on single lines. */
		if (err && fw_error_code(err) == FW_INPUT_INVALID_VALUE) {
			fw_error_free(err);
			return run_lines(b);
		}
		FW_TRY(err);
		if (!has_match || b->text + at >= b->end)
			return NULL;
		FW_TRY(try_line(b, line_of(b, b->text + at), NULL));
	}
	return NULL;
}

fw_error *fw_matcher_run(struct fw_matcher *matcher, const struct fw_matching *matching,
			 const char *text, size_t len)
{
	struct block block = { .matcher = matcher,
			       .matching = matching,
			       .text = text,
			       .end = text + len,
			       .at = text,
			       .lines = { text, 0 } };

	matcher->is_loose = matcher->query->loose && fw_utf8_valid(text, len) < len;
	block.by_runs = has_runs(matcher->query, text, len);
	if (block.by_runs || matcher->query->scan_count)
		return run_scans(&block);
	return matcher->query->sieve && !matcher->is_loose ? run_sieve(&block)
							   : run_lines(&block);
}

/*
 * literal.c - see literal.h.
 *
 * It parses the common part of the syntax and gives up on anything else: options in the
 * pattern, assertions, numbered characters, quoting. If case is ignored, the letters k
 * and s also match the Kelvin sign and the long s, so they end a text like any other
 * character that is not fixed.
 */
#include "tools/code/literal.h"

#include <stdint.h>
#include <string.h>

#include "tools/code/pattern.h"

enum { DEPTH_MAX = 20 };

/* The best texts of a sequence so far, and the text that is being read. */
struct sequence {
	struct fw_literals best;
	struct fw_literal also; /* the best text after `best` */
	struct fw_literal run;
};

static void alternatives(struct fw_code_pattern *p, struct fw_literals *ret_literals);

/* ---- which texts are best ---- */

static size_t shortest(const struct fw_literals *literals)
{
	size_t least = FW_LITERAL_BYTES + 1;

	for (size_t i = 0; i < literals->count; i++)
		if (literals->list[i].len < least)
			least = literals->list[i].len;
	return literals->count ? least : 0;
}

static void offer_also(struct sequence *sequence, const struct fw_literals *literals)
{
	if (literals->count == 1 && literals->list[0].len > sequence->also.len)
		sequence->also = literals->list[0];
}

/* Keeps the better texts: the longer ones, or if equally long, fewer. */
static void offer(struct sequence *sequence, const struct fw_literals *literals)
{
	size_t now = shortest(&sequence->best), then = shortest(literals);

	if (then > now || (then && then == now && literals->count < sequence->best.count)) {
		offer_also(sequence, &sequence->best);
		sequence->best = *literals;
	} else {
		offer_also(sequence, literals);
	}
}

static void end_run(struct sequence *sequence)
{
	struct fw_literals one = { .count = 1 };

	if (sequence->run.len) {
		one.list[0] = sequence->run;
		offer(sequence, &one);
	}
	sequence->run.len = 0;
}

static bool is_fixed(const struct fw_code_pattern *p, unsigned char c)
{
	return !p->ignores_case || (c < 0x80 && !strchr("kKsS", c));
}

static void put(struct fw_code_pattern *p, struct sequence *sequence, const char *text,
		size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!text[i] || !is_fixed(p, (unsigned char)text[i])) {
			end_run(sequence);
			return;
		}
	if (sequence->run.len + len > FW_LITERAL_BYTES)
		end_run(sequence);
	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (p->ignores_case && c >= 'A' && c <= 'Z')
			c = (char)(c | 0x20);
		sequence->run.text[sequence->run.len++] = c;
	}
}

/* ---- reading the pattern ---- */

static void literal(struct fw_code_pattern *p, struct sequence *sequence, const char *text,
		    size_t len)
{
	const struct fw_code_pattern_times times = fw_code_pattern_times(p);

	if (times.least)
		put(p, sequence, text, len);
	if (times.is_given)
		end_run(sequence);
}

/* Parses an element that matches one character or none, but not a fixed one. */
static void other(struct fw_code_pattern *p, struct sequence *sequence)
{
	end_run(sequence);
	(void)fw_code_pattern_times(p);
}

static void escape(struct fw_code_pattern *p, struct sequence *sequence)
{
	char c;

	if (++p->at >= p->end) {
		p->has_failed = true;
		return;
	}
	c = *p->at++;
	if ((c >= 0x21 && c <= 0x2f) || (c >= 0x3a && c <= 0x40) || (c >= 0x5b && c <= 0x60) ||
	    (c >= 0x7b && c <= 0x7e) || c == ' ') {
		literal(p, sequence, p->at - 1, 1);
	} else if (c == 't') {
		literal(p, sequence, "\t", 1);
	} else if (c && strchr("dDwWsSbBhHvVAzZ", c)) {
		other(p, sequence);
	} else if ((c == 'p' || c == 'P') && p->at < p->end && *p->at == '{') {
		const char *close = memchr(p->at, '}', (size_t)(p->end - p->at));

		if (!close) {
			p->has_failed = true;
			return;
		}
		p->at = close + 1;
		other(p, sequence);
	} else {
		p->has_failed = true;
	}
}

static void class(struct fw_code_pattern *p, struct sequence *sequence)
{
	p->at++;
	if (p->at < p->end && *p->at == '^')
		p->at++;
	if (p->at < p->end && *p->at == ']')
		p->at++;
	while (p->at < p->end && *p->at != ']') {
		if (*p->at == '[' && p->at + 1 < p->end && strchr(":.=", p->at[1])) {
			bool is_digit;

			/* [[:alpha:]], but [[:a] is an ordinary class. */
			if (!fw_code_pattern_posix(p, &is_digit)) {
				p->has_failed = true;
				return;
			}
		} else if (*p->at == '\\') {
			if (p->at + 1 >= p->end || strchr("QEco", p->at[1])) {
				p->has_failed = true;
				return;
			}
			p->at += 2;
		} else {
			p->at++;
		}
	}
	if (p->at >= p->end) {
		p->has_failed = true;
		return;
	}
	p->at++;
	other(p, sequence);
}

static void group(struct fw_code_pattern *p, struct sequence *sequence)
{
	struct fw_literals inside = { .count = 0 };

	fw_code_pattern_open(p);
	if (p->has_failed || ++p->depth > DEPTH_MAX) {
		p->has_failed = true;
		return;
	}
	alternatives(p, &inside);
	p->depth--;
	if (p->has_failed || p->at >= p->end || *p->at != ')') {
		p->has_failed = true;
		return;
	}
	p->at++;
	end_run(sequence);
	if (fw_code_pattern_times(p).least)
		offer(sequence, &inside);
}

static size_t character(const struct fw_code_pattern *p)
{
	unsigned char c = (unsigned char)*p->at;
	size_t len = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;

	return len <= (size_t)(p->end - p->at) ? len : 1;
}

static void item(struct fw_code_pattern *p, struct sequence *sequence)
{
	size_t len;

	switch (*p->at) {
	case '\\': escape(p, sequence); break;
	case '[': class(p, sequence); break;
	case '(': group(p, sequence); break;
	case '.':
	case '^':
	case '$':
		p->at++;
		other(p, sequence);
		break;
	case '*':
	case '+':
	case '?':
	case '{': p->has_failed = true; break;
	default:
		len = character(p);
		p->at += len;
		literal(p, sequence, p->at - len, len);
		break;
	}
}

/* Parses up to the end, or to the parenthesis that closes the group. */
static void alternatives(struct fw_code_pattern *p, struct fw_literals *ret_literals)
{
	struct fw_literals all = { .count = 0 };
	bool is_known = true;

	for (bool is_first = true;; is_first = false) {
		struct sequence sequence = { .run.len = 0 };

		while (p->at < p->end && *p->at != '|' && *p->at != ')' && !p->has_failed)
			item(p, &sequence);
		end_run(&sequence);
		if (p->has_failed)
			return;
		if (!sequence.best.count || all.count + sequence.best.count > FW_LITERALS_MAX)
			is_known = false;
		for (size_t i = 0; is_known && i < sequence.best.count; i++)
			all.list[all.count++] = sequence.best.list[i];
		if (p->at >= p->end || *p->at == ')') {
			if (is_first)
				all.also = sequence.also;
			break;
		}
		p->at++;
	}
	if (is_known)
		*ret_literals = all;
}

void fw_literals_of_regex(const char *pattern, size_t len, bool ignores_case,
			  struct fw_literals *ret_literals)
{
	struct fw_code_pattern p = { .at = pattern,
				     .end = pattern + len,
				     .ignores_case = ignores_case };

	*ret_literals = (struct fw_literals){ .count = 0 };
	alternatives(&p, ret_literals);
	if (p.has_failed || p.at < p.end)
		*ret_literals = (struct fw_literals){ .count = 0 };
}

void fw_literals_of_text(const char *text, size_t len, bool ignores_case,
			 struct fw_literals *ret_literals)
{
	struct fw_code_pattern p = { .at = text,
				     .end = text + len,
				     .ignores_case = ignores_case };
	struct sequence sequence = { .run.len = 0 };

	while (p.at < p.end) {
		size_t one = character(&p);

		put(&p, &sequence, p.at, one);
		p.at += one;
	}
	end_run(&sequence);
	*ret_literals = sequence.best;
	ret_literals->also = sequence.also;
}

/*
 * byte_runs.c - see byte_runs.h. This file parses the expression.
 *
 * Like literal.c it parses the common part of the syntax and gives up on anything else. A
 * repetition ends a run, and its last characters begin the next one: a match of
 * x[0-9]{2,}y contains x and two digits, and it contains two digits and y.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "tools/code/byte_runs.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "tools/code/limits.h"
#include "tools/code/pattern.h"

enum {
	DEPTH_MAX = 4,      /* limits the work: each level of groups is parsed twice */
	SET_MOST = 64,      /* a larger set excludes too little to be useful */
	UNICODE_KNOWN = 17, /* trigram_runs.c knows the digits up to this version */
};

/* A character: one byte of a set, or the bytes of a non-ASCII character. */
struct atom {
	struct fw_byte_run_set sets[4];
	size_t len; /* 0: not known, or not a character */
	bool has_digits;
	bool has_folds;
};

struct sequence {
	struct fw_byte_run_branch best;
	struct fw_byte_run run;
};

/* ---- which runs are best ---- */

static unsigned size_of(const struct fw_byte_run_set *set)
{
	unsigned size = 0;

	for (size_t i = 0; i < 4; i++)
		size += (unsigned)__builtin_popcountll(set->bits[i]);
	return size;
}

size_t fw_byte_run_folded(const struct fw_byte_run_set *set, unsigned char ret_bytes[256])
{
	size_t count = 0;

	for (unsigned c = 0; c < 256; c++) {
		bool is_upper = c >= 'A' && c <= 'Z';
		bool is_lower = c >= 'a' && c <= 'z';

		if (!is_upper &&
		    (fw_byte_run_set_has(set, (unsigned char)c) ||
		     (is_lower && fw_byte_run_set_has(set, (unsigned char)(c & ~0x20u)))))
			ret_bytes[count++] = (unsigned char)c;
	}
	return count;
}

/* True: the index can look up a part of the run. */
static bool is_usable(const struct fw_byte_run *run)
{
	unsigned char bytes[256];
	size_t sizes[FW_BYTE_RUN_BYTES];

	for (size_t i = 0; i < run->len; i++)
		sizes[i] = fw_byte_run_folded(&run->sets[i], bytes);
	for (size_t i = 0; i + 3 <= run->len; i++)
		if (sizes[i] * sizes[i + 1] * sizes[i + 2] <= FW_LIMIT_CODE_RUN_TRIGRAMS)
			return true;
	return false;
}

/* How much a run excludes, roughly in bits. */
static unsigned weight(const struct fw_byte_run *run)
{
	unsigned sum = 0;

	for (size_t i = 0; i < run->len; i++)
		sum += (unsigned)__builtin_clz(size_of(&run->sets[i])) - 24;
	return sum;
}

static void offer(struct fw_byte_run_branch *best, const struct fw_byte_run *run)
{
	struct fw_byte_run_branch old = *best;
	size_t at = 0;

	if (!is_usable(run))
		return;
	while (at < old.count && weight(&old.runs[at]) >= weight(run))
		at++;
	if (at == FW_BYTE_RUN_MOST)
		return;
	best->runs[at] = *run;
	for (size_t i = at; i < old.count && i + 1 < FW_BYTE_RUN_MOST; i++)
		best->runs[i + 1] = old.runs[i];
	best->count = old.count < FW_BYTE_RUN_MOST ? old.count + 1 : FW_BYTE_RUN_MOST;
}

static void end_run(struct sequence *sequence)
{
	if (sequence->run.len)
		offer(&sequence->best, &sequence->run);
	sequence->run.len = 0;
	sequence->run.has_digits = false;
	sequence->run.has_folds = false;
}

static void append(struct sequence *sequence, const struct atom *atom, unsigned copies)
{
	struct fw_byte_run *run = &sequence->run;

	for (unsigned i = 0; i < copies; i++) {
		if (run->len + atom->len > FW_BYTE_RUN_BYTES)
			end_run(sequence);
		memcpy(run->sets + run->len, atom->sets, atom->len * sizeof *atom->sets);
		run->len += atom->len;
		run->has_digits = run->has_digits || atom->has_digits;
		run->has_folds = run->has_folds || atom->has_folds;
	}
}

static void put(struct sequence *sequence, const struct atom *atom,
		struct fw_code_pattern_times times)
{
	bool is_exact = times.is_exact && times.least <= FW_BYTE_RUN_BYTES;
	unsigned copies = times.least < FW_BYTE_RUN_BYTES ? times.least : FW_BYTE_RUN_BYTES;

	if (!atom->len || !copies) {
		end_run(sequence);
		return;
	}
	if (!is_exact && sequence->run.len) {
		append(sequence, atom, copies);
		end_run(sequence);
	}
	append(sequence, atom, copies);
}

/* ---- sets ---- */

static void add_byte(struct fw_code_pattern *p, struct atom *atom, unsigned char c)
{
	struct fw_byte_run_set *set = &atom->sets[0];
	unsigned char lower = (unsigned char)(c | 0x20);

	if (c == '\n')
		return;
	set->bits[c / 64] |= UINT64_C(1) << (c % 64);
	if (!p->ignores_case || lower < 'a' || lower > 'z')
		return;
	set->bits[1] |= UINT64_C(1) << (lower % 64) | UINT64_C(1) << ((lower & ~0x20u) % 64);
	atom->has_folds = atom->has_folds || lower == 'k' || lower == 's';
}

/* True: this PCRE2 has the same decimal digits as the tables of trigram_runs.c. */
static bool knows_digits(void)
{
	char version[64];
	int len = pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, NULL);

	if (len < 0 || (size_t)len > sizeof version ||
	    pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, version) < 0)
		return false;
	return strtol(version, NULL, 10) <= UNICODE_KNOWN;
}

static bool add_digits(struct fw_code_pattern *p, struct atom *atom)
{
	for (int c = '0'; c <= '9'; c++)
		add_byte(p, atom, (unsigned char)c);
	atom->has_digits = true;
	return knows_digits();
}

static bool is_punctuation(char c)
{
	return (c >= 0x20 && c <= 0x2f) || (c >= 0x3a && c <= 0x40) ||
	       (c >= 0x5b && c <= 0x60) || (c >= 0x7b && c <= 0x7e);
}

/* Parses one member of a class, which may be several bytes. `*ret_byte` is -1 if it
 * cannot be an end of a range. False: unknown syntax. */
static bool member(struct fw_code_pattern *p, struct atom *atom, int *ret_byte)
{
	unsigned char c = (unsigned char)*p->at;
	bool is_digit = false;

	*ret_byte = -1;
	if (c == '[' && p->at + 1 < p->end && strchr(":.=", p->at[1]) && p->at[1]) {
		p->has_failed = !fw_code_pattern_posix(p, &is_digit);
		return is_digit && add_digits(p, atom);
	}
	p->at++;
	if (c == '\\') {
		char e = p->at < p->end ? *p->at++ : '\0';

		if (!e || strchr("QEco", e))
			p->has_failed = true;
		if (e == 'd')
			return add_digits(p, atom);
		c = (unsigned char)(e == 't' ? '\t' : e);
		if (e != 't' && !is_punctuation(e))
			return false;
	}
	*ret_byte = c;
	return c && c < 0x80;
}

/* Parses a class, from its opening bracket. */
static void class(struct fw_code_pattern *p, struct atom *ret_atom)
{
	bool is_known = true, is_first = true;
	struct atom atom = { .len = 1 };

	p->at++;
	if (p->at < p->end && *p->at == '^') {
		is_known = false;
		p->at++;
	}
	for (; p->at < p->end && (is_first || *p->at != ']') && !p->has_failed;
	     is_first = false) {
		int from = -1, to = -1;

		is_known = member(p, &atom, &from) && is_known;
		if (p->has_failed || p->end - p->at < 2 || p->at[0] != '-' || p->at[1] == ']') {
			if (from >= 0)
				add_byte(p, &atom, (unsigned char)from);
			continue;
		}
		p->at++;
		is_known = member(p, &atom, &to) && is_known && from >= 0 && to >= from;
		for (int c = from; is_known && c <= to; c++)
			add_byte(p, &atom, (unsigned char)c);
	}
	if (p->at >= p->end) {
		p->has_failed = true;
		return;
	}
	p->at++;
	if (is_known && size_of(&atom.sets[0]) && size_of(&atom.sets[0]) <= SET_MOST)
		*ret_atom = atom;
}

/* ---- reading the pattern ---- */

static void escape(struct fw_code_pattern *p, struct atom *ret_atom)
{
	struct atom atom = { .len = 1 };
	char c = '\0';

	if (++p->at < p->end)
		c = *p->at++;
	if (is_punctuation(c) || c == 't') {
		add_byte(p, &atom, c == 't' ? '\t' : (unsigned char)c);
		*ret_atom = atom;
	} else if (c == 'd') {
		if (add_digits(p, &atom))
			*ret_atom = atom;
	} else if ((c == 'p' || c == 'P') && p->at < p->end && *p->at == '{') {
		const char *close = memchr(p->at, '}', (size_t)(p->end - p->at));

		p->has_failed = !close;
		p->at = close ? close + 1 : p->end;
	} else if (!c || !strchr("DwWsSbBhHvVAzZ", c)) {
		p->has_failed = true;
	}
}

static void character(struct fw_code_pattern *p, struct atom *ret_atom)
{
	unsigned char c = (unsigned char)*p->at;
	size_t len = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
	struct atom atom = { .len = len };

	if (!c || c == '\n' || len > (size_t)(p->end - p->at)) {
		p->has_failed = true;
		return;
	}
	if (len == 1)
		add_byte(p, &atom, c);
	for (size_t i = 0; i < len && len > 1; i++) {
		c = (unsigned char)p->at[i];
		atom.sets[i].bits[c / 64] |= UINT64_C(1) << (c % 64);
	}
	p->at += len;
	/* If case is ignored, other non-ASCII characters may match, too. */
	if (len == 1 || !p->ignores_case)
		*ret_atom = atom;
}

static size_t alternatives(struct fw_code_pattern *p, struct sequence *sequence,
			   struct fw_byte_runs *ret_runs);

/* A group without repetition and alternatives is part of the sequence. If it is repeated
 * but has only one alternative, its runs are used. */
static void group(struct fw_code_pattern *p, struct sequence *sequence)
{
	struct sequence inside = { .best.count = 0 };
	const char *start;
	struct fw_code_pattern_times times;
	size_t count;

	fw_code_pattern_open(p);
	start = p->at;
	if (p->has_failed || ++p->depth > DEPTH_MAX) {
		p->has_failed = true;
		return;
	}
	count = alternatives(p, &inside, NULL);
	if (p->has_failed || p->at >= p->end) {
		p->has_failed = true;
		return;
	}
	p->at++;
	times = fw_code_pattern_times(p);
	if (count == 1 && times.least == 1 && times.is_exact) {
		const char *after = p->at;

		p->at = start;
		(void)alternatives(p, sequence, NULL);
		p->at = after;
	} else {
		end_run(sequence);
		end_run(&inside);
		for (size_t i = 0; count == 1 && times.least && i < inside.best.count; i++)
			offer(&sequence->best, &inside.best.runs[i]);
	}
	p->depth--;
}

static void item(struct fw_code_pattern *p, struct sequence *sequence)
{
	struct atom atom = { .len = 0 };

	switch (*p->at) {
	case '(': group(p, sequence); return;
	case '\\': escape(p, &atom); break;
	case '[': class(p, &atom); break;
	case '.':
	case '^':
	case '$': p->at++; break;
	case '*':
	case '+':
	case '?':
	case '{': p->has_failed = true; return;
	default: character(p, &atom); break;
	}
	put(sequence, &atom, fw_code_pattern_times(p));
}

/* Parses up to the end, or to the parenthesis that closes the group. Returns the number
 * of alternatives. If there is more than one, `sequence` must not be used. */
static size_t alternatives(struct fw_code_pattern *p, struct sequence *sequence,
			   struct fw_byte_runs *ret_runs)
{
	for (size_t count = 1;; count++) {
		while (p->at < p->end && *p->at != '|' && *p->at != ')' && !p->has_failed)
			item(p, sequence);
		if (ret_runs) {
			end_run(sequence);
			if (count <= FW_BYTE_RUN_BRANCHES)
				ret_runs->branches[count - 1] = sequence->best;
			sequence->best.count = 0;
		}
		if (p->has_failed || p->at >= p->end || *p->at == ')')
			return count;
		p->at++;
	}
}

void fw_byte_runs_of_regex(const char *pattern, size_t len, bool ignores_case,
			   struct fw_byte_runs *ret_runs)
{
	struct fw_code_pattern p = { .at = pattern,
				     .end = pattern + len,
				     .ignores_case = ignores_case };
	struct sequence sequence = { .best.count = 0 };
	size_t count;

	ret_runs->count = 0;
	count = alternatives(&p, &sequence, ret_runs);
	if (p.has_failed || p.at < p.end || count > FW_BYTE_RUN_BRANCHES)
		return;
	for (size_t i = 0; i < count; i++)
		if (!ret_runs->branches[i].count)
			return;
	ret_runs->count = count;
}

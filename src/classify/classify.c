/*
 * classify.c - scans a text for the rules that match, and chooses one of them.
 *
 * The rule of the highest rank wins. Among equal ranks it is the one whose type is not
 * TRANSIENT, since repeating a call that cannot succeed is the worse mistake, and then the
 * one that matches first in the text.
 *
 * Not every part of a text counts the same. What was being done ("Failed to connect to the
 * server: ...") counts less than the cause after the colon, and so does a later sentence of
 * advice ("Please check your credentials.").
 */
#include <faultwire/classify.h>

#include <stdio.h>
#include <string.h>

#include <faultwire/raw.h>

#include "classify/facts.h"
#include "classify/rules.h"
#include "core/raw_impl.h"

enum {
	/* A long text is read at both ends: what failed is said first or last. */
	HEAD_BYTES = 12 * 1024,
	TAIL_BYTES = 4 * 1024,
	/* A rule of another type whose rank is less than so much lower makes the answer
	 * uncertain. */
	CONTEST_RANKS = 20,
	/* What a rule loses that matches in a weak clause only; not from ALWAYS_RANK on. */
	WEAK_RANKS = 42,
	ALWAYS_RANK = 95,
	CLAUSES_MAX = 64, /* later ones are never weak */
};

static const size_t NO_RULE = SIZE_MAX;

/* Less sure than this is not an answer; to advise repeating the call takes more. Calibrated
 * on texts that the rules were not written with: docs/classify.md. */
static const double CUT_OFF = 0.45, RETRY_CUT_OFF = 0.6;

/* Where a segment matched that another must follow. */
struct place {
	uint32_t first; /* the first word of the pattern; 0: no match yet */
	uint32_t last;
	uint32_t clause;
};

struct scan {
	const fw_classifier *rules;
	struct fw_phrase_scan phrases;
	struct fw_facts facts;
	uint32_t found[FW_RULES_MAX]; /* the word where the rule matches; 0: nowhere */
	bool is_excluded[FW_RULES_MAX];
	uint32_t found_clause[FW_RULES_MAX]; /* the clause of `found` */
	struct place places[FW_RULE_SLOTS_MAX];
	uint32_t clause;       /* of the word that was scanned last */
	uint32_t clause_words; /* words of that clause so far */
	bool begins_context;   /* the first word of that clause is one of context */
	bool begins_vague;     /* it is one of an error without a cause */
	bool is_advice;        /* that sentence is advice */
	bool is_guess;         /* that sentence, or what follows, lists what it could be */
	bool is_fact;          /* what is found is a number, wherever it is */
	uint64_t weak;         /* a bit for each clause that counts less */
};

/* ---- weak clauses ---- */

static bool is_one_of(const struct fw_word *word, const char *const *known)
{
	for (; *known; known++)
		if (fw_word_is(word, *known))
			return true;
	return false;
}

/* Whether a sentence that begins with this word says what to do, not what happened. */
static bool begins_advice(const struct fw_word *word)
{
	static const char *const known[] = {
		"please",    "use",    "try",   "check",   "ensure", "make",      "consider",
		"see",       "verify", "refer", "if",      "set",    "run",       "provide",
		"specify",   "pass",   "visit", "contact", "to",     "available", "valid",
		"supported", "for",    "hint",  "at",      NULL
	};

	return is_one_of(word, known);
}

/* "Possible causes: ...", "Troubleshooting: ...": a list of everything that it could be says
 * nothing about what it is. */
static bool begins_guess(const struct fw_word *word)
{
	static const char *const known[] = {
		"possible",    "common",     "likely",    "potential", "troubleshooting",
		"suggestions", "suggestion", "solutions", "tips",      "hints",
		NULL
	};

	return is_one_of(word, known);
}

/* Whether a clause that begins with this word, or ends with that one, says what was being
 * done when it failed. A colon must follow. */
static bool begins_context(const struct fw_word *word)
{
	static const char *const known[] = { "failed", "failure", "error", "unable",  "could",
					     "can",    "an",      "while", "problem", NULL };

	return is_one_of(word, known);
}

/* "Internal error: ...", "Unexpected server error: ...": such a clause says nothing. */
static bool begins_vague(const struct fw_word *word)
{
	static const char *const known[] = { "internal", "unexpected", "unknown", "unhandled",
					     NULL };

	return is_one_of(word, known);
}

static bool ends_context(const struct scan *scan, const struct fw_word *word)
{
	static const char *const vague[] = { "error", "exception", "failure", NULL };

	return fw_word_is(word, "failed") || (scan->begins_vague && is_one_of(word, vague));
}

static void mark_weak(struct scan *scan)
{
	if (scan->clause < CLAUSES_MAX)
		scan->weak |= UINT64_C(1) << scan->clause;
}

static bool is_weak(const struct scan *scan, size_t rule)
{
	uint32_t clause = scan->found_clause[rule];

	return clause < CLAUSES_MAX && (scan->weak >> clause & 1);
}

/* Before the first word of a clause: what the one before was, and what this one is. */
static void begin_clause(struct scan *scan, const struct fw_word *word)
{
	bool is_same_sentence = word->sentence == scan->phrases.sentence;
	const struct fw_word *last =
		scan->facts.count ? &scan->facts.last[(scan->facts.count - 1) % FW_FACTS_WORDS]
				  : NULL;

	if ((is_same_sentence || (last && last->after == ':')) && scan->clause_words > 1 &&
	    (scan->begins_context || (last && ends_context(scan, last))))
		mark_weak(scan);
	if (!is_same_sentence && scan->facts.count) {
		scan->is_advice = begins_advice(word);
		scan->is_guess |= begins_guess(word);
	}
	scan->clause = word->clause;
	scan->clause_words = 0;
	scan->begins_context = begins_context(word);
	scan->begins_vague = begins_vague(word);
	if (scan->is_advice)
		mark_weak(scan);
}

/* ---- matches ---- */

static bool is_reachable(const struct scan *scan, const struct fw_rule_segment *segment,
			 uint32_t first)
{
	const struct place *place = &scan->places[segment->before];

	if (!place->first || first <= place->last)
		return false;
	return segment->gap == FW_RULE_FAR ||
	       (place->clause == scan->clause && first - place->last <= FW_RULE_GAP_WORDS + 1);
}

static void found_phrase(void *ctx, uint32_t owner, uint32_t first, uint32_t last)
{
	struct scan *scan = ctx;
	const struct fw_rule_segment *segment = &scan->rules->segments[owner];

	if (scan->is_guess && !scan->is_fact)
		return;
	if (segment->gap != FW_RULE_FIRST) {
		if (!is_reachable(scan, segment, first))
			return;
		first = scan->places[segment->before].first;
	}
	if (!segment->is_last)
		scan->places[segment->slot] = (struct place){ first, last, scan->clause };
	else if (segment->is_unless)
		scan->is_excluded[segment->rule] = true;
	else if (!scan->found[segment->rule] || is_weak(scan, segment->rule)) {
		scan->found[segment->rule] = first;
		scan->found_clause[segment->rule] = scan->is_fact ? CLAUSES_MAX : scan->clause;
	}
}

static void add_fact(struct scan *scan, const char *kind, int number)
{
	char fact[32];

	(void)snprintf(fact, sizeof fact, "%s:%d", kind, number);
	scan->is_fact = true;
	fw_phrase_fact(&scan->phrases, fact, found_phrase, scan);
	scan->is_fact = false;
}

static void see(struct scan *scan, const struct fw_word *word)
{
	int before = scan->facts.http_status;

	fw_facts_see(&scan->facts, word);
	if (scan->facts.http_status != before)
		add_fact(scan, "http", scan->facts.http_status);
	if (scan->facts.jsonrpc_code)
		add_fact(scan, "rpc", scan->facts.jsonrpc_code);
}

/* The beginning and the end of the text are words, too. */
static void mark(struct scan *scan, char c, uint32_t sentence)
{
	struct fw_word word = { .text = { c }, .len = 1, .sentence = sentence };

	word.hash = fw_word_hash(&c, 1);
	fw_phrase_step(&scan->phrases, &word, found_phrase, scan);
}

static void read_part(struct scan *scan, const char *text, size_t len)
{
	struct fw_word_reader reader = { .begin = text,
					 .p = text,
					 .end = text + len,
					 .sentence = scan->phrases.sentence,
					 .clause = scan->clause };
	struct fw_word word;

	while (fw_word_next(&reader, &word)) {
		if (word.clause != scan->clause || !scan->facts.count)
			begin_clause(scan, &word);
		scan->clause_words++;
		see(scan, &word);
		fw_phrase_step(&scan->phrases, &word, found_phrase, scan);
	}
	see(scan, NULL);
}

static void start(struct scan *scan, const fw_classifier *rules)
{
	scan->rules = rules;
	scan->clause = scan->clause_words = 0;
	scan->begins_context = scan->begins_vague = scan->is_advice = scan->is_guess =
		scan->is_fact = false;
	scan->weak = 0;
	scan->phrases = (struct fw_phrase_scan){ .set = &rules->phrases };
	fw_facts_init(&scan->facts);
	memset(scan->found, 0, rules->rule_count * sizeof *scan->found);
	memset(scan->is_excluded, 0, rules->rule_count * sizeof *scan->is_excluded);
	memset(scan->places, 0, rules->slot_count * sizeof *scan->places);
}

static void read_text(struct scan *scan, const fw_flat_text *text)
{
	size_t head = text->len <= HEAD_BYTES + TAIL_BYTES ? text->len : HEAD_BYTES;

	mark(scan, '^', 0);
	if (text->http_status) {
		scan->facts.http_status = text->http_status;
		add_fact(scan, "http", text->http_status);
	}
	if (text->jsonrpc_code)
		add_fact(scan, "rpc", text->jsonrpc_code);
	read_part(scan, text->text, head);
	if (head < text->len)
		read_part(scan, text->text + text->len - TAIL_BYTES, TAIL_BYTES);
	mark(scan, '$', scan->phrases.sentence);
}

static bool matches(const struct scan *scan, size_t rule)
{
	return scan->found[rule] && !scan->is_excluded[rule] &&
	       scan->rules->rules[rule].rank > 0;
}

/* ---- the choice ---- */

static int rank_of(const struct scan *scan, size_t rule)
{
	int rank = scan->rules->rules[rule].rank;

	if (rank >= ALWAYS_RANK || !is_weak(scan, rule))
		return rank;
	return rank - WEAK_RANKS;
}

static bool is_better(const struct scan *scan, size_t a, size_t b)
{
	const struct fw_rule *first = &scan->rules->rules[a], *other = &scan->rules->rules[b];
	bool retries = first->row->retry == FW_RETRY_BACKOFF;
	int distance = rank_of(scan, a) - rank_of(scan, b);

	if (distance)
		return distance > 0;
	if (retries != (other->row->retry == FW_RETRY_BACKOFF))
		return !retries;
	return scan->found[a] < scan->found[b];
}

/* The best rule; with `not_type` of another type than that. NO_RULE: none. */
static size_t best(const struct scan *scan, int not_type)
{
	size_t chosen = NO_RULE;

	for (size_t i = 0; i < scan->rules->rule_count; i++)
		if (matches(scan, i) && (int)scan->rules->rules[i].row->type != not_type &&
		    (chosen == NO_RULE || is_better(scan, i, chosen)))
			chosen = i;
	return chosen;
}

/* The status that a matching rule states, if the text has no number. */
static int stated_status(const struct scan *scan)
{
	int rank = 0, status = scan->facts.http_status;

	if (status)
		return status;
	for (size_t i = 0; i < scan->rules->rule_count; i++) {
		const struct fw_rule *rule = &scan->rules->rules[i];

		if (rule->http_status && rule->rank > rank && matches(scan, i)) {
			rank = rule->rank;
			status = rule->http_status;
		}
	}
	return status;
}

/* A high rank is a clear sign; a rule of another type close to it makes it less clear. */
static double confidence_of(const struct scan *scan, size_t rule, size_t other)
{
	int rank = rank_of(scan, rule), own = scan->rules->rules[rule].rank;
	/* What was being done, or advice, does not contest the cause. */
	bool is_contested = other != NO_RULE && (is_weak(scan, rule) || !is_weak(scan, other));
	int distance = is_contested ? rank - rank_of(scan, other) : CONTEST_RANKS;
	/* A weak clause is a weaker sign, but not as weak as its rank. */
	double confidence = 0.5 + (rank + own) / 400.0;

	if (distance < CONTEST_RANKS)
		confidence -= 0.25 * (1 - distance / (double)CONTEST_RANKS);
	return confidence;
}

static fw_retry retry_of(const struct fw_rule *rule)
{
	return rule->sets_retry ? rule->retry : rule->row->retry;
}

static double cut_off(const struct fw_rule *rule)
{
	return retry_of(rule) == FW_RETRY_BACKOFF ? RETRY_CUT_OFF : CUT_OFF;
}

static void choose(const struct scan *scan, fw_classification *ret_class)
{
	size_t chosen = best(scan, -1), other = NO_RULE;
	const struct fw_rule *rule;

	ret_class->http_status = stated_status(scan);
	if (chosen == NO_RULE)
		return;
	rule = &scan->rules->rules[chosen];
	other = best(scan, (int)rule->row->type);
	ret_class->rule = rule->name;
	if (other != NO_RULE)
		ret_class->contested_by = scan->rules->rules[other].name;
	ret_class->confidence = confidence_of(scan, chosen, other);
	if (ret_class->confidence < cut_off(rule))
		return;
	ret_class->row = rule->row;
	ret_class->retry = retry_of(rule);
	if (scan->facts.forbids_retry && ret_class->retry == FW_RETRY_BACKOFF)
		ret_class->retry = FW_RETRY_NEVER;
	if (ret_class->retry == FW_RETRY_BACKOFF)
		ret_class->retry_after = scan->facts.retry_after;
}

void fw_classify(const fw_classifier *classifier, const fw_flat_text *text,
		 fw_classification *ret_class)
{
	struct scan scan;

	*ret_class = (fw_classification){ .row = fw_registry_find(NULL, "tool.failed"),
					  .retry = FW_RETRY_NEVER,
					  .retry_after = -1,
					  .http_status = text->http_status };
	if (!classifier)
		return;
	start(&scan, classifier);
	read_text(&scan, text);
	choose(&scan, ret_class);
}

size_t fw_classify_matches(const fw_classifier *classifier, const fw_flat_text *text,
			   fw_classify_match *ret_matches, size_t cap)
{
	struct scan scan;
	size_t count = 0;

	if (!classifier)
		return 0;
	start(&scan, classifier);
	read_text(&scan, text);
	for (size_t i = 0; i < classifier->rule_count; i++) {
		const struct fw_rule *rule = &classifier->rules[i];

		if (!scan.found[i] || rule->rank == 0)
			continue;
		if (count < cap)
			ret_matches[count] =
				(fw_classify_match){ rule->name, rule->row, rule->rank,
						     scan.found[i] - 1, scan.is_excluded[i] };
		count++;
	}
	return count;
}

fw_error *fw_error_reclassify(fw_error *err, const fw_classifier *classifier,
			      const fw_flat_text *text)
{
	fw_classification found;

	if (fw_error_code(err) != FW_TOOL_FAILED)
		return err;
	fw_classify(classifier, text, &found);
	fw__raw_set_row(err, found.row);
	fw_error_set_retry(err, found.retry);
	if (found.retry_after >= 0)
		fw_error_set_retry_after(err, found.retry_after);
	if (found.http_status >= 400) /* 304 is a fact, but no status to fail with */
		fw_error_set_status(err, found.http_status);
	fw_error_fill_scope(err, &(fw_scope){ .tool = text->tool });
	return err;
}

fw_error *fw_error_classify(fw_src at, const fw_classifier *classifier,
			    const fw_flat_text *text)
{
	fw_error *err = fw_error_from_text(at, text->text, text->len);

	return fw_error_reclassify(err, classifier, text);
}

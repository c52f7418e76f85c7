/*
 * classify.c - scans a text for the rules that match, and chooses one of them.
 *
 * The rule of the highest rank wins. Among equal ranks it is the one whose type is not
 * TRANSIENT, since repeating a call that cannot succeed is the worse mistake, and then the
 * one that matches first in the text.
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
};

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
	struct place places[FW_RULE_SLOTS_MAX];
	uint32_t clause; /* of the word that was scanned last */
};

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

	if (segment->gap != FW_RULE_FIRST) {
		if (!is_reachable(scan, segment, first))
			return;
		first = scan->places[segment->before].first;
	}
	if (!segment->is_last)
		scan->places[segment->slot] = (struct place){ first, last, scan->clause };
	else if (segment->is_unless)
		scan->is_excluded[segment->rule] = true;
	else if (!scan->found[segment->rule])
		scan->found[segment->rule] = first;
}

static void add_fact(struct scan *scan, const char *kind, int number)
{
	char fact[32];

	(void)snprintf(fact, sizeof fact, "%s:%d", kind, number);
	fw_phrase_fact(&scan->phrases, fact, found_phrase, scan);
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
	struct fw_word_reader reader = { text,         text, text + len, scan->phrases.sentence,
					 scan->clause, false };
	struct fw_word word;

	while (fw_word_next(&reader, &word)) {
		see(scan, &word);
		scan->clause = word.clause;
		fw_phrase_step(&scan->phrases, &word, found_phrase, scan);
	}
	see(scan, NULL);
}

static void start(struct scan *scan, const fw_classifier *rules)
{
	scan->rules = rules;
	scan->clause = 0;
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

static bool is_better(const struct scan *scan, size_t a, size_t b)
{
	const struct fw_rule *first = &scan->rules->rules[a], *other = &scan->rules->rules[b];
	bool retries = first->row->retry == FW_RETRY_BACKOFF;

	if (first->rank != other->rank)
		return first->rank > other->rank;
	if (retries != (other->row->retry == FW_RETRY_BACKOFF))
		return !retries;
	return scan->found[a] < scan->found[b];
}

/* The best rule; with `not_type` of another type than that. NULL: none. */
static const struct fw_rule *best(const struct scan *scan, int not_type)
{
	const struct fw_rule *rules = scan->rules->rules;
	size_t chosen = SIZE_MAX;

	for (size_t i = 0; i < scan->rules->rule_count; i++)
		if (matches(scan, i) && (int)rules[i].row->type != not_type &&
		    (chosen == SIZE_MAX || is_better(scan, i, chosen)))
			chosen = i;
	return chosen == SIZE_MAX ? NULL : &rules[chosen];
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
static double confidence_of(const struct fw_rule *rule, const struct fw_rule *other)
{
	double confidence = 0.5 + rule->rank / 200.0;
	int distance = other ? rule->rank - other->rank : CONTEST_RANKS;

	if (distance < CONTEST_RANKS)
		confidence -= 0.25 * (1 - distance / (double)CONTEST_RANKS);
	return confidence;
}

static void choose(const struct scan *scan, fw_classification *ret_class)
{
	const struct fw_rule *rule = best(scan, -1);
	const struct fw_rule *other = rule ? best(scan, (int)rule->row->type) : NULL;

	ret_class->http_status = stated_status(scan);
	if (!rule)
		return;
	ret_class->row = rule->row;
	ret_class->retry = rule->sets_retry ? rule->retry : rule->row->retry;
	ret_class->rule = rule->name;
	ret_class->contested_by = other ? other->name : NULL;
	ret_class->confidence = confidence_of(rule, other);
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
	if (found.http_status)
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

/*
 * facts.c - see facts.h.
 */
#include "classify/facts.h"

#include <stddef.h>
#include <string.h>

#include "base/ascii.h"

enum {
	/* How far before its number a word such as "retry" may be. */
	TRIGGER_WORDS = 5,
	/* The words that may be before a status at the beginning: a name. */
	BEGINNING_WORDS = 4,
};

/* The longest delay that is believed; beyond it a number means something else. */
static const double delay_max = 30.0 * 24 * 3600;

void fw_facts_init(struct fw_facts *facts)
{
	facts->http_status = 0;
	facts->retry_after = -1;
	facts->jsonrpc_code = 0;
	facts->forbids_retry = false;
	facts->count = facts->delay_end = facts->delay_sentence = 0;
}

/* The word `back` places before the one seen last (0: that one); NULL: none. */
static const struct fw_word *word_at(const struct fw_facts *facts, uint32_t back)
{
	if (back >= facts->count || back >= FW_FACTS_WORDS)
		return NULL;
	return &facts->last[(facts->count - 1 - back) % FW_FACTS_WORDS];
}

static bool is_one_of(const struct fw_word *word, const char *const *known)
{
	for (; word && *known; known++)
		if (fw_word_is(word, *known))
			return true;
	return false;
}

/* ---- the HTTP status ---- */

/* Statuses in use, standard or not: other numbers are codes of something else. */
static bool is_known_status(int status)
{
	return (status >= 400 && status <= 431) || status == 451 || status == 499 ||
	       (status >= 500 && status <= 511) || (status >= 520 && status <= 530) ||
	       status == 598 || status == 599;
}

/* 0: the word is something else. A longer number may not fit. */
static int three_digits(const struct fw_word *word)
{
	return word->is_number && word->len == 3 ? (int)fw_word_value(word) : 0;
}

/* 304 is no failure by itself, and 456 is in no standard: such numbers are believed only if
 * the text calls them a status. */
static bool could_be_status(const struct fw_word *word)
{
	int status = three_digits(word);

	return status >= 200 && status <= 599;
}

/* Words before a status: "status code 404", "HTTP/1.1 404", "responded with 500". */
static bool follows_status_word(const struct fw_facts *facts)
{
	static const char *const known[] = { "http",     "https",    "status",    "statuscode",
					     "error",    "response", "code",      "httpcode",
					     "returned", "got",      "received",  "answered",
					     "replied",  "api",      "responded", "returns",
					     "gave",     NULL };
	static const char *const skipped[] = {
		"code", "with", "a",   "an",         "is", "1.1",
		"1.0",  "2",    "was", FW_WORD_NAME, "of", NULL
	};

	for (uint32_t back = 1; back < 4; back++) {
		const struct fw_word *word = word_at(facts, back);

		if (is_one_of(word, known) || (back > 1 && word && fw_word_is(word, "failed")))
			return true;
		if (!is_one_of(word, skipped))
			return false;
	}
	return false;
}

/* "server 503: try again": without the colon it could be the name of one. */
static bool follows_server(const struct fw_facts *facts, const struct fw_word *number)
{
	static const char *const known[] = { "server",  "upstream", "backend",
					     "gateway", "service",  NULL };

	return number->after == ':' && is_one_of(word_at(facts, 1), known);
}

/* Whether a number after this word is a number of that thing: "line 404", "item 404", but
 * not "Failed to create the item: 404". */
static bool counts(const struct fw_word *word, const struct fw_word *number)
{
	static const char *const places[] = { "line", "row",    "column", "port", "id",
					      "step", "number", "index",  "at",   "pid",
					      "size", "offset", NULL };
	static const char *const things[] = { "page", "item", "room", "record", NULL };

	return is_one_of(word, places) || (number->lead != ':' && is_one_of(word, things));
}

/* "Request failed: 404" at the end of the text, "Error getting the page: 404 {...}",
 * "GET https://example.com/: 404 No page [...]": the number is the answer to a request. */
static bool answers_request(const struct fw_facts *facts, const struct fw_word *next)
{
	static const char *const known[] = { "failed", "error", FW_WORD_NAME, NULL };
	bool is_first = facts->count == 1;

	if (is_first && word_at(facts, 0)->after == ':')
		return true; /* "401: invalid key" */
	if (next && next->sentence != word_at(facts, 0)->sentence)
		next = NULL;
	if ((!word_at(facts, 0)->is_value && !is_first) ||
	    counts(word_at(facts, 1), word_at(facts, 0)) ||
	    (next && !next->is_capital && !fw_word_is(next, FW_WORD_NAME) &&
	     (!next->lead || !strchr("{[\"<(-", next->lead))))
		return false;
	if (is_first && !next)
		return true;
	if (facts->count <= BEGINNING_WORDS && next)
		return true; /* "OpenAI: 401 Incorrect API key provided" */
	for (uint32_t back = 1; back < FW_FACTS_WORDS; back++)
		if (is_one_of(word_at(facts, back), known))
			return true;
	return false;
}

/* The first word of the reason phrase of a status, or of what libraries call it. */
static bool is_reason(int status, const struct fw_word *next)
{
	static const char *const generic[] = { "client",   "server", "status", "error",
					       "upstream", "origin", NULL };
	static const struct {
		int status;
		const char *word;
	} reasons[] = {
		{ 400, "bad" },
		{ 401, "unauthorized" },
		{ 402, "payment" },
		{ 403, "forbidden" },
		{ 404, "not" },
		{ 404, "page" },
		{ 405, "method" },
		{ 406, "not" },
		{ 408, "request" },
		{ 409, "conflict" },
		{ 410, "gone" },
		{ 412, "precondition" },
		{ 413, "payload" },
		{ 413, "request" },
		{ 413, "content" },
		{ 415, "unsupported" },
		{ 422, "unprocessable" },
		{ 423, "locked" },
		{ 429, "too" },
		{ 500, "internal" },
		{ 501, "not" },
		{ 502, "bad" },
		{ 503, "service" },
		{ 504, "gateway" },
		/* Google's names of them */
		{ 400, "invalid" },
		{ 401, "unauthenticated" },
		{ 403, "permission" },
		{ 409, "already" },
		{ 409, "aborted" },
		{ 429, "resource" },
		{ 499, "cancelled" },
		{ 501, "unimplemented" },
		{ 503, "unavailable" },
		{ 504, "deadline" },
		/* seldom */
		{ 425, "too" },
		{ 426, "upgrade" },
		{ 428, "precondition" },
		{ 431, "request" },
		{ 451, "unavailable" },
		{ 507, "insufficient" },
	};

	if (is_one_of(next, generic))
		return true;
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (reasons[i].status == status && fw_word_is(next, reasons[i].word))
			return true;
	return false;
}

/* "(404)", "[503]", "(429, slow down)", "<h1>404</h1>". */
static bool is_in_brackets(const struct fw_word *word)
{
	return (word->lead == '[' && word->after == ']') ||
	       (word->lead == '>' && word->after == '<') ||
	       (word->is_enclosed && (word->after == ')' || word->after == ',' ||
				      word->after == ':' || word->after == ';'));
}

/* "received 404 rows": a count, regardless of the word before it. */
static bool is_amount(const struct fw_word *next)
{
	static const char *const known[] = {
		"rows",      "items",    "results",  "bytes",   "characters", "chars",
		"records",   "entries",  "files",    "lines",   "tokens",     "ms",
		"seconds",   "requests", "times",    "points",  "columns",    "users",
		"documents", "messages", "objects",  "values",  "mb",         "kb",
		"px",        "percent",  "elements", "minutes", NULL
	};

	return is_one_of(next, known);
}

/* "status code 304", "HTTP/1.1 304", "HTTP code 302". */
static bool is_called_status(const struct fw_facts *facts)
{
	static const char *const names[] = { "http", "status", "statuscode", "httpcode", NULL };
	static const char *const skipped[] = { "code", "status", "1.1", "1.0", "2", NULL };

	return is_one_of(word_at(facts, 1), names) ||
	       (is_one_of(word_at(facts, 1), skipped) && is_one_of(word_at(facts, 2), names));
}

static void take_status(struct fw_facts *facts, const struct fw_word *next)
{
	const struct fw_word *word = word_at(facts, 0);
	int status;

	if (!word || !could_be_status(word) || is_amount(next))
		return;
	status = three_digits(word);
	if (facts->http_status < 400 && is_called_status(facts))
		facts->http_status = status;
	if (!is_known_status(status))
		return;
	if (!(is_in_brackets(word) && !is_amount(word_at(facts, 1))) &&
	    !follows_status_word(facts) && !follows_server(facts, word) &&
	    !answers_request(facts, next) &&
	    !(next && next->sentence == word->sentence && is_reason(status, next)))
		return;
	if (facts->http_status < 400)
		facts->http_status = status;
}

/* ---- the delay ---- */

/* Seconds of a unit; 0: no unit. */
static double unit_of(const char *text, size_t len)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {
		{ "s", 1 },
		{ "sec", 1 },
		{ "secs", 1 },
		{ "second", 1 },
		{ "seconds", 1 },
		{ "ms", 0.001 },
		{ "msec", 0.001 },
		{ "millisecond", 0.001 },
		{ "milliseconds", 0.001 },
		{ "m", 60 },
		{ "min", 60 },
		{ "mins", 60 },
		{ "minute", 60 },
		{ "minutes", 60 },
		{ "h", 3600 },
		{ "hr", 3600 },
		{ "hrs", 3600 },
		{ "hour", 3600 },
		{ "hours", 3600 },
		{ "day", 86400 },
		{ "days", 86400 },
	};

	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strlen(units[i].name) == len && memcmp(units[i].name, text, len) == 0)
			return units[i].seconds;
	return 0;
}

/* What almost no word does: the first letter of a unit. */
static bool begins_unit(const struct fw_word *word)
{
	return memchr("smhd", word->text[0], 4) != NULL;
}

/* "90s", "6m0s", "1h30m": the seconds; negative: another word. */
static double compact_delay(const struct fw_word *word)
{
	double total = 0;
	uint32_t i = 0;

	while (i < word->len) {
		struct fw_word number = *word;
		uint32_t from = i, unit;

		while (i < word->len && (fw_is_digit(word->text[i]) || word->text[i] == '.'))
			i++;
		unit = i;
		while (i < word->len && fw_is_lower(word->text[i]))
			i++;
		if (unit == from || i == unit || unit_of(word->text + unit, i - unit) == 0)
			return -1;
		number.len = unit - from;
		memcpy(number.text, word->text + from, number.len);
		total += fw_word_value(&number) * unit_of(word->text + unit, i - unit);
	}
	return word->len ? total : -1;
}

/* Whether the number is preceded by words that make it a delay before an attempt. */
static bool follows_trigger(const struct fw_facts *facts)
{
	static const char *const triggers[] = {
		"retry",      "again",     "wait",     "waiting", "reset",    "resets",
		"retryafter", "available", "cooldown", "backoff", "retrying", "until",
		"back",       "next",      "another",  "break",   NULL
	};
	/* "rate limited for 30 seconds" */
	static const char *const held[] = { "limited", "blocked", "paused", "suspended", NULL };
	/* What took so long, not what to wait for. */
	static const char *const stops[] = { "timeout", "timed",    "took",  "elapsed",
					     "waited",  "exceeded", "lasts", NULL };
	const struct fw_word *number = word_at(facts, 0);

	for (uint32_t back = 1; back <= TRIGGER_WORDS; back++) {
		const struct fw_word *word = word_at(facts, back);

		if (!word || word->sentence != number->sentence || is_one_of(word, stops))
			return false;
		if (fw_word_is(word, "for") && is_one_of(word_at(facts, back + 1), held))
			return true;
		if (is_one_of(word, triggers)) /* not "waiting for the page after 5 s" */
			return back <= 2 || !fw_word_is(word, "waiting");
	}
	return false;
}

/* "an hour", "two minutes": the number; negative: another word. */
static double number_of_word(const struct fw_word *word)
{
	static const struct {
		const char *word;
		double value;
	} known[] = {
		{ "a", 1 },       { "an", 1 },       { "one", 1 },     { "two", 2 },
		{ "three", 3 },   { "four", 4 },     { "five", 5 },    { "six", 6 },
		{ "seven", 7 },   { "eight", 8 },    { "nine", 9 },    { "ten", 10 },
		{ "twelve", 12 }, { "fifteen", 15 }, { "twenty", 20 }, { "thirty", 30 },
		{ "forty", 40 },  { "fifty", 50 },   { "sixty", 60 },  { "ninety", 90 },
	};

	if (word->len > 7)
		return -1;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (fw_word_is(word, known[i].word))
			return known[i].value;
	return -1;
}

/* "Retry-After: 30", "retry_after_ms=1500", "retry after 5" at the end of a sentence: the
 * unit of a number without one; 0: none. */
static double unit_of_key(const struct fw_facts *facts, bool is_last)
{
	const struct fw_word *a = word_at(facts, 1), *b = word_at(facts, 2),
			     *c = word_at(facts, 3);
	double unit = a ? unit_of(a->text, a->len) : 0;

	if (unit != 0 && b && c && fw_word_is(b, "after") && fw_word_is(c, "retry"))
		return unit;
	if (unit != 0 && b && fw_word_is(b, "wait"))
		return unit;
	/* "wait": 30, and FLOOD_WAIT_30 of Telegram */
	if (a && fw_word_is(a, "wait") &&
	    (word_at(facts, 0)->is_value || (b && fw_word_is(b, "flood"))))
		return 1;
	if (a && b && c && fw_word_is(a, "header") && fw_word_is(b, "after") &&
	    fw_word_is(c, "retry"))
		return 1;
	if (a && b && fw_word_is(a, "after") &&
	    (fw_word_is(b, "retry") || fw_word_is(b, "reset")))
		return word_at(facts, 0)->is_value || is_last ? 1 : 0;
	return 0;
}

/* The seconds that the number seen last means with the word after it. */
static double delay_of(const struct fw_facts *facts, const struct fw_word *next)
{
	const struct fw_word *word = word_at(facts, 0), *before = word_at(facts, 1);
	bool has_next = next && next->sentence == word->sentence;
	double unit = has_next && !next->is_value ? unit_of(next->text, next->len) : 0;
	double value = fw_word_value(word);

	if (!fw_is_digit(word->text[0]))
		value = number_of_word(word);
	else if (!word->is_number)
		return compact_delay(word);
	if (value < 0 || word->after == '-')
		return -1; /* another word, or the year of a date */
	if (unit == 0 && fw_is_digit(word->text[0]))
		unit = unit_of_key(facts, !has_next);
	if (unit == 0)
		return -1;
	/* "half an hour" */
	return value * unit * (before && fw_word_is(before, "half") ? 0.5 : 1);
}

/* Whether the number is the second part of a delay: "1 minute and 30 seconds". */
static bool continues_delay(const struct fw_facts *facts)
{
	const struct fw_word *before = word_at(facts, 1);
	uint32_t end = facts->delay_end;

	if (end == 0 || word_at(facts, 0)->sentence != facts->delay_sentence)
		return false;
	return facts->count == end + 1 ||
	       (facts->count == end + 2 && before && fw_word_is(before, "and"));
}

static void take_delay(struct fw_facts *facts, const struct fw_word *next)
{
	const struct fw_word *word = word_at(facts, 0);
	bool is_more;
	double delay;

	if (!word || (!fw_is_digit(word->text[0]) &&
		      (!next || !begins_unit(next) || number_of_word(word) < 0)))
		return;
	is_more = continues_delay(facts);
	if (!is_more && (facts->retry_after >= 0 || !follows_trigger(facts)))
		return;
	delay = delay_of(facts, next);
	if (delay < 0 || delay > delay_max)
		return;
	facts->retry_after = is_more ? facts->retry_after + delay : delay;
	/* The word of the unit is still to come, unless it is part of the number. */
	facts->delay_end = facts->count + (word->is_number ? 1 : 0);
	facts->delay_sentence = word->sentence;
}

/* ---- words ---- */

/* "Do NOT retry", "not retryable", "retryable": false. */
static void take_advice(struct fw_facts *facts)
{
	static const char *const words[] = { "retry", "retryable", "retried", NULL };
	static const char *const denials[] = { "not", "never", NULL };
	const struct fw_word *word = word_at(facts, 0), *before = word_at(facts, 1);

	if (is_one_of(word, words) &&
	    (is_one_of(before, denials) ||
	     (before && fw_word_is(before, "be") && is_one_of(word_at(facts, 2), denials))))
		facts->forbids_retry = true;
	if (word->is_value && fw_word_is(word, "false") && before &&
	    fw_word_is(before, "retryable"))
		facts->forbids_retry = true;
}

static bool is_jsonrpc_code(const struct fw_word *word)
{
	return word->is_number && word->len == 6 && memcmp(word->text, "-32", 3) == 0;
}

void fw_facts_see(struct fw_facts *facts, const struct fw_word *word)
{
	facts->jsonrpc_code = 0;
	/* "wait 30 more seconds": the unit is still to come. */
	if (word && facts->count && word_at(facts, 0)->is_number && fw_word_is(word, "more"))
		return;
	take_status(facts, word);
	take_delay(facts, word);
	if (!word)
		return;
	facts->last[facts->count++ % FW_FACTS_WORDS] = *word;
	take_advice(facts);
	if (is_jsonrpc_code(word))
		facts->jsonrpc_code = -(int)fw_word_value(&(struct fw_word){
			.text = { word->text[1], word->text[2], word->text[3], word->text[4],
				  word->text[5] },
			.len = 5 });
}

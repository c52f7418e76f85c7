/*
 * rules.c - reads a file of rules; see rules.h.
 *
 * Every mistake is reported with its line, and a file with one loads nothing.
 */
#include "classify/rules.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/ascii.h"
#include "base/mem.h"

struct loader {
	fw_classifier *rules;
	const fw_registry *registry;
	fw_classifier_problem_fn *problem;
	void *ctx;
	uint64_t line;
	size_t first_rule; /* of this file; rules before it may be replaced */
	fw_error *first;   /* the first mistake */
};

struct span {
	const char *p;
	size_t n;
};

/* ---- mistakes ---- */

static void keep_first(struct loader *loader, fw_error *err)
{
	if (loader->first)
		fw_error_free(err);
	else
		loader->first = err;
}

static void fault(struct loader *loader, uint64_t line, const char *reason)
{
	fw_error *err = fw_raise_registry_invalid_row(line, NULL, reason);

	if (loader->problem)
		loader->problem(loader->ctx, err);
	keep_first(loader, err);
}

/* An error without a line: what is wrong with a pattern, or memory. Consumes it. */
static void fault_from(struct loader *loader, fw_error *err)
{
	const char *message;

	if (!err)
		return;
	if (fw_error_code(err) != FW_REGISTRY_INVALID_ROW) {
		keep_first(loader, err);
		return;
	}
	message = strstr(fw_error_message(err), ": ");
	fault(loader, loader->line, message ? message + 2 : fw_error_message(err));
	fw_error_free(err);
}

/* ---- lines ---- */

static struct span trim(struct span s)
{
	while (s.n && fw_is_space(*s.p))
		s.p++, s.n--;
	while (s.n && fw_is_space(s.p[s.n - 1]))
		s.n--;
	return s;
}

static bool starts(struct span s, const char *key)
{
	size_t len = strlen(key);

	return s.n >= len && memcmp(s.p, key, len) == 0;
}

static struct span after(struct span s, size_t n)
{
	return trim((struct span){ s.p + n, s.n - n });
}

static struct span next_line(const char **p, const char *end)
{
	const char *newline = memchr(*p, '\n', (size_t)(end - *p));
	const char *stop = newline ? newline : end;
	struct span line = { *p, (size_t)(stop - *p) };

	*p = newline ? newline + 1 : end;
	return line;
}

static struct span next_token(struct span *rest)
{
	struct span token = trim(*rest);
	size_t n = 0;

	while (n < token.n && !fw_is_space(token.p[n]))
		n++;
	*rest = after(token, n);
	token.n = n;
	return token;
}

static bool span_is(struct span s, const char *text)
{
	return s.n == strlen(text) && memcmp(s.p, text, s.n) == 0;
}

/* ---- the line of a rule ---- */

static void read_code(struct loader *loader, struct fw_rule *rule, struct span value)
{
	char name[FW_RULE_NAME_BYTES + 1] = "";

	if (value.n <= FW_RULE_NAME_BYTES)
		memcpy(name, value.p, value.n);
	rule->row = fw_registry_find(loader->registry, name);
	if (!rule->row)
		fault(loader, loader->line, "no such code in the registry");
}

static int read_int(struct loader *loader, struct span value, int from, int to,
		    const char *reason)
{
	int number = 0;

	for (size_t i = 0; i < value.n && i < 4; i++)
		number = fw_is_digit(value.p[i]) ? number * 10 + (value.p[i] - '0') : to + 1;
	if (value.n == 0 || value.n > 3 || number < from || number > to)
		fault(loader, loader->line, reason);
	return number;
}

static void read_retry(struct loader *loader, struct fw_rule *rule, struct span value)
{
	static const char *const names[FW_RETRY_COUNT] = { "never", "after_fix", "backoff" };

	for (int i = 0; i < FW_RETRY_COUNT; i++) {
		if (span_is(value, names[i])) {
			rule->sets_retry = true;
			rule->retry = (fw_retry)i;
			return;
		}
	}
	fault(loader, loader->line, "retry is never, after_fix or backoff");
}

static void read_member(struct loader *loader, struct fw_rule *rule, struct span key,
			struct span value)
{
	if (span_is(key, "code:"))
		read_code(loader, rule, value);
	else if (span_is(key, "rank:"))
		rule->rank = read_int(loader, value, 1, 99, "rank is a number from 1 to 99");
	else if (span_is(key, "http:"))
		rule->http_status =
			read_int(loader, value, 400, 599, "http is a status from 400 to 599");
	else if (span_is(key, "retry:"))
		read_retry(loader, rule, value);
	else
		fault(loader, loader->line, "a rule has code, rank, http and retry");
}

static bool grow_rules(fw_classifier *rules)
{
	size_t cap = rules->rule_cap ? 2 * rules->rule_cap : 256;
	struct fw_rule *grown;
	char **texts;

	if (rules->rule_count < rules->rule_cap)
		return true;
	grown = fw__reallocate(rules->rules, cap * sizeof *grown);
	if (!grown)
		return false;
	rules->rules = grown;
	texts = fw__reallocate(rules->texts, cap * sizeof *texts);
	if (!texts)
		return false;
	rules->texts = texts;
	rules->rule_cap = cap;
	return true;
}

static struct fw_rule *find_rule(fw_classifier *rules, struct span name)
{
	for (size_t i = 0; i < rules->rule_count; i++)
		if (span_is(name, rules->rules[i].name))
			return &rules->rules[i];
	return NULL;
}

/* A user's rule replaces a built-in one of the same name, which then never matches. */
static void replace(struct loader *loader, struct span name)
{
	struct fw_rule *other = find_rule(loader->rules, name);

	if (!other)
		return;
	if (other >= loader->rules->rules + loader->first_rule)
		fault(loader, loader->line, "a rule of that name is above");
	else
		other->rank = 0;
}

static struct fw_rule *add_rule(struct loader *loader, struct span name)
{
	fw_classifier *rules = loader->rules;
	char *text;

	if (name.n == 0 || name.n > FW_RULE_NAME_BYTES) {
		fault(loader, loader->line, "the rule needs a name of at most 64 characters");
		return NULL;
	}
	if (rules->rule_count == FW_RULES_MAX) {
		fault(loader, loader->line, "there are more than 1024 rules");
		return NULL;
	}
	replace(loader, name);
	text = grow_rules(rules) ? fw__allocate(name.n + 1) : NULL;
	if (!text) {
		keep_first(loader, fw_raise_internal_out_of_memory());
		return NULL;
	}
	memcpy(text, name.p, name.n);
	text[name.n] = '\0';
	rules->texts[rules->rule_count] = text;
	rules->rules[rules->rule_count] =
		(struct fw_rule){ .name = text, .line = (uint32_t)loader->line };
	return &rules->rules[rules->rule_count++];
}

static void read_rule(struct loader *loader, struct span rest)
{
	struct fw_rule *rule = add_rule(loader, next_token(&rest));

	while (rule && rest.n) {
		struct span key = next_token(&rest);

		read_member(loader, rule, key, next_token(&rest));
	}
	if (rule && (!rule->row || !rule->rank) && !loader->first)
		fault(loader, loader->line, "a rule needs a code and a rank");
}

/* ---- the file ---- */

static void read_set(struct loader *loader, struct span rest)
{
	struct span name = next_token(&rest);

	if (!rest.n || name.n > FW_RULE_SET_BYTES)
		fault(loader, loader->line, "a set has a name and words: \"set: a b|c\"");
	else
		fault_from(loader,
			   fw_rules_add_set(loader->rules, name.p, name.n, rest.p, rest.n));
}

static void read_line(struct loader *loader, struct span line)
{
	struct fw_rule *rule = loader->rules->rule_count > loader->first_rule
				       ? &loader->rules->rules[loader->rules->rule_count - 1]
				       : NULL;
	bool is_when = starts(line, "when:"), is_unless = starts(line, "unless:");

	if (starts(line, "rule:")) {
		read_rule(loader, after(line, 5));
	} else if (starts(line, "set:")) {
		read_set(loader, after(line, 4));
	} else if (!rule) {
		fault(loader, loader->line,
		      "a file begins with a line \"rule: NAME\" or \"set: NAME\"");
	} else if (is_when || is_unless) {
		struct span pattern = after(line, is_when ? 5 : 7);

		rule->has_when |= is_when;
		fault_from(loader, fw_rules_add_pattern(loader->rules, pattern.p, pattern.n,
							is_unless));
	} else if (starts(line, "example:")) {
		rule->has_example = true;
	} else {
		fault(loader, loader->line,
		      "a line is rule:, when:, unless:, example:, set: or a comment (#)");
	}
}

static void check_whole(struct loader *loader)
{
	for (size_t i = loader->first_rule; i < loader->rules->rule_count; i++) {
		const struct fw_rule *rule = &loader->rules->rules[i];

		if (!rule->has_when)
			fault(loader, rule->line, "the rule has no line \"when:\"");
		else if (!rule->has_example)
			fault(loader, rule->line, "the rule has no line \"example:\"");
	}
}

static fw_error *load(struct loader *loader, const char *text, size_t len)
{
	const char *p = text, *end = text + len;

	loader->first_rule = loader->rules->rule_count;
	loader->line = 0;
	if (len > FW_RULE_FILE_BYTES)
		return fw_raise_input_too_large("rules", FW_RULE_FILE_BYTES);
	while (p < end) {
		struct span line = next_line(&p, end);

		loader->line++;
		if (line.n > FW_RULE_LINE_BYTES)
			fault(loader, loader->line, "the line is longer than 1024 bytes");
		else if ((line = trim(line)).n && *line.p != '#')
			read_line(loader, line);
		if (loader->first && fw_error_code(loader->first) != FW_REGISTRY_INVALID_ROW)
			break;
	}
	if (!loader->first)
		check_whole(loader);
	return loader->first;
}

fw_error *fw_classifier_new(const char *rules, size_t len, const fw_registry *registry,
			    fw_classifier_problem_fn *problem, void *ctx,
			    fw_classifier **ret_classifier)
{
	struct loader loader = { .registry = registry, .problem = problem, .ctx = ctx };
	fw_error *err;

	*ret_classifier = NULL;
	loader.rules = fw__allocate(sizeof *loader.rules);
	if (!loader.rules)
		return fw_raise_internal_out_of_memory();
	*loader.rules = (fw_classifier){ 0 };
	err = load(&loader, fw_rules_builtin, fw_rules_builtin_len);
	if (!err && len > 0)
		err = load(&loader, rules, len);
	if (err)
		fw_classifier_free(loader.rules);
	else
		*ret_classifier = loader.rules;
	return err;
}

void fw_classifier_free(fw_classifier *classifier)
{
	if (!classifier)
		return;
	for (size_t i = 0; i < classifier->rule_count; i++)
		fw__release(classifier->texts[i]);
	fw__release(classifier->texts);
	fw__release(classifier->rules);
	fw__release(classifier->segments);
	fw_phrases_free(&classifier->phrases);
	fw__release(classifier);
}

void fw_rules_examples(const char *rules, size_t len, fw_rule_example_fn *found, void *ctx)
{
	const char *p = rules, *end = rules + len;
	char name[FW_RULE_NAME_BYTES + 1] = "";

	while (p < end) {
		struct span line = trim(next_line(&p, end));

		if (starts(line, "rule:")) {
			struct span rest = after(line, 5), token = next_token(&rest);

			(void)snprintf(name, sizeof name, "%.*s", (int)token.n, token.p);
		} else if (starts(line, "example:")) {
			struct span text = after(line, 8);

			found(ctx, name, text.p, text.n);
		}
	}
}

/* ---- the built-in rules ---- */

static fw_classifier *builtin;
static pthread_once_t builtin_once = PTHREAD_ONCE_INIT;

static void load_builtin(void)
{
	fw_error *err = fw_classifier_new(NULL, 0, NULL, NULL, NULL, &builtin);

	/* The rules are checked by the build; only memory can be missing. */
	fw_error_free(err);
}

const fw_classifier *fw_classifier_builtin(void)
{
	(void)pthread_once(&builtin_once, load_builtin);
	return builtin;
}

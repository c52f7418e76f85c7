/*
 * policy.c - see policy.h. Patterns are PCRE2 in multi-line mode (^ and $ match at each
 * line), compiled without UTF-8, because a patched file may have any content.
 */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "tools/workspace/policy.h"

#include <pcre2.h>
#include <stdio.h>
#include <string.h>

#include <yyjson.h>

#include "base/json.h"
#include "base/mem.h"
#include "tools/common/glob.h"

#include <faultwire/raise.h>

enum { RULES = 256, GLOBS = 32, MATCH_LIMIT = 1000000, DEPTH_LIMIT = 1000, HEAP_KIB = 4096 };

struct globs {
	const char *text[GLOBS];
	size_t len[GLOBS];
	size_t count;
};

struct rule {
	const char *id;
	const char *message;
	struct globs globs;
	struct globs except;
	bool is_rust;
	pcre2_code *code;
};

struct fw_ws_policy {
	yyjson_doc *doc; /* the texts of the rules point into it */
	struct rule *rules;
	size_t count;
};

/* ---- reading ---- */

static fw_error *wrong(const char *id, size_t index, const char *member, const char *expected)
{
	char field[128];

	if (id)
		(void)snprintf(field, sizeof field, "%s of rule %.60s", member, id);
	else
		(void)snprintf(field, sizeof field, "%s of rule %zu", member, index + 1);
	return fw_raise_input_invalid_value(field, expected);
}

static fw_error *add_glob(struct globs *globs, yyjson_val *value, const char *id,
			  const char *member)
{
	const char *text = yyjson_get_str(value);
	size_t len = yyjson_get_len(value);

	if (!text || fw_glob_fault(text, len))
		return wrong(id, 0, member, "a glob relative to the workspace");
	if (globs->count == GLOBS)
		return wrong(id, 0, member, "at most 32 globs");
	globs->text[globs->count] = text;
	globs->len[globs->count++] = len;
	return NULL;
}

static fw_error *read_globs(struct globs *globs, yyjson_val *value, const char *id,
			    const char *member)
{
	yyjson_arr_iter iter;

	if (!yyjson_is_arr(value))
		return add_glob(globs, value, id, member);
	yyjson_arr_iter_init(value, &iter);
	for (yyjson_val *item; (item = yyjson_arr_iter_next(&iter));)
		FW_TRY(add_glob(globs, item, id, member));
	return NULL;
}

static fw_error *compile(struct rule *rule, yyjson_val *pattern)
{
	int error;
	PCRE2_SIZE at;

	if (!yyjson_is_str(pattern))
		return wrong(rule->id, 0, "pattern", "a regular expression");
	rule->code = pcre2_compile((PCRE2_SPTR)yyjson_get_str(pattern), yyjson_get_len(pattern),
				   PCRE2_MULTILINE | PCRE2_UTF | PCRE2_MATCH_INVALID_UTF,
				   &error, &at, NULL);
	if (!rule->code) {
		unsigned char words[128] = "";
		char expected[256];

		(void)pcre2_get_error_message(error, words, sizeof words);
		(void)snprintf(expected, sizeof expected,
			       "a regular expression; at character %zu: %s", (size_t)at,
			       (const char *)words);
		return wrong(rule->id, 0, "pattern", expected);
	}
	(void)pcre2_jit_compile(rule->code, PCRE2_JIT_COMPLETE);
	return NULL;
}

static fw_error *read_rule(struct fw_ws_policy *policy, yyjson_val *value)
{
	static const char *const known[] = { "id",      "globs",   "except",
					     "pattern", "message", "set" };
	struct rule *rule = &policy->rules[policy->count];
	yyjson_val *set = yyjson_obj_get(value, "set");
	yyjson_obj_iter iter;

	rule->id = yyjson_get_str(yyjson_obj_get(value, "id"));
	if (!rule->id || !rule->id[0])
		return wrong(NULL, policy->count, "id", "a name");
	yyjson_obj_iter_init(value, &iter);
	for (yyjson_val *key; (key = yyjson_obj_iter_next(&iter));) {
		size_t i = 0;

		while (i < sizeof known / sizeof *known && !yyjson_equals_str(key, known[i]))
			i++;
		if (i == sizeof known / sizeof *known)
			return wrong(rule->id, 0, yyjson_get_str(key), "left out");
	}
	rule->message = yyjson_get_str(yyjson_obj_get(value, "message"));
	if (set && !yyjson_equals_str(set, "rust") && !yyjson_equals_str(set, "default"))
		return wrong(rule->id, 0, "set", "\"default\" or \"rust\"");
	rule->is_rust = yyjson_equals_str(set, "rust");
	FW_TRY(read_globs(&rule->globs, yyjson_obj_get(value, "globs"), rule->id, "globs"));
	if (yyjson_obj_get(value, "except"))
		FW_TRY(read_globs(&rule->except, yyjson_obj_get(value, "except"), rule->id,
				  "except"));
	FW_TRY(compile(rule, yyjson_obj_get(value, "pattern")));
	policy->count++;
	return NULL;
}

static fw_error *read_rules(struct fw_ws_policy *policy)
{
	yyjson_val *root = yyjson_doc_get_root(policy->doc);
	yyjson_arr_iter iter;

	if (!yyjson_is_arr(root) || yyjson_arr_size(root) > RULES)
		return fw_raise_input_invalid_value("the rules", "an array of at most 256");
	policy->rules = fw__allocate((yyjson_arr_size(root) + 1) * sizeof *policy->rules);
	if (!policy->rules)
		return fw_raise_internal_out_of_memory();
	memset(policy->rules, 0, (yyjson_arr_size(root) + 1) * sizeof *policy->rules);
	yyjson_arr_iter_init(root, &iter);
	for (yyjson_val *value; (value = yyjson_arr_iter_next(&iter));)
		FW_TRY(read_rule(policy, value));
	return NULL;
}

fw_error *fw_ws_policy_new(const char *json, size_t len, struct fw_ws_policy **ret_policy)
{
	struct fw_ws_policy *policy = fw__allocate(sizeof *policy);
	fw_error *err = NULL;

	if (!policy)
		return fw_raise_internal_out_of_memory();
	memset(policy, 0, sizeof *policy);
	policy->doc = fw_json_read(json, len, FW_JSON_SMALL, 0, NULL, NULL);
	if (!policy->doc)
		err = fw_raise_input_invalid_format("the rules file", "JSON");
	else
		err = read_rules(policy);
	if (err) {
		fw_ws_policy_free(policy);
		return err;
	}
	*ret_policy = policy;
	return NULL;
}

void fw_ws_policy_free(struct fw_ws_policy *policy)
{
	if (!policy)
		return;
	for (size_t i = 0; policy->rules && i <= policy->count; i++)
		pcre2_code_free(policy->rules[i].code); /* the last one may be incomplete */
	fw__release(policy->rules);
	yyjson_doc_free(policy->doc);
	fw__release(policy);
}

/* ---- checking ---- */

static bool any(const struct globs *globs, const char *path)
{
	for (size_t i = 0; i < globs->count; i++)
		if (fw_glob_match(globs->text[i], globs->len[i], path))
			return true;
	return false;
}

static fw_error *violation(const struct rule *rule, const char *path, uint64_t line,
			   const char *why)
{
	fw_error *err = rule->is_rust ? fw_raise_policy_rust_violation(rule->id, path, line)
				      : fw_raise_policy_violation(rule->id, path, line);

	if (why)
		fw_error_add_cause(err, why, rule->id, "policy");
	return err;
}

static fw_error *check_rule(const struct rule *rule, pcre2_match_data *data,
			    pcre2_match_context *context, const char *path, const char *text,
			    size_t len)
{
	uint64_t line = 1;
	size_t at;
	int found = pcre2_match(rule->code, (PCRE2_SPTR)text, len, 0, 0, data, context);

	if (found == PCRE2_ERROR_NOMATCH)
		return NULL;
	if (found < 0)
		return violation(rule, path, 1,
				 "the rule could not be decided within its limits");
	at = pcre2_get_ovector_pointer(data)[0];
	for (size_t i = 0; i < at; i++)
		line += text[i] == '\n';
	return violation(rule, path, line, rule->message);
}

fw_error *fw_ws_policy_check(const struct fw_ws_policy *policy, const char *path,
			     const char *text, size_t len)
{
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	pcre2_match_context *context = pcre2_match_context_create(NULL);
	fw_error *err = NULL;

	if (!data || !context) {
		err = fw_raise_internal_out_of_memory();
	} else {
		(void)pcre2_set_match_limit(context, MATCH_LIMIT);
		(void)pcre2_set_depth_limit(context, DEPTH_LIMIT);
		(void)pcre2_set_heap_limit(context, HEAP_KIB);
	}
	for (size_t i = 0; !err && i < policy->count; i++) {
		const struct rule *rule = &policy->rules[i];

		if (any(&rule->globs, path) && !any(&rule->except, path))
			err = check_rule(rule, data, context, path, text, len);
	}
	pcre2_match_data_free(data);
	pcre2_match_context_free(context);
	return err;
}

/* ---- the rules that come with the program ---- */

#define SOURCES                                                                                \
	"\"**/*.c\",\"**/*.h\",\"**/*.cc\",\"**/*.cpp\",\"**/*.hpp\",\"**/*.go\",\"**/*.py\"," \
	"\"**/*.js\",\"**/*.mjs\",\"**/*.ts\",\"**/*.tsx\",\"**/*.jsx\",\"**/*.java\","        \
	"\"**/*.kt\",\"**/*.rb\",\"**/*.sh\",\"**/*.swift\",\"**/*.cs\",\"**/*.php\","         \
	"\"**/*.rs\""
#define RUST "\"set\":\"rust\",\"globs\":[\"**/*.rs\"],"
#define RUST_TESTS "\"except\":[\"tests/**\",\"**/tests/**\",\"benches/**\",\"examples/**\"],"

const char fw_ws_policy_default[] =
	"[{\"id\":\"no-conflict-marker\",\"globs\":[\"**\"],"
	"\"pattern\":\"^(?:<{7}|>{7}) \","
	"\"message\":\"a merge conflict was left unresolved\"},"
	"{\"id\":\"no-private-key\",\"globs\":[\"**\"],"
	"\"pattern\":\"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----\","
	"\"message\":\"private keys do not belong into a workspace\"},"
	"{\"id\":\"no-placeholder\",\"globs\":[" SOURCES "],"
	"\"pattern\":\"\\\\b(?:TODO|FIXME|XXX|HACK)\\\\b|\\\\bNot[ "
	"]?Implemented(?:Error)?\\\\b\","
	"\"message\":\"what is written is finished, or is not written\"},"
	"{\"id\":\"no-debugger\",\"globs\":[\"**/*.js\",\"**/*.mjs\",\"**/*.jsx\",\"**/*.ts\","
	"\"**/"
	"*.tsx\"],\"pattern\":\"^[^\\\\S\\\\n]*+debugger[^\\\\S\\\\n]*+;?[^\\\\S\\\\n]*+$\","
	"\"message\":\"debugging output and breakpoints are taken out first\"},"
	"{\"id\":\"no-breakpoint\",\"globs\":[\"**/*.py\"],"
	"\"pattern\":\"^[^\\\\S\\\\n]*+(?:breakpoint\\\\(|import "
	"pdb\\\\b|pdb\\\\.set_trace\\\\()\","
	"\"message\":\"debugging output and breakpoints are taken out first\"},"
	"{\"id\":\"no-unwrap\"," RUST RUST_TESTS
	"\"pattern\":\"\\\\.(?:unwrap|unwrap_err)\\\\(\\\\)\","
	"\"message\":\"a failure is handled or passed on, with ? for instance\"},"
	"{\"id\":\"no-panic\"," RUST RUST_TESTS
	"\"pattern\":\"\\\\b(?:panic|todo|unimplemented|unreachable)!\\\\s*[({\\\\[]\","
	"\"message\":\"a library does not end the program\"},"
	/* A line that is not a comment with SAFETY:, then one with an unsafe block.
	 * All quantifiers are possessive, so each line is read at most twice. */
	"{\"id\":\"unsafe-needs-reason\"," RUST
	"\"pattern\":\"(?:\\\\A|^(?![^\\\\n/]*+(?:/(?!/)[^\\\\n/]*+)*+"
	"//.*?SAFETY:).*+\\\\n)\\\\K"
	"[^\\\\n/\\\"u]*+(?:(?!\\\\bunsafe\\\\s*+(?:\\\\{|impl\\\\b))u[^\\\\n/\\\"u]*+)*+"
	"unsafe\\\\s*+(?:\\\\{|impl\\\\b)\","
	"\"message\":\"an unsafe block has a comment SAFETY: on the line above it\"},"
	"{\"id\":\"no-silenced-lint\"," RUST "\"pattern\":\"#!?\\\\[allow\\\\(\","
	"\"message\":\"a lint is satisfied, not silenced\"}]";

/*
 * The built-in rules: what they find, and that the work they take grows with the
 * length of the file and not with its square. Work is counted in steps of the
 * matcher (its match limit, without the just-in-time compiler), not in time.
 */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "tools/common/test_support.h"

#include <pcre2.h>
#include <yyjson.h>

#include "tools/workspace/policy.h"

enum { MEGABYTE = 1024 * 1024, STEPS_PER_BYTE = 16 };

static bool breaks(const char *path, const char *text, size_t len)
{
	struct fw_ws_policy *policy = NULL;
	fw_error *err;
	int code;

	assert_null(
		fw_ws_policy_new(fw_ws_policy_default, strlen(fw_ws_policy_default), &policy));
	err = fw_ws_policy_check(policy, path, text, len);
	code = fw_error_code(err);
	fw_error_free(err);
	fw_ws_policy_free(policy);
	assert_true(!code || code == FW_POLICY_VIOLATION || code == FW_POLICY_RUST_VIOLATION);
	return code != 0;
}

static void test_policy__unsafe_needs_a_reason_on_the_line_above(void **state)
{
	static const struct {
		const char *text;
		bool is_refused;
	} cases[] = {
		{ "unsafe { f() }\n", true },
		{ "fn a() {\n\tunsafe { f() }\n}\n", true },
		{ "// SAFETY: it is fine\nunsafe { f() }\n", false },
		{ "\t/// a // b SAFETY: fine\n\tlet x = unsafe { f() };\n", false },
		{ "a / b; // SAFETY: x\nunsafe impl Send for A {}\n", false },
		{ "let SAFETY: u8 = 1;\nunsafe impl Send for A {}\n", true },
		{ "a\nunsafe\n\n{ f() }\n", true },
		{ "a\nlet unsafely = 1; unsafe fn f();\n", false },
		{ "a\n// unsafe { is a comment\n", false },
		{ "a\n\"unsafe { in a string\"\n", false },
		{ "a\nuse u; unsafe fn g(); unsafe { f() }\n", true },
		{ "// SAFETY: one\nunsafe { f() }\nunsafe { g() }\n", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (breaks("src/a.rs", cases[i].text, strlen(cases[i].text)) !=
		    cases[i].is_refused)
			fail_msg("case %zu: %s", i, cases[i].text);
	assert_true(breaks("a.js", "x\n  debugger ;\n", 15));
	assert_true(breaks("a.js", "x\r\n\tdebugger\r\n", 14));
	assert_true(breaks("a.py", "\n\n\tbreakpoint()\n", 16));
}

/* A file of `len` bytes that repeats `part`. */
static char *repeat(const char *part, size_t len)
{
	size_t size = strlen(part);
	char *text = malloc(len);

	assert_non_null(text);
	for (size_t i = 0; i < len; i++)
		text[i] = part[i % size];
	return text;
}

static bool is_decided_within(pcre2_code *code, const char *text, size_t len, uint32_t steps)
{
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	pcre2_match_context *context = pcre2_match_context_create(NULL);
	int found;

	assert_non_null(data);
	assert_non_null(context);
	(void)pcre2_set_match_limit(context, steps);
	found = pcre2_match(code, (PCRE2_SPTR)text, len, 0, PCRE2_NO_JIT, data, context);
	pcre2_match_data_free(data);
	pcre2_match_context_free(context);
	return found >= 0 || found == PCRE2_ERROR_NOMATCH;
}

static void test_policy__a_megabyte_takes_steps_in_proportion_to_its_length(void **state)
{
	static const char *const parts[] = { "/",       "//",          "//\n",   "u",
					     "unsafe ", "unsafe\n",    "\n",     " ",
					     "a\n",     "// SAFETY\n", "/ /u \"" };
	yyjson_doc *doc = yyjson_read(fw_ws_policy_default, strlen(fw_ws_policy_default), 0);
	yyjson_arr_iter rules;
	int error;
	PCRE2_SIZE at;

	(void)state;
	assert_non_null(doc);
	yyjson_arr_iter_init(yyjson_doc_get_root(doc), &rules);
	for (yyjson_val *rule; (rule = yyjson_arr_iter_next(&rules));) {
		const char *id = yyjson_get_str(yyjson_obj_get(rule, "id"));
		yyjson_val *pattern = yyjson_obj_get(rule, "pattern");
		pcre2_code *code = pcre2_compile((PCRE2_SPTR)yyjson_get_str(pattern),
						 yyjson_get_len(pattern), PCRE2_MULTILINE,
						 &error, &at, NULL);

		assert_non_null(code);
		for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
			char *text = repeat(parts[i], MEGABYTE);

			if (!is_decided_within(code, text, MEGABYTE, STEPS_PER_BYTE * MEGABYTE))
				fail_msg("%s takes more than %d steps per byte for \"%s\"", id,
					 STEPS_PER_BYTE, parts[i]);
			free(text);
		}
		pcre2_code_free(code);
	}
	yyjson_doc_free(doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_policy__unsafe_needs_a_reason_on_the_line_above),
		cmocka_unit_test(
			test_policy__a_megabyte_takes_steps_in_proportion_to_its_length),
	};

	test_support_uses_all();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * schema_test.c - what the official suite does not cover: the API, reports, raw
 * numbers, draft-07, edge cases of regular expressions. The meaning of keywords is
 * tested with the suite (test/schema/suite.c).
 */
#include "schema/keyword.h"
#include "schema/test_support.h"

/* ---- API ---- */

static void test_schema__keywords_are_sorted(void **state)
{
	(void)state;
	for (unsigned i = 0; i < KW_COUNT; i++) {
		const char *name = fw_schema__keywords[i].name;

		assert_true(i == 0 || strcmp(fw_schema__keywords[i - 1].name, name) < 0);
		assert_int_equal(fw_schema__keyword_find(name, strlen(name)), i);
	}
	assert_int_equal(fw_schema__keyword_find("typ", 3), KW_COUNT);
	assert_int_equal(fw_schema__keyword_find("typer", 5), KW_COUNT);
	assert_int_equal(fw_schema__keyword_find("", 0), KW_COUNT);
}

static void test_schema__null_arguments(void **state)
{
	fw_schema *s = fw_schema_compile("true", 4, NULL, NULL);

	(void)state;
	assert_non_null(s);
	assert_false(fw_schema_check(s, NULL, NULL));
	assert_false(fw_schema_check(NULL, NULL, NULL));
	fw_schema_free(s);
	fw_schema_free(NULL);
	assert_null(fw_schema_compile("{", 1, NULL, NULL));
	assert_null(fw_schema_compile("", 0, NULL, NULL));
	assert_null(fw_schema_compile_val(NULL, NULL, NULL));
}

static void test_schema__boolean_schemas(void **state)
{
	(void)state;
	assert_true(valid("true", "[1]"));
	assert_false(valid("false", "[1]"));
	assert_string_equal(violations("false", "1"), "||false|nothing|number 1\n");
}

static void test_schema__compiles_from_a_value_that_is_then_freed(void **state)
{
	const char *text = "{\"minimum\":100000000000000000000.5,\"enum\":[1e400,2e400]}";
	yyjson_doc *doc = yyjson_read(text, strlen(text), YYJSON_READ_NUMBER_AS_RAW);
	fw_schema *s = fw_schema_compile_val(yyjson_doc_get_root(doc), NULL, NULL);

	(void)state;
	yyjson_doc_free(doc);
	assert_non_null(s);
	assert_true(check(s, "1e400"));
	assert_true(check(s, "10e399"));
	assert_false(check(s, "1e401"));
	fw_schema_free(s);
}

static void test_schema__problems_say_what_and_where(void **state)
{
	fw_schema_problem p;

	(void)state;
	assert_string_equal(problem_of("{\"a\":", NULL, &p), "text is not JSON");
	assert_int_equal(p.offset, 5);
	assert_string_equal(problem_of("5", NULL, &p), "schema must be an object or a boolean");
	assert_string_equal(p.pointer, "");
	assert_string_equal(
		problem_of("{\"properties\":{\"a/b~c\":{\"type\":\"strin\"}}}", NULL, &p),
		"type does not exist");
	assert_string_equal(p.pointer, "/properties/a~1b~0c/type");
	assert_string_equal(p.detail, "strin");
	assert_string_equal(problem_of("{\"allOf\":[true,{\"$ref\":\"#/nope\"}]}", NULL, &p),
			    "unresolvable reference");
	assert_string_equal(p.pointer, "/allOf/1/$ref");
	assert_string_equal(p.detail, "#/nope");
	assert_string_equal(problem_of("{\"$ref\":\"http://example.com/x\"}", NULL, &p),
			    "unresolvable reference");
	assert_string_equal(problem_of("{\"pattern\":\"(\\u0007\"}", NULL, &p),
			    "regular expression is not valid");
	assert_string_equal(p.detail, "(?");
	assert_string_equal(problem_of("{\"minLength\":-1}", NULL, &p),
			    "keyword must be a whole number from 0");
	assert_string_equal(problem_of("{\"multipleOf\":0}", NULL, &p),
			    "keyword must be greater than 0");
	assert_string_equal(problem_of("{\"required\":true}", NULL, &p),
			    "keyword must be an array of strings");
	assert_string_equal(p.pointer, "/required");
	assert_string_equal(problem_of("{\"items\":{\"not\":3}}", NULL, &p),
			    "schema must be an object or a boolean");
	assert_string_equal(p.pointer, "/items/not");
}

static bool serve(void *ctx, const char *uri, const char **ret_json, size_t *ret_len)
{
	(void)ctx;
	if (strcmp(uri, "http://example.com/int"))
		return false;
	*ret_json = "{\"type\":\"integer\",\"$defs\":{\"small\":{\"maximum\":9}}}";
	*ret_len = strlen(*ret_json);
	return true;
}

static void test_schema__resolver_serves_remote_references(void **state)
{
	fw_schema_options opts = { .resolve = serve };
	fw_schema *s = compile_with("{\"$id\":\"http://example.com/main\",\"allOf\":"
				    "[{\"$ref\":\"int\"},{\"$ref\":\"int#/$defs/small\"}]}",
				    &opts);
	struct heard h = { .n = 0 };
	fw_schema_run run = { .on_violation = hear, .ctx = &h };

	(void)state;
	assert_true(check(s, "9"));
	assert_false(check_flags(s, "10", 0, &run));
	assert_string_equal(h.text, "|http://example.com/int#/$defs/small/maximum|"
				    "maximum|<= 9|number 10\n");
	fw_schema_free(s);
}

static void test_schema__metaschema_is_built_in(void **state)
{
	const char *meta = "{\"$ref\":\"https://json-schema.org/draft/2020-12/schema\"}";
	const char *seven = "{\"$ref\":\"http://json-schema.org/draft-07/schema#\"}";

	(void)state;
	assert_true(valid(meta, "{\"type\":\"string\",\"items\":{\"minimum\":3}}"));
	assert_false(valid(meta, "{\"type\":\"string\",\"items\":{\"minimum\":\"3\"}}"));
	assert_false(valid(meta, "{\"$defs\":{\"a\":{\"type\":\"wrong\"}}}"));
	assert_true(valid(seven, "{\"items\":[{}],\"definitions\":{\"a\":true}}"));
	assert_false(valid(seven, "{\"definitions\":{\"a\":{\"type\":1}}}"));
}

/* ---- reports ---- */

static void test_schema__violations_name_place_and_expectation(void **state)
{
	const char *tool = "{\"type\":\"object\",\"properties\":{"
			   "\"path\":{\"type\":\"string\",\"minLength\":1},"
			   "\"mode\":{\"enum\":[\"r\",\"w\"]},"
			   "\"lines\":{\"type\":\"array\",\"items\":{\"type\":\"integer\","
			   "\"minimum\":1}}},"
			   "\"required\":[\"path\"],\"additionalProperties\":false}";

	(void)state;
	assert_string_equal(violations(tool, "{}"),
			    "|/required|required|property \"path\"|missing\n");
	assert_string_equal(
		violations(tool, "{\"path\":5,\"mode\":\"x\","
				 "\"lines\":[1,0,\"a\",1.5],\"extra\":null}"),
		"/path|/properties/path/type|type|string|number 5\n"
		"/mode|/properties/mode/enum|enum|one of \"r\", \"w\"|string \"x\"\n"
		"/lines/1|/properties/lines/items/minimum|minimum|>= 1|number 0\n"
		"/lines/2|/properties/lines/items/type|type|integer|string \"a\"\n"
		"/lines/3|/properties/lines/items/type|type|integer|number 1.5\n"
		"/extra|/additionalProperties|additionalProperties|no property "
		"\"extra\"|null\n");
	assert_string_equal(violations(tool, "[]"), "|/type|type|object|array of 0 items\n");
	assert_string_equal(violations(tool, "{\"path\":\"\"}"),
			    "/path|/properties/path/minLength|minLength|at least 1 "
			    "character|string \"\"\n");
}

static void test_schema__violations_of_other_keywords(void **state)
{
	(void)state;
	assert_string_equal(violations("{\"type\":[\"string\",\"null\",\"number\"]}", "{}"),
			    "|/type|type|string, number or null|object with 0 properties\n");
	assert_string_equal(violations("{\"const\":{\"a\":1}}", "true"),
			    "|/const|const|object with 1 property|boolean true\n");
	assert_string_equal(
		violations("{\"uniqueItems\":true}", "[1,2,1.0]"),
		"|/uniqueItems|uniqueItems|items that all differ|the same item at 0 and 2\n");
	assert_string_equal(violations("{\"contains\":{\"type\":\"string\"}}", "[1]"),
			    "|/contains|contains|at least 1 matching item|0\n");
	assert_string_equal(violations("{\"contains\":true,\"maxContains\":1}", "[1,2]"),
			    "|/maxContains|maxContains|at most 1 matching item|2\n");
	assert_string_equal(violations("{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}"),
			    "|/dependentRequired|dependentRequired|property \"b\"|missing\n");
	assert_string_equal(violations("{\"pattern\":\"^a+$\"}", "\"b\""),
			    "|/pattern|pattern|match of ^a+$|string \"b\"\n");
	assert_string_equal(violations("{\"not\":{\"type\":\"null\"}}", "null"),
			    "|/not|not|no match of the schema under \"not\"|null\n");
	assert_string_equal(
		violations("{\"properties\":{\"a\":true},"
			   "\"unevaluatedProperties\":false}",
			   "{\"a\":1,\"b\":2}"),
		"/b|/unevaluatedProperties|unevaluatedProperties|no property \"b\"|number 2\n");
	assert_string_equal(violations("{\"prefixItems\":[true],\"items\":false}", "[1,2]"),
			    "/1|/items|items|no item at index 1|number 2\n");
}

static void test_schema__alternatives_are_explained(void **state)
{
	(void)state;
	assert_string_equal(
		violations("{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}", "5"),
		"|/anyOf|anyOf|string or null|number 5\n");
	/* Only one alternative is for objects, so its violations are reported. */
	assert_string_equal(
		violations("{\"anyOf\":[{\"$ref\":\"#/$defs/o\"},"
			   "{\"type\":\"null\"}],\"$defs\":{\"o\":{\"type\":\"object\","
			   "\"required\":[\"id\"]}}}",
			   "{}"),
		"|/$defs/o/required|required|property \"id\"|missing\n");
	assert_string_equal(violations("{\"oneOf\":[{\"minimum\":1},{\"maximum\":5}]}", "3"),
			    "|/oneOf|oneOf|a match of exactly 1 of 2 alternatives|number 3\n");
}

static void test_schema__texts_are_bounded_and_safe(void **state)
{
	char *long_text = repeat("[\"", "\xc3\xa9", 500, "\\u0001\\u001b[31m", "x", "\"]");
	const char *text = violations("{\"items\":{\"type\":\"null\"}}", long_text);
	const char *found = strrchr(text, '|') + 1;

	(void)state;
	assert_true(strlen(found) <= 81);
	assert_non_null(strstr(found, "...\""));
	free(long_text);
	text = violations("{\"items\":{\"type\":\"null\"}}",
			  "[\"a\\u0001\\u001b[31m\\u0085\"]");
	assert_non_null(strstr(text, "string \"a??[31m?\""));
	/* A long key, and many of them. */
	long_text = repeat("{\"", "k", 2000, "\":1", "", "}");
	text = violations("{\"additionalProperties\":false}", long_text);
	assert_true(strlen(text) < 1000);
	free(long_text);
}

static void test_schema__values_can_be_hidden(void **state)
{
	struct heard h = { .n = 0 };
	fw_schema_run run = { .on_violation = hear, .ctx = &h, .hide_values = true };
	fw_schema *s = compile_with("{\"items\":{\"type\":\"null\"}}", NULL);

	(void)state;
	assert_false(check_flags(s, "[\"hunter2\",42,true]", 0, &run));
	assert_null(strstr(h.text, "hunter2"));
	assert_null(strstr(h.text, "42"));
	assert_non_null(strstr(h.text, "|string\n"));
	fw_schema_free(s);
}

static void test_schema__stops_after_enough_violations(void **state)
{
	char *many = repeat("[", "1,", 100, "1", "", "]");
	struct heard h = { .n = 0 };
	fw_schema_run run = { .on_violation = hear, .ctx = &h };
	fw_schema *s = compile_with("{\"items\":{\"type\":\"string\"}}", NULL);

	(void)state;
	assert_false(check_flags(s, many, 0, &run));
	assert_int_equal(h.n, FW_SCHEMA_VIOLATIONS_MAX);
	run.max_violations = 3;
	h.n = 0;
	assert_false(check_flags(s, many, 0, &run));
	assert_int_equal(h.n, 3);
	h.n = 0;
	h.stop_at = 2; /* the callback ends the check */
	assert_false(check_flags(s, many, 0, &run));
	assert_int_equal(h.n, 2);
	fw_schema_free(s);
	free(many);
}

/* ---- numbers ---- */

static void test_schema__numbers_of_any_size(void **state)
{
	(void)state;
	assert_true(valid("{\"type\":\"integer\"}", "1.0"));
	assert_true(valid("{\"type\":\"integer\"}", "1e2"));
	assert_true(valid("{\"type\":\"integer\"}", "10e-1"));
	assert_false(valid("{\"type\":\"integer\"}", "1e-1"));
	assert_true(valid("{\"type\":\"integer\"}", "98765432109876543210987654321"));
	assert_true(valid("{\"type\":\"integer\"}", "1e400"));
	assert_true(valid("{\"type\":\"number\"}", "-1e400"));
	assert_false(valid("{\"maximum\":1e300}", "1e400"));
	assert_true(valid("{\"minimum\":-1e400}", "-1e399"));
	assert_true(valid("{\"maximum\":18446744073709551615}", "18446744073709551615"));
	assert_false(valid("{\"maximum\":18446744073709551615}", "18446744073709551616"));
	assert_false(valid("{\"exclusiveMinimum\":0.1}", "0.1"));
	assert_true(valid("{\"exclusiveMinimum\":0.1}", "0.10000000000000002"));
	assert_false(valid("{\"maximum\":9007199254740992}", "9007199254740993"));
	assert_true(valid("{\"minimum\":-0.5}", "-0.25"));
	assert_true(valid("{\"const\":0}", "-0.0"));
	assert_true(valid("{\"const\":100}", "1.00e2"));
	assert_true(valid("{\"enum\":[1000000000000000000000]}", "1e21"));
}

static void test_schema__multiple_of_is_decimal(void **state)
{
	(void)state;
	assert_true(valid("{\"multipleOf\":0.1}", "0.3"));
	assert_true(valid("{\"multipleOf\":0.01}", "19.99"));
	assert_false(valid("{\"multipleOf\":0.01}", "19.995"));
	assert_true(valid("{\"multipleOf\":0.0001}", "0.0075"));
	assert_true(valid("{\"multipleOf\":0.25}", "7.5"));
	assert_false(valid("{\"multipleOf\":10}", "25"));
	assert_true(valid("{\"multipleOf\":3}", "999999999999999999999999999999"));
	/* A divisor of more digits than 18 is a double. */
	assert_true(valid("{\"multipleOf\":1234567890123456789012}", "2469135780246913578024"));
	assert_false(
		valid("{\"multipleOf\":1234567890123456789012}", "2469135780247913578024"));
	assert_true(valid("{\"multipleOf\":0.12500000000000000000000001}", "1e300"));
	assert_false(valid("{\"multipleOf\":1234567890123456789012}", "1e-300"));
	assert_false(valid("{\"multipleOf\":3}", "1000000000000000000000000000000"));
	assert_true(valid("{\"multipleOf\":7}", "7e400"));
	assert_true(valid("{\"multipleOf\":5}", "0"));
	assert_true(valid("{\"multipleOf\":5}", "-15"));
}

static void test_schema__raw_text_that_is_not_a_number_is_refused(void **state)
{
	fw_schema *s = compile_with("{\"minimum\":0}", NULL);
	fw_schema *m = compile_with("{\"multipleOf\":2}", NULL);
	yyjson_read_flag odd = YYJSON_READ_ALLOW_INF_AND_NAN;

	(void)state;
	assert_false(check_flags(s, "NaN", odd, NULL));
	assert_false(check_flags(s, "Infinity", odd, NULL));
	assert_false(check_flags(m, "Infinity", odd, NULL));
	assert_false(check_flags(s, "NaN", odd | YYJSON_READ_NUMBER_AS_RAW, NULL));
	assert_false(check_flags(m, "NaN", odd | YYJSON_READ_NUMBER_AS_RAW, NULL));
	fw_schema_free(s);
	fw_schema_free(m);
}

/* ---- draft-07 ---- */

static void test_schema__draft7_is_understood(void **state)
{
#define SEVEN "{\"$schema\":\"http://json-schema.org/draft-07/schema#\","
	(void)state;
	assert_false(valid(SEVEN "\"definitions\":{\"a\":{\"type\":\"string\"}},"
				 "\"$ref\":\"#/definitions/a\",\"minLength\":5}",
			   "1"));
	assert_true(valid(SEVEN "\"definitions\":{\"a\":{\"type\":\"string\"}},"
				"\"$ref\":\"#/definitions/a\",\"minLength\":5}",
			  "\"abc\""));
	assert_true(valid(SEVEN "\"items\":[{\"type\":\"string\"}],"
				"\"additionalItems\":{\"type\":\"null\"}}",
			  "[\"a\",null]"));
	assert_false(valid(SEVEN "\"items\":[{\"type\":\"string\"}],"
				 "\"additionalItems\":{\"type\":\"null\"}}",
			   "[\"a\",1]"));
	assert_false(valid(SEVEN "\"dependencies\":{\"a\":[\"b\"]}}", "{\"a\":1}"));
	assert_false(
		valid(SEVEN "\"dependencies\":{\"a\":{\"required\":[\"c\"]}}}", "{\"a\":1}"));
	assert_false(valid(SEVEN "\"exclusiveMinimum\":3}", "3"));
	assert_true(valid(SEVEN "\"prefixItems\":[false]}", "[1]"));
	/* Without $schema an array-valued `items` is still a tuple. */
	assert_false(valid("{\"items\":[{\"type\":\"string\"}]}", "[1]"));
	assert_false(valid("{\"minimum\":3,\"exclusiveMinimum\":true}", "3"));
#undef SEVEN
}

/* ---- regular expressions ---- */

static void test_schema__patterns_follow_ecma(void **state)
{
	(void)state;
	assert_false(valid("{\"pattern\":\"^a$\"}", "\"a\\n\""));
	assert_false(valid("{\"pattern\":\"^\\\\d$\"}", "\"\xd9\xa3\""));
	assert_true(valid("{\"pattern\":\"^\\\\p{L}+$\"}", "\"\xc3\xa9t\xc3\xa9\""));
	assert_true(valid("{\"pattern\":\"^\\\\p{Script=Greek}$\"}", "\"\xce\xb1\""));
	assert_true(valid("{\"pattern\":\"^\\\\u00e9$\"}", "\"\xc3\xa9\""));
	assert_true(valid("{\"pattern\":\"^\\\\uD83D\\\\uDC32$\"}", "\"\xf0\x9f\x90\xb2\""));
	assert_true(valid("{\"pattern\":\"^\\\\u{1F432}$\"}", "\"\xf0\x9f\x90\xb2\""));
	assert_true(valid("{\"pattern\":\"^.$\"}", "\"\xf0\x9f\x90\xb2\""));
	assert_false(valid("{\"pattern\":\"^.$\"}", "\"\\u2028\""));
	assert_true(valid("{\"pattern\":\"^[\\\\w-.]+@[\\\\w.-]+$\"}", "\"a-b.c@d.e\""));
	assert_true(valid("{\"pattern\":\"^[[:alpha:]]$\"}", "\"a]\""));
	assert_true(valid("{\"pattern\":\"^\\\\/a\\\\-b\\\\_$\"}", "\"/a-b_\""));
	assert_true(valid("{\"pattern\":\"^{a}$\"}", "\"{a}\""));
	assert_true(valid("{\"pattern\":\"^(?:a|b){2,3}?(?=c)(?<n>c)\\\\k<n>\\\\1$\"}",
			  "\"abccc\""));
	assert_true(valid("{\"pattern\":\"^[^]$\"}", "\"\\n\""));
	assert_true(valid("{\"pattern\":\"^\\\\S+$\"}", "\"a\xe2\x82\xac\""));
	assert_false(valid("{\"pattern\":\"^[\\\\S]+$\"}", "\"a\xc2\xa0z\""));
}

static void test_schema__patterns_beyond_ecma_are_refused(void **state)
{
	static const char *const wrong[] = { "(*UTF)a",     "(?R)",   "(?C1)a", "a\\\\Kb",
					     "\\\\Qa\\\\E", "a++",    "(?>a)",  "(?P<n>a)",
					     "(?i)a",       "(?#x)",  "\\\\Aa", "\\\\z",
					     "\\\\a",       "[a",     "(a",     "a)",
					     "*a",          "a**",    "\\\\",   "\\\\u12",
					     "\\\\p{Nope}", "\\\\x1", "\\\\c1", "(?|a)",
					     "(?(1)a)",     "x{2}{3}" };

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		char schema[128];

		snprintf(schema, sizeof schema, "{\"pattern\":\"%s\"}", wrong[i]);
		assert_string_equal(problem_of(schema, NULL, NULL),
				    "regular expression is not valid");
	}
}

/* ---- formats ---- */

static void test_schema__format_asserts_only_when_asked(void **state)
{
	fw_schema_options opts = { .assert_format = true };
	fw_schema *s = compile_with("{\"format\":\"date-time\"}", &opts);
	fw_schema *odd = compile_with("{\"format\":\"made-up\"}", &opts);
	fw_schema *regex = compile_with("{\"format\":\"regex\"}", &opts);

	(void)state;
	assert_true(valid("{\"format\":\"date-time\"}", "\"x\""));
	assert_true(check(s, "\"2024-02-29T23:59:60Z\""));
	assert_false(check(s, "\"2023-02-29T23:59:59Z\""));
	assert_true(check(s, "5"));
	assert_true(check(odd, "\"x\""));
	assert_true(check(regex, "\"^a+$\""));
	assert_false(check(regex, "\"(\""));
	fw_schema_free(s);
	fw_schema_free(odd);
	fw_schema_free(regex);
}

static void test_schema__a_misspelt_keyword_is_reported_if_asked(void **state)
{
	static const fw_schema_options strict = { .check_spelling = true };
	static const char *const misspelt[][3] = {
		{ "{\"requird\":[\"a\"]}", "", "\"requird\", did you mean \"required\"?" },
		{ "{\"properties\":{\"requird\":{\"tpye\":\"string\"}}}", "/properties/requird",
		  "\"tpye\", did you mean \"type\"?" },
		{ "{\"additionalproperties\":false}", "",
		  "\"additionalproperties\", did you mean \"additionalProperties\"?" },
		{ "{\"items\":{\"max_length\":3}}", "/items",
		  "\"max_length\", did you mean \"maxLength\"?" },
		{ "{\"desciption\":\"x\"}", "",
		  "\"desciption\", did you mean \"description\"?" },
	};
	static const char *const allowed[] = {
		"{\"x-type\":1,\"note\":1,\"unit\":1,\"example\":1,\"nullable\":true}",
		"{\"enum\":[{\"requird\":1}],\"default\":{\"tpye\":1}}",
		"{\"title\":\"t\",\"examples\":[],\"$comment\":\"c\",\"id\":\"i\"}",
	};
	fw_schema_problem p;

	(void)state;
	for (size_t i = 0; i < sizeof misspelt / sizeof *misspelt; i++) {
		assert_string_equal(problem_of(misspelt[i][0], &strict, &p),
				    "keyword does not exist");
		assert_string_equal(p.pointer, misspelt[i][1]);
		assert_string_equal(p.detail, misspelt[i][2]);
		fw_schema_free(
			fw_schema_compile(misspelt[i][0], strlen(misspelt[i][0]), NULL, NULL));
	}
	for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
		fw_schema *s = fw_schema_compile(allowed[i], strlen(allowed[i]), &strict, &p);

		assert_non_null(s);
		fw_schema_free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_schema__keywords_are_sorted),
		cmocka_unit_test(test_schema__null_arguments),
		cmocka_unit_test(test_schema__boolean_schemas),
		cmocka_unit_test(test_schema__compiles_from_a_value_that_is_then_freed),
		cmocka_unit_test(test_schema__problems_say_what_and_where),
		cmocka_unit_test(test_schema__a_misspelt_keyword_is_reported_if_asked),
		cmocka_unit_test(test_schema__resolver_serves_remote_references),
		cmocka_unit_test(test_schema__metaschema_is_built_in),
		cmocka_unit_test(test_schema__violations_name_place_and_expectation),
		cmocka_unit_test(test_schema__violations_of_other_keywords),
		cmocka_unit_test(test_schema__alternatives_are_explained),
		cmocka_unit_test(test_schema__texts_are_bounded_and_safe),
		cmocka_unit_test(test_schema__values_can_be_hidden),
		cmocka_unit_test(test_schema__stops_after_enough_violations),
		cmocka_unit_test(test_schema__numbers_of_any_size),
		cmocka_unit_test(test_schema__multiple_of_is_decimal),
		cmocka_unit_test(test_schema__raw_text_that_is_not_a_number_is_refused),
		cmocka_unit_test(test_schema__draft7_is_understood),
		cmocka_unit_test(test_schema__patterns_follow_ecma),
		cmocka_unit_test(test_schema__patterns_beyond_ecma_are_refused),
		cmocka_unit_test(test_schema__format_asserts_only_when_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

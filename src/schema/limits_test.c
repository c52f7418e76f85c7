/*
 * limits_test.c - the schema validator with hostile or large input, with failing
 * allocations, and with several threads.
 */
#include <pthread.h>

#include "schema/test_support.h"

/* ---- limits ---- */

static void test_schema__catastrophic_pattern_is_a_limit(void **state)
{
	fw_schema *s = compile_with("{\"pattern\":\"^(a+)+$\"}", NULL);
	fw_schema *not = compile_with("{\"not\":{\"pattern\":\"^(a+)+$\"}}", NULL);
	fw_schema *names = compile_with("{\"patternProperties\":{\"^(a+)+$\":true}}", NULL);
	struct heard h = { .n = 0 };
	fw_schema_run run = { .on_violation = hear, .ctx = &h };
	char *text = repeat("\"", "a", 64, "!", "", "\"");
	char *object = repeat("{\"", "a", 64, "!\":1}", "", "");

	(void)state;
	assert_false(check(s, text));
	assert_false(check(not, text)); /* a limit is not "no match" */
	assert_false(check(names, object));
	assert_false(check_flags(not, text, 0, &run));
	assert_int_equal(h.n, 1);
	assert_non_null(strstr(h.text, "|limit|work of a regular expression"));
	fw_schema_free(s);
	fw_schema_free(not );
	fw_schema_free(names);
	free(text);
	free(object);
}

static void test_schema__long_subject_outgrows_the_jit_stack(void **state)
{
	char *text = repeat("\"", "ab", 20000, "", "", "\"");

	(void)state;
	assert_true(valid("{\"pattern\":\"^(?:a|b|(c))*$\"}", text));
	free(text);
}

static void test_schema__deep_instance_is_a_limit(void **state)
{
	char *deep = repeat("", "[", 100000, "1", "]", "");
	fw_schema *s = compile_with("{\"items\":{\"$ref\":\"#\"}}", NULL);
	struct heard h = { .n = 0 };
	fw_schema_run run = { .on_violation = hear, .ctx = &h };

	(void)state;
	assert_false(check(s, deep));
	assert_false(check_flags(s, deep, 0, &run));
	assert_int_equal(h.n, 1);
	assert_non_null(strstr(h.text, "|limit|nesting"));
	run.max_depth = UINT32_MAX; /* still bounded by the ceiling */
	assert_false(check_flags(s, deep, 0, &run));
	fw_schema_free(s);
	assert_false(valid("{\"const\":[]}", deep));
	/* Equality recurses too. */
	s = compile_with("{\"uniqueItems\":true}", NULL);
	free(deep);
	deep = repeat("[", "[", 100000, "", "]", ",1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]");
	assert_false(check(s, deep));
	fw_schema_free(s);
	free(deep);
}

static void test_schema__deep_instance_under_a_flat_schema_is_fine(void **state)
{
	char *deep = repeat("", "[", 100000, "1", "]", "");

	(void)state;
	assert_true(valid("{\"type\":\"array\",\"minItems\":1}", deep));
	free(deep);
}

static void test_schema__deep_schema_is_a_problem(void **state)
{
	char *deep = repeat("", "{\"not\":", 100000, "true", "}", "");
	fw_schema_options opts = { .max_depth = UINT32_MAX };
	fw_schema_problem p;

	(void)state;
	assert_string_equal(problem_of(deep, NULL, &p), "schema is nested too deeply");
	assert_string_equal(problem_of(deep, &opts, &p), "schema is nested too deeply");
	free(deep);
}

static void test_schema__size_limits(void **state)
{
	fw_schema_options nodes = { .max_nodes = 3 }, bytes = { .max_bytes = 10 };

	(void)state;
	assert_string_equal(problem_of("{\"allOf\":[true,true,true]}", &nodes, NULL),
			    "schema has too many subschemas");
	assert_string_equal(problem_of("{\"type\":\"null\"}", &bytes, NULL),
			    "schema is too large");
}

static void test_schema__reference_loops_end(void **state)
{
	static const char *const loops[] = {
		"{\"$ref\":\"#\"}",
		"{\"allOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"}]}",
		"{\"anyOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"}]}",
		"{\"not\":{\"$ref\":\"#\"}}",
		"{\"not\":{\"not\":{\"$ref\":\"#\"}}}",
		"{\"if\":{\"$ref\":\"#\"},\"then\":true,\"else\":true}",
		"{\"$dynamicAnchor\":\"a\",\"$dynamicRef\":\"#a\"}",
		("{\"contains\":{\"$ref\":\"#/$defs/x\"},"
		 "\"$defs\":{\"x\":{\"$ref\":\"#/$defs/x\"}}}"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
		const char *text = violations(loops[i], "[1]");

		assert_non_null(strstr(text, "|limit|nesting"));
	}
}

static void test_schema__doubling_schema_runs_out_of_steps(void **state)
{
	char schema[8192] = "{\"$ref\":\"#/$defs/a0\",\"$defs\":{";
	size_t n;

	(void)state;
	for (int i = 0; i < 40; i++) {
		n = strlen(schema);
		snprintf(schema + n, sizeof schema - n,
			 "\"a%d\":{\"allOf\":["
			 "{\"$ref\":\"#/$defs/a%d\"},{\"$ref\":\"#/$defs/a%d\"}]},",
			 i, i + 1, i + 1);
	}
	n = strlen(schema);
	snprintf(schema + n, sizeof schema - n, "\"a40\":{\"type\":\"number\"}}}");
	assert_non_null(strstr(violations(schema, "1"), "|limit|work of the check"));
}

/* ---- equality and look-up at size ---- */

static void test_schema__huge_enum(void **state)
{
	size_t cap = 4u << 20, n;
	char *schema = malloc(cap);
	fw_schema *s;

	(void)state;
	n = (size_t)snprintf(schema, cap, "{\"enum\":[");
	for (int i = 0; i < 50000; i++)
		n += (size_t)snprintf(schema + n, cap - n, "\"value%d\",%d,", i, i);
	snprintf(schema + n, cap - n, "null,{\"a\":1},2.5]}");
	s = compile_with(schema, NULL);
	for (int i = 0; i < 2000; i++) {
		assert_true(check(s, "\"value49999\""));
		assert_true(check(s, "49999.0"));
		assert_false(check(s, "\"value50000\""));
	}
	assert_true(check(s, "{\"a\":1.0}"));
	assert_true(check(s, "2.50"));
	assert_true(check(s, "null"));
	assert_false(check(s, "false"));
	fw_schema_free(s);
	free(schema);
}

static void test_schema__unique_items_at_size(void **state)
{
	size_t cap = 4u << 20, n = 1;
	char *json = malloc(cap);
	fw_schema *s = compile_with("{\"uniqueItems\":true}", NULL);

	(void)state;
	json[0] = '[';
	for (int i = 0; i < 50000; i++)
		n += (size_t)snprintf(json + n, cap - n, "{\"k\":%d,\"v\":[%d]},", i, i);
	snprintf(json + n, cap - n, "0]");
	assert_true(check(s, json));
	snprintf(json + n, cap - n, "{\"v\":[7.0],\"k\":7}]");
	assert_false(check(s, json));
	/* Large numbers that are all equal as doubles. */
	n = 1;
	for (int i = 0; i < 20000; i++)
		n += (size_t)snprintf(json + n, cap - n, "1e%d,", 400 + i);
	snprintf(json + n, cap - n, "10e400]");
	assert_false(check_flags(s, json, YYJSON_READ_NUMBER_AS_RAW, NULL));
	snprintf(json + n, cap - n, "10e4]");
	assert_true(check_flags(s, json, YYJSON_READ_NUMBER_AS_RAW, NULL));
	fw_schema_free(s);
	free(json);
}

static void test_schema__large_objects_compare_without_order(void **state)
{
	size_t cap = 4u << 20, n;
	char *json = malloc(cap);
	fw_schema *s = compile_with("{\"uniqueItems\":true}", NULL);

	(void)state;
	n = (size_t)snprintf(json, cap, "[{");
	for (int i = 0; i < 30000; i++)
		n += (size_t)snprintf(json + n, cap - n, "\"k%d\":%d,", i, i);
	n += (size_t)snprintf(json + n, cap - n, "\"z\":0},{\"z\":0");
	for (int i = 30000; i-- > 0;)
		n += (size_t)snprintf(json + n, cap - n, ",\"k%d\":%d", i, i);
	snprintf(json + n, cap - n, "}]");
	assert_false(check(s, json));
	fw_schema_free(s);
	free(json);
}

static void test_schema__many_properties(void **state)
{
	size_t cap = 8u << 20, n, m = 1;
	char *schema = malloc(cap), *json = malloc(cap);
	fw_schema *s;

	(void)state;
	n = (size_t)snprintf(schema, cap, "{\"properties\":{\"z\":true");
	json[0] = '{';
	for (int i = 0; i < 20000; i++)
		n += (size_t)snprintf(schema + n, cap - n, ",\"name%d\":{\"const\":%d}", i, i);
	n += (size_t)snprintf(schema + n, cap - n, "},\"required\":[\"z\"");
	for (int i = 0; i < 20000; i++)
		n += (size_t)snprintf(schema + n, cap - n, ",\"name%d\"", i);
	snprintf(schema + n, cap - n, "],\"additionalProperties\":false}");
	for (int i = 20000; i-- > 0;)
		m += (size_t)snprintf(json + m, cap - m, "\"name%d\":%d,", i, i);
	s = compile_with(schema, NULL);
	snprintf(json + m, cap - m, "\"z\":0}");
	assert_true(check(s, json));
	snprintf(json + m, cap - m, "\"name0\":0}");
	assert_false(check(s, json)); /* "z" is missing */
	snprintf(json + m, cap - m, "\"z\":0,\"y\":0}");
	assert_false(check(s, json)); /* "y" is not declared */
	fw_schema_free(s);
	free(schema);
	free(json);
}

static void test_schema__required_and_repeated_keys(void **state)
{
	const char *two = "{\"required\":[\"a\",\"b\",\"a\"]}";

	(void)state;
	assert_false(valid(two, "{\"a\":1,\"a\":2}"));
	assert_true(valid(two, "{\"b\":1,\"a\":2,\"a\":3}"));
	assert_false(valid("{\"const\":{\"a\":1,\"b\":2}}", "{\"a\":1,\"a\":1}"));
	assert_true(valid("{\"properties\":{\"\":{\"type\":\"null\"}},\"required\":[\"\"]}",
			  "{\"\":null}"));
}

/* ---- memory ---- */

static const char kitchen_sink[] =
	"{\"$id\":\"http://example.com/s\",\"type\":\"object\",\"properties\":{"
	"\"a\":{\"type\":\"string\",\"pattern\":\"^[a-z]+$\",\"format\":\"date\"},"
	"\"b\":{\"$ref\":\"#/$defs/b\"},\"c\":{\"enum\":[\"x\",1,null,[2]]},"
	"\"d\":{\"type\":\"array\",\"uniqueItems\":true,\"contains\":{\"const\":3}},"
	"\"e\":{\"anyOf\":[{\"multipleOf\":0.1},{\"type\":\"null\"}]}},"
	"\"patternProperties\":{\"^x-\":{\"minimum\":1e400}},"
	"\"dependentRequired\":{\"a\":[\"b\"]},\"dependentSchemas\":{\"b\":{}},"
	"\"propertyNames\":{\"maxLength\":9},\"unevaluatedProperties\":false,"
	"\"$defs\":{\"b\":{\"$anchor\":\"b\",\"$dynamicRef\":\"#n\"},"
	"\"n\":{\"$dynamicAnchor\":\"n\",\"type\":\"number\"},"
	"\"m\":{\"$ref\":\"https://json-schema.org/draft/2020-12/schema\"}}}";

static void test_schema__survives_every_allocation_failure(void **state)
{
	const char *json = "{\"b\":5,\"c\":[2],\"d\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,"
			   "15,16,17,18],\"e\":0.3,\"x-y\":1e401}";
	yyjson_doc *doc = yyjson_read(json, strlen(json), YYJSON_READ_NUMBER_AS_RAW);
	bool done;

	(void)state;
	for (int forever = 0; forever < 2; forever++) {
		done = false;
		for (size_t at = 1; !done; at++) {
			struct fault f = { .fail_at = at, .forever = forever };
			yyjson_alc alc = FAULT_ALC(&f);
			fw_schema_options opts = { .alc = &alc, .assert_format = true };
			fw_schema_problem p = { .reason = NULL };
			fw_schema *s = fw_schema_compile(kitchen_sink, sizeof kitchen_sink - 1,
							 &opts, &p);

			done = f.calls < at;
			assert_int_equal(!s, !!p.reason);
			if (!s)
				assert_string_equal(p.reason, "out of memory");
			else /* the failure was harmless, or there was none */
				assert_true(fw_schema_check(s, yyjson_doc_get_root(doc), NULL));
			fw_schema_free(s);
			assert_int_equal(f.live, 0);
		}
	}
	yyjson_doc_free(doc);
}

static void test_schema__valid_instance_costs_no_allocation(void **state)
{
	struct fault f = { .fail_at = 0 };
	yyjson_alc alc = FAULT_ALC(&f);
	fw_schema_options opts = { .alc = &alc };
	const char *json = "{\"a\":\"abc\",\"b\":5,\"c\":\"x\",\"d\":[1,2,3],\"e\":0.3}";
	fw_schema *s = compile_with(kitchen_sink, &opts);
	size_t before = f.calls;

	(void)state;
	assert_true(check(s, json));
	assert_int_equal(f.calls, before);
	fw_schema_free(s);
	assert_int_equal(f.live, 0);
}

static void test_schema__small_scratch_falls_back_to_the_allocator(void **state)
{
	struct fault f = { .fail_at = 0 };
	yyjson_alc alc = FAULT_ALC(&f);
	fw_schema_options opts = { .alc = &alc };
	char tiny[8], *many = repeat("[", "1,\"a\",", 3000, "0]", "", "");
	fw_schema *s = compile_with("{\"unevaluatedItems\":false,\"anyOf\":[{\"items\":true}],"
				    "\"uniqueItems\":false,\"patternProperties\":{\"x\":true}}",
				    &opts);
	struct heard h = { .n = 0 };
	fw_schema_run run = {
		.scratch = tiny, .scratch_len = sizeof tiny, .on_violation = hear, .ctx = &h
	};
	size_t before = f.calls;

	(void)state;
	assert_true(check_flags(s, many, 0, &run));
	assert_true(f.calls > before);
	/* If that fails too, it is a limit. */
	for (size_t i = f.calls - before; i > 0; i--) {
		f.fail_at = i;
		f.calls = 0;
		h.n = 0;
		h.text[0] = '\0';
		assert_false(check_flags(s, many, 0, &run));
		assert_int_equal(h.n, 1);
		assert_non_null(strstr(h.text, "|limit|memory"));
	}
	fw_schema_free(s);
	assert_int_equal(f.live, 0);
	free(many);
}

/* ---- threads ---- */

static void *check_often(void *schema)
{
	const char *json = "{\"a\":\"abc\",\"b\":5,\"c\":\"x\",\"d\":[1,2,3],\"e\":0.3}";
	size_t wrong = 0;

	for (int i = 0; i < 500; i++) {
		yyjson_doc *doc = yyjson_read(json, strlen(json), 0);

		wrong += !fw_schema_check(schema, yyjson_doc_get_root(doc), NULL);
		yyjson_doc_free(doc);
	}
	return (void *)wrong;
}

static void test_schema__one_schema_serves_many_threads(void **state)
{
	fw_schema *s = compile_with(kitchen_sink, NULL);
	pthread_t threads[4];
	void *wrong;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, check_often, s), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
	}
	fw_schema_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_schema__catastrophic_pattern_is_a_limit),
		cmocka_unit_test(test_schema__long_subject_outgrows_the_jit_stack),
		cmocka_unit_test(test_schema__deep_instance_is_a_limit),
		cmocka_unit_test(test_schema__deep_instance_under_a_flat_schema_is_fine),
		cmocka_unit_test(test_schema__deep_schema_is_a_problem),
		cmocka_unit_test(test_schema__size_limits),
		cmocka_unit_test(test_schema__reference_loops_end),
		cmocka_unit_test(test_schema__doubling_schema_runs_out_of_steps),
		cmocka_unit_test(test_schema__huge_enum),
		cmocka_unit_test(test_schema__unique_items_at_size),
		cmocka_unit_test(test_schema__large_objects_compare_without_order),
		cmocka_unit_test(test_schema__many_properties),
		cmocka_unit_test(test_schema__required_and_repeated_keys),
		cmocka_unit_test(test_schema__survives_every_allocation_failure),
		cmocka_unit_test(test_schema__valid_instance_costs_no_allocation),
		cmocka_unit_test(test_schema__small_scratch_falls_back_to_the_allocator),
		cmocka_unit_test(test_schema__one_schema_serves_many_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

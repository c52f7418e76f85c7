/*
 * bad_members_test.c - envelopes with members that are missing, of a wrong type
 * or given twice, and with numbers at the limits of their types.
 */
#include "bad_input.h"

/* ---- members ---------------------------------------------------------- */

/* The valid types of a member: n null, b boolean, i integer, f any number, s string, a
 * array, o object. After a space: types that a reader may ignore, because it uses the
 * registry's value instead, or treats null as absent. */
static const struct {
	int contract;
	const char *pointer, *valid_kinds;
} members[] = {
	{ FW_KAIZA, "/error_code", "s" },
	{ FW_KAIZA, "/human_message", "s" },
	{ FW_KAIZA, "/role", "sn" },
	{ FW_KAIZA, "/session_id", "sn" },
	{ FW_KAIZA, "/workspace_root", "sn" },
	{ FW_KAIZA, "/tool_name", "s n" },
	{ FW_KAIZA, "/invariant_id", "sn" },
	{ FW_KAIZA, "/phase_id", "sn" },
	{ FW_KAIZA, "/plan_hash", "sn" },
	{ FW_KAIZA, "/cause", "sno bifa" },
	{ FW_KAIZA, "/timestamp", "s n" },
	{ FW_CONTEXT_V0, "/error", "o" },
	{ FW_CONTEXT_V0, "/error/code", "s" },
	{ FW_CONTEXT_V0, "/error/message", "s" },
	{ FW_CODEINTEL, "/error", "s" },
	{ FW_CODEINTEL, "/problem", "o" },
	{ FW_CODEINTEL, "/problem/type", "s" },
	{ FW_CODEINTEL, "/problem/title", "s" },
	{ FW_CODEINTEL, "/problem/status", "i f" },
	{ FW_CODEINTEL, "/problem/detail", "s" },
	{ FW_CODEINTEL, "/problem/instance", "s" },
	{ FW_CODEINTEL, "/problem/code", "s" },
	{ FW_CODEINTEL, "/problem/extensions", "o n" },
	{ FW_TOOLERROR, "/type", "s" },
	{ FW_TOOLERROR, "/message", "s" },
	{ FW_TOOLERROR, "/recoverable", "b" },
	{ FW_TOOLERROR, "/data", "o n" },
	{ FW_OWLCLAW, "/error", "o" },
	{ FW_OWLCLAW, "/error/code", "s" },
	{ FW_OWLCLAW, "/error/message", "s" },
	{ FW_OWLCLAW, "/error/category", "s" },
	{ FW_OWLCLAW, "/error/retryable", "b" },
	{ FW_OWLCLAW, "/error/incident_id", "s" },
	{ FW_OWLCLAW, "/error/details", "o n" },
	{ FW_OWLCLAW, "/error/retry_after", "if n" },
	{ FW_OWLCLAW_API, "/type", "s nbifao" },
	{ FW_OWLCLAW_API, "/title", "s" },
	{ FW_OWLCLAW_API, "/status", "i f" },
	{ FW_OWLCLAW_API, "/detail", "s" },
	{ FW_OWLCLAW_API, "/instance", "s nbifao" },
	{ FW_OWLCLAW_API, "/code", "s" },
	{ FW_OWLCLAW_API, "/category", "s" },
	{ FW_OWLCLAW_API, "/retryable", "b" },
	{ FW_OWLCLAW_API, "/incident_id", "s" },
	{ FW_OWLCLAW_API, "/details", "o n" },
	{ FW_OWLCLAW_API, "/retry_after", "if n" },
	{ FW_CANONICAL, "/code", "s" },
	{ FW_CANONICAL, "/message", "s" },
	{ FW_CANONICAL, "/category", "s" },
	{ FW_CANONICAL, "/type", "s nbifao" },
	{ FW_CANONICAL, "/retry", "s" },
	{ FW_CANONICAL, "/status", "i f" },
	{ FW_CANONICAL, "/origin", "s" },
	{ FW_CANONICAL, "/delivery", "s" },
	{ FW_CANONICAL, "/hint", "s" },
	{ FW_CANONICAL, "/context", "o" },
	{ FW_CANONICAL, "/retry_after", "if" },
	{ FW_CANONICAL, "/incident_id", "s" },
	{ FW_CANONICAL, "/timestamp", "s" },
};

enum { MEMBERS = sizeof(members) / sizeof(*members) };

static const struct {
	char letter;
	const char *json;
} kinds[] = {
	{ 'n', "null" }, { 'b', "true" }, { 'b', "false" }, { 'i', "5" },
	{ 'i', "-1" },   { 'f', "1.5" },  { 's', "\"\"" },  { 's', "\"x\"" },
	{ 'a', "[]" },   { 'a', "[{}]" }, { 'o', "{}" },    { 'o', "{\"a\":1}" },
};

/* The sample with the member at `pointer` replaced by `json`, or removed (NULL). */
static char *with_member(int contract, const char *pointer, const char *json, size_t *ret_len)
{
	size_t len;
	char *sample = sample_text((fw_contract)contract, &len);
	yyjson_doc *doc = yyjson_read(sample, len, 0);
	yyjson_mut_doc *mut = yyjson_doc_mut_copy(doc, NULL);
	char *text;

	assert_non_null(mut);
	if (!yyjson_mut_doc_ptr_get(mut, pointer))
		fail_msg("%s: no %s in %s", name_of(contract), pointer, sample);
	if (json) {
		yyjson_doc *value = yyjson_read(json, strlen(json), 0);
		yyjson_mut_val *copy = yyjson_val_mut_copy(mut, yyjson_doc_get_root(value));

		assert_true(yyjson_mut_doc_ptr_set(mut, pointer, copy));
		yyjson_doc_free(value);
	} else {
		assert_non_null(yyjson_mut_doc_ptr_remove(mut, pointer));
	}
	text = yyjson_mut_write(mut, 0, ret_len);
	assert_non_null(text);
	yyjson_mut_doc_free(mut);
	yyjson_doc_free(doc);
	free(sample);
	return text;
}

/* Reads `text` and validates it after writing it again: invalid input must become valid
 * output. */
static size_t violations_after(const char *text, size_t len, int contract, char *ret_first,
			       size_t cap)
{
	struct reported reported;
	char *again = NULL;
	size_t count;

	assert_null(read_as(text, len, contract, &again));
	count = violations(again, strlen(again), contract, &reported);
	(void)snprintf(ret_first, cap, "%s in %s", reported.first, again);
	fw_free(again);
	return count;
}

/* Replaces the member `m` by `json`, a value of a wrong type. Returns what fails, or NULL. */
static const char *wrong_member(size_t m, char letter, const char *json)
{
	static char answer[2048];
	const char *pointer = members[m].pointer, *passed = strchr(members[m].valid_kinds, ' ');
	int contract = members[m].contract;
	size_t len;
	char *text = with_member(contract, pointer, json, &len);
	fw_error *err = read_as(text, len, contract, NULL);
	struct reported reported;
	size_t count = violations(text, len, contract, &reported);

	answer[0] = '\0';
	if (count == 0)
		(void)snprintf(answer, sizeof(answer), "it is valid");
	else if (strcmp(reported.first, pointer) != 0)
		(void)snprintf(answer, sizeof(answer), "violation reported at %s",
			       reported.first);
	else if (err && (!pointer_of(err) || strcmp(pointer_of(err), pointer) != 0))
		(void)snprintf(answer, sizeof(answer), "refused: %s", fw_error_message(err));
	else if (!err && !(passed && strchr(passed, letter)))
		(void)snprintf(answer, sizeof(answer), "it was taken");
	else if (!err && violations_after(text, len, contract, answer, sizeof(answer)) == 0)
		answer[0] = '\0';
	fw_error_free(err);
	free(text);
	return answer[0] ? answer : NULL;
}

static void test_decode__refuses_a_wrong_type_of_every_member(void **state)
{
	size_t wrong = 0;

	(void)state;
	for (size_t m = 0; m < MEMBERS; m++)
		for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
			size_t valid_kinds = strcspn(members[m].valid_kinds, " "), len;
			const char *fault = NULL;
			char *text = with_member(members[m].contract, members[m].pointer,
						 kinds[k].json, &len);

			assert_sniffs(text, len);
			/* the type is valid, but the value may still be wrong */
			if (memchr(members[m].valid_kinds, kinds[k].letter, valid_kinds))
				fw_error_free(read_as(text, len, members[m].contract, NULL));
			else
				fault = wrong_member(m, kinds[k].letter, kinds[k].json);
			if (fault) {
				print_error("%s %s: %s: %s\n", name_of(members[m].contract),
					    members[m].pointer, kinds[k].json, fault);
				wrong++;
			}
			free(text);
		}
	assert_int_equal(wrong, 0);
}

static void test_decode__survives_every_member_left_out(void **state)
{
	(void)state;
	for (size_t m = 0; m < MEMBERS; m++) {
		struct reported reported;
		size_t len;
		char *text = with_member(members[m].contract, members[m].pointer, NULL, &len);

		fw_error_free(read_as(text, len, members[m].contract, NULL));
		(void)violations(text, len, members[m].contract, &reported);
		assert_sniffs(text, len);
		free(text);
	}
}

static void test_decode__refuses_other_json_values(void **state)
{
	static const char *const values[] = { "null",
					      "true",
					      "0",
					      "1.5",
					      "\"x\"",
					      "[]",
					      "{}",
					      "[{\"error\":{}}]",
					      "{\"error\":null}",
					      "{\"\":\"\"}" };

	(void)state;
	for (int contract = 0; contract < FW_CONTRACT_COUNT; contract++)
		for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
			assert_refused_as(values[i], strlen(values[i]), contract,
					  "contract.malformed");
			assert_int_equal(fw_sniff(values[i], strlen(values[i])), FW_ANY_JSON);
			assert_sniffs(values[i], strlen(values[i]));
		}
}

static void test_decode__refuses_unregistered_codes_of_closed_sets(void **state)
{
	static const struct {
		int contract;
		const char *from;
	} places[] = {
		{ FW_KAIZA, "PATH_NOT_FOUND" },
		{ FW_CONTEXT_V0, "cache_missing" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		size_t len;
		char *text = replaced(places[i].contract, places[i].from, "MADE_UP", 7, &len);

		assert_refused_as(text, len, places[i].contract, "registry.code_unregistered");
		assert_sniffs(text, len);
		free(text);
	}
}

static void test_decode__refuses_duplicate_keys(void **state)
{
	static const struct {
		int contract;
		const char *from, *to;
	} places[] = {
		{ FW_KAIZA, "{\"error_code\"",
		  "{\"error_code\":\"INVALID_PATH\",\"error_code\"" },
		{ FW_KAIZA, "{\"error_code\"",
		  "{\"error_co\\u0064e\":\"INVALID_PATH\",\"error_code\"" },
		{ FW_KAIZA, "\"role\"", "\"role\":null,\"role\"" },
		{ FW_KAIZA, "{\"message\"", "{\"message\":\"x\",\"message\"" },
		{ FW_CONTEXT_V0, "{\"error\"", "{\"error\":{},\"error\"" },
		{ FW_CONTEXT_V0, "{\"code\"", "{\"code\":\"io_error\",\"code\"" },
		{ FW_CONTEXT_V0, "\"message\"", "\"message\":\"x\",\"message\"" },
		{ FW_CODEINTEL, "\"error\"", "\"error\":\"x\",\"error\"" },
		{ FW_CODEINTEL, "\"problem\"", "\"problem\":{},\"problem\"" },
		{ FW_CODEINTEL, "\"status\"", "\"status\":404,\"status\"" },
		{ FW_CODEINTEL, "\"start_line\"", "\"start_line\":9,\"start_line\"" },
		{ FW_CODEINTEL, "\"lines\"", "\"lines\":9,\"lines\"" },
		{ FW_TOOLERROR, "{\"type\"", "{\"type\":\"INTERNAL\",\"type\"" },
		{ FW_TOOLERROR, "\"recoverable\"", "\"recoverable\":false,\"recoverable\"" },
		{ FW_TOOLERROR, "\"data\"", "\"data\":{},\"data\"" },
		{ FW_TOOLERROR, "\"conflicts\"", "\"conflicts\":1,\"conflicts\"" },
		{ FW_TOOLERROR, "\"pattern\"", "\"pattern\":1,\"pattern\"" },
		{ FW_OWLCLAW, "{\"error\"", "{\"error\":{},\"error\"" },
		{ FW_OWLCLAW, "{\"code\"", "{\"code\":\"auth.forbidden\",\"code\"" },
		{ FW_OWLCLAW, "\"limit\"", "\"limit\":6,\"limit\"" },
		{ FW_OWLCLAW_API, "\"status\"", "\"status\":400,\"status\"" },
		{ FW_OWLCLAW_API, "\"retryable\"", "\"retryable\":false,\"retryable\"" },
		{ FW_CANONICAL, "{\"code\"", "{\"code\":\"auth.forbidden\",\"code\"" },
		{ FW_CANONICAL, "\"query\"", "\"query\":\"x\",\"query\"" },
	};
	size_t wrong = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		size_t len;
		char *text = replaced(places[i].contract, places[i].from, places[i].to,
				      strlen(places[i].to), &len);
		struct reported reported;
		fw_error *err = read_as(text, len, places[i].contract, NULL);

		if (!err) {
			print_error("%s took %s\n", name_of(places[i].contract), places[i].to);
			wrong++;
		} else if (strcmp(fw_error_name(err), "contract.malformed") != 0) {
			print_error("%s refused %s with %s\n", name_of(places[i].contract),
				    places[i].to, fw_error_message(err));
			wrong++;
		}
		if (violations(text, len, places[i].contract, &reported) == 0) {
			print_error("%s: valid: %s\n", name_of(places[i].contract),
				    places[i].to);
			wrong++;
		}
		assert_sniffs(text, len);
		fw_error_free(err);
		free(text);
	}
	assert_int_equal(wrong, 0);
}

/* ---- numbers ---------------------------------------------------------- */

static void test_decode__keeps_numbers_exact(void **state)
{
	static const char *const numbers[] = {
		"0",
		"-1",
		"9007199254740991",
		"9007199254740992",
		"9007199254740993", /* 2^53 + 1, which is not a double */
		"-9007199254740993",
		"9223372036854775807",
		"9223372036854775808",
		"-9223372036854775808",
		"18446744073709551615",
		"18446744073709551616",
		"-9223372036854775809",
		"123456789012345678901234567890",
		"0.1",
		"1.5",
		"5e-324",
		"1.7976931348623157e308",
	};
	static const int holders[] = { FW_TOOLERROR,   FW_CODEINTEL, FW_OWLCLAW,
				       FW_OWLCLAW_API, FW_KAIZA,     FW_CANONICAL };
	size_t wrong = 0;

	(void)state;
	for (size_t h = 0; h < sizeof(holders) / sizeof(*holders); h++)
		for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
			for (int within = 0; within < 2; within++) {
				char value[128], wanted[160];
				char *again = NULL, *text;
				size_t len;
				fw_error *err;

				(void)snprintf(value, sizeof(value), within ? "[%s]" : "%s",
					       numbers[i]);
				(void)snprintf(wanted, sizeof(wanted), "\":%s", value);
				text = with_value(holders[h], value, strlen(value), &len);
				err = read_as(text, len, holders[h], &again);
				if (err) {
					print_error("%s refused %s: %s\n", name_of(holders[h]),
						    value, fw_error_message(err));
					wrong++;
				} else if (!strstr(again, wanted)) {
					print_error("%s lost %s: %s\n", name_of(holders[h]),
						    value, again);
					wrong++;
				}
				fw_error_free(err);
				fw_free(again);
				free(text);
			}
	assert_int_equal(wrong, 0);
}

static void test_decode__survives_numbers_without_bound(void **state)
{
	static const char *const numbers[] = { "1e400",    "-1e400", "1e-400", "1e99999999999",
					       "0e0",      "-0",     "-0.0",   "NaN",
					       "Infinity", "01",     "+1",     ".5",
					       "1.",       "0x10",   "--1" };
	static const char *const places[] = { "\"status\":429", "\"retry_after\":30" };

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		for (int contract = 0; contract < FW_CONTRACT_COUNT; contract++) {
			size_t len;
			char *text = with_value(contract, numbers[i], strlen(numbers[i]), &len);

			fw_error_free(read_as(text, len, contract, NULL));
			assert_sniffs(text, len);
			free(text);
		}
		for (size_t p = 0; p < sizeof(places) / sizeof(*places); p++) {
			char to[64];
			size_t len;
			char *text;
			struct reported reported;

			(void)snprintf(to, sizeof(to), "%.*s%s",
				       (int)(strchr(places[p], ':') - places[p] + 1), places[p],
				       numbers[i]);
			text = replaced(FW_OWLCLAW_API, places[p], to, strlen(to), &len);
			fw_error_free(read_as(text, len, FW_OWLCLAW_API, NULL));
			(void)violations(text, len, FW_OWLCLAW_API, &reported);
			free(text);
		}
	}
	/* setters */
	{
		static const double odd[] = {
			0.0, -0.0, -1.0, 1e308 * 10, -1e308 * 10, 5e-324
		};

		for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
			fw_error *err = sample_error();

			fw_error_add_f64(err, "odd", odd[i]);
			fw_error_add_f64(err, "nan", odd[3] - odd[3]);
			fw_error_set_retry_after(err, odd[i]);
			fw_error_set_retry_after(err, odd[3] - odd[3]);
			fw_error_set_status(err, (int)i - 3);
			fw_error_set_time(err, i % 2 ? INT64_MAX : INT64_MIN);
			assert_encodes(err);
			fw_error_free(err);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decode__refuses_a_wrong_type_of_every_member),
		cmocka_unit_test(test_decode__survives_every_member_left_out),
		cmocka_unit_test(test_decode__refuses_other_json_values),
		cmocka_unit_test(test_decode__refuses_unregistered_codes_of_closed_sets),
		cmocka_unit_test(test_decode__refuses_duplicate_keys),
		cmocka_unit_test(test_decode__keeps_numbers_exact),
		cmocka_unit_test(test_decode__survives_numbers_without_bound),
	};

	return cmocka_run_group_tests(tests, memory_setup, memory_teardown);
}

/*
 * bad_input_test.c - envelopes that are truncated, too deep, too large, or in
 * an invalid encoding. bad_members_test.c tests wrong members and numbers.
 */
#include "bad_input.h"
#include "test/rounds.h"

#include <time.h>

/* ---- cut short -------------------------------------------------------- */

static void test_decode__refuses_text_cut_at_every_byte(void **state)
{
	(void)state;
	for (int contract = 0; contract < FW_CONTRACT_COUNT; contract++) {
		size_t len;
		char *sample = sample_text((fw_contract)contract, &len);

		for (size_t cut = 0; cut < len; cut++) {
			assert_refused_as(sample, cut, contract, "contract.not_json");
			assert_int_equal(fw_sniff(sample, cut), FW_PLAIN_TEXT);
			assert_sniffs(sample, cut);
		}
		assert_null(read_as(sample, len, contract, NULL));
		assert_int_equal(fw_sniff(sample, len), contract);
		free(sample);
	}
}

static void test_decode__refuses_nothing_at_all(void **state)
{
	static const char *const blanks[] = { "", " ", "\n", "\t \r\n" };

	(void)state;
	for (int contract = 0; contract < FW_CONTRACT_COUNT; contract++) {
		fw_error *read = NULL;
		fw_error *err = fw_error_decode(NULL, 0, (fw_contract)contract, NULL, &read);

		assert_non_null(err);
		assert_null(read);
		assert_clear(err, 0);
		fw_error_free(err);
		for (size_t i = 0; i < sizeof(blanks) / sizeof(*blanks); i++)
			assert_refused_as(blanks[i], strlen(blanks[i]), contract,
					  "contract.not_json");
	}
	assert_int_equal(fw_sniff(NULL, 0), FW_PLAIN_TEXT);
	assert_int_equal(fw_sniff("", 0), FW_PLAIN_TEXT);
	assert_sniffs("", 0);
	assert_sniffs(" \n", 2);
}

static void test_decode__refuses_what_follows_an_envelope(void **state)
{
	static const char *const tails[] = { "x", ",", "}", "{}", "null", "\"", " 0", "\n[" };
	static const char *const blanks[] = { "", "\n", " ", "\r\n\t ", "\n\n" };

	(void)state;
	for (int contract = 0; contract < FW_CONTRACT_COUNT; contract++) {
		size_t len;
		char *sample = sample_text((fw_contract)contract, &len);
		char *text = malloc(len + 16);

		assert_non_null(text);
		memcpy(text, sample, len);
		for (size_t i = 0; i < sizeof(tails) / sizeof(*tails); i++) {
			memcpy(text + len, tails[i], strlen(tails[i]));
			assert_refused_as(text, len + strlen(tails[i]), contract,
					  "contract.not_json");
			assert_sniffs(text, len + strlen(tails[i]));
		}
		/* a NUL after the envelope does not end the text here */
		memcpy(text + len, "\0", 1);
		assert_refused_as(text, len + 1, contract, "contract.not_json");
		for (size_t i = 0; i < sizeof(blanks) / sizeof(*blanks); i++) {
			memcpy(text + len, blanks[i], strlen(blanks[i]));
			assert_null(read_as(text, len + strlen(blanks[i]), contract, NULL));
		}
		free(text);
		free(sample);
	}
}

static void test_decode__refuses_a_byte_order_mark(void **state)
{
	(void)state;
	for (int contract = 0; contract < FW_CONTRACT_COUNT; contract++) {
		size_t len;
		char *text = replaced(contract, "{", "\xef\xbb\xbf{", 4, &len);

		assert_refused_as(text, len, contract, "contract.not_json");
		assert_sniffs(text, len);
		free(text);
	}
}

/* ---- deep and huge ---------------------------------------------------- */

/* [[[[...]]]] or {"a":{"a":...}} */
static char *nest(bool arrays, size_t *ret_len)
{
	const char *open = arrays ? "[" : "{\"a\":";
	const char *close = arrays ? "]" : "}";
	size_t levels = (size_t)test_rounds(100000), step = strlen(open), len = 0;
	char *text = malloc((step + 1) * levels + 8);

	assert_non_null(text);
	for (size_t i = 0; i < levels; i++, len += step)
		memcpy(text + len, open, step);
	memcpy(text + len, "null", 4);
	len += 4;
	for (size_t i = 0; i < levels; i++)
		text[len++] = *close;
	text[len] = '\0';
	*ret_len = len;
	return text;
}

static void test_decode__refuses_100000_levels(void **state)
{
	(void)state;
	for (int arrays = 0; arrays < 2; arrays++) {
		size_t deep_len, len;
		char *deep = nest(arrays, &deep_len);
		struct reported reported;
		fw_error *err;

		for (int contract = 0; contract < FW_CONTRACT_COUNT; contract++) {
			char *text = with_value(contract, deep, deep_len, &len);

			/* an unknown member may be ignored, whatever its value is */
			err = read_as(text, len, contract, NULL);
			if (!err && contract != FW_CONTEXT_V0)
				fail_msg("%s accepted it", name_of(contract));
			if (err)
				assert_string_equal(fw_error_name(err), "input.too_deep");
			fw_error_free(err);
			(void)violations(text, len, contract, &reported);
			assert_sniffs(text, len);
			free(text);

			/* without an envelope, closed or not */
			assert_refused(deep, deep_len, contract);
			assert_refused_as(deep, deep_len / 2, contract, "contract.not_json");
		}
		assert_sniffs(deep, deep_len);
		assert_sniffs(deep, deep_len / 2);
		fw_error_free(read_as(deep, deep_len, FW_ANY_JSON, NULL));
		fw_error_free(read_as(deep, deep_len, FW_PLAIN_TEXT, NULL));
		err = fw_error_from_json(FW_HERE, deep, deep_len);
		assert_non_null(err);
		assert_encodes(err);
		fw_error_free(err);
		free(deep);
	}
}

enum { HUGE_BYTES = 100 * 1024 * 1024, MEMORY_MAX = 8 * 1024 * 1024 };

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void test_decode__refuses_100_megabytes_at_once(void **state)
{
	char *huge = malloc(HUGE_BYTES);
	double start;

	(void)state;
	assert_non_null(huge);
	memset(huge, 'a', HUGE_BYTES);
	for (int contract = 0; contract < FW_CONTRACT_COUNT; contract++) {
		size_t len;
		char *sample = sample_text((fw_contract)contract, &len);
		char *message = strstr(sample, "s");
		size_t head = (size_t)(message - sample) + 1;
		size_t tail = len - head;
		size_t count = 77;
		fw_error *read = NULL;
		fw_error *err;

		/* valid JSON, apart from its size: one string is very long */
		memcpy(huge, sample, head);
		memcpy(huge + HUGE_BYTES - tail, sample + head, tail);
		memory.peak = memory.live;
		start = seconds();

		err = fw_error_decode(huge, HUGE_BYTES, (fw_contract)contract, NULL, &read);
		assert_non_null(err);
		assert_null(read);
		assert_string_equal(fw_error_name(err), "input.too_large");
		fw_error_free(err);

		err = fw_validate(huge, HUGE_BYTES, (fw_contract)contract, NULL, NULL, NULL,
				  &count);
		assert_non_null(err);
		assert_string_equal(fw_error_name(err), "input.too_large");
		assert_int_equal(count, 77);
		fw_error_free(err);

		assert_int_equal(fw_sniff(huge, HUGE_BYTES), FW_PLAIN_TEXT);
		for (fw_contract any = FW_ANY_JSON; any <= FW_AUTO; any++) {
			err = fw_error_decode(huge, HUGE_BYTES, any, NULL, &read);
			assert_true(!err != !read);
			fw_error_free(err);
			fw_error_free(read);
			read = NULL;
		}
		err = fw_error_from_json(FW_HERE, huge, HUGE_BYTES);
		fw_error_free(err);
		err = fw_error_from_text(FW_HERE, huge, HUGE_BYTES);
		fw_error_free(err);

		assert_true(memory.peak < MEMORY_MAX);
		/* a clear limit: with ASan, a single pass over the bytes takes longer */
		assert_true(seconds() - start < 1.0);
		memset(huge, 'a', head);
		memset(huge + HUGE_BYTES - tail, 'a', tail);
		free(sample);
	}
	free(huge);
}

static void test_registry_load__refuses_100_megabytes_at_once(void **state)
{
	char *huge = malloc(HUGE_BYTES);
	fw_registry *registry = NULL;
	fw_error *err;

	(void)state;
	assert_non_null(huge);
	memset(huge, ' ', HUGE_BYTES);
	huge[0] = '[';
	huge[HUGE_BYTES - 1] = ']';
	memory.peak = memory.live;
	err = fw_registry_load(huge, HUGE_BYTES, NULL, NULL, &registry);
	assert_non_null(err);
	assert_null(registry);
	assert_string_equal(fw_error_name(err), "input.too_large");
	assert_true(memory.peak < MEMORY_MAX);
	fw_error_free(err);
	free(huge);
}

/* A long message within the limit is valid, and must not be truncated. */
static void test_decode__keeps_a_long_message_whole(void **state)
{
	const size_t long_len = 200 * 1000;
	char *value = malloc(long_len + 1);
	char *again = NULL, *text;
	size_t len;

	(void)state;
	assert_non_null(value);
	memset(value, 'x', long_len);
	text = replaced(FW_TOOLERROR, "reservation", value, long_len, &len);
	assert_null(read_as(text, len, FW_TOOLERROR, &again));
	assert_memory_equal(again, text, len);
	assert_int_equal(strlen(again), len);
	fw_free(again);
	free(text);
	free(value);
}

/* ---- encoding --------------------------------------------------------- */

static void test_decode__refuses_invalid_utf8_at_every_byte(void **state)
{
	(void)state;
	for (int contract = 0; contract < FW_CONTRACT_COUNT; contract++) {
		size_t len;
		char *sample = sample_text((fw_contract)contract, &len);

		for (size_t at = 0; at < len; at++) {
			char kept = sample[at];
			fw_error *err;

			sample[at] = (char)0xff;
			err = refusal(sample, len, contract);
			/* not after the invalid byte (if a digit is missing, yyjson
			 * reports the position after it) */
			if (position_of(err) > at + 1)
				fail_msg("%s: byte %zu is wrong, position %zu told",
					 name_of(contract), at, position_of(err));
			fw_error_free(err);
			assert_int_equal(fw_sniff(sample, len), FW_PLAIN_TEXT);
			sample[at] = kept;
		}
		free(sample);
	}
}

static void test_decode__refuses_every_kind_of_invalid_utf8(void **state)
{
	static const char *const wrong[] = {
		"\x80",             /* a continuation alone */
		"\xc3",             /* a lead alone */
		"\xc3(",            /* a lead, then ASCII */
		"\xc0\xaf",         /* overlong */
		"\xe0\x80\xaf",     /* overlong */
		"\xf0\x80\x80\xaf", /* overlong */
		"\xed\xa0\x80",     /* a surrogate */
		"\xed\xbf\xbf",     /* a surrogate */
		"\xf4\x90\x80\x80", /* past U+10FFFF */
		"\xf8\x88\x80\x80", /* no such lead */
		"\xe2\x80",         /* cut by the quote */
		"\xf0\x9f\x98",     /* cut by the quote */
	};

	(void)state;
	for (int contract = 0; contract < FW_CONTRACT_COUNT; contract++)
		for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
			size_t value_len = strlen(wrong[i]) + 2, len;
			char value[16];
			char *text;
			fw_error *err;

			(void)snprintf(value, sizeof(value), "\"%s\"", wrong[i]);
			text = with_value(contract, value, value_len, &len);
			err = refusal(text, len, contract);
			assert_true(position_of(err) < len);
			fw_error_free(err);
			assert_sniffs(text, len);
			free(text);
		}
}

/* A tool may send text that is neither JSON nor UTF-8. What we write of it must be both. */
static void test_from_text__makes_utf8_of_any_bytes(void **state)
{
	char bytes[256];
	fw_error *err;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)i;
	for (size_t from = 0; from < sizeof(bytes); from++) {
		err = fw_error_from_text(FW_HERE, bytes + from, sizeof(bytes) - from);
		assert_non_null(err);
		assert_encodes(err);
		fw_error_free(err);
		err = fw_error_from_json(FW_HERE, bytes + from, sizeof(bytes) - from);
		assert_non_null(err);
		assert_encodes(err);
		fw_error_free(err);
		assert_sniffs(bytes + from, sizeof(bytes) - from);
		fw_error_free(read_as(bytes + from, sizeof(bytes) - from, FW_PLAIN_TEXT, NULL));
	}
}

/* Setters take C strings from anywhere. */
static void test_setters__make_utf8_of_any_bytes(void **state)
{
	static const char *const wrong[] = { "\xff\xfe", "a\xc3", "\xed\xa0\x80z",
					     "\xf4\x90\x80\x80", "\x01\x1f\x7f\"\\" };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		const fw_scope scope = { wrong[i], wrong[i], wrong[i], wrong[i], wrong[i],
					 wrong[i], wrong[i], wrong[i], wrong[i], wrong[i] };
		fw_error *err = sample_error();

		fw_error_add_string(err, wrong[i], wrong[i]);
		fw_error_add_i64(err, wrong[i], 5);
		fw_error_add_cause(err, wrong[i], wrong[i], wrong[i]);
		fw_error_set_hint(err, wrong[i]);
		fw_error_set_detail(err, wrong[i]);
		fw_error_set_incident_id(err, wrong[i]);
		err = fw_error_wrap(err, FW_HERE, "could not do %s", wrong[i]);
		assert_encodes(err);
		fw_error_free(err);

		err = fw_raise_row(FW_HERE, fw_registry_find(NULL, "internal.unexpected"), NULL,
				   0);
		fw_error_fill_scope(err, &scope);
		assert_encodes(err);
		fw_error_free(err);
	}
}

static void test_decode__refuses_a_lone_surrogate(void **state)
{
	static const char *const wrong[] = { "\"\\ud800\"",        "\"\\udc00\"",
					     "\"\\ud800x\"",       "\"\\ud800\\ud800\"",
					     "\"\\ud83d\\u0041\"", "\"\\uDFFF\\uD800\"" };
	static const char right[] = "\"\\ud83d\\ude00\"";

	(void)state;
	for (int contract = 0; contract < FW_CONTRACT_COUNT; contract++) {
		size_t len;
		char *text;

		for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
			text = with_value(contract, wrong[i], strlen(wrong[i]), &len);
			assert_refused_as(text, len, contract, "contract.not_json");
			assert_sniffs(text, len);
			free(text);
		}
		text = with_value(contract, right, sizeof(right) - 1, &len);
		assert_null(read_as(text, len, contract, NULL));
		free(text);
	}
}

/* An escaped NUL is valid. It may be kept or refused, but must never truncate a text. */
static void test_decode__is_not_cut_by_a_nul(void **state)
{
	static const struct {
		int contract;
		const char *from, *to;
	} places[] = {
		{ FW_TOOLERROR, "reservation", "ab\\u0000cd" },
		{ FW_TOOLERROR, "\"agent-2\"", "\"ab\\u0000cd\"" },
		{ FW_KAIZA, "path does not", "ab\\u0000cd" },
		{ FW_KAIZA, "No such", "ab\\u0000cd" },
		{ FW_CODEINTEL, "src/main.py", "ab\\u0000cd" },
		{ FW_OWLCLAW, "rate limited", "ab\\u0000cd" },
		{ FW_OWLCLAW, "{\"limit\":5}", "{\"x\":\"ab\\u0000cd\"}" },
		{ FW_OWLCLAW, "{\"limit\":5}", "{\"ab\\u0000cd\":5}" },
		{ FW_OWLCLAW_API, "\"detail\":\"rate", "\"detail\":\"ab\\u0000cd" },
		{ FW_CANONICAL, "def main", "ab\\u0000cd" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		size_t len;
		char *again = NULL;
		char *text = replaced(places[i].contract, places[i].from, places[i].to,
				      strlen(places[i].to), &len);
		fw_error *err = read_as(text, len, places[i].contract, &again);

		if (!err && !strstr(again, "ab\\u0000cd"))
			fail_msg("lost at the NUL: %s\n became %s", text, again);
		fw_error_free(err);
		fw_free(again);
		free(text);
	}
	/* in a code it makes an unknown code */
	{
		size_t len;
		char *text =
			replaced(FW_KAIZA, "PATH_NOT_FOUND", "PATH_NOT_FOUND\\u0000", 20, &len);

		assert_refused(text, len, FW_KAIZA);
		free(text);
		text = replaced(FW_TOOLERROR, "CONFLICT", "CONFLICT\\u0000", 14, &len);
		assert_refused(text, len, FW_TOOLERROR);
		free(text);
		text = replaced(FW_CONTEXT_V0, "cache_missing", "cache_missing\\u0000", 19,
				&len);
		assert_refused(text, len, FW_CONTEXT_V0);
		free(text);
	}
}

static void test_decode__refuses_a_raw_nul_or_control_byte_at_every_place(void **state)
{
	(void)state;
	for (int contract = 0; contract < FW_CONTRACT_COUNT; contract++) {
		size_t len;
		char *sample = sample_text((fw_contract)contract, &len);

		for (size_t at = 0; at < len; at++) {
			char kept = sample[at];

			sample[at] = '\0';
			assert_refused_as(sample, len, contract, "contract.not_json");
			sample[at] = '\x1f';
			assert_refused_as(sample, len, contract, "contract.not_json");
			sample[at] = kept;
		}
		free(sample);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decode__refuses_text_cut_at_every_byte),
		cmocka_unit_test(test_decode__refuses_nothing_at_all),
		cmocka_unit_test(test_decode__refuses_what_follows_an_envelope),
		cmocka_unit_test(test_decode__refuses_a_byte_order_mark),
		cmocka_unit_test(test_decode__refuses_100000_levels),
		cmocka_unit_test(test_decode__refuses_100_megabytes_at_once),
		cmocka_unit_test(test_registry_load__refuses_100_megabytes_at_once),
		cmocka_unit_test(test_decode__keeps_a_long_message_whole),
		cmocka_unit_test(test_decode__refuses_invalid_utf8_at_every_byte),
		cmocka_unit_test(test_decode__refuses_every_kind_of_invalid_utf8),
		cmocka_unit_test(test_from_text__makes_utf8_of_any_bytes),
		cmocka_unit_test(test_setters__make_utf8_of_any_bytes),
		cmocka_unit_test(test_decode__refuses_a_lone_surrogate),
		cmocka_unit_test(test_decode__is_not_cut_by_a_nul),
		cmocka_unit_test(test_decode__refuses_a_raw_nul_or_control_byte_at_every_place),
	};

	return cmocka_run_group_tests(tests, memory_setup, memory_teardown);
}

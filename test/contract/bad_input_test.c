/*
 * bad_input_test.c - what peers send that they should not.
 *
 * Every input is handed over in a block of exactly its size, without a final
 * NUL, so that a sanitizer or valgrind sees a read past its end. An input is
 * refused with an error that says where, or taken; never anything else, and
 * nothing of it stays behind.
 */
#include "support.h"
#include "test/rounds.h"

#include <stdio.h>
#include <time.h>

static const char *name_of(int contract)
{
	return fw_contract_name((fw_contract)contract);
}

/* ---- handing in ------------------------------------------------------- */

static char *exactly(const char *text, size_t len)
{
	char *block = malloc(len ? len : 1);

	assert_non_null(block);
	if (len)
		memcpy(block, text, len);
	return block;
}

/* The place that an error of a reader names, or SIZE_MAX where it names none. */
static size_t position_of(const fw_error *err)
{
	fw_field field;

	if (!fw_error_find_field(err, "position", &field))
		return SIZE_MAX;
	if (field.type == FW_FIELD_U64)
		return (size_t)field.u64;
	return field.type == FW_FIELD_I64 ? (size_t)field.i64 : SIZE_MAX;
}

static const char *pointer_of(const fw_error *err)
{
	fw_field field;

	return fw_error_find_field(err, "pointer", &field) && field.type == FW_FIELD_STRING
		       ? field.string
		       : NULL;
}

/* Is a refusal one that fw_error_decode() documents, and does it say where? */
static void assert_clear(const fw_error *err, size_t len)
{
	const char *code = fw_error_name(err);

	assert_non_null(fw_error_message(err));
	assert_true(fw_error_message(err)[0] != '\0');
	if (strcmp(code, "contract.not_json") == 0 ||
	    strcmp(code, "input.invalid_encoding") == 0) {
		if (position_of(err) > len)
			fail_msg("%s names no position: %s", code, fw_error_message(err));
	} else if (strcmp(code, "contract.malformed") == 0) {
		if (!pointer_of(err))
			fail_msg("%s names no pointer: %s", code, fw_error_message(err));
	} else if (strcmp(code, "input.too_large") != 0 &&
		   strcmp(code, "input.too_deep") != 0 &&
		   strcmp(code, "registry.code_unregistered") != 0) {
		fail_msg("a refusal is not %s: %s", code, fw_error_message(err));
	}
	assert_encodes(err);
}

/* Reads; answers the refusal (yours), or NULL when it was taken. What was taken
 * is written in every contract, and as `*ret_text` in its own (may be NULL). */
static fw_error *read_as(const char *text, size_t len, int contract, char **ret_text)
{
	char *block = exactly(text, len);
	fw_error *read = NULL;
	fw_error *err = fw_error_decode(block, len, (fw_contract)contract, NULL, &read);

	free(block);
	if (err) {
		assert_null(read);
		assert_clear(err, len);
		return err;
	}
	assert_non_null(read);
	assert_encodes(read);
	if (ret_text) {
		size_t whole;
		fw_error *failed =
			fw_error_to_text(read, (fw_contract)contract, NULL, ret_text, &whole);

		assert_null(failed);
		assert_int_equal(strlen(*ret_text), whole);
	}
	fw_error_free(read);
	return NULL;
}

struct told {
	size_t count;
	char first[512];
};

static void tell(void *ctx, const fw_violation_info *violation)
{
	struct told *told = ctx;

	assert_non_null(violation->pointer);
	assert_non_null(violation->rule);
	assert_non_null(violation->expected);
	assert_non_null(violation->found);
	assert_true(violation->pointer[0] == '\0' || violation->pointer[0] == '/');
	if (told->count++ == 0)
		(void)snprintf(told->first, sizeof(told->first), "%s", violation->pointer);
}

/* Number of violations, or SIZE_MAX where the text could not be judged. */
static size_t violations(const char *text, size_t len, int contract, struct told *told)
{
	char *block = exactly(text, len);
	size_t count = SIZE_MAX - 1;
	fw_error *err;

	memset(told, 0, sizeof(*told));
	err = fw_validate(block, len, (fw_contract)contract, NULL, tell, told, &count);
	free(block);
	if (err) {
		assert_int_equal(count, SIZE_MAX - 1);
		assert_clear(err, len);
		fw_error_free(err);
		return SIZE_MAX;
	}
	assert_int_equal(count, told->count);
	assert_true(count <= FW_VIOLATIONS_MAX);
	return count;
}

/* Refused by the reader, and invalid for the validator. */
static fw_error *refusal(const char *text, size_t len, int contract)
{
	struct told told;
	fw_error *err = read_as(text, len, contract, NULL);

	if (!err)
		fail_msg("%s took %.*s", name_of(contract), len > 300 ? 300 : (int)len, text);
	if (violations(text, len, contract, &told) == 0)
		fail_msg("%s is refused but valid: %.*s", name_of(contract),
			 len > 300 ? 300 : (int)len, text);
	return err;
}

static void assert_refused(const char *text, size_t len, int contract)
{
	fw_error_free(refusal(text, len, contract));
}

static void assert_refused_as(const char *text, size_t len, int contract, const char *code)
{
	fw_error *err = refusal(text, len, contract);

	if (strcmp(fw_error_name(err), code) != 0)
		fail_msg("%s refused with %s, not %s: %.*s", name_of(contract),
			 fw_error_name(err), code, len > 300 ? 300 : (int)len, text);
	fw_error_free(err);
}

/* Sniffing never fails; what it answers can be read so. */
static void assert_sniffs(const char *text, size_t len)
{
	char *block = exactly(text, len);
	fw_contract found = fw_sniff(block, len);
	fw_error *read = NULL;
	fw_error *err = fw_error_decode(block, len, FW_AUTO, NULL, &read);

	assert_true((int)found >= 0 && found <= FW_PLAIN_TEXT);
	assert_true(!err != !read);
	if (err)
		assert_clear(err, len);
	else
		assert_encodes(read);
	fw_error_free(err);
	fw_error_free(read);
	free(block);
}

/* The sample of a contract with `from` (first occurrence) replaced by `to`. */
static char *replaced(int contract, const char *from, const char *to, size_t to_len,
		      size_t *ret_len)
{
	size_t len, before;
	char *sample = sample_text((fw_contract)contract, &len);
	char *at = strstr(sample, from);
	char *text;

	if (!at)
		fail_msg("%s: no %s in %s", name_of(contract), from, sample);
	before = (size_t)(at - sample);
	text = malloc(len - strlen(from) + to_len + 1);
	assert_non_null(text);
	memcpy(text, sample, before);
	memcpy(text + before, to, to_len);
	memcpy(text + before + to_len, at + strlen(from), strlen(at + strlen(from)) + 1);
	*ret_len = len - strlen(from) + to_len;
	free(sample);
	return text;
}

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
		/* a NUL behind the envelope is not the end of a C string here */
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

/* Where a contract keeps a value of any shape. */
static const struct {
	const char *from, *before, *after;
} any_place[FW_CONTRACT_COUNT] = {
	[FW_CANONICAL] = { "\"def main\"", "", "" },
	[FW_KAIZA] = { "{\"message\":\"No", "{\"deep\":", ",\"message\":\"No" },
	[FW_CONTEXT_V0] = { "{\"error\"", "{\"deep\":", ",\"error\"" },
	[FW_CODEINTEL] = { "\"src/main.py\"", "", "" },
	[FW_TOOLERROR] = { "\"data\":{", "\"data\":{\"deep\":", "," },
	[FW_OWLCLAW] = { "{\"limit\":5}", "{\"limit\":", "}" },
	[FW_OWLCLAW_API] = { "{\"limit\":5}", "{\"limit\":", "}" },
};

/* The sample with `value` at the place for any value. */
static char *with_value(int contract, const char *value, size_t len, size_t *ret_len)
{
	const char *before = any_place[contract].before, *after = any_place[contract].after;
	char *to = malloc(strlen(before) + len + strlen(after) + 1);
	char *text;

	assert_non_null(to);
	memcpy(to, before, strlen(before));
	memcpy(to + strlen(before), value, len);
	memcpy(to + strlen(before) + len, after, strlen(after));
	text = replaced(contract, any_place[contract].from, to,
			strlen(before) + len + strlen(after), ret_len);
	free(to);
	return text;
}

static void test_decode__refuses_100000_levels(void **state)
{
	(void)state;
	for (int arrays = 0; arrays < 2; arrays++) {
		size_t deep_len, len;
		char *deep = nest(arrays, &deep_len);
		struct told told;
		fw_error *err;

		for (int contract = 0; contract < FW_CONTRACT_COUNT; contract++) {
			char *text = with_value(contract, deep, deep_len, &len);

			/* an unknown member may be passed over, whatever it holds */
			err = read_as(text, len, contract, NULL);
			if (!err && contract != FW_CONTEXT_V0)
				fail_msg("%s accepted it", name_of(contract));
			if (err)
				assert_string_equal(fw_error_name(err), "input.too_deep");
			fw_error_free(err);
			(void)violations(text, len, contract, &told);
			assert_sniffs(text, len);
			free(text);

			/* the whole text is the nest, closed or not */
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
		/* not a race: a pass over the bytes takes longer than this with ASan */
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

/* Long but within the limit is not bad input: nothing of it is lost. */
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
			/* no later than the byte itself, which nothing can follow (yyjson
			 * names the place behind it where a digit is missing) */
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

/* Text that is no JSON and no UTF-8 is a tool's doing; what we say of it is. */
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

/* Written \u0000 it is valid: kept or refused, but never the end of a text. */
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
	/* in a code it makes another, unknown code */
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

/* ---- members ---------------------------------------------------------- */

/* What a member may be: n null, b boolean, i integer, f any number, s string, a
 * array, o object. After a space: what a reader may pass over, too, because it
 * takes the registry's word instead, or null for absent. */
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

/* The sample with the member at `pointer` made `json`, or left out (NULL). */
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

/* Reads `text` and judges what is written of it: invalid in, valid out. */
static size_t violations_after(const char *text, size_t len, int contract, char *ret_first,
			       size_t cap)
{
	struct told told;
	char *again = NULL;
	size_t count;

	assert_null(read_as(text, len, contract, &again));
	count = violations(again, strlen(again), contract, &told);
	(void)snprintf(ret_first, cap, "%s in %s", told.first, again);
	fw_free(again);
	return count;
}

/* The member `m` made `json`, a value of a wrong type: what is wrong, or NULL. */
static const char *wrong_member(size_t m, char letter, const char *json)
{
	static char answer[2048];
	const char *pointer = members[m].pointer, *passed = strchr(members[m].valid_kinds, ' ');
	int contract = members[m].contract;
	size_t len;
	char *text = with_member(contract, pointer, json, &len);
	fw_error *err = read_as(text, len, contract, NULL);
	struct told told;
	size_t count = violations(text, len, contract, &told);

	answer[0] = '\0';
	if (count == 0)
		(void)snprintf(answer, sizeof(answer), "it is valid");
	else if (strcmp(told.first, pointer) != 0)
		(void)snprintf(answer, sizeof(answer), "violation told at %s", told.first);
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
			/* where the type is right, the value may be wrong all the same */
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
		struct told told;
		size_t len;
		char *text = with_member(members[m].contract, members[m].pointer, NULL, &len);

		fw_error_free(read_as(text, len, members[m].contract, NULL));
		(void)violations(text, len, members[m].contract, &told);
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
		struct told told;
		fw_error *err = read_as(text, len, places[i].contract, NULL);

		if (!err) {
			print_error("%s took %s\n", name_of(places[i].contract), places[i].to);
			wrong++;
		} else if (strcmp(fw_error_name(err), "contract.malformed") != 0) {
			print_error("%s refused %s with %s\n", name_of(places[i].contract),
				    places[i].to, fw_error_message(err));
			wrong++;
		}
		if (violations(text, len, places[i].contract, &told) == 0) {
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
		"9007199254740993", /* 2^53 + 1: no double holds it */
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
			struct told told;

			(void)snprintf(to, sizeof(to), "%.*s%s",
				       (int)(strchr(places[p], ':') - places[p] + 1), places[p],
				       numbers[i]);
			text = replaced(FW_OWLCLAW_API, places[p], to, strlen(to), &len);
			fw_error_free(read_as(text, len, FW_OWLCLAW_API, NULL));
			(void)violations(text, len, FW_OWLCLAW_API, &told);
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

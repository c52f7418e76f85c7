#include "base/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* RFC 4648, section 10. */
static const char *const vectors[][2] = {
	{ "", "" },
	{ "f", "Zg" },
	{ "fo", "Zm8" },
	{ "foo", "Zm9v" },
	{ "foob", "Zm9vYg" },
	{ "fooba", "Zm9vYmE" },
	{ "foobar", "Zm9vYmFy" },
	{ "\xfb\xff\xbf", "-_-_" },
};

static void test_base64__the_vectors_of_the_standard_both_ways(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
		const char *bytes = vectors[i][0];
		const char *text = vectors[i][1];
		unsigned char read[16];
		size_t len;
		struct fw_buf out;

		fw_buf_init(&out, 64);
		fw_base64url_put(&out, (const unsigned char *)bytes, strlen(bytes));
		assert_string_equal(out.len ? out.text : "", text);
		fw_buf_clear(&out);
		assert_true(fw_base64_read(text, strlen(text), read, &len));
		assert_int_equal(len, strlen(bytes));
		assert_memory_equal(read, bytes, len);
	}
}

static void test_base64__reads_the_other_alphabet_too(void **state)
{
	unsigned char read[16];
	size_t len;

	(void)state;
	assert_true(fw_base64_read("+/+/", 4, read, &len));
	assert_memory_equal(read, "\xfb\xff\xbf", 3);
}

static void test_base64__refuses_invalid_text(void **state)
{
	static const char *const texts[] = { "Z", "Zm9vZ", "Zg==", "Z g", "Zm\n9v", "Zm9\xc3" };
	unsigned char read[16];
	size_t len;

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		assert_false(fw_base64_read(texts[i], strlen(texts[i]), read, &len));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_base64__the_vectors_of_the_standard_both_ways),
		cmocka_unit_test(test_base64__reads_the_other_alphabet_too),
		cmocka_unit_test(test_base64__refuses_invalid_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

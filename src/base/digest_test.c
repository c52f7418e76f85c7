#include "base/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void check(const unsigned char *hash, const char *expected)
{
	char text[FW_SHA256_TEXT];

	fw_hex(hash, FW_SHA256_BYTES, text);
	assert_string_equal(text, expected);
}

/* FIPS 180-4. */
static void test_digest__sha256_of_known_texts(void **state)
{
	unsigned char hash[FW_SHA256_BYTES];

	(void)state;
	assert_true(fw_sha256("abc", 3, hash));
	check(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_true(fw_sha256("", 0, hash));
	check(hash, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

/* RFC 4231, cases 1 and 2. */
static void test_digest__hmac_of_known_texts(void **state)
{
	unsigned char key[20];
	unsigned char mac[FW_SHA256_BYTES];

	(void)state;
	memset(key, 0x0b, sizeof key);
	assert_true(fw_hmac_sha256(key, sizeof key, "Hi There", 8, mac));
	check(mac, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	assert_true(fw_hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, mac));
	check(mac, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

static void test_digest__a_hasher_in_pieces_and_again(void **state)
{
	struct fw_hasher *hasher = fw_hasher_new();
	unsigned char hash[FW_SHA256_BYTES];

	(void)state;
	assert_non_null(hasher);
	for (int i = 0; i < 2; i++) {
		fw_hasher_add(hasher, "a", 1);
		fw_hasher_add(hasher, "bc", 2);
		assert_true(fw_hasher_take(hasher, hash));
		check(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	}
	fw_hasher_free(hasher);
	fw_hasher_free(NULL);
}

static void test_digest__compares_every_byte(void **state)
{
	(void)state;
	assert_true(fw_bytes_equal("abc", "abc", 3));
	assert_false(fw_bytes_equal("abc", "abd", 3));
	assert_false(fw_bytes_equal("abc", "bbc", 3));
	assert_true(fw_bytes_equal("", "", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_digest__sha256_of_known_texts),
		cmocka_unit_test(test_digest__hmac_of_known_texts),
		cmocka_unit_test(test_digest__a_hasher_in_pieces_and_again),
		cmocka_unit_test(test_digest__compares_every_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

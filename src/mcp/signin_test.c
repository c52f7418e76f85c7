/*
 * signin_test.c - browsers that are signed in.
 */
#include "mcp/signin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "test/memory.h"

static const char *token_of(const struct fw_signins *signins, const char *cookies, int64_t now)
{
	static char text[64];
	size_t len = 0;
	const char *token = fw_signin_token(signins, cookies, now, &len);

	if (!token)
		return NULL;
	(void)snprintf(text, sizeof text, "%.*s", (int)len, token);
	return text;
}

static void cookie_of(const char *id, char ret_cookie[192])
{
	(void)snprintf(ret_cookie, 192,
		       "theme=dark; " FW_SIGNIN_COOKIE
		       "_1=0123456789012345678901234567890123456789; " FW_SIGNIN_COOKIE
		       "_8940=%s; other=1",
		       id);
}

static void test_signin__the_id_stands_for_the_token(void **state)
{
	struct fw_signins signins = { 0 };
	char id[FW_SIGNIN_ID_SIZE], cookie[192];

	(void)state;
	assert_null(fw_signin_add(&signins, "secret", 6, 1000, id));
	assert_int_equal(strlen(id), FW_SIGNIN_ID_SIZE - 1);
	assert_null(strstr(id, "secret"));
	cookie_of(id, cookie);
	assert_string_equal(token_of(&signins, cookie, 2000), "secret");
	fw_signin_remove(&signins, cookie);
	assert_null(token_of(&signins, cookie, 2000));
	fw_signins_clear(&signins);
}

static void test_signin__an_id_expires(void **state)
{
	struct fw_signins signins = { 0 };
	char id[FW_SIGNIN_ID_SIZE], cookie[192];

	(void)state;
	assert_null(fw_signin_add(&signins, "secret", 6, 1000, id));
	cookie_of(id, cookie);
	assert_non_null(token_of(&signins, cookie, 1000 + FW_SIGNIN_MS));
	assert_null(token_of(&signins, cookie, 1001 + FW_SIGNIN_MS));
	fw_signins_clear(&signins);
}

static void test_signin__other_cookies_are_ignored(void **state)
{
	static const char *const cookies[] = {
		"",
		";",
		"=",
		FW_SIGNIN_COOKIE,
		FW_SIGNIN_COOKIE "=",
		FW_SIGNIN_COOKIE "=short",
		"x" FW_SIGNIN_COOKIE "=0123456789012345678901234567890123456789",
		FW_SIGNIN_COOKIE "=0123456789012345678901234567890123456789",
		/* As long as the id of a row that is free. */
		FW_SIGNIN_COOKIE "=\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
	};
	struct fw_signins signins = { 0 };
	char id[FW_SIGNIN_ID_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof cookies / sizeof *cookies; i++)
		assert_null(token_of(&signins, cookies[i], 0));
	assert_null(fw_signin_add(&signins, "secret", 6, 0, id));
	for (size_t i = 0; i < sizeof cookies / sizeof *cookies; i++)
		assert_null(token_of(&signins, cookies[i], 0));
	assert_null(token_of(&signins, NULL, 0));
	fw_signins_clear(&signins);
}

static void test_signin__the_oldest_makes_room(void **state)
{
	struct fw_signins signins = { 0 };
	char first[FW_SIGNIN_ID_SIZE], last[FW_SIGNIN_ID_SIZE], cookie[192];

	(void)state;
	assert_null(fw_signin_add(&signins, "first", 5, 0, first));
	for (int i = 0; i < FW_SIGNINS_MAX; i++)
		assert_null(fw_signin_add(&signins, "last", 4, 0, last));
	cookie_of(first, cookie);
	assert_null(token_of(&signins, cookie, 0));
	cookie_of(last, cookie);
	assert_string_equal(token_of(&signins, cookie, 0), "last");
	fw_signins_clear(&signins);
}

static void add_one(void)
{
	struct fw_signins signins = { 0 };
	char id[FW_SIGNIN_ID_SIZE];

	fw_error_free(fw_signin_add(&signins, "secret", 6, 0, id));
	fw_signins_clear(&signins);
}

static void test_signin__survives_every_allocation_failure(void **state)
{
	(void)state;
	each_allocation_fails(add_one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signin__the_id_stands_for_the_token),
		cmocka_unit_test(test_signin__an_id_expires),
		cmocka_unit_test(test_signin__other_cookies_are_ignored),
		cmocka_unit_test(test_signin__the_oldest_makes_room),
		cmocka_unit_test(test_signin__survives_every_allocation_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

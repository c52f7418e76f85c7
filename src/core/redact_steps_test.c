/*
 * redact_steps_test.c - the work of the redactor grows with the text, whatever
 * the text is. Counted, not timed: the sources are compiled with a call at each
 * basic block, and with counted memmem(), memchr() and memrchr().
 */
#include "core/redact.h"
#include "core/redact_stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
	SMALL = 16 * 1024,
	LARGE = 8 * SMALL,
	RATIO_MAX = 12, /* 8 would be exactly as the text grows */
	PER_BYTE_MAX =
		2000 /* steps; the worst is "x://a:b", of which 1,024 bytes are searched */
};

static uint64_t steps;

void __sanitizer_cov_trace_pc(void);
void *fw_counted_memmem(const void *in, size_t len, const void *what, size_t n);
void *fw_counted_memchr(const void *in, int what, size_t len);
void *fw_counted_memrchr(const void *in, int what, size_t len);

void __sanitizer_cov_trace_pc(void)
{
	steps++;
}

void *fw_counted_memmem(const void *in, size_t len, const void *what, size_t n)
{
	const char *found = memmem(in, len, what, n);

	steps += (found ? (size_t)(found - (const char *)in) : len) / 8;
	return (void *)(uintptr_t)found;
}

void *fw_counted_memchr(const void *in, int what, size_t len)
{
	const char *found = memchr(in, what, len);

	steps += (found ? (size_t)(found - (const char *)in) : len) / 8;
	return (void *)(uintptr_t)found;
}

void *fw_counted_memrchr(const void *in, int what, size_t len)
{
	const char *found = memrchr(in, what, len);

	steps += (found ? len - (size_t)(found - (const char *)in) : len) / 8;
	return (void *)(uintptr_t)found;
}

static const char *const units[] = {
	"password=password=",
	"password=",
	"password: ",
	"password ",
	"password is ",
	"password: |\n",
	"password: |\n  a\n",
	"\"password\":\"",
	"pass:",
	"-----BEGIN",
	"-----BEGIN RSA PRI"
	"VATE KEY-----",
	"-----BEGIN RSA PRI"
	"VATE KEY-----\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn\n",
	"-----END RSA PRI"
	"VATE KEY-----",
	"AbCdEf0123456789AbCdEf0123456789AbCdEf\n",
	"AbCdEf0123456789AbCdEf0123456789AbCdEf\n-----END RSA PRI"
	"VATE KEY-----\n",
	"---- BEGIN SSH2 PRI"
	"VATE KEY ----\n",
	"a-----",
	"-",
	"--",
	"<password>",
	"<password",
	"<password><password>",
	"password>",
	"<a b=\"c\">",
	"/webhooks/a1",
	"https://hooks.slack.com/a1B2c3D4e5F6g7H8/",
	"x://a:b",
	"://",
	"@",
	"a:b@",
	"a:b@tcp(",
	"a:b@h:80",
	"%",
	"%3D",
	"%253D",
	"password%3D",
	"api%5Fkey=",
	"%22",
	"token=your_",
	"token:/a/",
	"token='",
	"token=\"is ",
	"eyJhbGciOiJIUzI1.",
	"SG.aaaaaaaaaaaaaaaa.",
	"dp.pt.aaaaaaaaaaaaaaaa.",
	"1//0aaaaaaaaaaaaaaaa",
	"Bearer a.",
	"Bearer ",
	"--token ",
	"-p ",
	"mysql -p",
	"curl -u a:",
	"curl -u ",
	"--user a",
	"machine login password x ",
	"login machine password",
	"mnemonic: abandon ",
	"abandon ",
	"mnemonic: ",
	"Private-Lines: 1\nAAAA\n",
	"Private-Lines: 1",
	"\"name\":\"a\",\"value\":\"",
	"value=",
	"Q~",
	"abc8Q~",
	"\xef\xbc\x9a",
	"\xc2\xa0",
	"password\xc2\xa0",
	"\\n",
	"\\\"token\\\":\\\"is ",
	"\033[1m",
	"Authorization: a ",
	"Authorization: Digest a=\"is ",
	"cookie: a;",
	"_",
	"=",
	":",
	"sk-",
	"key-",
};

static uint64_t steps_of(const char *unit, size_t len)
{
	size_t n = strlen(unit);
	char *text = malloc(len);

	assert_non_null(text);
	for (size_t at = 0; at < len; at++)
		text[at] = unit[at % n];
	steps = 0;
	(void)fw_redact_copy(NULL, 0, text, len);
	free(text);
	return steps;
}

static void test_steps__grow_with_the_length_of_any_text(void **state)
{
	size_t wrong = 0;

	(void)state;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		uint64_t small = steps_of(units[i], SMALL), large = steps_of(units[i], LARGE);

		if (large <= RATIO_MAX * (small + 1000) &&
		    large <= (uint64_t)PER_BYTE_MAX * LARGE)
			continue;
		print_message("%s: %llu steps for %d bytes, %llu for %d\n", units[i],
			      (unsigned long long)small, SMALL, (unsigned long long)large,
			      LARGE);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

static void ignore(void *ctx, const char *text, size_t len)
{
	(void)ctx;
	(void)text;
	(void)len;
}

/* In pieces of a pipe: the window is searched again for each of them. */
static void test_steps__of_a_stream_grow_with_the_text(void **state)
{
	struct fw_redact_stream *stream = calloc(1, sizeof *stream);
	size_t wrong = 0;

	(void)state;
	assert_non_null(stream);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		size_t n = strlen(units[i]);
		char piece[4096];

		for (size_t at = 0; at < sizeof piece; at++)
			piece[at] = units[i][at % n];
		steps = 0;
		for (size_t len = 0; len < LARGE; len += sizeof piece)
			fw_redact_stream_add(stream, piece, sizeof piece, ignore, NULL);
		fw_redact_stream_end(stream, ignore, NULL);
		if (steps <= (uint64_t)4 * PER_BYTE_MAX * LARGE)
			continue;
		print_message("%s: %llu steps\n", units[i], (unsigned long long)steps);
		wrong++;
	}
	assert_int_equal(wrong, 0);
	free(stream);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps__grow_with_the_length_of_any_text),
		cmocka_unit_test(test_steps__of_a_stream_grow_with_the_text),
	};

	return cmocka_run_group_tests_name("redact_steps", tests, NULL, NULL);
}

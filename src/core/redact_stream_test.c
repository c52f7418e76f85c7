/*
 * redact_stream_test.c - text in pieces is redacted like the same text in one,
 * and what is cut is redacted first.
 */
#include "core/redact_stream.h"
#include "core/redact.h"
#include "test/rounds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
/* Put together here, or scanners of source code take it for a real one. */
#define BEGIN_KEY            \
	"-----BEGIN RSA PRI" \
	"VATE KEY-----\n"
#define END_KEY            \
	"-----END RSA PRI" \
	"VATE KEY-----\n"

enum { OUT_MAX = 1 << 20, KEY_LINES = 40 };

struct out {
	char *text;
	size_t len;
};

static void take(void *ctx, const char *text, size_t len)
{
	struct out *out = ctx;

	assert_true(out->len + len < OUT_MAX);
	memcpy(out->text + out->len, text, len);
	out->len += len;
	out->text[out->len] = '\0';
}

static struct out run(const char *text, size_t len, size_t piece)
{
	struct out out = { malloc(OUT_MAX), 0 };
	struct fw_redact_stream *stream = calloc(1, sizeof *stream);

	assert_non_null(out.text);
	assert_non_null(stream);
	out.text[0] = '\0';
	for (size_t at = 0; at < len; at += piece)
		fw_redact_stream_add(stream, text + at, len - at < piece ? len - at : piece,
				     take, &out);
	fw_redact_stream_end(stream, take, &out);
	free(stream);
	return out;
}

/* Lines of base64, each with its number in it. */
static size_t put_body(char *text, size_t lines)
{
	size_t len = 0;

	for (size_t i = 0; i < lines; i++)
		len += (size_t)snprintf(
			text + len, 4096,
			"Line%04zuqZkX3vTn8RwYb2LmPdHs7CgJf5UaEo1KiVx9NtBcDrMyWz4Gh6QSl\n", i);
	return len;
}

static const size_t pieces[] = { 1, 7, 65, 1000, 4096, 100000 };

static void assert_hidden(const char *text, size_t len)
{
	for (size_t i = 0; i < COUNT(pieces); i++) {
		struct out out = run(text, len, pieces[i]);

		if (strstr(out.text, "qZkX3"))
			print_message("in pieces of %zu: %.300s\n", pieces[i],
				      strstr(out.text, "qZkX3"));
		assert_null(strstr(out.text, "qZkX3"));
		assert_null(strstr(out.text, "MyWz4Gh6"));
		assert_non_null(strstr(out.text, "before\n"));
		assert_non_null(strstr(out.text, "after\n"));
		assert_non_null(strstr(out.text, FW_REDACTED));
		free(out.text);
	}
}

static void test_stream__a_private_key_in_pieces_is_hidden(void **state)
{
	static char text[1 << 18];
	const size_t lines[] = { 1, 30, 400, (size_t)test_rounds(2000) };

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++) {
		size_t len = (size_t)snprintf(text, 4096, "before\n" BEGIN_KEY);

		len += put_body(text + len, lines[i]);
		len += (size_t)snprintf(text + len, 4096, END_KEY "after\n");
		assert_hidden(text, len);
	}
}

static void test_stream__a_private_key_without_its_first_lines_is_hidden(void **state)
{
	static char text[1 << 16];
	size_t len = (size_t)snprintf(text, 4096, "before\n");

	(void)state;
	len += put_body(text + len, KEY_LINES);
	len += (size_t)snprintf(text + len, 4096, END_KEY "after\n");
	assert_hidden(text, len);
}

static void test_stream__a_block_scalar_in_pieces_is_hidden(void **state)
{
	static char text[1 << 16];
	size_t len = (size_t)snprintf(text, 4096, "before\npassword: |\n");

	(void)state;
	for (int i = 0; i < 300; i++)
		len += (size_t)snprintf(text + len, 4096,
					"  a part %d qZkX3vTn8 of it MyWz4Gh6\n", i);
	len += (size_t)snprintf(text + len, 4096, "port: 1\nafter\n");
	assert_hidden(text, len);
}

static void test_stream__a_value_over_the_edge_of_the_window_is_hidden(void **state)
{
	static char text[1 << 16];

	(void)state;
	for (size_t pad = 7000; pad < 17000; pad += 97) {
		size_t len = (size_t)snprintf(text, 4096, "before\n");
		struct out out;

		for (size_t i = 0; i < pad; i++)
			text[len++] = i % 9 ? 'x' : ' ';
		len += (size_t)snprintf(text + len, 4096,
					" password=qZkX3vTn8RwYb2MyWz4Gh6 after\n");
		out = run(text, len, 4096);
		assert_null(strstr(out.text, "vTn8"));
		assert_null(strstr(out.text, "MyWz"));
		assert_non_null(strstr(out.text, "after\n"));
		free(out.text);
	}
}

static void test_stream__other_text_comes_out_as_it_went_in(void **state)
{
	static char text[1 << 17];
	size_t len = 0;

	(void)state;
	for (int i = 0; i < 1500; i++)
		len += (size_t)snprintf(text + len, 4096, "%*sline %d of the build log%s",
					i % 30, "", i, i % 7 ? "\n" : "\r\n\n");
	len += put_body(text + len, 200); /* an image, perhaps */
	len += (size_t)snprintf(text + len, 4096, "no newline at the end");
	for (size_t i = 0; i < COUNT(pieces); i++) {
		struct out out = run(text, len, pieces[i]);

		assert_int_equal(out.len, len);
		assert_memory_equal(out.text, text, len);
		free(out.text);
	}
}

static void test_stream__a_line_without_an_end_takes_no_more_than_the_window(void **state)
{
	static char text[1 << 19];
	struct out out;

	(void)state;
	memset(text, 'y', sizeof text);
	out = run(text, sizeof text, 4096);
	assert_int_equal(out.len, sizeof text);
	free(out.text);
}

/* ---- the cut ---------------------------------------------------------------- */

static void test_cut__a_key_at_the_cut_is_hidden(void **state)
{
	static char text[1 << 14];
	char out[256];

	(void)state;
	for (size_t pad = 0; pad < sizeof out; pad++) {
		size_t len = pad, kept;

		memset(text, '.', pad);
		len += (size_t)snprintf(text + len, 4096, " " BEGIN_KEY);
		len += put_body(text + len, KEY_LINES);
		len += (size_t)snprintf(text + len, 4096, END_KEY);
		kept = fw_redact_cut(out, sizeof out, text, len);
		assert_true(kept < sizeof out);
		assert_int_equal(strlen(out), kept);
		assert_null(strstr(out, "Line"));
		assert_null(strstr(out, "BEGIN"));
	}
}

static void test_cut__a_secret_that_only_its_end_shows_is_hidden(void **state)
{
	static char text[1 << 14];
	char out[512];
	size_t len = put_body(text, KEY_LINES);

	(void)state;
	len += (size_t)snprintf(text + len, 4096, END_KEY);
	(void)fw_redact_cut(out, sizeof out, text, len);
	assert_null(strstr(out, "qZkX3"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stream__a_private_key_in_pieces_is_hidden),
		cmocka_unit_test(test_stream__a_private_key_without_its_first_lines_is_hidden),
		cmocka_unit_test(test_stream__a_block_scalar_in_pieces_is_hidden),
		cmocka_unit_test(test_stream__a_value_over_the_edge_of_the_window_is_hidden),
		cmocka_unit_test(test_stream__other_text_comes_out_as_it_went_in),
		cmocka_unit_test(
			test_stream__a_line_without_an_end_takes_no_more_than_the_window),
		cmocka_unit_test(test_cut__a_key_at_the_cut_is_hidden),
		cmocka_unit_test(test_cut__a_secret_that_only_its_end_shows_is_hidden),
	};

	return cmocka_run_group_tests_name("redact_stream", tests, NULL, NULL);
}

/*
 * sse_test.c - events as a server writes them, and as any server might.
 */
#include "rpc/sse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "test/memory.h"

/* What was delivered, one "type|id|data;" per event. */
struct heard {
	char text[4096];
	size_t len;
	unsigned count;
	unsigned stop_after; /* 0: never */
};

static bool hear(void *ctx, const struct fw_sse_received *event)
{
	struct heard *heard = ctx;

	heard->len +=
		(size_t)snprintf(heard->text + heard->len, sizeof heard->text - heard->len,
				 "%.*s|%.*s|%.*s;", (int)event->type_len, event->type,
				 (int)event->id_len, event->id, (int)event->len, event->data);
	return ++heard->count != heard->stop_after;
}

/* Pushes `text` in pieces of `step` bytes. */
static enum fw_sse_status read_in_steps(const char *text, size_t len, size_t step,
					struct heard *ret_heard)
{
	struct fw_sse_reader reader;
	enum fw_sse_status status = FW_SSE_OK;

	*ret_heard = (struct heard){ .stop_after = ret_heard->stop_after };
	fw_sse_reader_init(&reader, 64, hear, ret_heard);
	for (size_t at = 0; at < len && status == FW_SSE_OK; at += step)
		status = fw_sse_reader_push(&reader, text + at,
					    len - at < step ? len - at : step);
	fw_sse_reader_clear(&reader);
	return status;
}

/* The same events, however the bytes are cut. */
static void expect(const char *text, const char *events)
{
	struct heard heard = { .stop_after = 0 };

	for (size_t step = 1; step <= strlen(text) + 1; step++) {
		assert_int_equal(read_in_steps(text, strlen(text), step, &heard), FW_SSE_OK);
		assert_string_equal(heard.text, events);
	}
}

static void test_sse__reads_what_it_writes(void **state)
{
	struct fw_buf out;
	struct heard heard = { .stop_after = 0 };

	(void)state;
	fw_buf_init(&out, 4096);
	fw_sse_put(&out, &(struct fw_sse_event){ .data = "", .id = "1", .retry_ms = 500 });
	fw_sse_put_comment(&out);
	fw_sse_put(&out, &(struct fw_sse_event){ .data = "{}", .len = 2, .id = "2" });
	fw_sse_put(&out, &(struct fw_sse_event){ .data = "[]", .len = 2 });
	assert_int_equal(out.state, FW_BUF_OK);
	assert_int_equal(read_in_steps(out.text, out.len, 5, &heard), FW_SSE_OK);
	assert_string_equal(heard.text, "message|1|;message|2|{};message|2|[];");
	fw_buf_clear(&out);
}

static void test_sse__every_line_ending_ends_a_line(void **state)
{
	(void)state;
	expect("data: a\n\ndata: b\r\n\r\ndata: c\r\r", "message||a;message||b;message||c;");
	expect("data: a\r\n\ndata: b\r\rdata: c\n\r", "message||a;message||b;message||c;");
}

static void test_sse__data_lines_are_joined_by_a_newline(void **state)
{
	(void)state;
	expect("data: a\ndata:b\ndata:  c\n\n", "message||a\nb\n c;");
	expect("data\ndata\n\n", "message||\n;");
}

static void test_sse__comments_and_unknown_fields_are_ignored(void **state)
{
	(void)state;
	expect(": keep-alive\nfoo: bar\nfoo\ndata: a\n\n", "message||a;");
	expect("\n\n\n", "");
}

static void test_sse__an_id_stays_until_the_next_one(void **state)
{
	(void)state;
	expect("id: 7\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
	       "message|7|a;message|7|b;message||c;");
}

static void test_sse__an_id_with_a_nul_is_ignored(void **state)
{
	static const char TEXT[] = "id: 1\ndata: a\n\nid: 2\0x\ndata: b\n\n";
	struct heard heard = { .stop_after = 0 };

	(void)state;
	assert_int_equal(read_in_steps(TEXT, sizeof TEXT - 1, 3, &heard), FW_SSE_OK);
	assert_string_equal(heard.text, "message|1|a;message|1|b;");
}

static void test_sse__a_byte_order_mark_is_skipped_once(void **state)
{
	(void)state;
	expect("\xEF\xBB\xBF"
	       "data: a\n\n\xEF\xBB\xBF"
	       "data: b\n\n",
	       "message||a;");
}

static void test_sse__the_event_field_names_the_type(void **state)
{
	(void)state;
	expect("event: ping\ndata: a\n\nevent: lost\n\ndata: b\n\n", "ping||a;message||b;");
}

static void test_sse__retry_is_a_number_of_milliseconds(void **state)
{
	static const char *const TEXTS[] = { "retry: 12\n", "retry: x\n",
					     "retry: 99999999999\n", "retry:\n" };
	static const uint32_t MS[] = { 12, 0, 0, 0 };

	(void)state;
	for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
		struct heard heard = { .stop_after = 0 };
		struct fw_sse_reader reader;

		fw_sse_reader_init(&reader, 64, hear, &heard);
		fw_sse_reader_push(&reader, TEXTS[i], strlen(TEXTS[i]));
		assert_int_equal(reader.retry_ms, MS[i]);
		assert_int_equal(reader.has_retry, MS[i] != 0);
		fw_sse_reader_clear(&reader);
	}
}

static void test_sse__an_event_beyond_the_limit_ends_the_stream(void **state)
{
	char text[256];
	struct heard heard = { .stop_after = 0 };

	(void)state;
	snprintf(text, sizeof text, "data: a\n\ndata: %080d\n\ndata: c\n\n", 1);
	for (size_t step = 1; step < sizeof text; step++) {
		assert_int_equal(read_in_steps(text, strlen(text), step, &heard),
				 FW_SSE_TOO_LARGE);
		assert_string_equal(heard.text, "message||a;");
	}
}

static void test_sse__many_short_lines_count_together(void **state)
{
	char text[512] = "";
	struct heard heard = { .stop_after = 0 };

	(void)state;
	for (int i = 0; i < 40; i++)
		strncat(text, "data: a\n", sizeof text - strlen(text) - 1);
	assert_int_equal(read_in_steps(text, strlen(text), 7, &heard), FW_SSE_TOO_LARGE);
	assert_int_equal(heard.count, 0);
}

static void test_sse__a_cut_stream_is_partial(void **state)
{
	struct heard heard = { .stop_after = 0 };
	struct fw_sse_reader reader;

	(void)state;
	fw_sse_reader_init(&reader, 64, hear, &heard);
	assert_false(fw_sse_reader_is_partial(&reader));
	fw_sse_reader_push(&reader, "data: {\"a\"", 10);
	assert_true(fw_sse_reader_is_partial(&reader));
	fw_sse_reader_push(&reader, "}\n", 2);
	assert_true(fw_sse_reader_is_partial(&reader));
	fw_sse_reader_push(&reader, "\n", 1);
	assert_false(fw_sse_reader_is_partial(&reader));
	fw_sse_reader_clear(&reader);
}

static void test_sse__a_callback_can_stop_the_reader(void **state)
{
	struct heard heard = { .stop_after = 1 };

	(void)state;
	assert_int_equal(read_in_steps("data: a\n\ndata: b\n\n", 18, 18, &heard),
			 FW_SSE_STOPPED);
	assert_string_equal(heard.text, "message||a;");
}

static void read_one_event(void)
{
	struct heard heard = { .stop_after = 0 };
	enum fw_sse_status status =
		read_in_steps("event: x\nid: 1\ndata: a\n\n", 24, 4, &heard);

	assert_true(status == FW_SSE_OK || status == FW_SSE_NO_MEMORY);
	assert_int_equal(heard.count, status == FW_SSE_OK);
}

static void test_sse__survives_every_allocation_failure(void **state)
{
	(void)state;
	each_allocation_fails(read_one_event);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sse__reads_what_it_writes),
		cmocka_unit_test(test_sse__every_line_ending_ends_a_line),
		cmocka_unit_test(test_sse__data_lines_are_joined_by_a_newline),
		cmocka_unit_test(test_sse__comments_and_unknown_fields_are_ignored),
		cmocka_unit_test(test_sse__an_id_stays_until_the_next_one),
		cmocka_unit_test(test_sse__an_id_with_a_nul_is_ignored),
		cmocka_unit_test(test_sse__a_byte_order_mark_is_skipped_once),
		cmocka_unit_test(test_sse__the_event_field_names_the_type),
		cmocka_unit_test(test_sse__retry_is_a_number_of_milliseconds),
		cmocka_unit_test(test_sse__an_event_beyond_the_limit_ends_the_stream),
		cmocka_unit_test(test_sse__many_short_lines_count_together),
		cmocka_unit_test(test_sse__a_cut_stream_is_partial),
		cmocka_unit_test(test_sse__a_callback_can_stop_the_reader),
		cmocka_unit_test(test_sse__survives_every_allocation_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * frame_test.c - valid and invalid frames of a worker, and pools that cannot be created.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <faultwire/raise.h>

#include <faultwire/server.h>

#include "base/buf.h"
#include "base/limits.h"
#include "mcp/op.h"
#include "worker/frame.h"

static const struct fw_op samples[] = {
	{ .kind = FW_OP_TEXT, .texts = { { "a\0b", 3 } } },
	{ .kind = FW_OP_TEXT, .texts = { { "", 0 } } },
	{ .kind = FW_OP_TEXT },
	{ .kind = FW_OP_RESOURCE_TEXT, .texts = { { "x:y", 3 }, { NULL, 0 }, { "text", 4 } } },
	{ .kind = FW_OP_PROGRESS, .numbers = { 0.5, 2 }, .texts = { { "half", 4 } } },
	{ .kind = FW_OP_LOG, .number = 3, .texts = { { "said", 4 }, { "who", 3 } } },
	{ .kind = FW_OP_CLOSE_STREAM, .number = 4000000000u },
	{ .kind = FW_OP_ERROR, .texts = { { "{}", 2 }, { "detail", 6 } } },
};
enum { SAMPLES = sizeof samples / sizeof *samples };

static void write_samples(struct fw_buf *out)
{
	fw_buf_init(out, 1024 * 1024);
	fw_worker_frame_begin(out);
	for (size_t i = 0; i < SAMPLES; i++)
		fw_worker_frame_put(out, &samples[i]);
	fw_worker_frame_end(out, FW_WORKER_FRAME_DONE, 7);
	assert_int_equal(out->state, FW_BUF_OK);
}

static void test_frame__operations_are_read_as_they_were_written(void **state)
{
	struct fw_worker_frame_reader reader;
	struct fw_worker_frame frame;
	struct fw_buf out;
	struct fw_op op;

	(void)state;
	write_samples(&out);
	memcpy(&frame, out.text, sizeof frame);
	assert_int_equal(frame.kind, FW_WORKER_FRAME_DONE);
	assert_int_equal(frame.run, 7);
	assert_int_equal(frame.len, out.len - sizeof frame);
	reader = (struct fw_worker_frame_reader){ out.text + sizeof frame, out.text + out.len };
	for (size_t i = 0; i < SAMPLES; i++) {
		assert_true(fw_worker_frame_next(&reader, &op));
		assert_int_equal(op.kind, samples[i].kind);
		assert_int_equal(op.number, samples[i].number);
		assert_memory_equal(op.numbers, samples[i].numbers, sizeof op.numbers);
		for (size_t t = 0; t < FW_OP_TEXTS; t++) {
			assert_int_equal(op.texts[t].text == NULL,
					 samples[i].texts[t].text == NULL);
			assert_int_equal(op.texts[t].len, samples[i].texts[t].len);
			if (op.texts[t].text) {
				assert_memory_equal(op.texts[t].text, samples[i].texts[t].text,
						    op.texts[t].len);
				assert_int_equal(op.texts[t].text[op.texts[t].len], '\0');
			}
		}
	}
	assert_false(fw_worker_frame_next(&reader, &op));
	assert_ptr_equal(reader.at, reader.end);
	fw_buf_clear(&out);
}

/* In an allocation of the exact size, so that a sanitizer finds reads beyond it. */
static bool reads_to_its_end(const char *bytes, size_t len)
{
	char *copy = malloc(len ? len : 1);
	struct fw_worker_frame_reader reader = { copy, copy + len };
	struct fw_op op;
	bool is_end;

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	while (fw_worker_frame_next(&reader, &op))
		for (size_t t = 0; t < FW_OP_TEXTS; t++)
			assert_true(!op.texts[t].text ||
				    op.texts[t].text[op.texts[t].len] == '\0');
	is_end = reader.at == reader.end;
	free(copy);
	return is_end;
}

static void test_frame__half_an_operation_is_none(void **state)
{
	struct fw_buf out;
	const char *body;
	size_t len;
	size_t whole = 0;

	(void)state;
	write_samples(&out);
	body = out.text + sizeof(struct fw_worker_frame);
	len = out.len - sizeof(struct fw_worker_frame);
	for (size_t cut = 0; cut <= len; cut++)
		whole += reads_to_its_end(body, cut);
	/* Only at the boundaries between operations, and at the start. */
	assert_int_equal(whole, SAMPLES + 1);
	fw_buf_clear(&out);
}

static void test_frame__any_bytes_are_read_safely(void **state)
{
	struct fw_buf out;
	uint32_t seed = 1;

	(void)state;
	write_samples(&out);
	for (int i = 0; i < 20000; i++) {
		char bytes[512];
		size_t len = out.len - sizeof(struct fw_worker_frame);

		assert_true(len <= sizeof bytes);
		memcpy(bytes, out.text + sizeof(struct fw_worker_frame), len);
		for (int n = 0; n < 4; n++) {
			seed = seed * 1664525u + 1013904223u;
			bytes[(seed >> 8) % len] = (char)(seed >> 24);
		}
		(void)reads_to_its_end(bytes, len);
	}
	fw_buf_clear(&out);
}

/* ---- no memory ---------------------------------------------------------------------- */

static long left;

static void *scarce_allocate(void *ctx, size_t size)
{
	(void)ctx;
	return left-- > 0 ? malloc(size) : NULL;
}

static void *scarce_reallocate(void *ctx, void *ptr, size_t size)
{
	(void)ctx;
	return left-- > 0 ? realloc(ptr, size) : NULL;
}

static void scarce_release(void *ctx, void *ptr)
{
	(void)ctx;
	free(ptr);
}

static fw_error *nothing(fw_call *call, void *ctx)
{
	(void)call;
	(void)ctx;
	return NULL;
}

static fw_error *add_all(fw_server *server)
{
	static const char *const paths[] = { "/usr", "/tmp", NULL };
	fw_workers_options options = FW_WORKERS_INIT;
	fw_workers *workers = NULL;
	fw_state *shared = NULL;
	fw_tool tool = FW_TOOL_INIT;

	options.readable = paths;
	options.environment = paths;
	FW_TRY(fw_server_add_workers(server, &options, &workers));
	FW_TRY(fw_server_add_state(server, "text", 4, &shared));
	tool.name = "tool";
	tool.handler = nothing;
	tool.run = FW_RUN_PROCESS;
	tool.workers = workers;
	tool.state = shared;
	FW_TRY(fw_server_add_tool(server, &tool));
	tool.name = "another";
	tool.workers = NULL;
	return fw_server_add_tool(server, &tool);
}

static void test_pool__each_allocation_may_fail(void **state)
{
	static const fw_allocator scarce = { scarce_allocate, scarce_reallocate, scarce_release,
					     NULL };
	bool has_worked = false;

	(void)state;
	for (long allowed = 0; !has_worked; allowed++) {
		fw_server_options options = FW_SERVER_OPTIONS_INIT;
		fw_server *server = NULL;
		fw_error *err;

		assert_true(allowed < 1000);
		options.name = "test";
		options.version = "1";
		left = 1000000;
		fw_allocator_set(&scarce);
		assert_null(fw_server_new(&options, &server));
		left = allowed;
		err = add_all(server);
		left = 1000000;
		has_worked = !err;
		fw_error_free(err);
		fw_server_free(server);
		fw_allocator_set(NULL);
	}
	assert_int_equal(fw_error_live(), 0);
}

static void test_pool__options_out_of_range_are_a_mistake(void **state)
{
	fw_server_options options = FW_SERVER_OPTIONS_INIT;
	fw_workers_options workers = FW_WORKERS_INIT;
	fw_workers *pool = NULL;
	fw_server *server = NULL;
	fw_error *err;

	(void)state;
	options.name = "test";
	options.version = "1";
	assert_null(fw_server_new(&options, &server));
	workers.count = 5;
	workers.most = 4;
	err = fw_server_add_workers(server, &workers, &pool);
	assert_int_equal(fw_error_code(err), FW_INTERNAL_API_MISUSE);
	fw_error_free(err);
	workers.count = FW_LIMIT_WORKERS + 1;
	workers.most = 0;
	err = fw_server_add_workers(server, &workers, &pool);
	assert_int_equal(fw_error_code(err), FW_INTERNAL_API_MISUSE);
	fw_error_free(err);
	fw_server_free(server);
}

static void test_state__is_replaced_whole_or_not_at_all(void **state)
{
	static char large[FW_LIMIT_SHARED_BYTES + 1];
	fw_server_options options = FW_SERVER_OPTIONS_INIT;
	fw_server *server = NULL;
	fw_state *shared = NULL;
	size_t len = 0;

	(void)state;
	options.name = "test";
	options.version = "1";
	assert_null(fw_server_new(&options, &server));
	assert_null(fw_server_add_state(server, "one", 3, &shared));
	assert_string_equal(fw_state_text(shared, &len), "one");
	assert_int_equal(len, 3);
	assert_true(fw_state_set(shared, "", 0));
	assert_string_equal(fw_state_text(shared, NULL), "");
	assert_true(fw_state_set(shared, "three", 5));
	assert_false(fw_state_set(shared, large, sizeof large));
	assert_string_equal(fw_state_text(shared, NULL), "three");
	fw_server_free(server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frame__operations_are_read_as_they_were_written),
		cmocka_unit_test(test_frame__half_an_operation_is_none),
		cmocka_unit_test(test_frame__any_bytes_are_read_safely),
		cmocka_unit_test(test_pool__each_allocation_may_fail),
		cmocka_unit_test(test_pool__options_out_of_range_are_a_mistake),
		cmocka_unit_test(test_state__is_replaced_whole_or_not_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

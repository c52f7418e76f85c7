/*
 * options_test.c - an option struct of an older caller is read with the defaults for what
 * it lacks; one of a newer caller is refused.
 */
#include "core/options.h"

#include <faultwire/faultwire.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A program compiled when fw_http_options ended after `path`. Its memory ends there too,
 * so that a sanitizer or valgrind sees a read beyond it. */
struct old_http_options {
	size_t struct_size;
	const char *address;
	uint16_t port;
	const char *path;
};

/* When fw_server_options ended after `version`; `contract` was added later. */
struct old_server_options {
	size_t struct_size;
	const char *name;
	const char *version;
};

struct old_tool {
	size_t struct_size;
	const char *name;
	const char *title;
	const char *description;
	const char *input_schema;
	const char *output_schema;
	const char *annotations;
	const char *empty_result;
	const char *operation;
	fw_handler *handler;
};

static void *on_heap(const void *from, size_t size)
{
	void *copy = malloc(size);

	assert_non_null(copy);
	memcpy(copy, from, size);
	return copy;
}

static fw_server *make_server(void)
{
	fw_server_options options = { FW_SERVER_OPTIONS_DEFAULTS, .name = "n", .version = "1" };
	fw_server *server = NULL;

	assert_null(fw_server_new(&options, &server));
	return server;
}

static fw_error *handle(fw_call *call, void *ctx)
{
	(void)call;
	(void)ctx;
	return NULL;
}

/* Checks and frees. */
static void assert_refused(fw_error *err, const char *function, const char *about)
{
	assert_non_null(err);
	assert_int_equal(fw_error_code(err), FW_INTERNAL_API_MISUSE);
	if (!strstr(fw_error_message(err), function) || !strstr(fw_error_message(err), about))
		fail_msg("unexpected message: %s", fw_error_message(err));
	fw_error_free(err);
}

/* ---- reading --------------------------------------------------------------------- */

static void test_an_older_caller_gets_the_default_of_a_member_it_lacks(void **state)
{
	const struct old_server_options old = { sizeof(old), "n", "1" };
	fw_server_options known = FW_SERVER_OPTIONS_INIT;
	void *given = on_heap(&old, sizeof(old));

	(void)state;
	assert_null(fw_options_read("f", given, &known, sizeof(known)));
	free(given);
	assert_string_equal(known.name, "n");
	assert_string_equal(known.version, "1");
	assert_int_equal(known.contract, FW_AUTO);
	assert_null(known.title);
	assert_int_equal(known.struct_size, sizeof(known));
}

static void test_NULL_keeps_all_defaults(void **state)
{
	fw_tool known = FW_TOOL_INIT;

	(void)state;
	assert_null(fw_options_read("f", NULL, &known, sizeof(known)));
	assert_int_equal(known.contract, FW_AUTO);
	assert_null(known.name);
}

static void test_an_impossible_size_is_refused_and_nothing_is_copied(void **state)
{
	static const struct {
		size_t size;
		const char *about;
	} cases[] = {
		{ 0, "struct_size is 0" },
		{ 3, "no version" },
		{ sizeof(fw_tool) - 1, "no version" },
		{ sizeof(fw_tool) + sizeof(void *), "newer version" },
		{ SIZE_MAX, "newer version" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		fw_tool known = FW_TOOL_INIT;
		/* volatile: the compiler must not reason about what is behind it. */
		void *volatile given = on_heap(&cases[i].size, sizeof(cases[i].size));

		assert_refused(fw_options_read("f", given, &known, sizeof(known)), "f",
			       cases[i].about);
		free(given);
		assert_null(known.name);
		assert_int_equal(known.struct_size, sizeof(known));
	}
}

/* ---- every public function that takes options -------------------------------------- */

static void test_a_server_of_an_older_caller_works(void **state)
{
	const struct old_server_options old = { sizeof(old), "n", "1" };
	const struct old_tool old_tool = { .struct_size = sizeof(old_tool),
					   .name = "t",
					   .handler = handle };
	const struct old_http_options old_http = { sizeof(old_http), NULL, 0, "/old" };
	void *options = on_heap(&old, sizeof(old));
	void *tool = on_heap(&old_tool, sizeof(old_tool));
	void *http = on_heap(&old_http, sizeof(old_http));
	fw_server *server = NULL;

	(void)state;
	assert_null(fw_server_new(options, &server));
	assert_null(fw_server_add_tool(server, tool));
	assert_null(fw_server_listen_http(server, http));
	assert_non_null(strstr(fw_server_url(server), "/old"));
	fw_server_free(server);
	free(options);
	free(tool);
	free(http);
}

/* A size of 0 is what a struct gets that is zeroed without its _INIT. */
static void test_every_function_refuses_options_without_a_size(void **state)
{
	fw_server *server = make_server();
	fw_server *other = NULL;
	fw_workers *workers = NULL;

	(void)state;
	assert_refused(
		fw_server_new(&(fw_server_options){ .name = "n", .version = "1" }, &other),
		"fw_server_new", "struct_size is 0");
	assert_null(other);
	assert_refused(fw_server_add_tool(server, &(fw_tool){ .name = "t", .handler = handle }),
		       "fw_server_add_tool", "struct_size is 0");
	assert_refused(
		fw_server_add_resource(
			server, &(fw_resource){ .uri = "a:b", .name = "r", .handler = handle }),
		"fw_server_add_resource", "struct_size is 0");
	assert_refused(
		fw_server_add_prompt(server, &(fw_prompt){ .name = "p", .handler = handle }),
		"fw_server_add_prompt", "struct_size is 0");
	assert_refused(fw_server_add_observer(server, &(fw_observer){ .ctx = NULL }),
		       "fw_server_add_observer", "struct_size is 0");
	assert_refused(
		fw_server_add_workers(server, &(fw_workers_options){ .count = 1 }, &workers),
		"fw_server_add_workers", "struct_size is 0");
	assert_refused(fw_server_confine(server, &(fw_confine_options){ .listen_port = 1 }),
		       "fw_server_confine", "struct_size is 0");
	assert_refused(fw_server_listen_http(server, &(fw_http_options){ .port = 0 }),
		       "fw_server_listen_http", "struct_size is 0");
	fw_server_free(server);
}

static void test_every_function_refuses_options_of_a_newer_program(void **state)
{
	const size_t large = 4096;
	void *given = on_heap(&large, sizeof(large)); /* reading on would leave this block */
	fw_server *server = make_server();
	fw_server *other = NULL;
	fw_workers *workers = NULL;

	(void)state;
	assert_refused(fw_server_new(given, &other), "fw_server_new", "4096");
	assert_refused(fw_server_add_tool(server, given), "fw_server_add_tool", "4096");
	assert_refused(fw_server_add_resource(server, given), "fw_server_add_resource", "4096");
	assert_refused(fw_server_add_prompt(server, given), "fw_server_add_prompt", "4096");
	assert_refused(fw_server_add_observer(server, given), "fw_server_add_observer", "4096");
	assert_refused(fw_server_add_workers(server, given, &workers), "fw_server_add_workers",
		       "4096");
	assert_refused(fw_server_confine(server, given), "fw_server_confine", "4096");
	assert_refused(fw_server_listen_http(server, given), "fw_server_listen_http", "4096");
	free(given);
	fw_server_free(server);
}

/* ---- encoding and decoding ----------------------------------------------------------- */

static void test_encoding_with_a_wrong_size_writes_the_misuse(void **state)
{
	const fw_encode_options zeroed = { .stack = true };
	fw_error *err = fw_raise_file_not_found("a.txt");
	char text[2048];
	char *heap = NULL;

	(void)state;
	assert_true(fw_error_encode(err, FW_CANONICAL, &zeroed, text, sizeof(text)) <
		    sizeof(text));
	assert_non_null(strstr(text, "internal.api_misuse"));
	assert_null(strstr(text, "a.txt"));
	assert_refused(fw_error_to_text(err, FW_KAIZA, &zeroed, &heap, NULL),
		       "fw_error_to_text", "struct_size is 0");
	assert_null(heap);
	fw_error_free(err);
}

static void test_encoding_for_an_older_caller_uses_what_it_gave(void **state)
{
	const struct {
		size_t struct_size;
		bool go_escape;
		bool stack;
	} old = { sizeof(old), true, false };
	void *given = on_heap(&old, sizeof(old));
	fw_error *err = fw_raise_file_not_found("<a>");
	char text[2048];

	(void)state;
	(void)fw_error_encode(err, FW_TOOLERROR, given, text, sizeof(text));
	assert_non_null(strstr(text, "\\u003ca\\u003e"));
	free(given);
	fw_error_free(err);
}

static void test_decoding_and_validating_refuse_a_wrong_size(void **state)
{
	const fw_decode_options zeroed = { .keep_secrets = true };
	fw_error *read = NULL;
	size_t count = 0;

	(void)state;
	assert_refused(fw_error_decode("{}", 2, FW_AUTO, &zeroed, &read), "fw_error_decode",
		       "struct_size is 0");
	assert_refused(fw_validate("{}", 2, FW_KAIZA, &zeroed, NULL, NULL, &count),
		       "fw_validator_new", "struct_size is 0");
	assert_null(read);
}

/* fw_options_read() takes the first member for the size. */
#define FIRST(type) _Static_assert(offsetof(type, struct_size) == 0, #type)
FIRST(fw_confine_options);
FIRST(fw_decode_options);
FIRST(fw_encode_options);
FIRST(fw_http_options);
FIRST(fw_observer);
FIRST(fw_prompt);
FIRST(fw_resource);
FIRST(fw_server_options);
FIRST(fw_tool);
FIRST(fw_workers_options);

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_older_caller_gets_the_default_of_a_member_it_lacks),
		cmocka_unit_test(test_NULL_keeps_all_defaults),
		cmocka_unit_test(test_an_impossible_size_is_refused_and_nothing_is_copied),
		cmocka_unit_test(test_a_server_of_an_older_caller_works),
		cmocka_unit_test(test_every_function_refuses_options_without_a_size),
		cmocka_unit_test(test_every_function_refuses_options_of_a_newer_program),
		cmocka_unit_test(test_encoding_with_a_wrong_size_writes_the_misuse),
		cmocka_unit_test(test_encoding_for_an_older_caller_uses_what_it_gave),
		cmocka_unit_test(test_decoding_and_validating_refuse_a_wrong_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

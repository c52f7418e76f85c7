/*
 * The parts of the gateway that need no server, with each allocation failing in turn:
 * reading a configuration, adding an upstream to one, and wrapping a client's file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "gate/config.h"
#include "gate/wrap.h"
#include "test/memory.h"

#include <faultwire/faultwire.h>

static const char client_file[] =
	"{\n  \"theme\": \"dark\", // kept\n  \"mcpServers\": {\n"
	"    \"files\": { \"command\": \"npx\", \"args\": [\"-y\", \"server-files\", "
	"\"/tmp\"],\n"
	"      \"env\": { \"KEY\": \"value \\\"x\\\"\" } },\n"
	"    \"far\": { \"url\": \"https://mcp.example.com/mcp\",\n"
	"      \"headers\": { \"Authorization\": \"Bearer ${TOKEN}\" } }\n  }\n}\n";

static void expect_no_memory(fw_error *err)
{
	if (err)
		assert_int_equal(fw_error_code(err), FW_INTERNAL_OUT_OF_MEMORY);
	fw_error_free(err);
}

static void read_config(void)
{
	static const char text[] =
		"{\"mcpServers\":{\"files\":{\"command\":\"npx\",\"args\":"
		"[\"-y\",\"server-files\"],\"env\":{\"KEY\":\"value\"}},"
		"\"far\":{\"url\":\"https://mcp.example.com/mcp\",\"headers\":"
		"{\"X-Key\":\"value\"}}}}";
	struct fw_gate_config *config = NULL;
	fw_error *err = fw_gate_config_read(text, sizeof text - 1, "mcp.json", &config);
	size_t count;

	if (!err) {
		(void)fw_gate_config_entries(config, &count);
		assert_int_equal(count, 2);
	}
	assert_true(!err == !!config);
	expect_no_memory(err);
	fw_gate_config_free(config);
}

static void add_upstream(void)
{
	static const char *const argv[] = { "npx", "-y", "server-files", NULL };
	static const char *const names[] = { "HOME", "KEY=value", NULL };
	static const char *const headers[] = { "X-Key: value", NULL };
	struct fw_gate_config *config = NULL;
	fw_error *err = fw_gate_config_new(&config);
	size_t count;

	if (!err)
		err = fw_gate_config_add(config, "files", argv, NULL, "/tmp", names,
					 headers + 1);
	if (!err)
		err = fw_gate_config_add(config, "far", NULL, "https://mcp.example.com/mcp",
					 NULL, names + 2, headers);
	if (!err) {
		(void)fw_gate_config_entries(config, &count);
		assert_int_equal(count, 2);
	}
	expect_no_memory(err);
	fw_gate_config_free(config);
}

static void ignore(void *ctx, const char *server, const char *what)
{
	(void)ctx;
	(void)server;
	(void)what;
}

/* Wrapped and restored; an error leaves the caller's text as it was. */
static void wrap_and_undo(void)
{
	struct fw_buf wrapped, restored;
	fw_error *err;

	fw_buf_init(&wrapped, 1 << 20);
	fw_buf_init(&restored, 1 << 20);
	err = fw_wrap(client_file, sizeof client_file - 1, "mcp.json", "/usr/bin/faultwire",
		      false, &wrapped, ignore, NULL);
	if (!err)
		err = fw_wrap(wrapped.text, wrapped.len, "mcp.json", "/usr/bin/faultwire", true,
			      &restored, ignore, NULL);
	if (!err) {
		assert_int_equal(restored.len, sizeof client_file - 1);
		assert_memory_equal(restored.text, client_file, restored.len);
	}
	expect_no_memory(err);
	fw_buf_clear(&wrapped);
	fw_buf_clear(&restored);
}

static void test_gate_memory__reading_a_configuration(void **state)
{
	(void)state;
	each_allocation_fails(read_config);
}

static void test_gate_memory__adding_an_upstream(void **state)
{
	(void)state;
	each_allocation_fails(add_upstream);
}

static void test_gate_memory__wrapping_a_file(void **state)
{
	(void)state;
	each_allocation_fails(wrap_and_undo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gate_memory__reading_a_configuration),
		cmocka_unit_test(test_gate_memory__adding_an_upstream),
		cmocka_unit_test(test_gate_memory__wrapping_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * gate_parts_test.c - the parts of the gateway without a loop, with each allocation failing
 * in turn: configuration, wrapping, pins, schemas of results, names and merged lists.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "client/link_http.h"
#include "gate/config.h"
#include "gate/gate_impl.h"
#include "gate/names.h"
#include "gate/definition.h"
#include "gate/pins.h"
#include "gate/wrap.h"
#include "mcp/server.h"
#include "test/memory.h"

#define SLICE(text) ((struct fw_slice){ (text), strlen(text) })

/* True: success. Otherwise the error must be internal.out_of_memory. */
static bool worked(fw_error *err)
{
	bool is_fine = !err;

	if (err)
		assert_int_equal(fw_error_code(err), FW_INTERNAL_OUT_OF_MEMORY);
	fw_error_free(err);
	return is_fine;
}

/* ---- configuration ------------------------------------------------------------------- */

static const char config_text[] =
	"{ // a comment\n\"mcpServers\":{"
	"\"a\":{\"command\":\"npx\",\"args\":[\"-y\",\"x\"],\"env\":{\"K\":\"v\"},\"cwd\":\"/"
	"\","
	"\"faultwire\":{\"deadline\":1.5,\"contract\":\"kaiza\",\"retry\":0,"
	"\"breaker\":{\"failures\":3,\"pause\":2},"
	"\"limits\":{\"calls_per_second\":5,\"in_flight\":6},"
	"\"allow\":[\"t\",\"u\"],\"deny\":[\"u\"]}},"
	"\"b\":{\"url\":\"http://x/\",\"headers\":{\"X-Key\":\"1\"}},"
	"\"c\":{\"command\":\"y\",\"disabled\":true},}}";

static void read_config(void)
{
	struct fw_gate_config *config = NULL;
	const struct fw_gate_entry *entries;
	size_t count;
	fw_error *err = fw_gate_config_read(config_text, sizeof config_text - 1, "f", &config);

	if (!worked(err)) {
		assert_null(config);
		return;
	}
	entries = fw_gate_config_entries(config, &count);
	assert_int_equal(count, 2);
	assert_string_equal(entries[0].target.argv[2], "x");
	assert_int_equal(entries[0].deadline_ms, 1500);
	assert_int_equal(entries[0].contract, FW_KAIZA);
	assert_int_equal(entries[0].retries, 0);
	assert_int_equal(entries[0].breaker_limit, 3);
	assert_int_equal(entries[0].calls_per_second, 5);
	assert_int_equal(entries[0].in_flight, 6);
	assert_string_equal(entries[0].deny[0], "u");
	assert_string_equal(entries[1].target.headers[0], "X-Key: 1");
	fw_gate_config_free(config);
}

static void add_by_hand(void)
{
	const char *const argv[] = { "node", "x.js", NULL };
	const char *const names[] = { "A=1", "HOME", NULL };
	const char *const headers[] = { "N: v", NULL };
	struct fw_gate_config *config = NULL;

	if (!worked(fw_gate_config_new(&config)))
		return;
	if (worked(fw_gate_config_add(config, "a", argv, NULL, "/", names, NULL)))
		(void)worked(fw_gate_config_add(config, "b", NULL, "http://x/", NULL, NULL,
						headers));
	fw_gate_config_free(config);
}

static void test_config__survives_every_allocation_failure(void **state)
{
	(void)state;
	each_allocation_fails(read_config);
	each_allocation_fails(add_by_hand);
}

/* ---- wrapping ------------------------------------------------------------------------- */

static void ignore(void *ctx, const char *server, const char *what)
{
	(void)ctx;
	(void)server;
	(void)what;
}

static void wrap_and_undo(void)
{
	static const char text[] =
		"{\"mcpServers\": {\"a\": {\"command\": \"x\", \"args\": [\"1\"]},"
		" \"b\": {\"url\": \"https://h/\", \"headers\": {\"K\": \"v\"}}}}";
	struct fw_buf wrapped;
	struct fw_buf undone;
	fw_error *err;

	fw_buf_init(&wrapped, 1 << 20);
	fw_buf_init(&undone, 1 << 20);
	err = fw_wrap(text, sizeof text - 1, "f", "/bin/faultwire", false, &wrapped, ignore,
		      NULL);
	if (!err && wrapped.state == FW_BUF_OK)
		err = fw_wrap(wrapped.text, wrapped.len, "f", "/bin/faultwire", true, &undone,
			      ignore, NULL);
	/* If all texts were written, undoing restores the original. */
	if (!err && wrapped.state == FW_BUF_OK && undone.state == FW_BUF_OK && undone.text)
		assert_string_equal(undone.text, text);
	fw_error_free(err);
	fw_buf_clear(&wrapped);
	fw_buf_clear(&undone);
}

static void test_wrap__survives_every_allocation_failure(void **state)
{
	(void)state;
	each_allocation_fails(wrap_and_undo);
}

/* ---- results ---------------------------------------------------------------------------- */

static const struct fw_slice nothing = { NULL, 0 };
#define ANNOTATED_SCHEMA                                                             \
	SLICE("{\"type\":\"object\",\"properties\":{\"place\":{\"type\":\"object\"," \
	      "\"properties\":"                                                      \
	      "{\"region\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"}}}}}")

static void check_outputs(void)
{
	struct fw_definitions outputs = { .first = NULL };
	struct fw_scan good = { .structured = SLICE("{\"n\":1}") };
	struct fw_scan bad = { .structured = SLICE("{\"n\":\"x\"}") };
	fw_error *err;

	(void)fw_definitions_learn(&outputs, "t", SLICE("{\"type\":\"object\"}"), nothing);
	(void)fw_definitions_learn(&outputs, "t",
				   SLICE("{\"type\":\"object\",\"properties\":{\"n\":{\"type\":"
					 "\"integer\"}}}"),
				   nothing);
	(void)fw_definitions_learn(&outputs, "u", SLICE("{\"$ref\":\"#/nowhere\"}"), nothing);
	(void)fw_definitions_learn(&outputs, "v", nothing, ANNOTATED_SCHEMA);
	(void)worked(fw_definitions_check(&outputs, "up", "t", &good));
	err = fw_definitions_check(&outputs, "up", "t", &bad);
	if (err && fw_error_code(err) == FW_UPSTREAM_INVALID_RESULT)
		assert_int_equal(fw_error_delivery(err), FW_REPLIED);
	fw_error_free(err);
	assert_null(fw_definitions_check(&outputs, "up", "none", &bad));
	fw_definitions_clear(&outputs);
	assert_null(outputs.first);
}

static void test_output__survives_every_allocation_failure(void **state)
{
	(void)state;
	each_allocation_fails(check_outputs);
}

static void test_output__keeps_to_its_limits(void **state)
{
	struct fw_definitions outputs = { .first = NULL };
	char *large = malloc(FW_DEFINITION_SCHEMA_BYTES + 1);
	struct fw_scan any = { .structured = SLICE("[]") };

	(void)state;
	assert_non_null(large);
	memset(large, ' ', FW_DEFINITION_SCHEMA_BYTES + 1);
	memcpy(large, "{\"type\":\"object\"", 16);
	large[FW_DEFINITION_SCHEMA_BYTES] = '}';
	(void)fw_definitions_learn(&outputs, "t",
				   (struct fw_slice){ large, FW_DEFINITION_SCHEMA_BYTES + 1 },
				   nothing);
	assert_null(outputs.first);
	(void)fw_definitions_learn(&outputs, "t", SLICE("{\"type\":\"object\"}"), nothing);
	assert_int_equal(outputs.bytes, 17);
	/* A new definition without a schema removes the old schema. */
	(void)fw_definitions_learn(&outputs, "t", nothing, nothing);
	assert_int_equal(outputs.bytes, 0);
	assert_null(fw_definitions_check(&outputs, "up", "t", &any));
	fw_definitions_clear(&outputs);
	free(large);
}

static void test_definition__knows_the_arguments_that_are_headers(void **state)
{
	struct fw_definitions definitions = { .first = NULL };
	const struct fw_mirrors *mirrors;

	(void)state;
	assert_null(fw_definitions_learn(&definitions, "t", nothing, ANNOTATED_SCHEMA));
	mirrors = fw_definitions_mirrors(&definitions, "t");
	assert_non_null(mirrors);
	assert_int_equal(mirrors->count, 1);
	assert_string_equal(mirrors->items[0].header, "Mcp-Param-Region");
	assert_string_equal(mirrors->items[0].pointer, "/place/region");
	assert_int_equal(definitions.bytes, ANNOTATED_SCHEMA.n);
	/* A new definition replaces the one before. */
	assert_null(fw_definitions_learn(&definitions, "t", SLICE("{\"type\":\"object\"}"),
					 nothing));
	assert_null(fw_definitions_mirrors(&definitions, "t"));
	assert_int_equal(definitions.bytes, 17);
	assert_non_null(fw_definitions_learn(&definitions, "u", nothing,
					     SLICE("{\"x-mcp-header\":\"Region\"}")));
	assert_null(fw_definitions_mirrors(&definitions, "u"));
	fw_definitions_clear(&definitions);
}

/* ---- upstreams without a connection -------------------------------------------------------- */

static struct fw_gate_entry entries[2] = { { .target = { .name = "one" } },
					   { .target = { .name = "t w.o" } } };
static struct fw_upstream upstreams[2];
static struct fw_gate gate;
static char pin_file[64];

static fw_server server;

static void begin(void)
{
	memset(&gate, 0, sizeof gate);
	memset(upstreams, 0, sizeof upstreams);
	gate.upstreams = upstreams;
	gate.count = 2;
	gate.relay.server = &server; /* without an authority */
	for (int i = 0; i < 2; i++) {
		upstreams[i].gate = &gate;
		upstreams[i].entry = &entries[i];
	}
}

static void pin_tools(void)
{
	begin();
	(void)unlink(pin_file);
	if (!worked(fw_pins_new(pin_file, &gate.pins)))
		return;
	(void)fw_pins_check(&upstreams[0], "a", SLICE("{\"name\":\"a\"}"));
	(void)fw_pins_check(&upstreams[0], "b", SLICE("{\"name\":\"b\"}"));
	fw_pins_listed(&upstreams[0]);
	fw_pins_free(gate.pins);
	gate.pins = NULL;
	/* Either the file was written completely and can be read, or it does not exist. */
	if (worked(fw_pins_new(pin_file, &gate.pins)))
		(void)fw_pins_check(&upstreams[0], "a", SLICE("{\"name\":\"a\",\"x\":1}"));
	fw_pins_free(gate.pins);
}

static void test_pins__survives_every_allocation_failure(void **state)
{
	int fd;

	(void)state;
	(void)snprintf(pin_file, sizeof pin_file, "/tmp/fw-pins-test-XXXXXX");
	fd = mkstemp(pin_file);
	assert_true(fd >= 0);
	(void)close(fd);
	each_allocation_fails(pin_tools);
	(void)unlink(pin_file);
}

static void merge_lists(void)
{
	static const char tool[] = "{\"name\":\"t\",\"title\":\"T\"}";
	struct fw_buf out;
	bool is_whole = true;

	begin();
	fw_buf_init(&out, 1 << 16);
	for (int i = 0; i < 2; i++) {
		struct fw_listing *listing = &upstreams[i].listings[FW_LISTING_TOOLS];

		listing->items = fw__allocate(sizeof *listing->items);
		fw_buf_init(&listing->text, 1 << 16);
		fw_buf_put(&listing->text, tool, sizeof tool - 1);
		if (!listing->items) {
			is_whole = false;
			continue;
		}
		*listing->items = (struct fw_listing_item){ .name = fw_strdup("t"),
							    .len = sizeof tool - 1 };
		listing->count = listing->items->name && listing->text.state == FW_BUF_OK;
		if (!listing->count)
			fw__release(listing->items->name);
		is_whole &= listing->count;
	}
	if (worked(fw_gate_merge(&gate, FW_LISTING_TOOLS, NULL, &out)) && is_whole)
		assert_string_equal(out.text,
				    "{\"tools\":[{\"name\":\"one__t\",\"title\":\"T\"},"
				    "{\"name\":\"t_w_o__t\",\"title\":\"T\"}]}");
	for (int i = 0; i < 2; i++)
		fw_listing_clear(&upstreams[i].listings[FW_LISTING_TOOLS]);
	fw_buf_clear(&out);
}

static void test_listing__merging_survives_every_allocation_failure(void **state)
{
	(void)state;
	each_allocation_fails(merge_lists);
}

static void test_names__have_the_prefix_of_their_upstream(void **state)
{
	char full[FW_GATE_NAME_SIZE];

	(void)state;
	begin();
	fw_gate_full_name(&upstreams[1], "x", full);
	assert_string_equal(full, "t_w_o__x");
	assert_string_equal(fw_gate_bare_name(&upstreams[1], full), "x");
	assert_null(fw_gate_bare_name(&upstreams[0], full));
	assert_null(fw_gate_bare_name(&upstreams[0], "one__"));
}

/* ---- redirects ------------------------------------------------------------------------------ */

static void test_redirect__stays_on_its_host(void **state)
{
	static const struct {
		const char *from;
		const char *to;
		bool is_followed;
	} rows[] = {
		{ "http://a/x", "http://a/y", true },
		{ "http://a:80/x", "http://a:80/y?z", true },
		{ "http://A/x", "http://a", true },
		{ "http://a/x", "https://a/x", true },
		{ "http://a:8080/x", "https://a:8443/x", true },
		{ "http://[::1]:5/x", "http://[::1]:5/y", true },
		{ "https://a/x", "http://a/x", false },
		{ "http://a/x", "http://b/x", false },
		{ "http://a/x", "http://a.b/x", false },
		{ "http://a/x", "http://a:81/x", false },
		{ "http://a/x", "http://a@b/x", false },
		{ "http://[::1]/x", "http://[::2]/x", false },
		{ "http://a/x", "ftp://a/x", false },
		{ "http://a/x", "//a/x", false },
		{ "http://a/x", "http://", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_int_equal(fw_link__redirect_fault(rows[i].from, rows[i].to) == NULL,
				 rows[i].is_followed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_config__survives_every_allocation_failure),
		cmocka_unit_test(test_wrap__survives_every_allocation_failure),
		cmocka_unit_test(test_output__survives_every_allocation_failure),
		cmocka_unit_test(test_output__keeps_to_its_limits),
		cmocka_unit_test(test_definition__knows_the_arguments_that_are_headers),
		cmocka_unit_test(test_pins__survives_every_allocation_failure),
		cmocka_unit_test(test_listing__merging_survives_every_allocation_failure),
		cmocka_unit_test(test_names__have_the_prefix_of_their_upstream),
		cmocka_unit_test(test_redirect__stays_on_its_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * alloc_fail_test.c - memory runs out at every single allocation.
 *
 * Each operation is run once per allocation that it makes, with that one
 * refused, then again with that and all later ones refused, until it gets by
 * without meeting the refusal. Whatever happens: exactly one of error and
 * result, the error is one that can be shown, and no block stays behind.
 */
#include "support.h"

#include <errno.h>
#include <signal.h>

typedef void operation(void);

static void each_allocation_fails(operation *run)
{
	size_t most = 0;

	for (int on = 0; on < 2; on++)
		for (size_t at = 1;; at++) {
			size_t blocks = memory.blocks;
			long live = fw_error_live();

			memory.calls = 0;
			memory.failed = false;
			memory.fail_on = on;
			memory.fail_at = at;
			run();
			memory.fail_at = 0;
			if (memory.blocks != blocks || fw_error_live() != live)
				fail_msg(
					"allocation %zu%s refused: %ld blocks, %ld errors left",
					at, on ? " and all later" : "",
					(long)memory.blocks - (long)blocks,
					fw_error_live() - live);
			if (!memory.failed) {
				most = at - 1;
				break;
			}
			assert_true(at < 100000);
		}
	print_message("# %zu allocations\n", most);
}

/* An error that a caller gets: it can be shown whatever the memory is like. */
static void assert_sane(const fw_error *err)
{
	assert_non_null(err);
	assert_non_null(fw_error_row(err));
	assert_non_null(fw_error_name(err));
	assert_non_null(fw_error_message(err));
	assert_true(fw_error_message(err)[0] != '\0');
	assert_encodes(err);
}

/* Of a call that takes memory and fails: for lack of memory, and only then. */
static void assert_out_of_memory(const fw_error *err)
{
	assert_sane(err);
	assert_string_equal(fw_error_name(err), "internal.out_of_memory");
	assert_true(memory.failed);
}

/* ---- the error object ------------------------------------------------- */

static void raise_plain(void)
{
	fw_error *err =
		fw_raise_row(FW_HERE, fw_registry_find(NULL, "internal.unexpected"), NULL, 0);

	assert_sane(err);
	fw_error_free(err);
}

static void raise_and_set_everything(void)
{
	fw_error *err = sample_error();

	assert_sane(err);
	if (!memory.failed)
		assert_string_equal(fw_error_name(err), "search.timeout");
	fw_error_free(err);
}

/* Out of memory in the raise or later: setters on what came back. */
static void set_each(void)
{
	static const fw_scope scope = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j" };
	static char longer[2000];
	fw_error *err =
		fw_raise_row(FW_HERE, fw_registry_find(NULL, "internal.unexpected"), NULL, 0);

	memset(longer, 'x', sizeof(longer) - 1);
	for (int i = 0; i < 2; i++) {
		fw_error_add_string(err, "string", i ? longer : "short");
		fw_error_add_string(err, longer, "x");
		fw_error_add_i64(err, "i64", INT64_MIN);
		fw_error_add_u64(err, "u64", UINT64_MAX);
		fw_error_add_f64(err, "f64", 0.1);
		fw_error_add_bool(err, "bool", false);
		fw_error_add_json(err, "json", "[1,{\"a\":\"b\"}]", 13);
		fw_error_add_json(err, "not json", "[1", 2);
		fw_error_add_string(err, "password", "hunter2");
		fw_error_add_string(err, "url", "https://user:secret@example.org/");
		fw_error_set_hint(err, longer);
		fw_error_set_detail(err, longer);
		fw_error_set_incident_id(err, longer);
		fw_error_set_time(err, 0);
		fw_error_set_empty_result(err, "{\"a\":[]}", 8);
		fw_error_fill_scope(err, &scope);
		fw_error_add_cause(err, longer, "code", "name");
		fw_error_set_cause_json(err, "{\"a\":[1,2,3]}", 13);
		fw_error_set_retry_after(err, 2.5);
		fw_error_set_recoverable(err, true);
		fw_error_set_status(err, 503);
	}
	assert_sane(err);
	fw_error_free(err);
}

static void wrap_many_times(void)
{
	static char longer[500];
	fw_error *err =
		fw_raise_row(FW_HERE, fw_registry_find(NULL, "internal.unexpected"), NULL, 0);

	memset(longer, 'y', sizeof(longer) - 1);
	for (int i = 0; i < 20; i++) {
		err = fw_error_wrap(err, FW_HERE, "could not do step %d: %s", i, longer);
		assert_non_null(err);
	}
	assert_sane(err);
	fw_error_free(err);
}

static void chain(void)
{
	fw_error *err = fw_error_caused_by(sample_error(), sample_error());
	fw_cause cause;

	assert_sane(err);
	for (size_t i = 0; i < fw_error_cause_count(err); i++)
		assert_true(fw_error_cause(err, i, &cause));
	err = fw_error_caused_by(err, NULL);
	assert_sane(err);
	fw_error_free(err);
}

static void example_of_every_row(void)
{
	for (size_t i = 0; i < fw_registry_count(NULL); i += 7) {
		fw_error *err = fw_row_example(fw_registry_at(NULL, i));

		assert_non_null(err);
		assert_non_null(fw_error_message(err));
		fw_error_free(err);
	}
}

static void test_error__survives_every_allocation_failure(void **state)
{
	(void)state;
	each_allocation_fails(raise_plain);
	each_allocation_fails(raise_and_set_everything);
	each_allocation_fails(set_each);
	each_allocation_fails(wrap_many_times);
	each_allocation_fails(chain);
	each_allocation_fails(example_of_every_row);
}

/* ---- raw values ------------------------------------------------------- */

static void from_raw_values(void)
{
	static const char object[] = "{\"message\":\"it broke\",\"code\":7,\"token\":\"abc\"}";
	fw_error *all[] = {
		fw_error_from_errno(FW_HERE, ENOENT, "/srv/x"),
		fw_error_from_errno(FW_HERE, 99999, NULL),
		fw_error_from_http(FW_HERE, 503, "120", 0, "example.org"),
		fw_error_from_http(FW_HERE, 429, "Wed, 21 Oct 2026 07:28:00 GMT", 0, NULL),
		fw_error_from_http(FW_HERE, 200, NULL, 0, NULL),
		fw_error_from_signal(FW_HERE, SIGSEGV),
		fw_error_from_curl(FW_HERE, 7, "http://127.0.0.1:1/"),
		fw_error_from_text(FW_HERE, "it \xff broke", 10),
		fw_error_from_json(FW_HERE, object, sizeof(object) - 1),
		fw_error_from_json(FW_HERE, "\"text\"", 6),
		fw_error_from_json(FW_HERE, "5", 1),
		fw_error_from_json(FW_HERE, "{", 1),
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		assert_sane(all[i]);
		fw_error_free(all[i]);
	}
}

static void test_raw__survives_every_allocation_failure(void **state)
{
	(void)state;
	each_allocation_fails(from_raw_values);
}

/* ---- contracts -------------------------------------------------------- */

static int current_contract;
static char *current_text;
static size_t current_len;

static void to_text(void)
{
	static char keep[16384];
	fw_encode_options options = { .struct_size = sizeof(fw_encode_options),
				      .go_escape = true,
				      .stack = true,
				      .problem_base = "https://example.org/p/" };
	fw_error *made = sample_error();

	for (int plain = 0; plain < 2; plain++) {
		char *text = keep;
		size_t len = 12345;
		fw_error *err = fw_error_to_text(made, (fw_contract)current_contract,
						 plain ? NULL : &options, &text, &len);

		if (err) {
			assert_out_of_memory(err);
			assert_ptr_equal(text, keep);
			assert_int_equal(len, 12345);
			fw_error_free(err);
			continue;
		}
		assert_int_equal(strlen(text), len);
		assert_true(is_json(text, len));
		fw_free(text);
	}
	fw_error_free(made);
}

static void decode(void)
{
	fw_error *read = NULL;
	fw_error *err = fw_error_decode(current_text, current_len,
					(fw_contract)current_contract, NULL, &read);

	if (err) {
		assert_out_of_memory(err);
		assert_null(read);
		fw_error_free(err);
		return;
	}
	assert_sane(read);
	fw_error_free(read);
}

/* Invalid input: the error may report missing memory instead. */
static void decode_refused(void)
{
	fw_error *read = NULL;
	fw_error *err = fw_error_decode(current_text, current_len,
					(fw_contract)current_contract, NULL, &read);

	assert_sane(err);
	assert_null(read);
	fw_error_free(err);
}

static void count_violation(void *ctx, const fw_violation_info *violation)
{
	assert_non_null(violation->pointer);
	assert_non_null(violation->rule);
	assert_non_null(violation->expected);
	assert_non_null(violation->found);
	++*(size_t *)ctx;
}

static void validate(void)
{
	size_t told = 0, count = 4711;
	fw_error *err = fw_validate(current_text, current_len, (fw_contract)current_contract,
				    NULL, count_violation, &told, &count);

	if (err) {
		assert_out_of_memory(err);
		assert_int_equal(count, 4711);
		fw_error_free(err);
		return;
	}
	assert_int_equal(count, told);
}

/* A guess may be worse without memory; it is still one of the answers. */
static void sniff(void)
{
	fw_contract found = fw_sniff(current_text, current_len);

	if (memory.failed)
		assert_true(found <= FW_PLAIN_TEXT);
	else
		assert_int_equal(found, current_contract);
}

static void test_contract__survives_every_allocation_failure(void **state)
{
	(void)state;
	for (current_contract = 0; current_contract < FW_CONTRACT_COUNT; current_contract++) {
		char *colon;

		current_text = sample_text((fw_contract)current_contract, &current_len);
		each_allocation_fails(to_text);
		each_allocation_fails(decode);
		each_allocation_fails(validate);
		each_allocation_fails(sniff);

		/* a member of the wrong type, then text that is not JSON */
		colon = strchr(current_text, ':');
		current_text[current_len - 1] = ']';
		each_allocation_fails(decode_refused);
		memcpy(colon, ":1}", 3);
		current_len = (size_t)(colon - current_text) + 3;
		each_allocation_fails(decode_refused);
		each_allocation_fails(validate);
		free(current_text);
	}
	current_text = sample_text(FW_TOOLERROR, &current_len);
	current_contract = FW_AUTO;
	each_allocation_fails(decode);
	current_contract = FW_ANY_JSON;
	each_allocation_fails(decode);
	current_contract = FW_PLAIN_TEXT;
	each_allocation_fails(decode);
	free(current_text);
}

/* ---- registry --------------------------------------------------------- */

static const char rows[] =
	"[{\"code\":\"billing.card_declined\",\"title\":\"Card "
	"Declined\",\"category\":\"dependency\","
	"\"type\":\"CONFLICT\",\"retry\":\"after_fix\",\"recoverable\":false,\"status\":402,"
	"\"severity\":\"warning\",\"jsonrpc\":-32603,\"origin\":\"upstream\","
	"\"kaiza\":\"UNKNOWN_TOOL_FAILURE\",\"context_v0\":\"internal_error\","
	"\"codeintel\":\"billing-card-declined\","
	"\"params\":[{\"name\":\"card\",\"type\":\"string\"}],"
	"\"message\":\"card was declined: {card}\",\"hint\":\"Use another card.\","
	"\"explanation\":\"The bank refused the card.\",\"example\":{\"card\":\"visa\"}}]";

static void on_problem(void *ctx, const fw_error *problem)
{
	assert_non_null(fw_error_message(problem));
	++*(size_t *)ctx;
}

static bool loads; /* are the current rows valid? */

static void load_registry(void)
{
	fw_registry *registry = NULL;
	size_t problems = 0;
	fw_error *err =
		fw_registry_load(current_text, current_len, on_problem, &problems, &registry);

	assert_true(!err != !registry);
	if (err) {
		assert_sane(err);
		if (loads && !memory.failed)
			fail_msg("%s", fw_error_message(err));
	}
	if (registry) {
		fw_error *example =
			fw_row_example(fw_registry_at(registry, fw_registry_count(NULL)));

		assert_true(loads);
		assert_sane(example);
		fw_error_free(example);
	}
	fw_error_free(err);
	fw_registry_free(registry);
}

static void test_registry__survives_every_allocation_failure(void **state)
{
	static const char *const others[] = { "[{}]", "[5,{\"code\":\"file.not_found\"}]", "{",
					      "{}" };
	char copy[sizeof(rows)];

	(void)state;
	memcpy(copy, rows, sizeof(rows));
	current_text = copy;
	current_len = sizeof(rows) - 1;
	loads = true;
	each_allocation_fails(load_registry);
	loads = false;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		memcpy(copy, others[i], strlen(others[i]));
		current_len = strlen(others[i]);
		each_allocation_fails(load_registry);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_error__survives_every_allocation_failure),
		cmocka_unit_test(test_raw__survives_every_allocation_failure),
		cmocka_unit_test(test_contract__survives_every_allocation_failure),
		cmocka_unit_test(test_registry__survives_every_allocation_failure),
	};

	return cmocka_run_group_tests(tests, memory_setup, memory_teardown);
}

#include "tools/context/test_support.h"

#include <pthread.h>

#include "base/limits.h"
#include "tools/context/store.h"

static struct fw_context_store *store;
static struct fw_buf first, second;

static int start(void **state)
{
	store = NULL;
	fw_buf_init(&first, 1 << 26);
	fw_buf_init(&second, 1 << 26);
	return enter_directory(state) || fw_context_store_new(".", &store) ? -1 : 0;
}

static int stop(void **state)
{
	fw_context_store_free(store);
	fw_buf_clear(&first);
	fw_buf_clear(&second);
	return fw_error_live() ? -1 : leave_directory(state);
}

static struct fw_context_request request(const char *query, int64_t budget)
{
	return (struct fw_context_request){ "c", 1, query, strlen(query), budget, 1 << 26 };
}

static fw_error *resolve(const char *query, int64_t budget, struct fw_buf *out)
{
	const struct fw_context_request asked = request(query, budget);

	fw_buf_reset(out, SIZE_MAX);
	return fw_context_resolve(store, &asked, NULL, out);
}

static fw_error *scan(const char *query, int64_t budget, unsigned threads, struct fw_buf *out)
{
	const struct fw_context_request asked = request(query, budget);
	const struct fw_context_run run = { .threads = threads };

	fw_buf_reset(out, SIZE_MAX);
	return fw_context_scan(store, &asked, &run, out);
}

static void make_three(void)
{
	assert_int_equal(mkdir("s", 0777), 0);
	put_text("s/deployment.md", "Deployment deployment deployment guide.");
	put_text("s/empty.md", "");
	put_text("s/security.md", "Security hardening guide.");
	must(build("s", "c", false, 0));
}

/* ---- results ---- */

static void test_resolve__gives_exactly_the_text_of_the_contract(void **state)
{
	static const char expected[] =
		"{\"documents\":["
		"{\"id\":\"deployment.md\",\"version\":\"sha256:"
		"19835fc46fd47b1e6bc19778f76396e900c217191ff1bef2cb4e138308da1a72\","
		"\"content\":"
		"\"Deployment deployment deployment guide.\",\"score\":0.75,\"tokens\":10,"
		"\"why\":{\"query_terms\":[\"deployment\",\"security\"],\"term_matches\":3,"
		"\"total_words\":4}},"
		"{\"id\":\"security.md\",\"version\":\"sha256:"
		"c070a5c47a9fbba3e807b972cc753ea192b0dd6e6af86d2c3e2841b7bc0fd644\","
		"\"content\":"
		"\"Security hardening guide.\",\"score\":0.33333334,\"tokens\":7,\"why\":{"
		"\"query_terms\":[\"deployment\",\"security\"],\"term_matches\":1,"
		"\"total_words\":3}},"
		"{\"id\":\"empty.md\",\"version\":\"sha256:"
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\","
		"\"content\":"
		"\"\",\"score\":0.0,\"tokens\":0,\"why\":{\"query_terms\":[\"deployment\","
		"\"security\"],\"term_matches\":0,\"total_words\":0}}],"
		"\"selection\":{\"query\":\"deployment "
		"security\",\"budget\":4000,\"tokens_used\":"
		"17,\"documents_considered\":3,\"documents_selected\":3,"
		"\"documents_excluded_by_budget\":0}}\n";

	(void)state;
	make_three();
	must(resolve("deployment security", 4000, &first));
	assert_string_equal(first.text, expected);
	must(scan("deployment security", 4000, 0, &second));
	assert_string_equal(second.text, expected);
}

static void test_resolve__budget_0_selects_nothing_not_even_an_empty_document(void **state)
{
	(void)state;
	make_three();
	must(resolve("deployment", 0, &first));
	assert_string_equal(
		first.text,
		"{\"documents\":[],\"selection\":{\"query\":\"deployment\",\"budget\":0,"
		"\"tokens_used\":0,\"documents_considered\":3,\"documents_selected\":0,"
		"\"documents_excluded_by_budget\":3}}\n");
}

static void test_resolve__a_document_over_the_budget_is_skipped(void **state)
{
	(void)state;
	make_three();
	must(resolve("deployment", 9, &first));
	assert_null(strstr(first.text, "\"id\":\"deployment.md\""));
	assert_non_null(strstr(first.text, "\"id\":\"security.md\""));
	assert_non_null(strstr(first.text, "\"documents_excluded_by_budget\":1"));
}

static void test_resolve__a_name_cannot_leave_the_root(void **state)
{
	static const char *const names[] = {
		"",   ".",    "..",      "c/",   "./c",  "../x/c",
		"/c", "c\\d", ".hidden", "link", "file", "nothing"
	};

	(void)state;
	make_three();
	assert_int_equal(symlink("c", "link"), 0);
	assert_int_equal(rename("c", ".hidden"), 0);
	assert_int_equal(mkdir("c", 0777), 0);
	put_text("file", "");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct fw_context_request asked = request("a", 1);

		asked.cache = names[i];
		asked.cache_len = strlen(names[i]);
		if (strcmp(code_of(fw_context_resolve(store, &asked, NULL, &first)),
			   "cache_missing") != 0)
			fail_msg("%s", names[i]);
	}
	/* A directory that is not a cache. */
	assert_string_equal(rule_of(resolve("a", 1, &first)), "manifest_missing");
}

/* ---- the index against the scan ---- */

static uint64_t dice = 88172645463325252u;

static unsigned roll(unsigned sides)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (unsigned)(dice % sides);
}

/* Common and rare words, in several spellings, with unusual white space. */
static void put_words(struct fw_buf *text, unsigned count)
{
	static const char *const spaces[] = {
		" ", "\n", "  ", "\t", "\xc2\xa0", "\xe3\x80\x80"
	};
	static const char *const odd[] = {
		"\xc3\x84pfel", "\xc3\xa4pfel", "\xce\xa3\xce\x9f\xce\xa3",
		"I\xcc\x87",    "\xc4\xb0",     "don't",
		"END."
	};

	for (unsigned i = 0; i < count; i++) {
		char word[32];
		unsigned rank = roll(1 + roll(60));

		(void)snprintf(word, sizeof word, roll(2) ? "w%u" : "W%u", rank);
		fw_buf_str(text, roll(8) ? word : odd[roll(sizeof odd / sizeof *odd)]);
		fw_buf_str(text, spaces[roll(sizeof spaces / sizeof *spaces)]);
	}
}

static void make_many(unsigned count)
{
	struct fw_buf text;
	char path[64];

	assert_true(mkdir("s", 0777) == 0 || is_there("s"));
	fw_buf_init(&text, 1 << 20);
	for (unsigned i = 0; i < count; i++) {
		(void)snprintf(path, sizeof path, "s/%u.md", i);
		fw_buf_reset(&text, SIZE_MAX);
		put_words(&text, roll(1 + roll(120)));
		/* Sources must differ, otherwise the cache cannot be built. */
		fw_buf_str(&text, path);
		put_file(path, text.text, text.len);
	}
	fw_buf_clear(&text);
	must(build("s", "c", true, 0));
}

static void assert_alike(const char *query, int64_t budget)
{
	must(resolve(query, budget, &first));
	must(scan(query, budget, 1 + roll(8), &second));
	if (first.len != second.len || memcmp(first.text, second.text, first.len) != 0)
		fail_msg("query %s, budget %lld:\n%.2000s\n%.2000s", query, (long long)budget,
			 first.text, second.text);
}

static void test_index__gives_the_same_bytes_as_the_scan(void **state)
{
	(void)state;
	for (int round = 0; round < 4; round++) {
		make_many(1 + roll(150));
		for (int i = 0; i < 40; i++) {
			struct fw_buf query;

			fw_buf_init(&query, 4096);
			FW_BUF(&query, "");
			put_words(&query, roll(6));
			assert_alike(query.text ? query.text : "", roll(1 + roll(6000)));
			fw_buf_clear(&query);
		}
		assert_alike("w0 w1 w2", INT64_MAX);
	}
}

struct asker {
	pthread_t thread;
	const char *expected;
	bool is_alike;
};

static void *ask_often(void *ctx)
{
	struct asker *asker = ctx;
	struct fw_buf out;

	asker->is_alike = true;
	fw_buf_init(&out, 1 << 26);
	for (int i = 0; i < 125 && asker->is_alike; i++) {
		fw_error *err = resolve("w0 w3 w7 end.", 900, &out);

		asker->is_alike = !err && strcmp(out.text, asker->expected) == 0;
		fw_error_free(err);
	}
	fw_buf_clear(&out);
	return NULL;
}

static void test_resolve__a_thousand_times_on_eight_threads_gives_the_same_bytes(void **state)
{
	struct asker askers[8];

	(void)state;
	make_many(200);
	must(scan("w0 w3 w7 end.", 900, 1, &second));
	for (int i = 0; i < 8; i++) {
		askers[i].expected = second.text;
		assert_int_equal(pthread_create(&askers[i].thread, NULL, ask_often, &askers[i]),
				 0);
	}
	for (int i = 0; i < 8; i++) {
		(void)pthread_join(askers[i].thread, NULL);
		assert_true(askers[i].is_alike);
	}
}

/* ---- a cache that stays open ---- */

static struct fw_context_cache *get(void)
{
	struct fw_context_cache *cache;

	must(fw_context_store_get(store, "c", 1, NULL, &cache));
	fw_context_cache_unref(cache); /* the store has a reference too */
	return cache;
}

static void test_store__an_unchanged_cache_is_read_once(void **state)
{
	struct fw_context_cache *cache;

	(void)state;
	make_three();
	cache = get();
	assert_true(cache->watch >= 0);
	for (int i = 0; i < 10; i++)
		assert_ptr_equal(get(), cache);
}

#define SECURITY "c/documents/c070a5c47a9f.json"

/* Changes a cache after it was checked, in one of several ways. */
static void break_it(int way)
{
	size_t len;
	char *text;

	switch (way) {
	case 0: /* in place, with the same length */
		text = get_file(SECURITY, &len);
		memcpy(strstr(text, "guide"), "GUIDE", 5);
		put_file(SECURITY, text, len);
		free(text);
		break;
	case 1: assert_int_equal(unlink(SECURITY), 0); break;
	case 2: put_text("c/documents/more.json", "{}"); break;
	case 3: put_text("c/index.json", "{}"); break;
	case 4: assert_int_equal(unlink("c/manifest.json"), 0); break;
	case 5: assert_int_equal(rename("c/documents", "c/elsewhere"), 0); break;
	case 6:
		assert_int_equal(unlink(SECURITY), 0);
		assert_int_equal(symlink("19835fc46fd4.json", SECURITY), 0);
		break;
	default: fail();
	}
}

/* The query does not select the changed document, so only the check for changes can
 * notice. */
static void assert_seen(int way, bool by_kernel)
{
	make_three();
	must(resolve("deployment", 10, &first));
	if (!by_kernel) {
		struct fw_context_cache *cache = get();

		(void)close(cache->watch);
		cache->watch = -1;
		assert_ptr_equal(get(), cache);
	}
	break_it(way);
	assert_string_equal(code_of(resolve("deployment", 10, &first)), "cache_invalid");
	shell("rm -r s c");
}

static void test_store__sees_every_change_after_the_check(void **state)
{
	(void)state;
	for (int way = 0; way < 7; way++) {
		assert_seen(way, true);
		assert_seen(way, false);
	}
}

static void test_store__a_replaced_or_repaired_cache_is_read_again(void **state)
{
	(void)state;
	make_three();
	must(resolve("new", 100, &first));
	put_text("s/new.md", "new");
	must(build("s", "c", true, 0));
	must(resolve("new", 100, &second));
	assert_non_null(strstr(second.text, "\"documents_considered\":4"));
	break_it(2);
	assert_string_equal(code_of(resolve("new", 100, &first)), "cache_invalid");
	assert_int_equal(unlink("c/documents/more.json"), 0);
	must(resolve("new", 100, &first));
	assert_string_equal(first.text, second.text);
	shell("rm -r c");
	assert_string_equal(code_of(resolve("new", 100, &first)), "cache_missing");
}

static void *replace_often(void *ctx)
{
	for (int i = 0; i < 20; i++)
		if (build("s", "c", true, 1))
			*(bool *)ctx = false;
	return NULL;
}

static void test_store__a_cache_replaced_under_its_reader_is_never_found_invalid(void **state)
{
	bool is_built = true;
	pthread_t thread;

	(void)state;
	make_three();
	must(scan("deployment", 100, 1, &second));
	assert_int_equal(pthread_create(&thread, NULL, replace_often, &is_built), 0);
	for (int i = 0; i < 100; i++) {
		if (i % 2)
			must(resolve("deployment", 100, &first));
		else
			must(scan("deployment", 100, 1, &first));
		assert_string_equal(first.text, second.text);
	}
	(void)pthread_join(thread, NULL);
	assert_true(is_built);
}

static void test_store__keeps_a_limited_number_of_caches(void **state)
{
	char name[16];

	(void)state;
	make_three();
	for (int i = 0; i < 3 * FW_LIMIT_CONTEXT_CACHES; i++) {
		struct fw_context_cache *cache;

		(void)snprintf(name, sizeof name, "c%d", i);
		must(build("s", name, false, 1));
		must(fw_context_store_get(store, name, strlen(name), NULL, &cache));
		fw_context_cache_unref(cache);
	}
	assert_true(count_names("/proc/self/fd") < 20 + 3 * FW_LIMIT_CONTEXT_CACHES);
}

/* ---- as a tool ---- */

static void *run_server(void *server)
{
	return fw_server_run(server);
}

/* The reply of a server with that deadline. */
static void call_tool(uint32_t deadline_ms, const char *request_text, char *answer, size_t size)
{
	fw_server_options options = FW_SERVER_OPTIONS_INIT;
	fw_server *server;
	pthread_t thread;
	void *err = NULL;
	int in[2], out[2];
	ssize_t got;

	options.name = "test";
	options.version = "1";
	options.deadline_ms = deadline_ms;
	options.keep_signals = true;
	must(fw_server_new(&options, &server));
	must(fw_context_add(server, store, FW_RUN_THREAD, NULL));
	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	must(fw_server_listen_fds(server, in[0], out[1]));
	assert_int_equal(pthread_create(&thread, NULL, run_server, server), 0);
	assert_int_equal(write(in[1], request_text, strlen(request_text)),
			 strlen(request_text));
	got = read(out[0], answer, size - 1);
	assert_true(got > 0);
	answer[got] = '\0';
	/* The handler notices the deadline at its next document. Wait for that,
	 * because the server cannot be freed before. */
	(void)usleep(500 * 1000);
	(void)close(in[1]);
	(void)pthread_join(thread, &err);
	must(err);
	fw_server_free(server);
	(void)close(in[0]);
	(void)close(out[0]);
	(void)close(out[1]);
}

static void test_tool__a_deadline_is_io_error(void **state)
{
	static const char question[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
		"\"context.resolve\",\"arguments\":{\"cache\":\"c\",\"query\":\"w1\","
		"\"budget\":9},"
		"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
		"\"io.modelcontextprotocol/clientCapabilities\":{}}}}\n";
	static char answer[65536];

	(void)state;
	make_many(2000);
	/* This many documents cannot be checked in a millisecond. */
	call_tool(1, question, answer, sizeof answer);
	assert_non_null(strstr(answer,
			       "{\\\"error\\\":{\\\"code\\\":\\\"io_error\\\",\\\"message"
			       "\\\":\\\"I/O error occurred\\\"}}\\n"));
	assert_non_null(strstr(answer, "runtime.timeout"));
	call_tool(0, question, answer, sizeof answer);
	assert_non_null(strstr(answer, "{\\\"documents\\\":["));
}

/* ---- memory ---- */

static bool ask_once(void)
{
	struct fw_context_request asked = request("w1 \xc3\x84pfel", 300);
	const struct fw_context_run run = { .threads = 1 };
	struct fw_context_store *fresh = NULL;
	struct fw_buf out;
	fw_error *err = fw_context_store_new(".", &fresh);

	fw_buf_init(&out, 1 << 20);
	if (!err)
		err = fw_context_resolve(fresh, &asked, &run, &out);
	fw_buf_reset(&out, SIZE_MAX);
	if (!err)
		err = fw_context_scan(fresh, &asked, &run, &out);
	fw_buf_clear(&out);
	fw_context_store_free(fresh);
	if (err && fw_error_code(err) != FW_INTERNAL_OUT_OF_MEMORY)
		fail_msg("%s", fw_error_name(err));
	return !strcmp(code_of(err), "none");
}

static void test_resolve__survives_every_allocation_failure(void **state)
{
	(void)state;
	make_many(3);
	/* Memory must be freed by the allocator that allocated it. */
	fw_context_store_free(store);
	store = NULL;
	fw_buf_clear(&first);
	use_test_memory();
	each_allocation_fails(ask_once);
	fw_allocator_set(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_resolve__gives_exactly_the_text_of_the_contract),
		TEST(test_resolve__budget_0_selects_nothing_not_even_an_empty_document),
		TEST(test_resolve__a_document_over_the_budget_is_skipped),
		TEST(test_resolve__a_name_cannot_leave_the_root),
		TEST(test_index__gives_the_same_bytes_as_the_scan),
		TEST(test_resolve__a_thousand_times_on_eight_threads_gives_the_same_bytes),
		TEST(test_store__an_unchanged_cache_is_read_once),
		TEST(test_store__sees_every_change_after_the_check),
		TEST(test_store__a_replaced_or_repaired_cache_is_read_again),
		TEST(test_store__a_cache_replaced_under_its_reader_is_never_found_invalid),
		TEST(test_store__keeps_a_limited_number_of_caches),
		TEST(test_tool__a_deadline_is_io_error),
		TEST(test_resolve__survives_every_allocation_failure),
	};

	return cmocka_run_group_tests_name("context_store", tests, NULL, NULL);
}

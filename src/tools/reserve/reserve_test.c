/*
 * Reservations: what conflicts, what expires, who wins a race, and how long a check takes.
 */
#include "tools/reserve/book.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <faultwire/faultwire.h>

#include "test/memory.h"
#include "tools/common/glob.h"

#define SCRATCH_FORM "sqlite:%s/store.db"
#include "test/scratch.h"

static int64_t clock_ms;

static int64_t read_clock(void)
{
	return clock_ms;
}

static struct fw_store *open_store(void)
{
	const struct fw_store_options options = { .now_ms = read_clock };
	struct fw_store *store = NULL;

	assert_null(fw_store_open(path, &options, &store));
	return store;
}

/* A server: a store and a book. */
struct server {
	struct fw_store *store;
	struct fw_reserve_book *book;
};

static struct server begin(void)
{
	struct server server = { open_store(), fw_reserve_book_new(read_clock) };

	assert_non_null(server.book);
	return server;
}

static void end(struct server *server)
{
	fw_reserve_book_free(server->book);
	fw_store_free(server->store);
}

static void assert_code(fw_error *err, int code)
{
	if (fw_error_code(err) != code)
		fail_msg("expected code %d, got %d: %s", code, fw_error_code(err),
			 err ? fw_error_message(err) : "success");
	fw_error_free(err);
}

static char last_id[FW_RESERVE_ID_SIZE];
static int64_t last_expiry;

static fw_error *take(struct server *server, const char *agent, const char *pattern,
		      bool is_exclusive, int64_t ttl_ms)
{
	const struct fw_reserve_request request = { .agent = agent,
						    .root = "/w",
						    .patterns = &pattern,
						    .count = 1,
						    .reason = "test",
						    .ttl_ms = ttl_ms,
						    .is_exclusive = is_exclusive };

	return fw_reserve_take(server->book, server->store, &request, &last_id, &last_expiry);
}

static void assert_took(struct server *server, const char *agent, const char *pattern,
			bool is_exclusive)
{
	assert_null(take(server, agent, pattern, is_exclusive, 60000));
}

static void assert_conflict(struct server *server, const char *agent, const char *pattern,
			    bool is_exclusive)
{
	assert_code(take(server, agent, pattern, is_exclusive, 60000), FW_RESERVATION_CONFLICT);
}

static size_t conflicts_of(struct server *server, const char *agent, const char *root,
			   const char *pattern, bool is_path)
{
	const struct fw_reserve_request request = { .agent = agent,
						    .root = root,
						    .patterns = &pattern,
						    .count = 1,
						    .is_exclusive = true,
						    .is_paths = is_path };
	struct fw_reserve_conflicts conflicts;
	size_t count;

	fw_reserve_conflicts_init(&conflicts);
	assert_null(fw_reserve_check(server->book, server->store, &request, &conflicts));
	count = conflicts.count;
	fw_reserve_conflicts_clear(&conflicts);
	return count;
}

static int begin_test(void **state)
{
	clock_ms = 1700000000000;
	return set_up(state);
}

/* ---- rules ---- */

static void test_reserve__exclusive_shared_and_own(void **state)
{
	struct server one = begin(), two = begin();

	(void)state;
	assert_took(&one, "a", "src/*.c", true);
	assert_conflict(&two, "b", "src/main.c", true);
	assert_conflict(&two, "b", "src/main.c", false);
	assert_took(&two, "a", "src/main.c", true);
	assert_took(&two, "b", "src/main.h", false);
	assert_took(&one, "c", "src/*.h", false);
	assert_conflict(&one, "d", "src/x.h", true);
	assert_took(&one, "d", "docs/", true);
	assert_conflict(&two, "a", "docs/x/y.md", true);
	assert_conflict(&two, "a", "{docs,lib}/y.md", true);
	assert_took(&two, "a", "{doc,lib}/y.md", true);
	assert_conflict(&one, "d", "lib/y.md", true);
	end(&one);
	end(&two);
}

static void test_reserve__a_conflict_says_who_and_how_long(void **state)
{
	struct server one = begin();
	fw_error *err;
	char *text = NULL;
	char expected[512];

	(void)state;
	assert_null(take(&one, "agent-2", "src/*.go", true, 90500));
	err = take(&one, "b", "src/main.go", true, 60000);
	assert_non_null(err);
	assert_true(fw_error_recoverable(err));
	assert_true(fw_error_retry_after(err) == 91);
	assert_null(fw_error_to_text(err, FW_TOOLERROR, NULL, &text, NULL));
	(void)snprintf(expected, sizeof expected,
		       "{\"type\":\"CONFLICT\",\"message\":\"reservation conflict: 1 "
		       "conflicts\",\"recoverable\":true,\"data\":{\"conflicts\":[{\"agent_"
		       "id\":\"agent-2\",\"pattern\":\"src/*.go\",\"held_by\":\"agent-2\","
		       "\"reservation_id\":\"%s\",\"expires_at\":\"2023-11-14T22:14:50.500Z\"}]"
		       ",\"retry_after\":91",
		       last_id);
	if (!strstr(text, "\"retry_after\":91") || strncmp(text, expected, 100) != 0)
		fail_msg("%s", text);
	fw_free(text);
	fw_error_free(err);
	end(&one);
}

static void test_reserve__expiry_and_renewal(void **state)
{
	struct server one = begin(), two = begin();
	char first[FW_RESERVE_ID_SIZE];

	(void)state;
	assert_took(&one, "a", "x", true);
	memcpy(first, last_id, sizeof first);
	clock_ms += 59999;
	assert_conflict(&two, "b", "x", true);
	/* The same pattern again: the same id, and another minute. */
	assert_took(&one, "a", "x", true);
	assert_string_equal(first, last_id);
	clock_ms += 59999;
	assert_conflict(&two, "b", "x", true);
	clock_ms += 1;
	assert_took(&two, "b", "x", true);
	assert_code(
		fw_reserve_release(one.book, one.store, "a", (const char *const[]){ first }, 1),
		FW_RESERVATION_NOT_FOUND);
	end(&one);
	end(&two);
}

static void test_reserve__release(void **state)
{
	struct server one = begin(), two = begin();
	char ids[2][FW_RESERVE_ID_SIZE];
	struct fw_buf list;

	(void)state;
	assert_took(&one, "a", "x", true);
	memcpy(ids[0], last_id, sizeof last_id);
	assert_took(&one, "a", "y", true);
	memcpy(ids[1], last_id, sizeof last_id);
	/* Those of others are not found, and then nothing is released. */
	assert_code(fw_reserve_release(two.book, two.store, "b",
				       (const char *const[]){ ids[0] }, 1),
		    FW_RESERVATION_NOT_FOUND);
	assert_code(fw_reserve_release(two.book, two.store, "a",
				       (const char *const[]){ ids[0], "res_nothing" }, 2),
		    FW_RESERVATION_NOT_FOUND);
	assert_conflict(&two, "b", "x", true);
	assert_null(fw_reserve_release(two.book, two.store, "a",
				       (const char *const[]){ ids[0] }, 1));
	assert_took(&one, "b", "x", true);
	/* A person may release everybody's. */
	assert_null(fw_reserve_release(one.book, one.store, NULL,
				       (const char *const[]){ ids[1] }, 1));
	for (int i = 0; i < 3 * FW_RESERVE_PATTERNS; i++) {
		char name[32];

		(void)snprintf(name, sizeof name, "many/%d", i);
		assert_took(&one, "c", name, true);
	}
	fw_buf_init(&list, 1 << 20);
	assert_null(fw_reserve_release_all(two.book, two.store, "c", &list));
	fw_buf_clear(&list);
	assert_int_equal(conflicts_of(&one, "d", "/w", "many/*", false), 0);
	assert_int_equal(conflicts_of(&one, "d", "/w", "**", false), 1);
	end(&one);
	end(&two);
}

static void test_reserve__writes(void **state)
{
	struct server one = begin();

	(void)state;
	assert_took(&one, "a", "src/*.c", true);
	assert_took(&one, "a", "doc/[ab]", false);
	assert_took(&one, "b", "doc/a", false);
	assert_int_equal(conflicts_of(&one, "a", "/w", "src/x.c", true), 0);
	assert_int_equal(conflicts_of(&one, "b", "/w", "src/x.c", true), 1);
	assert_int_equal(conflicts_of(&one, NULL, "/w", "src/x.c", true), 1);
	/* The workspace may be another directory than that of the patterns. */
	assert_int_equal(conflicts_of(&one, "b", "/w/src", "x.c", true), 1);
	assert_int_equal(conflicts_of(&one, "b", "/", "w/src/x.c", true), 1);
	assert_int_equal(conflicts_of(&one, "b", "/elsewhere", "src/x.c", true), 0);
	/* An agent that shares a file may write it, others may not. */
	assert_int_equal(conflicts_of(&one, "b", "/w", "doc/a", true), 0);
	assert_int_equal(conflicts_of(&one, "b", "/w", "doc/b", true), 1);
	assert_int_equal(conflicts_of(&one, "c", "/w", "doc/a", true), 2);
	/* A name with special characters is that name. */
	assert_int_equal(conflicts_of(&one, "c", "/w", "src/[x].c", true), 1);
	assert_int_equal(conflicts_of(&one, "c", "/w", "doc/[ab]", true), 0);
	end(&one);
}

static void test_reserve__bad_patterns(void **state)
{
	static const char *const bad[] = {
		"", "/etc/passwd", "../x", "a//b", "[a", "{a", "a**"
	};
	struct server one = begin();

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_code(take(&one, "a", bad[i], true, 60000), FW_INPUT_INVALID_VALUE);
	assert_int_equal(conflicts_of(&one, "b", "/w", "**", false), 0);
	end(&one);
}

/* A server that has slept for longer than the log is kept reads everything again. */
static void test_reserve__a_server_that_was_away(void **state)
{
	struct server one = begin(), two = begin();

	(void)state;
	assert_null(take(&one, "a", "x", true, FW_RESERVE_TTL_MAX_MS));
	assert_int_equal(conflicts_of(&two, "b", "/w", "x", false), 1);
	assert_null(take(&one, "a", "y", true, FW_RESERVE_TTL_MAX_MS));
	clock_ms += 2 * 3600 * 1000;
	assert_null(take(&one, "a", "z", true, FW_RESERVE_TTL_MAX_MS));
	assert_int_equal(conflicts_of(&two, "b", "/w", "?", false), 3);
	end(&one);
	end(&two);
}

/* ---- the index against a list ---- */

static bool count(void *ctx, const struct fw_reservation *found)
{
	(void)found;
	++*(size_t *)ctx;
	return true;
}

static fw_error *find(struct fw_reserve_index *index, const char *pattern, bool is_path,
		      size_t *found)
{
	const struct fw_reserve_query query = { .argument = "x",
						.root = "/w",
						.pattern = pattern,
						.is_path = is_path,
						.found = count,
						.ctx = found };

	return fw_reserve_index_find(index, &query);
}

static void test_index__finds_what_a_comparison_with_all_finds(void **state)
{
	static const char *const names[] = { "a",     "b",       "a/b",     "a/b/c",  "*",
					     "a/*",   "*/b",     "**",      "**/c",   "a/**/c",
					     "a/",    "?",       "a/b/*",   "[ab]/b", "b/**",
					     "*/*/c", "a/[b]/c", "c/d/e/f", "**/e/*", "c/d" };
	enum { COUNT = sizeof names / sizeof *names };
	struct fw_reserve_index *index = fw_reserve_index_new();

	(void)state;
	for (size_t round = 0; round < 2; round++)
		for (size_t i = 0; i < COUNT; i++) {
			char id[16];
			const struct fw_reservation one = { id, "a",  "/w", names[i],
							    "", true, 0,    1 };

			(void)snprintf(id, sizeof id, "r%u", (unsigned)i);
			assert_null(fw_reserve_index_put(index, &one));
		}
	assert_int_equal(fw_reserve_index_count(index), COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		size_t expected = 0, found = 0;

		for (size_t j = 0; j < COUNT; j++)
			expected += fw_glob_overlap(names[i], strlen(names[i]), names[j],
						    strlen(names[j]));
		assert_null(find(index, names[i], false, &found));
		if (found != expected)
			fail_msg("%s: %zu instead of %zu", names[i], found, expected);
	}
	fw_reserve_index_remove(index, "r7");
	fw_reserve_index_remove(index, "r7");
	fw_reserve_index_expire(index, 0);
	assert_int_equal(fw_reserve_index_count(index), COUNT - 1);
	fw_reserve_index_expire(index, 1);
	assert_int_equal(fw_reserve_index_count(index), 0);
	fw_reserve_index_free(index);
}

static uint64_t seed = 29;

static unsigned pick(unsigned most)
{
	seed = seed * 6364136223846793005U + 1442695040888963407U;
	return (unsigned)(seed >> 33) % most;
}

enum { PATTERN_BYTES = 48 };

/* One to four components; with `is_path`, without special characters. */
static void make_pattern(char pattern[PATTERN_BYTES], bool is_path)
{
	static const char *const parts[] = { "a",  "bc",  "main.c", "x.h", "\xc3\xa4.c",
					     "*",  "*.c", "*.h",    "?.c", "m*n.[ch]",
					     "**", "a*",  "[ab]",   "*a*", "b*c" };
	unsigned components = 1 + pick(4);
	size_t len = 0;

	for (unsigned i = 0; i < components; i++) {
		const char *part = parts[pick(is_path ? 5 : sizeof parts / sizeof *parts)];

		len += (size_t)snprintf(pattern + len, PATTERN_BYTES - len, "%s%s",
					i ? "/" : "", part);
	}
}

struct many {
	char patterns[3000][PATTERN_BYTES];
	bool is_present[3000];
};

static void put_one(struct fw_reserve_index *index, struct many *many, unsigned i)
{
	char id[16], agent[16];
	struct fw_reservation one = { .id = id,
				      .agent = agent,
				      .root = "/w",
				      .pattern = many->patterns[i],
				      .reason = "",
				      .is_exclusive = i % 3 == 0,
				      .expires_ms = 1 };

	(void)snprintf(id, sizeof id, "r%u", i);
	(void)snprintf(agent, sizeof agent, "agent-%u", i % 7);
	make_pattern(many->patterns[i], i % 2);
	assert_null(fw_reserve_index_put(index, &one));
	many->is_present[i] = true;
}

static void remove_one(struct fw_reserve_index *index, struct many *many, unsigned i)
{
	char id[16];

	(void)snprintf(id, sizeof id, "r%u", i);
	fw_reserve_index_remove(index, id);
	many->is_present[i] = false;
}

/* Of agent-3, and exclusive ones. */
static bool count_chosen(void *ctx, const struct fw_reservation *found)
{
	if (found->is_exclusive || strcmp(found->agent, "agent-3") == 0)
		++*(size_t *)ctx;
	return true;
}

static void compare_one(struct fw_reserve_index *index, const struct many *many,
			const char *pattern, bool is_path)
{
	size_t expected = 0, chosen = 0, found = 0, found_chosen = 0;
	const struct fw_reserve_query query = { .argument = "x",
						.root = "/w",
						.pattern = pattern,
						.is_path = is_path,
						.of = FW_RESERVE_OF_AGENT_OR_EXCLUSIVE,
						.agent = "agent-3",
						.found = count_chosen,
						.ctx = &found_chosen };

	for (unsigned i = 0; i < sizeof many->patterns / sizeof *many->patterns; i++) {
		const char *other = many->patterns[i];

		if (!many->is_present[i] ||
		    !fw_glob_overlap(pattern, strlen(pattern), other, strlen(other)))
			continue;
		expected++;
		chosen += i % 3 == 0 || i % 7 == 3;
	}
	assert_null(find(index, pattern, is_path, &found));
	assert_null(fw_reserve_index_find(index, &query));
	if (found != expected || found_chosen != chosen)
		fail_msg("%s: %zu and %zu instead of %zu and %zu", pattern, found, found_chosen,
			 expected, chosen);
}

static void test_index__bitmaps_leave_out_nothing_that_overlaps(void **state)
{
	static struct many many;
	enum { TOTAL = sizeof many.patterns / sizeof *many.patterns };
	struct fw_reserve_index *index = fw_reserve_index_new();

	(void)state;
	for (unsigned i = 0; i < TOTAL; i++)
		put_one(index, &many, i);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 60; i++) {
			char pattern[PATTERN_BYTES];

			make_pattern(pattern, i % 2);
			compare_one(index, &many, pattern, i % 2);
		}
		/* Numbers of the bitmaps are used again. */
		for (unsigned i = 0; i < TOTAL / 2; i++)
			remove_one(index, &many, pick(TOTAL));
		for (unsigned i = 0; i < TOTAL / 3; i++)
			put_one(index, &many, pick(TOTAL));
	}
	fw_reserve_index_free(index);
}

/* ---- a race ---- */

struct race {
	pthread_barrier_t barrier;
	atomic_uint winners[10000];
	atomic_uint failures;
};

static void run_racer(struct race *race, const char *agent, unsigned rounds)
{
	struct server server = begin();

	/* Both processes may know random bytes that the parent has read ahead, so ids may
	 * occur twice: that must not replace a reservation, either. */
	for (unsigned i = 0; i < rounds; i++) {
		char name[32], who[32];
		fw_error *err;

		/* No agent may have more than FW_RESERVE_AGENT_MAX. */
		(void)snprintf(who, sizeof who, "%s%u", agent, i / 1000);
		(void)snprintf(name, sizeof name, "f%u", i);
		(void)pthread_barrier_wait(&race->barrier);
		err = take(&server, who, name, true, FW_RESERVE_TTL_MAX_MS);
		if (!err)
			atomic_fetch_add(&race->winners[i], 1);
		else if (fw_error_code(err) != FW_RESERVATION_CONFLICT)
			atomic_fetch_add(&race->failures, 1);
		fw_error_free(err);
	}
	end(&server);
	_exit(0);
}

static void test_reserve__of_two_processes_exactly_one_holds_the_file(void **state)
{
	const unsigned rounds = getenv("FW_LONG") ? 10000 : 300;
	struct race *race = mmap(NULL, sizeof *race, PROT_READ | PROT_WRITE,
				 /* cppcheck-suppress invalidFunctionArg ; no file */
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	static const char *const agents[] = { "a", "b" };
	struct server server;
	pthread_barrierattr_t shared;
	pid_t children[2];
	size_t held = 0;

	(void)state;
	assert_true(race != MAP_FAILED);
	(void)pthread_barrierattr_init(&shared);
	(void)pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	assert_int_equal(pthread_barrier_init(&race->barrier, &shared, 2), 0);
	for (int i = 0; i < 2; i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (!children[i])
			run_racer(race, agents[i], rounds);
	}
	for (int i = 0; i < 2; i++) {
		int status = -1;

		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(race->failures, 0);
	for (unsigned i = 0; i < rounds; i++)
		assert_int_equal(race->winners[i], 1);
	server = begin();
	assert_null(fw_reserve_list(server.book, server.store, NULL, count, &held));
	assert_int_equal(held, rounds);
	end(&server);
	(void)munmap(race, sizeof *race);
}

/* ---- many ---- */

/* bench/reserve measures 50,000. */
static void test_reserve__many(void **state)
{
	enum { TOTAL = 5000, DIRS = 50 };
	struct server server = begin();
	char names[FW_RESERVE_PATTERNS][40];
	const char *patterns[FW_RESERVE_PATTERNS];
	char ids[FW_RESERVE_PATTERNS][FW_RESERVE_ID_SIZE];
	char agent[16];
	size_t held = 0;

	(void)state;
	for (unsigned i = 0; i < TOTAL;) {
		struct fw_reserve_request request = { .agent = agent,
						      .root = "/w",
						      .patterns = patterns,
						      .reason = "test",
						      .ttl_ms = 3600000,
						      .is_exclusive = true };

		(void)snprintf(agent, sizeof agent, "agent-%u", i / 1000);
		for (; request.count < 50; request.count++, i++) {
			(void)snprintf(names[request.count], sizeof *names, "src/d%u/file%u.c",
				       i % DIRS, i);
			patterns[request.count] = names[request.count];
		}
		assert_null(fw_reserve_take(server.book, server.store, &request, ids,
					    &last_expiry));
	}
	assert_int_equal(conflicts_of(&server, "me", "/w", "src/d7/other.c", false), 0);
	assert_int_equal(conflicts_of(&server, "me", "/w", "src/d7/file7.c", false), 1);
	assert_int_equal(conflicts_of(&server, "me", "/w", "src/d7/*.c", false), TOTAL / DIRS);
	assert_int_equal(conflicts_of(&server, "me", "/w", "**/*.h", false), 0);
	end(&server);
	/* Another server reads them all. */
	server = begin();
	assert_int_equal(conflicts_of(&server, "me", "/w", "**", false), FW_RESERVE_COUNTED);
	assert_null(fw_reserve_list(server.book, server.store, NULL, count, &held));
	assert_int_equal(held, TOTAL);
	end(&server);
}

/* ---- memory ---- */

static void use_index(void)
{
	struct fw_reserve_index *index = fw_reserve_index_new();
	const struct fw_reservation one = {
		"r1", "a", "/w/[x]", "{a,b}/**/*.c", "", true, 0, 1
	};
	size_t found = 0;

	if (!index)
		return;
	fw_error_free(fw_reserve_index_put(index, &one));
	fw_error_free(find(index, "[x]/a/b.c", false, &found));
	fw_reserve_index_free(index);
}

static void test_index__each_allocation_fails(void **state)
{
	(void)state;
	each_allocation_fails(use_index);
}

static void use_book(void)
{
	struct fw_reserve_book *book = fw_reserve_book_new(read_clock);
	struct server server = { NULL, book };
	struct fw_reserve_conflicts conflicts;
	fw_error *err;

	err = book ? fw_store_open(path, NULL, &server.store) : NULL;
	if (!book || err) {
		fw_error_free(err);
		fw_reserve_book_free(book);
		return;
	}
	err = take(&server, "a", "x/*", true, 60000);
	fw_error_free(err);
	fw_reserve_conflicts_init(&conflicts);
	err = fw_reserve_check(
		book, server.store,
		&(struct fw_reserve_request){ .agent = "b",
					      .root = "/w",
					      .patterns = (const char *const[]){ "x/y" },
					      .count = 1,
					      .is_exclusive = true },
		&conflicts);
	fw_error_free(err ? err : fw_reserve_raise(&conflicts));
	fw_reserve_conflicts_clear(&conflicts);
	end(&server);
}

static void test_book__each_allocation_fails(void **state)
{
	(void)state;
	each_allocation_fails(use_book);
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, begin_test, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_STORE(test_reserve__exclusive_shared_and_own),
		WITH_STORE(test_reserve__a_conflict_says_who_and_how_long),
		WITH_STORE(test_reserve__expiry_and_renewal),
		WITH_STORE(test_reserve__release),
		WITH_STORE(test_reserve__writes),
		WITH_STORE(test_reserve__bad_patterns),
		WITH_STORE(test_reserve__a_server_that_was_away),
		cmocka_unit_test(test_index__finds_what_a_comparison_with_all_finds),
		cmocka_unit_test(test_index__bitmaps_leave_out_nothing_that_overlaps),
		WITH_STORE(test_reserve__of_two_processes_exactly_one_holds_the_file),
		WITH_STORE(test_reserve__many),
		cmocka_unit_test(test_index__each_allocation_fails),
		WITH_STORE(test_book__each_allocation_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * store_suite.c - see store_suite.h.
 */
#include "store/store_suite.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <faultwire/raise.h>

#include "base/limits.h"
#include "store/store.h"

static const struct fw_store_suite_backend *backend;
static char url[512];
static int64_t clock_ms;

static int64_t read_clock(void)
{
	return clock_ms;
}

static int set_up(void **state)
{
	(void)state;
	clock_ms = 1000000;
	backend->make(url, sizeof url);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	backend->remove(url);
	return fw_error_live() == 0 ? 0 : -1;
}

static struct fw_store *open_store(bool is_reader)
{
	const struct fw_store_options options = { .is_reader = is_reader,
						  .now_ms = read_clock };
	struct fw_store *store = NULL;

	assert_null(fw_store_open(url, &options, &store));
	return store;
}

/* ---- rows --------------------------------------------------------------- */

/* A copy of what was found. */
struct seen {
	size_t count;
	char keys[16][64];
	char kind[64], owner[64], value[512];
	int64_t number, expires_ms;
	uint64_t version;
};

static void see(void *ctx, const struct fw_store_row *row)
{
	struct seen *seen = ctx;

	if (seen->count < 16)
		(void)snprintf(seen->keys[seen->count], sizeof seen->keys[0], "%s", row->key);
	seen->count++;
	(void)snprintf(seen->kind, sizeof seen->kind, "%s", row->kind);
	(void)snprintf(seen->owner, sizeof seen->owner, "%s", row->owner);
	(void)snprintf(seen->value, sizeof seen->value, "%s", row->value);
	seen->number = row->number;
	seen->expires_ms = row->expires_ms;
	seen->version = row->version;
}

static struct seen get(struct fw_store *store, const char *kind, const char *key)
{
	struct seen seen = { .count = 0 };

	assert_null(fw_store_get(store, kind, key, see, &seen));
	return seen;
}

static struct seen list(struct fw_store *store, const char *owner, const char *after,
			size_t limit)
{
	struct seen seen = { .count = 0 };

	assert_null(fw_store_list(store, "k", owner, after, limit, see, &seen));
	return seen;
}

static struct fw_store_result apply(struct fw_store *store, struct fw_store_change change)
{
	struct fw_store_result result = { .is_refused = true };
	fw_error *err = fw_store_apply(store, &change, 1, &result);
	char text[500];

	if (err) {
		(void)fw_error_text(err, text, sizeof text);
		print_error("%s\n", text);
	}
	assert_null(err);
	return result;
}

static struct fw_store_change put(const char *key, const char *value)
{
	return (struct fw_store_change){
		.action = FW_STORE_PUT, .kind = "k", .key = key, .value = value
	};
}

static struct fw_store_change add(const char *key, int64_t number, int64_t max)
{
	return (struct fw_store_change){ .action = FW_STORE_ADD,
					 .kind = "k",
					 .key = key,
					 .number = number,
					 .is_limited = true,
					 .max = max };
}

static struct fw_store_change drop(const char *key, uint64_t if_version)
{
	return (struct fw_store_change){
		.action = FW_STORE_DELETE, .kind = "k", .key = key, .if_version = if_version
	};
}

static void test_store__a_row_is_read_as_it_was_written(void **state)
{
	struct fw_store *store = open_store(false);
	struct fw_store_change change = put("it's \"\xc3\xa4\" %_\\", "{\"a\":[1,\"'\"]}");
	struct fw_store_result result;
	struct seen seen;

	(void)state;
	change.owner = "o'; DROP TABLE store_row; --";
	change.number = INT64_MIN;
	change.expires_ms = clock_ms + 1;
	result = apply(store, change);
	assert_false(result.is_refused);
	assert_true(result.version > 0);
	seen = get(store, "k", change.key);
	assert_int_equal(seen.count, 1);
	assert_string_equal(seen.keys[0], change.key);
	assert_string_equal(seen.kind, "k");
	assert_string_equal(seen.owner, change.owner);
	assert_string_equal(seen.value, change.value);
	assert_true(seen.number == INT64_MIN);
	assert_int_equal(seen.expires_ms, clock_ms + 1);
	assert_int_equal(seen.version, result.version);
	assert_int_equal(get(store, "other", change.key).count, 0);
	assert_int_equal(get(store, "k", "IT'S").count, 0);
	fw_store_free(store);
}

static void test_store__a_put_replaces_the_whole_row(void **state)
{
	struct fw_store *store = open_store(false);
	struct fw_store_change change = put("a", "1");
	struct seen seen;

	(void)state;
	change.owner = "o";
	change.number = 5;
	change.expires_ms = clock_ms + 10;
	(void)apply(store, change);
	(void)apply(store, put("a", "2"));
	seen = get(store, "k", "a");
	assert_string_equal(seen.owner, "");
	assert_string_equal(seen.value, "2");
	assert_int_equal(seen.number, 0);
	assert_int_equal(seen.expires_ms, 0);
	fw_store_free(store);
}

static void test_store__only_the_first_of_two_creations_succeeds(void **state)
{
	struct fw_store *store = open_store(false);
	struct fw_store_change change = put("a", "1");

	(void)state;
	change.if_version = FW_STORE_ABSENT;
	assert_false(apply(store, change).is_refused);
	change.value = "2";
	assert_true(apply(store, change).is_refused);
	assert_string_equal(get(store, "k", "a").value, "1");
	fw_store_free(store);
}

static void test_store__a_change_with_an_old_version_is_refused(void **state)
{
	struct fw_store *store = open_store(false);
	uint64_t first = apply(store, put("a", "1")).version;
	struct fw_store_change change = put("a", "2");
	uint64_t second;

	(void)state;
	change.if_version = first;
	second = apply(store, change).version;
	assert_true(second > first);
	assert_true(apply(store, change).is_refused);
	assert_true(apply(store, drop("a", first)).is_refused);
	assert_int_equal(get(store, "k", "a").version, second);
	assert_false(apply(store, drop("a", second)).is_refused);
	assert_int_equal(get(store, "k", "a").count, 0);
	assert_true(apply(store, drop("a", second)).is_refused);
	assert_false(apply(store, drop("a", 0)).is_refused);
	fw_store_free(store);
}

static void test_store__a_version_is_not_reused_after_a_deletion(void **state)
{
	struct fw_store *store = open_store(false);
	uint64_t first = apply(store, put("a", "1")).version;
	struct fw_store_change change = put("a", "3");

	(void)state;
	(void)apply(store, drop("a", 0));
	fw_store_free(store);
	store = open_store(false);
	assert_true(apply(store, put("a", "2")).version > first);
	change.if_version = first;
	assert_true(apply(store, change).is_refused);
	fw_store_free(store);
}

static void test_store__a_counter_stays_within_its_limits(void **state)
{
	struct fw_store *store = open_store(false);
	struct fw_store_result result;

	(void)state;
	assert_int_equal(apply(store, add("n", 7, 10)).number, 7);
	result = apply(store, add("n", 4, 10));
	assert_true(result.is_refused);
	assert_int_equal(result.number, 7);
	assert_int_equal(apply(store, add("n", 3, 10)).number, 10);
	assert_true(apply(store, add("n", -11, 10)).is_refused);
	assert_int_equal(apply(store, add("n", -10, 10)).number, 0);
	assert_true(apply(store, add("new", 11, 10)).is_refused);
	assert_int_equal(get(store, "k", "new").count, 0);
	fw_store_free(store);
}

static void test_store__a_counter_does_not_overflow(void **state)
{
	struct fw_store *store = open_store(false);
	struct fw_store_change change = add("n", INT64_MAX, 0);

	(void)state;
	change.is_limited = false;
	assert_true(apply(store, change).number == INT64_MAX);
	change.number = 1;
	assert_true(apply(store, change).is_refused);
	change.number = -1;
	assert_true(apply(store, change).number == INT64_MAX - 1);
	fw_store_free(store);
}

static void test_store__an_addition_keeps_the_rest_of_the_row(void **state)
{
	struct fw_store *store = open_store(false);
	struct fw_store_change change = put("n", "{}");
	struct seen seen;

	(void)state;
	change.owner = "o";
	change.expires_ms = clock_ms + 5;
	(void)apply(store, change);
	change = add("n", 1, 10);
	change.owner = "another";
	change.value = "[]";
	(void)apply(store, change);
	seen = get(store, "k", "n");
	assert_string_equal(seen.owner, "o");
	assert_string_equal(seen.value, "{}");
	assert_int_equal(seen.number, 1);
	assert_int_equal(seen.expires_ms, clock_ms + 5);
	fw_store_free(store);
}

static void test_store__changes_are_applied_together_or_not_at_all(void **state)
{
	struct fw_store *store = open_store(false);
	struct fw_store_change changes[] = { add("n", 2, 10), put("r", "1"), add("n", 9, 10) };
	struct fw_store_result result = { .is_refused = false };

	(void)state;
	assert_null(fw_store_apply(store, changes, 3, &result));
	assert_true(result.is_refused);
	assert_int_equal(result.refused_at, 2);
	assert_int_equal(result.number, 2);
	assert_int_equal(get(store, "k", "n").count, 0);
	assert_int_equal(get(store, "k", "r").count, 0);
	changes[2].number = 8;
	assert_null(fw_store_apply(store, changes, 3, &result));
	assert_false(result.is_refused);
	assert_int_equal(result.number, 10);
	assert_int_equal(get(store, "k", "n").number, 10);
	assert_int_equal(get(store, "k", "r").version, get(store, "k", "n").version);
	assert_null(fw_store_apply(store, NULL, 0, &result));
	assert_false(result.is_refused);
	fw_store_free(store);
}

static void test_store__an_expired_row_is_absent(void **state)
{
	struct fw_store *store = open_store(false);
	struct fw_store_change change = add("n", 5, 10);

	(void)state;
	change.expires_ms = clock_ms + 10;
	(void)apply(store, change);
	clock_ms += 9;
	assert_int_equal(get(store, "k", "n").count, 1);
	clock_ms += 1;
	assert_int_equal(get(store, "k", "n").count, 0);
	assert_int_equal(list(store, NULL, NULL, 10).count, 0);
	change.expires_ms = clock_ms + 10;
	assert_int_equal(apply(store, change).number, 5);
	assert_int_equal(get(store, "k", "n").expires_ms, clock_ms + 10);
	clock_ms += 10;
	change = put("n", "1");
	change.if_version = FW_STORE_ABSENT;
	assert_false(apply(store, change).is_refused);
	fw_store_free(store);
}

static void test_store__expired_rows_are_deleted_and_no_others(void **state)
{
	struct fw_store *store = open_store(false);
	struct fw_store_change change = put("", "1");
	size_t count = 0;
	char key[8];

	(void)state;
	for (int i = 0; i < 5; i++) {
		(void)snprintf(key, sizeof key, "%d", i);
		change.key = key;
		change.expires_ms = i ? clock_ms + i : 0;
		(void)apply(store, change);
	}
	clock_ms += 3;
	assert_null(fw_store_expire(store, 2, &count));
	assert_int_equal(count, 2);
	assert_null(fw_store_expire(store, 2, &count));
	assert_int_equal(count, 1);
	assert_null(fw_store_expire(store, 2, &count));
	assert_int_equal(count, 0);
	clock_ms -= 3; /* what was deleted does not come back with the clock */
	assert_int_equal(list(store, NULL, NULL, 10).count, 2);
	fw_store_free(store);
}

static void test_store__rows_are_listed_by_owner_in_pages(void **state)
{
	static const char *const keys[] = { "b", "", "B", "a", "\xc3\xa4" };
	struct fw_store *store = open_store(false);
	struct fw_store_change change = put("", "1");
	struct seen seen;

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		change.key = keys[i];
		change.owner = i % 2 ? "odd" : "even";
		(void)apply(store, change);
	}
	change.kind = "another";
	(void)apply(store, change);
	seen = list(store, NULL, NULL, 10);
	assert_int_equal(seen.count, 5);
	assert_string_equal(seen.keys[0], "");
	assert_string_equal(seen.keys[1], "B");
	assert_string_equal(seen.keys[4], "\xc3\xa4");
	seen = list(store, NULL, "B", 2);
	assert_int_equal(seen.count, 2);
	assert_string_equal(seen.keys[0], "a");
	assert_string_equal(seen.keys[1], "b");
	seen = list(store, "odd", NULL, 10);
	assert_int_equal(seen.count, 2);
	assert_string_equal(seen.keys[0], "");
	assert_string_equal(seen.keys[1], "a");
	assert_int_equal(list(store, "odd", "a", 10).count, 0);
	assert_int_equal(list(store, "nobody", NULL, 10).count, 0);
	assert_int_equal(list(store, NULL, NULL, 0).count, 0);
	fw_store_free(store);
}

static void test_store__a_text_over_its_limit_is_refused(void **state)
{
	struct fw_store *store = open_store(false);
	char *text = malloc(FW_LIMIT_STORE_VALUE_BYTES + 2);
	struct fw_store_change change = put("a", text);
	struct fw_store_result result;
	fw_error *err;

	(void)state;
	assert_non_null(text);
	memset(text, '1', FW_LIMIT_STORE_VALUE_BYTES + 1);
	text[FW_LIMIT_STORE_VALUE_BYTES + 1] = '\0';
	err = fw_store_apply(store, &change, 1, &result);
	assert_int_equal(fw_error_code(err), FW_INPUT_TOO_LARGE);
	fw_error_free(err);
	change.key = text;
	change.value = "1";
	err = fw_store_apply(store, &change, 1, &result);
	assert_int_equal(fw_error_code(err), FW_INPUT_TOO_LARGE);
	fw_error_free(err);
	assert_int_equal(list(store, NULL, NULL, 10).count, 0);
	text[FW_LIMIT_STORE_VALUE_BYTES] = '\0';
	assert_false(apply(store, put("a", text)).is_refused);
	assert_int_equal(list(store, NULL, NULL, 10).count, 1);
	free(text);
	fw_store_free(store);
}

static void test_store__a_reader_sees_rows_but_cannot_change_them(void **state)
{
	struct fw_store *store = open_store(false);
	struct fw_store_change change = put("a", "2");
	struct fw_store_result result;
	struct fw_store *reader;
	fw_error *err;

	(void)state;
	(void)apply(store, put("a", "1"));
	reader = open_store(true);
	assert_string_equal(get(reader, "k", "a").value, "1");
	(void)apply(store, put("a", "3"));
	assert_string_equal(get(reader, "k", "a").value, "3");
	err = fw_store_apply(reader, &change, 1, &result);
	assert_int_equal(fw_error_code(err), FW_DEPENDENCY_UNAVAILABLE);
	fw_error_free(err);
	assert_string_equal(get(reader, "k", "a").value, "3");
	fw_store_free(reader);
	fw_store_free(store);
}

/* ---- several processes -------------------------------------------------- */

enum { PROCESSES = 3, ADDITIONS = 60, QUOTA = 100 };

/* The number of additions that succeeded is the exit status. */
static void add_until_refused(void)
{
	struct fw_store *store = open_store(false);
	int taken = 0;

	for (int i = 0; i < ADDITIONS; i++)
		taken += !apply(store, add("n", 1, QUOTA)).is_refused;
	fw_store_free(store);
	_exit(taken);
}

static void test_store__processes_never_exceed_a_quota_together(void **state)
{
	struct fw_store *store;
	pid_t children[PROCESSES];
	int taken = 0;

	(void)state;
	for (int i = 0; i < PROCESSES; i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (children[i] == 0)
			add_until_refused();
	}
	for (int i = 0; i < PROCESSES; i++) {
		int status = -1;

		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_true(WIFEXITED(status));
		taken += WEXITSTATUS(status);
	}
	assert_int_equal(taken, QUOTA);
	store = open_store(false);
	assert_int_equal(get(store, "k", "n").number, QUOTA);
	fw_store_free(store);
}

static void add_pairs_forever(void)
{
	struct fw_store *store = open_store(false);
	struct fw_store_change changes[] = { add("a", 1, INT64_MAX), add("b", 1, INT64_MAX) };
	struct fw_store_result result;

	while (!fw_store_apply(store, changes, 2, &result))
		;
	_exit(1);
}

static void test_store__a_killed_process_leaves_no_half_of_a_change(void **state)
{
	(void)state;
	for (int round = 0; round < 3; round++) {
		pid_t child = fork();
		struct fw_store *store;
		int status;

		assert_true(child >= 0);
		if (child == 0)
			add_pairs_forever();
		(void)usleep(30000 + 7000 * (unsigned)round);
		assert_int_equal(kill(child, SIGKILL), 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		store = open_store(false);
		assert_int_equal(get(store, "k", "a").number, get(store, "k", "b").number);
		fw_store_free(store);
	}
}

/* ---- incidents ---------------------------------------------------------- */

struct source {
	const char *prefix;
	int64_t time_ms;
	int left;
	char id[64];
};

static bool next_incident(void *ctx, struct fw_incident *ret_incident)
{
	struct source *source = ctx;

	if (source->left-- <= 0)
		return false;
	(void)snprintf(source->id, sizeof source->id, "%s%d", source->prefix, source->left);
	*ret_incident = (struct fw_incident){ .id = source->id,
					      .time_ms = source->time_ms++,
					      .duration_us = 1500,
					      .code = "file.not_found",
					      .severity = "warning",
					      .status = 404,
					      .tool = "open_file",
					      .client = "it's",
					      .message = "not found",
					      .counted_as = "open_file",
					      .error = "{}" };
	return true;
}

static void record(struct fw_store *store, const char *prefix, int count, int64_t time_ms)
{
	struct source source = { .prefix = prefix, .time_ms = time_ms, .left = count };
	char remark[256] = "";

	assert_null(fw_store_prepare(store, remark, sizeof remark));
	assert_string_equal(remark, "");
	assert_null(fw_store_add_incidents(store, next_incident, &source));
}

struct found {
	size_t count;
	char ids[8][64];
	uint64_t seen;
	bool has_error;
};

static void note_found(void *ctx, const struct fw_incident *incident)
{
	struct found *found = ctx;

	if (found->count < 8)
		(void)snprintf(found->ids[found->count], 64, "%s", incident->id);
	found->count++;
	found->seen = incident->count;
	found->has_error = incident->error != NULL;
}

static struct found listed(struct fw_incident_filter filter)
{
	struct fw_store *reader = open_store(true);
	struct found found = { .count = 0 };

	assert_null(fw_store_list_incidents(reader, &filter, note_found, &found));
	fw_store_free(reader);
	return found;
}

static void test_store__incidents_are_listed_newest_first(void **state)
{
	struct fw_store *store = open_store(false);
	struct found found;

	(void)state;
	assert_null(fw_store_probe(store));
	record(store, "a", 2, 5000);
	record(store, "b", 1, 1000); /* the clock was set back */
	found = listed((struct fw_incident_filter){ 0 });
	assert_int_equal(found.count, 3);
	assert_string_equal(found.ids[0], "b0");
	assert_string_equal(found.ids[1], "a0");
	assert_string_equal(found.ids[2], "a1");
	assert_false(found.has_error);
	assert_int_equal(listed((struct fw_incident_filter){ .limit = 1 }).count, 1);
	assert_int_equal(listed((struct fw_incident_filter){ .since_ms = 5001 }).count, 1);
	assert_int_equal(listed((struct fw_incident_filter){ .until_ms = 5001 }).count, 2);
	assert_int_equal(listed((struct fw_incident_filter){ .client = "it's" }).count, 3);
	assert_int_equal(listed((struct fw_incident_filter){ .tool = "other" }).count, 0);
	assert_int_equal(listed((struct fw_incident_filter){ .code = "x" }).count, 0);
	assert_int_equal(listed((struct fw_incident_filter){ .session = "x" }).count, 0);
	fw_store_free(store);
}

static void test_store__incidents_are_found_by_a_prefix(void **state)
{
	struct fw_store *store = open_store(false);
	struct found found = { .count = 0 };
	struct fw_store *reader;

	(void)state;
	record(store, "a", 3, 5000);
	record(store, "b", 1, 5000);
	reader = open_store(true);
	assert_null(fw_store_find_incidents(reader, "a", 2, note_found, &found));
	assert_int_equal(found.count, 2);
	assert_string_equal(found.ids[0], "a0");
	assert_string_equal(found.ids[1], "a1");
	assert_true(found.has_error);
	assert_int_equal(found.seen, 4);
	found.count = 0;
	assert_null(fw_store_find_incidents(reader, "a%", 2, note_found, &found));
	assert_int_equal(found.count, 0);
	fw_store_free(reader);
	fw_store_free(store);
}

static void test_store__old_incidents_are_pruned(void **state)
{
	struct fw_store *store = open_store(false);

	(void)state;
	record(store, "a", 3, 1000);
	record(store, "b", 3, 9000);
	assert_null(fw_store_prune_incidents(store, 0, UINT64_MAX / 2));
	assert_int_equal(listed((struct fw_incident_filter){ 0 }).count, 6);
	assert_null(fw_store_prune_incidents(store, 5000, UINT64_MAX / 2));
	assert_int_equal(listed((struct fw_incident_filter){ 0 }).count, 3);
	assert_null(fw_store_prune_incidents(store, 0, 1));
	assert_int_equal(listed((struct fw_incident_filter){ 0 }).count, 0);
	fw_store_free(store);
}

static void test_store__incidents_and_rows_share_a_store(void **state)
{
	struct fw_store *store = open_store(false);
	struct fw_store *reader;

	(void)state;
	record(store, "a", 1, 1000);
	reader = open_store(true);
	assert_int_equal(get(reader, "k", "a").count, 0);
	assert_int_equal(list(reader, NULL, NULL, 10).count, 0);
	(void)apply(store, put("a", "1"));
	assert_int_equal(get(reader, "k", "a").count, 1);
	record(store, "b", 1, 1000);
	assert_null(fw_store_prune_incidents(store, 5000, UINT64_MAX / 2));
	assert_int_equal(listed((struct fw_incident_filter){ 0 }).count, 0);
	assert_int_equal(get(store, "k", "a").count, 1);
	fw_store_free(reader);
	fw_store_free(store);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_store__##name, set_up, tear_down)

int fw_store_suite(const struct fw_store_suite_backend *tested)
{
	const struct CMUnitTest tests[] = {
		TEST(a_row_is_read_as_it_was_written),
		TEST(a_put_replaces_the_whole_row),
		TEST(only_the_first_of_two_creations_succeeds),
		TEST(a_change_with_an_old_version_is_refused),
		TEST(a_version_is_not_reused_after_a_deletion),
		TEST(a_counter_stays_within_its_limits),
		TEST(a_counter_does_not_overflow),
		TEST(an_addition_keeps_the_rest_of_the_row),
		TEST(changes_are_applied_together_or_not_at_all),
		TEST(an_expired_row_is_absent),
		TEST(expired_rows_are_deleted_and_no_others),
		TEST(rows_are_listed_by_owner_in_pages),
		TEST(a_text_over_its_limit_is_refused),
		TEST(a_reader_sees_rows_but_cannot_change_them),
		TEST(processes_never_exceed_a_quota_together),
		TEST(a_killed_process_leaves_no_half_of_a_change),
		TEST(incidents_are_listed_newest_first),
		TEST(incidents_are_found_by_a_prefix),
		TEST(old_incidents_are_pruned),
		TEST(incidents_and_rows_share_a_store),
	};

	backend = tested;
	return cmocka_run_group_tests_name(tested->name, tests, NULL, NULL);
}

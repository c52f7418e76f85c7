/*
 * store_pg_test.c - a PostgreSQL store whose server restarts, stops, dies or is another
 * one; retention by day; what errors contain.
 */
#include "store/store.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <faultwire/raise.h>

#include "base/clock.h"
#include "base/limits_store.h"
#include "store/pg.h"
#include "store/pg_fixture.h"
#include "store/store_admin.h"

enum { DAY_MS = 24 * 3600 * 1000, LATE_MS = 1000 };

static struct fw_pg_fixture server;
static char url[512];

static int set_up(void **state)
{
	struct fw_store_migration migration;

	(void)state;
	fw_pg_fixture_url(&server, url, sizeof url);
	fw_pg_fixture_must(fw_store_migrate(url, NULL, &migration));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fw_pg_fixture_sql(&server, "DROP SCHEMA IF EXISTS faultwire CASCADE");
	return fw_error_live() == 0 ? 0 : -1;
}

static struct fw_store *open_at(const char *where)
{
	struct fw_store *store = NULL;

	fw_pg_fixture_must(fw_store_open(where, NULL, &store));
	return store;
}

static fw_error *try_add(struct fw_store *store, int64_t *ret_number)
{
	const struct fw_store_change change = {
		.action = FW_STORE_ADD, .kind = "k", .key = "n", .number = 1
	};
	struct fw_store_result result = { .number = 0 };
	fw_error *err = fw_store_apply(store, &change, 1, &result);

	*ret_number = result.number;
	return err;
}

static int64_t add(struct fw_store *store)
{
	int64_t number = 0;

	fw_pg_fixture_must(try_add(store, &number));
	return number;
}

/* Until the server answers again. */
static int64_t add_at_last(struct fw_store *store)
{
	int64_t number = 0;
	fw_error *err;

	while ((err = try_add(store, &number)) != NULL) {
		fw_error_free(err);
		(void)usleep(50000);
	}
	return number;
}

/* The number in the first column and row. */
static int64_t ask(const char *sql)
{
	struct fw_pg_pool *pool = NULL;
	PGresult *result = NULL;
	struct fw_pg *pg = NULL;
	int64_t number;

	fw_pg_fixture_must(fw_pg_pool_get(url, FW_PG_MIGRATE, &pool));
	fw_pg_fixture_must(fw_pg_take(pool, 20000, true, &pg));
	fw_pg_fixture_must(fw_pg_execute(pg, sql, &result));
	number = fw_pg_number(result, 0, 0);
	PQclear(result);
	fw_pg_give(pg, true);
	fw_pg_pool_unref(pool);
	return number;
}

/* ---- incidents ----------------------------------------------------------------- */

struct source {
	int64_t writer;
	uint64_t number;
	int left;
	int64_t time_ms;
	int64_t step_ms;
	const char *message;
	char id[32];
};

static bool next_incident(void *ctx, struct fw_incident *ret_incident)
{
	struct source *source = ctx;

	if (source->left-- <= 0)
		return false;
	(void)snprintf(source->id, sizeof source->id, "inc_%06llu",
		       (unsigned long long)++source->number);
	*ret_incident = (struct fw_incident){
		.id = source->id,
		.time_ms = source->time_ms,
		.code = "file.not_found",
		.severity = "warning",
		.status = 404,
		.tool = "open",
		.message = source->message ? source->message : "not found",
		.counted_as = "open",
		.error = "{\"a\":\"\\\\ \\\" {,}\"}",
		.writer = source->writer,
		.number = source->writer ? source->number : 0,
	};
	source->time_ms += source->step_ms;
	return true;
}

static fw_error *try_record(struct fw_store *store, struct source source)
{
	return fw_store_add_incidents(store, next_incident, &source);
}

static void test_store_pg__a_batch_is_not_inserted_twice(void **state)
{
	const struct source three = { .writer = 7, .left = 3, .time_ms = 1000 };
	const struct source five = { .writer = 7, .left = 5, .time_ms = 1000 };
	struct fw_store *store = open_at(url);

	(void)state;
	fw_pg_fixture_must(try_record(store, three));
	fw_store_free(store);
	/* As after a commit that was not confirmed: the writer sends it again. */
	store = open_at(url);
	fw_pg_fixture_must(try_record(store, five));
	assert_int_equal(ask("SELECT count(*) FROM faultwire.incident"), 5);
	assert_int_equal(ask("SELECT count FROM faultwire.tally"), 5);
	fw_pg_fixture_must(
		try_record(store, (struct source){ .writer = 8, .left = 1, .time_ms = 1000 }));
	assert_int_equal(ask("SELECT count(*) FROM faultwire.incident"), 6);
	fw_store_free(store);
}

static void test_store_pg__large_batches_with_strange_texts_are_complete(void **state)
{
	struct fw_store *store = open_at(url);

	(void)state;
	fw_pg_fixture_must(try_record(
		store, (struct source){ .left = 2500, .time_ms = 1000, .step_ms = 1 }));
	fw_pg_fixture_must(try_record(store, (struct source){ .left = 1,
							      .time_ms = -5,
							      .message = "\xff{\"\\\n}',"
									 "NULL\xc3" }));
	assert_int_equal(ask("SELECT count(*) FROM faultwire.incident"), 2501);
	assert_int_equal(ask("SELECT sum(incidents) FROM faultwire.incident_day"), 2501);
	assert_int_equal(ask("SELECT count(*) FROM faultwire.incident"
			     " WHERE message=E'\\uFFFD{\"\\\\\\n}'',NULL\\uFFFD'"),
			 1);
	assert_int_equal(ask("SELECT count(*) FROM faultwire.incident"
			     " WHERE error='{\"a\":\"\\\\ \\\" {,}\"}'"),
			 2501);
	fw_store_free(store);
}

static int64_t next_year_ms(void)
{
	return fw_unix_ms() + (int64_t)365 * DAY_MS;
}

/* A replica that was started with a wrong clock would drop the incidents of all others. */
static void test_store_pg__a_clock_that_is_ahead_drops_no_incident(void **state)
{
	const struct fw_store_options ahead = { .now_ms = next_year_ms };
	struct fw_store *store = open_at(url), *other = NULL;

	(void)state;
	fw_pg_fixture_must(
		try_record(store, (struct source){ .left = 3, .time_ms = fw_unix_ms() }));
	fw_pg_fixture_must(fw_store_open(url, &ahead, &other));
	fw_pg_fixture_must(fw_store_prune_incidents(
		other, next_year_ms() - (int64_t)30 * DAY_MS, UINT64_MAX / 2));
	assert_int_equal(ask("SELECT count(*) FROM faultwire.incident WHERE time>="
			     "(SELECT number FROM faultwire.setting WHERE name='horizon')"),
			 3);
	/* Those that are old by the clock of the server go. */
	fw_pg_fixture_must(try_record(store, (struct source){ .left = 1, .time_ms = 1000 }));
	fw_pg_fixture_must(fw_store_prune_incidents(
		other, next_year_ms() - (int64_t)30 * DAY_MS, UINT64_MAX / 2));
	assert_int_equal(ask("SELECT count(*) FROM faultwire.incident"), 3);
	fw_store_free(other);
	fw_store_free(store);
}

static void test_store_pg__a_day_is_a_partition_and_old_days_are_dropped(void **state)
{
	struct fw_store *store = open_at(url);
	const char partitions[] = "SELECT count(*) FROM pg_inherits WHERE"
				  " inhparent='faultwire.incident'::regclass";

	(void)state;
	/* More days than a batch makes at once. */
	fw_pg_fixture_must(try_record(
		store, (struct source){ .left = 20, .time_ms = 1000, .step_ms = DAY_MS }));
	assert_int_equal(ask(partitions), 20);
	fw_pg_fixture_must(
		fw_store_prune_incidents(store, (int64_t)15 * DAY_MS, UINT64_MAX / 2));
	assert_int_equal(ask(partitions), 5);
	/* The limit of bytes drops the oldest day first. A new store looks at once. */
	fw_store_free(store);
	store = open_at(url);
	fw_pg_fixture_must(fw_store_prune_incidents(
		store, 0, (uint64_t)ask("SELECT sum(bytes)-1 FROM faultwire.incident_day")));
	assert_int_equal(ask(partitions), 4);
	assert_int_equal(ask("SELECT min(day) FROM faultwire.incident_day"), 16);
	/* A day that was dropped can be made again. */
	fw_pg_fixture_must(try_record(
		store, (struct source){ .left = 1, .time_ms = (int64_t)15 * DAY_MS }));
	assert_int_equal(ask(partitions), 5);
	fw_store_free(store);
}

/* ---- the role of servers --------------------------------------------------------- */

static bool is_denied(struct fw_pg *pg, const char *sql)
{
	fw_error *err = fw_pg_execute(pg, sql, NULL);
	fw_cause cause = { .code = NULL };
	bool is;

	(void)fw_error_cause(err, 0, &cause);
	is = cause.code && strcmp(cause.code, "42501") == 0;
	fw_error_free(err);
	return is;
}

static void test_store_pg__the_role_of_servers_cannot_change_what_is_recorded(void **state)
{
	static const char *const denied[] = {
		"DELETE FROM faultwire.incident",
		"UPDATE faultwire.incident SET code='x'",
		"UPDATE faultwire.anchor SET hash='x'",
		"DELETE FROM faultwire.anchor",
		"SELECT faultwire.drop_day(0)",
		"SELECT faultwire.forget(1,false)",
		"CREATE TABLE faultwire.x(a int)",
		"DROP TABLE faultwire.incident",
		"ALTER TABLE faultwire.store_row ADD x int",
		"TRUNCATE faultwire.store_row",
		"UPDATE faultwire.migration SET version=99",
		"DROP SCHEMA faultwire CASCADE",
	};
	struct fw_store_migration migration;
	struct fw_pg_pool *pool = NULL;
	struct fw_pg *pg = NULL;
	char other[512];

	(void)state;
	fw_pg_fixture_sql(&server, "CREATE ROLE \"run\"\"time\" LOGIN");
	fw_pg_fixture_must(fw_store_migrate(url, "run\"time", &migration));
	assert_int_equal(migration.from, FW_PG_SCHEMA_VERSION);
	(void)snprintf(other, sizeof other, "postgresql:///postgres?host=%s&user=run%%22time",
		       server.directory);
	fw_pg_fixture_must(fw_pg_pool_get(other, FW_PG_RUN, &pool));
	fw_pg_fixture_must(fw_pg_take(pool, 20000, true, &pg));
	for (size_t i = 0; i < sizeof denied / sizeof *denied; i++)
		assert_true(is_denied(pg, denied[i]));
	fw_pg_give(pg, true);
	fw_pg_pool_unref(pool);
	fw_pg_fixture_sql(&server, "DROP OWNED BY \"run\"\"time\"; DROP ROLE \"run\"\"time\"");
}

static void test_store_pg__tables_of_another_version_are_refused(void **state)
{
	struct fw_store_migration migration;
	struct fw_store *store;
	int64_t number;
	fw_error *err;

	(void)state;
	fw_pg_fixture_sql(&server, "INSERT INTO faultwire.migration VALUES(98,1,'later')");
	store = open_at(url);
	assert_int_equal(add(store), 1); /* a later version that older programs can use */
	fw_store_free(store);
	fw_pg_fixture_must(fw_store_migrate(url, NULL, &migration));
	assert_int_equal(migration.to, 98);
	fw_pg_fixture_sql(&server, "INSERT INTO faultwire.migration VALUES(99,99,'later')");
	store = open_at(url);
	err = try_add(store, &number);
	assert_int_equal(fw_error_code(err), FW_DEPENDENCY_UNAVAILABLE);
	fw_error_free(err);
	fw_store_free(store);
	fw_pg_fixture_sql(&server, "DROP SCHEMA faultwire CASCADE");
	store = open_at(url);
	err = try_add(store, &number);
	assert_int_equal(fw_error_code(err), FW_DEPENDENCY_UNAVAILABLE);
	assert_non_null(strstr(fw_error_hint(err), "faultwire store migrate"));
	fw_error_free(err);
	fw_store_free(store);
}

/* ---- the server is away ------------------------------------------------------------ */

static void test_store_pg__a_restart_is_survived(void **state)
{
	struct fw_store *store = open_at(url);

	(void)state;
	assert_int_equal(add(store), 1);
	fw_pg_fixture_stop(&server, SIGINT);
	fw_pg_fixture_start(&server);
	assert_int_equal(add_at_last(store), 2);
	fw_pg_fixture_stop(&server, SIGKILL);
	fw_pg_fixture_start(&server);
	assert_int_equal(add_at_last(store), 3);
	fw_store_free(store);
}

static void expect_late_refusal(struct fw_store *store)
{
	const int64_t begin_ms = fw_steady_ms();
	int64_t number;
	fw_error *err = try_add(store, &number);

	assert_int_equal(fw_error_code(err), FW_DEPENDENCY_UNAVAILABLE);
	assert_true(fw_steady_ms() - begin_ms < FW_LIMIT_PG_ANSWER_MS + LATE_MS);
	fw_error_free(err);
}

/* All processes of the server: its children answer on connections that exist. */
static void signal_server(int signal_number)
{
	char command[128];

	(void)snprintf(command, sizeof command, "pkill -%d -P %d; kill -%d %d", signal_number,
		       (int)server.pid, signal_number, (int)server.pid);
	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
}

static void test_store_pg__a_stopped_server_does_not_hang_a_call(void **state)
{
	struct fw_store *store = open_at(url);
	int64_t number;

	(void)state;
	assert_int_equal(add(store), 1);
	signal_server(SIGSTOP);
	expect_late_refusal(store); /* on the connection that was there */
	expect_late_refusal(store); /* on a new one */
	signal_server(SIGCONT);
	number = add_at_last(store);
	/* The first addition may have been made before its answer was given up. */
	assert_true(number == 2 || number == 3);
	fw_store_free(store);
}

static void test_store_pg__the_next_host_is_used(void **state)
{
	struct fw_store *store;
	char list[1024];

	(void)state;
	(void)snprintf(list, sizeof list,
		       "postgresql:///postgres?host=/nowhere,%s,/nowhere&user=faultwire",
		       server.directory);
	store = open_at(list);
	assert_int_equal(add(store), 1);
	assert_int_equal(add(store), 2);
	fw_store_free(store);
}

static void *add_many(void *ctx)
{
	struct fw_store *store = ctx;

	for (int i = 0; i < 20; i++)
		(void)add_at_last(store);
	return NULL;
}

static void test_store_pg__connections_are_bounded(void **state)
{
	enum { THREADS = 20 };
	struct fw_store *stores[THREADS];
	pthread_t threads[THREADS];
	char count[160];

	(void)state;
	for (int i = 0; i < THREADS; i++) {
		stores[i] = open_at(url);
		assert_int_equal(pthread_create(&threads[i], NULL, add_many, stores[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	(void)snprintf(count, sizeof count,
		       "SELECT count(*) FROM pg_stat_activity WHERE"
		       " application_name='faultwire' AND pid<>pg_backend_pid()");
	assert_true(ask(count) <= FW_LIMIT_PG_CONNECTIONS);
	assert_int_equal(ask("SELECT number FROM faultwire.store_row"), 20 * THREADS);
	for (int i = 0; i < THREADS; i++)
		fw_store_free(stores[i]);
}

/* ---- passwords ----------------------------------------------------------------------- */

static void expect_no_secret(fw_error *err)
{
	char text[2048];

	assert_non_null(err);
	(void)fw_error_text(err, text, sizeof text);
	assert_null(strstr(text, "hunter2"));
	assert_true(!fw_error_detail(err) || !strstr(fw_error_detail(err), "hunter2"));
	fw_error_free(err);
}

static void test_store_pg__no_error_contains_the_password(void **state)
{
	static const char *const wrong[] = {
		"postgresql://u:hunter2@[host/db",
		"postgresql://u:hunter2%zz@host/db",
		"postgresql://u:hunter2@a,b/db?port=1,2,3",
		"postgresql://u@host/db?password=hunter2&nothing=1",
	};
	struct fw_store *store = NULL;
	char text[512], away[512];
	int64_t number;

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		expect_no_secret(fw_store_open(wrong[i], NULL, &store));
	(void)snprintf(away, sizeof away, "postgresql://faultwire:hunter2@/hunter2?host=%s",
		       server.directory);
	store = open_at(away);
	expect_no_secret(try_add(store, &number)); /* the database has the same name */
	fw_store_free(store);
	fw_store_url_show("postgresql://u:hunter2@h1,h2:5/db?password=hunter2", text,
			  sizeof text);
	assert_string_equal(text, "postgresql://u:***@h1,h2:5/db?...");
	fw_store_url_show("postgresql://u:p@ss@h/db", text, sizeof text);
	assert_string_equal(text, "postgresql://u:***@h/db");
	fw_store_url_show("postgresql://h/db", text, sizeof text);
	assert_string_equal(text, "postgresql://h/db");
	fw_store_url_show("/var/lib/x@y:z.db", text, sizeof text);
	assert_string_equal(text, "/var/lib/x@y:z.db");
}

/* libpq takes a '?' or '#' before the '@' as a part of the password. */
static void test_store_pg__no_character_of_a_password_ends_its_masking(void **state)
{
	static const char *const urls[] = {
		"postgresql://u:hun#ter2@h/db",          "postgresql://u:hun?ter2@h/db",
		"postgresql://u:hun/ter2@h/db",          "postgresql://u:hun@ter2@h/db?a=b",
		"postgresql://u@h/db?password=hun@ter2", "postgres://u:hun:ter2@h",
	};
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
		fw_store_url_show(urls[i], text, sizeof text);
		assert_null(strstr(text, "hun"));
		assert_null(strstr(text, "ter2"));
	}
	fw_store_url_show("postgresql://u:hun#ter2@h/db", text, sizeof text);
	assert_string_equal(text, "postgresql://u:***@h/db");
}

/* ---- copying --------------------------------------------------------------------------- */

static void put(struct fw_store *store, const char *kind, const char *key)
{
	const struct fw_store_change change = { .action = FW_STORE_PUT,
						.kind = kind,
						.key = key,
						.owner = "o",
						.value = "{}",
						.number = 5 };
	struct fw_store_result result;

	fw_pg_fixture_must(fw_store_apply(store, &change, 1, &result));
}

static void test_store_pg__a_store_is_copied_there_and_back(void **state)
{
	char directory[] = "/tmp/fw-copy-XXXXXX", first[64], second[64], command[64], key[16];
	struct fw_store_copied copied;
	char remark[64] = "";
	struct fw_store *store;
	fw_error *err;

	(void)state;
	assert_non_null(mkdtemp(directory));
	(void)snprintf(first, sizeof first, "sqlite:%s/a.db", directory);
	(void)snprintf(second, sizeof second, "%s/b.db", directory);
	store = open_at(first);
	for (int i = 0; i < 300; i++) {
		(void)snprintf(key, sizeof key, "%d", i);
		put(store, i % 2 ? "a" : "b", key);
	}
	fw_pg_fixture_must(fw_store_prepare(store, remark, sizeof remark));
	fw_pg_fixture_must(try_record(
		store, (struct source){ .left = 1200, .time_ms = 1000, .step_ms = 1 }));
	fw_store_free(store);
	for (int i = 0; i < 2; i++) { /* the second time nothing is added */
		fw_pg_fixture_must(fw_store_copy(first, url, NULL, NULL, &copied));
		assert_int_equal(copied.rows, 300);
		assert_int_equal(copied.incidents, 1200);
		assert_int_equal(ask("SELECT count(*) FROM faultwire.store_row"), 300);
		assert_int_equal(ask("SELECT count(*) FROM faultwire.incident"), 1200);
	}
	assert_int_equal(ask("SELECT count(*) FROM (SELECT id,lag(id) OVER (ORDER BY n) AS p"
			     " FROM faultwire.incident) x WHERE p>id"),
			 0);
	fw_pg_fixture_must(fw_store_copy(url, second, NULL, NULL, &copied));
	assert_int_equal(copied.rows, 300);
	assert_int_equal(copied.incidents, 1200);
	err = fw_store_copy(url, second, NULL, NULL, &copied);
	assert_int_equal(fw_error_code(err), FW_INPUT_INVALID_VALUE);
	fw_error_free(err);
	(void)snprintf(command, sizeof command, "rm -rf %s", directory);
	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_store_pg__##name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_batch_is_not_inserted_twice),
		TEST(large_batches_with_strange_texts_are_complete),
		TEST(a_clock_that_is_ahead_drops_no_incident),
		TEST(a_day_is_a_partition_and_old_days_are_dropped),
		TEST(the_role_of_servers_cannot_change_what_is_recorded),
		TEST(tables_of_another_version_are_refused),
		TEST(the_next_host_is_used),
		TEST(connections_are_bounded),
		TEST(no_error_contains_the_password),
		TEST(no_character_of_a_password_ends_its_masking),
		TEST(a_store_is_copied_there_and_back),
		TEST(a_restart_is_survived),
		TEST(a_stopped_server_does_not_hang_a_call),
	};
	int failed;

	fw_pg_fixture_init(&server);
	fw_pg_fixture_start(&server);
	failed = cmocka_run_group_tests_name("store_pg", tests, NULL, NULL);
	fw_pg_fixture_clear(&server);
	return failed;
}

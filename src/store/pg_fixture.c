/*
 * pg_fixture.c - see pg_fixture.h.
 */
#include "store/pg_fixture.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/pg.h"

/* The build names it by its full path. */
#ifndef FW_PG_CLUSTER
#define FW_PG_CLUSTER "test/programs/postgres-cluster"
#endif

static const char program[] = FW_PG_CLUSTER;

void fw_pg_fixture_init(struct fw_pg_fixture *fixture)
{
	pid_t child;
	int status = -1;

	*fixture = (struct fw_pg_fixture){ .pid = 0 };
	(void)snprintf(fixture->directory, sizeof fixture->directory, "/tmp/fw-pg-XXXXXX");
	assert_non_null(mkdtemp(fixture->directory));
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)execl(program, program, "init", fixture->directory, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static bool is_accepting(const struct fw_pg_fixture *fixture)
{
	struct fw_pg_pool *pool = NULL;
	struct fw_pg *pg = NULL;
	char url[512];
	fw_error *err;

	fw_pg_fixture_url(fixture, url, sizeof url);
	assert_null(fw_pg_pool_get(url, FW_PG_MIGRATE, &pool));
	err = fw_pg_take(pool, 5000, true, &pg);
	fw_pg_give(pg, true);
	fw_pg_pool_unref(pool);
	fw_error_free(err);
	return !err;
}

void fw_pg_fixture_start(struct fw_pg_fixture *fixture)
{
	int status;

	fixture->pid = fork();
	assert_true(fixture->pid >= 0);
	if (fixture->pid == 0) {
		char log[96];

		(void)snprintf(log, sizeof log, "%s/log", fixture->directory);
		if (!freopen(log, "a", stderr) || !freopen("/dev/null", "w", stdout))
			_exit(126);
		(void)execl(program, program, "run", fixture->directory, "-c", "fsync=off",
			    (char *)NULL);
		_exit(127);
	}
	while (!is_accepting(fixture)) {
		assert_int_equal(waitpid(fixture->pid, &status, WNOHANG), 0);
		(void)usleep(20000);
	}
}

void fw_pg_fixture_stop(struct fw_pg_fixture *fixture, int signal_number)
{
	int status;

	if (!fixture->pid)
		return;
	assert_int_equal(kill(fixture->pid, signal_number), 0);
	assert_int_equal(waitpid(fixture->pid, &status, 0), fixture->pid);
	fixture->pid = 0;
}

void fw_pg_fixture_clear(struct fw_pg_fixture *fixture)
{
	char command[128];

	fw_pg_fixture_stop(fixture, SIGQUIT);
	(void)snprintf(command, sizeof command, "rm -rf %s", fixture->directory);
	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
}

void fw_pg_fixture_url(const struct fw_pg_fixture *fixture, char *ret_url, size_t size)
{
	(void)snprintf(ret_url, size, "postgresql:///postgres?host=%s&user=faultwire",
		       fixture->directory);
}

void fw_pg_fixture_must(fw_error *err)
{
	char text[1024];

	if (!err)
		return;
	(void)fw_error_text(err, text, sizeof text);
	fw_error_free(err);
	print_error("%s\n", text);
	fail();
}

void fw_pg_fixture_sql(const struct fw_pg_fixture *fixture, const char *sql)
{
	struct fw_pg_pool *pool = NULL;
	struct fw_pg *pg = NULL;
	char url[512];
	fw_error *err;

	fw_pg_fixture_url(fixture, url, sizeof url);
	assert_null(fw_pg_pool_get(url, FW_PG_MIGRATE, &pool));
	assert_null(fw_pg_take(pool, 20000, true, &pg));
	err = fw_pg_execute(pg, sql, NULL);
	fw_pg_give(pg, !err);
	fw_pg_pool_unref(pool);
	fw_pg_fixture_must(err);
}

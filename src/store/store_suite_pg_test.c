/*
 * store_suite_pg_test.c - the conformance suite on PostgreSQL.
 */
#include "store/store_suite.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "store/pg_fixture.h"
#include "store/store_admin.h"

static struct fw_pg_fixture server;

/* As the role of servers, which may not make tables. */
static void make(char *ret_url, size_t size)
{
	struct fw_store_migration migration;
	char owner[256];

	fw_pg_fixture_url(&server, owner, sizeof owner);
	fw_pg_fixture_must(fw_store_migrate(owner, "runtime", &migration));
	assert_int_equal(migration.from, 0);
	(void)snprintf(ret_url, size, "postgresql:///postgres?host=%s&user=runtime",
		       server.directory);
}

static void drop(const char *url)
{
	(void)url;
	fw_pg_fixture_sql(&server, "DROP SCHEMA faultwire CASCADE");
}

int main(void)
{
	const struct fw_store_suite_backend postgresql = { .name = "postgresql",
							   .make = make,
							   .remove = drop };
	int failed;

	fw_pg_fixture_init(&server);
	fw_pg_fixture_start(&server);
	fw_pg_fixture_sql(&server, "CREATE ROLE runtime LOGIN");
	failed = fw_store_suite(&postgresql);
	fw_pg_fixture_clear(&server);
	return failed;
}

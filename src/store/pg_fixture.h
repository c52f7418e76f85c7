/*
 * pg_fixture.h - a PostgreSQL server for a test: a new cluster in a temporary directory,
 * started from Debian's package by test/programs/postgres-cluster.
 */
#ifndef FW_STORE_PG_FIXTURE_H
#define FW_STORE_PG_FIXTURE_H

#include <stddef.h>
#include <sys/types.h>

#include <faultwire/error.h>

struct fw_pg_fixture {
	char directory[64];
	pid_t pid; /* of the postmaster; 0: not running */
};

/* All of them end the test if they fail. */
void fw_pg_fixture_init(struct fw_pg_fixture *fixture);
/* Returns when connections are accepted. */
void fw_pg_fixture_start(struct fw_pg_fixture *fixture);
/* Sends the signal and waits for the end: SIGINT, SIGQUIT or SIGKILL. */
void fw_pg_fixture_stop(struct fw_pg_fixture *fixture, int signal_number);
/* Stops it, and removes its directory. */
void fw_pg_fixture_clear(struct fw_pg_fixture *fixture);
void fw_pg_fixture_url(const struct fw_pg_fixture *fixture, char *ret_url, size_t size);
/* Runs SQL as the owner. */
void fw_pg_fixture_sql(const struct fw_pg_fixture *fixture, const char *sql);
/* Prints the error and ends the test. NULL is a no-op. Consumes it. */
void fw_pg_fixture_must(fw_error *err);

#endif

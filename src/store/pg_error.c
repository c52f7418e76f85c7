/*
 * pg_error.c - failures of PostgreSQL as errors. No password of a URL gets into them.
 */
#include "store/pg.h"

#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "store/pg_pool.h"

enum { REASON_SIZE = 512 };

void fw_pg_mask(char *text, const char *secret)
{
	size_t len = secret ? strlen(secret) : 0;
	char *at = text;

	while (len && (at = strstr(at, secret)) != NULL) {
		memset(at, '*', len);
		at += len;
	}
}

/* One line: libpq's messages end with a newline, and may have several. */
static void make_line(char *text)
{
	size_t len = strlen(text);

	while (len && text[len - 1] == '\n')
		text[--len] = '\0';
	for (char *at = text; *at; at++)
		if ((unsigned char)*at < 0x20)
			*at = ' ';
}

fw_error *fw_pg_raise(fw_src at, const struct fw_pg_pool *pool, bool is_for_rows,
		      const char *reason, const char *state)
{
	char text[REASON_SIZE];
	fw_error *err;

	(void)snprintf(text, sizeof text, "%s", reason);
	fw_pg_mask(text, pool->url.password);
	make_line(text);
	if (!is_for_rows) {
		err = fw_raise_incident_store_failed_at(at, text);
		fw_error_set_hint(err, "Have an operator check the PostgreSQL server of the "
				       "store: faultwire store check URL.");
	} else {
		err = fw_raise_dependency_unavailable_at(at, "the store");
	}
	fw_error_add_cause(err, text, state, "postgresql");
	return err;
}

fw_error *fw_pg_failed(fw_src at, struct fw_pg *pg, const PGresult *result)
{
	const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
	const char *reason =
		result ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;

	/* A result that libpq made itself has no fields. */
	if (!reason)
		reason = PQerrorMessage(pg->conn);
	return fw_pg_raise(at, pg->pool, pg->is_for_rows,
			   reason && reason[0] ? reason : "the connection failed", state);
}
